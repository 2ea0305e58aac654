// The reader of program files: as the bytes come, and with length and checksum put right, so that the rest is reached.
#include "target.hpp"
#include "walk.hpp"

#include <thrt/error.hpp>
#include <thrt/io/program_file.hpp>
#include <thrt/ir/verify.hpp>

#include <boost/crc.hpp>

#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace thrt::fuzz {
namespace {

std::optional<io::StoredProgram> parse(std::span<const std::byte> bytes) {
  try {
    return io::StoredProgram::parse(bytes, "input");
  } catch (const Error& error) {
    expect(*error.what() != '\0' && !error.why().empty() && !error.next().empty(), "an error has words");
    return std::nullopt;
  }
}

// docs/program_file.md: u32 CRC-32 of what follows the head at byte 12, u64 length at 16.
void seal(std::vector<std::byte>& bytes) {
  const std::uint64_t length = bytes.size();
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data() + 64, bytes.size() - 64);
  const std::uint32_t sum = crc.checksum();
  std::memcpy(bytes.data() + 16, &length, sizeof length);
  std::memcpy(bytes.data() + 12, &sum, sizeof sum);
}

}  // namespace
}  // namespace thrt::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thrt;
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  static_cast<void>(fuzz::parse(bytes));
  if (size < 128) return 0;
  fuzz::seal(bytes);
  const std::optional<io::StoredProgram> program = fuzz::parse(bytes);
  if (!program) return 0;
  ir::verify(*program->abi());
  fuzz::walk(*program->abi());
  fuzz::expect(io::program_bytes(*program->abi()) == bytes, "what is read is written as it was");
  return 0;
}

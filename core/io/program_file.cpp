#include "thrt/io/program_file.hpp"

#include <fmt/format.h>
#include <thrt/ir/fingerprint.hpp>
#include <thrt/ir/verify.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/crc.hpp>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "aligned_bytes.hpp"
#include "io/input_file.hpp"
#include "thrt/error.hpp"
#include "thrt/io/atomic_file.hpp"

namespace thrt::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are used as they lie: little-endian hosts only");

constexpr char kMagic[8] = {'T', 'H', 'R', 'T', 'P', 'R', 'O', 'G'};
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kBlock = 64;  // heads, and the alignment of values and constants
static_assert(kBlock == kConstantAlignment);

struct FileHead {
  char magic[8];
  std::uint32_t format;
  std::uint32_t crc32;  // of all that follows the head
  std::uint64_t file_bytes;
  std::uint8_t reserved[40];
};
static_assert(sizeof(FileHead) == kBlock && std::is_trivially_copyable_v<FileHead>);

// In front of the arrays of each program or sub-program.
struct ProgramHead {
  std::uint32_t values, ops, slots, operands, attributes, groups, subprograms, name;
  std::uint64_t constant_bytes;
  std::uint64_t string_bytes;
  std::uint32_t opset;
  std::uint8_t reserved[12];
};
static_assert(sizeof(ProgramHead) == kBlock && std::is_trivially_copyable_v<ProgramHead>);

constexpr const char* kDamaged = "the file is damaged or was not fully copied: fetch it again";
constexpr const char* kWriteAgain = "write it again; docs/program_file.md has the format";

[[noreturn]] void bad_file(std::string_view source, std::string problem, std::string next) {
  throw Error(fmt::format("'{}' is not a usable program file", source), std::move(problem), std::move(next));
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

bool all_zero(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

FileHead checked_head(std::span<const std::byte> bytes, std::uint64_t file_bytes, std::string_view source) {
  FileHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) {
    bad_file(source, "it does not begin with THRTPROG", "name a file that `thrust train --save-programs` wrote");
  }
  if (head.format != kFormat) {
    bad_file(source, fmt::format("it has format version {}; this thrust reads version {}", head.format, kFormat),
             "use the thrust that wrote it");
  }
  if (head.file_bytes != file_bytes) {
    bad_file(source, fmt::format("it says that it has {} bytes, and has {}", head.file_bytes, file_bytes), kDamaged);
  }
  if (!all_zero(std::as_bytes(std::span(head.reserved)))) {
    bad_file(source, "a reserved byte of its head is not zero", "use the thrust that wrote it");
  }
  return head;
}

void check_not_short(std::uint64_t file_bytes, std::string_view source) {
  if (file_bytes >= 2 * kBlock) return;
  bad_file(source, fmt::format("it has {} bytes, and the smallest has {}", file_bytes, 2 * kBlock), kDamaged);
}

}  // namespace

struct StoredProgram::Data {
  AlignedBytes file;
  std::deque<thrt_program> programs;  // the whole one first; a deque, so that they stay where they are
  std::deque<std::vector<const thrt_program*>> subprograms;
};

namespace {

// Walks through the file once. Arrays are used where they lie: after its head nothing is allocated but a struct and a
// pointer for each sub-program, of which each takes at least a block of the file.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string_view source) : file_(file), source_(source), at_(kBlock) {}

  // Adds the program at hand and its sub-programs. `place` is what errors call it.
  const thrt_program* read(std::deque<thrt_program>& programs, std::deque<std::vector<const thrt_program*>>& pointers,
                           const std::string& place, int depth) {
    if (depth == ir::kMostProgramDepth) {
      bad_file(source_, fmt::format("{} lies deeper than {} sub-programs", place, depth), kWriteAgain);
    }
    ProgramHead head;
    std::memcpy(&head, take(1, kBlock, place, "head"), sizeof head);
    if (!all_zero(std::as_bytes(std::span(head.reserved)))) {
      bad_file(source_, fmt::format("a reserved byte of the head of {} is not zero", place), kWriteAgain);
    }
    thrt_program& program = programs.emplace_back();
    program.struct_size = sizeof(thrt_program);
    program.opset = head.opset;
    program.value_count = head.values;
    program.op_count = head.ops;
    program.slot_count = head.slots;
    program.operand_count = head.operands;
    program.attribute_count = head.attributes;
    program.group_count = head.groups;
    program.subprogram_count = head.subprograms;
    program.constant_bytes = head.constant_bytes;
    program.string_bytes = head.string_bytes;
    program.name = head.name;
    program.values = array<thrt_value>(head.values, place, "values");
    program.attributes = array<std::int64_t>(head.attributes, place, "attributes");
    program.ops = array<thrt_op>(head.ops, place, "ops");
    program.slots = array<thrt_slot>(head.slots, place, "slots");
    program.groups = array<thrt_group>(head.groups, place, "groups");
    program.operands = array<std::uint32_t>(head.operands, place, "operands");
    program.strings = array<char>(head.string_bytes, place, "strings");
    skip_padding(place, "strings");
    program.constants = array<std::uint8_t>(head.constant_bytes, place, "constants");
    skip_padding(place, "constants");
    read_subprograms(program, programs, pointers, place, depth);
    return &program;
  }

  void expect_end() const {
    if (at_ == file_.size()) return;
    bad_file(source_, fmt::format("{} bytes follow the last program", file_.size() - at_), kWriteAgain);
  }

 private:
  void read_subprograms(thrt_program& program, std::deque<thrt_program>& programs,
                        std::deque<std::vector<const thrt_program*>>& pointers, const std::string& place, int depth) {
    if (program.subprogram_count > left() / kBlock) {
      bad_file(source_,
               fmt::format("{} has {} sub-programs, which do not fit into the {} bytes that follow", place,
                           program.subprogram_count, left()),
               kWriteAgain);
    }
    std::vector<const thrt_program*>& own = pointers.emplace_back();
    own.reserve(program.subprogram_count);
    for (std::uint32_t i = 0; i < program.subprogram_count; ++i) {
      const std::string inner = depth == 0 ? fmt::format("sub-program {}", i) : fmt::format("{}.{}", place, i);
      own.push_back(read(programs, pointers, inner, depth + 1));
    }
    program.subprograms = own.data();
  }

  std::uint64_t left() const { return file_.size() - at_; }

  const std::byte* take(std::uint64_t count, std::uint64_t size, const std::string& place, const char* what) {
    if (count > left() / size) {
      bad_file(source_, fmt::format("the {} of {} take {} bytes, and {} are left", what, place, count * size, left()),
               kWriteAgain);
    }
    const std::byte* begin = file_.data() + at_;
    at_ += count * size;
    return begin;
  }

  template <typename Element>
  const Element* array(std::uint64_t count, const std::string& place, const char* what) {
    return reinterpret_cast<const Element*>(take(count, sizeof(Element), place, what));
  }

  void skip_padding(const std::string& place, const char* what) {
    const std::uint64_t padding = (kBlock - at_ % kBlock) % kBlock;
    const std::byte* begin = take(padding, 1, place, "padding");
    if (!all_zero({begin, padding})) {
      bad_file(source_, fmt::format("the padding after the {} of {} is not zero", what, place), kWriteAgain);
    }
  }

  std::span<const std::byte> file_;
  std::string_view source_;
  std::uint64_t at_;
};

AlignedBytes allocate(std::uint64_t bytes, std::string_view source) {
  try {
    return AlignedBytes(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("cannot hold the program of '{}'", source),
                fmt::format("{} bytes of memory could not be had", bytes), "free memory, or use a machine with more");
  }
}

// Appends what is read back above.
class Writer {
 public:
  explicit Writer(std::vector<std::byte>& file) : file_(file) {}

  void write(const thrt_program& program) {
    ProgramHead head{};
    head.values = program.value_count;
    head.ops = program.op_count;
    head.slots = program.slot_count;
    head.operands = program.operand_count;
    head.attributes = program.attribute_count;
    head.groups = program.group_count;
    head.subprograms = program.subprogram_count;
    head.name = program.name;
    head.constant_bytes = program.constant_bytes;
    head.string_bytes = program.string_bytes;
    head.opset = program.opset;
    append(&head, 1);
    append(program.values, program.value_count);
    append(program.attributes, program.attribute_count);
    append(program.ops, program.op_count);
    append(program.slots, program.slot_count);
    append(program.groups, program.group_count);
    append(program.operands, program.operand_count);
    append(program.strings, program.string_bytes);
    pad();
    append(program.constants, program.constant_bytes);
    pad();
    for (std::uint32_t i = 0; i < program.subprogram_count; ++i) write(*program.subprograms[i]);
  }

 private:
  template <typename Element>
  void append(const Element* elements, std::uint64_t count) {
    const auto bytes = std::as_bytes(std::span(elements, static_cast<std::size_t>(count)));
    file_.insert(file_.end(), bytes.begin(), bytes.end());
  }
  void pad() { file_.resize((file_.size() + kBlock - 1) / kBlock * kBlock); }

  std::vector<std::byte>& file_;
};

}  // namespace

const thrt_program* StoredProgram::abi() const {
  return &data_->programs.front();
}

StoredProgram StoredProgram::read(const std::filesystem::path& path) {
  InputFile input(path, "program");
  const std::string source = path.string();
  check_not_short(input.size(), source);
  std::array<std::byte, kBlock> head{};
  input.read(head);
  static_cast<void>(checked_head(head, input.size(), source));
  AlignedBytes bytes = allocate(input.size(), source);
  std::memcpy(bytes.data(), head.data(), kBlock);
  input.read(bytes.span().subspan(kBlock));
  return from_bytes(std::move(bytes), source);
}

StoredProgram StoredProgram::parse(std::span<const std::byte> file, std::string_view source) {
  check_not_short(file.size(), source);
  return from_bytes(AlignedBytes(file), source);
}

StoredProgram StoredProgram::from_bytes(AlignedBytes file, std::string_view source) {
  const FileHead head = checked_head(file.span(), file.size(), source);
  if (checksum(file.span().subspan(kBlock)) != head.crc32) {
    bad_file(source, "its bytes do not add up to its checksum", kDamaged);
  }
  auto data = std::make_shared<Data>();
  data->file = std::move(file);
  Reader reader(data->file.span(), source);
  reader.read(data->programs, data->subprograms, "the program", 0);
  reader.expect_end();
  try {
    ir::verify(data->programs.front());
  } catch (const ir::ProgramError& error) {
    const bool newer = error.kind() == ir::ProgramError::Kind::kNewer;
    bad_file(source, error.what(), newer ? "use the thrust that wrote it" : kWriteAgain);
  }
  for (thrt_program& program : data->programs) {
    const ir::Fingerprint fingerprint = ir::fingerprint(program);
    std::copy(fingerprint.begin(), fingerprint.end(), program.fingerprint);
  }
  return StoredProgram(std::move(data));
}

std::vector<std::byte> program_bytes(const thrt_program& program) {
  std::vector<std::byte> file(kBlock);
  Writer(file).write(program);
  FileHead head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.format = kFormat;
  head.file_bytes = file.size();
  head.crc32 = checksum(std::span<const std::byte>(file).subspan(kBlock));
  std::memcpy(file.data(), &head, sizeof head);
  return file;
}

void write_program(const std::filesystem::path& path, const thrt_program& program) {
  write_file_atomically(path, program_bytes(program));
}

}  // namespace thrt::io

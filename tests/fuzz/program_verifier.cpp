// thrt/sdk/verify.hpp on arbitrary structures: it answers, and what it accepts can be walked through, planned, printed, and
// written to a file and read back.
#include "program_code.hpp"
#include "target.hpp"
#include "walk.hpp"

#include <thrt/io/program_file.hpp>
#include <thrt/sdk/verify.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thrt;
  const fuzz::ProgramDecoder decoder({data, size});
  const thrt_program& program = decoder.program();
  try {
    sdk::verify(program);
  } catch (const sdk::Error& error) {
    fuzz::expect(error.status() == THRT_INVALID_PROGRAM || error.status() == THRT_INCOMPATIBLE,
                 "the status is one of two");
    fuzz::expect(*error.what() != '\0', "an error has words");
    return 0;
  }
  if (fuzz::unrolled_ops(program) > fuzz::kMostOpsToWalk) return 0;
  fuzz::walk(program);
  const io::StoredProgram stored = io::StoredProgram::parse(io::program_bytes(program), "stored");
  fuzz::expect(ir::fingerprint(*stored.abi()) == ir::fingerprint(program), "a stored program means the same");
  return 0;
}

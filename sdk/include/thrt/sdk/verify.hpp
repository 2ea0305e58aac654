// Refuses a malformed program: ir/verify.hpp, with the exception that backends throw.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/verify.hpp>
#include <thrt/sdk/error.hpp>

namespace thrt::sdk {

// Throws Error: INVALID_PROGRAM with op index and name, or INCOMPATIBLE for an op set or a field that is not known.
inline void verify(const thrt_program& program) {
  try {
    ir::verify(program);
  } catch (const ir::ProgramError& error) {
    const bool newer = error.kind() == ir::ProgramError::Kind::kNewer;
    throw Error(newer ? THRT_INCOMPATIBLE : THRT_INVALID_PROGRAM, error.what())
        .at_op(error.op())
        .at_value(error.value());
  }
}

}  // namespace thrt::sdk

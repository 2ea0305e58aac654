// Op sets by number. Set n has every op of the sets before it and those that came with n; a later set of this major takes none
// away. A program is written in the lowest set that has all its ops, so that a backend which knows no later one still takes it.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/ops.hpp>

#include <cstdint>

namespace thrt::ir {

// This side reads and writes the sets from kOldestOpset to THRT_OPSET.
inline constexpr std::uint32_t kOldestOpset = 1;
static_assert(kOldestOpset <= THRT_OPSET);

// The set that an op came with.
constexpr std::uint32_t op_since(OpKind kind) {
  switch (kind) {
    default:
      return 1;
  }
}

}  // namespace thrt::ir

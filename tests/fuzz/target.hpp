// A fuzz target: one function that takes any bytes and must neither crash nor run long. What it finds to be wrong (rather
// than what the sanitizers do) it says through expect().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace thrt::fuzz {

inline void expect(bool condition, const char* message) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", message);
  std::abort();
}

// What is printed, planned and hashed of what was accepted: larger programs are right, and slow.
inline constexpr std::uint32_t kMostOpsToWalk = 2000;

}  // namespace thrt::fuzz

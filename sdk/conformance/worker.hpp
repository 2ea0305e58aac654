// The child's side of the runner, and what the two say to each other.
//
// One socket between them. Down go case numbers (u32), one at a time, until the parent shuts its side; up come records: a u32 length and as many bytes of JSON. The first one is
// {"ready": true} or {"refused": WHAT, "why": ..., "next": ...}; then one {"kind", "detail"} per case.
#pragma once

#include "case.hpp"
#include "runner.hpp"

#include <string>
#include <vector>

namespace thrt::conformance {

// Whole blocks; false when the other side is gone.
bool receive_all(int channel, void* bytes, std::size_t count);
bool send_all(int channel, const void* bytes, std::size_t count);

// Loads both plugins, runs the cases it is told to until `channel` ends, closes the plugins and ends the process.
[[noreturn]] void run_worker(const std::vector<Case>& cases, const RunnerOptions& options, int channel);

}  // namespace thrt::conformance

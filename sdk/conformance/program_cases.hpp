// The program cases by kind; program_cases() is all of them.
#pragma once

#include "case_program.hpp"

#include <functional>
#include <string>
#include <vector>

namespace thrt::conformance {

std::vector<Case> training_cases();   // whole training steps
std::vector<Case> structure_cases();  // slots, aliasing, loops, chains, sizes
std::vector<Case> execution_cases();  // how a program is run: repeated, chained, checked, twice

// A case that builds a program and compares it with the reference.
Case program_case(const std::string& name, Level level, std::function<void(CaseProgram&)> build,
                  const CompareOptions& options = {});
// A case that does its own running; what it throws of device_program.hpp becomes its outcome.
Case running_case(const std::string& name, Level level, std::function<Outcome(const Bench&)> run);

}  // namespace thrt::conformance

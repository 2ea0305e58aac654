// A copy of a program with open arrays: to be damaged, or to be taken away under a backend that keeps a pointer into it.
#pragma once

#include <thrt/graph/program.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace thrt::conformance {

class OpenProgram {
 public:
  explicit OpenProgram(const thrt_program& source);
  explicit OpenProgram(const Graph& graph) : OpenProgram(*lower(graph).abi()) {}

  // The arrays as they are now; each is exactly as long as it is counted, so that reading past one can be seen. What the
  // caller changes in the result lasts until the next call.
  thrt_program& abi();
  // Fills all arrays with nonsense.
  void scramble();

  std::vector<thrt_value> values;
  std::vector<thrt_op> ops;
  std::vector<thrt_slot> slots;
  std::vector<std::uint32_t> operands;
  std::vector<std::int64_t> attributes;
  std::vector<std::uint8_t> constants;
  std::vector<char> strings;
  std::vector<thrt_group> groups;
  std::vector<std::unique_ptr<OpenProgram>> subprograms;

  std::int64_t& attribute(std::uint32_t op, std::uint32_t index) { return attributes[ops[op].first_attribute + index]; }
  std::uint32_t& operand(std::uint32_t op, std::uint32_t index) { return operands[ops[op].first_operand + index]; }

 private:
  thrt_program abi_;
  std::vector<std::uint8_t> aligned_constants_;
  std::vector<const thrt_program*> subprogram_pointers_;
};

}  // namespace thrt::conformance

#include "raw_host.hpp"

#include <iterator>

namespace thrt::conformance {

std::vector<Case> contract_cases() {
  std::vector<Case> cases;
  for (std::vector<Case> part : {struct_cases(), argument_cases(), memory_cases(), leak_cases(), copy_cases(),
                                 contract_run_cases(), finite_cases(), process_cases(), malformed_program_cases()}) {
    std::move(part.begin(), part.end(), std::back_inserter(cases));
  }
  return cases;
}

}  // namespace thrt::conformance

// Products with their bias and activation as one step.
#include "claims.hpp"

namespace thrt::cpu {

std::vector<Claim> find_matmul_claims(const ProgramFacts&, const CompileSettings&) {
  return {};
}

}  // namespace thrt::cpu

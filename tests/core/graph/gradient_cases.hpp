// At least one case for each op that has a gradient.
#pragma once

#include "gradient_check.hpp"

#include <vector>

namespace thrt::test {

std::vector<GradientCase> elementwise_cases();
std::vector<GradientCase> movement_cases();
std::vector<GradientCase> contraction_cases();  // reductions, matmul, convolutions

}  // namespace thrt::test

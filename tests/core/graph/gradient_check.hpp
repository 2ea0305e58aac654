// Compares gradients with central finite differences, in f64 on the reference backend.
#pragma once

#include "reference_device.hpp"

#include <functional>
#include <string>
#include <vector>

namespace thrt::test {

struct GradientCase {
  OpKind kind;  // must be among the ops that `build` appends
  std::string name;
  std::vector<HostValue> inputs;  // those of f64 are varied
  std::function<Tensor(const std::vector<Tensor>&)> build;
  double step = 1e-5;
  double tolerance = 1e-7;  // of |difference| / max(1, |gradient|)
};

// First derivatives of L = sum w (y + y^2 / 2) by every element of every f64 input, with fixed random weights w; then
// second derivatives, as those of sum_i v_i dL/dx_i. The square makes dL/dy depend on x for linear ops too.
void expect_gradients_match(const GradientCase& c);

}  // namespace thrt::test

// A random matrix with orthonormal columns (or rows), apart from the rest so that Eigen stays in one file.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace thrt::nn {

// rows x columns, row-major: orthonormal columns when rows >= columns, else orthonormal rows; uniform over all such.
// `normal` draws from N(0, 1).
std::vector<double> random_orthogonal(std::size_t rows, std::size_t columns, const std::function<double()>& normal);

}  // namespace thrt::nn

#include "orthogonal.hpp"

#include <Eigen/QR>

#include <algorithm>

namespace thrt::nn {

std::vector<double> random_orthogonal(std::size_t rows, std::size_t columns, const std::function<double()>& normal) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto tall = static_cast<Eigen::Index>(std::max(rows, columns));
  const auto narrow = static_cast<Eigen::Index>(std::min(rows, columns));
  Eigen::MatrixXd gaussian(tall, narrow);
  for (Eigen::Index row = 0; row < tall; ++row) {
    for (Eigen::Index column = 0; column < narrow; ++column) gaussian(row, column) = normal();
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gaussian);
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(tall, narrow);
  // With R's diagonal made positive the factorisation is unique, and Q follows the Haar measure (Mezzadri, "How to
  // generate random matrices from the classical compact groups", 2007).
  for (Eigen::Index column = 0; column < narrow; ++column) {
    if (qr.matrixQR()(column, column) < 0.0) q.col(column) = -q.col(column);
  }
  std::vector<double> result(rows * columns);
  Eigen::Map<Matrix> out(result.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  if (rows >= columns) {
    out = q;
  } else {
    out = q.transpose();
  }
  return result;
}

}  // namespace thrt::nn

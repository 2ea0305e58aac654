#include "matmul_ways.hpp"

#include <Eigen/Dense>

#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <random>
#include <unordered_map>

namespace thrt::bench {
namespace {

std::vector<float> normal_values(std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

struct Operands {
  explicit Operands(const Product& product)
      : a(normal_values(product.rows * product.depth)),
        b(normal_values(product.depth * product.columns)),
        c(static_cast<std::size_t>(product.rows * product.columns)) {}

  std::vector<float> a, b, c;
};

Way gemm(const Product& product, const std::shared_ptr<Operands>& x) {
  return {"dnnl_sgemm", [product, x] {
            dnnl_sgemm(product.transpose_a ? 'T' : 'N', product.transpose_b ? 'T' : 'N', product.rows, product.columns,
                       product.depth, 1.0F, x->a.data(), product.transpose_a ? product.rows : product.depth,
                       x->b.data(), product.transpose_b ? product.depth : product.columns, 0.0F, x->c.data(),
                       product.columns);
          }};
}

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, dnnl::memory::data_type::f32, strides};
}

Way primitive(const Product& product, const std::shared_ptr<Operands>& x) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc a = matrix(product.rows, product.depth, product.transpose_a);
  const dnnl::memory::desc b = matrix(product.depth, product.columns, product.transpose_b);
  const dnnl::memory::desc c = matrix(product.rows, product.columns, false);
  const dnnl::matmul matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine));
  const std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, dnnl::memory(a, engine, x->a.data())},
                                                           {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, x->b.data())},
                                                           {DNNL_ARG_DST, dnnl::memory(c, engine, x->c.data())}};
  dnnl::stream stream(engine);  // not const, for its copy in the closure would be
  return {"dnnl_matmul", [x, matmul, arguments, stream]() mutable {
            matmul.execute(stream, arguments);
            stream.wait();
          }};
}

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Way eigen(const Product& product, const std::shared_ptr<Operands>& x) {
  return {"eigen", [product, x] {
            const auto stored = [](const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
              return Eigen::Map<const Matrix>(values.data(), rows, columns);
            };
            Eigen::Map<Matrix> c(x->c.data(), product.rows, product.columns);
            const auto a = product.transpose_a ? stored(x->a, product.depth, product.rows)
                                               : stored(x->a, product.rows, product.depth);
            const auto b = product.transpose_b ? stored(x->b, product.columns, product.depth)
                                               : stored(x->b, product.depth, product.columns);
            if (product.transpose_a && product.transpose_b) c.noalias() = a.transpose() * b.transpose();
            if (product.transpose_a && !product.transpose_b) c.noalias() = a.transpose() * b;
            if (!product.transpose_a && product.transpose_b) c.noalias() = a * b.transpose();
            if (!product.transpose_a && !product.transpose_b) c.noalias() = a * b;
          }};
}

}  // namespace

std::vector<Way> ways_of(const Product& product) {
  const auto operands = std::make_shared<Operands>(product);
  return {gemm(product, operands), primitive(product, operands), eigen(product, operands)};
}

}  // namespace thrt::bench

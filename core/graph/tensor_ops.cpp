#include <thrt/graph/tensor_ops.hpp>

#include <thrt/graph/scalar_bytes.hpp>

#include <algorithm>
#include <cstring>

namespace thrt {
namespace {

int positive_axis(int axis, int rank) {
  const int result = axis < 0 ? axis + rank : axis;
  if (result < 0 || result >= rank) {
    throw ir::RuleError("axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank));
  }
  return result;
}

std::vector<std::int64_t> sorted_axes(const Axes& axes, int rank) {
  std::vector<std::int64_t> result;
  if (axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) result.push_back(axis);
  }
  for (const int axis : axes) result.push_back(positive_axis(axis, rank));
  std::sort(result.begin(), result.end());
  return result;
}

Tensor unary(OpKind kind, Tensor x) {
  return x.graph().append(kind, {x});
}

// The shape that a and b broadcast to.
Shape common_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank()), in_b = axis - (rank - b.rank());
    const std::int64_t dim_a = in_a < 0 ? 1 : a[in_a], dim_b = in_b < 0 ? 1 : b[in_b];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) {
      throw ir::RuleError("shapes " + a.str() + " and " + b.str() + " do not broadcast");
    }
    result.push_back(dim_a == 1 ? dim_b : dim_a);
  }
  return result;
}

Tensor binary(OpKind kind, Tensor a, Tensor b) {
  const Shape shape = common_shape(a.shape(), b.shape());
  return a.graph().append(kind, {broadcast_to(a, shape), broadcast_to(b, shape)});
}

Tensor keep_reduced(Tensor reduced, const Shape& from, std::span<const std::int64_t> axes) {
  Shape shape = from;
  for (const std::int64_t axis : axes) shape.set(static_cast<int>(axis), 1);
  return reshape(reduced, shape);
}

Tensor reduce(OpKind kind, Tensor x, const Axes& axes, bool keep_dims) {
  const std::vector<std::int64_t> sorted = sorted_axes(axes, x.rank());
  const Tensor reduced = x.graph().append(kind, {x}, sorted);
  return keep_dims ? keep_reduced(reduced, x.shape(), sorted) : reduced;
}

template <typename T>
Tensor constant_of(Graph& graph, DType dtype, const Shape& shape, std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return graph.constant({dtype, shape}, std::move(bytes));
}

}  // namespace

Tensor scalar(Graph& graph, double value, DType dtype) {
  return graph.constant({dtype, {}}, scalar_bytes(value, dtype));
}

Tensor full(Graph& graph, const Type& type, double value) {
  return broadcast_to(scalar(graph, value, type.dtype), type.shape);
}

Tensor constant_f32(Graph& graph, const Shape& shape, std::span<const float> values) {
  return constant_of(graph, DType::kF32, shape, values);
}

Tensor constant_i32(Graph& graph, const Shape& shape, std::span<const std::int32_t> values) {
  return constant_of(graph, DType::kI32, shape, values);
}

Tensor constant_u32(Graph& graph, const Shape& shape, std::span<const std::uint32_t> values) {
  return constant_of(graph, DType::kU32, shape, values);
}

Tensor iota(Graph& graph, const Type& type, int axis) {
  return graph.append(OpKind::IOTA, {}, {positive_axis(axis, type.shape.rank())}, type);
}

Tensor like(Tensor x, double value) {
  return full(x.graph(), x.type(), value);
}

Tensor operator-(Tensor x) {
  return unary(OpKind::NEG, x);
}
Tensor invert(Tensor x) {
  return unary(OpKind::NOT, x);
}
Tensor abs(Tensor x) {
  return unary(OpKind::ABS, x);
}
Tensor sign(Tensor x) {
  return unary(OpKind::SIGN, x);
}
Tensor floor(Tensor x) {
  return unary(OpKind::FLOOR, x);
}
Tensor round(Tensor x) {
  return unary(OpKind::ROUND, x);
}
Tensor sqrt(Tensor x) {
  return unary(OpKind::SQRT, x);
}
Tensor exp(Tensor x) {
  return unary(OpKind::EXP, x);
}
Tensor log(Tensor x) {
  return unary(OpKind::LOG, x);
}
Tensor log1p(Tensor x) {
  return unary(OpKind::LOG1P, x);
}
Tensor sin(Tensor x) {
  return unary(OpKind::SIN, x);
}
Tensor cos(Tensor x) {
  return unary(OpKind::COS, x);
}
Tensor tanh(Tensor x) {
  return unary(OpKind::TANH, x);
}
Tensor sigmoid(Tensor x) {
  return unary(OpKind::SIGMOID, x);
}
Tensor erf(Tensor x) {
  return unary(OpKind::ERF, x);
}
Tensor square(Tensor x) {
  return x * x;
}
Tensor stop_gradient(Tensor x) {
  return x.graph().stop_gradient(x);
}

Tensor cast(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.graph().append(OpKind::CAST, {x}, {}, Type{dtype, x.shape()});
}

Tensor operator+(Tensor a, Tensor b) {
  return binary(OpKind::ADD, a, b);
}
Tensor operator-(Tensor a, Tensor b) {
  return binary(OpKind::SUB, a, b);
}
Tensor operator*(Tensor a, Tensor b) {
  return binary(OpKind::MUL, a, b);
}
Tensor operator/(Tensor a, Tensor b) {
  return binary(OpKind::DIV, a, b);
}
Tensor operator+(Tensor a, double b) {
  return a + scalar(a.graph(), b, a.dtype());
}
Tensor operator-(Tensor a, double b) {
  return a - scalar(a.graph(), b, a.dtype());
}
Tensor operator*(Tensor a, double b) {
  return a * scalar(a.graph(), b, a.dtype());
}
Tensor operator/(Tensor a, double b) {
  return a / scalar(a.graph(), b, a.dtype());
}
Tensor operator+(double a, Tensor b) {
  return scalar(b.graph(), a, b.dtype()) + b;
}
Tensor operator-(double a, Tensor b) {
  return scalar(b.graph(), a, b.dtype()) - b;
}
Tensor operator*(double a, Tensor b) {
  return scalar(b.graph(), a, b.dtype()) * b;
}
Tensor operator/(double a, Tensor b) {
  return scalar(b.graph(), a, b.dtype()) / b;
}
Tensor rem(Tensor a, Tensor b) {
  return binary(OpKind::REM, a, b);
}
Tensor pow(Tensor a, Tensor b) {
  return binary(OpKind::POW, a, b);
}
Tensor maximum(Tensor a, Tensor b) {
  return binary(OpKind::MAX, a, b);
}
Tensor minimum(Tensor a, Tensor b) {
  return binary(OpKind::MIN, a, b);
}
Tensor maximum(Tensor a, double b) {
  return maximum(a, scalar(a.graph(), b, a.dtype()));
}
Tensor minimum(Tensor a, double b) {
  return minimum(a, scalar(a.graph(), b, a.dtype()));
}
Tensor clamp(Tensor x, Tensor low, Tensor high) {
  return minimum(maximum(x, low), high);
}
Tensor clamp(Tensor x, double low, double high) {
  return minimum(maximum(x, low), high);
}
Tensor operator&(Tensor a, Tensor b) {
  return binary(OpKind::AND, a, b);
}
Tensor operator|(Tensor a, Tensor b) {
  return binary(OpKind::OR, a, b);
}
Tensor operator^(Tensor a, Tensor b) {
  return binary(OpKind::XOR, a, b);
}

Tensor shift_left(Tensor a, int bits) {
  return binary(OpKind::SHIFT_LEFT, a, scalar(a.graph(), bits, a.dtype()));
}

Tensor shift_right(Tensor a, int bits) {
  return binary(OpKind::SHIFT_RIGHT, a, scalar(a.graph(), bits, a.dtype()));
}

Tensor equal(Tensor a, Tensor b) {
  return binary(OpKind::EQ, a, b);
}
Tensor not_equal(Tensor a, Tensor b) {
  return invert(equal(a, b));
}
Tensor less(Tensor a, Tensor b) {
  return binary(OpKind::LT, a, b);
}
Tensor less_equal(Tensor a, Tensor b) {
  return binary(OpKind::LE, a, b);
}
Tensor greater(Tensor a, Tensor b) {
  return less(b, a);
}
Tensor greater_equal(Tensor a, Tensor b) {
  return less_equal(b, a);
}
Tensor less(Tensor a, double b) {
  return less(a, scalar(a.graph(), b, a.dtype()));
}
Tensor greater(Tensor a, double b) {
  return greater(a, scalar(a.graph(), b, a.dtype()));
}

Tensor select(Tensor condition, Tensor if_true, Tensor if_false) {
  const Shape shape = common_shape(condition.shape(), common_shape(if_true.shape(), if_false.shape()));
  return condition.graph().append(
      OpKind::SELECT, {broadcast_to(condition, shape), broadcast_to(if_true, shape), broadcast_to(if_false, shape)});
}

Tensor broadcast_to(Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Axes axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(shape.rank() - x.rank() + axis);
  return broadcast_in(x, shape, axes);
}

Tensor broadcast_in(Tensor x, const Shape& shape, const Axes& axes) {
  return x.graph().append(OpKind::BROADCAST, {x}, {axes.begin(), axes.end()}, Type{x.dtype(), shape});
}

Tensor reshape(Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return x.graph().append(OpKind::RESHAPE, {x}, {}, Type{x.dtype(), shape});
}

Tensor flatten(Tensor x, int from_axis) {
  const int first = positive_axis(from_axis, x.rank());
  Shape shape;
  std::int64_t rest = 1;
  for (int axis = 0; axis < first; ++axis) shape.push_back(x.dim(axis));
  for (int axis = first; axis < x.rank(); ++axis) rest *= x.dim(axis);
  shape.push_back(rest);
  return reshape(x, shape);
}

Tensor expand_dims(Tensor x, int axis) {
  const int at = axis < 0 ? axis + x.rank() + 1 : axis;
  Shape shape;
  for (int d = 0; d <= x.rank(); ++d) shape.push_back(d == at ? 1 : x.dim(d < at ? d : d - 1));
  return reshape(x, shape);
}

Tensor transpose(Tensor x, const Axes& permutation) {
  return x.graph().append(OpKind::TRANSPOSE, {x}, {permutation.begin(), permutation.end()});
}

Tensor transpose(Tensor x) {
  Axes permutation;
  for (int axis = 0; axis < x.rank(); ++axis) permutation.push_back(axis);
  positive_axis(-2, x.rank());
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  return transpose(x, permutation);
}

Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t size, std::int64_t stride) {
  const auto at = static_cast<std::size_t>(positive_axis(axis, x.rank()));
  const auto rank = static_cast<std::size_t>(x.rank());
  std::vector<std::int64_t> attributes(3 * rank, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    attributes[d] = d == at ? start : 0;
    attributes[rank + d] = d == at ? size : x.dim(static_cast<int>(d));
    attributes[2 * rank + d] = d == at ? stride : 1;
  }
  return x.graph().append(OpKind::SLICE, {x}, std::move(attributes));
}

Tensor pad(Tensor x, Tensor value, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
           std::span<const std::int64_t> interior) {
  std::vector<std::int64_t> attributes(low.begin(), low.end());
  attributes.insert(attributes.end(), high.begin(), high.end());
  attributes.insert(attributes.end(), interior.begin(), interior.end());
  return x.graph().append(OpKind::PAD, {x, value}, std::move(attributes));
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) throw ir::RuleError("concat: has 0 operands");
  return parts[0].graph().append(OpKind::CONCAT, {parts.begin(), parts.end()}, {positive_axis(axis, parts[0].rank())});
}

Tensor gather(Tensor x, Tensor indices, int axis) {
  return x.graph().append(OpKind::GATHER, {x, indices}, {positive_axis(axis, x.rank())});
}

Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, int axis) {
  return x.graph().append(OpKind::SCATTER_ADD, {x, indices, updates}, {positive_axis(axis, x.rank())});
}

Tensor dynamic_slice(Tensor x, Tensor starts, const Shape& size) {
  return x.graph().append(OpKind::DYNAMIC_SLICE, {x, starts}, {size.begin(), size.end()});
}

Tensor dynamic_update_slice(Tensor x, Tensor update, Tensor starts) {
  return x.graph().append(OpKind::DYNAMIC_UPDATE_SLICE, {x, update, starts});
}

Tensor starts_along(Tensor x, int axis, Tensor index) {
  const int at = positive_axis(axis, x.rank());
  Graph& graph = x.graph();
  if (x.rank() == 1) return reshape(index, {1});
  std::vector<std::int32_t> mask(static_cast<std::size_t>(x.rank()), 0);
  mask[static_cast<std::size_t>(at)] = 1;
  return constant_i32(graph, {x.rank()}, mask) * index;
}

Tensor one_hot(Tensor index, std::int64_t depth, DType dtype) {
  Shape shape = index.shape();
  shape.push_back(depth);
  const Tensor positions = iota(index.graph(), {DType::kI32, shape}, -1);
  return cast(equal(positions, broadcast_to(expand_dims(index, -1), shape)), dtype);
}

Tensor pick(Tensor x, Tensor index) {
  const Tensor chosen = one_hot(index, x.dim(-1), DType::kBool);
  return sum(select(chosen, x, like(x, 0.0)), {-1});
}

Tensor sum(Tensor x, const Axes& axes, bool keep_dims) {
  return reduce(OpKind::REDUCE_SUM, x, axes, keep_dims);
}

Tensor mean(Tensor x, const Axes& axes, bool keep_dims) {
  double count = 1.0;
  for (const std::int64_t axis : sorted_axes(axes, x.rank()))
    count *= static_cast<double>(x.dim(static_cast<int>(axis)));
  return sum(x, axes, keep_dims) * (1.0 / count);
}

Tensor reduce_max(Tensor x, const Axes& axes, bool keep_dims) {
  return reduce(OpKind::REDUCE_MAX, x, axes, keep_dims);
}

Tensor argmax(Tensor x, int axis) {
  return x.graph().append(OpKind::ARGMAX, {x}, {positive_axis(axis, x.rank())});
}

Tensor argsort(Tensor x, int axis) {
  return x.graph().append(OpKind::ARGSORT, {x}, {positive_axis(axis, x.rank())});
}

Tensor matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  return a.graph().append(OpKind::MATMUL, {a, b}, {transpose_a ? 1 : 0, transpose_b ? 1 : 0});
}

Tensor conv2d(Tensor x, Tensor filter, const Conv2dGeometry& g) {
  return x.graph().append(OpKind::CONV2D, {x, filter},
                          {g.stride_h, g.stride_w, g.pad_top, g.pad_bottom, g.pad_left, g.pad_right});
}

Tensor random_bits(Tensor state, const Shape& shape) {
  return state.graph().append(OpKind::RANDOM_BITS, {state}, {}, Type{DType::kU32, shape});
}

Tensor log_softmax(Tensor x) {
  const Graph::Mark mark(x.graph(), "log_softmax/1");
  const Tensor shifted = x - stop_gradient(reduce_max(x, {-1}, true));
  return shifted - log(sum(exp(shifted), {-1}, true));
}

Tensor softmax(Tensor x) {
  const Graph::Mark mark(x.graph(), "softmax/1");
  const Tensor weights = exp(x - stop_gradient(reduce_max(x, {-1}, true)));
  return weights / sum(weights, {-1}, true);
}

Tensor logsumexp(Tensor x) {
  const Graph::Mark mark(x.graph(), "logsumexp/1");
  const Tensor most = stop_gradient(reduce_max(x, {-1}, true));
  const Tensor total = log(sum(exp(x - most), {-1}, true)) + most;
  return reshape(total, Shape(total.shape().dims().first(static_cast<std::size_t>(x.rank() - 1))));
}

}  // namespace thrt

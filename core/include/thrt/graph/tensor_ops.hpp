// The functions people write networks with. Elementwise functions of two values broadcast as NumPy does (by inserting
// broadcast ops); a double is a constant of the other side's dtype. Axes may be negative and then count from the end.
// All throw ir::RuleError for shapes or dtypes that do not fit.
#pragma once

#include <thrt/graph/graph.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace thrt {

using Axes = std::vector<int>;

// Constants of a graph.
Tensor scalar(Graph& graph, double value, DType dtype = DType::kF32);
Tensor full(Graph& graph, const Type& type, double value);
Tensor constant_f32(Graph& graph, const Shape& shape, std::span<const float> values);
Tensor constant_i32(Graph& graph, const Shape& shape, std::span<const std::int32_t> values);
Tensor constant_u32(Graph& graph, const Shape& shape, std::span<const std::uint32_t> values);
Tensor iota(Graph& graph, const Type& type, int axis);
Tensor like(Tensor x, double value);  // x's type, every element `value`

// One value.
Tensor operator-(Tensor x);
Tensor invert(Tensor x);  // every bit; for bool: not (no operator!, which would hide whether a Tensor is there at all)
Tensor abs(Tensor x);
Tensor sign(Tensor x);
Tensor floor(Tensor x);
Tensor round(Tensor x);
Tensor sqrt(Tensor x);
Tensor exp(Tensor x);
Tensor log(Tensor x);
Tensor log1p(Tensor x);
Tensor sin(Tensor x);
Tensor cos(Tensor x);
Tensor tanh(Tensor x);
Tensor sigmoid(Tensor x);
Tensor erf(Tensor x);
Tensor square(Tensor x);
Tensor cast(Tensor x, DType dtype);
Tensor stop_gradient(Tensor x);

// Two values.
Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator/(Tensor a, Tensor b);
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator*(Tensor a, double b);
Tensor operator/(Tensor a, double b);
Tensor operator+(double a, Tensor b);
Tensor operator-(double a, Tensor b);
Tensor operator*(double a, Tensor b);
Tensor operator/(double a, Tensor b);
Tensor rem(Tensor a, Tensor b);
Tensor pow(Tensor a, Tensor b);
Tensor maximum(Tensor a, Tensor b);
Tensor minimum(Tensor a, Tensor b);
Tensor maximum(Tensor a, double b);
Tensor minimum(Tensor a, double b);
Tensor clamp(Tensor x, Tensor low, Tensor high);
Tensor clamp(Tensor x, double low, double high);
Tensor operator&(Tensor a, Tensor b);
Tensor operator|(Tensor a, Tensor b);
Tensor operator^(Tensor a, Tensor b);
Tensor shift_left(Tensor a, int bits);
Tensor shift_right(Tensor a, int bits);

// Comparisons give bool.
Tensor equal(Tensor a, Tensor b);
Tensor not_equal(Tensor a, Tensor b);
Tensor less(Tensor a, Tensor b);
Tensor less_equal(Tensor a, Tensor b);
Tensor greater(Tensor a, Tensor b);
Tensor greater_equal(Tensor a, Tensor b);
Tensor less(Tensor a, double b);
Tensor greater(Tensor a, double b);
Tensor select(Tensor condition, Tensor if_true, Tensor if_false);

// Movement.
Tensor broadcast_to(Tensor x, const Shape& shape);                    // as NumPy: aligned at the last axis
Tensor broadcast_in(Tensor x, const Shape& shape, const Axes& axes);  // x's dimension d becomes result axis axes[d]
Tensor reshape(Tensor x, const Shape& shape);
Tensor flatten(Tensor x, int from_axis = 1);  // [B, ...] -> [B, product]
Tensor expand_dims(Tensor x, int axis);       // a new axis of size 1
Tensor transpose(Tensor x, const Axes& permutation);
Tensor transpose(Tensor x);  // the last two axes swapped
Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t size, std::int64_t stride = 1);
Tensor pad(Tensor x, Tensor value, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
           std::span<const std::int64_t> interior);
Tensor concat(std::span<const Tensor> parts, int axis);
Tensor gather(Tensor x, Tensor indices, int axis = 0);
Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, int axis = 0);
Tensor dynamic_slice(Tensor x, Tensor starts, const Shape& size);
Tensor dynamic_update_slice(Tensor x, Tensor update, Tensor starts);
// The starts of a block of x at `index` (i32, rank 0) along axis, 0 along the others.
Tensor starts_along(Tensor x, int axis, Tensor index);
// One index of each row: x [..., A], index i32 [...] -> [...]. By comparison, so the gradient needs no scatter.
Tensor pick(Tensor x, Tensor index);
Tensor one_hot(Tensor index, std::int64_t depth, DType dtype = DType::kF32);  // [...] -> [..., depth]

// Reductions; no axes means all.
Tensor sum(Tensor x, const Axes& axes = {}, bool keep_dims = false);
Tensor mean(Tensor x, const Axes& axes = {}, bool keep_dims = false);
Tensor reduce_max(Tensor x, const Axes& axes = {}, bool keep_dims = false);
Tensor argmax(Tensor x, int axis = -1);
Tensor argsort(Tensor x, int axis = -1);

Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false);

struct Conv2dGeometry {
  std::int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
};
Tensor conv2d(Tensor x, Tensor filter, const Conv2dGeometry& geometry = {});

Tensor random_bits(Tensor state, const Shape& shape);

// Softmax family over the last axis, stable for any finite input.
Tensor softmax(Tensor x);
Tensor log_softmax(Tensor x);
Tensor logsumexp(Tensor x);  // [..., A] -> [...]

}  // namespace thrt

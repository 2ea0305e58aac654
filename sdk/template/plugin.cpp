// A backend to start from: copy this folder, give it your name, put your own in place of what is plain. It runs every op
// of level CORE for f32, i32, u32, u8 and bool on one thread of the processor, and refuses the rest by name. What each
// op means is in thrt/ops.def. Programs are verified before they come here, so a kernel checks nothing.
#include <thrt/sdk/interpreter.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace {

using namespace thrt::sdk;
using thrt::ir::DType, thrt::ir::OpKind, thrt::ir::Shape;

// Element i from elements i. F is the type of a lambda without captures, which is made anew here; results are of the
// operands' type, or bool.
template <typename X, typename F>
void map(const Call& call) {
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    const X x = elements<X>(call.in(0))[i];
    const auto y = [&] {
      if constexpr (std::is_invocable_v<F, X>) return F{}(x);
      if constexpr (std::is_invocable_v<F, X, X>) return F{}(x, elements<X>(call.in(1))[i]);
    }();
    using Y = std::conditional_t<std::is_same_v<decltype(y), const bool>, bool, X>;
    elements<Y>(call.out())[i] = static_cast<Y>(y);
  }
}

template <typename X, typename Y>
void cast(const Call& call) {
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    const X x = elements<X>(call.in(0))[i];
    Y& y = elements<Y>(call.out())[i];
    if constexpr (std::is_same_v<X, float> && std::is_integral_v<Y> && !std::is_same_v<Y, bool>) {
      const double lowest = std::numeric_limits<Y>::lowest(), largest = std::numeric_limits<Y>::max();
      y = std::isnan(x) ? Y{0} : static_cast<Y>(std::clamp<double>(x, lowest, largest));
    } else {
      y = static_cast<Y>(x);
    }
  }
}

template <typename X>
X divide(X x, X y) {
  if constexpr (std::is_same_v<X, float>) return x / y;
  return y == 0 ? X{0} : static_cast<X>(static_cast<std::int64_t>(x) / static_cast<std::int64_t>(y));
}

void select(const Call& call) {
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    copy_element(call.out(), i, call.in(elements<bool>(call.in(0))[i] ? 1 : 2), i);
  }
}

template <typename X>
bool is_nan(X x) {
  return std::isnan(static_cast<double>(x));
}

template <Walk (*walk)(const Shape&, std::span<const std::int64_t>)>
void move(const Call& call) {
  const Tensor &x = call.in(0), &y = call.out();
  const Walk from = walk(x.type.shape, call.attributes);
  for_each_index(y.type.shape, [&](const Index& index, std::int64_t i) { copy_element(y, i, x, from(index)); });
}

void pad(const Call& call) {
  const Tensor &x = call.in(0), &y = call.out();
  const Walk to = pad_walk(y.type.shape, call.attributes);
  for (std::int64_t i = 0; i < y.count; ++i) copy_element(y, i, call.in(1), 0);
  for_each_index(x.type.shape, [&](const Index& index, std::int64_t i) { copy_element(y, to(index), x, i); });
}

void concat(const Call& call) {
  const int axis = static_cast<int>(call.attributes[0]);
  const AxisView to(call.out().type.shape, axis);
  std::int64_t begin = 0;  // of this operand, along the axis
  for (const Tensor& part : call.operands) {
    const std::int64_t length = part.type.shape[axis], block = length * to.inner;
    for (std::int64_t o = 0; o < to.outer; ++o) {
      copy_elements(call.out(), (o * to.axis + begin) * to.inner, part, o * block, block);
    }
    begin += length;
  }
}

template <typename X>
void iota(const Call& call) {
  for_each_index(call.out().type.shape, [&](const Index& index, std::int64_t i) {
    elements<X>(call.out())[i] = static_cast<X>(index[static_cast<std::size_t>(call.attributes[0])]);
  });
}

template <typename X, bool is_max>
void reduce(const Call& call) {
  using Limits = std::numeric_limits<X>;
  const X lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  std::fill_n(elements<X>(call.out()), call.out().count, is_max ? lowest : X{0});
  const Walk to = reduce_walk(call.in(0).type.shape, call.attributes);
  for_each_index(call.in(0).type.shape, [&](const Index& index, std::int64_t i) {
    const X x = elements<X>(call.in(0))[i];
    X& result = elements<X>(call.out())[to(index)];
    if (!is_max) result += x;
    if (is_max && (x > result || is_nan(x))) result = x;
  });
}

template <typename X>
void argmax(const Call& call) {
  const AxisView view(call.in(0).type.shape, static_cast<int>(call.attributes[0]));
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    const X* row = elements<X>(call.in(0)) + i / view.inner * view.axis * view.inner + i % view.inner;
    std::int64_t best = 0;
    for (std::int64_t a = 1; a < view.axis && !is_nan(row[best * view.inner]); ++a) {
      if (row[a * view.inner] > row[best * view.inner] || is_nan(row[a * view.inner])) best = a;
    }
    elements<std::int32_t>(call.out())[i] = static_cast<std::int32_t>(best);
  }
}

void matmul(const Call& call) {
  const bool turn_a = call.attributes[0] == 1, turn_b = call.attributes[1] == 1;
  const Shape &a = call.in(0).type.shape, &y = call.out().type.shape;
  const std::int64_t rows = y[y.rank() - 2], columns = y[y.rank() - 1], inner = a[a.rank() - (turn_a ? 2 : 1)];
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    const std::int64_t batch = i / columns / rows, r = i / columns % rows, c = i % columns;
    const float* left = elements<float>(call.in(0)) + batch * rows * inner;
    const float* right = elements<float>(call.in(1)) + batch * inner * columns;
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      sum += double{left[turn_a ? k * rows + r : r * inner + k]} * right[turn_b ? c * inner + k : k * columns + c];
    }
    elements<float>(call.out())[i] = static_cast<float>(sum);
  }
}

template <typename... Xs, typename F>
Kernel each(DType dtype, F) {
  return kernel_for<Xs...>(dtype, [](auto x) { return &map<decltype(x), F>; });
}

class MyBackend final : public InterpreterPlugin {
 public:
  explicit MyBackend(const PluginOptions&) {}
  thrt_device_info describe() const override {
    return describe_processor("plain loops", {DType::kF32, DType::kI32, DType::kU32, DType::kU8, DType::kBool});
  }

  KernelChoice find(const OpView& op) const override {
    using I = std::int32_t;
    using U = std::uint32_t;
    const DType to = op.result_type().dtype, from = op.operands().empty() ? to : op.operand_type(0).dtype;
    const auto numbers = [](DType dtype, auto choose) { return kernel_for<float, I, U>(dtype, choose); };
    const OpKind kind = op.kind();
    if (kind == OpKind::NEG) return each<float, I, U>(from, [](auto x) { return -x; });
    if (kind == OpKind::ABS)
      return each<float, I, U>(from, [](auto x) { return std::signbit(static_cast<double>(x)) ? -x : x; });
    if (kind == OpKind::SQRT) return each<float>(from, [](auto x) { return std::sqrt(x); });
    if (kind == OpKind::EXP) return each<float>(from, [](auto x) { return std::exp(x); });
    if (kind == OpKind::LOG) return each<float>(from, [](auto x) { return std::log(x); });
    if (kind == OpKind::TANH) return each<float>(from, [](auto x) { return std::tanh(x); });
    if (kind == OpKind::SIGMOID) return each<float>(from, [](auto x) { return 1 / (1 + std::exp(-double{x})); });
    if (kind == OpKind::NOT) return each<I, U, bool>(from, [](auto x) { return x ^ static_cast<decltype(x)>(-1); });
    if (kind == OpKind::ADD) return each<float, I, U>(from, [](auto x, auto y) { return x + y; });
    if (kind == OpKind::SUB) return each<float, I, U>(from, [](auto x, auto y) { return x - y; });
    if (kind == OpKind::MUL) return each<float, I, U>(from, [](auto x, auto y) { return x * y; });
    if (kind == OpKind::DIV) return each<float, I, U>(from, [](auto x, auto y) { return divide(x, y); });
    if (kind == OpKind::MAX) return each<float, I, U>(from, [](auto x, auto y) { return is_nan(x) || x > y ? x : y; });
    if (kind == OpKind::MIN) return each<float, I, U>(from, [](auto x, auto y) { return is_nan(x) || x < y ? x : y; });
    if (kind == OpKind::AND) return each<I, U, bool>(from, [](auto x, auto y) { return x & y; });
    if (kind == OpKind::OR) return each<I, U, bool>(from, [](auto x, auto y) { return x | y; });
    if (kind == OpKind::EQ) return each<float, I, U, std::uint8_t, bool>(from, [](auto x, auto y) { return x == y; });
    if (kind == OpKind::LT) return each<float, I, U>(from, [](auto x, auto y) { return x < y; });
    if (kind == OpKind::LE) return each<float, I, U>(from, [](auto x, auto y) { return x <= y; });
    if (kind == OpKind::CAST) {
      return kernel_for<float, I, U, std::uint8_t, bool>(from, [&](auto x) {
        return kernel_for<float, I, U, std::uint8_t, bool>(to, [](auto y) { return &cast<decltype(x), decltype(y)>; });
      });
    }
    if (kind == OpKind::IOTA) return numbers(to, [](auto x) { return &iota<decltype(x)>; });
    if (kind == OpKind::REDUCE_SUM) return numbers(to, [](auto x) { return &reduce<decltype(x), false>; });
    if (kind == OpKind::REDUCE_MAX) return numbers(to, [](auto x) { return &reduce<decltype(x), true>; });
    if (kind == OpKind::ARGMAX) return numbers(from, [](auto x) { return &argmax<decltype(x)>; });
    if (kind == OpKind::MATMUL) return &matmul;
    if (kind == OpKind::SELECT) return &select;
    if (kind == OpKind::BROADCAST) return &move<broadcast_walk>;
    if (kind == OpKind::TRANSPOSE) return &move<transpose_walk>;
    if (kind == OpKind::SLICE) return &move<slice_walk>;
    if (kind == OpKind::PAD) return &pad;
    if (kind == OpKind::CONCAT) return &concat;
    return nullptr;  // or KernelChoice::refuse("why")
  }
};

}  // namespace

THRT_BACKEND(MyBackend, "mybackend", "0.1.0", "My name", "What it runs on, in one line");

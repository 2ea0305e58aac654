// The op set once more, by definition: every value a vector of doubles (which hold f32, i32, u32 and bool exactly), every op a loop
// over multi-indices. Slow, and independent of the backend. Elementwise functions are those of <cmath>, rounded to f32.
#pragma once

#include <thrt/philox.h>
#include <thrt/ir/ops.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace thrt::testing {

using ir::DType;
using ir::OpKind;
using Index = std::vector<std::int64_t>;

struct Naive {
  ir::Type type;
  std::vector<double> x;

  double at(const Index& index) const { return x[position(index)]; }
  double& at(const Index& index) { return x[position(index)]; }

  std::size_t position(const Index& index) const {
    std::int64_t result = 0;
    for (int d = 0; d < type.shape.rank(); ++d) result = result * type.shape[d] + index[static_cast<std::size_t>(d)];
    return static_cast<std::size_t>(result);
  }
};

inline void each_index(const ir::Shape& shape, const std::function<void(const Index&)>& visit) {
  Index index(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      index[static_cast<std::size_t>(d)] = rest % shape[d];
      rest /= shape[d];
    }
    visit(index);
  }
}

// An exact or f64 result as the dtype holds it.
inline double settle(double value, DType dtype) {
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  const double wrapped = value - std::floor(value / 4294967296.0) * 4294967296.0;
  if (dtype == DType::kU32) return wrapped;
  if (dtype == DType::kI32) return wrapped >= 2147483648.0 ? wrapped - 4294967296.0 : wrapped;
  return value;
}

inline double unary(OpKind kind, double x, DType dtype) {
  switch (kind) {
    case OpKind::NEG:
      return -x;
    case OpKind::ABS:
      return std::fabs(x);
    case OpKind::SIGN:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case OpKind::FLOOR:
      return std::floor(x);
    case OpKind::ROUND:
      return std::nearbyint(x);
    case OpKind::SQRT:
      return std::sqrt(x);
    case OpKind::EXP:
      return std::exp(x);
    case OpKind::LOG:
      return std::log(x);
    case OpKind::LOG1P:
      return std::log1p(x);
    case OpKind::SIN:
      return std::sin(x);
    case OpKind::COS:
      return std::cos(x);
    case OpKind::TANH:
      return std::tanh(x);
    case OpKind::SIGMOID:
      return 1 / (1 + std::exp(-x));
    case OpKind::ERF:
      return std::erf(x);
    default:  // NOT
      return dtype == DType::kBool ? 1 - x : -x - 1;
  }
}

inline double binary(OpKind kind, double x, double y, DType dtype) {
  const bool integer = !ir::is_float(dtype);
  const auto a = static_cast<std::uint64_t>(static_cast<std::int64_t>(integer ? x : 0));
  const auto b = static_cast<std::uint64_t>(static_cast<std::int64_t>(integer ? y : 0));
  const auto bits = [](std::uint64_t z) { return static_cast<double>(static_cast<std::int64_t>(z)); };
  switch (kind) {
    case OpKind::ADD:
      return x + y;
    case OpKind::SUB:
      return x - y;
    case OpKind::MUL:  // of integers the product modulo 2^64, since 2^53 is too little
      return integer ? static_cast<double>(static_cast<std::uint32_t>(a * b)) : x * y;
    case OpKind::DIV:
      return integer ? (y == 0 ? 0 : std::trunc(x / y)) : x / y;
    case OpKind::REM:
      return integer && y == 0 ? 0 : std::fmod(x, y);
    case OpKind::POW:
      return std::pow(x, y);
    case OpKind::MAX:
      return std::isnan(x) || std::isnan(y) ? std::nan("") : std::max(x, y);
    case OpKind::MIN:
      return std::isnan(x) || std::isnan(y) ? std::nan("") : std::min(x, y);
    case OpKind::AND:
      return bits(a & b);
    case OpKind::OR:
      return bits(a | b);
    case OpKind::XOR:
      return bits(a ^ b);
    case OpKind::SHIFT_LEFT:
      return static_cast<double>(static_cast<std::uint32_t>(a << (b & 31)));
    case OpKind::SHIFT_RIGHT:
      return std::floor(std::ldexp(x, -static_cast<int>(b & 31)));
    case OpKind::EQ:
      return x == y;
    case OpKind::LT:
      return x < y;
    default:  // LE
      return x <= y;
  }
}

inline double convert(double x, DType from, DType to) {
  if (to == DType::kBool) return x != 0;
  if (ir::is_float(to)) return x;
  const double low = to == DType::kI32 ? -2147483648.0 : 0.0;
  const double high = to == DType::kI32 ? 2147483647.0 : to == DType::kU32 ? 4294967295.0 : 255.0;
  if (ir::is_float(from)) return std::isnan(x) ? 0 : std::clamp(std::trunc(x), low, high);
  if (to == DType::kU8) return x - std::floor(x / 256) * 256;
  return x;
}

inline Naive naive_convolution(OpKind kind, const std::vector<Naive>& in, const Index& a, const ir::Type& type) {
  Naive out{type, std::vector<double>(static_cast<std::size_t>(type.elements()), 0.0)};
  const ir::Shape x = kind == OpKind::CONV2D              ? in[0].type.shape
                      : kind == OpKind::CONV2D_GRAD_INPUT ? type.shape
                                                          : in[1].type.shape;
  const ir::Shape f = kind == OpKind::CONV2D_GRAD_FILTER ? type.shape : in[1].type.shape;
  const ir::Shape y = kind == OpKind::CONV2D ? type.shape : in[0].type.shape;
  each_index(y, [&](const Index& at) {
    each_index(ir::Shape{x[1], f[2], f[3]}, [&](const Index& tap) {
      const std::int64_t h = at[2] * a[0] - a[2] + tap[1], w = at[3] * a[1] - a[4] + tap[2];
      if (h < 0 || w < 0 || h >= x[2] || w >= x[3]) return;
      const Index in_x = {at[0], tap[0], h, w}, in_f = {at[1], tap[0], tap[1], tap[2]};
      if (kind == OpKind::CONV2D) out.at(at) += in[0].at(in_x) * in[1].at(in_f);
      if (kind == OpKind::CONV2D_GRAD_INPUT) out.at(in_x) += in[0].at(at) * in[1].at(in_f);
      if (kind == OpKind::CONV2D_GRAD_FILTER) out.at(in_f) += in[0].at(at) * in[1].at(in_x);
    });
  });
  return out;
}

inline Naive naive_movement(OpKind kind, const std::vector<Naive>& in, const Index& attributes, const ir::Type& type) {
  Naive out{type, std::vector<double>(static_cast<std::size_t>(type.elements()), 0.0)};
  const auto rank = static_cast<std::size_t>(in[0].type.shape.rank());
  const auto axis = attributes.empty() ? 0 : static_cast<std::size_t>(attributes[0]);
  const auto fill = [&](const std::function<double(const Index&)>& f) {
    each_index(type.shape, [&](const Index& i) { out.at(i) = f(i); });
  };
  const auto clamp = [](double x, std::int64_t most) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 0, most);
  };
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kBroadcast:
      fill([&](const Index& i) {
        Index from(rank);
        for (std::size_t d = 0; d < rank; ++d) {
          from[d] = in[0].type.shape[static_cast<int>(d)] == 1 ? 0 : i[static_cast<std::size_t>(attributes[d])];
        }
        return in[0].at(from);
      });
      break;
    case ir::Rule::kReshape:
      out.x = in[0].x;
      break;
    case ir::Rule::kTranspose:
      fill([&](const Index& i) {
        Index from(rank);
        for (std::size_t d = 0; d < rank; ++d) from[static_cast<std::size_t>(attributes[d])] = i[d];
        return in[0].at(from);
      });
      break;
    case ir::Rule::kSlice:
      fill([&](const Index& i) {
        Index from(rank);
        for (std::size_t d = 0; d < rank; ++d) from[d] = attributes[d] + i[d] * attributes[2 * rank + d];
        return in[0].at(from);
      });
      break;
    case ir::Rule::kPad:
      std::fill(out.x.begin(), out.x.end(), in[1].x[0]);
      each_index(in[0].type.shape, [&](const Index& i) {
        Index to(rank);
        for (std::size_t d = 0; d < rank; ++d) to[d] = attributes[d] + i[d] * (attributes[2 * rank + d] + 1);
        out.at(to) = in[0].at(i);
      });
      break;
    case ir::Rule::kConcat: {
      std::int64_t before = 0;
      for (const Naive& part : in) {
        each_index(part.type.shape, [&](Index i) {
          const double value = part.at(i);
          i[axis] += before;
          out.at(i) = value;
        });
        before += part.type.shape[static_cast<int>(axis)];
      }
      break;
    }
    case ir::Rule::kGather:
    case ir::Rule::kScatterAdd: {
      const bool gather = kind == OpKind::GATHER;
      const auto index_rank = static_cast<std::size_t>(in[1].type.shape.rank());
      if (!gather) out.x = in[0].x;
      each_index(gather ? type.shape : in[2].type.shape, [&](const Index& i) {
        const auto begin = i.begin() + static_cast<std::ptrdiff_t>(axis),
                   end = begin + static_cast<std::ptrdiff_t>(index_rank);
        const double index = in[1].at(Index(begin, end));
        Index from(i.begin(), begin);
        const std::int64_t length = in[0].type.shape[static_cast<int>(axis)];
        from.push_back(clamp(index, length - 1));
        from.insert(from.end(), end, i.end());
        if (gather) out.at(i) = in[0].at(from);
        if (!gather && index >= 0 && index < static_cast<double>(length)) {
          out.at(from) = settle(out.at(from) + in[2].at(i), type.dtype);
        }
      });
      break;
    }
    case ir::Rule::kDynamicSlice:
      fill([&](Index i) {
        for (std::size_t d = 0; d < rank; ++d) {
          const int axis_d = static_cast<int>(d);
          i[d] += clamp(in[1].x[d], in[0].type.shape[axis_d] - type.shape[axis_d]);
        }
        return in[0].at(i);
      });
      break;
    case ir::Rule::kDynamicUpdateSlice:
      out.x = in[0].x;
      each_index(in[1].type.shape, [&](Index i) {
        const double value = in[1].at(i);
        for (std::size_t d = 0; d < rank; ++d) {
          const int axis_d = static_cast<int>(d);
          i[d] += clamp(in[2].x[d], type.shape[axis_d] - in[1].type.shape[axis_d]);
        }
        out.at(i) = value;
      });
      break;
    default:
      throw std::logic_error("not a movement");
  }
  return out;
}

// What the op makes of its operands; `type` is the type of its result.
inline Naive naive(OpKind kind, const std::vector<Naive>& in, const Index& attributes, const ir::Type& type) {
  Naive out{type, std::vector<double>(static_cast<std::size_t>(type.elements()), 0.0)};
  const auto rank = in.empty() ? 0 : static_cast<std::size_t>(in[0].type.shape.rank());
  const auto axis = attributes.empty() ? 0 : static_cast<std::size_t>(attributes[0]);
  const auto fill = [&](const std::function<double(const Index&)>& f) {
    each_index(type.shape, [&](const Index& i) { out.at(i) = f(i); });
  };
  switch (ir::op_info(kind).rule) {
    case ir::Rule::kIota:
      fill([&](const Index& i) { return static_cast<double>(i[axis]); });
      break;
    case ir::Rule::kUnary:
      for (std::size_t i = 0; i < out.x.size(); ++i) out.x[i] = unary(kind, in[0].x[i], type.dtype);
      break;
    case ir::Rule::kCast:
      for (std::size_t i = 0; i < out.x.size(); ++i) out.x[i] = convert(in[0].x[i], in[0].type.dtype, type.dtype);
      break;
    case ir::Rule::kBinary:
    case ir::Rule::kCompare:
      for (std::size_t i = 0; i < out.x.size(); ++i) out.x[i] = binary(kind, in[0].x[i], in[1].x[i], in[0].type.dtype);
      break;
    case ir::Rule::kSelect:
      for (std::size_t i = 0; i < out.x.size(); ++i) out.x[i] = in[0].x[i] != 0 ? in[1].x[i] : in[2].x[i];
      break;
    case ir::Rule::kBroadcast:
    case ir::Rule::kReshape:
    case ir::Rule::kTranspose:
    case ir::Rule::kSlice:
    case ir::Rule::kPad:
    case ir::Rule::kConcat:
    case ir::Rule::kGather:
    case ir::Rule::kScatterAdd:
    case ir::Rule::kDynamicSlice:
    case ir::Rule::kDynamicUpdateSlice:
      out = naive_movement(kind, in, attributes, type);
      break;
    case ir::Rule::kReduce: {
      const bool sum = kind == OpKind::REDUCE_SUM;
      const double lowest = type.dtype == DType::kF32 ? -HUGE_VAL : type.dtype == DType::kI32 ? -2147483648.0 : 0.0;
      if (!sum) std::fill(out.x.begin(), out.x.end(), lowest);
      each_index(in[0].type.shape, [&](const Index& i) {
        Index to;
        for (std::size_t d = 0; d < rank; ++d) {
          if (std::find(attributes.begin(), attributes.end(), static_cast<std::int64_t>(d)) == attributes.end()) {
            to.push_back(i[d]);
          }
        }
        double& element = out.at(to);
        element = sum ? element + in[0].at(i) : binary(OpKind::MAX, element, in[0].at(i), type.dtype);
      });
      break;
    }
    case ir::Rule::kArgmax:
    case ir::Rule::kArgsort: {
      const std::int64_t length = in[0].type.shape[static_cast<int>(axis)];
      const auto row = [&](Index i) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(length));
        std::iota(order.begin(), order.end(), 0);
        const auto value = [&](std::int64_t k) {
          i[axis] = k;
          return in[0].at(i);
        };
        const bool descending = kind == OpKind::ARGMAX;
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) {
          const double a = value(p), b = value(q);
          if (descending) return std::isnan(a) ? !std::isnan(b) : a > b;
          return std::isnan(b) ? !std::isnan(a) : a < b;
        });
        return order;
      };
      fill([&](const Index& i) {
        Index from = i;
        std::int64_t position = 0;
        if (kind == OpKind::ARGMAX) {
          from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), 0);
        } else {
          position = i[axis];
        }
        return static_cast<double>(row(from)[static_cast<std::size_t>(position)]);
      });
      break;
    }
    case ir::Rule::kMatmul: {
      const bool ta = attributes[0] == 1, tb = attributes[1] == 1;
      const std::int64_t depth = in[0].type.shape[static_cast<int>(ta ? rank - 2 : rank - 1)];
      fill([&](const Index& i) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          Index a = i, b = i;
          a[ta ? rank - 1 : rank - 2] = i[rank - 2];
          a[ta ? rank - 2 : rank - 1] = k;
          b[tb ? rank - 2 : rank - 1] = i[rank - 1];
          b[tb ? rank - 1 : rank - 2] = k;
          sum += in[0].at(a) * in[1].at(b);
        }
        return sum;
      });
      break;
    }
    case ir::Rule::kConv2d:
    case ir::Rule::kConv2dGradInput:
    case ir::Rule::kConv2dGradFilter:
      out = naive_convolution(kind, in, attributes, type);
      break;
    case ir::Rule::kRandomBits: {
      std::uint32_t state[4];
      for (std::size_t i = 0; i < 4; ++i) state[i] = static_cast<std::uint32_t>(in[0].x[i]);
      for (std::size_t i = 0; i < out.x.size(); ++i) out.x[i] = thrt_random_word(state, i);
      break;
    }
    case ir::Rule::kConstant:
    case ir::Rule::kRepeat:
      throw std::logic_error("not here");
  }
  for (double& element : out.x) element = settle(element, type.dtype);
  return out;
}

}  // namespace thrt::testing

// reduce_sum, reduce_max, argmax, argsort.
#include "lower.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace thrt::cpu {
namespace {

using ir::DType;

// A reduction in the fewest dimensions: neighbouring axes of the same kind merged. The innermost axis is handled by one
// vector kernel: a run that shrinks to one element when it is reduced, a row added to a row of results when it is kept.
struct Reduction {
  struct Axis {
    std::int64_t length;
    std::int64_t in_stride, out_stride;  // in bytes; out_stride is 0 for reduced axes
  };
  std::array<Axis, THRT_MAX_RANK> outer{};
  int outer_count = 0;
  std::int64_t inner = 1;
  bool inner_reduced = true;
  DType dtype = DType::kF32;
  std::int64_t results = 0;
  std::uint32_t neutral = 0;  // its bits
  ElementwiseFn row = nullptr;
  void (*run)(DType, void*, const void*, std::int64_t) = nullptr;

  void operator()(std::byte* out, const std::byte* in, bool empty) const {
    auto* words = reinterpret_cast<std::uint32_t*>(out);
    std::fill(words, words + results, neutral);
    if (empty) return;
    std::array<std::int64_t, THRT_MAX_RANK> index{};
    for (;;) {
      if (inner_reduced) {
        run(dtype, out, in, inner);
      } else {
        row(out, in, out, nullptr, inner);
      }
      int d = outer_count - 1;
      for (; d >= 0; --d) {
        const Axis& axis = outer[static_cast<std::size_t>(d)];
        auto& position = index[static_cast<std::size_t>(d)];
        in += axis.in_stride;
        out += axis.out_stride;
        if (++position < axis.length) break;
        in -= axis.length * axis.in_stride;
        out -= axis.length * axis.out_stride;
        position = 0;
      }
      if (d < 0) return;
    }
  }
};

std::uint32_t neutral_bits(ir::OpKind kind, DType dtype) {
  if (kind == ir::OpKind::REDUCE_SUM || dtype == DType::kU32) return 0;
  if (dtype == DType::kI32) return 0x80000000u;
  return std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
}

Reduction plan_reduction(const sdk::OpView& op, const Kernels& kernels) {
  const bool sum = op.kind() == ir::OpKind::REDUCE_SUM;
  const ir::Type from = op.operand_type(0);
  struct Merged {
    std::int64_t length;
    bool reduced;
  };
  std::vector<Merged> merged;
  std::size_t next = 0;
  for (int d = 0; d < from.shape.rank(); ++d) {
    const bool reduced = next < op.attributes().size() && op.attribute(next) == d;
    if (reduced) ++next;
    if (from.shape[d] == 1) continue;
    if (!merged.empty() && merged.back().reduced == reduced) {
      merged.back().length *= from.shape[d];
    } else {
      merged.push_back({from.shape[d], reduced});
    }
  }
  Reduction plan;
  plan.dtype = from.dtype;
  plan.results = op.result_type().elements();
  plan.neutral = neutral_bits(op.kind(), from.dtype);
  plan.run = sum ? kernels.sum_run : kernels.max_run;
  plan.row = kernels.elementwise(sum ? ir::OpKind::ADD : ir::OpKind::MAX, from.dtype, from.dtype, ScalarOperand::kNone);
  std::int64_t in_stride = 4, out_stride = 4;
  if (!merged.empty()) {
    plan.inner = merged.back().length;
    plan.inner_reduced = merged.back().reduced;
    in_stride *= plan.inner;
    if (!plan.inner_reduced) out_stride *= plan.inner;
    merged.pop_back();
  }
  plan.outer_count = static_cast<int>(merged.size());
  for (std::size_t i = merged.size(); i-- > 0;) {
    plan.outer[i] = {merged[i].length, in_stride, merged[i].reduced ? 0 : out_stride};
    in_stride *= merged[i].length;
    if (!merged[i].reduced) out_stride *= merged[i].length;
  }
  return plan;
}

// A number whose unsigned order is the order of ops.def: NaN above all, the zeros equal.
std::uint32_t sort_key(DType dtype, std::uint32_t bits) {
  if (dtype == DType::kU32) return bits;
  if (dtype == DType::kI32) return bits ^ 0x80000000u;
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
  if ((bits & 0x7fffffffu) == 0) bits = 0;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

void argmax_row(DType dtype, const std::uint32_t* x, std::int64_t stride, std::int64_t length, std::int32_t* out) {
  std::int64_t best = 0;
  std::uint32_t best_key = sort_key(dtype, x[0]);
  for (std::int64_t i = 1; i < length; ++i) {
    const std::uint32_t key = sort_key(dtype, x[i * stride]);
    if (key > best_key) {
      best = i;
      best_key = key;
    }
  }
  *out = static_cast<std::int32_t>(best);
}

// Key in the high half, index in the low one: all different, so any sort is stable.
void argsort_row(DType dtype, const std::uint32_t* x, std::int64_t stride, std::int64_t length, std::int32_t* out,
                 std::uint64_t* scratch) {
  for (std::int64_t i = 0; i < length; ++i) {
    scratch[i] = (static_cast<std::uint64_t>(sort_key(dtype, x[i * stride])) << 32) | static_cast<std::uint64_t>(i);
  }
  std::sort(scratch, scratch + length);
  for (std::int64_t i = 0; i < length; ++i) {
    out[i * stride] = static_cast<std::int32_t>(scratch[i] & 0xffffffffu);
  }
}

}  // namespace

Step lower_reduce(const sdk::OpView& op, const CompileSettings& settings) {
  const Kernels& kernels = *settings.kernels;
  Step step = step_of(op);
  const bool empty = op.operand_type(0).elements() == 0;
  const Reduction plan = plan_reduction(op, kernels);
  if (plan.results == 0) return step;
  step.bind = [plan, empty, x = op.operand(0), result = op.result()](const Addresses& addresses, std::byte*) -> Task {
    return [plan, empty, in = addresses.of(x), out = addresses.of(result)] { plan(out, in, empty); };
  };
  return step;
}

Step lower_argmax(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type type = op.operand_type(0);
  if (op.result_type().elements() == 0) return step;
  const AroundAxis around(type.shape, op.attribute(0));
  step.bind = [around, dtype = type.dtype, x = op.operand(0), result = op.result()](const Addresses& addresses,
                                                                                    std::byte*) -> Task {
    return [around, dtype, in = reinterpret_cast<const std::uint32_t*>(addresses.of(x)),
            out = reinterpret_cast<std::int32_t*>(addresses.of(result))] {
      for (std::int64_t i = 0; i < around.before; ++i) {
        for (std::int64_t j = 0; j < around.after; ++j) {
          argmax_row(dtype, in + i * around.length * around.after + j, around.after, around.length,
                     out + i * around.after + j);
        }
      }
    };
  };
  return step;
}

Step lower_argsort(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type type = op.operand_type(0);
  if (type.elements() == 0) return step;
  const AroundAxis around(type.shape, op.attribute(0));
  step.memory.scratch_bytes = static_cast<std::uint64_t>(around.length) * sizeof(std::uint64_t);
  step.bind = [around, dtype = type.dtype, x = op.operand(0), result = op.result()](const Addresses& addresses,
                                                                                    std::byte* scratch) -> Task {
    return [around, dtype, keys = reinterpret_cast<std::uint64_t*>(scratch),
            in = reinterpret_cast<const std::uint32_t*>(addresses.of(x)),
            out = reinterpret_cast<std::int32_t*>(addresses.of(result))] {
      for (std::int64_t i = 0; i < around.before; ++i) {
        for (std::int64_t j = 0; j < around.after; ++j) {
          const std::int64_t first = i * around.length * around.after + j;
          argsort_row(dtype, in + first, around.after, around.length, out + first, keys);
        }
      }
    };
  };
  return step;
}

}  // namespace thrt::cpu

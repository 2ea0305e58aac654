// reduce_sum, reduce_max, argmax, argsort.
#include "lower.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

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

// Neighbouring axes of the same kind as one, those of size 1 left out.
struct Merged {
  std::int64_t length;
  bool reduced;
};

std::vector<Merged> merged_axes(const sdk::OpView& op) {
  const ir::Shape shape = op.operand_type(0).shape;
  std::vector<Merged> merged;
  std::size_t next = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool reduced = next < op.attributes().size() && op.attribute(next) == d;
    if (reduced) ++next;
    if (shape[d] == 1) continue;
    if (!merged.empty() && merged.back().reduced == reduced) {
      merged.back().length *= shape[d];
    } else {
      merged.push_back({shape[d], reduced});
    }
  }
  return merged;
}

Reduction plan_reduction(const sdk::OpView& op, const Kernels& kernels) {
  const bool sum = op.kind() == ir::OpKind::REDUCE_SUM;
  const ir::Type from = op.operand_type(0);
  std::vector<Merged> merged = merged_axes(op);
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

// f32 [outer, count, n] -> [outer, n] or [outer, count]: what nearly all reductions of a network are.
struct Simple {
  bool by_rows;
  std::int64_t outer, count, n;
};

std::optional<Simple> simple_reduction(const sdk::OpView& op) {
  if (op.operand_type(0).dtype != DType::kF32 || op.operand_type(0).elements() == 0) return std::nullopt;
  const std::vector<Merged> merged = merged_axes(op);
  const auto is = [&](std::vector<bool> reduced) {
    return merged.size() == reduced.size() && std::equal(merged.begin(), merged.end(), reduced.begin(),
                                                         [](const Merged& m, bool r) { return m.reduced == r; });
  };
  if (is({})) return Simple{true, 1, 1, 1};
  if (is({true})) return Simple{true, 1, 1, merged[0].length};
  if (is({false})) return Simple{true, 1, merged[0].length, 1};
  if (is({false, true})) return Simple{true, 1, merged[0].length, merged[1].length};
  if (is({true, false})) return Simple{false, 1, merged[0].length, merged[1].length};
  if (is({false, true, false})) return Simple{false, merged[0].length, merged[1].length, merged[2].length};
  return std::nullopt;
}

// Fewer elements are not worth the handing over to another thread: 32 Ki of them take some 2 microseconds.
constexpr std::int64_t kLeastElementsOfAPart = 1 << 15;
constexpr double kNanosecondsOfAStep = 15, kNanosecondsOfAnElement = 0.06;

std::int64_t part_count(std::int64_t elements, std::int64_t most, int threads) {
  return std::max<std::int64_t>(1, std::min({elements / kLeastElementsOfAPart, most, std::int64_t{threads}}));
}

// One long run: the chunks' results into the scratch, then joined in order.
void bind_chunks(Step& step, const Simple& simple, bool sum, const Kernels& kernels, int threads, std::uint32_t x,
                 std::uint32_t result) {
  const std::int64_t n = simple.n, chunks = (n + kReduceChunk - 1) / kReduceChunk;
  const std::int64_t parts = part_count(n, chunks, threads);
  step.parts = static_cast<std::uint32_t>(parts);
  step.memory.scratch_bytes = static_cast<std::uint64_t>(chunks) * sizeof(float);
  const ReduceRowsFn rows = sum ? kernels.sum_rows : kernels.max_rows;
  step.bind = [=](const Addresses& addresses, std::byte* scratch) -> Work {
    const auto* in = reinterpret_cast<const float*>(addresses.of(x));
    auto* out = reinterpret_cast<float*>(addresses.of(result));
    auto* partial = reinterpret_cast<float*>(scratch);
    std::vector<Task> tasks;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * chunks / parts, last = (part + 1) * chunks / parts;
      tasks.emplace_back([=] {
        for (std::int64_t c = first; c < last; ++c) {
          const std::int64_t at = c * kReduceChunk;
          rows(partial + c, in + at, 1, std::min(kReduceChunk, n - at));
        }
      });
    }
    // The same order as in one run: a row of `chunks` elements would be added in another one.
    return Work(std::move(tasks), [=] {
      float total = partial[0];
      for (std::int64_t c = 1; c < chunks; ++c) {
        total = sum ? total + partial[c] : ((total > partial[c]) || std::isnan(total)) ? total : partial[c];
      }
      *out = total;
    });
  };
}

void bind_simple(Step& step, const Simple& simple, bool sum, const Kernels& kernels, int threads, std::uint32_t x,
                 std::uint32_t result) {
  const std::int64_t elements = simple.outer * simple.count * simple.n;
  step.cost = kNanosecondsOfAStep + static_cast<double>(elements) * kNanosecondsOfAnElement;
  const bool one_run = simple.by_rows && simple.count == 1;
  if (one_run && part_count(elements, elements, threads) > 1) {
    return bind_chunks(step, simple, sum, kernels, threads, x, result);
  }
  // Rows are cut among the parts, columns in whole cache lines.
  const std::int64_t cuts = simple.by_rows ? simple.count : (simple.n + 15) / 16;
  const std::int64_t parts = part_count(elements, cuts, threads);
  step.parts = static_cast<std::uint32_t>(parts);
  const ReduceRowsFn rows = sum ? kernels.sum_rows : kernels.max_rows;
  const ReduceColumnsFn columns = sum ? kernels.sum_columns : kernels.max_columns;
  step.bind = [=](const Addresses& addresses, std::byte*) -> Work {
    const auto* in = reinterpret_cast<const float*>(addresses.of(x));
    auto* out = reinterpret_cast<float*>(addresses.of(result));
    std::vector<Task> tasks;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * cuts / parts, last = (part + 1) * cuts / parts;
      if (simple.by_rows) {
        tasks.emplace_back([=, n = simple.n] { rows(out + first, in + first * n, last - first, n); });
        continue;
      }
      const std::int64_t j = first * 16, width = std::min(last * 16, simple.n) - j;
      tasks.emplace_back([=] {
        for (std::int64_t i = 0; i < simple.outer; ++i) {
          columns(out + i * simple.n + j, in + i * simple.count * simple.n + j, simple.count, width, simple.n);
        }
      });
    }
    return Work(std::move(tasks));
  };
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

// Below it, the histograms of a radix sort cost more than comparing.
constexpr std::int64_t kLeastOfRadixSort = 64;

// By the high halves, one byte after another, in order where those are equal. `spare` has room for as many.
void radix_sort(std::uint64_t* items, std::uint64_t* spare, std::int64_t count) {
  constexpr int kDigits = 4, kValues = 256;
  std::uint32_t starts[kDigits][kValues] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < kDigits; ++d) ++starts[d][(items[i] >> (32 + 8 * d)) & 0xffu];
  }
  for (int d = 0; d < kDigits; ++d) {
    std::uint32_t before = 0;
    for (int v = 0; v < kValues; ++v) {
      const std::uint32_t here = starts[d][v];
      starts[d][v] = before;
      before += here;
    }
    for (std::int64_t i = 0; i < count; ++i) spare[starts[d][(items[i] >> (32 + 8 * d)) & 0xffu]++] = items[i];
    std::swap(items, spare);
  }
}

// Key in the high half, index in the low one: all different, so any sort is stable.
void argsort_row(DType dtype, const std::uint32_t* x, std::int64_t stride, std::int64_t length, std::int32_t* out,
                 std::uint64_t* scratch) {
  for (std::int64_t i = 0; i < length; ++i) {
    scratch[i] = (static_cast<std::uint64_t>(sort_key(dtype, x[i * stride])) << 32) | static_cast<std::uint64_t>(i);
  }
  if (length < kLeastOfRadixSort) {
    std::sort(scratch, scratch + length);
  } else {
    radix_sort(scratch, scratch + length, length);
  }
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
  if (const std::optional<Simple> simple = simple_reduction(op)) {
    bind_simple(step, *simple, op.kind() == ir::OpKind::REDUCE_SUM, kernels, settings.threads, op.operand(0),
                op.result());
    return step;
  }
  step.cost = kNanosecondsOfAStep + static_cast<double>(op.operand_type(0).elements()) * 0.5;
  step.bind = [plan, empty, x = op.operand(0), result = op.result()](const Addresses& addresses, std::byte*) -> Task {
    return [plan, empty, in = addresses.of(x), out = addresses.of(result)] { plan(out, in, empty); };
  };
  return step;
}

Step lower_argmax(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type type = op.operand_type(0);
  step.cost = kNanosecondsOfAStep + static_cast<double>(type.elements());
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
  step.cost = kNanosecondsOfAStep + static_cast<double>(type.elements()) * 20;
  step.memory.scratch_bytes = 2 * static_cast<std::uint64_t>(around.length) * sizeof(std::uint64_t);
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

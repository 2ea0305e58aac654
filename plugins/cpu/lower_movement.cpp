// iota, pad, concat, gather, scatter_add, dynamic_slice, dynamic_update_slice.
#include "lower.hpp"
#include "strided.hpp"

#include <algorithm>
#include <cstring>

namespace thrt::cpu {
namespace {

std::size_t element_bytes(const ir::Type& type) {
  return static_cast<std::size_t>(ir::dtype_size(type.dtype));
}

template <class T>
void write_iota(std::byte* to, const AroundAxis& around) {
  auto* out = reinterpret_cast<T*>(to);
  for (std::int64_t k = 0; k < around.length; ++k) {
    std::fill(out + k * around.after, out + (k + 1) * around.after, static_cast<T>(k));
  }
  // What is there again behind itself, twice as long each time.
  const std::int64_t all = around.before * around.length * around.after;
  for (std::int64_t done = around.length * around.after; done < all;) {
    const std::int64_t next = std::min(done, all - done);
    std::memcpy(out + done, out, static_cast<std::size_t>(next) * sizeof(T));
    done += next;
  }
}

// Rows of kBytes, or of `bytes` where that is zero. A copy whose length the compiler knows is no call.
template <std::size_t kBytes>
void gather_rows(std::byte* to, const std::byte* from, const std::int32_t* indices, std::int64_t count,
                 std::int64_t length, std::size_t bytes) {
  const std::size_t row = kBytes > 0 ? kBytes : bytes;
  for (std::int64_t k = 0; k < count; ++k, to += row) {
    const std::int64_t index = std::clamp<std::int64_t>(indices[k], 0, length - 1);
    std::memcpy(to, from + static_cast<std::size_t>(index) * row, row);
  }
}

using GatherRows = void (*)(std::byte*, const std::byte*, const std::int32_t*, std::int64_t, std::int64_t, std::size_t);

GatherRows gather_rows_of(std::size_t bytes) {
  switch (bytes) {
    case 4:
      return &gather_rows<4>;
    case 8:
      return &gather_rows<8>;
    case 12:
      return &gather_rows<12>;
    case 16:
      return &gather_rows<16>;
    default:
      return &gather_rows<0>;
  }
}

// Estimates of Step::cost, in nanoseconds.
double copying(std::uint64_t bytes) {
  return 20 + static_cast<double>(bytes) * 0.03;
}

// Where a dynamic block begins in a value of this shape, in elements: starts are clamped so that the block lies inside.
std::int64_t block_offset(const ir::Shape& whole, const ir::Shape& block, const std::int32_t* starts) {
  const auto strides = whole.strides();
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d) {
    const std::int64_t start = std::clamp<std::int64_t>(starts[d], 0, whole[d] - block[d]);
    offset += start * strides[static_cast<std::size_t>(d)];
  }
  return offset;
}

// A block's layout within the dense whole, as if it began at the first element; both sides collapsed alike is not
// needed: rows are copied at once.
Layout block_layout(const ir::Shape& whole, const ir::Shape& block) {
  return {block, whole.strides(), 0};
}

}  // namespace

Step lower_iota(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type type = op.result_type();
  if (type.elements() == 0) return step;
  const AroundAxis around(type.shape, op.attribute(0));
  step.cost = copying(type.bytes());
  step.bind = [type, around, result = op.result()](const Addresses& addresses, std::byte*) -> Task {
    std::byte* to = addresses.of(result);
    switch (type.dtype) {
      case ir::DType::kF32:
        return [to, around] { write_iota<float>(to, around); };
      default:
        return [to, around] { write_iota<std::uint32_t>(to, around); };
    }
  };
  return step;
}

Step lower_pad(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type from = op.operand_type(0), to = op.result_type();
  if (to.elements() == 0) return step;
  const auto rank = static_cast<std::size_t>(from.shape.rank());
  Layout inside{from.shape, to.shape.strides(), 0};
  for (std::size_t d = 0; d < rank; ++d) {
    inside.offset += op.attribute(d) * inside.strides[d];
    inside.strides[d] *= op.attribute(2 * rank + d) + 1;
  }
  step.cost = copying(to.bytes()) + copying(from.bytes());
  step.bind = [from, to, inside, x = op.operand(0), value = op.operand(1), result = op.result()](
                  const Addresses& addresses, std::byte*) -> Task {
    return [from, to, inside, source = addresses.of(x), padding = addresses.of(value), target = addresses.of(result)] {
      fill(target, padding, element_bytes(to), to.elements());
      if (from.elements() > 0) {
        copy_strided(target, inside, source, Layout::dense(from.shape), element_bytes(to));
      }
    };
  };
  return step;
}

Step lower_concat(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type to = op.result_type();
  if (to.elements() == 0) return step;
  const AroundAxis whole(to.shape, op.attribute(0));
  struct Part {
    std::uint32_t value;
    std::size_t bytes;  // of one chunk: the axis and what is after it
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < op.operands().size(); ++i) {
    const ir::Type type = op.operand_type(i);
    const AroundAxis around(type.shape, op.attribute(0));
    parts.push_back({op.operand(i), static_cast<std::size_t>(around.length * around.after) * element_bytes(type)});
  }
  step.cost = copying(to.bytes()) + 5.0 * static_cast<double>(whole.before) * static_cast<double>(parts.size());
  step.bind = [parts, chunks = whole.before, result = op.result()](const Addresses& addresses, std::byte*) -> Task {
    struct Source {
      const std::byte* data;
      std::size_t bytes;
    };
    std::vector<Source> sources;
    for (const Part& part : parts) {
      if (part.bytes > 0) sources.push_back({addresses.of(part.value), part.bytes});
    }
    return [sources, chunks, target = addresses.of(result)] {
      std::byte* to_chunk = target;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        for (const Source& source : sources) {
          std::memcpy(to_chunk, source.data + static_cast<std::size_t>(chunk) * source.bytes, source.bytes);
          to_chunk += source.bytes;
        }
      }
    };
  };
  return step;
}

Step lower_gather(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type x = op.operand_type(0);
  if (op.result_type().elements() == 0) return step;
  const AroundAxis around(x.shape, op.attribute(0));
  const std::int64_t count = op.operand_type(1).elements();
  const std::size_t bytes = static_cast<std::size_t>(around.after) * element_bytes(x);
  step.cost = copying(op.result_type().bytes()) + static_cast<double>(around.before * count);
  step.bind = [around, count, bytes, x_value = op.operand(0), index_value = op.operand(1), result = op.result()](
                  const Addresses& addresses, std::byte*) -> Task {
    const auto* indices = reinterpret_cast<const std::int32_t*>(addresses.of(index_value));
    return [around, count, bytes, indices, from = addresses.of(x_value), target = addresses.of(result),
            rows = gather_rows_of(bytes)] {
      for (std::int64_t i = 0; i < around.before; ++i) {
        rows(target + static_cast<std::size_t>(i * count) * bytes,
             from + static_cast<std::size_t>(i * around.length) * bytes, indices, count, around.length, bytes);
      }
    };
  };
  return step;
}

Step lower_scatter_add(const sdk::OpView& op, const CompileSettings& settings) {
  const Kernels& kernels = *settings.kernels;
  Step step = step_of(op);
  const ir::Type x = op.operand_type(0);
  step.memory.in_place.emplace_back(op.result(), op.operand(0));
  if (x.elements() == 0) return step;
  const AroundAxis around(x.shape, op.attribute(0));
  const std::int64_t count = op.operand_type(1).elements();
  const ElementwiseFn add = kernels.elementwise(ir::OpKind::ADD, x.dtype, x.dtype, ScalarOperand::kNone);
  const auto row_bytes = static_cast<std::size_t>(around.after) * element_bytes(x);
  step.cost =
      copying(x.bytes()) + 2 * copying(op.operand_type(2).bytes()) + 10.0 * static_cast<double>(around.before * count);
  step.bind = [=, bytes = x.bytes(), x_value = op.operand(0), index_value = op.operand(1), update_value = op.operand(2),
               result = op.result()](const Addresses& addresses, std::byte*) -> Task {
    const auto* indices = reinterpret_cast<const std::int32_t*>(addresses.of(index_value));
    return [=, from = addresses.of(x_value), updates = addresses.of(update_value), target = addresses.of(result)] {
      if (target != from) std::memcpy(target, from, bytes);
      const std::byte* update = updates;
      for (std::int64_t i = 0; i < around.before; ++i) {
        std::byte* block = target + static_cast<std::size_t>(i * around.length) * row_bytes;
        for (std::int64_t k = 0; k < count; ++k, update += row_bytes) {
          if (indices[k] < 0 || indices[k] >= around.length) continue;
          std::byte* row = block + static_cast<std::size_t>(indices[k]) * row_bytes;
          add(row, row, update, nullptr, around.after);
        }
      }
    };
  };
  return step;
}

Step lower_dynamic_slice(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type from = op.operand_type(0), to = op.result_type();
  if (to.elements() == 0) return step;
  step.cost = copying(to.bytes());
  step.bind = [from, to, x = op.operand(0), starts = op.operand(1), result = op.result()](const Addresses& addresses,
                                                                                          std::byte*) -> Task {
    const auto* start = reinterpret_cast<const std::int32_t*>(addresses.of(starts));
    return [from, start, source = addresses.of(x), target = addresses.of(result), bytes = element_bytes(to),
            block = block_layout(from.shape, to.shape), count = to.elements(), shape = to.shape] {
      Layout placed = block;
      placed.offset = block_offset(from.shape, shape, start);
      read_strided(target, source, placed.collapsed(), bytes, 0, count);
    };
  };
  return step;
}

Step lower_dynamic_update_slice(const sdk::OpView& op) {
  Step step = step_of(op);
  const ir::Type whole = op.operand_type(0), update = op.operand_type(1);
  step.memory.in_place.emplace_back(op.result(), op.operand(0));
  if (whole.elements() == 0) return step;
  step.cost = copying(update.bytes());
  step.bind = [whole, update, x = op.operand(0), u = op.operand(1), starts = op.operand(2), result = op.result()](
                  const Addresses& addresses, std::byte*) -> Task {
    const auto* start = reinterpret_cast<const std::int32_t*>(addresses.of(starts));
    return [whole, update, start, from = addresses.of(x), block = addresses.of(u), target = addresses.of(result)] {
      if (target != from) std::memcpy(target, from, whole.bytes());
      if (update.elements() == 0) return;
      Layout placed = block_layout(whole.shape, update.shape);
      placed.offset = block_offset(whole.shape, update.shape, start);
      copy_strided(target, placed, block, Layout::dense(update.shape), element_bytes(whole));
    };
  };
  return step;
}

}  // namespace thrt::cpu

// Behind body.hpp: the ops that fold many elements into one, in a fixed order: same bits each time.
#pragma once

#include <thrt/emit/body.hpp>

namespace thrt::emit::detail {

inline std::string Body::fold_start(const sdk::OpView& op) const {
  const ir::DType dtype = op.operand_type(0).dtype;
  const bool is_sum = op.kind() == ir::OpKind::REDUCE_SUM;
  if (ir::is_float(dtype)) return is_sum ? "0.0f" : "-" + d_.bits_to_float + "(0x7f800000u)";
  if (dtype == ir::DType::kI32) return is_sum ? "0" : "-2147483647 - 1";
  return "0u";
}

inline void Body::fold(const sdk::OpView& op, const std::string& accumulated, const std::string& term) {
  const ir::DType dtype = op.operand_type(0).dtype;
  if (op.kind() == ir::OpKind::REDUCE_SUM) return add_to(dtype, accumulated, term);
  const std::string nan = ir::is_float(dtype) ? " || " + term + " != " + term : "";  // a NaN stays
  line("if (" + term + " > " + accumulated + nan + ") " + accumulated + " = " + term + ";");
}

inline std::vector<std::int64_t> Body::folded_dims(const sdk::OpView& op) {
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : op.attributes()) dims.push_back(op.operand_type(0).shape[static_cast<int>(axis)]);
  return dims;
}

inline Indices Body::folded_place(const sdk::OpView& op, const Indices& at, const Indices& inner) {
  const std::span<const std::int64_t> axes = op.attributes();
  Indices source;
  std::size_t next_kept = 0, next_reduced = 0;
  for (int d = 0; d < op.operand_type(0).shape.rank(); ++d) {
    const bool reduced = next_reduced < axes.size() && axes[next_reduced] == d;
    source.push_back(reduced ? inner[next_reduced++] : at[next_kept++]);
  }
  return source;
}

inline std::string Body::reduce(const sdk::OpView& op, const Indices& at) {
  const ir::DType dtype = op.operand_type(0).dtype;
  const std::string sum = accumulator(dtype, fold_start(op));
  if (op.operand_type(0).elements() == 0) return sum;
  loops(folded_dims(op),
        [&](const Indices& inner) { fold(op, sum, element(op.operand(0), folded_place(op, at, inner))); });
  return op.kind() == ir::OpKind::REDUCE_SUM ? finished(dtype, sum) : sum;
}

inline std::string Body::argmax(const sdk::OpView& op, const Indices& at) {
  const ir::Type from = op.operand_type(0);
  const auto axis = static_cast<std::ptrdiff_t>(op.attribute(0));
  const auto source = [&](const Index& index) {
    Indices all = at;
    all.insert(all.begin() + axis, index);
    return all;
  };
  const std::string best = accumulator(from.dtype, element(op.operand(0), source(Index(0))));
  const std::string found = accumulator(ir::DType::kI32, "0");
  loop(from.shape[static_cast<int>(axis)], [&](const Index& index) {
    const std::string x = element(op.operand(0), source(index));
    const std::string nan =
        ir::is_float(from.dtype) ? " || (" + x + " != " + x + " && " + best + " == " + best + ")" : "";
    block("if (" + x + " > " + best + nan + ")", [&] {
      line(best + " = " + x + ";");
      line(found + " = " + cast(d_, d_.i32, variables.text(index)) + ";");
    });
  });
  return found;
}

// Each element looks through all updates, in their order, for those that are its own: no atomics, same bits.
inline std::string Body::scatter_add(const sdk::OpView& op, const Indices& at) {
  const ir::Shape indices = op.operand_type(1).shape;
  const ir::DType dtype = op.result_type().dtype;
  const auto axis = static_cast<std::ptrdiff_t>(op.attribute(0));
  const std::string sum = accumulator(dtype, element(op.operand(0), at));
  if (indices.elements() == 0) return sum;
  loops({indices.begin(), indices.end()}, [&](const Indices& k) {
    const std::string index = element(op.operand(1), k);
    block("if (" + index + " == " + variables.text(at[static_cast<std::size_t>(axis)]) + ")", [&] {
      Indices source(at.begin(), at.begin() + axis);
      source.insert(source.end(), k.begin(), k.end());
      source.insert(source.end(), at.begin() + axis + 1, at.end());
      add_to(dtype, sum, element(op.operand(2), source));
    });
  });
  return finished(dtype, sum);
}

inline std::string Body::matmul(const sdk::OpView& op, const Indices& at) {
  const ir::Shape a = op.operand_type(0).shape;
  const bool transpose_a = op.attribute(0) == 1, transpose_b = op.attribute(1) == 1;
  const std::size_t rank = at.size();
  const std::int64_t depth = a[static_cast<int>(transpose_a ? rank - 2 : rank - 1)];
  const std::string sum = accumulator(ir::DType::kF32, "0.0f");
  if (depth > 0) {
    loop(depth, [&](const Index& k) {
      Indices left = at, right = at;
      left[transpose_a ? rank - 2 : rank - 1] = k;
      left[transpose_a ? rank - 1 : rank - 2] = at[rank - 2];
      right[transpose_b ? rank - 1 : rank - 2] = k;
      right[transpose_b ? rank - 2 : rank - 1] = at[rank - 1];
      const std::string x = element(op.operand(0), left);
      add_product(sum, x, element(op.operand(1), right));
    });
  }
  return finished(op.result_type().dtype, sum);
}

// at: n, o, p, q of y.
inline std::string Body::conv2d(const sdk::OpView& op, const Indices& at) {
  const ir::Shape x = op.operand_type(0).shape, filter = op.operand_type(1).shape;
  const std::string sum = accumulator(ir::DType::kF32, "0.0f");
  if (filter.elements() == 0) return sum;
  loops({filter[1], filter[2], filter[3]}, [&](const Indices& tap) {
    const Index h = at[2] * op.attribute(0) + tap[1] + Index(-op.attribute(2));
    const Index w = at[3] * op.attribute(1) + tap[2] + Index(-op.attribute(4));
    std::vector<std::string> conditions;
    if (!require_inside(h, x[2], conditions) || !require_inside(w, x[3], conditions)) return;
    const auto add = [&] {
      const std::string value = element(op.operand(0), {at[0], tap[0], bounded(h, x[2]), bounded(w, x[3])});
      add_product(sum, value, element(op.operand(1), {at[1], tap[0], tap[1], tap[2]}));
    };
    conditions.empty() ? add() : block("if (" + all(conditions) + ")", add);
  });
  return finished(op.result_type().dtype, sum);
}

// at: n, c, h, w of x. Every output and tap that read this element.
inline std::string Body::conv2d_grad_input(const sdk::OpView& op, const Indices& at) {
  const ir::Shape dy = op.operand_type(0).shape, filter = op.operand_type(1).shape;
  const std::string sum = accumulator(ir::DType::kF32, "0.0f");
  if (dy.elements() == 0 || filter.elements() == 0) return sum;
  loops({filter[0], filter[2], filter[3]}, [&](const Indices& tap) {  // o, i, j
    std::vector<std::string> conditions;
    Index place[2];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int64_t stride = op.attribute(side);
      place[side] = at[2 + side] + tap[1 + side] * -1 + Index(op.attribute(2 + 2 * side));
      if (!require_inside(place[side], (dy[static_cast<int>(2 + side)] - 1) * stride + 1, conditions)) return;
      if (stride != 1)
        conditions.push_back("(" + variables.text(place[side]) + ") % " + std::to_string(stride) + " == 0");
    }
    const auto add = [&] {
      for (std::size_t side = 0; side < 2; ++side) {
        const std::int64_t stride = op.attribute(side);
        place[side] = divide(bounded(place[side], (dy[static_cast<int>(2 + side)] - 1) * stride + 1), stride).first;
      }
      const std::string value = element(op.operand(0), {at[0], tap[0], place[0], place[1]});
      add_product(sum, value, element(op.operand(1), {tap[0], at[1], tap[1], tap[2]}));
    };
    conditions.empty() ? add() : block("if (" + all(conditions) + ")", add);
  });
  return finished(op.result_type().dtype, sum);
}

// at: o, c, i, j of the filter. Every image and output that used this tap.
inline std::string Body::conv2d_grad_filter(const sdk::OpView& op, const Indices& at) {
  const ir::Shape dy = op.operand_type(0).shape, x = op.operand_type(1).shape;
  const std::string sum = accumulator(ir::DType::kF32, "0.0f");
  if (dy.elements() == 0 || x.elements() == 0) return sum;
  loops({dy[0], dy[2], dy[3]}, [&](const Indices& out) {  // n, p, q
    const Index h = out[1] * op.attribute(0) + at[2] + Index(-op.attribute(2));
    const Index w = out[2] * op.attribute(1) + at[3] + Index(-op.attribute(4));
    std::vector<std::string> conditions;
    if (!require_inside(h, x[2], conditions) || !require_inside(w, x[3], conditions)) return;
    const auto add = [&] {
      const std::string value = element(op.operand(0), {out[0], at[0], out[1], out[2]});
      add_product(sum, value, element(op.operand(1), {out[0], at[1], bounded(h, x[2]), bounded(w, x[3])}));
    };
    conditions.empty() ? add() : block("if (" + all(conditions) + ")", add);
  });
  return finished(op.result_type().dtype, sum);
}

}  // namespace thrt::emit::detail

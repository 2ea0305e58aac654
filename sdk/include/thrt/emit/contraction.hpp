// Behind emit.hpp: matrix products and convolutions as one thing,
//     y[b, m, n] = sum over k of left[b, m, k] * right[b, k, n],
// where left, right and y are elements of the op's operands and result at places that follow from b, m, n and k (implicit GEMM:
// no matrix of image patches is ever in memory).
//
//   op                  b                 m          n               k               left    right
//   matmul              batch dims        row        column          inner dim       a       b
//   conv2d              -                 o          (image, p, q)   (c, i, j)       filter  x
//   conv2d_grad_filter  -                 o          (c, i, j)       (image, p, q)   dy      x
//   conv2d_grad_input   phase (fh, fw)    c          (image, u, v)   (o, i', j')     filter  dy
//
// The gradient by the input: row h of x meets tap i of the filter at row p = (h + pad - i) / stride of dy where that divides.
// With i = stride * i' + f and h = stride * u + f - pad % stride, p is u - i' + pad / stride: for each phase f < stride the taps
// that count are known. Where stride does not divide the filter, some phases have a tap less: there both factors are zero.
//
// Where a place is outside of x or dy, that factor is zero and the other is not: an infinity or NaN in the filter (or in dy, for the
// gradient by the filter) makes a NaN at padding, as "x is zero outside" says, where loops that skip such terms do not.
#pragma once

#include <thrt/emit/body.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

struct Contraction {
  const sdk::OpView* op = nullptr;
  std::int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  std::size_t left = 0, right = 1;  // which operands

  std::int64_t elements() const { return op->result_type().elements(); }
  double products() const {
    return static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(depth);
  }
};

inline bool is_contraction(ir::OpKind kind) {
  return kind == ir::OpKind::MATMUL || kind == ir::OpKind::CONV2D || kind == ir::OpKind::CONV2D_GRAD_INPUT ||
         kind == ir::OpKind::CONV2D_GRAD_FILTER;
}

// Along one side of an image.
struct GradientPhases {
  std::int64_t stride, padding;
  std::int64_t places;  // u: how many elements of a row have the same phase, at most
  std::int64_t taps;    // i'

  GradientPhases(std::int64_t stride_, std::int64_t padding_, std::int64_t length, std::int64_t filter)
      : stride(stride_),
        padding(padding_),
        places((length - 1 + padding_ % stride_) / stride_ + 1),
        taps((filter + stride_ - 1) / stride_) {}
};

inline GradientPhases gradient_phases(const sdk::OpView& op, int side) {
  const auto attribute = static_cast<std::size_t>(side);
  return {op.attribute(attribute), op.attribute(2 + 2 * attribute), op.result_type().shape[2 + side],
          op.operand_type(1).shape[2 + side]};
}

inline Contraction contraction_of(const sdk::OpView& op) {
  Contraction c;
  c.op = &op;
  const ir::Shape first = op.operand_type(0).shape, second = op.operand_type(1).shape, y = op.result_type().shape;
  switch (op.kind()) {
    case ir::OpKind::MATMUL: {
      const int rank = y.rank();
      c.rows = y[rank - 2];
      c.columns = y[rank - 1];
      c.depth = first[op.attribute(0) == 1 ? rank - 2 : rank - 1];
      for (int d = 0; d < rank - 2; ++d) c.batch *= y[d];
      break;
    }
    case ir::OpKind::CONV2D:
      c.left = 1;
      c.right = 0;
      c.rows = y[1];
      c.columns = y[0] * y[2] * y[3];
      c.depth = second[1] * second[2] * second[3];
      break;
    case ir::OpKind::CONV2D_GRAD_INPUT: {
      const GradientPhases h = gradient_phases(op, 0), w = gradient_phases(op, 1);
      c.left = 1;
      c.right = 0;
      c.batch = h.stride * w.stride;
      c.rows = y[1];
      c.columns = y[0] * h.places * w.places;
      c.depth = second[0] * h.taps * w.taps;
      break;
    }
    case ir::OpKind::CONV2D_GRAD_FILTER:
      c.rows = y[0];
      c.columns = y[1] * y[2] * y[3];
      c.depth = first[0] * first[2] * first[3];
      break;
    default:
      throw sdk::Error(THRT_INTERNAL, std::string(op.name()) + " is no contraction").at_op(op.flat_index());
  }
  return c;
}

// What k counts.
inline ir::Shape term_dims(const Contraction& c) {
  const sdk::OpView& op = *c.op;
  const ir::Shape first = op.operand_type(0).shape, second = op.operand_type(1).shape;
  switch (op.kind()) {
    case ir::OpKind::CONV2D:
      return {second[1], second[2], second[3]};
    case ir::OpKind::CONV2D_GRAD_INPUT:
      return {second[0], gradient_phases(op, 0).taps, gradient_phases(op, 1).taps};
    case ir::OpKind::CONV2D_GRAD_FILTER:
      return {first[0], first[2], first[3]};
    default:
      return {c.depth};
  }
}

// The elements of a contraction's operands and result. What follows from b, m or n alone is computed where batch_of(), row_of()
// and column_of() are called: before the loop over k.
class ContractionPlaces {
 public:
  ContractionPlaces(Body& body, const Contraction& contraction) : body_(body), op_(*contraction.op), c_(contraction) {}

  Indices batch_of(const Index& b) {
    const ir::Shape y = op_.result_type().shape;
    ir::Shape dims;
    if (op_.kind() == ir::OpKind::MATMUL) {
      for (int d = 0; d < y.rank() - 2; ++d) dims.push_back(y[d]);
    } else if (op_.kind() == ir::OpKind::CONV2D_GRAD_INPUT) {
      dims = {op_.attribute(0), op_.attribute(1)};
    }
    return body_.unflatten(b, dims);
  }
  Indices column_of(const Index& n) {
    const ir::Shape first = op_.operand_type(0).shape, y = op_.result_type().shape;
    switch (op_.kind()) {
      case ir::OpKind::CONV2D:
        return body_.unflatten(n, {y[0], y[2], y[3]});
      case ir::OpKind::CONV2D_GRAD_INPUT:
        return body_.unflatten(n, {first[0], gradient_phases(op_, 0).places, gradient_phases(op_, 1).places});
      case ir::OpKind::CONV2D_GRAD_FILTER:
        return body_.unflatten(n, {y[1], y[2], y[3]});
      default:
        return {n};
    }
  }
  Indices term_of(const Index& k) { return body_.unflatten(k, term_dims(c_)); }

  std::string left(const Indices& batch, const Index& row, const Indices& term) {
    Indices at;
    switch (op_.kind()) {
      case ir::OpKind::CONV2D:
        at = {row, term[0], term[1], term[2]};
        break;
      case ir::OpKind::CONV2D_GRAD_INPUT: {
        at = {term[0], row, Index(0), Index(0)};
        for (std::size_t side = 0; side < 2; ++side) at[2 + side] = tap(batch, term, side);
        break;
      }
      case ir::OpKind::CONV2D_GRAD_FILTER:
        at = {term[0], row, term[1], term[2]};
        break;
      default:
        at = matrix(batch, row, term[0], op_.attribute(0) == 1);
    }
    return element(c_.left, at);
  }
  std::string right(const Indices& batch, const Indices& term, const Indices& column) {
    switch (op_.kind()) {
      case ir::OpKind::CONV2D:
        return element(c_.right, {column[0], term[0], image(column[1], term[1], 0), image(column[2], term[2], 1)});
      case ir::OpKind::CONV2D_GRAD_INPUT: {
        Indices at = {column[0], term[0], Index(0), Index(0)};
        std::vector<std::string> conditions;  // of left(), so that no infinity is multiplied by a tap that is not there
        for (std::size_t side = 0; side < 2; ++side) {
          const GradientPhases phases = gradient_phases(op_, static_cast<int>(side));
          at[2 + side] = column[1 + side] + term[1 + side] * -1 + Index(phases.padding / phases.stride);
          const std::int64_t taps = op_.operand_type(c_.left).shape[static_cast<int>(2 + side)];
          if (!body_.require_inside(tap(batch, term, side), taps, conditions)) return "0.0f";
        }
        return element(c_.right, at, std::move(conditions));
      }
      case ir::OpKind::CONV2D_GRAD_FILTER:
        return element(c_.right, {term[0], column[0], image(term[1], column[1], 0), image(term[2], column[2], 1)});
      default:
        return element(c_.right, matrix(batch, term[0], column[0], op_.attribute(1) == 1));
    }
  }

  // Where a result lies, if it lies anywhere: `conditions` get what that takes, and where they hold it is at inside().
  Indices result(const Indices& batch, const Index& row, const Indices& column, std::vector<std::string>& conditions) {
    switch (op_.kind()) {
      case ir::OpKind::CONV2D:
        return {column[0], row, column[1], column[2]};
      case ir::OpKind::CONV2D_GRAD_FILTER:
        return {row, column[0], column[1], column[2]};
      case ir::OpKind::CONV2D_GRAD_INPUT: {
        Indices at = {column[0], row, Index(0), Index(0)};
        for (std::size_t side = 0; side < 2; ++side) {
          const GradientPhases phases = gradient_phases(op_, static_cast<int>(side));
          at[2 + side] = column[1 + side] * phases.stride + batch[side] + Index(-(phases.padding % phases.stride));
          body_.require_inside(at[2 + side], op_.result_type().shape[static_cast<int>(2 + side)], conditions);
        }
        return at;
      }
      default:
        return matrix(batch, row, column[0], false);
    }
  }
  Indices inside(Indices at) {
    for (std::size_t d = 0; d < at.size(); ++d)
      at[d] = body_.bounded(at[d], op_.result_type().shape[static_cast<int>(d)]);
    return at;
  }

 private:
  static Indices matrix(const Indices& batch, const Index& row, const Index& column, bool transposed) {
    Indices at = batch;
    at.push_back(transposed ? column : row);
    at.push_back(transposed ? row : column);
    return at;
  }
  // Where an output and a tap meet in the image.
  Index image(const Index& out, const Index& tap, std::size_t side) const {
    return out * op_.attribute(side) + tap + Index(-op_.attribute(2 + 2 * side));
  }
  // Of the gradient by the input: i = stride * i' + f.
  Index tap(const Indices& batch, const Indices& term, std::size_t side) const {
    return term[1 + side] * op_.attribute(side) + batch[side];
  }
  // Zero outside, and where one of `conditions` does not hold.
  std::string element(std::size_t operand, const Indices& at, std::vector<std::string> conditions = {}) {
    const ir::Type type = op_.operand_type(operand);
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (!body_.require_inside(at[d], type.shape[static_cast<int>(d)], conditions)) return "0.0f";
    }
    const auto there = [&] {
      Indices source;
      for (std::size_t d = 0; d < at.size(); ++d)
        source.push_back(body_.bounded(at[d], type.shape[static_cast<int>(d)]));
      return body_.element(op_.operand(operand), source);
    };
    return body_.choose(type.dtype, conditions, there, [] { return std::string("0.0f"); });
  }

  Body& body_;
  const sdk::OpView& op_;
  const Contraction& c_;
};

// What is beyond the last row, column or term is the last one instead: it is read, which is harmless, and not used.
class Clamping {
 public:
  explicit Clamping(Body& body) : body_(body) {}

  Index operator()(const Index& x, std::int64_t extent) {
    if (body_.variables.max(x) < extent) return x;
    if (extent == 1) return Index(0);
    const std::string text = body_.variables.text(x), known = text + " < " + std::to_string(extent);
    const auto found = made_.find(known);
    if (found != made_.end()) return found->second;
    const Index v = body_.variable(known + " ? " + text + " : " + std::to_string(extent - 1), extent);
    return made_.emplace(known, v).first->second;
  }
  // The variables are those of a block that has ended.
  void forget() { made_.clear(); }

 private:
  Body& body_;
  std::map<std::string, Index> made_;
};

// The part of a result that a work-item has: these rows and columns, as far as there are such.
struct OwnPlaces {
  Indices batch;
  std::vector<Index> rows, columns;

  // `each` gets the number of the row and of the column and the result's indices.
  template <typename Each>
  void results(Body& body, const Contraction& c, Each&& each) const {
    ContractionPlaces places(body, c);
    Clamping clamped(body);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      std::vector<std::string> in_column;
      if (!body.require_inside(columns[j], c.columns, in_column)) continue;
      const Indices column = places.column_of(clamped(columns[j], c.columns));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::vector<std::string> conditions = in_column;
        if (!body.require_inside(rows[i], c.rows, conditions)) continue;
        const Indices at = places.result(batch, clamped(rows[i], c.rows), column, conditions);
        body.when(conditions, [&] { each(i, j, places.inside(at)); });
      }
    }
  }
};

}  // namespace thrt::emit::detail

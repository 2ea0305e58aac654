// Random, valid single ops with random operands, for comparing a backend with naive.hpp.
#pragma once

#include "host.hpp"
#include "naive.hpp"

#include <optional>
#include <random>

namespace thrt::testing {

struct RandomOp {
  OpKind kind;
  std::vector<Naive> operands;
  Index attributes;
  std::optional<ir::Type> declared;
};

class OpGenerator {
 public:
  explicit OpGenerator(std::uint32_t seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  std::int64_t dim() { return one_of<std::int64_t>({0, 1, 1, 2, 3, 4, 5, 7, 16, 17, 33}); }
  ir::Shape shape(int rank) {
    for (;;) {
      ir::Shape result;
      for (int d = 0; d < rank; ++d) result.push_back(dim());
      if (result.elements() <= 6000) return result;
    }
  }
  ir::Shape any_shape(int least = 0) { return shape(static_cast<int>(pick(least, 6))); }

  // Values that mean something to most ops: small, of both signs, with special ones among them for floats.
  Naive value(const ir::Type& type, bool special = false) {
    Naive result{type, std::vector<double>(static_cast<std::size_t>(type.elements()))};
    for (double& x : result.x) {
      switch (type.dtype) {
        case DType::kBool:
          x = static_cast<double>(pick(0, 1));
          break;
        case DType::kU8:
          x = static_cast<double>(pick(0, 255));
          break;
        case DType::kU32:
          x = static_cast<double>(pick(0, 3) == 0 ? pick(0, 4294967295) : pick(0, 40));
          break;
        case DType::kI32:
          x = static_cast<double>(pick(0, 3) == 0 ? pick(-2147483648, 2147483647) : pick(-40, 40));
          break;
        default:
          x = static_cast<double>(std::uniform_real_distribution<float>(-4, 4)(random_));
          if (pick(0, 9) == 0) x = static_cast<double>(pick(-3, 3));
          if (special && pick(0, 9) == 0)
            x = one_of<double>({std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1e-42, 1e30});
          x = static_cast<double>(static_cast<float>(x));
      }
    }
    return result;
  }

  DType dtype_of(std::uint32_t set) {
    std::vector<DType> list;
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kU8, DType::kBool}) {
      if ((set & ir::dtype_bit(dtype)) != 0) list.push_back(dtype);
    }
    return one_of(list);
  }

  RandomOp make(OpKind kind) {
    RandomOp op{kind, {}, {}, {}};
    const ir::OpInfo& info = ir::op_info(kind);
    const DType dtype = dtype_of(info.dtypes);
    const auto add = [&](DType type, const ir::Shape& dims, bool special = false) {
      op.operands.push_back(value({type, dims}, special));
    };
    switch (info.rule) {
      case ir::Rule::kIota: {
        op.declared = ir::Type{dtype, any_shape(1)};
        op.attributes = {pick(0, op.declared->shape.rank() - 1)};
        break;
      }
      case ir::Rule::kUnary:
        add(dtype, any_shape(), true);
        break;
      case ir::Rule::kCast:
        add(dtype, any_shape(), true);
        op.declared = ir::Type{dtype_of(ir::kDTypesAny), op.operands[0].type.shape};
        break;
      case ir::Rule::kBinary:
      case ir::Rule::kCompare: {
        const ir::Shape dims = any_shape();
        add(dtype, dims, true);
        add(dtype, dims, true);
        break;
      }
      case ir::Rule::kSelect: {
        const ir::Shape dims = any_shape();
        add(DType::kBool, dims);
        add(dtype, dims, true);
        add(dtype, dims, true);
        break;
      }
      case ir::Rule::kBroadcast:
        broadcast(op, dtype);
        break;
      case ir::Rule::kReshape: {
        const ir::Shape dims = any_shape();
        add(dtype, dims);
        op.declared = ir::Type{dtype, {}};
        for (int d = dims.rank() - 1; d >= 0; --d) op.declared->shape.push_back(dims[d]);
        break;
      }
      case ir::Rule::kTranspose: {
        add(dtype, any_shape());
        for (int d = 0; d < op.operands[0].type.shape.rank(); ++d) op.attributes.push_back(d);
        std::shuffle(op.attributes.begin(), op.attributes.end(), random_);
        break;
      }
      case ir::Rule::kSlice:
        slice(op, dtype);
        break;
      case ir::Rule::kPad: {
        add(dtype, shape(static_cast<int>(pick(0, 4))));
        add(dtype, {});
        for (int i = 0; i < 3 * op.operands[0].type.shape.rank(); ++i) op.attributes.push_back(pick(0, 2));
        break;
      }
      case ir::Rule::kConcat: {
        const ir::Shape dims = shape(static_cast<int>(pick(1, 4)));
        const std::int64_t axis = pick(0, dims.rank() - 1);
        for (std::int64_t i = pick(1, 4); i > 0; --i) {
          ir::Shape part = dims;
          part.set(static_cast<int>(axis), dim());
          add(dtype, part);
        }
        op.attributes = {axis};
        break;
      }
      case ir::Rule::kGather:
      case ir::Rule::kScatterAdd:
        gather(op, dtype);
        break;
      case ir::Rule::kDynamicSlice:
      case ir::Rule::kDynamicUpdateSlice:
        dynamic(op, dtype);
        break;
      case ir::Rule::kReduce: {
        add(dtype, any_shape());
        for (int d = 0; d < op.operands[0].type.shape.rank(); ++d) {
          if (pick(0, 1) == 1) op.attributes.push_back(d);
        }
        break;
      }
      case ir::Rule::kArgmax:
      case ir::Rule::kArgsort: {
        ir::Shape dims = shape(static_cast<int>(pick(1, 4)));
        const std::int64_t axis = pick(0, dims.rank() - 1);
        if (dims[static_cast<int>(axis)] == 0) dims.set(static_cast<int>(axis), 3);
        add(dtype, dims, true);
        op.attributes = {axis};
        break;
      }
      case ir::Rule::kMatmul: {
        ir::Shape a = shape(static_cast<int>(pick(0, 2))), b;
        for (const std::int64_t each : a) b.push_back(each);
        const std::int64_t m = dim(), k = dim(), n = dim();
        op.attributes = {pick(0, 1), pick(0, 1)};
        const bool ta = op.attributes[0] == 1, tb = op.attributes[1] == 1;
        a.push_back(ta ? k : m);
        a.push_back(ta ? m : k);
        b.push_back(tb ? n : k);
        b.push_back(tb ? k : n);
        if (a.elements() + b.elements() > 60000) return make(kind);
        add(DType::kF32, a);
        add(DType::kF32, b);
        break;
      }
      case ir::Rule::kConv2d:
      case ir::Rule::kConv2dGradInput:
      case ir::Rule::kConv2dGradFilter:
        convolution(op);
        break;
      case ir::Rule::kRandomBits:
        add(DType::kU32, {4});
        op.declared = ir::Type{DType::kU32, any_shape()};
        break;
      case ir::Rule::kConstant:
      case ir::Rule::kRepeat:
        break;
    }
    return op;
  }

 private:
  void broadcast(RandomOp& op, DType dtype) {
    const ir::Shape to = any_shape();
    ir::Shape from;
    for (int d = 0; d < to.rank(); ++d) {
      if (pick(0, 2) == 0) continue;
      op.attributes.push_back(d);
      from.push_back(pick(0, 2) == 0 ? 1 : to[d]);
    }
    op.operands.push_back(value({dtype, from}));
    op.declared = ir::Type{dtype, to};
  }

  void slice(RandomOp& op, DType dtype) {
    const ir::Shape dims = any_shape();
    Index starts, sizes, strides;
    for (const std::int64_t length : dims) {
      const std::int64_t stride = pick(1, 3), start = pick(0, std::max<std::int64_t>(length - 1, 0));
      const std::int64_t most = length == 0 ? 0 : (length - 1 - start) / stride + 1;
      starts.push_back(start);
      sizes.push_back(pick(0, most));
      strides.push_back(stride);
    }
    for (const Index& list : {starts, sizes, strides})
      op.attributes.insert(op.attributes.end(), list.begin(), list.end());
    op.operands.push_back(value({dtype, dims}));
  }

  void gather(RandomOp& op, DType dtype) {
    ir::Shape dims = shape(static_cast<int>(pick(1, 3)));
    const int axis = static_cast<int>(pick(0, dims.rank() - 1));
    if (dims[axis] == 0) dims.set(axis, 4);
    op.attributes = {axis};
    const ir::Shape index_dims = shape(static_cast<int>(pick(0, 2)));
    ir::Shape updates;
    for (int d = 0; d < axis; ++d) updates.push_back(dims[d]);
    for (const std::int64_t each : index_dims) updates.push_back(each);
    for (int d = axis + 1; d < dims.rank(); ++d) updates.push_back(dims[d]);
    if (updates.elements() > 20000) {
      op.attributes.clear();
      gather(op, dtype);
      return;
    }
    Naive indices{{DType::kI32, index_dims}, std::vector<double>(static_cast<std::size_t>(index_dims.elements()))};
    for (double& index : indices.x) index = static_cast<double>(pick(-2, dims[axis] + 1));
    op.operands.push_back(value({dtype, dims}));
    op.operands.push_back(indices);
    if (op.kind == OpKind::SCATTER_ADD) op.operands.push_back(value({dtype, updates}));
  }

  void dynamic(RandomOp& op, DType dtype) {
    const ir::Shape dims = any_shape();
    ir::Shape block;
    Naive starts{{DType::kI32, {dims.rank()}}, {}};
    for (const std::int64_t length : dims) {
      block.push_back(pick(0, length));
      starts.x.push_back(static_cast<double>(pick(-2, length + 2)));
    }
    op.operands.push_back(value({dtype, dims}));
    if (op.kind == OpKind::DYNAMIC_SLICE) {
      op.attributes.assign(block.begin(), block.end());
    } else {
      op.operands.push_back(value({dtype, block}));
    }
    op.operands.push_back(starts);
  }

  void convolution(RandomOp& op) {
    for (;;) {
      const std::int64_t n = pick(0, 3), c = pick(0, 5), h = pick(1, 9), w = pick(1, 9), o = pick(0, 17),
                         kh = pick(1, 4), kw = pick(1, 4);
      op.attributes = {pick(1, 3), pick(1, 3), pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
      const ir::Type x{DType::kF32, {n, c, h, w}}, filter{DType::kF32, {o, c, kh, kw}};
      ir::Type y;
      try {
        const ir::Type types[] = {x, filter};
        y = ir::infer({OpKind::CONV2D, types, op.attributes, nullptr, {}, {}})[0];
      } catch (const ir::RuleError&) {
        continue;
      }
      if (op.kind == OpKind::CONV2D) {
        op.operands = {value(x), value(filter)};
      } else if (op.kind == OpKind::CONV2D_GRAD_INPUT) {
        op.operands = {value(y), value(filter)};
        op.declared = x;
      } else {
        op.operands = {value(y), value(x)};
        op.declared = filter;
      }
      return;
    }
  }

  std::mt19937 random_;
};

inline Bytes encode(const Naive& value) {
  switch (value.type.dtype) {
    case DType::kF32:
      return bytes_of(std::vector<float>(value.x.begin(), value.x.end()));
    case DType::kI32:
      return bytes_of(std::vector<std::int32_t>(value.x.begin(), value.x.end()));
    case DType::kU32:
      return bytes_of(std::vector<std::uint32_t>(value.x.begin(), value.x.end()));
    default:
      return bytes_of(std::vector<std::uint8_t>(value.x.begin(), value.x.end()));
  }
}

inline std::vector<double> decode(const Bytes& bytes, DType dtype) {
  const auto widen = [](const auto& list) { return std::vector<double>(list.begin(), list.end()); };
  switch (dtype) {
    case DType::kF32:
      return widen(elements_of<float>(bytes));
    case DType::kI32:
      return widen(elements_of<std::int32_t>(bytes));
    case DType::kU32:
      return widen(elements_of<std::uint32_t>(bytes));
    default:
      return widen(elements_of<std::uint8_t>(bytes));
  }
}

}  // namespace thrt::testing

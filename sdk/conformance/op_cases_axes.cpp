// Every axis, or every set or order of axes, for the ops that have them: a kernel that mixes up two axes in one of the ranks is
// wrong nowhere else. Sizes differ along all axes, so that one axis taken for another shows.
#include "op_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace thrt::conformance {
namespace {

using List = std::vector<std::int64_t>;

constexpr DType kF32 = DType::kF32;

// Different sizes as far as small numbers go: 4, 2, 5, 3, and then 2 and 3 again.
Shape shape_of_rank(int rank) {
  constexpr std::int64_t kSizes[] = {4, 2, 5, 3, 2, 3};
  return Shape(std::span<const std::int64_t>(kSizes, static_cast<std::size_t>(rank)));
}

Tensor of_rank(CaseProgram& p, int rank) {
  return p.random({kF32, shape_of_rank(rank)}, -100.0, 100.0);
}

Shape with_size(Shape shape, int axis, std::int64_t size) {
  Shape result;
  for (int d = 0; d < shape.rank(); ++d) result.push_back(d == axis ? size : shape[d]);
  return result;
}

// The axes in the set that the bits of `set` name, in order.
List axes_in(unsigned set, int rank) {
  List axes;
  for (int d = 0; d < rank; ++d) {
    if ((set >> d & 1u) != 0) axes.push_back(d);
  }
  return axes;
}

void append(CaseProgram& p, OpKind kind, const std::string& how, Tensor x, const List& attributes,
            std::optional<Type> result = std::nullopt) {
  const std::string name = fmt::format("{} {} {}", x.shape().str(), how, fmt::join(attributes, ","));
  p.output(name, result ? p.graph.append(kind, {x}, attributes, *result) : p.graph.append(kind, {x}, attributes));
}

// Calls `add` with each axis of each rank from 1 to `most`.
void along_each(int most, const std::function<void(int rank, int axis)>& add) {
  for (int rank = 1; rank <= most; ++rank) {
    for (int axis = 0; axis < rank; ++axis) add(rank, axis);
  }
}

void iotas(CaseProgram& p) {
  along_each(6, [&](int rank, int axis) {
    const Shape shape = shape_of_rank(rank);
    p.output(fmt::format("{} axis {}", shape.str(), axis), iota(p.graph, {kF32, shape}, axis));
  });
}

void reductions(CaseProgram& p, OpKind kind) {
  for (int rank = 1; rank <= 4; ++rank) {
    for (unsigned set = 1; set < 1u << rank; ++set) append(p, kind, "over", of_rank(p, rank), axes_in(set, rank));
  }
  for (const List& axes : {List{0}, List{3}, List{0, 4}, List{1, 3}, List{0, 1, 2}, List{2, 3, 4}, List{0, 2, 4}}) {
    append(p, kind, "over", of_rank(p, 5), axes);
  }
  for (const List& axes : {List{1}, List{4}, List{0, 5}, List{2, 3}, List{1, 3, 5}, List{0, 2, 4}, List{1, 2, 3, 4}}) {
    append(p, kind, "over", of_rank(p, 6), axes);
  }
}

void orders(CaseProgram& p, OpKind kind) {
  along_each(5, [&](int rank, int axis) { append(p, kind, "axis", of_rank(p, rank), {axis}); });
}

void broadcasts(CaseProgram& p) {
  for (int rank = 1; rank <= 6; ++rank) {
    const Shape to = shape_of_rank(rank);
    for (unsigned set = 0; set < 1u << rank; ++set) {
      const List axes = axes_in(set, rank);
      if (axes.size() > 4 || axes.size() == static_cast<std::size_t>(rank)) continue;
      Shape from;
      for (const std::int64_t axis : axes) from.push_back(to[static_cast<int>(axis)]);
      append(p, OpKind::BROADCAST, "along", p.random({kF32, from}), axes, Type{kF32, to});
    }
  }
  for (unsigned ones = 1; ones < 1u << 4; ++ones) {  // and in place, from a size of 1
    const Shape to = shape_of_rank(4);
    Shape from;
    for (int d = 0; d < 4; ++d) from.push_back((ones >> d & 1u) != 0 ? 1 : to[d]);
    append(p, OpKind::BROADCAST, "along", p.random({kF32, from}), {0, 1, 2, 3}, Type{kF32, to});
  }
}

void transposes(CaseProgram& p) {
  for (int rank = 2; rank <= 4; ++rank) {
    List order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    const Tensor x = of_rank(p, rank);
    do {
      append(p, OpKind::TRANSPOSE, "by", x, order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  for (const int rank : {5, 6}) {
    const Tensor x = of_rank(p, rank);
    List order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    for (int d = 1; d < rank; ++d) {  // turned by d places, and neighbours swapped
      List turned = order, swapped = order;
      std::rotate(turned.begin(), turned.begin() + d, turned.end());
      std::swap(swapped[static_cast<std::size_t>(d)], swapped[static_cast<std::size_t>(d - 1)]);
      append(p, OpKind::TRANSPOSE, "by", x, turned);
      append(p, OpKind::TRANSPOSE, "by", x, swapped);
    }
    append(p, OpKind::TRANSPOSE, "by", x, List(order.rbegin(), order.rend()));
  }
}

void slices(CaseProgram& p) {
  const auto add = [&](const Shape& shape, const List& start, const List& size, const List& stride) {
    List attributes = start;
    attributes.insert(attributes.end(), size.begin(), size.end());
    attributes.insert(attributes.end(), stride.begin(), stride.end());
    append(p, OpKind::SLICE, "from, size, stride", p.random({kF32, shape}, -100.0, 100.0), attributes);
  };
  along_each(5, [&](int rank, int axis) {  // 3 of 8 by a stride of 3 from 1, along one axis
    const Shape shape = with_size(shape_of_rank(rank), axis, 8);
    const auto n = static_cast<std::size_t>(rank), at = static_cast<std::size_t>(axis);
    List start(n, 0), size, stride(n, 1);
    for (int d = 0; d < rank; ++d) size.push_back(shape[d]);
    start[at] = 1, size[at] = 3, stride[at] = 3;
    add(shape, start, size, stride);
  });
  add({9, 9}, {2, 1}, {2, 4}, {4, 2});
  add({9, 9, 9}, {2, 1, 0}, {2, 4, 3}, {4, 2, 3});
  add({6, 7, 8, 9}, {0, 2, 1, 3}, {3, 2, 2, 3}, {2, 4, 5, 1});
  add({5, 3, 4, 2, 6}, {1, 0, 2, 1, 0}, {2, 2, 2, 1, 3}, {3, 2, 1, 1, 2});
}

void pads(CaseProgram& p) {
  const auto add = [&](const Shape& shape, const List& low, const List& high, const List& inside) {
    const Tensor x = p.random({kF32, shape}, -100.0, 100.0);
    p.output(fmt::format("{} low {} high {} inside {}", shape.str(), fmt::join(low, ","), fmt::join(high, ","),
                         fmt::join(inside, ",")),
             pad(x, p.random({kF32, {}}, 200.0, 300.0), low, high, inside));
  };
  along_each(4, [&](int rank, int axis) {
    const List none(static_cast<std::size_t>(rank), 0);
    const auto one = [&](std::int64_t amount) {
      List list = none;
      list[static_cast<std::size_t>(axis)] = amount;
      return list;
    };
    add(shape_of_rank(rank), one(1), none, none);
    add(shape_of_rank(rank), none, one(2), none);
    add(shape_of_rank(rank), none, none, one(1));
    add(shape_of_rank(rank), one(2), one(1), one(2));
  });
  add({2, 3}, {1, 2}, {0, 3}, {2, 1});
  add({2, 3, 2}, {1, 2, 0}, {0, 3, 1}, {2, 1, 3});
  add({2, 3, 2, 2}, {1, 2, 0, 3}, {0, 3, 1, 2}, {2, 1, 3, 0});
  add({2, 2, 3, 2, 2}, {0, 1, 0, 2, 1}, {1, 0, 2, 0, 1}, {1, 2, 0, 1, 0});
}

void concats(CaseProgram& p) {
  along_each(5, [&](int rank, int axis) {
    for (const List& lengths : {List{2, 4, 3}, List{1, 3, 0, 2, 5}}) {
      std::vector<Tensor> parts;
      for (const std::int64_t length : lengths) {
        parts.push_back(p.random({kF32, with_size(shape_of_rank(rank), axis, length)}));
      }
      p.output(fmt::format("rank {} axis {} of {}", rank, axis, fmt::join(lengths, ",")), concat(parts, axis));
    }
  });
}

// With indices of ranks 1 and 3.
void indexed(CaseProgram& p, OpKind kind) {
  along_each(4, [&](int rank, int axis) {
    for (const Shape& at : {Shape{3}, Shape{2, 1, 3}}) {
      if (rank - 1 + at.rank() > 6) continue;
      const Shape shape = shape_of_rank(rank);
      const Tensor x = p.random({kF32, shape}, -100.0, 100.0);
      const Tensor places = p.random({DType::kI32, at}, 0.0, static_cast<double>(shape[axis] - 1));
      const std::string name = fmt::format("{} axis {} at {}", shape.str(), axis, at.str());
      if (kind == OpKind::GATHER) {
        p.output(name, gather(x, places, axis));
        continue;
      }
      Shape updates;
      for (int d = 0; d < rank; ++d) {
        if (d != axis) updates.push_back(shape[d]);
        for (int i = 0; d == axis && i < at.rank(); ++i) updates.push_back(at[i]);
      }
      p.output(name, scatter_add(x, places, p.random({kF32, updates}), axis));
    }
  });
}

// Blocks of which each start is another number, in every order.
void blocks(CaseProgram& p, OpKind kind) {
  struct Block {
    Shape x, size;
    std::vector<double> starts;
  };
  for (Block block :
       {Block{{5, 6, 7}, {2, 1, 3}, {1.0, 2.0, 3.0}}, Block{{6, 5, 7, 5}, {2, 1, 3, 1}, {1.0, 2.0, 3.0, 4.0}}}) {
    do {
      const Tensor x = p.random({kF32, block.x}, -100.0, 100.0);
      const Tensor at = p.given({DType::kI32, {block.x.rank()}}, block.starts);
      const std::string name =
          fmt::format("{} of {} at {}", block.size.str(), block.x.str(), fmt::join(block.starts, ","));
      p.output(name, kind == OpKind::DYNAMIC_SLICE ? dynamic_slice(x, at, block.size)
                                                   : dynamic_update_slice(x, p.random({kF32, block.size}), at));
    } while (std::next_permutation(block.starts.begin(), block.starts.end()));
  }
}

}  // namespace

// f32 alone: what a kernel does with its axes does not depend on what it moves.
Parts axes_parts(OpKind kind, DType dtype) {
  if (dtype != kF32) return {};
  const auto part = [](std::function<void(CaseProgram&)> build) { return Parts{{"axes", std::move(build)}}; };
  switch (kind) {
    case OpKind::IOTA:
      return part(iotas);
    case OpKind::REDUCE_SUM:
    case OpKind::REDUCE_MAX:
      return part([=](CaseProgram& p) { reductions(p, kind); });
    case OpKind::ARGMAX:
    case OpKind::ARGSORT:
      return part([=](CaseProgram& p) { orders(p, kind); });
    case OpKind::BROADCAST:
      return part(broadcasts);
    case OpKind::TRANSPOSE:
      return part(transposes);
    case OpKind::SLICE:
      return part(slices);
    case OpKind::PAD:
      return part(pads);
    case OpKind::CONCAT:
      return part(concats);
    case OpKind::GATHER:
    case OpKind::SCATTER_ADD:
      return part([=](CaseProgram& p) { indexed(p, kind); });
    case OpKind::DYNAMIC_SLICE:
    case OpKind::DYNAMIC_UPDATE_SLICE:
      return part([=](CaseProgram& p) { blocks(p, kind); });
    default:
      return {};
  }
}

}  // namespace thrt::conformance

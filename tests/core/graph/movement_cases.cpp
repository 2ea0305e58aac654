#include "gradient_cases.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <array>

namespace thrt::test {
namespace {

using Operands = std::vector<Tensor>;

HostValue random(const Shape& shape, std::uint64_t seed) {
  Numbers numbers(seed);
  return f64(shape, numbers.uniforms(shape.elements(), -1.5, 1.5));
}

std::vector<GradientCase> shape_cases() {
  return {
      {.kind = OpKind::BROADCAST,
       .name = "broadcast: stretches, new axes before, between and after",
       .inputs = {random({1, 3}, 1)},
       .build =
           [](const Operands& x) {
             return broadcast_in(x[0], {2, 4, 2, 3, 2}, {1, 3});
           }},
      {.kind = OpKind::BROADCAST,
       .name = "broadcast of a scalar",
       .inputs = {random({}, 2)},
       .build =
           [](const Operands& x) {
             return broadcast_to(x[0], {2, 3});
           }},
      {.kind = OpKind::RESHAPE,
       .name = "reshape",
       .inputs = {random({2, 6}, 3)},
       .build =
           [](const Operands& x) {
             return reshape(x[0], {3, 2, 2});
           }},
      {.kind = OpKind::TRANSPOSE,
       .name = "transpose by a permutation that is not its own inverse",
       .inputs = {random({2, 3, 4}, 4)},
       .build =
           [](const Operands& x) {
             return transpose(x[0], {1, 2, 0});
           }},
      {.kind = OpKind::SLICE,
       .name = "slice with strides that stop short of the end",
       .inputs = {random({7, 5}, 5)},
       .build =
           [](const Operands& x) {
             return x[0].graph().append(OpKind::SLICE, {x[0]}, {1, 0, 2, 3, 3, 2});  // rows 1 4, columns 0 2 4
           }},
      {.kind = OpKind::SLICE,
       .name = "slice of nothing",
       .inputs = {random({3}, 6)},
       .build = [](const Operands& x) { return slice(x[0], 0, 1, 0); }},
      {.kind = OpKind::PAD,
       .name = "pad: low, high, interior, and the value",
       .inputs = {random({3, 2}, 7), random({}, 8)},
       .build =
           [](const Operands& x) {
             return pad(x[0], x[1], std::array<std::int64_t, 2>{1, 0}, std::array<std::int64_t, 2>{0, 2},
                        std::array<std::int64_t, 2>{2, 1});
           }},
      {.kind = OpKind::CONCAT,
       .name = "concat of three, one of them twice",
       .inputs = {random({2, 1}, 9), random({2, 3}, 10)},
       .build =
           [](const Operands& x) {
             return concat(std::array<Tensor, 3>{x[0], x[1], x[0]}, 1);
           }},
  };
}

std::vector<GradientCase> indexed_cases() {
  const HostValue repeated = i32({2, 3}, {0, 2, 2, -5, 9, 0});  // out of range at both ends
  return {
      {.kind = OpKind::GATHER,
       .name = "gather along axis 0, repeated and clamped indices",
       .inputs = {random({3, 2}, 11), repeated},
       .build = [](const Operands& x) { return gather(x[0], x[1]); }},
      {.kind = OpKind::GATHER,
       .name = "gather along the middle axis",
       .inputs = {random({2, 3, 2}, 12), repeated},
       .build = [](const Operands& x) { return gather(x[0], x[1], 1); }},
      {.kind = OpKind::SCATTER_ADD,
       .name = "scatter_add along axis 0, repeated and dropped indices",
       .inputs = {random({3, 2}, 13), repeated, random({2, 3, 2}, 14)},
       .build = [](const Operands& x) { return scatter_add(x[0], x[1], x[2]); }},
      {.kind = OpKind::SCATTER_ADD,
       .name = "scatter_add along the last axis",
       .inputs = {random({2, 3}, 15), i32({4}, {1, 1, 3, 0}), random({2, 4}, 16)},
       .build = [](const Operands& x) { return scatter_add(x[0], x[1], x[2], 1); }},
      {.kind = OpKind::DYNAMIC_SLICE,
       .name = "dynamic_slice inside",
       .inputs = {random({4, 3}, 17), i32({2}, {1, 1})},
       .build =
           [](const Operands& x) {
             return dynamic_slice(x[0], x[1], {2, 2});
           }},
      {.kind = OpKind::DYNAMIC_SLICE,
       .name = "dynamic_slice clamped at both ends",
       .inputs = {random({4, 3}, 18), i32({2}, {9, -4})},
       .build =
           [](const Operands& x) {
             return dynamic_slice(x[0], x[1], {2, 2});
           }},
      {.kind = OpKind::DYNAMIC_UPDATE_SLICE,
       .name = "dynamic_update_slice inside",
       .inputs = {random({4, 3}, 19), random({2, 1}, 20), i32({2}, {1, 2})},
       .build = [](const Operands& x) { return dynamic_update_slice(x[0], x[1], x[2]); }},
      {.kind = OpKind::DYNAMIC_UPDATE_SLICE,
       .name = "dynamic_update_slice clamped",
       .inputs = {random({4, 3}, 21), random({2, 2}, 22), i32({2}, {-1, 7})},
       .build = [](const Operands& x) { return dynamic_update_slice(x[0], x[1], x[2]); }},
  };
}

}  // namespace

std::vector<GradientCase> movement_cases() {
  std::vector<GradientCase> cases = shape_cases();
  for (GradientCase& c : indexed_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace thrt::test

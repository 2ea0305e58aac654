// Random programs with a known result.
#pragma once

#include "random_op.hpp"

#include <gtest/gtest.h>

namespace thrt::testing {

// A random program over small integers in f32: elementwise, movement, reductions, matmul, with state slots.
class Chain {
 public:
  explicit Chain(std::uint32_t seed) : generator_(seed) {
    for (int i = 0; i < 4; ++i) {
      const std::string name = "s" + std::to_string(i);
      Naive value = integers({DType::kF32, generator_.shape(static_cast<int>(generator_.pick(0, 3)))});
      inputs_[name] = encode(value);
      add(builder_.input(name, value.type), value);
      states_.push_back(value.type);
    }
    for (int i = 0; i < 40; ++i) grow();
    // Each state slot takes the last value of its type, which may be another slot's input; the last values of all are outputs.
    for (std::size_t i = 0; i < states_.size(); ++i) {
      for (std::size_t v = values_.size(); v-- > 0;) {
        if (!(values_[v].type == states_[i]) || generator_.pick(0, 2) == 0) continue;
        write("s" + std::to_string(i), v);
        break;
      }
    }
    for (std::size_t v = values_.size(); v-- > 0 && v + 6 > values_.size();) write("o" + std::to_string(v), v);
  }

  void expect_on(Host& host, std::uint32_t flags) { expect(run_once(host, builder_, inputs_, flags)); }
  void expect(const std::map<std::string, Bytes>& got) const {
    for (const auto& [name, value] : expected_) ASSERT_EQ(decode(got.at(name), DType::kF32), value.x) << name;
  }

  Builder& builder() { return builder_; }
  const std::map<std::string, Bytes>& inputs() const { return inputs_; }

 private:
  Naive integers(const ir::Type& type) {
    Naive value{type, std::vector<double>(static_cast<std::size_t>(type.elements()))};
    for (double& x : value.x) x = static_cast<double>(generator_.pick(-8, 8));
    return value;
  }

  void add(std::uint32_t id, const Naive& value) {
    ids_.push_back(id);
    values_.push_back(value);
  }
  void write(const std::string& name, std::size_t v) {
    builder_.output(name, ids_[v]);
    expected_[name] = values_[v];
  }

  std::size_t apply(OpKind kind, const std::vector<std::size_t>& operands, const Index& attributes,
                    const std::optional<ir::Type>& declared = {}) {
    std::vector<std::uint32_t> ids;
    std::vector<Naive> values;
    for (const std::size_t operand : operands) {
      ids.push_back(ids_[operand]);
      values.push_back(values_[operand]);
    }
    const std::uint32_t result = builder_.op(kind, ids, attributes, declared);
    add(result, naive(kind, values, attributes, builder_.type(result)));
    return values_.size() - 1;
  }

  // Back into [-8, 8], by scalars that are broadcast.
  void limit(std::size_t v) {
    const ir::Type type = values_[v].type;
    const auto bound = [&](float value) {
      const std::uint32_t id = builder_.constant(ir::Type{DType::kF32, {}}, std::vector<float>{value});
      add(id, Naive{{DType::kF32, {}}, {static_cast<double>(value)}});
      return apply(OpKind::BROADCAST, {values_.size() - 1}, {}, type);
    };
    const std::size_t low = bound(-8), high = bound(8);
    apply(OpKind::MIN, {apply(OpKind::MAX, {low, v}, {}), high}, {});
  }

  std::size_t any() {
    return static_cast<std::size_t>(generator_.pick(0, static_cast<std::int64_t>(values_.size()) - 1));
  }
  // Another value of v's type, or v.
  std::size_t like(std::size_t v) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const std::size_t other = any();
      if (values_[other].type == values_[v].type) return other;
    }
    return v;
  }

  void grow() {
    const std::size_t v = any();
    const ir::Type type = values_[v].type;
    const int rank = type.shape.rank();
    switch (generator_.pick(0, 11)) {
      case 0:
        apply(OpKind::NEG, {v}, {});
        break;
      case 1:
        limit(apply(OpKind::ADD, {v, like(v)}, {}));
        break;
      case 2:
        limit(apply(OpKind::MUL, {v, like(v)}, {}));
        break;
      case 3:
        apply(OpKind::SELECT, {apply(OpKind::LT, {v, like(v)}, {}), v, like(v)}, {});
        break;
      case 4:  // a new axis of 2, in front
        if (rank < 4 && type.elements() <= 2000) {
          Index axes;
          ir::Type to{DType::kF32, {2}};
          for (int d = 0; d < rank; ++d) {
            axes.push_back(d + 1);
            to.shape.push_back(type.shape[d]);
          }
          apply(OpKind::BROADCAST, {v}, axes, to);
        }
        break;
      case 5: {  // all axes backwards
        Index permutation;
        for (int d = rank - 1; d >= 0; --d) permutation.push_back(d);
        apply(OpKind::TRANSPOSE, {v}, permutation);
        break;
      }
      case 6:
        apply(OpKind::RESHAPE, {v}, {}, ir::Type{DType::kF32, {type.elements()}});
        break;
      case 7:
        if (rank > 0) limit(apply(OpKind::REDUCE_SUM, {v}, {generator_.pick(0, rank - 1)}));
        break;
      case 8:
        if (rank == 2 && type.elements() > 0) limit(apply(OpKind::MATMUL, {v, v}, {1, 0}));
        break;
      case 9: {  // every other element of the first axis
        if (rank == 0 || type.shape[0] < 2) break;
        Index starts(static_cast<std::size_t>(rank), 0), sizes(type.shape.begin(), type.shape.end()),
            strides(static_cast<std::size_t>(rank), 1);
        starts[0] = 1;
        sizes[0] = type.shape[0] / 2;
        strides[0] = 2;
        Index attributes = starts;
        attributes.insert(attributes.end(), sizes.begin(), sizes.end());
        attributes.insert(attributes.end(), strides.begin(), strides.end());
        apply(OpKind::SLICE, {v}, attributes);
        break;
      }
      case 10:  // a row for each of another value's rows
        if (rank == 2) {
          const std::size_t row = apply(OpKind::REDUCE_MAX, {v}, {1});
          if (type.shape[1] == 0) break;
          apply(OpKind::SUB, {v, apply(OpKind::BROADCAST, {row}, {0}, type)}, {});
          limit(values_.size() - 1);
        }
        break;
      default:
        if (rank > 0 && type.elements() < 2000) apply(OpKind::CONCAT, {v, like(v)}, {0});
        break;
    }
    // LT's result is a bool; the chain goes on over f32 values only.
    if (values_.back().type.dtype != DType::kF32) {
      ids_.pop_back();
      values_.pop_back();
    }
    std::vector<std::uint32_t> ids;
    std::vector<Naive> values;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].type.dtype != DType::kF32) continue;
      ids.push_back(ids_[i]);
      values.push_back(values_[i]);
    }
    ids_ = ids;
    values_ = values;
  }

  OpGenerator generator_;
  Builder builder_;
  std::vector<std::uint32_t> ids_;
  std::vector<Naive> values_;
  std::vector<ir::Type> states_;
  std::map<std::string, Bytes> inputs_;
  std::map<std::string, Naive> expected_;
};

}  // namespace thrt::testing

// Graph: a program under construction. Ops are appended in order, every value has a static type, parameters are named
// slots.
//
//   Graph g("step");
//   Tensor x = g.input("x", {DType::kF32, {64, 4}});
//   Tensor w = g.state("w", {DType::kF32, {4, 2}}, Init::orthogonal(1.0));
//   Tensor loss = mean(square(matmul(x, w)));
//   g.update("w", w - 0.1 * gradients(loss, {w})[0]);
//   g.output("loss", loss);
//   Program program = lower(optimise(g));
#pragma once

#include <thrt/graph/init.hpp>
#include <thrt/ir/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt {

using ir::DType;
using ir::OpKind;
using ir::Shape;
using ir::Type;

class Graph;
using ValueId = std::uint32_t;
inline constexpr std::uint32_t kNone = THRT_NONE;

// A value of a graph. Cheap to copy; valid as long as its graph.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Graph* graph, ValueId id) : graph_(graph), id_(id) {}

  Graph& graph() const { return *graph_; }
  ValueId id() const { return id_; }
  // By value: the graph's own list moves when an op is appended.
  Type type() const;
  Shape shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  std::int64_t dim(int axis) const { return shape()[axis < 0 ? axis + rank() : axis]; }
  explicit operator bool() const { return graph_ != nullptr; }

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.graph_ == b.graph_ && a.id_ == b.id_; }

 private:
  Graph* graph_ = nullptr;
  ValueId id_ = kNone;
};

class Graph {
 public:
  struct Value {
    Type type;
    std::uint32_t op = kNone;    // the op that defines it, or
    std::uint32_t slot = kNone;  // the slot that it is the input of
  };
  struct Op {
    OpKind kind = OpKind::CONSTANT;
    std::vector<ValueId> operands = {};
    std::vector<std::int64_t> attributes = {};
    ValueId first_result = 0;
    std::uint32_t result_count = 1;
    std::uint32_t group = kNone;
    bool stops_gradient = false;                                  // only on an identity reshape
    std::shared_ptr<const std::vector<std::byte>> constant = {};  // of OpKind::CONSTANT
    std::shared_ptr<const Graph> body = {};                       // of OpKind::REPEAT; slots in the order of ops.def
    std::string location = {};
  };
  enum class SlotKind { kInput, kState, kOutput };
  struct Slot {
    std::string name;
    SlotKind kind;
    Type type;
    ValueId input = kNone;   // inputs and state
    ValueId output = kNone;  // outputs, and state that is updated
    Init init;               // state
  };
  struct Group {
    std::string name;
    std::uint32_t parent = kNone;
  };

  explicit Graph(std::string name) : name_(std::move(name)) {}
  Graph(const Graph&) = default;
  Graph& operator=(const Graph&) = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  const std::string& name() const { return name_; }
  std::span<const Value> values() const { return values_; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Slot> slots() const { return slots_; }
  std::span<const Group> groups() const { return groups_; }
  const Type& type(ValueId id) const { return values_[id].type; }
  Tensor tensor(ValueId id) { return {this, id}; }

  // A parameter that each run reads. Names are unique; throws Error otherwise.
  Tensor input(const std::string& name, const Type& type);
  // State that lives on the device from run to run. Asking again for a name gives the same value; type and init must
  // agree.
  Tensor state(const std::string& name, const Type& type, const Init& init);
  // What the state will hold after the run; the last update counts.
  void update(const std::string& name, Tensor value);
  // The state's value at this point of the program: its last update, or what it held at the start.
  Tensor current(const std::string& name);
  // A result that each run writes.
  void output(const std::string& name, Tensor value);
  const Slot* find_slot(std::string_view name) const;

  // Appends an op; infers and checks its type (ir::RuleError). `declared` is for the ops of ops.def that need it.
  Tensor append(OpKind kind, const std::vector<Tensor>& operands, std::vector<std::int64_t> attributes = {},
                std::optional<Type> declared = {});
  Tensor constant(const Type& type, std::vector<std::byte> bytes);
  Tensor stop_gradient(Tensor x);
  // Appends a repeat; `body`'s slots are laid out as ops.def says. One result per carried operand. (repeat() in
  // repeat.hpp is what people call.)
  std::vector<Tensor> append_repeat(std::int64_t trips, std::span<const Tensor> carried,
                                    std::span<const Tensor> invariants, std::shared_ptr<const Graph> body);
  // Appends a copy of another graph's op with operands of this one; group and location are taken along. One `groups`
  // map serves all ops that are copied from one graph, so that a group stays one group.
  using GroupMap = std::map<std::uint32_t, std::uint32_t>;
  std::vector<Tensor> append_copy(const Graph& from, const Op& op, std::span<const Tensor> operands, GroupMap& groups);
  // Copies a slot's declaration; what it writes is left open, for set_output.
  Tensor declare_slot(const Slot& slot);
  void set_output(const std::string& name, Tensor value);

  // Ops appended while a Mark lives carry its group and its location.
  class Mark {
   public:
    Mark(Graph& graph, std::string group, std::string location = {});
    // Those of another graph's op, as append_copy takes them along.
    Mark(Graph& graph, const Graph& from, const Op& op, GroupMap& groups);
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    Graph& graph_;
    std::uint32_t outer_group_;
    std::string outer_location_;
  };

 private:
  std::uint32_t find_slot_index(std::string_view name) const;
  Slot& new_slot(const std::string& name, SlotKind kind, const Type& type);
  ValueId new_value(const Type& type, std::uint32_t op, std::uint32_t slot);
  std::vector<Tensor> push(Op op, std::span<const Type> results);
  std::uint32_t copy_group(const Graph& from, std::uint32_t group, GroupMap& groups);
  void require_mine(Tensor value) const;

  std::string name_;
  std::vector<Value> values_;
  std::vector<Op> ops_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  std::map<std::string, std::uint32_t, std::less<>> slot_names_;
  std::uint32_t group_ = kNone;
  std::string location_;
};

inline Type Tensor::type() const {
  return graph_->type(id_);
}

}  // namespace thrt

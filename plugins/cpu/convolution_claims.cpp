// Convolutions with what surrounds them, and the order in which their values lie, over the whole program:
//   forward     y = conv2d(x, filter);  + broadcast bias;  a ReLU, written select(0 < z, z, 0)
//   gradients   of that ReLU, select(0 < z, g, 0), after the gradient by the next convolution's input or alone; the sum over
//               images and pixels (the bias's gradient) along with the filter's gradient
//   frames      bytes, cast and multiplied by a constant, read by convolutions alone
// A value that only these steps make and read lies channels last, in the same memory; all others lie as the program says.
#include "claims.hpp"
#include "convolution_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace thrt::cpu {
namespace {

using ir::DType;
using ir::OpKind;
using Kind = ConvolutionSpec::Kind;

bool is_convolution(OpKind kind) {
  return kind == OpKind::CONV2D || kind == OpKind::CONV2D_GRAD_INPUT || kind == OpKind::CONV2D_GRAD_FILTER;
}

class Finder {
 public:
  Finder(const ProgramFacts& facts, const CompileSettings& settings) : facts_(facts), settings_(settings) {}

  std::vector<Claim> find() {
    for (const sdk::OpView& op : facts_.program.ops()) {
      if (is_convolution(op.kind()) && !is_empty(op)) add_convolution(op);
    }
    if (nodes_.empty()) return {};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].spec.kind == Kind::kForward) extend_forward(i);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].spec.kind == Kind::kGradFilter) extend_grad_filter(i);
    }
    for (Node& node : nodes_) read_bytes(node);
    settle_orders();
    return claims();
  }

 private:
  // A convolution with the ops that are done along with it.
  struct Node {
    ConvolutionSpec spec;
    std::vector<std::uint32_t> ops;
  };
  // The gradient of a ReLU where no convolution computes what it is applied to.
  struct Mask {
    MaskSpec spec;
    std::uint32_t op;
  };

  const sdk::OpView& op(std::uint32_t index) const { return facts_.program.ops()[index]; }
  ir::Type type(std::uint32_t value) const { return facts_.program.type(value); }
  const std::vector<std::uint32_t>& readers(std::uint32_t value) const { return facts_.readers[value]; }
  bool is_internal(std::uint32_t value) const { return !facts_.is_output[value]; }

  const sdk::OpView* producer(std::uint32_t value, OpKind kind) const {
    const std::uint32_t index = facts_.producer[value];
    return index != THRT_NONE && op(index).kind() == kind ? &op(index) : nullptr;
  }

  static bool is_empty(const sdk::OpView& op) {
    return op.result_type().elements() == 0 || op.operand_type(0).elements() == 0 || op.operand_type(1).elements() == 0;
  }

  // What every element of the value is, where that is known.
  std::optional<float> uniform(std::uint32_t value) const {
    const std::uint32_t root = facts_.roots[value];
    const sdk::OpView* constant = producer(root, OpKind::CONSTANT);
    if (constant == nullptr || type(root).dtype != DType::kF32 || type(root).elements() != 1) return std::nullopt;
    float number = 0.0f;
    std::memcpy(&number, facts_.program.constants().data() + constant->attribute(0), sizeof number);
    return number;
  }

  bool is_zero(std::uint32_t value) const {
    const std::optional<float> number = uniform(value);
    return number == 0.0f && !std::signbit(*number);
  }

  void add_convolution(const sdk::OpView& op) {
    Node node{};
    node.spec.geometry = ConvolutionGeometry::of(op);
    node.ops = {op.index()};
    switch (op.kind()) {
      case OpKind::CONV2D:
        node.spec.kind = Kind::kForward;
        node.spec.x.value = op.operand(0), node.spec.filter = op.operand(1), node.spec.y.value = op.result();
        break;
      case OpKind::CONV2D_GRAD_INPUT:
        node.spec.kind = Kind::kGradInput;
        node.spec.y.value = op.operand(0), node.spec.filter = op.operand(1), node.spec.x.value = op.result();
        break;
      default:
        node.spec.kind = Kind::kGradFilter;
        node.spec.y.value = op.operand(0), node.spec.x.value = op.operand(1), node.spec.filter = op.result();
        break;
    }
    node_of_[op.index()] = nodes_.size();
    nodes_.push_back(std::move(node));
  }

  void extend_forward(std::size_t i) {
    take_bias(nodes_[i]);
    take_relu(nodes_[i]);
  }

  void take_bias(Node& node) {
    const std::uint32_t y = node.spec.y.value;
    if (!is_internal(y) || readers(y).size() != 1) return;
    const sdk::OpView& add = op(readers(y)[0]);
    if (add.kind() != OpKind::ADD) return;
    const std::uint32_t other = add.operand(add.operand(0) == y ? 1 : 0);
    const Layout& layout = facts_.layouts[other];
    const std::uint32_t root = facts_.roots[other];
    const bool per_channel = type(other).shape.rank() == 4 && layout.offset == 0 && layout.strides[0] == 0 &&
                             layout.strides[1] == 1 && layout.strides[2] == 0 && layout.strides[3] == 0 &&
                             type(root).elements() == node.spec.geometry.o;
    if (!per_channel || type(root).dtype != DType::kF32) return;
    node.spec.bias = root;
    node.spec.y.value = add.result();
    node.ops.push_back(add.index());
  }

  // select(0 < z, g, 0) for this mask 0 < z.
  bool is_choice(const sdk::OpView& op, std::uint32_t mask) const {
    return op.kind() == OpKind::SELECT && op.operand(0) == mask && is_zero(op.operand(2));
  }

  // The ReLU and, with it, all its gradients: z and the mask are not kept, for y > 0 says the same as 0 < z.
  void take_relu(Node& node) {
    const std::uint32_t z = node.spec.y.value;
    if (!is_internal(z) || readers(z).size() != 2) return;
    const sdk::OpView &first = op(readers(z)[0]), &second = op(readers(z)[1]);
    const sdk::OpView& less = first.kind() == OpKind::LT ? first : second;
    const sdk::OpView& choice = first.kind() == OpKind::LT ? second : first;
    if (less.kind() != OpKind::LT || less.operand(1) != z || !is_zero(less.operand(0))) return;
    const std::uint32_t mask = less.result();
    if (!is_internal(mask) || !is_choice(choice, mask) || choice.operand(1) != z) return;
    std::vector<const sdk::OpView*> gradients;
    for (const std::uint32_t reader : readers(mask)) {
      if (reader == choice.index()) continue;
      const sdk::OpView& gradient = op(reader);
      if (!is_choice(gradient, mask) || gradient.operand(1) == z) return;
      gradients.push_back(&gradient);
    }
    node.spec.relu = true;
    node.spec.y.value = choice.result();
    node.ops.push_back(less.index());
    node.ops.push_back(choice.index());
    for (const sdk::OpView* gradient : gradients) take_gradient(*gradient, node.spec);
  }

  void take_gradient(const sdk::OpView& gradient, const ConvolutionSpec& forward) {
    const std::uint32_t g = gradient.operand(1);
    const sdk::OpView* input = producer(g, OpKind::CONV2D_GRAD_INPUT);
    if (input != nullptr && is_internal(g) && readers(g).size() == 1 && node_of_.count(input->index()) > 0) {
      Node& node = nodes_[node_of_.at(input->index())];
      node.spec.positive = forward.y.value;
      node.spec.x.value = gradient.result();
      node.ops.push_back(gradient.index());
      return;
    }
    const ConvolutionGeometry& of = forward.geometry;
    masks_.push_back({{of.n, of.o, of.pixels(), g, {forward.y.value}, {gradient.result()}}, gradient.index()});
  }

  void extend_grad_filter(std::size_t i) {
    Node& node = nodes_[i];
    for (const std::uint32_t reader : readers(node.spec.y.value)) {
      const sdk::OpView& sum = op(reader);
      if (sum.kind() != OpKind::REDUCE_SUM || node_of_.count(reader) > 0) continue;
      const auto axes = sum.attributes();
      if (axes.size() != 3 || axes[0] != 0 || axes[1] != 2 || axes[2] != 3) continue;
      node.spec.bias_grad = sum.result();
      node.ops.push_back(reader);
      node_of_[reader] = i;
      return;
    }
  }

  // cast(bytes) * constant, which is then never made.
  void read_bytes(Node& node) {
    if (node.spec.kind == Kind::kGradInput) return;
    const std::uint32_t x = node.spec.x.value;
    if (!is_internal(x) || !only_convolutions_read(x)) return;
    float scale = 1.0f;
    std::uint32_t floats = x;
    if (const sdk::OpView* product = producer(x, OpKind::MUL)) {
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        const std::optional<float> number = uniform(product->operand(side));
        if (!number.has_value()) continue;
        scale = *number;
        floats = product->operand(1 - side);
        break;
      }
    }
    const sdk::OpView* cast = producer(floats, OpKind::CAST);
    if (cast == nullptr || cast->operand_type(0).dtype != DType::kU8) return;
    const std::uint32_t bytes = cast->operand(0);
    node.spec.x = {bytes, false, scale};
  }

  bool only_convolutions_read(std::uint32_t x) const {
    return std::all_of(readers(x).begin(), readers(x).end(), [&](std::uint32_t reader) {
      const OpKind kind = op(reader).kind();
      if (kind == OpKind::CONV2D) return op(reader).operand(0) == x && op(reader).operand(1) != x;
      return kind == OpKind::CONV2D_GRAD_FILTER && op(reader).operand(1) == x && op(reader).operand(0) != x;
    });
  }

  // Whether claims alone read the value, as images. (`mine`: ops that are claimed.)
  bool only_as_images(std::uint32_t value, const std::vector<bool>& mine) const {
    if (!is_internal(value)) return false;
    return std::all_of(readers(value).begin(), readers(value).end(), [&](std::uint32_t reader) {
      if (!mine[reader]) return false;
      const sdk::OpView& user = op(reader);
      switch (user.kind()) {
        case OpKind::CONV2D:
        case OpKind::CONV2D_GRAD_INPUT:
          return user.operand(0) == value && user.operand(1) != value;
        case OpKind::CONV2D_GRAD_FILTER:
        case OpKind::REDUCE_SUM:
          return true;
        default:
          return false;
      }
    });
  }

  void settle_orders() {
    std::vector<bool> mine(facts_.program.ops().size());
    for (const Node& node : nodes_) {
      for (const std::uint32_t index : node.ops) mine[index] = true;
    }
    for (const Mask& mask : masks_) mine[mask.op] = true;
    for (const Node& node : nodes_) {
      if (node.spec.kind == Kind::kGradFilter) continue;
      const std::uint32_t made = node.spec.kind == Kind::kForward ? node.spec.y.value : node.spec.x.value;
      turned_[made] = only_as_images(made, mine);
    }
    for (const Mask& mask : masks_) turned_[mask.spec.y.value] = only_as_images(mask.spec.y.value, mine);
    // A gradient and what says where it counts lie alike.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : nodes_) {
        if (node.spec.positive == THRT_NONE || is_turned(node.spec.x.value) == is_turned(node.spec.positive)) continue;
        turned_[node.spec.x.value] = turned_[node.spec.positive] = false;
        changed = true;
      }
    }
    for (Node& node : nodes_) {
      node.spec.x.channels_last = is_turned(node.spec.x.value);
      node.spec.y.channels_last = is_turned(node.spec.y.value);
    }
    for (Mask& mask : masks_) {
      mask.spec.positive.channels_last = is_turned(mask.spec.positive.value);
      mask.spec.y.channels_last = is_turned(mask.spec.y.value);
    }
  }

  bool is_turned(std::uint32_t value) const {
    const auto found = turned_.find(value);
    return found != turned_.end() && found->second;
  }

  std::vector<Claim> claims() const {
    std::vector<Claim> list;
    for (const Node& node : nodes_) {
      const bool alone = node.ops.size() == 1 && !node.spec.x.channels_last && !node.spec.y.channels_last &&
                         !node.spec.x.u8_scale.has_value();
      if (!alone) list.push_back({node.ops, convolution_step(node.spec, settings_), kFamily});
    }
    for (const Mask& mask : masks_) list.push_back({{mask.op}, convolution_mask_step(mask.spec, settings_), kFamily});
    return list;
  }

  static constexpr std::uint32_t kFamily = 0xC0;  // they have agreed on orders

  const ProgramFacts& facts_;
  const CompileSettings& settings_;
  std::vector<Node> nodes_;
  std::vector<Mask> masks_;
  std::map<std::uint32_t, std::size_t> node_of_;  // by op
  std::map<std::uint32_t, bool> turned_;          // by value: channels last
};

}  // namespace

std::vector<Claim> find_convolution_claims(const ProgramFacts& facts, const CompileSettings& settings) {
  return Finder(facts, settings).find();
}

}  // namespace thrt::cpu

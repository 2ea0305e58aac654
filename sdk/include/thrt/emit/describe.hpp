// A plan for a person to read: each launch with what it computes, reads and writes.
//
//     2. 256 groups of 64: tanh, matmul
//        %50 f32[256, 64] = tanh(matmul(rollout/observations, agent/policy/1/weight) + agent/policy/1/bias)
//        reads 5.2 KiB: rollout/observations f32[256, 4], agent/policy/1/weight f32[4, 64], agent/policy/1/bias f32[64]
//        writes 64.0 KiB: %50 f32[256, 64]
//
// A value is called by its slot, else by its number. Broadcasts and changes of shape are left out of formulas; a long one
// becomes the list of its ops.
#pragma once

#include <thrt/emit/body.hpp>
#include <thrt/emit/part.hpp>
#include <thrt/emit/plan.hpp>
#include <thrt/sdk/program.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit {

// How many launches and bytes a run of something takes; a repeat's body as often as it runs.
struct PlanTotals {
  std::uint64_t launches = 0, bytes_read = 0, bytes_written = 0;

  PlanTotals& add(const PlanTotals& other, std::uint64_t times = 1) {
    launches += times * other.launches;
    bytes_read += times * other.bytes_read;
    bytes_written += times * other.bytes_written;
    return *this;
  }
};

namespace detail {

// "1.5 KiB"
inline std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (size /= 1024; size >= 1024 && unit < 3; size /= 1024) ++unit;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, units[unit]);
  return text.data();
}

inline std::string type_text(const ir::Type& type) {
  std::string text = std::string(ir::dtype_name(type.dtype)) + "[";
  for (int d = 0; d < type.shape.rank(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(type.shape[d]);
  return text + "]";
}

class Describing {
 public:
  explicit Describing(const sdk::ProgramView& program) : program_(program), producers_(program) {
    names_.resize(program.value_count());
    for (std::uint32_t v = 0; v < program.value_count(); ++v) names_[v] = "%" + std::to_string(v);
    for (std::uint32_t s = 0; s < program.slot_count(); ++s) {
      const sdk::SlotView slot = program.slot(s);
      const std::string name(slot.name);
      if (slot.written()) names_[slot.output_value] = slot.read() ? name + "'" : name;
      if (slot.read()) names_[slot.input_value] = name;
    }
  }

  std::string value(std::uint32_t value) const { return names_[value] + " " + type_text(program_.type(value)); }

  // A line for each part, what it reads and what it writes.
  std::string kernel(const Kernel& kernel, PlanTotals& totals) const {
    std::string text = std::to_string(kernel.groups) + " groups of " + std::to_string(kernel.group_size) + ": ";
    std::map<std::string, int> titles;
    std::vector<std::string> order;
    for (const KernelPart& part : kernel.parts) {
      if (titles[part.title]++ == 0) order.push_back(part.title);
    }
    for (const std::string& title : order) {
      text += (title == order[0] ? "" : ", ") + title;
      if (titles[title] > 1) text += " x" + std::to_string(titles[title]);
    }
    text += "\n";
    for (const KernelPart& part : kernel.parts) text += this->part(part);
    std::array<std::string, 2> lists;
    std::array<std::uint64_t, 2> bytes{};
    for (const Argument& argument : kernel.arguments) {
      const bool is_scratch = argument.value == THRT_NONE;
      std::string& list = lists[argument.written ? 1 : 0];
      list +=
          (list.empty() ? "" : ", ") + (is_scratch ? "scratch " + bytes_text(argument.bytes) : value(argument.value));
      bytes[argument.written ? 1 : 0] += is_scratch ? argument.bytes : program_.type(argument.value).bytes();
    }
    const char* const heads[] = {"  reads ", "  writes "};
    for (std::size_t i = 0; i < 2; ++i) {
      if (!lists[i].empty()) text += heads[i] + bytes_text(bytes[i]) + ": " + lists[i] + "\n";
    }
    totals.add({1, bytes[0], bytes[1]});
    return text;
  }

 private:
  static constexpr std::size_t kLongest = 160;

  std::string part(const KernelPart& part) const {
    const std::set<std::uint32_t> computed(part.computed.begin(), part.computed.end());
    std::string text;
    for (const std::uint32_t root : part.roots) {
      std::string formula;
      if (!write(root, computed, true, formula)) formula = list(root, computed);
      text += "  " + value(root) + " = " + formula + "\n";
    }
    if (part.roots.empty()) text += "  partial results of the next stage\n";
    return text;
  }

  // False when it gets too long. A sum or product of operands has brackets unless it is `bare`.
  bool write(std::uint32_t value, const std::set<std::uint32_t>& computed, bool bare, std::string& text) const {
    if (text.size() > kLongest) return false;
    const sdk::OpView* op = producers_.of(value);
    if (op != nullptr && is_splat(*op)) {
      text += number(*op);
      return true;
    }
    if (computed.count(value) == 0 || op == nullptr) {
      text += names_[value];
      return true;
    }
    const ir::OpKind kind = op->kind();
    if (kind == ir::OpKind::BROADCAST || kind == ir::OpKind::RESHAPE)
      return write(op->operand(0), computed, bare, text);
    const char* const sign = kind == ir::OpKind::ADD   ? " + "
                             : kind == ir::OpKind::SUB ? " - "
                             : kind == ir::OpKind::MUL ? " * "
                             : kind == ir::OpKind::DIV ? " / "
                                                       : nullptr;
    const bool has_brackets = sign == nullptr || !bare;
    if (sign == nullptr) text += op->name();
    if (has_brackets) text += "(";
    for (std::size_t i = 0; i < op->operands().size(); ++i) {
      if (i > 0) text += sign != nullptr ? sign : ", ";
      if (!write(op->operand(i), computed, sign == nullptr, text)) return false;
    }
    if (has_brackets) text += ")";
    return text.size() <= kLongest;
  }

  // "sub of 23 ops: 5 add, 9 mul, ...": those that the root needs, without what only moves elements.
  std::string list(std::uint32_t root, const std::set<std::uint32_t>& computed) const {
    std::map<std::string, int> counts;
    std::set<std::uint32_t> seen = {root};
    std::vector<std::uint32_t> stack = {root};
    int all = 0;
    while (!stack.empty()) {
      const sdk::OpView& op = *producers_.of(stack.back());
      stack.pop_back();
      ++all;
      if (op.kind() != ir::OpKind::BROADCAST && op.kind() != ir::OpKind::RESHAPE) ++counts[std::string(op.name())];
      for (const std::uint32_t operand : op.operands()) {
        if (computed.count(operand) != 0 && seen.insert(operand).second) stack.push_back(operand);
      }
    }
    std::string text = std::string(producers_.of(root)->name()) + ", the last of " + std::to_string(all) + " ops: ";
    bool first = true;
    for (const auto& [name, count] : counts) {
      text += (first ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : "") + name;
      first = false;
    }
    return text;
  }

  static std::string number(const sdk::OpView& op) {
    const std::byte* bytes = op.constant().data();
    const auto as = [bytes](auto x) {
      std::memcpy(&x, bytes, sizeof x);
      return x;
    };
    switch (op.result_type().dtype) {
      case ir::DType::kF32: {
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.6g", static_cast<double>(as(0.0F)));
        return text.data();
      }
      case ir::DType::kI32:
        return std::to_string(as(std::int32_t{}));
      case ir::DType::kU32:
        return std::to_string(as(std::uint32_t{}));
      case ir::DType::kU8:
        return std::to_string(as(std::uint8_t{}));
      case ir::DType::kBool:
        return as(std::uint8_t{}) != 0 ? "true" : "false";
      default:
        return "a constant";
    }
  }

  const sdk::ProgramView& program_;
  detail::Producers producers_;
  std::vector<std::string> names_;
};

}  // namespace detail

// Describes the kernels of one program's steps, while the program is there.
class Describer {
 public:
  explicit Describer(const sdk::ProgramView& program) : describing_(program) {}

  // One kernel: its first line, and indented ones for its parts, what it reads and what it writes.
  std::string kernel(const Kernel& kernel) { return describing_.kernel(kernel, totals_); }
  // Of all the kernels so far.
  const PlanTotals& totals() const { return totals_; }

 private:
  detail::Describing describing_;
  PlanTotals totals_;
};

// The whole plan: launches by number, "after" where one waits for those before it, and totals of one run at the end. `body` gives the
// plan of a repeat's body; without it only the repeat is named.
using BodyPlan = std::function<Plan(const sdk::OpView& repeat)>;
inline std::string describe(const sdk::ProgramView& program, const Plan& plan, const BodyPlan& body = {});

namespace detail {

inline std::string describe_level(const sdk::ProgramView& program, const Plan& plan, const BodyPlan& body,
                                  std::uint64_t& number, PlanTotals& totals) {
  Describer describer(program);
  const Describing values(program);
  std::string text;
  PlanTotals repeats;
  for (const Step& step : plan.steps) {
    for (const auto& [result, operand] : step.memory.views)
      text += values.value(result) + " is " + values.value(operand) + "\n";
    std::uint32_t stage = 0;
    for (std::size_t k = 0; k < step.kernels.size(); ++k) {
      const std::string head = std::to_string(++number) + ". ";
      if (k == 0 || step.kernels[k].stage != stage) text += "--\n";
      stage = step.kernels[k].stage;
      const std::string lines = indented(describer.kernel(step.kernels[k]), head.size());
      text += head + lines.substr(head.size());
    }
    if (!step.is_repeat) continue;
    const sdk::OpView& op = program.ops()[step.ops[0]];
    const auto trips = static_cast<std::uint64_t>(op.attribute(0));
    text += "--\nrepeat " + std::to_string(trips) + " times \"" + std::string(op.body().name()) + "\"\n";
    if (!body) continue;
    PlanTotals once;
    text += indented(describe_level(op.body(), body(op), body, number, once), 2);
    repeats.add(once, trips);
  }
  totals.add(describer.totals()).add(repeats);
  return text;
}

}  // namespace detail

inline std::string describe(const sdk::ProgramView& program, const Plan& plan, const BodyPlan& body) {
  std::uint64_t number = 0;
  PlanTotals totals;
  const std::string text = detail::describe_level(program, plan, body, number, totals);
  return text + "in all " + std::to_string(totals.launches) + " launches, " + detail::bytes_text(totals.bytes_read) +
         " read, " + detail::bytes_text(totals.bytes_written) + " written, with repeats as often as they run\n";
}

}  // namespace thrt::emit

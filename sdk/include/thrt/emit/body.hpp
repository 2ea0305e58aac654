// Writes the body of one kernel. Every op but argsort is a pull: element `index` of its result is an expression over elements of
// its operands at indices that follow from it, so a whole tree of ops becomes one body by recursion. Reductions, products and
// convolutions are loops inside it. What was written once in an enclosing block is used again.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/index.hpp>
#include <thrt/emit/scalar.hpp>
#include <thrt/sdk/program.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

// A value with all elements equal is printed as a number.
inline bool is_splat(const sdk::OpView& op) {
  if (op.kind() != ir::OpKind::CONSTANT) return false;
  const std::span<const std::byte> bytes = op.constant();
  const std::size_t size = ir::dtype_size(op.result_type().dtype);
  return !bytes.empty() && std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

// Which op makes a value.
class Producers {
 public:
  explicit Producers(const sdk::ProgramView& program) : op_(program.value_count(), nullptr) {
    for (const sdk::OpView& op : program.ops()) {
      for (std::uint32_t r = 0; r < op.result_count(); ++r) op_[op.result(r)] = &op;
    }
  }
  const sdk::OpView* of(std::uint32_t value) const { return op_[value]; }  // null for an input

 private:
  std::vector<const sdk::OpView*> op_;
};

class Body {
 public:
  // `inlined`: the values that this kernel computes; it reads the others from memory.
  Body(const sdk::ProgramView& program, const Producers& producers, const Dialect& dialect,
       const std::set<std::uint32_t>& inlined)
      : program_(program), producers_(producers), d_(dialect), inlined_(inlined), scopes_(1) {
    wide_ = false;
    for (const std::uint32_t value : inlined) {
      wide_ = wide_ || is_large(value);
      for (const std::uint32_t operand : producers.of(value)->operands()) wide_ = wide_ || is_large(operand);
    }
    if (wide_ && dialect.i64.empty())
      throw sdk::Error(THRT_UNSUPPORTED, "a kernel over 2^31 elements or more is not printed in " + dialect.name);
  }

  Variables variables;
  Functions functions;
  std::string text;
  std::vector<std::uint32_t> read;         // in order of first use
  std::set<std::uint32_t> read_elsewhere;  // read at another flat index than the work-item's own
  const std::string& index_type() const { return wide_ ? d_.i64 : d_.i32; }

  // Asked first for what is computed where all work-items of a group come by; an element, or nothing: it is pulled.
  std::function<std::optional<std::string>(const sdk::OpView& op, const Indices& at)> together;

  // The flat indices of the results' elements that this work-item computes.
  void set_own(std::vector<Index> flat) { own_ = std::move(flat); }

  void line(const std::string& statement) { text += std::string(2 * scopes_.size(), ' ') + statement + "\n"; }
  std::string name(const char* prefix) { return prefix + std::to_string(next_name_++); }

  bool computes(std::uint32_t value) const { return inlined_.count(value) != 0; }
  // The product at `flat` is known already, as this f32; element() finds it.
  void set_product(std::uint32_t value, const Index& flat, const std::string& sum) {
    remember(value, flat, finished(program_.type(value).dtype, sum));
  }

  // The indices of row-major element `flat` of a shape.
  Indices unflatten(Index flat, const ir::Shape& shape) {
    Indices indices(static_cast<std::size_t>(shape.rank()));
    std::int64_t stride = shape.elements();
    for (int d = 0; d < shape.rank(); ++d) {
      stride /= shape[d];
      if (shape[d] == 1) continue;
      if (stride == 1) {
        indices[static_cast<std::size_t>(d)] = flat;
        break;
      }
      const auto [quotient, rest] = divide(flat, stride);
      indices[static_cast<std::size_t>(d)] = quotient;
      flat = rest;
    }
    return indices;
  }
  Index flatten(const Indices& indices, const ir::Shape& shape) const {
    Index flat;
    std::int64_t stride = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (shape[d] != 1) flat = flat + indices[static_cast<std::size_t>(d)] * stride;
      stride *= shape[d];
    }
    return variables.joined(flat);
  }

  // A name or number that is the value's element.
  std::string element(std::uint32_t value, const Indices& at) {
    const sdk::OpView* op = producers_.of(value);
    if (op != nullptr && is_splat(*op)) return literal(d_, op->result_type().dtype, op->constant().data());
    const Index flat = flatten(at, program_.type(value).shape);
    if (const std::string* known = find(value, flat)) return *known;
    return remember(value, flat, inlined_.count(value) != 0 ? computed(*op, at) : loaded(value, flat));
  }

  // A loop over [0, extent), which is not empty; `inside` gets the index.
  template <typename Inside>
  void loop(std::int64_t extent, Inside&& inside) {
    if (extent == 1) return inside(Index(0));
    const std::string r = name("r");
    const std::size_t start = text.size();
    const double turns_before = std::exchange(turns_, 0);
    enclosing_turns_ *= static_cast<double>(extent);
    scopes_.emplace_back();
    inside(variables.add(r, extent));
    close();
    enclosing_turns_ /= static_cast<double>(extent);
    const std::string body = text.substr(start);
    text.resize(start);
    print_loop(r, extent, body);
    turns_ += turns_before;
    require_few_turns();
  }
  // Loops over all indices of `dims`, row-major.
  template <typename Inside>
  void loops(const std::vector<std::int64_t>& dims, Inside&& inside, Indices indices = {}) {
    if (indices.size() == dims.size()) return inside(indices);
    loop(dims[indices.size()], [&](const Index& index) {
      Indices next = indices;
      next.push_back(index);
      loops(dims, inside, next);
    });
  }
  template <typename Inside>
  void block(const std::string& head, Inside&& inside) {
    line(head + " {");
    scopes_.emplace_back();
    inside();
    close();
    line("}");
  }

  // A loop that `inside` is the body of, by a head of the caller's; it takes `turns` at most, which Dialect::most_turns bounds.
  template <typename Inside>
  void counted_block(const std::string& head, double turns, Inside&& inside) {
    const double turns_before = std::exchange(turns_, 0);
    const double enclosing = std::exchange(enclosing_turns_, enclosing_turns_ * std::max(1.0, turns));
    block(head, inside);
    enclosing_turns_ = enclosing;
    turns_ = turns_before + turns * (1 + turns_);
    require_few_turns();
  }

  // Adds what it takes for x to lie in [0, extent); false if it never does.
  bool require_inside(const Index& x, std::int64_t extent, std::vector<std::string>& conditions) const {
    if (variables.max(x) < 0 || variables.min(x) >= extent) return false;
    if (variables.min(x) < 0) conditions.push_back(variables.text(x) + " >= 0");
    if (variables.max(x) >= extent) conditions.push_back(variables.text(x) + " < " + std::to_string(extent));
    return true;
  }
  // x, known to lie in [0, extent) here.
  Index bounded(const Index& x, std::int64_t extent) {
    if (variables.min(x) >= 0 && variables.max(x) < extent) return x;
    if (extent == 1) return Index(0);
    return variable(variables.text(x), extent);
  }
  Index variable(const std::string& expression, std::int64_t extent) {
    const std::string v = name("v");
    line("const " + index_type() + " " + v + " = " + expression + ";");
    return variables.add(v, extent);
  }
  static std::string all(const std::vector<std::string>& conditions) {
    std::string text;
    for (const std::string& condition : conditions) text += (text.empty() ? "" : " && ") + condition;
    return text;
  }

  template <typename Inside>
  void when(const std::vector<std::string>& conditions, Inside&& inside) {
    conditions.empty() ? inside() : block("if (" + all(conditions) + ")", inside);
  }

  // `then` and `otherwise` return an element; which one is decided at run time where it has to be.
  template <typename Then, typename Otherwise>
  std::string choose(ir::DType dtype, const std::vector<std::string>& conditions, Then&& then, Otherwise&& otherwise) {
    if (conditions.empty()) return then();
    const std::string t = name("t");
    line(variable_type(d_, dtype) + " " + t + ";");
    block("if (" + all(conditions) + ")", [&] { line(t + " = " + then() + ";"); });
    block("else", [&] { line(t + " = " + otherwise() + ";"); });
    return t;
  }

  // Reductions, in pieces: the register they accumulate in, one more term, the accumulated f32 as an element, and where
  // in the operand the terms of result `at` lie.
  inline std::string fold_start(const sdk::OpView& op) const;
  inline void fold(const sdk::OpView& op, const std::string& accumulated, const std::string& term);
  static inline std::vector<std::int64_t> folded_dims(const sdk::OpView& op);
  static inline Indices folded_place(const sdk::OpView& op, const Indices& at, const Indices& inner);
  // Declares a variable that loops add to: an f32 for sums of f16 and bf16.
  std::string accumulator(ir::DType dtype, const std::string& start) {
    const std::string t = name("s");
    line(variable_type(d_, dtype) + " " + t + " = " + start + ";");
    return t;
  }
  void add_to(ir::DType dtype, const std::string& sum, const std::string& x) {
    if (is_half(dtype)) dtype = ir::DType::kF32;
    const std::string both[] = {sum, x};
    line(sum + " = " + scalar(d_, ir::OpKind::ADD, dtype, dtype, both, functions) + ";");
  }
  // What an accumulator leaves as an element of the dtype.
  std::string finished(ir::DType dtype, const std::string& sum) {
    return is_half(dtype) ? assigned(dtype, rounded(dtype, sum, functions)) : sum;
  }

  std::string assigned(ir::DType dtype, const std::string& expression) {
    const std::string t = name("t");
    line("const " + variable_type(d_, dtype) + " " + t + " = " + expression + ";");
    return t;
  }
  std::string argument(std::uint32_t value) {
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i] == value) return "@a" + std::to_string(i);
    }
    read.push_back(value);
    return "@a" + std::to_string(read.size() - 1);
  }

 private:
  struct Scope {
    std::map<std::string, std::string> elements;                  // by value and index
    std::map<std::pair<std::string, std::int64_t>, Index> parts;  // quotients (d) and remainders (-d) by expression
  };

  static std::string key(std::uint32_t value, const std::string& flat) { return std::to_string(value) + "@" + flat; }
  const std::string* find(std::uint32_t value, const Index& flat) const {
    const std::string wanted = key(value, variables.text(flat));
    for (const Scope& scope : scopes_) {
      const auto known = scope.elements.find(wanted);
      if (known != scope.elements.end()) return &known->second;
    }
    return nullptr;
  }
  const std::string& remember(std::uint32_t value, const Index& flat, const std::string& result) {
    return scopes_.back().elements.insert_or_assign(key(value, variables.text(flat)), result).first->second;
  }

  // So that a work-item's loops take few turns where a dialect wants it, a body stands in a turn several times.
  void print_loop(const std::string& r, std::int64_t extent, const std::string& body) {
    const std::int64_t copies = copies_in_a_turn(extent, body.size());
    const std::int64_t whole = copies == extent ? 0 : extent / copies, first_left = whole * copies;
    const auto copy = [&](const std::string& index) {
      line("{");
      line("  const " + index_type() + " " + r + " = " + index + ";");
      text += body;
      line("}");
    };
    const auto head = [&](const std::string& turn) {
      line("for (" + index_type() + " " + turn + " = 0; " + turn + " < " + std::to_string(whole) + "; ++" + turn +
           ") {");
    };
    if (copies == 1) {
      head(r);
      text += body;
      line("}");
    } else if (whole > 0) {
      const std::string turn = name("r");
      head(turn);
      for (std::int64_t c = 0; c < copies; ++c) copy(turn + " * " + std::to_string(copies) + " + " + std::to_string(c));
      line("}");
    }
    for (std::int64_t left = first_left; left < extent; ++left) copy(std::to_string(left));
    turns_ = static_cast<double>(whole) + static_cast<double>(extent) * turns_;
  }
  std::int64_t copies_in_a_turn(std::int64_t extent, std::size_t body) const {
    constexpr std::size_t kMostText = 16384;
    const double all = enclosing_turns_ * (1 + turns_) * static_cast<double>(extent);
    const double most = static_cast<double>(d_.most_turns) / 4;  // there are other loops
    std::int64_t copies = 1;
    while (d_.most_turns > 0 && all > most * static_cast<double>(copies) && copies < extent &&
           2 * static_cast<std::size_t>(copies) * body < kMostText) {
      copies *= 2;
    }
    return std::min(copies, extent);
  }
  void require_few_turns() const {
    if (d_.most_turns == 0 || enclosing_turns_ > 1 || turns_ <= static_cast<double>(d_.most_turns)) return;
    throw sdk::Error(THRT_UNSUPPORTED, "a work-item would take " + std::to_string(static_cast<std::int64_t>(turns_)) +
                                           " turns of loops, and this device's driver ends loops after " +
                                           std::to_string(d_.most_turns));
  }

  bool is_large(std::uint32_t value) const { return program_.type(value).elements() > kMostIn32Bits; }
  void close() { scopes_.pop_back(); }

  // x / d and x % d for x >= 0.
  std::pair<Index, Index> divide(const Index& x, std::int64_t d) {
    Index quotient, rest;
    if (variables.split(x, d, quotient, rest)) return {quotient, rest};
    return {part(x, d, Variables::Origin::kQuotient), part(x, d, Variables::Origin::kRemainder)};
  }
  Index part(const Index& x, std::int64_t d, Variables::Origin origin) {
    const bool is_quotient = origin == Variables::Origin::kQuotient;
    const std::pair<std::string, std::int64_t> key(variables.text(x), is_quotient ? d : -d);
    for (const Scope& scope : scopes_) {
      const auto known = scope.parts.find(key);
      if (known != scope.parts.end()) return known->second;
    }
    const std::string v = name("v");
    const std::string whole =
        x.terms.size() == 1 && x.base == 0 && x.terms[0].factor == 1 ? key.first : "(" + key.first + ")";
    line("const " + index_type() + " " + v + " = " + whole + (is_quotient ? " / " : " % ") + std::to_string(d) + ";");
    const std::int64_t extent = is_quotient ? variables.max(x) / d + 1 : d;
    return scopes_.back().parts.emplace(key, variables.add(v, extent, origin, x, d)).first->second;
  }

  std::string loaded(std::uint32_t value, const Index& flat) {
    const ir::DType dtype = program_.type(value).dtype;
    const std::string array = argument(value);
    if (std::find(own_.begin(), own_.end(), flat) == own_.end()) read_elsewhere.insert(value);
    return assigned(dtype, from_memory(d_, dtype, array + "[" + variables.text(flat) + "]", functions));
  }

  inline std::string computed(const sdk::OpView& op, const Indices& at);
  inline std::string pointwise(const sdk::OpView& op, const Indices& at);
  inline std::string pad(const sdk::OpView& op, const Indices& at);
  inline std::string concat(const sdk::OpView& op, const Indices& at, std::size_t first, std::int64_t start);
  inline std::string gather(const sdk::OpView& op, const Indices& at);
  inline std::string dynamic_slice(const sdk::OpView& op, const Indices& at);
  inline std::string dynamic_update_slice(const sdk::OpView& op, const Indices& at);
  inline Index clamped_start(std::uint32_t starts, int d, std::int64_t most);
  inline std::string reduce(const sdk::OpView& op, const Indices& at);
  inline std::string argmax(const sdk::OpView& op, const Indices& at);
  inline std::string scatter_add(const sdk::OpView& op, const Indices& at);
  inline std::string matmul(const sdk::OpView& op, const Indices& at);
  inline std::string conv2d(const sdk::OpView& op, const Indices& at);
  inline std::string conv2d_grad_input(const sdk::OpView& op, const Indices& at);
  inline std::string conv2d_grad_filter(const sdk::OpView& op, const Indices& at);
  inline std::string random_word(const sdk::OpView& op, const Indices& at);

  void add_product(const std::string& sum, const std::string& x, const std::string& y) {
    line(sum + " = " + call(d_.fused, {x, y, sum}) + ";");
  }

  const sdk::ProgramView& program_;
  const Producers& producers_;
  const Dialect& d_;
  const std::set<std::uint32_t>& inlined_;
  std::vector<Scope> scopes_;
  std::vector<Index> own_;
  bool wide_;
  // Turns of loops in what is printed of the innermost open loop (or of the whole) so far, and how often that runs.
  double turns_ = 0, enclosing_turns_ = 1;
  int next_name_ = 0;
};

}  // namespace thrt::emit::detail

#include <thrt/emit/loops.hpp>
#include <thrt/emit/pull.hpp>

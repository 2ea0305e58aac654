#include "compare.hpp"

#include "error_bound.hpp"

#include <thrt/error.hpp>
#include <thrt/graph/passes.hpp>
#include <thrt/graph/scalar_bytes.hpp>
#include <thrt/runtime/context.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace thrt::conformance {
namespace {

double element(const Bytes& bytes, DType dtype, std::size_t i) {
  const std::size_t size = ir::dtype_size(dtype);
  return scalar_value(std::span<const std::byte>(bytes).subspan(i * size, size), dtype);
}

std::vector<double> as_doubles(const Bytes& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Bytes widened(const Bytes& bytes, const Type& type) {
  if (!ir::is_float(type.dtype)) return bytes;
  Bytes result(static_cast<std::size_t>(type.elements()) * sizeof(double));
  for (std::size_t i = 0; i < static_cast<std::size_t>(type.elements()); ++i) {
    const double number = element(bytes, type.dtype, i);
    std::memcpy(result.data() + i * sizeof(double), &number, sizeof(double));
  }
  return result;
}

// "[2, 0, 5]" of a flat index.
std::string place(const Shape& shape, std::int64_t flat) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = fmt::format("{}{}{}", flat % shape[axis], text.empty() ? "" : ", ", text);
    flat /= shape[axis];
  }
  return "[" + text + "]";
}

bool is_right(double got, double want, double bound) {
  if (std::isnan(want)) return std::isnan(got);
  if (want == 0.0 && bound == 0.0) return got == 0.0 && std::signbit(got) == std::signbit(want);
  if (got == want) return true;
  return std::fabs(got - want) <= bound * (1.0 + 0x1p-40);  // false for NaN; the bound itself was rounded
}

std::string text_of(double number) {
  return std::isnan(number) ? "NaN" : fmt::format("{:.9g}", number);
}

std::string difference_text(double came, double want, double bound) {
  if (came == want) return "and the sign of a zero counts here";
  if (!std::isfinite(came - want)) return fmt::format("where an error of {:.3g} is allowed", bound);
  return fmt::format("off by {:.3g} where {:.3g} is allowed", std::fabs(came - want), bound);
}

std::string too_few(const std::string& slot, const Type& type, std::size_t skipped, std::size_t count,
                    double may_skip) {
  if (static_cast<double>(skipped) <= may_skip * static_cast<double>(count)) return {};
  return fmt::format(
      "slot '{}' {}: the error model says nothing about {} of {} elements, so this case proves too little", slot,
      type.str(), skipped, count);
}

// The bounded graph on the reference backend, with a buffer for each slot.
class ReferenceRun {
 public:
  ReferenceRun(const Bench& bench, const Graph& graph)
      : context_(bench.reference), executable_(context_, lower(optimise(graph))) {
    std::vector<Buffer> list;
    for (const Program::Slot& slot : executable_.program().slots()) {
      list.emplace_back(context_, slot.type.bytes());
      buffers_.emplace(slot.name, list.back());
    }
    binding_ = std::make_unique<Binding>(executable_, list);
  }

  bool has(const std::string& slot) const { return buffers_.contains(slot); }
  void write(const std::string& slot, std::span<const std::byte> content) { buffers_.at(slot).write(content); }
  Bytes read(const std::string& slot) const {
    Bytes bytes(static_cast<std::size_t>(buffers_.at(slot).bytes()));
    buffers_.at(slot).read(bytes);
    return bytes;
  }
  void zero(const std::string& slot) { write(slot, Bytes(static_cast<std::size_t>(buffers_.at(slot).bytes()))); }
  void run() { binding_->run(); }

 private:
  Context context_;
  Executable executable_;
  std::map<std::string, Buffer> buffers_;
  std::unique_ptr<Binding> binding_;
};

// What a run left becomes what the next one starts from.
void carry_on(ReferenceRun& reference, const Graph& graph) {
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.input == kNone || slot.output == kNone) continue;
    reference.write(slot.name, reference.read(value_name(slot.name)));
    if (reference.has(doubt_name(slot.name))) {
      reference.write(doubt_input_name(slot.name), reference.read(doubt_name(slot.name)));
    } else {
      reference.zero(doubt_input_name(slot.name));
    }
  }
}

}  // namespace

std::string first_difference(const std::string& slot, const Type& type, const Bytes& got, const Expected& expected,
                             double may_skip) {
  const auto count = static_cast<std::size_t>(type.elements());
  const bool is_float = ir::is_float(type.dtype);
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double came = element(got, type.dtype, i);
    const double want = element(expected.value, is_float ? DType::kF64 : type.dtype, i);
    double bound = 0.0;
    if (is_float && !expected.bound.empty()) bound = expected.bound[i];
    const bool is_open =
        is_float ? !(bound < HUGE_VAL) : !expected.undecided.empty() && expected.undecided[i] != std::byte{0};
    if (is_open) {
      ++skipped;
    } else if (!is_right(came, want, bound)) {
      const std::string where =
          fmt::format("slot '{}' {} at {}", slot, type.str(), place(type.shape, static_cast<std::int64_t>(i)));
      if (!is_float) return fmt::format("{}: {} came, {} was expected", where, came, want);
      return fmt::format("{}: {} came, {} was expected, {}", where, text_of(came), text_of(want),
                         difference_text(came, want, bound));
    }
  }
  return too_few(slot, type, skipped, count, may_skip);
}

ExpectedSlots expected(const Bench& bench, const Graph& graph, const Contents& contents, std::uint32_t runs,
                       bool flushes_denormals) {
  ReferenceRun reference(bench, bounded(graph, {flushes_denormals, runs > 1}));
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.input == kNone) continue;
    reference.write(slot.name, widened(contents.at(slot.name), slot.type));
    if (reference.has(doubt_input_name(slot.name))) reference.zero(doubt_input_name(slot.name));
  }
  for (std::uint32_t run = 0; run < runs; ++run) {
    if (run > 0) carry_on(reference, graph);
    reference.run();
  }
  ExpectedSlots slots;
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.output == kNone) continue;
    Expected& one = slots[slot.name];
    one.value = reference.read(value_name(slot.name));
    if (!reference.has(doubt_name(slot.name))) continue;
    const Bytes doubt = reference.read(doubt_name(slot.name));
    if (ir::is_float(slot.type.dtype)) {
      one.bound = as_doubles(doubt);
    } else {
      one.undecided = doubt;
    }
  }
  return slots;
}

namespace {

// All slots' bytes after `runs` runs from `contents`.
std::vector<Bytes> run_on_device(DeviceProgram& program, const Contents& contents, std::uint32_t runs) {
  const std::vector<Program::Slot>& slots = program.program().slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool is_output = slots[i].kind == Graph::SlotKind::kOutput;
    program.buffer(i)->write(is_output ? std::span<const std::byte>() : contents.at(slots[i].name));
  }
  program.run(runs);
  std::vector<Bytes> results;
  for (std::size_t i = 0; i < slots.size(); ++i) results.push_back(program.buffer(i)->read(slots[i].name));
  return results;
}

Outcome compare(const Bench& bench, const Graph& graph, const Contents& contents, const CompareOptions& options) {
  const DeviceContext context(bench);
  DeviceProgram program(context, lower(graph), options.flags);
  const std::vector<Bytes> first = run_on_device(program, contents, options.runs);
  const std::vector<Bytes> second = run_on_device(program, contents, options.runs);
  const std::vector<Program::Slot>& slots = program.program().slots();
  // Where denormals may vanish, what divides by them or takes their logarithm may be anything; special values have some.
  const bool flushes = context.flushes_denormals();
  const double may_skip = options.may_skip + (flushes && options.may_skip > 0.0 ? 0.2 : 0.0);
  const ExpectedSlots right = expected(bench, graph, contents, options.runs, flushes);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string& name = slots[i].name;
    const bool is_written = slots[i].kind == Graph::SlotKind::kOutput || slots[i].updated;
    if (!is_written && first[i] != contents.at(name)) {
      return {Outcome::Kind::kFailed, fmt::format("the run changed slot '{}', which the program only reads", name)};
    }
    if (is_written) {
      const std::string difference = first_difference(name, slots[i].type, first[i], right.at(name), may_skip);
      if (!difference.empty()) return {Outcome::Kind::kFailed, difference};
    }
    if (first[i] != second[i]) {
      return {Outcome::Kind::kFailed,
              fmt::format("slot '{}': two runs from the same contents gave different bits", name)};
    }
  }
  return {};
}

}  // namespace

Outcome compare_with_reference(const Bench& bench, const Graph& graph, const Contents& contents,
                               const CompareOptions& options) {
  return outcome_of([&] { return compare(bench, graph, contents, options); });
}

}  // namespace thrt::conformance

#include "case_program.hpp"

#include <thrt/graph/scalar_bytes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thrt::conformance {

std::uint64_t Numbers::bits() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::int64_t Numbers::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
}

double Numbers::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
}

std::vector<double> Numbers::uniforms(std::int64_t count, double low, double high) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(uniform(low, high));
  return result;
}

Bytes encode(const std::vector<double>& numbers, DType dtype) {
  Bytes bytes;
  bytes.reserve(numbers.size() * ir::dtype_size(dtype));
  for (const double number : numbers) {
    const Bytes one = scalar_bytes(number, dtype);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::vector<double> CaseProgram::numbers_for(const Type& type, double low, double high) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    if (low == high) {
      values.push_back(low);
    } else if (ir::is_float(type.dtype)) {
      values.push_back(numbers.uniform(low, high));
    } else if (type.dtype == DType::kBool) {
      values.push_back(static_cast<double>(numbers.between(0, 1)));
    } else {
      const bool is_unsigned = type.dtype == DType::kU8 || type.dtype == DType::kU32;
      const auto least = static_cast<std::int64_t>(is_unsigned ? std::max(low, 0.0) : low);
      values.push_back(static_cast<double>(numbers.between(least, std::max(static_cast<std::int64_t>(high), least))));
    }
  }
  return values;
}

Tensor CaseProgram::given(const Type& type, const std::vector<double>& values) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < type.elements(); ++i) all.push_back(values[static_cast<std::size_t>(i) % values.size()]);
  const std::string name = fmt::format("x{}", inputs_++);
  contents[name] = encode(all, type.dtype);
  return graph.input(name, type);
}

Tensor CaseProgram::random(const Type& type, double low, double high) {
  return given(type, numbers_for(type, low, high));
}

void CaseProgram::fill(std::string_view prefix, double low, double high) {
  for (const Graph::Slot& slot : graph.slots()) {
    if (slot.input == kNone || !slot.name.starts_with(prefix) || contents.contains(slot.name)) continue;
    contents[slot.name] = encode(numbers_for(slot.type, low, high), slot.type.dtype);
  }
}

void CaseProgram::output(const std::string& name, Tensor value) {
  std::string own = name;
  for (int i = 2; graph.find_slot(own) != nullptr; ++i) own = fmt::format("{} ({})", name, i);
  graph.output(own, value);
}

}  // namespace thrt::conformance

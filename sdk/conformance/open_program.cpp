#include "open_program.hpp"

#include <algorithm>
#include <cstring>

namespace thrt::conformance {
namespace {

constexpr std::size_t kConstantAlignment = 64;

template <typename Element>
std::vector<Element> copy(const Element* elements, std::uint64_t count) {
  return count == 0 ? std::vector<Element>() : std::vector<Element>(elements, elements + count);
}

template <typename Element>
void overwrite(std::vector<Element>& elements) {
  if (!elements.empty()) std::memset(static_cast<void*>(elements.data()), 0xA5, elements.size() * sizeof(Element));
}

}  // namespace

OpenProgram::OpenProgram(const thrt_program& source)
    : values(copy(source.values, source.value_count)),
      ops(copy(source.ops, source.op_count)),
      slots(copy(source.slots, source.slot_count)),
      operands(copy(source.operands, source.operand_count)),
      attributes(copy(source.attributes, source.attribute_count)),
      constants(copy(source.constants, source.constant_bytes)),
      strings(copy(source.strings, source.string_bytes)),
      groups(copy(source.groups, source.group_count)),
      abi_(source) {
  for (std::uint32_t i = 0; i < source.subprogram_count; ++i) {
    subprograms.push_back(std::make_unique<OpenProgram>(*source.subprograms[i]));
  }
}

thrt_program& OpenProgram::abi() {
  aligned_constants_.resize(constants.size() + kConstantAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(aligned_constants_.data());
  std::uint8_t* base = aligned_constants_.data() + (kConstantAlignment - address % kConstantAlignment);
  std::copy(constants.begin(), constants.end(), base);
  subprogram_pointers_.clear();
  for (const auto& one : subprograms) subprogram_pointers_.push_back(&one->abi());
  abi_.values = values.data();
  abi_.ops = ops.data();
  abi_.slots = slots.data();
  abi_.operands = operands.data();
  abi_.attributes = attributes.data();
  abi_.constants = base;
  abi_.strings = strings.data();
  abi_.groups = groups.data();
  abi_.subprograms = subprogram_pointers_.data();
  abi_.constant_bytes = constants.size();
  abi_.string_bytes = strings.size();
  abi_.value_count = static_cast<std::uint32_t>(values.size());
  abi_.op_count = static_cast<std::uint32_t>(ops.size());
  abi_.slot_count = static_cast<std::uint32_t>(slots.size());
  abi_.operand_count = static_cast<std::uint32_t>(operands.size());
  abi_.attribute_count = static_cast<std::uint32_t>(attributes.size());
  abi_.group_count = static_cast<std::uint32_t>(groups.size());
  abi_.subprogram_count = static_cast<std::uint32_t>(subprogram_pointers_.size());
  return abi_;
}

void OpenProgram::scramble() {
  overwrite(values);
  overwrite(ops);
  overwrite(slots);
  overwrite(operands);
  overwrite(attributes);
  overwrite(constants);
  overwrite(aligned_constants_);
  overwrite(strings);
  overwrite(groups);
  overwrite(subprogram_pointers_);
  for (const auto& one : subprograms) one->scramble();
  std::memset(static_cast<void*>(&abi_), 0xA5, sizeof abi_);
}

}  // namespace thrt::conformance

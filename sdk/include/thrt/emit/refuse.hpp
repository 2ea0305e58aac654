// What no kernel is printed for.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/ir/ops.hpp>
#include <thrt/sdk/program.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace thrt::emit {

// A set of dtypes, by ir::dtype_bit.
inline constexpr std::uint32_t kPrintedDtypes = ir::kDTypesAny & ~ir::dtype_bit(ir::DType::kF64);

// Why kernels of this op cannot be printed, or nothing. `dtypes`: those that the device stores; kernels compute with f16 and
// bf16 in f32, but their arrays have elements of 16 bits, those of u8 and bool of 8.
inline std::optional<std::string> refuse(const sdk::OpView& op, const Dialect& dialect,
                                         std::uint32_t dtypes = kPrintedDtypes) {
  const auto reason = [&](const ir::Type& type) -> std::optional<std::string> {
    if ((kPrintedDtypes & ir::dtype_bit(type.dtype)) == 0)
      return std::string(op.name()) + ": no kernels for " + ir::dtype_name(type.dtype);
    if ((dtypes & ir::dtype_bit(type.dtype)) == 0)
      return std::string(op.name()) + ": this device does not store " + ir::dtype_name(type.dtype);
    if (dialect.i64.empty() && type.elements() > kMostIn32Bits)
      return std::string(op.name()) + ": " + std::to_string(type.elements()) + " elements; kernels in " + dialect.name +
             " count to " + std::to_string(kMostIn32Bits);
    return std::nullopt;
  };
  for (std::uint32_t r = 0; r < op.result_count(); ++r) {
    if (std::optional<std::string> text = reason(op.result_type(r))) return text;
  }
  for (std::size_t i = 0; i < op.operands().size(); ++i) {
    if (std::optional<std::string> text = reason(op.operand_type(i))) return text;
  }
  return std::nullopt;
}

}  // namespace thrt::emit

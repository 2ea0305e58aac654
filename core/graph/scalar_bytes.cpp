#include <thrt/graph/scalar_bytes.hpp>

#include <thrt/ir/float16.hpp>

#include <cstring>

namespace thrt {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

std::vector<std::byte> scalar_bytes(double value, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF64:
      return bytes_of(value);
    case ir::DType::kF32:
      return bytes_of(static_cast<float>(value));
    case ir::DType::kF16:
      return bytes_of(ir::f64_to_f16(value));
    case ir::DType::kBF16:
      return bytes_of(ir::f64_to_bf16(value));
    case ir::DType::kI32:
      return bytes_of(static_cast<std::int32_t>(value));
    case ir::DType::kU32:
      return bytes_of(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
    case ir::DType::kU8:
      return bytes_of(static_cast<std::uint8_t>(value));
    case ir::DType::kBool:
      return bytes_of(static_cast<std::uint8_t>(value != 0.0));
  }
  return {};
}

double scalar_value(std::span<const std::byte> bytes, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF64:
      return read<double>(bytes);
    case ir::DType::kF32:
      return static_cast<double>(read<float>(bytes));
    case ir::DType::kF16:
      return static_cast<double>(ir::f16_to_f32(read<std::uint16_t>(bytes)));
    case ir::DType::kBF16:
      return static_cast<double>(ir::bf16_to_f32(read<std::uint16_t>(bytes)));
    case ir::DType::kI32:
      return static_cast<double>(read<std::int32_t>(bytes));
    case ir::DType::kU32:
      return static_cast<double>(read<std::uint32_t>(bytes));
    case ir::DType::kU8:
    case ir::DType::kBool:
      return static_cast<double>(read<std::uint8_t>(bytes));
  }
  return 0.0;
}

}  // namespace thrt

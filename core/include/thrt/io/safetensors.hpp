// Named tensors in the safetensors file format: an 8-byte little-endian length, a JSON header of that length, the data.
// The format is described at https://github.com/huggingface/safetensors#format.
#pragma once

#include <thrt/ir/type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::io {

// The dtypes read and written here: those of programs, and 64-bit integers for counters.
enum class TensorDType { kF32, kF16, kBF16, kI32, kU32, kU8, kBool, kF64, kI64, kU64 };

inline constexpr std::array<TensorDType, 10> kAllTensorDTypes = {
    TensorDType::kF32, TensorDType::kF16,  TensorDType::kBF16, TensorDType::kI32, TensorDType::kU32,
    TensorDType::kU8,  TensorDType::kBool, TensorDType::kF64,  TensorDType::kI64, TensorDType::kU64};

const char* name_of(TensorDType dtype);  // as the header spells it: "F32"
std::uint64_t size_of(TensorDType dtype);
TensorDType tensor_dtype(ir::DType dtype);
// Throws thrt::Error for the 64-bit integers, which no program has.
ir::DType program_dtype(TensorDType dtype);

// A tensor of a SafeTensors, which owns the bytes: row-major, little-endian, `elements() * size_of(dtype)` of them.
// In a file written elsewhere they need not be aligned, so copy them, never cast.
struct TensorView {
  std::string name;
  TensorDType dtype = TensorDType::kF32;
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

struct Header;  // of core/io, private

class SafeTensors {
 public:
  // The longest header that readers of the format accept, in bytes.
  static constexpr std::uint64_t kMaxHeader = 100'000'000;

  SafeTensors() = default;

  // Reads a whole file: one allocation for its data, made only after the header has been found right. What is wrong
  // with a file is a thrt::Error that names it; a file from a stranger can do no harm.
  static SafeTensors read(const std::filesystem::path& path);
  // The same for the bytes of a file; `source` is what errors call it.
  static SafeTensors parse(std::span<const std::byte> file, std::string_view source);

  // Writes atomically (see write_file_atomically). Equal content gives equal bytes: tensors keep their order in the
  // header, the data is laid out by falling element size so that each tensor is aligned.
  void write(const std::filesystem::path& path) const;
  std::vector<std::byte> serialize() const;

  // Adds a tensor of zeros and returns its bytes to be filled; they stay where they are as long as this object or one
  // moved from it lives. Throws thrt::Error for a name that is taken, reserved or not UTF-8, and for a negative size.
  std::span<std::byte> add(std::string name, TensorDType dtype, std::vector<std::int64_t> shape);
  // Adds a copy; throws thrt::Error when `bytes` are not as many as the shape needs.
  void add(std::string name, TensorDType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // in the order of the header
  const TensorView* find(std::string_view name) const;                 // null: no tensor of that name

  std::map<std::string, std::string> metadata;  // `__metadata__`: free text, UTF-8

 private:
  struct Layout;
  SafeTensors(Header header, std::unique_ptr<std::byte[]> data);
  Layout layout() const;

  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;  // name -> place in tensors_
  std::vector<std::unique_ptr<std::byte[]>> storage_;      // what the views point into
};

}  // namespace thrt::io

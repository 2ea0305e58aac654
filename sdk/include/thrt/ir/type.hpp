// Dtypes, shapes and value types as C++ values: the vocabulary that host and backends share with abi.h.
#pragma once

#include <thrt/abi.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace thrt::ir {

// A program, op or type that breaks a rule of ops.def. The message is one sentence that names the rule.
class RuleError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

enum class DType : std::uint32_t {
  kF32 = THRT_DTYPE_F32,
  kF16 = THRT_DTYPE_F16,
  kBF16 = THRT_DTYPE_BF16,
  kI32 = THRT_DTYPE_I32,
  kU32 = THRT_DTYPE_U32,
  kU8 = THRT_DTYPE_U8,
  kBool = THRT_DTYPE_BOOL,
  kF64 = THRT_DTYPE_F64,
};

inline constexpr std::array<DType, 8> kAllDTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kI32,
                                                    DType::kU32, DType::kU8,  DType::kBool, DType::kF64};

// Bytes of one element, or 0 for a number that is no dtype.
constexpr std::uint64_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

constexpr const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI32:
      return "i32";
    case DType::kU32:
      return "u32";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
    case DType::kF64:
      return "f64";
  }
  return "unknown";
}

constexpr bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64;
}

// Up to THRT_MAX_RANK dimensions, row-major, none negative.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) {
    if (dims.size() > THRT_MAX_RANK) {
      throw RuleError("rank " + std::to_string(dims.size()) + " exceeds " + std::to_string(THRT_MAX_RANK));
    }
    for (const std::int64_t dim : dims) push_back(dim);
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }

  void push_back(std::int64_t dim) {
    if (rank_ == THRT_MAX_RANK) throw RuleError("rank exceeds " + std::to_string(THRT_MAX_RANK));
    if (dim < 0) throw RuleError("dimension " + std::to_string(dim) + " is negative");
    dims_[static_cast<std::size_t>(rank_++)] = dim;
  }
  void set(int axis, std::int64_t dim) { dims_[static_cast<std::size_t>(axis)] = dim; }

  // The number of elements. Throws RuleError when the dimensions, a 0 counted as 1, multiply to more than 2^48: so
  // neither strides nor sizes in bytes ever overflow, also of an empty shape with a huge dimension.
  std::int64_t elements() const {
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    std::int64_t product = 1;
    bool empty = false;
    for (const std::int64_t dim : dims()) {
      if (dim == 0) {
        empty = true;
        continue;
      }
      if (product > kMost / dim) throw RuleError("shape " + str() + " has more than 2^48 elements");
      product *= dim;
    }
    return empty ? 0 : product;
  }

  // Row-major strides in elements.
  std::array<std::int64_t, THRT_MAX_RANK> strides() const {
    std::array<std::int64_t, THRT_MAX_RANK> result{};
    std::int64_t stride = 1;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      result[static_cast<std::size_t>(axis)] = stride;
      stride *= (*this)[axis];
    }
    return result;
  }

  std::string str() const {
    std::string text = "[";
    for (int axis = 0; axis < rank_; ++axis) {
      if (axis > 0) text += ", ";
      text += std::to_string((*this)[axis]);
    }
    return text + "]";
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a[axis] != b[axis]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, THRT_MAX_RANK> dims_{};
  int rank_ = 0;
};

struct Type {
  DType dtype = DType::kF32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(elements()) * dtype_size(dtype); }
  std::string str() const { return std::string(dtype_name(dtype)) + shape.str(); }

  friend bool operator==(const Type& a, const Type& b) { return a.dtype == b.dtype && a.shape == b.shape; }
};

// The type of a program's value; throws RuleError for what is no type.
inline Type type_of(const thrt_value& value) {
  const auto dtype = static_cast<DType>(value.dtype);
  if (dtype_size(dtype) == 0) throw RuleError("unknown dtype " + std::to_string(value.dtype));
  if (value.rank > THRT_MAX_RANK) {
    throw RuleError("rank " + std::to_string(value.rank) + " exceeds " + std::to_string(THRT_MAX_RANK));
  }
  for (std::uint32_t axis = value.rank; axis < THRT_MAX_RANK; ++axis) {
    if (value.dims[axis] != 0) throw RuleError("a dimension beyond the rank is not zero");
  }
  if (value.reserved != 0) throw RuleError("a reserved field is not zero");
  Type type{dtype, Shape(std::span<const std::int64_t>(value.dims, value.rank))};
  static_cast<void>(type.elements());  // throws when too large
  return type;
}

inline thrt_value value_of(const Type& type) {
  thrt_value value{};
  value.dtype = static_cast<std::uint32_t>(type.dtype);
  value.rank = static_cast<std::uint32_t>(type.shape.rank());
  for (int axis = 0; axis < type.shape.rank(); ++axis) value.dims[axis] = type.shape[axis];
  return value;
}

}  // namespace thrt::ir

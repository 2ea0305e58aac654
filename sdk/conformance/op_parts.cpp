#include "op_parts.hpp"

#include "error_rules.hpp"

#include <limits>

namespace thrt::conformance {

const std::vector<Shape>& common_shapes() {
  static const std::vector<Shape> shapes = {{},
                                            {0},
                                            {1},
                                            {3},
                                            {257},
                                            {1023},
                                            {5, 7},
                                            {1, 33},
                                            {17, 1},
                                            {3, 0, 2},
                                            {2, 3, 5},
                                            {4, 16, 32},
                                            {2, 3, 4, 5},
                                            {1, 2, 3, 2, 3},
                                            {2, 1, 3, 2, 1, 5}};
  return shapes;
}

std::vector<double> special_values(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kU8:
      return {0, 1, 2, 127, 128, 254, 255};
    case DType::kU32:
      return {0, 1, 2, 3, 7, 31, 32, 33, 255, 256, 65535, 16777217, 2147483647, 2147483648, 4294967167, 4294967295};
    case DType::kI32:
      return {0,  1,   -1,  2,     -2,       3,          -3,         7,          31,          32,
              33, 255, 256, 65536, 16777217, 2147483520, 2147483646, 2147483647, -2147483647, -2147483648};
    default:
      break;
  }
  const Format& f = format_of(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {0.0,        -0.0,         0.5,
          -0.5,       1.0,          -1.0,
          1.5,        -1.5,         2.5,
          -2.5,       3.0,          -3.0,
          0.1,        -0.3,         100.25,
          -1000.0,    0.999,        f.largest,
          -f.largest, f.normal_min, -f.normal_min,
          f.tiny,     -f.tiny,      3 * f.tiny,
          kInfinity,  -kInfinity,   std::numeric_limits<double>::quiet_NaN()};
}

Pairs pairs_of(const std::vector<double>& values) {
  Pairs pairs;
  for (const double a : values) {
    for (const double b : values) {
      pairs.first.push_back(a);
      pairs.second.push_back(b);
    }
  }
  return pairs;
}

Tensor in_form(Form form, const Type& type, const Fill& fill) {
  const std::int64_t rows = type.shape[0], columns = type.shape[1];
  switch (form) {
    case Form::kDense:
      return fill(type);
    case Form::kTransposed:
      return transpose(fill({type.dtype, {columns, rows}}));
    case Form::kRow:
      return broadcast_in(fill({type.dtype, {columns}}), type.shape, {1});
    case Form::kColumn:
      return broadcast_in(fill({type.dtype, {rows, 1}}), type.shape, {0, 1});
    case Form::kScalar:
      return broadcast_to(fill({type.dtype, {}}), type.shape);
    case Form::kSliced:
      return slice(slice(fill({type.dtype, {2 * rows + 1, columns + 3}}), 0, 1, rows, 2), 1, 2, columns);
    case Form::kReshaped:
      return reshape(transpose(fill({type.dtype, {columns, rows}})), type.shape);
  }
  return {};
}

std::string form_name(Form form) {
  switch (form) {
    case Form::kDense:
      return "dense";
    case Form::kTransposed:
      return "transposed";
    case Form::kRow:
      return "row";
    case Form::kColumn:
      return "column";
    case Form::kScalar:
      return "scalar";
    case Form::kSliced:
      return "sliced";
    case Form::kReshaped:
      return "reshaped";
  }
  return {};
}

}  // namespace thrt::conformance

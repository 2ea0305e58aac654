// Cases of arithmetic, comparison, select and cast.
#include "op_parts.hpp"

#include "error_rules.hpp"

#include <fmt/format.h>

#include <cmath>

namespace thrt::conformance {
namespace {

struct Domain {
  double low, high;
};

// Where operand `i` of the op has something to say; special values have a part of their own.
Domain domain_of(OpKind kind, std::size_t i) {
  switch (kind) {
    case OpKind::SQRT:
    case OpKind::LOG:
      return {1e-3, 50.0};
    case OpKind::LOG1P:
      return {-0.9, 20.0};
    case OpKind::EXP:
      return {-10.0, 10.0};
    case OpKind::SIN:
    case OpKind::COS:
      return {-100.0, 100.0};
    case OpKind::FLOOR:
    case OpKind::ROUND:
    case OpKind::REM:
      return {-40.0, 40.0};
    case OpKind::POW:
      return i == 0 ? Domain{0.1, 4.0} : Domain{-3.0, 3.0};
    case OpKind::AND:
    case OpKind::OR:
    case OpKind::XOR:
    case OpKind::NOT:
    case OpKind::SHIFT_LEFT:
    case OpKind::SHIFT_RIGHT:
      return {-2147483648.0, 2147483647.0};
    default:
      return {-4.0, 4.0};
  }
}

// Elements of many magnitudes and both signs, as far as the dtype goes.
std::vector<double> magnitudes(DType dtype, Numbers& numbers, std::int64_t count) {
  const Format& f = format_of(dtype);
  const double least = std::log2(f.normal_min), most = std::log2(f.largest);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(std::exp2(numbers.uniform(least, most)) * (numbers.between(0, 1) == 0 ? 1.0 : -1.0));
  }
  return values;
}

// The op's result named by its operands' types.
void add_op(CaseProgram& p, const std::string& name, OpKind kind, const std::vector<Tensor>& operands) {
  p.output(name, p.graph.append(kind, operands));
}

// Beyond 2^16, and no multiple of anything.
constexpr std::int64_t kMany = 70001;

constexpr std::int64_t kLarge = (1 << 20) + 65539;  // beyond 2^20, and beyond 16 times 2^16

// The ops whose cost per element is small enough, and that differ enough, to be tried on a million elements.
bool has_large_case(OpKind kind, DType dtype) {
  return (kind == OpKind::ADD && (dtype == DType::kF32 || dtype == DType::kI32)) ||
         (kind == OpKind::EXP && dtype == DType::kF32) || (kind == OpKind::LT && dtype == DType::kF32);
}

bool has_sizes_case(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32;
}

// Many elements, as they are and in rows that a bias or a scale is spread over.
Part sizes_part(OpKind kind, DType dtype) {
  return {"sizes", [=](CaseProgram& p) {
            std::vector<Tensor> many, rows;
            for (std::size_t i = 0; i < ir::op_info(kind).min_operands; ++i) {
              const Domain domain = domain_of(kind, i);
              const DType own = kind == OpKind::SELECT && i == 0 ? DType::kBool : dtype;
              many.push_back(p.random({own, {kMany}}, domain.low, domain.high));
              rows.push_back(i == 1 ? broadcast_in(p.random({own, {67}}, domain.low, domain.high), {259, 67}, {1})
                                    : p.random({own, {259, 67}}, domain.low, domain.high));
            }
            add_op(p, "many", kind, many);
            add_op(p, "rows", kind, rows);
          }};
}

Part large_part(OpKind kind, DType dtype) {
  return {"large", [=](CaseProgram& p) {
            std::vector<Tensor> operands;
            for (std::size_t i = 0; i < ir::op_info(kind).min_operands; ++i) {
              operands.push_back(p.random({dtype, {kLarge}}, domain_of(kind, i).low, domain_of(kind, i).high));
            }
            add_op(p, "large", kind, operands);
          }};
}

}  // namespace

Parts unary_parts(OpKind kind, DType dtype) {
  const Domain domain = domain_of(kind, 0);
  Parts parts;
  parts.push_back({"shapes", [=](CaseProgram& p) {
                     for (const Shape& shape : common_shapes()) {
                       add_op(p, shape.str(), kind, {p.random({dtype, shape}, domain.low, domain.high)});
                     }
                   }});
  parts.push_back({"forms", [=](CaseProgram& p) {
                     const Fill fill = [&](const Type& type) { return p.random(type, domain.low, domain.high); };
                     for (const Form form : kAllForms) {
                       add_op(p, form_name(form), kind, {in_form(form, {dtype, {17, 5}}, fill)});
                     }
                   }});
  parts.push_back({"special",
                   [=](CaseProgram& p) {
                     const std::vector<double> values = special_values(dtype);
                     add_op(p, "special", kind, {p.given({dtype, {static_cast<std::int64_t>(values.size())}}, values)});
                     if (!ir::is_float(dtype)) return;
                     add_op(p, "magnitudes", kind, {p.given({dtype, {301}}, magnitudes(dtype, p.numbers, 301))});
                   },
                   0.1});
  if (has_sizes_case(dtype)) parts.push_back(sizes_part(kind, dtype));
  if (has_large_case(kind, dtype)) parts.push_back(large_part(kind, dtype));
  return parts;
}

namespace {

Parts two_operand_parts(OpKind kind, DType dtype) {
  const Domain a = domain_of(kind, 0), b = domain_of(kind, 1);
  Parts parts;
  parts.push_back({"shapes", [=](CaseProgram& p) {
                     for (const Shape& shape : common_shapes()) {
                       add_op(p, shape.str(), kind,
                              {p.random({dtype, shape}, a.low, a.high), p.random({dtype, shape}, b.low, b.high)});
                     }
                   }});
  parts.push_back({"forms", [=](CaseProgram& p) {
                     const Fill first = [&](const Type& type) { return p.random(type, a.low, a.high); };
                     const Fill second = [&](const Type& type) { return p.random(type, b.low, b.high); };
                     const Type type{dtype, {9, 7}};
                     for (const Form one : kAllForms) {
                       const Form other = kAllForms[(static_cast<std::size_t>(one) * 3 + 1) % std::size(kAllForms)];
                       add_op(p, form_name(one) + ", dense", kind,
                              {in_form(one, type, first), in_form(Form::kDense, type, second)});
                       add_op(p, form_name(other) + ", " + form_name(one), kind,
                              {in_form(other, type, first), in_form(one, type, second)});
                     }
                     const Tensor x = p.random(type, a.low, a.high);
                     add_op(p, "twice the same", kind, {x, x});
                   }});
  parts.push_back(
      {"special",
       [=](CaseProgram& p) {
         const Pairs pairs = pairs_of(special_values(dtype));
         const Type type{dtype, {static_cast<std::int64_t>(pairs.first.size())}};
         add_op(p, "special", kind, {p.given(type, pairs.first), p.given(type, pairs.second)});
         if (!ir::is_float(dtype)) return;
         const Type some{dtype, {301}};
         add_op(p, "magnitudes", kind,
                {p.given(some, magnitudes(dtype, p.numbers, 301)), p.given(some, magnitudes(dtype, p.numbers, 301))});
       },
       0.1});
  if (has_sizes_case(dtype)) parts.push_back(sizes_part(kind, dtype));
  if (has_large_case(kind, dtype)) parts.push_back(large_part(kind, dtype));
  return parts;
}

}  // namespace

Parts binary_parts(OpKind kind, DType dtype) {
  return two_operand_parts(kind, dtype);
}

Parts compare_parts(OpKind kind, DType dtype) {
  return two_operand_parts(kind, dtype);
}

Parts select_parts(DType dtype) {
  const auto add = [](CaseProgram& p, const std::string& name, Tensor condition, Tensor a, Tensor b) {
    add_op(p, name, OpKind::SELECT, {condition, a, b});
  };
  Parts parts;
  parts.push_back(
      {"shapes", [=](CaseProgram& p) {
         for (const Shape& shape : common_shapes()) {
           add(p, shape.str(), p.random({DType::kBool, shape}), p.random({dtype, shape}), p.random({dtype, shape}));
         }
       }});
  parts.push_back({"forms", [=](CaseProgram& p) {
                     const Fill fill = [&](const Type& type) { return p.random(type); };
                     const Shape shape = {9, 7};
                     for (const Form form : kAllForms) {
                       const Tensor dense = p.random({dtype, shape}), condition = p.random({DType::kBool, shape});
                       add(p, form_name(form) + " condition", in_form(form, {DType::kBool, shape}, fill), dense,
                           p.random({dtype, shape}));
                       add(p, form_name(form) + " branch", condition, in_form(form, {dtype, shape}, fill), dense);
                       add(p, form_name(form) + " other branch", condition, dense, in_form(form, {dtype, shape}, fill));
                     }
                   }});
  parts.push_back({"special", [=](CaseProgram& p) {
                     const Pairs pairs = pairs_of(special_values(dtype));
                     const auto count = static_cast<std::int64_t>(pairs.first.size());
                     add(p, "special", p.random({DType::kBool, {count}}), p.given({dtype, {count}}, pairs.first),
                         p.given({dtype, {count}}, pairs.second));
                   }});
  if (has_sizes_case(dtype)) parts.push_back(sizes_part(OpKind::SELECT, dtype));
  return parts;
}

namespace {

// What rounding and clamping can go wrong on, among the numbers that `from` holds.
std::vector<double> cast_values(DType from) {
  std::vector<double> values = special_values(from);
  if (!ir::is_float(from)) {
    // Halfway between two f32, and on either side of that: 24 bits are kept.
    for (const double x : {16777215.0, 16777216.0, 16777217.0, 16777218.0, 16777219.0, 33554434.0, 33554438.0, 257.0,
                           259.0, 2049.0, 2051.0, 65519.0, 65520.0, 65535.0}) {
      if (from == DType::kI32 || from == DType::kU32) values.push_back(x);
    }
    return values;
  }
  for (const double x : {254.5,
                         255.0,
                         255.5,
                         256.0,
                         2147483520.0,
                         2147483647.0,
                         2147483648.0,
                         -2147483648.0,
                         -2147483904.0,
                         4294967040.0,
                         4294967295.0,
                         4294967296.0,
                         1e10,
                         -1e10,
                         0.9999999,
                         -0.9999999,
                         65504.0,
                         65519.99,
                         65520.0,
                         65536.0,
                         1.0 + 0x1p-11,
                         1.0 + 0x3p-11,
                         1.0 + 0x1p-11 + 0x1p-23,
                         1.0 + 0x3p-11 - 0x1p-23,
                         1.0 + 0x1p-8,
                         1.0 + 0x3p-8,
                         1.0 + 0x1p-8 + 0x1p-23,
                         1.0 + 0x3p-8 - 0x1p-23,
                         0x1p-24,
                         0x1p-25,
                         0x1.000002p-25,
                         0x3p-25,
                         0x1p-14,
                         0x1.ffcp-15,
                         0x1.ffep-15,
                         0x1p-133,
                         0x1p-134,
                         0x1.8p-134,
                         0x1.ffp127,
                         0x1.feffp127}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

Part cast_part(const std::string& name, DType from, const std::vector<DType>& targets) {
  Part part{name,
            [=](CaseProgram& p) {
              const std::vector<double> values = cast_values(from);
              const Tensor special = p.given({from, {static_cast<std::int64_t>(values.size())}}, values);
              const Tensor dense = p.random({from, {9, 7}}, -300.0, 300.0);
              for (const DType to : targets) {
                const auto add = [&](const std::string& form, Tensor x) {
                  p.output(fmt::format("{} to {}", form, ir::dtype_name(to)),
                           p.graph.append(OpKind::CAST, {x}, {}, Type{to, x.shape()}));
                };
                add("special", special);
                add("dense", dense);
                add("transposed", transpose(dense));
                add("broadcast", broadcast_in(slice(dense, 0, 3, 1), {3, 4, 7}, {1, 2}));
                for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{1023}, Shape{kMany}, Shape{1, 2, 1, 3, 2, 1}}) {
                  if (shape.elements() == kMany && !has_sizes_case(from)) continue;
                  add(shape.str(), p.random({from, shape}, -300.0, 300.0));
                }
              }
            },
            0.05};
  part.also = targets;
  return part;
}

}  // namespace

Parts cast_parts(DType dtype) {
  return {cast_part("to_core", dtype, {DType::kF32, DType::kI32, DType::kU32, DType::kU8, DType::kBool}),
          cast_part("to_halves", dtype, {DType::kF16, DType::kBF16}), cast_part("to_f64", dtype, {DType::kF64})};
}

}  // namespace thrt::conformance

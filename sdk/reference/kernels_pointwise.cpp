// One result element from the operands' elements of the same index.
#include "kernel.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace thrt::reference {
namespace {

template <typename Stored, typename Function>
void map(const Call& call, Function&& f) {
  const std::int64_t count = call.out().type.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    elements<Stored>(call.out())[i] = narrow<Stored>(f(widen(elements<Stored>(call.in(0))[i])));
  }
}

template <typename Function>
void map_float(const Call& call, Function&& f) {
  with_float(call.out().type.dtype, [&](auto type) { map<decltype(type)>(call, f); });
}

template <typename Stored, typename Result, typename Function>
void zip(const Call& call, Function&& f) {
  const std::int64_t count = call.out().type.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    elements<Result>(call.out())[i] =
        narrow<Result>(f(widen(elements<Stored>(call.in(0))[i]), widen(elements<Stored>(call.in(1))[i])));
  }
}

// f for floats, g for integers as unsigned numbers: addition, subtraction and multiplication modulo 2^32 are the same for i32.
template <typename Float, typename Unsigned>
void zip_number(const Call& call, Float&& f, Unsigned&& g) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (kIsFloat<Stored>) {
      zip<Stored, Stored>(call, f);
    } else {
      zip<std::uint32_t, std::uint32_t>(call, g);
    }
  });
}

// One f for every number type.
template <typename Function>
void zip_any_number(const Call& call, Function&& f) {
  with_number(call.out().type.dtype, [&](auto type) { zip<decltype(type), decltype(type)>(call, f); });
}

template <typename Function>
void zip_bits(const Call& call, Function&& f) {
  with_bits(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    zip<Stored, Stored>(call, [&](auto x, auto y) { return static_cast<Wide<Stored>>(f(x, y)); });
  });
}

template <typename Number>
bool is_nan(Number x) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(x);
  return false;
}

constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

}  // namespace

// ---------------------------------------------------------------------------------------------------------- one value

template <>
void kernel<OpKind::NEG>(const Call& call) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (kIsFloat<Stored>) {
      map<Stored>(call, [](double x) { return -x; });
    } else {
      map<std::uint32_t>(call, [](std::uint32_t x) { return 0u - x; });
    }
  });
}

template <>
void kernel<OpKind::ABS>(const Call& call) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    if constexpr (kIsFloat<Stored>) {
      map<Stored>(call, [](double x) { return std::fabs(x); });
    } else if constexpr (std::is_same_v<Stored, std::int32_t>) {
      map<Stored>(call, [](std::int32_t x) { return x == kLowest ? x : std::abs(x); });
    } else {
      map<Stored>(call, [](std::uint32_t x) { return x; });
    }
  });
}

template <>
void kernel<OpKind::SIGN>(const Call& call) {
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    using Number = Wide<Stored>;
    map<Stored>(call, [](Number x) -> Number {
      if (x > Number{0}) return Number{1};
      if (x < Number{0}) return static_cast<Number>(-1);
      return x;
    });
  });
}

template <>
void kernel<OpKind::FLOOR>(const Call& call) {
  map_float(call, [](double x) { return std::floor(x); });
}
template <>
void kernel<OpKind::ROUND>(const Call& call) {
  map_float(call, [](double x) { return std::nearbyint(x); });
}
template <>
void kernel<OpKind::SQRT>(const Call& call) {
  map_float(call, [](double x) { return std::sqrt(x); });
}
template <>
void kernel<OpKind::EXP>(const Call& call) {
  map_float(call, [](double x) { return std::exp(x); });
}
template <>
void kernel<OpKind::LOG>(const Call& call) {
  map_float(call, [](double x) { return std::log(x); });
}
template <>
void kernel<OpKind::LOG1P>(const Call& call) {
  map_float(call, [](double x) { return std::log1p(x); });
}
template <>
void kernel<OpKind::SIN>(const Call& call) {
  map_float(call, [](double x) { return std::sin(x); });
}
template <>
void kernel<OpKind::COS>(const Call& call) {
  map_float(call, [](double x) { return std::cos(x); });
}
template <>
void kernel<OpKind::TANH>(const Call& call) {
  map_float(call, [](double x) { return std::tanh(x); });
}
template <>
void kernel<OpKind::SIGMOID>(const Call& call) {
  map_float(call, [](double x) {
    // exp of what is not positive does not overflow.
    const double e = std::exp(-std::fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
  });
}
template <>
void kernel<OpKind::ERF>(const Call& call) {
  map_float(call, [](double x) { return std::erf(x); });
}

template <>
void kernel<OpKind::NOT>(const Call& call) {
  if (call.out().type.dtype == DType::kBool) {
    map<Bool>(call, [](bool x) { return !x; });
  } else {
    map<std::uint32_t>(call, [](std::uint32_t x) { return ~x; });
  }
}

namespace {

template <typename To, typename Number>
To cast_element(Number x) {
  if constexpr (std::is_same_v<To, Bool>) {
    return narrow<Bool>(x != Number{0});  // NaN != 0
  } else if constexpr (kIsFloat<To>) {
    return narrow<To>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<Number, double>) {
    using Integer = Wide<To>;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
    if (x >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
    return static_cast<Integer>(x);  // towards zero
  } else {
    return static_cast<To>(x);  // modulo
  }
}

}  // namespace

template <>
void kernel<OpKind::CAST>(const Call& call) {
  const std::int64_t count = call.out().type.elements();
  with_dtype(call.in(0).type.dtype, [&](auto from) {
    with_dtype(call.out().type.dtype, [&](auto to) {
      for (std::int64_t i = 0; i < count; ++i) {
        elements<decltype(to)>(call.out())[i] =
            cast_element<decltype(to)>(widen(elements<decltype(from)>(call.in(0))[i]));
      }
    });
  });
}

// --------------------------------------------------------------------------------------------------------- two values

template <>
void kernel<OpKind::ADD>(const Call& call) {
  zip_number(
      call, [](double x, double y) { return x + y; }, [](std::uint32_t x, std::uint32_t y) { return x + y; });
}
template <>
void kernel<OpKind::SUB>(const Call& call) {
  zip_number(
      call, [](double x, double y) { return x - y; }, [](std::uint32_t x, std::uint32_t y) { return x - y; });
}
template <>
void kernel<OpKind::MUL>(const Call& call) {
  zip_number(
      call, [](double x, double y) { return x * y; }, [](std::uint32_t x, std::uint32_t y) { return x * y; });
}

template <>
void kernel<OpKind::DIV>(const Call& call) {
  zip_any_number(call, [](auto x, auto y) {
    using Number = decltype(x);
    if constexpr (!std::is_same_v<Number, double>) {
      if (y == 0) return Number{0};
    }
    if constexpr (std::is_same_v<Number, std::int32_t>) {
      if (x == kLowest && y == -1) return x;
    }
    return x / y;
  });
}

template <>
void kernel<OpKind::REM>(const Call& call) {
  zip_any_number(call, [](auto x, auto y) {
    using Number = decltype(x);
    if constexpr (std::is_same_v<Number, double>) {
      return std::fmod(x, y);
    } else {
      if (y == 0) return Number{0};
      if constexpr (std::is_same_v<Number, std::int32_t>) {
        if (y == -1) return 0;
      }
      return x % y;
    }
  });
}

template <>
void kernel<OpKind::POW>(const Call& call) {
  with_float(call.out().type.dtype, [&](auto type) {
    zip<decltype(type), decltype(type)>(call, [](double x, double y) { return std::pow(x, y); });
  });
}

template <>
void kernel<OpKind::MAX>(const Call& call) {
  zip_any_number(call, [](auto x, auto y) { return is_nan(x) || x > y ? x : y; });
}
template <>
void kernel<OpKind::MIN>(const Call& call) {
  zip_any_number(call, [](auto x, auto y) { return is_nan(x) || x < y ? x : y; });
}

template <>
void kernel<OpKind::AND>(const Call& call) {
  zip_bits(call, [](auto x, auto y) { return x & y; });
}
template <>
void kernel<OpKind::OR>(const Call& call) {
  zip_bits(call, [](auto x, auto y) { return x | y; });
}
template <>
void kernel<OpKind::XOR>(const Call& call) {
  zip_bits(call, [](auto x, auto y) { return x ^ y; });
}

template <>
void kernel<OpKind::SHIFT_LEFT>(const Call& call) {
  zip<std::uint32_t, std::uint32_t>(call, [](std::uint32_t x, std::uint32_t y) { return x << (y & 31u); });
}
template <>
void kernel<OpKind::SHIFT_RIGHT>(const Call& call) {
  if (call.out().type.dtype == DType::kI32) {
    zip<std::int32_t, std::int32_t>(call, [](std::int32_t x, std::int32_t y) { return x >> (y & 31); });
  } else {
    zip<std::uint32_t, std::uint32_t>(call, [](std::uint32_t x, std::uint32_t y) { return x >> (y & 31u); });
  }
}

// ----------------------------------------------------------------------------------------------------- compare, select

template <>
void kernel<OpKind::EQ>(const Call& call) {
  with_dtype(call.in(0).type.dtype,
             [&](auto type) { zip<decltype(type), Bool>(call, [](auto x, auto y) { return x == y; }); });
}
template <>
void kernel<OpKind::LT>(const Call& call) {
  with_number(call.in(0).type.dtype,
              [&](auto type) { zip<decltype(type), Bool>(call, [](auto x, auto y) { return x < y; }); });
}
template <>
void kernel<OpKind::LE>(const Call& call) {
  with_number(call.in(0).type.dtype,
              [&](auto type) { zip<decltype(type), Bool>(call, [](auto x, auto y) { return x <= y; }); });
}

template <>
void kernel<OpKind::SELECT>(const Call& call) {
  const std::int64_t count = call.out().type.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const bool first = widen(elements<Bool>(call.in(0))[i]);
    copy_element(call.out(), i, call.in(first ? 1 : 2), i);
  }
}

}  // namespace thrt::reference

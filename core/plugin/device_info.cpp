#include <thrt/abi.h>

#include <array>
#include <thrt/plugin/device_info.hpp>

namespace thrt {
namespace {

template <size_t N>
std::vector<std::string_view> names_in(uint32_t set, const std::array<std::string_view, N>& names) {
  std::vector<std::string_view> result;
  for (uint32_t bit = 0; bit < N; ++bit) {
    if ((set >> bit & 1u) != 0 && !names[bit].empty()) result.push_back(names[bit]);
  }
  return result;
}

}  // namespace

std::string_view device_kind_name(uint32_t kind) {
  switch (kind) {
    case THRT_DEVICE_CPU:
      return "cpu";
    case THRT_DEVICE_INTEGRATED:
      return "integrated gpu";
    case THRT_DEVICE_DISCRETE:
      return "discrete gpu";
    case THRT_DEVICE_SOFTWARE:
      return "software";
    default:
      return "unknown";
  }
}

std::vector<std::string_view> dtype_names(uint32_t set) {
  static constexpr std::array<std::string_view, 9> kNames = {"",    "f32", "f16",  "bf16", "i32",
                                                             "u32", "u8",  "bool", "f64"};
  static_assert(kNames.size() == THRT_DTYPE_F64 + 1);
  return names_in(set, kNames);
}

std::vector<std::string_view> precision_names(uint32_t set) {
  static constexpr std::array<std::string_view, 4> kNames = {"f32", "tf32", "bf16", "f16"};
  static_assert(kNames.size() == THRT_PRECISION_F16 + 1);
  return names_in(set, kNames);
}

}  // namespace thrt

// Sized structs across the ABI: how each side copes with the other's being older or newer (abi.h, "Structs").
#pragma once

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace thrt::sdk {

// No struct of this ABI comes near; a larger size is a missing initialisation, not a newer version.
inline constexpr std::uint32_t kMostStructBytes = 1u << 16;

template <typename Struct>
std::uint32_t checked_struct_size(const Struct* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  if (given == nullptr) throw Error(THRT_INVALID_ARGUMENT, std::string(name) + " is null");
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < 8 || size > kMostStructBytes) {
    throw Error(THRT_INVALID_ARGUMENT,
                std::string(name) + ".struct_size is " + std::to_string(size) + "; set it to sizeof(" + name + ")");
  }
  return size;
}

// A copy of the caller's struct as this side knows it: the part an older caller lacks is zero; a part that only a newer
// caller knows must be zero, since ignoring it would do something else than was asked for.
template <typename Struct>
Struct read_input(const Struct* given, const char* name) {
  const std::uint32_t size = checked_struct_size(given, name);
  Struct known{};
  std::memcpy(&known, given, std::min<std::size_t>(size, sizeof known));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t at = sizeof known; at < size; ++at) {
    if (bytes[at] != 0) {
      throw Error(THRT_INCOMPATIBLE, std::string(name) + " sets a field at byte " + std::to_string(at) +
                                         " that this backend (ABI " + std::to_string(THRT_ABI_MAJOR) + "." +
                                         std::to_string(THRT_ABI_MINOR) + ") does not know; upgrade the backend");
    }
  }
  known.struct_size = size;
  return known;
}

// Writes as much as the caller has room for and leaves its struct_size alone.
template <typename Struct>
void write_output(Struct* given, const Struct& value, const char* name) {
  const std::uint32_t size = checked_struct_size(given, name);
  constexpr std::size_t kFirst = sizeof(std::uint32_t);
  std::memcpy(reinterpret_cast<unsigned char*>(given) + kFirst, reinterpret_cast<const unsigned char*>(&value) + kFirst,
              std::min<std::size_t>(size, sizeof value) - kFirst);
}

}  // namespace thrt::sdk

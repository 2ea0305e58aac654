// Little-endian bytes of plain numbers, for states that go into a checkpoint.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "thrt/error.hpp"

namespace thrt::rl {

class StateWriter {
 public:
  void u64(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>((value >> (8 * byte)) & 0xff));
  }
  void f64(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    u64(bits);
  }
  void f64s(std::span<const double> values) {
    for (double value : values) f64(value);
  }
  void text(std::string_view value) {
    u64(value.size());
    bytes_.append(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what StateWriter wrote; throws thrt::Error at the end of the bytes.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t u64() {
    const std::string_view raw = take(8);
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[byte])) << (8 * byte);
    }
    return value;
  }
  double f64() {
    const std::uint64_t bits = u64();
    double value = 0.0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  void f64s(std::span<double> values) {
    for (double& value : values) value = f64();
  }
  std::string text() { return std::string(take(u64())); }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      throw Error("the environment state is truncated", "its bytes end in the middle of a value",
                  "use an older checkpoint of this run");
    }
    const std::string_view head = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(static_cast<std::size_t>(count));
    return head;
  }

  std::string_view rest_;
};

}  // namespace thrt::rl

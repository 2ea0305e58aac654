// The state of the process that abi.h forbids a plugin to change: floating-point environment, locale, signal handlers.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <string>

namespace thrt {

// Of the calling thread. A plugin linked with -ffast-math turns denormals off for its host when it is loaded.
class FloatingPointState {
 public:
  static FloatingPointState now();
  void restore() const;
  // "" when `later` equals this, else what differs: "flush-to-zero".
  std::string difference(const FloatingPointState& later) const;

 private:
  uint64_t control_ = 0;  // x86: MXCSR without its status bits; aarch64: FPCR; else 0
  int rounding_ = 0;      // std::fegetround
};

class ProcessState {
 public:
  static ProcessState now();
  // Puts the floating-point state back when it differs and says what a plugin changed between this and now:
  // "the floating-point environment (flush-to-zero)", "the locale", "the handler of signal 11". "" when nothing.
  std::string restore_and_compare() const;

 private:
  FloatingPointState floating_point_;
  std::string locale_;
  std::array<struct sigaction, 65> handlers_{};  // by signal number, 1 to 64
};

}  // namespace thrt

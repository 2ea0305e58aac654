#include "plugin/process_state.hpp"

#include <fmt/format.h>

#include <cfenv>
#include <clocale>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace thrt {
namespace {

// Intel SDM volume 1, 10.2.3: MXCSR bit 15 flush-to-zero, 13-14 rounding, 7-12 exception masks, 6 denormals-are-zero,
// 0-5 status, which any arithmetic sets.
// Arm ARM, FPCR: bit 24 flush-to-zero, 22-23 rounding.
uint64_t read_control() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu;
#elif defined(__aarch64__)
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return 0;
#endif
}

void write_control([[maybe_unused]] uint64_t control) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

std::string changed_bits(uint64_t bits) {
#if defined(__x86_64__)
  if ((bits & 0x8000u) != 0) return "flush-to-zero";
  if ((bits & 0x0040u) != 0) return "denormals-are-zero";
  if ((bits & 0x6000u) != 0) return "rounding mode";
  return "exception masks";
#elif defined(__aarch64__)
  return (bits & (1u << 24)) != 0 ? "flush-to-zero" : (bits & (3u << 22)) != 0 ? "rounding mode" : "FPCR";
#else
  return fmt::format("control word, bits 0x{:x}", bits);
#endif
}

std::string current_locale() {
  const char* name = std::setlocale(LC_ALL, nullptr);
  return name == nullptr ? "" : name;
}

std::array<struct sigaction, 65> current_handlers() {
  std::array<struct sigaction, 65> handlers{};
  for (size_t number = 1; number < handlers.size(); ++number) {
    // Fails for SIGRTMIN's reserved predecessors; their entries stay zero.
    sigaction(static_cast<int>(number), nullptr, &handlers[number]);
  }
  return handlers;
}

}  // namespace

FloatingPointState FloatingPointState::now() {
  FloatingPointState state;
  state.control_ = read_control();
  state.rounding_ = std::fegetround();
  return state;
}

void FloatingPointState::restore() const {
  std::fesetround(rounding_);
  write_control(control_);
}

std::string FloatingPointState::difference(const FloatingPointState& later) const {
  if (control_ != later.control_) return changed_bits(control_ ^ later.control_);
  return rounding_ != later.rounding_ ? "rounding mode" : "";
}

ProcessState ProcessState::now() {
  ProcessState state;
  state.floating_point_ = FloatingPointState::now();
  state.locale_ = current_locale();
  state.handlers_ = current_handlers();
  return state;
}

std::string ProcessState::restore_and_compare() const {
  const std::string bits = floating_point_.difference(FloatingPointState::now());
  if (!bits.empty()) {
    floating_point_.restore();
    return fmt::format("the floating-point environment ({})", bits);
  }
  if (current_locale() != locale_) return fmt::format("the locale ('{}' to '{}')", locale_, current_locale());
  const auto handlers = current_handlers();
  for (size_t number = 1; number < handlers.size(); ++number) {
    // sa_handler and sa_sigaction share their place: comparing one compares both.
    if (handlers[number].sa_handler != handlers_[number].sa_handler) {
      return fmt::format("the handler of signal {}", number);
    }
  }
  return {};
}

}  // namespace thrt

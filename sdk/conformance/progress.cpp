#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace thrt::conformance {
namespace {

constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kPlainPause = std::chrono::seconds(5);

bool rewrites_lines(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(out)) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

// A line that is longer would wrap and could not be rewritten.
std::size_t columns(std::FILE* out) {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

}  // namespace

std::string progress_text(std::size_t done, std::size_t total, double seconds) {
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  const auto left = static_cast<long>(std::ceil(static_cast<double>(total - done) / std::max(rate, 1e-3)));
  return fmt::format("case {}/{} ({} %)  {:.0f} cases/s  left {}:{:02}", done, total,
                     total > 0 ? 100 * done / total : 0, rate, left / 60, left % 60);
}

ProgressLine::ProgressLine(std::FILE* out, std::size_t total)
    : out_(out), total_(total), terminal_(rewrites_lines(out)) {}

ProgressLine::~ProgressLine() {
  if (!line_.empty()) std::fputs(("\r" + std::string(line_.size(), ' ') + "\r").c_str(), out_);
  std::fflush(out_);
}

void ProgressLine::update(std::size_t done, Clock::time_point now) {
  if (now - last_shown_ < (terminal_ ? Clock::duration(kTerminalPause) : Clock::duration(kPlainPause))) return;
  last_shown_ = now;
  show(progress_text(done, total_, std::chrono::duration<double>(now - start_).count()));
}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) {
    std::fputs((text + "\n").c_str(), out_);
  } else {
    const std::string fitting = text.substr(0, columns(out_) - 1);
    const std::size_t blanks = line_.size() > fitting.size() ? line_.size() - fitting.size() : 0;
    std::fputs(("\r" + fitting + std::string(blanks, ' ')).c_str(), out_);
    line_ = fitting;
  }
  std::fflush(out_);
}

}  // namespace thrt::conformance

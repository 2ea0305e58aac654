#include "progress.hpp"

#include "report.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace thrt::cli {
namespace {

constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kPlainPause = std::chrono::seconds(5);

// Columns of the terminal; a line that is longer would wrap and could not be rewritten.
std::size_t columns(std::FILE* out) {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

double done(const rl::TrainProgress& progress) {
  return progress.total_steps > 0 ? static_cast<double>(progress.step) / static_cast<double>(progress.total_steps)
                                  : 0.0;
}

}  // namespace

std::string progress_text(const rl::TrainProgress& progress) {
  return fmt::format("step {}/{} ({:.0f} %)  return {}  {} steps/s  left {}", grouped(progress.step),
                     grouped(progress.total_steps), 100.0 * done(progress), mean_text(progress.mean_return),
                     short_number(progress.steps_per_second), clock_text(progress.remaining));
}

std::string evaluation_text(const rl::Evaluation& evaluation) {
  return fmt::format("evaluation at step {}: {:.1f} +- {:.1f} ({:.2f} s of training)", grouped(evaluation.step),
                     evaluation.mean, evaluation.standard_deviation, evaluation.seconds);
}

void ProgressPrinter::update(const rl::TrainProgress& progress, Clock::time_point now) {
  const int tenth = static_cast<int>(10.0 * done(progress));
  const bool last = progress.step >= progress.total_steps;
  const bool due = terminal_ ? !any_shown_ || now - last_shown_ >= kTerminalPause
                             : tenth > last_tenth_ || now - last_shown_ >= kPlainPause;
  if (!due && !last) return;
  show(progress_text(progress));
  any_shown_ = true;
  last_shown_ = now;
  last_tenth_ = tenth;
}

void ProgressPrinter::show(const std::string& text) {
  if (!terminal_) {
    put(text + "\n");
  } else {
    const std::string fitting = text.substr(0, columns(out_) - 1);
    // Blanks over the rest of a longer line before: works on every terminal.
    const std::size_t blanks = line_.size() > fitting.size() ? line_.size() - fitting.size() : 0;
    put("\r" + fitting + std::string(blanks, ' '));
    line_ = fitting;
  }
}

// A reader that went away or a full disk is no reason to end a training, so failures are let pass.
void ProgressPrinter::put(const std::string& text) {
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
}

void ProgressPrinter::note(const std::string& line) {
  if (!line_.empty()) put("\r" + std::string(line_.size(), ' ') + "\r");
  put(line + "\n" + line_);
}

void ProgressPrinter::finish() {
  if (!line_.empty()) put("\n");
  line_.clear();
}

bool is_terminal(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(out)) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace thrt::cli

#include "worker.hpp"

#include <thrt/error.hpp>
#include <thrt/plugin/kernel_cache.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>

namespace thrt::conformance {
namespace {

// Standard output of the worker: memory, so that a plugin that prints is seen and the report stays readable.
class CapturedOutput {
 public:
  CapturedOutput() : memory_(memfd_create("standard output", MFD_CLOEXEC)) {
    if (memory_ >= 0) dup2(memory_, STDOUT_FILENO);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput() { close(memory_); }

  // What came since the last call, its first line alone.
  std::string take() const {
    std::fflush(stdout);
    struct stat status {};
    if (fstat(memory_, &status) != 0 || status.st_size == 0) return {};
    std::array<char, 120> start{};
    const ssize_t count = pread(memory_, start.data(), start.size(), 0);
    [[maybe_unused]] const int emptied = ftruncate(memory_, 0);
    lseek(memory_, 0, SEEK_SET);
    const std::string text(start.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return text.substr(0, text.find('\n'));
  }

 private:
  int memory_;
};

void prepare_process() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A crash must be seen as the signal it is. Ctrl-C reaches every process of the terminal; the parent answers it.
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGTERM, SIGPIPE}) {
    std::signal(number, SIG_DFL);
  }
  std::signal(SIGINT, SIG_IGN);
}

void send(int channel, const nlohmann::json& record) {
  // A plugin's words need not be UTF-8, which JSON must be.
  const std::string text = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(text.size());
  if (!send_all(channel, &length, sizeof length) || !send_all(channel, text.data(), text.size())) _exit(1);
}

Outcome outcome_of(const Case& tried, const Bench& bench) {
  try {
    return tried.run(bench);
  } catch (const Error& error) {
    return {Outcome::Kind::kFailed,
            error.why().empty() ? error.what() : fmt::format("{}: {}", error.what(), error.why())};
  } catch (const std::bad_alloc&) {
    return {Outcome::Kind::kFailed, "the host ran out of memory"};
  } catch (const std::exception& error) {
    return {Outcome::Kind::kFailed, error.what()};
  } catch (...) {
    return {Outcome::Kind::kFailed, "something that is no std::exception was thrown"};
  }
}

void add_failure(Outcome& outcome, const std::string& detail) {
  const bool failed_before = outcome.kind == Outcome::Kind::kFailed;
  outcome.detail = failed_before ? outcome.detail + "; " + detail : detail;
  outcome.kind = Outcome::Kind::kFailed;
}

// The bench, or the end of the process with the reason told.
Bench load(const RunnerOptions& options, int channel) {
  try {
    LoadOptions validated;
    validated.validate = true;
    validated.cache_dir = kernel_cache_of_this_process(read_manifest(options.plugin).id);
    Bench bench;
    bench.plugin = std::make_shared<LoadedPlugin>(options.plugin, validated);
    bench.reference = std::make_shared<LoadedPlugin>(options.reference);
    bench.device_index = options.device_index;
    return bench;
  } catch (const Error& error) {
    send(channel, {{"refused", error.what()}, {"why", error.why()}, {"next", error.next()}});
  } catch (const std::exception& error) {
    send(channel, {{"refused", error.what()}, {"why", ""}, {"next", ""}});
  }
  _exit(0);
}

}  // namespace

bool receive_all(int channel, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = read(channel, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_all(int channel, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    // Without the signal: the other side may be a process that crashed.
    const ssize_t put = ::send(channel, at, count, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    count -= static_cast<std::size_t>(put);
  }
  return true;
}

void run_worker(const std::vector<Case>& cases, const RunnerOptions& options, int channel) {
  prepare_process();
  const CapturedOutput output;
  Bench bench = load(options, channel);
  send(channel, {{"ready", true}});
  std::uint32_t index = 0;
  std::size_t violations_before = bench.plugin->violations().size();
  while (receive_all(channel, &index, sizeof index)) {
    Outcome outcome = outcome_of(cases[index], bench);
    const std::vector<std::string> violations = bench.plugin->violations();
    for (std::size_t i = violations_before; i < violations.size(); ++i) {
      add_failure(outcome, "breaks a rule of abi.h: " + violations[i]);
    }
    // The layer answers a later call with a rule that a call without an error broke: no case may get another's.
    const bool spoiled = violations.size() > violations_before;
    violations_before = violations.size();
    const std::string printed = output.take();
    if (!printed.empty()) add_failure(outcome, fmt::format("prints to standard output: '{}'", printed));
    send(channel, {{"kind", static_cast<int>(outcome.kind)}, {"detail", outcome.detail}, {"last", spoiled}});
  }
  bench = {};  // closes both
  _exit(0);
}

}  // namespace thrt::conformance

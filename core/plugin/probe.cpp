#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thrt/error.hpp>
#include <thrt/plugin/probe.hpp>
#include <utility>

extern char** environ;

namespace thrt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kReportDescriptor = 3;            // in the child
constexpr size_t kMaxReport = 1 << 20;          // bytes; 64 devices need about 64 KiB
constexpr size_t kMaxPrinted = 2000;            // bytes kept of what the child prints; the rest is read and dropped
constexpr std::chrono::milliseconds kTick{20};  // how late the end of a child that keeps its pipes open may be noticed

Error cannot_start(const std::string& step, int number) {
  return Error("cannot start a process to probe plugins in", fmt::format("{}: {}", step, std::strerror(number)));
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }
  int get() const { return number_; }

 private:
  int number_;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw cannot_start("pipe", errno);
  Descriptor read_end(ends[0]);
  const Descriptor low(ends[1]);
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  // Above the numbers the child's own descriptors get, or placing one would close the next.
  Descriptor write_end(fcntl(low.get(), F_DUPFD_CLOEXEC, kReportDescriptor + 1));
  if (write_end.get() < 0) throw cannot_start("fcntl", errno);
  return {std::move(read_end), std::move(write_end)};
}

// One stream of the child, of which the first `limit` bytes are kept.
class Stream {
 public:
  Stream(Descriptor end, size_t limit) : end_(std::move(end)), limit_(limit) {}

  int descriptor() const { return end_.get(); }  // -1 after its end
  const std::string& text() const { return text_; }

  // Reads once, so that a child which writes without end cannot keep the caller here. False when nothing was there.
  bool read_some() {
    if (end_.get() < 0) return false;
    char chunk[65536];
    const ssize_t got = read(end_.get(), chunk, sizeof chunk);
    if (got > 0) text_.append(chunk, std::min(static_cast<size_t>(got), limit_ - text_.size()));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) end_.reset();
    return got > 0;
  }

 private:
  Descriptor end_;
  size_t limit_;
  std::string text_;
};

struct Child {
  pid_t pid = -1;
  Stream report;
  Stream out;
  Stream err;
};

class SpawnSettings {
 public:
  SpawnSettings(const Pipe& report, const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out.write_end.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err.write_end.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, report.write_end.get(), kReportDescriptor);
    posix_spawnattr_init(&attributes_);
    // A group of its own, so that what the plugin starts ends with it; no blocked or ignored signals from the host.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Child start(const std::filesystem::path& executable, const std::filesystem::path& plugin_file) {
  Pipe report = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  const SpawnSettings settings(report, out, err);
  std::string arguments[] = {executable.string(), "__probe", plugin_file.string(), std::to_string(kReportDescriptor)};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, executable.c_str(), settings.actions(), settings.attributes(), argv, environ);
  if (failed != 0) throw cannot_start(executable.string(), failed);
  return {pid, Stream(std::move(report.read_end), kMaxReport), Stream(std::move(out.read_end), kMaxPrinted),
          Stream(std::move(err.read_end), kMaxPrinted)};
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  // WNOWAIT: the process stays a zombie, so its number, which names the group, is not given to another yet.
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

// Reads until the child ends or the deadline passes. Then nothing of its group is left running. The wait status, or -1
// when it hung.
int run_to_end(Child& child, Clock::time_point deadline) {
  bool ended = false;
  while (!(ended = has_ended(child.pid)) && Clock::now() < deadline) {
    pollfd descriptors[] = {{child.report.descriptor(), POLLIN, 0},
                            {child.out.descriptor(), POLLIN, 0},
                            {child.err.descriptor(), POLLIN, 0}};
    // poll ignores negative descriptors, so with all streams at their end this sleeps.
    poll(descriptors, std::size(descriptors), static_cast<int>(kTick.count()));
    for (Stream* stream : {&child.report, &child.out, &child.err}) stream->read_some();
  }
  kill(-child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  for (Stream* stream : {&child.report, &child.out, &child.err}) {
    // What is still in the pipe, which holds less than this; a process that escaped the group may go on writing.
    for (int reads = 0; reads < 32 && stream->read_some(); ++reads) {
    }
  }
  return ended ? status : -1;
}

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGABRT:
      return "SIGABRT";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGBUS:
      return "SIGBUS";
    case SIGKILL:
      return "SIGKILL";
    case SIGTERM:
      return "SIGTERM";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS";
    default:
      return fmt::format("signal {}", number);
  }
}

// How the child ended, when that alone makes the plugin unusable; "" when it ended well.
std::string ending(int status, const std::string& stage, std::chrono::milliseconds timeout, bool answered) {
  if (status == -1) return fmt::format("hung {:g} s in {}", static_cast<double>(timeout.count()) / 1000.0, stage);
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* how = number == SIGABRT ? "aborted" : number == SIGKILL || number == SIGTERM ? "was killed" : "crashed";
    return fmt::format("{} ({}) during {}", how, signal_name(number), stage);
  }
  if (WEXITSTATUS(status) != 0) return fmt::format("exited with {} during {}", WEXITSTATUS(status), stage);
  return answered ? "" : fmt::format("exited with 0 during {} without an answer", stage);
}

DeviceInfo device_of(const nlohmann::json& json) {
  DeviceInfo device;
  json.at("index").get_to(device.index);
  json.at("kind").get_to(device.kind);
  json.at("available").get_to(device.available);
  json.at("compute_units").get_to(device.compute_units);
  json.at("memory_total").get_to(device.memory_total);
  json.at("memory_free").get_to(device.memory_free);
  json.at("max_buffer_bytes").get_to(device.max_buffer_bytes);
  json.at("storage_dtypes").get_to(device.storage_dtypes);
  json.at("precisions").get_to(device.precisions);
  json.at("subgroup_size").get_to(device.subgroup_size);
  json.at("name").get_to(device.name);
  json.at("driver").get_to(device.driver);
  json.at("architecture").get_to(device.architecture);
  json.at("unavailable_reason").get_to(device.unavailable_reason);
  return device;
}

// The lines of probe_main: the last stage, and the verdict if there is one. False for a line that is none of these.
bool read_lines(const std::string& text, std::string& stage, std::optional<nlohmann::json>& verdict) {
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    auto line = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                      text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (!line.is_object()) return false;
    if (line.contains("stage")) {
      if (!line["stage"].is_string()) return false;
      line["stage"].get_to(stage);
    } else {
      verdict = std::move(line);
    }
  }
  return begin == text.size();
}

// The first line, for a message of one line.
std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), size_t{120}));
}

}  // namespace

std::filesystem::path own_executable() {
  const std::filesystem::path link = "/proc/self/exe";
  std::error_code failure;
  std::filesystem::path target = std::filesystem::read_symlink(link, failure);
  // A file that was replaced while it runs is "NAME (deleted)" here.
  return !failure && std::filesystem::exists(target, failure) ? target : link;
}

ProbeReport Prober::probe(const std::filesystem::path& plugin_file) const {
  Child child = start(executable_, plugin_file);
  const int status = run_to_end(child, Clock::now() + timeout_);

  ProbeReport report;
  report.printed = child.err.text();
  std::string stage = "start";
  std::optional<nlohmann::json> verdict;
  const bool readable = read_lines(child.report.text(), stage, verdict);
  report.reason = ending(status, stage, timeout_, verdict.has_value());
  if (!report.reason.empty()) return report;
  try {
    if (!readable) throw Error("the probe's answer is damaged");
    if (!verdict->at("usable").get<bool>()) {
      verdict->at("reason").get_to(report.reason);
      verdict->at("next").get_to(report.next);
      return report;
    }
    for (const nlohmann::json& device : verdict->at("devices")) report.devices.push_back(device_of(device));
  } catch (const std::exception& error) {
    report.reason = fmt::format("the plugin disturbed the probe's answer: {}", error.what());
    return report;
  }
  // stdout belongs to the host: `--json` prints one object there.
  if (!child.out.text().empty()) {
    report.reason = fmt::format("prints to standard output: '{}'", first_line(child.out.text()));
    return report;
  }
  report.usable = true;
  return report;
}

}  // namespace thrt

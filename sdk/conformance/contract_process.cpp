// Threads, and the process that a plugin is a guest in.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace thrt::conformance {
namespace {

// Runs `body` on a thread of its own, waits for it, and throws here what it threw there.
void on_another_thread(const std::function<void()>& body) {
  std::exception_ptr thrown;
  std::thread thread([&] {
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

// Nothing has thread affinity: every call of a context from another thread, one after the other.
void calls_from_changing_threads(const Bench& bench) {
  constexpr std::size_t kCount = 1000;
  std::optional<RawHost> host;
  std::optional<RawContext> context;
  RawBinding bound;
  std::vector<float> x(kCount), y;
  for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  const Program program = line_program(kCount);
  on_another_thread([&] { host.emplace(bench); });
  on_another_thread([&] { context.emplace(host->api(), host->plugin(), host->device()); });
  for (int round = 0; round < 3; ++round) {
    on_another_thread([&] { bound = context->prepare(program); });
    on_another_thread([&] { context->write(bound.buffers[0], x); });
    thrt_ticket ticket = 0;
    on_another_thread([&] { ticket = context->enqueue(bound.binding, 3); });
    on_another_thread([&] { context->wait(ticket); });
    on_another_thread([&] { y = context->read(bound.buffers[1], kCount); });
    for (std::size_t i = 0; i < kCount; ++i) require(y[i] == 2.0f * x[i] + 1.0f, "2 x + 1 at {} gives {}", x[i], y[i]);
    on_another_thread([&] { context->destroy(bound); });
  }
  on_another_thread([&] { context.reset(); });
  on_another_thread([&] { host.reset(); });
}

void work_on(const RawContext& context, float first) {
  constexpr std::size_t kCount = 5003;
  const Program program = line_program(kCount);
  for (int round = 0; round < 20; ++round) {
    const RawBinding bound = context.prepare(program);
    std::vector<float> x(kCount, first + static_cast<float>(round));
    context.write(bound.buffers[0], x);
    context.wait(context.enqueue(bound.binding));
    for (const float y : context.read(bound.buffers[1], kCount)) {
      require(y == 2.0f * x[0] + 1.0f, "with another context at work, 2 x + 1 at {} gives {}", x[0], y);
    }
    context.destroy(bound);
  }
}

// "Calls on two contexts may run at the same time."
void two_contexts_at_once(const Bench& bench) {
  const RawHost host(bench);
  const RawContext ours = host.context();
  const RawContext theirs = host.context();
  std::exception_ptr thrown;
  std::thread other([&] {
    try {
      work_on(theirs, 1000.0f);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    work_on(ours, 0.0f);
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (thrown) std::rethrow_exception(thrown);
}

// y after many ops that each keep a value of their own: 8 (x / 2 + 1) - 8 = 4 x, three times over.
Program long_program(std::int64_t n) {
  Graph graph("long");
  Tensor value = graph.input("x", {DType::kF32, {n}});
  for (int i = 0; i < 3; ++i) {
    const Tensor half = value * 0.5, more = half + 1.0;
    value = more * 8.0 - 8.0 + (half - half);
  }
  graph.output("y", value);
  return lower(graph);
}

// Two bindings of one executable, queued in turn and waited for once: neither sees the other's values.
void bindings_in_turn(const Bench& bench) {
  constexpr std::size_t kCount = 5003;
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = long_program(kCount);
  thrt_executable* executable = context.compile(*program.abi());
  std::array<RawBinding, 2> bound;
  for (std::size_t b = 0; b < bound.size(); ++b) {
    bound[b].buffers = {context.buffer(4 * kCount), context.buffer(4 * kCount)};
    const thrt_slot_buffer slots[] = {{bound[b].buffers[0], 0}, {bound[b].buffers[1], 0}};
    bound[b].binding = context.bind(executable, slots);
    context.write(bound[b].buffers[0], std::vector<float>(kCount, static_cast<float>(b + 1)));
  }
  thrt_ticket last = 0;
  for (int i = 0; i < 20; ++i) {
    for (const RawBinding& one : bound) last = context.enqueue(one.binding, 1 + static_cast<std::uint32_t>(i % 3));
  }
  context.wait(last);
  for (std::size_t b = 0; b < bound.size(); ++b) {
    for (const float y : context.read(bound[b].buffers[1], kCount)) {
      require(y == 64.0f * static_cast<float>(b + 1), "two bindings in turn: 64 times {} gives {}", b + 1, y);
    }
    context.api().binding_destroy(context.handle(), bound[b].binding);
    for (thrt_buffer* one : bound[b].buffers) context.api().buffer_destroy(context.handle(), one);
  }
  context.api().executable_destroy(context.handle(), executable);
}

// Long runs of two contexts from two threads, which overlap in time wherever a run takes any.
void runs_of_two_contexts_overlap(const Bench& bench) {
  constexpr std::size_t kCount = 1 << 16;
  const RawHost host(bench);
  const Program program = long_program(kCount);
  const std::array<std::unique_ptr<RawContext>, 2> contexts = {
      std::make_unique<RawContext>(host.api(), host.plugin(), host.device()),
      std::make_unique<RawContext>(host.api(), host.plugin(), host.device())};
  std::atomic<int> ready{0};
  const auto work = [&](std::size_t which) {
    const RawContext& context = *contexts[which];
    const RawBinding bound = context.prepare(program);
    const float x = static_cast<float>(which + 1);
    context.write(bound.buffers[0], std::vector<float>(kCount, x));
    ++ready;
    for (int spin = 0; ready < 2 && spin < 1000; ++spin) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int round = 0; round < 20; ++round) {
      context.wait(context.enqueue(bound.binding, 4));
      for (const float y : context.read(bound.buffers[1], kCount)) {
        require(y == 64.0f * x, "beside a run of another context, 64 times {} gives {}", x, y);
      }
    }
    context.destroy(bound);
  };
  std::exception_ptr thrown;
  std::thread other([&] {
    try {
      work(1);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    work(0);
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (thrown) std::rethrow_exception(thrown);
}

// wait is [any]: it may be in progress while [context] calls run.
void wait_beside_other_calls(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  std::atomic<thrt_ticket> newest{0};
  std::atomic<bool> done{false};
  std::exception_ptr thrown;
  std::thread waiter([&] {
    try {
      while (!done) {
        Answer answer;
        answer.require_ok(context.api().wait(context.handle(), newest, UINT64_MAX, answer.slot()),
                          "wait beside other calls");
      }
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    constexpr std::size_t kCount = 5003;
    const RawBinding bound = context.prepare(line_program(kCount));
    std::vector<float> x(kCount, 3.0f);
    for (int round = 0; round < 50; ++round) {
      newest = context.upload(bound.buffers[0], 0, std::as_bytes(std::span(x)));
      newest = context.enqueue(bound.binding, 4);
      require(context.stats().buffers == 2, "stats beside a wait count {} buffers", context.stats().buffers);
    }
    const std::vector<float> y = context.read(bound.buffers[1], kCount);
    require(y.back() == 7.0f, "2 * 3 + 1 beside a wait gives {}", y.back());
    done = true;
    waiter.join();
    context.destroy(bound);
  } catch (...) {
    done = true;
    if (waiter.joinable()) waiter.join();
    throw;
  }
  if (thrown) std::rethrow_exception(thrown);
}

// ---------------------------------------------------------------------------------------------------------------- conduct

// What abi.h forbids a plugin to change, and what else belongs to the process and its thread alone.
struct ProcessState {
  std::string locale;
  int rounding = 0;
  unsigned control = 0;  // of the floating-point unit, without its status
  std::array<void (*)(int), 65> handlers{};
  std::array<bool, 65> blocked{};
  std::string folder;
  mode_t file_mode = 0;
  std::vector<std::string> environment;

  static ProcessState now() {
    ProcessState state;
    const char* name = std::setlocale(LC_ALL, nullptr);
    state.locale = name != nullptr ? name : "";
    state.rounding = std::fegetround();
#if defined(__x86_64__)
    state.control = _mm_getcsr() & ~0x3Fu;  // Intel SDM volume 1, 10.2.3: bits 0 to 5 are what happened so far
#endif
    for (std::size_t number = 1; number < state.handlers.size(); ++number) {
      struct sigaction action {};
      if (sigaction(static_cast<int>(number), nullptr, &action) == 0) state.handlers[number] = action.sa_handler;
    }
    sigset_t mask;
    sigemptyset(&mask);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (std::size_t number = 1; number < state.blocked.size(); ++number) {
      state.blocked[number] = sigismember(&mask, static_cast<int>(number)) == 1;
    }
    std::error_code failure;
    state.folder = std::filesystem::current_path(failure).string();
    state.file_mode = umask(0);
    umask(state.file_mode);
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      state.environment.emplace_back(*variable);
    }
    std::sort(state.environment.begin(), state.environment.end());
    return state;
  }
};

void require_unchanged(const ProcessState& before, const char* when) {
  const ProcessState after = ProcessState::now();
  require(after.locale == before.locale, "{} changes the locale from {} to {}", when, before.locale, after.locale);
  require(after.rounding == before.rounding && after.control == before.control,
          "{} changes the floating-point environment", when);
  for (std::size_t number = 1; number < before.handlers.size(); ++number) {
    require(after.handlers[number] == before.handlers[number], "{} changes the handler of signal {}", when, number);
    require(after.blocked[number] == before.blocked[number], "{} changes whether signal {} is blocked", when, number);
  }
  require(after.folder == before.folder, "{} changes the working folder from {} to {}", when, before.folder,
          after.folder);
  require(after.file_mode == before.file_mode, "{} changes the umask from {:o} to {:o}", when, before.file_mode,
          after.file_mode);
  std::vector<std::string> changed;
  std::set_symmetric_difference(before.environment.begin(), before.environment.end(), after.environment.begin(),
                                after.environment.end(), std::back_inserter(changed));
  require(changed.empty(), "{} changes the environment: {}", when, changed.empty() ? "" : changed.front());
}

// A state that no plugin would set, until it ends: a plugin that was opened before has done to the process what it does.
class UnusualState {
 public:
  UnusualState() : folder_(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), file_mode_(umask(0137)) {
    [[maybe_unused]] const int moved = chdir("/proc");
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mask, &mask_);
  }
  ~UnusualState() {
    [[maybe_unused]] const int moved = fchdir(folder_);
    close(folder_);
    umask(file_mode_);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  UnusualState(const UnusualState&) = delete;
  UnusualState& operator=(const UnusualState&) = delete;

 private:
  int folder_;
  mode_t file_mode_;
  sigset_t mask_{};
};

void process_state_is_left_alone(const Bench& bench) {
  const UnusualState unusual;
  const ProcessState before = ProcessState::now();
  {
    const RawHost host(bench);
    require_unchanged(before, "opening");
    const RawContext context = host.context();
    require_unchanged(before, "context_create");
    const RawBinding bound = context.prepare(line_program(1000));
    require_unchanged(before, "compile and bind");
    context.write(bound.buffers[0], std::vector<float>(1000, 1e-40f));  // denormal
    context.wait(context.enqueue(bound.binding, 3));
    context.read(bound.buffers[1], 1000);
    require_unchanged(before, "a run");
    context.refused_buffer(std::uint64_t{1} << 62, {THRT_OVER_BUDGET, THRT_OUT_OF_MEMORY, THRT_INVALID_ARGUMENT},
                           "buffer_create of 2^62 bytes");
    require_unchanged(before, "a refusal");
    context.destroy(bound);
  }
  require_unchanged(before, "closing");
}

// The two standard streams go into memory while this lives.
class Captured {
 public:
  Captured() : memory_(memfd_create("captured", MFD_CLOEXEC)) {
    std::fflush(nullptr);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = dup(static_cast<int>(1 + i));
      dup2(memory_, static_cast<int>(1 + i));
    }
  }
  ~Captured() {
    std::fflush(nullptr);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      dup2(kept_[i], static_cast<int>(1 + i));
      close(kept_[i]);
    }
    close(memory_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::string text() const {
    std::fflush(nullptr);
    std::array<char, 100> start{};
    const ssize_t count = pread(memory_, start.data(), start.size(), 0);
    return {start.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
  }

 private:
  int memory_;
  std::array<int, 2> kept_{};
};

void prints_nothing(const Bench& bench) {
  std::string text;
  {
    const Captured captured;
    {
      const RawHost host(bench);
      const RawContext context = host.context();
      const Program program = line_program(100);
      const thrt_compile_options options{sizeof options, 0};
      thrt_program broken = *program.abi();
      broken.name = 1u << 30;
      thrt_executable* executable = nullptr;
      context.api().compile(context.handle(), &broken, &options, &executable, nullptr, nullptr);
      require_works(context);
    }
    text = captured.text();
  }
  require(text.empty(), "prints '{}'", text.substr(0, text.find('\n')));
}

}  // namespace

std::vector<Case> process_cases() {
  return {
      contract_case("calls_from_changing_threads", calls_from_changing_threads),
      contract_case("two_contexts_at_once", two_contexts_at_once),
      contract_case("bindings_in_turn", bindings_in_turn),
      contract_case("runs_of_two_contexts_overlap", runs_of_two_contexts_overlap),
      contract_case("wait_beside_other_calls", wait_beside_other_calls),
      contract_case("process_state_is_left_alone", process_state_is_left_alone),
      contract_case("prints_nothing", prints_nothing),
  };
}

}  // namespace thrt::conformance

// Threads, and the process that a plugin is a guest in.
#include "raw_host.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
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

// What abi.h forbids a plugin to change.
struct ProcessState {
  std::string locale;
  int rounding = 0;
  unsigned control = 0;  // of the floating-point unit, without its status
  std::array<void (*)(int), 65> handlers{};

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
  }
}

void process_state_is_left_alone(const Bench& bench) {
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
      contract_case("wait_beside_other_calls", wait_beside_other_calls),
      contract_case("process_state_is_left_alone", process_state_is_left_alone),
      contract_case("prints_nothing", prints_nothing),
  };
}

}  // namespace thrt::conformance

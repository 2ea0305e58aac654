// The runner on cases that behave as badly as a backend's code can.
#include "runner.hpp"
#include "device_program.hpp"

#include <thrt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace thrt::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = Outcome::Kind;

const std::string kReference = THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_reference.so";

std::string evil_plugin(const std::string& id) {
  return THRT_BUILD_DIR "/tests/plugins/libthrust_backend_" + id + ".so";
}

RunnerOptions options_for(const std::string& plugin = kReference) {
  RunnerOptions options;
  options.plugin = plugin;
  options.reference = kReference;
  return options;
}

Case one(const std::string& name, std::function<Outcome(const Bench&)> body) {
  return {name, "add", DType::kF32, Level::kCore, std::move(body)};
}
Case passes(const std::string& name) {
  return one(name, [](const Bench&) { return Outcome{}; });
}

std::string describe(const std::optional<CaseResult>& result) {
  if (!result) return "not run";
  static constexpr const char* kNames[] = {"passed", "unsupported", "failed"};
  return std::string(kNames[static_cast<int>(result->outcome.kind)]) + ": " + result->outcome.detail;
}

// The case between two that pass; they must pass whatever it does.
std::string result_of(std::function<Outcome(const Bench&)> body, unsigned jobs = 1,
                      std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  const std::vector<Case> cases = {passes("before"), one("bad", std::move(body)), passes("after"), passes("last")};
  RunnerOptions options = options_for();
  options.jobs = jobs;
  options.timeout = timeout;
  std::size_t heard = 0;
  options.on_progress = [&](std::size_t done) { EXPECT_EQ(done, ++heard); };
  const RunnerReport report = run_cases(cases, options);
  EXPECT_EQ(heard, 4u);
  EXPECT_FALSE(report.stopped);
  EXPECT_TRUE(report.faults.empty());
  for (const std::size_t i : {0u, 2u, 3u}) EXPECT_EQ(describe(report.results[i]), "passed: ");
  return describe(report.results[1]);
}

TEST(Runner, HandsOnWhatACaseSays) {
  EXPECT_EQ(result_of([](const Bench&) { return Outcome{}; }), "passed: ");
  EXPECT_EQ(result_of([](const Bench&) { return Outcome{Kind::kUnsupported, "not here"}; }), "unsupported: not here");
  EXPECT_EQ(result_of([](const Bench&) {
              return Outcome{Kind::kFailed, "off by\none \xff"};
            }),
            "failed: off by\none \xEF\xBF\xBD");  // U+FFFD for what is no UTF-8
}

TEST(Runner, AThrowIsAFailure) {
  EXPECT_EQ(result_of([](const Bench&) -> Outcome { throw std::runtime_error("thrown"); }), "failed: thrown");
  EXPECT_EQ(result_of([](const Bench&) -> Outcome { throw Error("what", "why"); }), "failed: what: why");
  EXPECT_THAT(result_of([](const Bench&) -> Outcome { throw 3; }), StartsWith("failed: "));
}

TEST(Runner, ACrashIsTheFailureOfOneCase) {
  for (const unsigned jobs : {1u, 3u}) {
    EXPECT_EQ(result_of(
                  [](const Bench&) -> Outcome {
                    std::raise(SIGSEGV);
                    return {};
                  },
                  jobs),
              "failed: crashed (SIGSEGV)");
  }
  EXPECT_EQ(result_of([](const Bench&) -> Outcome { std::abort(); }), "failed: aborted (SIGABRT)");
}

TEST(Runner, AnExitIsTheFailureOfOneCase) {
  EXPECT_EQ(result_of([](const Bench&) -> Outcome { std::exit(3); }), "failed: exited with 3");
  EXPECT_EQ(result_of([](const Bench&) -> Outcome { _exit(0); }), "failed: exited with 0");
}

TEST(Runner, AHangIsTheFailureOfOneCase) {
  const auto hang = [](const Bench&) -> Outcome {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  EXPECT_EQ(result_of(hang, 1, std::chrono::seconds(4)), "failed: hung 4 s");
  EXPECT_EQ(result_of(hang, 2, std::chrono::seconds(4)), "failed: hung 4 s");
}

TEST(Runner, APrintIsAFailureAndGoesNowhere) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(result_of([](const Bench&) {
              std::printf("hello\nworld\n");
              return Outcome{};
            }),
            "failed: prints to standard output: 'hello'");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Runner, ARuleOfTheAbiThatIsBrokenIsAFailure) {
  EXPECT_THAT(result_of([](const Bench& bench) {
                bench.plugin->api().device_count(nullptr, nullptr, nullptr);
                thrt_context_options options{sizeof options, bench.device_index, 0, 0, THRT_PRECISION_F32};
                thrt_context* context = nullptr;
                EXPECT_EQ(bench.plugin->api().context_create(bench.plugin->handle(), &options, &context, nullptr),
                          THRT_OK);
                bench.plugin->api().buffer_create(context, nullptr, nullptr, nullptr);
                bench.plugin->api().context_destroy(context);
                return Outcome{};
              }),
              StartsWith("failed: breaks a rule of abi.h: "));
}

TEST(Runner, EveryCaseRunsOnceHoweverManyWorkersThereAre) {
  constexpr std::size_t kCount = 40;
  for (const unsigned jobs : {1u, 4u, 100u}) {
    std::vector<Case> cases;
    for (std::size_t i = 0; i < kCount; ++i) {
      cases.push_back(one(std::to_string(i), [i](const Bench&) -> Outcome {
        if (i % 7 == 3) std::raise(SIGKILL);
        return {Kind::kFailed, std::to_string(i)};
      }));
    }
    RunnerOptions options = options_for();
    options.jobs = jobs;
    const RunnerReport report = run_cases(cases, options);
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(describe(report.results[i]),
                i % 7 == 3 ? "failed: was killed (SIGKILL)" : "failed: " + std::to_string(i));
    }
  }
}

// The validation layer remembers a rule that a call without an error broke, and answers the next call with it.
TEST(Runner, ABrokenRuleIsOfTheCaseThatBrokeIt) {
  const auto leaves_a_buffer = [](const Bench& bench) {
    const DeviceContext context(bench);
    const thrt_buffer_options options = {sizeof(options), THRT_MEMORY_DEVICE, 64, 0};
    thrt_buffer* left = nullptr;
    context.require(context.api.buffer_create(context.handle, &options, &left, context.error()), "buffer_create");
    return Outcome{};
  };
  const auto makes_a_context = [](const Bench& bench) {
    const DeviceContext context(bench);
    return Outcome{};
  };
  for (const unsigned jobs : {1u, 2u}) {
    const std::vector<Case> cases = {one("first", makes_a_context), one("leaves", leaves_a_buffer),
                                     one("next", makes_a_context), one("leaves again", leaves_a_buffer),
                                     one("last", makes_a_context)};
    RunnerOptions options = options_for();
    options.jobs = jobs;
    const RunnerReport report = run_cases(cases, options);
    for (const std::size_t i : {0u, 2u, 4u}) EXPECT_EQ(describe(report.results[i]), "passed: ");
    for (const std::size_t i : {1u, 3u}) {
      EXPECT_THAT(describe(report.results[i]), HasSubstr("1 buffers, 0 executables and 0 bindings are still alive"));
    }
    EXPECT_TRUE(report.faults.empty());
  }
}

TEST(Runner, AStopKeepsWhatIsDone) {
  std::vector<Case> cases(5, passes("quick"));
  cases.push_back(one("slow", [](const Bench&) -> Outcome {
    std::this_thread::sleep_for(std::chrono::minutes(5));
    return {};
  }));
  cases.push_back(passes("never"));
  std::size_t done = 0;
  RunnerOptions options = options_for();
  options.on_progress = [&](std::size_t count) { done = count; };
  options.stop = [&] { return done == 5; };
  const RunnerReport report = run_cases(cases, options);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(describe(report.results[4]), "passed: ");
  EXPECT_EQ(describe(report.results[5]), "not run");
  EXPECT_EQ(describe(report.results[6]), "not run");
}

TEST(Runner, ACrashWhileClosingIsReportedBesideTheCases) {
  const RunnerReport report =
      run_cases({passes("first"), passes("second")}, options_for(evil_plugin("crashes_in_close")));
  EXPECT_EQ(describe(report.results[1]), "passed: ");
  EXPECT_THAT(report.faults, ::testing::ElementsAre("crashed (SIGSEGV) while it was closed, after second"));
}

TEST(Runner, APluginThatCannotBeLoadedIsAnError) {
  for (const char* id : {"segfaults_in_enumerate", "wrong_major", "hangs_in_enumerate"}) {
    RunnerOptions options = options_for(evil_plugin(id));
    options.timeout = std::chrono::seconds(2);
    try {
      run_cases({passes("any")}, options);
      ADD_FAILURE() << id << " was tested";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot be tested")) << id;
    }
  }
}

TEST(Runner, WithoutCasesThereIsNothingToDo) {
  EXPECT_TRUE(run_cases({}, options_for()).results.empty());
}

}  // namespace
}  // namespace thrt::conformance

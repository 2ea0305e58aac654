// Each rule of abi.h that the validation layer checks on the plugin, broken once.
#include <cfenv>
#include <functional>
#include <stdexcept>

#include "validation_fixture.hpp"

namespace thrt {
namespace {

using testing::HasSubstr;

TEST_F(Validation, OkWithANullOrUntouchedHandle) {
  inner_.buffer_create = [](thrt_context*, const thrt_buffer_options* options, thrt_buffer** buffer, thrt_error*) {
    if (options->bytes == 1) *buffer = nullptr;
    return kOk;
  };
  open_context();
  thrt_buffer* buffer = nullptr;
  EXPECT_EQ(create_buffer(1, &buffer), kInternal);
  EXPECT_EQ(plugin_rule(), "buffer_create answered OK and left the buffer null");
  EXPECT_EQ(create_buffer(2, &buffer), kInternal);
  EXPECT_EQ(plugin_rule(), "buffer_create answered OK and left the buffer as it was");
  EXPECT_EQ(buffer, nullptr);
}

TEST_F(Validation, FailureThatLeavesAHandle) {
  inner_.compile = [](thrt_context*, const thrt_program*, const thrt_compile_options*, thrt_executable**,
                      thrt_executable_info*, thrt_error* error) { return plain_fail(error, THRT_UNSUPPORTED, "no"); };
  open_context();
  thrt_executable* executable = nullptr;
  EXPECT_EQ(compile(&executable), kInternal);
  EXPECT_EQ(plugin_rule(), "compile failed and did not set the executable to null");
  EXPECT_EQ(executable, nullptr);
}

TEST_F(Validation, TheSameHandleTwice) {
  static thrt_buffer only;
  inner_.buffer_create = [](thrt_context*, const thrt_buffer_options*, thrt_buffer** buffer, thrt_error*) {
    *buffer = &only;
    return kOk;
  };
  inner_.buffer_destroy = [](thrt_context*, thrt_buffer*) {};
  open_context();
  thrt_buffer* first = nullptr;
  thrt_buffer* second = nullptr;
  ASSERT_EQ(create_buffer(16, &first), kOk);
  EXPECT_EQ(create_buffer(16, &second), kInternal);
  EXPECT_EQ(plugin_rule(), "buffer_create hands out a buffer that is alive already");
  api().buffer_destroy(context_, first);
}

// What an error must and must not hold. context_stats stands for every call: all go through one check.
TEST_F(Validation, ErrorsArePlausible) {
  static thrt_status status;
  static thrt_error planted;
  inner_.context_stats = [](thrt_context*, thrt_stats*, thrt_error* error) {
    *error = planted;
    return status;
  };
  open_context();
  const auto rule = [&](thrt_status answer, const std::function<void(thrt_error&)>& change) {
    status = answer;
    planted = {};
    plain_fail(&planted, THRT_OUT_OF_MEMORY, "full");
    change(planted);
    thrt_stats now{};
    EXPECT_EQ(stats(&now), kInternal);
    return plugin_rule();
  };
  const thrt_status full = THRT_OUT_OF_MEMORY;
  EXPECT_EQ(rule(99, [](thrt_error&) {}), "context_stats answers 99, which is no status");
  EXPECT_EQ(rule(kOk, [](thrt_error&) {}), "context_stats answers OK and fills in the error");
  EXPECT_EQ(rule(full, [](thrt_error& e) { e.code = 5; }),
            "context_stats answers 4 and puts the code 5 into the error");
  EXPECT_EQ(rule(full, [](thrt_error& e) { e.message[0] = 0; }), "context_stats fails with 4 without a message");
  EXPECT_EQ(rule(full, [](thrt_error& e) { e.message[1] = '\n'; }),
            "context_stats puts a newline into the error's message");
  EXPECT_EQ(rule(full, [](thrt_error& e) { std::memset(e.message, 'x', sizeof e.message); }),
            "context_stats does not end a string of the error");
  EXPECT_EQ(rule(full, [](thrt_error& e) { std::memset(e.native_api, 'x', sizeof e.native_api); }),
            "context_stats does not end a string of the error");
  EXPECT_EQ(rule(full, [](thrt_error& e) { e.reserved = 1; }), "context_stats sets the error's reserved field");
}

TEST_F(Validation, BlamedOpsExist) {
  inner_.compile = [](thrt_context*, const thrt_program*, const thrt_compile_options*, thrt_executable** executable,
                      thrt_executable_info*, thrt_error* error) {
    *executable = nullptr;
    plain_fail(error, THRT_UNSUPPORTED, "no such op here");
    error->op_index = 1;
    return static_cast<thrt_status>(THRT_UNSUPPORTED);
  };
  open_context();
  thrt_executable* executable = nullptr;
  EXPECT_EQ(compile(&executable), kInternal);
  EXPECT_EQ(plugin_rule(), "compile blames op 1, the program has 1");
}

TEST_F(Validation, WritingPastStructSize) {
  static bool size_too;
  inner_.context_stats = [](thrt_context* context, thrt_stats* stats, thrt_error* error) {
    plain_context_stats(context, stats, error);
    if (size_too) {
      stats->struct_size = 999;
    } else {
      std::memset(stats + 1, 0, 8);
    }
    return kOk;
  };
  open_context();
  thrt_stats now{};
  size_too = false;
  EXPECT_EQ(stats(&now), kInternal);
  EXPECT_EQ(plugin_rule(), "context_stats writes past struct_size");
  size_too = true;
  EXPECT_EQ(stats(&now), kInternal);
  EXPECT_EQ(plugin_rule(), "context_stats changes struct_size");
}

TEST_F(Validation, StatsCountWhatIsAlive) {
  inner_.context_stats = [](thrt_context* context, thrt_stats* stats, thrt_error* error) {
    plain_context_stats(context, stats, error);
    stats->executables = 3;
    return kOk;
  };
  open_context();
  thrt_stats now{};
  EXPECT_EQ(stats(&now), kInternal);
  EXPECT_EQ(plugin_rule(), "context_stats counts 3 executables, 0 are alive");
}

TEST_F(Validation, TicketsOnlyGrow) {
  inner_.upload = [](thrt_context* context, thrt_buffer*, uint64_t, const void*, uint64_t, thrt_ticket* ticket,
                     thrt_error*) {
    *ticket = 10 - context->ticket++;
    return kOk;
  };
  open_context();
  thrt_buffer* buffer = nullptr;
  thrt_ticket ticket = 0;
  ASSERT_EQ(create_buffer(16, &buffer), kOk);
  EXPECT_EQ(api().upload(context_, buffer, 0, "x", 1, &ticket, &error_), kOk);
  EXPECT_EQ(api().upload(context_, buffer, 0, "x", 1, &ticket, &error_), kInternal);
  EXPECT_EQ(plugin_rule(), "upload hands out ticket 9 after 10");
  EXPECT_EQ(ticket, 10u);
  api().buffer_destroy(context_, buffer);
}

TEST_F(Validation, VerdictsArePlausible) {
  static thrt_verdict verdict;
  static uint32_t count;
  static bool past;
  inner_.check = [](thrt_context*, const thrt_program*, thrt_verdict* verdicts, uint32_t capacity, uint32_t* total,
                    thrt_error*) {
    verdicts[0] = verdict;
    if (past) verdicts[capacity] = verdict;
    *total = count;
    return kOk;
  };
  open_context();
  const thrt_verdict good = {0, THRT_UNSUPPORTED, "add: not today"};
  thrt_verdict out[2] = {};
  uint32_t found = 0;
  const auto check = [&](thrt_verdict planted, uint32_t total, bool write_past = false) {
    verdict = planted;
    count = total;
    past = write_past;
    return api().check(context_, &tiny_.program, out, 2, &found, &error_);
  };
  EXPECT_EQ(check(good, 1), kOk);
  EXPECT_EQ(found, 1u);
  EXPECT_STREQ(out[0].reason, "add: not today");
  EXPECT_EQ(check(good, 2), kInternal);
  EXPECT_EQ(plugin_rule(), "check counts 2 refusals, the program has 1 ops");
  EXPECT_EQ(check(good, 1, true), kInternal);
  EXPECT_EQ(plugin_rule(), "check writes past capacity");
  EXPECT_EQ(check({1, THRT_UNSUPPORTED, "x"}, 1), kInternal);
  EXPECT_EQ(plugin_rule(), "check refuses op 1, the program has 1");
  EXPECT_EQ(check({0, THRT_INTERNAL, "x"}, 1), kInternal);
  EXPECT_EQ(check({0, THRT_UNSUPPORTED, ""}, 1), kInternal);
  EXPECT_EQ(plugin_rule(), "check refuses op 0 without a reason");
}

TEST_F(Validation, ExecutableInfoTellsTheTruth) {
  static std::function<void(thrt_executable_info*)> change;
  inner_.compile = [](thrt_context* context, const thrt_program* program, const thrt_compile_options* options,
                      thrt_executable** executable, thrt_executable_info* info, thrt_error* error) {
    const thrt_status status = plain_compile(context, program, options, executable, info, error);
    change(info);
    plain_executable_destroy(context, *executable);  // the layer refuses it
    return status;
  };
  open_context();
  const auto rule = [&](std::function<void(thrt_executable_info*)> planted) {
    change = std::move(planted);
    thrt_executable* executable = nullptr;
    EXPECT_EQ(compile(&executable), kInternal);
    return plugin_rule();
  };
  EXPECT_EQ(rule([](auto* info) { info->ops_on_device = 0; }), "compile puts 0 of 1 ops on the device");
  EXPECT_EQ(rule([](auto* info) { info->ops = info->ops_on_device = 2; }), "compile counts 2 ops, the program has 1");
  EXPECT_EQ(rule([](auto* info) { info->kind[0] = 0; }), "compile gives no kind of executable");
  EXPECT_EQ(rule([](auto* info) { info->reserved = 1; }), "compile sets the info's reserved field");
  EXPECT_EQ(rule([](auto* info) { std::memset(info + 1, 0, 4); }), "compile writes past the info's struct_size");
}

TEST_F(Validation, ALostDeviceStaysLost) {
  inner_.wait = [](thrt_context*, thrt_ticket, uint64_t, thrt_error* error) {
    return plain_fail(error, THRT_DEVICE_LOST, "gone");
  };
  open_context();
  EXPECT_EQ(api().wait(context_, 0, 0, &error_), static_cast<thrt_status>(THRT_DEVICE_LOST));
  thrt_stats now{};
  EXPECT_EQ(stats(&now), kInternal);
  EXPECT_EQ(plugin_rule(), "context_stats forgets that the device is lost");
}

TEST_F(Validation, ExceptionsAndTheFloatingPointEnvironment) {
  inner_.device_count = [](thrt_plugin*, uint32_t*, thrt_error*) -> thrt_status { throw std::runtime_error("out"); };
  inner_.context_stats = [](thrt_context*, thrt_stats*, thrt_error*) {
    std::fesetround(FE_UPWARD);
    return kOk;
  };
  open_context();
  uint32_t count = 0;
  EXPECT_EQ(api().device_count(layer_->plugin(), &count, &error_), kInternal);
  EXPECT_EQ(plugin_rule(), "device_count lets an exception out");
  thrt_stats now{};
  EXPECT_EQ(stats(&now), kInternal);
  EXPECT_THAT(plugin_rule(), HasSubstr("context_stats changes the floating-point environment (rounding mode)"));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_F(Validation, DeviceInfosArePlausible) {
  static std::function<void(thrt_device_info*)> change;
  inner_.device_info = [](thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error) {
    const thrt_status status = plain_device_info(plugin, index, info, error);
    change(info);
    return status;
  };
  open();
  const auto rule = [&](std::function<void(thrt_device_info*)> planted) {
    change = std::move(planted);
    thrt_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(api().device_info(layer_->plugin(), 0, &info, &error_), kInternal);
    return plugin_rule();
  };
  EXPECT_EQ(rule([](auto* info) { std::memset(info->driver, 'x', sizeof info->driver); }),
            "device_info does not end a string of the info");
  EXPECT_EQ(rule([](auto* info) { info->kind = 9; }), "device_info gives a kind that abi.h does not know");
  EXPECT_EQ(rule([](auto* info) { info->available = 0; }), "device_info gives no reason for an unavailable device");
  EXPECT_EQ(rule([](auto* info) { info->reserved = 1; }), "device_info sets the info's reserved field");
}

}  // namespace
}  // namespace thrt

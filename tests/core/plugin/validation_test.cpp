// Each rule of abi.h that the validation layer checks, broken once by the host or by the plugin.
#include <thrt/plugin/validation.hpp>

#include <cfenv>
#include <functional>
#include <stdexcept>
#include <thread>

#include "plain_plugin.h"
#include "plugin_folder.hpp"

namespace thrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PLAIN_API();

constexpr thrt_status kOk = THRT_OK;
constexpr thrt_status kInvalidArgument = THRT_INVALID_ARGUMENT;
constexpr thrt_status kInvalidState = THRT_INVALID_STATE;
constexpr thrt_status kInternal = THRT_INTERNAL;

// y = x + x over four floats, as data: the plugins here only count its ops.
struct TinyProgram {
  thrt_value values[2] = {{THRT_DTYPE_F32, 1, {4}, 0}, {THRT_DTYPE_F32, 1, {4}, 0}};
  uint32_t operands[2] = {0, 0};
  thrt_op ops[1] = {{THRT_OP_ADD, 1, 0, 2, 1, 1, 0, 0, THRT_NONE, THRT_NONE, 0, 0}};
  thrt_slot slots[2] = {{1, 0, THRT_NONE, 0}, {3, THRT_NONE, 1, 0}};
  thrt_program program{};

  TinyProgram() {
    program.struct_size = sizeof program;
    program.opset = THRT_OPSET;
    program.values = values;
    program.ops = ops;
    program.slots = slots;
    program.operands = operands;
    program.strings = "\0x\0y";
    program.string_bytes = 5;
    program.value_count = 2;
    program.op_count = 1;
    program.slot_count = 2;
    program.operand_count = 2;
  }
};

// A layer around the null plugin's functions, of which a test replaces some in inner_ before it opens the layer.
class Validation : public testing::Test {
 protected:
  void TearDown() override {
    if (layer_ == nullptr) return;
    if (context_ != nullptr) api().context_destroy(context_);
    api().plugin_close(layer_->plugin());
  }

  void open() {
    thrt_plugin* plugin = nullptr;
    ASSERT_EQ(plain_plugin_open(nullptr, &plugin, nullptr), kOk);
    layer_ = std::make_unique<ValidationLayer>(inner_, plugin);
  }
  void open_context() {
    open();
    ASSERT_EQ(create_context(&context_), kOk) << error_.message;
  }
  thrt_status create_context(thrt_context** context) {
    thrt_context_options options{};
    options.struct_size = sizeof options;
    return api().context_create(layer_->plugin(), &options, context, &error_);
  }
  thrt_status create_buffer(uint64_t bytes, thrt_buffer** buffer) {
    const thrt_buffer_options options{sizeof options, 0, bytes, 0};
    return api().buffer_create(context_, &options, buffer, &error_);
  }
  thrt_status compile(thrt_executable** executable, thrt_executable_info* info = nullptr) {
    const thrt_compile_options options{sizeof options, 0};
    return api().compile(context_, &tiny_.program, &options, executable, info, &error_);
  }
  thrt_status stats(thrt_stats* stats) {
    *stats = {};
    stats->struct_size = sizeof *stats;
    return api().context_stats(context_, stats, &error_);
  }

  // What the last failed call said, without the prefix that all host mistakes or all plugin mistakes have.
  std::string host_rule() const { return after("validation: the host broke a rule: "); }
  std::string plugin_rule() const { return after("validation: the plugin broke a rule: "); }
  std::string after(const std::string& prefix) const {
    const std::string message = error_.message;
    return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : "another message: " + message;
  }

  const thrt_backend_api& api() const { return layer_->api(); }

  thrt_backend_api inner_ = plain_api;
  std::unique_ptr<ValidationLayer> layer_;
  thrt_context* context_ = nullptr;
  thrt_error error_{};
  TinyProgram tiny_;
};

// Everything in one: buffers, executable, binding.
class ValidationWithBinding : public Validation {
 protected:
  void SetUp() override {
    open_context();
    ASSERT_EQ(create_buffer(16, &x_), kOk);
    ASSERT_EQ(create_buffer(16, &y_), kOk);
    ASSERT_EQ(compile(&executable_), kOk);
    const thrt_slot_buffer slots[2] = {{x_, 0}, {y_, 0}};
    ASSERT_EQ(api().bind(context_, executable_, slots, 2, &binding_, &error_), kOk);
  }
  thrt_status bind(std::vector<thrt_slot_buffer> slots) {
    thrt_binding* binding = nullptr;
    return api().bind(context_, executable_, slots.data(), static_cast<uint32_t>(slots.size()), &binding, &error_);
  }
  void destroy_all() {
    api().binding_destroy(context_, binding_);
    api().executable_destroy(context_, executable_);
    api().buffer_destroy(context_, x_);
    api().buffer_destroy(context_, y_);
  }

  thrt_buffer* x_ = nullptr;
  thrt_buffer* y_ = nullptr;
  thrt_executable* executable_ = nullptr;
  thrt_binding* binding_ = nullptr;
};

// ---- a correct host and a correct plugin

TEST_F(ValidationWithBinding, CorrectUsePassesThroughWithoutAWord) {
  float source[4] = {1, 2, 3, 4};
  float destination[4] = {};
  thrt_ticket ticket = 0;
  ASSERT_EQ(api().upload(context_, x_, 0, source, sizeof source, &ticket, &error_), kOk);
  ASSERT_EQ(api().enqueue(context_, binding_, 3, &ticket, &error_), kOk);
  ASSERT_EQ(api().download(context_, x_, 0, destination, sizeof destination, &ticket, &error_), kOk);
  ASSERT_EQ(api().wait(context_, ticket, UINT64_MAX, &error_), kOk);
  EXPECT_THAT(destination, ElementsAre(1, 2, 3, 4));
  uint32_t refused = 7;
  ASSERT_EQ(api().check(context_, &tiny_.program, nullptr, 0, &refused, &error_), kOk);
  EXPECT_EQ(refused, 0u);
  thrt_stats now{};
  ASSERT_EQ(stats(&now), kOk) << error_.message;
  EXPECT_EQ(now.buffers, 2u);
  EXPECT_EQ(now.runs, 3u);
  destroy_all();
  ASSERT_EQ(stats(&now), kOk) << error_.message;
  EXPECT_THAT(layer_->violations(), ElementsAre());
}

TEST_F(Validation, OutputsKeepTheCallersStructSizeAndTakeNoMore) {
  open_context();
  struct {
    thrt_device_info info;
    uint64_t later = 0x1234;
  } larger{};
  larger.info.struct_size = sizeof larger;
  ASSERT_EQ(api().device_info(layer_->plugin(), 0, &larger.info, &error_), kOk);
  EXPECT_EQ(larger.info.struct_size, sizeof larger);
  EXPECT_STREQ(larger.info.name, "null device");
  EXPECT_EQ(larger.later, 0x1234u);
  thrt_executable* executable = nullptr;
  thrt_executable_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(compile(&executable, &info), kOk);
  EXPECT_EQ(info.ops, 1u);
  EXPECT_STREQ(info.kind, "null");
  api().executable_destroy(context_, executable);
}

// The plugin's own error reaches the host unchanged.
TEST_F(Validation, AnHonestFailureIsPassedOn) {
  inner_.buffer_create = [](thrt_context*, const thrt_buffer_options*, thrt_buffer** buffer, thrt_error* error) {
    *buffer = nullptr;
    return plain_fail(error, THRT_OVER_BUDGET, "too much");
  };
  open_context();
  thrt_buffer* buffer = nullptr;
  EXPECT_EQ(create_buffer(16, &buffer), static_cast<thrt_status>(THRT_OVER_BUDGET));
  EXPECT_STREQ(error_.message, "too much");
  EXPECT_THAT(layer_->violations(), ElementsAre());
}

// ---- mistakes of the host

TEST_F(Validation, NullAndForeignHandles) {
  open_context();
  thrt_stats now{};
  now.struct_size = sizeof now;
  EXPECT_EQ(api().context_stats(nullptr, &now, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "context_stats: the context is null or not one of this plugin");
  thrt_context foreign{};
  EXPECT_EQ(api().context_stats(&foreign, &now, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "context_stats: the context is null or not one of this plugin");
  uint32_t count = 0;
  EXPECT_EQ(api().device_count(nullptr, &count, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "device_count: the plugin is null or not one of this layer");

  thrt_context* other = nullptr;
  thrt_buffer* buffer = nullptr;
  thrt_ticket ticket = 0;
  ASSERT_EQ(create_context(&other), kOk);
  ASSERT_EQ(create_buffer(16, &buffer), kOk);
  EXPECT_EQ(api().upload(other, buffer, 0, &count, 4, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "upload: the buffer is not one of this context");
  EXPECT_EQ(api().upload(context_, nullptr, 0, &count, 4, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "upload: the buffer is null");
  api().buffer_destroy(context_, buffer);
  api().context_destroy(other);
}

TEST_F(ValidationWithBinding, UseAfterDestroy) {
  destroy_all();
  thrt_ticket ticket = 0;
  char byte = 0;
  EXPECT_EQ(api().download(context_, x_, 0, &byte, 1, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "download: the buffer is destroyed");
  EXPECT_EQ(api().enqueue(context_, binding_, 1, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "enqueue: the binding is destroyed");
  EXPECT_EQ(bind({}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: the executable is destroyed");
  api().context_destroy(context_);
  EXPECT_EQ(api().wait(context_, 0, 0, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "wait: the context is destroyed");
  context_ = nullptr;
}

// A destroy call has no status: what it breaks is not done and fails the next call.
TEST_F(ValidationWithBinding, DestroyOrder) {
  thrt_stats now{};
  api().buffer_destroy(context_, x_);
  EXPECT_EQ(stats(&now), kInvalidState);
  EXPECT_EQ(host_rule(), "buffer_destroy: 1 live bindings hold the buffer");
  api().executable_destroy(context_, executable_);
  EXPECT_EQ(stats(&now), kInvalidState);
  EXPECT_EQ(host_rule(), "executable_destroy: 1 bindings of it are alive");
  EXPECT_EQ(stats(&now), kOk);  // reported once
  EXPECT_EQ(now.buffers, 2u);
  api().context_destroy(context_);
  EXPECT_THAT(layer_->violations().back(),
              HasSubstr("context_destroy: 2 buffers, 1 executables and 1 bindings are still alive"));
  context_ = nullptr;
}

TEST_F(Validation, DestroyingTwice) {
  open_context();
  thrt_buffer* buffer = nullptr;
  ASSERT_EQ(create_buffer(16, &buffer), kOk);
  api().buffer_destroy(context_, buffer);
  api().buffer_destroy(context_, buffer);
  EXPECT_THAT(layer_->violations(),
              ElementsAre("validation: the host broke a rule: buffer_destroy: the buffer is destroyed"));
}

TEST_F(Validation, ClosingUnderALiveContext) {
  static int closed;
  closed = 0;
  inner_.plugin_close = [](thrt_plugin* plugin) {
    ++closed;
    plain_plugin_close(plugin);
  };
  open_context();
  api().plugin_close(layer_->plugin());
  EXPECT_THAT(layer_->violations(), ElementsAre(HasSubstr("plugin_close: 1 contexts are still alive")));
  EXPECT_EQ(closed, 0);
  api().context_destroy(context_);
  context_ = nullptr;
  api().plugin_close(layer_->plugin());
  EXPECT_EQ(closed, 1);
  layer_.reset();
}

TEST_F(Validation, RangesOfCopies) {
  open_context();
  thrt_buffer* buffer = nullptr;
  char bytes[32] = {};
  thrt_ticket ticket = 0;
  ASSERT_EQ(create_buffer(16, &buffer), kOk);
  EXPECT_EQ(api().upload(context_, buffer, 0, bytes, 17, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "upload: 17 bytes at offset 0 do not lie in the buffer's 16");
  EXPECT_EQ(api().download(context_, buffer, 17, bytes, 0, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(api().download(context_, buffer, 8, bytes, UINT64_MAX, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(api().upload(context_, buffer, 0, nullptr, 4, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(api().upload(context_, buffer, 16, nullptr, 0, &ticket, &error_), kOk);
  api().buffer_destroy(context_, buffer);
}

TEST_F(ValidationWithBinding, SlotsOfABinding) {
  thrt_buffer* big = nullptr;
  ASSERT_EQ(create_buffer(200, &big), kOk);
  EXPECT_EQ(bind({{x_, 0}}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: 1 slots, the program has 2");
  EXPECT_EQ(bind({{x_, 0}, {big, 32}}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: slot 1: offset 32 is not a multiple of 64");
  EXPECT_EQ(bind({{x_, 0}, {big, 192}}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: slot 1: 16 bytes at offset 192 do not lie in the buffer's 200");
  EXPECT_EQ(bind({{big, 0}, {big, 0}}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: slots 0 and 1 overlap, and one of them is written");
  EXPECT_EQ(bind({{x_, 0}, {nullptr, 0}}), kInvalidArgument);
  EXPECT_EQ(host_rule(), "bind: slot 1: the buffer is null");
  thrt_binding* apart = nullptr;
  const thrt_slot_buffer slots[2] = {{big, 0}, {big, 64}};
  EXPECT_EQ(api().bind(context_, executable_, slots, 2, &apart, &error_), kOk);
  api().binding_destroy(context_, apart);
  api().buffer_destroy(context_, big);
  destroy_all();
}

TEST_F(ValidationWithBinding, ArgumentsOfCalls) {
  thrt_ticket ticket = 0;
  EXPECT_EQ(api().enqueue(context_, binding_, 0, &ticket, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "enqueue: repeat is 0");
  EXPECT_EQ(api().wait(context_, 5, 0, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "wait: ticket 5 was never handed out, the last was 0");
  thrt_buffer* buffer = nullptr;
  const thrt_buffer_options odd{sizeof odd, 0, 16, 48};
  EXPECT_EQ(api().buffer_create(context_, &odd, &buffer, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "buffer_create: alignment 48 is not a power of two");
  const thrt_buffer_options small{8, 0, 16, 0};
  EXPECT_EQ(api().buffer_create(context_, &small, &buffer, &error_), kInvalidArgument);
  EXPECT_EQ(api().buffer_create(context_, nullptr, &buffer, nullptr), kInvalidArgument);  // without an error struct
  thrt_stats now{};
  now.struct_size = 8;
  EXPECT_EQ(api().context_stats(context_, &now, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "context_stats: stats's struct_size is 8");
  thrt_plugin* plugin = layer_->plugin();
  EXPECT_EQ(api().plugin_open(nullptr, &plugin, &error_), kInvalidState);
  EXPECT_EQ(plugin, nullptr);
  destroy_all();
}

// A second thread enters while the plugin holds the first one inside, and is turned away.
TEST_F(Validation, TwoThreadsInOneContext) {
  static std::function<void()> inside;
  inner_.context_stats = [](thrt_context* context, thrt_stats* stats, thrt_error* error) {
    if (inside) std::exchange(inside, {})();
    return plain_context_stats(context, stats, error);
  };
  open_context();
  thrt_status second = kOk;
  thrt_error second_error{};
  inside = [&] {
    std::thread([&] {
      thrt_stats now{};
      now.struct_size = sizeof now;
      second = api().context_stats(context_, &now, &second_error);
    }).join();
    std::thread([&] { EXPECT_EQ(api().wait(context_, 0, 0, nullptr), kOk); }).join();  // [any]
  };
  thrt_stats now{};
  EXPECT_EQ(stats(&now), kOk);
  EXPECT_EQ(second, kInvalidArgument);
  EXPECT_STREQ(second_error.message,
               "validation: the host broke a rule: context_stats: another call of this context is running; [context] "
               "calls are made one at a time");
}

TEST_F(Validation, TwoThreadsInOnePlugin) {
  static std::function<void()> inside;
  inner_.device_count = [](thrt_plugin* plugin, uint32_t* count, thrt_error* error) {
    if (inside) std::exchange(inside, {})();
    return plain_device_count(plugin, count, error);
  };
  open();
  thrt_status second = kOk;
  inside = [&] {
    std::thread([&] {
      uint32_t count = 0;
      second = api().device_count(layer_->plugin(), &count, &error_);
    }).join();
  };
  uint32_t count = 0;
  EXPECT_EQ(api().device_count(layer_->plugin(), &count, nullptr), kOk);
  EXPECT_EQ(second, kInvalidArgument);
  EXPECT_THAT(host_rule(), HasSubstr("another [plugin] call is running"));
}

// ---- mistakes of the plugin

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

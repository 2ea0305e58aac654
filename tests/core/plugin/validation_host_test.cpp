// What the host may and may not do: correct use passes through the validation layer, each broken rule is named.
#include <functional>
#include <thread>
#include <utility>

#include "validation_fixture.hpp"

namespace thrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

}  // namespace
}  // namespace thrt

// A plugin class whose functions fail when a test says so, behind the SDK's function table.
#pragma once

#include "program_builder.hpp"

#include <thrt/sdk/plugin.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace thrt::testing {

// What the fake below does next: which of its functions fails, and how. Tests run one at a time.
struct Script {
  std::string failing;               // name of a function
  std::function<void()> failure;     // throws
  std::multiset<std::string> alive;  // objects
  std::uint32_t devices = 1;
  bool returns_null = false;
  std::vector<sdk::Refusal> refusals;
  std::string description;                        // of an executable; "": it has none
  std::optional<thrt_program_counters> counters;  // likewise
};
inline Script script;

inline void maybe_fail(const char* function) {
  if (script.failing == function) script.failure();
}

template <typename Base>
class Counted : public Base {
 public:
  explicit Counted(const char* name) : name_(name) { script.alive.insert(name); }
  ~Counted() override { script.alive.erase(script.alive.find(name_)); }

 private:
  const char* name_;
};

class FakeExecutable final : public Counted<sdk::Executable> {
 public:
  FakeExecutable() : Counted("executable") {}
  void info(thrt_executable_info& info) const override {
    maybe_fail("info");
    info.steps = 5;
    sdk::set_text(info.kind, "fake");
  }
  std::string describe() const override {
    maybe_fail("describe");
    return script.description;
  }
  bool counters(thrt_program_counters& counters) const override {
    maybe_fail("counters");
    if (script.counters) counters = *script.counters;
    return script.counters.has_value();
  }
};

class FakeContext final : public Counted<sdk::Context> {
 public:
  FakeContext() : Counted("context") {}
  void stats(thrt_stats& stats) override {
    maybe_fail("stats");
    stats.runs = 11;
  }
  std::unique_ptr<sdk::Buffer> create_buffer(const thrt_buffer_options& options) override {
    maybe_fail("create_buffer");
    EXPECT_GE(options.alignment, 64u);
    if (script.returns_null) return nullptr;
    return std::make_unique<Counted<sdk::Buffer>>("buffer");
  }
  thrt_ticket upload(sdk::Buffer&, std::uint64_t, std::span<const std::byte>) override {
    maybe_fail("upload");
    return 1;
  }
  thrt_ticket download(sdk::Buffer&, std::uint64_t, std::span<std::byte>) override {
    maybe_fail("download");
    return 2;
  }
  std::vector<sdk::Refusal> check(const sdk::ProgramView&) override {
    maybe_fail("check");
    return script.refusals;
  }
  std::unique_ptr<sdk::Executable> compile(const sdk::ProgramView&, std::uint32_t) override {
    maybe_fail("compile");
    return std::make_unique<FakeExecutable>();
  }
  std::unique_ptr<sdk::Binding> bind(sdk::Executable&, std::span<const sdk::SlotRegion>) override {
    maybe_fail("bind");
    return std::make_unique<Counted<sdk::Binding>>("binding");
  }
  thrt_ticket enqueue(sdk::Binding&, std::uint32_t) override {
    maybe_fail("enqueue");
    return 3;
  }
  bool wait(thrt_ticket ticket, std::uint64_t) override {
    maybe_fail("wait");
    return ticket < 100;
  }
};

class FakePlugin final : public Counted<sdk::Plugin> {
 public:
  explicit FakePlugin(const sdk::PluginOptions&) : Counted("plugin") { maybe_fail("open"); }
  std::uint32_t device_count() override {
    maybe_fail("device_count");
    return script.devices;
  }
  void device_info(std::uint32_t, thrt_device_info& info) override {
    maybe_fail("device_info");
    info.available = script.devices == 2 ? 0 : 1;
    info.memory_total = 1000;
    info.precisions = 1u << THRT_PRECISION_F32;
    sdk::set_text(info.name, "fake");
    sdk::set_text(info.unavailable_reason, "no driver");
  }
  std::unique_ptr<sdk::Context> create_context(const thrt_context_options&) override {
    maybe_fail("create_context");
    return std::make_unique<FakeContext>();
  }
};

class BackendTable : public ::testing::Test {
 protected:
  BackendTable() {
    script = {};
    thrt_plugin_options options{sizeof options, 0, nullptr};
    EXPECT_EQ(api.plugin_open(&options, &plugin, &error), THRT_OK);
    EXPECT_EQ(create_context(), THRT_OK);
    const std::uint32_t x = program.input("x", {DType::kF32, {16}});
    program.output("y", program.op(OpKind::NEG, {x}));
    program.build();
  }
  ~BackendTable() override {
    api.context_destroy(context);
    if (plugin != nullptr) api.plugin_close(plugin);
    EXPECT_TRUE(script.alive.empty());
  }

  thrt_status create_context(std::uint32_t device = 0, std::uint64_t budget = 0, std::uint32_t precision = 0) {
    thrt_context_options options{sizeof options, device, budget, 0, precision};
    return api.context_create(plugin, &options, &context, &error);
  }
  thrt_status create_buffer(thrt_buffer** made, std::uint64_t bytes = 64, std::uint64_t alignment = 0,
                            std::uint32_t kind = 0) {
    thrt_buffer_options options{sizeof options, kind, bytes, alignment};
    return api.buffer_create(context, &options, made, &error);
  }
  thrt_status compile(thrt_executable** made, std::uint32_t flags = 0, thrt_executable_info* info = nullptr) {
    thrt_compile_options options{sizeof options, flags};
    return api.compile(context, &program.program, &options, made, info, &error);
  }
  // A context with one of everything.
  void make_all() {
    ASSERT_EQ(create_buffer(&buffer, 128), THRT_OK);
    ASSERT_EQ(compile(&executable), THRT_OK);
    slots[0] = {buffer, 0};
    slots[1] = {buffer, 64};
    ASSERT_EQ(api.bind(context, executable, slots, 2, &binding, &error), THRT_OK) << error.message;
  }

  const thrt_backend_api& api = sdk::table::kApi<FakePlugin>;
  thrt_plugin* plugin = nullptr;
  thrt_context* context = nullptr;
  thrt_buffer* buffer = nullptr;
  thrt_executable* executable = nullptr;
  thrt_binding* binding = nullptr;
  thrt_slot_buffer slots[2] = {};
  thrt_error error{};
  ProgramBuilder program;
};

}  // namespace thrt::testing

// The function table made from a plugin class: what comes in is checked, what the class throws becomes a status.
#include "program_builder.hpp"

#include <thrt/sdk/plugin.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

// What the fake below does next: which of its functions fails, and how. Tests run one at a time.
struct Script {
  std::string failing;               // name of a function
  std::function<void()> failure;     // throws
  std::multiset<std::string> alive;  // objects
  std::uint32_t devices = 1;
  bool returns_null = false;
  std::vector<sdk::Refusal> refusals;
};
Script script;

void maybe_fail(const char* function) {
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

// Every entry, called in a way that reaches the function of that name; outputs preset to what must not survive.
TEST_F(BackendTable, EveryEntryTurnsWhatIsThrownIntoAStatus) {
  make_all();
  thrt_ticket ticket = 0;
  char bytes[16] = {};
  thrt_device_info info{};
  info.struct_size = sizeof info;
  thrt_stats stats{};
  stats.struct_size = sizeof stats;
  std::uint32_t count = 77;
  const auto junk = [](auto*& handle) { handle = reinterpret_cast<std::remove_reference_t<decltype(handle)>>(8); };
  const std::map<std::string, std::function<thrt_status()>> entries = {
      {"open",
       [&] {
         thrt_plugin_options options{sizeof options, 0, nullptr};
         thrt_plugin* made;
         junk(made);
         const thrt_status status = api.plugin_open(&options, &made, &error);
         EXPECT_EQ(made == nullptr, status != THRT_OK);
         api.plugin_close(made);
         return status;
       }},
      {"device_count", [&] { return api.device_count(plugin, &count, &error); }},
      {"device_info", [&] { return api.device_info(plugin, 0, &info, &error); }},
      {"create_context",
       [&] {
         thrt_context_options options{sizeof options, 0, 0, 0, 0};
         thrt_context* made;
         junk(made);
         const thrt_status status = api.context_create(plugin, &options, &made, &error);
         EXPECT_EQ(made == nullptr, status != THRT_OK);
         return status;
       }},
      {"stats", [&] { return api.context_stats(context, &stats, &error); }},
      {"create_buffer",
       [&] {
         thrt_buffer* made;
         junk(made);
         const thrt_status status = create_buffer(&made);
         EXPECT_EQ(made == nullptr, status != THRT_OK);
         return status;
       }},
      {"upload", [&] { return api.upload(context, buffer, 0, bytes, 16, &ticket, &error); }},
      {"download", [&] { return api.download(context, buffer, 0, bytes, 16, &ticket, &error); }},
      {"check", [&] { return api.check(context, &program.program, nullptr, 0, &count, &error); }},
      {"compile",
       [&] {
         thrt_executable* made;
         junk(made);
         const thrt_status status = compile(&made);
         EXPECT_EQ(made == nullptr, status != THRT_OK);
         return status;
       }},
      {"info",
       [&] {
         thrt_executable* made = nullptr;
         return compile(&made);
       }},
      {"bind",
       [&] {
         thrt_binding* made;
         junk(made);
         const thrt_status status = api.bind(context, executable, slots, 2, &made, &error);
         EXPECT_EQ(made == nullptr, status != THRT_OK);
         return status;
       }},
      {"enqueue", [&] { return api.enqueue(context, binding, 1, &ticket, &error); }},
      {"wait", [&] { return api.wait(context, 1, 0, &error); }},
  };
  const std::vector<std::pair<std::function<void()>, thrt_status>> failures = {
      {[] { throw std::bad_alloc(); }, THRT_OUT_OF_MEMORY},
      {[] { throw std::runtime_error("thrown"); }, THRT_INTERNAL},
      {[] { throw 42; }, THRT_INTERNAL},
      {[] { throw sdk::Error(THRT_UNAVAILABLE, "gone").at_op(3).native("vkQueueSubmit", -4); }, THRT_UNAVAILABLE},
  };
  for (const auto& [name, call] : entries) {
    for (const auto& [failure, status] : failures) {
      script.failing = name;
      script.failure = failure;
      error = {};
      EXPECT_EQ(call(), status) << name;
      EXPECT_EQ(error.code, status) << name;
      EXPECT_NE(error.message[0], '\0') << name;
      if (status == THRT_UNAVAILABLE) {
        EXPECT_EQ(error.op_index, 3u);
        EXPECT_EQ(error.native_code, -4);
        EXPECT_STREQ(error.native_api, "vkQueueSubmit");
      }
    }
    script.failing = "";
    EXPECT_EQ(call(), THRT_OK) << name;
  }
}

TEST_F(BackendTable, RefusesWrongArguments) {
  make_all();
  thrt_ticket ticket = 0;
  thrt_buffer* other = nullptr;
  char bytes[200] = {};
  EXPECT_EQ(api.upload(context, buffer, 120, bytes, 16, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("upload of 16 bytes at offset 120 leaves a buffer of 128 bytes"));
  EXPECT_EQ(api.download(context, buffer, UINT64_MAX, bytes, 2, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.upload(context, buffer, 0, nullptr, 2, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.upload(context, buffer, 0, nullptr, 0, &ticket, &error), THRT_OK);
  EXPECT_EQ(api.upload(context, nullptr, 0, bytes, 2, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.upload(context, buffer, 0, bytes, 2, nullptr, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.enqueue(context, binding, 0, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.enqueue(context, nullptr, 1, &ticket, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.wait(nullptr, 0, 0, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.wait(context, 100, 5, &error), THRT_TIMEOUT);
  EXPECT_EQ(create_buffer(&other, 1, 3), THRT_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("an alignment of 3 bytes is no power of two"));
  EXPECT_EQ(create_buffer(&other, 1, 0, 2), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(create_buffer(nullptr), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.buffer_create(context, nullptr, &other, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.check(context, nullptr, nullptr, 0, nullptr, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(api.device_count(nullptr, nullptr, &error), THRT_INVALID_ARGUMENT);
  thrt_executable* compiled = nullptr;
  EXPECT_EQ(compile(&compiled, 1u << 20), THRT_INCOMPATIBLE);
  thrt_plugin* unopened = plugin;
  EXPECT_EQ(api.plugin_open(nullptr, &unopened, nullptr), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(unopened, nullptr);
}

TEST_F(BackendTable, RefusesWrongContexts) {
  const auto refuse = [&](std::uint32_t device, std::uint64_t budget, std::uint32_t precision) {
    thrt_context_options options{sizeof options, device, budget, 0, precision};
    thrt_context* made = nullptr;
    const thrt_status status = api.context_create(plugin, &options, &made, &error);
    EXPECT_EQ(made, nullptr);
    return status;
  };
  EXPECT_EQ(refuse(1, 0, 0), THRT_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("device index 1 is out of range: the backend has 1 device"));
  EXPECT_EQ(refuse(0, 1001, 0), THRT_OVER_BUDGET);
  EXPECT_EQ(refuse(0, 0, THRT_PRECISION_TF32), THRT_UNSUPPORTED);
  EXPECT_EQ(refuse(0, 0, 99), THRT_UNSUPPORTED);
  script.devices = 2;
  EXPECT_EQ(refuse(0, 0, 0), THRT_UNAVAILABLE);
  EXPECT_THAT(error.message, HasSubstr("no driver"));
}

TEST_F(BackendTable, RefusesWrongBindings) {
  make_all();
  thrt_binding* made = nullptr;
  const auto refuse = [&](thrt_slot_buffer x, thrt_slot_buffer y, thrt_status status, const char* says) {
    const thrt_slot_buffer both[2] = {x, y};
    EXPECT_EQ(api.bind(context, executable, both, 2, &made, &error), status) << says;
    EXPECT_THAT(error.message, HasSubstr(says));
    EXPECT_EQ(made, nullptr);
  };
  refuse({buffer, 0}, {buffer, 0}, THRT_INVALID_ARGUMENT, "slots \"x\" and \"y\" overlap");
  refuse({buffer, 0}, {buffer, 32}, THRT_INVALID_ARGUMENT, "offset 32 is no multiple of 64");
  refuse({buffer, 0}, {buffer, 128}, THRT_INVALID_ARGUMENT, "slot 1 (\"y\") needs 64 bytes at offset 128");
  refuse({buffer, UINT64_MAX - 63}, {buffer, 64}, THRT_INVALID_ARGUMENT, "slot 0 (\"x\") needs");
  refuse({nullptr, 0}, {buffer, 64}, THRT_INVALID_ARGUMENT, "the buffer of slot 0 (\"x\") is null");
  EXPECT_EQ(api.bind(context, executable, slots, 1, &made, &error), THRT_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("the program has 2 slots; 1 were given"));
  EXPECT_EQ(api.bind(context, executable, nullptr, 2, &made, &error), THRT_INVALID_ARGUMENT);

  thrt_context* first = context;
  ASSERT_EQ(create_context(), THRT_OK);
  thrt_buffer* foreign = nullptr;
  ASSERT_EQ(create_buffer(&foreign, 128), THRT_OK);
  std::swap(first, context);
  refuse({foreign, 0}, {buffer, 64}, THRT_INVALID_STATE, "belongs to another context");
  api.context_destroy(first);
}

TEST_F(BackendTable, ReadersMayOverlapEachOtherButNoWriter) {
  ProgramBuilder three;
  const std::uint32_t a = three.input("a", {DType::kF32, {16}});
  const std::uint32_t b = three.input("b", {DType::kF32, {48}});
  three.input("unused", {DType::kF32, {0}});
  three.output("y", three.op(OpKind::NEG, {a}));
  static_cast<void>(b);
  thrt_compile_options options{sizeof options, 0};
  ASSERT_EQ(api.compile(context, &three.build(), &options, &executable, nullptr, &error), THRT_OK) << error.message;
  ASSERT_EQ(create_buffer(&buffer, 512), THRT_OK);
  const auto bind = [&](std::uint64_t at_a, std::uint64_t at_b, std::uint64_t at_y) {
    const thrt_slot_buffer regions[4] = {{buffer, at_a}, {buffer, at_b}, {buffer, 64}, {buffer, at_y}};
    thrt_binding* made = nullptr;
    return api.bind(context, executable, regions, 4, &made, &error);
  };
  EXPECT_EQ(bind(0, 0, 192), THRT_OK) << error.message;
  EXPECT_EQ(bind(64, 0, 192), THRT_OK) << error.message;
  EXPECT_EQ(bind(256, 0, 128), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(bind(64, 0, 128), THRT_INVALID_ARGUMENT);  // a ends before y, but b does not
  EXPECT_EQ(bind(128, 0, 128), THRT_INVALID_ARGUMENT);
}

TEST_F(BackendTable, VerifiesBeforeTheBackendSeesAProgram) {
  script.failing = "check";
  script.failure = [] { FAIL() << "reached the backend"; };
  program.ops[0].kind = 9999;
  program.build();
  std::uint32_t count = 5;
  EXPECT_EQ(api.check(context, &program.program, nullptr, 0, &count, &error), THRT_INVALID_PROGRAM);
  EXPECT_EQ(error.op_index, 0u);
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(compile(&executable), THRT_INVALID_PROGRAM);
  EXPECT_EQ(executable, nullptr);
}

TEST_F(BackendTable, ListsAllRefusalsAndCompilesNothingRefused) {
  script.refusals = {{0, "neg: too negative"}, {0, std::string(300, 'r')}, {0, "third"}};
  thrt_verdict verdicts[3] = {};
  verdicts[2].code = 123;
  std::uint32_t count = 0;
  EXPECT_EQ(api.check(context, &program.program, verdicts, 2, &count, &error), THRT_OK);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(verdicts[0].code, THRT_UNSUPPORTED);
  EXPECT_STREQ(verdicts[0].reason, "neg: too negative");
  EXPECT_EQ(std::string(verdicts[1].reason), std::string(119, 'r'));
  EXPECT_EQ(verdicts[2].code, 123u);
  EXPECT_EQ(compile(&executable), THRT_UNSUPPORTED);
  EXPECT_THAT(error.message, HasSubstr("neg: too negative (and 2 more"));
  EXPECT_EQ(error.op_index, 0u);
  EXPECT_EQ(script.alive.count("executable"), 0u);
}

TEST_F(BackendTable, FillsInWhatTheBackendLeavesOut) {
  thrt_executable_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(compile(&executable, 0, &info), THRT_OK);
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_EQ(info.ops, 1u);
  EXPECT_EQ(info.ops_on_device, 1u);
  EXPECT_EQ(info.steps, 5u);
  EXPECT_GT(info.compile_ns, 0u);
  EXPECT_STREQ(info.kind, "fake");
  thrt_stats stats{};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(api.context_stats(context, &stats, &error), THRT_OK);
  EXPECT_EQ(stats.executables, 1u);
  EXPECT_EQ(stats.buffers, 0u);
  EXPECT_EQ(stats.runs, 11u);
}

TEST_F(BackendTable, ANullObjectIsTheBackendsBug) {
  script.returns_null = true;
  EXPECT_EQ(create_buffer(&buffer), THRT_INTERNAL);
  EXPECT_STREQ(error.message, "the backend returned no buffer");
}

TEST_F(BackendTable, ALostDeviceStaysLost) {
  make_all();
  script.failing = "enqueue";
  script.failure = [] { throw sdk::Error(THRT_DEVICE_LOST, "the device fell off the bus"); };
  thrt_ticket ticket = 0;
  EXPECT_EQ(api.enqueue(context, binding, 1, &ticket, &error), THRT_DEVICE_LOST);
  script.failing = "";
  error = {};
  EXPECT_EQ(api.wait(context, 0, 0, &error), THRT_DEVICE_LOST);
  EXPECT_STREQ(error.message, "the device fell off the bus");
  thrt_buffer* made = nullptr;
  EXPECT_EQ(create_buffer(&made), THRT_DEVICE_LOST);
  EXPECT_EQ(compile(&executable), THRT_DEVICE_LOST);
  // Another context works, and this one can be destroyed.
  thrt_context* lost = context;
  ASSERT_EQ(create_context(), THRT_OK);
  EXPECT_EQ(create_buffer(&made), THRT_OK);
  api.context_destroy(lost);
}

TEST_F(BackendTable, WaitsFromManyThreadsSeeOneLostDevice) {
  script.failing = "wait";
  script.failure = [] { throw sdk::Error(THRT_DEVICE_LOST, "gone"); };
  std::vector<std::thread> threads;
  std::atomic<int> lost = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      thrt_error mine{};
      for (int k = 0; k < 100; ++k) lost += api.wait(context, 1, 0, &mine) == THRT_DEVICE_LOST;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 800);
}

TEST_F(BackendTable, DestroyingInTheWrongOrderDoesNoHarm) {
  make_all();
  api.buffer_destroy(context, buffer);
  api.executable_destroy(context, executable);
  EXPECT_EQ(script.alive.count("buffer"), 1u);  // the binding still holds it
  thrt_ticket ticket = 0;
  EXPECT_EQ(api.enqueue(context, binding, 1, &ticket, &error), THRT_OK);
  api.binding_destroy(context, binding);
  EXPECT_EQ(script.alive, (std::multiset<std::string>{"context", "plugin"}));
}

TEST_F(BackendTable, ContextsAndPluginsFreeWhatIsLeft) {
  make_all();
  api.context_destroy(context);
  EXPECT_EQ(script.alive, (std::multiset<std::string>{"plugin"}));
  ASSERT_EQ(create_context(), THRT_OK);
  make_all();
  api.plugin_close(plugin);
  EXPECT_TRUE(script.alive.empty());
  plugin = nullptr;
  context = nullptr;
}

TEST_F(BackendTable, TakesNullWhereThereIsNothingToDestroy) {
  api.buffer_destroy(context, nullptr);
  api.executable_destroy(context, nullptr);
  api.binding_destroy(context, nullptr);
  api.buffer_destroy(nullptr, nullptr);
  api.context_destroy(nullptr);
  api.plugin_close(nullptr);
  EXPECT_EQ(api.get_extension("vendor.feature/1"), nullptr);
  EXPECT_EQ(api.get_extension(nullptr), nullptr);
}

TEST(BackendEntry, ShakesHands) {
  const thrt_backend_api* api = nullptr;
  thrt_error error{};
  EXPECT_EQ(sdk::backend_entry<FakePlugin>(THRT_ABI_MAJOR, THRT_ABI_MINOR, &api, "fake", &error), THRT_OK);
  EXPECT_EQ(api, &sdk::table::kApi<FakePlugin>);
  EXPECT_EQ(sdk::backend_entry<FakePlugin>(THRT_ABI_MAJOR, THRT_ABI_MINOR + 7, &api, "fake", &error), THRT_OK);

  EXPECT_EQ(sdk::backend_entry<FakePlugin>(2, 5, &api, "fake", &error), THRT_INCOMPATIBLE);
  EXPECT_EQ(api, nullptr);
  EXPECT_THAT(error.message, HasSubstr("backend fake speaks ABI 1.0"));
  EXPECT_THAT(error.message, HasSubstr("this host speaks 2.5; upgrade the backend"));
  EXPECT_EQ(sdk::backend_entry<FakePlugin>(0, 9, &api, "fake", &error), THRT_INCOMPATIBLE);
  EXPECT_THAT(error.message, HasSubstr("upgrade the host"));
  EXPECT_EQ(sdk::backend_entry<FakePlugin>(1, 0, nullptr, "fake", &error), THRT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace thrt::testing

// The function table made from a plugin class: programs, lost devices, lifetimes, the handshake.
#include "backend_table_fixture.hpp"

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

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

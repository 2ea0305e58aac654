// The function table made from a plugin class: what comes in is checked, what the class throws becomes a status.
#include "backend_table_fixture.hpp"

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace thrt::testing

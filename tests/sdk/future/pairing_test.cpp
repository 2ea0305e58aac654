// Hosts and plugins of different minor versions. Compiled twice: against today's headers and core, and (THRT_FUTURE_HOST)
// against those of a later minor, with core's own sources. Both load the same plugins: today's template, the C plugin of ABI
// 1.0, and one of the later minor.
#include <thrt/error.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/runtime/context.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace thrt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#ifdef THRT_FUTURE_HOST
constexpr bool kFutureHost = true;
#else
constexpr bool kFutureHost = false;
#endif

struct PluginFile {
  const char* name;
  const char* file;
  bool is_future = false;
};
void PrintTo(const PluginFile& plugin, std::ostream* out) {
  *out << plugin.name;
}
const PluginFile kToday{"today", THRT_PLUGIN_TODAY};
const PluginFile kFirst{"abi_1_0", THRT_PLUGIN_1_0};
const PluginFile kFuture{"future", THRT_PLUGIN_FUTURE, true};
const char* const kDemanding = THRT_PLUGIN_DEMANDING;  // of the later minor, works under no older host
const char* const kLoud = THRT_PLUGIN_LOUD;            // of the later minor, with its new field in the manifest set

std::shared_ptr<LoadedPlugin> load(const char* file, bool validate = false) {
  LoadOptions options;
  options.validate = validate;
  return std::make_shared<LoadedPlugin>(file, options);
}

// y = x * x + -x
Program parabola() {
  Graph graph("parabola");
  const Tensor x = graph.input("x", {DType::kF32, {3}});
  const Tensor square = graph.append(OpKind::MUL, {x, x});
  graph.output("y", graph.append(OpKind::ADD, {square, graph.append(OpKind::NEG, {x})}));
  return lower(graph);
}

class Pairing : public ::testing::TestWithParam<PluginFile> {
 protected:
  std::shared_ptr<LoadedPlugin> plugin = load(GetParam().file);
  const thrt_backend_api& api = plugin->api();

  // A context of the raw table, gone at the end.
  thrt_context* context() {
    if (context_ == nullptr) {
      thrt_context_options options{};
      options.struct_size = sizeof options;
      EXPECT_EQ(api.context_create(plugin->handle(), &options, &context_, &error_), THRT_OK) << error_.message;
    }
    return context_;
  }
  void TearDown() override {
    if (context_ != nullptr) api.context_destroy(context_);
  }

  thrt_error error_{};

 private:
  thrt_context* context_ = nullptr;
};

TEST_P(Pairing, RunsAProgramUnderTheValidationLayer) {
  const auto validated = load(GetParam().file, true);
  {
    const Context device(validated);
    EXPECT_THAT(device.refusals(parabola()), IsEmpty());
    const Executable executable(device, parabola());
    EXPECT_EQ(executable.info().ops_on_device, 3u);
    const std::array<Buffer, 2> buffers = {Buffer(device, 12), Buffer(device, 12)};
    Buffer in = buffers[0];
    in.write<float>(std::vector<float>{3, -1, 0.5f});
    Binding binding(executable, buffers);
    binding.run();
    EXPECT_THAT(buffers[1].read<float>(), ElementsAre(6, 2, -0.25f));
    EXPECT_EQ(device.stats().runs, 1u);
    EXPECT_EQ(device.stats().buffers, 2u);
  }
  EXPECT_THAT(validated->violations(), IsEmpty());
}

TEST_P(Pairing, ShakesHandsWithTheVersionsOfBothSides) {
  EXPECT_EQ(plugin->manifest().abi_minor, GetParam().is_future ? 1u : 0u);
  EXPECT_EQ(plugin->manifest().opset_max, GetParam().is_future ? 2u : 1u);
  EXPECT_EQ(parabola().abi()->opset, 1u) << "a program without later ops is one that older plugins take";
  EXPECT_EQ(api.struct_size, sizeof api) << "the table comes in the host's size";

  void* library = dlopen(GetParam().file, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto entry = reinterpret_cast<thrt_backend_entry_fn>(dlsym(library, "thrt_backend_entry_v1"));
  const thrt_backend_api* table = &api;
  EXPECT_EQ(entry(THRT_ABI_MAJOR + 1, 0, &table, &error_), static_cast<thrt_status>(THRT_INCOMPATIBLE));
  EXPECT_EQ(table, nullptr);
  EXPECT_THAT(error_.message, AllOf(HasSubstr("1."), HasSubstr("upgrade the backend")));
  EXPECT_EQ(entry(0, 7, &table, &error_), static_cast<thrt_status>(THRT_INCOMPATIBLE));
  EXPECT_THAT(error_.message, AllOf(HasSubstr("1."), HasSubstr("upgrade the host")));
  dlclose(library);
}

// -------------------------------------------------------------------------------------------------- structs that come out

// The size of 1.0, that of the later minor, and more than either knows.
std::vector<std::uint32_t> capacities(std::uint32_t v1) {
  return {v1, v1 + 16, v1 + 64};
}

// Calls with each capacity and shows what lies within it; the bytes behind stay as they were.
template <typename Struct>
void with_capacities(std::uint32_t v1, std::uint32_t known_to_plugin, const std::function<thrt_status(Struct*)>& call) {
  for (const std::uint32_t capacity : capacities(v1)) {
    alignas(8) std::array<unsigned char, 2048> bytes;
    bytes.fill(0xA5);
    std::memcpy(bytes.data(), &capacity, sizeof capacity);
    ASSERT_EQ(call(reinterpret_cast<Struct*>(bytes.data())), THRT_OK) << capacity;
    std::uint32_t size_after = 0;
    std::memcpy(&size_after, bytes.data(), sizeof size_after);
    EXPECT_EQ(size_after, capacity);
    const std::uint32_t written = std::min(capacity, known_to_plugin);
    for (std::size_t at = written; at < bytes.size(); ++at) {
      ASSERT_EQ(bytes[at], 0xA5) << "byte " << at << " of capacity " << capacity;
    }
    EXPECT_NE(std::count(bytes.begin() + 4, bytes.begin() + v1, 0xA5), v1 - 4) << "nothing was written";
  }
}

TEST_P(Pairing, OutputsAreWrittenUpToTheShorterOfBothSides) {
  const std::uint32_t more = GetParam().is_future ? 16 : 0;
  thrt_context* device = context();
  with_capacities<thrt_stats>(64, 64 + more, [&](thrt_stats* out) { return api.context_stats(device, out, &error_); });
  with_capacities<thrt_device_info>(
      568, 568 + more, [&](thrt_device_info* out) { return api.device_info(plugin->handle(), 0, out, &error_); });
  const Program program = parabola();
  with_capacities<thrt_executable_info>(80, 80 + more, [&](thrt_executable_info* out) {
    const thrt_compile_options options = [] {
      thrt_compile_options made{};
      made.struct_size = sizeof made;
      return made;
    }();
    thrt_executable* executable = nullptr;
    const thrt_status status = api.compile(device, program.abi(), &options, &executable, out, &error_);
    api.executable_destroy(device, executable);
    return status;
  });
}

// --------------------------------------------------------------------------------------------------- structs that go in

struct Input {
  const char* name;
  std::uint32_t v1;                              // bytes
  std::function<thrt_status(const void*)> pass;  // to the plugin, and undoes what came of it
  std::function<void(unsigned char*)> fill = [](unsigned char*) {};
};

std::vector<Input> inputs(const thrt_backend_api& api, thrt_plugin* plugin, thrt_context* device,
                          const Program& program, thrt_error* error) {
  const auto compile = [=, &api, &program](const thrt_program* given, const void* options) {
    thrt_compile_options standard{};
    standard.struct_size = sizeof standard;
    thrt_executable* made = nullptr;
    const thrt_status status = api.compile(
        device, given != nullptr ? given : program.abi(),
        options != nullptr ? static_cast<const thrt_compile_options*>(options) : &standard, &made, nullptr, error);
    if (made != nullptr) api.executable_destroy(device, made);
    return status;
  };
  return {{"thrt_plugin_options", 16,
           [=, &api](const void* options) {
             thrt_plugin* opened = nullptr;
             const thrt_status status =
                 api.plugin_open(static_cast<const thrt_plugin_options*>(options), &opened, error);
             if (opened != nullptr) api.plugin_close(opened);
             return status;
           }},
          {"thrt_context_options", 24,
           [=, &api](const void* options) {
             thrt_context* made = nullptr;
             const thrt_status status =
                 api.context_create(plugin, static_cast<const thrt_context_options*>(options), &made, error);
             if (made != nullptr) api.context_destroy(made);
             return status;
           }},
          {"thrt_buffer_options", 24,
           [=, &api](const void* options) {
             thrt_buffer* made = nullptr;
             const thrt_status status =
                 api.buffer_create(device, static_cast<const thrt_buffer_options*>(options), &made, error);
             if (made != nullptr) api.buffer_destroy(device, made);
             return status;
           }},
          {"thrt_compile_options", 8, [=](const void* options) { return compile(nullptr, options); }},
          {"thrt_program", 144,
           [=](const void* given) { return compile(static_cast<const thrt_program*>(given), nullptr); },
           [&program](unsigned char* bytes) { std::memcpy(bytes, program.abi(), 144); }}};
}

TEST_P(Pairing, AFieldThatThePluginDoesNotKnowMustBeZero) {
  const Program program = parabola();
  for (const Input& input : inputs(api, plugin->handle(), context(), program, &error_)) {
    SCOPED_TRACE(input.name);
    const std::uint32_t known_to_plugin = input.v1 + (GetParam().is_future ? 16 : 0);
    for (const std::uint32_t size : {input.v1, input.v1 + 16, input.v1 + 32}) {
      alignas(8) std::array<unsigned char, 256> bytes{};
      input.fill(bytes.data());
      std::memcpy(bytes.data(), &size, sizeof size);
      EXPECT_EQ(input.pass(bytes.data()), THRT_OK) << size << ": " << error_.message;
      // Each byte behind what 1.0 knows: the field's name is its place, for a side that has no other for it.
      for (std::uint32_t at = input.v1; at < size; at += 5) {
        bytes[at] = 1;
        error_ = {};
        const thrt_status status = input.pass(bytes.data());
        bytes[at] = 0;
        if (at < known_to_plugin) {
          EXPECT_EQ(status, THRT_OK) << at << ": " << error_.message;
        } else {
          EXPECT_EQ(status, static_cast<thrt_status>(THRT_INCOMPATIBLE)) << at;
          EXPECT_THAT(error_.message, AllOf(HasSubstr("byte " + std::to_string(at)), HasSubstr("1."),
                                            HasSubstr("upgrade the backend")));
        }
      }
    }
  }
}

const auto name_of_plugin = [](const auto& each) { return std::string(each.param.name); };
#ifdef THRT_FUTURE_HOST
INSTANTIATE_TEST_SUITE_P(LaterHost, Pairing, ::testing::Values(kToday, kFirst, kFuture), name_of_plugin);
#define REFUSALS LaterHostRefuses
#else
INSTANTIATE_TEST_SUITE_P(TodaysHost, Pairing, ::testing::Values(kToday, kFirst, kFuture), name_of_plugin);
#define REFUSALS TodaysHostRefuses
#endif

// ---------------------------------------------------------------------------------------------------------------- refusals

std::string refusal(const char* file) {
  try {
    load(file);
  } catch (const Error& error) {
    return std::string(error.what()) + " / " + error.next();
  }
  return "loaded";
}

TEST(REFUSALS, APluginThatNeedsANewerHost) {
  if (kFutureHost) {
    EXPECT_EQ(refusal(kDemanding), "loaded");
    return;
  }
  EXPECT_THAT(refusal(kDemanding), AllOf(HasSubstr("needs a host with ABI 1.1 or newer"),
                                         HasSubstr("this binary has ABI 1.0"), HasSubstr("upgrade thrust")));
  // A host that does not read manifests hears it from the entry.
  void* library = dlopen(kDemanding, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto entry = reinterpret_cast<thrt_backend_entry_fn>(dlsym(library, "thrt_backend_entry_v1"));
  const thrt_backend_api* table = nullptr;
  thrt_error error{};
  EXPECT_EQ(entry(THRT_ABI_MAJOR, THRT_ABI_MINOR, &table, &error), static_cast<thrt_status>(THRT_INCOMPATIBLE));
  EXPECT_EQ(table, nullptr);
  EXPECT_THAT(error.message, AllOf(HasSubstr("1.1"), HasSubstr("1.0"), HasSubstr("upgrade the host")));
  dlclose(library);
}

TEST(REFUSALS, AManifestWithAFieldThatItDoesNotKnow) {
  const std::string said = refusal(kLoud);
  if (kFutureHost) {
    EXPECT_EQ(said, "loaded");
  } else {
    EXPECT_THAT(said, AllOf(HasSubstr("sets a field that this binary does not know"), HasSubstr("upgrade thrust")));
  }
}

#ifdef THRT_FUTURE_HOST

// ------------------------------------------------------------------------------------------- what only the later host can ask

Program cube() {
  Graph graph("cube");
  const Tensor x = graph.input("x", {DType::kF32, {3}});
  graph.output("y", graph.append(OpKind::CUBE, {x}));
  return lower(graph);
}

TEST_P(Pairing, ALaterFieldReachesAPluginThatKnowsItAndNoOther) {
  thrt_context_options options{};
  options.struct_size = sizeof options;
  options.future_number = 3;
  thrt_context* made = nullptr;
  const thrt_status status = api.context_create(plugin->handle(), &options, &made, &error_);
  if (GetParam().is_future) {
    ASSERT_EQ(status, THRT_OK) << error_.message;
    api.context_destroy(made);
  } else {
    EXPECT_EQ(status, static_cast<thrt_status>(THRT_INCOMPATIBLE));
    EXPECT_EQ(made, nullptr);
    EXPECT_THAT(error_.message, HasSubstr("byte 24"));
  }
  thrt_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(api.device_info(plugin->handle(), 0, &info, &error_), THRT_OK);
  EXPECT_EQ(info.future_number, GetParam().is_future ? 11u : 0u);
  EXPECT_EQ(info.future_more, GetParam().is_future ? 12u : 0u);
}

TEST_P(Pairing, ALaterFunctionIsThereOrNull) {
  if (!GetParam().is_future) {
    EXPECT_EQ(api.future_answer, nullptr);
    EXPECT_EQ(api.future_version, nullptr);
    return;
  }
  std::uint64_t answer = 0;
  ASSERT_NE(api.future_answer, nullptr);
  EXPECT_EQ(api.future_answer(context(), &answer, &error_), THRT_OK);
  EXPECT_EQ(answer, 42u);
  EXPECT_EQ(api.future_version(), 1u);
}

TEST_P(Pairing, ALaterOpRunsOrIsRefusedWithBothOpSets) {
  EXPECT_EQ(cube().abi()->opset, 2u);
  const Context device(plugin);
  if (!GetParam().is_future) {
    try {
      const Executable executable(device, cube());
      FAIL() << "an older plugin took a program of a later op set";
    } catch (const Error& error) {
      EXPECT_THAT(error.why(), HasSubstr("op set"));
    }
    return;
  }
  const Executable executable(device, cube());
  const std::array<Buffer, 2> buffers = {Buffer(device, 12), Buffer(device, 12)};
  Buffer in = buffers[0];
  in.write<float>(std::vector<float>{3, -1, 0.5f});
  Binding binding(executable, buffers);
  binding.run();
  EXPECT_THAT(buffers[1].read<float>(), ElementsAre(27, -1, 0.125f));
}

#endif

}  // namespace
}  // namespace thrt

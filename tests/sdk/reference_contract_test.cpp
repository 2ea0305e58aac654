// The reference plugin's file, and the ABI's contract as seen through its table.
#include "loaded_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 256> block{};
  while (std::fgets(block.data(), static_cast<int>(block.size()), pipe.get()) != nullptr) text += block.data();
  return text;
}

TEST(ReferenceFile, ExportsTheTwoSymbolsAndNothingElse) {
  std::istringstream lines(output_of("nm -D --defined-only --format=posix " + plugin_file("reference")));
  std::vector<std::string> symbols;
  for (std::string line; std::getline(lines, line);) symbols.push_back(line.substr(0, line.find_first_of("@ ")));
  EXPECT_THAT(symbols, ::testing::UnorderedElementsAre("thrt_backend_manifest_v1", "thrt_backend_entry_v1"));
}

TEST(ReferenceFile, NeedsNothingOfTheProject) {
  const std::string dynamic = output_of("readelf -d " + plugin_file("reference"));
  EXPECT_THAT(dynamic, HasSubstr("NEEDED"));
  EXPECT_THAT(dynamic, ::testing::Not(HasSubstr("thrt")));
  EXPECT_THAT(dynamic, HasSubstr("NOW"));
}

TEST_F(ReferenceTest, ManifestSaysWhatItIs) {
  const thrt_manifest& manifest = *backend.manifest;
  EXPECT_EQ(manifest.magic, THRT_MANIFEST_MAGIC);
  char text[9] = {};
  std::memcpy(text, &manifest.magic, 8);
  EXPECT_STREQ(text, "THRTBKND");
  EXPECT_EQ(manifest.struct_size, sizeof(thrt_manifest));
  EXPECT_EQ(manifest.api_size, sizeof(thrt_backend_api));
  EXPECT_EQ(manifest.pointer_bits, 64u);
  EXPECT_STREQ(manifest.id, "reference");
  EXPECT_EQ(backend.api->struct_size, sizeof(thrt_backend_api));
}

TEST_F(ReferenceTest, EntryRefusesAnotherMajor) {
  const thrt_backend_api* api = backend.api;
  thrt_error error{};
  EXPECT_EQ(backend.entry(THRT_ABI_MAJOR + 1, 0, &api, &error), THRT_INCOMPATIBLE);
  EXPECT_EQ(api, nullptr);
  EXPECT_THAT(error.message, HasSubstr("upgrade the backend"));
}

TEST_F(ReferenceTest, ListsOneDevice) {
  std::uint32_t count = 0;
  ASSERT_EQ(session.api().device_count(session.plugin(), &count, nullptr), THRT_OK);
  EXPECT_EQ(count, 1u);
  thrt_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(session.api().device_info(session.plugin(), 0, &info, nullptr), THRT_OK);
  EXPECT_EQ(info.kind, static_cast<std::uint32_t>(THRT_DEVICE_CPU));
  EXPECT_EQ(info.available, 1u);
  EXPECT_GT(info.memory_total, 1u << 20);
  EXPECT_LE(info.memory_free, info.memory_total);
  EXPECT_NE(info.storage_dtypes & (1u << THRT_DTYPE_F64), 0u);
  thrt_error error{};
  EXPECT_EQ(session.api().device_info(session.plugin(), 1, &info, &error), THRT_INVALID_ARGUMENT);
}

thrt_stats stats_of(const Session& session) {
  thrt_stats stats{};
  stats.struct_size = sizeof stats;
  session.require(session.api().context_stats(session.context(), &stats, &session.error));
  return stats;
}

TEST_F(ReferenceTest, CountsWhatItHolds) {
  ProgramBuilder program;  // needs 2 * 4096 bytes of workspace: two values that cannot share
  const std::uint32_t x = program.input("x", {DType::kF32, {1024}});
  const std::uint32_t a = program.op(OpKind::REDUCE_SUM, {x}, {0});
  const std::uint32_t wide = program.op(OpKind::BROADCAST, {a}, {}, Type{DType::kF32, {1024}});
  program.output("y", program.op(OpKind::ARGMAX, {wide}, {0}));
  const thrt_backend_api& api = session.api();

  thrt_executable_info info{};
  info.struct_size = sizeof info;
  thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = nullptr;
  ASSERT_EQ(api.compile(session.context(), &program.build(), &options, &executable, &info, &session.error), THRT_OK);
  EXPECT_EQ(info.ops, 3u);
  EXPECT_EQ(info.ops_on_device, 3u);
  EXPECT_EQ(info.launches, 1u);
  EXPECT_STREQ(info.kind, "interpreter");
  EXPECT_EQ(info.workspace_bytes, 4096u + 64u);

  thrt_buffer* in = session.buffer(4096);
  thrt_buffer* out = session.buffer(4);
  session.upload(in, f32({1024}, std::vector<float>(1024, 1.0f)));
  EXPECT_EQ(stats_of(session).bytes_allocated, 4100u);
  const thrt_slot_buffer slots[2] = {{in, 0}, {out, 0}};
  thrt_binding* binding = nullptr;
  ASSERT_EQ(api.bind(session.context(), executable, slots, 2, &binding, &session.error), THRT_OK);
  thrt_ticket ticket = 0, later = 0;
  ASSERT_EQ(api.enqueue(session.context(), binding, 7, &ticket, &session.error), THRT_OK);
  ASSERT_EQ(api.enqueue(session.context(), binding, 1, &later, &session.error), THRT_OK);
  EXPECT_GT(later, ticket);
  EXPECT_EQ(api.wait(session.context(), later, UINT64_MAX, nullptr), THRT_OK);
  EXPECT_EQ(api.wait(session.context(), 0, 0, nullptr), THRT_OK);
  EXPECT_EQ(api.wait(session.context(), later + 1, 0, nullptr), THRT_INVALID_ARGUMENT);
  session.download(out, {DType::kI32, {}});

  thrt_stats stats = stats_of(session);
  EXPECT_EQ(stats.buffers, 2u);
  EXPECT_EQ(stats.executables, 1u);
  EXPECT_EQ(stats.bindings, 1u);
  EXPECT_EQ(stats.bytes_allocated, 4100u + 4160u);
  EXPECT_EQ(stats.bytes_uploaded, 4096u);
  EXPECT_EQ(stats.bytes_downloaded, 4u);
  EXPECT_EQ(stats.runs, 8u);
  api.binding_destroy(session.context(), binding);
  api.executable_destroy(session.context(), executable);
  api.buffer_destroy(session.context(), in);
  stats = stats_of(session);
  EXPECT_EQ(stats.bytes_allocated, 4u);
  EXPECT_EQ(stats.bytes_peak, 4100u + 4160u);
  EXPECT_EQ(stats.bindings + stats.executables, 0u);
}

TEST(ReferenceBudget, IsKeptForBuffersConstantsAndWorkspace) {
  LoadedBackend backend(plugin_file("reference"));
  Session session(*backend.api, 10'000);
  thrt_buffer* first = session.buffer(6000);
  thrt_buffer_options options{sizeof options, THRT_MEMORY_STAGING, 4001, 0};
  thrt_buffer* refused = reinterpret_cast<thrt_buffer*>(8);
  EXPECT_EQ(session.api().buffer_create(session.context(), &options, &refused, &session.error), THRT_OVER_BUDGET);
  EXPECT_EQ(refused, nullptr);
  EXPECT_STREQ(session.error.message, "buffer: asked for 4001 bytes, in use 6000 bytes of a budget of 10000 bytes");
  thrt_buffer* second = session.buffer(3000);

  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF32, {300}});
  const std::uint32_t wide = program.op(OpKind::BROADCAST, {x}, {1}, Type{DType::kF32, {2, 300}});
  program.output("y", program.op(OpKind::REDUCE_SUM, {wide}, {0, 1}));
  thrt_executable* executable = session.compile(program.build());
  const thrt_slot_buffer slots[2] = {{first, 0}, {second, 0}};
  thrt_binding* binding = nullptr;
  EXPECT_EQ(session.api().bind(session.context(), executable, slots, 2, &binding, &session.error), THRT_OVER_BUDGET);
  EXPECT_THAT(session.error.message, HasSubstr("workspace: asked for 2432 bytes, in use 9000"));
  EXPECT_EQ(binding, nullptr);

  ProgramBuilder constants;
  const std::vector<float> data(500, 1.0f);
  constants.output("c", constants.constant({DType::kF32, {500}}, data.data()));
  EXPECT_THROW(session.compile(constants.build()), std::runtime_error);
  EXPECT_EQ(session.error.code, THRT_OVER_BUDGET);
  EXPECT_THAT(session.error.message, HasSubstr("constants: asked for"));
  EXPECT_EQ(stats_of(session).bytes_allocated, 9000u);
  EXPECT_EQ(stats_of(session).bytes_budget, 10'000u);
}

TEST_F(ReferenceTest, MoreThanTheMachineHasIsRefused) {
  thrt_buffer_options options{sizeof options, THRT_MEMORY_DEVICE, std::uint64_t{1} << 60, 0};
  thrt_buffer* refused = nullptr;
  EXPECT_EQ(session.api().buffer_create(session.context(), &options, &refused, &session.error), THRT_OVER_BUDGET);
  options.bytes = 64;
  options.alignment = std::uint64_t{1} << 62;
  EXPECT_EQ(session.api().buffer_create(session.context(), &options, &refused, &session.error), THRT_OUT_OF_MEMORY);
}

TEST_F(ReferenceTest, BuffersOfNothingWork) {
  session.upload(session.buffer(0), f32({0}, {}));
  const Array empty = session.op(OpKind::NEG, {f32({0, 3}, {})});
  EXPECT_TRUE(empty.bytes.empty());
}

TEST_F(ReferenceTest, RefusesAMalformedProgramByOpAndName) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF32, {4}});
  program.output("y", program.op(OpKind::NEG, {program.op(OpKind::ABS, {x})}));
  program.values.back().dims[0] = 5;
  std::uint32_t count = 0;
  EXPECT_EQ(session.api().check(session.context(), &program.build(), nullptr, 0, &count, &session.error),
            THRT_INVALID_PROGRAM);
  EXPECT_EQ(session.error.op_index, 1u);
  EXPECT_THAT(session.error.message, HasSubstr("op 1 (neg): its result is declared as f32[5] but is f32[4]"));
}

TEST_F(ReferenceTest, ChecksAWellFormedProgramWithoutRefusal) {
  ProgramBuilder program;
  const std::uint32_t x = program.input("x", {DType::kF64, {4}});
  program.output("y", program.op(OpKind::NEG, {x}));
  std::uint32_t count = 9;
  EXPECT_EQ(session.api().check(session.context(), &program.build(), nullptr, 0, &count, &session.error), THRT_OK);
  EXPECT_EQ(count, 0u);
}

TEST(ReferenceLifecycle, OpensAndClosesFiftyTimes) {
  for (int round = 0; round < 50; ++round) {
    LoadedBackend backend(plugin_file("reference"));
    Session session(*backend.api);
    EXPECT_EQ(session.op(OpKind::NEG, {f32({1}, {3})}).as<float>()[0], -3.0f);
  }
}

}  // namespace
}  // namespace thrt::testing

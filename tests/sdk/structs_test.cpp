#include <thrt/sdk/structs.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace thrt::sdk {
namespace {

// What a host of a later minor version might send.
struct NewerBufferOptions {
  thrt_buffer_options known;
  std::uint64_t added;
};

thrt_status read_status(const void* given, thrt_error* error = nullptr) {
  return guarded(error, [&] { read_input(static_cast<const thrt_buffer_options*>(given), "thrt_buffer_options"); });
}

TEST(ReadInput, TakesANewerCallersStructWhenTheNewPartIsZero) {
  NewerBufferOptions options{{sizeof(NewerBufferOptions), THRT_MEMORY_STAGING, 100, 128}, 0};
  const thrt_buffer_options read = read_input(&options.known, "thrt_buffer_options");
  EXPECT_EQ(read.bytes, 100u);
  EXPECT_EQ(read.alignment, 128u);
}

TEST(ReadInput, RefusesAFieldItDoesNotKnow) {
  NewerBufferOptions options{{sizeof(NewerBufferOptions), THRT_MEMORY_STAGING, 100, 128}, 0};
  reinterpret_cast<unsigned char*>(&options)[sizeof options - 1] = 1;
  thrt_error error{};
  EXPECT_EQ(read_status(&options, &error), THRT_INCOMPATIBLE);
  EXPECT_THAT(error.message, ::testing::HasSubstr("thrt_buffer_options sets a field at byte 31"));
  EXPECT_THAT(error.message, ::testing::HasSubstr("upgrade the backend"));
}

TEST(ReadInput, TakesWhatAnOlderCallerLacksAsZero) {
  alignas(8) unsigned char bytes[sizeof(thrt_buffer_options)];
  std::memset(bytes, 0xFF, sizeof bytes);
  const std::uint32_t size = 16, kind = 0;
  const std::uint64_t wanted = 4096;
  std::memcpy(bytes, &size, 4);
  std::memcpy(bytes + 4, &kind, 4);
  std::memcpy(bytes + 8, &wanted, 8);
  const auto read = read_input(reinterpret_cast<const thrt_buffer_options*>(bytes), "thrt_buffer_options");
  EXPECT_EQ(read.bytes, 4096u);
  EXPECT_EQ(read.alignment, 0u);
}

TEST(ReadInput, RefusesASizeThatIsNoSize) {
  thrt_buffer_options options{};
  for (const std::uint32_t size : {0u, 4u, 0xFFFFFFFFu}) {
    options.struct_size = size;
    EXPECT_EQ(read_status(&options), THRT_INVALID_ARGUMENT) << size;
  }
  EXPECT_EQ(read_status(nullptr), THRT_INVALID_ARGUMENT);
}

TEST(WriteOutput, WritesAtMostTheCallersSizeAndLeavesStructSizeAlone) {
  thrt_stats value{};
  value.struct_size = 12345;
  value.buffers = 3;
  value.bytes_allocated = 77;
  value.runs = 5;
  struct {
    thrt_stats stats;
    std::uint64_t beyond = 0xABABABABABABABABu;
  } given{};
  given.stats.struct_size = 24;
  given.stats.bytes_peak = 1;  // at byte 24: not the caller's capacity any more
  write_output(&given.stats, value, "thrt_stats");
  EXPECT_EQ(given.stats.struct_size, 24u);
  EXPECT_EQ(given.stats.buffers, 3u);
  EXPECT_EQ(given.stats.bytes_allocated, 77u);
  EXPECT_EQ(given.stats.bytes_peak, 1u);
  EXPECT_EQ(given.stats.runs, 0u);

  given.stats.struct_size = sizeof given;
  write_output(&given.stats, value, "thrt_stats");
  EXPECT_EQ(given.stats.struct_size, sizeof given);
  EXPECT_EQ(given.stats.runs, 5u);
  EXPECT_EQ(given.beyond, 0xABABABABABABABABu);
}

}  // namespace
}  // namespace thrt::sdk

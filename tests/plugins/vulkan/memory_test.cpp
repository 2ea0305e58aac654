// Memory: what counts against the budget, what is taken from the driver, where pieces lie.
#include "device_fixture.hpp"

#include <map>
#include <random>

namespace thrt_vulkan {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

class MemoryTest : public DeviceTest {
 protected:
  std::unique_ptr<Memory> make(std::uint64_t bytes, std::uint64_t alignment = 64,
                               std::uint32_t kind = THRT_MEMORY_DEVICE) {
    return std::make_unique<Memory>(*device_, bytes, alignment, kind, "test");
  }
};

TEST_F(MemoryTest, CountsWhatIsAskedForAndGivesItBack) {
  {
    const auto a = make(1000), b = make(3 * kMiB), c = make(0), d = make(50, 64, THRT_MEMORY_STAGING);
    EXPECT_EQ(device_->budget().used(), 1000 + 3 * kMiB + 50);
    EXPECT_EQ(c->region().buffer, VkBuffer{});
    EXPECT_GE(device_->allocator().taken(), 1000 + 3 * kMiB + 50);
    EXPECT_NE(d->region().host, nullptr);
  }
  EXPECT_EQ(device_->budget().used(), 0u);
  EXPECT_EQ(device_->budget().peak(), 1050 + 3 * kMiB);
  EXPECT_EQ(device_->allocator().taken(), 0u);
  EXPECT_EQ(device_->allocator().objects(), 0u);
}

TEST_F(MemoryTest, OverBudgetSaysWhatWasAskedWhatIsInUseAndTheBudget) {
  open(kMiB);
  const auto first = make(600 * kKiB);
  const thrt::sdk::Error error = error_of([&] { make(500 * kKiB); });
  EXPECT_EQ(error.status(), THRT_OVER_BUDGET);
  EXPECT_STREQ(error.what(), "test: asked for 512000 bytes, in use 614400 bytes of a budget of 1048576 bytes");
  const auto rest = make(424 * kKiB);  // to the last byte
  EXPECT_EQ(device_->budget().used(), kMiB);
}

TEST_F(MemoryTest, ABufferBeyondTheDevicesLimitIsOutOfMemory) {
  open(listed_->info.memory_total);
  const thrt::sdk::Error error = error_of([&] { make(listed_->info.max_buffer_bytes + 1); });
  EXPECT_EQ(error.status(), THRT_OUT_OF_MEMORY);
  EXPECT_NE(std::string(error.what()).find("at most " + std::to_string(listed_->info.max_buffer_bytes)),
            std::string::npos);
  EXPECT_EQ(device_->budget().used(), 0u);
}

// No descriptor spans a whole workspace, so it may be larger than what one can span.
TEST_F(MemoryTest, ABufferMayBeLargerThanADescriptor) {
  const std::uint64_t range = device_->limits().maxStorageBufferRange;
  if (range > 512 * kMiB) GTEST_SKIP() << "a descriptor spans " << range << " bytes, more than this test takes";
  open(range + kMiB);
  const auto memory = make(range + 4096);
  const Bytes sent = pattern(4096, 8);
  Bytes back(4096);
  device_->stream().upload(memory->region(range, 4096), sent);
  device_->stream().read(memory->region(range, 4096), back);
  EXPECT_EQ(back, sent);
}

TEST_F(MemoryTest, ManySmallBuffersAreFewObjectsOfTheDriver) {
  std::vector<std::unique_ptr<Memory>> all;
  for (int i = 0; i < 2000; ++i) all.push_back(make(1000));
  const std::uint64_t shared = 2 * device_->allocator().large();
  EXPECT_LE(device_->allocator().objects(), 2000 * 1024 / shared + 1);
  EXPECT_LE(device_->allocator().taken(), 2000u * 1024 + shared);
}

TEST_F(MemoryTest, ALargeBufferIsTakenAndReturnedAlone) {
  const std::uint64_t large = device_->allocator().large();
  auto buffer = make(large + 4096);
  EXPECT_EQ(device_->allocator().taken(), large + 4096);
  buffer.reset();
  EXPECT_EQ(device_->allocator().taken(), 0u);
}

TEST_F(MemoryTest, ASharedBlockIsNeverMadeBeyondTheBudget) {
  open(100 * kKiB);  // less than a block
  const auto a = make(10 * kKiB), b = make(20 * kKiB);
  EXPECT_EQ(device_->allocator().taken(), 30 * kKiB);
}

// Random buffers come and go: they never overlap, they lie where they should, nothing is lost.
TEST_F(MemoryTest, PiecesAreApartAlignedAndAllComeBack) {
  open(16 * kMiB);
  std::mt19937 random(7);
  struct Live {
    std::unique_ptr<Memory> memory;
    Bytes bytes;
  };
  std::vector<Live> live;
  std::uint64_t asked = 0, most_holes = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    if (!live.empty() && random() % 5 < 2) {
      const std::size_t i = random() % live.size();
      asked -= live[i].memory->bytes();
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      const std::uint64_t bytes = 1 + random() % (random() % 20 == 0 ? 2 * kMiB : 8 * kKiB);
      const std::uint64_t alignment = std::uint64_t{64} << random() % 7;
      if (asked + bytes > device_->budget().bytes()) continue;
      auto memory = make(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->region().host) % alignment, 0u);
      Bytes filling = pattern(bytes, static_cast<unsigned>(turn));
      device_->stream().upload(memory->region(), filling);
      live.push_back({std::move(memory), std::move(filling)});
      asked += bytes;
    }
    ASSERT_EQ(device_->budget().used(), asked);
    most_holes = std::max(most_holes, device_->allocator().taken() - asked);
  }
  for (const Live& each : live) {
    Bytes back(each.bytes.size());
    device_->stream().read(each.memory->region(), back);
    ASSERT_EQ(back, each.bytes);
  }
  EXPECT_LE(most_holes, 8 * kMiB);
  live.clear();
  EXPECT_EQ(device_->allocator().taken(), 0u);
}

TEST_F(MemoryTest, TheDriversRefusalSaysWhatWasAskedFor) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends a process whose driver asks for so much";
#endif
  unsetenv("THRUST_VULKAN_VALIDATION");  // its layer complains of such a request before the driver does
  const Instance instance;
  Device device(instance, *first_available(instance), kMiB);
  const VkMemoryRequirements needs{std::uint64_t{1} << 46, 64, ~0u};
  const thrt::sdk::Error error =
      error_of([&] { device.allocator().allocate(needs, 64, device.memory_types().device, "weights"); });
  EXPECT_EQ(error.status(), THRT_OUT_OF_MEMORY);
  EXPECT_STREQ(error.native_api(), "vkAllocateMemory");
  EXPECT_LT(error.native_code(), 0);
  EXPECT_EQ(std::string(error.what())
                .rfind("weights: asked for 70368744177664 bytes, in use 0 bytes of a budget of "
                       "1048576 bytes, taken from the driver 0 bytes",
                       0),
            0u)
      << error.what();
}

// ---------------------------------------------------------------------------------------------- choosing memory types

VkPhysicalDeviceMemoryProperties properties(std::vector<std::pair<std::uint64_t, VkMemoryHeapFlags>> heaps,
                                            std::vector<std::pair<std::uint32_t, VkMemoryPropertyFlags>> types) {
  VkPhysicalDeviceMemoryProperties all{};
  for (const auto& [size, flags] : heaps) all.memoryHeaps[all.memoryHeapCount++] = {size, flags};
  for (const auto& [heap, flags] : types) all.memoryTypes[all.memoryTypeCount++] = {flags, heap};
  return all;
}

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = kVisible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr std::uint64_t kGiB = 1024 * kMiB;

TEST(MemoryTypesTest, ADiscreteGpuWithASmallWindowKeepsDeviceMemoryToItself) {
  const auto all = properties(
      {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}, {256 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
      {{0, kLocal}, {1, kVisible}, {2, kLocal | kVisible}, {1, kCached}});
  EXPECT_EQ(device_heap(all), 0u);
  const MemoryTypes types = choose_memory_types(all);
  EXPECT_EQ(types.device.index, 0u);
  EXPECT_FALSE(types.device.host_visible);
  EXPECT_EQ(types.staging.index, 3u);
  EXPECT_TRUE(types.staging.host_cached);
}

TEST(MemoryTypesTest, AGpuWhoseWholeMemoryIsVisibleIsWrittenDirectly) {
  const auto all = properties({{16 * kGiB, 0}, {8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
                              {{0, 0}, {1, kLocal}, {0, kVisible}, {0, kCached}, {1, kLocal | kVisible}});
  EXPECT_EQ(device_heap(all), 1u);
  const MemoryTypes types = choose_memory_types(all);
  EXPECT_EQ(types.device.index, 4u);
  EXPECT_TRUE(types.device.host_visible);
  EXPECT_FALSE(types.device.host_cached);  // reading across the bus is slow: downloads are staged
  EXPECT_EQ(types.staging.index, 3u);
}

TEST(MemoryTypesTest, SharedMemoryIsOneTypeForAll) {
  const auto all = properties({{2 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}}, {{0, kLocal | kCached}});
  const MemoryTypes types = choose_memory_types(all);
  EXPECT_EQ(types.device.index, 0u);
  EXPECT_EQ(types.staging.index, 0u);
  EXPECT_TRUE(types.device.host_cached);
}

TEST(MemoryTypesTest, TypesThatNeedAFeatureAreNotTaken) {
  const auto all =
      properties({{2 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
                 {{0, kLocal | kCached | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD}, {0, kLocal | kVisible}});
  EXPECT_EQ(choose_memory_types(all).device.index, 1u);
  EXPECT_EQ(choose_memory_types(all).staging.index, 1u);
}

// The first of two types with the same flags is for images alone; then the whole largest heap is.
TEST(MemoryTypesTest, TypesThatBuffersMayNotLieInAreNotTaken) {
  const auto all = properties(
      {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}, {256 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
      {{0, kLocal}, {0, kLocal}, {1, kCached}, {1, kCached}, {2, kLocal}});
  EXPECT_EQ(choose_memory_types(all).device.index, 0u);
  EXPECT_EQ(choose_memory_types(all, 0b11010).device.index, 1u);
  EXPECT_EQ(choose_memory_types(all, 0b11010).staging.index, 3u);
  EXPECT_EQ(choose_memory_types(all, 0b10100).device.index, 4u);
  EXPECT_EQ(error_of([&] { choose_memory_types(all, 0b00001); }).status(), THRT_UNAVAILABLE);
}

}  // namespace
}  // namespace thrt_vulkan

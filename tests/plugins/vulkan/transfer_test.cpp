// What is queued happens in order and arrives, through the ring and without it.
#include "device_fixture.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace thrt_vulkan {
namespace {

constexpr std::uint64_t kSmallRing = 4096;

Region without_host(Region region) {
  region.host = nullptr;
  return region;
}

TEST(RingTest, PiecesAreInTheRingApartAndInOrder) {
  std::mt19937 random(3);
  Ring ring(1000);
  struct Piece {
    std::uint64_t begin, end, mark;
  };
  std::deque<Piece> live;
  int refused = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    const std::uint64_t bytes = 1 + random() % 300;
    if (const std::optional<std::uint64_t> at = ring.take(bytes)) {
      ASSERT_LE(*at + bytes, 1000u);
      for (const Piece& other : live) ASSERT_TRUE(*at + bytes <= other.begin || other.end <= *at);
      live.push_back({*at, *at + bytes, ring.end()});
    } else {
      ASSERT_FALSE(live.empty());  // an empty ring has room
      ++refused;
    }
    while (!live.empty() && random() % 2 == 0) {
      ring.give_back(live.front().mark);
      live.pop_front();
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_FALSE(Ring(1000).take(1001).has_value());
  EXPECT_TRUE(Ring(1000).take(1000).has_value());
}

// Both ways into and out of memory: as the host sees it, and as if it did not.
class TransferTest : public DeviceTest, public testing::WithParamInterface<bool> {
 protected:
  Region seen(const Region& region) const { return GetParam() ? region : without_host(region); }
  std::unique_ptr<Memory> make(std::uint64_t bytes) {
    return std::make_unique<Memory>(*device_, bytes, 64, THRT_MEMORY_DEVICE, "test");
  }
  VkCommandBuffer copying(const Pool& pool, const Region& from, const Region& to) {
    return commands(
        pool.get(),
        [&](VkCommandBuffer into) {
          const VkBufferCopy region{from.offset, to.offset, from.bytes};
          device_->vk().vkCmdCopyBuffer(into, from.buffer, to.buffer, 1, &region);
        },
        VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  }
};

INSTANTIATE_TEST_SUITE_P(HostSees, TransferTest, testing::Bool());

TEST_P(TransferTest, AllSizesComeBackThroughASmallRing) {
  Stream stream(*device_, kSmallRing);
  for (const std::size_t size : {1u, 63u, 1024u, 1025u, 4096u, 4097u, 100003u}) {
    const auto memory = make(size + 7);
    const Bytes sent = pattern(size, static_cast<unsigned>(size));
    stream.upload(seen(memory->region(3, size)), sent);
    Bytes back(size);
    stream.wait(stream.download(seen(memory->region(3, size)), back), UINT64_MAX);
    EXPECT_EQ(back, sent) << size;
    stream.finish();
  }
}

TEST_P(TransferTest, AFullRingWaitsForItselfAndNobodyElse) {
  Stream stream(*device_, kSmallRing);
  const auto memory = make(64 * 700);
  std::vector<Bytes> sent, back;
  for (unsigned i = 0; i < 64; ++i) {
    sent.push_back(pattern(700, i));
    stream.upload(seen(memory->region(700 * i, 700)), sent.back());
  }
  back.resize(64, Bytes(700));
  thrt_ticket last = 0;
  for (unsigned i = 0; i < 64; ++i) last = stream.download(seen(memory->region(700 * i, 700)), back[i]);
  stream.wait(last, UINT64_MAX);
  EXPECT_EQ(back, sent);
}

TEST_P(TransferTest, UploadsRunsAndDownloadsHappenInTheOrderTheyWereQueued) {
  const auto a = make(1000), b = make(1000);
  const Pool pool(*device_);
  Stream& stream = device_->stream();
  const Region from = a->region(), to = b->region();
  VkCommandBuffer copy = copying(pool, from, to);
  std::vector<Bytes> expected, got(40, Bytes(1000)), part(40, Bytes(10));
  for (unsigned i = 0; i < 40; ++i) {  // nothing waits in between
    expected.push_back(pattern(1000, i));
    stream.upload(seen(from), expected[i]);
    if (i % 3 == 0) stream.upload(seen(a->region(100, 50)), std::span(expected[i]).subspan(100, 50));
    stream.run({&copy, 1}, 1);
    if (i % 2 == 0) stream.upload(seen(from), pattern(1000, 1000 + i));  // too late for that run
    stream.download(seen(to), got[i]);
    stream.download(seen(b->region(500, 10)), part[i]);
    if (i % 7 == 6) stream.wait(stream.last(), UINT64_MAX);
  }
  stream.wait(stream.last(), UINT64_MAX);
  EXPECT_EQ(got, expected);
  for (unsigned i = 0; i < 40; ++i) EXPECT_TRUE(std::equal(part[i].begin(), part[i].end(), expected[i].begin() + 500));
}

TEST_P(TransferTest, ADownloadHasWhatWasThereWhenItWasQueued) {
  const auto a = make(512), b = make(512);
  const Pool pool(*device_);
  Stream& stream = device_->stream();
  const Bytes first = pattern(512, 1), second = pattern(512, 2);
  stream.upload(seen(a->region()), first);
  stream.upload(seen(b->region()), second);
  VkCommandBuffer copy = copying(pool, b->region(), a->region());
  Bytes before(512), after(512), again(512);
  const thrt_ticket early = stream.download(seen(a->region()), before);
  stream.run({&copy, 1}, 1);
  const thrt_ticket late = stream.download(seen(a->region()), after);
  stream.upload(seen(a->region()), first);
  const thrt_ticket last = stream.download(seen(a->region()), again);
  EXPECT_LT(early, late);
  EXPECT_LE(late, last);
  stream.wait(last, UINT64_MAX);
  EXPECT_EQ(before, first);
  EXPECT_EQ(after, second);
  EXPECT_EQ(again, first);
}

TEST_P(TransferTest, ARunIsRepeatedAsOftenAsAsked) {
  constexpr std::uint32_t kTimes = 150;  // more than one vkQueueSubmit takes
  const auto memory = make(4 * (kTimes + 1));
  const Pool pool(*device_);
  VkCommandBuffer shift = commands(
      pool.get(),
      [&](VkCommandBuffer into) {  // element i becomes element i + 1
        for (std::uint32_t i = kTimes; i > 0; --i) {
          const VkBufferCopy region{4 * (i - 1), 4 * i, 4};
          device_->vk().vkCmdCopyBuffer(into, memory->buffer(), memory->buffer(), 1, &region);
          device_->barrier(into);
        }
      },
      VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  Bytes sent(4 * (kTimes + 1)), back(sent.size());
  sent[0] = std::byte{42};
  Stream& stream = device_->stream();
  stream.upload(seen(memory->region()), sent);
  stream.run({&shift, 1}, kTimes - 1);
  stream.download(seen(memory->region()), back);
  stream.wait(stream.last(), UINT64_MAX);
  EXPECT_EQ(back[4 * (kTimes - 1)], std::byte{42});
  EXPECT_EQ(back[4 * kTimes], std::byte{0});
}

TEST_P(TransferTest, AStepIsOneSubmissionOrTwo) {
  const auto a = make(1000), b = make(1000);
  const Pool pool(*device_);
  Stream& stream = device_->stream();
  VkCommandBuffer copy = copying(pool, a->region(), b->region());
  Bytes back(1000);
  const Bytes sent = pattern(100, 9);
  const std::uint64_t before = stream.submissions();
  for (std::uint64_t i = 0; i < 10; ++i) stream.upload(seen(a->region(100 * i, 100)), sent);
  stream.run({&copy, 1}, 1);
  stream.read(seen(b->region()), back);
  const bool direct = GetParam() && b->region().host != nullptr && b->region().host_cached;
  EXPECT_EQ(stream.submissions() - before, direct ? 1u : 2u);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), back.begin() + 900));
}

TEST_P(TransferTest, BytesArriveForWhoeverWaits) {
  const auto memory = make(1 << 16);
  Stream& stream = device_->stream();
  const Bytes sent = pattern(1 << 16, 5);
  stream.upload(seen(memory->region()), sent);
  std::atomic<bool> stop{false};
  std::thread other([&] {  // waits for everything all the time
    while (!stop) stream.wait(stream.last(), UINT64_MAX);
  });
  for (unsigned i = 0; i < 300; ++i) {
    Bytes back(1 << 16);
    const thrt_ticket ticket = stream.download(seen(memory->region()), back);
    if (i % 2 == 0) stream.upload(seen(memory->region(0, 64)), std::span(sent).first(64));
    stream.wait(ticket, UINT64_MAX);
    ASSERT_EQ(back, sent) << i;
  }
  stop = true;
  other.join();
}

class StreamTest : public DeviceTest {};

TEST_F(StreamTest, TicketsThatWereNeverHandedOutAreRefused) {
  Stream& stream = device_->stream();
  EXPECT_TRUE(stream.wait(0, 0));
  const thrt::sdk::Error error = error_of([&] { stream.wait(1, 0); });
  EXPECT_EQ(error.status(), THRT_INVALID_ARGUMENT);
}

TEST_F(StreamTest, AFailureIsReportedOnceByTheFirstWaitForItsTicketOrALaterOne) {
  Stream& stream = device_->stream();
  const Pool pool(*device_);
  VkCommandBuffer nothing = commands(
      pool.get(), [](VkCommandBuffer) {}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  const thrt_ticket first = stream.run({&nothing, 1}, 1), second = stream.run({&nothing, 1}, 1);
  stream.fail(second, std::make_exception_ptr(thrt::sdk::Error(THRT_NON_FINITE, "op 3 made a NaN")));
  stream.fail(second, std::make_exception_ptr(thrt::sdk::Error(THRT_NON_FINITE, "so did what came after")));
  EXPECT_TRUE(stream.wait(first, UINT64_MAX));
  const thrt_ticket third = stream.run({&nothing, 1}, 1);
  const thrt::sdk::Error error = error_of([&] { stream.wait(third, UINT64_MAX); });
  EXPECT_EQ(error.status(), THRT_NON_FINITE);
  EXPECT_STREQ(error.what(), "op 3 made a NaN");
  EXPECT_TRUE(stream.wait(third, UINT64_MAX));
}

TEST_F(StreamTest, AWaitEndsWithItsTimeout) {
  const auto get = [&](const char* name) { return instance_->vk().vkGetDeviceProcAddr(device_->handle(), name); };
  const auto create = reinterpret_cast<PFN_vkCreateEvent>(get("vkCreateEvent"));
  const auto destroy = reinterpret_cast<PFN_vkDestroyEvent>(get("vkDestroyEvent"));
  const auto set = reinterpret_cast<PFN_vkSetEvent>(get("vkSetEvent"));
  const auto wait_events = reinterpret_cast<PFN_vkCmdWaitEvents>(get("vkCmdWaitEvents"));
  VkEventCreateInfo info{VK_STRUCTURE_TYPE_EVENT_CREATE_INFO, nullptr, 0};
  VkEvent event = nullptr;
  check(create(device_->handle(), &info, nullptr, &event), "vkCreateEvent");
  {
    const Pool pool(*device_);
    VkCommandBuffer waiting = commands(pool.get(), [&](VkCommandBuffer into) {
      wait_events(into, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, nullptr, 0, nullptr,
                  0, nullptr);
    });
    Stream& stream = device_->stream();
    const thrt_ticket ticket = stream.run({&waiting, 1}, 1);
    EXPECT_FALSE(stream.wait(ticket, 0));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(stream.wait(ticket, 30'000'000));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
    check(set(device_->handle(), event), "vkSetEvent");
    EXPECT_TRUE(stream.wait(ticket, UINT64_MAX));
  }
  destroy(device_->handle(), event, nullptr);
}

// The driver's functions, replaced by ones that answer as a driver does whose device hangs.
TEST_F(StreamTest, ALostDeviceIsSaidToBeLostAndHoldsNothingUp) {
  Pool pool(*device_);
  auto memory = std::make_unique<Memory>(*device_, 256, 64, THRT_MEMORY_DEVICE, "test");
  VkCommandBuffer nothing = commands(
      pool.get(), [](VkCommandBuffer) {}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  Stream& stream = device_->stream();
  const thrt_ticket before = stream.run({&nothing, 1}, 1);
  stream.wait(before, UINT64_MAX);
  auto& vk = const_cast<DeviceTable&>(device_->vk());
  const DeviceTable working = vk;
  vk.vkWaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) { return VK_ERROR_DEVICE_LOST; };
  vk.vkGetSemaphoreCounterValue = [](VkDevice, VkSemaphore, std::uint64_t*) { return VK_ERROR_DEVICE_LOST; };
  const thrt_ticket ticket = stream.run({&nothing, 1}, 1);
  Bytes never(256);
  stream.download(without_host(memory->region()), never);
  for (int i = 0; i < 2; ++i) {
    const thrt::sdk::Error error = error_of([&] { stream.wait(ticket, UINT64_MAX); });
    EXPECT_EQ(error.status(), THRT_DEVICE_LOST);
    EXPECT_STREQ(error.native_api(), "vkWaitSemaphores");
    EXPECT_EQ(error.native_code(), VK_ERROR_DEVICE_LOST);
  }
  vk.vkQueueSubmit = [](VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; };
  EXPECT_EQ(error_of([&] { stream.run({&nothing, 1}, 1); }).status(), THRT_DEVICE_LOST);
  EXPECT_EQ(error_of([&] { stream.upload(memory->region(), pattern(256, 1)); }).status(), THRT_DEVICE_LOST);
  stream.finish();
  working.vkDeviceWaitIdle(device_->handle());  // this device only plays dead: the layers want it idle
  memory.reset();
  EXPECT_EQ(device_->budget().used(), 0u);
}

// A driver that refuses a submission once: the copies in it are lost, and no later success says that they were done.
TEST_F(StreamTest, WhatTheDriverDidNotTakeIsNeverSaidToBeDone) {
  const Pool pool(*device_);
  const auto memory = std::make_unique<Memory>(*device_, 256, 64, THRT_MEMORY_DEVICE, "test");
  const Region region = without_host(memory->region());
  VkCommandBuffer nothing = commands(
      pool.get(), [](VkCommandBuffer) {}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  auto& vk = const_cast<DeviceTable&>(device_->vk());
  const auto submit = vk.vkQueueSubmit;
  Stream& stream = device_->stream();
  Bytes before(256), back(256);
  stream.upload(region, pattern(256, 1));
  stream.run({&nothing, 1}, 1);
  stream.download(region, before);
  stream.wait(stream.last(), UINT64_MAX);
  EXPECT_EQ(before, pattern(256, 1));

  stream.upload(region, pattern(256, 2));
  const thrt_ticket ticket = stream.download(region, back);
  vk.vkQueueSubmit = [](VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_OUT_OF_DEVICE_MEMORY; };
  EXPECT_EQ(error_of([&] { stream.run({&nothing, 1}, 1); }).status(), THRT_OUT_OF_MEMORY);
  vk.vkQueueSubmit = submit;
  for (int i = 0; i < 2; ++i) {
    const thrt::sdk::Error error = error_of([&] { stream.wait(ticket, UINT64_MAX); });
    EXPECT_EQ(error.status(), THRT_OUT_OF_MEMORY);
    EXPECT_STREQ(error.native_api(), "vkQueueSubmit");
  }
  EXPECT_EQ(error_of([&] { stream.run({&nothing, 1}, 1); }).status(), THRT_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([&] { stream.upload(region, pattern(256, 3)); }).status(), THRT_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([&] { stream.download(region, back); }).status(), THRT_OUT_OF_MEMORY);
  stream.finish();
  EXPECT_EQ(back, Bytes(256));
}

// The same in the middle of a run of more than 64 command buffers, when it is a wait that submits, and when the ring is full.
TEST_F(StreamTest, ASubmissionThatFailsHoldsNothingUp) {
  static int left;
  static PFN_vkQueueSubmit submit;
  for (const int successes : {0, 1}) {
    open(1 << 20);
    const Pool pool(*device_);
    const auto memory = std::make_unique<Memory>(*device_, 4096, 64, THRT_MEMORY_DEVICE, "test");
    VkCommandBuffer nothing = commands(
        pool.get(), [](VkCommandBuffer) {}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    auto& vk = const_cast<DeviceTable&>(device_->vk());
    submit = vk.vkQueueSubmit;
    left = successes;
    vk.vkQueueSubmit = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo* info, VkFence fence) {
      return left-- > 0 ? submit(queue, count, info, fence) : VK_ERROR_OUT_OF_HOST_MEMORY;
    };
    if (successes == 1) {
      EXPECT_EQ(error_of([&] { device_->stream().run({&nothing, 1}, 200); }).status(), THRT_OUT_OF_MEMORY);
      EXPECT_EQ(error_of([&] { device_->stream().wait(0, UINT64_MAX); }).status(), THRT_OUT_OF_MEMORY);
      continue;
    }
    Bytes back(4096);
    const thrt_ticket ticket = device_->stream().download(without_host(memory->region()), back);
    EXPECT_EQ(error_of([&] { device_->stream().wait(ticket, UINT64_MAX); }).status(), THRT_OUT_OF_MEMORY);
    Stream small(*device_, kSmallRing);
    EXPECT_EQ(error_of([&] {
                for (int i = 0; i < 10; ++i) small.upload(without_host(memory->region()), pattern(4096, 1));
              }).status(),
              THRT_OUT_OF_MEMORY);
  }
}

TEST_F(StreamTest, EmptyTransfersNeedNoBuffer) {
  EXPECT_EQ(device_->stream().upload({}, {}), 0u);
  EXPECT_EQ(device_->stream().download({}, {}), 0u);
  EXPECT_EQ(device_->stream().submissions(), 0u);
}

TEST_F(StreamTest, ABufferThatGoesLetsItsDownloadFinish) {
  Bytes back(256);
  const Bytes sent = pattern(256, 3);
  const Pool pool(*device_);
  VkCommandBuffer nothing = commands(pool.get(), [](VkCommandBuffer) {});
  {
    Memory memory(*device_, 256, 64, THRT_MEMORY_DEVICE, "test");
    device_->stream().upload(memory.region(), sent);
    device_->stream().run({&nothing, 1}, 1);
    device_->stream().download(memory.region(), back);
  }
  EXPECT_EQ(back, sent);
}

TEST_F(StreamTest, ContextsRunSideBySide) {
  const auto work = [&](unsigned seed) {
    Device device(*instance_, *listed_, std::uint64_t{8} << 20);
    Memory memory(device, 100000, 64, THRT_MEMORY_DEVICE, "test");
    for (unsigned i = 0; i < 20; ++i) {
      const Bytes sent = pattern(100000, seed + i);
      Bytes back(100000);
      device.stream().upload(without_host(memory.region()), sent);
      device.stream().read(without_host(memory.region()), back);
      if (back != sent) return false;
    }
    return true;
  };
  bool first = false, second = false;
  std::thread other([&] { first = work(100); });
  second = work(200);
  other.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

}  // namespace
}  // namespace thrt_vulkan

// random_bits: Philox4x32-10 over many counters at a time. philox.h is the definition; the tests compare with it word
// by word.
#include "level.hpp"

namespace thrt::cpu::THRT_CPU_LEVEL {
namespace {

constexpr int kBlocks = 16;  // counters in flight: one vector register of 32-bit words each

// Blocks first .. first + kBlocks, four words of each.
void draw(const std::uint32_t state[4], std::uint64_t first, std::uint32_t* out) {
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(block);
    c1[i] = static_cast<std::uint32_t>(block >> 32);
    c2[i] = state[2];
    c3[i] = state[3];
  }
  std::uint32_t key0 = state[0], key1 = state[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t product0 = static_cast<std::uint64_t>(0xD2511F53u) * c0[i];
      const std::uint64_t product1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2[i];
      const std::uint32_t next0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1[i] ^ key0;
      const std::uint32_t next2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3[i] ^ key1;
      c1[i] = static_cast<std::uint32_t>(product1);
      c3[i] = static_cast<std::uint32_t>(product0);
      c0[i] = next0;
      c2[i] = next2;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kBlocks; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

}  // namespace

void random_words(const std::uint32_t state[4], std::uint32_t* out, std::int64_t n) {
  constexpr std::int64_t kWords = 4 * kBlocks;
  std::int64_t done = 0;
  for (; done + kWords <= n; done += kWords) draw(state, static_cast<std::uint64_t>(done / 4), out + done);
  if (done < n) {
    std::uint32_t last[kWords];
    draw(state, static_cast<std::uint64_t>(done / 4), last);
    for (std::int64_t i = done; i < n; ++i) out[i] = last[i - done];
  }
}

}  // namespace thrt::cpu::THRT_CPU_LEVEL

// Expected values: numpy 2.4.6, np.random.PCG64(seed).random_raw(), .state,
// np.random.SeedSequence(42).generate_state().
#include "thrt/rl/env/pcg64.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thrt::rl {
namespace {

using ::testing::ElementsAre;

struct Stream {
  std::uint64_t seed;
  Pcg64State state;
  std::array<std::uint64_t, 3> first;
};

class Pcg64Streams : public ::testing::TestWithParam<Stream> {};

TEST_P(Pcg64Streams, EqualNumpys) {
  Pcg64 rng(GetParam().seed);
  EXPECT_EQ(rng.state(), GetParam().state);
  for (std::uint64_t expected : GetParam().first) EXPECT_EQ(rng.next_uint64(), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, Pcg64Streams,
    ::testing::Values(Stream{0,
                             {0x1aa1b5345996452d, 0x09585eb7a69561e3, 0x418ddadb3af71a82, 0x588133bc447873a9},
                             {0xa30febcfd9c2825f, 0x4510bdf882d9d721, 0x0a7d3da94ecde8b8}},
                      Stream{42,
                             {0xcea44f6798798f2a, 0xacbc7c9d68860ac8, 0xfa505436c9a8416e, 0x66caf2e28d25abff},
                             {0xc621fbcd16d92688, 0x705a5661a791ffc1, 0xdbcd12c26eda1624}},
                      Stream{(1ULL << 32) + 5,
                             {0x2931d0c6dbee79bf, 0xece8058fe085a345, 0x271168ffcdb9ee72, 0xbdd751b35ac873c3},
                             {0xc6323ec321deb8d1, 0x78814821c73a0583, 0xb22536d8e0ec17c0}},
                      Stream{~0ULL,
                             {0xddc419442aebde79, 0x4d8b0a3b048acdb0, 0x37762aacb3cc854f, 0x4ed623c7d18951ed},
                             {0xae163a7a8c47568f, 0xd86659f5f3382359, 0x01e52b195bc2d24a}}),
    [](const auto& stream) { return "seed_" + std::to_string(stream.param.seed); });

TEST(Pcg64, StaysOnNumpysStreamForAMillionNumbers) {
  Pcg64 rng(7);
  for (int i = 0; i < 1'000'000; ++i) rng.next_uint64();
  EXPECT_EQ(rng.next_uint64(), 0x755e0a823f8b29adULL);
  EXPECT_EQ(rng.state(), (Pcg64State{0xd39e538da0247f83, 0x4949066d08078731, 0xc4751896ce8acebf, 0x66887f5ac070d959}));
}

TEST(Pcg64, DoublesEqualDefaultRngs) {
  Pcg64 rng(42);
  EXPECT_EQ(rng.random_double(), 0x1.8c43f79a2db24p-1);
  EXPECT_EQ(rng.random_double(), 0x1.c16959869e47ep-2);
  EXPECT_EQ(rng.random_double(), 0x1.b79a2584ddb42p-1);
  EXPECT_EQ(rng.uniform(-0.05, 0.05), 0x1.435e26c08cd04p-6);
  EXPECT_EQ(rng.uniform(-0.05, 0.05), -0x1.4c732dbc27c1ap-5);
  EXPECT_EQ(rng.uniform(-3.0, 7.5), 0x1.cf9e43af81cb4p+2);
  EXPECT_EQ(rng.uniform(-3.0, 7.5), 0x1.3f7c629d4e6cep+2);
}

TEST(Pcg64, ContinuesFromASavedState) {
  Pcg64 rng(3);
  rng.next_uint64();
  Pcg64 copy(rng.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(copy.next_uint64(), rng.next_uint64());
}

TEST(SeedSequence, EqualsNumpys) {
  const SeedSequence seed(42);
  EXPECT_THAT(seed.generate_state_u32(6),
              ElementsAre(0xcd540ab7u, 0x9f1e2e6du, 0x79fb94b6u, 0xd57873dcu, 0x64d420b7u, 0x7d282a1bu));
  EXPECT_THAT(seed.generate_state_u64(3), ElementsAre(0x9f1e2e6dcd540ab7u, 0xd57873dc79fb94b6u, 0x7d282a1b64d420b7u));
}

TEST(SeedSequence, MixesWordsBeyondItsPool) {  // the Python integer 2**160 + 2**70 + 12345
  const std::array<std::uint32_t, 6> words{12345, 0, 0x40, 0, 0, 1};
  Pcg64 rng{SeedSequence(words)};
  EXPECT_EQ(rng.next_uint64(), 0x3ae241bffe2aee48u);
  EXPECT_EQ(rng.next_uint64(), 0xec4aeeca7aa9cb30u);
}

}  // namespace
}  // namespace thrt::rl

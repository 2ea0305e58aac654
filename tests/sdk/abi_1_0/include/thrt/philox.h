/*
 * Philox4x32-10: the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3" (SC 2011). Specified to the bit, so that every backend draws the same numbers. Multipliers and Weyl
 * constants are those of the paper.
 *
 * random_bits (ops.def) takes a state u32[4] = {key0, key1, stream_low, stream_high}; element e of its result, in row-major
 * order, is lane e % 4 of
 *     philox(counter = {low32(e / 4), high32(e / 4), stream_low, stream_high}, key = {key0, key1}).
 * A program that draws advances the state itself, by adding {0, 0, 1, 0} (wrapping), once for each draw.
 */
#ifndef THRT_PHILOX_H
#define THRT_PHILOX_H

#include <stdint.h>

/* One block: four words from a counter of four words and a key of two. counter is overwritten with the output. */
static inline void thrt_philox4x32_10(uint32_t counter[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = (uint64_t)0xD2511F53u * counter[0];
    const uint64_t product1 = (uint64_t)0xCD9E8D57u * counter[2];
    const uint32_t next0 = (uint32_t)(product1 >> 32) ^ counter[1] ^ key0;
    const uint32_t next2 = (uint32_t)(product0 >> 32) ^ counter[3] ^ key1;
    counter[1] = (uint32_t)product1;
    counter[3] = (uint32_t)product0;
    counter[0] = next0;
    counter[2] = next2;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/* Word `element` of the stream that `state` names, as random_bits defines it. */
static inline uint32_t thrt_random_word(const uint32_t state[4], uint64_t element) {
  const uint64_t block = element / 4;
  uint32_t counter[4];
  counter[0] = (uint32_t)block;
  counter[1] = (uint32_t)(block >> 32);
  counter[2] = state[2];
  counter[3] = state[3];
  thrt_philox4x32_10(counter, state[0], state[1]);
  return counter[element % 4];
}

#endif /* THRT_PHILOX_H */

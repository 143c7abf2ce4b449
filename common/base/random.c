/* random.c - ten rounds of Philox4x32, and numbers below a bound by rejection, so that none is
 * likelier. */

#include "common/base/random.h"

#include <assert.h>

/* The multipliers and Weyl constants of Philox4x32 (Salmon et al., SC'11, section 3.3 and the
 * Random123 library that came with it). */
#define PHILOX_ROUNDS       10
#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0       0x9E3779B9u
#define PHILOX_WEYL_1       0xBB67AE85u

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t product0 = (uint64_t)PHILOX_MULTIPLIER_0 * c0;
        uint64_t product1 = (uint64_t)PHILOX_MULTIPLIER_1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void random_block(uint64_t seed, enum random_stream stream, uint32_t sub, uint64_t counter,
                  uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t position[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), sub,
                                  (uint32_t)stream};
    philox4x32(position, key, out);
}

void random_sequence_init(struct random_sequence *sequence, uint64_t seed,
                          enum random_stream stream, uint32_t sub)
{
    *sequence = (struct random_sequence){.seed = seed, .stream = stream, .sub = sub};
}

uint32_t random_next(struct random_sequence *sequence)
{
    if (sequence->left == 0) {
        random_block(sequence->seed, sequence->stream, sequence->sub, sequence->counter++,
                     sequence->block);
        sequence->left = 4;
    }
    return sequence->block[4 - sequence->left--];
}

uint32_t random_below(struct random_sequence *sequence, uint32_t bound)
{
    assert(bound > 0);
    /* 2^32 mod bound: with that many of the smallest numbers refused, every remainder is left
     * equally often. */
    uint32_t refused = (0u - bound) % bound;
    uint32_t number;
    do {
        number = random_next(sequence);
    } while (number < refused);
    return number % bound;
}

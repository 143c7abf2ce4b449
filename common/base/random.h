/* random.h - counter-based random numbers: a pure function of (key, counter), no state to lose.
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), checked
 * against the known answers published with it. Independent streams take different `stream`s.
 *
 * Threads: pure. */

#ifndef COMMON_BASE_RANDOM_H
#define COMMON_BASE_RANDOM_H

#include <stdint.h>

/* One stream per use, so that no two uses ever share numbers. */
enum random_stream {
    RANDOM_STREAM_INITIALIZER = 1,
    RANDOM_STREAM_ORDER = 2,
    RANDOM_STREAM_SYNTHETIC = 3,
    RANDOM_STREAM_SIMULATOR = 4,
    RANDOM_STREAM_PROBE = 5,
    RANDOM_STREAM_COMPUTE = 6,
    RANDOM_STREAM_STRAGGLE = 7,
    RANDOM_STREAM_JITTER = 8,
    RANDOM_STREAM_LOSS = 9,
    RANDOM_STREAM_SWITCH = 10,
    RANDOM_STREAM_FAILURE = 11,
    RANDOM_STREAM_PAUSE = 12,
    RANDOM_STREAM_PROGRAM = 13,
};

/* Four 32-bit numbers at position `counter` of sub-stream `sub` of a stream. */
void random_block(uint64_t seed, enum random_stream stream, uint32_t sub, uint64_t counter,
                  uint32_t out[4]);

/* Philox4x32-10 itself, for the known-answer test. */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 24 bits of x as a float in [0, 1). */
static inline float random_unit_float(uint32_t x)
{
    return (float)(x >> 8) * 0x1p-24f;
}

/* A sequence of numbers drawn one after the other, for code that wants many. */
struct random_sequence {
    uint64_t seed, counter;
    enum random_stream stream;
    uint32_t sub, left;
    uint32_t block[4];
};

void random_sequence_init(struct random_sequence *sequence, uint64_t seed,
                          enum random_stream stream, uint32_t sub);
uint32_t random_next(struct random_sequence *sequence);

/* Uniform in [0, bound), exactly (by rejection). bound > 0. */
uint32_t random_below(struct random_sequence *sequence, uint32_t bound);

#endif

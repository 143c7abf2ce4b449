/* fuzz.h - what every fuzzer shares: its entry, its memory bound, its way through the input.
 *
 * A fuzzer is a file fuzz_x.c with fuzz_bounds and fuzz_one: any bytes in, and the process must
 * live on. It is linked twice:
 *
 *   with libFuzzer (make fuzz)   bytes are made up, guided by what they reach, under
 *                                AddressSanitizer and UndefinedBehaviorSanitizer, and the heap that
 *                                one input takes is measured against fuzz_bounds
 *   with replay.c (make check)   the committed inputs of tests/fuzz/corpus/x/ are taken one by one,
 *                                with any compiler
 *
 * To add one: the file, a case in seeds_main.c for its corpus, and `make fuzz-corpus`. An input
 * that once failed is copied into the corpus and stays there.
 *
 * Threads: one. */

#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One input may hold at most base + multiple * its bytes of heap at a time. */
struct fuzz_bounds {
    size_t base, multiple;
};

/* --- of each fuzzer ------------------------------------------------------------------------ */

extern const struct fuzz_bounds fuzz_bounds;

/* Once, before the first input. */
void fuzz_start(void);

void fuzz_one(const uint8_t *data, size_t size);

/* --- for each fuzzer ----------------------------------------------------------------------- */

/* libFuzzer's entry, and replay.c's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input; otherwise the input is a finding. */
void fuzz_must(bool condition, const char *what);

/* Bytes not yet used; takes beyond the end give zeros. */
struct fuzz_input {
    const uint8_t *data;
    size_t left;
};

uint64_t fuzz_take(struct fuzz_input *input, size_t bytes); /* Little-endian, at most 8. */

/* The next `bytes`, or as many as there are; *got tells. */
const uint8_t *fuzz_take_bytes(struct fuzz_input *input, size_t bytes, size_t *got);

#endif

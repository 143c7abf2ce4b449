/* input.c - a fuzzer's bytes, taken piece by piece; there are always more, which are zeros. */

#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz: violated: %s\n", what);
    abort();
}

uint64_t fuzz_take(struct fuzz_input *input, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && input->left > 0; i++) {
        value |= (uint64_t)*input->data << (8 * i);
        input->data++;
        input->left--;
    }
    return value;
}

const uint8_t *fuzz_take_bytes(struct fuzz_input *input, size_t bytes, size_t *got)
{
    const uint8_t *taken = input->data;
    *got = bytes < input->left ? bytes : input->left;
    input->data += *got;
    input->left -= *got;
    return taken;
}

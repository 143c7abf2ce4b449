/* host_set.c - words that grow when a host beyond them is added. */

#include "deploy/engine/host_set.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/status.h"
#include "common/process/log.h"

static void grow(struct host_set *set, uint32_t word_count)
{
    if (word_count <= set->word_count)
        return;
    uint64_t *words = realloc(set->words, word_count * sizeof *words);
    if (words == NULL) {
        log_error("out of memory for a set of hosts");
        exit(EXIT_TRAINING_FAILED);
    }
    memset(words + set->word_count, set->rest ? 0xff : 0,
           (word_count - set->word_count) * sizeof *words);
    set->words = words;
    set->word_count = word_count;
}

void host_set_free(struct host_set *set)
{
    free(set->words);
    memset(set, 0, sizeof *set);
}

void host_set_add(struct host_set *set, uint32_t host)
{
    grow(set, host / 64 + 1);
    set->words[host / 64] |= UINT64_C(1) << host % 64;
}

void host_set_invert(struct host_set *set)
{
    for (uint32_t i = 0; i < set->word_count; i++)
        set->words[i] = ~set->words[i];
    set->rest = !set->rest;
}

struct host_set host_set_of(uint32_t host)
{
    struct host_set set = {0};
    host_set_add(&set, host);
    return set;
}

struct host_set host_set_of_bits(uint64_t bits)
{
    struct host_set set = {0};
    grow(&set, 1);
    set.words[0] = bits;
    return set;
}

struct host_set host_set_copy(const struct host_set *set)
{
    struct host_set copy = {.rest = set->rest};
    grow(&copy, set->word_count);
    if (set->word_count > 0)
        memcpy(copy.words, set->words, set->word_count * sizeof *copy.words);
    return copy;
}

/* verdict.h - what becomes of a gradient, and how many there were of each.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_VERDICT_H
#define COMMON_JOB_VERDICT_H

#include <stdint.h>

enum verdict {
    VERDICT_NONE,
    VERDICT_APPLIED,
    VERDICT_STALE,
    VERDICT_DUPLICATE,
    VERDICT_REJECTED,
    VERDICT_COUNT
};

const char *verdict_name(enum verdict verdict);

/* Chunk-level gradients that servers received. */
struct verdict_counts {
    uint64_t applied, stale, duplicate, rejected;
};

void verdict_counts_add(struct verdict_counts *to, const struct verdict_counts *from);

#endif

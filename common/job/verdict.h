/* verdict.h - the verdicts on gradients, and their counts.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_VERDICT_H
#define COMMON_JOB_VERDICT_H

#include "common/figures/figures.h"

enum verdict {
    VERDICT_NONE,
    VERDICT_APPLIED,
    VERDICT_STALE,
    VERDICT_DUPLICATE,
    VERDICT_REJECTED,
    VERDICT_COUNT
};

const char *verdict_name(enum verdict verdict);

void verdict_counts_add(struct verdict_counts *to, const struct verdict_counts *from);

#endif

/* verdict.h - the verdicts on gradients, and their counts.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_VERDICT_H
#define COMMON_JOB_VERDICT_H

#include "common/figures/figures.h"

enum verdict {
    VERDICT_NONE,
    VERDICT_APPLIED,   /* Taken: an update has it, or will when the others are there. */
    VERDICT_STALE,     /* Its step is made; or it is too old, and computed again or lost. */
    VERDICT_DUPLICATE, /* The chunk has had it, or has it. */
    VERDICT_REJECTED,  /* Its base is still to come or not known; or it is not finite. */
    VERDICT_COUNT
};

const char *verdict_name(enum verdict verdict);

void verdict_counts_add(struct verdict_counts *to, const struct verdict_counts *from);

#endif

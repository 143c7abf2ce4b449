/* inspect_facts.h - what inspect finds out about files, however it is shown.
 *
 * Threads: pure, but for reading. */

#ifndef DEPLOY_INSPECT_FACTS_H
#define DEPLOY_INSPECT_FACTS_H

#include <stdint.h>

#include "common/checkpoint.h"

/* Of the values that are finite. */
struct statistics {
    double norm, min, max; /* min above max: there are none. */
    uint64_t not_finite;
};
struct statistics statistics_of(const float *values, uint64_t count);

/* NULL when a part of the checkpoint in this directory is what the manifest says, else what is
 * wrong with it. */
const char *inspect_part_fault(const char *directory, const struct checkpoint_part *part);

#endif

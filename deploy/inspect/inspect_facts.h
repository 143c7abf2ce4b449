/* inspect_facts.h - what inspect finds out about files, however it is shown.
 *
 * Threads: pure, but for reading. */

#ifndef DEPLOY_INSPECT_INSPECT_FACTS_H
#define DEPLOY_INSPECT_INSPECT_FACTS_H

#include <stdint.h>

#include "common/store/checkpoint.h"

/* Of the values that are finite. */
struct statistics {
    double norm, min, max; /* min above max: there are none. */
    uint64_t not_finite;
};
struct statistics statistics_of(const float *values, uint64_t count);

/* NULL when a part of the checkpoint in this directory is what the manifest says, else what is
 * wrong with it. */
const char *inspect_part_fault(const char *directory, const struct checkpoint_part *part);

/* All checkpoints of a run that have a manifest, newest first. *steps is the caller's to free; it
 * may be NULL for none. */
size_t inspect_list(const char *run, uint64_t **steps);

/* What is quickly found out about one: the parts' sizes, and not what is in them. */
struct checkpoint_facts {
    char path[DISK_PATH_MAX];
    uint32_t parts;
    uint64_t bytes;     /* Of all parts. */
    struct error fault; /* A line, or "". */
};
void inspect_glance(struct checkpoint_facts *facts, const char *run, uint64_t step);

#endif

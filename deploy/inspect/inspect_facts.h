/* inspect_facts.h - the facts that inspect reads from files, independent of their output.
 *
 * Threads: pure, but for reading. */

#ifndef DEPLOY_INSPECT_INSPECT_FACTS_H
#define DEPLOY_INSPECT_INSPECT_FACTS_H

#include <stdint.h>

#include "common/store/checkpoint.h"

/* Of the finite values. */
struct statistics {
    double norm, min, max; /* min above max: there are no finite values. */
    uint64_t not_finite;
};
struct statistics statistics_of(const float *values, uint64_t count);

/* NULL when a part of the checkpoint in this directory agrees with the manifest, else the fault. */
const char *inspect_part_fault(const char *directory, const struct checkpoint_part *part);

/* All checkpoints of a run that have a manifest, newest first. The caller frees *steps; it may be
 * NULL for none. */
size_t inspect_list(const char *run, uint64_t **steps);

/* The quick facts of a checkpoint: the sizes of its parts, not their content. */
struct checkpoint_facts {
    char path[DISK_PATH_MAX];
    uint32_t parts;
    uint64_t bytes;     /* Of all parts. */
    struct error fault; /* A line, or "". */
};
void inspect_glance(struct checkpoint_facts *facts, const char *run, uint64_t step);

#endif

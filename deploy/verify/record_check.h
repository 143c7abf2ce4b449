/* record_check.h - the record of a run on a simulated disk, replayed: every update of it is made again by the
 * owners' own code, from gradients that are computed again, and must end with the bits of the newest
 * checkpoint; and what a bounded mode promises of the values that workers compute from, held against it.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_RECORD_CHECK_H
#define DEPLOY_VERIFY_RECORD_CHECK_H

#include "deploy/engine/simulated_disk.h"
#include "deploy/verify/simulated_work.h"

struct record_counts {
    uint64_t computations, entries; /* Made again, and applied again. */
    uint64_t torn;                  /* Batches of which chunks had different computations. */
    uint64_t held, required;        /* Of bounded modes: struct included. */
};

/* values: [work->elements] of the checkpoint at `step`. STATUS_INVALID, STATUS_MISMATCH: the record is not
 * that of this run, with a line. Of a mode without one of its updates it only has to be readable. */
enum status record_check(struct simulated_disk *disk, const char *out, struct simulated_work *work,
                         uint64_t step, const float *values, struct record_counts *counts,
                         struct error *error);

#endif

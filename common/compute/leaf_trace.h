/* leaf_trace.h - what leaves took in a real run, each worker's for itself, to be drawn again:
 * --compute trace:RUN.
 *
 *     leaf_trace_open(&trace, &disk_posix, "runs/one", job->micro_batch, &error);
 *     ns = leaf_trace_draw(&trace, worker, random);
 *     leaf_trace_close(&trace);
 *
 * A run has the times of its leaves in run.json, in buckets a sixteenth of a power of two wide
 * (common/base/leaf_times.h). A draw takes one of the times that there were, each as likely as another,
 * and lies anywhere in its bucket. Workers beyond those of the run are as its first, second and so on; one
 * that had no leaves is as all together.
 *
 * Whole numbers, sums, products and quotients alone: the same bits on every host.
 *
 * Threads: read-only once open. Ownership: its own, freed by leaf_trace_close. Units: nanoseconds. */

#ifndef COMMON_COMPUTE_LEAF_TRACE_H
#define COMMON_COMPUTE_LEAF_TRACE_H

#include <stdint.h>

#include "common/base/leaf_times.h"
#include "common/base/status.h"
#include "common/file/disk.h"

struct leaf_trace {
    struct leaf_trace_worker {
        uint64_t below[LEAF_TIMES_BUCKETS + 1]; /* Leaves in the buckets before; in all. */
    } * workers;                                /* [worker_count] */
    uint32_t worker_count;
};

/* STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: the line names the run, and why it will not do: it has no times
 * of leaves, or its leaves are of another size. micro_batch: of the job that is to draw; 0: any. */
enum status leaf_trace_open(struct leaf_trace *trace, const struct disk *disk, const char *run,
                            uint32_t micro_batch, struct error *error);
void leaf_trace_close(struct leaf_trace *trace);

/* The one that belongs to random numbers (random_block). */
double leaf_trace_draw(const struct leaf_trace *trace, uint32_t worker, const uint32_t random[2]);

#endif

/* lone_workers.h - the gradients of a sync job with nobody to exchange them with: the limit of what
 * its workers could do.
 *
 * Each of `workers` processes computes its own run of every step's leaves, as a worker of the job
 * does, all at once. It applies its gradients to parameters of its own, so that they are about as
 * sparse as the job's, but only the time of the gradients counts.
 *
 * Threads: one; it forks. Errors: any ends the program with a line. */

#ifndef TESTS_BENCH_LIB_LONE_WORKERS_H
#define TESTS_BENCH_LIB_LONE_WORKERS_H

#include <stdint.h>

struct lone_workers {
    const char *model, *data;
    uint32_t workers, epochs;
    double seconds_per_image; /* Of all together, in the last run. */
};

/* One run of all epochs. context is a struct lone_workers. */
void lone_workers_run(void *context);

#endif

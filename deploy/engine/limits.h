/* limits.h - the time limit of a cluster, and the consequences of a process's end.
 *
 * Members are optional.
 *
 * Units: virtual microseconds. Threads: the engine's. */

#ifndef DEPLOY_ENGINE_LIMITS_H
#define DEPLOY_ENGINE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct simulated_process;

/* Of a process that has left by itself. */
struct ending {
    bool of_host; /* Its place gets no other process. */
    bool of_job;  /* It knows of the job's end: no process need be asked to stop. */
    bool of_all;  /* The job cannot continue: no more processes are started. */
};

struct limits {
    void *context;
    uint64_t time_us; /* A process that is still running then is an error; 0: no limit. */

    /* Without it each end is the end of its host and of the job, and of everything when server 0
     * has given up. */
    struct ending (*ending)(void *context, const struct simulated_process *process);

    /* Called regularly in real time: it may request a clean stop (engine_request_stop), or show
     * progress. */
    void (*look)(void *context);

    /* Whether a server may be a second one at its place. A clean stop there is then requested of
     * the other server 0: one that is no member yet would leave alone, with the place that both
     * have. Without this function there is no such server. */
    bool (*is_second_coordinator)(void *context, const struct simulated_process *process);
};

#endif

/* limits.h - how long a cluster may take, and what it means that one of its processes has ended.
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
    bool of_host; /* Nobody comes to its place any more. */
    bool of_job;  /* It has heard of the job's end: nobody need be asked to stop any more. */
    bool of_all;  /* The job cannot be gone on with: nobody is started any more. */
};

struct limits {
    void *context;
    uint64_t time_us; /* Whoever is not over by then is too late; 0: there is no such time. */

    /* Without it the end of each is its host's and the job's, and that of all when server 0 has
     * given up. */
    struct ending (*ending)(void *context, const struct simulated_process *process);

    /* Called now and then, in real time rather than virtual: it may ask for a clean stop
     * (engine_request_stop), or show how far all has come. */
    void (*look)(void *context);

    /* Whether a server may be one too many at its place. Who is asked for a clean stop there is then
     * server 0 in its stead: a rival that is no member yet would go alone, with the place that both
     * have. Without it nobody is. */
    bool (*is_second_coordinator)(void *context, const struct simulated_process *process);
};

#endif

/* compute_time.h - controlled time: how long a worker is to take for its gradients, whatever they
 * take the processor that computes them. Experiments with slow and uneven workers then mean the same
 * on a small machine as on a cluster, and the same where time itself is simulated.
 *
 * A time is that of one leaf of the job's micro-batch; one with fewer examples takes its share. It is
 *
 *     draw(seed, step or batch, refusals, leaf)    any computer of the leaf draws the same
 *         x slow                                   what this worker takes longer, always
 *         x straggle(seed, worker, step or batch, refusals)
 *                                                  with a probability, for all leaves of one computation
 *
 * and before a computation, with another probability, a worker stands still for a time of its own: as for
 * a collection of garbage, or for another program's work.
 *
 * Nothing depends on when or how often it is asked. A computation is known by its worker, its step or
 * batch, and how often servers have refused that batch as too stale: a number given to it would come
 * only after it has begun. A batch that was refused draws anew, or an unlucky one would stay unlucky;
 * one that is made again because its worker or server was lost is as it was.
 *
 * Threads: pure. Units: nanoseconds. */

#ifndef COMMON_COMPUTE_COMPUTE_TIME_H
#define COMMON_COMPUTE_COMPUTE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/compute/distribution.h"
#include "common/compute/leaf_trace.h"
#include "common/job/job.h"
#include "common/steps/step_shape.h"

#define COMPUTE_TIME_MOST_NS UINT64_C(86400000000000) /* Of a leaf: a day. */

/* Of one worker. */
struct compute_time {
    bool controlled;          /* Else a leaf takes what it takes, `slow` times. */
    struct distribution leaf; /* Nanoseconds of a whole leaf ... */
    /* ... unless it is to take what it took in a run: RUN of trace:RUN, borrowed from the text, and its
     * times, which the drawer has set. */
    const char *traced;
    const struct leaf_trace *trace;
    double slow; /* From 1 on. */
    double straggle_probability;
    struct distribution straggle; /* A factor; what is drawn below 1 counts as 1. */
    double pause_probability;
    struct distribution pause; /* Nanoseconds, also where time is not controlled. */
};

/* Nothing is asked of it: leaves take what they take. */
static inline bool compute_time_is_free(const struct compute_time *time)
{
    return !time->controlled && time->slow <= 1 && time->pause_probability <= 0;
}

/* Sets controlled and leaf, or traced:
 *
 *     constant:T | uniform:LEAST,MOST | exponential:MEAN[,LEAST] | lognormal:MEDIAN,SIGMA |
 *     pareto:MEDIAN,EXPONENT | trace:RUN
 *
 * with times such as 30ms, 1.5s, 200us. The run is not looked at. STATUS_INVALID: error says what is
 * wrong. */
enum status compute_time_read(const char *text, struct compute_time *time, struct error *error);

/* The same of what is drawn from no run. */
enum status compute_time_read_drawn(const char *text, struct compute_time *time,
                                    struct error *error);

/* Sets straggle: PROBABILITY:constant:FACTOR, and for the rest the median factor: uniform (from 1
 * on), exponential (from 1 on), lognormal[,SIGMA] (0.5), pareto[,EXPONENT] (2). */
enum status compute_time_read_straggle(const char *text, struct compute_time *time,
                                       struct error *error);

/* Sets pause: PROBABILITY:DISTRIBUTION, the latter as above but of no run, 0.01:exponential:200ms. */
enum status compute_time_read_pause(const char *text, struct compute_time *time,
                                    struct error *error);

/* What a leaf takes; `time` is controlled. A straggling computation's leaves take longer alike. */
uint64_t compute_time_leaf_ns(const struct compute_time *time, const struct job *job,
                              uint32_t worker, const struct step_shape *shape, uint32_t leaf);

/* How long a worker stands still before a computation: 0 for most. */
uint64_t compute_time_pause_ns(const struct compute_time *time, uint64_t seed, uint32_t worker,
                               const struct step_shape *shape);

#endif

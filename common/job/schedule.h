/* schedule.h - the learning rate as a function of the version, evaluated on the server.
 *
 *   constant  lr
 *   step      lr * factor^floor(version / every)                     (tf.keras ExponentialDecay,
 *                                                                     staircase)
 *   cosine    lr * ((1 - floor) * (1 + cos(pi * min(version, total) / total)) / 2 + floor)
 *                                                    (Loshchilov and Hutter, ICLR 2017; tf.keras
 *                                                     CosineDecay, whose alpha is our floor)
 * Warm-up multiplies any of them by from + (1 - from) * min(1, (version + 1) / warmup): in equal
 * steps from a part of the rate, which may be 0, to all of it. With from = 1 / k it is the
 * gradual warm-up of a rate that is k times that of a smaller batch (Goyal et al. 2017, 2.2).
 *
 * version counts updates already made, so the first update uses version 0. Evaluated in double
 * and rounded once to float.
 *
 * --staleness-rate lowers the rate of a stale gradient:
 *
 *   none      not at all
 *   inverse   rate / max(1, staleness)      (Zhang et al., IJCAI 2016, "Staleness-aware async-SGD")
 *   constant  rate / max(1, workers - 1)    the control: by the mean staleness, for all alike.
 *                                            Where it does as well, inverse has shown nothing
 *
 * The rate is divided and never the gradient: rules that divide by a mean of gradients, such as
 * adam, would cancel a factor of the gradient. Threads: pure. */

#ifndef COMMON_JOB_SCHEDULE_H
#define COMMON_JOB_SCHEDULE_H

#include <stdint.h>

#include "common/base/status.h"

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_STEP, SCHEDULE_COSINE, SCHEDULE_KIND_COUNT };

struct schedule {
    enum schedule_kind kind;
    double learning_rate;  /* Base rate. */
    uint64_t warmup_steps; /* Versions; 0 for none. */
    uint64_t decay_steps;  /* step: versions between decays; cosine: versions until the floor. */
    double decay_factor;   /* step: multiplier; cosine: final fraction of learning_rate. */
    double warmup_from;    /* Part of the rate that warm-up begins with. */
};

float schedule_learning_rate(const struct schedule *schedule, uint64_t version);

enum staleness_rate {
    STALENESS_RATE_NONE,
    STALENESS_RATE_INVERSE,
    STALENESS_RATE_CONSTANT,
    STALENESS_RATE_COUNT
};

const char *staleness_rate_numbered(unsigned number); /* NULL behind the last. */

/* The rate of one update. staleness: versions made since its base; workers: as declared. Divided
 * in double and rounded once. */
float staleness_rate_of(enum staleness_rate rule, float rate, uint64_t staleness, uint32_t workers);

/* "constant", "step", "cosine"; "unknown" for any other number. */
const char *schedule_kind_name(enum schedule_kind kind);
const char *schedule_numbered(unsigned number); /* NULL behind the last. */

/* The conditions beyond the bounds of single fields (job_rows.inc), for a known kind. */
enum status schedule_check(const struct schedule *schedule, struct error *error);

#endif

/* staleness_rate.h - what is taken off the learning rate of a gradient that others have overtaken.
 *
 *   none      the schedule's rate
 *   inverse   rate / max(1, staleness)      (Zhang et al., IJCAI 2016, "Staleness-aware async-SGD":
 *                                            each update by its own staleness, as here)
 *   constant  rate / max(1, workers - 1)    the control: what a staleness is on the mean, for all
 *                                            alike. Where it does as well, inverse has shown nothing
 *
 * It is the rate that is divided and never the gradient: rules that divide by a mean of gradients,
 * such as adam, would take a factor of the gradient out again.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_STALENESS_RATE_H
#define COMMON_JOB_STALENESS_RATE_H

#include <stdint.h>

enum staleness_rate {
    STALENESS_RATE_NONE,
    STALENESS_RATE_INVERSE,
    STALENESS_RATE_CONSTANT,
    STALENESS_RATE_COUNT
};

const char *staleness_rate_numbered(unsigned number); /* NULL from the first that is not there. */

/* The rate of one update. staleness: versions made since the one that it was computed from;
 * workers: as declared. Divided in double and rounded once. */
float staleness_rate_of(enum staleness_rate rule, float rate, uint64_t staleness, uint32_t workers);

#endif

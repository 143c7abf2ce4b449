/* policy.h - decisions of a mode that come from elsewhere: an experiment's, in virtual time. Values
 * stay here; a policy hears of a gradient, and says what becomes of it.
 *
 *     async, ssp     each gradient, at the first chunk that it comes to; the answer holds for all.
 *                    ssp asks as well whether a worker gets its next batch
 *     sync+backup    each node that a worker reports of the open step
 *
 * Threads: one, for all cores of all servers: there is none in a process that trains. */

#ifndef PS_WORK_POLICY_H
#define PS_WORK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/tree.h"

enum policy_verdict {
    POLICY_APPLY,  /* One update of it, with all that is held; of a step: it is closed. */
    POLICY_HOLD,   /* It waits for others. */
    POLICY_IGNORE, /* Its batch counts without it; of a step: it is not in the sum. */
    POLICY_AGAIN,  /* Its worker computes the batch again. Not of a step. */
};

struct policy_gradient {
    uint64_t ticket, count; /* Its name, where several chunks ask about it; else 0. */
    uint32_t worker;
    uint64_t base, now; /* Its version, and the chunk's. */
    uint64_t step;      /* Or batch. */
    struct node node;
    uint32_t leaves; /* Of the whole step or batch. */
    uint32_t held;   /* Of a step: other leaves that are held; else gradients. */
};

struct policy_answer {
    enum policy_verdict verdict;
    float rate; /* Factor of the learning rate, above 0. */
};

struct policy_work {
    uint32_t worker;
    unsigned held;          /* Batches that it has. */
    const uint64_t *clocks; /* [count] batches finished, by worker; POLICY_ABSENT: none is here. */
    uint32_t count;
};
#define POLICY_ABSENT UINT64_MAX

struct policy {
    void *context;
    /* Of one name the same answer each time. */
    struct policy_answer (*judge)(void *context, const struct policy_gradient *gradient);
    /* The rate of a gradient that was judged, for the record. */
    float (*rate)(void *context, uint64_t ticket, uint64_t count);
    /* Whether the worker gets its next batch now. Else it is asked again when one is finished. */
    bool (*gives)(void *context, const struct policy_work *work);
};

#endif

/* computing.h - what the workers of a cluster compute, and from what: a model's gradients on its data,
 * or numbers that are made up.
 *
 * A gradient is computed at once, in the moment of virtual time in which it is done; how long that
 * took the timing says (timing.h).
 *
 * Both members are required; engine_init asserts it. What they compute depends on their arguments
 * alone, whoever asks.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_ENGINE_COMPUTING_H
#define DEPLOY_ENGINE_COMPUTING_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/job/tree.h"
#include "common/steps/step_shape.h"
#include "common/wire/message.h"
#include "worker/model/model.h"

/* What a worker reports of it. */
struct computing_report {
    struct score score; /* Added to. */
    uint64_t took_us;   /* Virtual: what it took; may be corrected. */
};

struct computing {
    void *context;

    /* The gradient of a node of a step or batch, at `parameters`, into out[elements]; of its leaves that
     * count. STATUS_DIVERGED: it is not finite, and nothing of `out` and
     * the score counts. */
    enum status (*gradient)(void *context, const struct step_shape *shape, struct node node,
                            const float *parameters, float *out, struct computing_report *report,
                            struct error *error);

    /* A worker's share of a score, of these values. */
    void (*score)(void *context, const struct message_work *work, const float *values,
                  struct computing_report *report);
};

#endif

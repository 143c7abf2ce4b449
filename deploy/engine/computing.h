/* computing.h - the computation of a cluster's workers: a model's gradients on its data, or
 * artificial numbers.
 *
 * A gradient is computed at once, at the moment of virtual time when it is done; its duration is up
 * to timing.h.
 *
 * Both members are required; engine_init asserts it. Results depend on the arguments alone.
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

struct computing_report {
    struct score score; /* Is added to. */
    uint64_t took_us;   /* Virtual duration; may be corrected. */
};

struct computing {
    void *context;

    /* The gradient of a node of a step or batch, at `parameters`, into out[elements]; of its leaves
     * that count. STATUS_DIVERGED: it is not finite, and `out` and the score are invalid. */
    enum status (*gradient)(void *context, const struct step_shape *shape, struct node node,
                            const float *parameters, float *out, struct computing_report *report,
                            struct error *error);

    /* A worker's share of a score, of these values. */
    enum status (*score)(void *context, const struct message_work *work, const float *values,
                         struct computing_report *report, struct error *error);
};

#endif

/* kept_model.c - copies chunks as they come, so that their owners can use the memory again. */

#include "ps/checkpointer/kept_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/store/scored_file.h"

void kept_model_clear(struct kept_model *kept)
{
    free(kept->values);
    free(kept->had);
    *kept = (struct kept_model){.batches = kept->batches};
}

static bool begin(struct kept_model *kept, uint64_t batches, const struct plan *plan)
{
    kept_model_clear(kept);
    kept->batches = batches;
    kept->values = calloc(plan->partition.elements, sizeof *kept->values);
    kept->had = calloc(plan->partition.chunk_count, sizeof *kept->had);
    return kept->values != NULL && kept->had != NULL;
}

/* Only while the run is ours. */
static enum status write_file(const struct checkpointer *k, struct error *error)
{
    enum status status = checkpointer_check_claim(k, error);
    if (status == STATUS_OK)
        status = scored_file_write(k->options.disk, k->options.out, &k->job, k->kept.batches,
                                   k->kept.values, error);
    return status;
}

static void finish(struct checkpointer *k, struct outbox *outbox)
{
    struct error error;
    uint64_t failed;
    if (write_file(k, &error) != STATUS_OK) {
        if (log_once_add(&k->scored, error.text))
            outbox_warn(outbox, "the model scored after %" PRIu64 " batches is not kept: %s",
                        k->kept.batches, error.text);
    } else if ((failed = log_once_end(&k->scored)) > 0) {
        outbox_log(outbox, "scored models are kept again; %" PRIu64 " were not", failed);
    }
    kept_model_clear(&k->kept);
}

void kept_model_add(struct checkpointer *checkpointer, const struct packet *packet,
                    struct outbox *outbox)
{
    struct checkpointer *k = checkpointer;
    const struct message_chunk_state *state = &packet->message.chunk_state;
    uint32_t chunk = plan_chunk_at(k->plan, state->first);
    if (state->step < k->kept.batches || (state->step == k->kept.batches && k->kept.had == NULL))
        return; /* Late, or repeated. */
    if (state->step > k->kept.batches && !begin(&k->kept, state->step, k->plan)) {
        outbox_warn(outbox, "the model scored after %" PRIu64 " batches is not kept: out of memory",
                    state->step);
        kept_model_clear(&k->kept);
        return;
    }
    if (k->kept.had[chunk])
        return;
    k->kept.had[chunk] = true;
    memcpy(k->kept.values + state->first, packet->payload->data, packet->payload->bytes);
    if (++k->kept.had_count == k->plan->partition.chunk_count)
        finish(k, outbox);
}

#define RULE(condition, rule) INVARIANT("kept_model", condition, rule)

void kept_model_check(const struct checkpointer *checkpointer)
{
    const struct kept_model *kept = &checkpointer->kept;
    uint32_t had = 0;
    RULE((kept->values == NULL) == (kept->had == NULL), "there is a model, or none");
    for (uint32_t i = 0; kept->had != NULL && i < checkpointer->plan->partition.chunk_count; i++)
        had += kept->had[i];
    RULE(had == kept->had_count, "had_count counts the chunks that are there");
    RULE(IMPLIES(kept->had != NULL, had < checkpointer->plan->partition.chunk_count),
         "a model that is whole has been written");
    RULE(IMPLIES(kept->had != NULL, checkpointer->options.server == 0),
         "only server 0 keeps models");
}

/* kept_model.h - on server 0, with --keep-scored: writes the model of each score, from chunks of
 * all servers, to OUT/scored/epoch-E.safetensors.
 *
 *     CHUNK_STATE (scored) of every chunk --> the file, under its name once it is whole
 *                    '--of a later count, or a new generation: dropped
 *
 * A file that cannot be written costs a line and is counted; training goes on.
 *
 * Threads: the checkpointer's. */

#ifndef PS_CHECKPOINTER_KEPT_MODEL_H
#define PS_CHECKPOINTER_KEPT_MODEL_H

#include "ps/checkpointer/checkpointer_state.h"

/* A chunk of the plan, whose payload is its values. The payload is copied and stays the packet's. */
void kept_model_add(struct checkpointer *checkpointer, const struct packet *packet,
                    struct outbox *outbox);

/* Drop what has come in. The count stays, to recognise late chunks of it. */
void kept_model_clear(struct kept_model *kept);

/* See common/base/invariant.h. */
void kept_model_check(const struct checkpointer *checkpointer);

#endif

/* mode_invariants_backup.c - one update a step, of the leaves that server 0 has closed it with: whole runs of as
 * many workers as are to be waited for, told of a step once and never otherwise, until all go back; the
 * values are those of the serial training with these leaves; chunks are at most one version apart. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/verify/mode_invariants.h"

/* --- which leaves count -------------------------------------------------------------------- */

enum status oracle_sets_init(struct oracle *w)
{
    struct oracle_sets *sets = &w->sets;
    sets->steps = calloc(w->job->steps, sizeof *sets->steps);
    sets->states = calloc(w->job->steps + 1, sizeof *sets->states);
    sets->gradient = malloc(w->work->elements * sizeof *sets->gradient);
    if (sets->steps == NULL || sets->states == NULL || sets->gradient == NULL)
        return STATUS_MEMORY;
    return oracle_know(w, 0, &w->initial);
}

/* A model out of a checkpoint does not say where its variables are. */
enum status oracle_sets_begin(struct oracle *w, uint64_t step, const struct model_state *model)
{
    struct model_state *state = &w->sets.states[step];
    if (state->array_count > 0)
        return STATUS_OK;
    if (model_state_copy(state, &w->initial) != STATUS_OK)
        return STATUS_MEMORY;
    for (uint32_t array = 0; array < state->array_count; array++)
        memcpy(state->arrays[array], model->arrays[array], state->elements * sizeof(float));
    return STATUS_OK;
}

void oracle_sets_free(struct oracle *w)
{
    struct oracle_sets *sets = &w->sets;
    for (uint64_t i = 0; sets->states != NULL && i <= w->job->steps; i++)
        model_state_free(&sets->states[i]);
    free(sets->steps);
    free(sets->states);
    free(sets->gradient);
    *sets = (struct oracle_sets){.steps = NULL};
}

/* The step after the last that is known: the serial training goes on with this set. */
static void make_step(struct oracle *w, uint64_t step, const struct leaf_set *set)
{
    struct oracle_sets *sets = &w->sets;
    struct model_state *next = &sets->states[step + 1];
    for (uint64_t i = step + 1; i <= w->job->steps;
         i++) { /* What was made of it before is undone. */
        if (i < w->job->steps)
            sets->steps[i].there = false;
        model_state_free(&sets->states[i]);
        sets->states[i] = (struct model_state){.array_count = 0};
    }
    if (model_state_copy(next, &sets->states[step]) != STATUS_OK) {
        oracle_fail(w, "out of memory for a witness");
        return;
    }
    const struct step_shape shape = step_shape_of(w->job, step, set);
    model_state_step(next, w->work, &shape, sets->gradient);
    oracle_check_updates(w, next);
    sets->steps[step] = (struct oracle_closed){true, step, *set, sets->generation};
    if (oracle_know(w, step + 1, next) != STATUS_OK)
        oracle_fail(w, "out of memory for a witness");
}

/* Whether the set is of whole runs, so dealt, of as many workers as it takes. */
static bool is_of_runs(const struct oracle *w, uint64_t step, const struct leaf_set *set,
                       struct oracle_deal deal)
{
    uint32_t leaves = job_batch(w->job, step).leaves, whole = 0, in = 0;
    uint32_t members = deal.members, needed = deal.declared - w->job->backup_workers;
    needed = leaves < members ? leaves : needed < members ? needed : members;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * leaves / members);
        uint32_t end = (uint32_t)(((uint64_t)i + 1) * leaves / members), has = 0;
        for (uint32_t leaf = first; leaf < end; leaf++)
            has += leaf_set_has(set, leaf);
        if (has > 0 && has < end - first)
            return false;
        whole += has > 0;
        in += has;
    }
    return whole == needed && in == leaf_set_count(set, (struct node){0, TREE_LEAVES_MAX});
}

/* It may have been decided before the latest who came or went did. */
static void check_runs(struct oracle *w, uint64_t step, const struct leaf_set *set)
{
    const struct oracle_sets *sets = &w->sets;
    for (unsigned i = 0; i < ORACLE_DEALS; i++)
        if (sets->deals[i].members > 0 && is_of_runs(w, step, set, sets->deals[i]))
            return;
    oracle_fail(w,
                "step %" PRIu64 " is closed with %u leaves that are not the whole runs of as many "
                "workers as it waits for",
                step, leaf_set_count(set, (struct node){0, TREE_LEAVES_MAX}));
}

/* What an epoch that was seen whole is said to have been trained with is the examples of the leaves that
 * its steps are made of: each of them once. */
static void check_epoch(struct oracle *w, uint64_t epoch, uint64_t said)
{
    const struct oracle_sets *sets = &w->sets;
    struct epoch_range range = job_epoch(w->job, epoch);
    uint64_t used = 0;
    for (uint64_t step = range.first; step < range.end; step++) {
        struct batch_range batch = job_batch(w->job, step);
        if (!sets->steps[step].there)
            return; /* It was made before this witness looked on. */
        used += leaf_set_examples(&sets->steps[step].set, w->job, batch, tree_root(batch.leaves));
    }
    if (said != used)
        oracle_fail(w,
                    "the epoch up to step %" PRIu64 " is said to have been trained with %" PRIu64
                    " examples, and its steps are made of %" PRIu64,
                    range.end, said, used);
}

static void hear_close(struct oracle *w, const struct packet *packet)
{
    struct oracle_sets *sets = &w->sets;
    uint64_t step = packet->message.close.step;
    struct leaf_set set;
    /* Of a server 0 in whose place another one is, and which does not know it yet: all but itself refuse
     * what is of an older generation. */
    if (packet->message.generation < sets->generation)
        return;
    sets->generation = packet->message.generation;
    if (packet->payload == NULL || step >= w->job->steps ||
        !leaf_sets_find(packet->payload->data, packet->payload->bytes, step, &set)) {
        oracle_fail(w, "step %" PRIu64 " is closed with what is no set", step);
        return;
    }
    if (sets->states[step].array_count == 0) {
        oracle_fail(w, "step %" PRIu64 " is closed before the one before it", step);
        return;
    }
    const struct oracle_closed *before = &sets->steps[step];
    bool again = before->there && before->generation == sets->generation;
    if (again && memcmp(&before->set, &set, sizeof set) != 0)
        oracle_fail(w, "step %" PRIu64 " is closed again, with other leaves than before", step);
    if (again)
        return;
    check_runs(w, step, &set);
    make_step(w, step, &set);
}

static void hear_epoch(struct oracle *w, const struct order_event *event)
{
    const char *number = strstr(event->members, "\"epoch\":");
    const char *examples = strstr(event->members, "\"examples\":");
    if (strcmp(event->name, "epoch") != 0 || number == NULL || examples == NULL)
        return;
    check_epoch(w, strtoull(number + strlen("\"epoch\":"), NULL, 10) - 1,
                strtoull(examples + strlen("\"examples\":"), NULL, 10));
}

static void backup_said(struct oracle *w, uint32_t server_0, const struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    struct oracle_sets *sets = &w->sets;
    const struct order *order = order_of(&item->packet);
    if (order != NULL && order->kind == ORDER_EVENT &&
        server_0 == sets->server_0) /* Not whose place was taken. */
        hear_epoch(w, &order->event);
    if (order != NULL)
        return;
    if (message->kind == MESSAGE_START && message->generation >= sets->started) {
        sets->server_0 = server_0;
        sets->started = message->generation;
    }
    struct oracle_deal deal = {message->start.members, w->job->worker_count};
    if (message->kind == MESSAGE_START &&
        (deal.members != sets->deals[0].members || deal.declared != sets->deals[0].declared)) {
        memmove(sets->deals + 1, sets->deals, (ORACLE_DEALS - 1) * sizeof *sets->deals);
        sets->deals[0] = deal;
    } else if (message->kind == MESSAGE_CLOSE) {
        hear_close(w, &item->packet);
    }
}

/* What is of use may not be known yet: owners say what has come of the others. */
static enum verdict backup_judge(const struct oracle *w, const struct oracle_chunk *chunk,
                                 const struct message_exchange *exchange)
{
    (void)w;
    return exchange->step < chunk->version   ? VERDICT_STALE
           : exchange->step > chunk->version ? VERDICT_REJECTED
                                             : VERDICT_NONE;
}

const struct mode_invariants mode_invariants_backup = {
    .serial = true,
    .releases = true,
    .judge = backup_judge,
    .said = backup_said,
};

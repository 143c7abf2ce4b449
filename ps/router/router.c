/* router.c - the checks, and the life of one server:
 *
 *     JOINING ---WELCOME (first: the plan is made)---> LOADING ---owners have loaded---> SERVING
 *                                                         ^                                |
 *                                                         '--WELCOME, greater generation---'
 *     any of them ---FINISHED, a refusal, a deadline, router_fail---> OVER
 *
 * OVER is that of common/wire/joining.h. EXCHANGE is taken while SERVING only; all messages of
 * server 0 are taken in any state but OVER. */

#include "ps/router/router.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/steps/leaf_set.h"
#include "ps/mode/shard_mode.h"
#include "ps/router/router_state.h"

#define CHUNKS_US         1000000u /* Chunks of a checkpoint that do not come are asked for again. */
#define SNAPSHOT_AGAIN_US 5000000u /* A final snapshot that is lost is begun anew; doubled. */
#define SNAPSHOT_BYTES_US 16u /* Bytes of a part in a microsecond, on the slowest disk and way. */
#define COUNTS_LINE_US    10000000u /* Between lines about messages that were not taken. */
#define REQUESTS_MIN      1024u     /* Messages that any worker may have under way. */

/* --- life ---------------------------------------------------------------------------------- */

enum status router_create(struct router **router, const struct router_options *options,
                          uint64_t now_us)
{
    struct router *r = calloc(1, sizeof *r);
    *router = r;
    if (r == NULL)
        return STATUS_MEMORY;
    r->options = *options;
    joining_init(&r->joining, ROLE_PS, &options->self, NULL, now_us);
    r->stop_step = UINT64_MAX;
    r->counts_us = now_us;
    r->scored.owners = calloc(options->owner_count, sizeof *r->scored.owners);
    if (r->scored.owners == NULL ||
        owner_figures_init(&r->figures, options->owner_count) != STATUS_OK) {
        router_destroy(router);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

void router_destroy(struct router **router)
{
    struct router *r = *router;
    if (r == NULL)
        return;
    plan_destroy(&r->plan);
    pages_free(&r->pages);
    sessions_free(&r->sessions);
    descriptions_free(&r->descriptions);
    free(r->owner_of);
    owner_figures_free(&r->figures);
    free(r->scored.owners);
    free(r);
    *router = NULL;
}

const struct plan *router_plan(const struct router *router)
{
    return router->plan;
}

enum router_state router_state(const struct router *router)
{
    return router->joining.over ? ROUTER_OVER : router->state;
}

struct router_counts router_counts(const struct router *router)
{
    return router->counts;
}

const char *router_waiting(const struct router *router, double *seconds, uint64_t now_us)
{
    const struct joining *joining = &router->joining;
    *seconds = (double)(now_us - joining->asked_us) * 1e-6;
    return joining->joining && !joining->over ? joining->waiting : NULL;
}

struct joining *router_joining(struct router *router)
{
    return &router->joining;
}

static struct message *tell_owner(const struct router *router, uint32_t owner,
                                  enum message_kind kind, struct outbox *outbox)
{
    struct packet *packet = outbox_add_to(outbox, TO_OWNER, owner, kind);
    packet->message.generation = router->joining.envelope.generation;
    return &packet->message;
}

void router_fail(struct router *router, int exit_code, const char *reason, struct outbox *outbox)
{
    struct message *message = joining_say(&router->joining, MESSAGE_STOP, outbox);
    message->stop.exit_code = (uint32_t)exit_code;
    snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    joining_end(&router->joining, exit_code, reason);
}

/* --- from workers -------------------------------------------------------------------------- */

static void refuse(const struct router *router, const struct packet *packet, enum refusal reason,
                   const char *text, uint64_t *count, struct outbox *outbox)
{
    envelope_refuse(&router->joining.envelope, packet, reason, outbox, "%s", text);
    ++*count;
}

/* Whether the sender is the worker that it claims to be. */
static bool check_worker(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    struct router_counts *counts = &router->counts;
    switch (sessions_judge(&router->sessions, packet)) {
    case SENDER_WORKER:
        return true;
    case SENDER_STALE:
        counts->fenced++;
        break;
    case SENDER_SUPERSEDED:
        refuse(router, packet, REFUSAL_MEMBER, "another process is this worker now",
               &counts->fenced, outbox);
        break;
    case SENDER_NONE:
        refuse(router, packet, REFUSAL_MEMBER, "not admitted as this worker", &counts->refused,
               outbox);
        break;
    }
    return false;
}

/* Whether the sender is that worker, of this run and generation. */
static bool check_sender(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    struct router_counts *counts = &router->counts;
    bool serving = router_state(router) == ROUTER_SERVING;
    if (serving && message->run_id != router->joining.envelope.run_id)
        refuse(router, packet, REFUSAL_RUN, "this server is serving another run", &counts->refused,
               outbox);
    else if (!serving || message->generation > router->joining.envelope.generation)
        counts->dropped++; /* We shall hear of it, and the worker repeats. */
    else if (message->generation < router->joining.envelope.generation)
        counts->fenced++;
    else if (message->role != ROLE_WORKER || message->index >= JOB_WORKERS_MAX)
        refuse(router, packet, REFUSAL_MEMBER, "no such worker in this job", &counts->refused,
               outbox);
    else
        return check_worker(router, packet, outbox);
    return false;
}

/* The fields that a gradient needs, present or announced. NULL when it fits the plan. */
static const char *node_fault(const struct router *router, const struct message_exchange *exchange)
{
    const struct job *job = &router->plan->job;
    if (exchange->step >= job->steps)
        return "a gradient for a step after the last";
    return shard_mode_of(job)->fault(job, exchange);
}

/* NULL when the exchange fits the plan, else its fault. */
static const char *exchange_fault(const struct router *router, const struct packet *packet)
{
    const struct partition *partition = &router->plan->partition;
    const struct message_exchange *exchange = &packet->message.exchange;
    if (exchange->chunk >= partition->chunk_count ||
        partition->chunks[exchange->chunk].server != router->options.self.index)
        return "not a chunk of this server";
    uint64_t bytes = partition->chunks[exchange->chunk].count * sizeof(float);
    bool with_payload = exchange->gradient && !exchange->retry && !exchange->skip;
    if (!with_payload && packet->payload != NULL)
        return "a payload without a gradient";
    if (with_payload && (packet->payload == NULL || packet->payload->bytes != bytes))
        return "a gradient of the wrong size";
    if (exchange->scored && (!exchange->want || exchange->gradient || exchange->skip))
        return "what is kept for a score is asked for by itself";
    if (!exchange->gradient && !exchange->skip)
        return NULL;
    if (router->welcome.records && exchange->count == 0)
        return "a gradient without its count";
    return node_fault(router, exchange);
}

/* Whether it gets a verdict. */
static bool counts_as_gradient(const struct message_exchange *exchange)
{
    return (exchange->gradient || exchange->skip) && !exchange->retry;
}

/* The coordinator is server 0's. A node of a step is reported at once, because the step's set
 * may depend on it. A batch is reported by the owner, which knows whether it was applied. */
static void pass_report(const struct router *router, struct packet *packet, struct outbox *outbox)
{
    struct message_exchange *exchange = &packet->message.exchange;
    bool here = router->options.self.index == 0, steps = job_mode(&router->plan->job)->steps;
    if (exchange->has_report && here && steps)
        order_report(packet, outbox);
    exchange->has_report = exchange->has_report && here && !steps;
}

/* A recorded gradient needs its description, which may be late or lost. */
static bool is_described(const struct router *router, struct packet *packet)
{
    struct message_exchange *exchange = &packet->message.exchange;
    uint32_t worker = packet->message.index;
    exchange->described =
        descriptions_find(&router->descriptions, worker, packet->message.ticket, exchange->count);
    exchange->named = exchange->described != 0 ? router->descriptions.latest[worker].named : 0;
    return !router->welcome.records || (!exchange->gradient && !exchange->skip) ||
           exchange->described != 0;
}

/* The worker has more under way than it may, or must describe it first: it sends it again. */
static void ask_again(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    router->counts.dropped++;
    if (packet->payload == NULL)
        return;
    struct packet *answer =
        envelope_answer(&router->joining.envelope, packet, MESSAGE_RECEIPT, outbox);
    answer->message.receipt = (struct message_receipt){
        .chunk = exchange->chunk, .step = exchange->step, .node = exchange->node, .missing = true};
}

static void handle_exchange(struct router *router, struct packet *packet, struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    packet->member = check_sender(router, packet, outbox);
    if (!packet->member)
        return;
    const char *fault = exchange_fault(router, packet);
    if (fault != NULL) {
        router->rejected += counts_as_gradient(exchange);
        router->counts.received += counts_as_gradient(exchange);
        refuse(router, packet, REFUSAL_MALFORMED, fault, &router->counts.refused, outbox);
        return;
    }
    if (!is_described(router, packet)) {
        ask_again(router, packet, outbox);
        return;
    }
    pass_report(router, packet, outbox);
    packet->weight =
        sizeof(struct outgoing) + (packet->payload != NULL ? packet->payload->bytes : 0);
    if (!sessions_let_in(&router->sessions, packet->message.index, packet->weight)) {
        ask_again(router, packet, outbox);
        return;
    }
    router->counts.received += counts_as_gradient(exchange);
    uint32_t owner = router->owner_of[exchange->chunk];
    struct packet *out = outbox_add_to(outbox, TO_OWNER, owner, MESSAGE_EXCHANGE);
    *out = *packet;
    packet->payload = NULL;
}

/* Not answered. It goes before the EXCHANGEs that it describes, on their way. */
static void handle_gradient(struct router *router, struct packet *packet, struct outbox *outbox)
{
    enum status status = STATUS_INVALID;
    packet->member = check_sender(router, packet, outbox);
    if (!packet->member)
        return;
    if (router->welcome.records && packet->message.gradient.batch < router->plan->job.steps)
        status = descriptions_hear(&router->descriptions, &packet->message);
    if (status == STATUS_MEMORY)
        router_fail(router, EXIT_TRAINING_FAILED, "out of memory for the record", outbox);
    else if (status != STATUS_OK)
        refuse(router, packet, REFUSAL_MALFORMED, "a gradient's description that does not fit",
               &router->counts.refused, outbox);
}

void router_handle_peer(struct router *router, struct packet *packet, struct outbox *outbox)
{
    if (router->joining.over)
        ; /* A late repetition: the sender hears that the job has finished, or knows it. */
    else if (packet->message.kind == MESSAGE_EXCHANGE)
        handle_exchange(router, packet, outbox);
    else if (packet->message.kind == MESSAGE_GRADIENT)
        handle_gradient(router, packet, outbox);
    else if (packet->message.kind == MESSAGE_STATUS && router->state != ROUTER_SERVING)
        refuse(router, packet, REFUSAL_RUN, "this server does not serve yet",
               &router->counts.refused, outbox); /* A probe wants to know. */
    else
        refuse(router, packet, REFUSAL_MALFORMED, "this server does not take that message",
               &router->counts.refused, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !router->options.unchecked)
        router_check(router);
}

/* --- from the coordinator ------------------------------------------------------------------ */

/* The most of a worker with the owners at a time: its window of gradients, but at least two
 * chunks, and their messages, with as many again without a gradient. */
static uint64_t window_bytes(const struct plan *plan)
{
    uint64_t gradients = 2 * plan->partition.chunk_elements * sizeof(float);
    uint64_t messages = REQUESTS_MIN + 2 * (uint64_t)plan->chunk_count * plan->pushes_max;
    return (gradients > WINDOW_BYTES ? gradients : WINDOW_BYTES) +
           messages * sizeof(struct outgoing);
}

/* The most that a worker may be sent and not have read: the values of a step, those of the next
 * one, those that it scores, and what it has asked for twice. */
static uint64_t answer_bytes(const struct plan *plan)
{
    return 4 * partition_server_bytes(&plan->partition, plan->server) +
           2 * plan->partition.chunk_elements * sizeof(float);
}

static enum status make_plan(struct router *router, uint64_t run_id, struct error *error)
{
    struct job job;
    if (router->pages.bytes == NULL || router->pages.received != router->pages.total)
        return error_set(error, STATUS_AGAIN, "the declaration is not all here");
    enum status status = job_decode(router->pages.bytes, router->pages.total, &job, error);
    if (status != STATUS_OK)
        return status;
    status = plan_create(&router->plan, &job, router->options.self.index, run_id, error);
    job_free(&job);
    if (status != STATUS_OK)
        return status;
    const struct partition *partition = &router->plan->partition;
    status =
        sessions_init(&router->sessions, window_bytes(router->plan), answer_bytes(router->plan));
    router->owner_of = calloc(partition->chunk_count, 1);
    if (status != STATUS_OK || router->owner_of == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the plan");
    descriptions_init(&router->descriptions, partition->chunk_count, router->plan->job.steps);
    uint32_t place = 0;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (partition->chunks[i].server == router->options.self.index)
            router->owner_of[i] = (uint8_t)(place++ % router->options.owner_count);
    return STATUS_OK;
}

static void log_plan(const struct router *router, struct outbox *outbox)
{
    const struct partition *partition = &router->plan->partition;
    outbox_log(outbox,
               "plan chunks=%u of=%u bytes=%llu of=%llu servers=%u imbalance=%.3f owners=%u "
               "mode=%s optimizer=%s",
               router->plan->chunk_count, partition->chunk_count,
               (unsigned long long)partition_server_bytes(partition, router->options.self.index),
               (unsigned long long)(partition->elements * sizeof(float)), partition->server_count,
               partition_imbalance(partition), router->options.owner_count,
               job_mode_text(&router->plan->job).text, router->plan->job.optimizer.name);
}

static void order_load(struct router *router, struct outbox *outbox)
{
    const struct message_welcome *welcome = &router->welcome;
    /* Every worker starts from there: it is as good as let out. */
    router->released = welcome->restore ? welcome->restore_step : 0;
    struct order order = {.kind = ORDER_LOAD,
                          .run_id = router->joining.envelope.run_id,
                          .generation = router->joining.envelope.generation,
                          .load = {.plan = router->plan,
                                   .restore = welcome->restore,
                                   .records = welcome->records,
                                   .step = router->released}};
    snprintf(order.load.out, sizeof order.load.out, "%s", welcome->out);
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        order_add(outbox, TO_OWNER, i, &order);
    order_add(outbox, TO_CHECKPOINTER, 0, &order);
    outbox_log(outbox, "generation=%llu starts from step=%llu",
               (unsigned long long)router->joining.envelope.generation,
               (unsigned long long)order.load.step);
}

static void forget_scored(struct router *router)
{
    memset(router->scored.owners, 0, router->options.owner_count * sizeof *router->scored.owners);
    router->scored.all = (struct order_scored){0};
    router->scored.let_go = 0;
}

/* Leave the generation before, and bring the owners to the values of the new one. */
static void load(struct router *router, const struct message_welcome *welcome,
                 struct outbox *outbox)
{
    router->state = ROUTER_LOADING;
    router->joining.started = true;
    router->welcome = *welcome;
    router->owners_loaded = 0;
    router->checkpointer_loaded = router->needs_chunks = false;
    router->snapshot = (struct router_snapshot){0};
    router->rejected = router->counts.received = 0;
    owner_figures_forget(&router->figures);
    forget_scored(router);
    sessions_forget(&router->sessions, welcome->secret);
    descriptions_forget(&router->descriptions);
    order_load(router, outbox);
}

static void say_ready(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    struct frame *figures = owner_figures_news(&router->figures);
    struct message_ready *ready =
        &joining_say_with(&router->joining, MESSAGE_READY, figures, outbox)->ready;
    ready->shared = router->shared;
    ready->scored = router->scored.all.batches;
    ready->scored_lost = router->scored.all.lost;
    ready->leash = router->joining.leash;
    router->joining.beat_us = now_us;
}

/* The first one: it has the job. */
static bool learn_job(struct router *router, const struct message *message, struct outbox *outbox)
{
    struct error error;
    enum status status = make_plan(router, message->run_id, &error);
    if (status == STATUS_OK) {
        router->stop_step = router->plan->job.steps;
        log_plan(router, outbox);
    } else if (status != STATUS_AGAIN) { /* Else the next JOIN brings the pages again. */
        router_fail(router, status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_MISMATCH,
                    error.text, outbox);
    }
    return status == STATUS_OK;
}

static void handle_welcome(struct router *router, const struct message *message, uint64_t now_us,
                           struct outbox *outbox)
{
    if (router->plan == NULL && !learn_job(router, message, outbox))
        return;
    enum welcome welcome = joining_welcome(&router->joining, message);
    if (welcome == WELCOME_OTHER_RUN)
        joining_end(&router->joining, EXIT_CLUSTER_LOST, "ps/0 has begun another run");
    else if (welcome == WELCOME_OLD)
        router->counts.fenced++;
    else if (welcome == WELCOME_GENERATION)
        load(router, &message->welcome, outbox);
    else if (router_state(router) == ROUTER_SERVING)
        say_ready(router, now_us, outbox);
}

static uint32_t owner_of_first(const struct router *router, uint64_t first)
{
    const struct partition *partition = &router->plan->partition;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (partition->chunks[i].first == first)
            return router->owner_of[i];
    return 0;
}

static void forward_chunk_state(struct router *router, struct packet *packet, uint64_t now_us,
                                struct outbox *outbox)
{
    if (router_state(router) != ROUTER_LOADING)
        return;
    router->chunks_us = now_us;
    uint32_t owner = owner_of_first(router, packet->message.chunk_state.first);
    *outbox_add_to(outbox, TO_OWNER, owner, MESSAGE_CHUNK_STATE) = *packet;
    packet->payload = NULL;
}

/* At the gate chunks have had all that is described here. False: without memory. */
static bool hand_descriptions_over(struct router *router, struct outbox *outbox)
{
    const struct plan *plan = router->plan;
    uint32_t page = 0;
    if (!router->welcome.records)
        return true;
    descriptions_drop(&router->descriptions, router->snapshot.cut.recorded);
    for (uint32_t i = 0; i < plan->partition.chunk_count; i++) {
        const struct chunk_range *range = &plan->partition.chunks[i];
        if (range->server != plan->server)
            continue;
        struct frame *frame = descriptions_pack(&router->descriptions, page++, plan->chunk_count);
        if (frame == NULL)
            return false;
        struct packet *packet = outbox_add(outbox, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
        packet->message.generation = router->joining.envelope.generation;
        packet->message.chunk_state =
            (struct message_chunk_state){.step = router->snapshot.cut.step,
                                         .first = range->first,
                                         .count = range->count,
                                         .array = CHECKPOINT_DESCRIPTIONS,
                                         .server = plan->server};
        packet->payload = frame;
    }
    return true;
}

static void begin_snapshot(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    struct router_snapshot *snapshot = &router->snapshot;
    snapshot->owners = 0;
    snapshot->verdicts = (struct verdict_counts){0};
    snapshot->taken = hand_descriptions_over(router, outbox);
    if (!snapshot->taken)
        outbox_warn(outbox, "out of memory for a checkpoint at step %llu",
                    (unsigned long long)snapshot->cut.step);
    snapshot->said = snapshot->part_said = false;
    snapshot->begun_us = now_us;
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        tell_owner(router, i, MESSAGE_CUT, outbox)->cut = snapshot->cut;
}

static void say_cut_taken(struct router *router, struct outbox *outbox)
{
    const struct router_snapshot *snapshot = &router->snapshot;
    struct frame *figures = owner_figures_at_snapshot(&router->figures);
    joining_say_with(&router->joining, MESSAGE_CUT_TAKEN, figures, outbox)->cut_taken =
        (struct message_cut_taken){
            .step = snapshot->cut.step, .taken = snapshot->taken, .verdicts = snapshot->verdicts};
}

/* How long the part may take until there is news of it: a large one is written, or is on its way
 * to server 0's disk, for longer than a lost one is waited for, and must not be written twice.
 * Half of a stop's time is left for a part that was lost. */
static uint64_t snapshot_patience_us(const struct router *router)
{
    const struct plan *plan = router->plan;
    uint64_t bytes = partition_server_bytes(&plan->partition, plan->server);
    uint64_t writing_us = bytes * (1 + plan->slots.count) / SNAPSHOT_BYTES_US;
    double most_us = router->options.self.deadlines.stop * 1e6 / 2;
    if ((double)writing_us > most_us)
        writing_us = (uint64_t)most_us;
    return router->snapshot.patience_us + (router->snapshot.part_said ? 0 : writing_us);
}

/* Server 0 lacks an answer about this snapshot: repeat it. The chunks of a final one may have
 * been lost on their way to its disk, or ours has failed: then make it anew. */
static void repeat_snapshot(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    struct router_snapshot *snapshot = &router->snapshot;
    bool written = snapshot->part_said && snapshot->part.written;
    if (snapshot->said)
        say_cut_taken(router, outbox);
    if (snapshot->part_said && (written || !snapshot->cut.final))
        joining_say(&router->joining, MESSAGE_PART_WRITTEN, outbox)->part_written = snapshot->part;
    if (!snapshot->cut.final || !snapshot->said || written ||
        now_us - snapshot->begun_us < snapshot_patience_us(router))
        return;
    snapshot->patience_us *= 2;
    begin_snapshot(router, now_us, outbox);
}

static void handle_snapshot(struct router *router, const struct message_cut *cut, uint64_t now_us,
                            struct outbox *outbox)
{
    struct router_snapshot *snapshot = &router->snapshot;
    bool again =
        snapshot->named && cut->step == snapshot->cut.step && cut->final == snapshot->cut.final;
    /* A late message must not take the place of the snapshot that server 0 waits for. Steps do not
     * tell which is late: one that is named later may be due earlier. */
    if (router_state(router) != ROUTER_SERVING || cut->number < snapshot->cut.number)
        return;
    if (!again)
        *snapshot = (struct router_snapshot){.named = true, .patience_us = SNAPSHOT_AGAIN_US};
    snapshot->cut = *cut;
    if (again)
        repeat_snapshot(router, now_us, outbox);
    else
        begin_snapshot(router, now_us, outbox);
}

void router_note_part(struct router *router, const struct message *message)
{
    const struct message_part_written *part = &message->part_written;
    if (!router->snapshot.named || message->generation != router->joining.envelope.generation ||
        part->server != router->options.self.index || part->step != router->snapshot.cut.step)
        return;
    router->snapshot.part_said = true;
    router->snapshot.part = *part;
}

/* No version after the next one that no worker has yet: every later answer says so, and every
 * worker needs one of this server's answers for every version. */
static void handle_stop(struct router *router, struct outbox *outbox)
{
    if (router->plan == NULL)
        return;
    if (router->released + 1 < router->stop_step)
        router->stop_step = router->released + 1;
    order_add(outbox, TO_COORDINATOR, 0,
              &(struct order){.kind = ORDER_STOP_AT,
                              .generation = router->joining.envelope.generation,
                              .stop_at.step = router->stop_step});
}

/* Whether its payload has a set of that step of the job: owners take it unchecked. */
static bool can_close(const struct job *job, uint64_t step, const struct frame *list)
{
    struct leaf_sets sets;
    return list != NULL && leaf_sets_open(&sets, list->data, list->bytes) &&
           leaf_sets_fit(sets, job) && step >= sets.step && step - sets.step < sets.left;
}

/* Every owner gets it: the set is the same for all chunks. */
static void forward_close(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    if (router_state(router) != ROUTER_SERVING ||
        !can_close(&router->plan->job, packet->message.close.step, packet->payload))
        return;
    for (uint32_t i = 0; i < router->options.owner_count; i++) {
        struct packet *out = outbox_add_to(outbox, TO_OWNER, i, MESSAGE_CLOSE);
        out->message.generation = router->joining.envelope.generation;
        out->message.close = packet->message.close;
        out->payload = frame_retain(packet->payload);
    }
}

/* Whether a message that only makes sense within a generation is of this one. */
static bool is_current(struct router *router, const struct message *message)
{
    bool bound = message->kind == MESSAGE_CHUNK_STATE || message->kind == MESSAGE_CUT ||
                 message->kind == MESSAGE_STOP || message->kind == MESSAGE_CLOSE;
    if (!bound || message->generation == router->joining.envelope.generation)
        return true;
    router->counts.fenced += message->generation < router->joining.envelope.generation;
    router->counts.dropped += message->generation > router->joining.envelope.generation;
    return false;
}

/* Server 0 does not need the values kept for some scores any more. */
static void let_go(struct router *router, const struct message *message, struct outbox *outbox)
{
    if (message->waiting.scored <= router->scored.let_go || router->plan == NULL ||
        message->generation != router->joining.envelope.generation)
        return;
    router->scored.let_go = message->waiting.scored;
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        order_add(outbox, TO_OWNER, i,
                  &(struct order){.kind = ORDER_LET_GO,
                                  .generation = router->joining.envelope.generation,
                                  .let_go.batches = router->scored.let_go});
}

static void handle_known(struct router *router, struct packet *packet, uint64_t now_us,
                         struct outbox *outbox)
{
    const struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_JOB_PAGE:
        if (router->plan == NULL && pages_add(&router->pages, &message->job_page) == STATUS_MEMORY)
            router_fail(router, EXIT_TRAINING_FAILED, "no memory for the declaration", outbox);
        break;
    case MESSAGE_WELCOME:
        handle_welcome(router, message, now_us, outbox);
        break;
    case MESSAGE_CHUNK_STATE:
        forward_chunk_state(router, packet, now_us, outbox);
        break;
    case MESSAGE_CUT:
        handle_snapshot(router, &message->cut, now_us, outbox);
        break;
    case MESSAGE_CLOSE:
        forward_close(router, packet, outbox);
        break;
    case MESSAGE_STOP:
        handle_stop(router, outbox);
        break;
    case MESSAGE_REFUSED:
        joining_refused(&router->joining, message,
                        joining_exit_code(&router->joining, message->refused.reason), now_us,
                        outbox);
        break;
    case MESSAGE_FINISHED:
        if (joining_finished(&router->joining, message, outbox))
            joining_end(&router->joining, (int)message->stop.exit_code, message->stop.reason);
        break;
    case MESSAGE_WAITING:
        if (!router->joining.joining) /* Else this server's driver says so. */
            outbox_log(outbox, "ps/0 is %s", message->waiting.text);
        break;
    case MESSAGE_PONG:
        let_go(router, message, outbox);
        break;
    default: /* It counts as heard, and no more. */
        break;
    }
}

void router_handle_coordinator(struct router *router, struct packet *packet, uint64_t now_us,
                               struct outbox *outbox)
{
    if (joining_hear(&router->joining, &packet->message, now_us, outbox) &&
        is_current(router, &packet->message))
        handle_known(router, packet, now_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !router->options.unchecked)
        router_check(router);
}

/* --- from owners and the checkpointer --------------------------------------------------------- */

static void ready_when_loaded(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    if (router_state(router) != ROUTER_LOADING || !router->checkpointer_loaded ||
        router->owners_loaded < router->options.owner_count)
        return;
    router->state = ROUTER_SERVING;
    say_ready(router, now_us, outbox);
}

static void ask_for_chunks(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    router->chunks_us = now_us;
    joining_say(&router->joining, MESSAGE_READY, outbox)->ready =
        (struct message_ready){.needs_chunks = true, .leash = router->joining.leash};
}

static void handle_loaded(struct router *router, const struct order *order, uint64_t now_us,
                          struct outbox *outbox)
{
    const struct order_loaded *loaded = &order->loaded;
    if (router_state(router) != ROUTER_LOADING)
        return;
    if (order->from != ORDER_FROM_CHECKPOINTER) {
        router->owners_loaded++;
    } else if (loaded->status != STATUS_OK) {
        router_fail(router, EXIT_CANNOT_OPEN, loaded->text, outbox);
        return;
    } else {
        router->checkpointer_loaded = true;
        router->shared = loaded->shared;
        router->needs_chunks = loaded->needs_chunks;
        if (loaded->needs_chunks)
            ask_for_chunks(router, now_us, outbox);
    }
    ready_when_loaded(router, now_us, outbox);
}

static void take_figures(struct router *router, uint32_t owner, struct packet *packet)
{
    owner_figures_put(&router->figures, owner, packet->payload);
    packet->payload = NULL;
}

static void handle_owner_snapshot(struct router *router, const struct message_cut_taken *answer,
                                  struct outbox *outbox)
{
    struct router_snapshot *snapshot = &router->snapshot;
    /* Of a snapshot that was given up. */
    if (!snapshot->named || answer->step != snapshot->cut.step || snapshot->said)
        return;
    verdict_counts_add(&snapshot->verdicts, &answer->verdicts);
    snapshot->taken = snapshot->taken && answer->taken;
    if (++snapshot->owners < router->options.owner_count)
        return;
    snapshot->said = true;
    snapshot->verdicts.rejected += router->rejected;
    owner_figures_snapshot(&router->figures);
    say_cut_taken(router, outbox);
}

/* Server 0 hears at once when all chunks have kept the values of a score, and with every sign of
 * life from then on. */
static void handle_scored(struct router *router, const struct order *order, uint64_t now_us,
                          struct outbox *outbox)
{
    uint32_t with_chunks = router->options.owner_count;
    if (router->plan->chunk_count < with_chunks) /* They are dealt in turn. */
        with_chunks = router->plan->chunk_count;
    router->scored.owners[order->from] = order->scored;
    struct order_scored all = order->scored;
    for (uint32_t i = 0; i < with_chunks; i++) {
        if (router->scored.owners[i].batches != all.batches)
            all = (struct order_scored){0};
        all.lost = all.lost || (all.batches > 0 && router->scored.owners[i].lost);
    }
    router->scored.all = all;
    if (all.batches > 0 && router_state(router) == ROUTER_SERVING)
        say_ready(router, now_us, outbox);
}

/* The first answer to an exchange makes room in its worker's window. */
static void settle(struct router *router, uint32_t worker, struct packet *packet)
{
    if (packet->weight > 0)
        sessions_settle(&router->sessions, worker, packet->weight);
    packet->weight = 0;
}

static void send_answer(struct router *router, struct packet *packet, struct outbox *outbox)
{
    struct message *message = &packet->message;
    if (packet->payload != NULL) {
        packet->payload = sessions_give(&router->sessions, message->index, packet->payload);
        if (packet->payload == NULL) { /* It does not read. If it does again, it asks again. */
            router->counts.dropped++;
            return;
        }
    }
    if (message->kind == MESSAGE_RESULT) {
        if (message->result.parameters && !message->result.scored &&
            message->result.version > router->released)
            router->released = message->result.version;
        message->result.stop_step = router->stop_step;
    }
    envelope_seal_to_member(&router->joining.envelope, message);
    *outbox_add(outbox, TO_PEER, message->kind) = *packet;
    packet->payload = NULL;
}

static void obey(struct router *router, const struct order *order, struct packet *packet,
                 uint64_t now_us, struct outbox *outbox)
{
    switch (order->kind) {
    case ORDER_TAKEN:
        settle(router, order->taken.worker, packet);
        break;
    case ORDER_LOADED:
        handle_loaded(router, order, now_us, outbox);
        break;
    case ORDER_FIGURES:
        take_figures(router, order->from, packet);
        break;
    case ORDER_SCORED:
        handle_scored(router, order, now_us, outbox);
        break;
    case ORDER_OWNER_SNAPSHOT:
        take_figures(router, order->from, packet);
        handle_owner_snapshot(router, &order->owner_snapshot, outbox);
        break;
    default:
        assert(!"an order that routers do not take");
    }
}

static void handle_from_inside(struct router *router, struct packet *packet, uint64_t now_us,
                               struct outbox *outbox)
{
    switch (packet->message.kind) {
    case MESSAGE_RESULT:
    case MESSAGE_MOVED_ON:
    case MESSAGE_RECEIPT:
        settle(router, packet->message.index, packet);
        send_answer(router, packet, outbox);
        break;
    case MESSAGE_CHUNK_STATE: /* From the checkpointer, out of a checkpoint. */
        forward_chunk_state(router, packet, now_us, outbox);
        break;
    default:
        assert(!"a message that routers do not take from inside");
    }
}

void router_handle_inside(struct router *router, struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    uint64_t generation = order != NULL ? order->generation : packet->message.generation;
    if (generation != router->joining.envelope.generation)
        ; /* It was in flight. */
    else if (order != NULL)
        obey(router, order, packet, now_us, outbox);
    else
        handle_from_inside(router, packet, now_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !router->options.unchecked)
        router_check(router);
}

/* --- time ---------------------------------------------------------------------------------- */

/* A sign of life carries this server's progress. */
static void beat(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    if (router_state(router) == ROUTER_LOADING && router->needs_chunks &&
        now_us - router->chunks_us >= CHUNKS_US)
        ask_for_chunks(router, now_us, outbox);
    if (!joining_is_to_beat(&router->joining, now_us))
        return;
    if (router_state(router) == ROUTER_SERVING)
        say_ready(router, now_us, outbox);
    else
        joining_say(&router->joining, MESSAGE_PING, outbox)->ping =
            (struct message_ping){.step = router->released, .leash = router->joining.leash};
}

static void log_counts(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    const struct router_counts *now = &router->counts, *logged = &router->counts_logged;
    if (now_us - router->counts_us < COUNTS_LINE_US)
        return;
    router->counts_us = now_us;
    if (now->fenced != logged->fenced || now->dropped != logged->dropped ||
        now->refused != logged->refused)
        outbox_log(outbox, "messages not taken fenced=%llu dropped=%llu refused=%llu",
                   (unsigned long long)now->fenced, (unsigned long long)now->dropped,
                   (unsigned long long)now->refused);
    router->counts_logged = router->counts;
}

void router_tick(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    if (router->joining.over)
        return;
    joining_tick(&router->joining, now_us, outbox);
    if (!router->joining.joining)
        beat(router, now_us, outbox);
    joining_watch(&router->joining, now_us, outbox);
    log_counts(router, now_us, outbox);
    if (CHECKED && !router->options.unchecked)
        router_check(router);
}

#include "ps/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pages.h"

#define JOIN_FIRST_US    2000u  /* Until JOIN is repeated; doubled each time ... */
#define JOIN_INTERVAL_US 64000u /* ... up to this. Server 0 asks itself at every tick. */
#define PATIENCE_MS      100
#define PING_INTERVAL_US 1000000u

/* Who may use a worker's index: the first incarnation that showed up. */
struct session {
    uint64_t incarnation; /* 0: nobody yet. */
    uint64_t peer;
    uint8_t key[KEY_BYTES]; /* Its. */
};

struct router {
    struct router_options options;
    enum router_state state;
    struct plan *plan;
    uint64_t run_id, generation;
    struct pages pages;       /* The declaration, while it comes in. */
    struct session *sessions; /* [worker_count] */
    uint8_t *owner_of;        /* [chunk_count] owner index of this server's chunks. */
    uint32_t owners_loaded, owners_cut;
    bool keeper_loaded, shared, cut_taken;
    bool cut_named, cut_final; /* The latest CUT. */
    uint64_t cut_step;
    struct verdict_counts *owner_verdicts; /* [owner_count] as of each owner's last cut. */
    uint64_t rejected;                     /* Gradients refused here, before an owner saw them. */
    uint64_t released;                     /* Highest version given out. */
    uint64_t stop_step;                    /* Last version there will be. */
    uint64_t started_us, heard_us, joined_us, pinged_us;
    uint64_t join_interval_us;      /* 0: JOIN has not been sent, or this is server 0. */
    char waiting[MESSAGE_TEXT_MAX]; /* What server 0 is waiting for. */
    int exit_code;
    char exit_reason[MESSAGE_TEXT_MAX];
};

/* --- life ---------------------------------------------------------------------------------- */

enum status router_create(struct router **router, const struct router_options *options,
                          uint64_t now_us)
{
    struct router *r = calloc(1, sizeof *r);
    *router = r;
    if (r == NULL)
        return STATUS_MEMORY;
    r->options = *options;
    r->run_id = options->run_id;
    r->stop_step = UINT64_MAX;
    r->started_us = r->heard_us = now_us;
    r->owner_verdicts = calloc(options->owner_count, sizeof *r->owner_verdicts);
    if (r->owner_verdicts == NULL) {
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
    free(r->sessions);
    free(r->owner_of);
    free(r->owner_verdicts);
    free(r);
    *router = NULL;
}

const struct plan *router_plan(const struct router *router)
{
    return router->plan;
}

enum router_state router_state(const struct router *router)
{
    return router->state;
}

const char *router_waiting(const struct router *router, double *seconds, uint64_t now_us)
{
    *seconds = (double)(now_us - router->started_us) * 1e-6;
    return router->state == ROUTER_JOINING ? router->waiting : NULL;
}

int router_exit_code(const struct router *router)
{
    return router->exit_code;
}

const char *router_exit_reason(const struct router *router)
{
    return router->exit_reason;
}

void router_stamp(const struct router *router, struct message *message)
{
    message->role = ROLE_PS;
    message->index = router->options.server;
    message->incarnation = router->options.incarnation;
    message->run_id = router->run_id;
    message->generation = router->generation;
}

static void finish(struct router *router, int exit_code, const char *reason)
{
    if (router->state == ROUTER_OVER)
        return;
    router->state = ROUTER_OVER;
    router->exit_code = exit_code;
    snprintf(router->exit_reason, sizeof router->exit_reason, "%s", reason);
}

/* This server cannot go on: the coordinator tells everybody. */
static void fail(struct router *router, int exit_code, const char *reason, struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, TO_COORDINATOR, MESSAGE_STOP);
    packet->message.stop.exit_code = (uint32_t)exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    finish(router, exit_code, reason);
}

/* --- from workers -------------------------------------------------------------------------- */

static void refuse(struct router *router, const struct packet *packet, enum refusal reason,
                   const char *text, struct outbox *outbox)
{
    if (packet->message.kind == MESSAGE_EXCHANGE && packet->message.exchange.gradient)
        router->rejected++;
    struct packet *answer = outbox_add(outbox, TO_PEER, MESSAGE_REFUSED);
    answer->peer = packet->peer;
    answer->message.request = packet->message.request;
    answer->message.refused.reason = reason;
    snprintf(answer->message.refused.text, MESSAGE_TEXT_MAX, "%s", text);
}

/* Whether the sender is the worker it says, of this run. */
static bool check_sender(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    if (router->state != ROUTER_SERVING || message->run_id != router->run_id ||
        message->generation != router->generation) {
        refuse(router, packet, REFUSAL_RUN, "this server is not serving that run", outbox);
        return false;
    }
    if (message->role != ROLE_WORKER || message->index >= router->plan->job.worker_count) {
        refuse(router, packet, REFUSAL_MEMBER, "no such worker in this job", outbox);
        return false;
    }
    struct session *session = &router->sessions[message->index];
    if (session->incarnation == 0) {
        session->incarnation = message->incarnation;
        memcpy(session->key, packet->key, KEY_BYTES);
    }
    if (!key_equal(session->key, packet->key)) {
        refuse(router, packet, REFUSAL_KEY, "this worker has another key", outbox);
        return false;
    }
    if (session->incarnation != message->incarnation) {
        refuse(router, packet, REFUSAL_MEMBER, "another process is this worker", outbox);
        return false;
    }
    session->peer = packet->peer;
    return true;
}

/* NULL when the exchange fits the plan, else what is wrong with it. */
static const char *exchange_fault(const struct router *router, const struct packet *packet)
{
    const struct job *job = &router->plan->job;
    const struct partition *partition = &router->plan->partition;
    const struct message_exchange *exchange = &packet->message.exchange;
    if (exchange->chunk >= partition->chunk_count ||
        partition->chunks[exchange->chunk].server != router->options.server)
        return "not a chunk of this server";
    if (!exchange->gradient)
        return packet->payload != NULL ? "a payload without a gradient" : NULL;
    uint64_t bytes = partition->chunks[exchange->chunk].count * sizeof(float);
    if (packet->payload == NULL || packet->payload->bytes != bytes)
        return "a gradient of the wrong size";
    if (exchange->step >= job->steps)
        return "a gradient for a step after the last";
    struct batch_range batch = job_batch(job, exchange->step);
    if (!tree_has(batch.leaves, exchange->node))
        return "not a node of the step's tree";
    if (exchange->examples !=
        job_node_examples(job, batch, exchange->node.first_leaf, exchange->node.leaf_count))
        return "a wrong number of examples";
    if (job->mode == MODE_SYNC && exchange->base_version != exchange->step)
        return "a gradient of one step made from another version";
    if (job->mode == MODE_ASYNC && exchange->node.leaf_count != batch.leaves)
        return "a part of a batch, where batches come whole";
    return NULL;
}

static void handle_exchange(struct router *router, struct packet *packet, struct outbox *outbox)
{
    if (!check_sender(router, packet, outbox))
        return;
    const char *fault = exchange_fault(router, packet);
    if (fault != NULL) {
        refuse(router, packet, REFUSAL_MALFORMED, fault, outbox);
        return;
    }
    uint32_t owner = router->owner_of[packet->message.exchange.chunk];
    struct packet *out = outbox_add_to(outbox, TO_OWNER, owner, MESSAGE_EXCHANGE);
    *out = *packet;
    packet->payload = NULL;
}

void router_handle_peer(struct router *router, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    (void)now_us;
    if (router->state == ROUTER_OVER)
        ; /* A late repetition: the sender is told that the job has finished, or knows it. */
    else if (packet->message.kind == MESSAGE_EXCHANGE)
        handle_exchange(router, packet, outbox);
    else
        refuse(router, packet, REFUSAL_MALFORMED, "this server does not take that message", outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- from the coordinator ------------------------------------------------------------------ */

static enum status make_plan(struct router *router, uint64_t run_id, struct error *error)
{
    struct job job;
    if (router->pages.bytes == NULL || router->pages.received != router->pages.total)
        return error_set(error, STATUS_AGAIN, "the declaration is not all here");
    enum status status = job_decode(router->pages.bytes, router->pages.total, &job, error);
    if (status != STATUS_OK)
        return status;
    status = plan_create(&router->plan, &job, router->options.server, run_id, error);
    job_free(&job);
    if (status != STATUS_OK)
        return status;
    const struct partition *partition = &router->plan->partition;
    router->sessions = calloc(router->plan->job.worker_count, sizeof *router->sessions);
    router->owner_of = calloc(partition->chunk_count, 1);
    if (router->sessions == NULL || router->owner_of == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the plan");
    uint32_t place = 0;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (partition->chunks[i].server == router->options.server)
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
               (unsigned long long)partition_server_bytes(partition, router->options.server),
               (unsigned long long)(partition->elements * sizeof(float)), partition->server_count,
               partition_imbalance(partition), router->options.owner_count,
               mode_name(router->plan->job.mode), router->plan->job.optimizer.name);
}

/* The job is on: bring the owners to their first values. */
static void handle_welcome(struct router *router, const struct message *message,
                           struct outbox *outbox)
{
    struct error error;
    if (router->state != ROUTER_JOINING)
        return;
    enum status status = make_plan(router, message->run_id, &error);
    if (status == STATUS_AGAIN)
        return; /* The next JOIN brings the pages again. */
    if (status != STATUS_OK) {
        fail(router, EXIT_MISMATCH, error.text, outbox);
        return;
    }
    router->run_id = message->run_id;
    router->generation = message->generation;
    router->stop_step = router->plan->job.steps;
    if (message->welcome.restore) /* Every worker starts from there: it is as good as given out. */
        router->released = message->welcome.restore_step;
    router->state = ROUTER_LOADING;
    log_plan(router, outbox);

    struct message_load load = {.plan = router->plan,
                                .restore = message->welcome.restore,
                                .step = message->welcome.restore_step};
    snprintf(load.out, sizeof load.out, "%s", message->welcome.out);
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        outbox_add_to(outbox, TO_OWNER, i, MESSAGE_LOAD)->message.load = load;
    struct packet *packet = outbox_add(outbox, TO_KEEPER, MESSAGE_LOAD);
    packet->message.run_id = router->run_id;
    packet->message.load = load;
}

static uint32_t owner_of_first(const struct router *router, uint64_t first)
{
    const struct partition *partition = &router->plan->partition;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (partition->chunks[i].first == first)
            return router->owner_of[i];
    return 0;
}

static void forward_chunk_state(struct router *router, struct packet *packet, struct outbox *outbox)
{
    if (router->state != ROUTER_LOADING)
        return;
    uint32_t owner = owner_of_first(router, packet->message.chunk_state.first);
    *outbox_add_to(outbox, TO_OWNER, owner, MESSAGE_CHUNK_STATE) = *packet;
    packet->payload = NULL;
}

static void handle_cut(struct router *router, const struct packet *packet, struct outbox *outbox)
{
    uint64_t step = packet->message.cut.step;
    bool final = packet->message.cut.final;
    if (router->state != ROUTER_SERVING)
        return;
    /* Steps only grow, but for the final cut's, which may be where another is under way or, after
     * a stop, before it. What is repeated or late would begin a cut anew that owners have left
     * behind, and so seem to fail. */
    if (router->cut_final || (!final && router->cut_named && step <= router->cut_step))
        return;
    router->cut_named = true;
    router->cut_step = step;
    router->cut_final = final;
    router->owners_cut = 0;
    router->cut_taken = true;
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        outbox_add_to(outbox, TO_OWNER, i, MESSAGE_CUT)->message.cut = packet->message.cut;
}

/* No version later than the next one that anybody has not been given yet: every later answer says
 * so, and every worker needs one of this server's answers for every version. */
static void handle_stop(struct router *router, struct outbox *outbox)
{
    if (router->plan == NULL)
        return;
    if (router->released + 1 < router->stop_step)
        router->stop_step = router->released + 1;
    outbox_add(outbox, TO_COORDINATOR, MESSAGE_STOP_AT)->message.stop_at.step = router->stop_step;
}

/* While it joins, whoever drives this server says so, now and then; later server 0 decides when. */
static void handle_waiting(struct router *router, const struct message *message,
                           struct outbox *outbox)
{
    snprintf(router->waiting, sizeof router->waiting, "%s", message->waiting.text);
    if (router->state != ROUTER_JOINING)
        outbox_log(outbox, "ps/0 is %s", message->waiting.text);
}

void router_handle_coordinator(struct router *router, struct packet *packet, uint64_t now_us,
                               struct outbox *outbox)
{
    router->heard_us = now_us;
    const struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_JOB_PAGE:
        if (router->plan == NULL && pages_add(&router->pages, &message->job_page) == STATUS_MEMORY)
            finish(router, EXIT_TRAINING_FAILED, "no memory for the declaration");
        break;
    case MESSAGE_WELCOME:
        handle_welcome(router, message, outbox);
        break;
    case MESSAGE_CHUNK_STATE:
        forward_chunk_state(router, packet, outbox);
        break;
    case MESSAGE_CUT:
        handle_cut(router, packet, outbox);
        break;
    case MESSAGE_STOP:
        handle_stop(router, outbox);
        break;
    case MESSAGE_REFUSED:
        finish(router,
               message->refused.reason == REFUSAL_RUN   ? EXIT_CLUSTER_LOST
               : message->refused.reason == REFUSAL_KEY ? EXIT_UNAUTHENTICATED
                                                        : EXIT_MISMATCH,
               message->refused.text);
        break;
    case MESSAGE_FINISHED:
        outbox_add(outbox, TO_COORDINATOR, MESSAGE_BYE);
        finish(router, (int)message->stop.exit_code, message->stop.reason);
        break;
    case MESSAGE_WAITING:
        handle_waiting(router, message, outbox);
        break;
    default: /* PONG: hearing it was all. */
        break;
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- from owners and the keeper ------------------------------------------------------------ */

static void ready_when_loaded(struct router *router, struct outbox *outbox)
{
    if (router->state != ROUTER_LOADING || !router->keeper_loaded ||
        router->owners_loaded < router->options.owner_count)
        return;
    router->state = ROUTER_SERVING;
    outbox_add(outbox, TO_COORDINATOR, MESSAGE_READY)->message.ready.shared = router->shared;
}

static void handle_loaded(struct router *router, const struct packet *packet, bool from_keeper,
                          struct outbox *outbox)
{
    const struct message_loaded *loaded = &packet->message.loaded;
    if (!from_keeper) {
        router->owners_loaded++;
    } else if (loaded->status != STATUS_OK) {
        fail(router, EXIT_CANNOT_OPEN, loaded->text, outbox);
        return;
    } else {
        router->keeper_loaded = true;
        router->shared = loaded->shared;
        if (loaded->needs_chunks)
            outbox_add(outbox, TO_COORDINATOR, MESSAGE_READY)->message.ready.needs_chunks = true;
    }
    ready_when_loaded(router, outbox);
}

static void handle_owner_cut(struct router *router, const struct message_cut_taken *cut,
                             uint32_t owner, struct outbox *outbox)
{
    if (cut->step != router->cut_step)
        return; /* Of a cut that was given up. */
    router->owner_verdicts[owner] = cut->verdicts;
    router->cut_taken = router->cut_taken && cut->taken;
    if (++router->owners_cut < router->options.owner_count)
        return;
    struct message_cut_taken *out =
        &outbox_add(outbox, TO_COORDINATOR, MESSAGE_CUT_TAKEN)->message.cut_taken;
    *out = (struct message_cut_taken){
        .step = cut->step, .taken = router->cut_taken, .verdicts.rejected = router->rejected};
    for (uint32_t i = 0; i < router->options.owner_count; i++)
        verdict_counts_add(&out->verdicts, &router->owner_verdicts[i]);
}

static void send_result(struct router *router, struct packet *packet, struct outbox *outbox)
{
    struct packet *out = outbox_add(outbox, TO_PEER, packet->message.kind);
    *out = *packet;
    packet->payload = NULL;
    if (out->message.kind != MESSAGE_RESULT)
        return;
    if (out->message.result.parameters && out->message.result.version > router->released)
        router->released = out->message.result.version;
    out->message.result.stop_step = router->stop_step;
}

void router_handle_inside(struct router *router, struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    (void)now_us;
    struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_RESULT:
    case MESSAGE_MOVED_ON:
        send_result(router, packet, outbox);
        break;
    case MESSAGE_LOADED:
        handle_loaded(router, packet, message->index == UINT32_MAX, outbox);
        break;
    case MESSAGE_CHUNK_STATE: /* From the keeper, out of a checkpoint. */
        forward_chunk_state(router, packet, outbox);
        break;
    case MESSAGE_OWNER_CUT:
        handle_owner_cut(router, &message->cut_taken, message->index, outbox);
        break;
    default:
        break;
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- time ---------------------------------------------------------------------------------- */

static void join(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    uint64_t next_us = router->join_interval_us == 0 ? JOIN_FIRST_US : 2 * router->join_interval_us;
    if (router->options.server != 0)
        router->join_interval_us = next_us < JOIN_INTERVAL_US ? next_us : JOIN_INTERVAL_US;
    router->joined_us = now_us;
    struct packet *packet = outbox_add(outbox, TO_COORDINATOR, MESSAGE_JOIN);
    struct message_join *message = &packet->message.join;
    message->version_min = PROTOCOL_VERSION_MIN;
    message->version_max = PROTOCOL_VERSION_MAX;
    memcpy(message->probe_digest, router->options.probe_digest, DIGEST_BYTES);
    snprintf(message->host, sizeof message->host, "%s", router->options.host);
    snprintf(message->arithmetic, sizeof message->arithmetic, "%s", router->options.arithmetic);
}

int router_patience_ms(const struct router *router)
{
    return router->state == ROUTER_JOINING && router->join_interval_us > 0
               ? (int)(router->join_interval_us / 1000)
               : PATIENCE_MS;
}

void router_tick(struct router *router, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    double silent = (double)(now_us - router->heard_us) * 1e-6;
    switch (router->state) {
    case ROUTER_JOINING:
        if (now_us - router->joined_us >= router->join_interval_us)
            join(router, now_us, outbox);
        if ((double)(now_us - router->started_us) * 1e-6 > router->options.start_timeout) {
            snprintf(text, sizeof text, "start timed out after %.0f s: %s",
                     router->options.start_timeout,
                     silent > 2 ? "nothing heard from ps/0" : "no worker has declared a job");
            finish(router, EXIT_START_TIMEOUT, text);
        }
        break;
    case ROUTER_LOADING:
    case ROUTER_SERVING:
        if (now_us - router->pinged_us >= PING_INTERVAL_US) {
            router->pinged_us = now_us;
            outbox_add(outbox, TO_COORDINATOR, MESSAGE_PING)->message.ping.step = router->released;
        }
        if (silent > router->options.worker_timeout) {
            snprintf(text, sizeof text, "lost ps/0: nothing heard for %.1f s", silent);
            finish(router, EXIT_CLUSTER_LOST, text);
        }
        break;
    case ROUTER_OVER:
        break;
    }
}

/* Forty fields of the cores' structs, each spoilt once in the middle of training: a core that looks at
 * itself after its next message names the rule that is broken, and ends the process.
 *
 * A cluster of two servers and two workers is simulated. Every item on its way to a core comes by here
 * first; as soon as the core is in a state where the field means something, it is spoilt, and the item
 * is let through. What no rule can find is in the table as well, with the reason: any value of it is one
 * that it may have. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/verify/check_run.h"
#include "ps/checkpointer/checkpointer_state.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/mode/async.h"
#include "ps/owner/owner_state.h"
#include "ps/router/router_state.h"
#include "ps/shard/aggregator.h"
#include "ps/shard/batch_set.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"
#include "worker/client/exchange_state.h"
#include "worker/client/session_state.h"
#include "worker/mode/async.h"

#define FOUND_MIN 36 /* Of forty. */

enum core { OWNER, ROUTER, COORDINATOR, CHECKPOINTER, SESSION };

/* --- what is spoilt -------------------------------------------------------------------------- */

/* `what` is done to a core in a state where `when`; `message` is the one that it takes next. */
#define SPOIL(name, type, when, what)                                                              \
    static bool name(struct type *c, const struct message *message)                                \
    {                                                                                              \
        (void)message;                                                                             \
        if (!(when))                                                                               \
            return false;                                                                          \
        what;                                                                                      \
        return true;                                                                               \
    }

static struct chunk *chunk_of(struct owner *owner)
{
    return &owner->owned[0].shard.chunk;
}

static struct waiting_read *waiting_of(struct owner *owner)
{
    for (uint32_t i = 0; i < owner->owned[0].waiting_read_count; i++)
        if (owner->owned[0].waiting_read[i].waiting)
            return &owner->owned[0].waiting_read[i];
    return NULL;
}

/* The blocks of the modes begin with these. */
static struct aggregator *aggregator_of(struct owner *owner)
{
    return owner->owned[0].shard.state;
}

static struct batch_set *batches_of(struct owner *owner)
{
    return owner->owned[0].shard.state;
}

SPOIL(owner_to_load, owner, c->filled, c->to_load = 1)
SPOIL(owner_to_snapshot, owner, c->filled, c->to_snapshot++)
SPOIL(owner_snapshot_step, owner, chunk_of(c)->version > 0, c->owned[0].snapshot_step = 0)
SPOIL(owner_arrays_loaded, owner, c->filled, c->owned[0].arrays_loaded = 1)
SPOIL(owner_want_version, owner, chunk_of(c)->version >= 2 && waiting_of(c) != NULL,
      waiting_of(c)->wanted.version = 0)
SPOIL(owner_applied, owner, c->filled, c->verdicts.applied++)
SPOIL(chunk_version, owner, chunk_of(c)->version > 0, chunk_of(c)->version++)
SPOIL(chunk_lent, owner, c->filled,
      chunk_of(c)->lent[chunk_of(c)->version % 2] = chunk_of(c)->values)
SPOIL(chunk_count, owner, c->filled, chunk_of(c)->count = 8)
SPOIL(part_node, owner, aggregator_of(c)->part_count > 0,
      aggregator_of(c)->parts[0].node.leaf_count = 3)
SPOIL(aggregator_leaf_count, owner, aggregator_of(c)->part_count > 0,
      aggregator_of(c)->leaf_count = 8)
SPOIL(batch_set_bits, owner, chunk_of(c)->version > 0, batches_of(c)->bits[40] |= 1)

SPOIL(router_released, router, c->state == ROUTER_SERVING, c->released = c->stop_step + 1)
SPOIL(router_owners_loaded, router, c->state == ROUTER_SERVING, c->owners_loaded--)
SPOIL(router_snapshot_said, router, c->snapshot.named && !c->snapshot.said, c->snapshot.said = true)
SPOIL(router_known, router,
      message->kind == MESSAGE_EXCHANGE && message->index < 2 &&
          c->sessions.all[1 - message->index].answers != NULL,
      c->sessions.all[1 - message->index].known = false)
SPOIL(router_admitted, router, c->state == ROUTER_SERVING, c->joining.admitted = false)

/* Not a message that itself changes what is spoilt. */
static bool trains(const struct coordinator *c, const struct message *message)
{
    return c->run.state == RUNNING && !c->run.deal_due &&
           (message->kind == MESSAGE_PING || message->kind == MESSAGE_READY);
}

static struct leases *leases_of(struct coordinator *c)
{
    return &((struct async_work *)c->run.work.state)->leases;
}

static bool both_hold(struct coordinator *c)
{
    return leases_of(c)->held[0][0] != UINT64_MAX && leases_of(c)->held[1][0] != UINT64_MAX;
}

/* Of worker 0: see ps/mode/ssp.c, where clocks stand behind async's block. */
static uint64_t *finished_of(struct coordinator *c)
{
    uint64_t *clocks;
    memcpy(&clocks, (char *)c->run.work.state + sizeof(struct async_work), sizeof clocks);
    return &clocks[1];
}

SPOIL(coordinator_state, coordinator, trains(c, message), c->run.state = CLOSING)
SPOIL(coordinator_raising, coordinator, trains(c, message),
      c->run.raising = c->run.envelope.generation + 1)
SPOIL(coordinator_last_snapshot, coordinator, trains(c, message) && c->run.whole != NO_STEP,
      c->run.whole = c->snapshot.due + 1)
SPOIL(server_ready, coordinator, trains(c, message),
      c->run.work.membership.servers[1].ready = false)
SPOIL(worker_ticket, coordinator, trains(c, message),
      c->run.work.membership.workers[1].ticket = c->run.work.membership.tickets + 1)
SPOIL(worker_position, coordinator, trains(c, message),
      c->run.work.membership.workers[1].dealt.position = 0)
SPOIL(worker_done, coordinator, trains(c, message),
      c->run.work.membership.workers[1].dealt.done = true)
SPOIL(snapshot_collected, coordinator,
      trains(c, message) && c->snapshot.under_way && !c->snapshot.collected,
      c->snapshot.collected = true)
SPOIL(statistics_updates, coordinator, trains(c, message) && c->run.work.statistics.updates > 0,
      c->run.work.statistics.updates++)
SPOIL(evaluation_share_count, coordinator,
      trains(c, message) && c->scorer.evaluation.share_count > 0,
      c->scorer.evaluation.share_count++)
SPOIL(leases_next, coordinator, trains(c, message) && leases_of(c)->next < leases_of(c)->gate,
      leases_of(c)->next++)
SPOIL(leases_are_held, coordinator, trains(c, message) && both_hold(c),
      leases_of(c)->held[0][0] = leases_of(c)->held[1][0])
SPOIL(ssp_finished, coordinator, trains(c, message) && c->run.work.membership.workers[0].dealt.asks,
      *finished_of(c) += 100)

static struct part *part_of(struct checkpointer *checkpointer)
{
    uint32_t server = checkpointer->options.server;
    return server < checkpointer->part_count ? &checkpointer->parts[server] : NULL;
}

SPOIL(part_chunk_count, checkpointer,
      part_of(c) != NULL && part_of(c)->arrays_received > 0 && part_of(c)->arrays_received < 3,
      part_of(c)->chunk_count = 0)
SPOIL(checkpointer_generation, checkpointer, c->directory_open && c->plan != NULL,
      c->generation = c->claim.number + 1)

static struct lease_book *book_of(struct session *session)
{
    return session->follow.state;
}

/* Of ssp: `computing` and `late` stand behind async's block. */
static bool *late_of(struct session *session)
{
    return (bool *)session->follow.state + sizeof(struct lease_book) + 1;
}

static bool is_under_way(const struct session *session)
{
    return session->exchange.under_way > 1 && session->exchange.pushed[0].gradient != NULL;
}

SPOIL(session_abandoned, session, c->trainer == IDLE && is_under_way(c), c->abandoned = true)
SPOIL(session_stop_step, session, c->trainer == IDLE && is_under_way(c),
      c->follow.stop_step = c->options.job->steps - 1)
SPOIL(exchange_under_way, session, is_under_way(c), c->exchange.under_way++)
SPOIL(exchange_unconfirmed_bytes, session, is_under_way(c),
      c->exchange.links[0].unconfirmed_bytes += 64)
SPOIL(exchange_ahead_bytes, session, is_under_way(c), c->exchange.links[0].ahead_bytes += 64)
SPOIL(exchange_request, session, is_under_way(c) && c->exchange.chunks[3].request != 0,
      c->exchange.chunks[3].request = 0)
SPOIL(announcements_is_done, session, c->trainer == IDLE && is_under_way(c),
      c->announcements.done = true)
SPOIL(lease_book_current, session, book_of(c)->held_count > 0,
      book_of(c)->current = book_of(c)->held[0])
SPOIL(follow_late, session, c->trainer == BUSY && book_of(c)->held_count == 0, *late_of(c) = true)

/* --- the table ------------------------------------------------------------------------------- */

struct row {
    const char *field, *corruption;
    enum core core;
    enum mode mode;
    union {
        bool (*owner)(struct owner *c, const struct message *message);
        bool (*router)(struct router *c, const struct message *message);
        bool (*coordinator)(struct coordinator *c, const struct message *message);
        bool (*checkpointer)(struct checkpointer *c, const struct message *message);
        bool (*session)(struct session *c, const struct message *message);
    } spoil;
    const char *rule;    /* A part of what is said of it; NULL: it is not found, because ... */
    const char *because; /* ... of this. */
};

static const struct row rows[] = {
    {"owner.to_load", "1", OWNER, MODE_SYNC, {.owner = owner_to_load}, "loaded", NULL},
    {"owner.to_cut",
     "+ 1",
     OWNER,
     MODE_SYNC,
     {.owner = owner_to_snapshot},
     "to_snapshot counts",
     NULL},
    {"owned.cut_step",
     "0",
     OWNER,
     MODE_SYNC,
     {.owner = owner_snapshot_step},
     "as soon as its batches",
     NULL},
    {"owned.arrays_loaded",
     "1 of 2",
     OWNER,
     MODE_SYNC,
     {.owner = owner_arrays_loaded},
     "loaded whole",
     NULL},
    {"parked.wish.version",
     "0",
     OWNER,
     MODE_SYNC,
     {.owner = owner_want_version},
     "a parked request wants a version that is not there",
     NULL},
    {"owner.verdicts.applied",
     "+ 1",
     OWNER,
     MODE_SYNC,
     {.owner = owner_applied},
     NULL,
     "an owner is not told how many gradients it will be sent: only with what its router received "
     "is there a sum"},
    {"chunk.version",
     "+ 1",
     OWNER,
     MODE_ASYNC,
     {.owner = chunk_version},
     "no update is made of nothing",
     NULL},
    {"chunk.lent", "one of two", OWNER, MODE_SYNC, {.owner = chunk_lent}, "both or none", NULL},
    {"chunk.count",
     "half",
     OWNER,
     MODE_SYNC,
     {.owner = chunk_count},
     "the partition gives it",
     NULL},
    {"aggregator.parts[].node",
     "3 leaves",
     OWNER,
     MODE_SYNC,
     {.owner = part_node},
     "every part is a node",
     NULL},
    {"aggregator.leaf_count",
     "8 for 4",
     OWNER,
     MODE_SYNC,
     {.owner = aggregator_leaf_count},
     "the step of the version",
     NULL},
    {"batch_set.bits",
     "a bit more",
     OWNER,
     MODE_ASYNC,
     {.owner = batch_set_bits},
     "had are counted",
     NULL},
    {"router.released",
     "after the last",
     ROUTER,
     MODE_SYNC,
     {.router = router_released},
     "given out after",
     NULL},
    {"router.owners_loaded",
     "- 1",
     ROUTER,
     MODE_SYNC,
     {.router = router_owners_loaded},
     "when all have answered LOAD",
     NULL},
    {"router_cut.said",
     "true",
     ROUTER,
     MODE_SYNC,
     {.router = router_snapshot_said},
     "when all owners have answered",
     NULL},
    {"worker_session.known",
     "false",
     ROUTER,
     MODE_SYNC,
     {.router = router_known},
     "an unknown session has no answers",
     NULL},
    {"joining.admitted",
     "false",
     ROUTER,
     MODE_SYNC,
     {.router = router_admitted},
     "has been admitted",
     NULL},
    {"coordinator.state",
     "CLOSING",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = coordinator_state},
     "coordinator",
     NULL},
    {"coordinator.raising",
     "the next",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = coordinator_raising},
     "while a generation is recorded",
     NULL},
    {"coordinator.last_cut",
     "after last_due",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = coordinator_last_snapshot},
     "in their order",
     NULL},
    {"member.ready",
     "false",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = server_ready},
     "every server has its chunks",
     NULL},
    {"member.ticket",
     "never given",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = worker_ticket},
     "no ticket was not given out",
     NULL},
    {"member.position",
     "another's",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = worker_position},
     "in the order of their indexes",
     NULL},
    {"member.done",
     "true",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = worker_done},
     NULL,
     "a worker says that it is done, and may say so at any time: there is nothing to compare with"},
    {"cut.collected",
     "true",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = snapshot_collected},
     "before the last part",
     NULL},
    {"statistics.updates",
     "+ 1",
     COORDINATOR,
     MODE_ASYNC,
     {.coordinator = statistics_updates},
     "is one update",
     NULL},
    {"evaluation.share_count",
     "+ 1",
     COORDINATOR,
     MODE_SYNC,
     {.coordinator = evaluation_share_count},
     "a whole score has been reported",
     NULL},
    {"leases.next",
     "+ 1",
     COORDINATOR,
     MODE_ASYNC,
     {.coordinator = leases_next},
     "done, held or has come back",
     NULL},
    {"leases.held",
     "another's",
     COORDINATOR,
     MODE_ASYNC,
     {.coordinator = leases_are_held},
     "held twice",
     NULL},
    {"ssp_clock.finished",
     "+ 100",
     COORDINATOR,
     MODE_SSP,
     {.coordinator = ssp_finished},
     "further ahead of the slowest",
     NULL},
    {"part.chunk_count",
     "0",
     CHECKPOINTER,
     MODE_SYNC,
     {.checkpointer = part_chunk_count},
     "arrays_received counts",
     NULL},
    {"checkpointer.generation",
     "the next",
     CHECKPOINTER,
     MODE_SYNC,
     {.checkpointer = checkpointer_generation},
     "that is not recorded",
     NULL},
    {"session.abandoned",
     "true",
     SESSION,
     MODE_SYNC,
     {.session = session_abandoned},
     "only what is computed",
     NULL},
    {"follow.stop_step",
     "- 1",
     SESSION,
     MODE_SYNC,
     {.session = session_stop_step},
     NULL,
     "it is what server 0 has said, and a stop may come at any step"},
    {"exchange.under_way",
     "+ 1",
     SESSION,
     MODE_SYNC,
     {.session = exchange_under_way},
     "under_way counts",
     NULL},
    {"link.unconfirmed_bytes",
     "+ 64",
     SESSION,
     MODE_SYNC,
     {.session = exchange_unconfirmed_bytes},
     "unconfirmed_bytes is the sum",
     NULL},
    {"link.ahead_bytes",
     "+ 64",
     SESSION,
     MODE_SYNC,
     {.session = exchange_ahead_bytes},
     "ahead_bytes is the sum",
     NULL},
    {"asked.request",
     "0",
     SESSION,
     MODE_SYNC,
     {.session = exchange_request},
     "asked for or not",
     NULL},
    {"announcements.done",
     "true",
     SESSION,
     MODE_SYNC,
     {.session = announcements_is_done},
     "DONE is said",
     NULL},
    {"lease_book.current",
     "one that is held",
     SESSION,
     MODE_ASYNC,
     {.session = lease_book_current},
     "is not to be computed again",
     NULL},
    {"ssp_follow.late",
     "true",
     SESSION,
     MODE_SSP,
     {.session = follow_late},
     "only a batch that is held",
     NULL},
};

#define ROW_COUNT (sizeof rows / sizeof *rows)
_Static_assert(sizeof rows / sizeof *rows == 41, "forty-one");

/* --- one trial ------------------------------------------------------------------------------- */

enum outcome_of_trial { NEVER_SPOILT = 3, SLIPPED, NAMED };

struct trial {
    const struct row *row;
    struct check_run check_run;
    const void *spoilt;
    unsigned messages; /* That the core was sent since. */
};

/* Which core of the process takes the item, if it is of the row's kind; NULL otherwise. */
static void *addressed(const struct row *row, struct simulated_process *p,
                       enum simulated_place place, const struct outgoing *item)
{
    bool exchange = item->packet.message.kind == MESSAGE_EXCHANGE;
    bool arrives = place == OFF_WIRE;
    switch (row->core) {
    case OWNER:
        return place == INSIDE_OWNER && exchange ? p->cores.owners[item->index] : NULL;
    case ROUTER:
        return arrives && p->is_server && exchange ? p->cores.router : NULL;
    case COORDINATOR:
        return arrives && p->is_server && !exchange ? p->cores.coordinator : NULL;
    case CHECKPOINTER:
        return place == OUT_OF_OWNER && item->to == TO_CHECKPOINTER ? p->cores.checkpointer : NULL;
    case SESSION:
        return arrives && !p->is_server && !session_joining(p->worker.session)->over
                   ? p->worker.session
                   : NULL;
    }
    return NULL;
}

static bool spoil(const struct row *row, void *core, const struct message *message)
{
    switch (row->core) {
    case OWNER:
        return row->spoil.owner(core, message);
    case ROUTER:
        return row->spoil.router(core, message);
    case COORDINATOR:
        return row->spoil.coordinator(core, message);
    case CHECKPOINTER:
        return row->spoil.checkpointer(core, message);
    case SESSION:
        return row->spoil.session(core, message);
    }
    return false;
}

/* Items for a checkpointer are looked at when they are queued: a few others may be before it. */
static bool look_on(void *context, enum simulated_place place, uint32_t process,
                    struct outgoing *item)
{
    struct trial *trial = context;
    void *core = addressed(trial->row, trial->check_run.engine.processes[process], place, item);
    if (core == NULL)
        return true;
    if (trial->spoilt == NULL && spoil(trial->row, core, &item->packet.message))
        trial->spoilt = core;
    else if (trial->spoilt == core &&
             trial->messages++ >= (trial->row->core == CHECKPOINTER ? 8u : 0u))
        _exit(SLIPPED);
    return true;
}

static struct job job_of(enum mode mode)
{
    struct job job = small_job(mode, 2, 2);
    job.optimizer = optimizer_find("adagrad")->defaults;
    snprintf(job.optimizer.name, sizeof job.optimizer.name, "adagrad");
    job.test_examples = 10;
    job.steps = 30;
    job.checkpoint_every = mode == MODE_SYNC ? 4 : 10;
    job.staleness_bound = mode == MODE_SSP ? 1 : job.staleness_bound;
    return job;
}

/* In a process of its own. */
static void run(const struct row *row)
{
    struct error error;
    struct simulated_disk disk;
    struct simulated_disk *disks[2] = {&disk, &disk};
    struct job job = job_of(row->mode);
    struct trial *trial = calloc(1, sizeof *trial);
    const struct check_run_options options = {
        .seed = 1,
        .job = &job,
        .kind = WORK_MIXED,
        .owners_a_server = 1,
        .faults = {.delay_min_us = 100, .delay_max_us = 500},
        .queue_delay_us = 100,
        .start_within_us = 10000,
        .compute_us = 200000,
        .disks = disks,
        .disk_latency_us = 300000,
        .restore = "auto",
        .deadlines = {.start = 60, .silence = 5, .recovery = 20, .progress = 100, .stop = 30},
        .time_limit_us = 600000000,
        .tamper = {.item = look_on, .context = trial},
    };
    simulated_disk_init(&disk, 1, options.disk_latency_us);
    trial->row = row;
    if (check_run_init(&trial->check_run, &options, &error) != STATUS_OK)
        _exit(EXIT_FAILURE);
    int code = check_run_execute(&trial->check_run);
    fprintf(stderr, "exit %d %s\n", code, trial->check_run.oracle.failure);
    _exit(trial->spoilt == NULL ? NEVER_SPOILT : SLIPPED);
}

/* What became of the row: text[] is what was said. */
static enum outcome_of_trial try_row(const struct row *row, char text[400])
{
    int pipes[2], status;
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        run(row);
    }
    close(pipes[1]);
    FILE *said = fdopen(pipes[0], "r");
    size_t length = fread(text, 1, 399, said);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(said);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, "no more true") != NULL)
        return NAMED;
    ck_assert_msg(WIFEXITED(status), "signal %d: %s", WTERMSIG(status), text);
    return (enum outcome_of_trial)WEXITSTATUS(status);
}

TEST_TIMES(a_field_that_is_spoilt_is_named_after_the_next_message, ROW_COUNT)
{
    const struct row *row = &rows[_i];
    char text[400];
    enum outcome_of_trial outcome = try_row(row, text);
    printf("%-26s %-16s %-9s %s\n", row->field, row->corruption,
           outcome == NAMED ? "found" : "not found", outcome == NAMED ? text : row->because);
    ck_assert_msg(outcome != NEVER_SPOILT, "%s was never spoilt: %s", row->field, text);
    ck_assert_int_eq(outcome, row->rule != NULL ? NAMED : SLIPPED);
    ck_assert_msg(row->rule == NULL || strstr(text, row->rule) != NULL, "%s: %s", row->field, text);
}

TEST_PLAIN(most_of_the_table_is_found)
{
    unsigned found = 0;
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        found += rows[i].rule != NULL;
        ck_assert((rows[i].rule == NULL) == (rows[i].because != NULL));
    }
    ck_assert_uint_ge(found, FOUND_MIN);
}

int main(void)
{
    return suite_run("invariants", NULL);
}

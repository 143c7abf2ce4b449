/* message.c - one put and one get a message, joined in a table by kind; decoding allocates from an
 * arena on the stack. */

#include "common/wire/message.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/job/job_fields.h"
#include "proto/syncopate.pb-c.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "payloads are little-endian floats as they lie in memory");

/* Enough for any header of ours; a header crafted to blow up in memory fails to decode instead. */
#define ARENA_BYTES (32u << 10)

/* What a variable of a declaration takes of the arena besides its bytes: its structure, its shape,
 * its place among the variables, and what protobuf-c notes of every field. */
#define JOB_ARENA_VARIABLE 256u

/* --- a bump allocator for protobuf-c ------------------------------------------------------- */

struct arena {
    size_t used, size;
    uint8_t *bytes;
};

static void *arena_alloc(void *context, size_t bytes)
{
    struct arena *arena = context;
    size_t rounded = (bytes + 15) & ~(size_t)15;
    if (rounded < bytes || rounded > arena->size - arena->used)
        return NULL;
    void *result = arena->bytes + arena->used;
    arena->used += rounded;
    return memset(result, 0, rounded);
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer; /* All at once, when the arena goes. */
}

/* --- fields -------------------------------------------------------------------------------- */

static bool take_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        return false;
    for (size_t i = 0; i < length; i++) {
        /* Texts end up on terminals and in logs: no control characters. */
        unsigned char c = (unsigned char)from[i];
        to[i] = c < 0x20 || c == 0x7f ? '?' : from[i];
    }
    to[length] = '\0';
    return true;
}

static bool take_digest(uint8_t *to, ProtobufCBinaryData from)
{
    if (from.len != 0 && from.len != DIGEST_BYTES)
        return false;
    if (from.len == DIGEST_BYTES)
        memcpy(to, from.data, DIGEST_BYTES);
    return true;
}

static ProtobufCBinaryData give_digest(const uint8_t *digest)
{
    /* Packing only reads; protobuf-c has no const. */
    return (ProtobufCBinaryData){DIGEST_BYTES, (uint8_t *)(uintptr_t)digest};
}

static bool is_zero(const uint8_t *digest)
{
    static const uint8_t zeros[DIGEST_BYTES];
    return memcmp(digest, zeros, DIGEST_BYTES) == 0;
}

static char *give_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* --- one pair of functions a kind ---------------------------------------------------------- */

/* Every body lives in here while it is packed. */
union body {
    Syncopate__Join join;
    Syncopate__WantJob want_job;
    Syncopate__JobPage job_page;
    Syncopate__Welcome welcome;
    Syncopate__Waiting waiting;
    Syncopate__Refused refused;
    Syncopate__Ready ready;
    Syncopate__Start start;
    Syncopate__Ping ping;
    Syncopate__Pong pong;
    struct {
        Syncopate__Exchange exchange;
        Syncopate__Report exchange_report;
    };
    Syncopate__Receipt receipt;
    Syncopate__Leave leave;
    Syncopate__Result result;
    Syncopate__MovedOn moved_on;
    Syncopate__Lease lease;
    Syncopate__Work work;
    Syncopate__Report report;
    Syncopate__Evaluation evaluation;
    Syncopate__Done done;
    Syncopate__Stop stop;
    Syncopate__Cut cut;
    Syncopate__CutTaken cut_taken;
    Syncopate__ChunkState chunk_state;
    Syncopate__PartWritten part_written;
    Syncopate__Finished finished;
    Syncopate__Bye bye;
    Syncopate__Status status;
    Syncopate__StatusAnswer status_answer;
};

static void put_join(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__join__init(h->join = &b->join);
    b->join.version_min = m->join.version_min;
    b->join.version_max = m->join.version_max;
    b->join.job_digest = give_digest(m->join.job_digest);
    b->join.probe_digest = give_digest(m->join.probe_digest);
    b->join.host = give_text(m->join.host);
    b->join.arithmetic = give_text(m->join.arithmetic);
}

static bool get_join(const Syncopate__Header *h, struct message *m)
{
    m->join.version_min = h->join->version_min;
    m->join.version_max = h->join->version_max;
    return m->join.version_min <= m->join.version_max &&
           take_digest(m->join.job_digest, h->join->job_digest) &&
           take_digest(m->join.probe_digest, h->join->probe_digest) &&
           take_text(m->join.host, sizeof m->join.host, h->join->host) &&
           take_text(m->join.arithmetic, sizeof m->join.arithmetic, h->join->arithmetic);
}

static void put_want_job(const struct message *m, Syncopate__Header *h, union body *b)
{
    (void)m;
    syncopate__want_job__init(h->want_job = &b->want_job);
}

static bool get_nothing(const Syncopate__Header *h, struct message *m)
{
    (void)h;
    (void)m;
    return true;
}

static void put_job_page(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__job_page__init(h->job_page = &b->job_page);
    b->job_page.offset = m->job_page.offset;
    b->job_page.total = m->job_page.total;
    b->job_page.page.len = m->job_page.bytes;
    b->job_page.page.data = (uint8_t *)(uintptr_t)m->job_page.page;
}

static bool get_job_page(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__JobPage *p = h->job_page;
    if (p->page.len == 0 || p->page.len > JOB_PAGE_BYTES || p->total > JOB_BYTES_MAX ||
        p->offset > p->total || p->page.len > p->total - p->offset ||
        p->offset % JOB_PAGE_BYTES != 0)
        return false;
    m->job_page.offset = p->offset;
    m->job_page.total = p->total;
    m->job_page.bytes = (uint32_t)p->page.len;
    memcpy(m->job_page.page, p->page.data, p->page.len);
    return true;
}

static void put_welcome(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__welcome__init(h->welcome = &b->welcome);
    b->welcome.restore = m->welcome.restore;
    b->welcome.restore_step = m->welcome.restore_step;
    b->welcome.out = give_text(m->welcome.out);
    b->welcome.ticket = m->welcome.ticket;
    b->welcome.proof = m->welcome.proof;
    if (!is_zero(m->welcome.secret))
        b->welcome.secret = give_digest(m->welcome.secret);
}

static bool get_welcome(const Syncopate__Header *h, struct message *m)
{
    m->welcome.restore = h->welcome->restore;
    m->welcome.restore_step = h->welcome->restore_step;
    m->welcome.ticket = h->welcome->ticket;
    m->welcome.proof = h->welcome->proof;
    return take_digest(m->welcome.secret, h->welcome->secret) &&
           take_text(m->welcome.out, sizeof m->welcome.out, h->welcome->out);
}

static void put_waiting(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__waiting__init(h->waiting = &b->waiting);
    b->waiting.text = give_text(m->waiting.text);
}

static bool get_waiting(const Syncopate__Header *h, struct message *m)
{
    return take_text(m->waiting.text, sizeof m->waiting.text, h->waiting->text);
}

static void put_refused(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__refused__init(h->refused = &b->refused);
    b->refused.reason = (Syncopate__Refusal)m->refused.reason;
    b->refused.text = give_text(m->refused.text);
}

static bool get_refused(const Syncopate__Header *h, struct message *m)
{
    if ((unsigned)h->refused->reason >= REFUSAL_COUNT)
        return false;
    m->refused.reason = (enum refusal)h->refused->reason;
    return take_text(m->refused.text, sizeof m->refused.text, h->refused->text);
}

static void put_ready(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__ready__init(h->ready = &b->ready);
    b->ready.shared = m->ready.shared;
    b->ready.needs_chunks = m->ready.needs_chunks;
    b->ready.reached = m->ready.reached;
}

static bool get_ready(const Syncopate__Header *h, struct message *m)
{
    m->ready.shared = h->ready->shared;
    m->ready.needs_chunks = h->ready->needs_chunks;
    m->ready.reached = h->ready->reached;
    return true;
}

static void put_start(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__start__init(h->start = &b->start);
    b->start.step = m->start.step;
    b->start.assignment = m->start.assignment;
    b->start.members = m->start.members;
    b->start.position = m->start.position;
    b->start.stop_step = m->start.stop_step;
    b->start.scored = m->start.scored;
}

static bool get_start(const Syncopate__Header *h, struct message *m)
{
    m->start.step = h->start->step;
    m->start.assignment = h->start->assignment;
    m->start.members = h->start->members;
    m->start.position = h->start->position;
    m->start.stop_step = h->start->stop_step;
    m->start.scored = h->start->scored;
    return m->start.members > 0 && m->start.members <= JOB_WORKERS_MAX &&
           m->start.position < m->start.members && m->start.step <= m->start.stop_step;
}

static void put_ping(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__ping__init(h->ping = &b->ping);
    b->ping.step = m->ping.step;
    b->ping.assignment = m->ping.assignment;
    b->ping.computing = m->ping.computing;
}

static bool get_ping(const Syncopate__Header *h, struct message *m)
{
    m->ping.step = h->ping->step;
    m->ping.assignment = h->ping->assignment;
    m->ping.computing = h->ping->computing;
    return true;
}

static void put_pong(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__pong__init(h->pong = &b->pong);
    b->pong.waiting = give_text(m->waiting.text);
}

static bool get_pong(const Syncopate__Header *h, struct message *m)
{
    return take_text(m->waiting.text, sizeof m->waiting.text, h->pong->waiting);
}

static void fill_report(const struct message_report *from, Syncopate__Report *to)
{
    syncopate__report__init(to);
    to->step = from->step;
    to->first_leaf = from->node.first_leaf;
    to->leaf_count = from->node.leaf_count;
    to->loss = from->loss;
    to->correct = from->correct;
    to->examples = from->examples;
    to->compute_us = from->compute_us;
    to->exchange_us = from->exchange_us;
    to->wait_us = from->wait_us;
    to->has_staleness = from->has_staleness;
    to->staleness = from->staleness;
    to->bad = from->bad;
}

static bool take_report(const Syncopate__Report *from, struct message_report *to)
{
    *to = (struct message_report){
        .step = from->step,
        .node = {from->first_leaf, from->leaf_count},
        .loss = from->loss,
        .correct = from->correct,
        .examples = from->examples,
        .compute_us = from->compute_us,
        .exchange_us = from->exchange_us,
        .wait_us = from->wait_us,
        .has_staleness = from->has_staleness,
        .staleness = from->staleness,
        .bad = from->bad,
    };
    return to->examples <= BATCH_MAX && to->correct <= to->examples;
}

static void put_exchange(const struct message *m, Syncopate__Header *h, union body *b)
{
    Syncopate__Exchange *e = h->exchange = &b->exchange;
    syncopate__exchange__init(e);
    e->chunk = m->exchange.chunk;
    e->step = m->exchange.step;
    e->base_version = m->exchange.base_version;
    e->gradient = m->exchange.gradient;
    e->first_leaf = m->exchange.node.first_leaf;
    e->leaf_count = m->exchange.node.leaf_count;
    e->examples = m->exchange.examples;
    e->want = m->exchange.want;
    e->want_version = m->exchange.want_version;
    e->newest = m->exchange.newest;
    e->retry = m->exchange.retry;
    e->receipt = m->exchange.receipt;
    e->skip = m->exchange.skip;
    if (m->exchange.has_report)
        fill_report(&m->exchange.report, e->report = &b->exchange_report);
}

static bool get_exchange(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__Exchange *e = h->exchange;
    m->exchange = (struct message_exchange){
        .chunk = e->chunk,
        .step = e->step,
        .base_version = e->base_version,
        .gradient = e->gradient,
        .node = {e->first_leaf, e->leaf_count},
        .examples = e->examples,
        .want = e->want,
        .want_version = e->want_version,
        .newest = e->newest,
        .retry = e->retry,
        .receipt = e->receipt,
        .skip = e->skip,
        .has_report = e->report != NULL,
    };
    if (e->report != NULL && !take_report(e->report, &m->exchange.report))
        return false;
    return e->gradient || e->want || e->skip;
}

static void put_receipt(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__receipt__init(h->receipt = &b->receipt);
    b->receipt.chunk = m->receipt.chunk;
    b->receipt.step = m->receipt.step;
    b->receipt.first_leaf = m->receipt.node.first_leaf;
    b->receipt.leaf_count = m->receipt.node.leaf_count;
    b->receipt.missing = m->receipt.missing;
}

static bool get_receipt(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__Receipt *r = h->receipt;
    m->receipt =
        (struct message_receipt){r->chunk, r->step, {r->first_leaf, r->leaf_count}, r->missing};
    return true;
}

static void put_leave(const struct message *m, Syncopate__Header *h, union body *b)
{
    (void)m;
    syncopate__leave__init(h->leave = &b->leave);
}

static void put_result(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__result__init(h->result = &b->result);
    b->result.chunk = m->result.chunk;
    b->result.verdict = (Syncopate__Verdict)m->result.verdict;
    b->result.version = m->result.version;
    b->result.staleness = m->result.staleness;
    b->result.held_us = m->result.held_us;
    b->result.stop_step = m->result.stop_step;
    b->result.parameters = m->result.parameters;
}

static bool get_result(const Syncopate__Header *h, struct message *m)
{
    if ((unsigned)h->result->verdict >= VERDICT_COUNT)
        return false;
    m->result.chunk = h->result->chunk;
    m->result.verdict = (enum verdict)h->result->verdict;
    m->result.version = h->result->version;
    m->result.staleness = h->result->staleness;
    m->result.held_us = h->result->held_us;
    m->result.stop_step = h->result->stop_step;
    m->result.parameters = h->result->parameters;
    return true;
}

static void put_moved_on(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__moved_on__init(h->moved_on = &b->moved_on);
    b->moved_on.chunk = m->moved_on.chunk;
    b->moved_on.version = m->moved_on.version;
}

static bool get_moved_on(const Syncopate__Header *h, struct message *m)
{
    m->moved_on.chunk = h->moved_on->chunk;
    m->moved_on.version = h->moved_on->version;
    return true;
}

static void put_lease(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__lease__init(h->lease = &b->lease);
    b->lease.finished = m->lease.finished;
    b->lease.batch = m->lease.batch;
}

static bool get_lease(const Syncopate__Header *h, struct message *m)
{
    m->lease.finished = h->lease->finished;
    m->lease.batch = h->lease->batch;
    return true;
}

static void put_work(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__work__init(h->work = &b->work);
    b->work.enough = m->work.enough;
    b->work.none = m->work.none;
    b->work.batch = m->work.batch;
}

static bool get_work(const Syncopate__Header *h, struct message *m)
{
    m->work.enough = h->work->enough;
    m->work.none = h->work->none;
    m->work.batch = h->work->batch;
    return true;
}

static void put_report(const struct message *m, Syncopate__Header *h, union body *b)
{
    fill_report(&m->report, h->report = &b->report);
}

static bool get_report(const Syncopate__Header *h, struct message *m)
{
    return take_report(h->report, &m->report);
}

static void put_evaluation(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__evaluation__init(h->evaluation = &b->evaluation);
    b->evaluation.epoch = m->evaluation.epoch;
    b->evaluation.step = m->evaluation.step;
    b->evaluation.loss = m->evaluation.loss;
    b->evaluation.correct = m->evaluation.correct;
    b->evaluation.examples = m->evaluation.examples;
    b->evaluation.took_us = m->evaluation.took_us;
    b->evaluation.assignment = m->evaluation.assignment;
}

static bool get_evaluation(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__Evaluation *e = h->evaluation;
    m->evaluation.epoch = e->epoch;
    m->evaluation.step = e->step;
    m->evaluation.loss = e->loss;
    m->evaluation.correct = e->correct;
    m->evaluation.examples = e->examples;
    m->evaluation.took_us = e->took_us;
    m->evaluation.assignment = e->assignment;
    return e->correct <= e->examples;
}

static void put_done(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__done__init(h->done = &b->done);
    b->done.step = m->done.step;
    b->done.exchange_us = m->done.exchange_us;
    b->done.wait_us = m->done.wait_us;
    b->done.has_staleness = m->done.has_staleness;
    b->done.staleness = m->done.staleness;
}

static bool get_done(const Syncopate__Header *h, struct message *m)
{
    m->done.step = h->done->step;
    m->done.exchange_us = h->done->exchange_us;
    m->done.wait_us = h->done->wait_us;
    m->done.has_staleness = h->done->has_staleness;
    m->done.staleness = h->done->staleness;
    return true;
}

static void put_stop(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__stop__init(h->stop = &b->stop);
    b->stop.exit_code = m->stop.exit_code;
    b->stop.reason = give_text(m->stop.reason);
}

static bool get_stop(const Syncopate__Header *h, struct message *m)
{
    m->stop.exit_code = h->stop->exit_code;
    return m->stop.exit_code < 256 &&
           take_text(m->stop.reason, sizeof m->stop.reason, h->stop->reason);
}

static void put_cut(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__cut__init(h->cut = &b->cut);
    b->cut.step = m->cut.step;
    b->cut.final = m->cut.final;
}

static bool get_cut(const Syncopate__Header *h, struct message *m)
{
    m->cut.step = h->cut->step;
    m->cut.final = h->cut->final;
    return true;
}

static void put_cut_taken(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__cut_taken__init(h->cut_taken = &b->cut_taken);
    b->cut_taken.step = m->cut_taken.step;
    b->cut_taken.taken = m->cut_taken.taken;
    b->cut_taken.applied = m->cut_taken.verdicts.applied;
    b->cut_taken.stale = m->cut_taken.verdicts.stale;
    b->cut_taken.duplicate = m->cut_taken.verdicts.duplicate;
    b->cut_taken.rejected = m->cut_taken.verdicts.rejected;
}

static bool get_cut_taken(const Syncopate__Header *h, struct message *m)
{
    m->cut_taken.step = h->cut_taken->step;
    m->cut_taken.taken = h->cut_taken->taken;
    m->cut_taken.verdicts.applied = h->cut_taken->applied;
    m->cut_taken.verdicts.stale = h->cut_taken->stale;
    m->cut_taken.verdicts.duplicate = h->cut_taken->duplicate;
    m->cut_taken.verdicts.rejected = h->cut_taken->rejected;
    return true;
}

static void put_chunk_state(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__chunk_state__init(h->chunk_state = &b->chunk_state);
    b->chunk_state.step = m->chunk_state.step;
    b->chunk_state.first = m->chunk_state.first;
    b->chunk_state.count = m->chunk_state.count;
    b->chunk_state.array = m->chunk_state.array;
    b->chunk_state.server = m->chunk_state.server;
}

static bool get_chunk_state(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__ChunkState *s = h->chunk_state;
    m->chunk_state.step = s->step;
    m->chunk_state.first = s->first;
    m->chunk_state.count = s->count;
    m->chunk_state.array = s->array;
    m->chunk_state.server = s->server;
    return s->array < CHECKPOINT_ARRAYS_MAX && s->server < JOB_SERVERS_MAX && s->count > 0;
}

static void put_part_written(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__part_written__init(h->part_written = &b->part_written);
    const struct message_part_written *p = &m->part_written;
    b->part_written.step = p->step;
    b->part_written.written = p->written;
    b->part_written.name = give_text(p->part.name);
    b->part_written.bytes = p->part.bytes;
    b->part_written.digest = give_digest(p->part.digest);
    b->part_written.text = give_text(p->text);
    b->part_written.server = p->server;
}

static bool get_part_written(const Syncopate__Header *h, struct message *m)
{
    const Syncopate__PartWritten *p = h->part_written;
    m->part_written.step = p->step;
    m->part_written.written = p->written;
    m->part_written.part.bytes = p->bytes;
    m->part_written.server = p->server;
    return strchr(p->name, '/') == NULL && p->server < JOB_SERVERS_MAX &&
           take_digest(m->part_written.part.digest, p->digest) &&
           take_text(m->part_written.part.name, sizeof m->part_written.part.name, p->name) &&
           take_text(m->part_written.text, sizeof m->part_written.text, p->text);
}

static void put_finished(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__finished__init(h->finished = &b->finished);
    b->finished.exit_code = m->stop.exit_code;
    b->finished.reason = give_text(m->stop.reason);
    b->finished.left = m->stop.left;
}

static bool get_finished(const Syncopate__Header *h, struct message *m)
{
    m->stop.exit_code = h->finished->exit_code;
    m->stop.left = h->finished->left;
    return m->stop.exit_code < 256 &&
           take_text(m->stop.reason, sizeof m->stop.reason, h->finished->reason);
}

static void put_bye(const struct message *m, Syncopate__Header *h, union body *b)
{
    (void)m;
    syncopate__bye__init(h->bye = &b->bye);
}

static void put_status(const struct message *m, Syncopate__Header *h, union body *b)
{
    syncopate__status__init(h->status = &b->status);
    b->status.watch = m->status.watch;
}

static bool get_status(const Syncopate__Header *h, struct message *m)
{
    m->status.watch = h->status->watch;
    return true;
}

/* The part that there is only with a job. */
static void put_job_status(const struct message_status_answer *a, Syncopate__StatusAnswer *s)
{
    s->mode = (uint32_t)a->mode;
    s->step = a->step;
    s->steps = a->steps;
    s->steps_per_epoch = a->steps_per_epoch;
    s->workers = a->workers;
    s->worker_count = a->worker_count;
    s->servers = a->servers;
    s->server_count = a->server_count;
    s->train_epoch = a->train_epoch;
    s->train_examples = a->train_examples;
    s->train_loss = a->train_loss;
    s->train_accuracy = a->train_accuracy;
    s->test_step = a->test_step;
    s->test_loss = a->test_loss;
    s->test_accuracy = a->test_accuracy;
    s->training_seconds = a->training_seconds;
    s->images_per_second = a->images_per_second;
    s->staleness_mean = a->staleness_mean;
    s->staleness_max = a->staleness_max;
    s->has_checkpoint = a->has_checkpoint;
    s->checkpoint_step = a->checkpoint_step;
    s->generation = a->generation;
    s->workers_lost = a->workers_lost;
    s->servers_lost = a->servers_lost;
    s->checkpoints_skipped = a->checkpoints_skipped;
    s->checkpoints_failed = a->checkpoints_failed;
}

static void put_status_answer(const struct message *m, Syncopate__Header *h, union body *b)
{
    const struct message_status_answer *a = &m->status_answer;
    Syncopate__StatusAnswer *s = h->status_answer = &b->status_answer;
    syncopate__status_answer__init(s);
    s->state = (uint32_t)a->state;
    s->seconds = a->seconds;
    s->out = give_text(a->out);
    s->text = give_text(a->text);
    s->exit_code = a->exit_code;
    s->has_job = a->has_job;
    if (a->has_job)
        put_job_status(a, s);
}

/* One zero is like the other: that it is negative would not be written again. */
static double take_real(double value)
{
    return value == 0 ? 0 : value;
}

static void get_job_status(const Syncopate__StatusAnswer *s, struct message_status_answer *a)
{
    a->mode = (enum mode)s->mode;
    a->step = s->step;
    a->steps = s->steps;
    a->steps_per_epoch = s->steps_per_epoch;
    a->workers = s->workers;
    a->worker_count = s->worker_count;
    a->servers = s->servers;
    a->server_count = s->server_count;
    a->train_epoch = s->train_epoch;
    a->train_examples = s->train_examples;
    a->train_loss = take_real(s->train_loss);
    a->train_accuracy = take_real(s->train_accuracy);
    a->test_step = s->test_step;
    a->test_loss = take_real(s->test_loss);
    a->test_accuracy = take_real(s->test_accuracy);
    a->training_seconds = take_real(s->training_seconds);
    a->images_per_second = take_real(s->images_per_second);
    a->staleness_mean = take_real(s->staleness_mean);
    a->staleness_max = s->staleness_max;
    a->has_checkpoint = s->has_checkpoint;
    a->checkpoint_step = s->checkpoint_step;
    a->generation = s->generation;
    a->workers_lost = s->workers_lost;
    a->servers_lost = s->servers_lost;
    a->checkpoints_skipped = s->checkpoints_skipped;
    a->checkpoints_failed = s->checkpoints_failed;
}

static bool get_status_answer(const Syncopate__Header *h, struct message *m)
{
    struct message_status_answer *a = &m->status_answer;
    const Syncopate__StatusAnswer *s = h->status_answer;
    if (s->state >= JOB_STATE_COUNT || s->mode >= MODE_COUNT || s->exit_code >= 256)
        return false;
    a->state = (enum job_state)s->state;
    a->seconds = take_real(s->seconds);
    a->exit_code = s->exit_code;
    a->has_job = s->has_job;
    if (s->has_job)
        get_job_status(s, a);
    return take_text(a->out, sizeof a->out, s->out) && take_text(a->text, sizeof a->text, s->text);
}

/* --- the table ----------------------------------------------------------------------------- */

struct kind {
    const char *name;
    int body_case; /* Of the oneof. */
    void (*put)(const struct message *, Syncopate__Header *, union body *);
    bool (*get)(const Syncopate__Header *, struct message *);
    bool payload;
};

#define ROW(name, BODY, put, get, payload)                                                         \
    {                                                                                              \
        name, SYNCOPATE__HEADER__BODY_##BODY, put, get, payload                                    \
    }

static const struct kind kinds[MESSAGE_KIND_COUNT] = {
    [MESSAGE_JOIN] = ROW("join", JOIN, put_join, get_join, false),
    [MESSAGE_WANT_JOB] = ROW("want_job", WANT_JOB, put_want_job, get_nothing, false),
    [MESSAGE_JOB_PAGE] = ROW("job_page", JOB_PAGE, put_job_page, get_job_page, false),
    [MESSAGE_WELCOME] = ROW("welcome", WELCOME, put_welcome, get_welcome, false),
    [MESSAGE_WAITING] = ROW("waiting", WAITING, put_waiting, get_waiting, false),
    [MESSAGE_REFUSED] = ROW("refused", REFUSED, put_refused, get_refused, false),
    [MESSAGE_READY] = ROW("ready", READY, put_ready, get_ready, false),
    [MESSAGE_START] = ROW("start", START, put_start, get_start, false),
    [MESSAGE_PING] = ROW("ping", PING, put_ping, get_ping, false),
    [MESSAGE_PONG] = ROW("pong", PONG, put_pong, get_pong, false),
    [MESSAGE_EXCHANGE] = ROW("exchange", EXCHANGE, put_exchange, get_exchange, true),
    [MESSAGE_RESULT] = ROW("result", RESULT, put_result, get_result, true),
    [MESSAGE_MOVED_ON] = ROW("moved_on", MOVED_ON, put_moved_on, get_moved_on, false),
    [MESSAGE_LEASE] = ROW("lease", LEASE, put_lease, get_lease, false),
    [MESSAGE_WORK] = ROW("work", WORK, put_work, get_work, false),
    [MESSAGE_REPORT] = ROW("report", REPORT, put_report, get_report, false),
    [MESSAGE_EVALUATION] = ROW("evaluation", EVALUATION, put_evaluation, get_evaluation, false),
    [MESSAGE_DONE] = ROW("done", DONE, put_done, get_done, false),
    [MESSAGE_RECEIPT] = ROW("receipt", RECEIPT, put_receipt, get_receipt, false),
    [MESSAGE_LEAVE] = ROW("leave", LEAVE, put_leave, get_nothing, false),
    [MESSAGE_STOP] = ROW("stop", STOP, put_stop, get_stop, false),
    [MESSAGE_CUT] = ROW("cut", CUT, put_cut, get_cut, false),
    [MESSAGE_CUT_TAKEN] = ROW("cut_taken", CUT_TAKEN, put_cut_taken, get_cut_taken, false),
    [MESSAGE_CHUNK_STATE] = ROW("chunk_state", CHUNK_STATE, put_chunk_state, get_chunk_state, true),
    [MESSAGE_PART_WRITTEN] =
        ROW("part_written", PART_WRITTEN, put_part_written, get_part_written, false),
    [MESSAGE_FINISHED] = ROW("finished", FINISHED, put_finished, get_finished, false),
    [MESSAGE_BYE] = ROW("bye", BYE, put_bye, get_nothing, false),
    [MESSAGE_STATUS] = ROW("status", STATUS, put_status, get_status, false),
    [MESSAGE_STATUS_ANSWER] =
        ROW("status_answer", STATUS_ANSWER, put_status_answer, get_status_answer, false),
};

bool message_is_from_server(const struct message *message, uint32_t index)
{
    return message->role == ROLE_PS && message->index == index;
}

void message_describe_sender(const struct message *message, uint32_t meant, char who[32])
{
    snprintf(who, 32, "%s/%u, not ps/%u", role_name(message->role), message->index, meant);
}

const char *message_kind_name(enum message_kind kind)
{
    return (unsigned)kind < MESSAGE_KIND_COUNT && kinds[kind].name != NULL ? kinds[kind].name
                                                                           : "none";
}

const char *role_name(enum role role)
{
    static const char *const names[ROLE_COUNT] = {"nobody", "ps", "worker", "observer"};
    return (unsigned)role < ROLE_COUNT ? names[role] : "nobody";
}

const char *job_state_name(enum job_state state)
{
    static const char *const names[JOB_STATE_COUNT] = {"waiting for a job", "opening", "gathering",
                                                       "recovering",        "running", "closing",
                                                       "finishing",         "over"};
    return (unsigned)state < JOB_STATE_COUNT ? names[state] : "over";
}

bool message_may_have_payload(enum message_kind kind)
{
    return (unsigned)kind < MESSAGE_KIND_COUNT && kinds[kind].payload;
}

/* Whoever speaks no version of ours is told so in its own. */
static uint32_t version_of(const struct message *message)
{
    bool foreign = message->kind == MESSAGE_REFUSED && message->refused.version != 0;
    return foreign ? message->refused.version : PROTOCOL_VERSION_MAX;
}

size_t message_encode(const struct message *message, uint8_t *buffer)
{
    assert(message->kind > MESSAGE_NONE && message->kind < MESSAGE_KIND_COUNT);
    const struct kind *kind = &kinds[message->kind];
    Syncopate__Header header = SYNCOPATE__HEADER__INIT;
    union body body;

    header.version = version_of(message);
    header.role = (Syncopate__Role)message->role;
    header.index = message->index;
    header.incarnation = message->incarnation;
    header.run_id = message->run_id;
    header.generation = message->generation;
    header.request = message->request;
    header.ticket = message->ticket;
    header.proof = message->proof;
    header.body_case = (Syncopate__Header__BodyCase)kind->body_case;
    kind->put(message, &header, &body);

    assert(syncopate__header__get_packed_size(&header) <= HEADER_BYTES_MAX);
    return syncopate__header__pack(&header, buffer);
}

static enum message_kind kind_of(int body_case)
{
    for (unsigned k = 1; k < MESSAGE_KIND_COUNT; k++)
        if (kinds[k].body_case == body_case)
            return (enum message_kind)k;
    return MESSAGE_NONE;
}

enum status message_decode(const void *bytes, size_t count, struct message *message,
                           struct error *error)
{
    if (count == 0 || count > HEADER_BYTES_MAX)
        return error_set(error, STATUS_INVALID, "header of %zu bytes", count);

    _Alignas(16) uint8_t memory[ARENA_BYTES];
    struct arena arena = {0, sizeof memory, memory};
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
    Syncopate__Header *header = syncopate__header__unpack(&allocator, count, bytes);
    if (header == NULL)
        return error_set(error, STATUS_INVALID, "header does not decode");
    /* A JOIN of another version is answered with a reason, so both pass here. */
    if ((header->version < PROTOCOL_VERSION_MIN || header->version > PROTOCOL_VERSION_MAX) &&
        header->body_case != SYNCOPATE__HEADER__BODY_JOIN &&
        header->body_case != SYNCOPATE__HEADER__BODY_REFUSED)
        return error_set(error, STATUS_INVALID, "protocol version %u", header->version);
    if ((unsigned)header->role >= ROLE_COUNT)
        return error_set(error, STATUS_INVALID, "role %d", (int)header->role);

    memset(message, 0, sizeof *message);
    message->kind = kind_of((int)header->body_case);
    if (message->kind == MESSAGE_NONE)
        return error_set(error, STATUS_INVALID, "unknown message %d", (int)header->body_case);
    message->role = (enum role)header->role;
    message->index = header->index;
    message->incarnation = header->incarnation;
    message->run_id = header->run_id;
    message->generation = header->generation;
    message->request = header->request;
    message->ticket = header->ticket;
    message->proof = header->proof;
    if (!kinds[message->kind].get(header, message))
        return error_set(error, STATUS_INVALID, "%s with a field out of range",
                         message_kind_name(message->kind));
    return STATUS_OK;
}

/* --- the declaration ----------------------------------------------------------------------- */

static void give_variable(const struct variable *from, Syncopate__Variable *to)
{
    syncopate__variable__init(to);
    to->name = give_text(from->name);
    to->n_shape = from->rank;
    to->shape = (uint64_t *)(uintptr_t)from->shape;
    to->initializer = from->initializer;
    to->fan_in = from->fan_in;
    to->fan_out = from->fan_out;
}

static const ProtobufCType wire_types[] = {
    [JOB_FLAG] = PROTOBUF_C_TYPE_BOOL,         [JOB_U32] = PROTOBUF_C_TYPE_UINT32,
    [JOB_U64] = PROTOBUF_C_TYPE_UINT64,        [JOB_BYTES] = PROTOBUF_C_TYPE_UINT64,
    [JOB_FLOAT] = PROTOBUF_C_TYPE_FLOAT,       [JOB_FRACTION] = PROTOBUF_C_TYPE_FLOAT,
    [JOB_REAL] = PROTOBUF_C_TYPE_DOUBLE,       [JOB_RATE] = PROTOBUF_C_TYPE_DOUBLE,
    [JOB_WORD] = PROTOBUF_C_TYPE_UINT32,       [JOB_NAME] = PROTOBUF_C_TYPE_STRING,
    [JOB_TEXT] = PROTOBUF_C_TYPE_STRING,       [JOB_DIGEST] = PROTOBUF_C_TYPE_BYTES,
    [JOB_VARIABLES] = PROTOBUF_C_TYPE_MESSAGE, [JOB_SERVERS] = PROTOBUF_C_TYPE_STRING,
};

/* The lists of a job as the protocol has them; they refer to the job's texts. */
struct wire_lists {
    Syncopate__Variable *variables;
    Syncopate__Variable **pointers;
    char **servers;
};

/* Where the protocol's Job has what the row is about. A row without its line in syncopate.proto is
 * a mistake that no job gets past. */
static void *wire_field(Syncopate__Job *wire, const struct job_field *field, size_t **count)
{
    const ProtobufCFieldDescriptor *found =
        protobuf_c_message_descriptor_get_field_by_name(&syncopate__job__descriptor, field->wire);
    assert(found != NULL);
    assert(found->type == wire_types[field->kind] ||
           (found->type == PROTOBUF_C_TYPE_FIXED64 && field->kind == JOB_U64));
    assert((found->label == PROTOBUF_C_LABEL_REPEATED) ==
           (field->kind == JOB_VARIABLES || field->kind == JOB_SERVERS));
    *count = (size_t *)(void *)((char *)wire + found->quantifier_offset);
    return (char *)wire + found->offset;
}

static void give_field(const struct job *job, const struct job_field *field, Syncopate__Job *wire,
                       const struct wire_lists *lists)
{
    size_t *count;
    void *to = wire_field(wire, field, &count);
    const void *from = job_field_at(field, job);
    switch (field->kind) {
    case JOB_FLAG:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return;
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
    case JOB_FLOAT:
    case JOB_FRACTION:
    case JOB_REAL:
    case JOB_RATE:
    case JOB_WORD:
        memcpy(to, from, field->size);
        return;
    case JOB_NAME:
    case JOB_TEXT:
        *(char **)to = give_text(from);
        return;
    case JOB_DIGEST:
        *(ProtobufCBinaryData *)to = give_digest(from);
        return;
    case JOB_VARIABLES:
        *count = job->variable_count;
        *(Syncopate__Variable ***)to = lists->pointers;
        return;
    case JOB_SERVERS:
        *count = job->server_count;
        *(char ***)to = lists->servers;
        return;
    }
}

enum status job_encode(const struct job *job, uint8_t **bytes, uint32_t *count)
{
    enum status status = STATUS_MEMORY;
    Syncopate__Job wire;
    syncopate__job__init(&wire);
    struct wire_lists lists = {calloc(job->variable_count + 1, sizeof *lists.variables),
                               calloc(job->variable_count + 1, sizeof *lists.pointers),
                               calloc(job->server_count + 1, sizeof *lists.servers)};
    if (lists.variables == NULL || lists.pointers == NULL || lists.servers == NULL)
        goto out;

    for (uint32_t i = 0; i < job->variable_count; i++) {
        give_variable(&job->variables[i], &lists.variables[i]);
        lists.pointers[i] = &lists.variables[i];
    }
    for (uint32_t i = 0; i < job->server_count; i++)
        lists.servers[i] = job->servers[i];
    for (size_t i = 0; i < job_field_count; i++)
        give_field(job, &job_fields[i], &wire, &lists);

    *bytes = malloc(syncopate__job__get_packed_size(&wire));
    if (*bytes != NULL) {
        *count = (uint32_t)syncopate__job__pack(&wire, *bytes);
        status = STATUS_OK;
    }
out:
    free(lists.variables);
    free(lists.pointers);
    free(lists.servers);
    return status;
}

enum status job_digest(const struct job *job, uint8_t digest[DIGEST_BYTES])
{
    uint8_t *bytes;
    uint32_t count;
    struct job nameless = *job;
    for (size_t i = 0; i < job_field_count; i++)
        if (job_fields[i].flags & JOB_LABEL)
            memset(job_field_in(&job_fields[i], &nameless), 0, job_fields[i].size);
    enum status status = job_encode(&nameless, &bytes, &count);
    if (status != STATUS_OK)
        return status;
    hash_bytes(bytes, count, digest);
    free(bytes);
    return STATUS_OK;
}

static bool take_variable(struct variable *to, const Syncopate__Variable *from)
{
    if (from->n_shape > VARIABLE_RANK_MAX || from->initializer >= INITIALIZER_COUNT ||
        !take_text(to->name, sizeof to->name, from->name))
        return false;
    to->rank = (uint32_t)from->n_shape;
    if (to->rank > 0)
        memcpy(to->shape, from->shape, to->rank * sizeof *to->shape);
    to->initializer = (enum initializer)from->initializer;
    to->fan_in = from->fan_in;
    to->fan_out = from->fan_out;
    return true;
}

static enum status take_variables(struct job *job, Syncopate__Variable **from, size_t count)
{
    job->variables = calloc(count + 1, sizeof *job->variables);
    if (job->variables == NULL)
        return STATUS_MEMORY;
    job->variable_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!take_variable(&job->variables[i], from[i]))
            return STATUS_INVALID;
    return STATUS_OK;
}

static enum status take_servers(struct job *job, char **from, size_t count)
{
    job->servers = calloc(count + 1, sizeof *job->servers);
    if (job->servers == NULL)
        return STATUS_MEMORY;
    job->server_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!take_text(job->servers[i], ADDRESS_MAX, from[i]))
            return STATUS_INVALID;
    return STATUS_OK;
}

static enum status take_field(struct job *job, const struct job_field *field, Syncopate__Job *wire)
{
    size_t *count;
    const void *from = wire_field(wire, field, &count);
    void *to = job_field_in(field, job);
    bool taken = true;
    switch (field->kind) {
    case JOB_FLAG:
        *(bool *)to = *(const protobuf_c_boolean *)from != 0;
        break;
    case JOB_WORD:
        taken = field->word(*(const uint32_t *)from) != NULL;
        memcpy(to, from, field->size);
        break;
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
    case JOB_FLOAT:
    case JOB_FRACTION:
    case JOB_REAL:
    case JOB_RATE:
        memcpy(to, from, field->size);
        break;
    case JOB_NAME:
    case JOB_TEXT:
        taken = take_text(to, field->size, *(char *const *)from);
        break;
    case JOB_DIGEST:
        taken = take_digest(to, *(const ProtobufCBinaryData *)from);
        break;
    case JOB_VARIABLES:
        return *count > (size_t)field->most
                   ? STATUS_INVALID
                   : take_variables(job, *(Syncopate__Variable * *const *)from, *count);
    case JOB_SERVERS:
        return *count > (size_t)field->most ? STATUS_INVALID
                                            : take_servers(job, *(char **const *)from, *count);
    }
    return taken ? STATUS_OK : STATUS_INVALID;
}

static enum status take_job(Syncopate__Job *wire, struct job *job)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job_field_count && status == STATUS_OK; i++)
        status = take_field(job, &job_fields[i], wire);
    return status;
}

/* More than any honest declaration of so many bytes takes to decode: its texts once more, and its
 * variables, of which there are at most so many and none has fewer than eight bytes. One that is
 * crafted to take more is refused when the arena is full. */
static size_t job_arena_bytes(uint32_t count)
{
    size_t variables = count / 8 < VARIABLE_COUNT_MAX ? count / 8 : VARIABLE_COUNT_MAX;
    size_t size = ARENA_BYTES + 2 * (size_t)count + variables * JOB_ARENA_VARIABLE;
    return (size + 15) / 16 * 16;
}

enum status job_decode(const uint8_t *bytes, uint32_t count, struct job *job, struct error *error)
{
    memset(job, 0, sizeof *job);
    if (count > JOB_BYTES_MAX)
        return error_set(error, STATUS_INVALID, "declaration of %u bytes", count);
    /* A declaration is decoded once a process and may be large, so its arena is on the heap. */
    struct arena arena = {0, job_arena_bytes(count), NULL};
    arena.bytes = aligned_alloc(16, arena.size);
    if (arena.bytes == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for a declaration");

    ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
    Syncopate__Job *wire = syncopate__job__unpack(&allocator, count, bytes);
    enum status status = STATUS_INVALID;
    if (wire == NULL)
        error_set(error, status, "declaration does not decode");
    else if ((status = take_job(wire, job)) != STATUS_OK)
        error_set(error, status, "declaration with a field out of range");
    else
        status = job_check(job, error);
    free(arena.bytes);
    if (status != STATUS_OK)
        job_free(job);
    return status;
}

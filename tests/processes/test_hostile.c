/* A real server among peers that keep to no rule, and honest workers beside them: the server goes
 * on, and the honest workers end with the right result.
 *
 * Every gradient of an honest worker takes 1 off every value (crowd.h), so the final model says
 * exactly what was applied. What the others do follows from a seed. */
/* promises: hostile */
/* test: first asan tsan */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "tests/lib/hostile.h"
#include "tests/lib/rogue.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum {
    HONEST = HOSTILE_HONEST,
    ROGUES = 6,
    UNKNOWN_PEERS = 6,
    ENOUGH = 100000, /* More updates than are ever made. */
    MIB = 1 << 20,
};

struct mischief;
typedef void mischief_do(struct mischief *mischief);

/* --- mischief ------------------------------------------------------------------------------ */

struct mischief {
    struct hostile *hostile;
    struct random_sequence dice;
    struct rogue rogues[ROGUES];
    struct unknown_peer unknown_peers[UNKNOWN_PEERS];
};

static uint32_t roll(struct mischief *m, uint32_t below)
{
    return random_below(&m->dice, below);
}

static bool one_in(struct mischief *m, uint32_t n)
{
    return roll(m, n) == 0;
}

static uint64_t any_number(struct mischief *m)
{
    static const uint64_t odd[] = {
        0, 1, 2, 255, 4095, 4096, 65535, 65536, UINT32_MAX, UINT64_MAX, (uint64_t)INT64_MAX};
    return one_in(m, 3) ? odd[roll(m, sizeof odd / sizeof *odd)]
                        : (uint64_t)random_next(&m->dice) << 32 | random_next(&m->dice);
}

static void open_mischief(struct mischief *m, struct hostile *h, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->hostile = h;
    random_sequence_init(&m->dice, seed, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < ROGUES; i++)
        m->rogues[i].unknown_peer.fd = -1;
    for (int i = 0; i < UNKNOWN_PEERS; i++)
        m->unknown_peers[i].fd = -1;
}

static void close_mischief(struct mischief *m)
{
    for (int i = 0; i < ROGUES; i++)
        rogue_close(&m->rogues[i]);
    for (int i = 0; i < UNKNOWN_PEERS; i++)
        unknown_peer_close(&m->unknown_peers[i]);
}

/* A worker beyond those that were declared, who may join while the job runs. */
static struct rogue *any_rogue(struct mischief *m)
{
    static const uint8_t digest[DIGEST_BYTES];
    uint32_t i = roll(m, ROGUES);
    struct rogue *rogue = &m->rogues[i];
    if (rogue->unknown_peer.fd < 0 &&
        !rogue_join(rogue, m->hostile->servers[0], &m->hostile->job, HONEST + i, digest, 2000))
        return NULL;
    return rogue;
}

static struct unknown_peer *any_unknown_peer(struct mischief *m)
{
    struct unknown_peer *unknown_peer = &m->unknown_peers[roll(m, UNKNOWN_PEERS)];
    if (unknown_peer->fd < 0 && !unknown_peer_open(unknown_peer, m->hostile->servers[0]))
        return NULL;
    return unknown_peer;
}

/* Not one that would be true: as another worker, of another time, or never admitted. */
static void lie_about_sender(struct mischief *m, struct message *message)
{
    switch (roll(m, 8)) {
    case 0:
        message->generation += 1 + roll(m, 3);
        break;
    case 1:
        message->run_id = any_number(m);
        break;
    case 2:
        message->incarnation = any_number(m) | 1;
        message->ticket = 0;
        break;
    case 3:
        message->index = roll(m, HONEST); /* Whose ticket is greater than this. */
        message->ticket = 0;
        break;
    case 4:
        message->index = (uint32_t)any_number(m) | 1024;
        break;
    case 5:
        message->role = (enum role)(1 + roll(m, ROLE_COUNT - 1));
        message->ticket = 0;
        message->incarnation = any_number(m) | 1;
        break;
    case 6:
        message->ticket = 0;
        break;
    default:
        break;
    }
}

/* Every field what it likes, within what can be encoded. */
static void fill(struct mischief *m, struct message *message)
{
    struct message_exchange *exchange = &message->exchange;
    switch (message->kind) {
    case MESSAGE_EXCHANGE: /* Never a gradient that could be applied. */
        *exchange = (struct message_exchange){.chunk = roll(m, 12),
                                              .step = one_in(m, 2) ? any_number(m) : roll(m, 50),
                                              .base_version = any_number(m),
                                              .want = true,
                                              .want_version = any_number(m),
                                              .newest = one_in(m, 2),
                                              .retry = one_in(m, 4),
                                              .receipt = one_in(m, 3)};
        exchange->gradient = exchange->retry;
        exchange->node = (struct node){roll(m, 5), 1 + roll(m, 5)};
        break;
    case MESSAGE_JOIN:
        message->join.version_min = roll(m, 3);
        message->join.version_max = message->join.version_min + roll(m, 3);
        for (int i = 0; i < DIGEST_BYTES; i++)
            message->join.job_digest[i] = (uint8_t)roll(m, 256);
        break;
    case MESSAGE_JOB_PAGE:
        message->job_page.total = 1 + roll(m, 8 * MIB);
        message->job_page.offset =
            roll(m, message->job_page.total) / JOB_PAGE_BYTES * JOB_PAGE_BYTES;
        message->job_page.bytes = 1 + roll(m, JOB_PAGE_BYTES);
        break;
    case MESSAGE_EVALUATION:
        message->evaluation.step = any_number(m);
        message->evaluation.shares = 1 + roll(m, 5);
        message->evaluation.share = roll(m, message->evaluation.shares);
        break;
    case MESSAGE_REPORT:
        message->report.step = any_number(m);
        message->report.node = (struct node){roll(m, 5), 1 + roll(m, 5)};
        message->report.examples = message->report.correct = roll(m, 65536);
        message->report.loss = (int64_t)any_number(m);
        break;
    case MESSAGE_LEASE:
        message->lease.finished = true; /* It was given none, and asks for none. */
        message->lease.batch = one_in(m, 2) ? any_number(m) : roll(m, 50);
        break;
    case MESSAGE_PING:
        message->ping.step = any_number(m);
        message->ping.assignment = roll(m, 9);
        break;
    case MESSAGE_STOP: /* A member may say it, and the job ends. */
        message->incarnation = any_number(m) | 1;
        message->stop.exit_code = roll(m, 256);
        break;
    case MESSAGE_CHUNK_STATE:
        message->chunk_state.count = 1 + any_number(m) % HOSTILE_ELEMENTS;
        message->chunk_state.first = any_number(m);
        message->chunk_state.array = roll(m, 3);
        break;
    case MESSAGE_CUT_TAKEN:
        message->cut_taken.step = any_number(m);
        message->cut_taken.taken = one_in(m, 2);
        break;
    case MESSAGE_PART_WRITTEN:
        message->part_written.step = any_number(m);
        message->part_written.written = one_in(m, 2);
        break;
    case MESSAGE_READY:
        message->ready.needs_chunks = one_in(m, 2);
        break;
    case MESSAGE_RECEIPT:
        message->receipt.node.leaf_count = 1;
        break;
    case MESSAGE_REFUSED:
        message->refused.reason = (enum refusal)(1 + roll(m, REFUSAL_COUNT - 1));
        break;
    case MESSAGE_START:
        message->start.members = 1 + roll(m, 1024);
        break;
    default:
        break;
    }
}

/* A member, or the shadow of one, says anything. */
static void say_anything(struct mischief *m)
{
    struct rogue *rogue = any_rogue(m);
    if (rogue == NULL)
        return;
    enum message_kind kind = (enum message_kind)(1 + roll(m, MESSAGE_KIND_COUNT - 1));
    struct message message = rogue_message(rogue, kind);
    lie_about_sender(m, &message);
    fill(m, &message);
    size_t payload = one_in(m, 4) ? 4 * roll(m, 5000) : 0;
    for (uint32_t count = one_in(m, 10) ? 200 : 1; count > 0; count--)
        rogue_say(rogue, &message, payload, (uint8_t)roll(m, 256), 100);
}

/* Gradients of wrong sizes, and of steps, nodes and chunks that there are not. */
static void push_nonsense(struct mischief *m)
{
    struct rogue *rogue = any_rogue(m);
    if (rogue == NULL)
        return;
    struct message message = rogue_message(rogue, MESSAGE_EXCHANGE);
    bool async = m->hostile->job.mode == MODE_ASYNC;
    message.exchange = (struct message_exchange){.gradient = true,
                                                 .chunk = roll(m, 4),
                                                 .node = {0, 1},
                                                 .examples = 1,
                                                 .want = one_in(m, 2),
                                                 .receipt = one_in(m, 2)};
    size_t bytes = HOSTILE_CHUNK;
    switch (roll(m, async ? 6 : 5)) {
    case 0:
        bytes = 4 * (1 + roll(m, 4000));
        bytes += bytes == HOSTILE_CHUNK ? 4 : 0;
        break;
    case 1:
        message.exchange.chunk = 4 + roll(m, 100000);
        break;
    case 2:
        message.exchange.step = ENOUGH + any_number(m) % ENOUGH;
        break;
    case 3:
        message.exchange.node = (struct node){roll(m, 4096), 2 + roll(m, 4095)};
        break;
    case 4:
        message.exchange.examples = 2 + roll(m, 60000);
        break;
    default: /* Batch 0 is in, so nobody may say anything of it. 0xff: not a number. */
        message.exchange.skip = false;
        break;
    }
    rogue_say(rogue, &message, bytes, 0xff, 100);
}

/* Thousands of questions, and not an ear for an answer. */
static void ask_without_end(struct mischief *m)
{
    struct rogue *rogue = any_rogue(m);
    if (rogue == NULL)
        return;
    for (uint32_t i = 0; i < 3000; i++) {
        struct message message = rogue_message(rogue, MESSAGE_EXCHANGE);
        message.exchange = (struct message_exchange){
            .chunk = i % 4, .want = true, .newest = true, .want_version = any_number(m)};
        if (!rogue_say(rogue, &message, 0, 0, 20))
            break;
    }
}

static void listen_a_little(struct mischief *m)
{
    struct message message;
    struct rogue *rogue = any_rogue(m);
    for (int i = 0; rogue != NULL && i < 200 && rogue_hear(rogue, &message, 0); i++)
        ;
    struct unknown_peer *unknown_peer = any_unknown_peer(m);
    if (unknown_peer != NULL && !unknown_peer_listen(unknown_peer))
        unknown_peer_close(unknown_peer);
}

static void go(struct mischief *m)
{
    if (one_in(m, 2))
        rogue_close(&m->rogues[roll(m, ROGUES)]);
    else
        unknown_peer_close(&m->unknown_peers[roll(m, UNKNOWN_PEERS)]);
}

static void send_garbage(struct mischief *m)
{
    uint8_t bytes[2000];
    struct unknown_peer *unknown_peer = any_unknown_peer(m);
    if (unknown_peer == NULL)
        return;
    size_t count = 1 + roll(m, sizeof bytes);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)roll(m, 256);
    if (one_in(m, 2))
        unknown_peer_say(unknown_peer, bytes, count < 300 ? count : 300, one_in(m, 3) ? count : 0,
                         7, 100);
    else
        unknown_peer_write(unknown_peer, bytes, count, 100);
}

/* Half a message, or a frame that is announced and does not come. */
static void begin_and_leave(struct mischief *m)
{
    struct unknown_peer *unknown_peer = any_unknown_peer(m);
    if (unknown_peer == NULL)
        return;
    unknown_peer_frame(unknown_peer, one_in(m, 2) ? FRAME_MORE : 0,
                       one_in(m, 2) ? 256u << 20 : 100);
    unknown_peer_write(unknown_peer, "half", 4, 100);
    if (one_in(m, 2))
        unknown_peer_close(unknown_peer);
}

/* Parts of a message that has no end. */
static void go_on_for_ever(struct mischief *m)
{
    static const uint8_t part[4096];
    struct unknown_peer *unknown_peer = any_unknown_peer(m);
    uint32_t bytes = one_in(m, 2) ? 0 : sizeof part;
    for (uint32_t i = 0; unknown_peer != NULL && i < 500; i++)
        if (!unknown_peer_frame(unknown_peer, FRAME_MORE, bytes) ||
            unknown_peer_write(unknown_peer, part, bytes, 50) != bytes)
            break;
}

/* Who joins with a declaration of its own is asked for it, every time. */
static void declare_another(struct mischief *m)
{
    struct rogue liar = {.job = &m->hostile->job, .index = roll(m, 8)};
    struct message message;
    if (!unknown_peer_open(&liar.unknown_peer, m->hostile->servers[0]))
        return;
    for (int i = 0; i < 20; i++) {
        liar.incarnation = any_number(m) | 1;
        message = rogue_message(&liar, MESSAGE_JOIN);
        fill(m, &message);
        message.join.version_min = PROTOCOL_VERSION_MIN;
        message.join.version_max = PROTOCOL_VERSION_MAX;
        rogue_say(&liar, &message, 0, 0, 100);
        message = rogue_message(&liar, MESSAGE_JOB_PAGE);
        fill(m, &message);
        rogue_say(&liar, &message, 0, 0, 100);
    }
    rogue_close(&liar);
}

/* PING of ZMTP itself, of every length. */
static void ping_zmtp(struct mischief *m)
{
    uint8_t command[64] = {4, 'P', 'I', 'N', 'G', 0, (uint8_t)roll(m, 3)};
    struct unknown_peer *unknown_peer = any_unknown_peer(m);
    if (unknown_peer == NULL)
        return;
    uint8_t head[2] = {FRAME_COMMAND, (uint8_t)(7 + roll(m, 40))};
    unknown_peer_write(unknown_peer, head, 2, 100);
    unknown_peer_write(unknown_peer, command, head[1], 100);
}

static mischief_do *const tricks[] = {
    say_anything,
    say_anything,
    say_anything,
    push_nonsense,
    push_nonsense,
    ask_without_end,
    go,
    listen_a_little,
    listen_a_little,
    send_garbage,
    begin_and_leave,
    go_on_for_ever,
    declare_another,
    ping_zmtp,
};

/* In sync mode a member that does not do its leaves stops everybody, until it is taken for stuck:
 * so it says goodbye before it does anything. */
static void leave(struct mischief *m)
{
    for (int i = 0; i < ROGUES; i++) {
        struct rogue *rogue = &m->rogues[i];
        if (rogue->unknown_peer.fd < 0 || !rogue->welcome)
            continue;
        struct message message = rogue_message(rogue, MESSAGE_LEAVE);
        rogue_say(rogue, &message, 0, 0, 1000);
        rogue->welcome = false;
    }
}

/* The honest workers compute one gradient more, whatever has been done to them. */
static void await_progress(const struct hostile *h, double until)
{
    double before = hostile_progress(h);
    while (hostile_goes_on(h) && hostile_progress(h) <= before) {
        ck_assert_msg(clock_now_seconds() < until, "the honest workers make no progress");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* In sync a peer that joins has the leaves dealt anew, and without keys nothing limits how often: so there is one
 * trick for each gradient. */
static void make_mischief(struct mischief *m)
{
    struct hostile *h = m->hostile;
    bool sync = h->job.mode == MODE_SYNC;
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    /* On a busy machine the rest of the job may pass within one of them. */
    while (hostile_goes_on(h) && hostile_progress(h) < 0.9) {
        ck_assert_msg(clock_now_seconds() < until, "the honest workers make no progress");
        tricks[roll(m, sizeof tricks / sizeof *tricks)](m);
        if (sync) {
            leave(m);
            await_progress(h, until);
        }
    }
}

/* --- tests --------------------------------------------------------------------------------- */

static void run_mischief(enum mode mode, uint64_t seed)
{
    struct hostile h;
    struct mischief m;
    hostile_open(&h, mode, HOSTILE_SANITIZED || mode == MODE_SYNC ? 400 : 1200, 1);
    open_mischief(&m, &h, seed);
    make_mischief(&m);
    close_mischief(&m);
    hostile_end_well(&h);
    hostile_close(&h);
}

TEST_TIMES(an_async_job_ends_well_whatever_others_say, 2)
{
    run_mischief(MODE_ASYNC, 100 + (uint64_t)_i);
}

TEST_TIMES(a_sync_job_ends_well_whatever_others_say, 2)
{
    run_mischief(MODE_SYNC, 200 + (uint64_t)_i);
}

/* Alive, and a member, and the job is over but for it. */
TEST_TIMES(a_member_that_never_says_done_does_not_keep_the_job, 2)
{
    struct hostile h;
    struct rogue rogue;
    struct message message;
    static const uint8_t digest[DIGEST_BYTES];
    hostile_open(&h, MODE_ASYNC, 200, 1);
    ck_assert(rogue_join(&rogue, h.servers[0], &h.job, HONEST, digest, 10000));
    if (_i == 1) { /* And it has work that it does not do. */
        message = rogue_message(&rogue, MESSAGE_LEASE);
        rogue_say(&rogue, &message, 0, 0, 1000);
    }
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    while (h.crowd.process_count > 0 && clock_now_seconds() < until && !rogue.finished) {
        rogue_ping(&rogue);
        while (rogue_hear(&rogue, &message, 100) && !rogue.finished)
            ;
        if (rogue.unknown_peer.fd < 0)
            break;
    }
    rogue_close(&rogue);
    hostile_end_well(&h);
    hostile_close(&h);
}

static void add(TCase *t)
{
    tcase_set_timeout(t, 400);
    tcase_add_checked_fixture(t, scratch_open, scratch_close);
}

int main(void)
{
    return suite_run("hostile", add);
}

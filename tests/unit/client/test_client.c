/* test_client.c - a client's threads and connections, with scripted servers at the other end
 * (scripted_server.h). */
/* promises: bits-early shared-memory */
/* test: tsan */
/* wraps: clock_now_us */

#include "worker/client/client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/transport/shm/rendezvous.h"
#include "tests/lib/post.h"
#include "tests/lib/scripted_server.h"
#include "tests/lib/suite.h"

enum { DEADLINE_MS = 20000, WAIT_US = 100000 };

/* With its every wait so much time passes beside the real one. */
static _Atomic(struct scripted_server *) clocked;

uint64_t __real_clock_now_us(void);
uint64_t __wrap_clock_now_us(void);

uint64_t __wrap_clock_now_us(void)
{
    uint64_t now_us = __real_clock_now_us();
    struct scripted_server *server = atomic_load(&clocked);
    if (server != NULL) {
        scripted_server_lock(server);
        now_us += (uint64_t)server->waits * WAIT_US;
        scripted_server_unlock(server);
    }
    return now_us;
}

struct fixture {
    struct job job;
    struct scripted_server server;
    struct client *client;
};

static void open_server(struct fixture *f, enum mode mode)
{
    f->job = small_job(mode, 1, 1);
    scripted_server_open(&f->server, &f->job);
    f->server.shares = true;
}

static void open_client(struct fixture *f, bool must_share)
{
    struct error error;
    struct client_options options = {
        .transport = &f->server.transport,
        .job = &f->job,
        .must_share = must_share,
        .deadlines = {.start = 60, .silence = 60, .recovery = 60, .progress = 300, .stop = 60}};
    ck_assert(client_open(&f->client, &options, &error) == STATUS_OK);
}

static void open_fixture(struct fixture *f, enum mode mode)
{
    open_server(f, mode);
    open_client(f, false);
}

static void close_fixture(struct fixture *f)
{
    client_close(&f->client);
    scripted_server_close(&f->server);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

static struct trainer_work next(struct fixture *f)
{
    struct trainer_work work;
    ck_assert_msg(client_next(f->client, &work) == STATUS_OK, "%s",
                  client_trainer(f->client)->reason);
    return work;
}

/* The first or second half of a step's leaves, or all of them. */
static const float *push_node(struct fixture *f, uint64_t step, struct node node, bool last)
{
    struct frame *gradient = client_gradient(f->client);
    ck_assert_ptr_nonnull(gradient);
    const float *data = gradient->data;
    struct push push = {.step = step,
                        .node = node,
                        .examples = job_node_examples(&f->job, job_batch(&f->job, step),
                                                      node.first_leaf, node.leaf_count),
                        .last = last};
    memset(gradient->data, 0, gradient->bytes);
    client_push(f->client, &push, gradient);
    return data;
}

static const float *push_step(struct fixture *f, uint64_t step)
{
    return push_node(f, step, tree_root(job_batch(&f->job, step).leaves), true);
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Until so many of the kind have come. */
static void await(struct fixture *f, enum message_kind kind, unsigned count)
{
    for (int i = 0; i < DEADLINE_MS && scripted_server_count(&f->server, kind) < count; i++)
        rest();
    ck_assert_uint_ge(scripted_server_count(&f->server, kind), count);
}

static void start_again(struct fixture *f)
{
    scripted_server_lock(&f->server);
    scripted_server_start(&f->server);
    scripted_server_unlock(&f->server);
}

/* The last EXCHANGE that came, for chunk 0. */
static struct scripted_heard last_exchange(struct fixture *f)
{
    struct scripted_heard found = {.payload = NULL};
    scripted_server_lock(&f->server);
    for (unsigned i = 0; i < f->server.heard_count; i++)
        if (f->server.heard[i].message.kind == MESSAGE_EXCHANGE &&
            f->server.heard[i].message.exchange.chunk == 0)
            found = f->server.heard[i];
    scripted_server_unlock(&f->server);
    return found;
}

static void check_end(struct fixture *f, int exit_code)
{
    struct trainer_work work;
    ck_assert(client_next(f->client, &work) != STATUS_OK);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, exit_code);
}

TEST(it_goes_from_step_to_step_and_ends_when_the_job_does, MODE_SYNC)
{
    for (uint64_t step = 0; step < 6; step++) {
        struct trainer_work work = next(f);
        ck_assert(!work.enough);
        ck_assert_uint_eq(work.step, step);
        ck_assert_uint_eq(work.shares, 0);
        push_step(f, step);
    }
    struct trainer_work work = next(f);
    ck_assert(work.enough);
    check_end(f, EXIT_DONE);
    ck_assert_uint_eq(scripted_server_count(&f->server, MESSAGE_REPORT), 0);
}

static void keep_answers(struct fixture *f, uint32_t from)
{
    scripted_server_lock(&f->server);
    f->server.keeps_from = from;
    f->server.value = (float)from;
    scripted_server_unlock(&f->server);
}

/* Step 0 is pushed, and only chunks before the third are answered; those are given early. */
static struct trainer_work next_early(struct fixture *f)
{
    ck_assert_uint_eq(next(f).step, 0);
    keep_answers(f, 2);
    push_step(f, 0);
    client_begin_at(f->client, 17);
    struct trainer_work work = next(f);
    ck_assert_uint_eq(work.early, f->server.partition.chunks[2].first);
    ck_assert(work.step == 1 && work.shape.step == 1 && work.node_count == 1 && !work.begun);
    ck_assert_float_eq(client_parameters(f->client)[work.early - 1], 2);
    return work;
}

TEST(the_next_step_begins_with_what_is_back_and_goes_on_when_all_is, MODE_SYNC)
{
    struct trainer_work work = next_early(f);
    client_begin_at(f->client, work.early + 1);
    keep_answers(f, 3);
    work = next(f); /* Now the third has been asked for again. */
    ck_assert(work.early > 33 && work.begun);
    ck_assert_float_eq(client_parameters(f->client)[0], 2);
    keep_answers(f, 0);
    work = next(f); /* No more of it was asked for. */
    ck_assert(work.early == 0 && work.begun && work.step == 1 && !work.enough);
    ck_assert_float_eq(client_parameters(f->client)[0], 2);
    push_step(f, 1);
    work = next(f);
    ck_assert(work.early == 0 && !work.begun && work.step == 2);
}

TEST(what_was_begun_is_nothing_after_a_start, MODE_SYNC)
{
    next_early(f);
    keep_answers(f, 0);
    start_again(f);
    struct trainer_work work = next(f);
    ck_assert(work.early == 0 && !work.begun && !work.enough);
}

TEST(after_done_there_may_be_more, MODE_SYNC)
{
    scripted_server_lock(&f->server);
    f->server.finishes = false;
    f->server.version = 6;
    scripted_server_unlock(&f->server);
    ck_assert(next(f).enough);
    await(f, MESSAGE_DONE, 1);
    scripted_server_lock(&f->server);
    f->server.generation = 2;
    f->server.version = 4;
    f->server.start.step = 4;
    scripted_server_start(&f->server);
    scripted_server_unlock(&f->server);
    ck_assert_uint_eq(next(f).step, 4);
    push_step(f, 4);
    ck_assert_uint_eq(next(f).step, 5);
    push_step(f, 5);
    scripted_server_lock(&f->server);
    f->server.finishes = true;
    scripted_server_unlock(&f->server);
    ck_assert(next(f).enough);
    check_end(f, EXIT_DONE);
}

TEST(what_a_connection_cannot_take_is_sent_later_and_in_order, MODE_SYNC)
{
    next(f);
    scripted_server_lock(&f->server);
    f->server.deaf = true;
    unsigned before = f->server.heard_count;
    scripted_server_unlock(&f->server);
    push_node(f, 0, (struct node){0, 2}, false);
    push_node(f, 0, (struct node){2, 2}, true);
    for (int i = 0; i < 1300; i++) /* Long enough for pings and a retry, which are not kept. */
        rest();
    scripted_server_lock(&f->server);
    f->server.deaf = false;
    ck_assert_uint_eq(f->server.heard_count, before);
    scripted_server_unlock(&f->server);
    ck_assert_uint_eq(next(f).step, 1);
    scripted_server_lock(&f->server);
    for (unsigned i = 0; i < 8; i++) {
        const struct message *message = &f->server.heard[before + i].message;
        ck_assert(message->kind == MESSAGE_EXCHANGE && !message->exchange.retry);
        ck_assert_uint_eq(message->exchange.chunk, i % 4);
        ck_assert_uint_eq(message->exchange.node.first_leaf, i < 4 ? 0 : 2);
    }
    ck_assert_uint_le(f->server.heard_count, before + 9); /* Perhaps a ping of after. */
    scripted_server_unlock(&f->server);
}

TEST(what_was_given_up_meanwhile_is_not_sent, MODE_SYNC)
{
    next(f);
    scripted_server_lock(&f->server);
    f->server.deaf = true;
    unsigned before = f->server.heard_count;
    scripted_server_unlock(&f->server);
    push_step(f, 0);
    start_again(f);
    for (int i = 0; i < 300; i++)
        rest();
    scripted_server_lock(&f->server);
    f->server.deaf = false;
    scripted_server_unlock(&f->server);
    ck_assert_uint_eq(next(f).step, 0);
    scripted_server_lock(&f->server);
    for (unsigned i = before; i < f->server.heard_count; i++)
        if (f->server.heard[i].message.kind == MESSAGE_EXCHANGE)
            ck_assert(f->server.heard[i].message.exchange.newest);
    scripted_server_unlock(&f->server);
}

TEST(a_server_in_another_s_place_is_asked_to_share_when_that_one_s_connection_has_ended, MODE_SYNC)
{
    next(f);
    ck_assert_uint_eq(f->server.attached, rendezvous_name(100));
    push_step(f, 0);
    next(f);
    ck_assert_uint_eq(f->server.attach_calls, 1);
    const float *lent = push_step(f, 1);
    ck_assert_ptr_eq(lent, f->server.memory);
    ck_assert(last_exchange(f).by_memory);
    next(f);
    scripted_server_lock(&f->server);
    f->server.incarnation = 200;
    f->server.generation = 2;
    f->server.version = 0;
    scripted_server_start(&f->server);
    scripted_server_unlock(&f->server);
    push_step(f, 2);
    next(f);
    ck_assert_uint_gt(f->server.attach_calls, 1); /* In vain. */
    ck_assert_uint_eq(f->server.attached, rendezvous_name(100));
    scripted_server_lock(&f->server);
    f->server.attached = 0;
    scripted_server_unlock(&f->server);
    push_step(f, 0);
    next(f);
    ck_assert_uint_eq(f->server.attached, rendezvous_name(200));
}

/* What keeps memory from being shared at once, see scripted_server.h. */
struct script {
    bool elsewhere, dies;
    unsigned breaks, refusals, late;
};

/* --transport shm */
static void open_sharing(struct fixture *f, const struct script *script)
{
    open_server(f, MODE_SYNC);
    f->server.shares = !script->elsewhere;
    f->server.breaks = script->breaks;
    f->server.dies = script->dies;
    f->server.refusals = script->refusals;
    f->server.late = script->late;
    atomic_store(&clocked, &f->server);
    open_client(f, true);
}

static void close_sharing(struct fixture *f)
{
    atomic_store(&clocked, NULL);
    close_fixture(f);
}

#define TEST_SHARING(name, ...)                                                                    \
    SUITE_TEST(name, struct fixture, f, open_sharing(f, &(struct script){__VA_ARGS__}),            \
               close_sharing(f))

TEST_SHARING(a_server_whose_connection_ended_is_asked_again, .breaks = 2)
{
    next(f);
    ck_assert_uint_eq(f->server.attach_calls, 3);
    ck_assert_uint_eq(f->server.attached, rendezvous_name(100));
}

TEST_SHARING(a_server_that_is_killed_while_it_hands_memory_over_is_lost_and_ends_no_job,
             .breaks = 1, .dies = true)
{
    next(f);
    ck_assert_uint_eq(f->server.attached, 0);
}

TEST_SHARING(a_server_that_too_many_ask_is_asked_again, .refusals = 2)
{
    next(f);
    ck_assert_uint_eq(f->server.attached, rendezvous_name(100));
}

TEST_SHARING(a_busy_server_s_memory_may_be_late_and_the_worker_says_that_it_lives, .late = 300)
{
    next(f);
    ck_assert_uint_eq(f->server.attached, rendezvous_name(100));
    ck_assert_uint_gt(scripted_server_count(&f->server, MESSAGE_PING), 30);
}

TEST_SHARING(memory_is_waited_for_until_the_start_timeout, .late = 1000)
{
    check_end(f, EXIT_CANNOT_OPEN);
    const char *reason = client_trainer(f->client)->reason;
    ck_assert_msg(strstr(reason, "ps/0 has not shared its memory with this worker within 1 min") !=
                      NULL,
                  "%s", reason);
}

TEST_SHARING(a_server_elsewhere_is_not_waited_for, .elsewhere = true)
{
    check_end(f, EXIT_CANNOT_OPEN);
    const char *reason = client_trainer(f->client)->reason;
    ck_assert_msg(strstr(reason, "ps/0 shares no memory with this worker") != NULL, "%s", reason);
    ck_assert_uint_eq(f->server.attach_calls, 1);
}

TEST(gradients_keep_away_from_what_a_server_may_still_hold, MODE_SYNC)
{
    next(f);
    scripted_server_lock(&f->server);
    f->server.mute = true;
    scripted_server_unlock(&f->server);
    ck_assert_ptr_eq(push_node(f, 0, (struct node){0, 2}, false), f->server.memory);
    push_node(f, 0, (struct node){2, 2}, true);
    start_again(f);
    ck_assert_uint_eq(next(f).step, 0);
    scripted_server_lock(&f->server);
    f->server.mute = false;
    scripted_server_unlock(&f->server);
    const float *own = push_node(f, 0, (struct node){0, 4}, true);
    ck_assert(own < f->server.memory || own >= f->server.memory + 2 * f->server.partition.elements);
    ck_assert(!last_exchange(f).by_memory);
    ck_assert_uint_eq(next(f).step, 1);
    ck_assert_ptr_eq(push_step(f, 1), f->server.memory); /* That step is over. */
    next(f);
}

TEST(who_is_asked_to_leave_does_also_while_it_computes, MODE_SYNC)
{
    next(f);
    client_request_leave(f->client);
    await(f, MESSAGE_LEAVE, 1);
    client_request_leave(f->client); /* No news. */
    push_step(f, 0);                 /* In vain. */
    check_end(f, EXIT_TERMINATED);
}

TEST(a_bad_gradient_travels_as_a_header, MODE_ASYNC)
{
    ck_assert_uint_eq(next(f).step, 0);
    struct push push = {.step = 0, .node = {0, 4}, .examples = 8, .last = true, .bad = true};
    client_push(f->client, &push, NULL);
    ck_assert_uint_eq(next(f).step, 1);
    struct scripted_heard heard = last_exchange(f);
    ck_assert(heard.message.exchange.skip && !heard.message.exchange.gradient);
    ck_assert(heard.message.exchange.has_report && heard.message.exchange.report.bad);
    ck_assert_ptr_null(heard.payload);
}

/* Memory of a client that nobody hears does not grow with time. */
TEST(what_nobody_takes_is_bounded, MODE_SYNC)
{
    next(f);
    scripted_server_lock(&f->server);
    f->server.deaf = true;
    scripted_server_unlock(&f->server);
    push_step(f, 0);
    unsigned before = f->server.heard_count;
    for (int round = 0; round < 300; round++)
        start_again(f);
    for (int i = 0; i < 1500; i++)
        rest();
    scripted_server_lock(&f->server);
    f->server.deaf = false;
    scripted_server_unlock(&f->server);
    ck_assert_uint_eq(next(f).step, 0);
    scripted_server_lock(&f->server);
    ck_assert_uint_lt(f->server.heard_count - before, 100);
    scripted_server_unlock(&f->server);
}

static void add(TCase *t)
{
    tcase_set_timeout(t, 60);
}

int main(void)
{
    return suite_run("client", add);
}

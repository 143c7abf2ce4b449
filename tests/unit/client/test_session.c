/* test_session.c - a worker's session alone: what servers and the trainer say, and what it says to
 * both, in made-up time. */
/* promises: colocated exit-codes joins no-copy scores */

#include "worker/client/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/transport/transport.h"
#include "common/wire/pages.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77, SECOND = 1000000 };

/* What a server shares: two copies of everything, and where private values are copied to. */
struct memory {
    float copies[3][64];
    struct frame *frames[4]; /* Of the latest answer to each chunk. */
};

/* Worker 1 of 2, with two servers: chunks 0 and 2 are server 0's, 1 and 3 server 1's. */
struct fixture {
    struct session *session;
    struct job job;
    struct partition partition;
    float parameters[64];
    struct post post;
    uint64_t now_us;
    uint64_t generation, ticket; /* Of what servers say. */
    uint32_t assignment;         /* Of the latest START. */
    uint64_t began_us;           /* For the options. */
    struct memory memory;        /* With shared values. */
};

static void make_session(struct fixture *f)
{
    struct session_options options = {
        .self.index = 1,
        .self.incarnation = 9,
        .job = &f->job,
        .partition = &f->partition,
        .parameters = f->parameters,
        .self.host = "here",
        .self.deadlines = {.start = 60, .silence = 5, .recovery = 60, .progress = 300, .stop = 30},
        .self.began_us = f->began_us,
    };
    ck_assert(session_create(&f->session, &options, f->now_us) == STATUS_OK);
}

static void open_fixture(struct fixture *f, enum mode mode)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 2);
    f->now_us = SECOND;
    f->generation = 1;
    f->ticket = 3;
    ck_assert(partition_make(&f->partition, f->job.variables, 2, 2, 64, CHUNKS_EVEN, &error) ==
              STATUS_OK);
    make_session(f);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    session_destroy(&f->session);
    partition_free(&f->partition);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

static void give(struct fixture *f, uint32_t server, struct message message)
{
    struct packet packet = {.message = message};
    packet.message.run_id = packet.message.run_id == 0 ? RUN : packet.message.run_id;
    packet.message.generation = f->generation;
    session_handle_server(f->session, server, &packet, f->now_us, &f->post.outbox);
}

static void from_trainer(struct fixture *f, struct message message, struct frame *payload)
{
    struct packet packet = {.message = message, .payload = payload};
    session_handle_trainer(f->session, &packet, f->now_us, &f->post.outbox);
}

/* In steps of at most a tenth of a second, as whoever drives a session does. */
static void tick(struct fixture *f, double seconds)
{
    uint64_t end_us = f->now_us + (uint64_t)(seconds * SECOND);
    do {
        uint64_t left_us = end_us - f->now_us;
        f->now_us += left_us < SECOND / 10 ? left_us : SECOND / 10;
        session_tick(f->session, f->now_us, &f->post.outbox);
    } while (f->now_us < end_us);
}

/* The same while server 0 is heard. */
static void tick_heard(struct fixture *f, double seconds)
{
    for (; seconds > 0; seconds -= 1) {
        give(f, 0, (struct message){.kind = MESSAGE_PONG});
        post_clear(&f->post);
        tick(f, seconds < 1 ? seconds : 1);
    }
}

static struct message *sent(struct fixture *f, uint32_t server, enum message_kind kind)
{
    struct packet *packet = post_find_to(&f->post, TO_SERVER, server, kind);
    return packet != NULL ? &packet->message : NULL;
}

static struct message *to_trainer(struct fixture *f, enum message_kind kind)
{
    struct packet *packet = post_find(&f->post, TO_TRAINER, kind);
    return packet != NULL ? &packet->message : NULL;
}

/* The request under which chunk was asked for last. */
static uint64_t request_for(struct fixture *f, uint32_t chunk)
{
    uint64_t request = 0;
    post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct message *message = &f->post.taken[i].packet.message;
        if (message->kind == MESSAGE_EXCHANGE && message->exchange.chunk == chunk &&
            !message->exchange.scored)
            request = message->request;
    }
    ck_assert_uint_ne(request, 0);
    return request;
}

/* The same of every chunk. */
static void requests_for(struct fixture *f, uint64_t requests[4])
{
    for (uint32_t i = 0; i < 4; i++)
        requests[i] = request_for(f, i);
}

struct reply {
    uint32_t chunk;
    enum verdict verdict;
    uint64_t version, staleness;
    uint64_t stop_step;
    uint32_t held_us;
    float value;
};

static void answer_as(struct fixture *f, struct reply reply, uint64_t request, uint32_t server)
{
    struct packet packet = {.message.kind = MESSAGE_RESULT, .payload = frame_of(reply.value, 16)};
    packet.message.request = request;
    packet.message.generation = f->generation;
    packet.message.result = (struct message_result){
        .chunk = reply.chunk,
        .verdict = reply.verdict,
        .version = reply.version,
        .staleness = reply.staleness,
        .held_us = reply.held_us,
        .stop_step = reply.stop_step != 0 ? reply.stop_step : 6,
        .parameters = true,
    };
    session_handle_server(f->session, server, &packet, f->now_us, &f->post.outbox);
}

static void answer(struct fixture *f, struct reply reply)
{
    answer_as(f, reply, request_for(f, reply.chunk), reply.chunk % 2);
}

static void answer_all(struct fixture *f, struct reply reply)
{
    uint64_t requests[4];
    requests_for(f, requests);
    post_clear(&f->post);
    for (reply.chunk = 0; reply.chunk < 4; reply.chunk++)
        answer_as(f, reply, requests[reply.chunk], reply.chunk % 2);
}

static void welcome(struct fixture *f)
{
    struct message message = {.kind = MESSAGE_WELCOME};
    message.welcome.ticket = f->ticket;
    give(f, 0, message);
}

static void join(struct fixture *f)
{
    tick(f, 0);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_JOIN));
    welcome(f);
    post_clear(&f->post);
}

/* The next assignment: this worker is 1 of 2. */
static void give_start(struct fixture *f, uint64_t step)
{
    struct message message = {.kind = MESSAGE_START};
    message.start = (struct message_start){
        .step = step, .assignment = ++f->assignment, .members = 2, .position = 1, .stop_step = 6};
    give(f, 0, message);
}

static void start(struct fixture *f, uint64_t step)
{
    join(f);
    give_start(f, step);
}

static void give_work(struct fixture *f, struct message_work work)
{
    give(f, 0, (struct message){.kind = MESSAGE_WORK, .work = work});
}

static void give_batch(struct fixture *f, uint64_t batch)
{
    give_work(f, (struct message_work){.batch = batch});
}

/* As far as the trainer's first work. */
static void begin(struct fixture *f)
{
    start(f, 0);
    if (f->job.mode == MODE_ASYNC) {
        uint64_t request = sent(f, 0, MESSAGE_LEASE)->request;
        give(f, 0, (struct message){.kind = MESSAGE_WORK, .request = request});
        give_batch(f, 1);
    }
    answer_all(f, (struct reply){.value = 5});
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
    post_clear(&f->post);
}

static void push(struct fixture *f, uint64_t step, struct node node, bool want,
                 struct frame *gradient)
{
    struct message message = {.kind = MESSAGE_EXCHANGE};
    message.exchange = (struct message_exchange){.step = step,
                                                 .gradient = gradient != NULL,
                                                 .node = node,
                                                 .examples = 2 * node.leaf_count,
                                                 .want = want,
                                                 .has_report = gradient != NULL};
    message.exchange.report = (struct message_report){
        .step = step, .node = node, .examples = 2 * node.leaf_count, .times.compute_us = 99};
    from_trainer(f, message, gradient);
}

/* Its first gradient: of its half of a step, or of a batch. */
static void begin_and_push(struct fixture *f)
{
    begin(f);
    push(f, 0, f->job.mode == MODE_SYNC ? (struct node){2, 2} : (struct node){0, 4}, true,
         frame_of(1, 64));
}

/* The EXCHANGE for a chunk that left last, or NULL. */
static struct packet *exchange_for(struct fixture *f, uint32_t chunk)
{
    struct packet *found = NULL;
    post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        struct packet *packet = &f->post.taken[i].packet;
        if (packet->message.kind == MESSAGE_EXCHANGE && packet->message.exchange.chunk == chunk &&
            !packet->message.exchange.scored)
            found = packet;
    }
    return found;
}

static void done(struct fixture *f)
{
    from_trainer(f, (struct message){.kind = MESSAGE_DONE}, NULL);
}

/* Server 0 deals a share of the score after so many batches. */
static void give_share(struct fixture *f, uint64_t batches, uint32_t share)
{
    give_work(f, (struct message_work){.scored = batches, .share = share, .shares = 2});
}

/* The EXCHANGEs that ask for values to be scored, of all four chunks; their first request. */
static uint64_t scored_asked(struct fixture *f, uint64_t batches)
{
    uint64_t first = 0, count = 0;
    post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        const struct message *message = &packet->message;
        if (message->kind != MESSAGE_EXCHANGE || !message->exchange.scored)
            continue;
        ck_assert(message->exchange.want && message->exchange.want_version == batches);
        ck_assert(!message->exchange.gradient && !message->exchange.newest);
        ck_assert(packet->place == TRANSPORT_PLACE_NOWHERE && packet->payload == NULL);
        first = count++ == 0 ? message->request : first;
    }
    ck_assert(count == 0 || count == 4);
    return first;
}

static void answer_scored(struct fixture *f, uint64_t batches, uint64_t first, float value)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct packet packet = {.message.kind = MESSAGE_RESULT, .payload = frame_of(value, 16)};
        packet.message.request = first + i;
        packet.message.generation = f->generation;
        packet.message.result = (struct message_result){
            .chunk = i, .version = batches, .stop_step = 6, .parameters = true, .scored = true};
        session_handle_server(f->session, i % 2, &packet, f->now_us, &f->post.outbox);
    }
}

/* A share as far as the trainer. */
static void share(struct fixture *f, uint64_t batches, float value)
{
    give_share(f, batches, 1);
    answer_scored(f, batches, scored_asked(f, batches), value);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.scored, batches);
}

static void evaluation(struct fixture *f, uint64_t batches)
{
    struct message message = {.kind = MESSAGE_EVALUATION};
    message.evaluation =
        (struct message_evaluation){.step = batches, .examples = 5, .share = 1, .shares = 2};
    from_trainer(f, message, NULL);
}

static void refuse(struct fixture *f, uint32_t server, enum refusal reason, const char *text)
{
    struct message refused = {.kind = MESSAGE_REFUSED, .request = UINT64_MAX};
    refused.refused.reason = reason;
    snprintf(refused.refused.text, sizeof refused.refused.text, "%s", text);
    give(f, server, refused);
}

static void pong(struct fixture *f, uint64_t request)
{
    give(f, 0, (struct message){.kind = MESSAGE_PONG, .request = request});
}

static void check_over(struct fixture *f, int exit_code, const char *reason)
{
    ck_assert(session_joining(f->session)->over);
    ck_assert_int_eq(session_joining(f->session)->exit_code, exit_code);
    ck_assert_msg(strstr(session_joining(f->session)->reason, reason) != NULL, "%s",
                  session_joining(f->session)->reason);
    struct message *finished = to_trainer(f, MESSAGE_FINISHED);
    ck_assert_ptr_nonnull(finished);
    ck_assert_uint_eq(finished->stop.exit_code, (uint32_t)exit_code);
}

/* --- joining ------------------------------------------------------------------------------- */

TEST(it_joins_and_declares_when_asked, MODE_SYNC)
{
    struct pages pages = {0};
    struct job declared;
    struct error error;
    uint8_t digest[DIGEST_BYTES];
    tick(f, 0);
    ck_assert_int_eq(session_patience_ms(f->session), 2);
    struct message *join = sent(f, 0, MESSAGE_JOIN);
    ck_assert(join->role == ROLE_WORKER);
    ck_assert_uint_eq(join->index, 1);
    ck_assert_uint_eq(join->incarnation, 9);
    ck_assert_uint_eq(join->run_id, 0);
    ck_assert(job_digest(&f->job, digest) == STATUS_OK);
    ck_assert_mem_eq(join->join.job_digest, digest, DIGEST_BYTES);
    give(f, 0, (struct message){.kind = MESSAGE_WANT_JOB});
    enum status status = STATUS_AGAIN;
    for (size_t i = 0;
         i < f->post.taken_count || post_find(&f->post, TO_SERVER, MESSAGE_JOB_PAGE) != NULL; i++) {
        if (i >= f->post.taken_count)
            break;
        if (f->post.taken[i].packet.message.kind == MESSAGE_JOB_PAGE)
            status = pages_add(&pages, &f->post.taken[i].packet.message.job_page);
    }
    ck_assert(status == STATUS_OK);
    ck_assert(job_decode(pages.bytes, pages.total, &declared, &error) == STATUS_OK);
    ck_assert(job_compare(&declared, "a", &f->job, "b", JOB_SCOPE_ALL, &error) == STATUS_OK);
    pages_free(&pages);
    job_free(&declared);
}

TEST(once_welcomed_it_says_that_it_is_alive_and_of_which_run, MODE_SYNC)
{
    join(f);
    tick(f, 0.1);
    const struct message *ping = sent(f, 0, MESSAGE_PING);
    ck_assert_uint_eq(ping->run_id, RUN);
    ck_assert_uint_eq(ping->generation, 1);
    ck_assert_uint_eq(ping->ticket, 3);
    ck_assert_uint_eq(ping->ping.assignment, 0);
    ck_assert(!ping->ping.computing);
    post_clear(&f->post);
    give_start(f, 0);
    answer_all(f, (struct reply){.value = 5});
    tick(f, 0.6);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ping.assignment, 1);
    bool computing = sent(f, 0, MESSAGE_PING)->ping.computing;
    ck_assert(computing);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_JOIN), 0);
}

/* --- sync ---------------------------------------------------------------------------------- */

TEST(it_pulls_every_chunk_from_its_server_before_the_first_step, MODE_SYNC)
{
    start(f, 2);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct outgoing *item = &f->post.taken[i];
        if (item->packet.message.kind != MESSAGE_EXCHANGE)
            continue;
        const struct message_exchange *exchange = &item->packet.message.exchange;
        ck_assert_uint_eq(item->index, exchange->chunk % 2);
        ck_assert(!exchange->gradient && exchange->want && item->packet.payload == NULL);
        ck_assert(exchange->newest && !exchange->retry && !exchange->has_report);
    }
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
        ck_assert_ptr_null(to_trainer(f, MESSAGE_START));
        answer(f, (struct reply){.chunk = 3 - chunk, .version = 2, .value = (float)chunk});
    }
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.position, 1);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->generation, 1);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 2);
    ck_assert(!to_trainer(f, MESSAGE_WORK)->work.enough);
    for (int i = 0; i < 64; i++)
        ck_assert(f->parameters[i] == (float)(3 - i / 16));
}

TEST(chunks_that_are_ahead_are_asked_for_the_version_that_all_have, MODE_SYNC)
{
    start(f, 2);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        answer(f, (struct reply){.chunk = chunk, .version = chunk == 1 ? 2 : 3, .value = 3});
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4 + 3);
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        if (chunk == 1)
            continue;
        const struct message_exchange *exchange = &exchange_for(f, chunk)->message.exchange;
        ck_assert(exchange->want && !exchange->newest);
        ck_assert_uint_eq(exchange->want_version, 2);
        answer(f, (struct reply){.chunk = chunk, .version = 2, .value = 2});
    }
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 2);
    ck_assert(f->parameters[0] == 2.0f && f->parameters[16] == 3.0f && f->parameters[63] == 2.0f);
}

static void move_on(struct fixture *f, uint32_t chunk, uint64_t request, uint64_t version)
{
    struct message moved = {.kind = MESSAGE_MOVED_ON, .request = request};
    moved.moved_on.chunk = chunk;
    moved.moved_on.version = version;
    give(f, chunk % 2, moved);
}

/* However fast the others are, there is no busy loop. */
TEST(a_version_that_is_gone_means_asking_anew_and_not_too_often, MODE_SYNC)
{
    start(f, 0);
    for (int round = 0; round < 6; round++) {
        if (round >= 3) {
            ck_assert_ptr_null(exchange_for(f, 0));
            ck_assert_int_eq(session_patience_ms(f->session), 20);
            tick(f, 0.019);
            ck_assert_ptr_null(exchange_for(f, 0));
            tick(f, 0.001);
        }
        ck_assert(exchange_for(f, 0)->message.exchange.newest);
        ck_assert_int_eq(session_patience_ms(f->session), 100);
        for (uint32_t chunk = 0; chunk < 4; chunk++)
            answer(f, (struct reply){.chunk = chunk, .version = chunk == 2 ? 1 : 2});
        uint64_t request = request_for(f, 0);
        post_clear(&f->post);
        move_on(f, 0, request, 3);
        move_on(f, 0, request, 3); /* One round an answer. */
        ck_assert_uint_le(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    }
    tick(f, 0.02);
    answer_all(f, (struct reply){.version = 4});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 4);
}

TEST(a_gradient_is_cut_into_chunks_without_a_copy, MODE_SYNC)
{
    struct frame *gradient = frame_of(0, 64);
    begin(f);
    push(f, 0, (struct node){2, 2}, true, frame_retain(gradient));
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        if (packet->message.kind != MESSAGE_EXCHANGE)
            continue;
        const struct message_exchange *exchange = &packet->message.exchange;
        ck_assert_ptr_eq(packet->payload->data, (float *)gradient->data + 16 * exchange->chunk);
        ck_assert_uint_eq(packet->payload->bytes, 64);
        ck_assert_uint_eq(exchange->step, 0);
        ck_assert_uint_eq(exchange->base_version, 0);
        ck_assert_uint_eq(exchange->want_version, 1);
        ck_assert_uint_eq(exchange->examples, 4);
        ck_assert_uint_eq(packet->message.run_id, RUN);
    }
    uint64_t requests[4];
    requests_for(f, requests);
    post_clear(&f->post); /* Sent; but it may have to be sent again. */
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert(!frame_is_unique(gradient));
        answer_as(f, (struct reply){.chunk = i, .version = 1}, requests[i], i % 2);
    }
    ck_assert(frame_is_unique(gradient));
    frame_release(gradient);
}

TEST(only_the_last_node_of_a_step_asks_and_receipts_of_the_others_are_not_waited_for, MODE_SYNC)
{
    begin(f);
    push(f, 0, (struct node){1, 1}, false, frame_of(1, 64));
    bool want = sent(f, 0, MESSAGE_EXCHANGE)->exchange.want;
    ck_assert(!want);
    uint64_t receipt = request_for(f, 0);
    post_clear(&f->post);
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    struct message message = {.kind = MESSAGE_RESULT, .request = receipt};
    message.result.verdict = VERDICT_APPLIED;
    give(f, 0, message);
    give(f, 0, message);
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED, .value = 7});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
    ck_assert(f->parameters[63] == 7.0f);
}

TEST(answers_that_were_not_asked_for_change_nothing, MODE_SYNC)
{
    begin_and_push(f);
    uint64_t request = request_for(f, 0);
    answer_as(f, (struct reply){.version = 1, .value = -1}, request + 1000, 0);
    answer_as(f, (struct reply){.version = 1, .value = -1}, request, 1); /* Not its server. */
    answer_as(f, (struct reply){.version = 0, .value = -1}, request, 0); /* Another version. */
    answer_as(f, (struct reply){.chunk = 4, .version = 1, .value = -1}, request, 0);
    answer_as(f, (struct reply){.chunk = UINT32_MAX, .version = 1, .value = -1}, request, 0);
    for (f->generation = 0; f->generation <= 2; f->generation += 2) /* Of another generation. */
        answer_as(f, (struct reply){.version = 1, .value = -1}, request, 0);
    f->generation = 1;
    struct packet odd = {.message.kind = MESSAGE_RESULT, .payload = frame_of(-1, 15)};
    odd.message.request = request;
    odd.message.generation = f->generation;
    odd.message.result = (struct message_result){.version = 1, .parameters = true};
    session_handle_server(f->session, 0, &odd, f->now_us, &f->post.outbox);
    struct packet none = {.message = odd.message};
    session_handle_server(f->session, 0, &none, f->now_us, &f->post.outbox);
    for (int i = 0; i < 64; i++)
        ck_assert(f->parameters[i] == 5.0f);
    answer(f, (struct reply){.chunk = 0, .version = 1, .value = 6});
    answer_as(f, (struct reply){.version = 1, .value = -1}, request, 0); /* Repeated. */
    ck_assert(f->parameters[0] == 6.0f);
    ck_assert(!session_joining(f->session)->over);
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
}

TEST(while_the_trainer_computes_nobody_writes_its_parameters, MODE_SYNC)
{
    start(f, 0);
    uint64_t request = request_for(f, 2);
    answer_all(f, (struct reply){.value = 5});
    answer_as(f, (struct reply){.chunk = 2, .value = -1}, request, 0);
    ck_assert(f->parameters[32] == 5.0f);
}

/* As push, of which all is there from an element on. */
static void ready(struct fixture *f, uint64_t step, struct frame *gradient, uint64_t first)
{
    const struct message_exchange what = {
        .step = step, .gradient = true, .node = {2, 2}, .examples = 4, .want = true};
    session_take_ready(f->session, &what, gradient, first, f->now_us, &f->post.outbox);
}

TEST(what_leaves_early_may_be_answered_while_the_trainer_computes, MODE_SYNC)
{
    struct frame *gradient = frame_of(1, 64);
    begin(f);
    ready(f, 0, gradient, 32);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 2);
    const struct message_exchange *early = &exchange_for(f, 3)->message.exchange;
    ck_assert(early->want && early->want_version == 1 && early->base_version == 0);
    ck_assert(!early->has_report);
    uint64_t requests[] = {request_for(f, 2), request_for(f, 3)};
    post_clear(&f->post);
    answer_as(f, (struct reply){.chunk = 2, .version = 1, .value = 7}, requests[0], 0);
    answer_as(f, (struct reply){.chunk = 3, .version = 1, .value = 7}, requests[1], 1);
    ck_assert(f->parameters[32] == 7.0f && f->parameters[31] == 5.0f);
    tick_heard(f, 100); /* However long the rest takes, no server is silent. */
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    post_clear(&f->post);
    push(f, 0, (struct node){2, 2}, true, gradient);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 2);
    for (uint32_t chunk = 0; chunk < 2; chunk++)
        answer(f, (struct reply){.chunk = chunk, .version = 1, .value = 7});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

TEST(what_left_too_early_to_be_of_use_leaves_again_with_the_rest, MODE_SYNC)
{
    struct frame *gradient = frame_of(1, 64);
    begin(f);
    ready(f, 0, gradient, 32);
    uint64_t request = request_for(f, 2);
    post_clear(&f->post);
    move_on(f, 2, request, 3);
    ready(f, 0, gradient, 16);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 0);
    push(f, 0, (struct node){2, 2}, true, gradient);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    ck_assert(!exchange_for(f, 0)->message.exchange.newest);
    request = request_for(f, 2);
    move_on(f, 2, request, 3); /* Now it goes where everybody is. */
    ck_assert(exchange_for(f, 0)->message.exchange.newest);
}

TEST(a_start_takes_back_what_left_early, MODE_SYNC)
{
    struct frame *gradient = frame_of(1, 64);
    begin(f);
    ready(f, 0, gradient, 32);
    uint64_t request = request_for(f, 2);
    give_start(f, 0);
    post_clear(&f->post);
    answer_as(f, (struct reply){.chunk = 2, .version = 1, .value = 7}, request, 0);
    ck_assert(f->parameters[32] == 5.0f);
    ready(f, 0, gradient, 16);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 0);
    push(f, 0, (struct node){2, 2}, true, gradient);
    ck_assert(exchange_for(f, 2)->message.exchange.newest);
}

TEST(a_gradient_that_may_be_left_out_leaves_whole, MODE_ASYNC)
{
    struct frame *gradient = frame_of(1, 64);
    begin(f);
    ready(f, 1, gradient, 16);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 0);
    ck_assert(frame_is_unique(gradient));
    frame_release(gradient);
}

TEST(training_ends_at_the_last_version_that_server_0_names, MODE_SYNC)
{
    begin_and_push(f);
    uint64_t requests[4];
    requests_for(f, requests);
    post_clear(&f->post);
    for (uint32_t i = 0; i < 4; i++) /* Server 1's word does not count. */
        answer_as(f, (struct reply){.chunk = i, .version = 1, .stop_step = i % 2 ? 1 : 2},
                  requests[i], i % 2);
    ck_assert(!to_trainer(f, MESSAGE_WORK)->work.enough);
    post_clear(&f->post);
    push(f, 1, (struct node){2, 2}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 2, .stop_step = 2});
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough);
    done(f);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_DONE)->done.step, 2);
    give(f, 0, (struct message){.kind = MESSAGE_FINISHED});
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_BYE));
    check_over(f, EXIT_DONE, "");
}

TEST(reports_travel_with_server_0_s_first_chunk_and_carry_all_times_until_then, MODE_SYNC)
{
    begin_and_push(f);
    f->now_us += 5000;
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED, .held_us = 1500});
    post_clear(&f->post);
    push(f, 1, (struct node){2, 1}, false, frame_of(1, 64));
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        ck_assert(exchange_for(f, chunk)->message.exchange.has_report == (chunk == 0));
    const struct message_report *report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->times.barrier_us, 1500);
    ck_assert_uint_eq(report->times.exchange_us, 3500);
    ck_assert_uint_eq(report->times.compute_us, 2 * 99);
    ck_assert_uint_eq(report->step, 1);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_REPORT));
    post_clear(&f->post);
    push(f, 1, (struct node){3, 1}, true, frame_of(1, 64));
    report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->times.exchange_us, 3500);
    ck_assert_uint_eq(report->times.compute_us, 3 * 99);
}

/* Step 0 is pushed, and chunk 0 answered 1 ms later, after 0.5 ms at the barrier; of the others the requests
 * are told. */
static void push_and_begin(struct fixture *f, uint64_t requests[4])
{
    uint64_t step = 9, serial = 0;
    begin(f);
    ck_assert_uint_eq(session_front(f->session, &step, &serial), 0); /* It has work. */
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    ck_assert_uint_eq(session_front(f->session, &step, &serial), 0);
    requests_for(f, requests);
    post_clear(&f->post);
    f->now_us += 1000;
    answer_as(f, (struct reply){.version = 1, .value = 7, .held_us = 500}, requests[0], 0);
    ck_assert_uint_eq(session_front(f->session, &step, &serial), 16);
    ck_assert(step == 1 && serial == session_serial(f->session));
    session_read(f->session, 16, f->now_us);
}

TEST(what_is_back_is_begun_with_and_that_is_no_exchanging, MODE_SYNC)
{
    uint64_t requests[4], serial;
    push_and_begin(f, requests);
    serial = session_serial(f->session);
    f->now_us += 3000; /* Of computing. */
    answer_as(f, (struct reply){.chunk = 1, .version = 1, .held_us = 600}, requests[1], 1);
    session_read(f->session, 0, f->now_us);
    f->now_us += 2000;
    answer_as(f, (struct reply){.chunk = 2, .version = 1}, requests[2], 0);
    session_read(f->session, 48, f->now_us);
    f->now_us += 1000;
    answer_as(f, (struct reply){.chunk = 3, .version = 1}, requests[3], 1);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
    session_read(f->session, 0, f->now_us);
    ck_assert_uint_eq(session_serial(f->session), serial);
    ck_assert(session_parameters(f->session) == f->parameters && f->parameters[15] == 7.0f);
    post_clear(&f->post);
    push(f, 1, (struct node){2, 2}, true, frame_of(1, 64));
    const struct message_report *report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->times.barrier_us, 600);
    ck_assert_uint_eq(report->times.exchange_us, 3000 - 600);
}

TEST(what_was_begun_is_of_other_values_after_a_start_and_is_not_written_while_it_is_read, MODE_SYNC)
{
    uint64_t requests[4], step, serial;
    push_and_begin(f, requests);
    serial = session_serial(f->session);
    give_start(f, 1);
    ck_assert_uint_ne(session_serial(f->session), serial);
    ck_assert_uint_eq(session_front(f->session, &step, &serial), 0);
    answer_all(f, (struct reply){.version = 1, .value = 8});
    ck_assert(f->parameters[15] == 7.0f && f->parameters[16] == 8.0f);
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    session_read(f->session, 0, f->now_us);
    post_clear(&f->post);
    tick(f, 2);
    answer(f, (struct reply){.version = 1, .value = 8});
    ck_assert(f->parameters[15] == 8.0f);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

TEST(the_step_that_is_not_to_be_is_not_begun_with, MODE_SYNC)
{
    uint64_t requests[4], step, serial;
    begin_and_push(f);
    requests_for(f, requests);
    answer_as(f, (struct reply){.version = 1, .stop_step = 1}, requests[0], 0);
    ck_assert_uint_eq(session_front(f->session, &step, &serial), 0);
}

/* Four chunks of 16 values. What is asked about with a header alone moves nothing. */
TEST(what_is_moved_is_payload_sent_and_received, MODE_SYNC)
{
    begin(f); /* 4 x 64 bytes of values. */
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    ck_assert_uint_eq(exchange_for(f, 0)->message.exchange.report.times.exchanged_bytes, 256);
    unsigned before = post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    tick(f, 2);
    ck_assert_uint_gt(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), before);
    answer(f, (struct reply){.chunk = 3, .version = 1, .verdict = VERDICT_APPLIED});
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED}); /* One came twice. */
    post_clear(&f->post);
    push(f, 1, (struct node){2, 2}, true, frame_of(1, 64));
    ck_assert_uint_eq(exchange_for(f, 0)->message.exchange.report.times.exchanged_bytes,
                      256 + 256 + 64 + 256);
}

/* --- async --------------------------------------------------------------------------------- */

TEST(async_work_is_leased_computed_and_handed_back_in_order, MODE_ASYNC)
{
    start(f, 0);
    bool finished = sent(f, 0, MESSAGE_LEASE)->lease.finished;
    ck_assert(!finished);
    answer_all(f, (struct reply){.version = 3});
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK)); /* Nothing to compute yet. */
    for (int twice = 0; twice < 2; twice++) {        /* Repeats are ignored. */
        give_batch(f, 0);
        give_batch(f, 4);
    }
    ck_assert_uint_eq(post_count(&f->post, TO_TRAINER, MESSAGE_WORK), 1);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    post_clear(&f->post);

    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_uint_eq(sent(f, 0, MESSAGE_EXCHANGE)->exchange.base_version, 3);
    answer_all(f, (struct reply){.version = 4, .verdict = VERDICT_APPLIED});
    ck_assert(sent(f, 0, MESSAGE_LEASE)->lease.finished);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->lease.batch, 0);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 4);
    post_clear(&f->post);

    push(f, 4, (struct node){0, 4}, true, frame_of(1, 64));
    give_work(f, (struct message_work){.enough = true, .batch = 5});
    answer_all(f, (struct reply){.version = 5, .verdict = VERDICT_APPLIED});
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 5);
}

TEST(a_batch_that_is_done_is_not_computed_again_when_its_work_is_repeated, MODE_ASYNC)
{
    begin(f); /* With batches 0 and 1. */
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    give_batch(f, 0);
    answer_all(f, (struct reply){.version = 2, .verdict = VERDICT_APPLIED});
    give_batch(f, 1);
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    give_batch(f, 6); /* There is no such. */
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    give_batch(f, 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 2);
}

TEST(a_report_says_how_far_apart_was_what_its_gradient_was_made_from, MODE_ASYNC)
{
    begin_and_push(f);
    ck_assert_uint_eq(exchange_for(f, 0)->message.exchange.report.spread, 0);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        answer(f, (struct reply){.chunk = chunk,
                                 .verdict = VERDICT_APPLIED,
                                 .version = chunk == 2 ? 9 : 4 + chunk});
    post_clear(&f->post);
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    const struct message_report *report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->spread, 5);
    ck_assert_uint_eq(report->part_spread, 5); /* Chunks 0 and 2 are one server's, of the kernel. */
}

/* From its START on: pulled 40 us, nothing to compute for 200, computed 1000, exchanged 300, waited for
 * worker/1 at a checkpoint for 700, computed 1100. */
TEST(every_microsecond_has_a_name, MODE_ASYNC)
{
    start(f, 0);
    f->now_us += 40;
    answer_all(f, (struct reply){.version = 3});
    f->now_us += 200;
    give_batch(f, 0);
    f->now_us += 1000;
    post_clear(&f->post);
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    struct message_times times = exchange_for(f, 0)->message.exchange.report.times;
    ck_assert_uint_eq(times.wall_us, 40 + 200 + 1000);
    ck_assert_uint_eq(times.exchange_us, 40);
    ck_assert_uint_eq(times.lease_us, 200);
    ck_assert_uint_eq(times.gate_us + times.bound_us + times.barrier_us + times.whom, 0);
    f->now_us += 300;
    answer_all(f, (struct reply){.version = 4, .verdict = VERDICT_APPLIED});
    f->now_us += 600;
    give_work(f, (struct message_work){.none = true, .waited = WAIT_LEASE});
    f->now_us += 100;
    give_work(f, (struct message_work){.batch = 4, .waited = WAIT_GATE, .whom = 2});
    f->now_us += 1100;
    post_clear(&f->post);
    push(f, 4, (struct node){0, 4}, true, frame_of(1, 64));
    times = exchange_for(f, 0)->message.exchange.report.times;
    ck_assert_uint_eq(times.wall_us, 1240 + 300 + 700 + 1100);
    ck_assert_uint_eq(times.exchange_us, 40 + 300);
    ck_assert_uint_eq(times.gate_us, 700);
    ck_assert_uint_eq(times.lease_us, 200);
    ck_assert_uint_eq(times.whom, 2);
    ck_assert_uint_eq(times.whom_us, 700);
}

/* What comes before the first look at the clock was waited for no longer than without the stop. */
TEST(what_was_exchanged_while_the_process_was_stopped_is_not_told, MODE_ASYNC)
{
    start(f, 0);
    f->now_us += 40;
    session_tick(f->session, f->now_us, &f->post.outbox);
    f->now_us += 2 * SECOND;
    answer_all(f, (struct reply){.version = 3}); /* Before a tick. */
    session_tick(f->session, f->now_us, &f->post.outbox);
    give_batch(f, 0);
    f->now_us += 1000;
    post_clear(&f->post);
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    const struct message_times times = exchange_for(f, 0)->message.exchange.report.times;
    ck_assert_uint_eq(times.wall_us, 40 + 1000);
    ck_assert_uint_eq(times.exchange_us + times.lease_us, 40);
}

/* Of these server 0 counts one gradient, but the time of all: each says all until then. */
TEST(a_gradient_that_is_computed_again_tells_of_both_computations, MODE_ASYNC)
{
    f->job.max_staleness = 1;
    begin(f);
    struct message_times before = {0};
    for (int i = 0; i < 2; i++) {
        f->now_us += 1000;
        post_clear(&f->post);
        push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
        struct message_times times = exchange_for(f, 0)->message.exchange.report.times;
        ck_assert_uint_eq(times.compute_us, before.compute_us + 99);
        ck_assert_uint_eq(times.wall_us, before.wall_us + 1000 + (i == 0 ? 0 : 300));
        ck_assert_uint_eq(times.exchange_us, i == 0 ? 0 : 300);
        before = times;
        f->now_us += 300;
        answer_all(f, (struct reply){.version = 9, .verdict = VERDICT_STALE});
        ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    }
}

/* --- ends ---------------------------------------------------------------------------------- */

TEST_PLAIN(a_refusal_ends_it_with_the_code_of_its_kind)
{
    static const struct {
        enum refusal reason;
        int code[2]; /* Refused by server 0, or by another; -1: it goes on. */
    } cases[] = {
        {REFUSAL_MEMBER, {EXIT_CLUSTER_LOST, -1}},
        {REFUSAL_RUN, {EXIT_CLUSTER_LOST, -1}},
        {REFUSAL_MALFORMED, {EXIT_TRAINING_FAILED, EXIT_TRAINING_FAILED}},
        {REFUSAL_KEY, {EXIT_UNAUTHENTICATED, EXIT_UNAUTHENTICATED}},
        {REFUSAL_REJOIN, {-1, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t server = 0; server < 2; server++) {
            struct fixture f;
            open_fixture(&f, MODE_SYNC);
            begin(&f);
            refuse(&f, server, cases[i].reason, "because");
            int code = cases[i].code[server];
            if (code >= 0)
                check_over(&f, code, "because");
            ck_assert_int_eq(session_joining(f.session)->over, code >= 0);
            /* What another server refused, server 0 has to be told. */
            ck_assert_int_eq(sent(&f, 0, MESSAGE_STOP) != NULL, server != 0 && code >= 0);
            close_fixture(&f);
        }
    }
}

TEST(a_rejected_gradient_ends_the_job, MODE_SYNC)
{
    begin_and_push(f);
    answer(f, (struct reply){.verdict = VERDICT_REJECTED, .version = 0});
    check_over(f, EXIT_TRAINING_FAILED, "rejected");
    ck_assert_uint_eq(sent(f, 0, MESSAGE_STOP)->stop.exit_code, EXIT_TRAINING_FAILED);
}

TEST(a_worker_that_stood_by_while_the_job_moved_on_joins_in_where_it_is, MODE_SYNC)
{
    begin(f);
    push(f, 0, (struct node){0, 0}, true, NULL);
    ck_assert_uint_eq(sent(f, 1, MESSAGE_EXCHANGE)->exchange.want_version, 1);
    uint64_t request = request_for(f, 1);
    post_clear(&f->post);
    move_on(f, 1, request + 1000, 3); /* Not what it waits for. */
    move_on(f, 3, request, 3);
    move_on(f, UINT32_MAX, request, 3);
    f->generation = 0;
    move_on(f, 1, request, 3);
    f->generation = 1;
    ck_assert_uint_eq(post_count_all(&f->post), 0);

    move_on(f, 1, request, 3);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    bool newest = sent(f, 1, MESSAGE_EXCHANGE)->exchange.newest;
    ck_assert(newest);
    answer_all(f, (struct reply){.version = 3, .value = 4});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 3);
    ck_assert_ptr_null(to_trainer(f, MESSAGE_START)); /* Told already. */
    ck_assert(f->parameters[20] == 4.0f);
}

TEST_EACH(the_end_of_the_job_is_heard_in_every_state, 4, MODE_SYNC)
{
    const int state = _i;
    if (state == 1)
        join(f);
    else if (state == 2)
        start(f, 0);
    else if (state == 3)
        begin(f);
    struct message finished = {.kind = MESSAGE_FINISHED};
    finished.stop.exit_code = EXIT_CLUSTER_LOST;
    strcpy(finished.stop.reason, "lost worker/0");
    give(f, 0, finished);
    check_over(f, EXIT_CLUSTER_LOST, "lost worker/0");
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_BYE));
    post_clear(&f->post);
    give(f, 0, (struct message){.kind = MESSAGE_PONG}); /* Nothing more is said ... */
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    tick(f, 1000);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    give(f, 0, finished); /* ... but what may have been lost. */
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_BYE));
    ck_assert_uint_eq(post_count_all(&f->post), 1);
}

TEST_PLAIN(a_stop_is_asked_for_and_a_failure_announced)
{
    struct fixture f;
    struct message stop = {.kind = MESSAGE_STOP};
    stop.stop.exit_code = EXIT_INTERRUPTED;
    open_fixture(&f, MODE_SYNC);
    from_trainer(&f, stop, NULL); /* Nobody knows this worker yet. */
    check_over(&f, EXIT_INTERRUPTED, "before training started");
    close_fixture(&f);

    open_fixture(&f, MODE_SYNC);
    begin(&f);
    from_trainer(&f, stop, NULL);
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_STOP)->stop.exit_code, EXIT_INTERRUPTED);
    ck_assert(!session_joining(f.session)->over); /* Server 0 says when. */
    post_clear(&f.post);
    stop.stop.exit_code = EXIT_TRAINING_FAILED;
    strcpy(stop.stop.reason, "training diverged");
    from_trainer(&f, stop, NULL);
    ck_assert_str_eq(sent(&f, 0, MESSAGE_STOP)->stop.reason, "training diverged");
    check_over(&f, EXIT_TRAINING_FAILED, "training diverged");
    close_fixture(&f);
}

/* --- deadlines ----------------------------------------------------------------------------- */

/* Being welcomed is not all that a worker waits for. */
TEST_PLAIN(a_start_that_does_not_come_is_given_up_after_server_0_had_its_say)
{
    struct fixture f;
    for (int welcomed = 0; welcomed < 2; welcomed++) {
        open_fixture(&f, MODE_SYNC); /* What came before, such as reading the data, counts. */
        session_destroy(&f.session);
        f.began_us = f.now_us;
        f.now_us += 50 * SECOND;
        make_session(&f);
        if (welcomed)
            join(&f);
        tick_heard(&f, 10);
        tick(&f, 0.4);
        ck_assert(!session_joining(f.session)->over);
        tick(&f, 0.2);
        check_over(&f, EXIT_START_TIMEOUT,
                   welcomed ? "start timed out after 1 min: waiting for others to join"
                            : "start timed out after 1 min: nothing heard from ps/0");
        close_fixture(&f);
    }
}

/* To every state in which it can wait. */
enum { GATHERS, PULLS, COMPUTES, WAITS_AT_THE_BARRIER, JOINS_AGAIN, HAS_SAID_DONE, PLACES };

static void go_to(struct fixture *f, int place)
{
    open_fixture(f, MODE_SYNC);
    if (place == GATHERS)
        join(f);
    else if (place == PULLS)
        start(f, 0);
    else
        begin(f);
    if (place == WAITS_AT_THE_BARRIER)
        push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    if (place == JOINS_AGAIN)
        refuse(f, 0, REFUSAL_REJOIN, "who are you?");
    if (place == HAS_SAID_DONE)
        done(f);
    post_clear(&f->post);
}

/* How long a silent server 0 is waited for: tests/unit/wire/test_joining.c. */
TEST_PLAIN(whoever_was_stopped_blames_nobody)
{
    for (int place = 0; place < PLACES; place++) {
        struct fixture f;
        go_to(&f, place);
        tick(&f, 3);
        f.now_us += (uint64_t)1000 * SECOND;
        session_tick(f.session, f.now_us, &f.post.outbox);
        if (place == GATHERS) { /* The start has a deadline of its own, which does not wait. */
            check_over(&f, EXIT_START_TIMEOUT, "start timed out");
            close_fixture(&f);
            continue;
        }
        tick(&f, 1.9); /* What was watched before counts. */
        ck_assert(!session_joining(f.session)->over);
        ck_assert_ptr_null(post_log(&f.post, "nothing heard"));
        tick(&f, 0.2);
        ck_assert_ptr_nonnull(post_log(&f.post, "nothing heard from ps/0 for 5.1 s"));
        close_fixture(&f);
    }
}

TEST(an_answer_that_does_not_come_ends_it_naming_the_server, MODE_SYNC)
{
    start(f, 0);
    answer(f, (struct reply){.chunk = 0});
    answer(f, (struct reply){.chunk = 2});
    tick_heard(f, 70); /* Server 0 notices it after 5 s, waits for 60, and is given another 5. */
    ck_assert(!session_joining(f->session)->over);
    tick_heard(f, 0.1);
    check_over(f, EXIT_CLUSTER_LOST, "no answer from ps/1 for 1 min 10 s");
}

/* A receipt is an answer: then it is for server 0 to say what is wrong, for a long time. */
TEST(at_a_barrier_it_waits_longer, MODE_SYNC)
{
    begin_and_push(f);
    for (int i = 0; i < 36; i++) {
        for (uint32_t server = 0; server < 2; server++) {
            struct message receipt = {.kind = MESSAGE_RECEIPT};
            receipt.receipt = (struct message_receipt){server, 0, {2, 2}, false};
            give(f, server, receipt);
        }
        tick_heard(f, 10);
        ck_assert(!session_joining(f->session)->over);
    }
    give(f, 0, (struct message){.kind = MESSAGE_PONG, .waiting.text = "step 0 waits for worker/0"});
    tick(f, 0.1);
    check_over(f, EXIT_CLUSTER_LOST, "for 6 min: step 0 waits for worker/0");
}

TEST_PLAIN(a_gradient_that_takes_for_ever_and_an_end_that_does_not_come_have_deadlines)
{
    for (int place = COMPUTES; place < PLACES; place++) {
        struct fixture f;
        if (place == WAITS_AT_THE_BARRIER)
            continue;
        go_to(&f, place);
        if (place == JOINS_AGAIN)
            push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
        if (place == JOINS_AGAIN)
            answer_all(&f, (struct reply){.version = 1, .stop_step = 1});
        if (place == JOINS_AGAIN)
            done(&f); /* It goes on as if nothing were, until it is told otherwise. */
        tick_heard(&f, place == COMPUTES ? 300 : 360);
        ck_assert(!session_joining(f.session)->over);
        tick_heard(&f, 0.1);
        if (place == COMPUTES)
            check_over(&f, EXIT_TRAINING_FAILED, "stuck: computing one gradient for 5 min");
        else if (place == JOINS_AGAIN)
            check_over(&f, EXIT_CLUSTER_LOST, "ps/0 does not let this worker in again");
        else
            check_over(&f, EXIT_CLUSTER_LOST, "ps/0 does not end the job");
        ck_assert_ptr_null(sent(&f, 0, MESSAGE_STOP)); /* The others go on. */
        close_fixture(&f);
    }
}

TEST_PLAIN(who_is_dropped_because_it_is_stuck_has_failed)
{
    struct fixture f;
    go_to(&f, COMPUTES);
    tick_heard(&f, 200);
    refuse(&f, 0, REFUSAL_MEMBER, "dropped as stuck");
    check_over(&f, EXIT_TRAINING_FAILED, "dropped as stuck");
    close_fixture(&f);
}

TEST(no_work_for_ever_has_a_deadline, MODE_ASYNC)
{
    start(f, 0);
    answer_all(f, (struct reply){.version = 0});
    tick_heard(f, 360);
    ck_assert(!session_joining(f->session)->over);
    tick_heard(f, 0.1);
    check_over(f, EXIT_CLUSTER_LOST, "ps/0 gives no work");
}

/* --- coming and going ------------------------------------------------------------------------ */

TEST(a_start_that_overtakes_its_welcome_is_asked_for_again, MODE_SYNC)
{
    tick(f, 0);
    post_clear(&f->post);
    give_start(f, 0); /* The ticket is not known yet. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    welcome(f);
    tick(f, 0);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ping.assignment, 0);
    f->assignment--;
    give_start(f, 0);
    ck_assert_uint_eq(sent(f, 1, MESSAGE_EXCHANGE)->ticket, 3);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    welcome(f); /* Both again: nothing. */
    f->assignment--;
    give_start(f, 0);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
}

TEST(a_worker_that_waits_follows_a_new_assignment_at_once, MODE_SYNC)
{
    begin_and_push(f);
    uint64_t given_up = request_for(f, 2);
    post_clear(&f->post);
    give_start(f, 0);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    ck_assert(exchange_for(f, 2)->message.exchange.newest);
    answer_as(f, (struct reply){.chunk = 2, .version = 1, .value = -1}, given_up, 0);
    answer_all(f, (struct reply){.version = 0, .value = 8});
    ck_assert(f->parameters[32] == 8.0f);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.assignment, 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    /* What was pushed of step 0 may still be held: its memory is not to be written. */
    ck_assert(session_apart(f->session));
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_uint_eq(exchange_for(f, 0)->place, UINT64_MAX);
    answer_all(f, (struct reply){.version = 1});
    ck_assert(!session_apart(f->session));
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_uint_eq(exchange_for(f, 0)->place, 0);
}

TEST(a_worker_that_computes_finishes_for_the_others_sake, MODE_SYNC)
{
    begin(f);
    push(f, 0, (struct node){1, 1}, false, frame_of(1, 64));
    post_clear(&f->post);
    give_start(f, 0);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    push(f, 0, (struct node){2, 1}, false, frame_of(1, 64));
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    ck_assert(!exchange_for(f, 0)->message.exchange.newest);
    push(f, 0, (struct node){3, 1}, true, frame_of(1, 64));
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 12);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        if (packet->message.kind != MESSAGE_EXCHANGE)
            continue;
        ck_assert(packet->message.exchange.want == packet->message.exchange.newest);
        ck_assert(packet->message.exchange.gradient != packet->message.exchange.newest);
        if (packet->payload != NULL)
            ck_assert_uint_eq(packet->place, UINT64_MAX);
    }
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    answer_all(f, (struct reply){.version = 0, .value = 8});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.assignment, 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    ck_assert(session_apart(f->session));
}

/* Server 0 may find that it knows this worker after all, and then has nothing new to say. */
TEST(who_finishes_while_joining_again_follows_the_latest_start, MODE_SYNC)
{
    begin(f);
    give_start(f, 0);
    refuse(f, 0, REFUSAL_REJOIN, "a mistake");
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    welcome(f);
    ck_assert(exchange_for(f, 0)->message.exchange.newest);
    answer_all(f, (struct reply){.version = 0});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.assignment, 2);
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
}

TEST_EACH(of_an_older_generation_nothing_is_pushed_and_nothing_taken, 2, MODE_SYNC)
{
    const int waits = _i;
    begin(f);
    push(f, 0, (struct node){2, 1}, false, frame_of(1, 64));
    if (waits)
        push(f, 0, (struct node){3, 1}, true, frame_of(1, 64));
    uint64_t old = request_for(f, 1);
    post_clear(&f->post);
    f->generation = 2;
    f->assignment = 0; /* Server 0 was restarted. */
    give_start(f, 0);
    if (!waits)
        push(f, 0, (struct node){3, 1}, true, frame_of(1, 64));
    ck_assert_uint_eq(post_count_all(&f->post), 4);
    ck_assert(exchange_for(f, 1)->message.exchange.newest);
    ck_assert_uint_eq(exchange_for(f, 1)->message.generation, 2);
    f->generation = 1;
    answer_as(f, (struct reply){.chunk = 1, .version = 1, .value = -1}, old, 1);
    give_start(f, 0);
    give_start(f, 0);
    f->generation = 2;
    ck_assert_uint_eq(post_count_all(&f->post), 4);
    answer_all(f, (struct reply){.version = 0, .value = 8});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->generation, 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    ck_assert(!session_apart(f->session)); /* Servers have forgotten it all. */
}

TEST(a_stop_that_server_0_forgot_is_asked_for_again, MODE_SYNC)
{
    struct message stop = {.kind = MESSAGE_STOP};
    stop.stop.exit_code = EXIT_INTERRUPTED;
    begin(f);
    from_trainer(f, stop, NULL);
    tick(f, 1.1);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_STOP), 3);
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 1, .stop_step = 2});
    tick(f, 2);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_STOP)); /* It is known when. */
    f->generation = 2;
    give_start(f, 0);
    post_clear(&f->post);
    tick(f, 0.1);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_STOP));
}

TEST(who_has_said_done_may_have_to_go_on, MODE_SYNC)
{
    start(f, 5);
    answer_all(f, (struct reply){.version = 6});
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough);
    done(f);
    post_clear(&f->post); /* It is said, and the model that the job ends with is scored. */
    share(f, 6, 2);
    evaluation(f, 6);
    uint64_t request = sent(f, 0, MESSAGE_EVALUATION)->request;
    post_clear(&f->post);
    tick(f, 1.6);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EVALUATION), 3);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_EVALUATION)->request, request);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_DONE)); /* Not before the score is known. */
    pong(f, request);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_DONE)->done.step, 6);
    post_clear(&f->post);
    tick(f, 1);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_DONE), 2);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_EVALUATION));

    post_clear(&f->post);
    give_start(f, 6); /* Somebody died before the score was whole. */
    answer_all(f, (struct reply){.version = 6});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.assignment, 2);
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough);
    tick(f, 2);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_DONE));
    f->generation = 2; /* A server was lost meanwhile. */
    give_start(f, 4);
    post_clear(&f->post);
    done(f);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_DONE));
    answer_all(f, (struct reply){.version = 4});
    ck_assert(!to_trainer(f, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 4);
}

TEST(who_is_not_known_any_more_joins_again_and_loses_nothing, MODE_SYNC)
{
    begin(f);
    refuse(f, 1, REFUSAL_REJOIN, "not mine to say");
    tick(f, 0.1);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_JOIN));
    refuse(f, 0, REFUSAL_REJOIN, "you were silent for 5.0 s");
    ck_assert_ptr_nonnull(post_log(&f->post, "joining again: you were silent for 5.0 s"));
    tick(f, 0.01);
    const struct message *message = sent(f, 0, MESSAGE_JOIN);
    ck_assert_uint_eq(message->run_id, RUN);
    ck_assert_uint_eq(message->ticket, 0);
    post_clear(&f->post);
    tick(f, 1);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_PING));
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64)); /* Harmless, and perhaps of use. */
    ck_assert_uint_eq(exchange_for(f, 0)->message.ticket, 3);
    f->ticket = 7;
    welcome(f);
    post_clear(&f->post);
    tick(f, 1);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ticket, 7);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ping.assignment, 1);
    give_start(f, 0);
    ck_assert_uint_eq(exchange_for(f, 0)->message.ticket, 7);
}

TEST(a_welcome_of_another_run_or_generation_while_it_computes, MODE_SYNC)
{
    begin(f);
    refuse(f, 0, REFUSAL_REJOIN, "ps/0 was restarted");
    f->generation = 4;
    f->ticket = 1; /* It counts anew. */
    struct message other = {.kind = MESSAGE_WELCOME, .run_id = RUN + 1};
    other.welcome.ticket = 1;
    give(f, 0, other);
    tick(f, 0.1);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_JOIN));
    welcome(f);
    post_clear(&f->post);
    tick(f, 0.1);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->generation, 4);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ping.assignment, 0);
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64)); /* For nothing. */
    ck_assert_ptr_null(exchange_for(f, 0));
    f->assignment = 0;
    give_start(f, 0);
    answer_all(f, (struct reply){.version = 0});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
}

TEST_PLAIN(whoever_leaves_says_so_until_it_is_heard)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    from_trainer(&f, (struct message){.kind = MESSAGE_LEAVE}, NULL);
    tick(&f, 1.1);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_LEAVE), 3);
    struct message finished = {.kind = MESSAGE_FINISHED};
    strcpy(finished.stop.reason, "left the job");
    give(&f, 0, finished);
    check_over(&f, EXIT_DONE, "left the job");
    close_fixture(&f);

    open_fixture(&f, MODE_SYNC);
    tick(&f, 0.1);
    from_trainer(&f, (struct message){.kind = MESSAGE_LEAVE}, NULL);
    check_over(&f, EXIT_DONE, "left the job");
    close_fixture(&f);
}

static void ask_to_leave(struct fixture *f)
{
    from_trainer(f, (struct message){.kind = MESSAGE_LEAVE, .stop.exit_code = EXIT_TERMINATED},
                 NULL);
}

/* A place that owns chunks stays; one more than was declared owns none. */
TEST_PLAIN(a_worker_beside_a_server_is_not_sent_away)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    f.job.colocated = true;
    begin(&f);
    give(&f, 0, (struct message){.kind = MESSAGE_PONG, .waiting.leave = true});
    tick(&f, 2);
    ck_assert_ptr_null(sent(&f, 0, MESSAGE_LEAVE));
    ck_assert(!session_joining(f.session)->over);
    close_fixture(&f);
    open_fixture(&f, MODE_SYNC);
    f.job.colocated = true;
    f.job.worker_count = 1; /* It is worker/1. */
    tick(&f, 0.1);
    ask_to_leave(&f);
    check_over(&f, EXIT_TERMINATED, "left the job");
    close_fixture(&f);
}

/* An engine takes the whole place away, and its server with it. */
TEST(a_worker_beside_a_server_that_is_evicted_asks_for_a_stop, MODE_SYNC)
{
    f->job.colocated = true;
    begin(f);
    ask_to_leave(f);
    tick(f, 0.1);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_LEAVE));
    ck_assert_uint_eq(sent(f, 0, MESSAGE_STOP)->stop.exit_code, EXIT_TERMINATED);
}

/* What was asked of server 0 comes with its signs of life, again and again. */
TEST(whoever_is_sent_away_by_server_0_leaves_once, MODE_SYNC)
{
    begin(f);
    for (int i = 0; i < 3; i++) {
        give(f, 0, (struct message){.kind = MESSAGE_PONG, .waiting.leave = true});
        tick(f, 0.4);
    }
    ask_to_leave(f); /* Too late: it is going. */
    ck_assert_ptr_nonnull(post_log(&f->post, "leaving, exit=0, as ps/0 was asked"));
    tick(f, 1);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_LEAVE));
    give(f, 0, (struct message){.kind = MESSAGE_FINISHED, .stop.left = true});
    check_over(f, EXIT_DONE, "");
}

/* Being asked again does not begin the waiting anew. */
TEST(whoever_is_sent_away_and_not_let_go_leaves_all_the_same, MODE_SYNC)
{
    begin(f);
    double stop = session_joining(f->session)->deadlines.stop;
    for (double waited = 0; waited < stop + 1; waited += 0.5) {
        ck_assert(!session_joining(f->session)->over || waited > stop - 1);
        give(f, 0, (struct message){.kind = MESSAGE_PONG, .waiting.leave = true});
        tick(f, 0.5);
    }
    check_over(f, EXIT_DONE, "left the job");
}

/* A job that ends just then has its own code. */
TEST_PLAIN(whoever_leaves_ends_with_the_code_it_was_given)
{
    static const int codes[] = {EXIT_TERMINATED, EXIT_DONE};
    for (int left = 0; left < 2; left++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        begin(&f);
        ask_to_leave(&f);
        struct message finished = {.kind = MESSAGE_FINISHED, .stop.left = left == 0};
        give(&f, 0, finished);
        check_over(&f, codes[left], "");
        ck_assert_ptr_nonnull(sent(&f, 0, MESSAGE_BYE));
        close_fixture(&f);
    }
}

TEST_EACH(what_was_pushed_is_finished_before_leaving_but_not_waited_for_long, 2, MODE_SYNC)
{
    const int answered = _i;
    begin_and_push(f);
    ask_to_leave(f);
    tick(f, 0.6);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_LEAVE));
    if (answered)
        answer_all(f, (struct reply){.version = 1});
    else
        tick(f, 0.5);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_LEAVE));
}

TEST_PLAIN(whoever_is_not_let_go_leaves_all_the_same)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    ask_to_leave(&f);
    tick(&f, 4.9);
    ck_assert(!session_joining(f.session)->over);
    tick(&f, 0.4); /* Nothing heard for --worker-timeout. */
    check_over(&f, EXIT_TERMINATED, "left the job, unheard by ps/0");
    close_fixture(&f);

    open_fixture(&f, MODE_SYNC);
    begin(&f);
    ask_to_leave(&f);
    tick_heard(&f, 29);
    ck_assert(!session_joining(f.session)->over);
    tick_heard(&f, 2); /* --stop-timeout. */
    check_over(&f, EXIT_TERMINATED, "left the job, unheard by ps/0");
    close_fixture(&f);
}

TEST(whoever_leaves_does_not_join_a_server_0_that_was_restarted, MODE_SYNC)
{
    begin(f);
    ask_to_leave(f);
    post_clear(&f->post);
    refuse(f, 0, REFUSAL_REJOIN, "ps/0 was restarted");
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_LEAVE));
    ck_assert_ptr_null(sent(f, 0, MESSAGE_JOIN));
    check_over(f, EXIT_TERMINATED, "left the job");
}

TEST(an_async_worker_keeps_its_batches_when_only_members_change, MODE_ASYNC)
{
    begin(f);   /* With batches 0 and 1. */
    welcome(f); /* Repeated: it is no other admission. */
    give_start(f, 0);
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    bool want = sent(f, 0, MESSAGE_EXCHANGE)->exchange.want;
    ck_assert(want);
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->lease.batch, 0);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_START)->start.assignment, 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

TEST_EACH(in_a_new_generation_batches_come_again, 3, MODE_ASYNC)
{
    const int kind = _i;
    bool rejoined = kind > 0, compensated = kind > 1;
    f->job.delay_compensation = compensated;
    begin(f); /* With batches 0 and 1. */
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    post_clear(&f->post);
    if (rejoined) {
        refuse(f, 0, REFUSAL_REJOIN, "dropped");
        f->ticket = 8;
        welcome(f);
    } else {
        f->generation = 2;
    }
    give_start(f, 0);
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    /* The gradient of 1, if it can still be of use, and is not in danger of coming when what it
     * was made from is no longer known; and then the newest. */
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE),
                      rejoined && !compensated ? 8 : 4);
    ck_assert(exchange_for(f, 0)->message.exchange.newest);
    bool finished = sent(f, 0, MESSAGE_LEASE)->lease.finished;
    ck_assert(!finished);
    f->generation--; /* What was leased then is not leased now. */
    give_batch(f, 1);
    f->generation++;
    answer_all(f, (struct reply){.version = 1});
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    give_batch(f, 0);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_DUPLICATE});
    ck_assert(sent(f, 0, MESSAGE_LEASE)->lease.finished);
}

TEST(leases_are_repeated_until_they_are_answered_and_an_idle_worker_keeps_asking, MODE_ASYNC)
{
    start(f, 0);
    uint64_t request = sent(f, 0, MESSAGE_LEASE)->request;
    answer_all(f, (struct reply){.version = 0});
    tick(f, 1.05);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_LEASE), 2);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->request, request);
    give(f, 0, (struct message){.kind = MESSAGE_WORK, .request = request, .work.none = true});
    post_clear(&f->post);
    tick(f, 0.4);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_LEASE));
    tick(f, 0.2);
    ck_assert_uint_gt(sent(f, 0, MESSAGE_LEASE)->request, request);
    request = sent(f, 0, MESSAGE_LEASE)->request;
    give(f, 0, (struct message){.kind = MESSAGE_WORK, .request = request, .work.batch = 3});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 3);
    push(f, 3, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 1});
    request = sent(f, 0, MESSAGE_LEASE)->request;
    post_clear(&f->post);
    tick(f, 0.55);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->request, request);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->lease.batch, 3);
    give(f, 0, (struct message){.kind = MESSAGE_WORK, .request = request, .work.none = true});
    give_batch(f, 3); /* It is still on lease, so that was for another LEASE: say it again. */
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    post_clear(&f->post);
    tick(f, 0.55);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_LEASE)->lease.batch, 3);
}

TEST(a_batch_whose_gradient_is_not_finite_is_skipped, MODE_ASYNC)
{
    begin(f);
    struct message message = {.kind = MESSAGE_EXCHANGE};
    message.exchange = (struct message_exchange){
        .skip = true, .node = {0, 4}, .examples = 8, .want = true, .has_report = true};
    message.exchange.report.bad = true;
    from_trainer(f, message, NULL);
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        const struct packet *packet = exchange_for(f, chunk);
        ck_assert(packet->message.exchange.skip && packet->payload == NULL);
        ck_assert(packet->message.exchange.has_report == (chunk == 0));
    }
    ck_assert(exchange_for(f, 0)->message.exchange.report.bad);
    post_clear(&f->post);
    tick(f, 1);
    bool retry = exchange_for(f, 0)->message.exchange.retry;
    ck_assert(!retry); /* It is as good as new. */
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_REJECTED});
    ck_assert(!session_joining(f->session)->over);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

/* --- what is lost ---------------------------------------------------------------------------- */

TEST(what_is_not_answered_is_asked_for_again_without_its_payload, MODE_SYNC)
{
    begin(f);
    push(f, 0, (struct node){2, 1}, false, frame_of(1, 64));
    push(f, 0, (struct node){3, 1}, true, frame_of(1, 64));
    uint64_t first = request_for(f, 1);
    answer(f, (struct reply){.chunk = 0, .version = 1});
    post_clear(&f->post);
    tick(f, 0.9);
    ck_assert_ptr_null(exchange_for(f, 1));
    tick(f, 0.1); /* Two headers for each of three chunks. */
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 6);
    for (size_t i = 0, seen = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        if (packet->message.kind != MESSAGE_EXCHANGE)
            continue;
        const struct message_exchange *exchange = &packet->message.exchange;
        bool last = seen++ % 2 == 1;
        ck_assert(exchange->retry && exchange->gradient && packet->payload == NULL);
        ck_assert_uint_eq(exchange->node.first_leaf, last ? 3 : 2);
        ck_assert(exchange->want == last);
    }
    post_clear(&f->post);
    tick(f, 1.9); /* Twice as long. */
    ck_assert_ptr_null(exchange_for(f, 1));
    tick(f, 0.1);
    ck_assert_ptr_nonnull(exchange_for(f, 1));
    tick(f, 4);
    tick(f, 3.9);
    post_clear(&f->post);
    tick(f, 0.1); /* Not more. */
    ck_assert_ptr_nonnull(exchange_for(f, 1));
    for (uint32_t chunk = 1; chunk < 4; chunk++) /* Also the answer to the first is one. */
        answer_as(f, (struct reply){.chunk = chunk, .version = 1}, first + chunk - 1, chunk % 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

TEST(progress_with_one_chunk_keeps_the_server_s_others_waiting, MODE_SYNC)
{
    begin_and_push(f);
    uint64_t request = request_for(f, 0);
    tick(f, 0.9);
    post_clear(&f->post);
    answer_as(f, (struct reply){.chunk = 0, .version = 1}, request, 0);
    tick(f, 0.2);
    ck_assert_ptr_null(exchange_for(f, 2));
    ck_assert_ptr_nonnull(exchange_for(f, 1)); /* Of the other server. */
}

TEST(a_gradient_that_is_missing_is_sent_again, MODE_SYNC)
{
    struct frame *gradient = frame_of(3, 64);
    begin(f);
    push(f, 0, (struct node){2, 2}, true, frame_retain(gradient));
    post_clear(&f->post);
    ck_assert(!frame_is_unique(gradient)); /* It may have to be. */
    tick(f, 1);
    uint64_t retried = request_for(f, 1);
    post_clear(&f->post);
    struct message receipt = {.kind = MESSAGE_RECEIPT, .request = retried};
    receipt.receipt = (struct message_receipt){1, 0, {2, 2}, true};
    give(f, 0, receipt); /* Not its server. */
    receipt.receipt.step = 1;
    give(f, 1, receipt); /* Nothing that was pushed. */
    receipt.receipt = (struct message_receipt){1, 0, {2, 1}, true};
    give(f, 1, receipt);
    ck_assert_ptr_null(exchange_for(f, 1));
    receipt.receipt = (struct message_receipt){1, 0, {2, 2}, true};
    f->generation = 0;
    give(f, 1, receipt);
    f->generation = 1;
    ck_assert_ptr_null(exchange_for(f, 1));
    give(f, 1, receipt);
    const struct packet *packet = exchange_for(f, 1);
    ck_assert(packet->payload != NULL && !packet->message.exchange.retry);
    ck_assert_ptr_eq(packet->payload->data, (float *)gradient->data + 16);
    ck_assert_uint_eq(packet->message.request, retried);
    answer_as(f, (struct reply){.chunk = 1, .version = 1}, retried, 1);
    post_clear(&f->post);
    give(f, 1, receipt); /* Of no interest now. */
    ck_assert_ptr_null(exchange_for(f, 1));
    tick(f, 4);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        if (chunk != 1)
            answer(f, (struct reply){.chunk = chunk, .version = 1});
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
    post_clear(&f->post);
    ck_assert(frame_is_unique(gradient));
    frame_release(gradient);
}

TEST(pulls_are_simply_repeated, MODE_SYNC)
{
    start(f, 0);
    post_clear(&f->post);
    tick(f, 1);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    const struct message_exchange *exchange = &exchange_for(f, 3)->message.exchange;
    ck_assert(exchange->newest && exchange->want && exchange->retry && !exchange->gradient);
    answer_all(f, (struct reply){.version = 0});
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
}

/* --- values in memory that the server writes ------------------------------------------------- */

/* Worker 1 of 2 with so many servers. */
static void open_sharing(struct fixture *f, uint32_t servers)
{
    struct error error;
    open_fixture(f, MODE_SYNC);
    session_destroy(&f->session);
    partition_free(&f->partition);
    job_free(&f->job);
    f->job = small_job(MODE_SYNC, 2, servers);
    ck_assert(partition_make(&f->partition, f->job.variables, 2, servers, 64, CHUNKS_EVEN,
                             &error) == STATUS_OK);
    make_session(f);
}

static void close_sharing(struct fixture *f)
{
    close_fixture(f);
    for (int i = 0; i < 4; i++)
        if (f->memory.frames[i] != NULL) {
            ck_assert(frame_is_unique(f->memory.frames[i])); /* The session lets go. */
            frame_release(f->memory.frames[i]);
        }
}

/* Values of one chunk, written where they stay; copy -1: in a frame of their own. */
static void answer_in(struct fixture *f, uint32_t chunk, int copy, struct reply reply,
                      uint64_t request)
{
    struct frame *frame = frame_of(reply.value, 16);
    if (copy >= 0) {
        float *at = &f->memory.copies[copy][f->partition.chunks[chunk].first];
        memcpy(at, frame->data, 64);
        frame_release(frame);
        frame = frame_wrap(at, 64, false, NULL, NULL);
        frame->stays = true;
    }
    if (f->memory.frames[chunk] != NULL)
        frame_release(f->memory.frames[chunk]);
    f->memory.frames[chunk] = frame_retain(frame);
    struct packet packet = {.message.kind = MESSAGE_RESULT, .payload = frame};
    packet.message.request = request;
    packet.message.generation = f->generation;
    packet.message.result = (struct message_result){
        .chunk = chunk, .version = reply.version, .stop_step = 6, .parameters = true};
    session_handle_server(f->session, f->partition.chunks[chunk].server, &packet, f->now_us,
                          &f->post.outbox);
}

/* Chunk i of version `version` is i + value everywhere and comes from copies[i]. */
static void answer_from(struct fixture *f, const int copies[4], struct reply reply)
{
    uint64_t requests[4];
    float value = reply.value;
    requests_for(f, requests);
    post_clear(&f->post);
    for (uint32_t i = 0; i < 4; i++) {
        reply.value = value + (float)i;
        answer_in(f, i, copies[i], reply, requests[i]);
    }
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
    post_clear(&f->post);
}

static void check_values(const struct fixture *f, float value)
{
    const float *parameters = session_parameters(f->session);
    for (int i = 0; i < 64; i++)
        ck_assert(parameters[i] == value + (float)(i / 16));
}

static void push_and_ask(struct fixture *f, uint64_t step)
{
    push(f, step, (struct node){0, 1}, true, frame_of(1, 64));
}

#define TEST_SHARING(name, times, servers)                                                         \
    SUITE_TEST_TIMES(name, times, struct fixture, f, open_sharing(f, servers), close_sharing(f))

TEST_SHARING(values_that_stay_are_read_where_the_server_wrote_them, 1, 1)
{
    start(f, 0);
    answer_from(f, (const int[]){0, 0, 0, 0}, (struct reply){.value = 10});
    ck_assert_ptr_eq(session_parameters(f->session), f->memory.copies[0]);
    for (uint64_t step = 0; step < 4; step++) { /* Version after version, in turns. */
        push_and_ask(f, step);
        const int copy = (int)(step + 1) % 2, copies[4] = {copy, copy, copy, copy};
        answer_from(f, copies, (struct reply){.version = step + 1, .value = 11 + (float)step});
        ck_assert_ptr_eq(session_parameters(f->session), f->memory.copies[copy]);
        check_values(f, 11 + (float)step);
    }
    for (int i = 0; i < 64; i++)
        ck_assert(f->parameters[i] == 0.0f); /* Nothing was copied. */
}

TEST_SHARING(values_from_here_and_there_are_copied_together, 1, 1)
{
    static const int mixtures[][4] = {{0, 0, 0, -1}, {-1, 0, 0, 0}, {0, 0, 1, 0},
                                      {1, 0, 0, 0},  {0, 2, 0, 2},  {-1, -1, -1, -1}};
    start(f, 0);
    answer_from(f, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    for (uint64_t i = 0; i < 5; i++) {
        push_and_ask(f, i);
        answer_from(f, mixtures[i], (struct reply){.version = i + 1, .value = 100 * (float)i});
        ck_assert_ptr_eq(session_parameters(f->session), f->parameters);
        check_values(f, 100 * (float)i);
    }
}

TEST_SHARING(values_of_two_servers_are_copied_together, 1, 2)
{
    start(f, 0);
    for (uint64_t step = 0; step < 3; step++) {
        if (step > 0)
            push_and_ask(f, step - 1);
        /* Each server has its memory to itself. */
        answer_from(f, (const int[]){0, 1, 0, 1},
                    (struct reply){.version = step, .value = 7 * (float)step});
        ck_assert_ptr_eq(session_parameters(f->session), f->parameters);
        check_values(f, 7 * (float)step);
    }
}

TEST_SHARING(memory_that_is_read_is_held_until_new_values_are_asked_for, 1, 1)
{
    start(f, 0);
    answer_from(f, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    for (int i = 0; i < 4; i++)
        ck_assert(!frame_is_unique(f->memory.frames[i]));
    push(f, 0, (struct node){0, 1}, false, frame_of(1, 64)); /* More of this step will come. */
    for (int i = 0; i < 4; i++)
        ck_assert(!frame_is_unique(f->memory.frames[i]));
    ck_assert_ptr_eq(session_parameters(f->session), f->memory.copies[0]);
    check_values(f, 1);
    push(f, 0, (struct node){1, 1}, true, frame_of(1, 64));
    for (int i = 0; i < 4; i++)
        ck_assert(frame_is_unique(f->memory.frames[i]));
    /* An answer that nobody waits for is not held either. */
    answer_in(f, 2, 1, (struct reply){.version = 1, .value = 9}, 12345);
    ck_assert(frame_is_unique(f->memory.frames[2]));
    /* One that is the first of four, and then the end. */
    answer_in(f, 3, 1, (struct reply){.version = 1, .value = 9}, request_for(f, 3));
    ck_assert(!frame_is_unique(f->memory.frames[3]));
}

TEST_SHARING(who_was_left_behind_forgets_what_it_has_of_the_old_version, 1, 1)
{
    start(f, 0);
    answer_from(f, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    push(f, 0, (struct node){0}, true, NULL);
    uint64_t old = request_for(f, 1);
    answer_in(f, 0, 1, (struct reply){.version = 1, .value = 1}, request_for(f, 0));
    struct message moved = {.kind = MESSAGE_MOVED_ON, .request = old};
    moved.moved_on.chunk = 1;
    moved.moved_on.version = 3;
    post_clear(&f->post);
    give(f, 0, moved);
    ck_assert(frame_is_unique(f->memory.frames[0]));
    /* The answer of before comes late, and is of no use. */
    answer_in(f, 2, 1, (struct reply){.version = 1, .value = 1}, old + 1);
    answer_from(f, (const int[]){1, 1, 1, 1}, (struct reply){.version = 3, .value = 30});
    ck_assert_ptr_eq(session_parameters(f->session), f->memory.copies[1]);
    check_values(f, 30);
}

/* What a later answer is written over is not read. */
TEST_SHARING(of_values_that_stay_only_the_answer_to_the_latest_request_counts, 1, 1)
{
    start(f, 0);
    answer_from(f, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    push_and_ask(f, 0);
    uint64_t first[4], second[4];
    requests_for(f, first);
    tick(f, 1);
    requests_for(f, second);
    struct reply reply = {.version = 1, .value = 9};
    for (uint32_t i = 0; i < 4; i++)
        answer_in(f, i, i == 3 ? -1 : 2, reply, first[i]); /* 3's own frame counts. */
    ck_assert(frame_is_unique(f->memory.frames[0]));
    reply.value = 10;
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_ptr_null(i < 3 ? to_trainer(f, MESSAGE_WORK) : NULL);
        answer_in(f, i, 2, reply, second[i]);
    }
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
    ck_assert(session_parameters(f->session)[0] == 10.0f);
    ck_assert(session_parameters(f->session)[63] == 9.0f);
}

/* Where a payload is to lie in its server's shard, for each gradient of a step. */
TEST_SHARING(gradients_of_one_step_lie_beside_each_other_in_each_shard, 2, 1 + (uint32_t)_i)
{
    const uint32_t servers = 1 + (uint32_t)_i;
    start(f, 0);
    answer_from(f, (const int[]){-1, -1, -1, -1}, (struct reply){.value = 1});
    for (uint64_t step = 0; step < 2; step++) {
        for (uint32_t node = 0; node < 3; node++) {
            push(f, step, (struct node){node, 1}, node == 2, frame_of(1, 64));
            post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
            for (size_t i = 0, seen = 0; i < f->post.taken_count; i++) {
                const struct packet *packet = &f->post.taken[i].packet;
                if (packet->message.kind != MESSAGE_EXCHANGE)
                    continue;
                uint64_t chunk = seen++ % 4;
                uint64_t place = servers == 1 ? chunk * 64 : chunk / 2 * 64;
                ck_assert_uint_eq(packet->message.exchange.chunk, chunk);
                ck_assert_uint_eq(packet->place, node * (256 / servers) + place);
            }
            if (node < 2)
                post_clear(&f->post);
        }
        answer_from(f, (const int[]){-1, -1, -1, -1},
                    (struct reply){.version = step + 1, .value = 1});
    }
}

/* --- what went wrong in histories, in small ------------------------------------------------ */

TEST(server_0_sees_at_once_that_it_is_followed, MODE_SYNC)
{
    begin(f);
    tick(f, 0.1);
    post_clear(&f->post);
    refuse(f, 0, REFUSAL_REJOIN, "ps/0 was restarted");
    f->generation = 2;
    f->ticket = 1;
    welcome(f);
    tick(f, 0.001);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_PING));
    post_clear(&f->post);
    give_start(f, 0);
    tick(f, 0.001);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_PING)->ping.assignment, f->assignment);
}

/* The last version that there will be only falls, but for a server 0 that is new. */
TEST_EACH(the_last_version_is_what_the_latest_generation_says, 2, MODE_SYNC)
{
    const int restarted = _i;
    begin_and_push(f);
    answer_all(f, (struct reply){.version = 1, .stop_step = 2});
    push(f, 1, (struct node){2, 2}, true, frame_of(1, 64));
    if (restarted) {
        f->generation = 2;
        f->assignment = 0;
        f->ticket = 1;
        welcome(f); /* It knows of no stop, and its START may come before it asks for one. */
    }
    give_start(f, 1); /* Says 6. */
    answer_all(f, (struct reply){.version = 2});
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough == !restarted);
}

/* Somebody died, and what it had on lease is dealt to those who had said that they were done. */
TEST_EACH(an_async_worker_that_said_done_goes_on, 2, MODE_ASYNC)
{
    const int dealt = _i;
    begin(f); /* With batches 0 and 1. */
    for (uint64_t batch = 0; batch < 2; batch++) {
        push(f, batch, (struct node){0, 4}, true, frame_of(1, 64));
        answer_all(f, (struct reply){.version = batch + 1, .verdict = VERDICT_APPLIED});
    }
    uint64_t request = sent(f, 0, MESSAGE_LEASE)->request;
    struct message enough = {.kind = MESSAGE_WORK, .request = request};
    enough.work.enough = true;
    enough.work.batch = 6;
    give(f, 0, enough);
    ck_assert(to_trainer(f, MESSAGE_WORK)->work.enough);
    done(f);
    post_clear(&f->post);
    if (dealt) { /* It is told anew how work is dealt, and asks for some ... */
        give_start(f, 0);
        ck_assert(!sent(f, 0, MESSAGE_LEASE)->lease.finished);
        answer_all(f, (struct reply){.version = 2});
    }
    give_batch(f, 3); /* ... or is given some at once. */
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 3);
    ck_assert(!to_trainer(f, MESSAGE_WORK)->work.enough);
}

/* Between the WELCOME of a new generation and its START. */
TEST(nothing_of_the_generation_before_is_said_again, MODE_ASYNC)
{
    begin(f); /* With batches 0 and 1. */
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    share(f, 3, 1);
    evaluation(f, 3);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_EVALUATION));
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    ck_assert(sent(f, 0, MESSAGE_LEASE)->lease.finished);
    refuse(f, 0, REFUSAL_REJOIN, "ps/0 was restarted");
    f->generation = 2;
    f->ticket = 1;
    welcome(f);
    post_clear(&f->post);
    tick(f, 2);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_PING));
    ck_assert_ptr_null(sent(f, 0, MESSAGE_LEASE));
    ck_assert_ptr_null(sent(f, 0, MESSAGE_EVALUATION));
}

TEST_EACH(a_new_assignment_is_not_told_that_the_one_before_is_done, 2, MODE_SYNC)
{
    const int raised = _i;
    start(f, 6);
    answer_all(f, (struct reply){.version = 6});
    done(f);
    tick(f, 0.1);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_DONE));
    f->generation += (uint64_t)raised;
    f->ticket += (uint64_t)raised;
    if (raised)
        welcome(f);
    else
        give_start(f, 6);
    post_clear(&f->post);
    tick(f, 2);
    ck_assert_ptr_null(sent(f, 0, MESSAGE_DONE));
}

/* --- scores -------------------------------------------------------------------------------- */

/* As far as the trainer's first work, of a job that is recorded. */
static void begin_recorded(struct fixture *f)
{
    struct message message = {.kind = MESSAGE_START};
    message.start = (struct message_start){.assignment = ++f->assignment,
                                           .members = 2,
                                           .position = 1,
                                           .stop_step = 6,
                                           .records = true};
    give(f, 0, message);
    give_batch(f, 0);
    answer_all(f, (struct reply){.version = 3});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 0);
}

static uint64_t named_us(const struct message_times *times)
{
    return times->exchange_us + times->barrier_us + times->bound_us + times->gate_us +
           times->lease_us;
}

/* A gradient that has no number yet is on its way: what was computed for it, and scored meanwhile, is
 * waited for by nobody. The number comes while it scores, or when it has. */
TEST_EACH(no_span_of_a_worker_s_time_is_told_twice_while_a_gradient_waits_for_its_number, 2,
          MODE_ASYNC)
{
    const int scored_first = _i;
    join(f);
    uint64_t began_us = f->now_us;
    begin_recorded(f);
    uint64_t request = sent(f, 0, MESSAGE_LEASE)->request;
    give_share(f, 3, 1);
    answer_scored(f, 3, scored_asked(f, 3), 2);
    post_clear(&f->post);
    f->now_us += 4000; /* It computes ... */
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    uint64_t wall_us = f->now_us - began_us;
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.scored, 3);
    f->now_us += 700; /* ... and scores, ... */
    if (scored_first)
        evaluation(f, 3);
    give(f, 0,
         (struct message){
             .kind = MESSAGE_WORK, .request = request, .work = {.none = true, .computation = 7}});
    const struct message_report *report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->times.wall_us, wall_us);
    ck_assert_uint_le(named_us(&report->times) + 4000, wall_us);
    struct message_times told = report->times;
    f->now_us += 300;
    if (!scored_first)
        evaluation(f, 3);
    f->now_us += 50;
    give(
        f, 0,
        (struct message){.kind = MESSAGE_PONG, .request = sent(f, 0, MESSAGE_EVALUATION)->request});
    answer_all(f, (struct reply){.version = 4, .verdict = VERDICT_APPLIED});
    give_work(f, (struct message_work){.enough = true, .batch = 5});
    done(f);
    tick(f, 0.1);
    const struct message_times *rest = &sent(f, 0, MESSAGE_DONE)->done.times;
    ck_assert_uint_eq(rest->exchange_us - told.exchange_us, scored_first ? 350 : 50);
    ck_assert_uint_eq(rest->wall_us, wall_us + 1050);
    ck_assert_uint_eq(named_us(rest) - named_us(&told) + 1000 - (scored_first ? 300 : 0), 1050);
}

TEST_EACH(a_share_is_scored_between_two_steps_on_values_of_its_own, 2, _i ? MODE_SYNC : MODE_ASYNC)
{
    const int mode = _i;
    struct node node = {mode ? 2 : 0, mode ? 2 : 4};
    begin(f);
    give_share(f, 3, 1);
    give_share(f, 3, 1); /* Again, for it has not reported. */
    uint64_t first = scored_asked(f, 3);
    ck_assert_uint_ne(first, 0);
    answer_scored(f, 3, first, 9);
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK)); /* It computes. */
    ck_assert_float_eq(session_parameters(f->session)[0], 5);
    post_clear(&f->post);
    push(f, 0, node, true, frame_of(1, 64));
    const struct message_work *work = &to_trainer(f, MESSAGE_WORK)->work;
    ck_assert(work->scored == 3 && work->share == 1 && work->shares == 2);
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(session_scored(f->session)[i], 9);

    answer_all(f, (struct reply){.version = 1, .value = 7}); /* While it scores. */
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    ck_assert_float_eq(session_scored(f->session)[0], 9);
    evaluation(f, 3);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_EVALUATION)->evaluation.step, 3);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
    ck_assert_float_eq(session_parameters(f->session)[0], 7);
    post_clear(&f->post);
    give_share(f, 3, 1); /* Its report is on the way. */
    ck_assert_uint_eq(scored_asked(f, 3), 0);
}

/* What a share took is neither exchanging nor waiting. */
TEST(scoring_is_not_counted_as_something_else, MODE_ASYNC)
{
    begin_and_push(f);
    f->now_us += SECOND / 4;
    share(f, 3, 1);
    f->now_us += SECOND / 2;
    answer_all(f, (struct reply){.version = 1}); /* A quarter of a second, and the share's half. */
    f->now_us += SECOND / 4;
    evaluation(f, 3);
    post_clear(&f->post);
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    const struct message_report *report = &exchange_for(f, 0)->message.exchange.report;
    ck_assert_uint_eq(report->times.exchange_us, SECOND / 4);
    ck_assert_uint_eq(report->times.lease_us, 0); /* With its values here it is still scoring. */
}

/* Server 0 knows for whom only when the last has come, with the next batch. */
TEST(a_wait_at_a_gate_is_one_though_a_share_is_scored_in_it, MODE_ASYNC)
{
    begin_and_push(f);
    answer_all(f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    push(f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 2, .verdict = VERDICT_APPLIED});
    f->now_us += 600;
    share(f, 3, 1);
    f->now_us += 300;
    evaluation(f, 3);
    f->now_us += 100;
    give_work(f, (struct message_work){.batch = 4, .waited = WAIT_GATE, .whom = 2});
    post_clear(&f->post);
    push(f, 4, (struct node){0, 4}, true, frame_of(1, 64));
    const struct message_times *times = &exchange_for(f, 0)->message.exchange.report.times;
    ck_assert_uint_eq(times->gate_us, 700);
    ck_assert_uint_eq(times->lease_us, 0);
    ck_assert_uint_eq(times->whom, 2);
    ck_assert_uint_eq(times->whom_us, 700);
}

TEST(a_second_share_of_a_score_is_of_values_that_are_here, MODE_ASYNC)
{
    begin_and_push(f);
    share(f, 3, 4);
    evaluation(f, 3);
    post_clear(&f->post);
    give_share(f, 3, 0); /* Whose worker is gone. */
    ck_assert_uint_eq(scored_asked(f, 3), 0);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.share, 0);
    ck_assert_float_eq(session_scored(f->session)[0], 4);
}

TEST(values_that_are_gone_are_not_scored_and_the_next_are, MODE_ASYNC)
{
    struct message gone = {.kind = MESSAGE_MOVED_ON};
    begin(f);
    give_share(f, 3, 1);
    uint64_t first = scored_asked(f, 3);
    gone.moved_on.chunk = 1;
    gone.moved_on.scored = true;
    gone.request = first + 1;
    give(f, 1, gone);
    give(f, 1, gone);
    answer_scored(f, 3, first, 1); /* The others'. */
    post_clear(&f->post);
    push(f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_ptr_null(to_trainer(f, MESSAGE_WORK));
    give_share(f, 6, 0);
    answer_scored(f, 6, scored_asked(f, 6), 2);
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.scored, 6);
    ck_assert_float_eq(session_scored(f->session)[5], 2);
}

/* Requests are numbered all in one row: those of a score lie between a step's and its repeats. */
TEST(what_is_gone_of_a_score_is_not_gone_of_a_step, MODE_ASYNC)
{
    begin_and_push(f);
    give_share(f, 3, 1);
    uint64_t first = scored_asked(f, 3);
    tick(f, 1.1); /* The step's values are asked for again, under greater numbers. */
    for (uint32_t i = 0; i < 4; i++) {
        struct message gone = {.kind = MESSAGE_MOVED_ON, .request = first + i};
        gone.moved_on.chunk = i;
        gone.moved_on.scored = true;
        give(f, i % 2, gone);
    }
    ck_assert(!exchange_for(f, 0)->message.exchange.newest); /* It has not begun anew. */
    answer_all(f, (struct reply){.version = 1});
    ck_assert_uint_eq(to_trainer(f, MESSAGE_WORK)->work.batch, 1);
}

TEST(values_that_do_not_come_are_asked_for_again, MODE_SYNC)
{
    begin_and_push(f);
    answer_all(f, (struct reply){.version = 1, .value = 5});
    give_share(f, 3, 1);
    post_clear(&f->post);
    tick(f, 1.1);
    ck_assert_uint_ne(scored_asked(f, 3), 0);
}

TEST(a_going_back_forgets_what_is_scored, MODE_ASYNC)
{
    begin_and_push(f);
    share(f, 3, 4);
    f->generation = 2;
    give_start(f, 0);
    post_clear(&f->post);
    evaluation(f, 3); /* Of the generation before. */
    ck_assert_ptr_null(sent(f, 0, MESSAGE_EVALUATION));
    give_share(f, 3, 1); /* The same count again, but not the same values. */
    answer_scored(f, 3, scored_asked(f, 3), 8);
    ck_assert_float_eq(session_scored(f->session)[0], 8);
    evaluation(f, 3);
    ck_assert_uint_eq(sent(f, 0, MESSAGE_EVALUATION)->generation, 2);
}

TEST(a_trainer_that_scores_for_ever_is_stuck, MODE_SYNC)
{
    begin_and_push(f);
    share(f, 3, 4);
    answer_all(f, (struct reply){.version = 1});
    tick_heard(f, 299);
    ck_assert(!session_joining(f->session)->over);
    tick(f, 2);
    check_over(f, EXIT_TRAINING_FAILED, "stuck: scoring for");
}

TEST(what_is_pushed_for_others_sake_may_be_held_as_well, MODE_SYNC)
{
    begin(f);
    give_start(f, 0); /* It has pushed nothing yet. */
    push(f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    answer_all(f, (struct reply){.version = 0});
    ck_assert_ptr_nonnull(to_trainer(f, MESSAGE_WORK));
    ck_assert(session_apart(f->session));
}

/* Server 0 may have let it in, and then must not wait for it. */
TEST_PLAIN(who_goes_before_it_is_welcomed_says_so)
{
    const enum message_kind kinds[] = {MESSAGE_STOP, MESSAGE_LEAVE};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        tick(&f, 0.1);
        from_trainer(&f, (struct message){.kind = kinds[i], .stop.exit_code = EXIT_TERMINATED},
                     NULL);
        ck_assert(session_joining(f.session)->over);
        ck_assert_ptr_nonnull(sent(&f, 0, kinds[i]));
        close_fixture(&f);
    }
}

TEST(a_declaration_is_asked_of_those_who_join, MODE_SYNC)
{
    begin(f);
    give(f, 0, (struct message){.kind = MESSAGE_WANT_JOB}); /* Late. */
    ck_assert_ptr_null(sent(f, 0, MESSAGE_JOB_PAGE));
}

TEST(every_node_has_the_whole_deadline, MODE_SYNC)
{
    begin(f);
    tick_heard(f, 200);
    push(f, 0, (struct node){2, 1}, false, frame_of(1, 64));
    tick_heard(f, 200);
    ck_assert(!session_joining(f->session)->over);
}

int main(void)
{
    return suite_run("session", NULL);
}

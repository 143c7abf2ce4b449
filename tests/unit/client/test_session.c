/* test_session.c - a worker's session: in which memory its gradients and values are, and the bytes of its
 * declaration. What it says and when: tests/talks. */
/* promises: no-copy */

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

int main(void)
{
    return suite_run("session", NULL);
}

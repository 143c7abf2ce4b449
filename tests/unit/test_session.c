#include "worker/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pages.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77, SECOND = 1000000 };

/* Worker 1 of 2, with two servers: chunks 0 and 2 are server 0's, 1 and 3 server 1's. */
struct fixture {
    struct session *session;
    struct job job;
    struct partition partition;
    float parameters[64];
    struct post post;
    uint64_t now_us;
};

static void open_fixture(struct fixture *f, enum mode mode)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 2);
    f->now_us = SECOND;
    ck_assert(partition_make(&f->partition, f->job.variables, 2, 2, 64, false, &error) ==
              STATUS_OK);
    struct session_options options = {
        .worker = 1,
        .incarnation = 9,
        .job = &f->job,
        .partition = &f->partition,
        .parameters = f->parameters,
        .host = "here",
        .start_timeout = 60,
        .worker_timeout = 10,
        .progress_timeout = 300,
    };
    ck_assert(session_create(&f->session, &options, f->now_us) == STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    session_destroy(&f->session);
    partition_free(&f->partition);
    job_free(&f->job);
}

static void give(struct fixture *f, uint32_t server, struct message message)
{
    struct packet packet = {.message = message};
    session_handle_server(f->session, server, &packet, f->now_us, &f->post.outbox);
}

static void from_trainer(struct fixture *f, struct message message, struct frame *payload)
{
    struct packet packet = {.message = message, .payload = payload};
    session_handle_trainer(f->session, &packet, f->now_us, &f->post.outbox);
}

static void tick(struct fixture *f, double seconds)
{
    f->now_us += (uint64_t)(seconds * SECOND);
    session_tick(f->session, f->now_us, &f->post.outbox);
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
        if (message->kind == MESSAGE_EXCHANGE && message->exchange.chunk == chunk)
            request = message->request;
    }
    ck_assert_uint_ne(request, 0);
    return request;
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
    for (uint32_t i = 0; i < 4; i++)
        requests[i] = request_for(f, i);
    post_clear(&f->post);
    for (reply.chunk = 0; reply.chunk < 4; reply.chunk++)
        answer_as(f, reply, requests[reply.chunk], reply.chunk % 2);
}

static void join(struct fixture *f)
{
    tick(f, 0);
    ck_assert_ptr_nonnull(sent(f, 0, MESSAGE_JOIN));
    give(f, 0, (struct message){.kind = MESSAGE_WELCOME, .run_id = RUN});
    post_clear(&f->post);
}

static void start(struct fixture *f, uint64_t step)
{
    join(f);
    struct message message = {.kind = MESSAGE_START};
    message.start = (struct message_start){step, 1, 2, 1, 6, 0};
    give(f, 0, message);
}

/* As far as the trainer's first work. */
static void begin(struct fixture *f)
{
    start(f, 0);
    if (f->job.mode == MODE_ASYNC)
        for (uint64_t batch = 0; batch < 2; batch++)
            give(f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = batch});
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
                                                 .want = want};
    from_trainer(f, message, gradient);
}

static void check_over(struct fixture *f, int exit_code, const char *reason)
{
    ck_assert(session_is_over(f->session));
    ck_assert_int_eq(session_exit_code(f->session), exit_code);
    ck_assert_msg(strstr(session_exit_reason(f->session), reason) != NULL, "%s",
                  session_exit_reason(f->session));
    struct message *finished = to_trainer(f, MESSAGE_FINISHED);
    ck_assert_ptr_nonnull(finished);
    ck_assert_uint_eq(finished->stop.exit_code, (uint32_t)exit_code);
}

/* --- joining -----------------------------------------------------------------------------------
 */

START_TEST(it_joins_again_and_again_and_declares_when_asked)
{
    struct fixture f;
    struct pages pages = {0};
    struct job declared;
    struct error error;
    open_fixture(&f, MODE_SYNC);
    for (int i = 0; i < 1000; i++) {
        tick(&f, 0.001);
        int patience = session_patience_ms(f.session);
        ck_assert_int_eq(patience, i < 2    ? 2
                                   : i < 6  ? 4
                                   : i < 14 ? 8
                                   : i < 30 ? 16
                                   : i < 62 ? 32
                                            : 64);
    }
    /* After 1, 3, 7, 15, 31, 63 ms and then every 64. */
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_JOIN), 6 + 14);
    struct message *join = sent(&f, 0, MESSAGE_JOIN);
    ck_assert(join->role == ROLE_WORKER);
    ck_assert_uint_eq(join->index, 1);
    ck_assert_uint_eq(join->incarnation, 9);
    ck_assert_uint_eq(join->run_id, 0);
    give(&f, 0, (struct message){.kind = MESSAGE_WANT_JOB});
    enum status status = STATUS_AGAIN;
    for (size_t i = 0; i < f.post.taken_count || post_find(&f.post, TO_SERVER, MESSAGE_JOB_PAGE);
         i++) {
        if (i >= f.post.taken_count)
            break;
        if (f.post.taken[i].packet.message.kind == MESSAGE_JOB_PAGE)
            status = pages_add(&pages, &f.post.taken[i].packet.message.job_page);
    }
    ck_assert(status == STATUS_OK);
    ck_assert(job_decode(pages.bytes, pages.total, &declared, &error) == STATUS_OK);
    ck_assert(job_compare(&declared, "a", &f.job, "b", JOB_SCOPE_ALL, &error) == STATUS_OK);
    pages_free(&pages);
    job_free(&declared);
    close_fixture(&f);
}
END_TEST

START_TEST(once_welcomed_it_says_that_it_is_alive_and_of_which_run)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f);
    for (int i = 0; i < 30; i++)
        tick(&f, 0.1);
    unsigned pings = post_count(&f.post, TO_SERVER, MESSAGE_PING);
    ck_assert(pings == 3 || pings == 4);
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_PING)->run_id, RUN);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_JOIN), 0);
    close_fixture(&f);
}
END_TEST

/* --- sync ----------------------------------------------------------------------------------------
 */

START_TEST(it_pulls_every_chunk_from_its_server_before_the_first_step)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f, 2);
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_START)->start.position, 1);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        const struct outgoing *item = &f.post.taken[i];
        if (item->packet.message.kind != MESSAGE_EXCHANGE)
            continue;
        const struct message_exchange *exchange = &item->packet.message.exchange;
        ck_assert_uint_eq(item->index, exchange->chunk % 2);
        ck_assert(!exchange->gradient && exchange->want && item->packet.payload == NULL);
        ck_assert_uint_eq(exchange->want_version, 2);
    }
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        ck_assert_ptr_null(to_trainer(&f, MESSAGE_WORK));
        answer(&f, (struct reply){.chunk = 3 - chunk, .version = 2, .value = (float)chunk});
    }
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 2);
    ck_assert(!to_trainer(&f, MESSAGE_WORK)->work.enough);
    for (int i = 0; i < 64; i++)
        ck_assert(f.parameters[i] == (float)(3 - i / 16));
    close_fixture(&f);
}
END_TEST

START_TEST(a_gradient_is_cut_into_chunks_without_a_copy)
{
    struct fixture f;
    struct frame *gradient = frame_of(0, 64);
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){2, 2}, true, frame_retain(gradient));
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        const struct packet *packet = &f.post.taken[i].packet;
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
    ck_assert(!frame_is_unique(gradient));
    post_clear(&f.post); /* Sent. */
    ck_assert(frame_is_unique(gradient));
    frame_release(gradient);
    close_fixture(&f);
}
END_TEST

START_TEST(only_the_last_node_of_a_step_asks_and_receipts_of_the_others_are_not_waited_for)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){1, 1}, false, frame_of(1, 64));
    bool want = sent(&f, 0, MESSAGE_EXCHANGE)->exchange.want;
    ck_assert(!want);
    uint64_t receipt = request_for(&f, 0);
    post_clear(&f.post);
    push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    struct message message = {.kind = MESSAGE_RESULT, .request = receipt};
    message.result.verdict = VERDICT_APPLIED;
    give(&f, 0, message);
    answer_all(&f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED, .value = 7});
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 1);
    ck_assert(f.parameters[63] == 7.0f);
    close_fixture(&f);
}
END_TEST

START_TEST(answers_that_were_not_asked_for_change_nothing)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    uint64_t request = request_for(&f, 0);
    answer_as(&f, (struct reply){.version = 1, .value = -1}, request + 1000, 0);
    answer_as(&f, (struct reply){.version = 1, .value = -1}, request, 1); /* Not its server. */
    answer_as(&f, (struct reply){.version = 0, .value = -1}, request, 0); /* Another version. */
    answer_as(&f, (struct reply){.chunk = 4, .version = 1, .value = -1}, request, 0);
    answer_as(&f, (struct reply){.chunk = UINT32_MAX, .version = 1, .value = -1}, request, 0);
    struct packet odd = {.message.kind = MESSAGE_RESULT, .payload = frame_of(-1, 15)};
    odd.message.request = request;
    odd.message.result = (struct message_result){.version = 1, .parameters = true};
    session_handle_server(f.session, 0, &odd, f.now_us, &f.post.outbox);
    struct packet none = {.message = odd.message};
    session_handle_server(f.session, 0, &none, f.now_us, &f.post.outbox);
    for (int i = 0; i < 64; i++)
        ck_assert(f.parameters[i] == 5.0f);
    answer(&f, (struct reply){.chunk = 0, .version = 1, .value = 6});
    answer_as(&f, (struct reply){.version = 1, .value = -1}, request, 0); /* Repeated. */
    ck_assert(f.parameters[0] == 6.0f);
    ck_assert(!session_is_over(f.session));
    ck_assert_ptr_null(to_trainer(&f, MESSAGE_WORK));
    close_fixture(&f);
}
END_TEST

START_TEST(while_the_trainer_computes_nobody_writes_its_parameters)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f, 0);
    uint64_t request = request_for(&f, 2);
    answer_all(&f, (struct reply){.value = 5});
    answer_as(&f, (struct reply){.chunk = 2, .value = -1}, request, 0);
    ck_assert(f.parameters[32] == 5.0f);
    close_fixture(&f);
}
END_TEST

START_TEST(training_ends_at_the_last_version_that_server_0_names)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    uint64_t requests[4];
    for (uint32_t i = 0; i < 4; i++)
        requests[i] = request_for(&f, i);
    post_clear(&f.post);
    for (uint32_t i = 0; i < 4; i++) /* Server 1's word does not count. */
        answer_as(&f, (struct reply){.chunk = i, .version = 1, .stop_step = i % 2 ? 1 : 2},
                  requests[i], i % 2);
    ck_assert(!to_trainer(&f, MESSAGE_WORK)->work.enough);
    post_clear(&f.post);
    push(&f, 1, (struct node){2, 2}, true, frame_of(1, 64));
    answer_all(&f, (struct reply){.version = 2, .stop_step = 2});
    ck_assert(to_trainer(&f, MESSAGE_WORK)->work.enough);
    from_trainer(&f, (struct message){.kind = MESSAGE_DONE}, NULL);
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_DONE)->done.step, 2);
    give(&f, 0, (struct message){.kind = MESSAGE_FINISHED});
    ck_assert_ptr_nonnull(sent(&f, 0, MESSAGE_BYE));
    check_over(&f, EXIT_DONE, "");
    close_fixture(&f);
}
END_TEST

START_TEST(reports_carry_the_times_of_the_exchange_before)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    f.now_us += 5000;
    answer_all(&f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED, .held_us = 1500});
    post_clear(&f.post);
    struct message report = {.kind = MESSAGE_REPORT};
    report.report = (struct message_report){.step = 1, .compute_us = 99, .examples = 4};
    from_trainer(&f, report, NULL);
    struct message *out = sent(&f, 0, MESSAGE_REPORT);
    ck_assert_uint_eq(out->report.wait_us, 1500);
    ck_assert_uint_eq(out->report.exchange_us, 3500);
    ck_assert_uint_eq(out->report.compute_us, 99);
    post_clear(&f.post);
    from_trainer(&f, report, NULL); /* Told once. */
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_REPORT)->report.exchange_us, 0);
    close_fixture(&f);
}
END_TEST

/* --- async
 * ---------------------------------------------------------------------------------------- */

START_TEST(async_work_is_leased_computed_and_handed_back_in_order)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    start(&f, 0);
    bool finished = sent(&f, 0, MESSAGE_LEASE)->lease.finished;
    ck_assert(!finished);
    answer_all(&f, (struct reply){.version = 3});
    ck_assert_ptr_null(to_trainer(&f, MESSAGE_WORK)); /* Nothing to compute yet. */
    for (int twice = 0; twice < 2; twice++) {         /* Repeats are ignored. */
        give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 0});
        give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 4});
    }
    ck_assert_uint_eq(post_count(&f.post, TO_TRAINER, MESSAGE_WORK), 1);
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 0);
    post_clear(&f.post);

    push(&f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_EXCHANGE)->exchange.base_version, 3);
    answer_all(&f, (struct reply){.version = 4, .verdict = VERDICT_APPLIED});
    ck_assert(sent(&f, 0, MESSAGE_LEASE)->lease.finished);
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_LEASE)->lease.batch, 0);
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 4);
    post_clear(&f.post);

    push(&f, 4, (struct node){0, 4}, true, frame_of(1, 64));
    give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work = {.enough = true, .batch = 5}});
    answer_all(&f, (struct reply){.version = 5, .verdict = VERDICT_APPLIED});
    ck_assert(to_trainer(&f, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 5);
    close_fixture(&f);
}
END_TEST

START_TEST(a_batch_that_is_done_is_not_computed_again_when_its_work_is_repeated)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    begin(&f); /* With batches 0 and 1. */
    push(&f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    answer_all(&f, (struct reply){.version = 1, .verdict = VERDICT_APPLIED});
    push(&f, 1, (struct node){0, 4}, true, frame_of(1, 64));
    give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 0});
    answer_all(&f, (struct reply){.version = 2, .verdict = VERDICT_APPLIED});
    give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 1});
    ck_assert_ptr_null(to_trainer(&f, MESSAGE_WORK));
    give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 6}); /* There is no such. */
    ck_assert_ptr_null(to_trainer(&f, MESSAGE_WORK));
    give(&f, 0, (struct message){.kind = MESSAGE_WORK, .work.batch = 2});
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 2);
    close_fixture(&f);
}
END_TEST

START_TEST(a_start_that_overtakes_its_welcome_is_taken)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    tick(&f, 0);
    struct message message = {.kind = MESSAGE_START, .run_id = RUN};
    message.start = (struct message_start){0, 1, 2, 1, 6, 0};
    give(&f, 0, message);
    ck_assert_uint_eq(sent(&f, 1, MESSAGE_EXCHANGE)->run_id, RUN);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    give(&f, 0, (struct message){.kind = MESSAGE_WELCOME, .run_id = RUN});
    give(&f, 0, message);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    close_fixture(&f);
}
END_TEST

START_TEST(the_staleness_of_a_gradient_is_that_of_its_stalest_chunk)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    begin(&f);
    push(&f, 0, (struct node){0, 4}, true, frame_of(1, 64));
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        answer(&f, (struct reply){.chunk = chunk,
                                  .verdict = VERDICT_APPLIED,
                                  .version = 5,
                                  .staleness = chunk == 1 ? 3 : 1});
    post_clear(&f.post);
    from_trainer(&f, (struct message){.kind = MESSAGE_REPORT}, NULL);
    struct message *report = sent(&f, 0, MESSAGE_REPORT);
    ck_assert(report->report.has_staleness);
    ck_assert_uint_eq(report->report.staleness, 3);
    close_fixture(&f);
}
END_TEST

/* --- ends
 * ----------------------------------------------------------------------------------------- */

START_TEST(a_refusal_ends_it_with_the_code_of_its_kind)
{
    static const struct {
        enum refusal reason;
        int code;
    } cases[] = {
        {REFUSAL_VERSION, EXIT_MISMATCH}, {REFUSAL_JOB, EXIT_MISMATCH},
        {REFUSAL_MEMBER, EXIT_MISMATCH},  {REFUSAL_PROBE, EXIT_MISMATCH},
        {REFUSAL_RUN, EXIT_CLUSTER_LOST}, {REFUSAL_MALFORMED, EXIT_TRAINING_FAILED},
        {REFUSAL_KEY, EXIT_UNAUTHENTICATED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t server = 0; server < 2; server++) {
            struct fixture f;
            open_fixture(&f, MODE_SYNC);
            begin(&f);
            struct message refused = {.kind = MESSAGE_REFUSED};
            refused.refused.reason = cases[i].reason;
            strcpy(refused.refused.text, "because");
            give(&f, server, refused);
            check_over(&f, cases[i].code, "because");
            /* What another server refused, server 0 has to be told. */
            ck_assert_int_eq(sent(&f, 0, MESSAGE_STOP) != NULL, server == 1);
            close_fixture(&f);
        }
    }
}
END_TEST

START_TEST(a_rejected_gradient_ends_the_job)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
    answer(&f, (struct reply){.verdict = VERDICT_REJECTED, .version = 0});
    check_over(&f, EXIT_TRAINING_FAILED, "rejected");
    ck_assert_uint_eq(sent(&f, 0, MESSAGE_STOP)->stop.exit_code, EXIT_TRAINING_FAILED);
    close_fixture(&f);
}
END_TEST

START_TEST(a_worker_that_stood_by_while_the_job_moved_on_joins_in_where_it_is)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    begin(&f);
    push(&f, 0, (struct node){0, 0}, true, NULL);
    struct message moved = {.kind = MESSAGE_MOVED_ON};
    moved.moved_on.chunk = 1;
    moved.moved_on.version = 3;
    uint64_t request = request_for(&f, 1);
    moved.request = request + 1000;
    post_clear(&f.post);
    give(&f, 1, moved); /* Not what it waits for. */
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    moved.moved_on.chunk = UINT32_MAX;
    give(&f, 1, moved);
    ck_assert_uint_eq(post_count_all(&f.post), 0);

    moved.moved_on.chunk = 1;
    moved.request = request;
    give(&f, 1, moved);
    ck_assert_uint_eq(post_count(&f.post, TO_SERVER, MESSAGE_EXCHANGE), 4);
    ck_assert_uint_eq(sent(&f, 1, MESSAGE_EXCHANGE)->exchange.want_version, 3);
    answer_all(&f, (struct reply){.version = 3, .value = 4});
    ck_assert_uint_eq(to_trainer(&f, MESSAGE_WORK)->work.batch, 3);
    ck_assert(f.parameters[20] == 4.0f);
    close_fixture(&f);
}
END_TEST

START_TEST(the_end_of_the_job_is_heard_in_every_state)
{
    for (int state = 0; state < 4; state++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        if (state == 1)
            join(&f);
        else if (state == 2)
            start(&f, 0);
        else if (state == 3)
            begin(&f);
        struct message finished = {.kind = MESSAGE_FINISHED};
        finished.stop.exit_code = EXIT_CLUSTER_LOST;
        strcpy(finished.stop.reason, "lost worker/0");
        give(&f, 0, finished);
        check_over(&f, EXIT_CLUSTER_LOST, "lost worker/0");
        ck_assert_ptr_nonnull(sent(&f, 0, MESSAGE_BYE));
        post_clear(&f.post);
        give(&f, 0, finished); /* Nothing more is said. */
        push(&f, 0, (struct node){2, 2}, true, frame_of(1, 64));
        tick(&f, 1000);
        ck_assert_uint_eq(post_count_all(&f.post), 0);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(a_stop_is_asked_for_and_a_failure_announced)
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
    ck_assert(!session_is_over(f.session)); /* Server 0 says when. */
    post_clear(&f.post);
    stop.stop.exit_code = EXIT_TRAINING_FAILED;
    strcpy(stop.stop.reason, "training diverged");
    from_trainer(&f, stop, NULL);
    ck_assert_str_eq(sent(&f, 0, MESSAGE_STOP)->stop.reason, "training diverged");
    check_over(&f, EXIT_TRAINING_FAILED, "training diverged");
    close_fixture(&f);
}
END_TEST

/* --- deadlines
 * -------------------------------------------------------------------------------------- */

static void pong(struct fixture *f)
{
    give(f, 0, (struct message){.kind = MESSAGE_PONG});
}

START_TEST(a_start_that_does_not_come_is_given_up_after_server_0_had_its_say)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    tick(&f, 65);
    ck_assert(!session_is_over(f.session));
    tick(&f, 0.1);
    check_over(&f, EXIT_START_TIMEOUT, "nothing heard from ps/0");
    close_fixture(&f);

    open_fixture(&f, MODE_SYNC);
    join(&f);
    struct message waiting = {.kind = MESSAGE_WAITING};
    strcpy(waiting.waiting.text, "waiting for worker/0");
    for (int i = 0; i < 13; i++) {
        give(&f, 0, waiting);
        tick(&f, 5);
    }
    ck_assert(!session_is_over(f.session));
    give(&f, 0, waiting);
    tick(&f, 0.1);
    check_over(&f, EXIT_START_TIMEOUT, "waiting for worker/0");
    close_fixture(&f);
}
END_TEST

START_TEST(a_silent_server_0_is_lost_in_every_state)
{
    for (int state = 0; state < 3; state++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        if (state == 0)
            join(&f);
        else if (state == 1)
            start(&f, 0);
        else
            begin(&f);
        tick(&f, 10);
        ck_assert(!session_is_over(f.session));
        tick(&f, 0.1);
        check_over(&f, EXIT_CLUSTER_LOST, "lost ps/0: nothing heard for 10.1 s");
        close_fixture(&f);
    }
}
END_TEST

START_TEST(an_answer_that_does_not_come_ends_it_naming_the_server)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f, 0);
    answer(&f, (struct reply){.chunk = 0});
    answer(&f, (struct reply){.chunk = 2});
    for (int i = 0; i < 60; i++) {
        pong(&f);
        tick(&f, 5);
    }
    ck_assert(!session_is_over(f.session));
    pong(&f);
    post_clear(&f.post);
    tick(&f, 1);
    check_over(&f, EXIT_CLUSTER_LOST, "no answer from ps/1 for 301 s");
    ck_assert_ptr_nonnull(sent(&f, 0, MESSAGE_STOP));
    close_fixture(&f);
}
END_TEST

START_TEST(a_gradient_that_takes_for_ever_and_an_end_that_does_not_come_have_deadlines)
{
    for (int leaving = 0; leaving < 2; leaving++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        begin(&f);
        if (leaving)
            from_trainer(&f, (struct message){.kind = MESSAGE_DONE}, NULL);
        for (int i = 0; i < 60; i++) {
            pong(&f);
            tick(&f, 5);
            post_clear(&f.post);
        }
        ck_assert(!session_is_over(f.session));
        pong(&f);
        tick(&f, 1);
        if (leaving)
            check_over(&f, EXIT_CLUSTER_LOST, "ps/0 does not end the job");
        else
            check_over(&f, EXIT_TRAINING_FAILED, "stuck: computing one gradient for 301 s");
        close_fixture(&f);
    }
}
END_TEST

/* --- values in memory that the server writes ------------------------------------------------- */

/* What a server shares: two copies of everything, and where private values are copied to. */
struct memory {
    float copies[3][64];
    struct frame *frames[4]; /* Of the latest answer to each chunk. */
};

/* Worker 1 of 2 with so many servers. */
static void open_sharing(struct fixture *f, struct memory *memory, uint32_t servers)
{
    struct error error;
    open_fixture(f, MODE_SYNC);
    memset(memory, 0, sizeof *memory);
    session_destroy(&f->session);
    partition_free(&f->partition);
    job_free(&f->job);
    f->job = small_job(MODE_SYNC, 2, servers);
    ck_assert(partition_make(&f->partition, f->job.variables, 2, servers, 64, false, &error) ==
              STATUS_OK);
    struct session_options options = {
        .worker = 1,
        .incarnation = 9,
        .job = &f->job,
        .partition = &f->partition,
        .parameters = f->parameters,
        .host = "here",
        .start_timeout = 60,
        .worker_timeout = 10,
        .progress_timeout = 300,
    };
    ck_assert(session_create(&f->session, &options, f->now_us) == STATUS_OK);
}

static void close_sharing(struct fixture *f, struct memory *memory)
{
    close_fixture(f);
    for (int i = 0; i < 4; i++)
        if (memory->frames[i] != NULL) {
            ck_assert(frame_is_unique(memory->frames[i])); /* The session lets go. */
            frame_release(memory->frames[i]);
        }
}

/* Values of one chunk, written where they stay; copy -1: in a frame of their own. */
static void answer_in(struct fixture *f, struct memory *memory, uint32_t chunk, int copy,
                      struct reply reply, uint64_t request)
{
    struct frame *frame = frame_of(reply.value, 16);
    if (copy >= 0) {
        float *at = &memory->copies[copy][f->partition.chunks[chunk].first];
        memcpy(at, frame->data, 64);
        frame_release(frame);
        frame = frame_wrap(at, 64, false, NULL, NULL);
        frame->stays = true;
    }
    if (memory->frames[chunk] != NULL)
        frame_release(memory->frames[chunk]);
    memory->frames[chunk] = frame_retain(frame);
    struct packet packet = {.message.kind = MESSAGE_RESULT, .payload = frame};
    packet.message.request = request;
    packet.message.result = (struct message_result){
        .chunk = chunk, .version = reply.version, .stop_step = 6, .parameters = true};
    session_handle_server(f->session, f->partition.chunks[chunk].server, &packet, f->now_us,
                          &f->post.outbox);
}

/* Chunk i of version `version` is i + value everywhere and comes from copies[i]. */
static void answer_from(struct fixture *f, struct memory *memory, const int copies[4],
                        struct reply reply)
{
    uint64_t requests[4];
    float value = reply.value;
    for (uint32_t i = 0; i < 4; i++)
        requests[i] = request_for(f, i);
    post_clear(&f->post);
    for (uint32_t i = 0; i < 4; i++) {
        reply.value = value + (float)i;
        answer_in(f, memory, i, copies[i], reply, requests[i]);
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

START_TEST(values_that_stay_are_read_where_the_server_wrote_them)
{
    struct fixture f;
    struct memory memory;
    open_sharing(&f, &memory, 1);
    start(&f, 0);
    answer_from(&f, &memory, (const int[]){0, 0, 0, 0}, (struct reply){.value = 10});
    ck_assert_ptr_eq(session_parameters(f.session), memory.copies[0]);
    for (uint64_t step = 0; step < 4; step++) { /* Version after version, in turns. */
        push_and_ask(&f, step);
        const int copy = (int)(step + 1) % 2, copies[4] = {copy, copy, copy, copy};
        answer_from(&f, &memory, copies,
                    (struct reply){.version = step + 1, .value = 11 + (float)step});
        ck_assert_ptr_eq(session_parameters(f.session), memory.copies[copy]);
        check_values(&f, 11 + (float)step);
    }
    for (int i = 0; i < 64; i++)
        ck_assert(f.parameters[i] == 0.0f); /* Nothing was copied. */
    close_sharing(&f, &memory);
}
END_TEST

START_TEST(values_from_here_and_there_are_copied_together)
{
    static const int mixtures[][4] = {{0, 0, 0, -1}, {-1, 0, 0, 0}, {0, 0, 1, 0},
                                      {1, 0, 0, 0},  {0, 2, 0, 2},  {-1, -1, -1, -1}};
    struct fixture f;
    struct memory memory;
    open_sharing(&f, &memory, 1);
    start(&f, 0);
    answer_from(&f, &memory, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    for (uint64_t i = 0; i < 5; i++) {
        push_and_ask(&f, i);
        answer_from(&f, &memory, mixtures[i],
                    (struct reply){.version = i + 1, .value = 100 * (float)i});
        ck_assert_ptr_eq(session_parameters(f.session), f.parameters);
        check_values(&f, 100 * (float)i);
    }
    close_sharing(&f, &memory);
}
END_TEST

START_TEST(values_of_two_servers_are_copied_together)
{
    struct fixture f;
    struct memory memory;
    open_sharing(&f, &memory, 2);
    start(&f, 0);
    for (uint64_t step = 0; step < 3; step++) {
        if (step > 0)
            push_and_ask(&f, step - 1);
        /* Each server has its memory to itself. */
        answer_from(&f, &memory, (const int[]){0, 1, 0, 1},
                    (struct reply){.version = step, .value = 7 * (float)step});
        ck_assert_ptr_eq(session_parameters(f.session), f.parameters);
        check_values(&f, 7 * (float)step);
    }
    close_sharing(&f, &memory);
}
END_TEST

START_TEST(memory_that_is_read_is_held_until_new_values_are_asked_for)
{
    struct fixture f;
    struct memory memory;
    open_sharing(&f, &memory, 1);
    start(&f, 0);
    answer_from(&f, &memory, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    for (int i = 0; i < 4; i++)
        ck_assert(!frame_is_unique(memory.frames[i]));
    push(&f, 0, (struct node){0, 1}, false, frame_of(1, 64)); /* More of this step will come. */
    for (int i = 0; i < 4; i++)
        ck_assert(!frame_is_unique(memory.frames[i]));
    ck_assert_ptr_eq(session_parameters(f.session), memory.copies[0]);
    check_values(&f, 1);
    push(&f, 0, (struct node){1, 1}, true, frame_of(1, 64));
    for (int i = 0; i < 4; i++)
        ck_assert(frame_is_unique(memory.frames[i]));
    /* An answer that nobody waits for is not held either. */
    answer_in(&f, &memory, 2, 1, (struct reply){.version = 1, .value = 9}, 12345);
    ck_assert(frame_is_unique(memory.frames[2]));
    /* One that is the first of four, and then the end. */
    answer_in(&f, &memory, 3, 1, (struct reply){.version = 1, .value = 9}, request_for(&f, 3));
    ck_assert(!frame_is_unique(memory.frames[3]));
    close_sharing(&f, &memory);
}
END_TEST

START_TEST(who_was_left_behind_forgets_what_it_has_of_the_old_version)
{
    struct fixture f;
    struct memory memory;
    open_sharing(&f, &memory, 1);
    start(&f, 0);
    answer_from(&f, &memory, (const int[]){0, 0, 0, 0}, (struct reply){.value = 1});
    push(&f, 0, (struct node){0}, true, NULL);
    uint64_t old = request_for(&f, 1);
    answer_in(&f, &memory, 0, 1, (struct reply){.version = 1, .value = 1}, request_for(&f, 0));
    struct message moved = {.kind = MESSAGE_MOVED_ON, .request = old};
    moved.moved_on.chunk = 1;
    moved.moved_on.version = 3;
    post_clear(&f.post);
    give(&f, 0, moved);
    ck_assert(frame_is_unique(memory.frames[0]));
    /* The answer of before comes late, and is of no use. */
    answer_in(&f, &memory, 2, 1, (struct reply){.version = 1, .value = 1}, old + 1);
    answer_from(&f, &memory, (const int[]){1, 1, 1, 1}, (struct reply){.version = 3, .value = 30});
    ck_assert_ptr_eq(session_parameters(f.session), memory.copies[1]);
    check_values(&f, 30);
    close_sharing(&f, &memory);
}
END_TEST

/* Where a payload is to lie in its server's shard, for each gradient of a step. */
START_TEST(gradients_of_one_step_lie_beside_each_other_in_each_shard)
{
    for (uint32_t servers = 1; servers <= 2; servers++) {
        struct fixture f;
        struct memory memory;
        open_sharing(&f, &memory, servers);
        start(&f, 0);
        answer_from(&f, &memory, (const int[]){-1, -1, -1, -1}, (struct reply){.value = 1});
        for (uint64_t step = 0; step < 2; step++) {
            for (uint32_t node = 0; node < 3; node++) {
                push(&f, step, (struct node){node, 1}, node == 2, frame_of(1, 64));
                post_find(&f.post, TO_SERVER, MESSAGE_EXCHANGE);
                for (size_t i = 0, seen = 0; i < f.post.taken_count; i++) {
                    const struct packet *packet = &f.post.taken[i].packet;
                    if (packet->message.kind != MESSAGE_EXCHANGE)
                        continue;
                    uint64_t chunk = seen++ % 4;
                    uint64_t place = servers == 1 ? chunk * 64 : chunk / 2 * 64;
                    ck_assert_uint_eq(packet->message.exchange.chunk, chunk);
                    ck_assert_uint_eq(packet->place, node * (256 / servers) + place);
                }
                if (node < 2)
                    post_clear(&f.post);
            }
            answer_from(&f, &memory, (const int[]){-1, -1, -1, -1},
                        (struct reply){.version = step + 1, .value = 1});
        }
        close_sharing(&f, &memory);
    }
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, it_joins_again_and_again_and_declares_when_asked);
    tcase_add_test(t, once_welcomed_it_says_that_it_is_alive_and_of_which_run);
    tcase_add_test(t, it_pulls_every_chunk_from_its_server_before_the_first_step);
    tcase_add_test(t, a_gradient_is_cut_into_chunks_without_a_copy);
    tcase_add_test(t,
                   only_the_last_node_of_a_step_asks_and_receipts_of_the_others_are_not_waited_for);
    tcase_add_test(t, answers_that_were_not_asked_for_change_nothing);
    tcase_add_test(t, while_the_trainer_computes_nobody_writes_its_parameters);
    tcase_add_test(t, training_ends_at_the_last_version_that_server_0_names);
    tcase_add_test(t, reports_carry_the_times_of_the_exchange_before);
    tcase_add_test(t, async_work_is_leased_computed_and_handed_back_in_order);
    tcase_add_test(t, a_batch_that_is_done_is_not_computed_again_when_its_work_is_repeated);
    tcase_add_test(t, a_start_that_overtakes_its_welcome_is_taken);
    tcase_add_test(t, the_staleness_of_a_gradient_is_that_of_its_stalest_chunk);
    tcase_add_test(t, a_refusal_ends_it_with_the_code_of_its_kind);
    tcase_add_test(t, a_rejected_gradient_ends_the_job);
    tcase_add_test(t, a_worker_that_stood_by_while_the_job_moved_on_joins_in_where_it_is);
    tcase_add_test(t, the_end_of_the_job_is_heard_in_every_state);
    tcase_add_test(t, a_stop_is_asked_for_and_a_failure_announced);
    tcase_add_test(t, a_start_that_does_not_come_is_given_up_after_server_0_had_its_say);
    tcase_add_test(t, a_silent_server_0_is_lost_in_every_state);
    tcase_add_test(t, an_answer_that_does_not_come_ends_it_naming_the_server);
    tcase_add_test(t, a_gradient_that_takes_for_ever_and_an_end_that_does_not_come_have_deadlines);
    tcase_add_test(t, values_that_stay_are_read_where_the_server_wrote_them);
    tcase_add_test(t, values_from_here_and_there_are_copied_together);
    tcase_add_test(t, values_of_two_servers_are_copied_together);
    tcase_add_test(t, memory_that_is_read_is_held_until_new_values_are_asked_for);
    tcase_add_test(t, who_was_left_behind_forgets_what_it_has_of_the_old_version);
    tcase_add_test(t, gradients_of_one_step_lie_beside_each_other_in_each_shard);
}

int main(void)
{
    return suite_run("session", add);
}

#include "common/wire/message.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "proto/syncopate.pb-c.h"
#include "tests/lib/post.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

/* --- messages with every field set --------------------------------------------------------------
 */

enum size { SMALL, LARGE }; /* Every field zero or at its largest. */

static void fill_text(char *text, size_t size, enum size how)
{
    if (how == LARGE)
        memset(text, 'x', size - 1);
}

static void fill_status(struct message_status_answer *a, bool large, enum size how)
{
    a->state = large ? JOB_STATE_COUNT - 1 : JOB_WAITING;
    a->exit_code = large ? 255 : 0;
    fill_text(a->out, sizeof a->out, how);
    fill_text(a->text, sizeof a->text, how);
    a->seconds = large ? 1e300 : 0;
    a->has_job = a->has_checkpoint = large;
    a->mode = large ? MODE_COUNT - 1 : 0;
    uint32_t *counts[] = {&a->workers, &a->worker_count, &a->servers, &a->server_count};
    uint64_t *numbers[] = {&a->step,
                           &a->steps,
                           &a->steps_per_epoch,
                           &a->train_epoch,
                           &a->train_examples,
                           &a->test_step,
                           &a->staleness_max,
                           &a->checkpoint_step,
                           &a->generation,
                           &a->workers_lost,
                           &a->servers_lost,
                           &a->checkpoints_skipped,
                           &a->checkpoints_failed};
    double *reals[] = {&a->train_loss,    &a->train_accuracy,   &a->test_loss,
                       &a->test_accuracy, &a->training_seconds, &a->images_per_second,
                       &a->staleness_mean};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = large ? UINT32_MAX - (uint32_t)i : 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = large ? UINT64_MAX - i : 0;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        *reals[i] = large ? -1e300 / (double)(i + 1) : 0;
}

static void fill_joining(struct message *m, enum size how)
{
    bool large = how == LARGE;
    switch (m->kind) {
    case MESSAGE_JOIN:
        m->join.version_min = large ? UINT32_MAX : 0;
        m->join.version_max = large ? UINT32_MAX : 0;
        memset(m->join.job_digest, large ? 0xff : 0, DIGEST_BYTES);
        memset(m->join.probe_digest, large ? 0xff : 0, DIGEST_BYTES);
        fill_text(m->join.host, sizeof m->join.host, how);
        fill_text(m->join.arithmetic, sizeof m->join.arithmetic, how);
        break;
    case MESSAGE_JOB_PAGE:
        m->job_page.total = large ? JOB_BYTES_MAX : 1;
        m->job_page.offset = large ? JOB_BYTES_MAX - JOB_PAGE_BYTES : 0;
        m->job_page.bytes = large ? JOB_PAGE_BYTES : 1;
        memset(m->job_page.page, 0xa5, m->job_page.bytes);
        break;
    case MESSAGE_WELCOME:
        m->welcome.restore = large;
        m->welcome.restore_step = m->welcome.ticket = m->welcome.proof = large ? UINT64_MAX : 0;
        memset(m->welcome.secret, large ? 0xff : 0, sizeof m->welcome.secret);
        fill_text(m->welcome.out, sizeof m->welcome.out, how);
        break;
    case MESSAGE_WAITING:
    case MESSAGE_PONG:
        fill_text(m->waiting.text, sizeof m->waiting.text, how);
        break;
    case MESSAGE_STATUS:
        m->status.watch = large;
        break;
    case MESSAGE_STATUS_ANSWER:
        fill_status(&m->status_answer, large, how);
        break;
    case MESSAGE_REFUSED:
        m->refused.reason = large ? REFUSAL_COUNT - 1 : REFUSAL_NONE;
        fill_text(m->refused.text, sizeof m->refused.text, how);
        break;
    case MESSAGE_READY:
        m->ready.shared = m->ready.needs_chunks = large;
        break;
    case MESSAGE_START:
        m->start.step = m->start.stop_step = large ? UINT64_MAX : 0;
        m->start.assignment = large ? UINT32_MAX : 0;
        m->start.members = large ? JOB_WORKERS_MAX : 1;
        m->start.position = m->start.members - 1;
        break;
    default:
        break;
    }
}

static void fill_training(struct message *m, enum size how)
{
    bool large = how == LARGE;
    uint64_t u64 = large ? UINT64_MAX : 0;
    uint32_t u32 = large ? UINT32_MAX : 0;
    switch (m->kind) {
    case MESSAGE_PING:
        m->ping.step = u64;
        break;
    case MESSAGE_EXCHANGE:
        m->exchange.chunk = m->exchange.examples = u32;
        m->exchange.step = m->exchange.base_version = m->exchange.want_version = u64;
        m->exchange.node = (struct node){u32, u32};
        m->exchange.gradient = true;
        m->exchange.want = large;
        break;
    case MESSAGE_RESULT:
        m->result.chunk = m->result.held_us = u32;
        m->result.verdict = large ? VERDICT_COUNT - 1 : VERDICT_NONE;
        m->result.version = m->result.staleness = m->result.stop_step = u64;
        m->result.parameters = large;
        break;
    case MESSAGE_MOVED_ON:
        m->moved_on.chunk = u32;
        m->moved_on.version = u64;
        break;
    case MESSAGE_LEASE:
        m->lease.finished = large;
        m->lease.batch = u64;
        break;
    case MESSAGE_WORK:
        m->work.enough = large;
        m->work.batch = u64;
        break;
    case MESSAGE_REPORT:
        m->report.step = m->report.compute_us = m->report.exchange_us = m->report.wait_us =
            m->report.staleness = u64;
        m->report.node = (struct node){u32, u32};
        m->report.loss = large ? INT64_MIN : 0;
        m->report.correct = m->report.examples = large ? BATCH_MAX : 0;
        m->report.has_staleness = large;
        break;
    case MESSAGE_EVALUATION:
        m->evaluation.epoch = m->evaluation.step = m->evaluation.correct = m->evaluation.examples =
            m->evaluation.took_us = u64;
        m->evaluation.loss = large ? INT64_MAX : 0;
        break;
    case MESSAGE_DONE:
        m->done.step = m->done.exchange_us = m->done.wait_us = m->done.staleness = u64;
        m->done.has_staleness = large;
        break;
    default:
        break;
    }
}

static void fill_ending(struct message *m, enum size how)
{
    bool large = how == LARGE;
    uint64_t u64 = large ? UINT64_MAX : 0;
    switch (m->kind) {
    case MESSAGE_STOP:
    case MESSAGE_FINISHED:
        m->stop.exit_code = large ? 255 : 0;
        fill_text(m->stop.reason, sizeof m->stop.reason, how);
        break;
    case MESSAGE_CUT:
        m->cut.step = u64;
        m->cut.final = large;
        break;
    case MESSAGE_CUT_TAKEN:
        m->cut_taken.step = u64;
        m->cut_taken.taken = large;
        m->cut_taken.verdicts = (struct verdict_counts){u64, u64, u64, u64};
        break;
    case MESSAGE_CHUNK_STATE:
        m->chunk_state.step = m->chunk_state.first = u64;
        m->chunk_state.count = large ? UINT64_MAX : 1;
        m->chunk_state.array = large ? CHECKPOINT_ARRAYS_MAX - 1 : 0;
        m->chunk_state.server = large ? JOB_SERVERS_MAX - 1 : 0;
        break;
    case MESSAGE_PART_WRITTEN:
        m->part_written.step = m->part_written.part.bytes = u64;
        m->part_written.written = large;
        m->part_written.server = large ? JOB_SERVERS_MAX - 1 : 0;
        memset(m->part_written.part.digest, large ? 0xff : 0, DIGEST_BYTES);
        fill_text(m->part_written.part.name, sizeof m->part_written.part.name, how);
        fill_text(m->part_written.text, sizeof m->part_written.text, how);
        break;
    default:
        break;
    }
}

static void fill(struct message *m, enum message_kind kind, enum size how)
{
    memset(m, 0, sizeof *m);
    m->kind = kind;
    m->role = how == LARGE ? ROLE_COUNT - 1 : ROLE_NONE;
    m->index = how == LARGE ? UINT32_MAX : 0;
    m->incarnation = m->run_id = m->generation = m->request = how == LARGE ? UINT64_MAX : 0;
    m->ticket = m->proof = m->request;
    fill_joining(m, how);
    fill_training(m, how);
    fill_ending(m, how);
}

START_TEST(every_kind_comes_back_as_it_went)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message, back;
    struct error error;
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        for (int how = SMALL; how <= LARGE; how++) {
            fill(&message, kind, how);
            size_t bytes = message_encode(&message, buffer);
            ck_assert_uint_gt(bytes, 0);
            ck_assert_uint_le(bytes, HEADER_BYTES_MAX);
            memset(&back, 0xee, sizeof back);
            ck_assert_msg(message_decode(buffer, bytes, &back, &error) == STATUS_OK, "%s: %s",
                          message_kind_name(kind), error.text);
            ck_assert_msg(memcmp(&message, &back, sizeof back) == 0, "%s, %s",
                          message_kind_name(kind), how == LARGE ? "large" : "small");
        }
    }
}
END_TEST

START_TEST(every_kind_has_a_name_of_its_own)
{
    for (unsigned a = 1; a < MESSAGE_KIND_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            ck_assert_str_ne(message_kind_name(a), message_kind_name(b));
    ck_assert_str_eq(message_kind_name(MESSAGE_KIND_COUNT), "none");
    ck_assert_str_eq(role_name(ROLE_WORKER), "worker");
    ck_assert_str_eq(role_name(ROLE_COUNT), "nobody");
    ck_assert_str_eq(verdict_name(VERDICT_REJECTED), "rejected");
    ck_assert_str_eq(verdict_name(VERDICT_COUNT), "none");
}
END_TEST

START_TEST(three_kinds_may_have_a_payload)
{
    for (unsigned kind = 0; kind <= MESSAGE_KIND_COUNT; kind++)
        ck_assert_int_eq(message_may_have_payload(kind), kind == MESSAGE_EXCHANGE ||
                                                             kind == MESSAGE_RESULT ||
                                                             kind == MESSAGE_CHUNK_STATE);
}
END_TEST

START_TEST(what_is_no_message_is_never_encoded)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message = {.kind = _i == 0 ? MESSAGE_NONE : MESSAGE_KIND_COUNT};
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* The assertion's line. */
    message_encode(&message, buffer);
}
END_TEST

/* --- bounds: headers packed by protobuf alone
 * ----------------------------------------------------- */

static enum status decode_header(const Syncopate__Header *header, struct message *message)
{
    uint8_t buffer[2 * HEADER_BYTES_MAX];
    struct error error;
    size_t bytes = syncopate__header__get_packed_size(header);
    ck_assert_uint_le(bytes, sizeof buffer);
    syncopate__header__pack(header, buffer);
    return message_decode(buffer, bytes, message, &error);
}

#define HEADER_WITH(field, body, BODY)                                                             \
    Syncopate__Header header;                                                                      \
    syncopate__header__init(&header);                                                              \
    struct message message;                                                                        \
    header.version = PROTOCOL_VERSION_MAX;                                                         \
    header.role = SYNCOPATE__ROLE__ROLE_WORKER;                                                    \
    header.body_case = SYNCOPATE__HEADER__BODY_##BODY;                                             \
    header.field = &(body)

#define TAKES(statement)                                                                           \
    do {                                                                                           \
        statement;                                                                                 \
        ck_assert_int_eq(decode_header(&header, &message), STATUS_OK);                             \
    } while (0)
#define REFUSES(statement)                                                                         \
    do {                                                                                           \
        statement;                                                                                 \
        ck_assert_int_eq(decode_header(&header, &message), STATUS_INVALID);                        \
    } while (0)

START_TEST(versions_and_roles_are_checked)
{
    Syncopate__Ping ping;
    syncopate__ping__init(&ping);
    HEADER_WITH(ping, ping, PING);
    TAKES(;);
    REFUSES(header.version = 0);
    REFUSES(header.version = PROTOCOL_VERSION_MIN - 1);
    REFUSES(header.version = PROTOCOL_VERSION_MAX + 1);
    REFUSES(header.version = UINT32_MAX);
    header.version = PROTOCOL_VERSION_MAX;
    REFUSES(header.role = (Syncopate__Role)ROLE_COUNT);
    REFUSES(header.role = (Syncopate__Role)-1);
    header.role = SYNCOPATE__ROLE__ROLE_PS;
    TAKES(;);
    REFUSES(header.body_case = SYNCOPATE__HEADER__BODY__NOT_SET);
}
END_TEST

START_TEST(a_join_of_any_version_is_read_so_that_it_can_be_answered)
{
    Syncopate__Join join;
    syncopate__join__init(&join);
    HEADER_WITH(join, join, JOIN);
    header.version = 77;
    join.version_min = 70;
    TAKES(join.version_max = 77);
    ck_assert_uint_eq(message.join.version_min, 70);
    REFUSES(join.version_max = 69);
}
END_TEST

/* Whoever is refused for its version is told so in words that it can read. */
START_TEST(a_refusal_can_be_written_and_read_in_any_version)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_REFUSED, .role = ROLE_PS}, back;
    struct error error;
    message.refused.reason = REFUSAL_VERSION;
    for (uint32_t version = 0; version < 4; version++) {
        message.refused.version = version;
        size_t bytes = message_encode(&message, buffer);
        Syncopate__Header *header = syncopate__header__unpack(NULL, bytes, buffer);
        ck_assert_ptr_nonnull(header);
        ck_assert_uint_eq(header->version, version == 0 ? PROTOCOL_VERSION_MAX : version);
        syncopate__header__free_unpacked(header, NULL);
        ck_assert_int_eq(message_decode(buffer, bytes, &back, &error), STATUS_OK);
        ck_assert(back.refused.reason == REFUSAL_VERSION && back.refused.version == 0);
    }
}
END_TEST

START_TEST(a_secret_has_32_bytes_or_none)
{
    uint8_t bytes[64] = {1, 2, 3};
    Syncopate__Welcome welcome;
    syncopate__welcome__init(&welcome);
    HEADER_WITH(welcome, welcome, WELCOME);
    welcome.secret.data = bytes;
    TAKES(welcome.secret.len = 0);
    ck_assert_uint_eq(message.welcome.secret[0], 0);
    TAKES(welcome.secret.len = 32);
    ck_assert_uint_eq(message.welcome.secret[2], 3);
    REFUSES(welcome.secret.len = 31);
    REFUSES(welcome.secret.len = 33);
}
END_TEST

START_TEST(digests_have_32_bytes_or_none)
{
    uint8_t bytes[64] = {1, 2, 3};
    Syncopate__Join join;
    syncopate__join__init(&join);
    HEADER_WITH(join, join, JOIN);
    join.job_digest.data = join.probe_digest.data = bytes;
    TAKES(join.job_digest.len = 0);
    ck_assert_uint_eq(message.join.job_digest[0], 0);
    TAKES(join.job_digest.len = 32);
    ck_assert_uint_eq(message.join.job_digest[2], 3);
    REFUSES(join.job_digest.len = 31);
    REFUSES(join.job_digest.len = 33);
    join.job_digest.len = 32;
    REFUSES(join.probe_digest.len = 1);
}
END_TEST

START_TEST(texts_fit_their_place_and_carry_no_control_characters)
{
    char text[MESSAGE_TEXT_MAX + 1];
    Syncopate__Waiting waiting;
    syncopate__waiting__init(&waiting);
    HEADER_WITH(waiting, waiting, WAITING);
    memset(text, 'a', sizeof text);
    waiting.text = text;
    text[MESSAGE_TEXT_MAX - 1] = '\0';
    TAKES(;);
    text[MESSAGE_TEXT_MAX - 1] = 'a';
    text[MESSAGE_TEXT_MAX] = '\0';
    REFUSES(;);
    strcpy(text, "a\033[2Jb\nc\177d\xc3\xa9");
    TAKES(;);
    ck_assert_str_eq(message.waiting.text, "a?[2Jb?c?d\xc3\xa9");
}
END_TEST

START_TEST(pages_lie_within_the_declaration)
{
    uint8_t bytes[JOB_PAGE_BYTES + 1] = {0};
    Syncopate__JobPage page;
    syncopate__job_page__init(&page);
    HEADER_WITH(job_page, page, JOB_PAGE);
    page.page.data = bytes;
    page.page.len = 10;
    TAKES(page.total = 10);
    REFUSES(page.total = 9);
    REFUSES(page.total = 0);
    page.total = 3000;
    REFUSES(page.page.len = 0);
    TAKES(page.page.len = JOB_PAGE_BYTES);
    REFUSES(page.page.len = JOB_PAGE_BYTES + 1);
    page.page.len = 952;
    TAKES(page.offset = 2048);
    REFUSES(page.offset = 2049);
    REFUSES(page.offset = 3072);
    REFUSES(page.offset = UINT32_MAX - 1023);
    page.page.len = 953;
    REFUSES(page.offset = 2048);
    page.page.len = 1;
    REFUSES(page.offset = 1);
    page.offset = 0;
    TAKES(page.total = JOB_BYTES_MAX);
    REFUSES(page.total = JOB_BYTES_MAX + 1);
    REFUSES(page.total = UINT32_MAX);
}
END_TEST

START_TEST(a_start_names_a_place_among_the_members)
{
    Syncopate__Start start;
    syncopate__start__init(&start);
    HEADER_WITH(start, start, START);
    REFUSES(start.members = 0);
    TAKES(start.members = 1);
    REFUSES(start.position = 1);
    TAKES(start.members = JOB_WORKERS_MAX);
    REFUSES(start.members = JOB_WORKERS_MAX + 1);
    start.members = 2;
    TAKES(start.step = 0);
    REFUSES(start.step = 1);
    TAKES(start.stop_step = 1);
}
END_TEST

START_TEST(an_exchange_pushes_or_pulls)
{
    Syncopate__Exchange exchange;
    syncopate__exchange__init(&exchange);
    HEADER_WITH(exchange, exchange, EXCHANGE);
    REFUSES(;);
    TAKES(exchange.want = 1);
    TAKES(exchange.gradient = 1);
    TAKES(exchange.want = 0);
}
END_TEST

START_TEST(enumerations_are_checked)
{
    Syncopate__Result result;
    syncopate__result__init(&result);
    HEADER_WITH(result, result, RESULT);
    TAKES(result.verdict = (Syncopate__Verdict)(VERDICT_COUNT - 1));
    REFUSES(result.verdict = (Syncopate__Verdict)VERDICT_COUNT);
    REFUSES(result.verdict = (Syncopate__Verdict)-1);
    Syncopate__Refused refused;
    syncopate__refused__init(&refused);
    header.body_case = SYNCOPATE__HEADER__BODY_REFUSED;
    header.refused = &refused;
    TAKES(refused.reason = (Syncopate__Refusal)(REFUSAL_COUNT - 1));
    REFUSES(refused.reason = (Syncopate__Refusal)REFUSAL_COUNT);
    REFUSES(refused.reason = (Syncopate__Refusal)INT32_MIN);
}
END_TEST

START_TEST(counts_of_scores_are_checked)
{
    Syncopate__Report report;
    syncopate__report__init(&report);
    HEADER_WITH(report, report, REPORT);
    TAKES(report.examples = BATCH_MAX);
    REFUSES(report.examples = BATCH_MAX + 1);
    report.examples = 5;
    TAKES(report.correct = 5);
    REFUSES(report.correct = 6);
    Syncopate__Evaluation evaluation;
    syncopate__evaluation__init(&evaluation);
    header.body_case = SYNCOPATE__HEADER__BODY_EVALUATION;
    header.evaluation = &evaluation;
    evaluation.examples = UINT64_MAX - 1;
    TAKES(evaluation.correct = UINT64_MAX - 1);
    REFUSES(evaluation.correct = UINT64_MAX);
}
END_TEST

START_TEST(exit_codes_are_those_a_process_can_have)
{
    Syncopate__Stop stop;
    syncopate__stop__init(&stop);
    HEADER_WITH(stop, stop, STOP);
    TAKES(stop.exit_code = 255);
    REFUSES(stop.exit_code = 256);
    Syncopate__Finished finished;
    syncopate__finished__init(&finished);
    header.body_case = SYNCOPATE__HEADER__BODY_FINISHED;
    header.finished = &finished;
    TAKES(finished.exit_code = 255);
    REFUSES(finished.exit_code = 256);
    REFUSES(finished.exit_code = UINT32_MAX);
}
END_TEST

START_TEST(parts_and_chunk_states_name_places_that_can_be)
{
    Syncopate__ChunkState state;
    syncopate__chunk_state__init(&state);
    HEADER_WITH(chunk_state, state, CHUNK_STATE);
    REFUSES(;);
    TAKES(state.count = 1);
    REFUSES(state.array = CHECKPOINT_ARRAYS_MAX);
    state.array = 0;
    REFUSES(state.server = JOB_SERVERS_MAX);

    char name[CHECKPOINT_PART_NAME_MAX + 1] = "part-0-of-2.safetensors";
    Syncopate__PartWritten part;
    syncopate__part_written__init(&part);
    header.body_case = SYNCOPATE__HEADER__BODY_PART_WRITTEN;
    header.part_written = &part;
    part.name = name;
    TAKES(;);
    REFUSES(part.server = JOB_SERVERS_MAX);
    part.server = 0;
    strcpy(name, "../../etc/passwd");
    REFUSES(;);
    memset(name, 'n', sizeof name - 1);
    name[CHECKPOINT_PART_NAME_MAX] = '\0';
    REFUSES(;);
    name[CHECKPOINT_PART_NAME_MAX - 1] = '\0';
    TAKES(;);
}
END_TEST

START_TEST(a_header_has_a_size_and_fields_nobody_knows_are_skipped)
{
    uint8_t buffer[HEADER_BYTES_MAX + 16];
    struct message message, ping;
    struct error error;
    fill(&ping, MESSAGE_PING, LARGE);
    size_t bytes = message_encode(&ping, buffer);
    ck_assert(message_decode(buffer, 0, &message, &error) == STATUS_INVALID);
    /* Field 1000, a string that fills the header. */
    buffer[bytes++] = 0xc2;
    buffer[bytes++] = 0x3e;
    size_t rest = HEADER_BYTES_MAX - bytes - 2;
    buffer[bytes++] = (uint8_t)(0x80 | (rest & 0x7f));
    buffer[bytes++] = (uint8_t)(rest >> 7);
    memset(buffer + bytes, 'z', rest + 16);
    ck_assert(message_decode(buffer, HEADER_BYTES_MAX, &message, &error) == STATUS_OK);
    ck_assert(message.kind == MESSAGE_PING);
    ck_assert(message_decode(buffer, HEADER_BYTES_MAX + 1, &message, &error) == STATUS_INVALID);
}
END_TEST

START_TEST(a_header_made_to_use_up_memory_does_not_decode)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message;
    struct error error;
    for (size_t i = 0; i + 1 < sizeof buffer; i += 2) { /* 2048 unknown fields of two bytes. */
        buffer[i] = 15 << 3;
        buffer[i + 1] = 0;
    }
    ck_assert(message_decode(buffer, sizeof buffer, &message, &error) == STATUS_INVALID);
}
END_TEST

/* --- fuzz ----------------------------------------------------------------------------------------
 */

/* What decodes must encode again, to the same message. */
static void decode_anything(const uint8_t *bytes, size_t count)
{
    static struct message message, again;
    uint8_t buffer[HEADER_BYTES_MAX];
    struct error error;
    if (message_decode(bytes, count, &message, &error) != STATUS_OK)
        return;
    ck_assert(message.kind > MESSAGE_NONE && message.kind < MESSAGE_KIND_COUNT);
    ck_assert_uint_lt(message.role, ROLE_COUNT);
    size_t back = message_encode(&message, buffer);
    ck_assert(message_decode(buffer, back, &again, &error) == STATUS_OK);
    ck_assert(memcmp(&message, &again, sizeof message) == 0);
}

START_TEST(random_bytes_never_hurt)
{
    uint8_t bytes[300];
    struct random_sequence sequence;
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 100000; i++) {
        size_t count = 1 + random_below(&sequence, i % 8 == 0 ? sizeof bytes : 24);
        for (size_t b = 0; b < count; b++)
            bytes[b] = (uint8_t)random_next(&sequence);
        decode_anything(bytes, count);
    }
}
END_TEST

START_TEST(valid_headers_with_a_few_bytes_changed_never_hurt)
{
    uint8_t bytes[HEADER_BYTES_MAX + 8];
    struct message message;
    struct random_sequence sequence;
    random_sequence_init(&sequence, 2, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 150000; i++) {
        fill(&message, 1 + random_below(&sequence, MESSAGE_KIND_COUNT - 1),
             random_below(&sequence, 2));
        size_t count = message_encode(&message, bytes);
        for (uint32_t n = 1 + random_below(&sequence, 4); n > 0; n--) {
            uint32_t at = random_below(&sequence, (uint32_t)count);
            switch (random_below(&sequence, 4)) {
            case 0:
                bytes[at] = (uint8_t)random_next(&sequence);
                break;
            case 1:
                bytes[at] ^= (uint8_t)(1u << random_below(&sequence, 8));
                break;
            case 2: /* Cut off. */
                count = at + 1;
                break;
            default: /* Lengthened. */
                memmove(bytes + at + 1, bytes + at, count - at);
                count += count < HEADER_BYTES_MAX;
            }
        }
        decode_anything(bytes, count);
    }
}
END_TEST

/* --- declarations --------------------------------------------------------------------------------
 */

static void check_round_trip(const struct job *job)
{
    uint8_t *bytes, *again;
    uint32_t count, count_again;
    struct job back;
    struct error error;
    ck_assert(job_encode(job, &bytes, &count) == STATUS_OK);
    ck_assert_msg(job_decode(bytes, count, &back, &error) == STATUS_OK, "%s", error.text);
    ck_assert_msg(job_compare(job, "a", &back, "b", JOB_SCOPE_ALL, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_str_eq(job->data, back.data);
    ck_assert(job_encode(&back, &again, &count_again) == STATUS_OK);
    ck_assert_uint_eq(count, count_again);
    ck_assert(memcmp(bytes, again, count) == 0);
    free(bytes);
    free(again);
    job_free(&back);
}

START_TEST(a_declaration_comes_back_field_by_field)
{
    struct job job = sample_job();
    check_round_trip(&job);
    job.mode = MODE_ASYNC;
    job.use_locking = true;
    check_round_trip(&job);
    job_free(&job);
    job = small_job(MODE_SYNC, 1, 0);
    check_round_trip(&job);
    job_free(&job);
}
END_TEST

START_TEST(a_declaration_of_many_variables_comes_back)
{
    struct job job = small_job(MODE_SYNC, JOB_WORKERS_MAX, JOB_SERVERS_MAX);
    free(job.variables);
    job.variable_count = 20000;
    job.variables = calloc(job.variable_count, sizeof *job.variables);
    for (uint32_t i = 0; i < job.variable_count; i++) {
        struct variable *variable = &job.variables[i];
        snprintf(variable->name, sizeof variable->name, "v%u", i);
        variable->rank = 1 + i % VARIABLE_RANK_MAX;
        for (uint32_t axis = 0; axis < variable->rank; axis++)
            variable->shape[axis] = 1 + (i + axis) % 3;
    }
    check_round_trip(&job);
    job_free(&job);
}
END_TEST

static enum status decode_job(const Syncopate__Job *wire)
{
    struct job job;
    struct error error;
    size_t size = syncopate__job__get_packed_size(wire);
    uint8_t *bytes = malloc(size);
    syncopate__job__pack(wire, bytes);
    enum status status = job_decode(bytes, (uint32_t)size, &job, &error);
    free(bytes);
    if (status == STATUS_OK)
        job_free(&job);
    return status;
}

/* The small job as protobuf sees it. */
static Syncopate__Job *wire_job(void)
{
    uint8_t *bytes;
    uint32_t count;
    struct job job = small_job(MODE_SYNC, 2, 2);
    ck_assert(job_encode(&job, &bytes, &count) == STATUS_OK);
    Syncopate__Job *wire = syncopate__job__unpack(NULL, count, bytes);
    free(bytes);
    job_free(&job);
    return wire;
}

START_TEST(hostile_declarations_are_refused)
{
    Syncopate__Job *wire = wire_job();
    ck_assert_int_eq(decode_job(wire), STATUS_OK);
#define HOSTILE(field, value)                                                                      \
    do {                                                                                           \
        Syncopate__Job kept = *wire;                                                               \
        wire->field = (value);                                                                     \
        ck_assert_msg(decode_job(wire) == STATUS_INVALID, #field " = " #value);                    \
        *wire = kept;                                                                              \
    } while (0)
    HOSTILE(mode, MODE_COUNT);
    HOSTILE(mode, UINT32_MAX);
    HOSTILE(schedule, SCHEDULE_KIND_COUNT);
    HOSTILE(use_locking, 1); /* In sync mode. */
    HOSTILE(examples, 0);
    HOSTILE(batch, 0);
    HOSTILE(batch, UINT32_MAX);
    HOSTILE(micro_batch, 0);
    HOSTILE(steps, 0);
    HOSTILE(worker_count, 0);
    HOSTILE(worker_count, JOB_WORKERS_MAX + 1);
    HOSTILE(chunk_bytes, 1);
    HOSTILE(chunk_bytes, UINT64_MAX);
    HOSTILE(n_variables, 0);
    HOSTILE(epsilon, -1.0f);
    HOSTILE(momentum, 1.0f);
    HOSTILE(learning_rate, -1.0);
    HOSTILE(optimizer, (char *)(uintptr_t) "adamantium");
    HOSTILE(optimizer, (char *)(uintptr_t) "a name that is longer than its place");
    HOSTILE(data_digest.len, 31);
#undef HOSTILE
    uint64_t *shape = wire->variables[0]->shape;
    const uint64_t hostile[] = {0, UINT64_MAX, UINT64_C(1) << 62, (UINT64_C(1) << 40) / 16 + 1};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        uint64_t kept = shape[0];
        shape[0] = hostile[i];
        ck_assert_int_eq(decode_job(wire), STATUS_INVALID);
        shape[0] = kept;
    }
    wire->variables[1]->initializer = INITIALIZER_COUNT;
    ck_assert_int_eq(decode_job(wire), STATUS_INVALID);
    syncopate__job__free_unpacked(wire, NULL);
}
END_TEST

START_TEST(too_many_of_anything_is_refused)
{
    Syncopate__Job *wire = wire_job();
    Syncopate__Variable **variables = wire->variables;
    char **servers = wire->servers;
    size_t variable_count = wire->n_variables, server_count = wire->n_servers;
    enum { MANY = VARIABLE_COUNT_MAX + 1 };
    Syncopate__Variable **many = calloc(MANY, sizeof *many);
    char **many_servers = calloc(JOB_SERVERS_MAX + 1, sizeof *many_servers);
    for (size_t i = 0; i < MANY; i++)
        many[i] = variables[0];
    for (size_t i = 0; i < JOB_SERVERS_MAX + 1; i++)
        many_servers[i] = servers[0];
    wire->variables = many;
    wire->n_variables = MANY;
    ck_assert_int_eq(decode_job(wire), STATUS_INVALID);
    wire->variables = variables;
    wire->n_variables = variable_count;
    wire->servers = many_servers;
    wire->n_servers = JOB_SERVERS_MAX + 1;
    ck_assert_int_eq(decode_job(wire), STATUS_INVALID);
    wire->servers = servers;
    wire->n_servers = server_count;
    syncopate__job__free_unpacked(wire, NULL);
    free(many);
    free(many_servers);
}
END_TEST

/* As many variables as there may be, all with the shortest or the longest of everything. */
START_TEST(the_largest_declarations_come_back)
{
    struct job job = small_job(MODE_SYNC, JOB_WORKERS_MAX, JOB_SERVERS_MAX);
    free(job.variables);
    job.variable_count = VARIABLE_COUNT_MAX;
    job.variables = calloc(job.variable_count, sizeof *job.variables);
    ck_assert_ptr_nonnull(job.variables);
    for (uint32_t i = 0; i < job.variable_count; i++) {
        struct variable *variable = &job.variables[i];
        int width = _i == 0 ? 1 : VARIABLE_NAME_MAX - 1;
        snprintf(variable->name, sizeof variable->name, "%0*x", width, i);
        variable->rank = _i == 0 ? 1 : VARIABLE_RANK_MAX;
        for (uint32_t axis = 0; axis < variable->rank; axis++)
            variable->shape[axis] = 1;
    }
    check_round_trip(&job);
    job_free(&job);
}
END_TEST

/* Two bytes that make a decoder take dozens: so many of them that memory is refused, not taken. */
START_TEST(declarations_made_to_use_up_memory_do_not_decode)
{
    static const uint8_t pairs[][2] = {
        {5 << 3 | 2, 0},     /* A variable without anything. */
        {28 << 3 & 0x7f, 0}, /* Field 12, with a varint where a float belongs: unknown. */
        {15 << 3, 1},        /* The same number again and again. */
    };
    struct job job;
    struct error error;
    uint8_t *bytes = malloc(JOB_BYTES_MAX);
    ck_assert_ptr_nonnull(bytes);
    for (uint32_t i = 0; i < JOB_BYTES_MAX; i++)
        bytes[i] = pairs[_i][i % 2];
    ck_assert(job_decode(bytes, JOB_BYTES_MAX, &job, &error) == STATUS_INVALID);
    ck_assert_str_eq(error.text, "declaration does not decode"); /* Nothing in it was looked at. */
    free(bytes);
}
END_TEST

START_TEST(a_declaration_too_large_for_its_limit_is_refused_unread)
{
    struct job job;
    struct error error;
    uint8_t nothing = 0;
    ck_assert(job_decode(&nothing, JOB_BYTES_MAX + 1, &job, &error) == STATUS_INVALID);
    ck_assert(job_decode(&nothing, 0, &job, &error) == STATUS_INVALID); /* Empty. */
}
END_TEST

START_TEST(declarations_with_bytes_changed_never_hurt)
{
    uint8_t *bytes, *changed;
    uint32_t count;
    struct job sample = sample_job(), job;
    struct error error;
    struct random_sequence sequence;
    random_sequence_init(&sequence, 3, RANDOM_STREAM_PROBE, 0);
    ck_assert(job_encode(&sample, &bytes, &count) == STATUS_OK);
    changed = malloc(count);
    for (int i = 0; i < 60000; i++) {
        memcpy(changed, bytes, count);
        uint32_t used =
            random_below(&sequence, 8) == 0 ? 1 + random_below(&sequence, count) : count;
        for (uint32_t n = 1 + random_below(&sequence, 4); n > 0; n--)
            changed[random_below(&sequence, used)] = (uint8_t)random_next(&sequence);
        if (job_decode(changed, used, &job, &error) == STATUS_OK) {
            ck_assert(job_check(&job, &error) == STATUS_OK);
            job_free(&job);
        }
    }
    free(changed);
    free(bytes);
    job_free(&sample);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, every_kind_comes_back_as_it_went);
    tcase_add_test(t, every_kind_has_a_name_of_its_own);
    tcase_add_test(t, three_kinds_may_have_a_payload);
    tcase_add_loop_test_raise_signal(t, what_is_no_message_is_never_encoded, SIGABRT, 0, 2);
    tcase_add_test(t, versions_and_roles_are_checked);
    tcase_add_test(t, a_join_of_any_version_is_read_so_that_it_can_be_answered);
    tcase_add_test(t, a_refusal_can_be_written_and_read_in_any_version);
    tcase_add_test(t, a_secret_has_32_bytes_or_none);
    tcase_add_test(t, digests_have_32_bytes_or_none);
    tcase_add_test(t, texts_fit_their_place_and_carry_no_control_characters);
    tcase_add_test(t, pages_lie_within_the_declaration);
    tcase_add_test(t, a_start_names_a_place_among_the_members);
    tcase_add_test(t, an_exchange_pushes_or_pulls);
    tcase_add_test(t, enumerations_are_checked);
    tcase_add_test(t, counts_of_scores_are_checked);
    tcase_add_test(t, exit_codes_are_those_a_process_can_have);
    tcase_add_test(t, parts_and_chunk_states_name_places_that_can_be);
    tcase_add_test(t, a_header_has_a_size_and_fields_nobody_knows_are_skipped);
    tcase_add_test(t, a_header_made_to_use_up_memory_does_not_decode);
    tcase_add_test(t, random_bytes_never_hurt);
    tcase_add_test(t, valid_headers_with_a_few_bytes_changed_never_hurt);
    tcase_add_test(t, a_declaration_comes_back_field_by_field);
    tcase_add_test(t, a_declaration_of_many_variables_comes_back);
    tcase_add_test(t, hostile_declarations_are_refused);
    tcase_add_test(t, too_many_of_anything_is_refused);
    tcase_add_loop_test(t, the_largest_declarations_come_back, 0, 2);
    tcase_add_loop_test(t, declarations_made_to_use_up_memory_do_not_decode, 0, 3);
    tcase_add_test(t, a_declaration_too_large_for_its_limit_is_refused_unread);
    tcase_add_test(t, declarations_with_bytes_changed_never_hurt);
}

int main(void)
{
    return suite_run("message", add);
}

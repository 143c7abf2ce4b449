/* test_message.c - every kind of message as bytes and back, and bytes that are refused. */

#include "common/wire/message.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "proto/syncopate.pb-c.h"
#include "tests/lib/post.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

/* --- kinds ------------------------------------------------------------------------------------ */

TEST_PLAIN(every_kind_has_a_name_of_its_own)
{
    for (unsigned a = 1; a < MESSAGE_KIND_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            ck_assert_str_ne(message_kind_name(a), message_kind_name(b));
    ck_assert_str_eq(message_kind_name(MESSAGE_KIND_COUNT), "none");
    ck_assert_str_eq(role_name(ROLE_WORKER), "worker");
    ck_assert_str_eq(role_name(ROLE_COUNT), "none");
    ck_assert_str_eq(verdict_name(VERDICT_REJECTED), "rejected");
    ck_assert_str_eq(verdict_name(VERDICT_COUNT), "none");
}

TEST_PLAIN(seven_kinds_may_have_a_payload)
{
    for (unsigned kind = 0; kind <= MESSAGE_KIND_COUNT; kind++)
        ck_assert_int_eq(message_may_have_payload(kind),
                         kind == MESSAGE_EXCHANGE || kind == MESSAGE_RESULT ||
                             kind == MESSAGE_CHUNK_STATE || kind == MESSAGE_READY ||
                             kind == MESSAGE_CUT_TAKEN || kind == MESSAGE_START ||
                             kind == MESSAGE_CLOSE);
}

START_TEST(what_is_no_message_is_never_encoded)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message = {.kind = _i == 0 ? MESSAGE_NONE : MESSAGE_KIND_COUNT};
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* The assertion's line. */
    message_encode(&message, buffer);
}

/* --- headers packed by protobuf alone --------------------------------------------------------- */

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

TEST_PLAIN(versions_and_roles_are_checked)
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

TEST_PLAIN(a_join_of_any_version_is_read_so_that_it_can_be_answered)
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

/* Whoever is refused for its version is told so in words that it can read. */
TEST_PLAIN(a_refusal_can_be_written_and_read_in_any_version)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_REFUSED, .role = ROLE_PS}, back;
    struct error error;
    message.refused.reason = REFUSAL_VERSION;
    for (uint32_t version = 0; version < PROTOCOL_VERSION_MAX; version++) {
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

TEST_PLAIN(a_header_has_a_size_and_fields_nobody_knows_are_skipped)
{
    uint8_t buffer[HEADER_BYTES_MAX + 16];
    struct message message, ping = specimen(MESSAGE_PING, SPECIMEN_LARGEST);
    struct error error;
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

TEST_PLAIN(a_header_made_to_use_up_memory_does_not_decode)
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

/* --- fuzz ------------------------------------------------------------------------------------- */

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

TEST_PLAIN(random_bytes_never_hurt)
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

TEST_PLAIN(valid_headers_with_a_few_bytes_changed_never_hurt)
{
    uint8_t bytes[HEADER_BYTES_MAX + 8];
    struct message message;
    struct random_sequence sequence;
    random_sequence_init(&sequence, 2, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 150000; i++) {
        message = specimen(1 + random_below(&sequence, MESSAGE_KIND_COUNT - 1),
                           random_below(&sequence, SPECIMEN_LARGEST + 1));
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

/* --- declarations ----------------------------------------------------------------------------- */

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

TEST_PLAIN(a_declaration_comes_back_field_by_field)
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

TEST_PLAIN(a_declaration_of_many_variables_comes_back)
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

TEST_PLAIN(hostile_declarations_are_refused)
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

TEST_PLAIN(too_many_of_anything_is_refused)
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

/* As many variables as there may be, all with the shortest or the longest of everything. */
TEST_TIMES(the_largest_declarations_come_back, 2)
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

/* Two bytes that make a decoder take dozens: so many of them that memory is refused, not taken. */
TEST_TIMES(declarations_made_to_use_up_memory_do_not_decode, 3)
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

TEST_PLAIN(a_declaration_too_large_for_its_limit_is_refused_unread)
{
    struct job job;
    struct error error;
    uint8_t nothing = 0;
    ck_assert(job_decode(&nothing, JOB_BYTES_MAX + 1, &job, &error) == STATUS_INVALID);
    ck_assert(job_decode(&nothing, 0, &job, &error) == STATUS_INVALID); /* Empty. */
}

TEST_PLAIN(declarations_with_bytes_changed_never_hurt)
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

static void add(TCase *t)
{
    tcase_add_loop_test_raise_signal(t, what_is_no_message_is_never_encoded, SIGABRT, 0, 2);
}

int main(void)
{
    return suite_run("message", add);
}

/* message.c - moves fields to protobuf-c's structures and back by the rows of message_rows.inc.
 * Decoding allocates from an arena on the stack. */

#include "common/wire/message.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/job/job_fields.h"
#include "common/wire/message_fields.h"
#include "proto/syncopate.pb-c.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "payloads are little-endian floats as they lie in memory");

/* Enough for any header of ours; a header crafted to blow up in memory fails to decode instead. */
#define ARENA_BYTES (32u << 10)

/* Beside its bytes a variable takes this much of the arena: its structure, its shape, its place
 * in the list, and protobuf-c's notes on every field. */
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
    return result; /* protobuf-c fills it in. */
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer; /* The arena frees all at once. */
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

static ProtobufCBinaryData give_bytes(const void *bytes, size_t count)
{
    /* Packing only reads; protobuf-c has no const. */
    return (ProtobufCBinaryData){count, (uint8_t *)(uintptr_t)bytes};
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

/* --- the table ----------------------------------------------------------------------------- */

static const char *verdict_word(unsigned number)
{
    return verdict_name((enum verdict)number);
}

static const char *wait_word(unsigned number)
{
    return wait_name((enum wait)number);
}

static const char *refusal_word(unsigned number)
{
    static const char *const names[REFUSAL_COUNT] = {
        "none", "version", "job", "member", "run", "probe", "malformed", "rejoin", "key", "owner"};
    return number < REFUSAL_COUNT ? names[number] : "unknown";
}

static const char *eviction_word(unsigned number)
{
    static const char *const names[EVICTION_COUNT] = {"told",  "gone",  "another",
                                                      "owner", "early", "over"};
    return number < EVICTION_COUNT ? names[number] : "unknown";
}

static const char *job_state_word(unsigned number)
{
    return job_state_name((enum job_state)number);
}

/* Conditions on several fields at once; the bounds of each are in its row. */

static bool versions_are_in_order(const void *body)
{
    const struct message_join *join = body;
    return join->version_min <= join->version_max;
}

static bool page_lies_within(const void *body)
{
    const struct message_job_page *page = body;
    return page->offset <= page->total && page->bytes <= page->total - page->offset &&
           page->offset % JOB_PAGE_BYTES == 0;
}

static bool start_has_a_place(const void *body)
{
    const struct message_start *start = body;
    return start->position < start->members && start->step <= start->stop_step;
}

static bool exchange_asks_for_something(const void *body)
{
    const struct message_exchange *exchange = body;
    return exchange->gradient || exchange->want || exchange->skip;
}

static bool work_has_its_share(const void *body)
{
    const struct message_work *work = body;
    return work->scored > 0 ? work->share < work->shares : work->share == 0 && work->shares == 0;
}

static bool report_adds_up(const void *body)
{
    const struct message_report *report = body;
    return report->correct <= report->examples && report->longer <= report->leaves;
}

static bool evaluation_adds_up(const void *body)
{
    const struct message_evaluation *evaluation = body;
    return evaluation->correct <= evaluation->examples &&
           evaluation->not_finite <= evaluation->examples && evaluation->share < evaluation->shares;
}

#define SIZE_OF(member)       sizeof((struct message *)0)->member
#define ANY                   0, UINT64_MAX, NULL
#define AT_MOST(most)         0, most, NULL
#define FROM_TO(least, most)  least, most, NULL
#define IS_WORD(words, count) 0, (count)-1, words

/* clang-format off */
#define EVERY_MESSAGE static const struct message_field fields_of_all[] = {
#define MESSAGE(KIND, name, Type, payload, holds)                                                  \
    static const struct message_field fields_of_##name[] = {
#define ROW(name, Type, wire, member, kind, ...)                                                   \
    {name, #wire, #member, FIELD_##kind, offsetof(struct message, member), SIZE_OF(member),        \
     offsetof(Syncopate__##Type, wire), __VA_ARGS__},
#define FIELD(Type, place, field, kind, ...)                                                       \
    ROW(#field, Type, field, place.field, kind, __VA_ARGS__)
#define WORD(Type, place, field, words, count)                                                     \
    FIELD(Type, place, field, WORD, IS_WORD(words, count))
#define OURS(place, field, kind)                                                                   \
    {#field, NULL, #place "." #field, FIELD_##kind, offsetof(struct message, place.field),         \
     SIZE_OF(place.field), 0, ANY},
#define END {.kind = FIELD_END}};
#include "common/wire/message_rows.inc"

struct kind {
    const char *name;
    int body_case; /* Of the oneof. */
    const ProtobufCMessageDescriptor *wire;
    const struct message_field *fields;
    bool payload;
    bool (*holds)(const void *body); /* NULL: any fields are valid. */
};

#define MESSAGE(KIND, name, Type, payload, holds)                                                  \
    [MESSAGE_##KIND] = {#name, SYNCOPATE__HEADER__BODY_##KIND, &syncopate__##name##__descriptor,   \
                        fields_of_##name, payload, holds},
static const struct kind kinds[MESSAGE_KIND_COUNT] = {
#include "common/wire/message_rows.inc"
};

/* The body of any kind, while it is packed. */
#define MESSAGE(KIND, name, Type, payload, holds) Syncopate__##Type name;
union body {
#include "common/wire/message_rows.inc"
};
/* clang-format on */

_Static_assert(sizeof(enum verdict) == sizeof(uint32_t) &&
                   sizeof(enum refusal) == sizeof(uint32_t) &&
                   sizeof(enum job_state) == sizeof(uint32_t) &&
                   sizeof(enum mode) == sizeof(uint32_t) &&
                   sizeof(Syncopate__Verdict) == sizeof(uint32_t) &&
                   sizeof(Syncopate__Refusal) == sizeof(uint32_t),
               "words are numbers of 32 bits");

const struct message_field *message_fields(enum message_kind kind)
{
    return kind == MESSAGE_NONE ? fields_of_all : kinds[kind].fields;
}

const void *message_field_report(const struct message_field *field, const void *message)
{
    return (const char *)message + field->offset - offsetof(struct message, report);
}

/* --- fields by their rows ------------------------------------------------------------------ */

/* The member of the row above: how many bytes a page has, or whether there is a report. */
static const void *row_above(const struct message_field *field, const void *message)
{
    return (const char *)message + field[-1].offset;
}

static void put_fields(const struct message_field *field, const void *message, void *wire,
                       Syncopate__Report *report);

static void put_report(const struct message_field *field, const void *message,
                       Syncopate__Report **to, Syncopate__Report *report)
{
    if (!*(const bool *)row_above(field, message))
        return;
    syncopate__report__init(*to = report);
    put_fields(fields_of_report, message_field_report(field, message), report, NULL);
}

static ProtobufCBinaryData give_page(const struct message_field *field, const void *message)
{
    uint32_t count = *(const uint32_t *)row_above(field, message);
    assert(count <= field->size);
    return give_bytes((const char *)message + field->offset, count);
}

static void put_field(const struct message_field *field, const void *message, void *to,
                      Syncopate__Report *report)
{
    const void *from = (const char *)message + field->offset;
    switch (field->kind) {
    case FIELD_FLAG:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return;
    case FIELD_U32:
    case FIELD_WORD:
        *(uint32_t *)to = *(const uint32_t *)from;
        return;
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_ID:
    case FIELD_REAL:
        *(uint64_t *)to = *(const uint64_t *)from;
        return;
    case FIELD_TEXT:
    case FIELD_NAME:
        assert(memchr(from, '\0', field->size) != NULL);
        *(char **)to = give_text(from);
        return;
    case FIELD_DIGEST:
    case FIELD_SECRET:
        if (field->kind == FIELD_DIGEST || !is_zero(from))
            *(ProtobufCBinaryData *)to = give_bytes(from, DIGEST_BYTES);
        return;
    case FIELD_PAGE:
        *(ProtobufCBinaryData *)to = give_page(field, message);
        return;
    case FIELD_REPORT:
        put_report(field, message, to, report);
        return;
    case FIELD_END:
        return;
    }
}

/* `report`: where the message's report, if there is one, lies until it is packed. */
static void put_fields(const struct message_field *field, const void *message, void *wire,
                       Syncopate__Report *report)
{
    for (; field->kind != FIELD_END; field++)
        if (field->wire != NULL)
            put_field(field, message, (char *)wire + field->wire_offset, report);
}

static bool get_fields(const struct message_field *field, const void *wire, void *message);

static bool get_report(const struct message_field *field, const Syncopate__Report *from,
                       void *message)
{
    if (from == NULL)
        return true;
    *(bool *)(uintptr_t)row_above(field, message) = true;
    void *place = (void *)(uintptr_t)message_field_report(field, message);
    return get_fields(fields_of_report, from, place) &&
           report_adds_up((char *)message + field->offset);
}

static bool get_page(const struct message_field *field, ProtobufCBinaryData from, void *message)
{
    if (from.len < field->least || from.len > field->most)
        return false;
    *(uint32_t *)(uintptr_t)row_above(field, message) = (uint32_t)from.len;
    if (from.len > 0) /* Else there are no data, not even at an address. */
        memcpy((char *)message + field->offset, from.data, from.len);
    return true;
}

/* A negative zero becomes a positive one, because it would not be written again. */
static double take_real(double value)
{
    return value == 0 ? 0 : value;
}

static bool get_field(const struct message_field *field, const void *from, void *message)
{
    void *to = (char *)message + field->offset;
    switch (field->kind) {
    case FIELD_FLAG:
        *(bool *)to = *(const protobuf_c_boolean *)from != 0;
        return true;
    case FIELD_U32:
    case FIELD_WORD: {
        uint32_t number = *(uint32_t *)to = *(const uint32_t *)from;
        return number >= field->least && number <= field->most;
    }
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_ID: {
        uint64_t number = *(uint64_t *)to = *(const uint64_t *)from;
        return number >= field->least && number <= field->most;
    }
    case FIELD_REAL:
        *(double *)to = take_real(*(const double *)from);
        return true;
    case FIELD_TEXT:
        return take_text(to, field->size, *(char *const *)from);
    case FIELD_NAME:
        return strchr(*(char *const *)from, '/') == NULL &&
               take_text(to, field->size, *(char *const *)from);
    case FIELD_DIGEST:
    case FIELD_SECRET:
        return take_digest(to, *(const ProtobufCBinaryData *)from);
    case FIELD_PAGE:
        return get_page(field, *(const ProtobufCBinaryData *)from, message);
    case FIELD_REPORT:
        return get_report(field, *(Syncopate__Report *const *)from, message);
    case FIELD_END:
        break;
    }
    return true;
}

static bool get_fields(const struct message_field *field, const void *wire, void *message)
{
    for (; field->kind != FIELD_END; field++)
        if (field->wire != NULL &&
            !get_field(field, (const char *)wire + field->wire_offset, message))
            return false;
    return true;
}

/* --- messages ------------------------------------------------------------------------------ */

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
    static const char *const names[ROLE_COUNT] = {"none", "ps", "worker", "observer"};
    return (unsigned)role < ROLE_COUNT ? names[role] : "none";
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

/* A peer of an unknown version is answered in its own. */
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
    Syncopate__Report report;

    header.version = version_of(message);
    header.role = (Syncopate__Role)message->role;
    header.index = message->index;
    put_fields(fields_of_all, message, &header, NULL);
    header.body_case = (Syncopate__Header__BodyCase)kind->body_case;
    header.join = &body.join; /* All bodies begin at one place. */
    protobuf_c_message_init(kind->wire, &body);
    put_fields(kind->fields, message, &body, &report);

    /* The largest of every kind fits, and put_field lets no field be larger. Asking protobuf-c
     * for the size first would take a third of the time again. */
    size_t bytes = syncopate__header__pack(&header, buffer);
    assert(bytes <= HEADER_BYTES_MAX);
    return bytes;
}

#define MESSAGE(KIND, ...)                                                                         \
    case SYNCOPATE__HEADER__BODY_##KIND:                                                           \
        return MESSAGE_##KIND;

static enum message_kind kind_of(Syncopate__Header__BodyCase body_case)
{
    switch ((int)body_case) { /* Of which no other may be known either. */
#include "common/wire/message_rows.inc"
    default:
        return MESSAGE_NONE;
    }
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
    message->kind = kind_of(header->body_case);
    if (message->kind == MESSAGE_NONE)
        return error_set(error, STATUS_INVALID, "unknown message %d", (int)header->body_case);
    message->role = (enum role)header->role;
    message->index = header->index;
    const struct kind *kind = &kinds[message->kind];
    if (!get_fields(fields_of_all, header, message) ||
        !get_fields(kind->fields, header->join, message) ||
        (kind->holds != NULL && !kind->holds(&message->join)))
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
    to->average = from->average;
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

/* The lists of a job in the protocol's form; they refer to the job's texts. */
struct wire_lists {
    Syncopate__Variable *variables;
    Syncopate__Variable **pointers;
    char **servers;
};

/* The member of the protocol's Job for the row. A row without its line in syncopate.proto fails
 * for every job. */
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
        if (!(field->flags & JOB_LATER && is_zero(from)))
            *(ProtobufCBinaryData *)to = give_bytes(from, DIGEST_BYTES);
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
    to->average = from->average;
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

/* More than any honest declaration of so many bytes takes: its texts once more, and its
 * variables, each of at least eight bytes. A crafted one that takes more is refused when the
 * arena is full. */
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
    /* A process decodes one declaration, which may be large, so its arena is on the heap. */
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
        error_set(error, status,
                  status == STATUS_MEMORY ? "no memory for a declaration"
                                          : "declaration with a field out of range");
    else
        status = job_check(job, error);
    free(arena.bytes);
    if (status != STATUS_OK)
        job_free(job);
    return status;
}

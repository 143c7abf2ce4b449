/* talk_fields.c - fields of messages and orders by name, in both directions. */

#include "tests/talks/talk_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *word_of_status(unsigned status)
{
    return status_name((enum status)status);
}

/* The rows of orders, as message_rows.inc has those of messages. */
#define ROW(name, member, kind) TALK_ROW_OF(struct order, name, member, kind, UINT64_MAX, NULL)
#define STATUS(member)                                                                             \
    TALK_ROW_OF(struct order, "status", member, WORD, STATUS_PROGRAM, word_of_status)
#define ROWS(...)                                                                                  \
    (const struct message_field[])                                                                 \
    {                                                                                              \
        __VA_ARGS__ __VA_OPT__(, )                                                                 \
        {                                                                                          \
            .kind = FIELD_END                                                                      \
        }                                                                                          \
    }

static const struct message_field of_all[] = {ROW("g", generation, U64),
                                              ROW("order.from", from, U32),
                                              ROW("order.run", run_id, ID),
                                              {.kind = FIELD_END}};

static const struct {
    const char *name;
    const struct message_field *rows;
} orders[ORDER_COUNT] = {
    [ORDER_OPEN_RUN] = {"OPEN_RUN", ROWS(ROW("known_run_id", open_run.known_run_id, ID),
                                         ROW("records", open_run.records, FLAG))},
    [ORDER_GO_BACK] = {"GO_BACK", ROWS()},
    [ORDER_RUN_OPENED] = {"RUN_OPENED",
                          ROWS(STATUS(run_opened.status), ROW("text", run_opened.text, TEXT),
                               ROW("restore", run_opened.restore, FLAG),
                               ROW("restore_step", run_opened.restore_step, U64),
                               ROW("epoch_updates", run_opened.so_far.epoch.updates, U64),
                               ROW("epoch_examples", run_opened.so_far.epoch.examples, U64),
                               ROW("run_id", run_opened.run_id, ID),
                               ROW("generation", run_opened.generation, U64),
                               ROW("ended_run_id", run_opened.ended_run_id, ID),
                               ROW("exit_code", run_opened.exit_code, U32),
                               ROW("ended", run_opened.ended, FLAG))},
    [ORDER_LOAD] = {"LOAD",
                    ROWS(ROW("restore", load.restore, FLAG), ROW("records", load.records, FLAG),
                         ROW("step", load.step, U64), ROW("out", load.out, TEXT))},
    [ORDER_LOADED] = {"LOADED", ROWS(ROW("shared", loaded.shared, FLAG),
                                     ROW("needs_chunks", loaded.needs_chunks, FLAG),
                                     STATUS(loaded.status), ROW("text", loaded.text, TEXT))},
    [ORDER_TAKEN] = {"TAKEN", ROWS(ROW("worker", taken.worker, U32))},
    [ORDER_SEND_CHUNKS] = {"SEND_CHUNKS", ROWS(ROW("server", send_chunks.server, U32))},
    [ORDER_FIGURES] = {"FIGURES", ROWS()},
    [ORDER_OWNER_SNAPSHOT] = {"OWNER_SNAPSHOT",
                              ROWS(ROW("step", owner_snapshot.step, U64),
                                   ROW("taken", owner_snapshot.taken, FLAG),
                                   ROW("applied", owner_snapshot.verdicts.applied, U64),
                                   ROW("stale", owner_snapshot.verdicts.stale, U64),
                                   ROW("duplicate", owner_snapshot.verdicts.duplicate, U64),
                                   ROW("rejected", owner_snapshot.verdicts.rejected, U64))},
    [ORDER_SCORED] = {"SCORED",
                      ROWS(ROW("batches", scored.batches, U64), ROW("lost", scored.lost, FLAG))},
    [ORDER_LET_GO] = {"LET_GO", ROWS(ROW("batches", let_go.batches, U64))},
    [ORDER_STOP_AT] = {"STOP_AT", ROWS(ROW("step", stop_at.step, U64))},
    [ORDER_MANIFEST] = {"MANIFEST", ROWS(ROW("step", manifest.step, U64))},
    [ORDER_MANIFEST_WRITTEN] = {"MANIFEST_WRITTEN",
                                ROWS(STATUS(written.status), ROW("step", written.step, U64),
                                     ROW("text", written.text, TEXT))},
    [ORDER_GONE] = {"GONE", ROWS(ROW("ticket", gone.ticket, U64), ROW("clock", gone.clock, U64))},
    [ORDER_EVENT] = {"EVENT",
                     ROWS(ROW("name", event.name, TEXT), ROW("members", event.members, TEXT))},
    [ORDER_SUMMARY] = {"SUMMARY", ROWS()},
    [ORDER_SUMMARY_WRITTEN] = {"SUMMARY_WRITTEN",
                               ROWS(STATUS(written.status), ROW("text", written.text, TEXT))},
};

static struct talk_kind order_kind(unsigned kind)
{
    return (struct talk_kind){orders[kind].name, true, kind, orders[kind].rows, of_all};
}

/* Within a worker LEAVE has an exit code, as STOP has. */
static struct talk_kind message_kind(unsigned kind)
{
    enum message_kind of = kind == MESSAGE_LEAVE ? MESSAGE_STOP : (enum message_kind)kind;
    return (struct talk_kind){message_kind_name((enum message_kind)kind), false, kind,
                              message_fields(of), message_fields(MESSAGE_NONE)};
}

struct talk_kind talk_kind_of(const char *name)
{
    for (unsigned i = 1; i < MESSAGE_KIND_COUNT; i++)
        if (strcasecmp(name, message_kind_name((enum message_kind)i)) == 0)
            return message_kind(i);
    for (unsigned i = 1; i < ORDER_COUNT; i++)
        if (strcmp(name, orders[i].name) == 0)
            return order_kind(i);
    return (struct talk_kind){0};
}

struct talk_kind talk_kind_in(const struct packet *packet)
{
    const struct order *order = order_of(packet);
    return order != NULL ? order_kind(order->kind) : message_kind(packet->message.kind);
}

static const struct message_field *find(const struct message_field *row, const char *name,
                                        size_t length)
{
    for (; row->kind != FIELD_END; row++)
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    return NULL;
}

const struct message_field *talk_field(const struct talk_kind *kind, void **of, const char *said)
{
    size_t length = strcspn(said, "=~");
    const struct message_field *field = find(kind->rows, said, length);
    if (field == NULL)
        field = find(kind->common, said, length);
    if (field != NULL || strncmp(said, "report.", 7) != 0)
        return field;
    const struct message_field *report = find(kind->rows, "report", 6);
    if (report == NULL)
        return NULL;
    *(bool *)((char *)*of + report[-1].offset) = true; /* There is one. */
    *of = (void *)(uintptr_t)message_field_report(report, *of);
    return find(message_fields(MESSAGE_REPORT), said + 7, length - 7);
}

/* Hexadecimal, as far as it goes; the rest is zeros. */
static bool set_bytes(uint8_t *at, size_t size, const char *value)
{
    memset(at, 0, size);
    for (size_t i = 0; i < 2 * size && value[i] != '\0'; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, value[i]);
        if (digit == NULL)
            return false;
        at[i / 2] |= (uint8_t)((digit - digits) << (i % 2 ? 0 : 4));
    }
    return true;
}

static bool set_word(const struct message_field *field, unsigned *at, const char *value)
{
    for (*at = 0; *at <= field->most; ++*at)
        if (strcmp(field->word(*at), value) == 0)
            return true;
    return false;
}

static bool set_number(const struct message_field *field, void *at, const char *value)
{
    char *end;
    if (field->kind == FIELD_REAL)
        *(double *)at = strtod(value, &end);
    else if (field->kind == FIELD_I64)
        *(int64_t *)at = strtoll(value, &end, 10);
    else if (field->kind == FIELD_U32)
        *(uint32_t *)at = (uint32_t)strtoul(value, &end, 10);
    else
        *(uint64_t *)at = strtoull(value, &end, field->kind == FIELD_ID ? 16 : 10);
    return end > value && *end == '\0';
}

static bool set(const struct message_field *field, void *at, const char *value)
{
    switch (field->kind) {
    case FIELD_FLAG:
    case FIELD_REPORT:
        *(bool *)at = strcmp(value, "no") != 0;
        return value[0] == '\0' || !*(bool *)at;
    case FIELD_WORD:
        return set_word(field, at, value);
    case FIELD_TEXT:
    case FIELD_NAME:
        return snprintf(at, field->size, "%s", value) < (int)field->size;
    case FIELD_DIGEST:
    case FIELD_SECRET:
    case FIELD_PAGE:
        return set_bytes(at, field->size, value);
    default:
        return set_number(field, at, value);
    }
}

static const char *value_of(const char *said)
{
    size_t length = strcspn(said, "=~");
    return said + length + (said[length] != '\0');
}

bool talk_field_set(const struct talk_kind *kind, void *of, const char *said)
{
    const struct message_field *field = talk_field(kind, &of, said);
    return field != NULL && said[strcspn(said, "=~")] != '~' &&
           set(field, (char *)of + field->offset, value_of(said));
}

bool talk_field_is(const struct talk_kind *kind, void *of, const char *said)
{
    const struct message_field *field = talk_field(kind, &of, said);
    if (field == NULL)
        return false;
    const char *at = (const char *)of + field->offset;
    bool text = field->kind == FIELD_TEXT || field->kind == FIELD_NAME;
    if (text && said[strcspn(said, "=~")] == '~')
        return strstr(at, value_of(said)) != NULL;
    if (text)
        return strcmp(at, value_of(said)) == 0;
    _Alignas(8) char as_said[sizeof(struct message)] = {0};
    return set(field, as_said, value_of(said)) && memcmp(at, as_said, field->size) == 0;
}

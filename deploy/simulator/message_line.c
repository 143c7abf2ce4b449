/* message_line.c - a table of every field of every message, by name, kind and place, and one loop
 * over it. */

#include "deploy/simulator/message_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum field_type {
    FIELD_END,
    FIELD_FLAG,
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_REAL,
    FIELD_ID,     /* A u64 that is only compared. */
    FIELD_TEXT,   /* Up to its zero. */
    FIELD_DIGEST, /* 32 bytes. */
    FIELD_SECRET, /* The same, not to be read by anybody. */
    FIELD_PAGE,   /* JOB_PAGE_BYTES bytes. */
    FIELD_VERDICT,
    FIELD_REFUSAL,
    FIELD_JOB_STATE,
    FIELD_MODE,
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset; /* In struct message. */
};

#define FIELD(name, type, member)                                                                  \
    {                                                                                              \
        name, FIELD_##type, offsetof(struct message, member)                                       \
    }
#define FIELDS(...)                                                                                \
    (const struct field[])                                                                         \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, FIELD_END, 0                                                                     \
        }                                                                                          \
    }

#define REPORT(report)                                                                             \
    FIELD("report.step", U64, report.step),                                                        \
        FIELD("report.first_leaf", U32, report.node.first_leaf),                                   \
        FIELD("report.leaf_count", U32, report.node.leaf_count),                                   \
        FIELD("report.loss", I64, report.loss), FIELD("report.correct", U64, report.correct),      \
        FIELD("report.examples", U64, report.examples),                                            \
        FIELD("report.compute_us", U64, report.compute_us),                                        \
        FIELD("report.exchange_us", U64, report.exchange_us),                                      \
        FIELD("report.wait_us", U64, report.wait_us),                                              \
        FIELD("report.has_staleness", FLAG, report.has_staleness),                                 \
        FIELD("report.staleness", U64, report.staleness), FIELD("report.bad", FLAG, report.bad)

/* By kind; NULL for those that say nothing more than every message says. */
static const struct field *const bodies[MESSAGE_KIND_COUNT] = {
    [MESSAGE_JOIN] = FIELDS(
        FIELD("version_min", U32, join.version_min), FIELD("version_max", U32, join.version_max),
        FIELD("job_digest", DIGEST, join.job_digest),
        FIELD("probe_digest", DIGEST, join.probe_digest), FIELD("host", TEXT, join.host),
        FIELD("arithmetic", TEXT, join.arithmetic)),
    [MESSAGE_JOB_PAGE] =
        FIELDS(FIELD("offset", U32, job_page.offset), FIELD("total", U32, job_page.total),
               FIELD("bytes", U32, job_page.bytes), FIELD("page", PAGE, job_page.page)),
    [MESSAGE_WELCOME] = FIELDS(
        FIELD("restore", FLAG, welcome.restore), FIELD("restore_step", U64, welcome.restore_step),
        FIELD("out", TEXT, welcome.out), FIELD("welcome.ticket", U64, welcome.ticket),
        FIELD("welcome.proof", ID, welcome.proof), FIELD("secret", SECRET, welcome.secret)),
    [MESSAGE_WAITING] = FIELDS(FIELD("text", TEXT, waiting.text)),
    [MESSAGE_REFUSED] =
        FIELDS(FIELD("reason", REFUSAL, refused.reason), FIELD("version", U32, refused.version),
               FIELD("text", TEXT, refused.text)),
    [MESSAGE_READY] =
        FIELDS(FIELD("shared", FLAG, ready.shared), FIELD("needs_chunks", FLAG, ready.needs_chunks),
               FIELD("reached", U64, ready.reached)),
    [MESSAGE_START] =
        FIELDS(FIELD("step", U64, start.step), FIELD("assignment", U32, start.assignment),
               FIELD("position", U32, start.position), FIELD("members", U32, start.members),
               FIELD("stop_step", U64, start.stop_step), FIELD("scored", U64, start.scored)),
    [MESSAGE_PING] =
        FIELDS(FIELD("step", U64, ping.step), FIELD("assignment", U32, ping.assignment),
               FIELD("computing", FLAG, ping.computing)),
    [MESSAGE_PONG] = FIELDS(FIELD("text", TEXT, waiting.text)),
    [MESSAGE_EXCHANGE] =
        FIELDS(FIELD("chunk", U32, exchange.chunk), FIELD("step", U64, exchange.step),
               FIELD("base_version", U64, exchange.base_version),
               FIELD("gradient", FLAG, exchange.gradient),
               FIELD("first_leaf", U32, exchange.node.first_leaf),
               FIELD("leaf_count", U32, exchange.node.leaf_count),
               FIELD("examples", U32, exchange.examples), FIELD("want", FLAG, exchange.want),
               FIELD("want_version", U64, exchange.want_version),
               FIELD("newest", FLAG, exchange.newest), FIELD("retry", FLAG, exchange.retry),
               FIELD("receipt", FLAG, exchange.receipt), FIELD("skip", FLAG, exchange.skip),
               FIELD("has_report", FLAG, exchange.has_report), REPORT(exchange.report)),
    [MESSAGE_RESULT] =
        FIELDS(FIELD("chunk", U32, result.chunk), FIELD("verdict", VERDICT, result.verdict),
               FIELD("version", U64, result.version), FIELD("staleness", U64, result.staleness),
               FIELD("held_us", U32, result.held_us), FIELD("stop_step", U64, result.stop_step),
               FIELD("parameters", FLAG, result.parameters)),
    [MESSAGE_MOVED_ON] =
        FIELDS(FIELD("chunk", U32, moved_on.chunk), FIELD("version", U64, moved_on.version)),
    [MESSAGE_LEASE] =
        FIELDS(FIELD("finished", FLAG, lease.finished), FIELD("batch", U64, lease.batch)),
    [MESSAGE_WORK] = FIELDS(FIELD("batch", U64, work.batch), FIELD("enough", FLAG, work.enough),
                            FIELD("none", FLAG, work.none)),
    [MESSAGE_REPORT] = FIELDS(REPORT(report)),
    [MESSAGE_EVALUATION] = FIELDS(
        FIELD("epoch", U64, evaluation.epoch), FIELD("step", U64, evaluation.step),
        FIELD("loss", I64, evaluation.loss), FIELD("correct", U64, evaluation.correct),
        FIELD("examples", U64, evaluation.examples), FIELD("took_us", U64, evaluation.took_us),
        FIELD("assignment", U32, evaluation.assignment)),
    [MESSAGE_DONE] = FIELDS(
        FIELD("step", U64, done.step), FIELD("exchange_us", U64, done.exchange_us),
        FIELD("wait_us", U64, done.wait_us), FIELD("has_staleness", FLAG, done.has_staleness),
        FIELD("staleness", U64, done.staleness)),
    [MESSAGE_RECEIPT] = FIELDS(FIELD("chunk", U32, receipt.chunk), FIELD("step", U64, receipt.step),
                               FIELD("first_leaf", U32, receipt.node.first_leaf),
                               FIELD("leaf_count", U32, receipt.node.leaf_count),
                               FIELD("missing", FLAG, receipt.missing)),
    [MESSAGE_STOP] =
        FIELDS(FIELD("exit_code", U32, stop.exit_code), FIELD("reason", TEXT, stop.reason)),
    [MESSAGE_CUT] = FIELDS(FIELD("step", U64, cut.step), FIELD("final", FLAG, cut.final)),
    [MESSAGE_CUT_TAKEN] =
        FIELDS(FIELD("step", U64, cut_taken.step), FIELD("taken", FLAG, cut_taken.taken),
               FIELD("applied", U64, cut_taken.verdicts.applied),
               FIELD("stale", U64, cut_taken.verdicts.stale),
               FIELD("duplicate", U64, cut_taken.verdicts.duplicate),
               FIELD("rejected", U64, cut_taken.verdicts.rejected)),
    [MESSAGE_CHUNK_STATE] =
        FIELDS(FIELD("step", U64, chunk_state.step), FIELD("first", U64, chunk_state.first),
               FIELD("count", U64, chunk_state.count), FIELD("array", U32, chunk_state.array),
               FIELD("server", U32, chunk_state.server)),
    [MESSAGE_PART_WRITTEN] = FIELDS(
        FIELD("step", U64, part_written.step), FIELD("written", FLAG, part_written.written),
        FIELD("server", U32, part_written.server), FIELD("name", TEXT, part_written.part.name),
        FIELD("bytes", U64, part_written.part.bytes),
        FIELD("digest", DIGEST, part_written.part.digest), FIELD("text", TEXT, part_written.text)),
    [MESSAGE_FINISHED] = FIELDS(FIELD("exit_code", U32, stop.exit_code),
                                FIELD("reason", TEXT, stop.reason), FIELD("left", FLAG, stop.left)),
    [MESSAGE_STATUS] = FIELDS(FIELD("watch", FLAG, status.watch)),
    [MESSAGE_STATUS_ANSWER] = FIELDS(
        FIELD("state", JOB_STATE, status_answer.state),
        FIELD("seconds", REAL, status_answer.seconds),
        FIELD("exit_code", U32, status_answer.exit_code), FIELD("out", TEXT, status_answer.out),
        FIELD("text", TEXT, status_answer.text), FIELD("has_job", FLAG, status_answer.has_job),
        FIELD("mode", MODE, status_answer.mode), FIELD("step", U64, status_answer.step),
        FIELD("steps", U64, status_answer.steps),
        FIELD("steps_per_epoch", U64, status_answer.steps_per_epoch),
        FIELD("workers", U32, status_answer.workers),
        FIELD("worker_count", U32, status_answer.worker_count),
        FIELD("servers", U32, status_answer.servers),
        FIELD("server_count", U32, status_answer.server_count),
        FIELD("train_epoch", U64, status_answer.train_epoch),
        FIELD("train_examples", U64, status_answer.train_examples),
        FIELD("train_loss", REAL, status_answer.train_loss),
        FIELD("train_accuracy", REAL, status_answer.train_accuracy),
        FIELD("test_step", U64, status_answer.test_step),
        FIELD("test_loss", REAL, status_answer.test_loss),
        FIELD("test_accuracy", REAL, status_answer.test_accuracy),
        FIELD("training_seconds", REAL, status_answer.training_seconds),
        FIELD("images_per_second", REAL, status_answer.images_per_second),
        FIELD("staleness_mean", REAL, status_answer.staleness_mean),
        FIELD("staleness_max", U64, status_answer.staleness_max),
        FIELD("has_checkpoint", FLAG, status_answer.has_checkpoint),
        FIELD("checkpoint_step", U64, status_answer.checkpoint_step),
        FIELD("generation", U64, status_answer.generation),
        FIELD("workers_lost", U64, status_answer.workers_lost),
        FIELD("servers_lost", U64, status_answer.servers_lost),
        FIELD("checkpoints_skipped", U64, status_answer.checkpoints_skipped),
        FIELD("checkpoints_failed", U64, status_answer.checkpoints_failed)),
};

/* Its sender comes after these, as "worker/1". */
static const struct field envelope[] = {
    FIELD("g", U64, generation), FIELD("r", U64, request),
    FIELD("t", U64, ticket),     FIELD("incarnation", ID, incarnation),
    FIELD("run", ID, run_id),    FIELD("proof", ID, proof),
    {NULL, FIELD_END, 0}};

/* --- writing --------------------------------------------------------------------------------- */

struct line {
    char *text; /* [MESSAGE_LINE_MAX] */
    size_t used;
};

/* MESSAGE_LINE_MAX is enough for the longest of all messages: it is our own table. */
static void put(struct line *line, char c)
{
    assert(line->used + 1 < MESSAGE_LINE_MAX);
    line->text[line->used++] = c;
}

static void put_word(struct line *line, const char *word)
{
    while (*word != '\0')
        put(line, *word++);
}

static void put_number(struct line *line, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        put(line, digits[--count]);
}

static void put_id(struct line *line, uint64_t number)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        put(line, "0123456789abcdef"[number >> shift & 15]);
}

static void put_text(struct line *line, const char *text)
{
    put(line, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            put(line, '\\');
        put(line, *text);
    }
    put(line, '"');
}

static void put_digest(struct line *line, const uint8_t digest[DIGEST_BYTES])
{
    char text[HASH_HEX_LENGTH];
    hash_hex(digest, DIGEST_BYTES, text);
    put_word(line, text);
}

static void put_digest_of(struct line *line, const void *bytes, size_t count)
{
    uint8_t digest[HASH_BYTES];
    hash_bytes(bytes, count, digest);
    put_digest(line, digest);
}

static void put_real(struct line *line, double real)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", real);
    put_word(line, text);
}

/* --- fields ---------------------------------------------------------------------------------- */

static const char *refusal_name(unsigned reason)
{
    static const char *const names[REFUSAL_COUNT] = {
        "none", "version", "job", "member", "run", "probe", "malformed", "rejoin", "key"};
    return reason < REFUSAL_COUNT ? names[reason] : "unknown";
}

static const char *choice_name(enum field_type type, unsigned choice)
{
    switch (type) {
    case FIELD_VERDICT:
        return verdict_name((enum verdict)choice);
    case FIELD_REFUSAL:
        return refusal_name(choice);
    case FIELD_JOB_STATE:
        return job_state_name((enum job_state)choice);
    default:
        return mode_name((enum mode)choice);
    }
}

static size_t width_of(enum field_type type)
{
    switch (type) {
    case FIELD_FLAG:
    case FIELD_TEXT: /* Whether it is empty. */
        return 1;
    case FIELD_DIGEST:
    case FIELD_SECRET:
        return DIGEST_BYTES;
    case FIELD_PAGE:
        return JOB_PAGE_BYTES;
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_ID:
    case FIELD_REAL:
        return 8;
    default:
        return 4;
    }
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void put_integer(struct line *line, enum field_type type, const uint8_t *at)
{
    uint32_t small;
    uint64_t large;
    double real;
    memcpy(&small, at, sizeof small);
    if (type == FIELD_U32) {
        put_number(line, small);
        return;
    }
    memcpy(&large, at, sizeof large);
    memcpy(&real, at, sizeof real);
    if (type == FIELD_REAL) {
        put_real(line, real);
    } else if (type == FIELD_ID) {
        put_id(line, large);
    } else {
        bool negative = type == FIELD_I64 && large >> 63;
        if (negative)
            put(line, '-');
        put_number(line, negative ? -large : large);
    }
}

static void put_value(struct line *line, enum field_type type, const uint8_t *at)
{
    unsigned choice;
    switch (type) {
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_REAL:
    case FIELD_ID:
        put_integer(line, type, at);
        break;
    case FIELD_TEXT:
        put_text(line, (const char *)at);
        break;
    case FIELD_DIGEST:
        put_digest(line, at);
        break;
    case FIELD_SECRET:
    case FIELD_PAGE:
        put_digest_of(line, at, width_of(type));
        break;
    default:
        memcpy(&choice, at, sizeof choice);
        put_word(line, choice_name(type, choice));
    }
}

static void put_fields(struct line *line, const struct message *message, const struct field *field)
{
    for (; field != NULL && field->type != FIELD_END; field++) {
        const uint8_t *at = (const uint8_t *)message + field->offset;
        if (is_zero(at, width_of(field->type)))
            continue;
        put(line, ' ');
        put_word(line, field->name);
        if (field->type == FIELD_FLAG)
            continue;
        put(line, '=');
        put_value(line, field->type, at);
    }
}

void message_line(const struct message *message, char text[MESSAGE_LINE_MAX])
{
    struct line line = {.text = text};
    put_word(&line, message_kind_name(message->kind));
    if (message->kind < MESSAGE_KIND_COUNT)
        put_fields(&line, message, bodies[message->kind]);
    put_fields(&line, message, envelope);
    put(&line, ' ');
    put_word(&line, role_name(message->role));
    put(&line, '/');
    put_number(&line, message->index);
    text[line.used] = '\0';
}

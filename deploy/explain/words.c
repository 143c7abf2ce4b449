/* words.c - the table of sentences, and how their braces are filled in. Order matters within a
 * kind: the first row whose condition holds is used. */

#include "deploy/explain/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wait.h"
#include "common/base/wording.h"
#include "common/job/job_score.h"
#include "common/optimizer/optimizer.h"
#include "common/wire/message_fields.h"
#include "ps/mode/shard_mode.h"
#include "ps/mode/work_mode.h"
#include "worker/mode/follow_mode.h"
#include "worker/model/model.h"

/* --- conditions ------------------------------------------------------------------------------ */

static const struct message *message_of(const struct moment *moment)
{
    return &moment->entry->message;
}

static const struct message_exchange *exchange_of(const struct moment *moment)
{
    return &message_of(moment)->exchange;
}

static const struct message_result *result_of(const struct moment *moment)
{
    return &message_of(moment)->result;
}

static bool by_server(const struct moment *moment)
{
    return moment->entry->role == ROLE_PS;
}

static bool restores(const struct moment *moment)
{
    return message_of(moment)->welcome.restore;
}

static bool begins(const struct moment *moment)
{
    return restores(moment) && message_of(moment)->welcome.restore_step == 0;
}

static bool needs_chunks(const struct moment *moment)
{
    return message_of(moment)->ready.needs_chunks;
}

static bool lost_scored(const struct moment *moment)
{
    return message_of(moment)->ready.scored_lost;
}

static bool has_scored(const struct moment *moment)
{
    return message_of(moment)->ready.scored > 0;
}

static bool lets_go(const struct moment *moment)
{
    return message_of(moment)->waiting.scored > 0;
}

static bool is_to_leave(const struct moment *moment)
{
    return message_of(moment)->waiting.leave;
}

static bool asks_what_became(const struct moment *moment)
{
    return message_of(moment)->dismiss.again;
}

static bool pulls_scored(const struct moment *moment)
{
    return exchange_of(moment)->scored;
}

static bool gives_scored(const struct moment *moment)
{
    return result_of(moment)->scored;
}

static bool was_scored(const struct moment *moment)
{
    return message_of(moment)->moved_on.scored;
}

static bool is_to_score(const struct moment *moment)
{
    return message_of(moment)->work.scored > 0;
}

static bool computes(const struct moment *moment)
{
    return message_of(moment)->ping.computing;
}

static bool answers_score(const struct moment *moment)
{
    return moment->question == MESSAGE_EVALUATION;
}

static bool has_news(const struct moment *moment)
{
    return message_of(moment)->waiting.text[0] != '\0';
}

static bool asks_again(const struct moment *moment)
{
    return exchange_of(moment)->retry;
}

static bool skips(const struct moment *moment)
{
    return exchange_of(moment)->skip;
}

static bool has_report(const struct moment *moment)
{
    return exchange_of(moment)->has_report && exchange_of(moment)->want;
}

static bool pushes_last(const struct moment *moment)
{
    return exchange_of(moment)->gradient && exchange_of(moment)->want;
}

static bool pushes(const struct moment *moment)
{
    return exchange_of(moment)->gradient;
}

static bool pulls_newest(const struct moment *moment)
{
    return exchange_of(moment)->newest;
}

static bool gives_slots(const struct moment *moment)
{
    return result_of(moment)->array > 0;
}

static bool gives_sum(const struct moment *moment)
{
    return result_of(moment)->sum;
}

static bool gives_held_sum(const struct moment *moment)
{
    return gives_sum(moment) && result_of(moment)->held_us > 0;
}

static bool was_held(const struct moment *moment)
{
    return result_of(moment)->parameters && result_of(moment)->held_us > 0;
}

static bool applied_aging(const struct moment *moment)
{
    return result_of(moment)->parameters && result_of(moment)->verdict == VERDICT_APPLIED &&
           !job_mode(moment->job)->steps;
}

static bool applied(const struct moment *moment)
{
    return result_of(moment)->parameters && result_of(moment)->verdict == VERDICT_APPLIED;
}

static bool gives_values(const struct moment *moment)
{
    return result_of(moment)->parameters && result_of(moment)->verdict == VERDICT_NONE;
}

static bool drops(const struct moment *moment)
{
    return result_of(moment)->parameters;
}

static bool finished(const struct moment *moment)
{
    return message_of(moment)->lease.finished;
}

static bool is_enough(const struct moment *moment)
{
    return message_of(moment)->work.enough;
}

static bool is_none(const struct moment *moment)
{
    return message_of(moment)->work.none;
}

static bool is_missing(const struct moment *moment)
{
    return message_of(moment)->receipt.missing;
}

static bool is_final(const struct moment *moment)
{
    return message_of(moment)->cut.final;
}

static bool was_snapshot(const struct moment *moment)
{
    return message_of(moment)->cut_taken.taken;
}

static bool is_entries(const struct moment *moment)
{
    return message_of(moment)->chunk_state.array == CHECKPOINT_ENTRIES;
}

static bool is_descriptions(const struct moment *moment)
{
    return message_of(moment)->chunk_state.array == CHECKPOINT_DESCRIPTIONS;
}

static bool is_to_be_kept(const struct moment *moment)
{
    return message_of(moment)->chunk_state.array == CHECKPOINT_SCORED;
}

static bool goes_down(const struct moment *moment)
{
    return moment->entry->index == 0;
}

static bool was_written(const struct moment *moment)
{
    return message_of(moment)->part_written.written;
}

static bool has_left(const struct moment *moment)
{
    return message_of(moment)->stop.left;
}

static bool ended_well(const struct moment *moment)
{
    return message_of(moment)->stop.exit_code == EXIT_DONE;
}

static bool alone(const struct moment *moment)
{
    return moment->partition->chunk_count == 0;
}

static bool accumulates(const struct moment *moment)
{
    return job_accumulates(moment->job);
}

static bool is_short(const struct moment *moment)
{
    return accumulates(moment) && moment->entry->event.members < moment->job->accumulate;
}

static bool left_out(const struct moment *moment)
{
    return moment->entry->event.examples == 0;
}

static bool applied_with_others(const struct moment *moment)
{
    return accumulates(moment) && result_of(moment)->parameters &&
           result_of(moment)->verdict == VERDICT_APPLIED;
}

static bool goes_on(const struct moment *moment)
{
    return moment->entry->event.step > 0;
}

/* --- what the modes say ---------------------------------------------------------------------- */

/* NULL: the mode has no such thing, as sync leases nothing. */
const char *words_of_mode(const struct job *job, const char *name)
{
    const struct {
        const char *name, *text;
    } words[] = {
        {"starts", work_mode_of(job)->starts},    {"gives", work_mode_of(job)->gives},
        {"given", follow_mode_of(job)->given},    {"taken", shard_mode_of(job)->taken},
        {"updated", shard_mode_of(job)->updated}, {"waits", shard_mode_of(job)->waits},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].text;
    return NULL;
}

/* --- messages -------------------------------------------------------------------------------- */

const struct words_row words_of_messages[] = {
    {MESSAGE_JOIN, by_server,
     "May I join? I am {@sender} on {host}, and compute with {arithmetic}."},
    {MESSAGE_JOIN, NULL,
     "May I join? I am {@sender} on {host}, and compute with {arithmetic}. Here is the digest of "
     "the "
     "job that I would declare."},
    {MESSAGE_WANT_JOB, NULL, "No worker has declared a job yet. Send me yours."},
    {MESSAGE_JOB_PAGE, by_server,
     "This is the job: the page from byte {offset} of the {total} bytes of its declaration."},
    {MESSAGE_JOB_PAGE, NULL,
     "This is the job, all that decides what is computed: the page from byte {offset} of the "
     "{total} "
     "bytes of its declaration."},
    {MESSAGE_WELCOME, begins,
     "You are in. It is a new run: all begin with values that server 0 has."},
    {MESSAGE_WELCOME, restores,
     "You are in. The run goes on from its checkpoint of version {restore_step}."},
    {MESSAGE_WELCOME, NULL, "You are in. It is a new run: all begin with the first values."},
    {MESSAGE_WAITING, NULL, "Wait: {text}."},
    {MESSAGE_REFUSED, NULL, "No ({reason}): {text}."},
    {MESSAGE_READY, needs_chunks,
     "The values to begin with are with server 0. Send me my chunks of them."},
    {MESSAGE_READY, lost_scored,
     "All my chunks have had {scored} batches, but not all could keep their values: score the "
     "next."},
    {MESSAGE_READY, has_scored,
     "All my chunks have had {scored} batches, and kept their values: that model can be scored."},
    {MESSAGE_READY, NULL, "My chunks have their values. I can serve them."},
    {MESSAGE_START, NULL,
     "All are here: begin at {@unit} {step}. You are number {@place} of {members}. {mode.starts}."},
    {MESSAGE_PING, by_server, "I am alive."},
    {MESSAGE_PING, computes, "I am alive, and compute."},
    {MESSAGE_PING, NULL, "I am alive."},
    {MESSAGE_PONG, answers_score, "I have your score."},
    {MESSAGE_PONG, lets_go,
     "So am I. The model after {scored} batches is scored: what was kept for that can go."},
    {MESSAGE_PONG, is_to_leave, "So am I. A user has asked that you leave."},
    {MESSAGE_PONG, has_news, "So am I: {text}."},
    {MESSAGE_PONG, NULL, "So am I."},
    {MESSAGE_EXCHANGE, pulls_scored,
     "To score it, give me chunk {chunk} as it was after {want_version} batches."},
    {MESSAGE_EXCHANGE, asks_again,
     "Has my gradient of {@work} for chunk {chunk} come? Give me {@read}."},
    {MESSAGE_EXCHANGE, skips,
     "My gradient of {@work} is not finite: count the batch without one for chunk {chunk}. Give me "
     "{@read}."},
    {MESSAGE_EXCHANGE, has_report,
     "Here is my gradient of {@work}{@numbered} for chunk {chunk} ({@values}; {@leaves}, summed "
     "over "
     "{examples} examples), computed from version {base_version}. Give me {@read}. And for server "
     "0: "
     "of these examples I had {report.correct} right, with a loss of {@report_loss}."},
    {MESSAGE_EXCHANGE, pushes_last,
     "Here is my gradient of {@work}{@numbered} for chunk {chunk} ({@values}; {@leaves}, summed "
     "over "
     "{examples} examples), computed from version {base_version}. Give me {@read}."},
    {MESSAGE_EXCHANGE, pushes,
     "Here is a part of my gradient of {@work}{@numbered} for chunk {chunk} ({@values}; {@leaves}, "
     "summed "
     "over "
     "{examples} examples), computed from version {base_version}. The rest follows."},
    {MESSAGE_EXCHANGE, pulls_newest, "I have no gradient yet: give me {@read} of chunk {chunk}."},
    {MESSAGE_EXCHANGE, NULL, "I have no gradient for chunk {chunk}: give me {@read}."},
    {MESSAGE_RESULT, gives_scored,
     "Here is chunk {chunk} as it was after {version} batches ({@values}): kept to be scored, "
     "while "
     "training goes on."},
    {MESSAGE_RESULT, gives_slots,
     "Here is slot array {array} of chunk {chunk} at version {version} ({@values}), for your "
     "replica."},
    {MESSAGE_RESULT, gives_held_sum,
     "Your gradient was {verdict}. Here is the sum of all gradients of chunk {chunk} ({@values}): "
     "make version {version} of it yourself. The answer was held for {@held}, until {@last} in."},
    {MESSAGE_RESULT, gives_sum,
     "Your gradient is applied. Here is the sum of all gradients of chunk {chunk} ({@values}): "
     "make "
     "version {version} of it yourself."},
    {MESSAGE_RESULT, was_held,
     "Your gradient was {verdict}. Here is version {version} of chunk {chunk} ({@values}). The "
     "answer "
     "was held for {@held}, until {@last} in."},
    {MESSAGE_RESULT, applied_with_others,
     "Your gradient counts, at staleness {staleness}, in an update of several. Here is version "
     "{version} of chunk {chunk} ({@values}), be it in there yet or not."},
    {MESSAGE_RESULT, applied_aging,
     "Your gradient is applied, at staleness {staleness}. Here is version {version} of chunk "
     "{chunk} "
     "({@values})."},
    {MESSAGE_RESULT, applied,
     "Your gradient is applied. Here is version {version} of chunk {chunk} ({@values})."},
    {MESSAGE_RESULT, gives_values, "Here is version {version} of chunk {chunk} ({@values})."},
    {MESSAGE_RESULT, drops,
     "Your gradient makes no update ({verdict}). Here is version {version} of chunk {chunk} "
     "({@values})."},
    {MESSAGE_RESULT, NULL, "Your gradient for chunk {chunk}: {verdict}."},
    {MESSAGE_MOVED_ON, was_scored,
     "What you want to score is gone: chunk {chunk} is at version {version}."},
    {MESSAGE_MOVED_ON, NULL,
     "What you ask for is gone: chunk {chunk} is at version {version}. Ask for the newest."},
    {MESSAGE_LEASE, finished, "All servers have answered for batch {batch}: it is done."},
    {MESSAGE_GRADIENT, NULL,
     "I compute my gradient {count} of batch {batch}, and here is from which version of each "
     "chunk. No answer is needed."},
    {MESSAGE_LEASE, NULL, "I have nothing to compute. Lease me a batch."},
    {MESSAGE_WORK, is_to_score,
     "Score the model as it was after {scored} batches, on part {@part} of {shares} of the test "
     "examples."},
    {MESSAGE_WORK, is_enough, "{@waited}There is no more to do: training ends at version {batch}."},
    {MESSAGE_WORK, is_none, "I have heard you, and have no batch for you now."},
    {MESSAGE_WORK, NULL, "{@waited}Compute batch {batch}. {mode.gives}."},
    {MESSAGE_REPORT, NULL, "My score of step {step}."},
    {MESSAGE_EVALUATION, NULL,
     "On my share of the test examples version {step} has {correct} of {examples} right, with a "
     "loss "
     "of {@loss}."},
    {MESSAGE_DONE, NULL, "I am done, at version {step}."},
    {MESSAGE_RECEIPT, is_missing,
     "Your gradient of {@work} for chunk {chunk} is not here. Send it."},
    {MESSAGE_RECEIPT, NULL, "Your gradient of {@work} for chunk {chunk} is here, and waits."},
    {MESSAGE_LEAVE, NULL, "I leave the job. Go on without me."},
    {MESSAGE_STOP, by_server, "Stop the job: {reason}."},
    {MESSAGE_STOP, NULL, "Stop the job: {reason}."},
    {MESSAGE_CUT, is_final,
     "Training is over: write your chunks down as of version {step}, for the last checkpoint."},
    {MESSAGE_CUT, NULL, "Write your chunks down as of version {step}, for a checkpoint."},
    {MESSAGE_CLOSE, NULL,
     "Enough workers have reported step {step}: make it of the leaves that I name here, and of no "
     "others."},
    {MESSAGE_CUT_TAKEN, was_snapshot,
     "I have my chunks as of version {step}. {applied} gradients were applied to them so far."},
    {MESSAGE_CUT_TAKEN, NULL, "I do not have all chunks as of version {step}. Name another one."},
    {MESSAGE_CHUNK_STATE, is_to_be_kept,
     "Of the model after {step} batches, which is scored and kept as a file: {count} elements from "
     "{first} on."},
    {MESSAGE_CHUNK_STATE, is_entries,
     "I do not see the run's disk. For its record: which gradients made the versions, up to "
     "{step}, "
     "of the chunk that begins at element {first}."},
    {MESSAGE_CHUNK_STATE, is_descriptions,
     "I do not see the run's disk. For its record, up to version {step}: what gradients were made "
     "from."},
    {MESSAGE_CHUNK_STATE, goes_down,
     "From the checkpoint of version {step}: {count} elements from {first} on of array {array} (0: "
     "the "
     "values, then the optimizer's)."},
    {MESSAGE_CHUNK_STATE, NULL,
     "I do not see the run's disk. For the checkpoint of version {step}: {count} elements from "
     "{first} "
     "on of array {array} (0: the values, then the optimizer's)."},
    {MESSAGE_PART_WRITTEN, was_written,
     "My part of the checkpoint of version {step} is on the disk: {name}, {bytes} bytes."},
    {MESSAGE_PART_WRITTEN, NULL, "My part of the checkpoint of version {step} is lost: {text}."},
    {MESSAGE_FINISHED, has_left, "You have left: go."},
    {MESSAGE_FINISHED, ended_well, "The job has ended, and all is well. Go."},
    {MESSAGE_FINISHED, NULL, "The job has ended with exit code {exit_code}: {reason}."},
    {MESSAGE_BYE, NULL, "I have heard that it has ended, and go."},
    {MESSAGE_STATUS, NULL, "I only look on. How is the job?"},
    {MESSAGE_STATUS_ANSWER, NULL, "It is {state}."},
    {MESSAGE_DISMISS, asks_what_became, "Has it left?"},
    {MESSAGE_DISMISS, NULL, "This worker is to leave."},
    {MESSAGE_DISMISSED, NULL, "Of that worker: {text}."},
};
const size_t words_of_messages_count = sizeof words_of_messages / sizeof *words_of_messages;

/* --- events ---------------------------------------------------------------------------------- */

const struct words_row words_of_events[] = {
#define EVENT(kind, name, sentence)                          {EVENT_##kind, NULL, sentence},
#define RECORDED(kind, name, sentence, level, line, members) {EVENT_##kind, NULL, sentence},
#define SPECIAL(kind, when, sentence)                        {EVENT_##kind, when, sentence},
#include "common/events/event_rows.inc"
};
const size_t words_of_events_count = sizeof words_of_events / sizeof *words_of_events;

#define EVENT_FIELD(name, kind)                                                                    \
    {                                                                                              \
#name, NULL, NULL, kind, offsetof(struct event, name), sizeof(((struct event *)0)->name),  \
            0, 0, 0, NULL                                                                          \
    }

static const struct message_field event_fields[] = {
    EVENT_FIELD(chunk, FIELD_U64),
    EVENT_FIELD(index, FIELD_U64),
    EVENT_FIELD(step, FIELD_U64),
    EVENT_FIELD(version, FIELD_U64),
    EVENT_FIELD(examples, FIELD_U64),
    EVENT_FIELD(correct, FIELD_U64),
    EVENT_FIELD(staleness, FIELD_U64),
    EVENT_FIELD(members, FIELD_U64),
    {.kind = FIELD_END},
};

/* --- what is made of several fields ---------------------------------------------------------- */

struct made {
    const char *name;
    void (*write)(const struct moment *moment, char *text, size_t size);
    bool varies; /* From chunk to chunk, or from time to time. */
};

static void make_sender(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%s/%u", role_name(moment->entry->role), moment->entry->index);
}

static void make_unit(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%s", job_mode(moment->job)->steps ? "step" : "batch");
}

static uint64_t step_of(const struct process_log_entry *entry)
{
    if (entry->kind == LOGGED_EVENT)
        return entry->event.step;
    return entry->message.kind == MESSAGE_RECEIPT ? entry->message.receipt.step
                                                  : entry->message.exchange.step;
}

static void make_work(const struct moment *moment, char *text, size_t size)
{
    make_unit(moment, text, size);
    wording_append(text, size, " %s", wording_count(step_of(moment->entry)).text);
}

static void make_place(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%u", message_of(moment)->start.position + 1);
}

static void make_part(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%u", message_of(moment)->work.share + 1);
}

static void make_bound(const struct moment *moment, char *text, size_t size)
{
    if (moment->job->staleness_bound == MODE_UNBOUNDED)
        snprintf(text, size, "any number of");
    else
        snprintf(text, size, "%s", wording_count(moment->job->staleness_bound).text);
}

static void make_request(const struct moment *moment, char *text, size_t size)
{
    const struct message_exchange *exchange = exchange_of(moment);
    if (!exchange->want)
        snprintf(text, size, "a verdict");
    else if (exchange->newest || !job_mode(moment->job)->steps)
        snprintf(text, size, "the newest values");
    else
        snprintf(text, size, "version %s when it is there",
                 wording_count(exchange->want_version).text);
}

static void make_leaves(const struct moment *moment, char *text, size_t size)
{
    const struct process_log_entry *entry = moment->entry;
    struct node node =
        entry->kind == LOGGED_EVENT ? entry->event.node : entry->message.exchange.node;
    if (node.leaf_count == 1)
        snprintf(text, size, "leaf %u", node.first_leaf);
    else
        snprintf(text, size, "leaves %u to %u", node.first_leaf,
                 node.first_leaf + node.leaf_count - 1);
}

/* Of a run that is recorded. */
static void make_numbered(const struct moment *moment, char *text, size_t size)
{
    uint64_t count = exchange_of(moment)->count;
    if (count != 0)
        snprintf(text, size, " (my gradient %s)", wording_count(count).text);
}

static void make_values(const struct moment *moment, char *text, size_t size)
{
    uint64_t count = moment->entry->payload_bytes / sizeof(float);
    snprintf(text, size, "%s", wording_counted(count, "value", "values").text);
}

static void write_loss(const struct moment *moment, int64_t loss, uint64_t examples, char *text,
                       size_t size)
{
    snprintf(text, size, "%.4f", examples > 0 ? job_mean_loss(moment->job, loss, examples) : 0.0);
}

static void make_loss(const struct moment *moment, char *text, size_t size)
{
    const struct process_log_entry *entry = moment->entry;
    const struct message_evaluation *score = &entry->message.evaluation;
    if (entry->kind == LOGGED_EVENT)
        write_loss(moment, entry->event.loss_sum, entry->event.examples, text, size);
    else
        write_loss(moment, score->loss, score->examples, text, size);
}

static void make_report_loss(const struct moment *moment, char *text, size_t size)
{
    const struct message_report *report = &exchange_of(moment)->report;
    write_loss(moment, report->loss, report->examples, text, size);
}

static void write_duration(uint64_t us, char *text, size_t size)
{
    if (us < 10000)
        snprintf(text, size, "%.3f ms", (double)us * 1e-3);
    else
        snprintf(text, size, "%s", wording_duration((double)us * 1e-6).text);
}

static void make_held(const struct moment *moment, char *text, size_t size)
{
    write_duration(result_of(moment)->held_us, text, size);
}

static void make_waited(const struct moment *moment, char *text, size_t size)
{
    const struct message_work *work = &message_of(moment)->work;
    if (work->whom > 0)
        snprintf(text, size, "You had to wait for worker/%u (%s). ", work->whom - 1,
                 wait_name(work->waited));
}

static void make_last(const struct moment *moment, char *text, size_t size)
{
    uint32_t last = result_of(moment)->held_for;
    if (job_mode(moment->job)->sets)
        snprintf(text, size, "the step was closed and what it is made of was");
    else if (last > 0)
        snprintf(text, size, "worker/%u's gradient was", last - 1);
    else
        snprintf(text, size, "all others were");
}

static void make_took(const struct moment *moment, char *text, size_t size)
{
    write_duration(moment->entry->event.us, text, size);
}

static void make_bytes(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%s", wording_bytes(moment->entry->event.bytes).text);
}

static void make_verdict(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%s", verdict_name(moment->entry->event.verdict));
}

static void make_optimizer(const struct moment *moment, char *text, size_t size)
{
    const char *name = moment->job->optimizer.name;
    snprintf(text, size, "%s", name);
}

static void make_accumulate(const struct moment *moment, char *text, size_t size)
{
    snprintf(text, size, "%s", wording_count(moment->job->accumulate).text);
}

static const struct made mades[] = {
    {"accumulate", make_accumulate, false},
    {"sender", make_sender, false},
    {"unit", make_unit, false},
    {"work", make_work, false},
    {"place", make_place, false},
    {"bound", make_bound, false},
    {"read", make_request, false},
    {"leaves", make_leaves, false},
    {"values", make_values, true},
    {"loss", make_loss, false},
    {"report_loss", make_report_loss, false},
    {"held", make_held, true},
    {"took", make_took, true},
    {"bytes", make_bytes, true},
    {"verdict", make_verdict, false},
    {"optimizer", make_optimizer, false},
    {"numbered", make_numbered, false},
    {"part", make_part, false},
    {"last", make_last, false},
    {"waited", make_waited, false},
};

/* --- filling in ------------------------------------------------------------------------------ */

static const struct made *find_made(const char *name)
{
    for (size_t i = 0; i < sizeof mades / sizeof *mades; i++)
        if (strcmp(mades[i].name, name) == 0)
            return &mades[i];
    return NULL;
}

static const struct message_field *find_field(const struct message_field *fields, const char *name)
{
    for (; fields->kind != FIELD_END; fields++)
        if (fields->name != NULL && strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

/* The field of that name, and in *from what its offset counts from. */
static const struct message_field *find(bool event, unsigned kind, const char *name,
                                        const struct process_log_entry *entry, const void **from)
{
    static const char report[] = "report.";
    const void *message = entry != NULL ? &entry->message : NULL;
    *from = entry == NULL ? NULL : event ? (const void *)&entry->event : message;
    if (event)
        return find_field(event_fields, name);
    if (kind != MESSAGE_EXCHANGE || strncmp(name, report, sizeof report - 1) != 0)
        return find_field(message_fields((enum message_kind)kind), name);
    const struct message_field *whole = find_field(message_fields(MESSAGE_EXCHANGE), "report");
    if (whole == NULL)
        return NULL;
    *from = message != NULL ? message_field_report(whole, message) : NULL;
    return find_field(message_fields(MESSAGE_REPORT), name + sizeof report - 1);
}

bool words_knows(bool event, unsigned kind, const char *name)
{
    const void *from;
    return name[0] == '@' ? find_made(name + 1) != NULL
                          : find(event, kind, name, NULL, &from) != NULL;
}

static void write_field(const struct message_field *field, const void *from, char *text,
                        size_t size)
{
    const uint8_t *at = (const uint8_t *)from + field->offset;
    switch (field->kind) {
    case FIELD_U32:
        snprintf(text, size, "%s", wording_count(*(const uint32_t *)(const void *)at).text);
        break;
    case FIELD_U64:
        snprintf(text, size, "%s", wording_count(*(const uint64_t *)(const void *)at).text);
        break;
    case FIELD_WORD:
        snprintf(text, size, "%s", field->word(*(const unsigned *)(const void *)at));
        break;
    case FIELD_TEXT:
    case FIELD_NAME:
        snprintf(text, size, "%s", (const char *)at);
        break;
    default:
        assert(!"a field that has no words");
    }
}

/* Of two entries that are alike these may differ. */
static bool varies(const char *name)
{
    static const char *const names[] = {"chunk", "first", "count", "array", "offset",
                                        "text",  "bytes", "name",  "reason"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void fill_in(const struct moment *moment, const char *name, bool alike, char *text,
                    size_t size)
{
    const void *from;
    const struct process_log_entry *entry = moment->entry;
    const struct made *made = name[0] == '@' ? find_made(name + 1) : NULL;
    bool event = entry->kind == LOGGED_EVENT;
    text[0] = '\0';
    if (alike && (made != NULL ? made->varies : varies(name)))
        return;
    if (made != NULL) {
        made->write(moment, text, size);
        return;
    }
    const struct message_field *field =
        find(event, event ? (unsigned)entry->event.kind : (unsigned)entry->message.kind, name,
             entry, &from);
    assert(field != NULL);
    write_field(field, from, text, size);
}

#define MODE_WORDS "mode."

/* alike: without what differs from chunk to chunk. What does not fit is cut. */
static void expand(const struct moment *moment, const char *text, bool alike, char *to)
{
    char name[64], value[MESSAGE_TEXT_MAX];
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "{");
        wording_append(to, WORDS_TEXT_MAX, "%.*s", (int)length, at);
        at += length;
        if (*at == '\0')
            return;
        length = strcspn(at, "}");
        snprintf(name, sizeof name, "%.*s", (int)length - 1, at + 1);
        at += length + (at[length] == '}');
        if (strncmp(name, MODE_WORDS, sizeof MODE_WORDS - 1) == 0) {
            const char *words = words_of_mode(moment->job, name + sizeof MODE_WORDS - 1);
            assert(words != NULL);
            expand(moment, words, alike, to);
            continue;
        }
        fill_in(moment, name, alike, value, sizeof value);
        wording_append(to, WORDS_TEXT_MAX, "%s", value);
    }
}

static const struct words_row *find_row(const struct moment *moment)
{
    const struct process_log_entry *entry = moment->entry;
    bool event = entry->kind == LOGGED_EVENT;
    const struct words_row *rows = event ? words_of_events : words_of_messages;
    size_t count = event ? words_of_events_count : words_of_messages_count;
    unsigned kind = event ? (unsigned)entry->event.kind : (unsigned)entry->message.kind;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == kind && (rows[i].when == NULL || rows[i].when(moment)))
            return &rows[i];
    return NULL;
}

static uint32_t chunk_of(const struct moment *moment, const struct words_row *row)
{
    if (strstr(row->text, "{chunk}") == NULL)
        return WORDS_NO_CHUNK;
    const void *from;
    const struct process_log_entry *entry = moment->entry;
    const struct message_field *field =
        find(entry->kind == LOGGED_EVENT, row->kind, "chunk", entry, &from);
    const void *at = (const uint8_t *)from + field->offset;
    return field->kind == FIELD_U32 ? *(const uint32_t *)at : (uint32_t) * (const uint64_t *)at;
}

void words_write(struct words *words, const struct moment *moment)
{
    const struct words_row *row = find_row(moment);
    assert(row != NULL); /* Every kind has words. */
    words->text[0] = words->like[0] = '\0';
    expand(moment, row->text, false, words->text);
    expand(moment, row->text, true, words->like);
    words->chunk = chunk_of(moment, row);
}

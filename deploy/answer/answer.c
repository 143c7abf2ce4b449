/* answer.c - pairs runs by their seeds, and has the statistics of each pair of arms made. */

#include "deploy/answer/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/mode.h"

static const struct estimate unknown = {.value = NAN, .deviation = NAN, .low = NAN, .high = NAN};

/* --- of one arm ---------------------------------------------------------------------------- */

/* Where every run got to the target. */
typedef double reach_number_fn(const struct reach *reach);

static double seconds_of(const struct reach *reach)
{
    return reach->seconds;
}

static double batches_of(const struct reach *reach)
{
    return reach->batches;
}

static double updates_of(const struct reach *reach)
{
    return reach->updates;
}

static double examples_of(const struct reach *reach)
{
    return reach->examples;
}

static double worker_seconds_of(const struct reach *reach)
{
    return reach->worker_seconds;
}

static double bytes_of(const struct reach *reach)
{
    return reach->exchanged_bytes;
}

/* Examples a second; NaN of a run that did not get there. */
static double pace_of(const struct reach *reach)
{
    return reach->seconds > 0 && isfinite(reach->seconds) ? reach->examples / reach->seconds : NAN;
}

static struct reached reached_of(const struct reach *reaches, size_t count, reach_number_fn *number)
{
    double values[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < count; i++)
        values[i] = number(&reaches[i]);
    return (struct reached){.mean = statistics_mean(values, count),
                            .median = statistics_median(values, count),
                            .olympic = statistics_olympic(values, count)};
}

static void set_arm(struct arm_answer *arm, const struct answer *answer, const struct group *group)
{
    struct reach reaches[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < group->record_count; i++) {
        reaches[i] = target_reach(&answer->target, group->records[i]);
        arm->runs += !isnan(reaches[i].seconds);
        arm->count += isfinite(reaches[i].seconds);
    }
    arm->seconds = reached_of(reaches, group->record_count, seconds_of);
    arm->batches = reached_of(reaches, group->record_count, batches_of);
    arm->updates = reached_of(reaches, group->record_count, updates_of);
    arm->examples = reached_of(reaches, group->record_count, examples_of);
    arm->worker_seconds = reached_of(reaches, group->record_count, worker_seconds_of);
    arm->bytes = reached_of(reaches, group->record_count, bytes_of);
}

double answer_pace(const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    double updates = record->accumulate > 1 ? (double)summary->versions : (double)summary->step;
    double seconds = record->training_seconds;
    return seconds > 0 && updates > 0 ? updates / seconds : NAN;
}

/* --- beside the reference ------------------------------------------------------------------ */

/* Runs of two arms that share a seed. */
struct pairs {
    struct {
        const struct record *record;
        struct reach reach;
    } ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    size_t count;
};

static const struct record *of_seed(const struct group *group, uint64_t seed)
{
    for (size_t i = 0; i < group->record_count; i++)
        if (group->records[i]->seed == seed)
            return group->records[i];
    return NULL;
}

static void pair_up(struct pairs *pairs, const struct target *target, const struct group *arm,
                    const struct group *reference)
{
    pairs->count = 0;
    for (size_t i = 0; i < arm->record_count; i++) {
        const struct record *theirs = of_seed(reference, arm->records[i]->seed);
        if (theirs == NULL)
            continue;
        size_t at = pairs->count++;
        pairs->ours[at].record = arm->records[i];
        pairs->ours[at].reach = target_reach(target, arm->records[i]);
        pairs->theirs[at].record = theirs;
        pairs->theirs[at].reach = target_reach(target, theirs);
    }
}

static struct estimate ratio_of(const struct pairs *pairs, reach_number_fn *number)
{
    double ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < pairs->count; i++) {
        ours[i] = number(&pairs->ours[i].reach);
        theirs[i] = number(&pairs->theirs[i].reach);
    }
    return statistics_ratio(ours, theirs, pairs->count);
}

static double accuracy_points(const struct record *record)
{
    return 100 * record->summary.test_accuracy;
}

static double final_loss(const struct record *record)
{
    return record->summary.train_loss;
}

static struct estimate difference_of(const struct pairs *pairs, record_number_fn *number)
{
    double ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < pairs->count; i++) {
        ours[i] = number(pairs->ours[i].record);
        theirs[i] = number(pairs->theirs[i].record);
    }
    return statistics_difference(ours, theirs, pairs->count);
}

/* Neither nothing nor without end. */
static bool is_plain(double ratio)
{
    return isfinite(ratio) && ratio > 0;
}

/* MLPerf's reference convergence: who needs less than it has changed more than the speed. With another
 * batch, rule or rate that is what was asked for. */
static bool works_less(const struct arm_answer *arm, const struct group *group,
                       const struct group *reference)
{
    if (reference->record_count == 0 || group->record_count == 0)
        return false;
    const struct record *ours = group->records[0], *theirs = reference->records[0];
    bool other_rate =
        ours->learning_rate < theirs->learning_rate || ours->learning_rate > theirs->learning_rate;
    return mode_facts_named(theirs->mode_text)->exact &&
           ours->global_batch == theirs->global_batch && !other_rate &&
           strcmp(ours->optimizer, theirs->optimizer) == 0 && arm->work.high < 1;
}

static void set_beside(struct arm_answer *arm, const struct answer *answer,
                       const struct group *group)
{
    const struct group *reference = &answer->comparison->groups[0];
    struct pairs pairs;
    pair_up(&pairs, &answer->target, group, reference);
    arm->time = ratio_of(&pairs, seconds_of);
    arm->work = ratio_of(&pairs, examples_of);
    arm->pace = ratio_of(&pairs, pace_of);
    arm->cost = ratio_of(&pairs, worker_seconds_of);
    arm->accuracy = difference_of(&pairs, accuracy_points);
    arm->loss = difference_of(&pairs, final_loss);
    arm->parity = statistics_parity(&arm->accuracy, answer->question.margin);
    arm->seeds_needed = statistics_seeds_needed(arm->time.deviation, log1p(ANSWER_EFFECT));
    if (is_plain(arm->time.value))
        arm->speed_up = 1 / arm->time.value;
    if (is_plain(arm->work.value))
        arm->statistical = 1 / arm->work.value;
    if (is_plain(arm->pace.value) && group->workers > 0 && pairs.count == arm->pace.count)
        arm->hardware = arm->pace.value * reference->workers / group->workers;
    arm->unequal_work = works_less(arm, group, reference);
}

struct estimate answer_time(const struct answer *answer, const struct group *arm,
                            const struct group *reference)
{
    struct pairs pairs;
    pair_up(&pairs, &answer->target, arm, reference);
    return ratio_of(&pairs, seconds_of);
}

/* --- both ---------------------------------------------------------------------------------- */

static struct target target_asked(const struct comparison *comparison,
                                  const struct question *question)
{
    if (question->target_loss > 0)
        return (struct target){TARGET_LOSS, question->target_loss, true};
    if (question->target_accuracy > 0)
        return (struct target){TARGET_ACCURACY, question->target_accuracy, true};
    return target_of(comparison);
}

enum status answer_make(struct answer *answer, const struct comparison *comparison,
                        const struct question *question, struct error *error)
{
    *answer = (struct answer){.target = target_asked(comparison, question),
                              .question = *question,
                              .comparison = comparison};
    size_t count = comparison->group_count;
    answer->arms = calloc(count > 0 ? count : 1, sizeof *answer->arms);
    if (answer->arms == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct arm_answer *arm = &answer->arms[i];
        arm->time = arm->work = arm->pace = arm->cost = arm->accuracy = arm->loss = unknown;
        arm->speed_up = arm->hardware = arm->statistical = NAN;
        set_arm(arm, answer, &comparison->groups[i]);
        if (i > 0)
            set_beside(arm, answer, &comparison->groups[i]);
    }
    return STATUS_OK;
}

void answer_free(struct answer *answer)
{
    free(answer->arms);
    answer->arms = NULL;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void write_number(struct json_writer *writer, const char *name, double value)
{
    if (isinf(value))
        json_writer_text(writer, name, "inf");
    else
        json_writer_real(writer, name, value);
}

static void write_estimate_members(struct json_writer *writer, const struct estimate *estimate,
                                   const char *value)
{
    write_number(writer, value, estimate->value);
    write_number(writer, "deviation", estimate->deviation);
    write_number(writer, "low", estimate->low);
    write_number(writer, "high", estimate->high);
    json_writer_u64(writer, "count", estimate->count);
}

void answer_write_estimate(struct json_writer *writer, const char *name,
                           const struct estimate *estimate)
{
    json_writer_object_line(writer, name);
    write_estimate_members(writer, estimate, "value");
    json_writer_end(writer);
}

static void write_reached(struct json_writer *writer, const char *name,
                          const struct reached *reached)
{
    json_writer_object_line(writer, name);
    write_estimate_members(writer, &reached->mean, "mean");
    write_number(writer, "median", reached->median);
    write_number(writer, "olympic", reached->olympic);
    json_writer_end(writer);
}

void answer_write_json(struct json_writer *writer, const struct answer *answer)
{
    static const char *const kinds[] = {NULL, "loss", "accuracy"};
    json_writer_object_line(writer, "target");
    json_writer_text(writer, "kind", kinds[answer->target.kind]);
    json_writer_real(writer, "value", answer->target.value);
    json_writer_bool(writer, "asked_for", answer->target.asked_for);
    json_writer_end(writer);
    if (answer->comparison->group_count > 0)
        json_writer_text(writer, "reference", answer->comparison->groups[0].arm.name);
    else
        json_writer_null(writer, "reference");
    json_writer_real(writer, "margin", answer->question.margin);
}

static void write_beside(struct json_writer *writer, const struct arm_answer *arm)
{
    static const char *const parities[] = {NULL, "equal", "below", "above", "open"};
    json_writer_object(writer, "beside_reference");
    answer_write_estimate(writer, "time", &arm->time);
    answer_write_estimate(writer, "work", &arm->work);
    answer_write_estimate(writer, "pace", &arm->pace);
    answer_write_estimate(writer, "cost", &arm->cost);
    json_writer_real(writer, "speed_up", arm->speed_up);
    json_writer_real(writer, "hardware_efficiency", arm->hardware);
    json_writer_real(writer, "statistical_efficiency", arm->statistical);
    answer_write_estimate(writer, "accuracy_points", &arm->accuracy);
    json_writer_text(writer, "accuracy_parity", parities[arm->parity]);
    answer_write_estimate(writer, "train_loss", &arm->loss);
    if (arm->seeds_needed > 0)
        json_writer_u64(writer, "seeds_needed", arm->seeds_needed);
    else
        json_writer_null(writer, "seeds_needed");
    json_writer_bool(writer, "unequal_work", arm->unequal_work);
    json_writer_end(writer);
}

void answer_write_arm_json(struct json_writer *writer, const struct answer *answer, size_t index)
{
    const struct arm_answer *arm = &answer->arms[index];
    json_writer_object(writer, "to_target");
    json_writer_u64(writer, "runs", arm->runs);
    json_writer_u64(writer, "reached", arm->count);
    write_reached(writer, "seconds", &arm->seconds);
    write_reached(writer, "batches", &arm->batches);
    write_reached(writer, "updates", &arm->updates);
    write_reached(writer, "examples", &arm->examples);
    write_reached(writer, "worker_seconds", &arm->worker_seconds);
    write_reached(writer, "exchanged_bytes", &arm->bytes);
    json_writer_end(writer);
    if (index > 0)
        write_beside(writer, arm);
    else
        json_writer_null(writer, "beside_reference");
}

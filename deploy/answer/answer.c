/* answer.c - pairs runs by their seeds, and has the statistics of each pair of arms made. */

#include "deploy/answer/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/mode.h"

static const struct estimate unknown = {
    .value = NAN, .deviation = NAN, .low = NAN, .high = NAN, .level = NAN, .p = NAN};

const char *answer_word(enum word word)
{
    static const char *const words[WORD_COUNT] = {"",      "alike",          "sooner",
                                                  "later", "not told apart", "never"};
    return words[word];
}

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

/* As its steps are dealt: by leaves, over the workers for whom there are any. */
static struct update update_of(const struct record *record)
{
    const struct mode_facts *facts = mode_facts_named(record->mode_text);
    double batch = (double)record->global_batch, computations = 1, of = 1;
    struct mode_setting setting = {.bound = 0};
    if (facts->steps && record->micro_batch > 0) {
        of = fmin(record->workers, ceil(batch / (double)record->micro_batch));
        if (facts->spares)
            mode_read(record->mode_text, &setting);
        computations = fmin(of, (double)record->workers - (double)setting.bound);
    }
    return (struct update){computations * fmax(1, (double)record->accumulate), batch / of};
}

static void set_arm(struct arm_answer *arm, const struct answer *answer, const struct group *group)
{
    struct reach reaches[COMPARISON_RUNS_MAX];
    for (size_t r = TARGET_RUNGS; r-- > 0;) {
        struct rung *rung = &arm->rungs[r];
        *rung = (struct rung){.time = unknown, .median = NAN};
        for (size_t i = 0; i < arm->trials.count && r < answer->target.count; i++) {
            reaches[i] = target_reach(&answer->target, r, &arm->trials.list[i]);
            rung->outcomes[reaches[i].outcome]++;
            rung->runs += !isnan(reaches[i].seconds);
            rung->count += isfinite(reaches[i].seconds);
        }
        if (r < answer->target.count)
            rung->median = reached_of(reaches, arm->trials.count, seconds_of).median;
    }
    size_t count = answer->target.count > 0 ? arm->trials.count : 0; /* Those of the first rung. */
    arm->seconds = reached_of(reaches, count, seconds_of);
    arm->batches = reached_of(reaches, count, batches_of);
    arm->updates = reached_of(reaches, count, updates_of);
    arm->examples = reached_of(reaches, count, examples_of);
    arm->worker_seconds = reached_of(reaches, count, worker_seconds_of);
    arm->bytes = reached_of(reaches, count, bytes_of);
    if (group->record_count > 0)
        arm->update = update_of(group->records[0]);
}

double answer_pace(const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    double updates = record->accumulate > 1 ? (double)summary->versions : (double)summary->step;
    double seconds = record->training_seconds;
    return seconds > 0 && updates > 0 ? updates / seconds : NAN;
}

/* --- beside the reference ------------------------------------------------------------------ */

/* Known runs of two arms that share a seed. */
struct pairs {
    struct {
        const struct trial *trial;
        struct reach reach;
    } ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    size_t count;
};

static const struct trial *of_seed(const struct trials *trials, uint64_t seed)
{
    for (size_t i = 0; i < trials->count; i++)
        if (trials->list[i].seed == seed && trials->list[i].fate != FATE_UNKNOWN)
            return &trials->list[i];
    return NULL;
}

static void pair_up(struct pairs *pairs, const struct answer *answer, size_t rung, size_t arm,
                    size_t reference)
{
    const struct trials *trials = &answer->arms[arm].trials;
    pairs->count = 0;
    for (size_t i = 0; i < trials->count; i++) {
        const struct trial *ours = &trials->list[i];
        const struct trial *theirs = of_seed(&answer->arms[reference].trials, ours->seed);
        if (theirs == NULL || ours->fate == FATE_UNKNOWN)
            continue;
        size_t at = pairs->count++;
        pairs->ours[at].trial = ours;
        pairs->ours[at].reach = target_reach(&answer->target, rung, ours);
        pairs->theirs[at].trial = theirs;
        pairs->theirs[at].reach = target_reach(&answer->target, rung, theirs);
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

double answer_accuracy(const struct answer *answer, const struct trial *trial)
{
    if (trial->fate == FATE_DIVERGED)
        return target_guess(&answer->target);
    return trial->record != NULL ? trial->record->summary.test.accuracy : NAN;
}

double answer_loss(const struct answer *answer, const struct trial *trial)
{
    (void)answer;
    if (trial->fate == FATE_DIVERGED)
        return INFINITY;
    return trial->record != NULL ? trial->record->summary.train.loss : NAN;
}

double answer_mean(const struct answer *answer, size_t arm, trial_number_fn *number)
{
    const struct trials *trials = &answer->arms[arm].trials;
    double values[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < trials->count; i++)
        values[i] = number(answer, &trials->list[i]);
    return statistics_mean(values, trials->count).value;
}

static struct estimate difference_of(const struct answer *answer, const struct pairs *pairs,
                                     trial_number_fn *number, double scale)
{
    double ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < pairs->count; i++) {
        ours[i] = scale * number(answer, pairs->ours[i].trial);
        theirs[i] = scale * number(answer, pairs->theirs[i].trial);
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

static void set_beside(struct arm_answer *arm, const struct answer *answer, size_t index)
{
    const struct group *reference = &answer->comparison->groups[0];
    const struct group *group = &answer->comparison->groups[index];
    struct pairs pairs;
    for (size_t r = answer->target.count; r-- > 0;)
        arm->rungs[r].time = answer_time(answer, r, index, 0);
    const struct estimate *time = &arm->rungs[0].time;
    pair_up(&pairs, answer, 0, index, 0);
    arm->work = ratio_of(&pairs, examples_of);
    arm->pace = ratio_of(&pairs, pace_of);
    arm->cost = ratio_of(&pairs, worker_seconds_of);
    arm->accuracy = difference_of(answer, &pairs, answer_accuracy, 100);
    arm->loss = difference_of(answer, &pairs, answer_loss, 1);
    arm->parity = statistics_parity(&arm->accuracy, answer->question.margin);
    arm->visible = statistics_visible(time);
    if (is_plain(time->value))
        arm->speed_up = 1 / time->value;
    if (is_plain(arm->work.value))
        arm->statistical = 1 / arm->work.value;
    if (is_plain(arm->pace.value) && group->workers > 0 && pairs.count == arm->pace.count)
        arm->hardware = arm->pace.value * reference->workers / group->workers;
    arm->unequal_work = works_less(arm, group, reference);
}

struct estimate answer_time(const struct answer *answer, size_t rung, size_t arm, size_t reference)
{
    struct pairs pairs;
    pair_up(&pairs, answer, rung, arm, reference);
    return ratio_of(&pairs, seconds_of);
}

bool answer_alike(const struct estimate *time)
{
    return time->low >= 1 - ANSWER_ALIKE && time->high <= 1 + ANSWER_ALIKE;
}

static void set_words(struct answer *answer, size_t count)
{
    double p[COMPARISON_GROUPS_MAX];
    for (size_t i = 0; i < count; i++)
        p[i] = answer->arms[i].rungs[0].count > 0 ? answer->arms[i].rungs[0].time.p : NAN;
    statistics_holm(p, count);
    for (size_t i = 1; i < count; i++) {
        struct arm_answer *arm = &answer->arms[i];
        const struct rung *rung = &arm->rungs[0];
        arm->p = p[i];
        if (rung->runs > 0 && rung->count == 0)
            arm->word = WORD_NEVER;
        else if (answer_alike(&rung->time))
            arm->word = WORD_ALIKE;
        else if (p[i] <= 0.05)
            arm->word = rung->time.value < 1 ? WORD_SOONER : WORD_LATER;
        else
            arm->word = isnan(p[i]) ? WORD_NONE : WORD_OPEN;
    }
}

/* A ratio beside the reference, 1 of those that are alike; where that never got there, seconds. */
static double place_of(const struct answer *answer, size_t rung, size_t index)
{
    const struct rung *of = &answer->arms[index].rungs[rung];
    if (answer->arms[0].rungs[rung].count == 0 || of->count == 0)
        return of->count == 0 ? (double)NAN : of->median;
    return index == 0 || answer_alike(&of->time) ? 1 : of->time.value;
}

size_t answer_first(const struct answer *answer, size_t rung, bool last, size_t except)
{
    size_t count = answer->comparison->group_count, found = count;
    double best = NAN;
    for (size_t i = 0; i < count; i++) {
        double place = place_of(answer, rung, i);
        if (i == except || !is_plain(place) || (last ? place <= best : place >= best))
            continue;
        best = place;
        found = i;
    }
    return found;
}

/* --- both ---------------------------------------------------------------------------------- */

/* What is asked for, or all arms' own. */
static void set_target(struct answer *answer, struct trials *trials, size_t count)
{
    const struct question *question = &answer->question;
    struct target *target = &answer->target;
    bool loss = question->target_loss > 0;
    if (!loss && !(question->target_accuracy > 0)) {
        target_set_ladder(target, trials, count);
        return;
    }
    target->asked_for = true;
    target->values[0] = loss ? question->target_loss : question->target_accuracy;
    bool guessed = loss ? question->target_loss >= target->start
                        : question->target_accuracy <= target_guess(target);
    if (guessed)
        return;
    target->kind = loss ? TARGET_LOSS : TARGET_ACCURACY;
    target->count = 1;
}

static enum status set_trials(struct answer *answer, size_t count, struct error *error)
{
    const struct comparison *comparison = answer->comparison;
    struct trials trials[COMPARISON_GROUPS_MAX];
    enum status status = STATUS_OK;
    target_set_ground(&answer->target, comparison);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        size_t most = comparison->groups[i].record_count + comparison->failed_count;
        trials[i] = (struct trials){.list = calloc(most + 1, sizeof(struct trial))};
        answer->arms[i].trials = trials[i];
        if (trials[i].list == NULL)
            status = error_set(error, STATUS_MEMORY, "out of memory");
        else
            target_set_trials(&answer->target, comparison, i, &trials[i]);
    }
    if (status == STATUS_OK)
        set_target(answer, trials, count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        answer->arms[i].trials = trials[i];
    return status;
}

enum status answer_make(struct answer *answer, const struct comparison *comparison,
                        const struct question *question, struct error *error)
{
    size_t count = comparison->group_count;
    *answer = (struct answer){.question = *question, .comparison = comparison};
    answer->arms = calloc(count > 0 ? count : 1, sizeof *answer->arms);
    if (answer->arms == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    answer->arm_count = count;
    enum status status = set_trials(answer, count, error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct arm_answer *arm = &answer->arms[i];
        arm->work = arm->pace = arm->cost = arm->accuracy = arm->loss = unknown;
        arm->speed_up = arm->hardware = arm->statistical = arm->p = arm->visible = NAN;
        set_arm(arm, answer, &comparison->groups[i]);
        if (i > 0)
            set_beside(arm, answer, i);
    }
    if (status == STATUS_OK)
        set_words(answer, count);
    return status;
}

void answer_free(struct answer *answer)
{
    for (size_t i = 0; i < answer->arm_count; i++)
        free(answer->arms[i].trials.list);
    free(answer->arms);
    answer->arms = NULL;
    answer->arm_count = 0;
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
    json_writer_real(writer, "level", estimate->level);
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
    bool any = answer->target.count > 0 || answer->target.asked_for;
    json_writer_real(writer, "value", any ? answer->target.values[0] : (double)NAN);
    json_writer_bool(writer, "asked_for", answer->target.asked_for);
    json_writer_real(writer, "start", answer->target.start);
    json_writer_real(writer, "window", answer->target.window);
    json_writer_array_line(writer, "ladder");
    for (size_t i = 0; i < answer->target.count; i++)
        json_writer_real(writer, NULL, answer->target.values[i]);
    json_writer_end(writer);
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
    answer_write_estimate(writer, "time", &arm->rungs[0].time);
    answer_write_estimate(writer, "work", &arm->work);
    answer_write_estimate(writer, "pace", &arm->pace);
    answer_write_estimate(writer, "cost", &arm->cost);
    json_writer_text(writer, "word", arm->word != WORD_NONE ? answer_word(arm->word) : NULL);
    json_writer_real(writer, "p", arm->p);
    json_writer_real(writer, "visible", arm->visible);
    json_writer_real(writer, "speed_up", arm->speed_up);
    json_writer_real(writer, "hardware_efficiency", arm->hardware);
    json_writer_real(writer, "statistical_efficiency", arm->statistical);
    answer_write_estimate(writer, "accuracy_points", &arm->accuracy);
    json_writer_text(writer, "accuracy_parity", parities[arm->parity]);
    answer_write_estimate(writer, "train_loss", &arm->loss);
    json_writer_bool(writer, "unequal_work", arm->unequal_work);
    json_writer_end(writer);
}

static void write_rung(struct json_writer *writer, const struct rung *rung, bool beside)
{
    static const char *const names[OUTCOME_COUNT] = {"reached", "came_back", "ended_short",
                                                     "diverged", "unknown"};
    json_writer_object(writer, NULL);
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        json_writer_u64(writer, names[i], rung->outcomes[i]);
    write_number(writer, "median", rung->median);
    if (beside)
        answer_write_estimate(writer, "time", &rung->time);
    json_writer_end(writer);
}

void answer_write_arm_json(struct json_writer *writer, const struct answer *answer, size_t index)
{
    const struct arm_answer *arm = &answer->arms[index];
    json_writer_object_line(writer, "update");
    json_writer_real(writer, "computations", arm->update.computations);
    json_writer_real(writer, "examples", arm->update.examples);
    json_writer_end(writer);
    json_writer_object(writer, "to_target");
    json_writer_u64(writer, "runs", arm->rungs[0].runs);
    json_writer_u64(writer, "reached", arm->rungs[0].count);
    write_reached(writer, "seconds", &arm->seconds);
    write_reached(writer, "batches", &arm->batches);
    write_reached(writer, "updates", &arm->updates);
    write_reached(writer, "examples", &arm->examples);
    write_reached(writer, "worker_seconds", &arm->worker_seconds);
    write_reached(writer, "exchanged_bytes", &arm->bytes);
    json_writer_array(writer, "ladder");
    for (size_t i = 0; i < answer->target.count; i++)
        write_rung(writer, &arm->rungs[i], index > 0);
    json_writer_end(writer);
    json_writer_end(writer);
    if (index > 0)
        write_beside(writer, arm);
    else
        json_writer_null(writer, "beside_reference");
}

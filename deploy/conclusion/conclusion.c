/* conclusion.c - pairs runs by seed and computes the statistics of each pair of configurations. */

#include "deploy/conclusion/conclusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/mode.h"

static const struct estimate unknown = {
    .value = NAN, .deviation = NAN, .low = NAN, .high = NAN, .level = NAN, .p = NAN};

const char *conclusion_word(enum word word)
{
    static const char *const words[WORD_COUNT] = {"",      "alike",          "sooner",
                                                  "later", "not told apart", "never"};
    return words[word];
}

/* --- of one configuration --------------------------------------------------------------------- */

/* Whether every run reached the target. */
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

/* Leaves of a step are dealt over the workers that get any. */
static struct update update_of(const struct record *record)
{
    const struct mode_facts *facts = mode_facts_named(record->mode_text);
    double batch = (double)record->global_batch, computations = 1, of = 1;
    struct mode_setting setting = {.bound = 0};
    if (facts->steps && record->micro_batch > 0) {
        of = fmin(record->workers, ceil(batch / (double)record->micro_batch));
        mode_read(record->mode_text, &setting); /* Where a step does not wait for all. */
        computations = fmin(of, (double)record->workers - (double)setting.bound);
    }
    return (struct update){computations * fmax(1, (double)record->accumulate), batch / of};
}

static void set_config(struct config_conclusion *config, const struct conclusion *conclusion,
                       const struct group *group)
{
    struct reach reaches[COMPARISON_RUNS_MAX];
    for (size_t r = TARGET_RUNGS; r-- > 0;) {
        struct rung *rung = &config->rungs[r];
        *rung = (struct rung){.time = unknown, .median = NAN};
        for (size_t i = 0; i < config->trials.count && r < conclusion->target.count; i++) {
            reaches[i] = target_reach(&conclusion->target, r, &config->trials.list[i]);
            rung->outcomes[reaches[i].outcome]++;
            rung->runs += !isnan(reaches[i].seconds);
            rung->count += isfinite(reaches[i].seconds);
        }
        if (r < conclusion->target.count)
            rung->median = reached_of(reaches, config->trials.count, seconds_of).median;
    }
    size_t count =
        conclusion->target.count > 0 ? config->trials.count : 0; /* Those of the first rung. */
    config->seconds = reached_of(reaches, count, seconds_of);
    config->batches = reached_of(reaches, count, batches_of);
    config->updates = reached_of(reaches, count, updates_of);
    config->examples = reached_of(reaches, count, examples_of);
    config->worker_seconds = reached_of(reaches, count, worker_seconds_of);
    config->bytes = reached_of(reaches, count, bytes_of);
    if (group->record_count > 0)
        config->update = update_of(group->records[0]);
}

double conclusion_pace(const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    double updates = record->accumulate > 1 ? (double)summary->versions : (double)summary->step;
    double seconds = record->training_seconds;
    return seconds > 0 && updates > 0 ? updates / seconds : NAN;
}

/* --- beside the reference ------------------------------------------------------------------ */

/* Known runs of two configurations that share a seed. */
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
        if (trials->list[i].seed == seed && trials->list[i].trial_end != TRIAL_END_UNKNOWN)
            return &trials->list[i];
    return NULL;
}

static void pair_up(struct pairs *pairs, const struct conclusion *conclusion, size_t rung,
                    size_t config, size_t reference)
{
    const struct trials *trials = &conclusion->configs[config].trials;
    pairs->count = 0;
    for (size_t i = 0; i < trials->count; i++) {
        const struct trial *ours = &trials->list[i];
        const struct trial *theirs = of_seed(&conclusion->configs[reference].trials, ours->seed);
        if (theirs == NULL || ours->trial_end == TRIAL_END_UNKNOWN)
            continue;
        size_t at = pairs->count++;
        pairs->ours[at].trial = ours;
        pairs->ours[at].reach = target_reach(&conclusion->target, rung, ours);
        pairs->theirs[at].trial = theirs;
        pairs->theirs[at].reach = target_reach(&conclusion->target, rung, theirs);
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

double conclusion_accuracy(const struct conclusion *conclusion, const struct trial *trial)
{
    if (trial->trial_end == TRIAL_END_DIVERGED)
        return target_guess(&conclusion->target);
    return trial->record != NULL ? trial->record->summary.test.accuracy : NAN;
}

double conclusion_loss(const struct conclusion *conclusion, const struct trial *trial)
{
    (void)conclusion;
    if (trial->trial_end == TRIAL_END_DIVERGED)
        return INFINITY;
    return trial->record != NULL ? trial->record->summary.train.loss : NAN;
}

double conclusion_mean(const struct conclusion *conclusion, size_t config, trial_number_fn *number)
{
    const struct trials *trials = &conclusion->configs[config].trials;
    double values[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < trials->count; i++)
        values[i] = number(conclusion, &trials->list[i]);
    return statistics_mean(values, trials->count).value;
}

static struct estimate difference_of(const struct conclusion *conclusion, const struct pairs *pairs,
                                     trial_number_fn *number, double scale)
{
    double ours[COMPARISON_RUNS_MAX], theirs[COMPARISON_RUNS_MAX];
    for (size_t i = 0; i < pairs->count; i++) {
        ours[i] = scale * number(conclusion, pairs->ours[i].trial);
        theirs[i] = scale * number(conclusion, pairs->theirs[i].trial);
    }
    return statistics_difference(ours, theirs, pairs->count);
}

/* Neither nothing nor without end. */
static bool is_plain(double ratio)
{
    return isfinite(ratio) && ratio > 0;
}

/* MLPerf's reference convergence: fewer examples than the reference point to more than a change of
 * speed. With another batch, rule or rate that is the purpose of the comparison. */
static bool works_less(const struct config_conclusion *config, const struct group *group,
                       const struct group *reference)
{
    if (reference->record_count == 0 || group->record_count == 0)
        return false;
    const struct record *ours = group->records[0], *theirs = reference->records[0];
    bool other_rate =
        ours->learning_rate < theirs->learning_rate || ours->learning_rate > theirs->learning_rate;
    return mode_facts_named(theirs->mode_text)->steps &&
           ours->global_batch == theirs->global_batch && !other_rate &&
           strcmp(ours->optimizer, theirs->optimizer) == 0 && config->work.high < 1;
}

static void set_beside(struct config_conclusion *config, const struct conclusion *conclusion,
                       size_t index)
{
    const struct group *reference = &conclusion->comparison->groups[0];
    const struct group *group = &conclusion->comparison->groups[index];
    struct pairs pairs;
    for (size_t r = conclusion->target.count; r-- > 0;)
        config->rungs[r].time = conclusion_time(conclusion, r, index, 0);
    const struct estimate *time = &config->rungs[0].time;
    pair_up(&pairs, conclusion, 0, index, 0);
    config->work = ratio_of(&pairs, examples_of);
    config->pace = ratio_of(&pairs, pace_of);
    config->cost = ratio_of(&pairs, worker_seconds_of);
    config->accuracy = difference_of(conclusion, &pairs, conclusion_accuracy, 100);
    config->loss = difference_of(conclusion, &pairs, conclusion_loss, 1);
    config->parity = statistics_parity(&config->accuracy, conclusion->question.margin);
    config->visible = statistics_visible(time);
    if (is_plain(time->value))
        config->speed_up = 1 / time->value;
    if (is_plain(config->work.value))
        config->statistical = 1 / config->work.value;
    if (is_plain(config->pace.value) && group->workers > 0 && pairs.count == config->pace.count)
        config->hardware = config->pace.value * reference->workers / group->workers;
    config->unequal_work = works_less(config, group, reference);
}

struct estimate conclusion_time(const struct conclusion *conclusion, size_t rung, size_t config,
                                size_t reference)
{
    struct pairs pairs;
    pair_up(&pairs, conclusion, rung, config, reference);
    return ratio_of(&pairs, seconds_of);
}

bool conclusion_alike(const struct estimate *time)
{
    return time->low >= 1 - CONCLUSION_ALIKE && time->high <= 1 + CONCLUSION_ALIKE;
}

static void set_words(struct conclusion *conclusion, size_t count)
{
    double p[COMPARISON_GROUPS_MAX];
    for (size_t i = 0; i < count; i++)
        p[i] = conclusion->configs[i].rungs[0].count > 0 ? conclusion->configs[i].rungs[0].time.p
                                                         : NAN;
    statistics_holm(p, count);
    for (size_t i = 1; i < count; i++) {
        struct config_conclusion *config = &conclusion->configs[i];
        const struct rung *rung = &config->rungs[0];
        config->p = p[i];
        if (rung->runs > 0 && rung->count == 0)
            config->word = WORD_NEVER;
        else if (conclusion_alike(&rung->time))
            config->word = WORD_ALIKE;
        else if (p[i] <= 0.05)
            config->word = rung->time.value < 1 ? WORD_SOONER : WORD_LATER;
        else
            config->word = isnan(p[i]) ? WORD_NONE : WORD_OPEN;
    }
}

/* A ratio beside the reference, 1 of those that are alike; where that never got there, seconds. */
static double place_of(const struct conclusion *conclusion, size_t rung, size_t index)
{
    const struct rung *of = &conclusion->configs[index].rungs[rung];
    if (conclusion->configs[0].rungs[rung].count == 0 || of->count == 0)
        return of->count == 0 ? (double)NAN : of->median;
    return index == 0 || conclusion_alike(&of->time) ? 1 : of->time.value;
}

size_t conclusion_first(const struct conclusion *conclusion, size_t rung, bool last, size_t except)
{
    size_t count = conclusion->comparison->group_count, found = count;
    double best = NAN;
    for (size_t i = 0; i < count; i++) {
        double place = place_of(conclusion, rung, i);
        if (i == except || !is_plain(place) || (last ? place <= best : place >= best))
            continue;
        best = place;
        found = i;
    }
    return found;
}

/* --- both ---------------------------------------------------------------------------------- */

/* The target of the question, or one derived from all configurations. */
static void set_target(struct conclusion *conclusion, struct trials *trials, size_t count)
{
    const struct question *question = &conclusion->question;
    struct target *target = &conclusion->target;
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

static enum status set_trials(struct conclusion *conclusion, size_t count, struct error *error)
{
    const struct comparison *comparison = conclusion->comparison;
    struct trials trials[COMPARISON_GROUPS_MAX];
    enum status status = STATUS_OK;
    target_set_settings(&conclusion->target, comparison);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        size_t most = comparison->groups[i].record_count + comparison->failed_count;
        trials[i] = (struct trials){.list = calloc(most + 1, sizeof(struct trial))};
        conclusion->configs[i].trials = trials[i];
        if (trials[i].list == NULL)
            status = error_set(error, STATUS_MEMORY, "out of memory");
        else
            target_set_trials(&conclusion->target, comparison, i, &trials[i]);
    }
    if (status == STATUS_OK)
        set_target(conclusion, trials, count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        conclusion->configs[i].trials = trials[i];
    return status;
}

enum status conclusion_make(struct conclusion *conclusion, const struct comparison *comparison,
                            const struct question *question, struct error *error)
{
    size_t count = comparison->group_count;
    *conclusion = (struct conclusion){.question = *question, .comparison = comparison};
    conclusion->configs = calloc(count > 0 ? count : 1, sizeof *conclusion->configs);
    if (conclusion->configs == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    conclusion->config_count = count;
    enum status status = set_trials(conclusion, count, error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct config_conclusion *config = &conclusion->configs[i];
        config->work = config->pace = config->cost = config->accuracy = config->loss = unknown;
        config->speed_up = config->hardware = config->statistical = config->p = config->visible =
            NAN;
        set_config(config, conclusion, &comparison->groups[i]);
        if (i > 0)
            set_beside(config, conclusion, i);
    }
    if (status == STATUS_OK)
        set_words(conclusion, count);
    return status;
}

void conclusion_free(struct conclusion *conclusion)
{
    for (size_t i = 0; i < conclusion->config_count; i++)
        free(conclusion->configs[i].trials.list);
    free(conclusion->configs);
    conclusion->configs = NULL;
    conclusion->config_count = 0;
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

static void write_estimate(struct json_writer *writer, const char *name,
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

void conclusion_write_json(struct json_writer *writer, const struct conclusion *conclusion)
{
    static const char *const kinds[] = {NULL, "loss", "accuracy"};
    json_writer_object_line(writer, "target");
    json_writer_text(writer, "kind", kinds[conclusion->target.kind]);
    bool any = conclusion->target.count > 0 || conclusion->target.asked_for;
    json_writer_real(writer, "value", any ? conclusion->target.values[0] : (double)NAN);
    json_writer_bool(writer, "asked_for", conclusion->target.asked_for);
    json_writer_real(writer, "start", conclusion->target.start);
    json_writer_real(writer, "window", conclusion->target.window);
    json_writer_array_line(writer, "ladder");
    for (size_t i = 0; i < conclusion->target.count; i++)
        json_writer_real(writer, NULL, conclusion->target.values[i]);
    json_writer_end(writer);
    json_writer_end(writer);
    if (conclusion->comparison->group_count > 0)
        json_writer_text(writer, "reference", conclusion->comparison->groups[0].config.name);
    else
        json_writer_null(writer, "reference");
    json_writer_real(writer, "margin", conclusion->question.margin);
}

static void write_beside(struct json_writer *writer, const struct config_conclusion *config)
{
    static const char *const parities[] = {NULL, "equal", "below", "above", "open"};
    json_writer_object(writer, "beside_reference");
    write_estimate(writer, "time", &config->rungs[0].time);
    write_estimate(writer, "work", &config->work);
    write_estimate(writer, "pace", &config->pace);
    write_estimate(writer, "cost", &config->cost);
    json_writer_text(writer, "word",
                     config->word != WORD_NONE ? conclusion_word(config->word) : NULL);
    json_writer_real(writer, "p", config->p);
    json_writer_real(writer, "visible", config->visible);
    json_writer_real(writer, "speed_up", config->speed_up);
    json_writer_real(writer, "hardware_efficiency", config->hardware);
    json_writer_real(writer, "statistical_efficiency", config->statistical);
    write_estimate(writer, "accuracy_points", &config->accuracy);
    json_writer_text(writer, "accuracy_parity", parities[config->parity]);
    write_estimate(writer, "train_loss", &config->loss);
    json_writer_bool(writer, "unequal_work", config->unequal_work);
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
        write_estimate(writer, "time", &rung->time);
    json_writer_end(writer);
}

void conclusion_write_config_json(struct json_writer *writer, const struct conclusion *conclusion,
                                  size_t index)
{
    const struct config_conclusion *config = &conclusion->configs[index];
    json_writer_object_line(writer, "update");
    json_writer_real(writer, "computations", config->update.computations);
    json_writer_real(writer, "examples", config->update.examples);
    json_writer_end(writer);
    json_writer_object(writer, "to_target");
    json_writer_u64(writer, "runs", config->rungs[0].runs);
    json_writer_u64(writer, "reached", config->rungs[0].count);
    write_reached(writer, "seconds", &config->seconds);
    json_writer_array_line(writer, "each");
    for (size_t i = 0; conclusion->target.kind != TARGET_NONE && i < config->trials.count; i++)
        write_number(writer, NULL,
                     target_reach(&conclusion->target, 0, &config->trials.list[i]).seconds);
    json_writer_end(writer);
    write_reached(writer, "batches", &config->batches);
    write_reached(writer, "updates", &config->updates);
    write_reached(writer, "examples", &config->examples);
    write_reached(writer, "worker_seconds", &config->worker_seconds);
    write_reached(writer, "exchanged_bytes", &config->bytes);
    json_writer_array(writer, "ladder");
    for (size_t i = 0; i < conclusion->target.count; i++)
        write_rung(writer, &config->rungs[i], index > 0);
    json_writer_end(writer);
    json_writer_end(writer);
    if (index > 0)
        write_beside(writer, config);
    else
        json_writer_null(writer, "beside_reference");
}

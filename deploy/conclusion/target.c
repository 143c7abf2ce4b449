/* target.c - walks along a run's points with the mean of the last of them, for the end and for
 * targets. */

#include "deploy/conclusion/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/statistics.h"

double target_examples(const struct record *record, double batches)
{
    double batch = (double)record->global_batch;
    if (record->examples == 0 || record->global_batch == 0)
        return batches * batch;
    /* Batches; the last one has the remainder. */
    double epoch = ceil((double)record->examples / batch);
    double whole = floor(batches / epoch);
    return whole * (double)record->examples + (batches - whole * epoch) * batch;
}

/* Batches are not updates where several make one. */
static double updates_of(const struct record *record, double batches)
{
    return record->accumulate > 1 ? floor(batches / (double)record->accumulate) : batches;
}

static struct reach reach_at(const struct record *record, double seconds, double batches,
                             double bytes)
{
    return (struct reach){.outcome = OUTCOME_REACHED,
                          .seconds = seconds,
                          .batches = batches,
                          .updates = updates_of(record, batches),
                          .examples = target_examples(record, batches),
                          .worker_seconds = seconds * record->workers,
                          .exchanged_bytes = bytes};
}

static struct reach reach_never(enum outcome outcome)
{
    double value = outcome == OUTCOME_UNKNOWN ? (double)NAN : (double)INFINITY;
    return (struct reach){outcome, value, value, value, value, value, value};
}

/* --- the trailing mean --------------------------------------------------------------------- */

/* Of point number index, since the one before. */
static double examples_of_point(const struct record *record, size_t index)
{
    double before = index > 0 ? record->points[index - 1].step : 0;
    return target_examples(record, record->points[index].step) - target_examples(record, before);
}

static bool has_loss(const struct record *record, size_t index)
{
    return isfinite(record->points[index].loss) && examples_of_point(record, index) > 0;
}

/* The mean of the last points up to this one that have so many examples; NaN when there are
 * fewer. */
static double trailing_mean(const struct record *record, size_t index, double wanted)
{
    double sum = 0, examples = 0;
    if (!has_loss(record, index))
        return NAN;
    for (size_t i = index + 1; i-- > 0 && examples < wanted;) {
        if (!has_loss(record, i))
            continue;
        sum += examples_of_point(record, i) * record->points[i].loss;
        examples += examples_of_point(record, i);
    }
    return examples >= wanted && examples > 0 ? sum / examples : NAN;
}

static double end_of(const struct record *record, double window)
{
    for (size_t i = record->point_count; i-- > 0;) {
        double mean = trailing_mean(record, i, window);
        if (!isnan(mean))
            return mean;
    }
    return NAN;
}

/* --- window, start, trials ----------------------------------------------------------------- */

static double first_loss(const struct record *record)
{
    for (size_t i = 0; i < record->point_count; i++)
        if (has_loss(record, i))
            return record->points[i].loss;
    return NAN;
}

void target_set_settings(struct target *target, const struct comparison *comparison)
{
    double firsts[COMPARISON_RUNS_MAX], shortest = INFINITY;
    *target = (struct target){.kind = TARGET_NONE};
    for (size_t i = 0; i < comparison->record_count; i++) {
        const struct record *record = comparison->records[i];
        double examples = target_examples(record, (double)record->steps);
        unsigned classes = record_classes(record);
        shortest = examples > 0 ? fmin(shortest, examples) : shortest;
        firsts[i] = first_loss(record);
        target->classes = i == 0 || classes == target->classes ? classes : 0;
    }
    target->window = isinf(shortest) ? 0 : fmin(fmax(shortest / 20, 2000), shortest / 4);
    target->start = target->classes > 1 ? log(target->classes)
                                        : statistics_median(firsts, comparison->record_count);
}

static struct trial trial_of(const struct target *target, const struct record *record)
{
    struct trial trial = {record->seed, TRIAL_END_DONE, record, end_of(record, target->window)};
    if (record_diverged(record)) {
        trial.trial_end = TRIAL_END_DIVERGED;
        trial.end = INFINITY;
    }
    return trial;
}

void target_set_trials(const struct target *target, const struct comparison *comparison,
                       size_t group, struct trials *trials)
{
    const struct group *of = &comparison->groups[group];
    double ends[COMPARISON_RUNS_MAX];
    trials->count = 0;
    for (size_t i = 0; i < of->record_count; i++)
        trials->list[trials->count++] = trial_of(target, of->records[i]);
    for (size_t i = 0; i < comparison->failed_count; i++) {
        const struct failed_run *failed = &comparison->failed[i];
        bool diverged = failed_run_diverged(failed);
        if (strcmp(failed->config, of->config.name) == 0 && trials->count < COMPARISON_RUNS_MAX)
            trials->list[trials->count++] =
                (struct trial){failed->seed, diverged ? TRIAL_END_DIVERGED : TRIAL_END_UNKNOWN,
                               NULL, diverged ? (double)INFINITY : (double)NAN};
    }
    trials->known = 0;
    for (size_t i = 0; i < trials->count; i++) {
        ends[i] = trials->list[i].end;
        trials->known += !isnan(ends[i]);
    }
    trials->median = statistics_median(ends, trials->count);
}

/* --- the ladder ---------------------------------------------------------------------------- */

/* The worst end of a configuration that is not above this. */
static double worst_end(const struct trials *config, double limit)
{
    double worst = -INFINITY;
    for (size_t i = 0; i < config->count; i++)
        if (config->list[i].end <= limit)
            worst = fmax(worst, config->list[i].end);
    return worst;
}

/* Up to four digits, as printed. */
static double round_up(double value)
{
    char text[32];
    for (double more = 0;; more += 0.5e-4) {
        snprintf(text, sizeof text, "%.4g", value + fabs(value) * more);
        double rounded = strtod(text, NULL);
        if (rounded >= value)
            return rounded;
    }
}

void target_set_ladder(struct target *target, struct trials *configs, size_t count)
{
    double least = INFINITY, common = -INFINITY, deep = NAN, best = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, configs[i].median); /* NaN is none. */
    if (!(least < 0.99 * target->start))
        return;
    double limit = target->start - (target->start - least) / 2;
    for (size_t i = 0; i < count; i++) {
        size_t learned = 0;
        for (size_t j = 0; j < configs[i].count; j++)
            learned += configs[i].list[j].end <= limit;
        configs[i].learns = 2 * learned > configs[i].known;
        if (!configs[i].learns)
            continue;
        common = fmax(common, worst_end(&configs[i], limit));
        if (configs[i].median < best) {
            best = configs[i].median;
            deep = worst_end(&configs[i], limit);
        }
    }
    if (isinf(common))
        return;
    target->kind = TARGET_LOSS;
    target->count = common - deep < 0.02 * (target->start - least) ? 1 : TARGET_RUNGS;
    target->values[0] = round_up(common);
    target->values[1] = round_up((common + deep) / 2);
    target->values[2] = round_up(deep);
}

/* --- reached ------------------------------------------------------------------------------- */

static struct reach reach_loss(const struct target *target, double value, const struct trial *trial)
{
    const struct record *record = trial->record;
    for (size_t i = 0; i < record->point_count; i++) {
        if (!(trailing_mean(record, i, target->window) <= value))
            continue;
        if (trial->end > value + (target->start - value) / 10)
            return reach_never(OUTCOME_CAME_BACK);
        return reach_at(record, record->points[i].training_seconds, record->points[i].step,
                        record->points[i].exchanged_bytes);
    }
    return reach_never(isnan(trial->end) ? OUTCOME_UNKNOWN : OUTCOME_SHORT);
}

double target_guess(const struct target *target)
{
    return target->classes > 0 ? 1.0 / target->classes : (double)NAN;
}

static struct reach reach_accuracy(const struct target *target, double value,
                                   const struct record *record)
{
    struct reach reach = reach_never(OUTCOME_UNKNOWN);
    double guess = target->classes > 0 ? target_guess(target) : 0, last = NAN;
    for (size_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *score = &record->evaluations[i];
        if (isnan(score->test.accuracy))
            continue;
        last = score->test.accuracy;
        if (reach.outcome != OUTCOME_REACHED)
            reach = last >= value ? reach_at(record, score->training_seconds, score->step,
                                             score->exchanged_bytes)
                                  : reach_never(OUTCOME_SHORT);
    }
    if (reach.outcome == OUTCOME_REACHED && last < value - (value - guess) / 10)
        return reach_never(OUTCOME_CAME_BACK);
    return reach;
}

struct reach target_reach(const struct target *target, size_t rung, const struct trial *trial)
{
    if (trial->trial_end == TRIAL_END_UNKNOWN || target->kind == TARGET_NONE)
        return reach_never(OUTCOME_UNKNOWN);
    if (trial->trial_end == TRIAL_END_DIVERGED)
        return reach_never(OUTCOME_DIVERGED);
    return target->kind == TARGET_LOSS
               ? reach_loss(target, target->values[rung], trial)
               : reach_accuracy(target, target->values[rung], trial->record);
}

struct target_text target_text(const struct target *target, size_t rung)
{
    struct target_text text = {"no target"};
    double value = target->values[rung];
    if (target->kind == TARGET_LOSS)
        snprintf(text.text, sizeof(text.text), "loss %.4g", value);
    if (target->kind == TARGET_ACCURACY)
        snprintf(text.text, sizeof(text.text), "test accuracy %.4g %%", 100 * value);
    return text;
}

/* target.c - goes along a run's points until the mean of the last of them has come down. */

#include "deploy/answer/target.h"

#include <math.h>
#include <stdio.h>

#include "deploy/answer/statistics.h"

double target_examples(const struct record *record, double batches)
{
    double batch = (double)record->global_batch;
    if (record->examples == 0 || record->global_batch == 0)
        return batches * batch;
    double epoch = ceil((double)record->examples / batch); /* Batches; its last is what is left. */
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
    return (struct reach){.seconds = seconds,
                          .batches = batches,
                          .updates = updates_of(record, batches),
                          .examples = target_examples(record, batches),
                          .worker_seconds = seconds * record->workers,
                          .exchanged_bytes = bytes};
}

static struct reach reach_all(double value)
{
    return (struct reach){value, value, value, value, value, value};
}

/* --- loss ---------------------------------------------------------------------------------- */

/* Of point number index, since the one before. */
static double examples_of_point(const struct record *record, size_t index)
{
    double before = index > 0 ? record->points[index - 1].step : 0;
    return target_examples(record, record->points[index].step) - target_examples(record, before);
}

static bool is_told(const struct record *record, size_t index)
{
    return isfinite(record->points[index].loss) && examples_of_point(record, index) > 0;
}

/* The mean of the last points up to this one that have so many examples; NaN when there are fewer. */
static double trailing_mean(const struct record *record, size_t index, double wanted)
{
    double sum = 0, examples = 0;
    for (size_t i = index + 1; i-- > 0 && examples < wanted;) {
        if (!is_told(record, i))
            continue;
        sum += examples_of_point(record, i) * record->points[i].loss;
        examples += examples_of_point(record, i);
    }
    return examples >= wanted && examples > 0 ? sum / examples : NAN;
}

static struct reach reach_loss(double value, const struct record *record)
{
    double wanted = target_examples(record, (double)record->steps) / TARGET_TRAILING_PART;
    struct reach reach = reach_all(NAN);
    for (size_t i = 0; i < record->point_count; i++) {
        double mean = is_told(record, i) ? trailing_mean(record, i, wanted) : NAN;
        if (isnan(mean))
            continue;
        if (mean <= value)
            return reach_at(record, record->points[i].training_seconds, record->points[i].step,
                            record->points[i].exchanged_bytes);
        reach = reach_all(INFINITY);
    }
    return reach;
}

/* --- accuracy ------------------------------------------------------------------------------ */

static struct reach reach_accuracy(double value, const struct record *record)
{
    struct reach reach = reach_all(NAN);
    for (size_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *score = &record->evaluations[i];
        if (isnan(score->test_accuracy))
            continue;
        if (score->test_accuracy >= value)
            return reach_at(record, score->training_seconds, score->step, score->exchanged_bytes);
        reach = reach_all(INFINITY);
    }
    return reach;
}

/* --- both ---------------------------------------------------------------------------------- */

struct target target_of(const struct comparison *comparison)
{
    double losses[COMPARISON_RUNS_MAX];
    struct target none = {.kind = TARGET_NONE, .value = NAN};
    if (comparison->group_count == 0)
        return none;
    const struct group *reference = &comparison->groups[0];
    for (size_t i = 0; i < reference->record_count; i++)
        losses[i] = reference->records[i]->summary.train_loss;
    double median = statistics_median(losses, reference->record_count);
    return isfinite(median) ? (struct target){TARGET_LOSS, median, false} : none;
}

struct reach target_reach(const struct target *target, const struct record *record)
{
    switch (target->kind) {
    case TARGET_LOSS:
        return reach_loss(target->value, record);
    case TARGET_ACCURACY:
        return reach_accuracy(target->value, record);
    case TARGET_NONE:
        break;
    }
    return reach_all(NAN);
}

struct target_text target_text(const struct target *target)
{
    struct target_text text = {"no target"};
    if (target->kind == TARGET_LOSS)
        snprintf(text.text, sizeof(text.text), "loss %.4g", target->value);
    if (target->kind == TARGET_ACCURACY)
        snprintf(text.text, sizeof(text.text), "test accuracy %.4g %%", 100 * target->value);
    return text;
}

/* answer_words.c - each sentence is put together from what is known; what is not is left out or said. */

#include "deploy/answer/answer_words.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/answer/rate_grid.h"

/* --- numbers ------------------------------------------------------------------------------- */

static struct answer_text number_text(double number, int decimals, const char *format)
{
    struct answer_text text;
    if (isnan(number))
        snprintf(text.text, sizeof text.text, "-");
    else if (isinf(number))
        snprintf(text.text, sizeof text.text, "%s", number > 0 ? "inf" : "-inf");
    else if (strcmp(format, "+") == 0)
        snprintf(text.text, sizeof text.text, "%+.*f", decimals, number);
    else
        snprintf(text.text, sizeof text.text, "%.*f", decimals, number);
    return text;
}

struct answer_text answer_ratio(double ratio)
{
    if (fpclassify(ratio) == FP_ZERO)
        return (struct answer_text){"0"};
    return number_text(ratio, ratio < 0.0995 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, "");
}

struct answer_text answer_ratio_interval(const struct estimate *ratio)
{
    struct answer_text text = answer_ratio(ratio->value);
    if (!isnan(ratio->low) && !isnan(ratio->high))
        wording_append(text.text, sizeof text.text, " [%s, %s]", answer_ratio(ratio->low).text,
                       answer_ratio(ratio->high).text);
    return text;
}

struct answer_text answer_points_interval(const struct estimate *points)
{
    struct answer_text text = number_text(points->value, 2, "+");
    if (!isnan(points->low) && !isnan(points->high))
        wording_append(text.text, sizeof text.text, " [%s, %s]",
                       number_text(points->low, 2, "+").text,
                       number_text(points->high, 2, "+").text);
    return text;
}

struct answer_text answer_seconds(double seconds, double like)
{
    return number_text(seconds, like < 0.9995 ? 3 : like < 9.995 ? 2 : like < 999.5 ? 1 : 0, "");
}

struct answer_text answer_count(double count)
{
    double unit = count < 999.5 ? 1 : count < 999500 ? 1e3 : 1e6;
    const char *name = unit > 1e3 ? " M" : unit > 1 ? " k" : "";
    double shown = count / unit;
    struct answer_text text = number_text(shown,
                                          unit <= 1 || shown > 99.95 ? 0
                                          : shown > 9.995            ? 1
                                                                     : 2,
                                          "");
    if (isfinite(count))
        wording_append(text.text, sizeof text.text, "%s", name);
    return text;
}

/* --- names --------------------------------------------------------------------------------- */

static bool workers_alike(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (comparison->groups[i].workers != comparison->groups[0].workers)
            return false;
    return true;
}

static struct answer_text short_name(const struct group *group)
{
    struct answer_text name;
    snprintf(name.text, sizeof name.text, "%s%s%s", group->mode_text,
             group->arm.varied[0] != '\0' ? ", " : "", group->arm.varied);
    return name;
}

struct answer_text answer_name(const struct comparison *comparison, const struct group *group)
{
    struct answer_text name = short_name(group);
    bool enough = workers_alike(comparison) && group->arm.label[0] == '\0';
    for (size_t i = 0; i < comparison->group_count && enough; i++)
        enough = &comparison->groups[i] == group ||
                 strcmp(short_name(&comparison->groups[i]).text, name.text) != 0;
    if (!enough)
        snprintf(name.text, sizeof name.text, "%s", group->label);
    return name;
}

/* "sync's time", "the time of sync, 2 workers" */
static struct answer_text time_of(const struct answer *answer)
{
    struct answer_text time, name = answer_name(answer->comparison, &answer->comparison->groups[0]);
    snprintf(time.text, sizeof time.text,
             strchr(name.text, ' ') == NULL ? "%.200s's time" : "the time of %.200s", name.text);
    return time;
}

/* --- the answer ---------------------------------------------------------------------------- */

static struct answer_text seeds_text(const struct arm_answer *arm)
{
    struct answer_text text;
    snprintf(text.text, sizeof text.text, "%zu of %s", arm->count,
             wording_counted(arm->runs, "seed", "seeds").text);
    return text;
}

/* What is said of so few pairs of runs, 0 to 2; "" of more. */
static const char *chance_text(size_t pairs)
{
    static const char *const texts[STATISTICS_INTERVAL_RUNS] = {
        "", "one seed: what seeds do by chance is not known",
        "two seeds: what seeds do by chance is not known"};
    return pairs < STATISTICS_INTERVAL_RUNS ? texts[pairs] : "";
}

static bool shows_nothing(const struct estimate *time)
{
    return time->low <= 1 && time->high >= 1;
}

static void add_accuracy(struct answer_text *sentence, const struct answer *answer,
                         const struct arm_answer *arm)
{
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    struct answer_text points = answer_points_interval(&arm->accuracy);
    const char *shown = points.text;
    double margin = answer->question.margin;
    switch (arm->parity) {
    case PARITY_EQUAL:
        wording_append(text, bytes, "; accuracy equal within %g points (%s)", margin, shown);
        break;
    case PARITY_BELOW:
    case PARITY_ABOVE:
        wording_append(text, bytes, "; accuracy %s: %s points",
                       arm->parity == PARITY_BELOW ? "lower" : "higher", shown);
        break;
    case PARITY_OPEN:
        wording_append(text, bytes, "; accuracy not shown to be equal within %g points (%s)",
                       margin, shown);
        break;
    case PARITY_UNKNOWN:
        if (arm->accuracy.count > 0)
            wording_append(text, bytes, "; accuracy %s points", shown);
        break;
    }
}

static void tell_arm(struct answer_text *sentence, const struct answer *answer, size_t index)
{
    const struct arm_answer *arm = &answer->arms[index];
    const struct arm_answer *reference = &answer->arms[0];
    const struct comparison *comparison = answer->comparison;
    char name[256], target[64];
    snprintf(name, sizeof name, "%.250s", answer_name(comparison, &comparison->groups[index]).text);
    snprintf(target, sizeof target, "%s", target_text(&answer->target).text);
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    if (arm->runs == 0)
        wording_append(text, bytes, "%s: nothing is known of its way to %s", name, target);
    else if (arm->count == 0)
        wording_append(text, bytes, "%s does not reach %s, %s (%s %zu of %zu)", name, target,
                       seeds_text(arm).text, answer_name(comparison, &comparison->groups[0]).text,
                       reference->count, reference->runs);
    else if (isnan(arm->time.value))
        wording_append(text, bytes, "%s reaches %s, %s, %s %zu of %zu: no ratio of their times",
                       name, target, seeds_text(arm).text,
                       answer_name(comparison, &comparison->groups[0]).text, reference->count,
                       reference->runs);
    else if (isinf(arm->time.value)) {
        wording_append(text, bytes, "%s mostly does not reach %s, %s", name, target,
                       seeds_text(arm).text);
        if (arm->time.low > 0 && isfinite(arm->time.low))
            wording_append(text, bytes, "; it takes %sx %s at least",
                           answer_ratio(arm->time.low).text, time_of(answer).text);
    } else {
        struct answer_text ratio = answer_ratio(arm->time.value);
        wording_append(text, bytes, "%s reaches %s in %sx %s", name, target, ratio.text,
                       time_of(answer).text);
        if (!isnan(arm->time.low))
            wording_append(text, bytes, "%s",
                           answer_ratio_interval(&arm->time).text + strlen(ratio.text));
        wording_append(text, bytes, ", %s%s", seeds_text(arm).text,
                       shows_nothing(&arm->time) ? ": no difference shown" : "");
    }
    if (chance_text(arm->time.count)[0] != '\0')
        wording_append(text, bytes, "; %s", chance_text(arm->time.count));
    add_accuracy(sentence, answer, arm);
    wording_append(text, bytes, ".");
}

/* With one arm, or none, nothing is compared. */
static void tell_alone(struct answer_text *sentence, const struct answer *answer)
{
    const struct comparison *comparison = answer->comparison;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    if (comparison->group_count == 0 || answer->target.kind == TARGET_NONE ||
        answer->arms[0].runs == 0) {
        wording_append(text, bytes, "No target: %s.",
                       comparison->group_count == 0 ? "there are no runs"
                                                    : "the reference has no loss");
        return;
    }
    const struct arm_answer *arm = &answer->arms[0];
    wording_append(text, bytes, "%s reaches %s",
                   answer_name(comparison, &comparison->groups[0]).text,
                   target_text(&answer->target).text);
    if (isfinite(arm->seconds.median))
        wording_append(text, bytes, " in %s s",
                       answer_seconds(arm->seconds.median, arm->seconds.median).text);
    wording_append(text, bytes, ", %s; there is no other arm.", seeds_text(arm).text);
}

/* "5 arms beside sync: 3 reach loss 0.35 sooner, 1 later, 1 not shown." */
static void tell_many(struct answer_text *sentence, const struct answer *answer)
{
    const struct comparison *comparison = answer->comparison;
    size_t sooner = 0, later = 0, pairs = 0, never = 0, equal = 0;
    double least = INFINITY, most = 0;
    for (size_t i = 1; i < comparison->group_count; i++) {
        const struct arm_answer *arm = &answer->arms[i];
        sooner += arm->time.high < 1;
        later += arm->time.low > 1;
        never += arm->runs > 0 && arm->count == 0;
        equal += arm->parity == PARITY_EQUAL;
        pairs = arm->time.count > pairs ? arm->time.count : pairs;
        least = arm->time.value < least ? arm->time.value : least;
        most = arm->time.value > most ? arm->time.value : most;
    }
    size_t others = comparison->group_count - 1;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    wording_append(text, bytes, "%zu arms beside %s: ", others,
                   answer_name(comparison, &comparison->groups[0]).text);
    if (pairs >= STATISTICS_INTERVAL_RUNS)
        wording_append(text, bytes, "%zu %s %s sooner, %zu later, %zu not shown", sooner,
                       sooner == 1 ? "reaches" : "reach", target_text(&answer->target).text, later,
                       others - sooner - later);
    else if (least < INFINITY)
        wording_append(text, bytes, "%s is reached in %sx to %sx its time; %s",
                       target_text(&answer->target).text, answer_ratio(least).text,
                       answer_ratio(most).text, chance_text(pairs));
    else
        wording_append(text, bytes, "none reaches %s beside it", target_text(&answer->target).text);
    if (never > 0)
        wording_append(text, bytes, "; %zu never %s", never,
                       never == 1 ? "reaches it" : "reach it");
    if (pairs >= STATISTICS_INTERVAL_RUNS)
        wording_append(text, bytes, "; accuracy shown to be equal within %g points of %zu",
                       answer->question.margin, equal);
    wording_append(text, bytes, ".");
}

/* --- what is the same for all -------------------------------------------------------------- */

/* Whether a number is the same in all runs, none of them 0. */
typedef uint64_t record_count_fn(const struct record *record);

static bool is_shared(const struct comparison *comparison, record_count_fn *number)
{
    for (size_t i = 0; i < comparison->record_count; i++)
        if (number(comparison->records[i]) == 0 ||
            number(comparison->records[i]) != number(comparison->records[0]))
            return false;
    return comparison->record_count > 0;
}

static uint64_t workers_of(const struct record *record)
{
    return record->workers;
}

static uint64_t servers_of(const struct record *record)
{
    return record->servers;
}

static uint64_t batch_of(const struct record *record)
{
    return record->global_batch;
}

static bool text_shared(const struct comparison *comparison, size_t offset)
{
    for (size_t i = 1; i < comparison->record_count; i++)
        if (strcmp((const char *)comparison->records[i] + offset,
                   (const char *)comparison->records[0] + offset) != 0)
            return false;
    return comparison->record_count > 0;
}

static bool rate_shared(const struct comparison *comparison)
{
    for (size_t i = 1; i < comparison->record_count; i++)
        if (comparison->records[i]->learning_rate < comparison->records[0]->learning_rate ||
            comparison->records[i]->learning_rate > comparison->records[0]->learning_rate)
            return false;
    return comparison->record_count > 0 && isfinite(comparison->records[0]->learning_rate);
}

/* "flatten, dense 10; synthetic; 4 workers, 1 server; batch 64; adam 0.001; virtual time" */
static void tell_constants(struct answer_text *sentence, const struct comparison *comparison)
{
    const struct record *record = comparison->records[0];
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    if (text_shared(comparison, offsetof(struct record, model)))
        wording_append(text, bytes, "%.160s; ", record->model);
    if (text_shared(comparison, offsetof(struct record, data)))
        wording_append(text, bytes, "%.80s; ", record->data);
    if (is_shared(comparison, workers_of))
        wording_append(text, bytes, "%s; ",
                       wording_counted(record->workers, "worker", "workers").text);
    if (is_shared(comparison, servers_of))
        wording_append(text, bytes, "%s; ",
                       wording_counted(record->servers, "server", "servers").text);
    if (is_shared(comparison, batch_of))
        wording_append(text, bytes, "batch %llu; ", (unsigned long long)record->global_batch);
    if (text_shared(comparison, offsetof(struct record, optimizer)))
        wording_append(text, bytes, "%.31s", record->optimizer);
    if (text_shared(comparison, offsetof(struct record, optimizer)) && rate_shared(comparison))
        wording_append(text, bytes, " %g", record->learning_rate);
    if (text_shared(comparison, offsetof(struct record, optimizer)))
        wording_append(text, bytes, "; ");
    wording_append(text, bytes, "%s",
                   record->arm.cluster[0] != '\0' ? "virtual time" : "this machine's time");
}

bool answer_head(const struct answer *answer, size_t index, struct answer_text *sentence)
{
    const struct comparison *comparison = answer->comparison;
    bool alone = comparison->group_count < 2 || answer->target.kind == TARGET_NONE;
    bool many = !alone && comparison->group_count > ANSWER_TOLD_MAX + 1;
    size_t sentences = alone || many ? 1 : comparison->group_count - 1;
    if (index < sentences && alone)
        tell_alone(sentence, answer);
    else if (index < sentences && many)
        tell_many(sentence, answer);
    else if (index < sentences)
        tell_arm(sentence, answer, index + 1);
    else if (index == sentences && comparison->record_count > 0)
        tell_constants(sentence, comparison);
    else
        return false;
    return true;
}

/* --- below the table ----------------------------------------------------------------------- */

/* "time = work x pace: async needs 1.12x the examples, at 1.57x the pace" */
static bool tell_product(struct answer_text *sentence, const struct answer *answer, size_t index)
{
    const struct arm_answer *arm = &answer->arms[index];
    const struct comparison *comparison = answer->comparison;
    if (isnan(arm->statistical) || isnan(arm->hardware) || isnan(arm->speed_up))
        return false;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    wording_append(text, bytes, "time = work x pace: %s needs %sx the examples, ",
                   answer_name(comparison, &comparison->groups[index]).text,
                   answer_ratio(arm->work.value).text);
    wording_append(text, bytes, "at %sx the pace", answer_ratio(arm->pace.value).text);
    if (comparison->groups[index].workers == comparison->groups[0].workers)
        return true;
    wording_append(
        text, bytes, "; speed-up %s with %sx the workers = efficiency %s ",
        answer_ratio(arm->speed_up).text,
        answer_ratio((double)comparison->groups[index].workers / comparison->groups[0].workers)
            .text,
        answer_ratio(arm->hardware * arm->statistical).text);
    wording_append(text, bytes, "(hardware %s, statistical %s)", answer_ratio(arm->hardware).text,
                   answer_ratio(arm->statistical).text);
    return true;
}

static bool tell_power(struct answer_text *sentence, const struct answer *answer)
{
    const struct comparison *comparison = answer->comparison;
    size_t most = 0, pairs = 0;
    for (size_t i = 1; i < comparison->group_count; i++) {
        const struct arm_answer *arm = &answer->arms[i];
        most = arm->seeds_needed > most ? arm->seeds_needed : most;
        pairs = arm->time.count > pairs ? arm->time.count : pairs;
    }
    if (most <= pairs)
        return false;
    snprintf(sentence->text, sizeof sentence->text,
             "to see %g %% of time you need about %s seeds%s", 100 * ANSWER_EFFECT,
             wording_count(most).text, most == STATISTICS_SEEDS_MAX ? " or more" : "");
    return true;
}

static bool tell_unequal(struct answer_text *sentence, const struct answer *answer)
{
    for (size_t i = 1; i < answer->comparison->group_count; i++) {
        if (!answer->arms[i].unequal_work)
            continue;
        snprintf(sentence->text, sizeof sentence->text,
                 "* unequal work? Significantly fewer examples than %.200s needs with the same "
                 "batch and "
                 "rate: more than the pace has changed",
                 answer_name(answer->comparison, &answer->comparison->groups[0]).text);
        return true;
    }
    return false;
}

/* "best of 3 learning rates: async, learning-rate 0.01: 41.2 s (its default 0.001: 50.1 s) ..." */
static void tell_grid(struct answer_text *sentence, const struct answer *answer,
                      const struct rate_grid *grid)
{
    const struct comparison *comparison = answer->comparison;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    const struct group *best = &comparison->groups[grid->best];
    double median = answer->arms[grid->best].seconds.median;
    text[0] = '\0';
    wording_append(text, bytes, "best of its grid of %zu learning rates: %s, ", grid->count,
                   answer_name(comparison, best).text);
    if (isfinite(median))
        wording_append(text, bytes, "%s s", answer_seconds(median, median).text);
    else
        wording_append(text, bytes, "by its final loss: none gets there in half of its runs");
    if (grid->has_default && grid->default_rate != grid->best) {
        double of_default = answer->arms[grid->default_rate].seconds.median;
        wording_append(text, bytes, "; the default rate, %g, ",
                       comparison->groups[grid->default_rate].records[0]->learning_rate);
        if (isfinite(of_default))
            wording_append(text, bytes, "%s s", answer_seconds(of_default, of_default).text);
        else
            wording_append(text, bytes, "does not get there");
    } else {
        wording_append(text, bytes,
                       grid->has_default ? "; it is the default rate"
                                         : "; the default rate is not in it");
    }
    if (grid->time.count > 0)
        wording_append(text, bytes, "; best beside best %s",
                       answer_ratio_interval(&grid->time).text);
    if (grid->count != grid->first_count || grid->runs != grid->first_runs)
        wording_append(text, bytes,
                       "; unequal budgets: chosen from %zu rates and %zu runs, the first from %zu "
                       "and %zu",
                       grid->count, grid->runs, grid->first_count, grid->first_runs);
}

bool answer_foot(const struct answer *answer, size_t index, struct answer_text *sentence)
{
    struct rate_grid grid;
    size_t found = 0;
    if (answer->target.kind == TARGET_NONE)
        return false;
    size_t told = answer->comparison->group_count <= ANSWER_TOLD_MAX + 1
                      ? answer->comparison->group_count
                      : 0; /* Of many arms it is in the columns of the report. */
    for (size_t i = 1; i < told; i++)
        if (tell_product(sentence, answer, i) && found++ == index)
            return true;
    for (size_t i = 0; rate_grid_at(answer, i, &grid); i++)
        if (found++ == index) {
            tell_grid(sentence, answer, &grid);
            return true;
        }
    if (tell_unequal(sentence, answer) && found++ == index)
        return true;
    return tell_power(sentence, answer) && found++ == index;
}

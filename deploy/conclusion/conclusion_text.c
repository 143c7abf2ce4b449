/* conclusion_text.c - builds each sentence from the known figures; an unknown one is left out or
 * named. */

#include "deploy/conclusion/conclusion_text.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/mode.h"
#include "deploy/conclusion/rate_sweep.h"

/* --- numbers ------------------------------------------------------------------------------- */

static struct conclusion_text number_text(double number, int decimals, const char *format)
{
    struct conclusion_text text;
    if (isnan(number))
        snprintf(text.text, sizeof text.text, "-");
    else if (isinf(number))
        snprintf(text.text, sizeof text.text, "%s", number > 0 ? "never" : "-inf");
    else if (strcmp(format, "+") == 0)
        snprintf(text.text, sizeof text.text, "%+.*f", decimals, number);
    else
        snprintf(text.text, sizeof text.text, "%.*f", decimals, number);
    return text;
}

struct conclusion_text conclusion_ratio(double ratio)
{
    if (fpclassify(ratio) == FP_ZERO)
        return (struct conclusion_text){"0"};
    return number_text(ratio, ratio < 0.0995 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, "");
}

struct conclusion_text conclusion_ratio_interval(const struct estimate *ratio)
{
    struct conclusion_text text = conclusion_ratio(ratio->value);
    bool certain = isinf(ratio->low) || !(ratio->high > 0); /* "never", or 0. */
    if (certain || isnan(ratio->low))
        return text;
    if (!isnan(ratio->high))
        wording_append(text.text, sizeof text.text, " [%s, %s]", conclusion_ratio(ratio->low).text,
                       conclusion_ratio(ratio->high).text);
    if (ratio->level < 0.9495)
        wording_append(text.text, sizeof text.text, " %.0f %%", 100 * ratio->level);
    return text;
}

struct conclusion_text conclusion_points_interval(const struct estimate *points)
{
    struct conclusion_text text = number_text(points->value, 2, "+");
    if (!isnan(points->low) && !isnan(points->high))
        wording_append(text.text, sizeof text.text, " [%s, %s]",
                       number_text(points->low, 2, "+").text,
                       number_text(points->high, 2, "+").text);
    return text;
}

struct conclusion_text conclusion_seconds(double seconds, double like)
{
    return number_text(seconds, like < 0.9995 ? 3 : like < 9.995 ? 2 : like < 999.5 ? 1 : 0, "");
}

struct conclusion_text conclusion_count(double count)
{
    double unit = count < 999.5 ? 1 : count < 999500 ? 1e3 : 1e6;
    const char *name = unit > 1e3 ? " M" : unit > 1 ? " k" : "";
    double shown = count / unit;
    struct conclusion_text text = number_text(shown,
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

static struct conclusion_text short_name(const struct group *group)
{
    struct conclusion_text name;
    snprintf(name.text, sizeof name.text, "%s%s%s", group->mode_text,
             group->config.varied[0] != '\0' ? ", " : "", group->config.varied);
    return name;
}

struct conclusion_text conclusion_name(const struct comparison *comparison,
                                       const struct group *group)
{
    struct conclusion_text name = short_name(group);
    bool enough = workers_alike(comparison) && group->config.label[0] == '\0';
    for (size_t i = 0; i < comparison->group_count && enough; i++)
        enough = &comparison->groups[i] == group ||
                 strcmp(short_name(&comparison->groups[i]).text, name.text) != 0;
    if (!enough)
        snprintf(name.text, sizeof name.text, "%s", group->label);
    return name;
}

/* "sync's time", "the time of sync, 2 workers" */
static struct conclusion_text time_of(const struct conclusion *conclusion)
{
    struct conclusion_text time,
        name = conclusion_name(conclusion->comparison, &conclusion->comparison->groups[0]);
    snprintf(time.text, sizeof time.text,
             strchr(name.text, ' ') == NULL ? "%.200s's time" : "the time of %.200s", name.text);
    return time;
}

/* --- the answer ---------------------------------------------------------------------------- */

#define SAY(to, ...) wording_append((to)->text, sizeof(to)->text, __VA_ARGS__)

static struct conclusion_text name_of(const struct conclusion *conclusion, size_t index)
{
    struct conclusion_text name =
        conclusion_name(conclusion->comparison, &conclusion->comparison->groups[index]);
    name.text[100] = '\0'; /* Several of them have room in a sentence. */
    return name;
}

/* "4 of 5 seeds", "3 of 4 known seeds" where one failed otherwise. */
static struct conclusion_text seeds_text(const struct rung *rung)
{
    struct conclusion_text text;
    snprintf(text.text, sizeof text.text, "%zu of %zu %s%s", rung->count, rung->runs,
             rung->outcomes[OUTCOME_UNKNOWN] > 0 ? "known " : "",
             rung->runs == 1 ? "seed" : "seeds");
    return text;
}

/* The caveat for so few pairs of runs, 0 to 2; "" for more. */
static const char *chance_text(size_t pairs)
{
    static const char *const texts[STATISTICS_INTERVAL_RUNS] = {
        "", "one seed: the effect of seeds is not known",
        "two seeds: the effect of seeds is not known"};
    return pairs < STATISTICS_INTERVAL_RUNS ? texts[pairs] : "";
}

static void add_accuracy(struct conclusion_text *sentence, const struct conclusion *conclusion,
                         size_t index)
{
    const struct config_conclusion *config = &conclusion->configs[index];
    struct conclusion_text points = conclusion_points_interval(&config->accuracy);
    const char *shown = points.text;
    double margin = conclusion->question.margin;
    switch (config->parity) {
    case PARITY_EQUAL:
        SAY(sentence, "; accuracy equal within %g points (%s)", margin, shown);
        break;
    case PARITY_BELOW:
    case PARITY_ABOVE:
        SAY(sentence, "; accuracy %s: %s points",
            config->parity == PARITY_BELOW ? "lower" : "higher", shown);
        break;
    case PARITY_OPEN:
        SAY(sentence, "; accuracy not shown to be equal within %g points (%s)", margin, shown);
        break;
    case PARITY_UNKNOWN:
        if (config->accuracy.count > 0)
            SAY(sentence, "; accuracy %s points", shown);
        break;
    }
}

static bool is_bounded(const struct conclusion *conclusion, size_t index)
{
    return mode_facts_named(conclusion->comparison->groups[index].mode_text)->bounds;
}

/* The configurations with the fewest and with the most examples in a computation. For ssp they are
 * counted. */
static void find_computations(const struct conclusion *conclusion, size_t *least, size_t *most)
{
    *least = *most = 0;
    for (size_t i = 1; i < conclusion->comparison->group_count; i++) {
        double examples =
            conclusion->configs[i].update.examples; /* 0: not known, as no run was done. */
        double fewest = conclusion->configs[*least].update.examples;
        double greatest = conclusion->configs[*most].update.examples;
        if (examples > 0 && (examples < fewest || !(fewest > 0)))
            *least = i;
        if (examples > greatest ||
            (examples >= greatest && is_bounded(conclusion, i) && !is_bounded(conclusion, *most)))
            *most = i;
    }
}

static uint64_t batch_of(const struct record *record)
{
    return record->global_batch;
}

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

/* The equal setting, an update's batch or a worker's: it decides the waiting times. */
static void add_work(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    size_t least, most;
    find_computations(conclusion, &least, &most);
    bool same = conclusion->configs[least].update.examples >=
                conclusion->configs[most].update.examples,
         batch = is_shared(conclusion->comparison, batch_of);
    if (batch && !same)
        SAY(sentence, "; equal batch");
    else if (same && !batch && conclusion->comparison->record_count > 0)
        SAY(sentence, "; equal worker batch");
}

/* "in 0.71x sync's time [0.63, 0.80], 5 of 5 seeds"; when the reference never got there,
 * "in 12.0 s, ..". */
static void add_place(struct conclusion_text *sentence, const struct conclusion *conclusion,
                      size_t r, size_t index, const char *time)
{
    const struct rung *rung = &conclusion->configs[index].rungs[r];
    struct conclusion_text ratio = conclusion_ratio(rung->time.value);
    if (conclusion->configs[0].rungs[r].count == 0)
        SAY(sentence, "in %s s, ", conclusion_seconds(rung->median, rung->median).text);
    else if (index > 0)
        SAY(sentence, "in %sx %s%s, ", ratio.text, time,
            conclusion_ratio_interval(&rung->time).text + strlen(ratio.text));
    SAY(sentence, "%s", seeds_text(rung).text);
    if (r == 0 && index > 0 && conclusion->configs[index].word != WORD_NONE)
        SAY(sentence, ": %s", conclusion_word(conclusion->configs[index].word));
}

/* A sentence when another configuration is first at the deepest target. */
static void add_deep(struct conclusion_text *sentence, const struct conclusion *conclusion,
                     size_t first)
{
    size_t none = conclusion->comparison->group_count, rungs = conclusion->target.count;
    size_t deep = rungs > 1 ? conclusion_first(conclusion, rungs - 1, false, none) : none;
    if (deep == none || deep == first)
        return;
    SAY(sentence, "; to %s the first is %s, ", target_text(&conclusion->target, rungs - 1).text,
        name_of(conclusion, deep).text);
    add_place(sentence, conclusion, rungs - 1, deep, time_of(conclusion).text);
}

/* The only configuration beside the reference. */
static void tell_config(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    const struct config_conclusion *config = &conclusion->configs[1];
    const struct rung *rung = &config->rungs[0], *reference = &conclusion->configs[0].rungs[0];
    struct conclusion_text target = {""};
    SAY(&target, "%s", target_text(&conclusion->target, 0).text);
    SAY(sentence, "%s", name_of(conclusion, 1).text);
    if (rung->runs == 0)
        SAY(sentence, ": nothing is known of its way to %s", target.text);
    else if (rung->count == 0)
        SAY(sentence, " never reaches %s, %s (%s: %zu of %zu)", target.text, seeds_text(rung).text,
            name_of(conclusion, 0).text, reference->count, reference->runs);
    else if (isinf(rung->time.value))
        SAY(sentence, " mostly never reaches %s, %s (%s: %zu of %zu)", target.text,
            seeds_text(rung).text, name_of(conclusion, 0).text, reference->count, reference->runs);
    else {
        SAY(sentence, " reaches %s ", target.text);
        add_place(sentence, conclusion, 0, 1, time_of(conclusion).text);
        if (reference->count == 0)
            SAY(sentence, "; %s never does, 0 of %zu", name_of(conclusion, 0).text,
                reference->runs);
    }
    if (chance_text(rung->time.count)[0] != '\0')
        SAY(sentence, "; %s", chance_text(rung->time.count));
    add_accuracy(sentence, conclusion, 1);
    add_deep(sentence, conclusion, conclusion_first(conclusion, 0, false, 2));
    add_work(sentence, conclusion);
    SAY(sentence, ".");
}

static void tell_no_target(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    const struct target *target = &conclusion->target;
    size_t known = 0, listed = 0;
    for (size_t i = 0; i < conclusion->comparison->group_count; i++)
        known += conclusion->configs[i].trials.known;
    if (known == 0)
        SAY(sentence, "No target: %s",
            conclusion->comparison->group_count == 0 ? "there are no runs"
                                                     : "the runs have no loss");
    else if (target->asked_for && conclusion->question.target_loss > 0)
        SAY(sentence, "No target: loss %.4g is not below %.4g, with which training starts",
            target->values[0], target->start);
    else if (target->asked_for)
        SAY(sentence, "No target: test accuracy %.4g %% is not above that of guessing",
            100 * target->values[0]);
    else
        SAY(sentence,
            "No target: no arm's loss came below %.4g, with which training starts, in most of its "
            "runs%s",
            target->start,
            comparison_has_accuracy(conclusion->comparison) ? "; ask with --target-accuracy" : "");
    for (size_t i = 0; i < conclusion->comparison->group_count; i++) {
        const struct trials *trials = &conclusion->configs[i].trials;
        size_t diverged = 0;
        for (size_t j = 0; j < trials->count; j++)
            diverged += trials->list[j].trial_end == TRIAL_END_DIVERGED;
        if (diverged == 0)
            continue;
        SAY(sentence, "%s %s %zu of %zu", listed++ == 0 ? "; diverged:" : ",",
            name_of(conclusion, i).text, diverged, trials->known);
    }
    SAY(sentence, ".");
}

/* With one configuration nothing is compared. */
static void tell_alone(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    const struct rung *rung = &conclusion->configs[0].rungs[0];
    SAY(sentence, "%s reaches %s", name_of(conclusion, 0).text,
        target_text(&conclusion->target, 0).text);
    if (isfinite(rung->median))
        SAY(sentence, " in %s s", conclusion_seconds(rung->median, rung->median).text);
    SAY(sentence, ", %s; there is no other arm.", seeds_text(rung).text);
}

/* Whether the seeds show a difference between two configurations. */
static bool are_different(const struct conclusion *conclusion, size_t a, size_t b)
{
    if (a == 0 || b == 0) {
        enum word word = conclusion->configs[a == 0 ? b : a].word;
        return word == WORD_SOONER || word == WORD_LATER;
    }
    struct estimate time = conclusion_time(conclusion, 0, a, b);
    return time.p <= 0.05 && !conclusion_alike(&time);
}

static void add_words(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    static const char *const shown[WORD_COUNT] = {[WORD_SOONER] = "sooner",
                                                  [WORD_LATER] = "later",
                                                  [WORD_ALIKE] = "alike within 2 %",
                                                  [WORD_OPEN] = "not told apart",
                                                  [WORD_NEVER] = "never"};
    size_t counts[WORD_COUNT] = {0}, listed = 0, pairs = 0;
    for (size_t i = 1; i < conclusion->comparison->group_count; i++) {
        counts[conclusion->configs[i].word]++;
        size_t of_config = conclusion->configs[i].rungs[0].time.count;
        pairs = of_config > pairs ? of_config : pairs;
    }
    if (chance_text(pairs)[0] != '\0')
        SAY(sentence, "; %s", chance_text(pairs));
    for (enum word word = WORD_ALIKE; word < WORD_COUNT; word++)
        if (counts[word] > 0)
            SAY(sentence, "%s %zu %s", listed++ == 0 ? ". Beside the reference:" : ",",
                counts[word], shown[word]);
}

/* "Loss 0.35 is reached first by async in 0.71x sync's time [..], 5 of 5 seeds, last by ..." */
static void tell_many(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    size_t none = conclusion->comparison->group_count;
    size_t first = conclusion_first(conclusion, 0, false, none),
           last = conclusion_first(conclusion, 0, true, none);
    size_t second = conclusion_first(conclusion, 0, false, first);
    struct conclusion_text target = {""};
    SAY(&target, "%s", target_text(&conclusion->target, 0).text);
    if (first == none) {
        SAY(sentence, "No arm reaches %s in most of its runs", target.text);
    } else if (first == last) {
        bool alone = true;
        for (size_t i = 0; i < none; i++)
            alone = alone && (i == first || conclusion->configs[i].rungs[0].count == 0);
        SAY(sentence,
            alone ? "Only one arm reaches %s: %s, "
                  : "No arm is seen to reach %s sooner or later than %s, ",
            target.text, name_of(conclusion, first).text);
        add_place(sentence, conclusion, 0, first, time_of(conclusion).text);
    } else {
        target.text[0] = (char)toupper(target.text[0]);
        SAY(sentence, "%s is reached first by %s, ", target.text, name_of(conclusion, first).text);
        add_place(sentence, conclusion, 0, first, time_of(conclusion).text);
        if (second != none &&
            conclusion->configs[second].rungs[0].runs >= STATISTICS_INTERVAL_RUNS &&
            !are_different(conclusion, first, second))
            SAY(sentence, " (%s is not told apart)", name_of(conclusion, second).text);
        SAY(sentence, "; last by %s, ", name_of(conclusion, last).text);
        add_place(sentence, conclusion, 0, last,
                  first == 0 ? time_of(conclusion).text : "its time");
    }
    add_words(sentence, conclusion);
    add_deep(sentence, conclusion, first);
    add_work(sentence, conclusion);
    SAY(sentence, ".");
}

/* Why a mode may be slow at this work; false where all compute alike. */
static bool tell_computations(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    size_t least, most;
    find_computations(conclusion, &least, &most);
    if (conclusion->configs[least].update.examples >= conclusion->configs[most].update.examples ||
        !is_shared(conclusion->comparison, batch_of))
        return false;
    SAY(sentence,
        "A worker's computation is of %.3g examples in %s, of %.3g in %s. --straggle and --pause "
        "are drawn once a computation, and ssp's bound counts them; --fair worker-batch makes them "
        "equal.",
        conclusion->configs[least].update.examples, name_of(conclusion, least).text,
        conclusion->configs[most].update.examples, name_of(conclusion, most).text);
    return true;
}

/* --- shared settings -------------------------------------------------------------------------- */

static uint64_t workers_of(const struct record *record)
{
    return record->workers;
}

static uint64_t servers_of(const struct record *record)
{
    return record->servers;
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
static void tell_constants(struct conclusion_text *sentence, const struct comparison *comparison)
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
                   record->config.cluster[0] != '\0' ? "virtual time" : "this machine's time");
}

bool conclusion_head(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence)
{
    const struct comparison *comparison = conclusion->comparison;
    bool none = comparison->group_count == 0 || conclusion->target.kind == TARGET_NONE ||
                conclusion->configs[0].trials.count == 0;
    sentence->text[0] = '\0';
    if (index == 0 && none)
        tell_no_target(sentence, conclusion);
    else if (index == 0 && comparison->group_count == 1)
        tell_alone(sentence, conclusion);
    else if (index == 0 && comparison->group_count == 2)
        tell_config(sentence, conclusion);
    else if (index == 0)
        tell_many(sentence, conclusion);
    else if (comparison->record_count == 0)
        return false;
    else if (index == 1 && tell_computations(sentence, conclusion))
        return true;
    else if (index == 1 || (index == 2 && tell_computations(sentence, conclusion)))
        tell_constants(sentence, comparison);
    else
        return false;
    return true;
}

/* --- below the table ----------------------------------------------------------------------- */

/* "time = work x pace: async needs 1.12x the examples, at 1.57x the pace" */
static bool tell_product(struct conclusion_text *sentence, const struct conclusion *conclusion,
                         size_t index)
{
    const struct config_conclusion *config = &conclusion->configs[index];
    const struct comparison *comparison = conclusion->comparison;
    if (isnan(config->statistical) || isnan(config->hardware) || isnan(config->speed_up))
        return false;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    text[0] = '\0';
    wording_append(text, bytes, "time = work x pace: %s needs %sx the examples, ",
                   conclusion_name(comparison, &comparison->groups[index]).text,
                   conclusion_ratio(config->work.value).text);
    wording_append(text, bytes, "at %sx the pace", conclusion_ratio(config->pace.value).text);
    if (comparison->groups[index].workers == comparison->groups[0].workers)
        return true;
    wording_append(
        text, bytes, "; speed-up %s with %sx the workers = efficiency %s ",
        conclusion_ratio(config->speed_up).text,
        conclusion_ratio((double)comparison->groups[index].workers / comparison->groups[0].workers)
            .text,
        conclusion_ratio(config->hardware * config->statistical).text);
    wording_append(text, bytes, "(hardware %s, statistical %s)",
                   conclusion_ratio(config->hardware).text,
                   conclusion_ratio(config->statistical).text);
    return true;
}

/* Of the configuration that is named first, or else of the next. */
static bool tell_visible(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    size_t none = conclusion->comparison->group_count;
    size_t index = conclusion_first(conclusion, 0, false, none);
    index = index == 0 ? conclusion_first(conclusion, 0, false, 0) : index;
    if (index == none || isnan(conclusion->configs[index].visible))
        return false;
    const struct comparison *comparison = conclusion->comparison;
    sentence->text[0] = '\0';
    double visible = conclusion->configs[index].visible;
    SAY(sentence, "with %zu seeds a difference is seen from ",
        conclusion->configs[index].rungs[0].time.count);
    if (visible < 1)
        SAY(sentence, "%.*f %%", visible < 0.0995 ? 1 : 0, 100 * visible);
    else
        SAY(sentence, "%sx", conclusion_ratio(1 + visible).text);
    SAY(sentence, " on, for %s%s", name_of(conclusion, index).text,
        comparison->record_count > 0 && comparison->records[0]->config.cluster[0] != '\0'
            ? ", of seeds alone: both share all draws"
            : "");
    return true;
}

/* "not reached: async 1 came back, 2 ended above it; sync 1 diverged" */
static bool tell_outcomes(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    bool loss = conclusion->target.kind == TARGET_LOSS;
    const char *const words[] = {[OUTCOME_CAME_BACK] = "came back",
                                 [OUTCOME_SHORT] = loss ? "ended above it" : "ended below it",
                                 [OUTCOME_DIVERGED] = "diverged",
                                 [OUTCOME_UNKNOWN] = "not known"};
    size_t configs = 0;
    sentence->text[0] = '\0';
    for (size_t i = 0; i < conclusion->comparison->group_count; i++) {
        const struct rung *rung = &conclusion->configs[i].rungs[0];
        size_t listed = 0;
        for (enum outcome outcome = OUTCOME_CAME_BACK; outcome < OUTCOME_COUNT; outcome++) {
            if (rung->outcomes[outcome] == 0)
                continue;
            if (listed == 0)
                SAY(sentence, "%s%s", configs++ == 0 ? "not reached: " : "; ",
                    name_of(conclusion, i).text);
            SAY(sentence, "%s %zu %s", listed++ == 0 ? "" : ",", rung->outcomes[outcome],
                words[outcome]);
        }
    }
    return configs > 0;
}

static bool tell_unequal(struct conclusion_text *sentence, const struct conclusion *conclusion)
{
    for (size_t i = 1; i < conclusion->comparison->group_count; i++) {
        if (!conclusion->configs[i].unequal_work)
            continue;
        snprintf(sentence->text, sizeof sentence->text,
                 "* unequal work? Significantly fewer examples than %.200s needs with the same "
                 "batch and "
                 "rate: more than the pace has changed",
                 conclusion_name(conclusion->comparison, &conclusion->comparison->groups[0]).text);
        return true;
    }
    return false;
}

/* "best of 3 learning rates: async, learning-rate 0.01: 41.2 s (its default 0.001: 50.1 s) ..." */
static void tell_grid(struct conclusion_text *sentence, const struct conclusion *conclusion,
                      const struct rate_sweep *grid)
{
    const struct comparison *comparison = conclusion->comparison;
    char *text = sentence->text;
    size_t bytes = sizeof sentence->text;
    const struct group *best = &comparison->groups[grid->best];
    double median = conclusion->configs[grid->best].seconds.median;
    text[0] = '\0';
    wording_append(text, bytes, "best of its grid of %zu learning rates: %s, ", grid->count,
                   conclusion_name(comparison, best).text);
    if (isfinite(median))
        wording_append(text, bytes, "%s s", conclusion_seconds(median, median).text);
    else
        wording_append(text, bytes, "by its final loss: none gets there in half of its runs");
    if (grid->has_default && grid->default_rate != grid->best) {
        double of_default = conclusion->configs[grid->default_rate].seconds.median;
        wording_append(text, bytes, "; the default rate, %g, ",
                       comparison->groups[grid->default_rate].records[0]->learning_rate);
        if (isfinite(of_default))
            wording_append(text, bytes, "%s s", conclusion_seconds(of_default, of_default).text);
        else
            wording_append(text, bytes, "does not get there");
    } else {
        wording_append(text, bytes,
                       grid->has_default ? "; it is the default rate"
                                         : "; the default rate is not in it");
    }
    if (grid->time.count > 0)
        wording_append(text, bytes, "; best beside best %s",
                       conclusion_ratio_interval(&grid->time).text);
    if (grid->count != grid->first_count || grid->runs != grid->first_runs)
        wording_append(text, bytes,
                       "; unequal budgets: chosen from %zu rates and %zu runs, the first from %zu "
                       "and %zu",
                       grid->count, grid->runs, grid->first_count, grid->first_runs);
}

bool conclusion_foot(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence)
{
    struct rate_sweep grid;
    size_t found = 0;
    if (conclusion->target.kind == TARGET_NONE)
        return false;
    if (tell_outcomes(sentence, conclusion) && found++ == index)
        return true;
    /* With more groups the report's columns have it. */
    bool two = conclusion->comparison->group_count == 2;
    if (two && tell_product(sentence, conclusion, 1) && found++ == index)
        return true;
    for (size_t i = 0; rate_sweep_at(conclusion, i, &grid); i++)
        if (found++ == index) {
            tell_grid(sentence, conclusion, &grid);
            return true;
        }
    if (tell_unequal(sentence, conclusion) && found++ == index)
        return true;
    return tell_visible(sentence, conclusion) && found++ == index;
}

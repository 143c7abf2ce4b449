/* conclusion_table.c - fills a grid, with sentences above and below it. */

#include "deploy/report/conclusion_table.h"

#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/conclusion/conclusion_text.h"
#include "deploy/report/grid.h"
#include "deploy/report/notes.h"

static const char *const notes[] = {
    "target: of the losses that runs end with, by a mean over a 20th of the examples, the worst of "
    "the runs that learned, of arms of which most did: all of them reach it. Beside it the worst "
    "of the best arm, and the middle. They come from these runs: a study names --target-loss.",
    "reached: runs that came to the target, of those of which it is known. A run that diverged, or "
    "went more than a tenth of the way back to where training starts, never did; one that failed "
    "otherwise is not known.",
    "s to ..: the median over seeds of the seconds of training until then, with the sample "
    "standard deviation where three runs or more were made and all came there.",
    "vs .., paired: how many times the seconds of the first arm, the geometric mean over the seeds "
    "that both have, with its interval of 95 % from three seeds on (Student's t on logarithms; "
    "where a run never got there the median, and limits by rank, with their level below 95 %). "
    "Each interval is alone; the words are for all arms at once (5 %, Holm): alike where the "
    "interval is within 2 % of 1, sooner or later where a test says so (t; signs where a run never "
    "got there), else not told apart.",
    "an update of: how many computations of workers, and of how many examples each.",
    "examples: trained on until then, the median. updates/s: over the whole run, on average. "
    "moved: payload that all workers had sent and received by then (values, gradients, what was "
    "said again), over the network or through shared memory; the median.",
};

const char *conclusion_note(size_t index)
{
    return index < sizeof notes / sizeof notes[0] ? notes[index] : NULL;
}

/* --- cells --------------------------------------------------------------------------------- */

/* In the order of a terminal's table: what has no place beside the others comes below, if at all. */
enum {
    NAME,
    REACHED,
    SECONDS,
    TIMES,
    WORD,
    EXAMPLES,
    PACE,
    STALE,
    LOSS,
    UPDATE,
    ACCURACY,
    POINTS,
    EQUAL,
    COST,
    MOVED,
    SPEED_UP,
    HARDWARE,
    STATISTICAL,
    LADDER
};

/* Of LaTeX, with at most seven columns. */
enum { TO_TARGET = 1, WHOLE_RUNS, BESIDE };

/* Headings that have the target and the reference in them. */
struct headings {
    struct conclusion_text seconds, beside, margin, rungs[TARGET_RUNGS];
};

static void make_headings(struct headings *headings, const struct conclusion *conclusion)
{
    const struct comparison *comparison = conclusion->comparison;
    const struct target *target = &conclusion->target;
    bool accuracy = target->kind == TARGET_ACCURACY;
    snprintf(headings->seconds.text, sizeof headings->seconds.text, "s to %.4g%s",
             accuracy ? 100 * target->values[0] : target->values[0], accuracy ? " %" : "");
    for (size_t i = 0; i < target->count; i++)
        snprintf(headings->rungs[i].text, sizeof headings->rungs[i].text, "to %.4g",
                 target->values[i]);
    struct conclusion_text name = conclusion_name(comparison, &comparison->groups[0]);
    snprintf(headings->beside.text, sizeof headings->beside.text, "vs %s",
             strlen(name.text) <= 14 ? name.text : "the first");
    snprintf(headings->margin.text, sizeof headings->margin.text, "%g points",
             conclusion->question.margin);
}

static double staleness_of(const struct record *record)
{
    return record->staleness_mean;
}

/* A mean; "-" of none. */
static void put_mean(struct grid *grid, size_t column, const struct group *group,
                     record_number_fn *number, double unit, int decimals)
{
    struct spread spread = group_spread(group, number);
    if (spread.count > 0)
        grid_cell(grid, column, "%.*f", decimals, spread.mean / unit);
    else
        grid_cell(grid, column, "-");
}

static void put_pace(struct grid *grid, const struct group *group)
{
    double pace = group_spread(group, conclusion_pace).mean;
    put_mean(grid, PACE, group, conclusion_pace, 1, pace < 9.995 ? 2 : pace < 999.5 ? 1 : 0);
}

static void put_seconds(struct grid *grid, const struct reached *seconds)
{
    double median = seconds->median;
    if (isfinite(seconds->mean.deviation))
        grid_cell(grid, SECONDS, "%s (%s)", conclusion_seconds(median, median).text,
                  conclusion_seconds(seconds->mean.deviation, median).text);
    else
        grid_cell(grid, SECONDS, "%s", conclusion_seconds(median, median).text);
}

static void put_beside(struct grid *grid, const struct config_conclusion *config)
{
    static const char *const parities[] = {"not known", "yes", "no, below", "no, above",
                                           "not shown"};
    grid_cell(grid, TIMES, "%s", conclusion_ratio_interval(&config->rungs[0].time).text);
    grid_cell(grid, WORD, "%s",
              config->word != WORD_NONE && config->word != WORD_NEVER
                  ? conclusion_word(config->word)
                  : "-");
    grid_cell(grid, POINTS, "%s", conclusion_points_interval(&config->accuracy).text);
    grid_cell(grid, EQUAL, "%s", parities[config->parity]);
    grid_cell(grid, COST, "%s", conclusion_ratio_interval(&config->cost).text);
    grid_cell(grid, SPEED_UP, "%s", conclusion_ratio(config->speed_up).text);
    grid_cell(grid, HARDWARE, "%s", conclusion_ratio(config->hardware).text);
    grid_cell(grid, STATISTICAL, "%s", conclusion_ratio(config->statistical).text);
}

static void put_reference(struct grid *grid)
{
    static const size_t ratios[] = {TIMES, COST, SPEED_UP, HARDWARE, STATISTICAL};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        grid_cell(grid, ratios[i], "1");
    grid_cell(grid, WORD, "-");
    grid_cell(grid, POINTS, "0");
    grid_cell(grid, EQUAL, "-");
}

static struct conclusion_text moved(double bytes)
{
    struct conclusion_text text = {"-"};
    if (isinf(bytes))
        snprintf(text.text, sizeof text.text, "never");
    else if (bytes >= 0 && bytes < 1e18) /* Not NaN. */
        snprintf(text.text, sizeof text.text, "%s", wording_bytes((uint64_t)bytes).text);
    return text;
}

/* Of all known runs; "inf" where one diverged. */
static void put_end(struct grid *grid, size_t column, double mean, int decimals)
{
    if (isnan(mean))
        grid_cell(grid, column, "-");
    else
        grid_cell(grid, column, "%.*f", decimals, mean);
}

static void put_ladder(struct grid *grid, const struct config_conclusion *config, size_t rungs,
                       size_t index)
{
    for (size_t i = 1; i < rungs; i++)
        if (index > 0)
            grid_cell(grid, LADDER - 1 + i, "%s",
                      conclusion_ratio_interval(&config->rungs[i].time).text);
        else
            grid_cell(grid, LADDER - 1 + i, "1");
}

static void fill_row(struct grid *grid, const struct conclusion *conclusion, size_t index)
{
    const struct group *group = &conclusion->comparison->groups[index];
    const struct config_conclusion *config = &conclusion->configs[index];
    grid_row(grid);
    grid_cell(grid, NAME, "%s%s", conclusion_name(conclusion->comparison, group).text,
              config->unequal_work ? " *" : "");
    if (conclusion->target.kind != TARGET_NONE) {
        grid_cell(grid, REACHED, "%zu/%zu", config->rungs[0].count, config->rungs[0].runs);
        put_seconds(grid, &config->seconds);
        grid_cell(grid, EXAMPLES, "%s", conclusion_count(config->examples.median).text);
        grid_cell(grid, MOVED, "%s", moved(config->bytes.median).text);
    }
    put_pace(grid, group);
    put_mean(grid, STALE, group, staleness_of, 1, 1);
    if (config->update.examples > 0)
        grid_cell(grid, UPDATE, "%.3g x %.3g", config->update.computations,
                  config->update.examples);
    else
        grid_cell(grid, UPDATE, "-");
    put_end(grid, LOSS, conclusion_mean(conclusion, index, conclusion_loss), 4);
    put_end(grid, ACCURACY, 100 * conclusion_mean(conclusion, index, conclusion_accuracy), 2);
    put_ladder(grid, config, conclusion->target.count, index);
    if (index > 0)
        put_beside(grid, config);
    else
        put_reference(grid);
}

static void make_grid(struct grid *grid, const struct conclusion *conclusion,
                      const struct headings *headings)
{
    grid_init(grid);
    bool none = conclusion->target.kind == TARGET_NONE;
    grid_column(grid, "", "arm", 0);
    grid_column(grid, "", "reached", TO_TARGET);
    grid_column(grid, "", headings->seconds.text, TO_TARGET);
    grid_column(grid, headings->beside.text, "paired", TO_TARGET);
    grid_column(grid, "", "it is", TO_TARGET);
    grid_column(grid, "", "examples", TO_TARGET);
    grid_column(grid, "", "updates/s", WHOLE_RUNS);
    grid_column(grid, "", "stale", WHOLE_RUNS);
    grid_column(grid, "", "loss", WHOLE_RUNS);
    grid_column(grid, "an update", "of", WHOLE_RUNS);
    grid_column(grid, "test", "accuracy %", WHOLE_RUNS);
    grid_column(grid, "points", headings->beside.text, WHOLE_RUNS);
    grid_column(grid, "equal within", headings->margin.text, 0);
    grid_column(grid, "worker-seconds", headings->beside.text, BESIDE);
    grid_column(grid, "moved", "by then", TO_TARGET);
    grid_column(grid, "", "speed-up", BESIDE);
    grid_column(grid, "hardware", "efficiency", BESIDE);
    grid_column(grid, "statistical", "efficiency", BESIDE);
    for (size_t i = 1; i < conclusion->target.count; i++)
        grid_column(grid, headings->rungs[i].text, "paired", BESIDE);
    for (size_t i = 0; i < conclusion->comparison->group_count; i++)
        fill_row(grid, conclusion, i);
    static const size_t of_target[] = {STATISTICAL, HARDWARE, SPEED_UP, MOVED,    COST,
                                       EQUAL,       POINTS,   ACCURACY, EXAMPLES, WORD,
                                       TIMES,       SECONDS,  REACHED}; /* From behind. */
    bool scored = comparison_has_accuracy(conclusion->comparison);
    for (size_t i = 0; i < sizeof of_target / sizeof *of_target; i++)
        if (i >= 5 && i <= 7 ? !scored : none)
            grid_drop(grid, of_target[i]);
}

/* --- written ------------------------------------------------------------------------------- */

_Static_assert(GRID_ROWS_MAX >= COMPARISON_GROUPS_MAX, "an arm has a row");

static bool make(struct grid *grid, struct headings *headings, const struct conclusion *conclusion)
{
    if (conclusion->comparison->group_count == 0)
        return false;
    make_headings(headings, conclusion);
    make_grid(grid, conclusion, headings);
    return true;
}

void conclusion_write_text(FILE *stream, const struct conclusion *conclusion)
{
    struct conclusion_text sentence;
    struct grid grid;
    struct headings headings;
    for (size_t i = 0; conclusion_head(conclusion, i, &sentence); i++)
        wording_wrap(stream, sentence.text, 0, 0);
    if (make(&grid, &headings, conclusion))
        grid_write_text(stream, &grid, false);
    for (size_t i = 0; conclusion_foot(conclusion, i, &sentence); i++)
        wording_wrap(stream, sentence.text, 0, 0);
}

void conclusion_write_columns(FILE *stream, const struct conclusion *conclusion)
{
    struct grid grid;
    struct headings headings;
    if (make(&grid, &headings, conclusion))
        grid_write_text(stream, &grid, true);
}

void conclusion_write_markdown(FILE *stream, const struct conclusion *conclusion)
{
    struct conclusion_text sentence;
    struct grid grid;
    struct headings headings;
    for (size_t i = 0; conclusion_head(conclusion, i, &sentence); i++) {
        grid_put_markdown(stream, sentence.text);
        fputs("\n\n", stream);
    }
    if (make(&grid, &headings, conclusion))
        grid_write_markdown(stream, &grid);
    for (size_t i = 0; conclusion_foot(conclusion, i, &sentence); i++) {
        fputc('\n', stream);
        grid_put_markdown(stream, sentence.text);
        fputc('\n', stream);
    }
    char note[NOTE_TEXT_MAX];
    for (size_t i = 0; note_at(conclusion->comparison, i, note); i++) {
        fputs("\n- ", stream);
        grid_put_markdown(stream, note);
        fputc('\n', stream);
    }
}

void conclusion_write_latex(FILE *stream, const struct conclusion *conclusion)
{
    struct conclusion_text sentence, work = {""}, beside;
    struct grid grid;
    struct headings headings;
    if (!make(&grid, &headings, conclusion))
        return;
    conclusion_head(conclusion, 0, &sentence);
    for (size_t i = 1; conclusion_head(conclusion, i, &beside); i++)
        work = beside; /* The last says what is the same for all. */
    fputs("% \\usepackage{booktabs,array}; methods.txt says how it was measured.\n", stream);
    grid_write_latex(stream, &grid, TO_TARGET, sentence.text, "target");
    snprintf(sentence.text, sizeof sentence.text, "Means of whole runs. %s", work.text);
    grid_write_latex(stream, &grid, WHOLE_RUNS, sentence.text, "runs");
    snprintf(sentence.text, sizeof sentence.text,
             "Cost and efficiency of each arm at the target, and its time to deeper ones, %s.",
             headings.beside.text);
    grid_write_latex(stream, &grid, BESIDE, sentence.text, "cost");
}

/* table.c - one row of columns[] for every column: its title, unit, source and format. */

#include "deploy/report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"
#include "common/job/mode.h"
#include "deploy/conclusion/conclusion_text.h"
#include "deploy/report/config.h"
#include "deploy/report/grid.h"
#include "deploy/report/notes.h"
#include "deploy/report/time_kinds.h"

#define CELL_BYTES   GRID_CELL_MAX
#define COLUMN_COUNT 25

/* --- columns ------------------------------------------------------------------------------- */

static double number_batches(const struct record *record)
{
    return (double)record->summary.step;
}

/* Of every chunk; of several batches each, where that is asked for. */
static double number_updates(const struct record *record)
{
    if (record->accumulate <= 1)
        return (double)record->summary.step;
    return record->summary.versions > 0 ? (double)record->summary.versions : (double)NAN;
}

static double number_examples(const struct record *record)
{
    return (double)record->global_batch;
}

static double number_seconds(const struct record *record)
{
    return record->training_seconds;
}

static double number_images(const struct record *record)
{
    return record->summary.images_per_second;
}

/* After divergence it would only count examples with a finite loss. */
static double number_loss(const struct record *record)
{
    return record_diverged(record) ? (double)NAN : record->summary.train.loss;
}

static double number_accuracy(const struct record *record)
{
    return record_diverged(record) ? (double)NAN : record->summary.test.accuracy;
}

static double number_staleness_mean(const struct record *record)
{
    return record->staleness_mean;
}

/* Of nothing: none. */
static double of_any(const struct record *record, double number)
{
    return isfinite(record->staleness_mean) ? number : NAN;
}

static double number_staleness_deviation(const struct record *record)
{
    return of_any(record, histogram_deviation(&record->summary.staleness.shape));
}

static double number_staleness_p50(const struct record *record)
{
    return of_any(record, (double)histogram_quantile(&record->summary.staleness.shape, 0.5));
}

static double number_staleness_p99(const struct record *record)
{
    return of_any(record, (double)histogram_quantile(&record->summary.staleness.shape, 0.99));
}

static double number_staleness_max(const struct record *record)
{
    return of_any(record, (double)record->summary.staleness.shape.max);
}

static double number_spread(const struct record *record)
{
    return histogram_mean(&record->summary.spread.pulls);
}

static double number_part_spread(const struct record *record)
{
    return histogram_mean(&record->summary.spread.parts);
}

struct column {
    const char *above, *heading; /* Two lines. */
    const char *name;            /* In JSON. */
    record_number_fn *number;    /* NULL: seeds. */
    int decimals;
    double unit; /* Shown as a multiple of this. */
    bool rare;   /* Left out where no run has the number. */
};

enum { COLUMN_SEEDS, COLUMN_BATCHES, COLUMN_EXAMPLES, COLUMN_UPDATES };

static const struct column columns[COLUMN_COUNT] = {
    {"", "seeds", "seeds", NULL, 0, 1, false},
    {"", "batches", "batches", number_batches, 0, 1, false},
    {"examples", "a batch", "examples_per_batch", number_examples, 0, 1, false},
    {"", "updates", "updates", number_updates, 0, 1, false},
    {"", "seconds", "seconds", number_seconds, 1, 1, false},
    {"", "images/s", "images_per_second", number_images, 0, 1, false},
    {"final", "loss", "train_loss", number_loss, 4, 1, false},
    {"test", "accuracy %", "test_accuracy", number_accuracy, 2, 0.01, true},
    {"staleness", "mean", "staleness_mean", number_staleness_mean, 2, 1, false},
    {"stale", "sd", "staleness_deviation", number_staleness_deviation, 2, 1, false},
    {"stale", "p50", "staleness_p50", number_staleness_p50, 0, 1, false},
    {"stale", "p99", "staleness_p99", number_staleness_p99, 0, 1, false},
    {"stale", "max", "staleness_max", number_staleness_max, 0, 1, false},
    {"spread", "of a pull", "spread_mean", number_spread, 2, 1, false},
    {"spread", "of a part", "part_spread_mean", number_part_spread, 2, 1, false},
    {"seconds", "waiting", "wait_seconds", record_wait_seconds, 1, 1, false},
    {"worker-", "seconds", "worker_seconds", record_worker_seconds, 1, 1, false},
    {"moved", "MiB", "exchanged_bytes", record_exchanged_bytes, 1, 1048576, false},
    {"dropped", "%", "dropped", record_dropped, 2, 0.01, true},
    {"too stale", "sent back %", "sent_back", config_sent_back, 2, 0.01, true},
    {"too stale", "lost %", "lost", config_lost, 2, 0.01, true},
    {"learning", "rate times", "rate_factor", config_rate, 3, 1, true},
    {"compen-", "sated %", "compensated", config_moved, 2, 0.01, true},
    {"leaves", "longer %", "longer_leaves", record_longer, 1, 0.01, true},
    {"others", "%", "others_share", note_others_share, 1, 0.01, true},
};

bool table_number(size_t index, const char **name, record_number_fn **number)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (columns[column].number == NULL || index-- > 0)
            continue;
        *name = columns[column].name;
        *number = columns[column].number;
        return true;
    }
    return false;
}

static const char *const notes[] = {
    "batches, updates: of the whole run. A batch (in sync a step's, of all workers) makes an "
    "update "
    "of the model, or several make one (--accumulate). Every mode does the same work, which makes "
    "the numbers comparable.",
    "seconds: of training, to the last update; evaluation and checkpoints are left out.",
    "final loss: mean training loss over the last epoch's examples, each as it was trained.",
    "test: scores of the model at the end.",
    "staleness: updates of a chunk between a gradient's base version and its own update, counted "
    "when it is applied, for each gradient and chunk. The mean is about the number of workers less "
    "one, whatever their speeds; the distribution says more: sd (standard deviation), p50 (half "
    "are "
    "not above), p99, max. With more workers than processors it depends on the scheduler.",
    "spread of a pull: the version skew of a gradient's base values, newest chunk less oldest, on "
    "average; of a part: the same within one variable on one server, which --use-locking makes 0.",
    "seconds waiting: for others, the mean over workers.",
    "worker-seconds: the seconds of training times the declared workers: the cost of having them.",
    "dropped %: of the examples of all steps, those that no update used, because backup workers "
    "were late with them.",
    "too stale, sent back or lost %: of the gradients that servers received, counted by chunk, "
    "those more than --max-staleness updates old: computed again, or lost. A batch that one chunk "
    "sent back comes again to all, and counts as received there, too.",
    "learning rate times: the factor of --staleness-rate, the mean over applied gradients, chunk "
    "by "
    "chunk; compensated %: the part of these that --delay-compensation changed, because other "
    "workers were faster.",
    ("leaves longer %: of leaves whose time is controlled (--compute), those that took longer to "
     "compute than intended. Above 1 a run is processor-bound: its times are this machine's."),
    "others %: the part of the processors' time that other processes, or the host, had. Above 5 a "
    "run is noisy.",
    "+-: mean and sample standard deviation, with at least three seeds.",
};

const char *table_note(size_t index)
{
    return index < sizeof(notes) / sizeof(notes[0]) ? notes[index] : NULL;
}

/* --- cells --------------------------------------------------------------------------------- */

static void number_cell(char *cell, const struct group *group, const struct column *column)
{
    struct spread spread = group_spread(group, column->number);
    double mean = spread.mean / column->unit;
    if (spread.count == 0 || fabs(mean) > 1e15) {
        snprintf(cell, CELL_BYTES, "-");
    } else if (spread.deviation >= 0.5 * pow(10, -column->decimals) * column->unit) {
        snprintf(cell, CELL_BYTES, "%.*f +- %.*f", column->decimals, mean, column->decimals,
                 spread.deviation / column->unit);
    } else {
        snprintf(cell, CELL_BYTES, "%.*f", column->decimals, mean);
    }
}

static void make_cell(char *cell, const struct group *group, size_t column)
{
    if (columns[column].number != NULL)
        number_cell(cell, group, &columns[column]);
    else
        snprintf(cell, CELL_BYTES, "%zu", group->record_count);
}

/* Columns that are equal in all rows, such as the work of all modes, are printed once, above the
 * table. */
static bool column_shared(const struct comparison *comparison, size_t column)
{
    char first[CELL_BYTES], cell[CELL_BYTES];
    for (size_t i = 0; i < comparison->group_count; i++) {
        make_cell(i == 0 ? first : cell, &comparison->groups[i], column);
        if (i > 0 && strcmp(first, cell) != 0)
            return false;
    }
    return comparison->group_count > 0 && strcmp(first, "-") != 0 && strstr(first, "+-") == NULL;
}

static bool any_has(const struct comparison *comparison, record_number_fn *number)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (group_spread(&comparison->groups[i], number).count > 0)
            return true;
    return false;
}

/* Then batches are not updates. */
static bool any_accumulates(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->record_count; i++)
        if (comparison->records[i]->accumulate > 1)
            return true;
    return false;
}

/* The columns of seeds and updates only say something when there are several, and other than
 * batches. */
static bool column_shown(const struct comparison *comparison, size_t column)
{
    if (column == COLUMN_UPDATES)
        return any_accumulates(comparison);
    if (columns[column].rare)
        return any_has(comparison, columns[column].number);
    if (column != COLUMN_SEEDS)
        return true;
    for (size_t i = 0; i < comparison->group_count; i++)
        if (comparison->groups[i].record_count > 1)
            return true;
    return false;
}

/* --- text ---------------------------------------------------------------------------------- */

/* Whether the work of all rows was equal, and is printed. */
static bool write_work(FILE *stream, const struct comparison *comparison)
{
    char batches[CELL_BYTES], examples[CELL_BYTES];
    if (!column_shared(comparison, COLUMN_BATCHES) || !column_shared(comparison, COLUMN_EXAMPLES))
        return false;
    make_cell(batches, &comparison->groups[0], COLUMN_BATCHES);
    make_cell(examples, &comparison->groups[0], COLUMN_EXAMPLES);
    fprintf(stream, "each run: batches %s, examples a batch %s\n", batches, examples);
    return true;
}

/* In virtual time seconds are those of a model, which is named; a comparison has virtual runs only
 * or none. */
static void write_cluster(FILE *stream, const struct comparison *comparison)
{
    char line[sizeof comparison->records[0]->config.cluster + 80];
    if (comparison->record_count == 0 || comparison->records[0]->config.cluster[0] == '\0')
        return;
    const char *cluster = comparison->records[0]->config.cluster;
    for (size_t i = 0; i < comparison->record_count; i++)
        if (strcmp(comparison->records[i]->config.cluster, cluster) != 0)
            cluster = "a cluster that is not the same for all";
    snprintf(line, sizeof line, "seconds are of virtual time: %s", cluster);
    wording_wrap(stream, line, 0, 0);
}

void table_write_text(FILE *stream, const struct comparison *comparison)
{
    struct grid grid;
    size_t shown[COLUMN_COUNT], count = 0;
    write_cluster(stream, comparison);
    bool work_written = write_work(stream, comparison);
    grid_init(&grid);
    grid_column(&grid, "", "arm", 0);
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        bool work = column == COLUMN_BATCHES || column == COLUMN_EXAMPLES;
        if (!column_shown(comparison, column) || (work_written && work))
            continue;
        grid_column(&grid, columns[column].above, columns[column].heading, 0);
        shown[count++] = column;
    }
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        grid_row(&grid);
        grid_cell(&grid, 0, "%s", conclusion_name(comparison, group).text);
        for (size_t column = 0; column < count; column++) {
            char cell[CELL_BYTES];
            make_cell(cell, group, shown[column]);
            grid_cell(&grid, column + 1, "%s", cell);
        }
    }
    grid_write_text(stream, &grid, true);
}

void table_write_missing(FILE *stream, const struct comparison *comparison)
{
    struct progress_text progress = comparison_progress(comparison);
    if (progress.text[0] != '\0')
        fprintf(stream, "%s\n", progress.text);
    for (size_t i = 0; i < comparison->failed_count; i++)
        fprintf(stream, "failed: %s: %s\n", comparison->failed[i].name,
                comparison->failed[i].reason);
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* Those that are noisy, or all. */
static void json_runs(struct json_writer *writer, const char *name, const struct group *group,
                      bool noisy)
{
    json_writer_array_line(writer, name);
    for (size_t i = 0; i < group->record_count; i++) {
        const char *slash = strrchr(group->records[i]->path, '/');
        if (!noisy || note_is_noisy(group->records[i]))
            json_writer_text(writer, NULL, slash != NULL ? slash + 1 : group->records[i]->path);
    }
    json_writer_end(writer);
}

/* Of all its runs: updates and, added up, both sides of common/job/staleness.h. */
static void json_staleness(struct json_writer *writer, const struct group *group)
{
    struct staleness all = {0};
    uint64_t apart = 0; /* By how much the sides differ, of all runs. */
    for (size_t i = 0; i < group->record_count; i++) {
        const struct staleness *of = &group->records[i]->summary.staleness;
        histogram_merge(&all.shape, &of->shape);
        all.renewed += of->renewed;
        all.expected += of->expected;
        uint64_t left = of->shape.sum + of->renewed;
        apart += left > of->expected ? left - of->expected : of->expected - left;
    }
    json_writer_object_line(writer, "staleness");
    json_writer_u64(writer, "sum", all.shape.sum);
    json_writer_u64(writer, "renewed", all.renewed);
    json_writer_u64(writer, "expected", all.expected);
    json_writer_u64(writer, "apart", apart);
    json_writer_array_line(writer, "histogram");
    for (size_t i = 0; i < histogram_used(&all.shape) && i < HISTOGRAM_EXACT; i++)
        json_writer_u64(writer, NULL, all.shape.buckets[i]);
    json_writer_end(writer);
    json_writer_end(writer);
}

static void json_group(struct json_writer *writer, const struct conclusion *conclusion,
                       size_t index)
{
    const struct group *group = &conclusion->comparison->groups[index];
    json_writer_object(writer, NULL);
    json_writer_text(writer, "arm", group->config.name);
    json_writer_text(writer, "mode", group->mode_text);
    json_writer_u64(writer, "workers", group->workers);
    json_writer_text(writer, "label", group->label);
    json_writer_text(writer, "varied", group->config.varied);
    json_writer_text(writer, "given", group->config.given);
    json_writer_text(writer, "options",
                     group->record_count > 0 ? config_text(group->records[0]).text : "");
    json_writer_array_line(writer, "seeds");
    for (size_t i = 0; i < group->record_count; i++)
        json_writer_u64(writer, NULL, group->records[i]->seed);
    json_writer_end(writer);
    json_runs(writer, "runs", group, false);
    json_runs(writer, "noisy", group, true);
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (columns[column].number != NULL) {
            struct spread spread = group_spread(group, columns[column].number);
            json_writer_object_line(writer, columns[column].name);
            json_writer_real(writer, "mean", spread.mean);
            json_writer_real(writer, "deviation", spread.deviation);
            json_writer_end(writer);
        }
    }
    time_kinds_write_json(writer, group);
    json_staleness(writer, group);
    conclusion_write_config_json(writer, conclusion, index);
    json_writer_end(writer);
}

static void json_failed(struct json_writer *writer, const struct failed_run *run)
{
    json_writer_object_line(writer, NULL);
    json_writer_text(writer, "run", run->name);
    json_writer_text(writer, "arm", run->config);
    json_writer_u64(writer, "seed", run->seed);
    json_writer_u64(writer, "exit_code", (uint64_t)run->exit_code);
    json_writer_text(writer, "reason", run->reason);
    json_writer_end(writer);
}

static void json_sentences(struct json_writer *writer, const struct conclusion *conclusion)
{
    struct conclusion_text sentence;
    json_writer_array(writer, "answer");
    for (size_t i = 0; conclusion_head(conclusion, i, &sentence); i++)
        json_writer_text(writer, NULL, sentence.text);
    for (size_t i = 0; conclusion_foot(conclusion, i, &sentence); i++)
        json_writer_text(writer, NULL, sentence.text);
    json_writer_end(writer);
}

void table_write_json(struct json_writer *writer, const struct conclusion *conclusion,
                      const char *command)
{
    const struct comparison *comparison = conclusion->comparison;
    struct bits_verdict bits;
    comparison_bits(comparison, &bits);
    json_writer_text(writer, "format", COMPARISON_FORMAT);
    json_writer_text(writer, "command", command);
    json_writer_u64(writer, "runs_planned",
                    comparison->record_count + comparison->failed_count +
                        comparison_to_come(comparison));
    json_writer_u64(writer, "runs_done", comparison->record_count);
    if (comparison->record_count > 0 && comparison->records[0]->config.cluster[0] != '\0')
        json_writer_text(writer, "virtual", comparison->records[0]->config.cluster);
    else
        json_writer_null(writer, "virtual");
    json_writer_array(writer, "failed");
    for (size_t i = 0; i < comparison->failed_count; i++)
        json_failed(writer, &comparison->failed[i]);
    json_writer_end(writer);
    if (bits.seeds > 0)
        json_writer_bool(writer, "same_bits", bits.equal);
    else
        json_writer_null(writer, "same_bits");
    json_writer_text(writer, "remark", bits.text);
    json_sentences(writer, conclusion);
    json_writer_array(writer, "notes");
    char note[NOTE_TEXT_MAX];
    for (size_t i = 0; note_at(comparison, i, note); i++)
        json_writer_text(writer, NULL, note);
    json_writer_end(writer);
    conclusion_write_json(writer, conclusion);
    json_writer_array(writer, "groups");
    for (size_t i = 0; i < comparison->group_count; i++)
        json_group(writer, conclusion, i);
    json_writer_end(writer);
}

char *table_json(const struct conclusion *conclusion, const char *command)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    table_write_json(&writer, conclusion, command);
    json_writer_end(&writer);
    json_writer_raw(&writer, "\n", 1);
    char *text = writer.failed ? NULL : writer.text;
    if (text != NULL)
        writer.text = NULL; /* The caller's now. */
    json_writer_free(&writer);
    return text;
}

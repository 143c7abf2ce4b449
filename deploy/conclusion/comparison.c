/* comparison.c - finds each configuration's group, and compares the bits of runs that must
 * agree. */

#include "deploy/conclusion/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/mode.h"

void comparison_init(struct comparison *comparison)
{
    memset(comparison, 0, sizeof(*comparison));
}

void comparison_free(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->record_count; i++) {
        record_free(comparison->records[i]);
        free(comparison->records[i]);
    }
    comparison_give_back(comparison);
}

void comparison_give_back(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        free(comparison->groups[i].records);
    free(comparison->records);
    free(comparison->failed);
    comparison_init(comparison);
}

/* --- groups -------------------------------------------------------------------------------- */

/* Some modes have the same hue in every comparison; others follow in order of appearance. */
static unsigned mode_index_of(const struct comparison *comparison, const char *mode)
{
    unsigned hue = mode_facts_named(mode)->hue, next = 0;
    if (hue > 0)
        return hue - 1;
    for (unsigned i = 0; mode_numbered(i) != NULL; i++) {
        hue = mode_facts((enum mode)i)->hue;
        next = hue > next ? hue : next;
    }
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        if (strcmp(group->mode_text, mode) == 0)
            return group->mode_index;
        next = group->mode_index >= next ? group->mode_index + 1 : next;
    }
    return next;
}

/* Whether a group has both already: its configuration differs from it in something else. */
static bool index_taken(const struct comparison *comparison, unsigned mode_index,
                        unsigned workers_index)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (comparison->groups[i].mode_index == mode_index &&
            comparison->groups[i].workers_index == workers_index)
            return true;
    return false;
}

/* The index of the groups with this number of workers, or the next one. */
static unsigned workers_index_of(const struct comparison *comparison, uint32_t workers,
                                 unsigned mode_index)
{
    unsigned next = 0;
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        if (group->workers == workers && !index_taken(comparison, mode_index, group->workers_index))
            return group->workers_index;
        next = group->workers_index >= next ? group->workers_index + 1 : next;
    }
    return next;
}

static bool label_taken(const struct comparison *comparison, const char *label)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (strcmp(comparison->groups[i].label, label) == 0)
            return true;
    return false;
}

/* Two configurations are never shown under one label: the second has its name, which is its own. */
static void make_label(char *label, size_t bytes, const struct comparison *comparison,
                       const struct config *config, const char *mode_text, uint32_t workers)
{
    if (config->label[0] != '\0')
        snprintf(label, bytes, "%s", config->label);
    else
        snprintf(label, bytes, "%.31s, %.28s%s%s", mode_text,
                 wording_counted(workers, "worker", "workers").text,
                 config->varied[0] != '\0' ? ", " : "", config->varied);
    if (label_taken(comparison, label))
        snprintf(label, bytes, "%s", config->name);
}

static struct group *group_named(struct comparison *comparison, const char *name)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (strcmp(comparison->groups[i].config.name, name) == 0)
            return &comparison->groups[i];
    return NULL;
}

enum status comparison_group(struct comparison *comparison, const struct config *config,
                             const char *mode_text, uint32_t workers, struct error *error)
{
    if (group_named(comparison, config->name) != NULL)
        return STATUS_OK;
    if (comparison->group_count == COMPARISON_GROUPS_MAX)
        return error_set(error, STATUS_INVALID, "%s: too many arms to compare", config->name);
    struct group made = {.config = *config,
                         .workers = workers,
                         .index = (unsigned)comparison->group_count,
                         .mode_index = mode_index_of(comparison, mode_text)};
    made.workers_index = workers_index_of(comparison, workers, made.mode_index);
    snprintf(made.mode_text, sizeof(made.mode_text), "%s", mode_text);
    make_label(made.label, sizeof(made.label), comparison, config, mode_text, workers);
    comparison->groups[comparison->group_count++] = made;
    return STATUS_OK;
}

enum status comparison_take(struct comparison *comparison, const struct config *config,
                            struct record *record, struct error *error)
{
    enum status status =
        comparison_group(comparison, config, record->mode_text, record->workers, error);
    if (status != STATUS_OK)
        return status;
    struct group *group = group_named(comparison, config->name);
    if (comparison->record_count == COMPARISON_RUNS_MAX)
        return error_set(error, STATUS_INVALID, "%s: too many runs to compare", record->path);
    struct record **records =
        realloc(comparison->records, (comparison->record_count + 1) * sizeof(struct record *));
    if (records == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    comparison->records = records;
    const struct record **members =
        realloc(group->records, (group->record_count + 1) * sizeof(struct record *));
    if (members == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    group->records = members;
    comparison->records[comparison->record_count++] = record;
    group->records[group->record_count++] = record;
    return STATUS_OK;
}

enum status comparison_add(struct comparison *comparison, const struct config *config,
                           const char *path, struct error *error)
{
    struct record *record = calloc(1, sizeof(*record));
    if (record == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = record_read(record, path, error);
    if (status == STATUS_OK)
        status = comparison_take(comparison, config, record, error);
    if (status != STATUS_OK) {
        record_free(record);
        free(record);
    }
    return status;
}

enum status comparison_fail(struct comparison *comparison, const struct failed_run *run,
                            struct error *error)
{
    if (comparison->failed_count == COMPARISON_RUNS_MAX)
        return error_set(error, STATUS_INVALID, "%s: too many runs have failed", run->name);
    struct failed_run *failed =
        realloc(comparison->failed, (comparison->failed_count + 1) * sizeof(*comparison->failed));
    if (failed == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    comparison->failed = failed;
    failed[comparison->failed_count++] = *run;
    return STATUS_OK;
}

size_t comparison_to_come(const struct comparison *comparison)
{
    size_t here = comparison->record_count + comparison->failed_count;
    return comparison->planned > here ? comparison->planned - here : 0;
}

struct progress_text comparison_progress(const struct comparison *comparison)
{
    struct progress_text progress = {""};
    size_t here = comparison->record_count + comparison->failed_count;
    size_t to_come = comparison_to_come(comparison);
    if (to_come > 0)
        wording_append(progress.text, sizeof(progress.text), "%zu of %zu runs so far", here,
                       here + to_come);
    if (comparison->failed_count > 0 && to_come > 0)
        wording_append(progress.text, sizeof(progress.text), ", %zu of them failed",
                       comparison->failed_count);
    else if (comparison->failed_count > 0)
        wording_append(progress.text, sizeof(progress.text), "%zu of %zu runs failed",
                       comparison->failed_count, here);
    return progress;
}

/* --- numbers ------------------------------------------------------------------------------- */

bool comparison_has_accuracy(const struct comparison *comparison)
{
    bool has = comparison->record_count == 0;
    for (size_t i = 0; i < comparison->record_count && !has; i++)
        has = !isnan(comparison->records[i]->summary.train.accuracy) ||
              !isnan(comparison->records[i]->summary.test.accuracy);
    return has;
}

struct spread group_spread(const struct group *group, record_number_fn *number)
{
    struct spread spread = {.mean = NAN, .deviation = NAN, .count = 0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < group->record_count; i++) {
        double value = number(group->records[i]);
        if (isfinite(value)) {
            sum += value;
            spread.count++;
        }
    }
    if (spread.count == 0)
        return spread;
    spread.mean = sum / (double)spread.count;
    for (size_t i = 0; i < group->record_count; i++) {
        double value = number(group->records[i]);
        squares += isfinite(value) ? (value - spread.mean) * (value - spread.mean) : 0;
    }
    if (spread.count >= COMPARISON_SPREAD_MIN)
        spread.deviation = sqrt(squares / (double)(spread.count - 1));
    return spread;
}

/* A loss that is not finite is recorded as none. A batch without examples has none either, but
 * leaves the scores finite. */
bool record_diverged(const struct record *record)
{
    bool none = record->point_count > 0 &&
                !isfinite(record->points[record->point_count - 1].loss) &&
                !isfinite(record->summary.test.loss);
    return strcmp(record->state, "done") == 0 && (none || !isfinite(record->summary.train.loss));
}

/* Memory that ran out has the same exit code. */
bool failed_run_diverged(const struct failed_run *run)
{
    return run->exit_code == EXIT_TRAINING_FAILED &&
           (strstr(run->reason, "not finite") != NULL ||
            strstr(run->reason, "training diverged") != NULL);
}

double record_wait_seconds(const struct record *record)
{
    double sum = 0;
    for (size_t i = 0; i < record->summary.worker_count; i++)
        sum += worker_summary_wait(&record->summary.workers[i]);
    return record->summary.worker_count ? sum / (double)record->summary.worker_count : NAN;
}

double record_worker_seconds(const struct record *record)
{
    return record->training_seconds * record->workers;
}

double record_exchanged_bytes(const struct record *record)
{
    return record->exchanged_bytes;
}

/* Of the batches up to this one, the last of an epoch smaller. */
static double examples_until(const struct record *record, uint64_t batches)
{
    uint64_t epoch = (record->examples + record->global_batch - 1) / record->global_batch;
    uint64_t rest = batches % epoch * record->global_batch;
    return (double)(batches / epoch) * (double)record->examples + (double)rest;
}

double record_dropped(const struct record *record)
{
    const struct mode_figures *figures = &record->summary.mode_figures;
    if (record->examples == 0 || record->global_batch == 0 || record->summary.step == 0)
        return NAN;
    for (uint32_t i = 0; i < figures->count; i++)
        if (strcmp(figures->figures[i].name, "examples_dropped") == 0)
            return (double)figures->figures[i].value / examples_until(record, record->summary.step);
    return NAN;
}

double record_longer(const struct record *record)
{
    return run_summary_longer(&record->summary);
}

/* --- the same bits ------------------------------------------------------------------------- */

static bool comparable(const struct record *record)
{
    const struct mode_facts *facts = mode_facts_named(record->mode_text);
    return facts->steps && !facts->sets && strcmp(record->state, "done") == 0 &&
           record->summary.parameters_sha256[0] != '\0';
}

/* Whether runs of two configurations ought to have the same bits when their seeds are equal. */
static bool are_twins(const struct group *a, const struct group *b)
{
    return a->workers != b->workers && strcmp(a->config.varied, b->config.varied) == 0;
}

static bool ought_to_agree(const struct record *a, const struct record *b)
{
    return comparable(a) && comparable(b) && a->seed == b->seed &&
           a->global_batch == b->global_batch;
}

/* Adds ", N" to the list of numbers of workers, once each. */
static void note_workers(uint32_t *counts, size_t *count, uint32_t workers)
{
    for (size_t i = 0; i < *count; i++)
        if (counts[i] == workers)
            return;
    if (*count < COMPARISON_GROUPS_MAX)
        counts[(*count)++] = workers;
}

static void list_workers(const uint32_t *counts, size_t count, char *text, size_t bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        wording_append(text, bytes, "%s%u",
                       i == 0          ? ""
                       : i + 1 < count ? ", "
                                       : " and ",
                       counts[i]);
}

struct bits_search {
    struct bits_verdict *verdict;
    uint32_t counts[COMPARISON_GROUPS_MAX]; /* Of workers. */
    size_t count;
    uint64_t seeds[COMPARISON_RUNS_MAX]; /* [verdict->seeds] */
    const struct record *shown;          /* The first that is compared with another one. */
};

static void note_seed(struct bits_search *search, uint64_t seed)
{
    for (size_t i = 0; i < search->verdict->seeds; i++)
        if (search->seeds[i] == seed)
            return;
    search->seeds[search->verdict->seeds++] = seed;
}

static void compare_runs(struct bits_search *search, const struct record *a, const struct record *b)
{
    struct bits_verdict *verdict = search->verdict;
    note_workers(search->counts, &search->count, a->workers);
    note_workers(search->counts, &search->count, b->workers);
    note_seed(search, a->seed);
    if (search->shown == NULL)
        search->shown = a;
    if (!verdict->equal || strcmp(a->summary.parameters_sha256, b->summary.parameters_sha256) == 0)
        return;
    verdict->equal = false;
    snprintf(verdict->text, sizeof(verdict->text),
             "WARNING: sync with seed %llu differs between %u and %u workers: %.16s... and "
             "%.16s...",
             (unsigned long long)a->seed, a->workers, b->workers, a->summary.parameters_sha256,
             b->summary.parameters_sha256);
}

static void compare_configs(struct bits_search *search, const struct group *a,
                            const struct group *b)
{
    for (size_t i = 0; i < a->record_count; i++)
        for (size_t j = 0; j < b->record_count; j++)
            if (ought_to_agree(a->records[i], b->records[j]))
                compare_runs(search, a->records[i], b->records[j]);
}

void comparison_bits(const struct comparison *comparison, struct bits_verdict *verdict)
{
    struct bits_search search = {.verdict = verdict, .shown = NULL};
    char workers[96];
    char seeds[64] = "";
    memset(verdict, 0, sizeof(*verdict));
    verdict->equal = true;
    for (size_t i = 0; i < comparison->group_count; i++)
        for (size_t j = i + 1; j < comparison->group_count; j++)
            if (are_twins(&comparison->groups[i], &comparison->groups[j]))
                compare_configs(&search, &comparison->groups[i], &comparison->groups[j]);
    if (search.shown == NULL || !verdict->equal)
        return;
    list_workers(search.counts, search.count, workers, sizeof(workers));
    if (verdict->seeds > 1)
        snprintf(seeds, sizeof(seeds), ", for each of %zu seeds", verdict->seeds);
    snprintf(verdict->text, sizeof(verdict->text), "sync: the same bits for %s workers%s: %.16s...",
             workers, seeds, search.shown->summary.parameters_sha256);
}

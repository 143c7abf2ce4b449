/* merge.c - merges several plans into one, in which every configuration has its own options. */

#include "deploy/compare/merge.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/compare/interleaving.h"
#include "deploy/compare/plan_words.h"
#include "deploy/compare/run_tree.h"
#include "deploy/compare/shared_settings.h"

static const struct option_row *find(const char *name)
{
    return option_find(OPTION_COMPARE, name, strlen(name));
}

/* --- compatibility ---------------------------------------------------------------------------- */

static bool same_settings(const struct settings *a, const struct settings *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++) {
        const char *other = settings_value(b, a->items[i].row);
        same = other != NULL && settings_same_value(a->items[i].row, a->items[i].value, other);
    }
    return same;
}

static enum status check_configs(const struct source *a, const struct source *b,
                                 struct error *error)
{
    for (size_t i = 0; i < b->configs.count; i++) {
        const struct config_plan *ours = source_config(a, b->configs.list[i].config.name);
        if (ours != NULL && !same_settings(&ours->own, &b->configs.list[i].own))
            return error_set(error, STATUS_MISMATCH,
                             "%.150s and %.150s both have an arm %.95s, which is not the same",
                             a->path, b->path, ours->config.name);
    }
    return STATUS_OK;
}

static enum status check_runs(struct merge *merge, const struct source *a, const struct source *b,
                              struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < b->run_count && status == STATUS_OK; i++) {
        const struct source_run *ours = source_find(a, b->runs[i].name);
        if (ours == NULL)
            continue;
        merge->twice++;
        status = shared_settings_same_run(ours, &b->runs[i], error);
    }
    return status;
}

/* Two paths may be one folder. */
static bool same_folder(const char *a, const char *b)
{
    struct stat ours, theirs;
    return stat(a, &ours) == 0 && stat(b, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

static enum status open_sources(struct merge *merge, const struct options_list *paths,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < paths->count && status == STATUS_OK; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (same_folder(paths->items[i], paths->items[j]))
                return error_set(error, STATUS_INVALID, "--merge: %.200s and %.200s are one folder",
                                 paths->items[j], paths->items[i]);
        status = source_open(&merge->sources[merge->count++], paths->items[i], error);
    }
    for (size_t i = 1; i < merge->count; i++)
        for (size_t j = 0; j < i && status == STATUS_OK; j++) {
            const struct source *a = &merge->sources[j], *b = &merge->sources[i];
            status = shared_settings_check(a, b, error);
            if (status == STATUS_OK)
                status = check_configs(a, b, error);
            if (status == STATUS_OK)
                status = check_runs(merge, a, b, error);
        }
    return status;
}

/* --- the plan -------------------------------------------------------------------------------- */

static bool is_seed(const struct option_row *row)
{
    return strcmp(row->name, "seed") == 0 || strcmp(row->name, "seeds") == 0;
}

/* The options that all share, given or default. */
static bool all_have(const struct merge *merge, const struct setting *item)
{
    for (size_t i = 1; i < merge->count; i++) {
        const char *value = shared_settings_value(&merge->sources[i].plan.common, item->row);
        if (shared_settings_varies(&merge->sources[0], &merge->sources[i], item->row) &&
            (value == NULL || !settings_same_value(item->row, item->value, value)))
            return false;
    }
    return true;
}

static enum status add_common(struct merge *merge, struct error *error)
{
    const struct settings *first = &merge->sources[0].plan.common;
    uint64_t least = UINT64_MAX, end = 0;
    char text[32];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < first->count && status == STATUS_OK; i++)
        if (!is_seed(first->items[i].row) && all_have(merge, &first->items[i]))
            status = settings_add(&merge->plan.common, first->items[i].row, first->items[i].value,
                                  error);
    for (size_t i = 0; i < merge->count; i++) {
        const struct options *options = &merge->sources[i].options;
        least = options->job.seed < least ? options->job.seed : least;
        end = options->job.seed + options->seeds > end ? options->job.seed + options->seeds : end;
    }
    snprintf(text, sizeof text, "%" PRIu64, least);
    if (status == STATUS_OK)
        status = settings_add(&merge->plan.common, find("seed"), text, error);
    snprintf(text, sizeof text, "%" PRIu64, end - least);
    return status == STATUS_OK ? settings_add(&merge->plan.common, find("seeds"), text, error)
                               : status;
}

/* Whether the command of a configuration has it; unused options are left out. */
static bool has_word(const struct config_plan *config, const struct option_row *row)
{
    size_t length = strlen(row->name);
    for (size_t i = 1; i < config->words.count; i++)
        if (strncmp(config->words.items[i] + 2, row->name, length) == 0 &&
            config->words.items[i][2 + length] == '=')
            return true;
    return false;
}

/* Its own options, and those of its comparison that the merged one does not share. */
static enum status add_config(struct merge *merge, const struct source *source,
                              const struct config_plan *from, struct error *error)
{
    struct error why = {0};
    struct named_config *config = named_configs_add(&merge->plan.configs, from->config.name, &why);
    if (config == NULL)
        return error_set(error, why.status, "arm %.95s of %.150s: %.200s", from->config.name,
                         source->path, why.text);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < from->own.count && status == STATUS_OK; i++)
        status =
            settings_add(&config->own, from->own.items[i].row, from->own.items[i].value, error);
    for (size_t i = 0; i < source->plan.common.count && status == STATUS_OK; i++) {
        const struct setting *item = &source->plan.common.items[i];
        const char *common = shared_settings_value(&merge->plan.common, item->row);
        bool others = common == NULL || !settings_same_value(item->row, common, item->value);
        if (others && shared_settings_varies(&merge->sources[0], source, item->row) &&
            settings_value(&config->own, item->row) == NULL && has_word(from, item->row))
            status = settings_add(&config->own, item->row, item->value, error);
    }
    return status;
}

static bool has_config(const struct merge *merge, const char *name)
{
    for (size_t i = 0; i < merge->plan.configs.count; i++)
        if (strcmp(merge->plan.configs.list[i].name, name) == 0)
            return true;
    return false;
}

/* As a command, to be checked like any other. */
static enum status read_back(struct merge *merge, struct error *error)
{
    struct error why = {0};
    enum status status = plan_words_of(&merge->words, &merge->plan, error);
    if (status != STATUS_OK)
        return status;
    plan_free(&merge->plan);
    if (options_parse(&merge->options, OPTION_COMPARE, "syncopate compare", (int)merge->words.count,
                      merge->words.items, &why) != OPTIONS_RUN)
        return error_set(error, STATUS_INVALID, "--merge: %.400s", why.text);
    return plan_take(&merge->plan, &merge->options, (int)merge->words.count, merge->words.items,
                     error);
}

enum status merge_open(struct merge *merge, const struct options_list *paths, struct error *error)
{
    memset(merge, 0, sizeof *merge);
    if (paths->count < 2 || paths->count > MERGE_SOURCES_MAX)
        return error_set(
            error, STATUS_INVALID,
            "--merge: needs the folders of several comparisons, --merge A --merge B, %d "
            "at most",
            MERGE_SOURCES_MAX);
    merge->sources = calloc(paths->count, sizeof *merge->sources);
    if (merge->sources == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = open_sources(merge, paths, error);
    if (status == STATUS_OK)
        status = add_common(merge, error);
    for (size_t i = 0; i < merge->count; i++)
        for (size_t j = 0; j < merge->sources[i].configs.count && status == STATUS_OK; j++)
            if (!has_config(merge, merge->sources[i].configs.list[j].config.name))
                status = add_config(merge, &merge->sources[i], &merge->sources[i].configs.list[j],
                                    error);
    return status == STATUS_OK ? read_back(merge, error) : status;
}

void merge_close(struct merge *merge)
{
    for (size_t i = 0; i < merge->count; i++)
        source_close(&merge->sources[i]);
    free(merge->sources);
    plan_free(&merge->plan);
    arguments_free(&merge->words);
    memset(merge, 0, sizeof *merge);
}

/* --- the runs -------------------------------------------------------------------------------- */

/* The folder or the nearest above it that is there. */
static bool nearest(const char *path, char resolved[PATH_MAX])
{
    char part[DISK_PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    while (realpath(part, resolved) == NULL) {
        char *slash = strrchr(part, '/');
        if (slash == NULL)
            return realpath(".", resolved) != NULL;
        *(slash == part ? slash + 1 : slash) = '\0';
    }
    return true;
}

enum status merge_check_out(const struct merge *merge, const char *out, struct error *error)
{
    char place[PATH_MAX], source[PATH_MAX];
    for (size_t i = 0; i < merge->count; i++) {
        if (!nearest(out, place) || realpath(merge->sources[i].path, source) == NULL)
            continue;
        size_t length = strlen(source);
        if (strncmp(place, source, length) == 0 && (place[length] == '\0' || place[length] == '/'))
            return error_set(error, STATUS_INVALID,
                             "--out=%.200s: it is in %.200s, which is not to be changed", out,
                             merge->sources[i].path);
    }
    return STATUS_OK;
}

/* A run that is in OUT already, of a merge that was cut off. */
static enum status check_there(const struct source_run *run, const char *to, struct error *error)
{
    struct source_run there;
    enum status status = source_run_read(&there, run->name, to, error);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND
                   ? error_set(error, STATUS_EXISTS, "%.300s: something else is there", to)
                   : status;
    status = shared_settings_same_run(run, &there, error);
    job_free(&there.job);
    return status;
}

static enum status copy_run(const struct source_run *run, const char *out, struct error *error)
{
    char to[DISK_PATH_MAX];
    int length = snprintf(to, sizeof to, "%s/" INTERLEAVING_RUNS "/%s", out, run->name);
    if (length < 0 || (size_t)length + sizeof RUN_TREE_PART > sizeof to)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    if (disk_posix.look(disk_posix.context, to) != DISK_NOTHING)
        return check_there(run, to, error);
    return run_tree_copy(run->path, to, error);
}

bool merge_has(const struct merge *merge, const char *run)
{
    for (size_t i = 0; i < merge->count; i++)
        if (source_find(&merge->sources[i], run) != NULL)
            return true;
    return false;
}

enum status merge_runs(const struct merge *merge, const char *out, struct error *error)
{
    char runs[DISK_PATH_MAX];
    int length = snprintf(runs, sizeof runs, "%s/" INTERLEAVING_RUNS, out);
    if (length < 0 || (size_t)length >= sizeof runs)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    enum status status = disk_posix.make_directory(disk_posix.context, runs, error);
    for (size_t i = 0; i < merge->count; i++) {
        const struct source *source = &merge->sources[i];
        for (size_t j = 0; j < source->run_count && status == STATUS_OK; j++) {
            bool first = true;
            for (size_t k = 0; k < i; k++)
                first = first && source_find(&merge->sources[k], source->runs[j].name) == NULL;
            if (first)
                status = copy_run(&source->runs[j], out, error);
        }
    }
    return status;
}

/* reopened.c - takes the names from compare.json and reads each run. */

#include "deploy/conclusion/reopened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"

#define FILE_BYTES_MAX (16u << 20)

static void take_text(char *into, size_t bytes, const struct json *from, const char *name)
{
    const char *text = json_text(from, name);
    snprintf(into, bytes, "%s", text != NULL ? text : "");
}

static void take_question(struct question *question, const struct json *root)
{
    const char *kind = json_text(root, "target.kind");
    double value = json_number(root, "target.value"), margin = json_number(root, "margin");
    *question = (struct question){.margin = margin >= 0 ? margin : CONCLUSION_MARGIN};
    if (kind == NULL || !json_flag(root, "target.asked_for") || !(value > 0))
        return;
    if (strcmp(kind, "loss") == 0)
        question->target_loss = value;
    else
        question->target_accuracy = value;
}

/* A folder in OUT/runs, and nowhere else. */
static bool is_plain_name(const char *name)
{
    return name != NULL && name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/* A label that was given, rather than derived from the settings, is kept. */
static void keep_label(struct comparison *comparison, const struct config *config,
                       const char *label)
{
    for (size_t i = 0; i < comparison->group_count && label != NULL; i++) {
        struct group *group = &comparison->groups[i];
        if (strcmp(group->config.name, config->name) != 0 || strcmp(group->label, label) == 0)
            continue;
        snprintf(group->label, sizeof group->label, "%s", label);
        snprintf(group->config.label, sizeof group->config.label, "%s", label);
    }
}

static enum status read_group(struct reopened *reopened, const struct json *group, const char *path,
                              struct error *error)
{
    struct config config = {.label = ""};
    const struct json *runs = json_at(group, "runs");
    take_text(config.name, sizeof config.name, group, "arm");
    take_text(config.varied, sizeof config.varied, group, "varied");
    take_text(config.given, sizeof config.given, group, "given");
    if (config.name[0] != '\0' && json_item(runs, 0) == NULL) { /* All of them failed. */
        const char *mode = json_text(group, "mode");
        enum status status =
            comparison_group(&reopened->comparison, &config, mode != NULL ? mode : "",
                             (uint32_t)json_u64(group, "workers", 0), error);
        if (status != STATUS_OK)
            return status;
    }
    for (size_t i = 0; json_item(runs, i) != NULL; i++) {
        char run[DISK_PATH_MAX];
        const char *name = json_text(json_item(runs, i), "");
        if (config.name[0] == '\0' || !is_plain_name(name))
            return error_set(error, STATUS_INVALID, "%.300s/%s: an arm or a run has no name", path,
                             REOPENED_FILE);
        int length = snprintf(run, sizeof run, "%s/runs/%s", path, name);
        if (length < 0 || (size_t)length >= sizeof run)
            return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
        enum status status = comparison_add(&reopened->comparison, &config, run, error);
        if (status != STATUS_OK)
            return status;
    }
    keep_label(&reopened->comparison, &config, json_text(group, "label"));
    return STATUS_OK;
}

static enum status read_failed(struct reopened *reopened, const struct json *run,
                               struct error *error)
{
    struct failed_run failed = {.seed = json_u64(run, "seed", 0),
                                .exit_code = (int)json_u64(run, "exit_code", 1)};
    take_text(failed.name, sizeof failed.name, run, "run");
    take_text(failed.config, sizeof failed.config, run, "arm");
    take_text(failed.reason, sizeof failed.reason, run, "reason");
    return comparison_fail(&reopened->comparison, &failed, error);
}

static enum status read_all(struct reopened *reopened, const struct json *root, const char *path,
                            struct error *error)
{
    const struct json *groups = json_at(root, "groups"), *failed = json_at(root, "failed");
    const char *format = json_text(root, "format");
    enum status status = STATUS_OK;
    if (groups == NULL)
        return error_set(error, STATUS_INVALID, "%.300s/%s: it is not of a comparison", path,
                         REOPENED_FILE);
    if (format == NULL || strcmp(format, COMPARISON_FORMAT) != 0)
        return error_set(error, STATUS_INVALID,
                         "%.300s/%s: format %.40s, needs " COMPARISON_FORMAT
                         ": type the compare command again with its --out",
                         path, REOPENED_FILE, format != NULL ? format : "syncopate-comparison-1");
    take_question(&reopened->question, root);
    take_text(reopened->command, sizeof reopened->command, root, "command");
    for (size_t i = 0; status == STATUS_OK && json_item(groups, i) != NULL; i++)
        status = read_group(reopened, json_item(groups, i), path, error);
    for (size_t i = 0; status == STATUS_OK && json_item(failed, i) != NULL; i++)
        status = read_failed(reopened, json_item(failed, i), error);
    reopened->comparison.planned = (size_t)json_u64(root, "runs_planned", 0);
    return status;
}

enum status reopened_open(struct reopened **reopened, const char *path, struct error *error)
{
    char file[DISK_PATH_MAX];
    struct json *root = NULL;
    struct reopened *r = *reopened = calloc(1, sizeof *r);
    if (r == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    comparison_init(&r->comparison);
    int length = snprintf(file, sizeof file, "%s/%s", path, REOPENED_FILE);
    if (length < 0 || (size_t)length >= sizeof file)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
    enum status status = json_read_file(&disk_posix, file, FILE_BYTES_MAX, &root, error);
    if (status == STATUS_NOT_FOUND)
        error_set(error, status, "%.300s: is no comparison with a run that is done (no %s)", path,
                  REOPENED_FILE);
    if (status == STATUS_OK)
        status = read_all(r, root, path, error);
    if (status == STATUS_OK)
        status = conclusion_make(&r->conclusion, &r->comparison, &r->question, error);
    json_release(&root);
    return status;
}

void reopened_close(struct reopened **reopened)
{
    if (*reopened == NULL)
        return;
    conclusion_free(&(*reopened)->conclusion);
    comparison_free(&(*reopened)->comparison);
    free(*reopened);
    *reopened = NULL;
}

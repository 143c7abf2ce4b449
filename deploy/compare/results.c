/* results.c - lends its records to a comparison, and takes them back before the next. */

#include "deploy/compare/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status results_init(struct results *results, const struct interleaving *interleaving,
                         struct error *error)
{
    *results = (struct results){.interleaving = interleaving};
    comparison_init(&results->all);
    results->list = calloc(interleaving->run_count, sizeof *results->list);
    if (results->list == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < interleaving->run_count; i++)
        if (interleaving->kept[i])
            results_read(results, i, NULL);
    return STATUS_OK;
}

void results_free(struct results *results)
{
    comparison_give_back(&results->all);
    for (size_t i = 0; results->list != NULL && i < results->interleaving->run_count; i++) {
        if (results->list[i].record != NULL)
            record_free(results->list[i].record);
        free(results->list[i].record);
        free(results->list[i].reason);
    }
    free(results->list);
    *results = (struct results){.list = NULL};
}

enum status results_read(struct results *results, size_t index, struct error *error)
{
    struct interleaved_run run;
    struct result *result = &results->list[index];
    if (result->record != NULL)
        return STATUS_OK;
    struct record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    interleaving_run(&run, results->interleaving, index);
    enum status status = record_read(record, run.out, error);
    if (status == STATUS_OK)
        result->record = record;
    else
        free(record); /* Which is empty. */
    return status;
}

enum status results_fail(struct results *results, size_t index, int exit_code, const char *reason,
                         struct error *error)
{
    struct result *result = &results->list[index];
    char *copy = strdup(reason);
    if (copy == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    free(result->reason);
    result->reason = copy;
    result->exit_code = exit_code;
    return STATUS_OK;
}

size_t results_failed(const struct results *results)
{
    size_t count = 0;
    for (size_t i = 0; i < results->interleaving->run_count; i++)
        count += results->list[i].reason != NULL;
    return count;
}

static enum status collect_failed(struct results *results, size_t index,
                                  const struct interleaved_run *run, struct error *error)
{
    const struct result *result = &results->list[index];
    struct failed_run failed = {.seed = run->options.job.seed, .exit_code = result->exit_code};
    snprintf(failed.name, sizeof failed.name, "%s", run->name);
    snprintf(failed.config, sizeof failed.config, "%s", run->config.name);
    snprintf(failed.reason, sizeof failed.reason, "%s", result->reason);
    enum status status =
        comparison_group(&results->all, &run->config, job_mode_text(&run->options.job).text,
                         run->options.workers, error);
    return status == STATUS_OK ? comparison_fail(&results->all, &failed, error) : status;
}

enum status results_collect(struct results *results, struct error *error)
{
    enum status status = STATUS_OK;
    comparison_give_back(&results->all);
    results->all.planned = results->interleaving->run_count;
    for (size_t i = 0; i < results->interleaving->run_count && status == STATUS_OK; i++) {
        const struct result *result = &results->list[i];
        struct interleaved_run run;
        interleaving_run(&run, results->interleaving, i);
        if (result->reason != NULL)
            status = collect_failed(results, i, &run, error);
        else if (result->record != NULL)
            status = comparison_take(&results->all, &run.config, result->record, error);
    }
    return status;
}

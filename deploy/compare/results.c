/* results.c - lends its records to a comparison, and takes them back before the next. */

#include "deploy/compare/results.h"

#include <stdlib.h>
#include <string.h>

enum status results_init(struct results *results, const struct rounds *rounds, struct error *error)
{
    *results = (struct results){.rounds = rounds};
    comparison_init(&results->all);
    results->list = calloc(rounds->run_count, sizeof *results->list);
    if (results->list == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < rounds->run_count; i++)
        if (rounds->kept[i])
            results_read(results, i, NULL);
    return STATUS_OK;
}

void results_free(struct results *results)
{
    comparison_give_back(&results->all);
    for (size_t i = 0; results->list != NULL && i < results->rounds->run_count; i++) {
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
    struct round_run run;
    struct result *result = &results->list[index];
    if (result->record != NULL)
        return STATUS_OK;
    struct record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    rounds_run(&run, results->rounds, index);
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
    for (size_t i = 0; i < results->rounds->run_count; i++)
        count += results->list[i].reason != NULL;
    return count;
}

enum status results_collect(struct results *results, struct error *error)
{
    enum status status = STATUS_OK;
    comparison_give_back(&results->all);
    results->all.planned = results->rounds->run_count;
    for (size_t i = 0; i < results->rounds->run_count && status == STATUS_OK; i++) {
        const struct result *result = &results->list[i];
        struct round_run run;
        rounds_run(&run, results->rounds, i);
        if (result->reason != NULL)
            status =
                comparison_fail(&results->all, run.name, result->exit_code, result->reason, error);
        else if (result->record != NULL)
            status = comparison_take(&results->all, &run.arm, result->record, error);
    }
    return status;
}

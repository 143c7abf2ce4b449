/* points.c - writes a line for each number. */

#include "deploy/report/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/target.h"
#include "deploy/report/table.h"

/* Of which run, and where in it. */
struct place {
    FILE *stream;
    const struct group *group;
    const struct record *record;
    double step, seconds;
};

/* In as few digits as it takes to read it back. */
static void put_number(FILE *stream, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof value) == 0)
            break;
    }
    fprintf(stream, ",%s", text);
}

/* A name with a comma or a quote in it is quoted. */
static void put_name(FILE *stream, const char *name)
{
    if (name[strcspn(name, ",\"\n\r")] == '\0') {
        fputs(name, stream);
        return;
    }
    fputc('"', stream);
    for (; *name != '\0'; name++)
        fprintf(stream, *name == '"' ? "\"\"" : "%c", *name);
    fputc('"', stream);
}

static void put_line(const struct place *place, const char *prefix, const char *metric,
                     double value)
{
    if (!isfinite(value))
        return;
    put_name(place->stream, place->group->config.name);
    fprintf(place->stream, ",%llu,%s%s", (unsigned long long)place->record->seed, prefix, metric);
    put_number(place->stream, place->step);
    put_number(place->stream, target_examples(place->record, place->step));
    if (isfinite(place->seconds))
        put_number(place->stream, place->seconds);
    else
        fputc(',', place->stream);
    put_number(place->stream, value);
    fputc('\n', place->stream);
}

/* The numbers with a curve. */
static void put_figures(const struct place *place, const struct figure_row *rows, const void *of)
{
    for (const struct figure_row *row = rows; row->size > 0; row++)
        if (row->kind == FIGURE_SET)
            put_figures(place, row->set(), (const char *)of + row->offset);
        else if (row->tag != NULL)
            put_line(place, "", row->name, figure_value(row, of));
}

static void put_progress(struct place *place)
{
    for (size_t i = 0; i < place->record->point_count; i++) {
        const struct record_point *point = &place->record->points[i];
        place->step = point->step;
        place->seconds = point->training_seconds;
        put_figures(place, record_point_rows(), point);
        put_line(place, "", "exchanged_bytes", point->exchanged_bytes);
    }
}

static void put_scores(struct place *place)
{
    for (size_t i = 0; i < place->record->evaluation_count; i++) {
        const struct record_evaluation *score = &place->record->evaluations[i];
        place->step = score->step;
        place->seconds = score->training_seconds;
        put_figures(place, record_evaluation_rows(), score);
        put_line(place, "", "exchanged_bytes_scored", score->exchanged_bytes);
    }
}

static void put_summary(struct place *place)
{
    const struct record *record = place->record;
    const char *name;
    record_number_fn *number;
    place->step = (double)record->summary.step;
    place->seconds = record->training_seconds;
    put_line(place, "run_", "fate", record_diverged(record) ? TRIAL_END_DIVERGED : TRIAL_END_DONE);
    put_line(place, "run_", "leaf", (double)record->micro_batch);
    put_line(place, "run_", "classes", record_classes(record));
    put_line(place, "run_", "workers", record->workers);
    put_line(place, "run_", "batch", (double)record->global_batch);
    put_line(place, "run_", "accumulate", (double)record->accumulate);
    put_line(place, "run_", "planned_examples", target_examples(record, (double)record->steps));
    put_line(place, "run_", "learning_rate", record->learning_rate);
    for (size_t i = 0; table_number(i, &name, &number); i++)
        put_line(place, "run_", name, number(record));
}

static void put_failed(FILE *stream, const struct comparison *comparison, const char *config)
{
    for (size_t i = 0; i < comparison->failed_count; i++) {
        const struct failed_run *run = &comparison->failed[i];
        if (strcmp(run->config, config) != 0)
            continue;
        put_name(stream, config);
        fprintf(stream, ",%llu,run_fate,0,0,,%d\n", (unsigned long long)run->seed,
                failed_run_diverged(run) ? TRIAL_END_DIVERGED : TRIAL_END_UNKNOWN);
    }
}

void points_write(FILE *stream, const struct comparison *comparison)
{
    fputs("arm,seed,metric,step,examples,seconds,value\n", stream);
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        for (size_t j = 0; j < group->record_count; j++) {
            struct place place = {.stream = stream, .group = group, .record = group->records[j]};
            put_progress(&place);
            put_scores(&place);
            put_summary(&place);
        }
        put_failed(stream, comparison, group->config.name);
    }
}

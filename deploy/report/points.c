/* points.c - writes a line for each number, and one for each run. */

#include "deploy/report/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/target.h"
#include "deploy/report/config.h"
#include "deploy/report/table.h"

/* Of which run, and where in it. */
struct place {
    FILE *stream;
    const struct group *group;
    const struct record *record;
    double step, seconds;
    bool drawn; /* Only what the page draws. */
    size_t every;
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

void points_write_name(FILE *stream, const char *name)
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

/* Those that the page draws. */
static bool is_drawn(const char *metric)
{
    static const char *const drawn[] = {"loss", "exchanged_bytes", "test_loss", "test_accuracy",
                                        "exchanged_bytes_scored"};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++)
        if (strcmp(metric, drawn[i]) == 0)
            return true;
    return false;
}

static void put_line(const struct place *place, const char *metric, double value)
{
    if (!isfinite(value) || (place->drawn && !is_drawn(metric)))
        return;
    points_write_name(place->stream, place->group->config.name);
    fprintf(place->stream, ",%llu,%s", (unsigned long long)place->record->seed, metric);
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
            put_line(place, row->name, figure_value(row, of));
}

static void put_progress(struct place *place)
{
    for (size_t i = 0; i < place->record->point_count; i++) {
        const struct record_point *point = &place->record->points[i];
        if ((i + 1) % place->every != 0 && i + 1 < place->record->point_count)
            continue;
        place->step = point->step;
        place->seconds = point->training_seconds;
        put_figures(place, record_point_rows(), point);
        put_line(place, "exchanged_bytes", point->exchanged_bytes);
    }
}

static void put_scores(struct place *place)
{
    for (size_t i = 0; i < place->record->evaluation_count; i++) {
        const struct record_evaluation *score = &place->record->evaluations[i];
        place->step = score->step;
        place->seconds = score->training_seconds;
        put_figures(place, record_evaluation_rows(), score);
        put_line(place, "exchanged_bytes_scored", score->exchanged_bytes);
    }
}

/* --- runs ------------------------------------------------------------------------------------- */

static void put_text(FILE *stream, const char *text)
{
    fputc(',', stream);
    points_write_name(stream, text);
}

static void put_known(FILE *stream, double value)
{
    if (isfinite(value))
        put_number(stream, value);
    else
        fputc(',', stream);
}

/* What follows is not known of a run that failed. */
static void put_run(FILE *stream, const struct group *group, const struct record *record)
{
    const char *name;
    record_number_fn *number;
    const char *slash = strrchr(record->path, '/');
    points_write_name(stream, group->config.name);
    fprintf(stream, ",%llu", (unsigned long long)record->seed);
    put_text(stream, slash != NULL ? slash + 1 : record->path);
    put_text(stream, record_diverged(record) ? "diverged" : "done");
    put_text(stream, record->mode_text);
    put_text(stream, record->model);
    put_text(stream, record->data);
    put_text(stream, record->optimizer);
    put_text(stream, group->config.varied);
    put_text(stream, config_text(record).text);
    put_known(stream, record->learning_rate);
    put_known(stream, record->workers);
    put_known(stream, record->servers);
    put_known(stream, (double)record->global_batch);
    put_known(stream, (double)record->micro_batch);
    put_known(stream, (double)record->accumulate);
    put_known(stream, record_classes(record));
    put_known(stream, target_examples(record, (double)record->steps));
    put_known(stream, target_examples(record, (double)record->summary.step));
    for (size_t i = 0; table_number(i, &name, &number); i++)
        put_known(stream, number(record));
    fputc('\n', stream);
}

static void put_failed(FILE *stream, const struct comparison *comparison, const char *config)
{
    for (size_t i = 0; i < comparison->failed_count; i++) {
        const struct failed_run *run = &comparison->failed[i];
        if (strcmp(run->config, config) != 0)
            continue;
        points_write_name(stream, config);
        fprintf(stream, ",%llu", (unsigned long long)run->seed);
        put_text(stream, run->name);
        put_text(stream, failed_run_diverged(run) ? "diverged" : "failed");
        const char *name;
        record_number_fn *number;
        fputs(",,,,,,,,,,,,,,,", stream);
        for (size_t j = 0; table_number(j, &name, &number); j++)
            fputc(',', stream);
        fputc('\n', stream);
    }
}

void points_write_runs(FILE *stream, const struct comparison *comparison)
{
    const char *name;
    record_number_fn *number;
    fputs("arm,seed,run,end,mode,model,data,optimizer,varied,options,learning_rate,workers,"
          "servers,batch,leaf,accumulate,classes,planned_examples,examples",
          stream);
    for (size_t i = 0; table_number(i, &name, &number); i++)
        fprintf(stream, ",%s", name);
    fputc('\n', stream);
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        for (size_t j = 0; j < group->record_count; j++)
            put_run(stream, group, group->records[j]);
        put_failed(stream, comparison, group->config.name);
    }
}

/* --- points ----------------------------------------------------------------------------------- */

static void put_points(FILE *stream, const struct comparison *comparison, bool drawn, size_t every)
{
    fputs("arm,seed,metric,step,examples,seconds,value\n", stream);
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        for (size_t j = 0; j < group->record_count; j++) {
            struct place place = {.stream = stream,
                                  .group = group,
                                  .record = group->records[j],
                                  .drawn = drawn,
                                  .every = every};
            put_progress(&place);
            put_scores(&place);
        }
    }
}

void points_write(FILE *stream, const struct comparison *comparison)
{
    put_points(stream, comparison, false, 1);
}

void points_write_drawn(FILE *stream, const struct comparison *comparison)
{
    size_t points = 0;
    for (size_t i = 0; i < comparison->record_count; i++)
        points += comparison->records[i]->point_count;
    put_points(stream, comparison, true, points / POINTS_DRAWN_MAX + 1);
}

/* chart.c - finds each run's x, line and y by their names; then values and intervals of each point. */

#include "deploy/report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/conclusion/reopened.h"
#include "deploy/report/points.h"
#include "deploy/report/table.h"

#define LABEL_MAX 200

struct chart_row {
    char line[LABEL_MAX], x[CONFIG_TEXT_MAX], comparison[CONFIG_TEXT_MAX], arm[CONFIG_TEXT_MAX];
    uint64_t seed;
    double y, beside; /* beside: NaN until it is known, or without. */
};

/* --- numbers of a run ------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the windows of --report-every, in milliseconds a batch. */
static double step_quantile(const struct record *record, double part)
{
    double *steps = malloc((record->window_count + 1) * sizeof *steps), found = NAN;
    size_t count = 0;
    for (size_t i = 0; steps != NULL && i < record->window_count; i++) {
        const struct run_window *window = &record->windows[i].window;
        if (!isnan(window->seconds))
            steps[count++] = 1000 * window->seconds / (double)(window->end - window->first);
    }
    if (count > 0) {
        qsort(steps, count, sizeof *steps, by_size);
        found = steps[(size_t)(part * (double)(count - 1) + 0.5)];
    }
    free(steps);
    return found;
}

static double number_step_p50(const struct record *record)
{
    return step_quantile(record, 0.5);
}

static double number_step_p99(const struct record *record)
{
    return step_quantile(record, 0.99);
}

static double number_ms_per_update(const struct record *record)
{
    return 1000 / conclusion_pace(record);
}

static const struct {
    const char *name;
    record_number_fn *number;
} numbers[] = {
    {"step_p50", number_step_p50},
    {"step_p99", number_step_p99},
    {"ms_per_update", number_ms_per_update},
};

static record_number_fn *find_number(const char *wanted)
{
    const char *name;
    record_number_fn *number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, wanted) == 0)
            return numbers[i].number;
    for (size_t i = 0; table_number(i, &name, &number); i++)
        if (strcmp(name, wanted) == 0)
            return number;
    return NULL;
}

static bool is_measure(const char *name)
{
    return strcmp(name, "time") == 0 || strcmp(name, "work") == 0 || find_number(name) != NULL;
}

/* Accuracies in per cent. */
static double measure(const struct conclusion *conclusion, const struct trial *trial,
                      const char *name)
{
    if (strcmp(name, "time") == 0 || strcmp(name, "work") == 0) {
        if (conclusion->target.kind == TARGET_NONE)
            return NAN;
        struct reach reach = target_reach(&conclusion->target, 0, trial);
        return name[0] == 't' ? reach.seconds : reach.examples;
    }
    if (strcmp(name, "train_loss") == 0)
        return conclusion_loss(conclusion, trial);
    if (strcmp(name, "test_accuracy") == 0)
        return 100 * conclusion_accuracy(conclusion, trial);
    return trial->record != NULL ? find_number(name)(trial->record) : NAN;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Of "momentum 0.6, ps 2" or "--momentum 0.6 --ps=2". */
static bool find_setting(const char *text, const char *name, char *value, size_t bytes)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
        bool begins =
            at == text || at[-1] == ' ' || (at - text > 1 && at[-1] == '-' && at[-2] == '-');
        if (!begins || (at[length] != ' ' && at[length] != '='))
            continue;
        at += length + 1;
        snprintf(value, bytes, "%.*s", (int)strcspn(at, ", "), at);
        return true;
    }
    return false;
}

/* A number of a group is the mean over its runs. */
static bool value_of(const struct conclusion *conclusion, size_t index, const char *comparison,
                     const char *name, char *value, size_t bytes)
{
    const struct group *group = &conclusion->comparison->groups[index];
    const struct record *record = group->record_count > 0 ? group->records[0] : NULL;
    record_number_fn *number = find_number(name);
    const char *spare = strstr(group->mode_text, "+backup:"); /* "sync+backup:2" */
    if (find_setting(group->config.given, name, value, bytes) ||
        find_setting(group->config.varied, name, value, bytes))
        return true;
    if (strcmp(name, "comparison") == 0)
        snprintf(value, bytes, "%s", comparison);
    else if (strcmp(name, "arm") == 0)
        snprintf(value, bytes, "%s", group->config.name);
    else if (strcmp(name, "mode") == 0)
        snprintf(value, bytes, "%s", group->mode_text);
    else if (strcmp(name, "backup-workers") == 0)
        snprintf(value, bytes, "%s", spare != NULL ? strchr(spare, ':') + 1 : "0");
    else if (strcmp(name, "workers") == 0)
        snprintf(value, bytes, "%u", group->workers);
    else if (strcmp(name, "ps") == 0 && record != NULL)
        snprintf(value, bytes, "%u", record->servers);
    else if (strcmp(name, "learning-rate") == 0 && record != NULL)
        snprintf(value, bytes, "%g", record->learning_rate);
    else if (number != NULL)
        snprintf(value, bytes, "%.4g", group_spread(group, number).mean);
    else
        return false;
    return true;
}

/* The next name of a list, which moves on; false: there is none. */
static bool next_name(const char **list, char name[CONFIG_TEXT_MAX])
{
    size_t length = strcspn(*list, ",");
    snprintf(name, CONFIG_TEXT_MAX, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return name[0] != '\0';
}

/* --- rows ------------------------------------------------------------------------------------- */

/* "async, 10Gbit", and of several numbers their names. What an arm does not have it is without. */
static void name_line(const struct chart *chart, const struct conclusion *conclusion, size_t index,
                      struct chart_row *row, const char *y)
{
    const char *list = chart->question.by;
    char name[CONFIG_TEXT_MAX], value[CONFIG_TEXT_MAX];
    size_t used = 0;
    row->line[0] = '\0';
    while (next_name(&list, name)) {
        if (!value_of(conclusion, index, row->comparison, name, value, sizeof value))
            continue;
        bool bare = strtod(value, NULL) == 0 && value[0] != '0';
        bare = bare || strcmp(name, "comparison") == 0;
        used += (size_t)snprintf(row->line + used, sizeof row->line - used, "%s%s%s%s",
                                 used > 0 ? ", " : "", bare ? "" : name, bare ? "" : " ", value);
        used = used < sizeof row->line ? used : sizeof row->line - 1;
    }
    if (strchr(chart->question.y, ',') != NULL)
        snprintf(row->line + used, sizeof row->line - used, "%s%s", used > 0 ? ", " : "", y);
}

/* Whether an arm has each. */
static enum status check_by(const struct chart *chart, const struct conclusion *conclusion,
                            const char *comparison, struct error *error)
{
    char name[CONFIG_TEXT_MAX], value[CONFIG_TEXT_MAX];
    for (const char *list = chart->question.by; next_name(&list, name);) {
        bool found = false;
        for (size_t i = 0; i < conclusion->comparison->group_count; i++)
            found |= value_of(conclusion, i, comparison, name, value, sizeof value);
        if (!found)
            return error_set(error, STATUS_INVALID, "--by=%.60s: no arm of %.100s has it", name,
                             comparison);
    }
    return STATUS_OK;
}

static enum status add_row(struct chart *chart, const struct chart_row *row, struct error *error)
{
    if ((chart->count & (chart->count - 1)) == 0) { /* At each power of two. */
        size_t room = chart->count > 0 ? 2 * chart->count : 1;
        struct chart_row *rows = realloc(chart->rows, room * sizeof *rows);
        if (rows == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory");
        chart->rows = rows;
    }
    chart->rows[chart->count++] = *row;
    return STATUS_OK;
}

static enum status add_group(struct chart *chart, const struct conclusion *conclusion, size_t index,
                             const char *comparison, struct error *error)
{
    const struct trials *trials = &conclusion->configs[index].trials;
    struct chart_row row = {.beside = NAN};
    enum status status = STATUS_OK;
    char y[CONFIG_TEXT_MAX];
    snprintf(row.comparison, sizeof row.comparison, "%.90s", comparison);
    snprintf(row.arm, sizeof row.arm, "%s", conclusion->comparison->groups[index].config.name);
    if (!value_of(conclusion, index, comparison, chart->question.x, row.x, sizeof row.x))
        return error_set(error, STATUS_INVALID, "--x=%.60s: no arm of %.100s has it",
                         chart->question.x, comparison);
    for (const char *list = chart->question.y; status == STATUS_OK && next_name(&list, y);) {
        if (!is_measure(y))
            return error_set(error, STATUS_INVALID,
                             "--y=%.60s: no number of a run; needs time, work or one of runs.csv",
                             y);
        name_line(chart, conclusion, index, &row, y);
        for (size_t i = 0; status == STATUS_OK && i < trials->count; i++) {
            row.seed = trials->list[i].seed;
            row.y = measure(conclusion, &trials->list[i], y);
            if (!isnan(row.y))
                status = add_row(chart, &row, error);
        }
    }
    return status;
}

static enum status add_all(struct chart *chart, const struct conclusion *conclusion,
                           const char *path, struct error *error)
{
    const struct comparison *comparison = conclusion->comparison;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char name[CONFIG_TEXT_MAX];
    const char *slash = memrchr(path, '/', length - 1), *base = slash != NULL ? slash + 1 : path;
    snprintf(name, sizeof name, "%.*s", (int)(path + length - base), base);
    const char *cluster =
        comparison->record_count > 0 ? comparison->records[0]->config.cluster : "";
    bool same = chart->count == 0 || strcmp(chart->cluster, cluster) == 0;
    snprintf(chart->cluster, sizeof chart->cluster, "%s", same ? cluster : "clusters that differ");
    enum status status = check_by(chart, conclusion, name, error);
    for (size_t i = 0; status == STATUS_OK && i < comparison->group_count; i++)
        status = add_group(chart, conclusion, i, name, error);
    return status;
}

enum status chart_add(struct chart *chart, const char *path, struct error *error)
{
    struct reopened *reopened;
    enum status status = reopened_open(&reopened, path, error);
    if (status == STATUS_OK)
        status = add_all(chart, &reopened->conclusion, path, error);
    reopened_close(&reopened);
    return status;
}

void chart_free(struct chart *chart)
{
    free(chart->rows);
}

/* --- what it is beside ------------------------------------------------------------------------ */

static bool is_before(const struct chart_row *a, const struct chart_row *b)
{
    char *end;
    double x = strtod(a->x, &end);
    return end != a->x && *end == '\0' && x < strtod(b->x, NULL);
}

static double find_beside(const struct chart *chart, const struct chart_row *of)
{
    const struct chart_row *least = NULL;
    for (size_t i = 0; i < chart->count; i++) {
        const struct chart_row *row = &chart->rows[i];
        if (row->seed == of->seed && strcmp(row->line, of->line) == 0 &&
            (least == NULL || is_before(row, least)))
            least = row;
    }
    return least->y;
}

static void set_beside(struct chart *chart)
{
    for (size_t i = 0; chart->question.ratio && i < chart->count; i++)
        chart->rows[i].beside = find_beside(chart, &chart->rows[i]);
}

void chart_write_csv(FILE *stream, struct chart *chart)
{
    set_beside(chart);
    fputs("line,x,comparison,arm,seed,y,beside\n", stream);
    for (size_t i = 0; i < chart->count; i++) {
        const struct chart_row *row = &chart->rows[i];
        const char *const texts[] = {row->line, row->x, row->comparison, row->arm};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            points_write_name(stream, texts[k]);
            fputc(',', stream);
        }
        fprintf(stream, "%llu,%.17g,", (unsigned long long)row->seed, row->y);
        if (!isnan(row->beside))
            fprintf(stream, "%.17g", row->beside);
        fputc('\n', stream);
    }
}

/* --- points ----------------------------------------------------------------------------------- */

static void put_real(struct json_writer *writer, const char *name, double value)
{
    if (isinf(value))
        json_writer_text(writer, name, "inf");
    else if (isnan(value))
        json_writer_null(writer, name);
    else
        json_writer_real(writer, name, value);
}

/* Runs of one arm, at one place. */
static bool same_point(const struct chart_row *a, const struct chart_row *b)
{
    return strcmp(a->line, b->line) == 0 && strcmp(a->x, b->x) == 0 &&
           strcmp(a->arm, b->arm) == 0 && strcmp(a->comparison, b->comparison) == 0;
}

static void put_point(struct json_writer *writer, const struct chart *chart, size_t first)
{
    double values[STATISTICS_MAX], beside[STATISTICS_MAX];
    const struct chart_row *of = &chart->rows[first];
    size_t count = 0;
    for (size_t i = first; i < chart->count && count < STATISTICS_MAX; i++) {
        const struct chart_row *row = &chart->rows[i];
        if (!same_point(row, of))
            continue;
        values[count] = row->y;
        beside[count++] = row->beside;
    }
    struct estimate estimate = chart->question.ratio ? statistics_ratio(values, beside, count)
                                                     : statistics_mean(values, count);
    json_writer_object(writer, NULL);
    json_writer_text(writer, "x", of->x);
    put_real(writer, "value",
             chart->question.ratio ? estimate.value : statistics_median(values, count));
    put_real(writer, "low", estimate.low);
    put_real(writer, "high", estimate.high);
    json_writer_u64(writer, "runs", count);
    json_writer_end(writer);
}

/* Whether it is the first of its line, or of its point. */
static bool is_first(const struct chart *chart, size_t index, bool of_point)
{
    const struct chart_row *row = &chart->rows[index];
    for (size_t i = 0; i < index; i++)
        if (of_point ? same_point(&chart->rows[i], row)
                     : strcmp(chart->rows[i].line, row->line) == 0)
            return false;
    return true;
}

void chart_write_json(struct json_writer *writer, struct chart *chart)
{
    set_beside(chart);
    json_writer_array(writer, "lines");
    for (size_t i = 0; i < chart->count; i++) {
        if (!is_first(chart, i, false))
            continue;
        json_writer_object(writer, NULL);
        json_writer_text(writer, "label", chart->rows[i].line);
        json_writer_array(writer, "points");
        for (size_t k = i; k < chart->count; k++)
            if (strcmp(chart->rows[k].line, chart->rows[i].line) == 0 && is_first(chart, k, true))
                put_point(writer, chart, k);
        json_writer_end(writer);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

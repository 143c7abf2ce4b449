/* record.c - run.json by way of json.h, then events.jsonl from its start; when the run went back to
 * an earlier step, what was written beyond it is forgotten. */

#include "common/progress/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/file/json.h"
#include "common/job/compensation.h"

#define RUN_JSON_BYTES_MAX (16u << 20)
#define EVENTS_BYTES_MAX   (512u << 20) /* Weeks of training. */
#define DAMAGED_LINES_MAX  10000        /* What has more is no log at all. */
#define LOGS_MAX           16           /* That were set aside one after the other. */

void record_free(struct record *record)
{
    free(record->worker_details);
    free(record->points);
    free(record->evaluations);
    free(record->windows);
    memset(record, 0, sizeof(*record));
}

/* --- run.json ------------------------------------------------------------------------------ */

static void copy_text(const struct json *root, const char *name, char *text, size_t bytes)
{
    const char *value = json_text(root, name);
    snprintf(text, bytes, "%s", value != NULL ? value : "");
}

static double count_of(const struct json *root, const char *name)
{
    double value = json_number(root, name);
    return value >= 0 ? value : 0; /* NaN too. */
}

static uint32_t small_count_of(const struct json *root, const char *name)
{
    uint64_t value = json_u64(root, name, 0);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void take_keep(struct record *record, const struct json *root)
{
    uint64_t keep = json_u64(root, "keep", 0);
    copy_text(root, "keep", record->keep, sizeof(record->keep));
    if (keep > 0)
        snprintf(record->keep, sizeof(record->keep), "%" PRIu64, keep);
}

static void take_configuration(struct record *record, const struct json *root)
{
    copy_text(root, "mode", record->mode_text, sizeof(record->mode_text));
    copy_text(root, "optimizer", record->optimizer, sizeof(record->optimizer));
    copy_text(root, "data", record->data, sizeof(record->data));
    copy_text(root, "model", record->model, sizeof(record->model));
    record->workers = small_count_of(root, "workers");
    record->servers = small_count_of(root, "servers");
    take_keep(record, root);
    record->seed = json_u64(root, "seed", 0);
    record->epochs = json_u64(root, "epochs", 0);
    record->steps = json_u64(root, "steps", 0);
    record->global_batch = json_u64(root, "global_batch", 0);
    record->micro_batch = json_u64(root, "micro_batch", 0);
    record->learning_rate = json_number(root, "learning_rate");
}

static void take_summary(struct record *record, const struct json *root)
{
    struct run_summary *summary = &record->summary;
    run_summary_read(summary, root);
    copy_text(root, "state", record->state, sizeof(record->state));
    copy_text(root, "job.data_digest", record->data_digest, sizeof(record->data_digest));
    record->examples = json_u64(root, "job.examples", 0);
    record->accumulate = json_u64(root, "job.accumulate", 1);
    if (record->accumulate == 0) /* Not said. */
        record->accumulate = 1;
}

static enum staleness_rate staleness_rate_named(const char *name)
{
    for (unsigned i = 0; name != NULL && staleness_rate_numbered(i) != NULL; i++)
        if (strcmp(staleness_rate_numbered(i), name) == 0)
            return (enum staleness_rate)i;
    return STALENESS_RATE_NONE;
}

/* What is not there was not asked for. */
static void take_config(struct job *config, const struct json *job)
{
    copy_text(job, "compute", config->compute, sizeof config->compute);
    copy_text(job, "slow", config->slow, sizeof config->slow);
    copy_text(job, "straggle", config->straggle, sizeof config->straggle);
    copy_text(job, "pause", config->pause, sizeof config->pause);
    copy_text(job, "cluster", config->cluster, sizeof config->cluster);
    config->chunk_bytes = json_u64(job, "chunk_bytes", 0);
    config->colocated = json_flag(job, "colocated");
    config->use_locking = json_flag(job, "use_locking");
    config->staleness_rate = staleness_rate_named(json_text(job, "staleness_rate"));
    config->delay_compensation = (float)fmin(count_of(job, "delay_compensation"), COMPENSATION_MAX);
    config->compensation_adapts = json_flag(job, "compensation_adapts");
    config->max_staleness = json_u64(job, "max_staleness", 0);
    config->staleness_loses = json_flag(job, "staleness_loses");
}

static void take_staleness(struct record *record, const struct json *root)
{
    record->staleness_mean = json_number(root, "staleness.mean");
    record->exchanged_bytes = json_number(root, "exchanged_bytes");
}

static void take_worker(struct worker_summary *worker, const struct json *item)
{
    figures_read(worker_summary_rows(), item, worker);
    for (const struct figure_row *row = worker_summary_rows(); row->size > 0; row++)
        if (row->kind == FIGURE_REAL && isnan(figure_value(row, worker)))
            *(double *)(void *)((char *)worker + row->offset) = 0;
    for (enum wait i = 0; i < WAIT_COUNT; i++)
        worker->waits[i] = count_of(json_at(item, "waits"), wait_name(i));
}

static enum status take_workers(struct record *record, const struct json *root, struct error *error)
{
    const struct json *details = json_at(root, "worker_details");
    size_t count = json_length(details, "");
    count = count < RECORD_WORKERS_MAX ? count : RECORD_WORKERS_MAX;
    record->worker_details = calloc(count + 1, sizeof(*record->worker_details));
    if (record->worker_details == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        take_worker(&record->worker_details[i], json_item(details, i));
    record->summary.worker_count = (uint32_t)count;
    record->summary.workers = record->worker_details;
    return STATUS_OK;
}

static enum status read_run(struct record *record, struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    struct json *root = NULL;
    snprintf(path, sizeof(path), "%s/run.json", record->path);
    enum status status = json_read_file(&disk_posix, path, RUN_JSON_BYTES_MAX, &root, error);
    if (status != STATUS_OK)
        return status;
    if (json_is_a_record(root))
        status = run_format_check(root, path, error);
    if (status == STATUS_OK && json_is_a_record(root)) {
        take_configuration(record, root);
        take_summary(record, root);
        take_staleness(record, root);
        take_config(&record->config, json_at(root, "job"));
        status = take_workers(record, root, error);
    } else if (status == STATUS_OK) {
        status = error_set(error, STATUS_INVALID, "%s: is not the record of a run", path);
    }
    json_release(&root);
    return status;
}

/* --- events.jsonl -------------------------------------------------------------------------- */

/* While events are read. */
struct reading {
    struct record *record;
    /* Training seconds and bytes of the sessions before, up to the last point kept. */
    double earlier, earlier_bytes;
    size_t point_capacity, evaluation_capacity, window_capacity;
    unsigned logs; /* Begun to be read. */
};

/* Training goes on after an earlier step: what was done beyond it is done again, and written again. */
static void go_back(struct record *record, const struct json *event)
{
    double step = json_number(event, "step");
    while (record->point_count > 0 && record->points[record->point_count - 1].step > step)
        record->point_count--;
    while (record->evaluation_count > 0 &&
           record->evaluations[record->evaluation_count - 1].step > step)
        record->evaluation_count--;
    while (record->window_count > 0 &&
           (double)record->windows[record->window_count - 1].window.end > step)
        record->window_count--;
}

/* A session begins, and its clock at 0; those of the record go on where the kept ones end. */
static void take_start(struct reading *reading, const struct json *event)
{
    struct record *record = reading->record;
    go_back(record, event);
    const struct record_point none = {0};
    const struct record_point *last =
        record->point_count > 0 ? &record->points[record->point_count - 1] : &none;
    reading->earlier = isnan(last->training_seconds) ? 0 : last->training_seconds;
    reading->earlier_bytes = last->exchanged_bytes; /* Not known of an older session: nor of all. */
}

static bool take_progress(struct reading *reading, const struct json *event)
{
    struct record *record = reading->record;
    struct record_point *points =
        array_room(record->points, record->point_count, &reading->point_capacity, sizeof(*points));
    if (points == NULL)
        return false;
    record->points = points;
    struct record_point *point = &points[record->point_count++];
    figures_read(record_point_rows(), event, point);
    point->training_seconds += reading->earlier;
    point->exchanged_bytes += reading->earlier_bytes;
    return true;
}

static bool take_evaluation(struct reading *reading, const struct json *event)
{
    struct record *record = reading->record;
    struct record_evaluation *evaluations =
        array_room(record->evaluations, record->evaluation_count, &reading->evaluation_capacity,
                   sizeof(*evaluations));
    if (evaluations == NULL)
        return false;
    record->evaluations = evaluations;
    struct record_evaluation *score = &evaluations[record->evaluation_count++];
    figures_read(record_evaluation_rows(), event, score);
    score->training_seconds += reading->earlier;
    score->exchanged_bytes += reading->earlier_bytes;
    return true;
}

/* One that is written again is another: the last of a run that has been made longer. */
static bool take_window(struct reading *reading, const struct json *event)
{
    struct record *record = reading->record;
    struct record_window *windows = array_room(record->windows, record->window_count,
                                               &reading->window_capacity, sizeof(*windows));
    if (windows == NULL)
        return false;
    record->windows = windows;
    struct record_window window;
    figures_read(record_window_rows(), event, &window);
    window.training_seconds += reading->earlier;
    size_t place = record->window_count;
    while (place > 0 && windows[place - 1].window.end > window.window.end)
        place--;
    if (place > 0 && windows[place - 1].window.first == window.window.first) {
        windows[place - 1] = window;
        return true;
    }
    memmove(&windows[place + 1], &windows[place],
            (record->window_count++ - place) * sizeof(*windows));
    windows[place] = window;
    return true;
}

static enum status read_log(struct reading *reading, const char *name, struct error *error);

/* The log goes on from an earlier one, unless that name is of another program. */
static enum status take_earlier_log(struct reading *reading, const struct json *event,
                                    struct error *error)
{
    static const char prefix[] = EVENT_LOG_NAME ".damaged-";
    const char *name = json_text(event, EVENT_LOG_SET_ASIDE_FILE);
    if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0 || strchr(name, '/') != NULL ||
        reading->logs >= LOGS_MAX)
        return STATUS_OK;
    struct error unused;
    enum status status = read_log(reading, name, &unused);
    /* It was set aside because something is wrong with it. */
    return status == STATUS_MEMORY ? error_set(error, status, "%s", unused.text) : STATUS_OK;
}

static enum status take_event(struct reading *reading, const struct json *event,
                              struct error *error)
{
    const char *name = json_text(event, "event");
    bool room = true;
    if (name == NULL)
        return STATUS_OK; /* Another program's line. */
    if (strcmp(name, EVENT_LOG_SET_ASIDE) == 0)
        return take_earlier_log(reading, event, error);
    if (strcmp(name, "start") == 0)
        take_start(reading, event);
    else if (strcmp(name, "generation") == 0)
        go_back(reading->record, event);
    else if (strcmp(name, "progress") == 0)
        room = take_progress(reading, event);
    else if (strcmp(name, "window") == 0)
        room = take_window(reading, event);
    else if (strcmp(name, "evaluation") == 0)
        room = take_evaluation(reading, event);
    return room ? STATUS_OK : error_set(error, STATUS_MEMORY, "out of memory");
}

static enum status take_line(struct reading *reading, const char *line, size_t bytes,
                             const char *path, struct error *error)
{
    struct json *event = NULL;
    enum status status = json_parse(line, bytes, path, &event, error);
    if (status == STATUS_OK)
        status = take_event(reading, event, error);
    else if (status == STATUS_INVALID)
        status = ++reading->record->damaged_lines <= DAMAGED_LINES_MAX
                     ? STATUS_OK
                     : error_set(error, status, "%.300s: is no log of events", path);
    json_release(&event);
    return status;
}

static enum status take_lines(struct reading *reading, const char *text, size_t bytes,
                              const char *path, struct error *error)
{
    enum status status = STATUS_OK;
    /* A line without its newline is one a crash cut off: not looked at. */
    for (const char *end; status == STATUS_OK && (end = memchr(text, '\n', bytes)) != NULL;) {
        size_t length = (size_t)(end - text);
        if (length > 0)
            status = take_line(reading, text, length, path, error);
        text += length + 1;
        bytes -= length + 1;
    }
    return status;
}

static enum status read_log(struct reading *reading, const char *name, struct error *error)
{
    char path[2 * DISK_PATH_MAX];
    void *text = NULL;
    size_t bytes = 0;
    reading->logs++;
    snprintf(path, sizeof(path), "%s/%.*s", reading->record->path, DISK_PATH_MAX - 1, name);
    enum status status =
        disk_posix.read_file(disk_posix.context, path, EVENTS_BYTES_MAX, &text, &bytes, error);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status == STATUS_OK)
        status = take_lines(reading, text, bytes, path, error);
    free(text);
    return status;
}

/* Only memory is a reason to give up: what there is of the events is a help, not a condition. */
static enum status read_events(struct record *record, struct error *error)
{
    struct reading reading = {.record = record};
    struct error why;
    enum status status = read_log(&reading, EVENT_LOG_NAME, &why);
    if (status == STATUS_MEMORY)
        return error_set(error, status, "%s", why.text);
    if (status != STATUS_OK)
        record->no_events = why;
    record->training_seconds = record->summary.seconds + reading.earlier;
    record->exchanged_bytes += reading.earlier_bytes;
    return STATUS_OK;
}

enum status record_read(struct record *record, const char *path, struct error *error)
{
    memset(record, 0, sizeof(*record));
    if (strlen(path) >= sizeof(record->path))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
    snprintf(record->path, sizeof(record->path), "%s", path);
    enum status status = read_run(record, error);
    if (status == STATUS_OK)
        status = read_events(record, error);
    if (status == STATUS_OK)
        run_noise_read(&record->noise, &disk_posix, path);
    else
        record_free(record);
    return status;
}

unsigned record_classes(const struct record *record)
{
    const char *last = NULL;
    if (strstr(record->data, " --loss mse") != NULL)
        return 0;
    for (const char *at = record->model; (at = strstr(at, "dense ")) != NULL; at++)
        last = at;
    return last != NULL ? (unsigned)strtoul(last + strlen("dense "), NULL, 10) : 0;
}

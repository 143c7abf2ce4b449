/* board.c - a row for each kind of event that becomes points; the rest is put in words. */

#include "common/tensorboard/board.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/store/run_directory.h"

/* --- writing ------------------------------------------------------------------------------- */

static double wall_time(const struct board *board)
{
    return board->place.date + board->disk->seconds(board->disk->context);
}

/* Said once of each kind: on a full disk there may be room for a short event, and for the next none again. */
static void note_trouble(struct board *board, const struct error *error)
{
    if (log_once_add(&board->trouble, error->text))
        error_set(&board->remark, error->status, "TensorBoard lacks events: %.400s", error->text);
    if (board->file
            .torn) /* TensorBoard does not read beyond it: the next event begins another file. */
        event_file_close(&board->file);
}

static void note_no_memory(struct board *board)
{
    struct error error;
    error_set(&error, STATUS_MEMORY, "out of memory");
    note_trouble(board, &error);
}

static enum status write_event(struct board *board, const struct board_event *event,
                               struct error *error)
{
    struct board_event timed = *event;
    timed.wall_time = wall_time(board);
    return event_file_add(&board->file, &timed, error);
}

/* A new file, from which on points at this step and behind it come again. */
static enum status begin_file(struct board *board, uint64_t first_step, struct error *error)
{
    const struct board_event start = {.step = first_step, .kind = BOARD_START};
    enum status status = event_file_open(&board->file, board->disk, board->place.folder,
                                         board->place.by, wall_time(board), error);
    if (status == STATUS_OK)
        status = write_event(board, &start, error);
    if (status != STATUS_OK)
        event_file_close(&board->file);
    return status;
}

static uint64_t behind(uint64_t step)
{
    return step > 0 ? step + 1 : 0;
}

static void put(struct board *board, const struct board_event *event)
{
    struct error error;
    enum status status = STATUS_OK;
    if (!event_file_is_open(&board->file)) /* It could not be begun, or not be gone on with. */
        status = begin_file(board, behind(board->step), &error);
    if (status == STATUS_OK)
        status = write_event(board, event, &error);
    if (status != STATUS_OK)
        note_trouble(board, &error);
}

/* --- points -------------------------------------------------------------------------------- */

/* An event of the run. */
struct run_event {
    const struct json *event;
    const struct histogram *staleness; /* NULL: not known. */
};

/* Nothing of what is not known. */
static void add_point(struct points *points, const char *tag, double value)
{
    if (isfinite(value))
        points->values[points->count++] = board_scalar(tag, value);
}

/* Of an event what has a curve. */
static void add_curves(struct points *points, const struct figure_row *rows,
                       const struct json *event)
{
    for (const struct figure_row *row = rows; row->size > 0; row++)
        if (row->kind == FIGURE_SET)
            add_curves(points, row->set(), event);
        else if (row->tag != NULL)
            add_point(points, row->tag, json_number(event, row->name));
}

static void put_points(struct board *board, const struct points *points)
{
    const struct board_event event = {.step = points->step,
                                      .kind = BOARD_VALUES,
                                      .values = points->values,
                                      .count = points->count};
    if (points->count > 0)
        put(board, &event);
}

static double learning_rate(const struct job *job, uint64_t step)
{
    return step == 0 ? (double)NAN : (double)schedule_learning_rate(&job->schedule, step - 1);
}

static void on_progress(struct board *board, const struct run_event *run)
{
    struct points points = {.step = board->step};
    add_curves(&points, record_point_rows(), run->event);
    if (isfinite(json_number(run->event, "staleness_mean")))
        add_point(&points, "staleness/max", json_number(run->event, "staleness_max"));
    add_point(&points, "learning_rate", learning_rate(board->job, board->step));
    put_points(board, &points);
}

static void put_staleness(struct board *board, uint64_t step, const struct histogram *staleness)
{
    struct points points = {.step = step, .count = 1};
    points.values[0] = board_histogram("staleness/gradients", staleness);
    if (staleness != NULL && staleness->count > 0)
        put_points(board, &points);
}

/* Those whose turn has come; `all`: and those that wait. */
static void put_queue(struct board *board, struct board_queue *queue, bool all)
{
    struct points points;
    while (board_queue_take(queue, all, &points))
        put_points(board, &points);
}

static void on_epoch(struct board *board, const struct run_event *run)
{
    struct points points = {.number = json_u64(run->event, "epoch", 0),
                            .step = json_u64(run->event, "step", 0)};
    add_curves(&points, record_epoch_rows(), run->event);
    board_queue_add(&board->epochs, &points);
    put_queue(board, &board->epochs, false);
    put_staleness(board, board->step, run->staleness);
}

static void on_window(struct board *board, const struct run_event *run)
{
    struct points points = {.number = json_u64(run->event, "window", 0),
                            .step = json_u64(run->event, "step", 0)};
    add_curves(&points, run_window_rows(), run->event);
    board_queue_add(&board->windows, &points);
    put_queue(board, &board->windows, false);
}

static void on_evaluation(struct board *board, const struct run_event *run)
{
    struct points points = {.step = json_u64(run->event, "step", 0)};
    add_curves(&points, score_figures_rows(), run->event);
    put_points(board, &points);
}

/* --- in words ------------------------------------------------------------------------------ */

/* "- lost: role worker, index 1": JSON's names and values. A line that finds no memory is none. */
static char *make_line(const char *name, const struct json *event)
{
    struct json_member member = {0};
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_raw(&writer, "- ", 2);
    json_writer_raw(&writer, name, strlen(name));
    for (const char *before = ": "; json_next_member(event, &member); before = ", ") {
        const char *text = json_text(member.value, "");
        json_writer_raw(&writer, before, 2);
        json_writer_raw(&writer, member.name, strlen(member.name));
        json_writer_raw(&writer, " ", 1);
        if (text != NULL)
            json_writer_raw(&writer, text, strlen(text));
        else
            json_write(member.value, &writer, NULL);
    }
    json_writer_raw(&writer, "\n", 1);
    if (!writer.failed)
        return writer.text; /* The caller's now. */
    json_writer_free(&writer);
    return NULL;
}

/* All that was said at this step, as far as there is room. */
static void put_line(struct board *board, const char *name, const struct json *event)
{
    char *line = make_line(name, event);
    size_t used = board->lines_step == board->step ? strlen(board->lines) : 0;
    if (line == NULL) {
        note_no_memory(board);
        return;
    }
    board->lines_step = board->step;
    board->lines[used] = '\0';
    if (used + strlen(line) < sizeof board->lines) {
        memcpy(board->lines + used, line, strlen(line) + 1);
        const struct board_value value = board_text("log", board->lines);
        put(board, &(struct board_event){
                       .step = board->step, .kind = BOARD_VALUES, .values = &value, .count = 1});
    }
    free(line);
}

/* What runs, as a table of Markdown. */
static void put_job(struct board *board)
{
    const struct job *job = board->job;
    char text[2048] = "";
    wording_append(text, sizeof text,
                   "| | |\n|-|-|\n| mode | %s |\n| workers, servers | %" PRIu32 ", %" PRIu32
                   "%s |\n| model | %s |\n| data | %s |\n| examples a batch | %" PRIu32 " |\n",
                   job_mode_text(job).text, job->worker_count, job->server_count,
                   job->colocated ? " beside them" : "", job->model, job->data, job->batch);
    wording_append(text, sizeof text,
                   "| optimizer, learning rate | %s, %g |\n| batches | %" PRIu64
                   " |\n| seed | %" PRIu64 " |\n",
                   job->optimizer.name, job->schedule.learning_rate, job->steps, job->seed);
    if (job->cluster[0] != '\0')
        wording_append(text, sizeof text, "| virtual time | %s |\n", job->cluster);
    const struct board_value value = board_text("run", text);
    put(board, &(struct board_event){
                   .step = board->step, .kind = BOARD_VALUES, .values = &value, .count = 1});
}

/* --- sessions ------------------------------------------------------------------------------ */

/* Windows and epochs that wait for one before them. */
static void put_waiting(struct board *board)
{
    put_queue(board, &board->windows, true);
    put_queue(board, &board->epochs, true);
}

/* The numbers that come next: of the window and the epoch in which step + 1 lies. */
static void await_numbers(struct board *board)
{
    uint64_t window = board->job->report_every, epoch = job_steps_per_epoch(board->job);
    board->windows.next = window > 0 ? board->step / window + 1 : 0;
    board->epochs.next = epoch > 0 ? board->step / epoch + 1 : 0;
}

static void begin_session(struct board *board, const struct json *event)
{
    struct error error;
    put_waiting(board); /* What is undone goes with all else. */
    event_file_close(&board->file);
    board->begun = true;
    board->step = json_u64(event, "step", 0);
    board->lines[0] = '\0';
    await_numbers(board);
    if (begin_file(board, behind(board->step), &error) != STATUS_OK)
        note_trouble(board, &error);
}

static void on_start(struct board *board, const struct run_event *run)
{
    begin_session(board, run->event);
    put_job(board);
    put_line(board, "start", run->event);
}

static void on_generation(struct board *board, const struct run_event *run)
{
    begin_session(board, run->event);
    put_line(board, "generation", run->event);
}

static void on_assignment(struct board *board, const struct run_event *run)
{
    struct points points = {.step = board->step};
    add_point(&points, "cluster/workers", json_number(run->event, "members"));
    put_points(board, &points);
    put_line(board, "assignment", run->event);
}

static void on_checkpoint(struct board *board, const struct run_event *run)
{
    put(board,
        &(struct board_event){.step = json_u64(run->event, "step", 0), .kind = BOARD_CHECKPOINT});
    put_line(board, "checkpoint", run->event);
}

static void on_nothing(struct board *board, const struct run_event *run)
{
    (void)board;
    (void)run;
}

static const struct row {
    const char *name;
    void (*take)(struct board *board, const struct run_event *run);
    bool begins; /* A session. */
    bool moves;  /* Training has come as far as the event's step. */
} rows[] = {
    {"start", on_start, true, true},
    {"generation", on_generation, true, true},
    {"progress", on_progress, false, true},
    {"epoch", on_epoch, false, false},
    {"window", on_window, false, false},
    {"evaluation", on_evaluation, false, false},
    {"assignment", on_assignment, false, false},
    {"checkpoint", on_checkpoint, false, false},
    {"waiting", on_nothing, false, false},
};

/* --- all of it ----------------------------------------------------------------------------- */

void board_open(struct board *board, const struct disk *disk, const struct board_place *place,
                const struct job *job)
{
    memset(board, 0, sizeof *board);
    board->file.file = -1;
    if (place->folder[0] == '\0')
        return;
    board->disk = disk;
    board->place = *place;
    board->job = job;
}

void board_close(struct board *board)
{
    event_file_close(&board->file);
    board->disk = NULL;
}

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static struct json *parse(const char *members)
{
    struct json *event = NULL;
    size_t bytes = strlen(members) + 3;
    char *text = malloc(bytes);
    if (text == NULL)
        return NULL;
    snprintf(text, bytes, "{%s}", members);
    json_parse(text, bytes - 1, "", &event, NULL); /* It is what event_members has written. */
    free(text);
    return event;
}

void board_event(struct board *board, const char *name, const char *members,
                 const struct histogram *staleness)
{
    const struct row *row = find_row(name);
    if (board->disk == NULL || (!board->begun && (row == NULL || !row->begins)))
        return;
    struct json *event = parse(members != NULL ? members : "");
    if (event == NULL) {
        note_no_memory(board);
        return;
    }
    if (row != NULL && row->moves && !row->begins)
        board->step = json_u64(event, "step", board->step);
    if (row != NULL)
        row->take(board, &(struct run_event){event, staleness});
    else
        put_line(board, name, event);
    json_release(&event);
}

void board_end(struct board *board, const struct run_summary *summary)
{
    if (board->disk == NULL || !board->begun || summary->state == RUN_RUNNING)
        return;
    put_waiting(board);
    put_staleness(board, summary->step, &summary->staleness.shape);
    put(board, &(struct board_event){.step = summary->step, .kind = BOARD_STOP});
}

bool board_take_remark(struct board *board, struct error *remark)
{
    if (board->remark.text[0] == '\0')
        return false;
    *remark = board->remark;
    board->remark.text[0] = '\0';
    return true;
}

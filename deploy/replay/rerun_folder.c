/* rerun_folder.c - uses run_directory.h and model_file.h, as server 0's checkpointer does at a
 * run's end. */

#include "deploy/replay/rerun_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/events/event.h"
#include "common/file/json_writer.h"
#include "common/process/log.h"
#include "common/store/model_file.h"
#include "common/store/run_window.h"
#include "common/tensorboard/board.h"

enum status rerun_folder_check(const char *out, struct error *error)
{
    enum run_opening opening = RUN_BEGINS;
    enum status status = run_directory_check(&disk_posix, out, NULL, &opening, error);
    if (status == STATUS_OK && disk_posix.look(disk_posix.context, out) != DISK_NOTHING &&
        opening != RUN_BEGINS)
        status = STATUS_EXISTS;
    return status == STATUS_EXISTS
               ? error_set(error, status, "--out: %.300s holds a run already; choose another", out)
               : status;
}

/* The destinations of events. */
struct output {
    struct run_directory directory;
    struct board board;
};

static void put_event(struct output *output, const struct event *event)
{
    char text[EVENT_MEMBERS_MAX];
    const char *name = event_rows[event->kind].name;
    event_members(event, text, sizeof text);
    run_directory_event(&output->directory, name, text);
    board_event(&output->board, name, text, NULL);
}
#define tell(where, kind_, ...) put_event(where, &(struct event){.kind = (kind_), __VA_ARGS__})

static void tell_start(struct output *output, const struct rerun *rerun, const char *of)
{
    const struct job *job = &rerun->job;
    tell(output, EVENT_START_REPLAY, .mode = job_mode_text(job).text, .workers = job->worker_count,
         .servers = job->server_count, .step = 0, .steps = job->steps,
         .steps_per_epoch = job_steps_per_epoch(job), .update_examples = job->batch,
         .examples = job->examples, .replay_of = of);
}

static void tell_epoch(struct output *output, const struct rerun *rerun, uint64_t index,
                       const struct tally *tally)
{
    struct epoch_range epoch = job_epoch(&rerun->job, index);
    tell(output, EVENT_EPOCH_REPLAY, .epoch = index + 1, .step = epoch.end,
         .loss = rerun_loss(rerun, index),
         .accuracy = (double)tally->correct / (double)tally->examples, .examples = tally->examples,
         .of = epoch.examples);
}

static void tell_score(struct output *output, const struct rerun *rerun,
                       const struct rerun_score *score)
{
    tell(output, EVENT_EVALUATION_REPLAY, .epoch = job_epoch_ended(&rerun->job, score->batches),
         .step = score->batches, .test_loss = score->test.loss,
         .test_accuracy = score->test.accuracy, .regularisation_loss = score->test.regularisation,
         .seconds = 0);
}

/* Those that end by this batch, from *next on. When they ended in the run is not known here. */
static void tell_windows(struct output *output, const struct rerun *rerun, uint64_t until,
                         uint64_t *next)
{
    struct window window;
    const struct job *job = &rerun->job;
    for (; *next < windows_of_job(job) && window_of(job, *next, &(struct tally){0}).end <= until;
         ++*next) {
        if (!replay_window(rerun->replay, *next, &window))
            continue;
        struct run_window ended = run_window_of(job, &window, (double)NAN);
        const struct event event = run_window_event(&ended, (double)NAN);
        put_event(output, &event);
    }
}

/* Windows, epochs and scores in the order of the run. */
static void tell_all(struct output *output, const struct rerun *rerun)
{
    size_t scored = 0;
    uint64_t window = 0;
    for (uint64_t i = 0; i < job_epochs(&rerun->job); i++) {
        const struct tally *tally = replay_epoch(rerun->replay, i);
        if (tally == NULL)
            continue;
        uint64_t end = job_epoch(&rerun->job, i).end;
        tell_windows(output, rerun, end, &window);
        tell_epoch(output, rerun, i, tally);
        while (scored < rerun->score_count && rerun->scores[scored].batches <= end)
            tell_score(output, rerun, &rerun->scores[scored++]);
    }
}

static void sum_up(struct run_summary *summary, const struct rerun *rerun,
                   const struct rerun_outcome *outcome)
{
    uint64_t epochs = job_epochs(&rerun->job), last = epochs;
    run_summary_begin(summary);
    summary->state = outcome->batches == rerun->job.steps ? RUN_DONE : RUN_STOPPED;
    summary->replay_of = outcome->of;
    summary->step = outcome->batches;
    summary->versions = outcome->versions;
    summary->seconds = outcome->seconds;
    summary->evaluation_seconds = rerun->score_seconds;
    while (last > 0 && replay_epoch(rerun->replay, last - 1) == NULL)
        last--;
    if (last > 0) {
        const struct tally *tally = replay_epoch(rerun->replay, last - 1);
        summary->train.epoch = last;
        summary->train.examples = tally->examples;
        summary->train.loss = rerun_loss(rerun, last - 1);
        summary->train.accuracy = (double)tally->correct / (double)tally->examples;
    }
    if (rerun->score_count > 0) {
        const struct rerun_score *score = &rerun->scores[rerun->score_count - 1];
        summary->test_step = score->batches;
        summary->test = score->test;
    }
    struct window window;
    for (uint64_t i = windows_of_job(&rerun->job); i > 0 && summary->window.number == 0; i--)
        if (replay_window(rerun->replay, i - 1, &window))
            summary->window = run_window_of(&rerun->job, &window, (double)NAN);
    summary->verdicts.applied = replay_figures(rerun->replay)->entries;
    snprintf(summary->reason, sizeof summary->reason, "%s",
             summary->state == RUN_DONE ? "" : "replayed so far");
}

enum status rerun_folder_write(const char *out, const struct board_place *board,
                               const struct rerun *rerun, const struct rerun_outcome *outcome,
                               struct error *remark, struct error *error)
{
    struct output output;
    struct run_summary summary;
    enum run_opening opening;
    char path[DISK_PATH_MAX];
    const struct job *job = &rerun->job;
    uint64_t run_id = hash_random_u64();
    if (snprintf(path, sizeof path, "%s/model.safetensors", out) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--out: the path is too long");
    enum status status =
        run_directory_open(&output.directory, &disk_posix, out, job, run_id, 0, &opening, error);
    if (status != STATUS_OK)
        return status;
    board_open(&output.board, &disk_posix, board, job);
    sum_up(&summary, rerun, outcome);
    tell_start(&output, rerun, outcome->of);
    tell_all(&output, rerun);
    status = model_file_write(&disk_posix, path, job->model, job->variables, job->variable_count,
                              outcome->parameters, summary.model_sha256, error);
    parameters_sha256(job->variables, job->variable_count, outcome->parameters,
                      summary.parameters_sha256);
    if (status == STATUS_OK)
        status = run_directory_summary(&output.directory, job, run_id, &summary, error);
    board_end(&output.board, &summary);
    remark->text[0] = '\0';
    board_take_remark(&output.board, remark);
    board_close(&output.board);
    run_directory_close(&output.directory);
    return status;
}

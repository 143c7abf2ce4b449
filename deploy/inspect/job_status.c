/* job_status.c - one message_status_answer as lines, as one line, and as JSON. */

#include "deploy/inspect/job_status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/process/log_line.h"
#include "common/store/run_window.h"

bool job_status_has_ended(const struct message_status_answer *status)
{
    return status->state >= JOB_FINISHING;
}

static double epochs_in_all(const struct message_status_answer *status)
{
    return status->steps_per_epoch > 0 ? (double)status->steps / (double)status->steps_per_epoch
                                       : NAN;
}

static uint64_t steps_in_all(const struct message_status_answer *status)
{
    return status->steps + status->made_up;
}

static uint64_t whole(double value)
{
    return value >= 0 && value < 0x1p63 ? (uint64_t)value : 0;
}

static struct run_window newest_window(const struct message_status_answer *status)
{
    return (struct run_window){
        .number = status->window,
        .first = status->window_first,
        .end = status->window_end,
        .every = status->window_every,
        .batches = status->window_batches,
        .loss = status->window_loss,
        .accuracy = status->window_accuracy,
        .examples = status->window_examples,
        .of = status->window_of,
        .seconds = status->window_seconds,
    };
}

/* --- for people ------------------------------------------------------------------------------ */

static void print_window(FILE *out, const struct message_status_answer *status)
{
    char text[RUN_WINDOW_TEXT_MAX];
    size_t emphasis;
    struct run_window window = newest_window(status);
    if (window.number == 0)
        return;
    run_window_describe(&window, text, &emphasis);
    fprintf(out, "window: %s\n", text);
}

static void print_test_score(FILE *out, const struct message_status_answer *status)
{
    if (status->test_step == 0)
        return;
    fprintf(out, "test accuracy: %.2f %%, loss %.4f", 100 * status->test_accuracy,
            status->test_loss);
    if (!isnan(status->test_regularisation))
        fprintf(out, ", regularisation loss %.4f", status->test_regularisation);
    fprintf(out, " (after step %s)\n", wording_count(status->test_step).text);
}

/* "epoch 0.40 of 0.43", "epoch 1.25 of 10" */
static struct wording epoch_text(const struct message_status_answer *status)
{
    struct wording text;
    double all = epochs_in_all(status);
    snprintf(text.text, sizeof text.text, "epoch %.2f of %.*f", status->epochs,
             all > floor(all) ? 2 : 0, all);
    return text;
}

static void print_progress(FILE *out, const struct message_status_answer *status)
{
    const struct mode_facts *mode = mode_facts_named(status->mode_text);
    fprintf(out, "step: %s of %s (%s)\n", wording_count(status->step).text,
            wording_count(steps_in_all(status)).text, epoch_text(status).text);
    if (status->train_epoch > 0)
        fprintf(out, "train loss: %.4f, accuracy %.2f %% (mean over %s of epoch %" PRIu64 ")\n",
                status->train_loss, 100 * status->train_accuracy,
                wording_counted(status->train_examples, "example", "examples").text,
                status->train_epoch);
    print_window(out, status);
    print_test_score(out, status);
    if (status->training_seconds > 0)
        fprintf(out, "training: %s, %s images/s\n", wording_duration(status->training_seconds).text,
                wording_count(whole(status->images_per_second)).text);
    if (!mode->steps && !isnan(status->staleness_mean))
        fprintf(out, "staleness: mean %.2f, max %s\n", status->staleness_mean,
                wording_counted(status->staleness_max, "update", "updates").text);
    if (status->has_checkpoint)
        fprintf(out, "checkpoint: step %s\n", wording_count(status->checkpoint_step).text);
}

/* "workers lost: 1", when there were any. */
static void print_fault(FILE *out, const char *what, uint64_t count)
{
    if (count > 0)
        fprintf(out, "%s: %s\n", what, wording_count(count).text);
}

static void print_job(FILE *out, const struct message_status_answer *status)
{
    fprintf(out, "mode: %s\n", status->mode_text);
    print_progress(out, status);
    fprintf(out, "workers: %" PRIu32 " of %" PRIu32 "\n", status->workers, status->worker_count);
    fprintf(out, "servers: %" PRIu32 " of %" PRIu32 "%s\n", status->servers, status->server_count,
            status->colocated ? ", beside the workers" : "");
    print_fault(out, "times gone back to a checkpoint", status->generation);
    print_fault(out, "workers lost", status->workers_lost);
    print_fault(out, "servers lost", status->servers_lost);
    print_fault(out, "checkpoints skipped", status->checkpoints_skipped);
    print_fault(out, "checkpoints failed", status->checkpoints_failed);
}

void job_status_print(FILE *out, const struct message_status_answer *status)
{
    fprintf(out, "state: %s, for %s\n", job_state_name(status->state),
            wording_waited(status->seconds).text);
    if (status->has_job)
        print_job(out, status);
    if (job_status_has_ended(status))
        fprintf(out, "exit code: %" PRIu32 "\n", status->exit_code);
    if (status->text[0] != '\0')
        fprintf(out, "%s%s\n", job_status_has_ended(status) ? "reason: " : "", status->text);
    fprintf(out, "out: %s\n", status->out);
}

static void describe_end(const struct message_status_answer *status, char *text)
{
    wording_append(text, JOB_STATUS_LINE_MAX, "the job has ended");
    if (status->exit_code != EXIT_DONE)
        wording_append(text, JOB_STATUS_LINE_MAX, " with exit code %" PRIu32, status->exit_code);
    if (status->text[0] != '\0')
        wording_append(text, JOB_STATUS_LINE_MAX, ": %s", status->text);
    if (status->has_job)
        wording_append(text, JOB_STATUS_LINE_MAX, "; %s of %s", wording_count(status->step).text,
                       wording_counted(steps_in_all(status), "update", "updates").text);
    wording_append(text, JOB_STATUS_LINE_MAX, "; %s", status->out);
}

void job_status_line(const struct message_status_answer *status, char text[JOB_STATUS_LINE_MAX])
{
    text[0] = '\0';
    if (job_status_has_ended(status)) {
        describe_end(status, text);
        return;
    }
    wording_append(text, JOB_STATUS_LINE_MAX, "%s", job_state_name(status->state));
    if (!status->has_job || status->state != JOB_RUNNING)
        wording_append(text, JOB_STATUS_LINE_MAX, ", for %s", wording_waited(status->seconds).text);
    if (!status->has_job)
        return;
    wording_append(text, JOB_STATUS_LINE_MAX, "  %s  step %s of %s", epoch_text(status).text,
                   wording_count(status->step).text, wording_count(steps_in_all(status)).text);
    if (status->train_epoch > 0)
        wording_append(text, JOB_STATUS_LINE_MAX, "  loss %.3f  accuracy %.1f %%",
                       status->train_loss, 100 * status->train_accuracy);
    wording_append(text, JOB_STATUS_LINE_MAX, "  %" PRIu32 " of %s", status->workers,
                   wording_counted(status->worker_count, "worker", "workers").text);
    if (status->colocated)
        wording_append(text, JOB_STATUS_LINE_MAX, "  %" PRIu32 " of %s beside them",
                       status->servers,
                       wording_counted(status->server_count, "server", "servers").text);
    if (status->text[0] != '\0')
        wording_append(text, JOB_STATUS_LINE_MAX, "  %s", status->text);
}

/* --- for programs ---------------------------------------------------------------------------- */

static void write_count(struct json_writer *writer, const char *name, bool known, uint64_t count)
{
    if (known)
        json_writer_u64(writer, name, count);
    else
        json_writer_null(writer, name);
}

static void write_real(struct json_writer *writer, const char *name, bool known, double value)
{
    json_writer_real(writer, name, known ? value : NAN);
}

/* To the millisecond. */
static double rounded(double seconds)
{
    return round(seconds * 1e3) / 1e3;
}

static void write_state(struct json_writer *writer, const char *address,
                        const struct message_status_answer *status)
{
    bool ended = job_status_has_ended(status);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_writer_text(writer, "kind", "job");
    json_writer_text(writer, "address", address);
    json_writer_text(writer, "time", log_time_text(&now).text);
    json_writer_text(writer, "state", job_state_name(status->state));
    json_writer_real(writer, "state_seconds", rounded(status->seconds));
    json_writer_text(writer, "waiting", !ended && status->text[0] != '\0' ? status->text : NULL);
    write_count(writer, "exit_code", ended, status->exit_code);
    json_writer_text(writer, "reason", ended ? status->text : NULL);
    json_writer_text(writer, "out", status->out);
}

static void write_progress(struct json_writer *writer, const struct message_status_answer *status)
{
    struct run_window window = newest_window(status);
    bool job = status->has_job, trained = job && status->train_epoch > 0;
    bool scored = job && status->test_step > 0;
    write_count(writer, "step", job, status->step);
    write_count(writer, "steps", job, steps_in_all(status));
    write_real(writer, "epoch", job, status->epochs);
    write_real(writer, "epochs", job, epochs_in_all(status));
    write_count(writer, "train_epoch", trained, status->train_epoch);
    write_count(writer, "train_examples", trained, status->train_examples);
    write_real(writer, "train_loss", trained, status->train_loss);
    write_real(writer, "train_accuracy", trained, status->train_accuracy);
    write_count(writer, "test_step", scored, status->test_step);
    write_real(writer, "test_loss", scored, status->test_loss);
    write_real(writer, "test_accuracy", scored, status->test_accuracy);
    write_real(writer, "regularisation_loss", scored, status->test_regularisation);
    figures_object(writer, "window", run_window_rows(), &window);
    write_real(writer, "seconds", job, rounded(status->training_seconds));
    write_real(writer, "images_per_second", job, status->images_per_second);
    write_real(writer, "staleness_mean", job, status->staleness_mean);
    write_count(writer, "staleness_max", job && !isnan(status->staleness_mean),
                status->staleness_max);
}

void job_status_json(struct json_writer *writer, const char *address,
                     const struct message_status_answer *status)
{
    bool job = status->has_job;
    json_writer_object(writer, NULL);
    write_state(writer, address, status);
    json_writer_text(writer, "mode", job ? status->mode_text : NULL);
    write_progress(writer, status);
    write_count(writer, "workers", job, status->workers);
    write_count(writer, "workers_declared", job, status->worker_count);
    write_count(writer, "servers", job, status->servers);
    write_count(writer, "servers_declared", job, status->server_count);
    if (job)
        json_writer_bool(writer, "colocated", status->colocated);
    else
        json_writer_null(writer, "colocated");
    write_count(writer, "checkpoint_step", job && status->has_checkpoint, status->checkpoint_step);
    write_count(writer, "generation", job, status->generation);
    write_count(writer, "workers_lost", job, status->workers_lost);
    write_count(writer, "servers_lost", job, status->servers_lost);
    write_count(writer, "checkpoints_skipped", job, status->checkpoints_skipped);
    write_count(writer, "checkpoints_failed", job, status->checkpoints_failed);
    json_writer_end(writer);
}

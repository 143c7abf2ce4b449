/* job_status.c - one message_status_answer as lines, as one line, and as JSON. */

#include "deploy/inspect/job_status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/process/log_line.h"
#include "common/progress/summary.h"
#include "common/store/run_window.h"

static bool has_job(const struct message_status_answer *status)
{
    return status->figures_bytes > 0;
}

bool job_status_has_ended(const struct message_status_answer *status)
{
    return status->state >= JOB_FINISHING;
}

static uint64_t whole(double value)
{
    return value >= 0 && value < 0x1p63 ? (uint64_t)value : 0;
}

/* --- for people ------------------------------------------------------------------------------ */

static void print_window(FILE *out, const struct run_window *window)
{
    char text[RUN_WINDOW_TEXT_MAX];
    size_t emphasis;
    if (window->number == 0)
        return;
    run_window_describe(window, text, &emphasis);
    fprintf(out, "window: %s\n", text);
}

static void print_test_score(FILE *out, const struct job_figures *job)
{
    if (job->test_step == 0)
        return;
    fprintf(out, isnan(job->test.accuracy) ? "test loss: " : "test accuracy: ");
    summary_print_score(out, &job->test);
    fprintf(out, " (after step %s)\n", wording_count(job->test_step).text);
}

/* "epoch 0.40 of 0.43", "epoch 1.25 of 10" */
static struct wording epoch_text(const struct job_figures *job)
{
    struct wording text;
    snprintf(text.text, sizeof text.text, "epoch %.2f of %.*f", job->epoch,
             job->epochs > floor(job->epochs) ? 2 : 0, job->epochs);
    return text;
}

static void print_progress(FILE *out, const struct job_figures *job)
{
    fprintf(out, "step: %s of %s (%s)\n", wording_count(job->step).text,
            wording_count(job->steps).text, epoch_text(job).text);
    if (job->train.epoch > 0)
        fprintf(out, "train loss: %.4f%s (mean over %s of epoch %" PRIu64 ")\n", job->train.loss,
                wording_percent(", accuracy ", job->train.accuracy, 2).text,
                wording_counted(job->train.examples, "example", "examples").text, job->train.epoch);
    print_window(out, &job->window);
    print_test_score(out, job);
    if (job->seconds > 0)
        fprintf(out, "training: %s, %s images/s\n", wording_duration(job->seconds).text,
                wording_count(whole(job->images_per_second)).text);
    if (!isnan(job->staleness_mean))
        fprintf(out, "staleness: mean %.2f, max %s\n", job->staleness_mean,
                wording_counted(job->staleness_max, "update", "updates").text);
    if (job->checkpoint_step != FIGURE_UNKNOWN)
        fprintf(out, "checkpoint: step %s\n", wording_count(job->checkpoint_step).text);
}

static void print_job(FILE *out, const struct message_status_answer *status)
{
    const struct job_figures *job = &status->job;
    fprintf(out, "mode: %s\n", status->mode_text);
    print_progress(out, job);
    fprintf(out, "workers: %" PRIu64 " of %" PRIu64 "\n", job->workers, job->worker_count);
    fprintf(out, "servers: %" PRIu64 " of %" PRIu64 "%s\n", job->servers, job->server_count,
            job->colocated ? ", beside the workers" : "");
    for (const struct figure_row *row = run_faults_rows(); row->size > 0; row++)
        if (row->counted != NULL && figure_value(row, &job->faults) > 0)
            fprintf(out, "%s: %.0f\n", row->counted, figure_value(row, &job->faults));
}

void job_status_print(FILE *out, const struct message_status_answer *status)
{
    fprintf(out, "state: %s, for %s\n", job_state_name(status->state),
            wording_waited(status->seconds).text);
    if (has_job(status))
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
    if (has_job(status))
        wording_append(text, JOB_STATUS_LINE_MAX, "; %s of %s",
                       wording_count(status->job.step).text,
                       wording_counted(status->job.steps, "update", "updates").text);
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
    if (!has_job(status) || status->state != JOB_RUNNING)
        wording_append(text, JOB_STATUS_LINE_MAX, ", for %s", wording_waited(status->seconds).text);
    if (!has_job(status))
        return;
    const struct job_figures *job = &status->job;
    wording_append(text, JOB_STATUS_LINE_MAX, "  %s  step %s of %s", epoch_text(job).text,
                   wording_count(status->job.step).text, wording_count(status->job.steps).text);
    if (job->train.epoch > 0)
        wording_append(text, JOB_STATUS_LINE_MAX, "  loss %.3f%s", job->train.loss,
                       wording_percent("  accuracy ", job->train.accuracy, 1).text);
    wording_append(text, JOB_STATUS_LINE_MAX, "  %" PRIu64 " of %s", job->workers,
                   wording_counted(job->worker_count, "worker", "workers").text);
    if (job->colocated)
        wording_append(text, JOB_STATUS_LINE_MAX, "  %" PRIu64 " of %s beside them", job->servers,
                       wording_counted(job->server_count, "server", "servers").text);
    if (status->text[0] != '\0')
        wording_append(text, JOB_STATUS_LINE_MAX, "  %s", status->text);
}

/* --- for programs ---------------------------------------------------------------------------- */

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
    json_writer_real(writer, "state_seconds", status->seconds);
    json_writer_text(writer, "waiting", !ended && status->text[0] != '\0' ? status->text : NULL);
    if (ended)
        json_writer_u64(writer, "exit_code", status->exit_code);
    else
        json_writer_null(writer, "exit_code");
    json_writer_text(writer, "reason", ended ? status->text : NULL);
    json_writer_text(writer, "out", status->out);
}

void job_status_json(struct json_writer *writer, const char *address,
                     const struct message_status_answer *status)
{
    bool job = has_job(status);
    json_writer_object(writer, NULL);
    write_state(writer, address, status);
    json_writer_text(writer, "mode", job ? status->mode_text : NULL);
    figures_write(writer, job_figures_rows(), job ? &status->job : NULL);
    json_writer_end(writer);
}

/* watched_text.c - the metrics, a function for each kind of thing that they are of. */

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/watch/exposition.h"
#include "ps/watch/watched.h"

static void gauge(FILE *out, const char *name, const char *help, double value)
{
    exposition_metric(out, name, METRIC_GAUGE, help);
    exposition_sample(out, name, value);
}

static void begin_metric(FILE *out, const struct figure_row *row)
{
    bool counts = strstr(row->metric, "_total") != NULL;
    exposition_metric(out, row->metric, counts ? METRIC_COUNTER : METRIC_GAUGE, row->help);
}

/* What is not known is left out. */
static void write_figures(FILE *out, const struct figure_row *rows, const void *of)
{
    for (const struct figure_row *row = rows; row->size > 0; row++) {
        double value = figure_value(row, of);
        if (row->kind == FIGURE_SET)
            write_figures(out, row->set(), (const char *)of + row->offset);
        if (row->metric == NULL || isnan(value))
            continue;
        begin_metric(out, row);
        exposition_sample(out, row->metric, value);
    }
}

/* --- this server ----------------------------------------------------------------------------- */

static void write_self(FILE *out, const struct watched *w, const char *version)
{
    char index[16];
    snprintf(index, sizeof index, "%" PRIu32, w->server);
    exposition_metric(
        out, "syncopate_build_info", METRIC_GAUGE,
        "Always 1; the version of this process's program, its role and its task index.");
    fprintf(out, "syncopate_build_info{version=\"%s\",role=\"ps\",index=\"%s\"} 1\n", version,
            index);
}

static void write_state(FILE *out, const struct watched *w)
{
    static const char *const names[WATCHED_STATES] = {"joining", "loading", "serving", "over"};
    exposition_metric(out, "syncopate_server_state", METRIC_GAUGE,
                      "1 for the state that this server is in: joining (it waits to be let into a "
                      "job), loading its chunks, serving, over; 0 for the others.");
    for (unsigned i = 0; i < WATCHED_STATES; i++)
        exposition_sample_of(out, "syncopate_server_state", "state", names[i],
                             w->state == (enum watched_state)i);
    write_figures(out, server_figures_rows(), &w->own);
}

static void write_not_taken(FILE *out, const struct watched *w)
{
    static const char name[] = "syncopate_server_messages_not_taken_total";
    exposition_metric(
        out, name, METRIC_COUNTER,
        "Messages that this server has not taken since it was started: of an older "
        "generation or a replaced process (fenced), with no peer to answer (dropped), from "
        "a process that may not (refused), against the protocol (malformed), or in another "
        "process's name.");
    for (const struct figure_row *row = not_taken_rows(); row->size > 0; row++)
        exposition_sample_of(out, name, "reason", row->name, figure_value(row, &w->not_taken));
}

/* --- the job, as server 0 knows it ------------------------------------------------------------ */

static void write_job_state(FILE *out, const struct message_status_answer *job)
{
    static const char *const names[JOB_STATE_COUNT] = {
        "waiting", "opening", "gathering", "recovering", "running", "closing", "finishing", "over"};
    exposition_metric(out, "syncopate_job_state", METRIC_GAUGE,
                      "1 for the state that the job is in, as server 0 has it; 0 for the others.");
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        exposition_sample_of(out, "syncopate_job_state", "state", names[i],
                             job->state == (enum job_state)i);
    gauge(out, "syncopate_job_state_seconds", "Seconds that the job has been in its state.",
          job->seconds);
}

/* Values that are at most `bound`. A bucket of the histogram lies on one side of a power of two. */
static uint64_t count_up_to(const struct histogram *histogram, uint64_t bound)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS && histogram_most(i) <= bound; i++)
        count += histogram->buckets[i];
    return count;
}

/* Of sync and all-reduce there is none. */
static void write_staleness(FILE *out, const struct histogram *staleness)
{
    char bound[24];
    if (staleness->count == 0)
        return;
    exposition_metric(
        out, "syncopate_push_staleness_steps", METRIC_HISTOGRAM,
        "For each gradient and chunk, the versions that the chunk had between the one "
        "that the gradient was made from and its being applied, since server 0 was "
        "started.");
    for (uint64_t most = 0; most < 1024; most = most == 0 ? 1 : 2 * most) {
        snprintf(bound, sizeof bound, "%" PRIu64, most);
        exposition_sample_of(out, "syncopate_push_staleness_steps_bucket", "le", bound,
                             (double)count_up_to(staleness, most));
    }
    exposition_sample_of(out, "syncopate_push_staleness_steps_bucket", "le", "+Inf",
                         (double)staleness->count);
    exposition_sample(out, "syncopate_push_staleness_steps_sum", (double)staleness->sum);
    exposition_sample(out, "syncopate_push_staleness_steps_count", (double)staleness->count);
}

static void write_faults(FILE *out, const struct watched *w)
{
    const struct run_faults *faults = &w->job.job.faults;
    if (w->checkpoint_unix_seconds > 0)
        gauge(out, "syncopate_checkpoint_last_success_timestamp_seconds",
              "Unix time at which server 0 last saw a new whole checkpoint of its run, to half a "
              "second.",
              w->checkpoint_unix_seconds);
    exposition_metric(out, "syncopate_job_lost_total", METRIC_COUNTER,
                      "Processes that fell silent for too long, over the whole run.");
    exposition_sample_of(out, "syncopate_job_lost_total", "role", "worker",
                         (double)faults->workers_lost);
    exposition_sample_of(out, "syncopate_job_lost_total", "role", "ps",
                         (double)faults->servers_lost);
    exposition_metric(
        out, "syncopate_checkpoints_missed_total", METRIC_COUNTER,
        "Checkpoints that were due and are not there, over the whole run: skipped, because "
        "training was past them, or failed to be written.");
    exposition_sample_of(out, "syncopate_checkpoints_missed_total", "why", "skipped",
                         (double)faults->checkpoints_skipped);
    exposition_sample_of(out, "syncopate_checkpoints_missed_total", "why", "failed",
                         (double)faults->checkpoints_failed);
}

/* --- its workers ----------------------------------------------------------------------------- */

/* Of each worker that ever was the figure of this row, or of all rows that have no metric of their own. */
static void write_each(FILE *out, const struct watched *w, const struct figure_row *row)
{
    char index[16];
    for (uint32_t i = 0; i < w->worker_count && i < WATCHED_WORKERS_MAX; i++) {
        const struct watched_worker *worker = &w->workers[i];
        snprintf(index, sizeof index, "%" PRIu32, i);
        if (worker->ever && row->metric != NULL)
            exposition_sample_of(out, row->metric, "worker", index, figure_value(row, worker));
        for (const struct figure_row *time = row;
             worker->ever && time->metric == NULL && time->size > 0; time++)
            exposition_sample_of_two(out, "syncopate_worker_seconds_total", "worker", index,
                                     "doing", time->name, figure_value(time, worker));
    }
}

static void write_workers(FILE *out, const struct watched *w)
{
    const struct figure_row *row = watched_worker_rows();
    for (; row->metric != NULL; row++) {
        begin_metric(out, row);
        write_each(out, w, row);
    }
    exposition_metric(out, "syncopate_worker_seconds_total", METRIC_COUNTER,
                      "Seconds of a worker's time, as it has reported them: computing gradients, "
                      "exchanging them for values, evaluating the model, waiting for others.");
    write_each(out, w, row);
}

void watched_write(FILE *out, const struct watched *watched, const char *version)
{
    write_self(out, watched, version);
    write_state(out, watched);
    write_not_taken(out, watched);
    if (!watched->coordinates)
        return;
    write_job_state(out, &watched->job);
    if (watched->job.figures_bytes == 0)
        return;
    write_figures(out, job_figures_rows(), &watched->job.job);
    write_staleness(out, &watched->staleness);
    write_faults(out, watched);
    write_workers(out, watched);
}

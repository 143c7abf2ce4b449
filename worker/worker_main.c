/* worker_main.c - the program syncopate-worker: computes gradients for its servers or, with --ps
 * 0, trains alone. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/invariant.h"
#include "common/events/hold.h"
#include "common/kernels/kernels.h"
#include "common/keys/keys.h"
#include "common/options/task.h"
#include "common/process/file_limit.h"
#include "common/process/log.h"
#include "common/process/notify.h"
#include "common/process/parent.h"
#include "common/process/process.h"
#include "common/process/signals.h"
#include "common/progress/narrator.h"
#include "common/store/restore.h"
#include "common/store/run_directory.h"
#include "common/store/stop_note.h"
#include "common/tensorboard/board_place.h"
#include "common/trace/recorder.h"
#include "common/transport/transport.h"
#include "common/wire/message.h"
#include "worker/client/client.h"
#include "worker/solo.h"
#include "worker/training.h"
#include "worker/workload.h"

/* Beyond --stop-timeout, which the job keeps by itself, for the last writes. */
#define STOP_EXTRA_SECONDS 30.0

/* An endless computation must not keep the process. */
static void end_stuck(int exit_code, const char *reason)
{
    log_error("ended while computing: %s", reason);
    _exit(exit_code);
}

/* What signals, and the end of the parent, bring about. */
static struct signals_options requests_of(const struct options *options)
{
    return (struct signals_options){
        .has_parent = options->parent_stdin,
        .abandoned_seconds = fmin(PARENT_LOST_SECONDS, options->deadlines.stop),
    };
}

/* The receiver of a request to stop. */
struct asked {
    struct client *client; /* One of these. */
    struct solo *solo;
    const struct notify *notify;
    double seconds; /* That it may take. */
};

static void leave_client(void *context)
{
    const struct asked *asked = context;
    notify_stopping(asked->notify, asked->seconds);
    client_request_leave(asked->client);
}

static void abandon_client(void *context)
{
    client_abandoned(((const struct asked *)context)->client);
}

static void stop_client(void *context, int exit_code)
{
    const struct asked *asked = context;
    notify_stopping(asked->notify, asked->seconds);
    client_request_stop(asked->client, exit_code);
}

static void stop_solo(void *context, int exit_code)
{
    const struct asked *asked = context;
    notify_stopping(asked->notify, asked->seconds);
    solo_request_stop(asked->solo, exit_code);
}

static void note_enough(void *solo, const char *why)
{
    log_info("stopping: %s", why);
    solo_enough(solo);
}

/* The records of this process's activities. */
struct records {
    struct process_log *log;
    struct listener listener;
    struct hold hold; /* Of checked builds. */
    struct recorder *recorder;
    struct notify notify; /* A service manager. */
};

static void close_records(struct records *records)
{
    recorder_close(&records->recorder);
    process_log_close(&records->log);
}

static enum status open_records(struct records *records, const struct options *options,
                                struct error *error)
{
    uint32_t worker = options->task_index;
    enum status status =
        process_log_open(&records->log, options->diary, ROLE_WORKER, worker, error);
    records->listener = process_log_listener(records->log);
#if CHECKED
    hold_begin(&records->hold, "worker", worker, &records->listener);
#endif
    if (status == STATUS_OK)
        status = recorder_open(&records->recorder, options->trace, ROLE_WORKER, worker,
                               options->trace_steps, error);
    recorder_listen(records->recorder, &records->listener);
    if (status != STATUS_OK)
        close_records(records);
    return status;
}

static struct training training_of(struct workload *workload, const struct options *options,
                                   uint32_t worker)
{
    return (struct training){
        .job = &workload->job,
        .gradient = &workload->gradient,
        .throttle = {.time = workload_compute_time(workload, options, worker),
                     .job = &workload->job,
                     .worker = worker},
        .overlap = options->overlap,
    };
}

static int train_alone(struct workload *workload, const struct options *options, uint64_t began_us,
                       struct records *records, struct error *error)
{
    struct signals signals;
    struct solo solo = {
        .training = training_of(workload, options, 0),
        .out = options->out,
        .restore = options->restore,
        .initial = workload->initial,
        .keep = options_keep(options),
        .has_parent = options->parent_stdin,
        .listener = &records->listener,
        .notify = &records->notify,
        .began_us = began_us,
    };
    if (board_place_find(&solo.board, options->tensorboard, options->tensorboard_run, options->out,
                         clock_now_seconds(), error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    struct signals_options requests = requests_of(options);
    struct asked asked = {NULL, &solo, &records->notify,
                          options->deadlines.stop + STOP_EXTRA_SECONDS};
    requests.context = &asked;
    requests.stop = stop_solo;
    if (signals_start(&signals, &requests) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    struct narrator *narrator;
    struct stop_note *note;
    narrator_start(&narrator, options->out, options->log_every,
                   options->quiet ? NARRATOR_NOTHING : NARRATOR_ALL);
    stop_note_watch(&note, options->out, note_enough, &solo);
    int exit_code = solo_run(&solo, error);
    stop_note_stop(&note);
    narrator_stop(&narrator, exit_code);
    signals_stop(&signals);
    return exit_code;
}

/* keys: filled when they are to be used; they must outlive the transport. */
static enum status make_transport(const struct options *options, struct keys *keys,
                                  struct transport **transport, struct error *error)
{
    if (options->keys == NULL)
        return transport_create(transport, strcmp(options->transport, "tcp") != 0, error);
    enum status status = keys_open(keys, options->keys, options->certificate, ROLE_WORKER,
                                   options->task_index, error);
    return status == STATUS_OK ? transport_curve_create(transport, keys, false, error) : status;
}

/* Train until the job ends, or a signal asks otherwise. */
static int train_as_asked(struct client *client, struct workload *workload,
                          const struct options *options, const struct notify *notify,
                          struct error *error)
{
    struct signals signals;
    struct asked asked = {client, NULL, notify, options->deadlines.stop + STOP_EXTRA_SECONDS};
    struct signals_options requests = requests_of(options);
    requests.context = &asked;
    requests.stop = stop_client;
    if (strcmp(options->on_term, "leave") == 0)
        requests.leave = leave_client;
    requests.abandoned = abandon_client;
    if (signals_start(&signals, &requests) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    struct training training = training_of(workload, options, options->task_index);
    training_run(&training, client);
    signals_stop(&signals);
    error_set(error, STATUS_OK, "%s", client_trainer(client)->reason);
    return client_trainer(client)->exit_code;
}

/* The begin of --start-timeout: this process's; but after a long read of data there is half a
 * second to join all the same. */
static uint64_t count_from(const struct options *options, uint64_t began_us)
{
    double most = 1e6 * fmax(options->deadlines.start - 0.5, 0);
    uint64_t now_us = clock_now_us();
    return (double)(now_us - began_us) > most ? now_us - (uint64_t)most : began_us;
}

static int train_with_servers(struct workload *workload, const struct options *options,
                              uint64_t began_us, struct records *records, struct error *error)
{
    struct keys keys;
    struct transport *transport;
    struct client *client;
    struct client_options client_options = {
        .job = &workload->job,
        .worker = options->task_index,
        .job_id = options->job_id,
        .has_parent = options->parent_stdin,
        .deadlines = options->deadlines,
        .began_us = count_from(options, began_us),
        .must_share = strcmp(options->transport, "shm") == 0,
        .stuck = end_stuck,
        .log = records->log,
        .listener = &records->listener,
        .recorder = records->recorder,
        .notify = &records->notify,
    };
    if (file_limit_check(workload->job.server_count, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    free(workload->initial); /* The declaration has their digest, and server 0 the values. */
    workload->initial = NULL;
    enum status status = source_probe(workload->source, client_options.probe_digest, error);
    if (status != STATUS_OK)
        return status == STATUS_PROGRAM ? EXIT_PROGRAM : EXIT_TRAINING_FAILED;
    process_keep_memory();
    status = make_transport(options, &keys, &transport, error);
    if (status != STATUS_OK)
        return keys_exit_code(status);
    client_options.transport = transport;
    int exit_code = EXIT_TRAINING_FAILED;
    status = client_open(&client, &client_options, error);
    if (status == STATUS_OK) {
        exit_code = train_as_asked(client, workload, options, &records->notify, error);
        client_close(&client);
    } else if (status != STATUS_MEMORY) {
        exit_code = EXIT_CANNOT_OPEN;
    }
    transport->operations->destroy(&transport);
    keys_close(&keys);
    return exit_code;
}

static int train(struct workload *workload, const struct options *options, uint64_t began_us,
                 struct error *error)
{
    struct records records = {.log = NULL};
    enum status status = open_records(&records, options, error);
    if (status != STATUS_OK)
        return status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_CANNOT_OPEN;
    notify_open(&records.notify);
    notify_ready(&records.notify);
    int exit_code = options->ps == 0
                        ? train_alone(workload, options, began_us, &records, error)
                        : train_with_servers(workload, options, began_us, &records, error);
    notify_close(&records.notify);
    close_records(&records);
    return exit_code;
}

/* Whether there can be a run in --out, of the job as far as it is known without its data. */
static int look_at_out(struct workload *workload, struct options *options, struct error *error)
{
    struct board_place board;
    int exit_code = workload_look(workload, options, error);
    if (exit_code == EXIT_DONE) {
        const struct job *job = &workload->job;
        enum status status = run_directory_check(&disk_posix, options->out, job, NULL, error);
        if (status == STATUS_OK)
            status = restore_check(options->out, options->restore, job, error);
        if (status == STATUS_OK)
            status = board_place_find(&board, options->tensorboard, options->tensorboard_run,
                                      options->out, 0, error);
        exit_code = status == STATUS_OK         ? EXIT_DONE
                    : status == STATUS_MISMATCH ? EXIT_MISMATCH
                                                : EXIT_CANNOT_OPEN;
    }
    return exit_code;
}

/* Faults that are found before the data are read, which takes time. An exit code. */
static int look_around(struct workload *workload, struct options *options, struct error *error)
{
    struct keys keys;
    enum status status = STATUS_OK;
    if (options->ps == 0)
        return look_at_out(workload, options, error);
    if (options->keys != NULL) {
        status = keys_open(&keys, options->keys, options->certificate, ROLE_WORKER,
                           options->task_index, error);
        keys_close(&keys);
    }
    return keys_exit_code(status);
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {STATUS_OK, ""};
    struct workload workload = {0};
    uint64_t began_us = clock_now_us();
    int exit_code;
    if (!task_begin(&options, OPTION_WORKER, argc, argv, &exit_code))
        return exit_code;
    /* A signal may still cut it short. */
    if (options.ps == 0)
        exit_code = task_await_out(&options, &error);
    if (exit_code != EXIT_DONE)
        return task_end(exit_code, &error);
    signals_block();
    file_limit_raise();
    kernels_init();
    kernels_limit(options_instructions(&options));

    exit_code = look_around(&workload, &options, &error);
    if (exit_code == EXIT_DONE)
        exit_code = workload_read(&workload, &options, &error);
    if (exit_code != EXIT_DONE) {
        workload_free(&workload);
        return task_end(exit_code, &error);
    }
    log_info(
        "ready model=\"%s\" parameters=%llu data=%s kernels=%s", workload.job.model,
        (unsigned long long)variables_elements(workload.job.variables, workload.job.variable_count),
        workload.job.data, kernels_instructions_name(kernels_instructions()));
    exit_code = train(&workload, &options, began_us, &error);
    workload.source->exit_code = exit_code;
    workload.source->reason = error.text;
    workload_free(&workload);
    return task_end(exit_code, &error);
}

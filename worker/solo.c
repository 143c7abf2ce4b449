/* solo.c - the loop of all modes without its servers: leaves, tree, one update over the whole
 * space; checkpoints, scores and run.json as server 0 writes them. */

#include "worker/solo.h"
#include "common/job/compensation.h"
#include "common/job/job_score.h"
#include "common/job/l2.h"
#include "common/job/update_sum.h"
#include "common/kernels/kernels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/wording.h"
#include "common/events/event.h"
#include "common/file/json_writer.h"
#include "common/process/log.h"
#include "common/process/log_once.h"
#include "common/store/checkpoint.h"
#include "common/store/initial.h"
#include "common/store/occupancy.h"
#include "common/store/run_chronicle.h"
#include "common/store/run_directory.h"
#include "common/store/scored_file.h"
#include "common/tensorboard/board.h"

#define LOOK_NS 50000000u /* Between looks whether to stop. */

/* Gradients that make one update together, as in ps/shard/group.h. */
struct pending {
    uint32_t members, examples; /* Batches, all of which are in it. */
    float *sum;                 /* [elements]; NULL where each makes its own. */
};

struct state {
    struct solo *solo;
    const struct job *job;
    struct slots slots;
    uint64_t elements, step, run_id;
    uint64_t *offsets; /* [variable_count] where each variable starts. */
    struct trainer trainer;
    struct outbox said;                   /* By it. */
    struct frame *gradient;               /* [elements] */
    float *arrays[CHECKPOINT_ARRAYS_MAX]; /* [1 + slot_count][elements]: values, then slots. */
    struct run_directory directory;
    struct board board;
    struct checkpoint_shelf shelf;
    struct log_once log_once; /* Of checkpoints that cannot be written. */
    struct log_once scored;   /* Of scored models that cannot be kept. */
    struct run_summary summary;
    struct worker_summary worker;
    struct tally window, epoch; /* Since the last progress event; of the epoch so far. */
    struct windows windows;
    struct window whole;   /* The window that the last batch completed. */
    bool has_whole;        /* There is one. */
    double windows_from;   /* Training seconds at the end of the last window; NaN: not known. */
    uint64_t epoch_number; /* From 1; 0: no update has been made. */
    uint64_t last_snapshot, version;
    struct window_so_far so_far;  /* Of the window in which the run went on. */
    struct pending held;          /* The open group. */
    struct manifest_record found; /* Of the checkpoint that it went on from. */
    struct run_chronicle chronicle;
};

/* --- first values -------------------------------------------------------------------------- */

static enum status initialize(struct state *s, struct error *error)
{
    uint64_t *offsets = s->offsets = calloc(s->job->variable_count, sizeof *offsets);
    if (offsets == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for the model");
    variables_layout(s->job->variables, s->job->variable_count, offsets);
    variables_initialize(s->job->variables, s->job->variable_count, s->job->seed, s->solo->initial,
                         0, s->elements, s->arrays[0]);
    for (uint32_t slot = 0; slot < s->slots.count; slot++) {
        float first = job_slot_initial(s->job, slot);
        for (uint64_t i = 0; i < s->elements; i++)
            s->arrays[1 + slot][i] = first;
    }
    return STATUS_OK;
}

static void report_damage(void *argument, const char *line)
{
    (void)argument;
    log_warning("checkpoint damaged, looking for an older one: %s", line);
}

static enum status restore(struct state *s, enum run_opening opening, struct error *error)
{
    struct checkpoint_reader reader;
    const char *from = s->solo->restore;
    bool finished = opening == RUN_EXTENDS;
    if (strcmp(from, "never") == 0 && opening != RUN_BEGINS)
        return error_set(error, STATUS_EXISTS, "%s holds %s run and --restore never was given",
                         s->solo->out, finished ? "a finished" : "an unfinished");
    bool passed_over;
    enum status status = checkpoint_resume(&reader, &disk_posix, s->solo->out, from, &passed_over,
                                           report_damage, NULL, error);
    if (status == STATUS_NOT_FOUND && finished)
        return error_set(error, STATUS_EXISTS,
                         "%s holds a finished run without a checkpoint to train it further from; "
                         "choose another --out",
                         s->solo->out);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK; /* There is no checkpoint. */
    if (status != STATUS_OK)
        return status;
    if (passed_over)
        log_warning("%s has begun already and goes on from its own checkpoint at step %" PRIu64
                    ", not from %s",
                    s->solo->out, reader.manifest.step, from);
    status = job_compare(&reader.manifest.job, "the checkpoint", s->job, "this job",
                         JOB_SCOPE_RESUME, error);
    if (status == STATUS_OK && reader.manifest.step > s->job->steps)
        status = error_set(error, STATUS_MISMATCH,
                           "the checkpoint is at step %" PRIu64 ", beyond the %" PRIu64
                           " steps of this job",
                           reader.manifest.step, s->job->steps);
    if (status == STATUS_OK) {
        for (uint32_t i = 0; i <= s->slots.count; i++)
            memcpy(s->arrays[i], reader.arrays[i], s->elements * sizeof(float));
        s->step = s->last_snapshot = reader.manifest.step;
        s->summary.session_step = s->summary.counted_from = reader.manifest.step;
        s->version = reader.version;
        s->epoch =
            reader.manifest.so_far.epoch; /* The epoch that it goes on in is counted whole. */
        s->so_far = reader.manifest.so_far.window;
        s->found = reader.manifest.record;
    }
    checkpoint_close(&reader);
    return status;
}

/* --- one update ---------------------------------------------------------------------------- */

/* A request to stop ends it. */
static void rest(void *context, uint64_t due_ns)
{
    struct solo *solo = context;
    uint64_t now_ns;
    while ((now_ns = clock_now_ns()) < due_ns && atomic_load(&solo->stop_code) == 0) {
        uint64_t left_ns = due_ns - now_ns;
        nanosleep(&(struct timespec){.tv_nsec = (long)(left_ns < LOOK_NS ? left_ns : LOOK_NS)},
                  NULL);
    }
}

/* Nothing is compensated, nor taken off the rate, because staleness is always 0. But the run may
 * go on elsewhere with other workers. */
static void count_squares(struct state *s, float scale)
{
    const struct kernels_compensation what = {
        .count = s->elements,
        .sum = s->gradient->data,
        .scale = scale,
        .mean_square = s->arrays[s->slots.count],
    };
    compensation_apply(s->job, &what);
}

/* One version, by the gradient of the last batch, or the sum of several. */
static void apply_sum(struct state *s, uint64_t batch, const float *sum, uint32_t examples,
                      uint32_t gradients)
{
    const struct update_sum what = {
        .version = s->version,
        .batches = batch,
        .examples = examples,
        .gradients = gradients,
        .count = s->elements,
        .sum = sum,
        .values_in = s->arrays[0],
        .values_out = s->arrays[0],
        .slots = &s->arrays[1],
    };
    uint64_t began_ns = clock_now_ns();
    update_by_sum(s->job, s->offsets, &what);
    s->version++;
    event(s->solo->listener, EVENT_UPDATED, .step = s->step, .version = s->version,
          .examples = examples, .us = (clock_now_ns() - began_ns) / 1000);
}

/* Apply the pending gradients, if there are some. */
static void close_group(struct state *s)
{
    struct pending *held = &s->held;
    if (held->members > 0)
        apply_sum(s, s->step - 1, held->sum, held->examples, held->members);
    held->members = held->examples = 0;
}

/* The gradient of the batch before s->step. */
static void take_gradient(struct state *s, uint32_t examples)
{
    struct pending *held = &s->held;
    count_squares(s, update_scale(s->job, examples, 1));
    if (!job_accumulates(s->job)) {
        apply_sum(s, s->step - 1, s->gradient->data, examples, 1);
        return;
    }
    if (held->members++ == 0)
        memcpy(held->sum, s->gradient->data, s->elements * sizeof(float));
    else
        kernels_add(held->sum, s->gradient->data, s->elements);
    held->examples += examples;
    if (held->members == s->job->accumulate || job_closes_at(s->job, s->step))
        close_group(s);
}

static void note_report(struct worker_summary *worker, const struct message_report *report)
{
    worker->batches++;
    worker->examples += report->examples;
    worker->compute_seconds += 1e-6 * (double)report->times.compute_us;
    worker->controlled_leaves += report->leaves;
    worker->longer_leaves += report->longer;
    if (report->leaf_ns > 0)
        leaf_times_add(&worker->leaf_times, report->leaf_ns);
}

/* The trainer gets the step as work, and pushes the gradient of all its leaves. */
static enum status update(struct state *s, struct error *error)
{
    struct packet given = {.message = {.kind = MESSAGE_WORK, .work.batch = s->step}};
    struct training *training = &s->solo->training;
    const struct trainer_work *work = &s->trainer.work;
    struct outgoing said;
    trainer_take(&s->trainer, &given, 0, &s->said);
    throttle_begin(&training->throttle, clock_now_ns());
    struct push push = trainer_next(&s->trainer);
    enum status status =
        training_node(training, work, s->arrays[0], &push, s->gradient->data, NULL, error);
    if (status != STATUS_OK)
        return status;
    trainer_push(&s->trainer, &push, s->gradient, &s->said);
    outbox_take(&s->said, &said);
    frame_release(said.packet.payload);
    s->step++;
    take_gradient(s, push.examples);
    const struct message_report *report = &said.packet.message.exchange.report;
    const struct tally tally = {report->loss, report->correct, report->examples, 1};
    note_report(&s->worker, report);
    tally_add(&s->window, &tally);
    if (work->shape.batch.first == 0)
        s->epoch = (struct tally){0};
    s->epoch_number = work->shape.batch.epoch + 1;
    tally_add(&s->epoch, &tally);
    s->has_whole = windows_count(&s->windows, s->step - 1, &tally, &s->whole);
    return STATUS_OK;
}

/* --- what is said and kept ----------------------------------------------------------------- */

static void say_of_board(struct state *s)
{
    struct error remark;
    if (board_take_remark(&s->board, &remark))
        log_warning("%s", remark.text);
}

static void put_event(struct state *s, const struct event *event)
{
    char text[EVENT_MEMBERS_MAX];
    const char *name = event_rows[event->kind].name;
    event_members(event, text, sizeof text);
    run_directory_event(&s->directory, name, text);
    board_event(&s->board, name, text, NULL);
    say_of_board(s);
}
#define tell(where, kind_, ...) put_event(where, &(struct event){.kind = (kind_), __VA_ARGS__})

static void progress(struct state *s)
{
    uint64_t epoch_steps = job_steps_per_epoch(s->job);
    if (s->step % job_progress_steps(s->job) != 0 && s->step != s->job->steps)
        return;
    double seconds = run_phases_take_window(&s->summary.phases);
    tell(s, EVENT_PROGRESS_ALONE, .step = s->step, .epoch = (double)s->step / (double)epoch_steps,
         .loss = tally_loss(&s->window, s->job), .accuracy = tally_accuracy(&s->window, s->job),
         .epoch_loss = tally_loss(&s->epoch, s->job),
         .epoch_accuracy = tally_accuracy(&s->epoch, s->job),
         .images_per_second = seconds > 0 ? (double)s->window.examples / seconds : 0.0,
         .training_seconds = run_phases_marked(&s->summary.phases));
    s->window = (struct tally){0};
}

static void tell_window(struct state *s)
{
    double now = run_phases_marked(&s->summary.phases);
    if (!s->has_whole)
        return;
    s->summary.window = run_window_of(s->job, &s->whole, now - s->windows_from);
    s->windows_from = now;
    const struct event event = run_window_event(&s->summary.window, now);
    put_event(s, &event);
}

static void tell_epoch(struct state *s, const struct epoch_range *epoch)
{
    tell(s, EVENT_EPOCH, .epoch = s->epoch_number, .step = s->step,
         .loss = tally_loss(&s->epoch, s->job), .accuracy = tally_accuracy(&s->epoch, s->job),
         .examples = s->epoch.examples, .of = epoch->examples,
         .training_seconds = run_phases_marked(&s->summary.phases));
}

/* As a file, with --keep-scored. */
static void keep_scored(struct state *s)
{
    struct error error;
    uint64_t failed;
    if (!s->job->keep_scored)
        return;
    run_phases_enter(&s->summary.phases, RUN_PHASE_EVALUATION, clock_now_us());
    if (scored_file_write(&disk_posix, s->solo->out, s->job, s->step, s->arrays[0], &error) !=
        STATUS_OK) {
        if (log_once_add(&s->scored, error.text))
            log_warning("the model scored after %" PRIu64 " batches is not kept: %s", s->step,
                        error.text);
    } else if ((failed = log_once_end(&s->scored)) > 0) {
        log_info("scored models are kept again; %" PRIu64 " were not", failed);
    }
    run_phases_train(&s->summary.phases, clock_now_us());
}

/* At the end of an epoch. */
static enum status evaluate(struct state *s, struct error *error)
{
    struct epoch_range epoch = job_epoch(s->job, s->epoch_number - 1);
    if (s->step != epoch.end)
        return STATUS_OK;
    tell_epoch(s, &epoch);
    if (!job_scores_at(s->job, s->step))
        return STATUS_OK;
    struct score score = {0};
    uint64_t began_us = clock_now_us();
    run_phases_enter(&s->summary.phases, RUN_PHASE_EVALUATION, began_us);
    enum status status =
        node_gradient_evaluate(s->solo->training.gradient, s->arrays[0], 1, 0, &score, error);
    uint64_t now_us = clock_now_us();
    run_phases_train(&s->summary.phases, now_us);
    if (status != STATUS_OK)
        return status;
    double took = seconds_since(began_us, now_us);
    event(s->solo->listener, EVENT_SCORED, .step = s->step, .examples = score.examples,
          .loss_sum = score.loss, .correct = score.correct, .us = (uint64_t)(1e6 * took));
    s->worker.evaluate_seconds += took;
    const struct tally tally = {score.loss, score.correct, score.examples, 1};
    s->summary.test.loss = score.not_finite > 0 ? (double)NAN : tally_loss(&tally, s->job);
    s->summary.test.accuracy = tally_accuracy(&tally, s->job);
    s->summary.test.regularisation = l2_loss(s->job, s->arrays[0]);
    s->summary.test_step = s->step;
    tell(s, EVENT_EVALUATION_ALONE, .epoch = s->epoch_number, .step = s->step,
         .test_loss = s->summary.test.loss, .test_accuracy = s->summary.test.accuracy,
         .regularisation_loss = s->summary.test.regularisation, .seconds = took,
         .training_seconds = run_phases_marked(&s->summary.phases));
    keep_scored(s);
    return STATUS_OK;
}

/* The order of updates is fixed, so the record has snapshots alone. */
static enum status record_snapshot(struct state *s, struct error *error)
{
    const struct run_record_snapshot cut = {
        .batches = s->step, .version = s->version, .computation = s->chronicle.found.computation};
    if (!s->chronicle.on || s->chronicle.ended)
        return STATUS_OK;
    if (run_chronicle_begin(&s->chronicle, s->job, s->run_id, NULL, error) == NULL)
        return STATUS_MEMORY;
    return run_chronicle_write(&s->chronicle, &cut, error);
}

static enum status write_checkpoint_files(struct state *s, struct error *error)
{
    struct checkpoint_part part;
    struct checkpoint_chunk chunk = {.first = 0, .count = s->elements};
    double began = clock_now_seconds();
    chunk.version = s->version;
    for (uint32_t i = 0; i <= s->slots.count; i++)
        chunk.arrays[i] = s->arrays[i];
    enum status status = checkpoint_write_part(&disk_posix, s->solo->out, s->step, 0, 0, 1,
                                               s->slots, &chunk, 1, false, &part, error);
    if (status == STATUS_OK)
        status = record_snapshot(s, error);
    if (status != STATUS_OK)
        return status;
    struct manifest manifest = {.job = *s->job,
                                .run_id = s->run_id,
                                .step = s->step,
                                .record = run_chronicle_record(&s->chronicle),
                                .part_count = 1,
                                .parts = &part};
    if (s->step % job_steps_per_epoch(s->job) != 0)
        manifest.so_far.epoch = s->epoch;
    manifest.so_far.window = windows_so_far(&s->windows, s->step);
    event(s->solo->listener, EVENT_PART, .step = s->step, .bytes = part.bytes);
    status = checkpoint_write_manifest(&disk_posix, s->solo->out, &manifest, error);
    if (status != STATUS_OK)
        return status;
    run_chronicle_commit(&s->chronicle, s->step);
    event(s->solo->listener, EVENT_MANIFEST, .step = s->step,
          .us = (uint64_t)(1e6 * (clock_now_seconds() - began)));
    checkpoint_shelf_add(&s->shelf, s->step);
    if (checkpoint_prune(&disk_posix, s->solo->out, &s->shelf, error) != STATUS_OK ||
        checkpoint_sweep(&disk_posix, s->solo->out, s->step, error) != STATUS_OK)
        log_warning("old checkpoints stay: %s", error->text);
    s->last_snapshot = s->step;
    double took = clock_now_seconds() - began;
    tell(s, EVENT_CHECKPOINT, .step = s->step, .seconds = took, .bytes = part.bytes);
    return STATUS_OK;
}

static enum status write_checkpoint(struct state *s, struct error *error)
{
    run_phases_enter(&s->summary.phases, RUN_PHASE_CHECKPOINTS, clock_now_us());
    close_group(s);
    enum status status = write_checkpoint_files(s, error);
    run_phases_train(&s->summary.phases, clock_now_us());
    return status;
}

static enum status write_summary(struct state *s, enum run_state state, const char *reason,
                                 struct error *error)
{
    struct run_summary *summary = &s->summary;
    summary->state = state;
    snprintf(summary->reason, sizeof summary->reason, "%s", reason);
    summary->step = s->step;
    summary->versions = s->version;
    uint64_t now_us = clock_now_us();
    run_phases_enter(&summary->phases, RUN_PHASE_MODEL_FILE, now_us);
    run_summary_take_times(summary, now_us);
    summary->images_per_second =
        summary->seconds > 0 ? (double)s->worker.examples / summary->seconds : 0;
    summary->train.loss = tally_loss(&s->epoch, s->job);
    summary->train.accuracy = tally_accuracy(&s->epoch, s->job);
    summary->train.epoch = s->epoch_number;
    summary->train.examples = s->epoch.examples;
    summary->verdicts.applied = s->worker.batches;
    summary->worker_count = 1;
    summary->workers = &s->worker;
    if (state == RUN_DONE || state == RUN_STOPPED) {
        char path[DISK_PATH_MAX];
        snprintf(path, sizeof path, "%s/model.safetensors", s->solo->out);
        enum status status =
            model_file_write(&disk_posix, path, s->job->model, s->job->variables,
                             s->job->variable_count, s->arrays[0], summary->model_sha256, error);
        if (status != STATUS_OK)
            return status;
        parameters_sha256(s->job->variables, s->job->variable_count, s->arrays[0],
                          summary->parameters_sha256);
    }
    run_phases_enter(&summary->phases, RUN_PHASE_END, clock_now_us());
    run_chronicle_size(&s->chronicle, &summary->record.files, &summary->record.bytes);
    summary->record.ended = run_chronicle_has_ended(&s->chronicle, &summary->record.ends_at);
    board_end(&s->board, summary);
    say_of_board(s);
    run_phases_enter(&summary->phases, RUN_PHASE_END, clock_now_us());
    return run_directory_summary(&s->directory, s->job, s->run_id, summary, error);
}

/* One on the way. The line about a failure is logged once. */
static void try_checkpoint(struct state *s)
{
    struct error error;
    uint64_t failed;
    if (write_checkpoint(s, &error) != STATUS_OK) {
        s->summary.faults.checkpoints_failed++;
        if (log_once_add(&s->log_once, error.text))
            log_warning("checkpoint at step %" PRIu64 " not written: %s", s->step, error.text);
    } else if ((failed = log_once_end(&s->log_once)) > 0) {
        log_info("checkpoints are written again; %" PRIu64 " were not", failed);
    }
}

/* The last is written elsewhere. By the clock none is taken where it would close a group: the
 * same command makes the same updates. */
static bool is_checkpoint_due(const struct state *s, uint64_t kept_us)
{
    uint64_t every = job_checkpoint_every(s->job);
    bool old = !job_accumulates(s->job) &&
               job_checkpoint_is_old(s->job, seconds_since(kept_us, clock_now_us()));
    return s->step < s->job->steps && ((every > 0 && s->step % every == 0) || old);
}

/* --- the run ------------------------------------------------------------------------------- */

static enum status train(struct state *s, struct error *error)
{
    uint64_t began_us = clock_now_us();
    run_phases_train(&s->summary.phases, began_us);
    s->windows_from = windows_begin_at(s->job, s->step) ? 0 : (double)NAN;
    tell(s, EVENT_START, .mode = job_mode_text(s->job).text, .workers = 1, .servers = 0,
         .step = s->step, .steps = s->job->steps, .steps_per_epoch = job_steps_per_epoch(s->job),
         .update_examples = s->job->batch, .examples = s->job->examples);
    uint64_t kept_us = began_us;
    while (s->step < s->job->steps && atomic_load(&s->solo->stop_code) == 0) {
        enum status status = update(s, error);
        if (status != STATUS_OK)
            return status;
        run_phases_mark(&s->summary.phases, clock_now_us());
        progress(s);
        tell_window(s);
        if ((status = evaluate(s, error)) != STATUS_OK)
            return status;
        if (s->solo->notify != NULL)
            notify_beat(s->solo->notify, "training", clock_now_us());
        if (is_checkpoint_due(s, kept_us)) {
            try_checkpoint(s);
            kept_us = clock_now_us();
        }
    }
    run_phases_close(&s->summary.phases, RUN_PHASE_LAST_CHECKPOINT, clock_now_us());
    return s->last_snapshot == s->step ? STATUS_OK : write_checkpoint(s, error);
}

static int exit_code_of(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return EXIT_DONE;
    case STATUS_MISMATCH:
        return EXIT_MISMATCH;
    case STATUS_PROGRAM:
        return EXIT_PROGRAM;
    case STATUS_DIVERGED:
    case STATUS_MEMORY:
        return EXIT_TRAINING_FAILED;
    default:
        return EXIT_CANNOT_OPEN;
    }
}

static enum status make_arrays(struct state *s, struct error *error)
{
    bool made = (s->gradient = frame_create(s->elements * sizeof(float))) != NULL;
    for (uint32_t i = 0; i <= s->slots.count; i++)
        made = (s->arrays[i] = aligned_alloc(64, s->elements * sizeof(float))) != NULL && made;
    if (job_accumulates(s->job))
        made = (s->held.sum = aligned_alloc(64, s->elements * sizeof(float))) != NULL && made;
    if (!made)
        error_set(error, STATUS_MEMORY, "out of memory for the model");
    return made ? STATUS_OK : STATUS_MEMORY;
}

/* Train, then write down how it ended. */
static int run(struct state *s, struct error *error)
{
    struct error writing;
    enum status status = train(s, error);
    bool done = s->step == s->job->steps;
    enum run_state state = status != STATUS_OK ? RUN_FAILED : done ? RUN_DONE : RUN_STOPPED;
    const char *reason = status != STATUS_OK ? error->text : done ? "" : "stopped";
    enum status wrote = write_summary(s, state, reason, &writing);
    if (wrote == STATUS_OK)
        event(s->solo->listener, EVENT_SUMMARY);
    if (status == STATUS_OK && wrote != STATUS_OK) {
        *error = writing;
        return exit_code_of(wrote);
    }
    if (status != STATUS_OK)
        return exit_code_of(status);
    error_set(error, STATUS_OK, "%s", reason);
    int code = atomic_load(&s->solo->stop_code);
    return done || code == SOLO_ENOUGH ? EXIT_DONE : code;
}

static void let_go(struct solo *solo)
{
    int file = atomic_exchange(&solo->occupied, 0);
    if (file > 0)
        close(file);
}

int solo_run(struct solo *solo, struct error *error)
{
    enum run_opening opening = RUN_BEGINS;
    int exit_code;
    struct state s = {.solo = solo,
                      .job = solo->training.job,
                      .slots = job_slots(solo->training.job),
                      .trainer = {.job = solo->training.job, .start.members = 1},
                      .said.listener = solo->listener,
                      .run_id = hash_random_u64(),
                      .last_snapshot = UINT64_MAX};
    s.elements = solo->training.gradient->source->elements;
    solo->training.rest = rest;
    solo->training.context = solo;
    run_summary_begin(&s.summary);
    run_phases_begin(&s.summary.phases, RUN_PHASE_OPENING, solo->began_us);

    enum status status = make_arrays(&s, error);
    if (status == STATUS_OK)
        status = run_directory_check(&disk_posix, solo->out, s.job, &opening, error);
    if (status == STATUS_OK)
        status = initialize(&s, error);
    if (status == STATUS_OK)
        status = restore(&s, opening, error);
    if (status == STATUS_OK && windows_init(&s.windows, s.job, s.step, &s.so_far) != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) /* Not before: a run that cannot begin must leave nothing. */
        status = run_directory_open(&s.directory, &disk_posix, solo->out, s.job, s.run_id,
                                    solo->keep, NULL, &opening, error);
    if (status == STATUS_OK && solo->initial != NULL && s.step == 0 &&
        (status = initial_keep(s.job, &disk_posix, solo->out, solo->initial, error)) != STATUS_OK)
        run_directory_close(&s.directory);
    if (status == STATUS_OK &&
        (status =
             run_chronicle_open(&s.chronicle, &disk_posix, solo->out, s.job->record == RECORDING_ON,
                                &s.found, s.step, s.version, 0, error)) != STATUS_OK)
        run_directory_close(&s.directory);
    s.shelf.keep = s.directory.keep;
    board_open(&s.board, &disk_posix, &solo->board, s.job);
    if (status == STATUS_OK) {
        if (s.directory.events.remark.text[0] != '\0')
            log_warning("%s", s.directory.events.remark.text);
        if (s.chronicle.remark.text[0] != '\0')
            log_warning("%s", s.chronicle.remark.text);
        atomic_store(&solo->occupied, occupancy_take(solo->out, solo->has_parent));
        if (atomic_load(&solo->stop_code) != 0) /* Asked meanwhile. */
            let_go(solo);
        event(solo->listener, EVENT_OPENED, .step = s.step);
        exit_code = run(&s, error);
        if (s.directory.events.lost > 0)
            log_warning("%s lost: %s",
                        wording_counted(s.directory.events.lost, "event was", "events were").text,
                        s.directory.events.error.text);
        let_go(solo);
        run_directory_close(&s.directory);
    } else {
        exit_code = exit_code_of(status);
    }
    board_close(&s.board);
    run_chronicle_close(&s.chronicle);
    frame_release(s.gradient);
    outbox_free(&s.said);
    free(s.held.sum);
    free(s.offsets);
    windows_free(&s.windows);
    for (uint32_t i = 0; i < CHECKPOINT_ARRAYS_MAX; i++)
        free(s.arrays[i]);
    return exit_code;
}

void solo_request_stop(struct solo *solo, int exit_code)
{
    atomic_store(&solo->stop_code, exit_code);
    let_go(solo);
}

void solo_enough(struct solo *solo)
{
    solo_request_stop(solo, SOLO_ENOUGH);
}

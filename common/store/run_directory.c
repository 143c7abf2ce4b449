/* run_directory.c - writes run.json, and decides whether a run can go on in a folder, is in the
 * way, or the folder is not ours. */

#include "common/store/run_directory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/job_json.h"
#include "common/store/initial.h"
#include "common/store/run_record.h"

#define RUN_FORMAT_PREFIX  "syncopate-run-"
#define RUN_FORMAT_NUMBER  "3"
#define RUN_FORMAT         RUN_FORMAT_PREFIX RUN_FORMAT_NUMBER
#define RUN_JSON_BYTES_MAX ((size_t)64 << 20)

/* Room for every name below a run directory. */
#define NAME_ROOM 32

#define RUN_PHASE_SECONDS_MAX 1e12 /* Of a phase that is read back. */

static const char *const state_names[] = {
    [RUN_RUNNING] = "running",
    [RUN_STOPPED] = "stopped",
    [RUN_DONE] = "done",
    [RUN_FAILED] = "failed",
};

/* --- workers -------------------------------------------------------------------------------- */

double worker_summary_wait(const struct worker_summary *worker)
{
    double sum = 0;
    for (enum wait i = 0; i < WAIT_COUNT; i++)
        sum += worker->waits[i];
    return sum;
}

double worker_summary_other(const struct worker_summary *worker)
{
    double named = worker->compute_seconds + worker->exchange_seconds + worker->evaluate_seconds +
                   worker_summary_wait(worker);
    return worker->wall_seconds - named;
}

/* --- run.json ------------------------------------------------------------------------------ */

static void write_share(struct json_writer *writer, const struct staleness_share *share)
{
    json_writer_object(writer, "staleness");
    json_writer_u64(writer, "count", share->count);
    json_writer_real(writer, "mean",
                     share->count > 0 ? (double)share->sum / (double)share->count : NAN);
    json_writer_u64(writer, "max", share->max);
    json_writer_end(writer);
}

static void write_configuration(struct json_writer *writer, const struct job *job)
{
    json_writer_text(writer, "mode", job_mode_text(job).text);
    json_writer_u64(writer, "workers", job->worker_count);
    json_writer_u64(writer, "servers", job->server_count);
    json_writer_u64(writer, "seed", job->seed);
    json_writer_u64(writer, "epochs", job_epochs(job));
    json_writer_u64(writer, "steps", job->steps);
    json_writer_u64(writer, "global_batch", job->batch);
    json_writer_u64(writer, "micro_batch", job->micro_batch);
    json_writer_text(writer, "optimizer", job->optimizer.name);
    json_writer_real(writer, "learning_rate", job->schedule.learning_rate);
    json_writer_text(writer, "model", job->model);
    json_writer_text(writer, "data", job->data);
}

/* Null where they were not kept. */
static void write_phases(struct json_writer *writer, const struct run_phases *phases)
{
    json_writer_real(writer, "total_seconds", phases->begun ? run_phases_total(phases) : NAN);
    if (!phases->begun) {
        json_writer_null(writer, "parts");
        return;
    }
    json_writer_object(writer, "parts");
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        json_writer_real(writer, run_phase_name(i), run_phases_seconds(phases, i));
    json_writer_end(writer);
}

/* "" becomes null. */
static void write_any(struct json_writer *writer, const char *name, const char *text)
{
    json_writer_text(writer, name, text[0] != '\0' ? text : NULL);
}

static void write_mode_figures(struct json_writer *writer, const struct mode_figures *figures)
{
    json_writer_object(writer, "mode_figures");
    for (uint32_t i = 0; i < figures->count; i++)
        json_writer_u64(writer, figures->figures[i].name, figures->figures[i].value);
    json_writer_end(writer);
}

double run_summary_longer(const struct run_summary *summary)
{
    uint64_t leaves = 0, longer = 0;
    for (uint32_t i = 0; i < summary->worker_count; i++) {
        leaves += summary->workers[i].controlled_leaves;
        longer += summary->workers[i].longer_leaves;
    }
    return leaves > 0 ? (double)longer / (double)leaves : (double)NAN;
}

static void write_controlled(struct json_writer *writer, const struct job *job,
                             const struct run_summary *summary)
{
    double longer = run_summary_longer(summary);
    json_writer_object(writer, "controlled_time");
    write_any(writer, "compute", job->compute);
    write_any(writer, "slow", job->slow);
    write_any(writer, "straggle", job->straggle);
    write_any(writer, "pause", job->pause);
    json_writer_real(writer, "longer", longer);
    if (isnan(longer))
        json_writer_null(writer, "processor_bound");
    else
        json_writer_bool(writer, "processor_bound", longer > PROCESSOR_BOUND);
    json_writer_end(writer);
}

/* Buckets that are not empty. */
static void write_leaf_times(struct json_writer *writer, const struct leaf_times *times)
{
    json_writer_object(writer, "leaf_times");
    json_writer_u64(writer, "count", leaf_times_count(times));
    json_writer_array_line(writer, "least_ns");
    for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++)
        if (times->counts[i] > 0)
            json_writer_u64(writer, NULL, leaf_times_least(i));
    json_writer_end(writer);
    json_writer_array_line(writer, "counts");
    for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++)
        if (times->counts[i] > 0)
            json_writer_u64(writer, NULL, times->counts[i]);
    json_writer_end(writer);
    json_writer_end(writer);
}

static void write_worker(struct json_writer *writer, const struct job *job,
                         const struct worker_summary *worker)
{
    struct worker_summary figures = *worker;
    figures.updates = job_accumulates(job) ? FIGURE_UNKNOWN : worker->batches;
    figures.wait_seconds = worker_summary_wait(worker);
    figures.other_seconds = worker_summary_other(worker);
    json_writer_object(writer, NULL);
    figures_write(writer, worker_summary_rows(), &figures);
    json_writer_object_line(writer, "waits");
    for (enum wait i = 0; i < WAIT_COUNT; i++)
        json_writer_real(writer, wait_name(i), worker->waits[i]);
    json_writer_end(writer);
    write_share(writer, &worker->staleness);
    write_leaf_times(writer, &worker->leaf_times);
    json_writer_end(writer);
}

/* Unknown results are null. */
static void write_results(struct json_writer *writer, const struct job *job,
                          const struct run_summary *summary)
{
    struct run_summary figures = *summary;
    if (!job_accumulates(job))
        figures.versions = summary->step;
    else if (summary->versions == 0 && summary->step > 0)
        figures.versions = FIGURE_UNKNOWN;
    if (!summary->record.ended)
        figures.record.ends_at = FIGURE_UNKNOWN;
    if (!summary->scored.kept)
        figures.scored.files = FIGURE_UNKNOWN;
    figures_write(writer, run_summary_rows(), &figures);
}

static void write_members(struct json_writer *writer, const struct job *job, uint64_t run_id,
                          const struct run_directory *directory, const struct run_summary *summary)
{
    json_writer_text(writer, "format", RUN_FORMAT);
    json_writer_id(writer, "run_id", run_id);
    json_writer_text(writer, "state", state_names[summary->state]);
    json_writer_text(writer, "reason", summary->reason);
    write_configuration(writer, job);
    if (directory->page != NULL && summary->state == RUN_RUNNING)
        json_writer_text(writer, "page", directory->page);
    if (directory->keep == CHECKPOINTS_ALL)
        json_writer_text(writer, "keep", "all");
    else
        json_writer_u64(writer, "keep", directory->keep);
    write_results(writer, job, summary);
    write_phases(writer, &summary->phases);
    write_mode_figures(writer, &summary->mode_figures);
    write_any(writer, "virtual", job->cluster);
    write_controlled(writer, job, summary);
    json_writer_array(writer, "worker_details");
    for (uint32_t i = 0; i < summary->worker_count; i++)
        write_worker(writer, job, &summary->workers[i]);
    json_writer_end(writer);
    job_write_json(writer, "job", job);
}

static enum status write_run_json(const struct run_directory *directory, const struct job *job,
                                  uint64_t run_id, const struct run_summary *summary,
                                  struct error *error)
{
    char path[DISK_PATH_MAX];
    const struct disk *disk = directory->disk;
    snprintf(path, sizeof path, "%.*s/run.json", DISK_PATH_MAX - NAME_ROOM, directory->path);
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    write_members(&writer, job, run_id, directory, summary);
    json_writer_end(&writer);
    json_writer_raw(&writer, "\n", 1);
    const struct disk_piece piece = {writer.text, writer.bytes};
    enum status status = writer.failed
                             ? error_set(error, STATUS_MEMORY, "no memory to write %.300s", path)
                             : disk->write_file(disk->context, path, &piece, 1, error);
    json_writer_free(&writer);
    return status;
}

/* --- what is there ------------------------------------------------------------------------- */

/* The result of looking at a path. */
struct finding {
    bool exists;                /* The directory is there. */
    bool has_run, has_others;   /* run.json; anything else than an interrupted claim leaves. */
    enum run_state state;       /* Of the run. */
    struct run_summary earlier; /* The results that a resumed run starts from. */
    uint32_t keep;              /* Checkpoints; 0: not said. */
};

static void note_entry(void *argument, const char *name)
{
    struct finding *finding = argument;
    if (strcmp(name, "run.json") == 0)
        finding->has_run = true;
    else if (strcmp(name, "run.json.tmp") != 0 && strcmp(name, EVENT_LOG_NAME) != 0 &&
             strcmp(name, INITIAL_FILE) != 0)
        finding->has_others = true;
}

void mode_figures_add(struct mode_figures *figures, const char *name, uint64_t value)
{
    if (figures->count == MODE_FIGURES_MAX)
        return;
    snprintf(figures->figures[figures->count].name, sizeof figures->figures[0].name, "%s", name);
    figures->figures[figures->count++].value = value;
}

static void read_mode_figures(struct mode_figures *figures, const struct json *root)
{
    const struct json *object = json_at(root, "mode_figures");
    struct json_member member = {0};
    while (object != NULL && json_next_member(object, &member))
        mode_figures_add(figures, member.name, json_u64(object, member.name, 0));
}

static uint64_t read_us(const struct json *parent, const char *name)
{
    double seconds = json_number(parent, name);
    return seconds >= 0 && seconds < RUN_PHASE_SECONDS_MAX ? (uint64_t)llround(seconds * 1e6) : 0;
}

static struct run_phases read_phases(const struct json *root)
{
    struct run_phases phases = {.begun = json_at(root, "parts.end") != NULL};
    phases.since_us = read_us(root, "total_seconds");
    for (enum run_phase i = 0; phases.begun && i < RUN_PHASE_COUNT; i++)
        phases.us[i] = read_us(json_at(root, "parts"), run_phase_name(i));
    return phases;
}

void run_summary_begin(struct run_summary *summary)
{
    *summary = (struct run_summary){0};
    figures_read(train_figures_rows(), NULL, &summary->train);
    figures_read(score_figures_rows(), NULL, &summary->test);
}

void run_summary_take_times(struct run_summary *summary, uint64_t now_us)
{
    struct run_phases *phases = &summary->phases;
    run_phases_enter(phases, phases->part, now_us);
    run_phases_beside(phases, false, now_us);
    summary->seconds = run_phases_trained(phases, now_us);
    summary->evaluation_seconds = run_phases_seconds(phases, RUN_PHASE_EVALUATION);
    summary->checkpoint_seconds =
        (double)(phases->us[RUN_PHASE_CHECKPOINTS] + phases->us[RUN_PHASE_LAST_CHECKPOINT]) * 1e-6;
    summary->beside_seconds = (double)phases->beside_us * 1e-6;
}

void run_summary_read(struct run_summary *summary, const struct json *root)
{
    const char *reason = json_text(root, "reason");
    *summary = (struct run_summary){.phases = read_phases(root)};
    snprintf(summary->reason, sizeof summary->reason, "%s", reason != NULL ? reason : "");
    figures_read(run_summary_rows(), root, summary);
    read_mode_figures(&summary->mode_figures, root);
    if (summary->versions == FIGURE_UNKNOWN)
        summary->versions = 0;
    summary->scored.kept = summary->scored.files != FIGURE_UNKNOWN;
    summary->record.ended = summary->record.ends_at != FIGURE_UNKNOWN;
}

/* A run that goes on keeps all but the counts of gradients and the results of its end. */
static void read_earlier(struct run_summary *summary, const struct json *root)
{
    run_summary_read(summary, root);
    summary->reason[0] = summary->parameters_sha256[0] = summary->model_sha256[0] = '\0';
    summary->exchanged_bytes = 0;
    summary->staleness = (struct staleness){0};
    summary->spread = (struct run_spread){0};
    summary->verdicts = (struct verdict_counts){0};
}

enum status run_format_check(const struct json *root, const char *file, struct error *error)
{
    const char *format = json_text(root, "format");
    size_t prefix = strlen(RUN_FORMAT_PREFIX);
    if (format == NULL || strncmp(format, RUN_FORMAT_PREFIX, prefix) != 0 ||
        strcmp(format, RUN_FORMAT) == 0)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%.300s is of format %.20s, and this program knows " RUN_FORMAT_NUMBER
                     " alone: use the version of syncopate that wrote it",
                     file, format + prefix);
}

/* False when it is not ours. */
static bool read_state(const struct json *root, enum run_state *state)
{
    const char *format = json_text(root, "format");
    const char *name = json_text(root, "state");
    if (format == NULL || strcmp(format, RUN_FORMAT) != 0 || name == NULL)
        return false;
    for (*state = RUN_RUNNING; *state <= RUN_FAILED; ++*state)
        if (strcmp(name, state_names[*state]) == 0)
            return true;
    return false;
}

/* "10 epochs", or "100 updates" when they do not end with one. */
static struct wording length_of(const struct job *job)
{
    uint64_t epoch = job_steps_per_epoch(job);
    return job->steps % epoch == 0 ? wording_counted(job->steps / epoch, "epoch", "epochs")
                                   : wording_counted(job->steps, "update", "updates");
}

/* The same declaration, and the run has come to its end. */
static enum status check_longer(const char *directory, const struct job *job,
                                const struct job *earlier, struct error *error)
{
    char more[64];
    uint64_t epoch = job_steps_per_epoch(earlier);
    if (job->steps > earlier->steps)
        return STATUS_OK;
    if (earlier->steps % epoch == 0)
        snprintf(more, sizeof more, "--epochs %" PRIu64, earlier->steps / epoch + 1);
    else
        snprintf(more, sizeof more, "--steps %" PRIu64, earlier->steps + 1);
    return error_set(error, STATUS_EXISTS,
                     "%.200s holds a finished run of %s%s%s; %s or more trains it further, or "
                     "choose another --out",
                     directory, length_of(earlier).text,
                     job->steps < earlier->steps ? ", and this job has " : "",
                     job->steps < earlier->steps ? length_of(job).text : "", more);
}

/* Whether the schedules differ only in the end of a cosine, which is --decay-steps or else the
 * number of all steps. */
static bool differ_in_cosine(const struct job *job, const struct job *earlier, enum job_scope scope)
{
    struct job same = *job; /* Borrows. */
    same.schedule.decay_steps = earlier->schedule.decay_steps;
    return job->schedule.kind == SCHEDULE_COSINE && earlier->schedule.kind == SCHEDULE_COSINE &&
           job_compare(&same, "", earlier, "", scope, NULL) == STATUS_OK;
}

static enum status refuse_other(const char *directory, bool done, const struct job *job,
                                const struct job *earlier, enum job_scope scope,
                                const struct error *reason, struct error *error)
{
    const char *what = done ? "a finished run" : "an unfinished run";
    if (differ_in_cosine(job, earlier, scope))
        return error_set(error, STATUS_MISMATCH,
                         "%.200s holds %s whose --schedule cosine ends after %s, and this job's "
                         "after %s, by default all: --decay-steps %" PRIu64 " goes on with it",
                         directory, what,
                         wording_counted(earlier->schedule.decay_steps, "update", "updates").text,
                         wording_count(job->schedule.decay_steps).text,
                         earlier->schedule.decay_steps);
    return error_set(error, STATUS_MISMATCH,
                     "%.150s holds %s of another job: %.260s; choose another --out", directory,
                     what, reason->text);
}

static enum status check_declaration(const struct json *root, const char *directory,
                                     const char *path, const struct job *job, bool done,
                                     struct error *error)
{
    struct job earlier;
    enum status status = job_read_json(&earlier, json_at(root, "job"), path, error);
    if (status != STATUS_OK)
        return status;
    struct error reason;
    enum job_scope scope = job_has_read_data(job) ? JOB_SCOPE_RESUME : JOB_SCOPE_UNREAD;
    if (job_compare(job, "this job", &earlier, "the earlier one", scope, &reason) != STATUS_OK)
        status = refuse_other(directory, done, job, &earlier, scope, &reason, error);
    else if (done)
        status = check_longer(directory, job, &earlier, error);
    job_free(&earlier);
    return status;
}

/* While the files of OUT/checkpoints are looked at. */
struct folder_check {
    const struct disk *disk;
    const char *folder;
    char path[DISK_PATH_MAX];
    enum disk_kind kind; /* Of path, which is in the way; DISK_NOTHING: there is none. */
};

/* A link may have been moved, and can be read. */
static void check_step(void *argument, const char *name)
{
    struct folder_check *check = argument;
    char path[DISK_PATH_MAX];
    if (strncmp(name, "step-", strlen("step-")) != 0 ||
        snprintf(path, sizeof path, "%s/%s", check->folder, name) >= DISK_PATH_MAX)
        return;
    enum disk_kind kind = check->disk->look(check->disk->context, path);
    if (kind == DISK_FOLDER || kind == DISK_LINK || kind == DISK_NOTHING)
        return;
    check->kind = kind;
    memcpy(check->path, path, sizeof path);
}

/* A segment of the record; a link can be read. */
static void check_segment(void *argument, const char *name)
{
    struct folder_check *check = argument;
    char path[DISK_PATH_MAX];
    uint64_t bytes;
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || strcmp(name + digits, ".log") != 0 ||
        snprintf(path, sizeof path, "%s/%s", check->folder, name) >= DISK_PATH_MAX)
        return;
    enum disk_kind kind = check->disk->look(check->disk->context, path);
    if (check->disk->file_bytes(check->disk->context, path, &bytes, NULL) == STATUS_OK)
        return;
    check->kind = kind;
    memcpy(check->path, path, sizeof path);
}

/* No foreign file is removed to make room for a record. */
static enum status check_record(const struct disk *disk, const char *directory, struct error *error)
{
    char folder[DISK_PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s/" RUN_RECORD_FOLDER, DISK_PATH_MAX - NAME_ROOM,
             directory);
    struct folder_check check = {.disk = disk, .folder = folder};
    check.kind = disk->look(disk->context, folder);
    if (check.kind == DISK_NOTHING)
        return STATUS_OK;
    memcpy(check.path, folder, sizeof folder);
    bool is_folder = check.kind == DISK_FOLDER;
    if (is_folder) {
        check.kind = DISK_NOTHING;
        enum status status =
            disk->list_directory(disk->context, folder, check_segment, &check, error);
        if (status != STATUS_OK || check.kind == DISK_NOTHING)
            return status;
    }
    return error_set(error, STATUS_IO,
                     "%.300s is %s, and the run's record is a %s there: move it away, or train "
                     "with --record off",
                     check.path, disk_kind_name(check.kind), is_folder ? "file" : "folder");
}

static enum status check_checkpoints(const struct disk *disk, const char *directory,
                                     struct error *error)
{
    char folder[DISK_PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s/checkpoints", DISK_PATH_MAX - NAME_ROOM, directory);
    enum disk_kind kind = disk->look(disk->context, folder);
    if (kind == DISK_NOTHING)
        return STATUS_OK;
    struct folder_check check = {.disk = disk, .folder = folder, .kind = kind};
    memcpy(check.path, folder, sizeof folder);
    if (kind == DISK_FOLDER) {
        check.kind = DISK_NOTHING;
        enum status status = disk->list_directory(disk->context, folder, check_step, &check, error);
        if (status != STATUS_OK || check.kind == DISK_NOTHING)
            return status;
    }
    return error_set(error, STATUS_IO,
                     "%.300s is %s, and the run writes to a folder there: move it away", check.path,
                     disk_kind_name(check.kind));
}

/* A place that cannot be written is found now, and not after hours of training. */
static enum status check_places(const struct disk *disk, const char *directory, struct error *error)
{
    static const char *const files[] = {
        "generation",
        "model.safetensors",
        "run.json" DISK_ASIDE,
        "generation" DISK_ASIDE,
        "model.safetensors" DISK_ASIDE,
    };
    char path[DISK_PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%.*s/%s", DISK_PATH_MAX - NAME_ROOM, directory, files[i]);
        if (disk->look(disk->context, path) == DISK_FOLDER)
            return error_set(error, STATUS_IO,
                             "%.300s is a folder, and the run writes a file there: move it away",
                             path);
    }
    return check_checkpoints(disk, directory, error);
}

/* run.json, without which the checkpoints beside it belong to no known run. */
static enum status read_run_json(const struct disk *disk, const char *directory, const char *path,
                                 struct json **root, struct error *error)
{
    struct error reason;
    enum status status = json_read_file(disk, path, RUN_JSON_BYTES_MAX, root, &reason);
    if (status != STATUS_OK)
        error_set(error, status,
                  "%.300s; choose another --out (--restore %.120s begins it with the newest "
                  "checkpoint there)",
                  reason.text, directory);
    return status;
}

static uint32_t read_keep(const struct json *root)
{
    const char *text = json_text(root, "keep");
    uint64_t number = json_u64(root, "keep", 0);
    if (text != NULL && strcmp(text, "all") == 0)
        return CHECKPOINTS_ALL;
    return number <= CHECKPOINTS_KEPT_MAX ? (uint32_t)number : 0;
}

/* Whether the run in a directory can go on, with job or (NULL) with its own. */
static enum status examine_run(const struct disk *disk, const char *directory,
                               const struct job *job, struct finding *finding, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct json *root;
    snprintf(path, sizeof path, "%.*s/run.json", DISK_PATH_MAX - NAME_ROOM, directory);
    enum status status = check_places(disk, directory, error);
    if (status == STATUS_OK && job != NULL && job->record == RECORDING_ON)
        status = check_record(disk, directory, error);
    if (status == STATUS_OK)
        status = read_run_json(disk, directory, path, &root, error);
    if (status != STATUS_OK)
        return status;
    if (run_format_check(root, path, error) != STATUS_OK)
        status = STATUS_EXISTS;
    else if (!read_state(root, &finding->state))
        status = error_set(error, STATUS_EXISTS, "%.300s is not ours; choose another --out", path);
    if (status == STATUS_OK && job != NULL)
        status = check_declaration(root, directory, path, job, finding->state == RUN_DONE, error);
    if (status == STATUS_OK) {
        read_earlier(&finding->earlier, root);
        finding->keep = read_keep(root);
    }
    json_release(&root);
    return status;
}

enum status run_directory_find(struct run_found *found, const struct disk *disk, const char *path,
                               struct error *error)
{
    char file[DISK_PATH_MAX];
    struct json *root;
    memset(found, 0, sizeof *found);
    snprintf(file, sizeof file, "%.*s/run.json", DISK_PATH_MAX - NAME_ROOM, path);
    enum status status = json_read_file(disk, file, RUN_JSON_BYTES_MAX, &root, error);
    if (status != STATUS_OK)
        return status;
    status = run_format_check(root, file, error);
    if (status == STATUS_OK && !read_state(root, &found->state))
        status = error_set(error, STATUS_INVALID, "%.300s: is not the record of a run", file);
    if (status == STATUS_OK)
        status = job_read_json(&found->job, json_at(root, "job"), file, error);
    found->step = json_u64(root, "step", 0);
    json_release(&root);
    return status;
}

bool run_directory_has_ended(const struct disk *disk, const char *path, uint64_t run_id,
                             enum run_state *state)
{
    char file[DISK_PATH_MAX], digits[20];
    struct json *root;
    snprintf(file, sizeof file, "%.*s/run.json", DISK_PATH_MAX - NAME_ROOM, path);
    snprintf(digits, sizeof digits, "%016" PRIx64, run_id);
    if (json_read_file(disk, file, RUN_JSON_BYTES_MAX, &root, NULL) != STATUS_OK)
        return false;
    const char *id = json_text(root, "run_id");
    bool ended =
        read_state(root, state) && *state != RUN_RUNNING && id != NULL && strcmp(id, digits) == 0;
    json_release(&root);
    return ended;
}

static enum status examine(const struct disk *disk, const char *directory, const struct job *job,
                           struct finding *finding, struct error *error)
{
    memset(finding, 0, sizeof *finding);
    run_summary_begin(&finding->earlier);
    if (directory[0] == '\0' || strlen(directory) >= DISK_PATH_MAX - NAME_ROOM)
        return error_set(error, STATUS_INVALID, "not a usable path: '%.300s'", directory);
    enum status status = disk->list_directory(disk->context, directory, note_entry, finding, error);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    finding->exists = true;
    if (finding->has_run)
        return examine_run(disk, directory, job, finding, error);
    if (finding->has_others || !event_log_is_unused(disk, directory))
        return error_set(error, STATUS_EXISTS,
                         "%.300s is not empty and holds no run; choose another --out", directory);
    return STATUS_OK;
}

/* --- looking only -------------------------------------------------------------------------- */

static enum run_opening opening_of(const struct finding *finding)
{
    if (!finding->has_run)
        return RUN_BEGINS;
    return finding->state == RUN_DONE ? RUN_EXTENDS : RUN_RESUMES;
}

enum status run_directory_check(const struct disk *disk, const char *path, const struct job *job,
                                enum run_opening *opening, struct error *error)
{
    struct finding finding = {0};
    enum status status = disk->check_folder(disk->context, path, error);
    if (status == STATUS_OK)
        status = examine(disk, path, job, &finding, error);
    if (opening != NULL)
        *opening = status == STATUS_OK ? opening_of(&finding) : RUN_BEGINS;
    if (status == STATUS_OK && finding.exists)
        status = event_log_look(disk, path, error);
    return status;
}

/* --- claiming ------------------------------------------------------------------------------ */

/* Half-written files of killed writers. There is no other writer: the lock is ours. */
static void remove_left_overs(const struct disk *disk, const char *directory)
{
    static const char *const names[] = {"run.json", "generation", "model.safetensors",
                                        INITIAL_FILE};
    char path[DISK_PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.*s/%s" DISK_ASIDE, DISK_PATH_MAX - NAME_ROOM, directory,
                 names[i]);
        if (disk->look(disk->context, path) != DISK_NOTHING)
            disk->remove_tree(disk->context, path, NULL);
    }
}

/* The directory is locked: look again, because another process may have been faster, and claim
 * it. */
static enum status claim(struct run_directory *directory, const struct job *job, uint64_t run_id,
                         uint32_t keep, enum run_opening *opening, struct error *error)
{
    struct finding finding;
    enum status status = examine(directory->disk, directory->path, job, &finding, error);
    if (status != STATUS_OK)
        return status;
    *opening = opening_of(&finding);
    remove_left_overs(directory->disk, directory->path);
    directory->earlier = finding.earlier;
    directory->keep = keep > 0 ? keep : finding.keep > 0 ? finding.keep : CHECKPOINTS_KEPT;
    if (finding.has_run && finding.state == RUN_RUNNING) { /* Its server 0 was lost. */
        directory->earlier.faults.servers_lost++;
        directory->reached = event_log_step(&directory->events);
    }
    directory->started = directory->disk->seconds(directory->disk->context);
    return write_run_json(directory, job, run_id, &directory->earlier, error);
}

enum status run_directory_open(struct run_directory *directory, const struct disk *disk,
                               const char *path, const struct job *job, uint64_t run_id,
                               uint32_t keep, const char *page, enum run_opening *opening,
                               struct error *error)
{
    *directory = (struct run_directory){.disk = disk, .page = page, .events.file = -1};
    *opening = RUN_BEGINS;
    /* Look before anything is created: a folder that is not ours stays as it is. */
    struct finding finding;
    enum status status = examine(disk, path, job, &finding, error);
    if (status == STATUS_OK)
        status = disk->make_directory(disk->context, path, error);
    if (status != STATUS_OK)
        return status;
    snprintf(directory->path, sizeof directory->path, "%s", path);
    status = event_log_open(&directory->events, disk, directory->path, error);
    if (status == STATUS_OK)
        status = claim(directory, job, run_id, keep, opening, error);
    if (status != STATUS_OK)
        run_directory_close(directory);
    return status;
}

void run_directory_close(struct run_directory *directory)
{
    event_log_close(&directory->events);
    *directory = (struct run_directory){.events.file = -1};
}

/* --- while it runs ------------------------------------------------------------------------- */

void run_directory_event(struct run_directory *directory, const char *name, const char *members)
{
    double now = directory->disk->seconds(directory->disk->context);
    event_log_add(&directory->events, now - directory->started, name, members);
}

void run_directory_begin_at(struct run_directory *directory, uint64_t step)
{
    if (directory->reached > step)
        directory->earlier.faults.recomputed += directory->reached - step;
}

/* Generations count by themselves. */
static struct run_faults all_faults(const struct run_directory *directory,
                                    const struct run_faults *now)
{
    struct run_faults all = directory->earlier.faults;
    figures_add(run_faults_rows(), &all, now);
    all.generation = now->generation;
    all.events_lost = directory->earlier.faults.events_lost + directory->events.lost;
    return all;
}

enum status run_directory_note(struct run_directory *directory, const struct job *job,
                               uint64_t run_id, const struct run_faults *faults,
                               struct error *error)
{
    struct run_summary so_far = directory->earlier;
    so_far.faults = all_faults(directory, faults);
    return write_run_json(directory, job, run_id, &so_far, error);
}

bool run_directory_scored(char path[DISK_PATH_MAX], const char *out, uint64_t epoch)
{
    return snprintf(path, DISK_PATH_MAX, "%s/scored/epoch-%" PRIu64 ".safetensors", out, epoch) <
           DISK_PATH_MAX;
}

/* Of the epochs that have ended after so many batches; those that are missing could not be written,
 * or the next came first. */
static void count_scored(const struct run_directory *directory, const struct job *job,
                         uint64_t batches, struct run_scored *scored)
{
    char path[DISK_PATH_MAX];
    uint64_t due = job_scores_between(job, 0, batches + 1);
    scored->files = 0;
    for (uint64_t epoch = 1; epoch <= due; epoch++)
        scored->files += run_directory_scored(path, directory->path, epoch) &&
                         directory->disk->look(directory->disk->context, path) == DISK_FILE;
    scored->missing = due - scored->files;
}

enum status run_directory_summary(struct run_directory *directory, const struct job *job,
                                  uint64_t run_id, const struct run_summary *summary,
                                  struct error *error)
{
    struct run_summary complete = *summary;
    complete.faults = all_faults(directory, &summary->faults);
    complete.scored.kept = job->keep_scored;
    count_scored(directory, job, summary->step, &complete.scored);
    return write_run_json(directory, job, run_id, &complete, error);
}

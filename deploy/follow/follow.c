/* follow.c - looks at run.json and the checkpoints' manifests a few times a second.
 *
 *     no run.json, or one that says stopped or failed --- start_seconds ---> exit 4, or the end
 *     running without a process that holds it, no news --- recovery_seconds ---> exit 195
 *     run.json is taken away ---> exit 195
 *     done; or stopped, failed, after it ran --- score the remaining checkpoints ---> the end */

#include "deploy/follow/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/store/checkpoint.h"
#include "common/store/event_log.h"
#include "common/store/stop_note.h"

#define LOOK_US            200000u
#define RUN_JSON_BYTES_MAX (16u << 20)
#define PROGRAM            "syncopate evaluate"

/* A checkpoint that has been looked at: the same step may come again as another file. */
struct seen {
    uint64_t step;
    struct timespec made;
};

struct follower {
    const struct follow_options *options;
    const struct follow_hooks *hooks;
    struct best best;
    struct seen *seen; /* [seen_count], owned. */
    size_t seen_count, seen_room;
    char folder[DISK_PATH_MAX]; /* Of the best. */
    char run_id[32], state[32]; /* As in run.json; state "": there is none. */
    bool ran;                   /* It was seen running, or being had. */
    bool asked;                 /* The run was asked to stop. */
    uint64_t scored;
    double began, stirred; /* When this began, and when something last happened. */
};

/* --- the run --------------------------------------------------------------------------------- */

static void look_at_run(struct follower *f)
{
    char path[DISK_PATH_MAX];
    struct json *run = NULL;
    f->state[0] = '\0';
    if (snprintf(path, sizeof path, "%s/run.json", f->options->run) >= (int)sizeof path ||
        json_read_file(&disk_posix, path, RUN_JSON_BYTES_MAX, &run, NULL) != STATUS_OK)
        return;
    const char *state = json_text(run, "state"), *id = json_text(run, "run_id");
    snprintf(f->state, sizeof f->state, "%s", state != NULL ? state : "");
    snprintf(f->run_id, sizeof f->run_id, "%s", id != NULL ? id : "");
    json_release(&run);
}

static bool is_held(const struct follower *f)
{
    struct lock_holder holder;
    return event_log_is_held(f->options->run, &holder);
}

static bool says(const struct follower *f, const char *state)
{
    return strcmp(f->state, state) == 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static void best_path(const struct follower *f, const char *name, char path[DISK_PATH_MAX])
{
    snprintf(path, DISK_PATH_MAX, "%.900s/%s", f->folder, name);
}

/* Results of an earlier evaluator; those of another run are ignored. */
static void remember_best(struct follower *f)
{
    char path[DISK_PATH_MAX];
    struct json *best = NULL;
    best_path(f, "best.json", path);
    if (json_read_file(&disk_posix, path, RUN_JSON_BYTES_MAX, &best, NULL) != STATUS_OK)
        return;
    const char *id = json_text(best, "run_id"), *by = json_text(best, "by");
    const char *ours = f->best.by == BEST_BY_LOSS ? "loss" : "accuracy";
    if (id != NULL && by != NULL && strcmp(id, f->run_id) == 0 && strcmp(by, ours) == 0) {
        f->best.known = true;
        f->best.step = json_u64(best, "step", 0);
        figures_read(score_figures_rows(), best, &f->best.test);
    }
    json_release(&best);
}

/* The model is first: best.json refers to a file that exists. */
static enum status keep_best(struct follower *f, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct json_writer writer;
    enum status status = disk_posix.make_directory(disk_posix.context, f->folder, error);
    best_path(f, "model.safetensors", path);
    if (status == STATUS_OK)
        status = f->hooks->keep(f->hooks->context, path, error);
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "run_id", f->run_id);
    json_writer_text(&writer, "by", f->best.by == BEST_BY_LOSS ? "loss" : "accuracy");
    json_writer_u64(&writer, "step", f->best.step);
    figures_write(&writer, score_figures_rows(), &f->best.test);
    json_writer_end(&writer);
    if (status == STATUS_OK && writer.failed)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        const struct disk_piece piece = {writer.text, strlen(writer.text)};
        best_path(f, "best.json", path);
        status = disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
    }
    json_writer_free(&writer);
    return status;
}

/* The note that server 0 looks for. */
static enum status ask_to_stop(struct follower *f, struct error *error)
{
    char path[DISK_PATH_MAX], line[160];
    snprintf(path, sizeof path, "%.900s/" STOP_NOTE_NAME, f->options->run);
    snprintf(line, sizeof line, "no better test %s in %u checkpoints since step %llu\n",
             f->best.by == BEST_BY_LOSS ? "loss" : "accuracy", f->best.without,
             (unsigned long long)f->best.step);
    f->asked = true;
    if (!f->options->quiet && !f->options->json)
        printf("%.*s: the run is asked to stop\n", (int)strcspn(line, "\n"), line);
    const struct disk_piece piece = {line, strlen(line)};
    return disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
}

/* The run has ended by itself meanwhile; a later session must not find the note. */
static void take_note_back(const struct follower *f)
{
    char path[DISK_PATH_MAX];
    snprintf(path, sizeof path, "%.900s/" STOP_NOTE_NAME, f->options->run);
    if (f->asked)
        unlink(path);
}

/* --- output ----------------------------------------------------------------------------------- */

static void tell_json(const struct follower *f, const struct follow_score *score, const char *path,
                      bool better)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "path", path);
    json_writer_u64(&writer, "step", score->step);
    json_writer_u64(&writer, "steps", score->steps);
    json_writer_u64(&writer, "test_examples", score->examples);
    figures_write(&writer, score_figures_rows(), &score->test);
    json_writer_u64(&writer, "not_finite", score->not_finite);
    json_writer_bool(&writer, "best", better);
    json_writer_u64(&writer, "best_step", f->best.step);
    json_writer_u64(&writer, "without_improvement", f->best.without);
    json_writer_end(&writer);
    if (!writer.failed)
        printf("%s\n", writer.text);
    json_writer_free(&writer);
}

static void tell(const struct follower *f, const struct follow_score *score, const char *path,
                 bool better)
{
    if (f->options->json)
        tell_json(f, score, path, better);
    else
        printf("step %s  test loss %.4f%s%s\n", wording_count(score->step).text, score->test.loss,
               wording_percent("  test accuracy ", score->test.accuracy, 2).text,
               better ? "  the best so far" : "");
    fflush(stdout);
}

static void tell_end_json(const struct follower *f)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "ended", f->state);
    json_writer_u64(&writer, "scored", f->scored);
    json_writer_bool(&writer, "asked_to_stop", f->asked);
    if (f->best.known)
        json_writer_u64(&writer, "best_step", f->best.step);
    else
        json_writer_null(&writer, "best_step");
    json_writer_end(&writer);
    if (!writer.failed)
        printf("%s\n", writer.text);
    json_writer_free(&writer);
}

static void tell_end(const struct follower *f)
{
    char line[DISK_PATH_MAX + 200];
    if (f->options->json) {
        tell_end_json(f);
        return;
    }
    if (f->options->quiet)
        return;
    printf("the run has ended: %s; %s scored\n", f->state,
           wording_counted(f->scored, "checkpoint", "checkpoints").text);
    snprintf(line, sizeof line,
             "the best by test %s is that of step %s%s, loss %.4f: %.600s/model.safetensors",
             f->best.by == BEST_BY_LOSS ? "loss" : "accuracy", wording_count(f->best.step).text,
             wording_percent(", ", f->best.test.accuracy, 2).text, f->best.test.loss, f->folder);
    if (f->best.known)
        wording_wrap(stdout, line, 0, 2);
}

/* --- checkpoints ----------------------------------------------------------------------------- */

/* The time of its manifest; false when there is none. */
static bool made_at(const char *path, struct timespec *made)
{
    char manifest[DISK_PATH_MAX + 32];
    struct stat there;
    snprintf(manifest, sizeof manifest, "%s/manifest.json", path);
    if (stat(manifest, &there) != 0)
        return false;
    *made = there.st_mtim;
    return true;
}

static bool is_seen(const struct follower *f, uint64_t step, const struct timespec *made)
{
    for (size_t i = f->seen_count; i-- > 0;)
        if (f->seen[i].step == step && f->seen[i].made.tv_sec == made->tv_sec &&
            f->seen[i].made.tv_nsec == made->tv_nsec)
            return true;
    return false;
}

static enum status note_seen(struct follower *f, uint64_t step, const struct timespec *made,
                             struct error *error)
{
    if (f->seen_count == f->seen_room) {
        size_t room = f->seen_room > 0 ? 2 * f->seen_room : 64;
        struct seen *seen = realloc(f->seen, room * sizeof *seen);
        if (seen == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory");
        f->seen = seen;
        f->seen_room = room;
    }
    f->seen[f->seen_count++] = (struct seen){step, *made};
    return STATUS_OK;
}

static enum status take_score(struct follower *f, const struct follow_score *score,
                              const char *path, struct error *error)
{
    bool better = best_take(&f->best, score->step, &score->test);
    f->scored++;
    enum status status = better ? keep_best(f, error) : STATUS_OK;
    tell(f, score, path, better);
    if (status == STATUS_OK && !f->asked && best_is_enough(&f->best) && says(f, "running"))
        status = ask_to_stop(f, error);
    return status;
}

static enum status score_one(struct follower *f, uint64_t step, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct timespec made, now;
    struct follow_score score;
    bool opened = false;
    checkpoint_path(path, f->options->run, step);
    if (!made_at(path, &made) || is_seen(f, step, &made))
        return STATUS_OK;
    f->stirred = clock_now_seconds();
    enum status status = f->hooks->score(f->hooks->context, path, &score, &opened, error);
    if (status == STATUS_OK)
        status = take_score(f, &score, path, error);
    else if (!opened && status != STATUS_MEMORY) {
        /* Removed under our hands, or made anew; or damaged, which the run finds out by itself. */
        status = STATUS_OK;
        if (made_at(path, &now) && now.tv_sec == made.tv_sec && now.tv_nsec == made.tv_nsec)
            fprintf(stderr, PROGRAM ": warning: %s; not scored\n", error->text);
    }
    return status == STATUS_OK ? note_seen(f, step, &made, error) : status;
}

/* All that are there, oldest first. */
static enum status score_all(struct follower *f, struct error *error)
{
    size_t count = checkpoint_list(&disk_posix, f->options->run, NULL, 0);
    uint64_t *steps = calloc(count + 1, sizeof *steps);
    if (steps == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    size_t there = checkpoint_list(&disk_posix, f->options->run, steps, count);
    enum status status = STATUS_OK;
    for (size_t i = there < count ? there : count; i-- > 0 && status == STATUS_OK;)
        status = score_one(f, steps[i], error);
    free(steps);
    return status;
}

/* --- until the end --------------------------------------------------------------------------- */

/* run.json is replaced, never taken away. */
static bool is_removed(const struct follower *f)
{
    char path[DISK_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/run.json", f->options->run);
    return f->run_id[0] != '\0' && disk_posix.look(disk_posix.context, path) == DISK_NOTHING;
}

/* -1: continue. */
static int judge(struct follower *f, bool held, double now, struct error *error)
{
    const struct follow_options *options = f->options;
    bool waits = !f->ran && !says(f, "done");
    f->ran = f->ran || held || says(f, "running");
    if (held)
        f->stirred = now;
    if (waits && !f->ran) {
        if (now - f->began < options->start_seconds)
            return -1;
        if (f->state[0] != '\0')
            return EXIT_DONE; /* The run was stopped and not resumed. */
        error_set(error, STATUS_TIMEOUT, "no run has begun in %.300s within %s", options->run,
                  wording_duration(options->start_seconds).text);
        return EXIT_START_TIMEOUT;
    }
    if (!held && f->state[0] != '\0' && !says(f, "running"))
        return EXIT_DONE;
    if (is_removed(f)) {
        error_set(error, STATUS_LOST, "%.300s/run.json is gone, and with it the run; %s scored",
                  options->run,
                  wording_counted(f->scored, "checkpoint was", "checkpoints were").text);
        return EXIT_CLUSTER_LOST;
    }
    if (held || now - f->stirred < options->recovery_seconds)
        return -1;
    error_set(error, STATUS_LOST, "no process has been training %.300s for %s; %s scored",
              options->run, wording_duration(options->recovery_seconds).text,
              wording_counted(f->scored, "checkpoint was", "checkpoints were").text);
    return EXIT_CLUSTER_LOST;
}

static int exit_code_of(enum status status)
{
    return status == STATUS_MISMATCH ? EXIT_MISMATCH
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_CANNOT_OPEN;
}

/* The run's state is read before its checkpoints: after its end all of them are there. */
static int follow(struct follower *f, struct error *error)
{
    bool said = false, remembered = false;
    int code = -1;
    while (code < 0) {
        bool held = is_held(f);
        look_at_run(f);
        if (!remembered && f->state[0] != '\0') {
            remembered = true;
            remember_best(f);
        }
        enum status status = score_all(f, error);
        if (status != STATUS_OK)
            return exit_code_of(status);
        code = judge(f, held, clock_now_seconds(), error);
        if (code < 0 && !f->ran && !said && !f->options->quiet)
            fprintf(stderr, "waiting for a run in %s, %s at most\n", f->options->run,
                    wording_duration(f->options->start_seconds).text);
        said = true;
        if (code < 0)
            usleep(LOOK_US);
    }
    return code;
}

int follow_run(const struct follow_options *options, const struct follow_hooks *hooks,
               struct error *error)
{
    struct follower f = {
        .options = options, .hooks = hooks, .best = options->rules, .began = clock_now_seconds()};
    f.stirred = f.began;
    int length = options->best != NULL
                     ? snprintf(f.folder, sizeof f.folder, "%s", options->best)
                     : snprintf(f.folder, sizeof f.folder, "%s/best", options->run);
    if (length > 900) {
        error_set(error, STATUS_INVALID, "the path is too long");
        return EXIT_CANNOT_OPEN;
    }
    int code = follow(&f, error);
    take_note_back(&f);
    if (code == EXIT_DONE)
        tell_end(&f);
    free(f.seen);
    return code;
}

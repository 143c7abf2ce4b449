/* run_directory.h - the files of a run: run.json, events.jsonl, and the claim on the folder.
 *
 *     OUT/run.json            configuration and summary; fields documented in deploy/RUNS.md, stable
 *     OUT/events.jsonl        the run's events, see event_log.h
 *     OUT/generation          see generation.h
 *     OUT/initial.safetensors given initial values, see initial.h; it may be there before the run
 *     OUT/checkpoints/        see checkpoint.h
 *     OUT/model.safetensors   the trained model
 *
 * A new folder is claimed by creating run.json with "state": "running". An unfinished run in the
 * folder is resumed if its declaration is the same (job_compare, JOB_SCOPE_RESUME). A finished
 * run of the same declaration is extended when the job has more steps, and is then an unfinished
 * run like any other. Any other run, or a folder with anything else in it, is refused and never
 * overwritten. The events of training are, beside their time in seconds:
 *
 *     start        where it begins or goes on, and how much there is to do
 *     progress     some forty an epoch, or in all where the job is shorter; `loss` and `accuracy`
 *                  are means over the examples since the one before, `epoch_loss` and
 *                  `epoch_accuracy` over those of the epoch so far
 *     epoch        an epoch's updates are all made: means over its examples as they were trained;
 *                  `examples` says over how many, `of` how many it has
 *     window       the same of a window of --report-every: see run_window.h
 *     evaluation   the test score of the model after an epoch: of every chunk as it was after
 *                  `step` batches
 *     score_dropped  a chunk passed the next such count before that score was made; up to `step`
 *     generation   training went back to `step`, undoing `recomputed` batches; later events are
 *                  repeated
 *
 * While it is open, events.jsonl is locked, so that no two runs share a folder; the lock of a
 * killed process is gone with it.
 *
 * Files that decide bits must be in order: a folder in the place of a file that will be written,
 * an unreadable run.json, or checkpoints behind a symbolic link refuse the run, before anything
 * is changed. A log is only set aside, and the run goes on.
 *
 * run.json has "state" ("running", "stopped", "done", "failed"), the configuration, the results,
 * and under "job" the whole declaration; unknown numbers are null. The results are the rows of
 * common/figures/figure_rows.inc.
 *
 * Threads: one owner. Source: proto/CONTRACT.md section 5. */

#ifndef COMMON_STORE_RUN_DIRECTORY_H
#define COMMON_STORE_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/figures/figures.h"
#include "common/job/job.h"
#include "common/store/checkpoint.h"
#include "common/store/event_log.h"
#include "common/store/run_window.h"

struct json;

/* The format of run.json, or none. STATUS_INVALID for another one of ours, by its number,
 * because its fields mean something else. `file` names it. */
enum status run_format_check(const struct json *root, const char *file, struct error *error);

/* Of controlled time, the share of leaves whose computing took longer than given, of all
 * workers; NaN without controlled time. Above PROCESSOR_BOUND the processors decided the run's
 * speed, and not the options. */
#define PROCESSOR_BOUND 0.01
double run_summary_longer(const struct run_summary *summary);

/* Seconds of waiting in all; and those of wall_seconds without a name. If more were named than
 * have passed, it would be below 0, and not hidden. */
double worker_summary_wait(const struct worker_summary *worker);
double worker_summary_other(const struct worker_summary *worker);

/* Add a figure; the first MODE_FIGURES_MAX are kept. */
void mode_figures_add(struct mode_figures *figures, const char *name, uint64_t value);

/* Nothing has been trained or scored. */
void run_summary_begin(struct run_summary *summary);
/* Its seconds as of now, from its phases. */
void run_summary_take_times(struct run_summary *summary, uint64_t now_us);
/* From run.json, all but its workers. Missing counts are 0, missing numbers NaN. */
void run_summary_read(struct run_summary *summary, const struct json *root);

struct run_directory {
    const struct disk *disk; /* Borrowed. */
    char path[DISK_PATH_MAX];
    struct event_log events;
    double started;             /* Monotonic seconds at open; event times count from here. */
    const char *page;           /* Its address without the token; NULL: none. Borrowed. */
    uint32_t keep;              /* Checkpoints: from the option, else as the run began with. */
    uint64_t reached;           /* The last step that a lost server 0 reported; 0: none was lost. */
    struct run_summary earlier; /* The results in run.json. */
};

/* What there is at the begin. */
enum run_opening {
    RUN_BEGINS,  /* No run. */
    RUN_RESUMES, /* An unfinished run. */
    RUN_EXTENDS, /* A finished run, of fewer steps. */
};

/* Claim or resume. keep: checkpoints to keep (checkpoint.h), 0 to leave it as it was. page: for
 * run.json while the run goes on, borrowed; NULL: none. Unless the run begins, run.json keeps the
 * earlier step and results until the next summary, and events are appended. STATUS_EXISTS when
 * something else is there, or a finished run that this job would not make longer, STATUS_MISMATCH
 * when it is a run of another declaration, STATUS_IO when it cannot be written. */
enum status run_directory_open(struct run_directory *directory, const struct disk *disk,
                               const char *path, const struct job *job, uint64_t run_id,
                               uint32_t keep, const char *page, enum run_opening *opening,
                               struct error *error);
void run_directory_close(struct run_directory *directory);

/* Training begins at this step: later steps of a lost server 0 are made again, and counted so. */
void run_directory_begin_at(struct run_directory *directory, uint64_t step);

/* Look only: STATUS_OK when run_directory_open would succeed; writes nothing. So a refusal comes
 * before any process is started, or anything is claimed. job may be NULL (then only checks that
 * the place is free, or holds a run), and so may opening. */
enum status run_directory_check(const struct disk *disk, const char *path, const struct job *job,
                                enum run_opening *opening, struct error *error);

/* The state of a run in run.json, for readers. */
struct run_found {
    struct job job; /* The declaration; the finder's to free. */
    enum run_state state;
    uint64_t step; /* Updates made when it was written. */
};

/* STATUS_NOT_FOUND when the directory holds no run.json, STATUS_INVALID when it is none of ours. On
 * failure there is nothing to free. */
enum status run_directory_find(struct run_found *found, const struct disk *disk, const char *path,
                               struct error *error);

/* Whether the run.json of a directory says that this run has ended, and how. */
bool run_directory_has_ended(const struct disk *disk, const char *path, uint64_t run_id,
                             enum run_state *state);

/* OUT/scored/epoch-E.safetensors; false: the path is too long. */
bool run_directory_scored(char path[DISK_PATH_MAX], const char *out, uint64_t epoch);

/* Append one event: {"time": t, "event": "name", members}: see event_members, or NULL. A line
 * that cannot be written is lost: see struct event_log. */
void run_directory_event(struct run_directory *directory, const char *name, const char *members);

/* While the run goes on: rewrite run.json as it was when the directory was opened, with these
 * faults added. */
enum status run_directory_note(struct run_directory *directory, const struct job *job,
                               uint64_t run_id, const struct run_faults *faults,
                               struct error *error);

/* Rewrite run.json. */
enum status run_directory_summary(struct run_directory *directory, const struct job *job,
                                  uint64_t run_id, const struct run_summary *summary,
                                  struct error *error);

#endif

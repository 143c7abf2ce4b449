/* run_directory.h - what a run leaves behind: run.json, events.jsonl, and the claim on the folder.
 *
 *     OUT/run.json            configuration and summary; fields documented in deploy/RUNS.md, stable
 *     OUT/events.jsonl        what happened, see event_log.h
 *     OUT/generation          see generation.h
 *     OUT/checkpoints/        see checkpoint.h
 *     OUT/model.safetensors   the trained model
 *
 * A new folder is claimed by creating run.json with "state": "running". A folder that holds an
 * unfinished run is resumed if its declaration is the same (job_compare, JOB_SCOPE_RESUME). One
 * that holds a finished run of the same declaration is extended when the job has more steps: from
 * its claim on it is an unfinished run like any other, of which that many are done. Any other
 * earlier run, or a folder with anything else in it, is refused and never overwritten.
 * Events of training are, beside their time in seconds:
 *
 *     start        where it begins or goes on, and how much there is to do
 *     progress     some forty an epoch, or in all where the job is shorter; `loss` and `accuracy`
 *                  are means over the examples since the one before, `epoch_loss` and
 *                  `epoch_accuracy` over those of the epoch so far
 *     epoch        an epoch's updates are all made: means over its examples as they were trained;
 *                  `examples` says over how many, `of` how many it has
 *     window       the same of a window of --report-every: see run_window.h
 *     evaluation   the test score of the model after an epoch: of every chunk as it was when it had
 *                  had `step` batches
 *     score_dropped  a chunk passed the next such count before that score was made; up to `step`
 *     generation   training went back to `step`, undoing `recomputed` batches; what was told beyond it
 *                  is told again
 *
 * While it is open, events.jsonl is locked, so that no two runs share a folder; the lock of a
 * process that was killed is gone with it.
 *
 * What decides bits must be in order: a folder in the place of a file that will be written, a
 * run.json that cannot be read, or checkpoints behind a symbolic link refuse the run, before
 * anything is changed. What is only a log is set aside, and the run goes on.
 *
 * run.json has "state" ("running", "stopped", "done", "failed"), the configuration, the results,
 * and under "job" the whole declaration; numbers that are not known are null. Histograms are
 * as histogram_json.h has them.
 *
 * Threads: one owner. Source: proto/CONTRACT.md section 5. */

#ifndef COMMON_STORE_RUN_DIRECTORY_H
#define COMMON_STORE_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/leaf_times.h"
#include "common/base/life.h"
#include "common/base/status.h"
#include "common/base/wait.h"
#include "common/job/job.h"
#include "common/job/staleness.h"
#include "common/job/verdict.h"
#include "common/store/checkpoint.h"
#include "common/store/event_log.h"
#include "common/store/run_window.h"

struct json;

/* How one worker spent the run. What was undone when all went back to a checkpoint, and a gradient that
 * did not count, are in the seconds, which have passed, and in nothing else. */
struct worker_summary {
    uint64_t batches;  /* That its gradients are in: steps of which it had leaves, or its own. */
    uint64_t examples; /* It computed gradients of. */
    /* Leaves of controlled time, and of these those whose computing took longer than it. */
    uint64_t controlled_leaves, longer_leaves;
    struct leaf_times leaf_times; /* What computing took, of one leaf of each of its gradients. */
    /* Of wall_seconds, from its first START to its last word. What is left of them is no part of
     * training: starting, joining the flow, being told that there is no more. */
    double wall_seconds, compute_seconds, exchange_seconds, evaluate_seconds;
    double waits[WAIT_COUNT]; /* Seconds waiting, by what for. */
    double awaited_seconds;   /* That others waited for this one, added up; where that is known. */
    uint64_t
        exchanged_bytes; /* Of payload, that it sent and received; like the seconds, all of it. */
    struct staleness_share staleness; /* Of its gradients. */
};

/* How far apart the chunks were that gradients were made from, a number for each gradient. */
struct run_spread {
    struct histogram pulls; /* Newest version less the oldest, of all chunks. */
    struct histogram
        parts; /* The same within a variable's part on one server, the largest of all. */
};

/* What went wrong and was survived; "faults" in run.json. Of the whole run, whoever was server 0:
 * one that takes a run over goes on counting where run.json has them. */
struct run_faults {
    uint64_t generation; /* How often the run went back to a checkpoint. */
    uint64_t workers_lost, servers_lost;
    uint64_t recomputed;          /* Batches undone with a lost server, and made again. */
    uint64_t fenced;              /* Messages of older generations and replaced processes. */
    uint64_t bad_gradients;       /* Async: not finite, and left out. */
    uint64_t checkpoints_skipped; /* Fell due while another was being written. */
    uint64_t checkpoints_failed;  /* Could not be written. */
    uint64_t scores_dropped;      /* Of epochs: passed the next one before they were made. */
    uint64_t events_lost;         /* Lines of events.jsonl; the run directory fills this in. */
};

/* What the mode of the job says of itself, by name; "mode_figures" in run.json. */
#define MODE_FIGURES_MAX 4
struct mode_figures {
    uint32_t count;
    struct {
        char name[32];
        uint64_t value;
    } figures[MODE_FIGURES_MAX]; /* [count] */
};

/* What of the run is in OUT/record; "record" in run.json. Of no files: nothing. */
struct run_recorded {
    uint64_t files, bytes;
    uint64_t computations; /* That were numbered. */
    bool ended;            /* Before the run: nothing is recorded ... */
    uint64_t ends_at;      /* ... behind this batch, and it cannot be made again. */
};

/* With --keep-scored, of the whole run, in OUT/scored; "scored" in run.json. run_directory_summary fills
 * it in. */
struct run_scored {
    bool kept;
    uint64_t files, missing; /* Of epochs that have ended. */
};

enum run_state { RUN_RUNNING, RUN_STOPPED, RUN_DONE, RUN_FAILED };

struct run_summary {
    enum run_state state;
    char reason[256];      /* Why it stopped or failed; empty when done. */
    const char *replay_of; /* Of a replay: the run that it was made again from; else NULL. */
    /* Updates made of every chunk; fewer than batches where several make one, and then 0 when they
     * are not known, because training failed between two checkpoints. */
    uint64_t versions;
    uint64_t step;         /* Batches done in all, earlier sessions of this run included ... */
    uint64_t session_step; /* ... and of these before this session. What follows is of it alone. */
    /* Batches that stand are counted from here on: later than session_step when a damaged checkpoint
     * took with it what was known. */
    uint64_t counted_from;
    double seconds; /* Training, evaluation and checkpoints left out. */
    double evaluation_seconds, checkpoint_seconds; /* Wall-clock during which training stood. */
    double beside_seconds;    /* In which checkpoints were written while training went on. */
    struct life life;         /* All of them, by what they went for; not begun: not known. */
    double images_per_second; /* Over the seconds of training. */
    uint64_t exchanged_bytes; /* By all workers. */
    /* Means over the examples of the last epoch, as they were trained: which epoch (from 1; 0:
     * there was none), and how many of its examples. */
    double train_loss, train_accuracy;
    uint64_t train_epoch, train_examples;
    struct run_window window; /* The last of --report-every that was whole; of number 0: none. */
    /* The last score of the model, after so many batches; NaN when there was none. */
    double test_loss, test_accuracy;
    double test_regularisation; /* Of that model, see l2.h; NaN without --l2. */
    uint64_t test_step;
    /* Of updates that stand: what was undone is in neither, see run_faults.recomputed. */
    struct staleness staleness;     /* Of all (gradient, chunk); empty where none grows stale. */
    struct verdict_counts verdicts; /* Of all servers. */
    struct run_spread spread;       /* Empty where all chunks are of one version. */
    struct mode_figures mode_figures;
    struct run_recorded record;
    struct run_scored scored;
    struct run_faults faults;
    uint32_t exit_code;      /* That server 0 ends with. */
    uint32_t processors;     /* Of server 0's host, 0: not known; and ... */
    uint32_t workers_beside; /* ... how many of the workers were on it. */
    uint32_t worker_count;
    const struct worker_summary *workers;         /* [worker_count], borrowed. */
    char parameters_sha256[65], model_sha256[65]; /* Empty until the model is written. */
};

/* The format of run.json, or none: STATUS_INVALID for another one of ours, by its number, because
 * its fields mean something else. `file` names it. */
enum status run_format_check(const struct json *root, const char *file, struct error *error);

/* Of the leaves of controlled time the share whose computing took longer than it, of all workers; NaN
 * where none was controlled. Above PROCESSOR_BOUND the run went as fast as its processors, and not as
 * it was to. */
#define PROCESSOR_BOUND 0.01
double run_summary_longer(const struct run_summary *summary);

/* Seconds waiting in all; and those that have no name, of its wall_seconds. Were more named than have
 * passed, it would be below 0, and not hidden. */
double worker_summary_wait(const struct worker_summary *worker);
double worker_summary_other(const struct worker_summary *worker);

/* One figure more; the first MODE_FIGURES_MAX are kept. */
void mode_figures_add(struct mode_figures *figures, const char *name, uint64_t value);
uint64_t mode_figures_value(const struct mode_figures *figures, const char *name); /* 0: none. */

/* From run.json, what a run that goes on keeps: all but its state, its reason, how gradients and
 * workers fared, and what was written at its end. Counts that are not there are 0, numbers NaN. */
void run_summary_read(struct run_summary *summary, const struct json *root);

struct run_directory {
    const struct disk *disk; /* Borrowed. */
    char path[DISK_PATH_MAX];
    struct event_log events;
    double started;   /* Monotonic seconds at open; event times count from here. */
    uint32_t keep;    /* Checkpoints: as asked for, else as the run was begun with. */
    uint64_t reached; /* The last step that a lost server 0 has told of; 0: none was lost. */
    struct run_summary earlier; /* What run.json said. */
};

/* What there is to begin with. */
enum run_opening {
    RUN_BEGINS,  /* Nothing. */
    RUN_RESUMES, /* An unfinished run. */
    RUN_EXTENDS, /* A finished one, of fewer steps. */
};

/* Claim or resume. keep: how many checkpoints (checkpoint.h), 0 to leave it as it was. Unless the
 * run begins, run.json keeps the earlier step and results until the next summary, and events are
 * appended. STATUS_EXISTS when something else is there, or a finished run that this job would not
 * make longer, STATUS_MISMATCH when it is a run of another declaration, STATUS_IO when it cannot be
 * written. */
enum status run_directory_open(struct run_directory *directory, const struct disk *disk,
                               const char *path, const struct job *job, uint64_t run_id,
                               uint32_t keep, enum run_opening *opening, struct error *error);
void run_directory_close(struct run_directory *directory);

/* Training begins at this step: what a lost server 0 had told beyond it is made again, and counted so. */
void run_directory_begin_at(struct run_directory *directory, uint64_t step);

/* Look only: STATUS_OK when run_directory_open would succeed; writes nothing. So a refusal can come
 * before any process is started, or anything is claimed. job may be NULL (then only checks that the
 * place is free, or holds a run), and so may opening. */
enum status run_directory_check(const struct disk *disk, const char *path, const struct job *job,
                                enum run_opening *opening, struct error *error);

/* What run.json says of a run: for whoever looks. */
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

/* Append one event: {"time": t, "event": "name", members}: see event_members_write, or NULL. A line
 * that cannot be written is lost: see struct event_log. */
void run_directory_event(struct run_directory *directory, const char *name, const char *members);

/* While the run goes on: rewrite run.json as it was when the directory was opened, with these
 * faults besides. */
enum status run_directory_note(struct run_directory *directory, const struct job *job,
                               uint64_t run_id, const struct run_faults *faults,
                               struct error *error);

/* Rewrite run.json. */
enum status run_directory_summary(struct run_directory *directory, const struct job *job,
                                  uint64_t run_id, const struct run_summary *summary,
                                  struct error *error);

#endif

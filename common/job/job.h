/* job.h - the declaration of a job: all that decides what is computed.
 *
 * The first worker declares it to server 0; all others' must be equal (field by field, and the
 * first difference is named with both values). Plain values, wholly checked by job_check before
 * anything is derived from them, because they come over the wire and from disk.
 *
 * Threads: plain values; read-only once the job runs. */

#ifndef COMMON_JOB_JOB_H
#define COMMON_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/mode.h"
#include "common/job/partition.h"
#include "common/job/schedule.h"
#include "common/job/variable.h"
#include "common/optimizer/optimizer.h"

#define ADDRESS_MAX            256 /* "host:port" with the terminating zero. */
#define JOB_ID_BYTES           64  /* An engine's name for a job, with the terminating zero. */
#define JOB_PORTS              700 /* Numbers of engines' jobs that have ports of their own. */
#define MODEL_TEXT_MAX         1024
#define JOB_SERVERS_MAX        256
#define JOB_WORKERS_MAX        1024
#define DIGEST_BYTES           32
#define JOB_CHECKPOINTS_UNSAID UINT64_MAX
#define BATCH_MAX              65536 /* Examples in an update. */

/* Whether a run can be replayed, see common/store/run_record.h. */
enum recording { RECORDING_OFF, RECORDING_ON, RECORDING_COUNT };
const char *recording_numbered(unsigned number); /* NULL behind the last. */

/* The divisor of an update's sum of gradients, see update_sum.h. */
enum loss_scale { LOSS_SCALE_EXAMPLES, LOSS_SCALE_GLOBAL_BATCH, LOSS_SCALE_COUNT };
const char *loss_scale_numbered(unsigned number); /* NULL behind the last. */

/* What a score tells. */
enum scores { SCORES_ACCURACY, SCORES_LOSS, SCORES_COUNT }; /* And the loss; the loss alone. */
const char *scores_numbered(unsigned number);               /* NULL behind the last. */

struct job {
    enum mode mode;
    bool use_locking;         /* Where the mode has something to lock. */
    bool compensation_adapts; /* The strength of delay_compensation is each element's own. */
    bool staleness_loses;     /* A gradient beyond max_staleness is lost; else computed again. */
    uint64_t seed;
    uint64_t staleness_bound; /* Of ssp: batches that workers may be apart; else 0. */

    /* The treatment of stale gradients, in modes that have them. */
    enum staleness_rate staleness_rate;
    float delay_compensation; /* Its strength; 0: none. See compensation.h. */
    uint64_t max_staleness;   /* Most that is applied; 0: any. */
    uint32_t accumulate;      /* Gradients in one update; 0 and 1: each makes its own. */

    uint32_t backup_workers; /* Workers that no step waits for, in a mode that has them; else 0. */

    char model[MODEL_TEXT_MAX]; /* Canonical layer list. */
    struct variable *variables; /* [variable_count], owned. */
    uint32_t variable_count;
    uint8_t
        initial_digest[DIGEST_BYTES]; /* Of given initial values (common/store/initial.h); or 0. */
    struct optimizer_settings optimizer;
    struct schedule schedule;
    enum loss_scale loss_scale;
    float l2; /* 2 l2 w is added to a kernel's gradient, see update.h; 0: nothing. */

    char data[256]; /* The data set's name, for people; each host may have its own. */
    uint8_t data_digest[DIGEST_BYTES]; /* Of the decoded examples. */
    uint64_t examples, test_examples;  /* In the training and test sets; the latter may be empty. */
    uint32_t score_piece; /* Test examples that are computed together, see job_score.h; 0: 1. */
    enum scores scores;
    double loss_unit;     /* Of sums of losses, a power of two; 0: LOSS_UNIT_DEFAULT. */
    uint32_t batch;       /* Examples in one update (the last one of an epoch may have fewer). */
    uint32_t micro_batch; /* Examples in one leaf. */
    uint64_t steps;       /* Updates to make in all. */
    /* Updates between checkpoints; 0: at the end and on a stop only; JOB_CHECKPOINTS_UNSAID:
     * once an epoch, and once a minute. See job_checkpoint_every and job_checkpoint_is_old. */
    uint64_t checkpoint_every;
    enum recording record; /* Whether computations are recorded. */
    bool keep_scored;      /* The model of each score is kept as a file. */
    uint64_t verify_every; /* Steps between comparisons of the replicas; 0: as of checkpoints. */
    uint64_t report_every; /* Batches in a window of windows.h; 0: no windows. */

    /* The options of controlled time of the worker that declared the job, for people: each
     * worker uses its own. Empty: not set; one that does not fit ends in "...". */
    char compute[128], slow[1024], straggle[128], pause[128];
    /* Of a run in virtual time: the cluster, in a line for people. Empty: processes are real. */
    char cluster[256];
    char policy[256]; /* The command of --policy; empty: the mode decides. */

    /* How the work is spread; decides nothing about results. */
    uint64_t chunk_bytes;
    uint32_t worker_count;
    bool colocated;        /* Each declared worker's place has a server, and no other place has. */
    bool chunks_at_layers; /* No chunk spans two layers. */
    uint32_t server_count;
    char (*servers)[ADDRESS_MAX]; /* [server_count], in order; server 0 coordinates. Owned. */
};

enum job_scope {
    JOB_SCOPE_ALL, /* A worker joining: everything must agree. */
    /* A checkpoint. How the work is spread may differ, and so may checkpoint_every and steps: no
     * update depends on them (a cosine schedule ends after its own decay_steps), so a finished
     * job can be trained longer. */
    JOB_SCOPE_RESUME,
    /* The same before the data are read: their reader compares the digest. */
    JOB_SCOPE_UNREAD,
};

/* Whether any variable is given. */
bool job_has_given(const struct job *job);

/* Whether the job knows the digests of its data, and of initial values if it has given ones. */
bool job_has_read_data(const struct job *job);

/* Free what job owns and zero it; a zeroed job is fine. */
void job_free(struct job *job);

/* On failure `to` is zeroed. The old content of `to` is not freed. */
enum status job_copy(struct job *to, const struct job *from);

/* Names unique and printable, shapes without overflow. */
enum status job_check_variables(const struct variable *variables, uint32_t count,
                                struct error *error);

/* Every field in range, names unique and printable, shapes without overflow. Any bytes in the
 * plain fields are safe to check; variables and servers must have as many entries as counted. */
enum status job_check(const struct job *job, struct error *error);

/* STATUS_MISMATCH, naming the first field that differs with the value of each side, called
 * `ours` and `theirs` in the message: "optimizer: adam in the running job, sgd in worker/1".
 * Both jobs have passed job_check. Data sets are compared by digest, not by name. */
enum status job_compare(const struct job *a, const char *ours, const struct job *b,
                        const char *theirs, enum job_scope scope, struct error *error);

/* Of all that job_compare looks at in this scope. */
void job_hash(const struct job *job, enum job_scope scope, uint8_t digest[DIGEST_BYTES]);

/* The facts of the job's mode: the only access to it. */
const struct mode_facts *job_mode(const struct job *job);
/* As --mode has it, or "policy:mine.py". */
struct mode_text job_mode_text(const struct job *job);
void job_set_mode(struct job *job, struct mode_setting setting);

/* "20", "20:lost" as --max-staleness has it; "" without. */
struct staleness_text {
    char text[32];
};
struct staleness_text job_max_staleness_text(const struct job *job);
enum status job_read_max_staleness(const char *text, struct job *job);
#define MAX_STALENESS_MOST  1000000000
#define MAX_STALENESS_WORDS "N from 1 to 1000000000, :requeue or :lost may follow"

#define ACCUMULATE_MOST 1024

/* The borders of its chunks. */
enum chunk_borders job_borders(const struct job *job);

/* Whether the place of a worker owns chunks: it has a server as well, and cannot leave. */
bool job_place_owns(const struct job *job, uint32_t worker);

/* Whether an update may be made of several gradients; and whether one is made of the pending
 * ones after so many batches, at the end of an epoch or of the job. */
bool job_accumulates(const struct job *job);
bool job_closes_at(const struct job *job, uint64_t batches);

/* The version after so many batches. `said`: the version in a message, which has one only where
 * batches do not tell. */
uint64_t job_version(const struct job *job, uint64_t batches, uint64_t said);

/* Reset the settings that the mode does not use. */
void job_forget_unused(struct job *job);

/* --- derived ------------------------------------------------------------------------------- */

/* A job's model is this and the name that a program gives itself. Its command is in no file: a run's folder must not be
 * able to start anything. */
#define JOB_MODEL_PROGRAM "program: "
bool job_asks_program(const struct job *job);

/* Updates in one epoch: ceil(examples / batch). */
uint64_t job_steps_per_epoch(const struct job *job);

/* Updates between the checkpoints that are due by number; 0: none is. */
uint64_t job_checkpoint_every(const struct job *job);
/* Whether one is due by the clock, so many seconds after the last or after training began. Never
 * where the job sets the updates between them. */
bool job_checkpoint_is_old(const struct job *job, double seconds);

/* Updates between two points of a job's progress: forty an epoch, or forty in all where the job
 * is shorter, so that its curve, and the time of reaching a loss, can be read off them. */
uint64_t job_progress_steps(const struct job *job);

/* The place of update number `step` (from 0): epoch, position in the epoch's order, size. */
struct batch_range {
    uint64_t epoch;    /* From 0. */
    uint64_t first;    /* First example's place in the epoch's order. */
    uint32_t examples; /* batch, or fewer at the end of an epoch. */
    uint32_t leaves;   /* ceil(examples / micro_batch). */
};
struct batch_range job_batch(const struct job *job, uint64_t step);

/* Epochs that the job has updates in. */
uint64_t job_epochs(const struct job *job);

/* The updates [first, end) of an epoch (from 0) and their examples: not all of the epoch where
 * the job ends within it. */
struct epoch_range {
    uint64_t first, end;
    uint64_t examples;
};
struct epoch_range job_epoch(const struct job *job, uint64_t epoch);

/* The arrays beside the values: the rule's slots, and behind them the mean square of adaptive
 * compensation. The job has passed job_check. */
struct slots job_slots(const struct job *job);
/* First value of every element of a slot. */
float job_slot_initial(const struct job *job, uint32_t slot);

/* Whether the model is scored after so many batches: after each epoch, and at the end. */
bool job_scores_at(const struct job *job, uint64_t batches);

/* The number of such counts above `after` and below `before`. */
uint64_t job_scores_between(const struct job *job, uint64_t after, uint64_t before);

/* The epoch, from 1, of the batch before: a score at this count is that epoch's. */
uint64_t job_epoch_ended(const struct job *job, uint64_t batches);

/* Of the first so many batches of the job, modulo 2^64. */
uint64_t job_examples_before(const struct job *job, uint64_t step);

/* Most leaves of any step of the job. */
uint32_t job_leaves_max(const struct job *job);

/* Examples of the batch in the leaves [first_leaf, first_leaf + leaf_count); they start with the
 * batch's example number first_leaf * micro_batch. */
uint32_t job_node_examples(const struct job *job, struct batch_range batch, uint32_t first_leaf,
                           uint32_t leaf_count);

#endif

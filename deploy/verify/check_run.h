/* check_run.h - one cluster under examination: the engine with made-up work and random times, a
 * witness that looks on, faults as planned, and what is thought of how its processes ended.
 *
 * Threads: one. Units: virtual microseconds. */

#ifndef DEPLOY_VERIFY_CHECK_RUN_H
#define DEPLOY_VERIFY_CHECK_RUN_H

#include "deploy/engine/engine.h"
#include "deploy/engine/simulated_storage.h"
#include "deploy/verify/fault_injector.h"
#include "deploy/verify/fault_plan.h"
#include "deploy/verify/oracle.h"
#include "deploy/verify/random_wires.h"
#include "deploy/verify/simulated_work.h"

struct check_run_options {
    uint64_t seed;
    const struct job *job; /* Servers and workers as it says. */
    enum work_kind kind;
    uint32_t owners_a_server;
    bool owners_inline;
    struct network_faults faults;
    uint64_t queue_delay_us;       /* Between the threads of a process, at most. */
    uint64_t start_within_us;      /* Processes start in any order within this time. */
    uint64_t compute_us;           /* One node, at most twice this. */
    const double *slow;            /* [worker_count] times as long; NULL for all alike. */
    struct simulated_disk **disks; /* [server_count] several may be the same. */
    uint64_t generation;           /* Of the run directory; 0: it has none. */
    uint64_t disk_latency_us;      /* When nothing slows them down. */
    uint64_t disks_us;             /* What the time is for them when it is 0 for the engine. */
    const char *restore;
    struct deadlines deadlines;
    enum worker_loss on_worker_loss;
    uint32_t bad_one_in;           /* See simulated_work.h. */
    const struct fault_plan *plan; /* NULL: nothing goes wrong. */
    uint64_t stop_after_us;        /* See engine.h. */
    uint32_t stop_host;
    uint64_t time_limit_us; /* After calm_us of the plan, if there is one. */
    struct engine_tamper tamper;
    bool overlap; /* See engine.h. */
    bool scarce;  /* Allocations may fail, see oracle.h. */
    bool verbose; /* Print what the processes log. */
};

/* What is known of a process that the engine need not know. */
struct checked_process {
    bool excused;           /* What happened to it may end it otherwise than the others. */
    uint64_t payload_bytes; /* That have come, and that its cores still refer to. */
};

struct check_run {
    struct check_run_options options;
    struct engine engine;
    struct simulated_work work;
    struct oracle oracle;
    struct network_faults wires; /* As they are now. */
    struct simulated_storage storage;
    struct fault_injector injector;
    struct checked_process **examined; /* [examined_count] by number of the process. */
    uint32_t examined_count;
    bool finished; /* Somebody has left at the end of the job, the first one at ... */
    uint64_t finished_us;
    bool announced;    /* That the job has ended was said to somebody. */
    bool left_unheard; /* A worker has left, and no server 0 knows it. */
};

enum status check_run_init(struct check_run *check_run, const struct check_run_options *options,
                           struct error *error);
void check_run_free(struct check_run *check_run);

/* Until everybody is over, a promise is broken or the time limit passes. The exit code all have
 * in common; -1 after a failure, which examination->witness names. */
int check_run_execute(struct check_run *check_run);

/* --- for its parts --------------------------------------------------------------------------- */

void check_run_excuse(struct check_run *check_run, const struct simulated_process *process);
bool check_run_excuses(const struct check_run *check_run, const struct simulated_process *process);

/* How many times as long a process takes for what it computes. */
double check_run_slow(const struct check_run *check_run, const struct simulated_process *process);

#endif

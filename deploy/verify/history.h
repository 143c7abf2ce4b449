/* history.h - one random history of a simulated cluster, all of it drawn from one seed: a job, its
 * servers and workers, queues and wires, perhaps a clean stop or two and other servers and workers
 * that go on from there; and what must be true at its end.
 *
 *     history_draw(&plan, seed);                       plan may be changed before it is run
 *     history_run(&plan, &result);
 *
 * At the end everybody has left with the same exit code within the time limit, and the checkpoint
 * on server 0's disk is whole and holds the right bits of values and slots: in sync mode those of
 * the same job trained serially and never stopped; in async mode every batch exactly once.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_HISTORY_H
#define DEPLOY_VERIFY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "deploy/verify/check_run.h"

#define HISTORY_PHASES_MAX  3
#define HISTORY_WORKERS_MAX 8
#define HISTORY_SERVERS_MAX 4

/* One start of the job, to its end or to a clean stop. */
struct history_phase {
    uint32_t servers, workers;
    uint32_t owners_a_server;
    bool owners_inline, shared_disk;
    bool colocated; /* Servers and workers of a number share a place. */
    uint64_t chunk_bytes;
    uint64_t stop_after_us; /* After the start; 0: never. */
    uint32_t stop_process;
    double slow[HISTORY_WORKERS_MAX];
    bool faulty;
    struct fault_plan faults;
};

struct history_plan {
    uint64_t seed;
    struct job job; /* Servers and workers are the phases'. */
    enum work_kind kind;
    uint32_t bad_one_in; /* Batches without a finite gradient; 0: none. */
    struct deadlines deadlines;
    struct network_faults faults;
    uint64_t queue_delay_us, start_within_us, compute_us, disk_latency_us;
    uint64_t time_limit_us; /* Of a phase after its last fault; 0: what its deadlines allow. */
    enum worker_loss on_worker_loss;
    struct history_phase phases[HISTORY_PHASES_MAX];
    uint32_t phase_count;
    struct engine_tamper tamper;
    bool overlap; /* Gradients leave while the rest of them is computed; never drawn. */
    /* Allocations may fail, see tests/lib/memory/scarcity.h: a phase that fails is gone on from in peace,
     * and `failure` says why it did. */
    bool scarce;
    bool verbose;
};

struct history_result {
    bool failed;
    char failure[512];
    uint32_t phases;  /* Started. */
    uint32_t stopped; /* Ended by a clean stop. */
    uint32_t ended;   /* Ended otherwise before the last step, as they may with such faults. */
    uint64_t events, virtual_us;
    uint8_t digest[HASH_BYTES]; /* Of all that happened, see transcript.h. */
    uint64_t healing_us; /* Longest from the end of all faults to the end of all processes. */
    uint64_t processes, faults[FAULT_KIND_COUNT]; /* That have struck. */
    uint64_t early;              /* Messages with gradients that were still computed. */
    uint64_t gone_on;            /* Steps that were begun before all parameters were back. */
    uint64_t paced;              /* Gradients part of which waited so that workers keep together. */
    struct oracle_counts counts; /* Over all phases. */
    struct network_counts network;                /* The same. */
    uint64_t worker_batches[HISTORY_WORKERS_MAX]; /* Of the last phase. */
    uint64_t checkpoints;                         /* There at the end. */
    uint64_t kept;                                /* Models that were scored, there at the end. */
};

/* STATUS_MEMORY. The caller frees the plan. */
enum status history_draw(struct history_plan *plan, uint64_t seed);
void history_free(struct history_plan *plan);

void history_run(const struct history_plan *plan, struct history_result *result);

/* "sync adam mixed steps=7 leaves=4 ps=2 workers=3 owners=2 stops=1", for people. */
void history_describe(const struct history_plan *plan, char *text, size_t size);

#endif

/* simulation.h - a cluster of any size in virtual time with real learning: the engine, with all its
 * tables made from a job, a described cluster and its failures.
 *
 *     learning.h    the workers' gradients     timetable.h         the times within processes
 *     nics.h        the ways of messages       fault_schedule.h    failures
 *     folder.h      the run directory          breakdown.h         each part of every time
 *     (--explain)
 *     tracing.h     spans (--trace)               policy_child.h     decisions of a child (--policy)
 *
 *     simulation_init(&simulation, &options, &error);
 *     exit_code = simulation_run(&simulation, &error);
 *     simulation_free(&simulation);
 *
 * The results, learning curve, staleness and bits, depend only on the job, the cluster, the
 * failures and the job's seed. The run directory is like that of a real run, with virtual seconds.
 *
 * Threads: one, but for simulation_request_stop, which any thread may call. Ownership: borrows what
 *          the options point to. Units: as they are named. */

#ifndef DEPLOY_SIMULATE_SIMULATION_H
#define DEPLOY_SIMULATE_SIMULATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/cluster/cluster.h"
#include "deploy/cluster/failures.h"
#include "deploy/cluster/layout.h"
#include "deploy/engine/engine.h"
#include "deploy/simulate/breakdown.h"
#include "deploy/simulate/fault_schedule.h"
#include "deploy/simulate/folder.h"
#include "deploy/simulate/learning.h"
#include "deploy/simulate/nics.h"
#include "deploy/simulate/policy_child.h"
#include "deploy/simulate/timetable.h"
#include "deploy/simulate/tracing.h"

struct board_place;
struct simulation_options {
    const struct options *options;
    struct workload *workload; /* Read. */
    const struct cluster *cluster;
    const struct failures *failures;
    const char *out;                 /* The run directory, checked. */
    const struct board_place *board; /* For TensorBoard; see board_place.h. */
    /* Called some thousand times a second. */
    void (*look)(void *context);
    /* Failures as they happen; at_ns since the first START. */
    void (*say)(void *context, uint64_t at_ns, const char *text);
    void *context;
    FILE *explain;             /* The output of breakdown.h; NULL: none. */
    struct recorder *recorder; /* For the activities of all processes; NULL: none. Borrowed. */
};

struct simulation {
    struct simulation_options options;
    struct engine engine;
    struct layout layout;
    struct nics *nics;
    struct fault_schedule schedule;
    struct timetable timetable;
    struct breakdown breakdown;
    struct tracing tracing;
    struct learning learning;
    struct folder folder;
    struct policy_child policy; /* Of --policy. */
    bool engine_made, fault_schedule_made, timetable_made;
    atomic_int stop_code; /* The exit code of a requested clean stop; 0: none. */
    bool stopping;        /* Server 0 has the request. */
    double stop_by;       /* By clock_now_seconds: the run is then cut off. */
    bool replaced;        /* A server 0 was killed. */
    double real_seconds;  /* Of simulation_run. */
};

/* The approximate memory of such a cluster in bytes:
 *
 *     data  +  (W + S) x 128 KiB  +  W x 4 models  +  (4 + slots) models  +  a wire for each pair
 *
 * Each worker has the parameters and its current gradients; servers share one set of them, with
 * slots, the gradient being applied, and a copy for a checkpoint. */
uint64_t simulation_memory(const struct workload *workload, uint32_t workers, uint32_t servers);

/* STATUS_INVALID: the cluster or the failures do not fit the job. STATUS_MEMORY. */
enum status simulation_init(struct simulation *simulation, const struct simulation_options *options,
                            struct error *error);
void simulation_free(struct simulation *simulation);

/* An enum exit_code; when it is not EXIT_DONE, error holds one line. */
int simulation_run(struct simulation *simulation, struct error *error);

/* Virtual time from the first START to the last process's end. */
uint64_t simulation_ns(const struct simulation *simulation);

/* A clean stop at a checkpoint, with EXIT_INTERRUPTED or EXIT_TERMINATED. */
void simulation_request_stop(struct simulation *simulation, int exit_code);

#endif

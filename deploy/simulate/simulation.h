/* simulation.h - a cluster of any size in virtual time that learns for real: the engine, with all its
 * tables made from a job, a described cluster and what is to go wrong in it.
 *
 *     learning.h    what workers compute       timetable.h   how long everything in a process takes
 *     nics.h       how messages travel        fault_schedule.h     what goes wrong
 *     folder.h      the run directory          breakdown.h       each term of every time (--explain)
 *     tracing.h     spans (--trace)
 *
 *     simulation_init(&simulation, &options, &error);
 *     exit_code = simulation_run(&simulation, &error);
 *     simulation_free(&simulation);
 *
 * What comes of it, learning curve, staleness, bits, follows from the job, the cluster, the outages and
 * the job's seed alone; and the run directory is as that of a real run, with virtual seconds.
 *
 * Threads: one, but for simulation_request_stop, which any may call. Ownership: borrows what the options
 * point to. Units: as they are named. */

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
#include "deploy/simulate/timetable.h"
#include "deploy/simulate/tracing.h"

struct board_place;
struct simulation_options {
    const struct options *options;
    struct workload *workload; /* Read. */
    const struct cluster *cluster;
    struct failures *failures;       /* Gets what is drawn. */
    const char *out;                 /* The run directory, checked. */
    const struct board_place *board; /* For TensorBoard; see board_place.h. */
    /* Called now and then, some thousand times a second. */
    void (*look)(void *context);
    /* What has gone wrong, as it does; at_ns since the first START. */
    void (*told)(void *context, uint64_t at_ns, const char *text);
    void *context;
    FILE *explain;             /* Each term of every time goes there; NULL: nowhere. */
    struct recorder *recorder; /* Of what all do and wait for; NULL: nobody's. Borrowed. */
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
    bool engine_made, fault_schedule_made, timetable_made;
    atomic_int stop_code; /* Somebody has asked for a clean stop; 0: nobody. */
    bool stopping;        /* And server 0 has been told. */
    double stop_by;       /* By clock_now_seconds it ends then, as it is. */
    bool replaced;        /* A server 0 was killed. */
    double real_seconds;  /* That simulation_run took. */
};

/* Bytes of memory that such a cluster takes, about:
 *
 *     data  +  (W + S) x 128 KiB  +  W x 4 models  +  (4 + slots) models  +  a wire for each pair
 *
 * Each worker has the parameters and the gradients that it has under way; servers have theirs once, with
 * slots, what is being applied, and a copy for a checkpoint. */
uint64_t simulation_memory(const struct workload *workload, uint32_t workers, uint32_t servers);

/* STATUS_INVALID: the cluster or the outages do not suit the job. STATUS_MEMORY. */
enum status simulation_init(struct simulation *simulation, const struct simulation_options *options,
                            struct error *error);
void simulation_free(struct simulation *simulation);

/* An enum exit_code; when it is not EXIT_DONE, error holds one line. */
int simulation_run(struct simulation *simulation, struct error *error);

/* Virtual time from the first START on, to the last process's end. */
uint64_t simulation_ns(const struct simulation *simulation);

/* A clean stop at a checkpoint, with EXIT_INTERRUPTED or EXIT_TERMINATED. */
void simulation_request_stop(struct simulation *simulation, int exit_code);

#endif

/* virtual_job.h - a job in virtual time whose messages share cards, and whose workers compute nothing, in no
 * time unless there is a timing: what it takes is the network's, and the timing's.
 *
 * Each server has one chunk, as large as the others'; in sync each worker has one leaf of each step.
 *
 * Threads: one. Ownership: freed by virtual_job_close. Units: virtual nanoseconds, bytes. */

#ifndef TESTS_LIB_CLUSTERS_VIRTUAL_JOB_H
#define TESTS_LIB_CLUSTERS_VIRTUAL_JOB_H

#include "deploy/engine/engine.h"
#include "deploy/engine/simulated_storage.h"
#include "deploy/simulate/nics.h"

#define VIRTUAL_STEPS_MOST 1000

struct virtual_job_options {
    enum mode mode;
    uint32_t servers, workers;
    uint64_t chunk_floats;         /* Of each server; a multiple of 16. */
    uint64_t steps;                /* Updates, at most VIRTUAL_STEPS_MOST in sync. */
    uint64_t seed;                 /* Of the cards. */
    const struct cluster *cluster; /* NULL: as cluster_init has it. */
    struct channel channel;        /* In the cards' place, if there is one. */
    struct timing timing;          /* If there is one; else nothing takes a process time. */
    bool unchecked;                /* As in engine_options. */
};

struct virtual_job {
    struct engine engine;
    struct job job;
    struct layout layout;
    struct nics *nics; /* NULL with another carrier. */
    struct simulated_disk disk;
    struct simulated_disk *disks[JOB_SERVERS_MAX];
    struct simulated_storage storage;
    uint64_t gradients;
    uint64_t begun_ns[VIRTUAL_STEPS_MOST]; /* When the first gradient of each step was computed. */
};

void virtual_job_open(struct virtual_job *it, const struct virtual_job_options *options);
/* To the end of it, which it must come to. */
void virtual_job_run(struct virtual_job *it);
void virtual_job_close(struct virtual_job *it);

#endif

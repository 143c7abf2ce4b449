/* crowd.h - hundreds of workers in a few processes, each a client with threads of its own, and what
 * they find: updates made. Their gradients are 1 for every example
 * and element, so that with SGD and a learning rate of 1 each update takes 1 off every value: what
 * a model lost or had twice can be read from it.
 *
 * Counts lie in memory that all processes share, so they may be read while the crowd works and
 * after it was killed.
 *
 * Threads: the functions from one, before it has others (it forks). */

#ifndef TESTS_LIB_CROWD_H
#define TESTS_LIB_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/job/job.h"

#define CROWD_PROCESSES_MAX 16

struct crowd_worker {
    atomic_uint_fast64_t updates;
    atomic_bool here;     /* Has had work. */
    atomic_uint delay_us; /* Slow: sleeps so long in every update. */
    atomic_int exit_code; /* -1: it works. */
    char end[128];        /* Why it has no more work. */
};

struct crowd {
    const struct job *job;        /* With its server's address. Outlives the crowd. */
    const char *transport;        /* "tcp", or "shm", which is then a must. */
    struct crowd_worker *workers; /* [count] */
    uint32_t count;               /* Workers, by their task index. */
    pid_t processes[CROWD_PROCESSES_MAX];
    uint32_t process_count;
};

/* Memory for the counts of so many workers. Ends the program when there is none, as all here. */
void crowd_init(struct crowd *crowd, const struct job *job, const char *transport, uint32_t count);

/* A process with workers [first, first + count). Returns its number. */
uint32_t crowd_start(struct crowd *crowd, uint32_t first, uint32_t count);

/* Whether all workers of [first, first + count) have had work, within so many seconds. */
bool crowd_wait(const struct crowd *crowd, uint32_t first, uint32_t count, double seconds);

/* Whether all processes end by themselves within so many seconds, and no worker with anything but
 * 0. */
bool crowd_ends(struct crowd *crowd, double seconds);

/* Kills what is left; the counts stay. */
void crowd_end(struct crowd *crowd);
void crowd_free(struct crowd *crowd);

uint64_t crowd_updates(const struct crowd *crowd, uint32_t first, uint32_t count);

#endif

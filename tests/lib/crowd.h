/* crowd.h - hundreds of workers in a few processes, each a client with threads of its own, and what
 * they find: updates made, and every wait for an answer. Their gradients are 1 for every example
 * and element, so that with SGD and a learning rate of 1 each update takes 1 off every value: what
 * a model lost or had twice can be read from it.
 *
 * Counts lie in memory that all processes share, so they may be read while the crowd works and
 * after it was killed. A phase is a part of the time that is counted apart.
 *
 * Threads: the functions from one, before it has others (it forks). Units: microseconds in waits.
 */

#ifndef TESTS_LIB_CROWD_H
#define TESTS_LIB_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/job/job.h"

#define CROWD_PHASES        4
#define CROWD_PROCESSES_MAX 16
#define CROWD_WAITS         320 /* Classes of waits: eight to each doubling. */

struct crowd_worker {
    atomic_uint_fast64_t updates[CROWD_PHASES];
    atomic_uint_fast64_t waits[CROWD_PHASES][CROWD_WAITS];
    atomic_uint_fast64_t longest_us[CROWD_PHASES];
    atomic_uint_fast64_t since_us; /* Waits since then; 0: does not wait. */
    atomic_bool here;              /* Has had work. */
    atomic_uint delay_us;          /* Slow: sleeps so long in every update. */
    atomic_int exit_code;          /* -1: it works. */
    char end[128];                 /* Why it has no more work. */
};

struct crowd_shared {
    atomic_uint phase;
    struct crowd_worker workers[]; /* [count] */
};

struct crowd {
    const struct job *job; /* With its server's address. Outlives the crowd. */
    const char *transport; /* "tcp", or "shm", which is then a must. */
    struct crowd_shared *shared;
    uint32_t count; /* Workers, by their task index. */
    pid_t processes[CROWD_PROCESSES_MAX];
    uint32_t process_count;
};

/* Memory for the counts of so many workers. Ends the program when there is none, as all here. */
void crowd_init(struct crowd *crowd, const struct job *job, const char *transport, uint32_t count);

/* A process with workers [first, first + count). Returns its number. */
uint32_t crowd_start(struct crowd *crowd, uint32_t first, uint32_t count);

/* Whether all workers of [first, first + count) have had work, within so many seconds. */
bool crowd_wait(const struct crowd *crowd, uint32_t first, uint32_t count, double seconds);

void crowd_enter(struct crowd *crowd, uint32_t phase);

/* Whether all processes end by themselves within so many seconds, and no worker with anything but
 * 0. */
bool crowd_ends(struct crowd *crowd, double seconds);

/* Kills what is left; the counts stay. */
void crowd_end(struct crowd *crowd);
void crowd_free(struct crowd *crowd);

uint64_t crowd_updates(const struct crowd *crowd, uint32_t phase, uint32_t first, uint32_t count);

/* Of all waits of these workers in a phase: a quantile, and the longest, one that goes on included.
 */
double crowd_wait_quantile(const struct crowd *crowd, uint32_t phase, uint32_t first,
                           uint32_t count, double share);
double crowd_wait_longest(const struct crowd *crowd, uint32_t phase, uint32_t first,
                          uint32_t count);

#endif

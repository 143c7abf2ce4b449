/* hostile.h - real servers and honest workers, for others to be hostile to.
 *
 *     struct hostile h;
 *     hostile_open(&h, MODE_ASYNC, 400, 1);      training is on
 *     ... and whatever a test does to h.servers
 *     hostile_end_well(&h);                      the job has ended as if nobody else had been there
 *     hostile_close(&h);
 *
 * Every gradient of an honest worker takes 1 off every value (crowd.h), so the final model says
 * exactly what was applied. Files lie in scratch.h's directory.
 *
 * Threads: one. Errors: fail the test. */

#ifndef TESTS_LIB_HOSTILE_H
#define TESTS_LIB_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/file/disk.h"
#include "common/job/job.h"
#include "tests/lib/crowd.h"

#define HOSTILE_HONEST   3     /* Workers. */
#define HOSTILE_SERVERS  2     /* At most. */
#define HOSTILE_ELEMENTS 4096  /* Of the only variable, ... */
#define HOSTILE_CHUNK    4096  /* ... in chunks of so many bytes. */
#define HOSTILE_DEADLINE 120.0 /* Seconds for whatever is waited for. */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOSTILE_SANITIZED 1 /* All are slower. */
#else
#define HOSTILE_SANITIZED 0
#endif

struct hostile {
    struct job job;
    struct variable variable;
    char servers[HOSTILE_SERVERS][ADDRESS_MAX];
    char out[DISK_PATH_MAX], log[HOSTILE_SERVERS][DISK_PATH_MAX];
    pid_t pids[HOSTILE_SERVERS];
    uint32_t server_count;
    struct crowd crowd;
    uint64_t updates; /* That the job has. */
};

/* Servers, and workers with a job of so many updates, once their first batches are in. */
void hostile_open(struct hostile *hostile, enum mode mode, uint64_t updates, uint32_t server_count);
void hostile_close(struct hostile *hostile);

/* How long the honest workers take for an update besides; so that a job lasts as long as a test. */
void hostile_pace(const struct hostile *hostile, uint32_t delay_us);

/* The share of the job that is done. */
double hostile_progress(const struct hostile *hostile);

/* False when the job is over; fails the test when a server has ended with anything but 0. */
bool hostile_goes_on(const struct hostile *hostile);

/* The job ends by itself with the right model, and all processes with 0. */
void hostile_end_well(struct hostile *hostile);

/* Whether a server's log has this text. */
bool hostile_logged(const struct hostile *hostile, uint32_t server, const char *text);

#endif

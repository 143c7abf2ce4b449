/* fault_schedule.h - applies failures (deploy/cluster/failures.h) to a cluster in virtual time,
 * with the effects that they have on real processes.
 *
 *     kill       kill -9: its last messages may be lost, and so are bytes not yet on its disk. A
 *                replacement is a new process: a server loads, a worker joins. A process that stays
 *                away is given up by the others after their deadlines
 *     stop       SIGSTOP and SIGCONT: messages wait meanwhile, and then arrive at once
 *     partition  messages between two sides wait, as in TCP, and arrive when it is over
 *     join       one more worker is started
 *     leave      a worker is asked to leave: it finishes what it has pushed
 *
 * During a partition the connecting side gives up after 5 s, like its TCP in a real run: messages
 * on their way are lost, and are requested again within 2 s after its end. The listening side (a
 * server) keeps its connections until 30 s have passed, or until it hears again from the peer that
 * they are closed. Messages on them are lost meanwhile. (TCP's own timers are not modelled: after a
 * short partition delayed messages continue at once.) The kernel of a stopped process answers for
 * it: its connections stay.
 *
 * Times count from the first START, also in a cluster whose server 0 is replaced. There
 * are failures until the end of the job: when server 0 has left, or at the first message in which
 * it announces the end. Later failures are left out, and counted, and so are failures of ended
 * processes. After a request to stop there are no new failures, and current ones
 * end in time: the stop needs a checkpoint, which might never come while servers keep dying.
 *
 *     fault_schedule_init(&schedule, &options, &error);
 *     engine_options.faults = fault_schedule_faults(&schedule);     restore has to be "auto"
 *     engine_init(&engine, &engine_options, &error);
 *     engine_run(&engine);
 *     fault_schedule_finish(&schedule);
 *
 * Threads: the engine's. Units: virtual nanoseconds. */

#ifndef DEPLOY_SIMULATE_FAULT_SCHEDULE_H
#define DEPLOY_SIMULATE_FAULT_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"
#include "deploy/cluster/failures.h"
#include "deploy/engine/faults.h"

#define FAULT_SCHEDULE_TEXT_MAX (2 * FAILURE_TEXT_MAX)

struct engine;

struct fault_schedule_options {
    struct engine *engine; /* Uninitialized until it runs; it and the rest outlive this. */
    const struct failures *failures;
    const struct job *job; /* The engine's. */

    /* Optional: a line for each failure, its end, or its omission; at_ns since the first START. */
    void (*say)(void *context, uint64_t at_ns, const char *text);
    void *context;

    /* Optional: called at the first START. */
    void (*started)(void *started_context);
    void *started_context;
};

struct fault_schedule {
    struct fault_schedule_options options;
    struct failure_event *events; /* [count]; `next` is the index of the next one. */
    size_t count, next;
    struct fault_schedule_partition {
        bool in_use;
        uint32_t ways[2]; /* Ids in the network. */
    } * partitions;       /* By index of the failure. */
    /* By host: killed, with a replacement to come. */
    bool awaited[JOB_SERVERS_MAX + JOB_WORKERS_MAX];
    uint32_t awaited_count;
    bool started, stopping, over;
    uint64_t start_ns;
    uint64_t struck[FAILURE_EVENT_KIND_COUNT], left_out[FAILURE_EVENT_KIND_COUNT];
};

/* STATUS_INVALID: one line names the impossible failure. STATUS_MEMORY. */
enum status fault_schedule_init(struct fault_schedule *schedule,
                                const struct fault_schedule_options *options, struct error *error);
void fault_schedule_free(struct fault_schedule *schedule);

/* The table by which the engine drives it. */
struct faults fault_schedule_faults(struct fault_schedule *schedule);

/* Server 0 has announced the end of the job. */
void fault_schedule_note_over(struct fault_schedule *schedule);

/* A stop was requested: there are no more failures. */
void fault_schedule_stop(struct fault_schedule *schedule);

/* After the engine has run: failures planned after the end are left out, too. */
void fault_schedule_finish(struct fault_schedule *schedule);

/* "2 kills, 1 restart, 1 join; 1 left out", or "nothing": into text[size]. */
void fault_schedule_sum_up(const struct fault_schedule *schedule, char *text, size_t size);

#endif

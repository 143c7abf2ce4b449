/* fault_schedule.h - lets a cluster in virtual time suffer its outages (deploy/cluster/failures.h), with what
 * they would mean for real processes.
 *
 *     kill       kill -9: what it had said last may be lost, and what its disk had not written is. Another
 *                process in its place is as new: a server loads, a worker enrols. Who stays away is given
 *                up by the others after their own deadlines
 *     stop       SIGSTOP and SIGCONT: what comes meanwhile waits, and then is there all at once
 *     partition  between two sides messages wait, as TCP keeps them, and get there when it is over
 *     join       one worker more than there were is started
 *     leave      a worker is asked to: it finishes what it has pushed
 *
 * Of two sides that hear nothing of each other who connects gives up after 5 s, as its TCP does in a real
 * run: what was under way is lost, and is asked for again when they are back, some time within 2 s of the
 * end of it. Who listens (a server) takes its connections for whole until 30 s have passed, or until it is
 * heard again and told that nobody is there: what it says on them meanwhile goes nowhere. (TCP's own timers are not modelled: what a short partition
 * held up goes on at once.) The kernel of a process that is stopped answers for it: its connections
 * stay.
 *
 * Times count from the first START, that of a cluster whose server 0 comes back included. What --faults
 * draws is drawn as time passes, until the job is over, which it is when server 0 has left by itself,
 * or, told by whoever hears it, when it says that it will:
 * then, or when whom it would strike is over, an outage is left out, and counted. Who asks for a stop wants
 * a checkpoint, which never comes when servers die faster than they write it: from then on nothing more
 * goes wrong, and what has is over in its time.
 *
 *     fault_schedule_init(&strikes, &options, &error);
 *     engine_options.faults = fault_schedule_faults(&strikes);     restore: "auto", or nobody loads
 *     engine_init(&engine, &engine_options, &error);
 *     engine_run(&engine);
 *     fault_schedule_finish(&strikes);
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
    struct engine *engine; /* Need not be anything before it runs; it and the rest outlive this. */
    struct failures *failures; /* Gets what is drawn. */
    const struct job *job;     /* The engine's. */

    /* Optional: what was struck, is over, or was left out, in a line; at_ns since the first START. */
    void (*told)(void *context, uint64_t at_ns, const char *text);
    void *context;

    /* Optional: now is what times count from. */
    void (*started)(void *started_context);
    void *started_context;
};

struct fault_schedule {
    struct fault_schedule_options options;
    struct failure_event *events; /* [count] of which `next` is the first that is still to come. */
    size_t count, next;
    struct fault_schedule_partition {
        bool in_use;
        uint32_t ways[2]; /* Numbers of the network's. */
    } * partitions;       /* [partition_count] by index of the outage. */
    size_t partition_count;
    bool awaited[JOB_SERVERS_MAX + JOB_WORKERS_MAX]; /* By host: killed, and another will come. */
    uint32_t awaited_count;
    bool started, drawing, stopping, over;
    uint64_t start_ns;
    uint64_t struck[FAILURE_EVENT_KIND_COUNT], left_out[FAILURE_EVENT_KIND_COUNT];
};

/* STATUS_INVALID: one line says which of the outages cannot be. STATUS_MEMORY. */
enum status fault_schedule_init(struct fault_schedule *schedule,
                                const struct fault_schedule_options *options, struct error *error);
void fault_schedule_free(struct fault_schedule *schedule);

/* The table by which the engine drives it. */
struct faults fault_schedule_faults(struct fault_schedule *schedule);

/* Server 0 has said how the job ends. */
void fault_schedule_note_over(struct fault_schedule *schedule);

/* A stop has been asked for: nothing is struck any more. */
void fault_schedule_stop(struct fault_schedule *schedule);

/* The engine has run: what the end came before is left out, too. */
void fault_schedule_finish(struct fault_schedule *schedule);

/* How many workers there may be in the end, of so many declared: with the most that may be drawn. */
uint32_t fault_schedule_workers_most(const struct failures *failures, uint32_t workers);

/* "2 kills, 1 restart, 1 join; 1 left out", or "nothing": into text[size]. */
void fault_schedule_sum_up(const struct fault_schedule *schedule, char *text, size_t size);

#endif

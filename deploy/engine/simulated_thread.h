/* simulated_thread.h - a thread of a simulated process, where threads share processors (timing.h): it
 * does one thing at a time, and what comes meanwhile waits, in order.
 *
 *     if (thread->busy)                                  it is told later
 *         thread_wait(thread, event)
 *     else if (thread_begin(...))                        takes time: DUE_WORKED says when it is done
 *         thread->doing = *event
 *     else                                               takes none
 *         its effect, now
 *
 * Without processors nothing takes a thread time, and so none is ever busy.
 *
 * Threads: one. Ownership: owns what waits, and what it is doing. */

#ifndef DEPLOY_ENGINE_SIMULATED_THREAD_H
#define DEPLOY_ENGINE_SIMULATED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deploy/engine/event_queue.h"
#include "deploy/engine/timing.h"

struct engine;
struct simulated_process;

/* By number in its process. */
enum {
    THREAD_FRONT,   /* The router, or a worker's session. */
    THREAD_TRAINER, /* A worker's. */
    THREAD_OWNERS,  /* A server's, from here on. */
};

struct simulated_thread {
    bool busy;
    bool on_processor; /* It has not done its work yet. */
    uint32_t task;     /* Then: see processors.h. */
    enum labour labour;
    uint64_t began_ns, work_ns;
    struct due doing;      /* What has its effect then; without an item: ... */
    struct outgoing *said; /* ... what leaves it then. */
    struct due *waiting;   /* [capacity] ring. */
    size_t capacity, first, count;
};

/* Thread `number` of a process begins: true. False where there is no work for it. */
bool thread_begin(struct engine *engine, const struct simulated_process *process, uint32_t number,
                  enum labour labour, uint64_t bytes);
/* The same with work that is known. */
void thread_work(struct engine *engine, const struct simulated_process *process, uint32_t number,
                 enum labour labour, uint64_t work_ns);
/* It has done it, and is free: how long it took. */
uint64_t thread_done(struct engine *engine, const struct simulated_process *process,
                     uint32_t number);

/* Take over what an event has, for later; and the next such event; false: none. */
void thread_wait(struct simulated_thread *thread, struct due *event);
bool thread_next(struct simulated_thread *thread, struct due *event);

/* It is stopped; goes on; ends, with all that is in it, or is freed. */
void thread_hold(struct engine *engine, const struct simulated_thread *thread);
void thread_release(struct engine *engine, const struct simulated_thread *thread);
void thread_end(struct engine *engine, const struct simulated_process *process, uint32_t number);
void thread_free(struct simulated_thread *thread);

/* Work that is done by now becomes events. */
void threads_advance(struct engine *engine, uint64_t now_ns);

#endif

/* simulated_thread.h - a thread of a simulated process, where threads share processors (timing.h):
 * it does one thing at a time, and later events wait, in order.
 *
 *     if (thread->busy)                                  it is handled later
 *         thread_wait(thread, event)
 *     else if (thread_begin(...))                        takes time: DUE_WORKED comes at its end
 *         thread->doing = *event
 *     else                                               takes none
 *         its effect, now
 *
 * Without processors no work takes a thread time, and no thread is ever busy.
 *
 * Threads: one. Ownership: owns the waiting events and the current one. */

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
    bool on_processor; /* Its work is not done yet. */
    uint32_t task;     /* If so: see processors.h. */
    enum labour labour;
    uint64_t began_ns, work_ns;
    struct due doing;      /* Its effect comes at the end; without an item: */
    struct outgoing *said; /* this is sent then. */
    struct due *waiting;   /* [capacity] ring. */
    size_t capacity, first, count;
};

/* Thread `number` of a process begins: true. False when there is no work for it. */
bool thread_begin(struct engine *engine, const struct simulated_process *process, uint32_t number,
                  enum labour labour, uint64_t bytes);
/* The same with known work. */
void thread_work(struct engine *engine, const struct simulated_process *process, uint32_t number,
                 enum labour labour, uint64_t work_ns);
/* It is done, and free: returns its duration. */
uint64_t thread_done(struct engine *engine, const struct simulated_process *process,
                     uint32_t number);

/* Take over the content of an event, for later; and the next such event; false: none. */
void thread_wait(struct simulated_thread *thread, struct due *event);
bool thread_next(struct simulated_thread *thread, struct due *event);

/* It is stopped; resumes; ends, with all its content, or is freed. */
void thread_hold(struct engine *engine, const struct simulated_thread *thread);
void thread_release(struct engine *engine, const struct simulated_thread *thread);
void thread_end(struct engine *engine, const struct simulated_process *process, uint32_t number);
void thread_free(struct simulated_thread *thread);

/* Turn finished work into events. */
void threads_advance(struct engine *engine, uint64_t now_ns);

#endif

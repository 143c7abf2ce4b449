/* simulated_thread.c - work on shared processors. A task's tag is its process and thread. */

#include "deploy/engine/simulated_thread.h"

#include <assert.h>
#include <stdlib.h>

#include "common/process/log.h"
#include "deploy/engine/engine.h"

static struct processors *processors_of(const struct engine *e)
{
    return e->options.timing.processors;
}

/* --- work ------------------------------------------------------------------------------------ */

void thread_work(struct engine *engine, const struct simulated_process *process, uint32_t number,
                 enum labour labour, uint64_t work_ns)
{
    const struct timing *timing = &engine->options.timing;
    struct simulated_thread *t = &process->threads[number];
    assert(!t->busy);
    t->busy = t->on_processor = true;
    t->labour = labour;
    t->began_ns = engine->now_ns;
    t->work_ns = work_ns;
    t->task =
        processors_begin(timing->processors, engine->now_ns, timing->host(timing->context, process),
                         work_ns, (uint64_t)process->number << 32 | number);
}

bool thread_begin(struct engine *engine, const struct simulated_process *process, uint32_t number,
                  enum labour labour, uint64_t bytes)
{
    const struct timing *timing = &engine->options.timing;
    uint64_t work_ns = timing->processors != NULL
                           ? timing->handling_ns(timing->context, process, labour, bytes)
                           : 0;
    if (work_ns > 0)
        thread_work(engine, process, number, labour, work_ns);
    return work_ns > 0;
}

static bool has_event(const struct simulated_thread *t)
{
    return t->doing.parcel != NULL || t->doing.item != NULL;
}

static uint64_t leave(const struct engine *e, const struct simulated_process *p,
                      struct simulated_thread *t, uint64_t worked_ns)
{
    const struct timing *timing = &e->options.timing;
    uint64_t took_ns = e->now_ns - t->began_ns;
    t->busy = false;
    const struct labour_done done = {
        .labour = t->labour,
        .thread = (uint32_t)(t - p->threads),
        .worked_ns = worked_ns,
        .took_ns = took_ns,
        .waited_ns = has_event(t) ? t->began_ns - t->doing.time_ns : 0,
        .parcel = t->doing.parcel,
        .item = t->said != NULL ? t->said : t->doing.item,
    };
    if (timing->worked != NULL)
        timing->worked(timing->context, p, &done);
    return took_ns;
}

uint64_t thread_done(struct engine *engine, const struct simulated_process *process,
                     uint32_t number)
{
    struct simulated_thread *t = &process->threads[number];
    assert(t->busy && !t->on_processor);
    return leave(engine, process, t, t->work_ns);
}

void threads_advance(struct engine *engine, uint64_t now_ns)
{
    struct processors *processors = processors_of(engine);
    processors_advance(processors, now_ns);
    for (uint64_t tag; processors_take(processors, &tag);) {
        struct due event = {.time_ns = now_ns,
                            .kind = DUE_WORKED,
                            .process = (uint32_t)(tag >> 32),
                            .number = (uint32_t)tag};
        engine->processes[event.process]->threads[event.number].on_processor = false;
        event_queue_add(&engine->queue, &event);
    }
}

void thread_hold(struct engine *engine, const struct simulated_thread *thread)
{
    if (thread->on_processor)
        processors_hold(processors_of(engine), engine->now_ns, thread->task);
}

void thread_release(struct engine *engine, const struct simulated_thread *thread)
{
    if (thread->on_processor)
        processors_release(processors_of(engine), engine->now_ns, thread->task);
}

/* --- waiting events --------------------------------------------------------------------------- */

static void grow(struct simulated_thread *t)
{
    size_t larger = 2 * t->capacity + 16;
    struct due *waiting = malloc(larger * sizeof *waiting);
    if (waiting == NULL) {
        log_error("out of memory for waiting events");
        exit(EXIT_TRAINING_FAILED);
    }
    for (size_t i = 0; i < t->count; i++)
        waiting[i] = t->waiting[(t->first + i) % t->capacity];
    free(t->waiting);
    t->waiting = waiting;
    t->capacity = larger;
    t->first = 0;
}

void thread_wait(struct simulated_thread *thread, struct due *event)
{
    struct simulated_thread *t = thread;
    if (t->count == t->capacity)
        grow(t);
    t->waiting[(t->first + t->count++) % t->capacity] = *event;
    event->parcel = NULL;
    event->item = NULL;
}

bool thread_next(struct simulated_thread *thread, struct due *event)
{
    struct simulated_thread *t = thread;
    if (t->count == 0)
        return false;
    *event = t->waiting[t->first];
    t->first = (t->first + 1) % t->capacity;
    t->count--;
    return true;
}

static void forget(struct simulated_thread *t)
{
    event_free(&t->doing);
    if (t->said != NULL)
        frame_release(t->said->packet.payload);
    free(t->said);
    t->said = NULL;
    for (struct due event; thread_next(t, &event);)
        event_free(&event);
}

void thread_end(struct engine *engine, const struct simulated_process *process, uint32_t number)
{
    struct simulated_thread *t = &process->threads[number];
    uint64_t worked_ns = t->work_ns;
    if (t->on_processor)
        worked_ns = processors_stop(processors_of(engine), engine->now_ns, t->task);
    t->on_processor = false;
    if (t->busy)
        leave(engine, process, t, worked_ns);
    forget(t);
}

void thread_free(struct simulated_thread *thread)
{
    forget(thread);
    free(thread->waiting);
}

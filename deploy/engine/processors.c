/* processors.c - processor sharing: each host counts the time that a permanently running task would
 * have had. A task is done when that count has grown by its work. The tasks of a host are in a heap
 * by their end, and so are the hosts. */

#include "deploy/engine/processors.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/status.h"
#include "common/process/log.h"

#define FRACTION_BITS 40
#define ENOUGH        ((share)1 << (FRACTION_BITS - 16)) /* The tolerated deficit. */
#define NOWHERE       UINT32_MAX

/* Nanoseconds of a processor in 2^-40. A year has 2^55 ns: with n 2^12 tasks products stay below
 * 2^108. */
typedef unsigned __int128 share;

/* Numbers of future ends, the soonest first. */
struct heap {
    uint32_t *items; /* [count] */
    size_t count, capacity;
};

enum task_state { TASK_FREE, TASK_RUNNING, TASK_HELD, TASK_DONE };

struct task {
    enum task_state state;
    uint32_t host;
    uint32_t at; /* In its host's heap; the next one that is free. */
    uint64_t order;
    uint64_t tag;
    share work;
    share end; /* In its host's count; while it is suspended, the remaining work. */
};

struct host {
    uint64_t processors;
    struct heap running; /* Tasks. */
    share had;           /* By a task that ran all the time, ... */
    uint64_t had_ns;     /* ... at this time. */
    uint64_t next_ns;    /* When its first task is done. */
    uint32_t at;         /* In the heap of hosts that run something; NOWHERE. */
};

struct processors {
    struct host *hosts; /* [host_count] */
    uint32_t host_count;
    struct task *tasks; /* [task_count] */
    size_t task_count, task_capacity;
    uint32_t free_task; /* NOWHERE: none. */
    struct heap busy;   /* Hosts. */
    struct heap done;   /* Tasks, in no order but that of their heap. */
    uint64_t begun;
};

/* --- heaps ----------------------------------------------------------------------------------- */

/* The operations of a heap's items: their order, and storing their places. */
struct heap_kind {
    bool (*sooner)(const struct processors *p, uint32_t a, uint32_t b);
    uint32_t *(*place)(struct processors *p, uint32_t item);
};

static bool task_sooner(const struct processors *p, uint32_t a, uint32_t b)
{
    const struct task *x = &p->tasks[a], *y = &p->tasks[b];
    return x->end != y->end ? x->end < y->end : x->order < y->order;
}

static bool task_began_sooner(const struct processors *p, uint32_t a, uint32_t b)
{
    return p->tasks[a].order < p->tasks[b].order;
}

static uint32_t *task_place(struct processors *p, uint32_t task)
{
    return &p->tasks[task].at;
}

static bool host_sooner(const struct processors *p, uint32_t a, uint32_t b)
{
    uint64_t x = p->hosts[a].next_ns, y = p->hosts[b].next_ns;
    return x != y ? x < y : a < b;
}

static uint32_t *host_place(struct processors *p, uint32_t host)
{
    return &p->hosts[host].at;
}

static const struct heap_kind RUNNING = {task_sooner, task_place};
static const struct heap_kind DONE = {task_began_sooner, task_place};
static const struct heap_kind BUSY = {host_sooner, host_place};

static void heap_put(struct processors *p, const struct heap_kind *kind, struct heap *heap,
                     size_t at, uint32_t item)
{
    heap->items[at] = item;
    *kind->place(p, item) = (uint32_t)at;
}

/* The item at this place may be too soon or too late for it. */
static void heap_settle(struct processors *p, const struct heap_kind *kind, struct heap *heap,
                        size_t at)
{
    uint32_t item = heap->items[at];
    while (at > 0 && kind->sooner(p, item, heap->items[(at - 1) / 2])) {
        heap_put(p, kind, heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && kind->sooner(p, heap->items[child + 1], heap->items[child]))
            child++;
        if (!kind->sooner(p, heap->items[child], item))
            break;
        heap_put(p, kind, heap, at, heap->items[child]);
    }
    heap_put(p, kind, heap, at, item);
}

static void out_of_memory(void)
{
    log_error("out of memory for the processors' work");
    exit(EXIT_TRAINING_FAILED);
}

static void heap_add(struct processors *p, const struct heap_kind *kind, struct heap *heap,
                     uint32_t item)
{
    uint32_t *items = array_room(heap->items, heap->count, &heap->capacity, sizeof *items);
    if (items == NULL)
        out_of_memory();
    heap->items = items;
    heap->items[heap->count++] = item;
    heap_settle(p, kind, heap, heap->count - 1);
}

static void heap_remove(struct processors *p, const struct heap_kind *kind, struct heap *heap,
                        size_t at)
{
    *kind->place(p, heap->items[at]) = NOWHERE;
    uint32_t last = heap->items[--heap->count];
    if (at == heap->count)
        return;
    heap->items[at] = last;
    heap_settle(p, kind, heap, at);
}

/* --- hosts ----------------------------------------------------------------------------------- */

/* Its count, at this time. */
static void count_up(struct host *host, uint64_t now_ns)
{
    assert(now_ns >= host->had_ns);
    share passed = (share)(now_ns - host->had_ns) << FRACTION_BITS;
    if (host->running.count > host->processors)
        passed = passed * host->processors / host->running.count;
    host->had += passed;
    host->had_ns = now_ns;
}

/* When its first task is done, the count being that of had_ns. */
static uint64_t first_end_ns(const struct processors *p, const struct host *host)
{
    const struct task *task = &p->tasks[host->running.items[0]];
    if (task->end <= host->had + ENOUGH)
        return host->had_ns;
    share left = task->end - host->had - ENOUGH, each = (share)1 << FRACTION_BITS;
    if (host->running.count > host->processors) {
        left *= host->running.count;
        each *= host->processors;
    }
    return host->had_ns + (uint64_t)((left + each - 1) / each);
}

/* The number of running tasks has changed. */
static void look_ahead(struct processors *p, uint32_t number)
{
    struct host *host = &p->hosts[number];
    if (host->running.count == 0) {
        if (host->at != NOWHERE)
            heap_remove(p, &BUSY, &p->busy, host->at);
        return;
    }
    host->next_ns = first_end_ns(p, host);
    if (host->at == NOWHERE)
        heap_add(p, &BUSY, &p->busy, number);
    else
        heap_settle(p, &BUSY, &p->busy, host->at);
}

struct processors *processors_create(const uint64_t *counts, uint32_t host_count)
{
    struct processors *p = calloc(1, sizeof *p);
    struct host *hosts = calloc((size_t)host_count + 1, sizeof *hosts);
    if (p == NULL || hosts == NULL)
        out_of_memory();
    for (uint32_t i = 0; i < host_count; i++) {
        assert(counts[i] >= 1 && counts[i] <= 1 << 16);
        hosts[i] = (struct host){.processors = counts[i], .at = NOWHERE};
    }
    p->hosts = hosts;
    p->host_count = host_count;
    p->free_task = NOWHERE;
    return p;
}

void processors_free(struct processors *processors)
{
    struct processors *p = processors;
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->host_count; i++)
        free(p->hosts[i].running.items);
    free(p->hosts);
    free(p->tasks);
    free(p->busy.items);
    free(p->done.items);
    free(p);
}

uint32_t processors_running(const struct processors *processors, uint32_t host)
{
    assert(host < processors->host_count);
    return (uint32_t)processors->hosts[host].running.count;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static uint32_t new_task(struct processors *p)
{
    uint32_t number = p->free_task;
    if (number != NOWHERE) {
        p->free_task = p->tasks[number].at;
        return number;
    }
    struct task *tasks = array_room(p->tasks, p->task_count, &p->task_capacity, sizeof *tasks);
    if (tasks == NULL)
        out_of_memory();
    p->tasks = tasks;
    return (uint32_t)p->task_count++;
}

static void forget_task(struct processors *p, uint32_t number)
{
    p->tasks[number].state = TASK_FREE;
    p->tasks[number].at = p->free_task;
    p->free_task = number;
}

/* `end` is the remaining work. */
static void run(struct processors *p, uint64_t now_ns, uint32_t number)
{
    struct task *task = &p->tasks[number];
    struct host *host = &p->hosts[task->host];
    count_up(host, now_ns);
    task->state = TASK_RUNNING;
    task->end += host->had;
    heap_add(p, &RUNNING, &host->running, number);
    look_ahead(p, task->host);
}

/* Then `end` is the remaining work. */
static void leave(struct processors *p, uint64_t now_ns, uint32_t number)
{
    struct task *task = &p->tasks[number];
    struct host *host = &p->hosts[task->host];
    count_up(host, now_ns);
    task->state = TASK_HELD;
    heap_remove(p, &RUNNING, &host->running, task->at);
    task->end = task->end > host->had ? task->end - host->had : 0;
    look_ahead(p, task->host);
}

static struct task *task_of(struct processors *p, uint32_t task)
{
    assert(task < p->task_count && p->tasks[task].state != TASK_FREE);
    return &p->tasks[task];
}

uint32_t processors_begin(struct processors *processors, uint64_t now_ns, uint32_t host,
                          uint64_t work_ns, uint64_t tag)
{
    struct processors *p = processors;
    assert(host < p->host_count);
    uint32_t number = new_task(p);
    share work = (share)(work_ns < PROCESSORS_WORK_MOST ? work_ns : PROCESSORS_WORK_MOST)
                 << FRACTION_BITS;
    p->tasks[number] =
        (struct task){.host = host, .order = p->begun++, .tag = tag, .work = work, .end = work};
    run(p, now_ns, number);
    return number;
}

void processors_hold(struct processors *processors, uint64_t now_ns, uint32_t task)
{
    if (task_of(processors, task)->state == TASK_RUNNING)
        leave(processors, now_ns, task);
}

void processors_release(struct processors *processors, uint64_t now_ns, uint32_t task)
{
    if (task_of(processors, task)->state == TASK_HELD)
        run(processors, now_ns, task);
}

uint64_t processors_stop(struct processors *processors, uint64_t now_ns, uint32_t task)
{
    struct processors *p = processors;
    struct task *t = task_of(p, task);
    if (t->state == TASK_RUNNING)
        leave(p, now_ns, task);
    else if (t->state == TASK_DONE)
        heap_remove(p, &DONE, &p->done, t->at);
    share left = t->end;
    forget_task(p, task);
    return (uint64_t)((t->work - left) >> FRACTION_BITS);
}

/* --- time ------------------------------------------------------------------------------------ */

uint64_t processors_next_ns(const struct processors *processors)
{
    const struct processors *p = processors;
    return p->busy.count == 0 ? UINT64_MAX : p->hosts[p->busy.items[0]].next_ns;
}

/* All of a host that is done by now. */
static void finish(struct processors *p, uint32_t number, uint64_t now_ns)
{
    struct host *host = &p->hosts[number];
    count_up(host, now_ns);
    while (host->running.count > 0) {
        uint32_t first = host->running.items[0];
        if (p->tasks[first].end > host->had + ENOUGH)
            break;
        heap_remove(p, &RUNNING, &host->running, 0);
        p->tasks[first].state = TASK_DONE;
        p->tasks[first].end = 0;
        heap_add(p, &DONE, &p->done, first);
    }
    look_ahead(p, number);
}

void processors_advance(struct processors *processors, uint64_t now_ns)
{
    struct processors *p = processors;
    assert(now_ns <= processors_next_ns(p));
    while (p->busy.count > 0 && processors_next_ns(p) == now_ns)
        finish(p, p->busy.items[0], now_ns);
}

bool processors_take(struct processors *processors, uint64_t *tag)
{
    struct processors *p = processors;
    if (p->done.count == 0)
        return false;
    uint32_t first = p->done.items[0];
    heap_remove(p, &DONE, &p->done, 0);
    *tag = p->tasks[first].tag;
    forget_task(p, first);
    return true;
}

/* fault_injector.c - one function for each kind of fault that needs more than a line; what cannot
 * befall whoever is at the host now is left out. */

#include "deploy/verify/fault_injector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/verify/engine.h"

#define HOSTS_MAX           32       /* Of a history. */
#define CONNECTION_HOLDS_US 5000000u /* ZeroMQ's heartbeats give a silent connection up. */
#define BACK_MAX_US         2000000u
#define SLOW_MAX_US         5000000u /* For a node; a worker slower than that seems stuck. */

static const struct fault *fault_of(const struct engine *e, uint32_t fault)
{
    return &e->options.plan->faults[fault];
}

void fault_injector_begin(struct engine *engine)
{
    struct engine *e = engine;
    const struct fault_plan *plan = e->options.plan;
    e->injector.lose = e->options.faults.lose;
    for (uint32_t i = 0; i < plan->count; i++) {
        e->injector.struck[i].partitions[0] = NO_PARTITION;
        e->injector.struck[i].partitions[1] = NO_PARTITION;
        if (plan->faults[i].time == FAULT_AT)
            engine_later(e, plan->faults[i].at_us, EVENT_FAULT, 0, i);
    }
    engine_later(e, plan->calm_us, EVENT_CALM, 0, 0);
}

void fault_injector_delivered(struct engine *engine, enum message_kind kind)
{
    struct engine *e = engine;
    const struct fault_plan *plan = e->options.plan;
    uint32_t count = ++e->injector.delivered[kind];
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].time == FAULT_MESSAGES && plan->faults[i].message == kind &&
            plan->faults[i].count == count)
            engine_later(e, 0, EVENT_FAULT, 0, i);
}

/* A kill while a file is being written, at some moment until it is durable, or shortly after. */
void fault_injector_wrote(struct engine *engine, const struct simulated_process *process)
{
    struct engine *e = engine;
    uint64_t most_us = 1 + 3 * e->options.disks[process->index]->latency_us;
    for (uint32_t i = 0; i < e->options.plan->count; i++) {
        struct struck *struck = &e->injector.struck[i];
        if (fault_of(e, i)->kind != FAULT_TORN || !struck->armed ||
            struck->process != process->number)
            continue;
        struck->armed = false;
        struck->due = true;
        engine_later(e, random_below(&e->random, (uint32_t)most_us), EVENT_FAULT, 0, i);
    }
}

/* --- each kind ------------------------------------------------------------------------------- */

/* Workers that are there and will stay. */
static uint32_t workers_left(const struct engine *e)
{
    uint32_t left = 0;
    for (uint32_t i = engine_servers(e); i < e->host_count; i++)
        left += e->at[i] != NULL && !host_set_has(&e->injector.gone, i) && !e->at[i]->excused;
    return left;
}

static bool crash(struct engine *e, const struct fault *fault, struct simulated_process *p)
{
    e->injector.began_again = e->injector.began_again || fault->host == 0;
    engine_kill(e, p);
    engine_later(e, fault->for_us, EVENT_START, fault->host, 0);
    return true;
}

static bool tear(struct engine *e, const struct fault *fault, struct struck *struck,
                 struct simulated_process *p)
{
    if (struck->due) { /* The moment has come. */
        struck->due = false;
        if (p->number == struck->process)
            crash(e, fault, p);
        return false;
    }
    struck->armed = true;
    struck->process = p->number;
    if (e->options.disk_latency_us == 0)
        e->options.disks[p->index]->latency_us += 1000;
    return true;
}

static bool lose_worker(struct engine *e, const struct fault *fault, struct simulated_process *p)
{
    if (p->is_server || !e->started || workers_left(e) < 2)
        return false;
    host_set_add(&e->injector.gone, fault->host);
    engine_kill(e, p);
    return true;
}

static bool leave(struct engine *e, const struct fault *fault, struct simulated_process *p)
{
    if (p->is_server || !e->started || workers_left(e) < 2)
        return false;
    host_set_add(&e->injector.gone, fault->host);
    p->excused = true;
    engine_later(e, 0, EVENT_LEAVE, p->number, 0);
    return true;
}

static bool replace(struct engine *e, const struct fault *fault, struct simulated_process *p)
{
    engine_stop(e, p);
    e->injector.two_coordinators = e->injector.two_coordinators || fault->host == 0;
    p->excused = true;
    /* A lock of a host that is not heard of may run out, as those of network disks do. */
    if (p->is_server && fault->number % 2 == 0)
        simulated_disk_unlock(e->options.disks[p->index], p->number);
    engine_later(e, fault->number % fault->for_us, EVENT_START, fault->host, 1);
    return true;
}

static bool twin(struct engine *e, const struct fault *fault, struct simulated_process *p)
{
    if (fault->host == 0)
        return false; /* It would open the same run directory, which is locked. */
    engine_start(e, fault->host, false)->excused = true;
    p->excused = true; /* If it has not joined yet, or others think it is dead. */
    return true;
}

static bool slow_down(struct engine *e, struct struck *struck, struct simulated_process *p)
{
    if (p->is_server || 20 * p->slow * (double)e->options.compute_us > SLOW_MAX_US)
        return false;
    struck->slow = p->slow;
    p->slow *= 20;
    return true;
}

/* Somebody who says anything, or an honest worker that thinks it is still in yesterday's run. */
static bool meet_stranger(struct engine *e, const struct fault *fault, struct struck *struck)
{
    bool worker = fault->number % 2 == 0 && fault->host >= engine_servers(e);
    struct simulated_process *p = engine_start(e, worker ? fault->host : STRANGERS_HOST, false);
    if (worker)
        p->foreign_run = fault->number | 1;
    p->excused = true;
    struck->process = p->number;
    return true;
}

static bool part(struct engine *e, const struct fault *fault, struct struck *struck, bool both_ways)
{
    struct host_set hosts = host_set_of_bits(fault->hosts), others = host_set_copy(&hosts);
    host_set_invert(&others);
    struck->partitions[0] = simulated_network_part(&e->network, &hosts, &others, fault->hold);
    if (both_ways)
        struck->partitions[1] = simulated_network_part(&e->network, &others, &hosts, fault->hold);
    host_set_free(&hosts);
    host_set_free(&others);
    return true;
}

static bool join(struct engine *e)
{
    uint32_t host = engine_servers(e) + engine_workers(e) + e->injector.joined;
    if (host >= HOSTS_MAX)
        return false;
    e->injector.joined++;
    engine_start(e, host, true);
    return true;
}

/* Strike whoever is at the host; false when there is nothing to be done to it. */
static bool strike(struct engine *e, const struct fault *fault, struct struck *struck,
                   struct simulated_process *p)
{
    struct simulated_disk *disk = e->options.disks[p->is_server ? p->index : 0];
    switch (fault->kind) {
    case FAULT_CRASH:
        return crash(e, fault, p);
    case FAULT_TORN:
        return tear(e, fault, struck, p);
    case FAULT_LOST:
        return lose_worker(e, fault, p);
    case FAULT_PAUSE:
        engine_stop(e, p);
        return true;
    case FAULT_REPLACE:
        return replace(e, fault, p);
    case FAULT_TWIN:
        return twin(e, fault, p);
    case FAULT_CUT:
        engine_cut_off(e, fault->host, fault->for_us % BACK_MAX_US);
        return true;
    case FAULT_PARTITION:
        return part(e, fault, struck, true);
    case FAULT_ONE_WAY:
        return part(e, fault, struck, false);
    case FAULT_LOSS:
        e->network.faults.lose = 0.1;
        return true;
    case FAULT_STUCK:
        if (p->is_server)
            return false;
        p->stuck = p->excused = true;
        return true;
    case FAULT_SLOW:
        return slow_down(e, struck, p);
    case FAULT_JOIN:
        return join(e);
    case FAULT_STRANGER:
        return meet_stranger(e, fault, struck);
    case FAULT_LEAVE:
        return leave(e, fault, p);
    case FAULT_DISK:
        disk->full = fault->number % 3 == 0;
        disk->read_only = fault->number % 3 == 1;
        disk->failing = fault->number % 3 == 2 ? 0.5 : 0;
        return true;
    case FAULT_SLOW_DISK:
        disk->latency_us += 1000 + fault->number % 1000000;
        return true;
    default:
        return false;
    }
}

void fault_injector_strike(struct engine *engine, uint32_t fault)
{
    struct engine *e = engine;
    const struct fault *what = fault_of(e, fault);
    struct struck *struck = &e->injector.struck[fault];
    struct simulated_process *p = e->at[what->host];
    bool again = struck->active;
    if (e->injector.calm || (again && !struck->due))
        return;
    if (!again && fault + 1 < e->options.plan->count && what[1].time == FAULT_FOLLOWS)
        engine_later(e, what[1].at_us, EVENT_FAULT, 0, fault + 1);
    if (p == NULL)
        return;
    if (e->options.verbose)
        printf("%12.6f fault %u: %s\n", (double)e->now_us * 1e-6, fault, fault_name(what->kind));
    if (!strike(e, what, struck, p) || again)
        return;
    e->injector.counts[what->kind]++;
    struck->active = true;
    if (what->kind != FAULT_STRANGER)
        struck->process = p->number;
    engine_later(e, what->for_us, EVENT_HEAL, 0, fault);
}

/* --- the end of each ------------------------------------------------------------------------- */

static void heal_partition(struct engine *e, const struct fault *fault, struct struck *struck)
{
    /* What waited for so long has been given up with its connection, if anybody looked after it. */
    if (fault->for_us > CONNECTION_HOLDS_US && fault->number % 2 == 0) {
        struct host_set hosts = host_set_of_bits(fault->hosts), others = host_set_copy(&hosts);
        host_set_invert(&others);
        simulated_network_cut(&e->network, e->now_us, &hosts, &others, 100000);
        host_set_free(&hosts);
        host_set_free(&others);
    }
    for (uint32_t i = 0; i < 2; i++) {
        simulated_network_heal(&e->network, e->now_us, struck->partitions[i]);
        struck->partitions[i] = NO_PARTITION;
    }
}

static void heal(struct engine *e, const struct fault *fault, struct struck *struck)
{
    struct simulated_process *p = e->processes[struck->process];
    struct simulated_disk *disk = e->options.disks[p->is_server ? p->index : 0];
    switch (fault->kind) {
    case FAULT_PAUSE:
    case FAULT_REPLACE:
        engine_continue(e, p);
        break;
    case FAULT_PARTITION:
    case FAULT_ONE_WAY:
        heal_partition(e, fault, struck);
        break;
    case FAULT_LOSS:
        e->network.faults.lose = e->injector.lose;
        break;
    case FAULT_STRANGER:
        engine_kill(e, p);
        break;
    case FAULT_STUCK:
        engine_kill(e, p);
        engine_later(e, 1000, EVENT_START, fault->host, 0);
        break;
    case FAULT_SLOW:
        p->slow = struck->slow;
        break;
    case FAULT_DISK:
        disk->full = disk->read_only = false;
        disk->failing = 0;
        break;
    case FAULT_SLOW_DISK:
        disk->latency_us = e->options.disk_latency_us;
        break;
    default:
        break;
    }
}

void fault_injector_heal(struct engine *engine, uint32_t fault)
{
    struct struck *struck = &engine->injector.struck[fault];
    if (!struck->active || struck->armed || struck->due)
        return;
    struck->active = false;
    if (engine->options.verbose)
        printf("%12.6f fault %u is over\n", (double)engine->now_us * 1e-6, fault);
    heal(engine, fault_of(engine, fault), struck);
}

void fault_injector_calm(struct engine *engine)
{
    struct engine *e = engine;
    for (uint32_t i = 0; i < e->options.plan->count; i++) {
        e->injector.struck[i].armed = e->injector.struck[i].due = false;
        fault_injector_heal(e, i);
    }
    e->injector.calm = true;
    if (e->options.verbose)
        printf("%12.6f no more faults\n", (double)e->now_us * 1e-6);
    uint32_t hosts = engine_servers(e) + engine_workers(e);
    if (e->injector.began_again) /* A new server 0 waits for everybody. */
        host_set_free(&e->injector.gone);
    for (uint32_t host = 0; host < hosts && !e->failed; host++)
        if (e->at[host] == NULL && !host_set_has(&e->injector.gone, host) &&
            !host_set_has(&e->left, host))
            engine_start(e, host, true);
}

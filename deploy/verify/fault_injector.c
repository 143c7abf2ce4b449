/* fault_injector.c - one function for each kind of fault that needs more than a line; what cannot
 * befall whoever is at the host now is left out. */

#include "deploy/verify/fault_injector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/verify/check_run.h"
#include "deploy/verify/unknown_peer.h"

#define HOSTS_MAX           32       /* Of a history. */
#define UNKNOWN_PEERS_PLACE 40       /* What they are called by: further than any host. */
#define CONNECTION_HOLDS_US 5000000u /* TCP gives a silent connection up. */
#define BACK_MAX_US         2000000u
#define BACK_NS             100000000u /* After a partition. */
#define SLOW_MAX_US         5000000u   /* For a node; a worker slower than that seems stuck. */

/* What the engine calls faults by: to strike those below FAULTS_MAX; that they are over; that all are. */
#define HEALED FAULTS_MAX
#define CALM   UINT64_MAX

static const struct fault *fault_of(const struct check_run *x, uint32_t fault)
{
    return &x->options.plan->faults[fault];
}

void fault_injector_begin(struct check_run *check_run)
{
    struct check_run *x = check_run;
    const struct fault_plan *plan = x->options.plan;
    x->injector.lose = x->options.faults.lose;
    for (uint32_t i = 0; i < plan->count; i++) {
        x->injector.struck[i].partitions[0] = NO_PARTITION;
        x->injector.struck[i].partitions[1] = NO_PARTITION;
        if (plan->faults[i].time == FAULT_AT)
            engine_later(&x->engine, plan->faults[i].at_us, DUE_FAULT, 0, i);
    }
    engine_later(&x->engine, plan->calm_us, DUE_FAULT, 0, CALM);
}

static void note_delivered(void *context, enum message_kind kind)
{
    struct check_run *x = context;
    const struct fault_plan *plan = x->options.plan;
    uint32_t count = ++x->injector.delivered[kind];
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].time == FAULT_MESSAGES && plan->faults[i].message == kind &&
            plan->faults[i].count == count)
            engine_later(&x->engine, 0, DUE_FAULT, 0, i);
}

/* A kill while a file is being written, at some moment until it is durable, or shortly after. */
static void note_wrote(void *context, const struct simulated_process *process)
{
    struct check_run *x = context;
    uint64_t most_us = 1 + 3 * x->options.disks[process->index]->latency_us;
    for (uint32_t i = 0; i < x->options.plan->count; i++) {
        struct struck *struck = &x->injector.struck[i];
        if (fault_of(x, i)->kind != FAULT_TORN || !struck->armed ||
            struck->process != process->number)
            continue;
        struck->armed = false;
        struck->due = true;
        engine_later(&x->engine, random_below(&x->engine.random, (uint32_t)most_us), DUE_FAULT, 0,
                     i);
    }
}

/* --- each kind ------------------------------------------------------------------------------- */

/* Workers that are there and will stay. */
static uint32_t workers_left(const struct check_run *x)
{
    uint32_t left = 0;
    for (uint32_t i = engine_servers(&x->engine); i < x->engine.host_count; i++)
        left += x->engine.at[i] != NULL && !host_set_has(&x->injector.gone, i) &&
                !check_run_excuses(x, x->engine.at[i]);
    return left;
}

/* In the place of one that was killed. There may be one more, that is stopped: it has been replaced. */
static void start_later(struct check_run *x, uint32_t host, uint64_t after_us)
{
    const struct simulated_process *other = x->engine.at[host];
    bool replaced = other != NULL && other->state == PROCESS_STOPPED;
    engine_later(&x->engine, after_us, DUE_START, host, replaced ? START_ANYWAY : START_AT_HOST);
}

static bool crash(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    x->injector.began_again = x->injector.began_again || fault->host == 0;
    engine_kill(&x->engine, p);
    start_later(x, fault->host, fault->for_us);
    return true;
}

/* The other process of a place, who may be gone already. */
static bool lose_host(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    uint32_t servers = engine_servers(&x->engine);
    bool is_server = fault->host < servers;
    uint32_t index = is_server ? fault->host : fault->host - servers;
    struct fault beside = *fault;
    beside.host = is_server ? servers + index : index;
    if (!job_place_owns(x->engine.options.job, index))
        return false;
    struct simulated_process *other = x->engine.at[beside.host];
    if (other != NULL)
        crash(x, &beside, other);
    return crash(x, fault, p);
}

static bool tear(struct check_run *x, const struct fault *fault, struct struck *struck,
                 struct simulated_process *p)
{
    if (struck->due) { /* The moment has come. */
        struck->due = false;
        if (p->number == struck->process)
            crash(x, fault, p);
        return false;
    }
    struck->armed = true;
    struck->process = p->number;
    if (x->options.disk_latency_us == 0)
        x->options.disks[p->index]->latency_us += 1000;
    return true;
}

static bool lose_worker(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    if (p->is_server || !x->engine.started || workers_left(x) < 2)
        return false;
    host_set_add(&x->injector.gone, fault->host);
    engine_kill(&x->engine, p);
    return true;
}

static bool leave(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    bool stops_all = job_place_owns(x->engine.options.job, p->index);
    if (p->is_server || stops_all || !x->engine.started || workers_left(x) < 2)
        return false;
    engine_later(&x->engine, 0, DUE_LEAVE, p->number, 0);
    host_set_add(&x->injector.gone, fault->host);
    check_run_excuse(x, p);
    return true;
}

static bool replace(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    engine_stop(&x->engine, p);
    x->injector.two_coordinators = x->injector.two_coordinators || fault->host == 0;
    check_run_excuse(x, p);
    /* A lock of a host that is not heard of may run out, as those of network disks do. */
    if (p->is_server && fault->number % 2 == 0)
        simulated_disk_unlock(x->options.disks[p->index], p->number);
    engine_later(&x->engine, fault->number % fault->for_us, DUE_START, fault->host, START_ANYWAY);
    return true;
}

static bool twin(struct check_run *x, const struct fault *fault, struct simulated_process *p)
{
    if (fault->host == 0)
        return false; /* It would open the same run directory, which is locked. */
    check_run_excuse(x, engine_start(&x->engine, fault->host, START_BESIDE));
    check_run_excuse(x, p); /* If it has not joined yet, or others think it is dead. */
    return true;
}

static bool slow_down(struct check_run *x, struct struck *struck, struct simulated_process *p)
{
    if (p->is_server || 20 * check_run_slow(x, p) * (double)x->options.compute_us > SLOW_MAX_US)
        return false;
    struck->slow = p->slow;
    p->slow *= 20;
    return true;
}

/* Somebody who says anything, or an honest worker that thinks it is still in yesterday's run. */
static bool meet_unknown_peer(struct check_run *x, const struct fault *fault, struct struck *struck)
{
    bool worker = fault->number % 2 == 0 && fault->host >= engine_servers(&x->engine);
    struct scripted_client scripted_client = unknown_peer(&x->engine);
    struct simulated_process *p =
        worker ? engine_start(&x->engine, fault->host, START_BESIDE)
               : engine_start_scripted_client(&x->engine, &scripted_client,
                                              UNKNOWN_PEERS_PLACE - engine_servers(&x->engine));
    if (worker)
        p->foreign_run = fault->number | 1;
    check_run_excuse(x, p);
    struck->process = p->number;
    return true;
}

static bool part(struct check_run *x, const struct fault *fault, struct struck *struck,
                 bool both_ways)
{
    struct host_set hosts = host_set_of_bits(fault->hosts), others = host_set_copy(&hosts);
    host_set_invert(&others);
    struck->partitions[0] =
        simulated_network_part(&x->engine.network, &hosts, &others, fault->hold);
    if (both_ways)
        struck->partitions[1] =
            simulated_network_part(&x->engine.network, &others, &hosts, fault->hold);
    host_set_free(&hosts);
    host_set_free(&others);
    return true;
}

static bool join(struct check_run *x)
{
    uint32_t host = engine_servers(&x->engine) + engine_workers(&x->engine) + x->injector.joined;
    if (host >= HOSTS_MAX)
        return false;
    x->injector.joined++;
    engine_start(&x->engine, host, START_AT_HOST);
    return true;
}

/* Strike whoever is at the host; false when there is nothing to be done to it. */
static bool strike(struct check_run *x, const struct fault *fault, struct struck *struck,
                   struct simulated_process *p)
{
    struct simulated_disk *disk = x->options.disks[p->is_server ? p->index : 0];
    switch (fault->kind) {
    case FAULT_CRASH:
        return crash(x, fault, p);
    case FAULT_HOST:
        return lose_host(x, fault, p);
    case FAULT_TORN:
        return tear(x, fault, struck, p);
    case FAULT_LOST:
        return lose_worker(x, fault, p);
    case FAULT_PAUSE:
        engine_stop(&x->engine, p);
        return true;
    case FAULT_REPLACE:
        return replace(x, fault, p);
    case FAULT_TWIN:
        return twin(x, fault, p);
    case FAULT_SNAPSHOT:
        engine_cut_off(&x->engine, fault->host, fault->for_us % BACK_MAX_US);
        return true;
    case FAULT_PARTITION:
        return part(x, fault, struck, true);
    case FAULT_ONE_WAY:
        return part(x, fault, struck, false);
    case FAULT_LOSS:
        x->wires.lose = 0.1;
        return true;
    case FAULT_STUCK:
        if (p->is_server)
            return false;
        p->stuck = true;
        check_run_excuse(x, p);
        return true;
    case FAULT_SLOW:
        return slow_down(x, struck, p);
    case FAULT_JOIN:
        return join(x);
    case FAULT_UNKNOWN_PEER:
        return meet_unknown_peer(x, fault, struck);
    case FAULT_LEAVE:
        return leave(x, fault, p);
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

static void begin_fault(struct check_run *x, uint32_t fault)
{
    const struct fault *what = fault_of(x, fault);
    struct struck *struck = &x->injector.struck[fault];
    struct simulated_process *p = x->engine.at[what->host];
    bool again = struck->active;
    if (x->injector.calm || (again && !struck->due))
        return;
    if (!again && fault + 1 < x->options.plan->count && what[1].time == FAULT_FOLLOWS)
        engine_later(&x->engine, what[1].at_us, DUE_FAULT, 0, fault + 1);
    if (p == NULL)
        return;
    if (x->options.verbose)
        printf("%12.6f fault %u: %s\n", (double)x->engine.now_us * 1e-6, fault,
               fault_name(what->kind));
    if (!strike(x, what, struck, p) || again)
        return;
    x->injector.counts[what->kind]++;
    struck->active = true;
    if (what->kind != FAULT_UNKNOWN_PEER)
        struck->process = p->number;
    engine_later(&x->engine, what->for_us, DUE_FAULT, 0, HEALED + fault);
}

/* --- the end of each ------------------------------------------------------------------------- */

static void heal_partition(struct check_run *x, const struct fault *fault, struct struck *struck)
{
    /* What waited for so long has been given up with its connection, if anybody looked after it. */
    if (fault->for_us > CONNECTION_HOLDS_US && fault->number % 2 == 0) {
        struct host_set hosts = host_set_of_bits(fault->hosts), others = host_set_copy(&hosts);
        host_set_invert(&others);
        simulated_network_cut(&x->engine.network, x->engine.now_ns, &hosts, &others, BACK_NS, 0);
        host_set_free(&hosts);
        host_set_free(&others);
    }
    for (uint32_t i = 0; i < 2; i++) {
        simulated_network_heal(&x->engine.network, x->engine.now_ns, struck->partitions[i]);
        struck->partitions[i] = NO_PARTITION;
    }
}

static void heal(struct check_run *x, const struct fault *fault, struct struck *struck)
{
    struct simulated_process *p = x->engine.processes[struck->process];
    struct simulated_disk *disk = x->options.disks[p->is_server ? p->index : 0];
    switch (fault->kind) {
    case FAULT_PAUSE:
    case FAULT_REPLACE:
        engine_continue(&x->engine, p);
        break;
    case FAULT_PARTITION:
    case FAULT_ONE_WAY:
        heal_partition(x, fault, struck);
        break;
    case FAULT_LOSS:
        x->wires.lose = x->injector.lose;
        break;
    case FAULT_UNKNOWN_PEER:
        engine_kill(&x->engine, p);
        break;
    case FAULT_STUCK:
        engine_kill(&x->engine, p);
        start_later(x, fault->host, 1000);
        break;
    case FAULT_SLOW:
        p->slow = struck->slow;
        break;
    case FAULT_DISK:
        disk->full = disk->read_only = false;
        disk->failing = 0;
        break;
    case FAULT_SLOW_DISK:
        disk->latency_us = x->options.disk_latency_us;
        break;
    default:
        break;
    }
}

static void end_fault(struct check_run *x, uint32_t fault)
{
    struct struck *struck = &x->injector.struck[fault];
    if (!struck->active || struck->armed || struck->due)
        return;
    struck->active = false;
    if (x->options.verbose)
        printf("%12.6f fault %u is over\n", (double)x->engine.now_us * 1e-6, fault);
    heal(x, fault_of(x, fault), struck);
}

static void calm_down(struct check_run *x)
{
    const struct engine *e = &x->engine;
    for (uint32_t i = 0; i < x->options.plan->count; i++) {
        x->injector.struck[i].armed = x->injector.struck[i].due = false;
        end_fault(x, i);
    }
    x->injector.calm = true;
    if (x->options.verbose)
        printf("%12.6f no more faults\n", (double)e->now_us * 1e-6);
    uint32_t hosts = engine_servers(e) + engine_workers(e);
    if (x->injector.began_again) /* A new server 0 waits for everybody. */
        host_set_free(&x->injector.gone);
    for (uint32_t host = 0; host < hosts && !e->hopeless; host++)
        if (e->at[host] == NULL && !host_set_has(&x->injector.gone, host) &&
            !host_set_has(&e->left, host))
            engine_start(&x->engine, host, START_AT_HOST);
}

/* --- its table ------------------------------------------------------------------------------- */

static void strike_number(void *context, uint64_t number)
{
    if (number == CALM)
        calm_down(context);
    else if (number >= HEALED)
        end_fault(context, (uint32_t)(number - HEALED));
    else
        begin_fault(context, (uint32_t)number);
}

struct faults fault_injector_faults(struct check_run *check_run)
{
    return (struct faults){.context = check_run,
                           .strike = strike_number,
                           .delivered = note_delivered,
                           .wrote = note_wrote};
}

void fault_injector_free(struct fault_injector *injector)
{
    host_set_free(&injector->gone);
}

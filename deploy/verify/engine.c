/* engine.c - takes the next event and lets it happen; starts, ends and judges processes, and at
 * the end whoever should not be left. */

#include "deploy/verify/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/wording.h"
#include "common/process/log.h"
#include "common/store/generation.h"

/* Whoever has to do with what went wrong shortly before the end may not have heard of it. */
#define HEARD_LATE_US 15000000u
/* What a process ends with that server 0 does not know at all. */
#define REFUSED_OF_ANOTHER_RUN "not a process of the run"
/* A deadline longer than all that a plan does. */
#define RECOVERY_IS_SURE_S 30.0

/* --- life ------------------------------------------------------------------------------------ */

static uint32_t hosts_of(const struct engine *e)
{
    return engine_servers(e) + engine_workers(e);
}

void engine_later(struct engine *engine, uint64_t after_us, enum event_kind kind, uint32_t process,
                  uint64_t number)
{
    struct event event = {
        .time_us = engine->now_us + after_us, .kind = kind, .process = process, .number = number};
    engine->starting += kind == EVENT_START;
    event_queue_add(&engine->queue, &event);
}

static void out_of_memory(void)
{
    log_error("out of memory for a simulated process");
    exit(EXIT_TRAINING_FAILED);
}

/* Nobody is there yet. */
static void make_place(struct engine *e, uint32_t host)
{
    while (e->host_count <= host) {
        e->at =
            array_room(e->at, e->host_count, &e->host_capacity, sizeof(struct simulated_process *));
        if (e->at == NULL)
            out_of_memory();
        e->at[e->host_count++] = NULL;
    }
}

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error)
{
    struct engine *e = engine;
    const struct job *job = options->job;
    memset(e, 0, sizeof *e);
    e->options = *options;
    random_sequence_init(&e->random, options->seed, RANDOM_STREAM_SIMULATOR, 0);
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = partition_make(&e->partition, job->variables, job->variable_count,
                                job->server_count, job->chunk_bytes, job->use_locking, error);
    if (status != STATUS_OK)
        return status;
    status = simulated_work_init(&e->work, job, options->kind);
    e->work.bad_one_in = options->bad_one_in;
    if (status == STATUS_OK)
        status = witness_init(&e->witness, &e->work, &e->partition, options->owners_a_server);
    e->witness.scarce = options->scarce;
    e->witness.in_order = options->faults.overtake <= 0 && options->faults.repeat <= 0;
    if (status == STATUS_OK)
        status = simulated_network_init(&e->network, &e->options.faults, options->seed,
                                        job->server_count, &e->queue);
    if (status == STATUS_OK)
        status = transcript_init(&e->transcript, job, options->verbose);
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory for a cluster");
    make_place(e, hosts_of(e) - 1);
    for (uint32_t i = 0; i < hosts_of(e); i++)
        engine_later(e, 1 + random_below(&e->random, (uint32_t)options->start_within_us + 1),
                     EVENT_START, i, 0);
    if (options->plan != NULL)
        fault_injector_begin(e);
    return STATUS_OK;
}

void engine_free(struct engine *engine)
{
    struct engine *e = engine;
    event_queue_free(&e->queue);
    simulated_network_free(&e->network); /* Before those who count what is on its way. */
    for (uint32_t i = 0; i < e->process_count; i++)
        simulated_process_free(e->processes[i]);
    free(e->processes);
    free(e->at);
    host_set_free(&e->left);
    host_set_free(&e->injector.gone);
    transcript_free(&e->transcript);
    witness_free(&e->witness);
    simulated_work_free(&e->work);
    partition_free(&e->partition);
    memset(e, 0, sizeof *e);
}

/* --- processes ------------------------------------------------------------------------------- */

static void note(struct engine *e, const struct simulated_process *p, const char *what)
{
    char name[PROCESS_NAME_MAX];
    simulated_process_name(p, name);
    transcript_note(&e->transcript, e->now_us, name, what);
}

/* Of several who are there at once all but one must go, whichever. */
static void excuse_rivals(struct engine *e, struct simulated_process *p)
{
    for (uint32_t i = 0; i < e->process_count; i++) {
        struct simulated_process *other = e->processes[i];
        if (other != p && other->host == p->host && other->state <= PROCESS_STOPPED)
            p->excused = other->excused = true;
    }
}

struct simulated_process *engine_start(struct engine *engine, uint32_t host, bool primary)
{
    struct engine *e = engine;
    e->processes = array_room(e->processes, e->process_count, &e->process_capacity,
                              sizeof(struct simulated_process *));
    if (e->processes == NULL)
        out_of_memory();
    struct simulated_process *p = simulated_process_start(e, host);
    if (p == NULL)
        out_of_memory();
    e->processes[e->process_count++] = p;
    if (primary)
        excuse_rivals(e, p);
    simulated_network_add(&e->network, host, !p->is_server && !p->is_stranger);
    if (!p->is_stranger)
        make_place(e, host);
    if (primary || (!p->is_stranger && e->at[host] == NULL)) {
        e->at[host] = p;
        if (p->is_server)
            simulated_network_bind(&e->network, p->index, p->number);
    }
    e->running++;
    note(e, p, "starts");
    engine_later(e, 0, EVENT_TICK, p->number, 0);
    return p;
}

/* Somebody else who is there takes over the host, and its address. */
static void leave_host(struct engine *e, const struct simulated_process *p)
{
    if (p->is_stranger || e->at[p->host] != p)
        return;
    e->at[p->host] = NULL;
    for (uint32_t i = 0; i < e->process_count && !host_set_has(&e->left, p->host); i++) {
        struct simulated_process *other = e->processes[i];
        if (other->host != p->host || other->state > PROCESS_STOPPED)
            continue;
        e->at[p->host] = other;
        if (other->is_server)
            simulated_network_bind(&e->network, other->index, other->number);
    }
}

static void end_process(struct engine *e, struct simulated_process *p, enum process_state state)
{
    p->state = state;
    e->running--;
    simulated_network_end(&e->network, p->number, state == PROCESS_KILLED, e->now_us,
                          100000 + random_below(&e->random, 2000000));
    leave_host(e, p);
}

/* A disk that failed at the wrong moment ends the job, and says so; so does a loss, where it is to,
 * or where the deadline is shorter than what goes wrong. */
static bool may_fail(const struct engine *e, const struct simulated_process *p)
{
    bool disk = e->injector.counts[FAULT_DISK] > 0;
    bool lost = e->options.plan != NULL && (e->options.on_worker_loss != LOSS_CONTINUE ||
                                            e->options.deadlines.recovery < RECOVERY_IS_SURE_S);
    /* A server 0 that comes after it waits for a worker of the job that will not come. */
    lost = lost || e->left_unheard;
    /* Two servers 0: each may have had a part of the members, and one the run directory. */
    if (e->injector.two_coordinators && p->exit_code != EXIT_DONE)
        return true;
    return (disk && (p->exit_code == EXIT_CANNOT_OPEN || p->exit_code == EXIT_TRAINING_FAILED)) ||
           (lost && (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT));
}

void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason)
{
    struct engine *e = engine;
    process->exit_code = exit_code;
    e->left_unheard = e->left_unheard || strstr(reason, "unheard by") != NULL;
    bool told = exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || may_fail(e, process);
    if ((told || !process->excused) && !process->is_stranger)
        host_set_add(&e->left, process->host);
    end_process(e, process, PROCESS_OVER);
    if (process->is_server)
        simulated_disk_unlock(e->options.disks[process->index], process->number);
    if (exit_code != EXIT_DONE) /* What it still holds nobody will see. */
        witness_ends(&e->witness, process->number);
    snprintf(process->reason, sizeof process->reason, "%s", reason);
    char what[MESSAGE_TEXT_MAX + 40];
    snprintf(what, sizeof what, "exits with %d: %s", exit_code, reason);
    note(e, process, what);
    e->failed = e->failed || (process->host == 0 && may_fail(e, process));
    if (told && !process->excused) {
        e->finished_us = e->finished ? e->finished_us : e->now_us;
        e->finished = true;
    }
}

/* Whoever is killed whenever: what has a manifest is whole. */
static void check_disk(struct engine *e)
{
    struct checkpoint_reader reader;
    struct error error;
    uint64_t steps[2 * CHECKPOINTS_KEPT];
    char path[DISK_PATH_MAX];
    const struct disk *disk = &e->options.disks[0]->disk;
    size_t count = checkpoint_list(disk, SIMULATED_OUT, steps, 2 * CHECKPOINTS_KEPT);
    for (size_t i = 0; i < count; i++) {
        checkpoint_path(path, SIMULATED_OUT, steps[i]);
        if (checkpoint_open(&reader, disk, path, &error) == STATUS_OK)
            checkpoint_close(&reader);
        else
            witness_fail(&e->witness, "a kill leaves a checkpoint that does not open: %s",
                         error.text);
    }
}

/* The run had ended, though nobody has been told yet. */
static void note_ended(struct engine *e)
{
    struct generation generation;
    struct error error;
    if (generation_read(&generation, &e->options.disks[0]->disk, SIMULATED_OUT, &error) ==
            STATUS_OK &&
        generation.ended && generation.number > e->options.generation)
        e->announced = true;
}

void engine_kill(struct engine *engine, struct simulated_process *process)
{
    struct engine *e = engine;
    if (process->state > PROCESS_STOPPED)
        return;
    note(e, process, "is killed");
    end_process(e, process, PROCESS_KILLED);
    witness_ends(&e->witness, process->number);
    if (process->is_server) {
        simulated_disk_crash(e->options.disks[process->index], process->number, engine_disk_us(e));
        check_disk(e);
        note_ended(e);
        cores_free(&process->cores);
        process->cores_made = false;
    }
}

void engine_cut_off(struct engine *engine, uint32_t host, uint64_t back_us)
{
    struct host_set hosts = host_set_of(host), all = {.rest = true};
    simulated_network_cut(&engine->network, engine->now_us, &hosts, &all, back_us);
    host_set_free(&hosts);
}

void engine_stop(struct engine *engine, struct simulated_process *process)
{
    if (process->state == PROCESS_RUNNING)
        process->state = PROCESS_STOPPED;
    note(engine, process, "is stopped");
}

static void miss(struct simulated_process *p, const struct event *event)
{
    p->missed = array_room(p->missed, p->missed_count, &p->missed_capacity, sizeof *p->missed);
    if (p->missed == NULL)
        out_of_memory();
    p->missed[p->missed_count++] = *event;
}

/* Everything it has missed happens now, in order; but it may look at the clock first or last. */
void engine_continue(struct engine *engine, struct simulated_process *process)
{
    struct engine *e = engine;
    if (process->state != PROCESS_STOPPED)
        return;
    process->state = PROCESS_RUNNING;
    note(e, process, "goes on");
    bool tick_last = random_below(&e->random, 2) == 0;
    struct event tick = {.time_us = 0};
    for (size_t i = 0; i < process->missed_count; i++) {
        struct event *event = &process->missed[i];
        event->time_us = e->now_us;
        if (event->kind == EVENT_TICK && tick_last)
            tick = *event;
        else
            event_queue_add(&e->queue, event);
    }
    if (tick.time_us > 0)
        event_queue_add(&e->queue, &tick);
    process->missed_count = 0;
}

void engine_wrote(struct engine *engine, const struct simulated_process *process)
{
    if (engine->options.plan != NULL)
        fault_injector_wrote(engine, process);
}

void engine_delivered(struct engine *engine, enum message_kind kind)
{
    if (engine->options.plan != NULL)
        fault_injector_delivered(engine, kind);
}

/* The first START: the moment from which a stop is counted. */
void engine_note_start(struct engine *engine)
{
    struct engine *e = engine;
    if (!e->started && e->options.stop_after_us > 0)
        engine_later(e, e->options.stop_after_us, EVENT_STOP, e->options.stop_host, 0);
    e->started = true;
}

/* --- running --------------------------------------------------------------------------------- */

static void process_event(struct engine *e, struct simulated_process *p, struct event *event,
                          uint64_t peer)
{
    bool actors_left = p->state == PROCESS_OVER && p->is_server;
    if (p->state == PROCESS_STOPPED) {
        miss(p, event);
        event->parcel = NULL;
        event->item = NULL;
    } else if (p->state == PROCESS_RUNNING || actors_left) {
        simulated_process_event(e, p, event, peer);
    }
}

static void wire_event(struct engine *e, struct event *event)
{
    uint64_t peer = event->number;
    if (event->process == NETWORK_NOBODY) {
        event->process = simulated_network_arrive(&e->network, event, &peer);
        event->number = peer;
    }
    if (event->process != NETWORK_NOBODY)
        process_event(e, e->processes[event->process], event, peer);
}

static void start_event(struct engine *e, const struct event *event)
{
    bool anyway = event->number != 0, left = host_set_has(&e->left, event->process);
    e->starting--;
    if (left || e->failed || (!anyway && e->at[event->process] != NULL))
        return;
    engine_start(e, event->process, true)->excused = anyway;
    /* Sooner or later whoever was connected to the one before gives it up. */
    if (anyway && random_below(&e->random, 2) == 0)
        engine_cut_off(e, event->process, 0);
}

static void stop_event(struct engine *e, struct event *event)
{
    struct simulated_process *p = e->at[event->process];
    /* A worker that does not know yet that it is in may leave without a word; then the others
     * wait for it until a deadline. So somebody else is asked. */
    if (p != NULL && !p->is_server && p->worker.start.members == 0)
        p = e->at[0];
    /* A rival that is no member yet would go alone, with the place that both have. */
    if (p != NULL && p->is_server && p->excused && e->at[0] != NULL)
        p = e->at[0];
    if (p != NULL)
        process_event(e, p, event, 0);
    else if (!e->finished)
        engine_later(e, 100000, EVENT_STOP, event->process, 0);
}

static void happen(struct engine *e, struct event *event)
{
    switch (event->kind) {
    case EVENT_WIRE:
        wire_event(e, event);
        break;
    case EVENT_START:
        start_event(e, event);
        break;
    case EVENT_STOP:
        stop_event(e, event);
        break;
    case EVENT_FAULT:
        fault_injector_strike(e, (uint32_t)event->number);
        break;
    case EVENT_HEAL:
        fault_injector_heal(e, (uint32_t)event->number);
        break;
    case EVENT_CALM:
        fault_injector_calm(e);
        break;
    case EVENT_TICK:
        simulated_network_connect(&e->network, e->now_us, event->process);
        process_event(e, e->processes[event->process], event, 0);
        break;
    default:
        process_event(e, e->processes[event->process], event, 0);
    }
}

static void name_running(const struct engine *e, char *text, size_t size)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < e->process_count; i++) {
        const struct simulated_process *p = e->processes[i];
        if (p->state > PROCESS_STOPPED)
            continue;
        wording_append(text, size, " %s/%u%s", p->is_server ? "ps" : "worker", p->index,
                       p->state == PROCESS_STOPPED ? " (stopped)" : "");
    }
}

static void check_time(struct engine *e)
{
    char names[300];
    uint64_t limit_us = e->options.time_limit_us;
    if (e->options.plan != NULL)
        limit_us += e->options.plan->calm_us;
    if (e->now_us <= limit_us)
        return;
    name_running(e, names, sizeof names);
    witness_fail(&e->witness, "after %.0f s these are not over:%s", (double)e->now_us * 1e-6,
                 names);
}

/* --- the end --------------------------------------------------------------------------------- */

/* A process that could not hear of the end, or heard nobody since, or came when all was over. */
static bool was_left_behind(const struct engine *e, const struct simulated_process *p)
{
    if (strstr(p->reason, REFUSED_OF_ANOTHER_RUN) != NULL)
        return false; /* Server 0 was heard, and could have said what became of its run. */
    /* A server 0 that was killed when the run had ended may begin another one, with others, or find
     * nobody any more. */
    if (e->announced && e->injector.began_again &&
        (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT))
        return true;
    /* So it refuses whoever was killed then as well, and does not come from that run any more. */
    if (e->announced && e->injector.began_again &&
        strstr(p->reason, "holds a finished run") != NULL)
        return p->number >= engine_servers(e) + engine_workers(e);
    if (e->options.plan == NULL || !e->finished ||
        (p->exit_code != EXIT_CLUSTER_LOST && p->exit_code != EXIT_START_TIMEOUT))
        return false;
    return e->finished_us < e->options.plan->calm_us + HEARD_LATE_US;
}

static void check_exit(struct engine *e, const struct simulated_process *p, int *common)
{
    if (p->state != PROCESS_OVER || p->excused || was_left_behind(e, p) || may_fail(e, p))
        return;
    const char *role = p->is_server ? "ps" : "worker";
    /* Whoever was asked to stop may have been killed, and forgotten it, after some had left. */
    bool goes_on = e->injector.began_again && p->exit_code == EXIT_DONE;
    if (*common == -1 || (goes_on && *common == EXIT_INTERRUPTED))
        *common = p->exit_code;
    if (p->exit_code != *common && !(e->injector.began_again && p->exit_code == EXIT_INTERRUPTED))
        witness_fail(&e->witness, "%s/%u exits with %d and others with %d: %s", role, p->index,
                     p->exit_code, *common, p->reason);
    if (p->exit_code != EXIT_DONE && p->exit_code != EXIT_INTERRUPTED)
        witness_fail(&e->witness, "%s/%u exits with %d: %s", role, p->index, p->exit_code,
                     p->reason);
}

static int common_exit_code(struct engine *e)
{
    int code = -1;
    for (uint32_t i = 0; i < e->process_count; i++)
        check_exit(e, e->processes[i], &code);
    for (uint32_t i = 0; i < e->process_count && code == -1; i++)
        if (e->processes[i]->state == PROCESS_OVER && may_fail(e, e->processes[i]))
            code = e->processes[i]->exit_code;
    if (code == -1 && e->announced)
        code = EXIT_CLUSTER_LOST;
    if (code == -1)
        witness_fail(&e->witness, "nobody has come to the end of the job");
    return e->witness.failed ? -1 : code;
}

int engine_run(struct engine *engine)
{
    struct engine *e = engine;
    struct event event;
    while (e->running + e->starting > 0 && !e->witness.failed &&
           event_queue_take(&e->queue, &event)) {
        assert(event.time_us >= e->now_us);
        e->now_us = event.time_us;
        e->events++;
        happen(e, &event);
        event_free(&event);
        check_time(e);
    }
    if (e->witness.failed)
        return -1;
    /* Checkpointers and owners finish what they were given, as their threads do before they end. */
    while (event_queue_take(&e->queue, &event)) {
        e->now_us = event.time_us;
        if (event.kind == EVENT_ACTOR || event.kind == EVENT_DISK)
            happen(e, &event);
        event_free(&event);
    }
    return common_exit_code(e);
}

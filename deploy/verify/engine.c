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

static uint32_t hosts_of(const struct engine *s)
{
    return engine_servers(s) + engine_workers(s);
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
static void make_place(struct engine *s, uint32_t host)
{
    while (s->host_count <= host) {
        s->at =
            array_room(s->at, s->host_count, &s->host_capacity, sizeof(struct simulated_process *));
        if (s->at == NULL)
            out_of_memory();
        s->at[s->host_count++] = NULL;
    }
}

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error)
{
    struct engine *s = engine;
    const struct job *job = options->job;
    memset(s, 0, sizeof *s);
    s->options = *options;
    random_sequence_init(&s->random, options->seed, RANDOM_STREAM_SIMULATOR, 0);
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = partition_make(&s->partition, job->variables, job->variable_count,
                                job->server_count, job->chunk_bytes, job->use_locking, error);
    if (status != STATUS_OK)
        return status;
    status = simulated_work_init(&s->work, job, options->kind);
    s->work.bad_one_in = options->bad_one_in;
    if (status == STATUS_OK)
        status = witness_init(&s->witness, &s->work, &s->partition, options->owners_a_server);
    s->witness.scarce = options->scarce;
    s->witness.in_order = options->faults.overtake <= 0 && options->faults.repeat <= 0;
    if (status == STATUS_OK)
        status = simulated_network_init(&s->network, &s->options.faults, options->seed,
                                        job->server_count, &s->queue);
    if (status == STATUS_OK)
        status = transcript_init(&s->transcript, job, options->verbose);
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory for a cluster");
    make_place(s, hosts_of(s) - 1);
    for (uint32_t i = 0; i < hosts_of(s); i++)
        engine_later(s, 1 + random_below(&s->random, (uint32_t)options->start_within_us + 1),
                     EVENT_START, i, 0);
    if (options->plan != NULL)
        fault_injector_begin(s);
    return STATUS_OK;
}

void engine_free(struct engine *engine)
{
    struct engine *s = engine;
    event_queue_free(&s->queue);
    simulated_network_free(&s->network); /* Before those who count what is on its way. */
    for (uint32_t i = 0; i < s->process_count; i++)
        simulated_process_free(s->processes[i]);
    free(s->processes);
    free(s->at);
    host_set_free(&s->left);
    host_set_free(&s->injector.gone);
    transcript_free(&s->transcript);
    witness_free(&s->witness);
    simulated_work_free(&s->work);
    partition_free(&s->partition);
    memset(s, 0, sizeof *s);
}

/* --- processes ------------------------------------------------------------------------------- */

static void note(struct engine *s, const struct simulated_process *p, const char *what)
{
    char name[PROCESS_NAME_MAX];
    simulated_process_name(p, name);
    transcript_note(&s->transcript, s->now_us, name, what);
}

/* Of several who are there at once all but one must go, whichever. */
static void excuse_rivals(struct engine *s, struct simulated_process *p)
{
    for (uint32_t i = 0; i < s->process_count; i++) {
        struct simulated_process *other = s->processes[i];
        if (other != p && other->host == p->host && other->state <= PROCESS_STOPPED)
            p->excused = other->excused = true;
    }
}

struct simulated_process *engine_start(struct engine *engine, uint32_t host, bool primary)
{
    struct engine *s = engine;
    s->processes = array_room(s->processes, s->process_count, &s->process_capacity,
                              sizeof(struct simulated_process *));
    if (s->processes == NULL)
        out_of_memory();
    struct simulated_process *p = simulated_process_start(s, host);
    if (p == NULL)
        out_of_memory();
    s->processes[s->process_count++] = p;
    if (primary)
        excuse_rivals(s, p);
    simulated_network_add(&s->network, host, !p->is_server && !p->is_stranger);
    if (!p->is_stranger)
        make_place(s, host);
    if (primary || (!p->is_stranger && s->at[host] == NULL)) {
        s->at[host] = p;
        if (p->is_server)
            simulated_network_bind(&s->network, p->index, p->number);
    }
    s->running++;
    note(s, p, "starts");
    engine_later(s, 0, EVENT_TICK, p->number, 0);
    return p;
}

/* Somebody else who is there takes over the host, and its address. */
static void leave_host(struct engine *s, const struct simulated_process *p)
{
    if (p->is_stranger || s->at[p->host] != p)
        return;
    s->at[p->host] = NULL;
    for (uint32_t i = 0; i < s->process_count && !host_set_has(&s->left, p->host); i++) {
        struct simulated_process *other = s->processes[i];
        if (other->host != p->host || other->state > PROCESS_STOPPED)
            continue;
        s->at[p->host] = other;
        if (other->is_server)
            simulated_network_bind(&s->network, other->index, other->number);
    }
}

static void end_process(struct engine *s, struct simulated_process *p, enum process_state state)
{
    p->state = state;
    s->running--;
    simulated_network_end(&s->network, p->number, state == PROCESS_KILLED, s->now_us,
                          100000 + random_below(&s->random, 2000000));
    leave_host(s, p);
}

/* A disk that failed at the wrong moment ends the job, and says so; so does a loss, where it is to,
 * or where the deadline is shorter than what goes wrong. */
static bool may_fail(const struct engine *s, const struct simulated_process *p)
{
    bool disk = s->injector.counts[FAULT_DISK] > 0;
    bool lost = s->options.plan != NULL && (s->options.on_worker_loss != LOSS_CONTINUE ||
                                            s->options.deadlines.recovery < RECOVERY_IS_SURE_S);
    /* A server 0 that comes after it waits for a worker of the job that will not come. */
    lost = lost || s->left_unheard;
    /* Two servers 0: each may have had a part of the members, and one the run directory. */
    if (s->injector.two_coordinators && p->exit_code != EXIT_DONE)
        return true;
    return (disk && (p->exit_code == EXIT_CANNOT_OPEN || p->exit_code == EXIT_TRAINING_FAILED)) ||
           (lost && (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT));
}

void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason)
{
    struct engine *s = engine;
    process->exit_code = exit_code;
    s->left_unheard = s->left_unheard || strstr(reason, "unheard by") != NULL;
    bool told = exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || may_fail(s, process);
    if ((told || !process->excused) && !process->is_stranger)
        host_set_add(&s->left, process->host);
    end_process(s, process, PROCESS_OVER);
    if (process->is_server)
        simulated_disk_unlock(s->options.disks[process->index], process->number);
    if (exit_code != EXIT_DONE) /* What it still holds nobody will see. */
        witness_ends(&s->witness, process->number);
    snprintf(process->reason, sizeof process->reason, "%s", reason);
    char what[MESSAGE_TEXT_MAX + 40];
    snprintf(what, sizeof what, "exits with %d: %s", exit_code, reason);
    note(s, process, what);
    s->failed = s->failed || (process->host == 0 && may_fail(s, process));
    if (told && !process->excused) {
        s->finished_us = s->finished ? s->finished_us : s->now_us;
        s->finished = true;
    }
}

/* Whoever is killed whenever: what has a manifest is whole. */
static void check_disk(struct engine *s)
{
    struct checkpoint_reader reader;
    struct error error;
    uint64_t steps[2 * CHECKPOINTS_KEPT];
    char path[DISK_PATH_MAX];
    const struct disk *disk = &s->options.disks[0]->disk;
    size_t count = checkpoint_list(disk, SIMULATED_OUT, steps, 2 * CHECKPOINTS_KEPT);
    for (size_t i = 0; i < count; i++) {
        checkpoint_path(path, SIMULATED_OUT, steps[i]);
        if (checkpoint_open(&reader, disk, path, &error) == STATUS_OK)
            checkpoint_close(&reader);
        else
            witness_fail(&s->witness, "a kill leaves a checkpoint that does not open: %s",
                         error.text);
    }
}

/* The run had ended, though nobody has been told yet. */
static void note_ended(struct engine *s)
{
    struct generation generation;
    struct error error;
    if (generation_read(&generation, &s->options.disks[0]->disk, SIMULATED_OUT, &error) ==
            STATUS_OK &&
        generation.ended && generation.number > s->options.generation)
        s->announced = true;
}

void engine_kill(struct engine *engine, struct simulated_process *process)
{
    struct engine *s = engine;
    if (process->state > PROCESS_STOPPED)
        return;
    note(s, process, "is killed");
    end_process(s, process, PROCESS_KILLED);
    witness_ends(&s->witness, process->number);
    if (process->is_server) {
        simulated_disk_crash(s->options.disks[process->index], process->number, engine_disk_us(s));
        check_disk(s);
        note_ended(s);
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
    struct engine *s = engine;
    if (process->state != PROCESS_STOPPED)
        return;
    process->state = PROCESS_RUNNING;
    note(s, process, "goes on");
    bool tick_last = random_below(&s->random, 2) == 0;
    struct event tick = {.time_us = 0};
    for (size_t i = 0; i < process->missed_count; i++) {
        struct event *event = &process->missed[i];
        event->time_us = s->now_us;
        if (event->kind == EVENT_TICK && tick_last)
            tick = *event;
        else
            event_queue_add(&s->queue, event);
    }
    if (tick.time_us > 0)
        event_queue_add(&s->queue, &tick);
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
    struct engine *s = engine;
    if (!s->started && s->options.stop_after_us > 0)
        engine_later(s, s->options.stop_after_us, EVENT_STOP, s->options.stop_host, 0);
    s->started = true;
}

/* --- running --------------------------------------------------------------------------------- */

static void process_event(struct engine *s, struct simulated_process *p, struct event *event,
                          uint64_t peer)
{
    bool actors_left = p->state == PROCESS_OVER && p->is_server;
    if (p->state == PROCESS_STOPPED) {
        miss(p, event);
        event->parcel = NULL;
        event->item = NULL;
    } else if (p->state == PROCESS_RUNNING || actors_left) {
        simulated_process_event(s, p, event, peer);
    }
}

static void wire_event(struct engine *s, struct event *event)
{
    uint64_t peer = event->number;
    if (event->process == NETWORK_NOBODY) {
        event->process = simulated_network_arrive(&s->network, event, &peer);
        event->number = peer;
    }
    if (event->process != NETWORK_NOBODY)
        process_event(s, s->processes[event->process], event, peer);
}

static void start_event(struct engine *s, const struct event *event)
{
    bool anyway = event->number != 0, left = host_set_has(&s->left, event->process);
    s->starting--;
    if (left || s->failed || (!anyway && s->at[event->process] != NULL))
        return;
    engine_start(s, event->process, true)->excused = anyway;
    /* Sooner or later whoever was connected to the one before gives it up. */
    if (anyway && random_below(&s->random, 2) == 0)
        engine_cut_off(s, event->process, 0);
}

static void stop_event(struct engine *s, struct event *event)
{
    struct simulated_process *p = s->at[event->process];
    /* A worker that does not know yet that it is in may leave without a word; then the others
     * wait for it until a deadline. So somebody else is asked. */
    if (p != NULL && !p->is_server && p->worker.start.members == 0)
        p = s->at[0];
    /* A rival that is no member yet would go alone, with the place that both have. */
    if (p != NULL && p->is_server && p->excused && s->at[0] != NULL)
        p = s->at[0];
    if (p != NULL)
        process_event(s, p, event, 0);
    else if (!s->finished)
        engine_later(s, 100000, EVENT_STOP, event->process, 0);
}

static void happen(struct engine *s, struct event *event)
{
    switch (event->kind) {
    case EVENT_WIRE:
        wire_event(s, event);
        break;
    case EVENT_START:
        start_event(s, event);
        break;
    case EVENT_STOP:
        stop_event(s, event);
        break;
    case EVENT_FAULT:
        fault_injector_strike(s, (uint32_t)event->number);
        break;
    case EVENT_HEAL:
        fault_injector_heal(s, (uint32_t)event->number);
        break;
    case EVENT_CALM:
        fault_injector_calm(s);
        break;
    case EVENT_TICK:
        simulated_network_connect(&s->network, s->now_us, event->process);
        process_event(s, s->processes[event->process], event, 0);
        break;
    default:
        process_event(s, s->processes[event->process], event, 0);
    }
}

static void name_running(const struct engine *s, char *text, size_t size)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < s->process_count; i++) {
        const struct simulated_process *p = s->processes[i];
        if (p->state > PROCESS_STOPPED)
            continue;
        wording_append(text, size, " %s/%u%s", p->is_server ? "ps" : "worker", p->index,
                       p->state == PROCESS_STOPPED ? " (stopped)" : "");
    }
}

static void check_time(struct engine *s)
{
    char names[300];
    uint64_t limit_us = s->options.time_limit_us;
    if (s->options.plan != NULL)
        limit_us += s->options.plan->calm_us;
    if (s->now_us <= limit_us)
        return;
    name_running(s, names, sizeof names);
    witness_fail(&s->witness, "after %.0f s these are not over:%s", (double)s->now_us * 1e-6,
                 names);
}

/* --- the end --------------------------------------------------------------------------------- */

/* A process that could not hear of the end, or heard nobody since, or came when all was over. */
static bool was_left_behind(const struct engine *s, const struct simulated_process *p)
{
    if (strstr(p->reason, REFUSED_OF_ANOTHER_RUN) != NULL)
        return false; /* Server 0 was heard, and could have said what became of its run. */
    /* A server 0 that was killed when the run had ended may begin another one, with others, or find
     * nobody any more. */
    if (s->announced && s->injector.began_again &&
        (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT))
        return true;
    /* So it refuses whoever was killed then as well, and does not come from that run any more. */
    if (s->announced && s->injector.began_again &&
        strstr(p->reason, "holds a finished run") != NULL)
        return p->number >= engine_servers(s) + engine_workers(s);
    if (s->options.plan == NULL || !s->finished ||
        (p->exit_code != EXIT_CLUSTER_LOST && p->exit_code != EXIT_START_TIMEOUT))
        return false;
    return s->finished_us < s->options.plan->calm_us + HEARD_LATE_US;
}

static void check_exit(struct engine *s, const struct simulated_process *p, int *common)
{
    if (p->state != PROCESS_OVER || p->excused || was_left_behind(s, p) || may_fail(s, p))
        return;
    const char *role = p->is_server ? "ps" : "worker";
    /* Whoever was asked to stop may have been killed, and forgotten it, after some had left. */
    bool goes_on = s->injector.began_again && p->exit_code == EXIT_DONE;
    if (*common == -1 || (goes_on && *common == EXIT_INTERRUPTED))
        *common = p->exit_code;
    if (p->exit_code != *common && !(s->injector.began_again && p->exit_code == EXIT_INTERRUPTED))
        witness_fail(&s->witness, "%s/%u exits with %d and others with %d: %s", role, p->index,
                     p->exit_code, *common, p->reason);
    if (p->exit_code != EXIT_DONE && p->exit_code != EXIT_INTERRUPTED)
        witness_fail(&s->witness, "%s/%u exits with %d: %s", role, p->index, p->exit_code,
                     p->reason);
}

static int common_exit_code(struct engine *s)
{
    int code = -1;
    for (uint32_t i = 0; i < s->process_count; i++)
        check_exit(s, s->processes[i], &code);
    for (uint32_t i = 0; i < s->process_count && code == -1; i++)
        if (s->processes[i]->state == PROCESS_OVER && may_fail(s, s->processes[i]))
            code = s->processes[i]->exit_code;
    if (code == -1 && s->announced)
        code = EXIT_CLUSTER_LOST;
    if (code == -1)
        witness_fail(&s->witness, "nobody has come to the end of the job");
    return s->witness.failed ? -1 : code;
}

int engine_run(struct engine *engine)
{
    struct engine *s = engine;
    struct event event;
    while (s->running + s->starting > 0 && !s->witness.failed &&
           event_queue_take(&s->queue, &event)) {
        assert(event.time_us >= s->now_us);
        s->now_us = event.time_us;
        s->events++;
        happen(s, &event);
        event_free(&event);
        check_time(s);
    }
    if (s->witness.failed)
        return -1;
    /* Checkpointers and owners finish what they were given, as their threads do before they end. */
    while (event_queue_take(&s->queue, &event)) {
        s->now_us = event.time_us;
        if (event.kind == EVENT_ACTOR || event.kind == EVENT_DISK)
            happen(s, &event);
        event_free(&event);
    }
    return common_exit_code(s);
}

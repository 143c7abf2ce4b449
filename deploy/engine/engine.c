/* engine.c - processes the next event; starts and ends processes. */

#include "deploy/engine/engine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/wording.h"
#include "common/process/log.h"

#define LOOK_EVENTS 64 /* From one look of the limits to the next. */

/* --- creation --------------------------------------------------------------------------------- */

static uint32_t hosts_of(const struct engine *e)
{
    return engine_servers(e) + engine_workers(e);
}

void engine_later(struct engine *engine, uint64_t after_us, enum due_kind kind, uint32_t process,
                  uint64_t number)
{
    struct due event = {.time_ns = engine->now_ns + 1000 * after_us,
                        .kind = kind,
                        .process = process,
                        .number = number};
    engine->starting += kind == DUE_START;
    event_queue_add(&engine->queue, &event);
}

void engine_fault_at(struct engine *engine, uint64_t at_ns, uint64_t number)
{
    struct due event = {.time_ns = at_ns, .kind = DUE_FAULT, .number = number};
    assert(at_ns >= engine->now_ns);
    event_queue_add(&engine->queue, &event);
}

static void out_of_memory(void)
{
    log_error("out of memory for a simulated process");
    exit(EXIT_TRAINING_FAILED);
}

/* Without a process yet. */
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

static void check_tables(const struct engine_options *options)
{
    assert(options->computing.gradient != NULL && options->computing.score != NULL);
    assert(options->timing.queue_ns != NULL && options->timing.compute_ns != NULL);
    assert(options->channel.carry != NULL);
    bool shared = options->timing.processors != NULL;
    assert(shared == (options->timing.host != NULL));
    assert(shared == (options->timing.handling_ns != NULL));
    assert(options->storage.out != NULL && options->storage.disk != NULL &&
           options->storage.begin != NULL && options->storage.end != NULL);
}

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error)
{
    struct engine *e = engine;
    const struct job *job = options->job;
    memset(e, 0, sizeof *e);
    check_tables(options);
    e->options = *options;
    random_sequence_init(&e->random, options->seed, RANDOM_STREAM_SIMULATOR, 0);
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = partition_make(&e->partition, job->variables, job->variable_count,
                                job->server_count, job->chunk_bytes, job_borders(job), error);
    if (status != STATUS_OK)
        return status;
    status =
        simulated_network_init(&e->network, &options->channel, options->share_frames,
                               options->unchecked, options->seed, job->server_count, &e->queue);
    e->network.decodes = !options->trusting;
    if (status == STATUS_OK)
        status = transcript_init(&e->transcript, job, options->verbose);
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory for a cluster");
    make_place(e, hosts_of(e) - 1);
    for (uint32_t i = 0; i < hosts_of(e); i++)
        engine_later(e, 1 + random_below(&e->random, (uint32_t)options->start_within_us + 1),
                     DUE_START, i, START_AT_HOST);
    return STATUS_OK;
}

void engine_free(struct engine *engine)
{
    struct engine *e = engine;
    event_queue_free(&e->queue);
    simulated_network_free(&e->network); /* Before those that count its messages. */
    for (uint32_t i = 0; i < e->process_count; i++)
        simulated_process_free(e->processes[i]);
    free(e->processes);
    free(e->at);
    free(e->ended);
    host_set_free(&e->left);
    transcript_free(&e->transcript);
    partition_free(&e->partition);
    memset(e, 0, sizeof *e);
}

void engine_fail(struct engine *engine, const char *format, ...)
{
    if (engine->failed)
        return;
    engine->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(engine->failure, sizeof engine->failure, format, arguments);
    va_end(arguments);
}

uint64_t engine_draw_u64(struct engine *engine)
{
    return (uint64_t)random_next(&engine->random) << 32 | random_next(&engine->random) | 1;
}

/* --- processes ------------------------------------------------------------------------------- */

/* The new state of a process: the state for the transcript, the text for people. */
static void note(struct engine *e, const struct simulated_process *p, const char *text)
{
    if (e->options.unchecked && !e->options.verbose)
        return;
    transcript_note(&e->transcript, e->now_us, p->name,
                    (uint64_t)p->state << 32 | (uint32_t)p->exit_code, text);
}

static struct simulated_process *add_process(struct engine *e, uint32_t host,
                                             enum process_start how,
                                             const struct scripted_client *scripted_client,
                                             uint32_t index)
{
    const struct observer *observer = &e->options.observer;
    e->processes = array_room(e->processes, e->process_count, &e->process_capacity,
                              sizeof(struct simulated_process *));
    if (e->processes == NULL)
        out_of_memory();
    struct simulated_process *p = simulated_process_start(e, host, scripted_client, index);
    if (p == NULL)
        out_of_memory();
    p->how = how;
    e->processes[e->process_count++] = p;
    if (observer->started != NULL && observer->started(observer->context, p) != STATUS_OK)
        out_of_memory();
    simulated_network_add(&e->network, host, !p->is_server && !p->is_scripted_client);
    return p;
}

static void begin(struct engine *e, const struct simulated_process *p)
{
    e->running++;
    note(e, p, "starts");
    engine_later(e, 0, DUE_TICK, p->number, 0);
}

struct simulated_process *engine_start(struct engine *engine, uint32_t host, enum process_start how)
{
    struct engine *e = engine;
    uint32_t servers = engine_servers(e);
    struct simulated_process *p =
        add_process(e, host, how, NULL, host < servers ? host : host - servers);
    make_place(e, host);
    if (how != START_BESIDE || e->at[host] == NULL) {
        e->at[host] = p;
        if (p->is_server)
            simulated_network_bind(&e->network, p->index, p->number);
    }
    begin(e, p);
    return p;
}

struct simulated_process *
engine_start_scripted_client(struct engine *engine, const struct scripted_client *scripted_client,
                             uint32_t index)
{
    assert(scripted_client->speak != NULL);
    struct simulated_process *p =
        add_process(engine, PROCESS_NOWHERE, START_BESIDE, scripted_client, index);
    begin(engine, p);
    return p;
}

/* Another process that is there takes over the host, and its address. */
static void leave_host(struct engine *e, const struct simulated_process *p)
{
    if (p->is_scripted_client || e->at[p->host] != p)
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

/* After the current event: an ending process may still be in the middle of it. */
static void bury_later(struct engine *e, const struct simulated_process *p)
{
    e->ended = array_room(e->ended, e->ended_count, &e->ended_capacity, sizeof *e->ended);
    if (e->ended == NULL)
        out_of_memory();
    e->ended[e->ended_count++] = p->number;
}

static void bury(struct engine *e)
{
    while (e->ended_count > 0)
        simulated_process_bury(e->processes[e->ended[--e->ended_count]]);
}

static void end_process(struct engine *e, struct simulated_process *p, enum process_state state)
{
    p->state = state;
    e->running--;
    uint64_t back_us = 100000 + random_below(&e->random, 2000000);
    simulated_network_end(&e->network, p->number, state == PROCESS_KILLED, e->now_ns,
                          1000 * back_us);
    leave_host(e, p);
    simulated_process_end(e, p);
    if (e->options.unchecked)
        bury_later(e, p);
}

static struct ending ending_of(const struct engine *e, const struct simulated_process *p)
{
    const struct limits *limits = &e->options.limits;
    if (limits->ending != NULL)
        return limits->ending(limits->context, p);
    bool reported = p->exit_code == EXIT_DONE || p->exit_code == EXIT_INTERRUPTED;
    return (struct ending){
        .of_host = true, .of_job = reported, .of_all = p->host == 0 && !reported};
}

static void tell_of_end(struct engine *e, const struct simulated_process *p)
{
    if (e->options.observer.ended != NULL)
        e->options.observer.ended(e->options.observer.context, p);
}

static void tell_storage(const struct engine *e, const struct simulated_process *p)
{
    const struct storage *storage = &e->options.storage;
    if (p->is_server && storage->ended != NULL)
        storage->ended(storage->context, p, e->now_us);
}

void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason)
{
    struct engine *e = engine;
    process->exit_code = exit_code;
    snprintf(process->reason, sizeof process->reason, "%s", reason);
    struct ending ending = ending_of(e, process);
    if (ending.of_host && !process->is_scripted_client)
        host_set_add(&e->left, process->host);
    end_process(e, process, PROCESS_OVER);
    tell_storage(e, process);
    char text[MESSAGE_TEXT_MAX + 40];
    snprintf(text, sizeof text, "exits with %d: %s", exit_code, reason);
    note(e, process, text);
    e->finished = e->finished || ending.of_job;
    e->hopeless = e->hopeless || ending.of_all;
    tell_of_end(e, process);
}

void engine_kill(struct engine *engine, struct simulated_process *process)
{
    struct engine *e = engine;
    if (process->state > PROCESS_STOPPED)
        return;
    end_process(e, process, PROCESS_KILLED);
    note(e, process, "is killed");
    tell_storage(e, process);
    tell_of_end(e, process);
    if (process->is_server) {
        cores_free(&process->cores);
        process->cores_made = false;
    }
}

void engine_cut_off(struct engine *engine, uint32_t host, uint64_t back_us)
{
    struct host_set hosts = host_set_of(host), all = {.rest = true};
    simulated_network_cut(&engine->network, engine->now_ns, &hosts, &all, 1000 * back_us, 0);
    host_set_free(&hosts);
}

void engine_stop(struct engine *engine, struct simulated_process *process)
{
    if (process->state == PROCESS_RUNNING) {
        process->state = PROCESS_STOPPED;
        simulated_process_hold(engine, process);
    }
    note(engine, process, "is stopped");
}

void engine_request_stop(struct engine *engine)
{
    engine_later(engine, 0, DUE_STOP, 0, 0);
}

static void miss(struct simulated_process *p, const struct due *event)
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
    simulated_process_release(e, process);
    note(e, process, "goes on");
    bool tick_last = random_below(&e->random, 2) == 0;
    struct due tick = {.time_ns = 0};
    for (size_t i = 0; i < process->missed_count; i++) {
        struct due *event = &process->missed[i];
        event->time_ns = e->now_ns;
        if (event->kind == DUE_TICK && tick_last)
            tick = *event;
        else
            event_queue_add(&e->queue, event);
    }
    if (tick.time_ns > 0)
        event_queue_add(&e->queue, &tick);
    process->missed_count = 0;
}

void engine_wrote(struct engine *engine, const struct simulated_process *process)
{
    const struct faults *faults = &engine->options.faults;
    if (faults->wrote != NULL)
        faults->wrote(faults->context, process);
}

void engine_delivered(struct engine *engine, enum message_kind kind)
{
    const struct faults *faults = &engine->options.faults;
    if (faults->delivered != NULL)
        faults->delivered(faults->context, kind);
}

/* The first START: the moment from which a stop is counted. */
void engine_note_start(struct engine *engine)
{
    struct engine *e = engine;
    const struct faults *faults = &e->options.faults;
    if (e->started)
        return;
    e->started = true;
    if (e->options.stop_after_us > 0)
        engine_later(e, e->options.stop_after_us, DUE_STOP, e->options.stop_host, 0);
    if (faults->started != NULL)
        faults->started(faults->context);
}

/* --- running --------------------------------------------------------------------------------- */

static void process_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    bool actors_left = p->state == PROCESS_OVER && p->is_server;
    e->network.counts.broken += event->parcel != NULL && p->state > PROCESS_STOPPED;
    if (p->state == PROCESS_STOPPED) {
        miss(p, event);
        event->parcel = NULL;
        event->item = NULL;
    } else if (p->state == PROCESS_RUNNING || actors_left) {
        simulated_process_event(e, p, event);
    }
}

static void wire_event(struct engine *e, struct due *event)
{
    if (event->process == NETWORK_NO_PROCESS)
        event->process = simulated_network_arrive(&e->network, event, &event->number);
    if (event->process != NETWORK_NO_PROCESS)
        process_event(e, e->processes[event->process], event);
}

static void start_event(struct engine *e, const struct due *event)
{
    bool anyway = event->number == START_ANYWAY, left = host_set_has(&e->left, event->process);
    e->starting--;
    if (left || e->hopeless || (!anyway && e->at[event->process] != NULL))
        return;
    engine_start(e, event->process, (enum process_start)event->number);
    /* Sooner or later peers of the former process give it up. */
    if (anyway && random_below(&e->random, 2) == 0)
        engine_cut_off(e, event->process, 0);
}

static bool is_second_coordinator(const struct engine *e, const struct simulated_process *p)
{
    const struct limits *limits = &e->options.limits;
    return limits->is_second_coordinator != NULL &&
           limits->is_second_coordinator(limits->context, p);
}

static void stop_event(struct engine *e, struct due *event)
{
    struct simulated_process *p = e->at[event->process];
    /* A worker that has not learnt of its membership may leave without a message; then the others
     * wait for it until a deadline. Therefore another process is asked. */
    if (p != NULL && !p->is_server && p->worker.trainer.start.members == 0)
        p = e->at[0];
    if (p != NULL && is_second_coordinator(e, p) && e->at[0] != NULL)
        p = e->at[0];
    if (p != NULL)
        process_event(e, p, event);
    else if (!e->finished)
        engine_later(e, 100000, DUE_STOP, event->process, 0);
}

static void happen(struct engine *e, struct due *event)
{
    switch (event->kind) {
    case DUE_WIRE:
        wire_event(e, event);
        break;
    case DUE_START:
        start_event(e, event);
        break;
    case DUE_STOP:
        stop_event(e, event);
        break;
    case DUE_FAULT:
        assert(e->options.faults.strike != NULL);
        e->options.faults.strike(e->options.faults.context, event->number);
        break;
    case DUE_TICK:
        simulated_network_connect(&e->network, e->now_ns, event->process);
        process_event(e, e->processes[event->process], event);
        break;
    default:
        process_event(e, e->processes[event->process], event);
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
    if (e->options.limits.time_us == 0 || e->now_us <= e->options.limits.time_us)
        return;
    name_running(e, names, sizeof names);
    engine_fail(e, "after %.0f s these are not over:%s", (double)e->now_us * 1e-6, names);
}

static bool has_failed(const struct engine *e)
{
    const struct observer *observer = &e->options.observer;
    return e->failed || (observer->failed != NULL && observer->failed(observer->context));
}

static bool comes_first(const struct engine *e, uint64_t time_ns)
{
    return time_ns != UINT64_MAX && (e->queue.count == 0 || time_ns < e->queue.events[0].time_ns);
}

/* The earliest: of the queue, or of work and the channel, whose event is then in the queue. */
static bool take_event(struct engine *e, const struct channel *channel, struct due *event)
{
    const struct processors *processors = e->options.timing.processors;
    for (;;) {
        uint64_t carried_ns =
            channel->next_ns != NULL ? channel->next_ns(channel->context) : UINT64_MAX;
        uint64_t worked_ns = processors != NULL ? processors_next_ns(processors) : UINT64_MAX;
        if (worked_ns < carried_ns && comes_first(e, worked_ns))
            threads_advance(e, worked_ns);
        else if (worked_ns >= carried_ns && comes_first(e, carried_ns))
            channel->advance(channel->context, &e->network, carried_ns);
        else
            return event_queue_take(&e->queue, event);
    }
}

static void set_time(struct engine *e, uint64_t now_ns)
{
    e->now_ns = now_ns;
    e->now_us = now_ns / 1000;
}

static void look(struct engine *e)
{
    const struct limits *limits = &e->options.limits;
    if (limits->look != NULL && e->events % LOOK_EVENTS == 0)
        limits->look(limits->context);
}

static bool is_process_left(const struct engine *e)
{
    const struct faults *faults = &e->options.faults;
    return e->running + e->starting > 0 ||
           (faults->awaits != NULL && faults->awaits(faults->context));
}

bool engine_run(struct engine *engine)
{
    struct engine *e = engine;
    struct due event;
    while (is_process_left(e) && !has_failed(e) && take_event(e, &e->options.channel, &event)) {
        assert(event.time_ns >= e->now_ns);
        set_time(e, event.time_ns);
        e->events++;
        happen(e, &event);
        event_free(&event);
        bury(e);
        check_time(e);
        look(e);
    }
    if (has_failed(e))
        return false;
    /* Checkpointers and owners finish their items, as their threads do before they end. */
    while (take_event(e, &(struct channel){.next_ns = NULL}, &event)) {
        if (event.kind == DUE_ACTOR || event.kind == DUE_DISK || event.kind == DUE_WORKED) {
            set_time(e, event.time_ns);
            happen(e, &event);
        }
        e->network.counts.broken += event.parcel != NULL;
        event_free(&event);
    }
    return !has_failed(e);
}

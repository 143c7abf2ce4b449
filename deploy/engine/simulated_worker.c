/* simulated_worker.c - worker/training.c with an event in place of each computation. */

#include "deploy/engine/simulated_worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"
#include "deploy/engine/engine.h"

enum status simulated_worker_init(struct simulated_worker *worker, struct engine *engine,
                                  const struct simulated_process *process, uint64_t incarnation)
{
    memset(worker, 0, sizeof *worker);
    worker->engine = engine;
    worker->process = process;
    worker->trainer.job = engine->options.job;
    worker->parameters = calloc(engine->partition.elements, sizeof *worker->parameters);
    worker->begun = calloc(engine->partition.elements, sizeof *worker->begun);
    if (worker->parameters == NULL || worker->begun == NULL)
        return STATUS_MEMORY;
    struct session_options options = {
        .self.index = process->index,
        .self.incarnation = incarnation,
        .job = engine->options.job,
        .partition = &engine->partition,
        .parameters = worker->parameters,
        .unchecked = engine->options.unchecked || engine->options.trusting,
        .self.host = "simulated",
        .self.deadlines = engine->options.deadlines,
        .listener = engine->options.spans,
    };
    snprintf(options.self.arithmetic, sizeof options.self.arithmetic, "%s",
             engine->options.arithmetic != NULL ? engine->options.arithmetic : "simulated");
    return session_create(&worker->session, &options, engine->now_us);
}

void simulated_worker_free(struct simulated_worker *worker)
{
    session_destroy(&worker->session);
    for (uint32_t i = 0; i < worker->gradient_count; i++)
        frame_release(worker->gradients[i]);
    trainer_free(&worker->trainer);
    free(worker->parameters);
    free(worker->begun);
    memset(worker, 0, sizeof *worker);
}

/* A buffer without readers, like client_gradient. */
static struct frame *free_gradient(struct simulated_worker *w)
{
    for (uint32_t i = 0; i < w->gradient_count; i++)
        if (frame_is_unique(w->gradients[i]))
            return w->gradients[i];
    struct frame *frame = w->gradient_count < SIMULATED_GRADIENTS_MAX
                              ? frame_create(w->engine->partition.elements * sizeof(float))
                              : NULL;
    if (frame == NULL) {
        log_error("out of memory for a gradient");
        exit(EXIT_TRAINING_FAILED);
    }
    w->gradients[w->gradient_count++] = frame;
    return frame;
}

static const struct job *job_of(const struct simulated_worker *w)
{
    return w->engine->options.job;
}

static const struct observer *observer_of(const struct simulated_worker *w)
{
    return &w->engine->options.observer;
}

static struct message_work share_of(const struct simulated_worker *w)
{
    const struct trainer_work *work = &w->trainer.work;
    return (struct message_work){
        .scored = work->step, .share = work->share, .shares = work->shares};
}

static void tell_of_score(const struct simulated_worker *w)
{
    const struct message_work share = share_of(w);
    OBSERVE(observer_of(w), trainer_scores, w->process, w->score_generation, &share,
            session_scored(w->session));
}

static void report_share(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    const struct computing *computing = &w->engine->options.computing;
    const struct message_work share = share_of(w);
    struct computing_report report = {.took_us = took_us};
    struct error error = {STATUS_OK, ""};
    const float *values = session_scored(w->session);
    tell_of_score(w);
    if (computing->score(computing->context, &share, values, &report, &error) == STATUS_OK)
        trainer_scored(&w->trainer, &report.score, values, report.took_us, to_session);
    else
        trainer_fail(&w->trainer, trainer_exit_code(error.status), error.text, to_session);
}

static void check_begun(const struct simulated_worker *w, const float *now, const char *what)
{
    if (memcmp(w->begun, now, w->begun_to * sizeof *now) != 0)
        engine_fail(w->engine, "worker/%u %s", w->process->index, what);
}

static void end_reading(struct simulated_worker *w)
{
    if (!w->reading)
        return;
    w->reading = false;
    check_begun(w, w->parameters, "begins with parameters that are written meanwhile");
    session_read(w->session, 0, w->engine->now_us);
}

bool simulated_worker_begin(struct simulated_worker *worker)
{
    struct simulated_worker *w = worker;
    uint64_t step, serial, end;
    if (w->reading || w->trainer.state != TRAINER_IDLE)
        return false;
    end = session_front(w->session, &step, &serial);
    if (end == 0 || (serial == w->begun_serial && end <= w->begun_to))
        return false;
    memcpy(w->begun, w->parameters, end * sizeof *w->begun);
    w->begun_serial = serial;
    w->begun_step = step;
    w->begun_to = end;
    w->begun_count++;
    w->reading = true;
    session_read(w->session, end, w->engine->now_us);
    return true;
}

void simulated_worker_begun(struct simulated_worker *worker, uint64_t count)
{
    if (count == worker->begun_count)
        end_reading(worker);
}

/* With the part it has begun, if the values are unchanged. */
static void go_on(struct simulated_worker *w, uint64_t step)
{
    if (w->begun_serial == 0 || w->begun_serial != session_serial(w->session))
        return;
    if (step != w->begun_step && !job_mode(job_of(w))->steps)
        return; /* Of the batch before a gradient was refused: it comes again. */
    if (step != w->begun_step)
        engine_fail(w->engine, "worker/%u has begun with step %" PRIu64 ", and is given %" PRIu64,
                    w->process->index, w->begun_step, step);
    check_begun(w, session_parameters(w->session), "has begun with other parameters");
    w->gone_on++;
}

/* What the observer hears before the trainer takes a message, */
static void note_given(struct simulated_worker *w, const struct message *message)
{
    const struct message_work *work = &message->work;
    if (message->kind == MESSAGE_START)
        OBSERVE(observer_of(w), trainer_starts, w->process, message);
    if (message->kind != MESSAGE_WORK || work->scored > 0)
        return;
    OBSERVE(observer_of(w), trainer_given, w->process, work->batch, work->enough,
            session_parameters(w->session));
    if (!work->enough)
        go_on(w, work->batch);
}

/* and afterwards. */
static void note_taken(struct simulated_worker *w, const struct message *message)
{
    const struct trainer_work *work = &w->trainer.work;
    if (message->kind != MESSAGE_WORK)
        return;
    if (work->shares > 0) {
        w->score_generation = message->generation;
        tell_of_score(w);
    }
    w->batches += work->shares == 0 && !work->enough;
    for (uint32_t i = 0; job_mode(job_of(w))->steps && i < work->node_count; i++)
        OBSERVE(observer_of(w), trainer_leases, w->process, w->trainer.start.assignment, work->step,
                work->nodes[i]);
}

bool simulated_worker_is_busy(const struct simulated_worker *worker)
{
    return worker->trainer.state == TRAINER_COMPUTES || worker->trainer.state == TRAINER_SCORES;
}

void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session)
{
    struct simulated_worker *w = worker;
    const struct message *message = &packet->message;
    bool idle = w->trainer.state == TRAINER_IDLE;
    end_reading(w);
    if (w->trainer.state == TRAINER_OVER) {
        engine_fail(w->engine, "worker/%u gets a message after the end", w->process->index);
    } else if (simulated_worker_is_busy(w) && message->kind != MESSAGE_FINISHED) {
        engine_fail(w->engine, "worker/%u gets a message while it computes", w->process->index);
    } else {
        if (idle)
            note_given(w, message);
        trainer_take(&w->trainer, packet, session_refusals(w->session), to_session);
        if (idle)
            note_taken(w, message);
    }
    w->paced = session_paced(w->session);
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* One node's gradient; false: the worker cannot go on. */
static bool compute_node(struct simulated_worker *w, struct push *push, struct frame *gradient,
                         struct error *error)
{
    const struct computing *computing = &w->engine->options.computing;
    struct computing_report report = {.took_us = push->compute_us};
    const float *parameters = session_parameters(w->session);
    enum status status = computing->gradient(computing->context, &w->trainer.work.shape, push->node,
                                             parameters, gradient->data, &report, error);
    push->score = report.score;
    push->compute_us = report.took_us;
    return trainer_may_push(&w->trainer, status, push);
}

static void train_node(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    struct error error = {STATUS_OK, ""};
    struct push push = trainer_next(&w->trainer);
    struct frame *gradient = free_gradient(w);
    push.compute_us = took_us;
    OBSERVE(observer_of(w), trainer_computed, w->process, session_parameters(w->session));
    if (compute_node(w, &push, gradient, &error))
        trainer_push(&w->trainer, &push, push.bad ? NULL : gradient, to_session);
    else
        trainer_fail(&w->trainer, trainer_exit_code(error.status), error.text, to_session);
}

/* Computed when the first part was sent: the parameters may have changed since. */
static void push_coming(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    w->coming_as.compute_us = took_us;
    trainer_push(&w->trainer, &w->coming_as, w->coming, to_session);
    w->coming = NULL;
}

/* All of it at once, which is not observable. false: it is not finite, which is detected later. */
static bool compute_coming(struct simulated_worker *w)
{
    struct error error = {STATUS_OK, ""};
    struct push push = trainer_next(&w->trainer);
    struct frame *gradient = free_gradient(w);
    if (!compute_node(w, &push, gradient, &error))
        return false;
    OBSERVE(observer_of(w), trainer_computed, w->process, session_parameters(w->session));
    w->coming = gradient;
    w->coming_as = push;
    w->coming_from = w->engine->partition.elements;
    return true;
}

void simulated_worker_ready(struct simulated_worker *worker, struct outbox *to_session)
{
    struct simulated_worker *w = worker;
    if (w->trainer.state != TRAINER_COMPUTES || !job_mode(job_of(w))->steps ||
        w->trainer.node_next + 1 != w->trainer.work.node_count ||
        (w->coming == NULL && !compute_coming(w)))
        return;
    w->coming_from /= 2;
    struct packet *packet = outbox_add_to(to_session, TO_SERVER, SIMULATED_READY, MESSAGE_EXCHANGE);
    packet->message.exchange = push_exchange(&w->coming_as, true);
    packet->payload = frame_retain(w->coming);
    packet->place = w->coming_from;
}

void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session)
{
    if (worker->trainer.state == TRAINER_SCORES)
        report_share(worker, took_us, to_session);
    else if (worker->trainer.state == TRAINER_COMPUTES && worker->coming != NULL)
        push_coming(worker, took_us, to_session);
    else if (worker->trainer.state == TRAINER_COMPUTES)
        train_node(worker, took_us, to_session);
}

/* simulated_worker.c - worker/trainer.c with an event in place of each computation. */

#include "deploy/engine/simulated_worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/l2.h"
#include "common/process/log.h"
#include "deploy/engine/engine.h"
#include "worker/mode/follow_mode.h"

enum status simulated_worker_init(struct simulated_worker *worker, struct engine *engine,
                                  const struct simulated_process *process, uint64_t incarnation)
{
    memset(worker, 0, sizeof *worker);
    worker->engine = engine;
    worker->process = process;
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
        .unchecked = engine->options.unchecked,
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
    frame_release(worker->sets);
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

/* A failed computation ends the job, like client_fail. */
static void give_up(struct simulated_worker *w, const struct error *why, struct outbox *to_session)
{
    struct message *stop = &outbox_add(to_session, TO_SERVER, MESSAGE_STOP)->message;
    stop->stop.exit_code = why->status == STATUS_PROGRAM ? EXIT_PROGRAM : EXIT_TRAINING_FAILED;
    snprintf(stop->stop.reason, MESSAGE_TEXT_MAX, "%s", why->text);
    w->gave_up = true;
    w->computing = false;
}

static void tell_of_score(const struct simulated_worker *w)
{
    OBSERVE(observer_of(w), trainer_scores, w->process, w->score_generation, &w->score,
            session_scored(w->session));
}

static double regularisation_of(const struct simulated_worker *w, const struct message_work *share)
{
    bool tells = share->share == 0 && job_of(w)->l2 > 0.0f;
    return tells ? l2_loss(job_of(w), session_scored(w->session)) : 0;
}

static void report_share(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    const struct computing *computing = &w->engine->options.computing;
    const struct message_work *share = &w->score;
    struct computing_report report = {.took_us = took_us};
    struct error error = {STATUS_OK, ""};
    tell_of_score(w);
    if (computing->score(computing->context, share, session_scored(w->session), &report, &error) !=
        STATUS_OK) {
        give_up(w, &error, to_session);
        return;
    }
    outbox_add(to_session, TO_SERVER, MESSAGE_EVALUATION)->message.evaluation =
        (struct message_evaluation){.step = share->scored,
                                    .share = share->share,
                                    .shares = share->shares,
                                    .loss = report.score.loss,
                                    .correct = report.score.correct,
                                    .examples = report.score.examples,
                                    .not_finite = report.score.not_finite,
                                    .regularisation = regularisation_of(w, share),
                                    .took_us = report.took_us};
    w->score = (struct message_work){0};
    w->computing = false;
}

static void choose_nodes(struct simulated_worker *w)
{
    const struct job *job = job_of(w);
    w->node_next = 0;
    w->node_count = follow_mode_of(job)->nodes(w->shape.batch.leaves, w->start.members,
                                               w->start.position, w->nodes);
    if (w->shape.set != NULL)
        w->node_count = leaf_set_keep(w->shape.set, w->nodes, w->node_count);
    for (uint32_t i = 0; job_mode(job)->steps && i < w->node_count; i++)
        OBSERVE(observer_of(w), trainer_leases, w->process, w->start.assignment, w->step,
                w->nodes[i]);
}

static void stand_by(struct simulated_worker *w, struct outbox *to_session)
{
    outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange =
        (struct message_exchange){.step = w->step, .want = true};
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
    if (w->reading || w->computing || w->gave_up || w->over)
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
    if (step != w->begun_step && !job_mode(job_of(w))->single_version)
        return; /* Of the batch before a gradient was refused: it comes again. */
    if (step != w->begun_step)
        engine_fail(w->engine, "worker/%u has begun with step %" PRIu64 ", and is given %" PRIu64,
                    w->process->index, w->begun_step, step);
    check_begun(w, session_parameters(w->session), "has begun with other parameters");
    w->gone_on++;
}

static void take_work(struct simulated_worker *w, uint64_t step, bool enough,
                      struct outbox *to_session)
{
    OBSERVE(observer_of(w), trainer_given, w->process, step, enough,
            session_parameters(w->session));
    if (enough) {
        outbox_add(to_session, TO_SERVER, MESSAGE_DONE);
        return;
    }
    w->step = step;
    go_on(w, step);
    w->shape = step_shape_in(job_of(w), step, w->sets, &w->set);
    w->shape.refusals = session_refusals(w->session);
    w->batches++;
    choose_nodes(w);
    w->computing = w->node_count > 0;
    if (!w->computing)
        stand_by(w, to_session);
}

/* Scoring takes its time, as a gradient does. */
static void take_share(struct simulated_worker *w, const struct message *message)
{
    w->score = message->work;
    w->score_generation = message->generation;
    tell_of_score(w);
    w->computing = true;
}

static void take_start(struct simulated_worker *w, const struct packet *packet)
{
    const struct message *message = &packet->message;
    w->start = message->start;
    frame_release(w->sets);
    w->sets = packet->payload != NULL ? frame_retain(packet->payload) : NULL;
    OBSERVE(observer_of(w), trainer_starts, w->process, message);
}

static void take(struct simulated_worker *w, const struct packet *packet, struct outbox *to_session)
{
    const struct message *message = &packet->message;
    if (message->kind == MESSAGE_START)
        take_start(w, packet);
    else if (message->kind == MESSAGE_WORK && message->work.scored > 0)
        take_share(w, message);
    else if (message->kind == MESSAGE_WORK)
        take_work(w, message->work.batch, message->work.enough, to_session);
}

void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session)
{
    const struct message *message = &packet->message;
    end_reading(worker);
    if (worker->over)
        engine_fail(worker->engine, "worker/%u gets a message after the end",
                    worker->process->index);
    else if (message->kind == MESSAGE_FINISHED)
        worker->over = true;
    else if (worker->computing)
        engine_fail(worker->engine, "worker/%u gets a message while it computes",
                    worker->process->index);
    else if (!worker->gave_up)
        take(worker, packet, to_session);
    if (worker->over)
        worker->computing = false;
    worker->paced = session_paced(worker->session);
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* The message about a node, but for its gradient. */
static struct message_exchange describe(const struct simulated_worker *w, struct node node,
                                        const struct computing_report *report, bool bad)
{
    uint32_t examples = step_shape_examples(&w->shape, job_of(w), node);
    return (struct message_exchange){.step = w->step,
                                     .gradient = !bad,
                                     .skip = bad,
                                     .node = node,
                                     .examples = examples,
                                     .want = w->node_next == w->node_count,
                                     .has_report = true,
                                     .report = {.step = w->step,
                                                .node = node,
                                                .loss = bad ? 0 : report->score.loss,
                                                .correct = bad ? 0 : report->score.correct,
                                                .examples = bad ? 0 : report->score.examples,
                                                .times.compute_us = report->took_us,
                                                .bad = bad}};
}

static void push_node(const struct message_exchange *exchange, struct frame *gradient,
                      struct outbox *to_session)
{
    struct packet *packet = outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE);
    packet->message.exchange = *exchange;
    packet->payload = gradient != NULL ? frame_retain(gradient) : NULL;
}

/* Computed when the first part was sent: the parameters may have changed since. */
static void push_coming(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    w->coming_as.report.times.compute_us = took_us;
    w->computing = false;
    push_node(&w->coming_as, w->coming, to_session);
    w->coming = NULL;
}

static void train_node(struct simulated_worker *w, uint64_t took_us, struct outbox *to_session)
{
    const struct computing *computing = &w->engine->options.computing;
    struct computing_report report = {.took_us = took_us};
    struct error error = {STATUS_OK, ""};
    struct node node = w->nodes[w->node_next++];
    struct frame *gradient = free_gradient(w);
    OBSERVE(observer_of(w), trainer_computed, w->process, session_parameters(w->session));
    enum status status =
        computing->gradient(computing->context, &w->shape, node, session_parameters(w->session),
                            gradient->data, &report, &error);
    bool bad = status == STATUS_DIVERGED && job_mode(job_of(w))->may_skip;
    w->computing = w->node_next < w->node_count;
    if (status != STATUS_OK && !bad) {
        give_up(w, &error, to_session);
        return;
    }
    struct message_exchange exchange = describe(w, node, &report, bad);
    push_node(&exchange, bad ? NULL : gradient, to_session);
}

/* All of it at once, which is not observable. false: it is not finite, which is detected later. */
static bool compute_coming(struct simulated_worker *w)
{
    const struct computing *computing = &w->engine->options.computing;
    struct computing_report report = {0};
    struct error error = {STATUS_OK, ""};
    struct frame *gradient = free_gradient(w);
    struct node node = w->nodes[w->node_next];
    if (computing->gradient(computing->context, &w->shape, node, session_parameters(w->session),
                            gradient->data, &report, &error) != STATUS_OK)
        return false;
    OBSERVE(observer_of(w), trainer_computed, w->process, session_parameters(w->session));
    w->node_next++;
    w->coming = gradient;
    w->coming_as = describe(w, node, &report, false);
    w->coming_from = w->engine->partition.elements;
    return true;
}

void simulated_worker_ready(struct simulated_worker *worker, struct outbox *to_session)
{
    struct simulated_worker *w = worker;
    bool last = w->coming != NULL || w->node_next + 1 == w->node_count;
    if (!w->computing || w->score.shares > 0 || !last || job_mode(job_of(w))->may_skip ||
        (w->coming == NULL && !compute_coming(w)))
        return;
    w->coming_from /= 2;
    struct message_exchange exchange = w->coming_as;
    exchange.has_report = false;
    push_node(&exchange, w->coming, to_session);
    struct outgoing *said =
        &to_session->items[(to_session->first + to_session->count - 1) % to_session->capacity];
    said->index = SIMULATED_READY;
    said->packet.place = w->coming_from;
}

void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session)
{
    if (worker->computing && worker->score.shares > 0)
        report_share(worker, took_us, to_session);
    else if (worker->computing && worker->coming != NULL)
        push_coming(worker, took_us, to_session);
    else if (worker->computing)
        train_node(worker, took_us, to_session);
}

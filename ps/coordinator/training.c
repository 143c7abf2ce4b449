/* training.c - deals the work, answers leases, and finds the end of training. */

#include "ps/coordinator/training.h"

/* --- shares -------------------------------------------------------------------------------- */

void training_send_start(const struct run *run, struct member *worker, struct frame *sets)
{
    const struct message_start from = {
        .step = run->work.rules->step(&run->work),
        .stop_step = run->work.stop_step,
        .records = run_records(run),
    };
    assignment_send(&run->work.assignment, worker, &run->envelope, &from, sets, run->outbox);
}

/* --- leases -------------------------------------------------------------------------------- */

static struct packet *add_work(struct run *run, uint32_t index, uint64_t request)
{
    struct packet *packet = run_send(run, run->members->workers[index].peer, MESSAGE_WORK);
    packet->message.request = request;
    packet->message.work.clock = run->work.rules->clock(&run->work, index);
    return packet;
}

/* Tell the worker why it has waited, if it has: only now is it known which worker came to the
 * gate last. */
static void say_waited(const struct training *t, const struct run *run, uint32_t index,
                       struct message *work)
{
    const struct member *worker = &run->members->workers[index];
    uint32_t whom = worker->dealt.waits == WAIT_GATE ? t->gate_last : worker->dealt.waits_for;
    work->work.waited = worker->dealt.waits;
    work->work.whom = whom != index + 1 ? whom : 0;
}

static void send_work(const struct training *t, struct run *run, uint32_t index, uint64_t request,
                      uint64_t batch)
{
    struct packet *packet = add_work(run, index, request);
    packet->message.work.batch = batch;
    say_waited(t, run, index, &packet->message);
}

/* It got no batch: note why, once it has nothing to do. */
static void note_wait(const struct run *run, uint32_t index)
{
    uint32_t whom;
    struct member *worker = &run->members->workers[index];
    const struct work_mode *rules = run->work.rules;
    worker->dealt.waits = WAIT_LEASE;
    worker->dealt.waits_for = 0;
    if (rules->is_gated(&run->work)) {
        worker->dealt.waits = WAIT_GATE;
    } else if (rules->waits_for(&run->work, index, &whom)) {
        worker->dealt.waits = WAIT_BOUND;
        worker->dealt.waits_for = whom + 1;
    }
}

bool training_top_up(const struct training *t, struct run *run, uint32_t index, uint64_t request)
{
    uint64_t batch;
    bool sent = false;
    struct member *worker = &run->members->workers[index];
    if (!worker->present || worker->dealt.first_assignment == 0)
        return false;
    /* Only workers that have asked get work: others might never do it, and hold up all. */
    for (; worker->dealt.asks && run->work.rules->ask(&run->work, index, &batch); sent = true)
        send_work(t, run, index, request, batch);
    if (worker->dealt.asks)
        note_wait(run, index);
    worker->dealt.done = worker->dealt.done && !sent;
    /* "Enough" must not overtake a batch, nor DONE the news that one is done. */
    if (!run->work.rules->is_enough(&run->work, index))
        return sent;
    struct packet *packet = add_work(run, index, request);
    packet->message.work.enough = true;
    packet->message.work.batch = run->work.stop_step;
    say_waited(t, run, index, &packet->message);
    return true;
}

void training_top_up_all(const struct training *t, struct run *run)
{
    for (uint32_t i = 0; i < run->members->worker_count; i++)
        training_top_up(t, run, i, 0);
}

/* Its batches once more: they may never have come. */
static bool repeat_work(const struct training *t, struct run *run, uint32_t index, uint64_t request)
{
    bool sent = false;
    uint64_t batches[WORK_HELD_MAX];
    unsigned count = run->work.rules->held(&run->work, index, batches);
    for (unsigned i = 0; i < count; i++, sent = true)
        send_work(t, run, index, request, batches[i]);
    return sent;
}

bool training_hear_lease(struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    struct member *worker = &run->members->workers[message->index];
    if (run->state != RUNNING)
        return false;
    worker->dealt.asks = true;
    if (!message->lease.finished)
        return false;
    stragglers_moved(worker, run->now_us);
    return run->work.rules->finished(&run->work, message->index, message->lease.batch);
}

void training_answer_lease(const struct training *t, struct run *run, const struct packet *packet,
                           bool frees)
{
    const struct message *message = &packet->message;
    bool sent = false;
    if (run->state == RUNNING) {
        if (!message->lease.finished)
            sent = repeat_work(t, run, message->index, message->request);
        sent = training_top_up(t, run, message->index, message->request) || sent;
        if (frees)
            training_top_up_all(t, run);
    }
    if (!sent)
        add_work(run, message->index, message->request)->message.work.none = true;
}

struct effect training_count_bad(struct training *t, const struct run *run,
                                 const struct message *message)
{
    uint64_t batch = message->report.step;
    outbox_warn(run->outbox, "gradient is not finite: batch %" PRIu64 ", from worker/%u; left out",
                batch, message->index);
    if (++t->bad <= run->options.max_bad_gradients)
        return NO_EFFECT;
    return effect_failed(EXIT_TRAINING_FAILED,
                         "%s not finite, the last of batch %" PRIu64
                         " from worker/%u; at most %u may be",
                         wording_counted(t->bad, "gradient was", "gradients were").text, batch,
                         message->index, run->options.max_bad_gradients);
}

/* --- the record ---------------------------------------------------------------------------- */

void training_note_gone(struct run *run, uint32_t index)
{
    if (run->work.rules == NULL || !run_records(run) || !job_mode(run->job)->bounds)
        return;
    const struct order order = {.kind = ORDER_GONE,
                                .generation = run->envelope.generation,
                                .gone = {.ticket = run->members->workers[index].ticket,
                                         .clock = run->work.rules->clock(&run->work, index)}};
    order_add(run->outbox, TO_CHECKPOINTER, 0, &order);
}

/* --- the end ------------------------------------------------------------------------------- */

bool training_hear_done(const struct training *t, struct run *run, struct member *worker,
                        const struct packet *packet)
{
    const struct message *message = &packet->message;
    if (run->state != RUNNING || worker->dealt.done || run->deal_due ||
        !assignment_is_followed(&run->work.assignment, worker))
        return false;
    if (!run->work.rules->may_be_done(&run->work, message->index, &message->done)) {
        repeat_work(t, run, message->index, 0); /* Its batches may be lost. */
        return false;
    }
    worker->dealt.done = true;
    stragglers_moved(worker, run->now_us);
    return true;
}

bool training_is_done(const struct run *run)
{
    bool any = false;
    if (run->deal_due)
        return false;
    for (uint32_t i = 0; i < run->members->worker_count; i++) {
        const struct member *worker = &run->members->workers[i];
        if (worker->missed || (worker->present && !worker->dealt.done))
            return false;
        any = any || worker->present;
    }
    return any && run->work.rules->is_drained(&run->work);
}

void training_stop(const struct training *t, struct run *run)
{
    if (!run->stopping)
        return;
    if (run->work.rules->stop(&run->work))
        training_top_up_all(t, run);
    else if (!t->stop_named)
        run_send(run, PEER_LOCAL, MESSAGE_STOP);
}

void training_stop_at(struct training *t, struct run *run, uint64_t step)
{
    /* A late worker may wait for a version that there will not be. */
    run->deal_due = run->deal_due || (run->state == RUNNING && run_quorum(run) != NULL);
    if (run->state >= FINISHING)
        return;
    t->stop_named = true;
    if (step < run->work.stop_step)
        run->work.stop_step = step;
}

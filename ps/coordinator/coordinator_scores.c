/* coordinator_scores.c - the model's test score after an epoch: when every server has kept its
 * values, the shares and the result.
 *
 *     READY(scored) of every server --> WORK(scored, share) to every worker --> EVALUATION
 *                                        ^ again with its PINGs, or to others      |
 *                                        '--- it is lost             all: reported, let go */

#include <inttypes.h>
#include <math.h>

#include "common/file/json_writer.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/stragglers.h"

/* --- dealing ------------------------------------------------------------------------------- */

/* A worker that knows its place in this generation. */
static bool can_score(const struct coordinator *c, uint32_t index)
{
    const struct member *worker = &c->work.membership.workers[index];
    return worker->present && worker->first_assignment != 0;
}

static uint32_t scorers(const struct coordinator *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        count += can_score(c, i);
    return count;
}

/* Its own once more, or a free one. */
void coordinator_deal_share(struct coordinator *c, uint32_t index, struct outbox *outbox)
{
    struct message_work work;
    if (c->state != RUNNING || !can_score(c, index) ||
        !evaluation_deal(&c->evaluation, index, &work))
        return;
    envelope_to_peer(&c->envelope, c->work.membership.workers[index].peer, MESSAGE_WORK, outbox)
        ->message.work = work;
}

/* To all that have none. */
static void deal_shares(struct coordinator *c, struct outbox *outbox)
{
    for (uint32_t i = 0; c->evaluation.batches > 0 && i < c->work.membership.worker_count; i++)
        if (!evaluation_holds(&c->evaluation, i))
            coordinator_deal_share(c, i, outbox);
}

/* Whether all servers have kept their values of one and the same count. */
static bool is_kept(const struct coordinator *c, uint64_t *batches)
{
    const struct membership *all = &c->work.membership;
    *batches = all->servers[0].scored;
    for (uint32_t i = 1; i < all->server_count; i++)
        if (all->servers[i].scored != *batches)
            return false;
    return *batches > 0;
}

static void count_dropped(struct coordinator *c, struct outbox *outbox)
{
    uint64_t dropped = evaluation_take_dropped(&c->evaluation);
    if (dropped == 0)
        return;
    c->summary.faults.scores_dropped += dropped;
    order_event(outbox, EVENT_SCORE_DROPPED, .step = c->evaluation.settled, .scores = dropped);
}

void coordinator_score(struct coordinator *c, struct outbox *outbox)
{
    uint64_t batches;
    if (c->state != RUNNING || c->deal_due)
        return;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        const struct member *server = &c->work.membership.servers[i];
        evaluation_pass(&c->evaluation, server->scored, server->scored_lost);
    }
    count_dropped(c, outbox);
    if (is_kept(c, &batches))
        evaluation_open(&c->evaluation, batches, scorers(c));
    deal_shares(c, outbox);
}

/* --- scores -------------------------------------------------------------------------------- */

/* How long the score has held up training, as far as is known: in a step all wait until the
 * slowest is through; else each for its own share. */
static uint64_t held_up_us(const struct coordinator *c)
{
    const struct evaluation *evaluation = &c->evaluation;
    return job_mode(c->job)->steps ? evaluation->took_max_us
                                   : evaluation->took_sum_us / evaluation->shares;
}

static void tell_score(struct coordinator *c, struct outbox *outbox)
{
    uint64_t batches = c->evaluation.batches;
    c->summary.test.loss =
        c->evaluation.not_finite > 0 ? (double)NAN : tally_loss(&c->evaluation.tally, c->job);
    c->summary.test.accuracy = tally_accuracy(&c->evaluation.tally, c->job);
    c->summary.test.regularisation = c->job->l2 > 0.0f ? c->evaluation.regularisation : (double)NAN;
    c->summary.test_step = batches;
    order_event(
        outbox, EVENT_EVALUATION, .epoch = job_epoch_ended(c->job, batches), .step = batches,
        .test_loss = c->summary.test.loss, .test_accuracy = c->summary.test.accuracy,
        .regularisation_loss = c->summary.test.regularisation,
        .seconds = (double)held_up_us(c) * 1e-6, .exchanged_bytes = coordinator_exchanged_bytes(c),
        .training_seconds = run_phases_marked(&c->summary.phases));
}

void coordinator_handle_evaluation(struct coordinator *c, const struct packet *packet,
                                   uint64_t now_us, struct outbox *outbox)
{
    const struct message_evaluation *share = &packet->message.evaluation;
    struct member *worker = &c->work.membership.workers[packet->message.index];
    coordinator_take_times(c, worker, &packet->message, &share->times);
    envelope_answer(&c->envelope, packet, MESSAGE_PONG, outbox);
    uint64_t known = c->evaluation.batches > 0 ? held_up_us(c) : 0;
    if (c->state != RUNNING || !evaluation_add(&c->evaluation, share))
        return;
    run_phases_hold_up(&c->summary.phases, held_up_us(c) - known, coordinator_wall(c, now_us));
    stragglers_moved(worker, now_us);
    if (evaluation_is_whole(&c->evaluation)) {
        tell_score(c, outbox);
        evaluation_settle(&c->evaluation);
    }
    coordinator_score(c, outbox);
    coordinator_finish_when_done(c, now_us, outbox);
}

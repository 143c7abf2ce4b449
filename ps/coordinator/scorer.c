/* scorer.c - one score at a time: opens it, deals its shares, and counts what comes back. */

#include "ps/coordinator/scorer.h"

/* Batches up to which scores need not be made again. If server 0 was killed, the score of an
 * epoch that ended just where it goes on may have been lost with it. */
void scorer_open(struct scorer *s, const struct run *run)
{
    bool lost = run_goes_on(run) && run->first_step > 0;
    evaluation_init(&s->evaluation, run->job, run->first_step - lost);
}

void scorer_go_back(struct scorer *s, const struct run *run)
{
    evaluation_go_back(&s->evaluation, run->first_step);
    s->kept_at = 0;
}

/* --- dealing ------------------------------------------------------------------------------- */

/* A worker that knows its place in this generation. */
static bool can_score(const struct run *run, uint32_t index)
{
    const struct member *worker = &run->members->workers[index];
    return worker->present && worker->dealt.first_assignment != 0;
}

static uint32_t scorers(const struct run *run)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->members->worker_count; i++)
        count += can_score(run, i);
    return count;
}

/* Its own once more, or a free one. */
void scorer_deal_share(struct scorer *s, const struct run *run, uint32_t index)
{
    struct message_work work;
    if (run->state != RUNNING || !can_score(run, index) ||
        !evaluation_deal(&s->evaluation, index, &work))
        return;
    run_send(run, run->members->workers[index].peer, MESSAGE_WORK)->message.work = work;
}

/* Whether all servers have kept their values of one and the same count. */
static bool is_kept(const struct run *run, uint64_t *batches)
{
    const struct membership *all = run->members;
    *batches = all->servers[0].kept.scored;
    for (uint32_t i = 1; i < all->server_count; i++)
        if (all->servers[i].kept.scored != *batches)
            return false;
    return *batches > 0;
}

void scorer_go_on(struct scorer *s, const struct run *run)
{
    struct evaluation *evaluation = &s->evaluation;
    const struct membership *all = run->members;
    uint64_t batches, dropped;
    if (run->state != RUNNING || run->deal_due)
        return;
    for (uint32_t i = 0; i < all->server_count; i++)
        evaluation_pass(evaluation, all->servers[i].kept.scored, all->servers[i].kept.scored_lost);
    if ((dropped = evaluation_take_dropped(evaluation)) > 0)
        order_event(run->outbox, EVENT_SCORE_DROPPED, .step = evaluation->settled,
                    .scores = dropped);
    s->dropped += dropped;
    if (is_kept(run, &batches))
        evaluation_open(evaluation, batches, scorers(run));
    for (uint32_t i = 0; evaluation->batches > 0 && i < all->worker_count; i++)
        if (!evaluation_holds(evaluation, i))
            scorer_deal_share(s, run, i);
}

/* --- results ------------------------------------------------------------------------------- */

uint64_t scorer_held_up_us(const struct scorer *s)
{
    const struct evaluation *evaluation = &s->evaluation;
    if (evaluation->batches == 0)
        return 0;
    return job_mode(evaluation->job)->steps ? evaluation->took_max_us
                                            : evaluation->took_sum_us / evaluation->shares;
}

bool scorer_add(struct scorer *s, const struct run *run, const struct packet *packet,
                uint64_t *held_up_us)
{
    uint64_t known_us = scorer_held_up_us(s);
    run_answer(run, packet, MESSAGE_PONG);
    if (run->state != RUNNING || !evaluation_add(&s->evaluation, &packet->message.evaluation))
        return false;
    *held_up_us = scorer_held_up_us(s) - known_us;
    stragglers_moved(&run->members->workers[packet->message.index], run->now_us);
    return true;
}

bool scorer_keep(struct scorer *s, const struct run *run, const struct packet *packet)
{
    uint64_t batches = packet->message.chunk_state.step;
    bool busy = s->kept != NULL && !frame_is_unique(s->kept);
    if (!run->job->keep_scored || packet->payload == NULL || batches < s->kept_at ||
        (batches > s->kept_at && busy))
        return false;
    frame_release(s->kept);
    s->kept = frame_retain(packet->payload);
    s->kept_at = batches;
    return true;
}

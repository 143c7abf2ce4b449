/* scoring.c - one more exchange, which pushes nothing and asks every chunk for its kept values. */

#include "worker/client/scoring.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "worker/client/exchange_state.h"

enum status scoring_init(struct scoring *scoring, const struct job *job,
                         const struct partition *partition)
{
    memset(scoring, 0, sizeof *scoring);
    scoring->values = aligned_alloc(64, partition->elements * sizeof(float));
    if (scoring->values == NULL)
        return STATUS_MEMORY;
    return exchange_init(&scoring->pull, job, partition, scoring->values);
}

void scoring_free(struct scoring *scoring)
{
    if (scoring->pull.chunks != NULL)
        exchange_free(&scoring->pull);
    free(scoring->values);
    memset(scoring, 0, sizeof *scoring);
}

static void drop_work(struct scoring *scoring)
{
    exchange_forget(&scoring->pull);
    scoring->here = 0;
    scoring->work = (struct message_work){0};
}

void scoring_forget(struct scoring *scoring)
{
    drop_work(scoring);
    scoring->wanted = false;
    scoring->finished = (struct message_work){0};
}

static bool is_same(const struct message_work *a, const struct message_work *b)
{
    return a->scored == b->scored && a->share == b->share && a->shares == b->shares;
}

/* While the trainer reads the values they are not overwritten: WORK will come again. */
void scoring_take_work(struct scoring *scoring, struct envelope *envelope,
                       const struct message_work *work, uint64_t now_us, struct outbox *outbox)
{
    struct message_exchange what = {.want = true, .want_version = work->scored, .scored = true};
    if (scoring->given || is_same(work, &scoring->work) || is_same(work, &scoring->finished))
        return;
    bool under_way = scoring->pull.under_way > 0 && work->scored == scoring->work.scored;
    scoring->work = *work;
    if (under_way || scoring->here == work->scored)
        return;
    scoring->here = 0;
    exchange_ask(&scoring->pull, envelope, &what, now_us, outbox);
}

bool scoring_take(struct scoring *scoring, struct envelope *envelope, uint32_t server,
                  const struct packet *packet, uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    if (message->kind == MESSAGE_RESULT
            ? !message->result.scored
            : message->kind != MESSAGE_MOVED_ON || !message->moved_on.scored)
        return false;
    enum exchange_outcome outcome =
        exchange_take(&scoring->pull, envelope, server, packet, now_us, outbox);
    if (outcome == EXCHANGE_COMPLETE)
        scoring->here = scoring->work.scored;
    else if (outcome == EXCHANGE_MISSED)
        drop_work(scoring);
    return true;
}

bool scoring_give(struct scoring *scoring, uint64_t now_us)
{
    if (scoring->given || scoring->work.scored == 0 || scoring->here != scoring->work.scored)
        return false;
    scoring->given = scoring->wanted = true;
    scoring->given_us = now_us;
    return true;
}

bool scoring_finish(struct scoring *scoring)
{
    bool wanted = scoring->wanted;
    scoring->given = scoring->wanted = false;
    if (wanted)
        scoring->finished = scoring->work;
    scoring->work = (struct message_work){0};
    return wanted;
}

uint64_t scoring_us(const struct scoring *scoring, uint64_t since_us, uint64_t now_us)
{
    if (!scoring->given)
        return 0;
    return now_us - (since_us > scoring->given_us ? since_us : scoring->given_us);
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("scoring", condition, rule)

void scoring_check(const struct scoring *scoring)
{
    const struct scoring *s = scoring;
    exchange_check(&s->pull);
    RULE(IMPLIES(s->here != 0, s->pull.under_way == 0), "what is here is not asked for");
    RULE(IMPLIES(s->pull.under_way > 0, s->work.scored != 0 && !s->given),
         "values are pulled for a share that the trainer does not have yet");
    RULE(IMPLIES(s->wanted, s->given && s->here == s->work.scored && s->here != 0),
         "what the trainer scores is here");
    RULE(IMPLIES(s->work.scored != 0, s->work.share < s->work.shares), "a share is one of all");
}

/* announcements.c - messages to the coordinator that are repeated, since when, and what ends
 * that. */

#include "worker/client/announcements.h"

#include <stdio.h>
#include <string.h>

#include "common/base/invariant.h"

#define REPEAT_US 500000u

static void say_score(struct announced_score *score, const struct envelope *envelope,
                      uint64_t now_us, struct outbox *outbox)
{
    envelope_to_server_as(envelope, 0, MESSAGE_EVALUATION, score->request, outbox)
        ->message.evaluation = score->evaluation;
    score->said_us = now_us;
}

void announcements_score(struct announcements *announcements, struct envelope *envelope,
                         const struct message_evaluation *evaluation, uint64_t now_us,
                         struct outbox *outbox)
{
    struct announcements *a = announcements;
    if (a->score_count == ANNOUNCEMENTS_SCORES_MAX)
        memmove(a->scores, a->scores + 1, --a->score_count * sizeof *a->scores);
    struct announced_score *score = &a->scores[a->score_count++];
    score->request = ++envelope->last_request;
    score->evaluation = *evaluation;
    say_score(score, envelope, now_us, outbox);
}

void announcements_heard(struct announcements *announcements, uint64_t request)
{
    struct announcements *a = announcements;
    for (uint32_t i = 0; i < a->score_count; i++)
        if (a->scores[i].request == request) {
            memmove(&a->scores[i], &a->scores[i + 1], (--a->score_count - i) * sizeof *a->scores);
            return;
        }
}

void announcements_done(struct announcements *announcements, const struct message_done *done)
{
    announcements->done = true;
    announcements->done_us = 0;
    announcements->done_message = *done;
}

void announcements_stop(struct announcements *announcements, uint32_t exit_code, const char *reason)
{
    announcements->stop = true;
    announcements->stop_us = 0;
    announcements->stop_code = exit_code;
    snprintf(announcements->stop_reason, sizeof announcements->stop_reason, "%s", reason);
}

void announcements_leave(struct announcements *announcements)
{
    announcements->leave = true;
    announcements->leave_us = 0;
}

void announcements_forget_done(struct announcements *announcements)
{
    announcements->done = false;
}

void announcements_forget_scores(struct announcements *announcements)
{
    announcements->score_count = 0;
}

static bool is_due(bool wanted, uint64_t *said_us, uint64_t now_us)
{
    if (!wanted || (*said_us != 0 && now_us - *said_us < REPEAT_US))
        return false;
    *said_us = now_us;
    return true;
}

void announcements_tick(struct announcements *announcements, struct envelope *envelope,
                        uint64_t now_us, struct outbox *outbox)
{
    struct announcements *a = announcements;
    for (uint32_t i = 0; i < a->score_count; i++)
        if (now_us - a->scores[i].said_us >= REPEAT_US)
            say_score(&a->scores[i], envelope, now_us, outbox);
    if (is_due(a->done && a->score_count == 0, &a->done_us, now_us))
        envelope_to_server(envelope, 0, MESSAGE_DONE, outbox)->message.done = a->done_message;
    if (is_due(a->leave && !a->leave_held, &a->leave_us, now_us))
        envelope_to_server(envelope, 0, MESSAGE_LEAVE, outbox);
    if (is_due(a->stop && !a->stop_known, &a->stop_us, now_us)) {
        struct message *message = &envelope_to_server(envelope, 0, MESSAGE_STOP, outbox)->message;
        message->stop.exit_code = a->stop_code;
        snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "%s", a->stop_reason);
    }
}

#define RULE(condition, rule) INVARIANT("announcements", condition, rule)

void announcements_check(const struct announcements *announcements, const struct envelope *envelope)
{
    const struct announcements *a = announcements;
    RULE(a->score_count <= ANNOUNCEMENTS_SCORES_MAX, "there is room for every score");
    for (uint32_t i = 0; i < a->score_count; i++) {
        RULE(a->scores[i].request > (i == 0 ? 0 : a->scores[i - 1].request),
             "scores are in the order of their numbers");
        RULE(a->scores[i].request <= envelope->last_request, "every number was drawn");
    }
    RULE(a->stop == (a->stop_code != 0), "a stop has an exit code");
}

/* announcements.h - messages that the coordinator must receive: scores, DONE, STOP and LEAVE,
 * repeated until they are answered.
 *
 * DONE waits until every score has arrived, so that an epoch's score is there when the job ends.
 *
 * Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_CLIENT_ANNOUNCEMENTS_H
#define WORKER_CLIENT_ANNOUNCEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/envelope.h"

#define ANNOUNCEMENTS_SCORES_MAX 16 /* Without an answer; one more forgets the oldest. */

struct announced_score {
    uint64_t request, said_us;
    struct message_evaluation evaluation;
};

struct announcements {
    struct announced_score scores[ANNOUNCEMENTS_SCORES_MAX]; /* Oldest first. */
    uint32_t score_count;
    bool done, stop, leave; /* To be sent. */
    bool stop_known;        /* The job is stopping anyway. But the coordinator may fall back. */
    bool leave_held;        /* Not yet: the worker finishes something first. */
    struct message_done done_message;
    uint32_t stop_code;
    char stop_reason[MESSAGE_TEXT_MAX];
    uint64_t done_us, stop_us, leave_us; /* When they were sent last; 0: not yet. */
};

void announcements_score(struct announcements *announcements, struct envelope *envelope,
                         const struct message_evaluation *evaluation, uint64_t now_us,
                         struct outbox *outbox);

/* A PONG: the coordinator has received this request. */
void announcements_heard(struct announcements *announcements, uint64_t request);

/* Nothing leaves before the next tick. */
void announcements_done(struct announcements *announcements, const struct message_done *done);
void announcements_stop(struct announcements *announcements, uint32_t exit_code,
                        const char *reason);
void announcements_leave(struct announcements *announcements);

/* There is more work after all. */
void announcements_forget_done(struct announcements *announcements);

/* Another generation: scores of the one before are useless. */
void announcements_forget_scores(struct announcements *announcements);

void announcements_tick(struct announcements *announcements, struct envelope *envelope,
                        uint64_t now_us, struct outbox *outbox);

/* See common/base/invariant.h. */
void announcements_check(const struct announcements *announcements,
                         const struct envelope *envelope);

#endif

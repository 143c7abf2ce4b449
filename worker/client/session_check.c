/* session_check.c - the invariants of a session between two messages. */

#include "common/base/invariant.h"
#include "worker/client/exchange_state.h"
#include "worker/client/session_state.h"

#define RULE(condition, rule) INVARIANT("session", condition, rule)

static void check_start(const struct session *s)
{
    bool started = s->start.assignment != 0;
    RULE(IMPLIES(started, s->joining.started), "with the first START it has started");
    RULE(IMPLIES(s->have_parameters, started), "parameters are of a START");
    RULE(IMPLIES(s->have_parameters, s->rounds == 0), "who has parameters does not look for them");
    RULE(IMPLIES(s->ask_at_us != 0, !s->have_parameters && s->exchange.under_way == 0),
         "who is to ask has neither parameters nor asked");
}

static void check_trainer(const struct session *s)
{
    bool busy = s->trainer == BUSY;
    RULE(IMPLIES(s->abandoned, busy), "only what is computed is abandoned");
    RULE(!busy || !s->scoring.given, "the trainer computes or scores");
    RULE(IMPLIES(busy, s->joining.started && (s->exchange.open || s->exchange.under_way == 0)),
         "while the trainer computes nothing is under way but what it pushes as it comes");
    RULE(IMPLIES(s->exchange.open, busy && !s->abandoned && !s->all_at_once),
         "only what is computed comes bit by bit");
    RULE(IMPLIES(s->exchange.open, job_mode(s->options.job)->steps),
         "nothing leaves early of what may be left out");
    RULE(IMPLIES(busy, s->ask_at_us == 0), "while the trainer computes nothing is asked for");
    RULE(IMPLIES(busy && !s->abandoned, s->have_parameters && exchange_view_is_here(&s->exchange)),
         "what the trainer reads is here");
    RULE(busy || s->exchange.pushed_count == 0 || s->exchange.under_way > 0,
         "gradients are kept until they are answered");
    RULE(IMPLIES(s->announcements.done, s->trainer == DONE), "DONE is said for the trainer");
}

void session_check(const struct session *session)
{
    const struct session *s = session;
    RULE(s->envelope == &s->joining.envelope, "it speaks as who it is");
    joining_check(&s->joining);
    exchange_check(&s->exchange);
    scoring_check(&s->scoring);
    follow_check(&s->follow);
    announcements_check(&s->announcements, s->envelope);
    RULE(s->end_passed == s->joining.over, "the trainer knows the end as soon as it is there");
    RULE(IMPLIES(s->end_passed, s->exchange.pushed_count == 0 && s->exchange.under_way == 0),
         "after the end nothing is under way");
    if (s->end_passed)
        return;
    check_start(s);
    check_trainer(s);
}

/* coordinator_leashes.c - decides whether the launcher is gone, or only the connection to some
 * of its processes.
 *
 * Both end a process's standard input. When the launcher dies, all of them end; so the launcher
 * is there as long as any process holds its leash. A process counts as holding it only if it was
 * heard lately, and gets the time to notice the end. */

#include <stdio.h>

#include "common/process/parent.h"
#include "ps/coordinator/coordinator_state.h"

#define FRESH_US  1500000u /* Members are heard every half second; a silent one does not count. */
#define NOTICE_US 2000000u /* For the others to notice that the launcher is gone. */
/* For a clean stop then: it must be complete before processes end by themselves. */
#define ABANDONED_SECONDS (0.75 * PARENT_LOST_SECONDS)

struct leashes {
    bool held, lost, silent; /* silent: a member that is not lost was not heard lately. */
};

static bool is_fresh(const struct member *member, uint64_t now_us)
{
    return member->present && !member->lost && now_us - member->heard_us <= FRESH_US;
}

static struct member *member_at(const struct coordinator *c, uint32_t i)
{
    const struct membership *all = &c->work.membership;
    return i < all->server_count ? &all->servers[i] : &all->workers[i - all->server_count];
}

static uint32_t members(const struct coordinator *c)
{
    const struct membership *all = &c->work.membership;
    return all->servers == NULL ? 0 : all->server_count + all->worker_count;
}

static struct leashes look(const struct coordinator *c, uint64_t now_us)
{
    struct leashes seen = {.lost = c->unleashed};
    for (uint32_t i = 0; i < members(c); i++) {
        const struct member *member = member_at(c, i);
        seen.silent =
            seen.silent || (member->present && !member->lost && !is_fresh(member, now_us));
        if (!is_fresh(member, now_us) || (member->peer == PEER_LOCAL && c->unleashed))
            continue;
        seen.held = seen.held || member->leash == LEASH_HELD;
        seen.lost = seen.lost || member->leash == LEASH_LOST;
    }
    return seen;
}

/* A lost process is not started again: it is not waited for. */
static void stop(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct packet packet = {.peer = PEER_LOCAL, .message = {.kind = MESSAGE_STOP, .role = ROLE_PS}};
    c->abandoned = true;
    c->options.deadlines.recovery = 0;
    if (c->options.deadlines.stop > ABANDONED_SECONDS)
        c->options.deadlines.stop = ABANDONED_SECONDS;
    packet.message.stop.exit_code = EXIT_TERMINATED;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "the launcher is gone");
    coordinator_handle_stop(c, &packet, now_us, outbox);
}

static void send_away(struct coordinator *c, const struct member *member, enum role role,
                      uint32_t index, struct outbox *outbox)
{
    struct message *message =
        &envelope_to_peer(&c->envelope, member->peer, MESSAGE_REFUSED, outbox)->message;
    message->refused.reason = REFUSAL_RUN;
    snprintf(message->refused.text, MESSAGE_TEXT_MAX,
             "its connection to the launcher is broken, and it has to be started again");
    outbox_warn(outbox, "%s/%u (on %s) ends: its connection to the launcher is broken",
                role_name(role), index, member->host);
}

/* Server 0 as well, if it is one of them: as when it is killed, without an announced end. */
static void send_all_away(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    uint32_t servers = c->work.membership.server_count;
    for (uint32_t i = 0; i < members(c); i++) {
        struct member *member = member_at(c, i);
        bool own = member->peer == PEER_LOCAL;
        if (!is_fresh(member, now_us) || (own ? !c->unleashed : member->leash != LEASH_LOST))
            continue;
        send_away(c, member, i < servers ? ROLE_PS : ROLE_WORKER, i < servers ? i : i - servers,
                  outbox);
        member->leash = LEASH_NONE; /* Until it says so again. */
    }
    if (c->unleashed)
        coordinator_enter(c, OVER, now_us);
}

void coordinator_watch_leashes(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct leashes seen = look(c, now_us);
    if (c->state == FINISHING && seen.lost && !seen.held)
        c->abandoned = true; /* No process will come late to ask how the job ended. */
    if (c->abandoned || c->state >= FINISHING || !seen.lost) {
        c->leash_us = 0;
        return;
    }
    if (c->leash_us == 0)
        c->leash_us = now_us;
    /* After the network here was down, processes that hold theirs must be heard first. */
    if (!seen.held && (!seen.silent || now_us - c->leash_us >= FRESH_US)) {
        stop(c, now_us, outbox);
    } else if (seen.held && now_us - c->leash_us >= NOTICE_US && !c->stopping &&
               c->state < CLOSING) {
        send_all_away(c, now_us, outbox);
        c->leash_us = 0;
    }
}

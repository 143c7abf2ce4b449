/* finishing.c - stops the job, and tells all members how it ended. */

#include "ps/coordinator/finishing.h"

#include <math.h>

#define FINISHED_REPEAT_US 500000u
#define LINGER_SECONDS     2.0 /* Others than members ask again within this time. */
#define GIVE_UP_SECONDS    0.6 /* The same when the start timed out, to end soon. */
#define WATCHER_SECONDS    0.5 /* For watchers to hear of the end. */
#define DESERTED_SECONDS   2.0 /* For messages of workers that left to arrive. */

/* --- a stop -------------------------------------------------------------------------------- */

struct effect finishing_stop(struct finishing *f, struct run *run, int exit_code,
                             const char *reason)
{
    struct effect effect = {.kind = EFFECT_STOPPING, .exit_code = exit_code};
    if (run->stopping || run->state >= CLOSING)
        return NO_EFFECT;
    run->stopping = true;
    f->stop_us = run->now_us;
    f->exit_code = exit_code;
    if (run->state >= RECOVERING) {
        order_event(run->outbox, EVENT_STOP, .text = reason, .exit_code = (uint64_t)exit_code);
        return effect;
    }
    effect.kind = EFFECT_STOPPED;
    if (exit_code == EXIT_DONE) /* Nothing else says why a job that has not begun is done. */
        outbox_log(run->outbox, "stopping: %s", reason);
    snprintf(effect.text, sizeof effect.text, "stopped before training started");
    if (run->state == GATHERING && run->restore && run->first_step > 0)
        snprintf(effect.text, sizeof effect.text,
                 "stopped before training went on; the checkpoint at step %" PRIu64 " stands",
                 run->first_step);
    return effect;
}

struct effect finishing_hear_stop(struct finishing *f, struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    int code = (int)message->stop.exit_code;
    /* EXIT_DONE: it has been trained enough. */
    if (code == EXIT_DONE || code == EXIT_INTERRUPTED || code == EXIT_TERMINATED)
        return finishing_stop(f, run, code, message->stop.reason);
    return effect_failed(code, "%s/%u: %s", role_name(message->role), message->index,
                         message->stop.reason);
}

/* The checkpoint to go on from when a stop makes none. */
static const char *what_stands(const struct run *run, char text[64])
{
    snprintf(text, 64, "there is no checkpoint");
    if (run->whole != NO_STEP)
        snprintf(text, 64, "the checkpoint at step %" PRIu64 " stands", run->whole);
    return text;
}

/* Of a stop that did not finish: one with code 0 is not done. */
static int code_of_stop(const struct finishing *f)
{
    return f->exit_code == EXIT_DONE ? EXIT_TERMINATED : f->exit_code;
}

struct effect finishing_deserted(const struct finishing *f, const struct run *run)
{
    char text[64];
    return effect_failed(code_of_stop(f),
                         "stopped when all workers had left, in the middle of a step; %s",
                         what_stands(run, text));
}

struct effect finishing_watch(const struct finishing *f, const struct run *run, bool taken)
{
    char text[64];
    double seconds = run->options.deadlines.stop, waited = run_since(run, run->entered_us);
    bool trains = run->state == RECOVERING || run->state == RUNNING;
    if (run->stopping && trains && run_since(run, f->stop_us) > seconds)
        return effect_failed(code_of_stop(f), "stopping took longer than %s; %s",
                             wording_duration(seconds).text, what_stands(run, text));
    if (run->state != CLOSING)
        return NO_EFFECT;
    if (run->deserted && waited > DESERTED_SECONDS && !run->closed && !taken)
        return finishing_deserted(f, run);
    if (waited <= seconds)
        return NO_EFFECT;
    return effect_failed(EXIT_CANNOT_OPEN, "%s was not written within %s",
                         run->closed ? "the model file" : "the last checkpoint",
                         wording_duration(seconds).text);
}

bool finishing_turn_away(struct finishing *f, const struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    const struct member *place = membership_place(run->members, message);
    bool is_member = place != NULL && place->present && place->incarnation == message->incarnation;
    if (run->state != CLOSING || is_member || (message->role != ROLE_WORKER && !run->closed))
        return false;
    f->turned_away = true;
    run_ask_to_wait(run, packet, "training is over; the job is being closed");
    return true;
}

/* --- announcing ------------------------------------------------------------------------------- */

static void say_finished(const struct finishing *f, struct packet *packet)
{
    packet->message.stop.exit_code = (uint32_t)f->exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", f->reason);
}

void finishing_answer(const struct finishing *f, const struct run *run, const struct packet *packet)
{
    say_finished(f, packet->member ? run_send(run, packet->peer, MESSAGE_FINISHED)
                                   : run_send_unknown(run, packet->peer, MESSAGE_FINISHED));
}

static void tell_all(const struct finishing *f, const struct run *run, const struct member *members,
                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].present && !members[i].bye)
            say_finished(f, run_send(run, members[i].peer, MESSAGE_FINISHED));
}

void finishing_tell_members(struct finishing *f, const struct run *run)
{
    const struct membership *all = run->members;
    f->sent_us = run->now_us;
    tell_all(f, run, all->workers, all->worker_count);
    tell_all(f, run, all->servers, all->server_count);
    if (all->servers == NULL) /* No job yet: only our own router. */
        say_finished(f, run_send(run, PEER_LOCAL, MESSAGE_FINISHED));
}

void finishing_tell_watchers(const struct finishing *f, const struct run *run,
                             const struct message_status_answer *answer)
{
    for (unsigned i = 0; i < WATCHERS_MAX && i < f->watcher_count; i++)
        if (f->watchers[i] != PEER_LOCAL)
            run_send_unknown(run, f->watchers[i], MESSAGE_STATUS_ANSWER)->message.status_answer =
                *answer;
}

void finishing_finish(struct finishing *f, const struct run *run, int exit_code, const char *reason)
{
    f->exit_code = exit_code;
    snprintf(f->reason, sizeof f->reason, "%s", reason);
    bool clean =
        exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED;
    if (clean) /* Else each process has its own reason. */
        outbox_log(run->outbox, "job finished exit=%d%s%s", exit_code,
                   reason[0] != '\0' ? " reason: " : "", reason);
}

/* --- who may ask --------------------------------------------------------------------------- */

/* Whether a process that is no member may be about to ask how it ended: a lost worker that is
 * being started again, or one that came too late. */
static bool is_asked_for(const struct finishing *f, const struct run *run)
{
    bool seen_before = run_goes_on(run);
    for (uint32_t i = 0; i < run->members->declared_count; i++) {
        const struct member *worker = &run->members->workers[i];
        if (!worker->present && !worker->bye && !member_has_left(worker) &&
            (worker->ever || seen_before))
            return true;
    }
    return f->turned_away;
}

static bool has_unknown_peers(const struct member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!members[i].ever && !members[i].bye)
            return true;
    return false;
}

/* Server 0 was killed, and its successor stopped before all members had found it again: they
 * look for it, and cannot know. */
static bool is_looked_for(const struct run *run)
{
    const struct membership *all = run->members;
    return run->stopping && run->work.assignment.number == 0 && run->envelope.run_id != 0 &&
           run_goes_on(run) &&
           (has_unknown_peers(all->servers + 1, all->server_count - 1) ||
            has_unknown_peers(all->workers, all->declared_count));
}

/* How long late questions are still answered with the end. */
static double linger_seconds(const struct finishing *f, const struct run *run)
{
    if (run->abandoned)
        return 0;
    if (is_looked_for(run))
        return run->options.deadlines.stop;
    if (!is_asked_for(f, run))
        return 0;
    return f->exit_code == EXIT_START_TIMEOUT ? GIVE_UP_SECONDS : LINGER_SECONDS;
}

/* Whether there is no process to wait for: there never was a member, and those that wait to join
 * have asked before, and will ask again and hear why. */
static bool has_no_member(const struct finishing *f, const struct run *run)
{
    return f->own_router_left && run->members->servers == NULL && run->declaration.uploader == 0 &&
           !f->known;
}

/* Some members have not confirmed the end. libzmq drops received messages when the connection
 * ends before they are taken, so the last message is lost unless this process stays. */
static bool is_watched(const struct finishing *f, const struct run *run)
{
    bool watched = false;
    if (run->abandoned)
        return false;
    for (unsigned i = 0; i < WATCHERS_MAX && i < f->watcher_count; i++)
        watched = watched || f->watchers[i] != PEER_LOCAL;
    return watched && run_since(run, run->entered_us) < WATCHER_SECONDS;
}

static struct effect when_all_know(const struct finishing *f, const struct run *run)
{
    bool left = membership_has_left(run->members) &&
                run_since(run, run->entered_us) >= linger_seconds(f, run);
    bool over = run->state == FINISHING && (left || has_no_member(f, run)) && !is_watched(f, run);
    return (struct effect){.kind = over ? EFFECT_OVER : EFFECT_NONE};
}

/* --- after the end ------------------------------------------------------------------------- */

static struct effect when_through(const struct finishing *f, const struct run *run)
{
    return run->members->tickets > 0 || has_no_member(f, run) ? when_all_know(f, run) : NO_EFFECT;
}

struct effect finishing_note_watcher(struct finishing *f, const struct run *run,
                                     const struct packet *packet)
{
    bool watches = packet->message.status.watch, known = false;
    for (unsigned i = 0; i < WATCHERS_MAX && i < f->watcher_count; i++) {
        known = known || f->watchers[i] == packet->peer;
        if (f->watchers[i] == packet->peer && !watches)
            f->watchers[i] = PEER_LOCAL; /* It does not watch. */
    }
    if (watches && !known)
        f->watchers[f->watcher_count++ % WATCHERS_MAX] = packet->peer;
    return watches ? NO_EFFECT : when_through(f, run);
}

/* The sender knows that the job has ended, and goes. It need not be a member (any more, or yet). */
static bool hear_last_word(struct finishing *f, const struct run *run, const struct packet *packet,
                           struct member *member)
{
    struct member *place = membership_place(run->members, &packet->message);
    if (member != NULL && membership_has_key(member, packet)) {
        member->bye = true;
        return true;
    }
    if (packet->peer == PEER_LOCAL && run->state == FINISHING) {
        /* It was no member, so the job ended before there was one. */
        f->own_router_left = true;
        return has_no_member(f, run);
    }
    if (member != NULL || place == NULL || place->present)
        return false;
    place->bye = true;
    return true;
}

struct effect finishing_hear(struct finishing *f, const struct run *run,
                             const struct packet *packet, struct member *member)
{
    const struct message *message = &packet->message;
    bool bye = message->kind == MESSAGE_BYE;
    /* Its peer is another's. */
    if (message->kind == MESSAGE_REPORT)
        return NO_EFFECT;
    /* This server goes alone, and the job goes on. */
    if (run->state == OVER && run->unleashed && !run->abandoned)
        return NO_EFFECT;
    if (run_refuse_other(run, packet))
        return NO_EFFECT;
    if (!bye)
        finishing_answer(f, run, packet);
    /* A worker that was never welcomed does not wait for an answer. */
    bool last_word = bye || (message->kind == MESSAGE_STOP && message->run_id == 0);
    return last_word && hear_last_word(f, run, packet, member) ? when_all_know(f, run) : NO_EFFECT;
}

struct effect finishing_tick(struct finishing *f, const struct run *run)
{
    double most = f->own_router_left ? LINGER_SECONDS : run->options.deadlines.silence;
    if (f->exit_code == EXIT_START_TIMEOUT)
        most = fmin(most, GIVE_UP_SECONDS);
    if (run_since(run, run->entered_us) > fmax(most, linger_seconds(f, run)))
        return (struct effect){.kind = EFFECT_OVER};
    if (run->now_us - f->sent_us >= FINISHED_REPEAT_US)
        finishing_tell_members(f, run);
    return when_through(f, run);
}

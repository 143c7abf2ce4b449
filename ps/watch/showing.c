/* showing.c - router and coordinator as observers see them, twice a second. */

#include "ps/watch/showing.h"

#include <string.h>
#include <time.h>

#include "common/base/wording.h"
#include "common/job/partition.h"
#include "ps/coordinator/stragglers.h"

#define SHOWN_US 500000u /* As often as members are heard. */

static double since(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? 1e-6 * (double)(now_us - then_us) : 0;
}

static enum watched_doing doing_of(const struct member *member, bool server, enum job_state state,
                                   uint64_t now_us)
{
    if (!member->present || member->lost)
        return !member->ever             ? WATCHED_JOINS
               : member_has_left(member) ? WATCHED_LEFT
                                         : WATCHED_LOST;
    if (now_us > member->heard_us && now_us - member->heard_us > SUSPECT_US)
        return WATCHED_SILENT;
    if (server)
        return member->ready ? WATCHED_SERVES : WATCHED_JOINS;
    if (state < JOB_RUNNING)
        return WATCHED_JOINS;
    return !member->pace.owes       ? WATCHED_WAITS
           : member->pace.computing ? WATCHED_COMPUTES
                                    : WATCHED_EXCHANGES;
}

/* awaited: one more than the worker that all others wait for; 0: there is none. */
static void describe_member(struct showing *showing, uint32_t place, const struct member *member,
                            uint32_t awaited, uint64_t now_us)
{
    struct watched *watched = &showing->watched;
    struct watched_member *shown = &watched->members[place];
    struct showing_since *before = &showing->since[place];
    bool server = place >= watched->worker_count, asks = member->dealt.asks,
         steps = mode_facts_named(watched->job.mode_text)->steps;
    *shown = (struct watched_member){
        .doing = doing_of(member, server, watched->job.state, now_us),
        .heard_seconds = since(member->heard_us, now_us),
        .wait = asks    ? member->dealt.waits
                : steps ? WAIT_BARRIER
                        : WAIT_COUNT,
        .waits_for = asks && member->dealt.waits_for > 0 ? member->dealt.waits_for : awaited,
        .step = member->pace.step,
    };
    if (shown->doing != before->doing || shown->step != before->step)
        *before = (struct showing_since){shown->doing, shown->step, now_us};
    shown->doing_seconds = since(before->since_us, now_us);
    if (!server)
        memcpy(shown->waits, member->counts.summary.waits, sizeof shown->waits);
}

static void describe_members(struct showing *showing, const struct membership *members,
                             uint64_t now_us)
{
    struct watched *watched = &showing->watched;
    uint32_t longest = 0;
    bool waits =
        watched->job.state == JOB_RUNNING && stragglers_awaited(members, now_us, &longest) > 0;
    watched->worker_count =
        members->worker_count < WATCHED_WORKERS_MAX ? members->worker_count : WATCHED_WORKERS_MAX;
    for (uint32_t i = 0; i < watched->worker_count; i++) {
        const struct member *member = &members->workers[i];
        const struct worker_summary *summary = &member->counts.summary;
        watched->workers[i] = (struct watched_worker){
            .ever = member->ever,
            .present = member->present,
            .awaited = waits && member->present && member->pace.owes,
            .heard_unix_seconds = watched->unix_seconds - since(member->heard_us, now_us),
            .batches = summary->batches,
            .examples = summary->examples,
            .exchanged_bytes = summary->exchanged_bytes,
            .compute_seconds = summary->compute_seconds,
            .exchange_seconds = summary->exchange_seconds,
            .evaluate_seconds = summary->evaluate_seconds,
            .wait_seconds = worker_summary_wait(summary),
        };
        describe_member(showing, i, member, waits ? longest + 1 : 0, now_us);
    }
    watched->server_count = members->server_count;
    for (uint32_t i = 0; i < watched->server_count; i++)
        describe_member(showing, watched->worker_count + i, &members->servers[i], 0, now_us);
}

/* Server 0's own router waits for nothing but the job. */
static void describe_waiting(const struct router *router, struct watched *watched, uint64_t now_us)
{
    double seconds;
    const char *what = router_waiting(router, &seconds, now_us);
    if (watched->coordinates)
        snprintf(watched->waiting, sizeof watched->waiting, "%s",
                 watched->job.state < JOB_FINISHING ? watched->job.text : "");
    else if (what != NULL)
        snprintf(watched->waiting, sizeof watched->waiting, "waiting %s for ps/0%s%.300s",
                 wording_waited(seconds).text, what[0] != '\0' ? ", which says: " : "", what);
    watched->own.waits = watched->waiting[0] != '\0';
}

/* A checkpoint from before the first look is of an earlier session. */
static void note_checkpoint(struct showing *showing)
{
    struct watched *watched = &showing->watched;
    bool runs = watched->job.state >= JOB_RUNNING;
    uint64_t step = watched->job.job.checkpoint_step + 1; /* 0 if it is not known. */
    if (runs && showing->checkpoint_known && step > showing->checkpoint_seen)
        showing->checkpoint_unix_seconds = watched->unix_seconds;
    showing->checkpoint_known = showing->checkpoint_known || runs;
    showing->checkpoint_seen = step;
    watched->checkpoint_unix_seconds = showing->checkpoint_unix_seconds;
}

static void describe_staleness(const struct coordinator *coordinator, struct watched *watched)
{
    struct frame *shape = coordinator_staleness(coordinator);
    if (shape != NULL && shape->bytes == sizeof watched->staleness)
        memcpy(&watched->staleness, shape->data, sizeof watched->staleness);
    frame_release(shape);
}

static void describe_job(struct showing *showing, const struct coordinator *coordinator)
{
    struct watched *watched = &showing->watched;
    uint64_t own_us = coordinator_time(coordinator);
    watched->coordinates = true;
    coordinator_describe(coordinator, &watched->job, own_us);
    describe_members(showing, coordinator_members(coordinator), own_us);
    note_checkpoint(showing);
    describe_staleness(coordinator, watched);
}

static void describe(struct showing *showing, struct router *router,
                     const struct coordinator *coordinator, uint64_t now_us)
{
    _Static_assert((int)ROUTER_OVER == (int)WATCHED_OVER, "same order");
    struct watched *watched = &showing->watched;
    const struct router_counts counts = router_counts(router);
    const struct plan *plan = router_plan(router);
    watched->server = router_joining(router)->envelope.index;
    watched->unix_seconds = (double)time(NULL);
    watched->monotonic_seconds = 1e-6 * (double)now_us;
    watched->state = (enum watched_state)router_state(router);
    watched->own.gradients = counts.received;
    watched->not_taken.fenced = counts.fenced;
    watched->not_taken.dropped = counts.dropped;
    watched->not_taken.refused = counts.refused;
    if (plan != NULL) {
        watched->own.chunks = plan->chunk_count;
        watched->own.chunk_bytes = partition_server_bytes(&plan->partition, watched->server);
    }
    if (coordinator != NULL)
        describe_job(showing, coordinator);
    describe_waiting(router, watched, now_us);
}

void showing_turn(struct showing *showing, struct router *router,
                  const struct coordinator *coordinator, const struct not_taken *not_taken,
                  uint64_t now_us)
{
    char text[NOTIFY_STATUS_MAX];
    if ((showing->notify == NULL && showing->board == NULL) ||
        now_us - showing->shown_us < SHOWN_US)
        return;
    showing->shown_us = now_us;
    memset(&showing->watched, 0, sizeof showing->watched);
    showing->watched.not_taken = *not_taken;
    describe(showing, router, coordinator, now_us);
    watched_describe(&showing->watched, text, sizeof text);
    if (showing->notify != NULL)
        notify_beat(showing->notify, text, now_us);
    if (showing->board != NULL)
        watched_post(showing->board, &showing->watched, now_us);
}

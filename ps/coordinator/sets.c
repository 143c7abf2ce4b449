/* sets.c - a decided set is sent to all servers, and repeated until no server can lack it. */

#include "ps/coordinator/sets.h"

#include "common/steps/leaf_set.h"
#include "common/transport/transport.h"

/* To one server, or to all that are there. */
static bool send_set(const struct run *run, const struct quorum *quorum, uint64_t step,
                     const struct member *server)
{
    struct frame *list = quorum_list(quorum, 0, step, step + 1);
    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < run->members->server_count; i++) {
        const struct member *to = &run->members->servers[i];
        if ((server != NULL && server != to) || !to->present || to->lost)
            continue;
        struct packet *packet = run_send(run, to->peer, MESSAGE_CLOSE);
        packet->message.close.step = step;
        packet->payload = frame_retain(list);
        packet->place = TRANSPORT_PLACE_NOWHERE;
    }
    frame_release(list);
    return true;
}

/* The first step that may be open: a chunk may be a step behind, on a server that has not heard all
 * yet. A chunk holds the sets of two steps. */
static uint64_t first_open(const struct quorum *quorum)
{
    return quorum->step > quorum->first ? quorum->step - 1 : quorum->first;
}

/* It may not have come; it costs little, and the server says every half second that it is there. */
struct effect sets_repeat(const struct run *run, const struct member *server)
{
    const struct quorum *quorum = run_quorum(run);
    bool sent = true;
    if (quorum == NULL)
        return NO_EFFECT;
    for (uint64_t step = first_open(quorum); sent && step < quorum->end; step++)
        sent = send_set(run, quorum, step, server);
    return sent ? NO_EFFECT : effect_no_memory("what steps are made of");
}

/* --- dealing ------------------------------------------------------------------------------- */

/* Backup workers are there so that a step does not wait for its latest. A line says when, after
 * joins or losses, it does. It holds for steps of all their leaves: an epoch's last may have fewer. */
static void say_sparing(struct sets *s, const struct run *run, const struct quorum *quorum)
{
    uint32_t members = quorum->members, leaves = job_leaves_max(quorum->job);
    uint32_t waits_for = leaves < members ? leaves : members;
    enum event_kind kind = leaves < members ? EVENT_SPARES_FEW_LEAVES : EVENT_SPARES_NONE;
    if (leaves >= members && quorum->required < members) {
        kind = EVENT_SPARES;
        waits_for = quorum->required;
    }
    if (kind == s->said || members == 0 || quorum->policy != NULL)
        return;
    s->said = kind;
    order_event(run->outbox, kind, .workers = members, .leaves = leaves, .waits_for = waits_for);
}

void sets_deal(struct sets *s, const struct run *run)
{
    struct quorum *quorum = run_quorum(run);
    if (quorum == NULL)
        return;
    quorum_deal(quorum, run->work.assignment.members);
    say_sparing(s, run, quorum);
}

/* Also to a worker that gets START later than others. */
struct frame *sets_of_start(const struct run *run)
{
    const struct quorum *quorum = run_quorum(run);
    return quorum != NULL ? quorum_list(quorum, 0, first_open(quorum), quorum->end) : NULL;
}

/* --- reports ------------------------------------------------------------------------------- */

enum quorum_result sets_report(const struct run *run, const struct packet *packet, double seconds)
{
    const struct message *message = &packet->message;
    const struct member *worker = membership_find(run->members, message);
    struct quorum *quorum = run_quorum(run);
    uint64_t decided = quorum->end;
    bool has_place = worker != NULL && worker->present && worker->dealt.first_assignment != 0;
    enum quorum_result result =
        quorum_report(quorum, &message->report, message->index,
                      has_place ? worker->dealt.position : QUORUM_NO_PLACE, seconds);
    if (quorum->end > decided && !send_set(run, quorum, decided, NULL))
        return QUORUM_MEMORY;
    return result;
}

void sets_count_step(struct run *run)
{
    struct quorum *quorum = run_quorum(run);
    struct tally tally = quorum_counted(quorum);
    statistics_count_step(&run->work.statistics, quorum->step, &tally);
    quorum_go_on(quorum);
}

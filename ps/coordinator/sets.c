/* sets.c - a decided set is written down, then sent to all servers, and repeated until no server
 * can lack it. */

#include "ps/coordinator/sets.h"

#include "common/steps/leaf_set.h"
#include "common/transport/transport.h"

#define SETS_A_START 256u /* A START has the sets of so many steps, and another one those behind. */

enum status sets_begin(struct sets *s, const struct run *run, const struct frame *list)
{
    struct quorum *quorum = run_quorum(run);
    if (quorum == NULL)
        return STATUS_OK;
    enum status status = quorum_go_back(quorum, run->first_step, list != NULL ? list->data : NULL,
                                        list != NULL ? list->bytes : 0);
    s->sent = s->written = s->again = quorum->end;
    s->announced = run->first_step;
    return status;
}

/* --- announcing ------------------------------------------------------------------------------- */

/* To one server, or to all that are there. */
static bool send_set(const struct run *run, const struct quorum *quorum, uint64_t step,
                     const struct member *server)
{
    struct frame *list = quorum_list(quorum, step, step + 1);
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

static bool write_down(const struct sets *s, const struct run *run, const struct quorum *quorum)
{
    struct frame *list = quorum_list(quorum, s->sent, quorum->end);
    if (list == NULL)
        return false;
    const struct order order = {.kind = ORDER_SETS,
                                .generation = run->envelope.generation,
                                .sets = {.first = s->sent, .end = quorum->end}};
    order_add(run->outbox, TO_SET_WRITER, 0, &order)->payload = list;
    return true;
}

static bool can_tell(const struct run *run)
{
    return run_quorum(run) != NULL && run->raising == 0 &&
           (run->state == RUNNING || run->state == CLOSING);
}

struct effect sets_tell(struct sets *s, const struct run *run)
{
    struct quorum *quorum = run_quorum(run);
    bool sent = true, recorded = run->job->record == RECORDING_ON && !run->options.allow_mixed;
    if (!can_tell(run))
        return NO_EFFECT;
    if (s->sent < quorum->end && recorded && !s->ended)
        sent = write_down(s, run, quorum);
    else
        quorum_wrote(quorum, s->sent < quorum->end ? quorum->end : s->written);
    s->sent = quorum->end;
    /* A chunk holds those of two steps: repeats are sent as training comes to them. */
    for (; sent && s->announced < quorum->written && s->announced <= quorum->step; s->announced++)
        sent = send_set(run, quorum, s->announced, NULL);
    return sent ? NO_EFFECT : effect_no_memory("what steps are made of");
}

/* It may not have come; it costs little, and the server says every half second that it is there. */
struct effect sets_repeat(const struct sets *s, const struct run *run, const struct member *server)
{
    const struct quorum *quorum = run_quorum(run);
    bool sent = true;
    if (!can_tell(run))
        return NO_EFFECT;
    uint64_t step = quorum->step > 0 ? quorum->step - 1 : 0;
    uint64_t least = run->first_step > quorum->first ? run->first_step : quorum->first;
    for (step = step < least ? least : step; sent && step < s->announced; step++)
        sent = send_set(run, quorum, step, server);
    return sent ? NO_EFFECT : effect_no_memory("what steps are made of");
}

bool sets_written(struct sets *s, const struct run *run, const struct order_written *written)
{
    struct quorum *quorum = run_quorum(run);
    if (quorum == NULL || run->raising != 0 || run->state >= FINISHING) /* Or all go back. */
        return false;
    if (written->status == STATUS_EXISTS) { /* The run is another's now, and so is its decision. */
        if (log_once_add(&s->foreign, written->text))
            outbox_warn(run->outbox, "no more steps are closed here: %.300s", written->text);
        return false;
    }
    if (written->status != STATUS_OK && !s->ended) {
        s->ended = true;
        order_event(run->outbox, EVENT_SETS_ENDED, .text = written->text, .step = written->step);
    }
    s->written = s->ended ? quorum->end : written->step;
    quorum_wrote(quorum, s->written);
    return true;
}

/* --- dealing ------------------------------------------------------------------------------- */

/* The first step of START: a chunk may be a step behind, on a server that has not heard all yet. */
static uint64_t first_dealt(const struct run *run, const struct quorum *quorum)
{
    uint64_t first = quorum->step > run->first_step ? quorum->step - 1 : run->first_step;
    return first > quorum->first ? first : quorum->first;
}

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
    if (kind == s->said || members == 0)
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
    s->dealt = quorum->end;
    if (s->dealt > quorum->step + SETS_A_START)
        s->dealt = quorum->step + SETS_A_START;
    s->dealt = quorum_within(quorum, first_dealt(run, quorum), s->dealt, TRANSPORT_SMALL_BYTES);
}

/* Also to a worker that gets START later than others. */
struct frame *sets_of_start(const struct sets *s, const struct run *run)
{
    const struct quorum *quorum = run_quorum(run);
    if (quorum == NULL)
        return NULL;
    uint64_t first = first_dealt(run, quorum), end = s->dealt;
    if (end < quorum->step && quorum->step <= quorum->end)
        end = quorum->step;
    return quorum_list(quorum, first, end < first ? first : end);
}

/* --- reports ------------------------------------------------------------------------------- */

enum quorum_result sets_report(const struct run *run, const struct packet *packet, double seconds)
{
    const struct message *message = &packet->message;
    const struct member *worker = membership_find(run->members, message);
    bool has_place = worker != NULL && worker->present && worker->dealt.first_assignment != 0;
    return quorum_report(run_quorum(run), &message->report, message->index,
                         has_place ? worker->dealt.position : QUORUM_NO_PLACE, seconds);
}

/* Sets were sent before a going back, and the workers do not know the next ones. */
static bool must_tell_more(const struct sets *s, const struct quorum *quorum)
{
    return s->again > s->dealt && quorum->step + 1 >= s->dealt && s->dealt < quorum->end &&
           quorum->step < s->again;
}

void sets_count_step(const struct sets *s, struct run *run)
{
    struct quorum *quorum = run_quorum(run);
    struct tally tally = quorum_counted(quorum);
    statistics_count_step(&run->work.statistics, quorum->step, &tally);
    quorum_go_on(quorum);
    run->deal_due = run->deal_due || must_tell_more(s, quorum);
}

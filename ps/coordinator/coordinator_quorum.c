/* coordinator_quorum.c - where a step is made of the leaves of some workers: a decided set is
 * written down, then sent to all servers, and repeated until no server can lack it. */

#include "common/base/wording.h"
#include "common/steps/leaf_set.h"
#include "common/transport/transport.h"
#include "ps/coordinator/coordinator_state.h"

#define SETS_A_START 256u /* A START has the sets of so many steps, and another one those behind. */

struct quorum *coordinator_quorum(const struct coordinator *c)
{
    return c->work.rules != NULL ? c->work.rules->quorum(&c->work) : NULL;
}

/* Whether a decided set is written down before it is sent. */
static bool are_recorded(const struct coordinator *c)
{
    return job_mode(c->job)->sets && c->job->record == RECORDING_ON && !c->options.allow_mixed &&
           !c->sets_ended;
}

static void fail_for_memory(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox,
                     "out of memory for what steps are made of");
}

/* --- announcing ------------------------------------------------------------------------------- */

/* To one server, or to all that are there. */
static bool send_set(const struct coordinator *c, const struct quorum *quorum, uint64_t step,
                     const struct member *server, struct outbox *outbox)
{
    struct frame *list = quorum_list(quorum, step, step + 1);
    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        const struct member *to = &c->work.membership.servers[i];
        if ((server != NULL && server != to) || !to->present || to->lost)
            continue;
        struct packet *packet = envelope_to_peer(&c->envelope, to->peer, MESSAGE_CLOSE, outbox);
        packet->message.close.step = step;
        packet->payload = frame_retain(list);
        packet->place = TRANSPORT_PLACE_NOWHERE;
    }
    frame_release(list);
    return true;
}

static bool write_down(struct coordinator *c, const struct quorum *quorum, struct outbox *outbox)
{
    struct frame *list = quorum_list(quorum, c->sets_sent, quorum->end);
    if (list == NULL)
        return false;
    const struct order order = {.kind = ORDER_SETS,
                                .generation = c->envelope.generation,
                                .sets = {.first = c->sets_sent, .end = quorum->end}};
    order_add(outbox, TO_SET_WRITER, 0, &order)->payload = list;
    return true;
}

void coordinator_tell_quorum(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct quorum *quorum = coordinator_quorum(c);
    if (quorum == NULL || c->raising != 0 || (c->state != RUNNING && c->state != CLOSING))
        return;
    bool sent = true;
    if (c->sets_sent < quorum->end && are_recorded(c))
        sent = write_down(c, quorum, outbox);
    else
        quorum_wrote(quorum, c->sets_sent < quorum->end ? quorum->end : c->sets_written);
    c->sets_sent = quorum->end;
    /* A chunk holds those of two steps: repeats are sent as training comes to them. */
    for (; sent && c->sets_announced < quorum->written && c->sets_announced <= quorum->step;
         c->sets_announced++)
        sent = send_set(c, quorum, c->sets_announced, NULL, outbox);
    if (!sent)
        fail_for_memory(c, now_us, outbox);
}

/* It may not have come; it costs little, and the server says every half second that it is there. */
void coordinator_repeat_quorum(struct coordinator *c, const struct member *server, uint64_t now_us,
                               struct outbox *outbox)
{
    const struct quorum *quorum = coordinator_quorum(c);
    if (quorum == NULL || c->raising != 0 || (c->state != RUNNING && c->state != CLOSING))
        return;
    uint64_t step = quorum->step > 0 ? quorum->step - 1 : 0;
    uint64_t least = c->first_step > quorum->first ? c->first_step : quorum->first;
    for (step = step < least ? least : step; step < c->sets_announced; step++)
        if (!send_set(c, quorum, step, server, outbox))
            fail_for_memory(c, now_us, outbox);
}

void coordinator_handle_sets_written(struct coordinator *c, const struct order_written *written,
                                     uint64_t now_us, struct outbox *outbox)
{
    struct quorum *quorum = coordinator_quorum(c);
    if (quorum == NULL || c->raising != 0 || c->state >= FINISHING) /* Or all go back. */
        return;
    if (written->status == STATUS_EXISTS) { /* The run is another's now, and so is its decision. */
        if (log_once_add(&c->log_once, written->text))
            outbox_warn(outbox, "no more steps are closed here: %.300s", written->text);
        return;
    }
    if (written->status != STATUS_OK && !c->sets_ended) {
        c->sets_ended = true;
        order_event(outbox, EVENT_SETS_ENDED, .text = written->text, .step = written->step);
    }
    c->sets_written = c->sets_ended ? quorum->end : written->step;
    quorum_wrote(quorum, c->sets_written);
    coordinator_tell_quorum(c, now_us, outbox);
}

/* --- dealing ------------------------------------------------------------------------------- */

/* The first step of START: a chunk may be a step behind, on a server that has not heard all yet. */
static uint64_t first_dealt(const struct coordinator *c, const struct quorum *quorum)
{
    uint64_t first = quorum->step > c->first_step ? quorum->step - 1 : c->first_step;
    return first > quorum->first ? first : quorum->first;
}

/* What holds for steps of all their leaves: an epoch's last one may have fewer. */
static enum sparing sparing_of(const struct quorum *quorum)
{
    if (job_leaves_max(quorum->job) < quorum->members)
        return SPARING_FEW_LEAVES;
    return quorum->required < quorum->members ? SPARING : SPARING_FEW_WORKERS;
}

/* Backup workers are there so that a step does not wait for its latest. A line says when, after
 * joins or losses, it does. */
static void say_sparing(struct coordinator *c, const struct quorum *quorum, struct outbox *outbox)
{
    enum sparing sparing = sparing_of(quorum);
    uint32_t members = quorum->members, leaves = job_leaves_max(c->job);
    if (sparing == c->sparing || members == 0)
        return;
    c->sparing = sparing;
    order_event(outbox,
                sparing == SPARING              ? EVENT_SPARES
                : sparing == SPARING_FEW_LEAVES ? EVENT_SPARES_FEW_LEAVES
                                                : EVENT_SPARES_NONE,
                .workers = members, .leaves = leaves,
                .waits_for = sparing == SPARING              ? quorum->required
                             : sparing == SPARING_FEW_LEAVES ? leaves
                                                             : members);
}

void coordinator_deal_quorum(struct coordinator *c, struct outbox *outbox)
{
    struct quorum *quorum = coordinator_quorum(c);
    if (quorum == NULL)
        return;
    quorum_deal(quorum, c->work.assignment.members);
    say_sparing(c, quorum, outbox);
    c->sets_dealt = quorum->end;
    if (c->sets_dealt > quorum->step + SETS_A_START)
        c->sets_dealt = quorum->step + SETS_A_START;
    c->sets_dealt =
        quorum_within(quorum, first_dealt(c, quorum), c->sets_dealt, TRANSPORT_SMALL_BYTES);
}

/* Also to a worker that gets START later than others. */
struct frame *coordinator_start_sets(const struct coordinator *c)
{
    const struct quorum *quorum = coordinator_quorum(c);
    uint64_t first = first_dealt(c, quorum), end = c->sets_dealt;
    if (end < quorum->step && quorum->step <= quorum->end)
        end = quorum->step;
    return quorum_list(quorum, first, end < first ? first : end);
}

/* Sets were sent before a going back, and the workers do not know the next ones. */
static bool must_tell_more(const struct coordinator *c, const struct quorum *quorum)
{
    return c->sets_again > c->sets_dealt && quorum->step + 1 >= c->sets_dealt &&
           c->sets_dealt < quorum->end && quorum->step < c->sets_again;
}

enum status coordinator_begin_quorum(struct coordinator *c, const struct frame *sets)
{
    struct quorum *quorum = coordinator_quorum(c);
    if (quorum == NULL)
        return STATUS_OK;
    enum status status = quorum_go_back(quorum, c->first_step, sets != NULL ? sets->data : NULL,
                                        sets != NULL ? sets->bytes : 0);
    c->sets_sent = c->sets_written = c->sets_again = quorum->end;
    c->sets_announced = c->first_step;
    return status;
}

/* --- reports ------------------------------------------------------------------------------- */

/* The step is made, as far as it is known here. The workers in it have it counted. */
static void count_step(struct coordinator *c, struct quorum *quorum)
{
    struct tally tally = quorum_counted(quorum);
    statistics_count_step(&c->work.statistics, quorum->step, &tally);
    for (size_t i = 0; i < quorum->report_count; i++)
        if (quorum->reports[i].counts)
            coordinator_add_report(&c->work.membership.workers[quorum->reports[i].worker],
                                   &quorum->reports[i].report);
    quorum_go_on(quorum);
    c->deal_due = c->deal_due || must_tell_more(c, quorum);
}

bool coordinator_close_step(struct coordinator *c, const struct packet *packet, double seconds,
                            uint64_t now_us, struct outbox *outbox)
{
    struct quorum *quorum = coordinator_quorum(c);
    const struct message *message = &packet->message;
    const struct member *worker = membership_find(&c->work.membership, message);
    bool has_place = worker != NULL && worker->present && worker->first_assignment != 0;
    enum quorum_result result =
        quorum_report(quorum, &message->report, message->index,
                      has_place ? worker->position : QUORUM_NO_PLACE, seconds);
    if (result == QUORUM_MEMORY)
        fail_for_memory(c, now_us, outbox);
    if (result == QUORUM_COUNTED)
        count_step(c, quorum);
    coordinator_tell_quorum(c, now_us, outbox);
    return result == QUORUM_COUNTED;
}

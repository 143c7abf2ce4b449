/* coordinator_closings.c - where a step is made of the leaves of some workers: what is decided is
 * written down, then told to all servers, and told again until no server can lack it. */

#include "common/base/wording.h"
#include "common/steps/leaf_set.h"
#include "common/transport/transport.h"
#include "ps/coordinator/coordinator_state.h"

#define SETS_A_START                                                                               \
    256u /* A START tells the sets of so many steps, and another one those behind. */

struct closings *coordinator_closings(const struct coordinator *c)
{
    bool any = c->work.rules != NULL && c->work.rules->closings != NULL;
    return any ? c->work.rules->closings(&c->work) : NULL;
}

/* Whether what is decided is written down before it is told. */
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

/* --- telling ------------------------------------------------------------------------------- */

/* To one server, or to all that are there. */
static bool tell_set(const struct coordinator *c, const struct closings *closings, uint64_t step,
                     const struct member *server, struct outbox *outbox)
{
    struct frame *list = closings_list(closings, step, step + 1);
    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        const struct member *to = &c->work.membership.servers[i];
        if ((server != NULL && server != to) || !to->present || to->lost)
            continue;
        struct packet *packet = envelope_to_peer(&c->envelope, to->peer, MESSAGE_CLOSE, outbox);
        packet->message.close = closings_say(closings, step);
        packet->payload = frame_retain(list);
        packet->place = TRANSPORT_PLACE_NOWHERE;
    }
    frame_release(list);
    return true;
}

static bool write_down(struct coordinator *c, const struct closings *closings,
                       struct outbox *outbox)
{
    struct frame *list = closings_list(closings, c->sets_sent, closings->end);
    if (list == NULL)
        return false;
    const struct order order = {.kind = ORDER_SETS,
                                .generation = c->envelope.generation,
                                .sets = {.first = c->sets_sent, .end = closings->end}};
    order_add(outbox, TO_SET_WRITER, 0, &order)->payload = list;
    return true;
}

void coordinator_tell_closings(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct closings *closings = coordinator_closings(c);
    if (closings == NULL || c->raising != 0 || (c->state != RUNNING && c->state != CLOSING))
        return;
    bool told = true;
    if (c->sets_sent < closings->end && are_recorded(c))
        told = write_down(c, closings, outbox);
    else
        closings_wrote(closings, c->sets_sent < closings->end ? closings->end : c->sets_written);
    c->sets_sent = closings->end;
    /* A chunk holds those of two steps: what is told again is told as training comes to it. */
    for (; told && c->sets_told < closings->written && c->sets_told <= closings->step;
         c->sets_told++)
        told = tell_set(c, closings, c->sets_told, NULL, outbox);
    if (!told)
        fail_for_memory(c, now_us, outbox);
}

/* It may not have come; it costs little, and the server says every half second that it is there. */
void coordinator_repeat_closings(struct coordinator *c, const struct member *server,
                                 uint64_t now_us, struct outbox *outbox)
{
    const struct closings *closings = coordinator_closings(c);
    if (closings == NULL || c->raising != 0 || (c->state != RUNNING && c->state != CLOSING))
        return;
    uint64_t step = closings->step > 0 ? closings->step - 1 : 0;
    uint64_t least = c->first_step > closings->first ? c->first_step : closings->first;
    for (step = step < least ? least : step; step < c->sets_told; step++)
        if (!tell_set(c, closings, step, server, outbox))
            fail_for_memory(c, now_us, outbox);
}

void coordinator_handle_sets_written(struct coordinator *c, const struct order_written *written,
                                     uint64_t now_us, struct outbox *outbox)
{
    struct closings *closings = coordinator_closings(c);
    if (closings == NULL || c->raising != 0 || c->state >= FINISHING) /* Or all go back. */
        return;
    if (written->status ==
        STATUS_EXISTS) { /* The run is another's now, and so is what is decided. */
        if (log_once_add(&c->log_once, written->text))
            outbox_warn(outbox, "no more steps are closed here: %.300s", written->text);
        return;
    }
    if (written->status != STATUS_OK && !c->sets_ended) {
        c->sets_ended = true;
        outbox_warn(outbox,
                    "what steps are made of is recorded no longer: %.200s; training goes on, and "
                    "this run cannot be replayed",
                    written->text);
        order_event(outbox, "record_ended", EVENT_MEMBERS(event_count("step", written->step)));
    }
    c->sets_written = c->sets_ended ? closings->end : written->step;
    closings_wrote(closings, c->sets_written);
    coordinator_tell_closings(c, now_us, outbox);
}

/* --- dealing ------------------------------------------------------------------------------- */

/* From where START tells: a chunk may be a step behind, on a server that has not heard all yet. */
static uint64_t first_dealt(const struct coordinator *c, const struct closings *closings)
{
    uint64_t first = closings->step > c->first_step ? closings->step - 1 : c->first_step;
    return first > closings->first ? first : closings->first;
}

/* What holds for steps of all their leaves: an epoch's last one may have fewer. */
static enum sparing sparing_of(const struct closings *closings)
{
    if (job_leaves_max(closings->job) < closings->members)
        return SPARING_FEW_LEAVES;
    return closings->required < closings->members ? SPARING : SPARING_FEW_WORKERS;
}

/* Backup workers are asked for so that a step does not wait for its latest: whoever has them learns
 * when, because of who joined or was lost, it does. */
static void say_sparing(struct coordinator *c, const struct closings *closings,
                        struct outbox *outbox)
{
    enum sparing sparing = sparing_of(closings);
    uint32_t members = closings->members, leaves = job_leaves_max(c->job), waits_for = members;
    if (sparing == c->sparing || members == 0)
        return;
    c->sparing = sparing;
    if (sparing == SPARING) {
        waits_for = closings->required;
        outbox_log(outbox, "backup workers: a step waits for %u of %u workers again", waits_for,
                   members);
    } else if (sparing == SPARING_FEW_LEAVES) {
        waits_for = leaves;
        outbox_warn(outbox,
                    "backup workers: a step has %s for %u workers; with fewer leaves than workers "
                    "it waits for all who have one, and nobody is spared",
                    wording_counted(leaves, "leaf", "leaves").text, members);
    } else {
        outbox_log(outbox,
                   "backup workers: a step waits for %s, all that are here: nobody is spared",
                   wording_counted(members, "worker", "workers").text);
    }
    order_event(outbox, "sparing",
                EVENT_MEMBERS(event_count("workers", members), event_count("leaves", leaves),
                              event_count("waits_for", waits_for)));
}

void coordinator_deal_closings(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    struct closings *closings = coordinator_closings(c);
    if (closings == NULL)
        return;
    size_t room = TRANSPORT_SMALL_BYTES - (job_requeues(c->job) ? STEPS_AHEAD_BYTES : 0);
    closings_deal(closings, c->work.assignment.members);
    say_sparing(c, closings, outbox);
    c->sets_dealt = closings->end;
    if (c->sets_dealt > closings->step + SETS_A_START)
        c->sets_dealt = closings->step + SETS_A_START;
    c->sets_dealt = closings_within(closings, first_dealt(c, closings), c->sets_dealt, room);
    if (job_requeues(c->job) &&
        steps_ahead_look(&c->ahead, closings, c->work.assignment.members) != STATUS_OK)
        fail_for_memory(c, now_us, outbox);
    c->steps_dealt = c->ahead.known_end;
}

/* Workers do not know what comes next, or that nothing does. */
static bool must_deal_steps(struct coordinator *c, const struct closings *closings)
{
    uint64_t end = closings_job_end(closings);
    if (!job_requeues(c->job))
        return false;
    if (end < c->work.stop_step)
        c->work.stop_step = end;
    return closings->step >= c->steps_dealt;
}

/* Also to a worker that is told later than others. */
struct frame *coordinator_start_sets(struct coordinator *c, uint32_t place,
                                     struct message_start *start)
{
    const struct closings *closings = coordinator_closings(c);
    uint64_t first = first_dealt(c, closings), end = c->sets_dealt;
    if (end < closings->step && closings->step <= closings->end)
        end = closings->step;
    struct frame *sets = closings_list(closings, first, end < first ? first : end);
    if (!job_requeues(c->job) || sets == NULL)
        return sets;
    bool known = c->ahead.step == closings->step ||
                 steps_ahead_look(&c->ahead, closings, c->work.assignment.members) == STATUS_OK;
    steps_ahead_say(&c->ahead, start);
    struct frame *both = known ? steps_ahead_put(&c->ahead, sets, place) : NULL;
    frame_release(sets);
    return both;
}

/* Sets that were told before a going back, and the workers do not know those that come now. */
static bool must_tell_more(const struct coordinator *c, const struct closings *closings)
{
    return c->sets_again > c->sets_dealt && closings->step + 1 >= c->sets_dealt &&
           c->sets_dealt < closings->end && closings->step < c->sets_again;
}

uint64_t coordinator_made_up(const struct coordinator *c)
{
    const struct closings *closings = coordinator_closings(c);
    return closings != NULL ? closings_made_up(closings) : 0;
}

double coordinator_epochs(const struct coordinator *c)
{
    const struct closings *closings = coordinator_closings(c); /* NULL: nothing has begun. */
    if (closings != NULL && job_requeues(c->job))
        return closings_epochs(closings);
    return (double)statistics_made(&c->work.statistics) / (double)job_steps_per_epoch(c->job);
}

/* An epoch's batches are made, and there are more steps than were spoken of; after a going back fewer. */
static void say_made_up(struct coordinator *c, const struct closings *closings,
                        struct outbox *outbox)
{
    uint64_t made_up = closings_made_up(closings);
    if (made_up == c->made_up_said)
        return;
    c->made_up_said = made_up;
    order_event(
        outbox, "requeued",
        EVENT_MEMBERS(event_count("epoch", closings->timeline.epoch + 1),
                      event_count("step", closings->timeline.first + job_steps_per_epoch(c->job)),
                      event_count("steps", timeline_made_up(&closings->timeline, c->job)),
                      event_count("examples",
                                  closings->timeline.closed ? closings->timeline.owed_examples : 0),
                      event_count("steps_in_all", c->job->steps + made_up)));
}

uint64_t coordinator_job_end(const struct coordinator *c)
{
    const struct closings *closings = coordinator_closings(c);
    return closings != NULL ? closings_job_end(closings) : c->job->steps;
}

bool coordinator_ends_epoch(const struct coordinator *c, uint64_t step)
{
    return c->evaluation.ends != NULL && epoch_ends_scores_at(c->evaluation.ends, c->job, step);
}

enum status coordinator_begin_closings(struct coordinator *c, const struct order_run_opened *opened,
                                       const struct frame *sets)
{
    struct closings *closings = coordinator_closings(c);
    if (closings == NULL)
        return STATUS_OK;
    steps_ahead_free(&c->ahead);
    enum status status =
        closings_go_back(closings, c->first_step, opened->so_far.number,
                         sets != NULL ? sets->data : NULL, sets != NULL ? sets->bytes : 0);
    if (job_requeues(c->job)) {
        c->evaluation.ends = &closings->ends;
        c->work.statistics.timeline = &closings->timeline;
        if (!c->stopping) /* Sets that are decided anew may make it another. */
            c->work.stop_step = job_steps_most(c->job);
        must_deal_steps(c, closings);
    }
    c->sets_sent = c->sets_written = c->sets_again = closings->end;
    c->sets_told = c->first_step;
    return status;
}

/* --- reports ------------------------------------------------------------------------------- */

/* The step is made, as far as it is known here. Whoever has computed what is in it has it counted. */
static void count_step(struct coordinator *c, struct closings *closings, uint64_t now_us,
                       struct outbox *outbox)
{
    struct tally tally = closings_counted(closings);
    statistics_count_step(&c->work.statistics, closings->step, &tally);
    for (size_t i = 0; i < closings->report_count; i++)
        if (closings->reports[i].counts)
            coordinator_add_report(&c->work.membership.workers[closings->reports[i].worker],
                                   &closings->reports[i].report);
    if (closings_go_on(closings) != STATUS_OK) {
        fail_for_memory(c, now_us, outbox);
        return;
    }
    bool steps =
        must_deal_steps(c, closings); /* Also where work is dealt anew for another reason. */
    c->deal_due = c->deal_due || steps || must_tell_more(c, closings);
}

bool coordinator_close_step(struct coordinator *c, const struct packet *packet, double seconds,
                            uint64_t now_us, struct outbox *outbox)
{
    struct closings *closings = coordinator_closings(c);
    const struct message *message = &packet->message;
    const struct member *worker = membership_find(&c->work.membership, message);
    bool has_place = worker != NULL && worker->present && worker->first_assignment != 0;
    enum closings_result result =
        closings_report(closings, &message->report, message->index,
                        has_place ? worker->position : CLOSINGS_NOBODY, seconds);
    if (result == CLOSINGS_MEMORY)
        fail_for_memory(c, now_us, outbox);
    if (result == CLOSINGS_COUNTED)
        count_step(c, closings, now_us, outbox);
    say_made_up(c, closings, outbox);
    coordinator_tell_closings(c, now_us, outbox);
    return result == CLOSINGS_COUNTED;
}

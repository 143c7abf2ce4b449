/* assignment.c - numbers the row of workers anew, and sends each its place in it. */

#include "ps/work/assignment.h"

#include "common/transport/transport.h"

void assignment_deal(struct assignment *assignment, struct membership *membership, uint64_t now_us)
{
    assignment->number++;
    assignment->members = 0;
    for (uint32_t i = 0; i < membership->worker_count; i++) {
        struct member *worker = &membership->workers[i];
        worker->dealt.done = worker->pace.owes = false;
        worker->pace.moved_us = now_us;
        if (worker->present || worker->missed)
            worker->dealt.position = assignment->members++;
    }
}

void assignment_send(const struct assignment *assignment, struct member *worker,
                     const struct envelope *envelope, const struct message_start *from,
                     struct frame *sets, struct outbox *outbox)
{
    struct packet *packet = envelope_to_peer(envelope, worker->peer, MESSAGE_START, outbox);
    struct message_start *start = &packet->message.start;
    packet->payload = sets;
    packet->place = TRANSPORT_PLACE_NOWHERE; /* The worker may be reading where chunks lie. */
    *start = *from;
    start->assignment = assignment->number;
    start->members = assignment->members;
    start->position = worker->dealt.position;
    if (worker->dealt.first_assignment == 0)
        worker->dealt.first_assignment = assignment->number;
}

/* DONE does not name its assignment. One that was in flight when the worker got another is
 * recognised so: the worker has had one only, or follows this one. */
bool assignment_is_followed(const struct assignment *assignment, const struct member *worker)
{
    return worker->dealt.first_assignment == assignment->number ||
           worker->dealt.assignment >= assignment->number;
}

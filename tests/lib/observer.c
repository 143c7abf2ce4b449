/* observer.c - asks, waits a moment for the answer, and connects anew when none comes. */

#include "tests/lib/observer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

/* A connection on which no answer comes for so long is given up, the next after twice as long: a
 * handshake takes longer than the first where sanitizers work on a busy machine. */
#define ANSWER_SECONDS      0.05
#define ANSWER_MOST_SECONDS 3.2

static void give_up(const char *why)
{
    fprintf(stderr, "observer: %s\n", why);
    exit(EXIT_FAILURE);
}

static void connect_again(struct observer *observer)
{
    struct error error;
    if (observer->endpoint != NULL)
        observer->transport->operations->close(&observer->endpoint, 0);
    if (observer->transport->operations->connect(observer->transport, observer->address,
                                                 HEADER_BYTES_MAX, &observer->endpoint,
                                                 &error) != STATUS_OK)
        give_up(error.text);
}

void observer_open(struct observer *observer, const char *address)
{
    struct error error;
    *observer = (struct observer){0};
    snprintf(observer->address, sizeof observer->address, "%s", address);
    if (transport_zmq_create(&observer->transport, &error) != STATUS_OK)
        give_up(error.text);
    connect_again(observer);
}

void observer_close(struct observer *observer)
{
    observer->transport->operations->close(&observer->endpoint, 0);
    observer->transport->operations->destroy(&observer->transport);
}

static void describe(struct observer *observer, const struct message_status_answer *answer)
{
    observer->answer = *answer;
    snprintf(observer->text, sizeof observer->text,
             "state: %s, mode: %s, step: %" PRIu64 " of %" PRIu64 ", generation: %" PRIu64 ", %s",
             job_state_name(answer->state), answer->figures_bytes > 0 ? answer->mode_text : "none",
             answer->job.step, answer->job.steps, answer->job.faults.generation, answer->text);
}

static bool take_answer(struct observer *observer)
{
    struct received received;
    struct message message;
    while (observer->transport->operations->receive(observer->endpoint, &received) == STATUS_OK) {
        frame_release(received.payload);
        if (message_decode(received.header, received.header_bytes, &message, NULL) != STATUS_OK ||
            message.kind != MESSAGE_STATUS_ANSWER)
            continue;
        describe(observer, &message.status_answer);
        return true;
    }
    return false;
}

/* One question on the connection there is. */
static bool ask_once(struct observer *observer, double until)
{
    uint8_t header[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER};
    size_t bytes = message_encode(&message, header);
    bool sent = false;
    do {
        sent = sent || observer->transport->operations->send(observer->endpoint, 0, header, bytes,
                                                             NULL, 0) == STATUS_OK;
        observer->transport->operations->wait(observer->transport, &observer->endpoint, 1, NULL, 0,
                                              2);
        if (take_answer(observer))
            return true;
    } while (clock_now_seconds() < until);
    return false;
}

bool observer_ask(struct observer *observer, double seconds)
{
    double end = clock_now_seconds() + seconds, patience = ANSWER_SECONDS;
    do {
        double now = clock_now_seconds();
        if (ask_once(observer, now + (seconds < patience ? seconds : patience)))
            return true;
        connect_again(observer);
        patience = fmin(2 * patience, ANSWER_MOST_SECONDS);
    } while (clock_now_seconds() < end);
    return false;
}

uint64_t observer_step(const struct observer *observer)
{
    return observer->answer.job.step;
}

bool observer_state_is(const struct observer *observer, const char *name)
{
    return observer->text[0] != '\0' && strcmp(job_state_name(observer->answer.state), name) == 0;
}

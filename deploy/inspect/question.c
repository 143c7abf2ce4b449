/* question.c - sends STATUS or DISMISS over an endpoint of its own; while there is no answer, an
 * inquiry finds the reason. */

#include "deploy/inspect/question.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/address/silence.h"
#include "common/base/clock.h"
#include "common/base/wording.h"

#define WAIT_MS        50
#define REPEAT_SECONDS 0.5 /* Between questions, until there is an answer. */

/* A server answers long before. */
#define PATIENCE_SECONDS 0.3

#define THANKS_MS 200 /* For thanks to leave. */

enum status question_open(struct question *q, const char *address, const struct keys *keys,
                          bool watch, struct error *error)
{
    *q = (struct question){.address = address,
                           .watch = watch,
                           .places.status = STATUS_AGAIN,
                           .asked = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER}};
    enum status status = keys != NULL ? transport_curve_create(&q->transport, keys, false, error)
                                      : transport_zmq_create(&q->transport, error);
    if (status == STATUS_OK)
        status = q->transport->operations->connect(q->transport, address, HEADER_BYTES_MAX,
                                                   &q->endpoint, error);
    if (status != STATUS_OK)
        question_close(q);
    return status;
}

void question_close(struct question *q)
{
    inquiry_drop(&q->inquiry);
    if (q->endpoint != NULL)
        q->transport->operations->close(&q->endpoint, q->thanked ? THANKS_MS : 0);
    if (q->transport != NULL)
        q->transport->operations->destroy(&q->transport);
}

/* --- why there is no answer ------------------------------------------------------------------- */

/* Whether no answer can come: the name does not resolve, or no process listens at any of its
 * addresses. A look-up that takes longer than an answer is not waited for. */
static bool is_hopeless(const struct places *places)
{
    if (places->status == STATUS_AGAIN)
        return false;
    for (uint32_t i = 0; places->status == STATUS_OK && i < places->count; i++) {
        int reason = places->at[i].reason;
        if (reason == 0 || reason == PLACE_UNKNOWN || reason == ETIMEDOUT)
            return false;
    }
    return true;
}

static void inquire(struct question *q)
{
    if (q->inquiry == NULL)
        q->inquiry = inquiry_begin(q->address, true);
    if (q->inquiry != NULL)
        inquiry_answer(q->inquiry, 0, &q->places);
}

static enum status explain(struct question *q, double seconds, struct error *error)
{
    char why[400];
    struct route route = {.places = q->places};
    if (is_hopeless(&q->places)) {
        silence_describe(q->address, &route, why, sizeof why);
        return error_set(error, STATUS_TIMEOUT, "no server 0 answers: %s", why);
    }
    transport_explain_silence(q->transport, q->endpoint, q->address, why, sizeof why);
    return error_set(error, STATUS_TIMEOUT, "no server 0 answers within %s: %s",
                     wording_duration(seconds).text, why);
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool send_question(struct question *q)
{
    uint8_t header[HEADER_BYTES_MAX];
    if (q->asked.kind == MESSAGE_STATUS)
        q->asked.status.watch = q->watch;
    size_t bytes = message_encode(&q->asked, header);
    return q->transport->operations->send(q->endpoint, 0, header, bytes, NULL, 0) == STATUS_OK;
}

void question_evict(struct question *q, uint32_t worker, bool again)
{
    q->asked = (struct message){.kind = MESSAGE_DISMISS, .role = ROLE_WORKER, .index = worker};
    q->asked.dismiss.again = again;
}

void question_probe(struct question *q)
{
    q->probes = true;
}

/* A server that has gone waits for no thanks. */
void question_thank(struct question *q)
{
    q->watch = false;
    q->thanked = send_question(q);
}

/* The answer to the question, or the reason for a refusal. */
static bool is_answer(struct question *q, const struct message *message)
{
    bool dismissing = q->asked.kind == MESSAGE_DISMISS;
    if (q->probes) {
        q->server = message->index;
        q->refusal = message->kind == MESSAGE_REFUSED ? message->refused.reason : REFUSAL_NONE;
    }
    if (q->probes && message->kind == MESSAGE_REFUSED)
        return true;
    if (message->kind == MESSAGE_REFUSED && dismissing)
        snprintf(q->why, sizeof q->why, "%s", message->refused.text);
    if (message->kind == MESSAGE_DISMISSED)
        q->dismissed = message->dismissed;
    if (message->kind == MESSAGE_STATUS_ANSWER)
        q->answer = message->status_answer;
    return message->kind == (dismissing ? MESSAGE_DISMISSED : MESSAGE_STATUS_ANSWER);
}

/* The newest one. */
static bool take_answer(struct question *q)
{
    struct received received;
    struct message message;
    char who[32];
    bool taken = false;
    while (q->transport->operations->receive(q->endpoint, &received) == STATUS_OK) {
        frame_release(received.payload);
        if (message_decode(received.header, received.header_bytes, &message, NULL) != STATUS_OK)
            continue;
        if (q->probes && message.role == ROLE_PS && message.index != 0) {
            taken = is_answer(q, &message) || taken;
            continue;
        }
        if (!message_is_from_server(&message, 0)) {
            message_describe_sender(&message, 0, who);
            q->transport->operations->shun(q->endpoint, who);
        }
        taken = is_answer(q, &message) || taken;
    }
    return taken;
}

bool question_listen(struct question *q)
{
    q->transport->operations->wait(q->transport, &q->endpoint, 1, NULL, 0, WAIT_MS);
    return take_answer(q);
}

/* A message before the connection is not queued: ask until a server answers. */
enum status question_ask(struct question *q, double seconds, struct error *error)
{
    double began = clock_now_seconds(), asked = -INFINITY, now;
    inquiry_drop(&q->inquiry);
    q->places = (struct places){.status = STATUS_AGAIN};
    while ((now = clock_now_seconds()) < began + seconds && !is_hopeless(&q->places)) {
        if (now - asked >= REPEAT_SECONDS && send_question(q))
            asked = now;
        if (question_listen(q))
            return STATUS_OK;
        if (q->why[0] != '\0' ||
            q->transport->operations->refusal(q->endpoint, q->why, sizeof q->why) == STATUS_REFUSED)
            return error_set(error, STATUS_REFUSED, "%.200s: %.250s", q->address, q->why);
        if (now - began >= PATIENCE_SECONDS)
            inquire(q);
    }
    return explain(q, seconds, error);
}

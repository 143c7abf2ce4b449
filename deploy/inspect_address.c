#include "deploy/inspect_address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/inquiry.h"
#include "common/message.h"
#include "common/silence.h"
#include "common/transport.h"

#define WAIT_MS   50
#define REPEAT_US 500000u

/* A server answers long before. */
#define PATIENCE_US 300000u

/* "key: value, key: value" as one pair a line; what is not known yet is left out. */
static void print_status(const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, ", ");
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        if (length < 3 || strncmp(text + length - 3, "nan", 3) != 0)
            printf("%.*s\n", (int)length, text);
        text += length + (end != NULL ? 2 : 0);
    }
}

static bool take_answer(struct transport *transport, struct endpoint *endpoint)
{
    struct received received;
    struct message message;
    while (transport->operations->receive(endpoint, &received) == STATUS_OK) {
        frame_release(received.payload);
        if (message_decode(received.header, received.header_bytes, &message, NULL) != STATUS_OK ||
            message.kind != MESSAGE_STATUS_ANSWER)
            continue;
        print_status(message.waiting.text);
        return true;
    }
    return false;
}

/* Whether nobody can answer: the name stands for nothing, or nobody listens wherever it leads. What
 * takes longer to find out than an answer does is waited for. */
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

/* One question, repeated until somebody answers it. */
struct question {
    struct transport *transport;
    struct endpoint *endpoint;
    struct inquiry *inquiry; /* Why nobody does; NULL: not asked yet. */
    struct places places;    /* What came of that. */
    char why[400];           /* Of EXIT_UNAUTHENTICATED. */
};

/* EXIT_DONE, EXIT_UNAUTHENTICATED with the reason in why, or EXIT_CANNOT_OPEN: no answer. */
static int ask(struct question *q, const char *address, double timeout)
{
    const struct transport_operations *operations = q->transport->operations;
    uint8_t header[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER};
    size_t bytes = message_encode(&message, header);
    uint64_t began_us = clock_now_us(), asked_us = 0;
    while ((double)(clock_now_us() - began_us) * 1e-6 < timeout && !is_hopeless(&q->places)) {
        /* Nothing is queued before there is a connection, so ask until somebody answers. */
        if (clock_now_us() - asked_us >= REPEAT_US &&
            operations->send(q->endpoint, 0, header, bytes, NULL, 0) == STATUS_OK)
            asked_us = clock_now_us();
        operations->wait(q->transport, &q->endpoint, 1, NULL, 0, WAIT_MS);
        if (take_answer(q->transport, q->endpoint))
            return EXIT_DONE;
        if (operations->refusal(q->endpoint, q->why, sizeof q->why) == STATUS_REFUSED)
            return EXIT_UNAUTHENTICATED;
        if (q->inquiry == NULL && clock_now_us() - began_us >= PATIENCE_US)
            q->inquiry = inquiry_begin(address, true);
        if (q->inquiry != NULL)
            inquiry_answer(q->inquiry, 0, &q->places);
    }
    return EXIT_CANNOT_OPEN;
}

static void explain(struct question *q, const char *address, double timeout, struct error *error)
{
    char why[400];
    struct route route = {.places = q->places};
    if (is_hopeless(&q->places)) {
        silence_describe(address, &route, why, sizeof why);
        error_set(error, STATUS_TIMEOUT, "no server 0 answers: %s", why);
    } else {
        transport_explain_silence(q->transport, q->endpoint, address, why, sizeof why);
        error_set(error, STATUS_TIMEOUT, "no server 0 answers within %.0f s: %s", timeout, why);
    }
}

int inspect_address(const char *address, const struct keys *keys, double timeout,
                    struct error *error)
{
    struct question q = {.places.status = STATUS_AGAIN};
    enum status made = keys != NULL ? transport_curve_create(&q.transport, keys, false, error)
                                    : transport_zmq_create(&q.transport, error);
    if (made != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    const struct transport_operations *operations = q.transport->operations;
    int exit_code = EXIT_CANNOT_OPEN;
    if (operations->connect(q.transport, address, HEADER_BYTES_MAX, &q.endpoint, error) ==
        STATUS_OK) {
        exit_code = ask(&q, address, timeout);
        if (exit_code == EXIT_UNAUTHENTICATED)
            error_set(error, STATUS_REFUSED, "%.200s: %.250s", address, q.why);
        else if (exit_code != EXIT_DONE)
            explain(&q, address, timeout, error);
        inquiry_drop(&q.inquiry);
        operations->close(&q.endpoint, 0);
    }
    operations->destroy(&q.transport);
    return exit_code;
}

#include "deploy/inspect_address.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/message.h"
#include "common/transport.h"

#define WAIT_MS   50
#define REPEAT_US 500000u

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

/* EXIT_DONE, EXIT_UNAUTHENTICATED with the reason in why[size], or EXIT_CANNOT_OPEN: no answer. */
static int ask(struct transport *transport, struct endpoint *endpoint, double timeout, char *why,
               size_t size)
{
    uint8_t header[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER};
    size_t bytes = message_encode(&message, header);
    uint64_t began_us = clock_now_us(), asked_us = 0;
    while ((double)(clock_now_us() - began_us) * 1e-6 < timeout) {
        /* Nothing is queued before there is a connection, so ask until somebody answers. */
        if (clock_now_us() - asked_us >= REPEAT_US &&
            transport->operations->send(endpoint, 0, header, bytes, NULL, 0) == STATUS_OK)
            asked_us = clock_now_us();
        transport->operations->wait(transport, &endpoint, 1, NULL, 0, WAIT_MS);
        if (take_answer(transport, endpoint))
            return EXIT_DONE;
        if (transport->operations->refusal(endpoint, why, size) == STATUS_REFUSED)
            return EXIT_UNAUTHENTICATED;
    }
    return EXIT_CANNOT_OPEN;
}

int inspect_address(const char *address, const struct keys *keys, double timeout,
                    struct error *error)
{
    char why[400];
    struct transport *transport;
    struct endpoint *endpoint;
    enum status made = keys != NULL ? transport_curve_create(&transport, keys, false, error)
                                    : transport_zmq_create(&transport, error);
    if (made != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    int exit_code = EXIT_CANNOT_OPEN;
    if (transport->operations->connect(transport, address, HEADER_BYTES_MAX, &endpoint, error) ==
        STATUS_OK) {
        exit_code = ask(transport, endpoint, timeout, why, sizeof why);
        if (exit_code == EXIT_UNAUTHENTICATED) {
            error_set(error, STATUS_REFUSED, "%.200s: %.250s", address, why);
        } else if (exit_code != EXIT_DONE) {
            transport_explain_silence(transport, endpoint, address, why, sizeof why);
            error_set(error, STATUS_TIMEOUT, "no server 0 answers within %.0f s: %s", timeout, why);
        }
        transport->operations->close(&endpoint, 0);
    }
    transport->operations->destroy(&transport);
    return exit_code;
}

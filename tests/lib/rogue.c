/* rogue.c - a rogue is a connection and what WELCOME told it; every message starts as an honest
 * one. */

#include "tests/lib/rogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/wire/pages.h"

#define SAY_MS   5000
#define AGAIN_MS 64

struct message rogue_message(struct rogue *rogue, enum message_kind kind)
{
    return (struct message){.kind = kind,
                            .role = ROLE_WORKER,
                            .index = rogue->index,
                            .incarnation = rogue->incarnation,
                            .run_id = rogue->run_id,
                            .generation = rogue->generation,
                            .ticket = rogue->ticket,
                            .proof = rogue->proof,
                            .request = ++rogue->requests};
}

bool rogue_say(struct rogue *rogue, const struct message *message, size_t payload_bytes,
               uint8_t payload, int timeout_ms)
{
    uint8_t header[HEADER_BYTES_MAX];
    size_t bytes = message_encode(message, header);
    return rogue->unknown_peer.fd >= 0 && unknown_peer_say(&rogue->unknown_peer, header, bytes,
                                                           payload_bytes, payload, timeout_ms);
}

bool rogue_ping(struct rogue *rogue)
{
    struct message message = rogue_message(rogue, MESSAGE_PING);
    message.ping.assignment = rogue->start.assignment;
    message.ping.step = rogue->start.step;
    return rogue_say(rogue, &message, 0, 0, SAY_MS);
}

static bool say_join(struct rogue *rogue)
{
    struct message message = rogue_message(rogue, MESSAGE_JOIN);
    message.join.version_min = PROTOCOL_VERSION_MIN;
    message.join.version_max = PROTOCOL_VERSION_MAX;
    memcpy(message.join.probe_digest, rogue->probe_digest, DIGEST_BYTES);
    snprintf(message.join.host, sizeof message.join.host, "nowhere");
    return job_digest(rogue->job, message.join.job_digest) == STATUS_OK &&
           rogue_say(rogue, &message, 0, 0, SAY_MS);
}

static bool declare(struct rogue *rogue)
{
    uint8_t *bytes;
    uint32_t count;
    if (job_encode(rogue->job, &bytes, &count) != STATUS_OK)
        return false;
    struct message message = rogue_message(rogue, MESSAGE_JOB_PAGE);
    bool said = true;
    for (uint32_t i = 0; said && pages_cut(bytes, count, i, &message.job_page); i++)
        said = rogue_say(rogue, &message, 0, 0, SAY_MS);
    free(bytes);
    return said;
}

static void learn(struct rogue *rogue, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_WELCOME:
        rogue->run_id = message->run_id;
        rogue->generation = message->generation;
        rogue->ticket = message->welcome.ticket;
        rogue->proof = message->welcome.proof;
        rogue->welcome = true;
        break;
    case MESSAGE_START:
        rogue->generation = message->generation;
        rogue->start = message->start;
        rogue->started = true;
        break;
    case MESSAGE_FINISHED:
        rogue->finished = true;
        break;
    case MESSAGE_WANT_JOB:
        declare(rogue);
        break;
    default:
        break;
    }
}

bool rogue_hear(struct rogue *rogue, struct message *message, int timeout_ms)
{
    uint8_t header[HEADER_BYTES_MAX];
    size_t bytes;
    uint64_t payload_bytes;
    struct error error;
    if (!unknown_peer_hear(&rogue->unknown_peer, header, sizeof header, &bytes, &payload_bytes,
                           timeout_ms) ||
        message_decode(header, bytes, message, &error) != STATUS_OK)
        return false;
    learn(rogue, message);
    return true;
}

bool rogue_join(struct rogue *rogue, const char *address, const struct job *job, uint32_t index,
                const uint8_t probe_digest[DIGEST_BYTES], int timeout_ms)
{
    struct message message;
    uint64_t until_us = clock_now_us() + (uint64_t)timeout_ms * 1000;
    memset(rogue, 0, sizeof *rogue);
    rogue->job = job;
    rogue->index = index;
    rogue->incarnation = hash_random_u64();
    memcpy(rogue->probe_digest, probe_digest, DIGEST_BYTES);
    if (!unknown_peer_open(&rogue->unknown_peer, address))
        return false;
    while (!rogue->welcome && !rogue->finished && clock_now_us() < until_us) {
        if (!say_join(rogue))
            break;
        while (rogue_hear(rogue, &message, AGAIN_MS) && !rogue->welcome)
            ;
    }
    if (!rogue->welcome)
        rogue_close(rogue);
    return rogue->welcome;
}

void rogue_close(struct rogue *rogue)
{
    unknown_peer_close(&rogue->unknown_peer);
}

/* loopback.c - transfers of one host have one share. Therefore a host keeps one figure for all of
 * them, the amount that each has been served; a transfer only remembers the figure at which it
 * ends. */

#include "deploy/cluster/loopback.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

#define UNITS  (1u << 16) /* Of a share, in one byte a second. */
#define SECOND 1000000000ull

/* Served amounts: units times nanoseconds. */
typedef unsigned __int128 amount;

struct transfer {
    amount end; /* Served by then. */
    uint64_t tag;
};

struct host {
    amount served;              /* To each of its transfers, since the start, */
    uint64_t now_ns;            /* until then. */
    uint64_t end_ns;            /* Of the last of the list. */
    struct transfer *transfers; /* [count] the first to end is the last. */
    size_t count, capacity, reserved;
};

struct loopback {
    uint64_t rate;      /* Units. */
    uint64_t next_ns;   /* The first end of any host. */
    struct host *hosts; /* [host_count] */
    uint32_t host_count;
    uint64_t *ended; /* [reserved] */
    size_t ended_capacity, reserved;
};

struct loopback *loopback_create(uint64_t rate, uint32_t host_count)
{
    assert(rate >= 1 && rate <= 1ull << 46);
    struct loopback *loopback = malloc(sizeof *loopback);
    struct host *hosts = calloc(host_count, sizeof *hosts);
    if (loopback == NULL || hosts == NULL) {
        free(loopback);
        free(hosts);
        return NULL;
    }
    *loopback = (struct loopback){
        .rate = rate * UNITS, .next_ns = LOOPBACK_NEVER, .hosts = hosts, .host_count = host_count};
    return loopback;
}

void loopback_free(struct loopback *loopback)
{
    if (loopback == NULL)
        return;
    for (uint32_t h = 0; h < loopback->host_count; h++)
        free(loopback->hosts[h].transfers);
    free(loopback->hosts);
    free(loopback->ended);
    free(loopback);
}

enum status loopback_reserve(struct loopback *loopback, uint32_t host)
{
    struct host *at = &loopback->hosts[host];
    struct transfer *transfers =
        array_room(at->transfers, at->reserved, &at->capacity, sizeof *transfers);
    if (transfers == NULL)
        return STATUS_MEMORY;
    at->transfers = transfers;
    uint64_t *ended =
        array_room(loopback->ended, loopback->reserved, &loopback->ended_capacity, sizeof *ended);
    if (ended == NULL)
        return STATUS_MEMORY;
    loopback->ended = ended;
    loopback->reserved++;
    at->reserved++;
    return STATUS_OK;
}

void loopback_unreserve(struct loopback *loopback, uint32_t host)
{
    assert(loopback->hosts[host].count < loopback->hosts[host].reserved);
    loopback->hosts[host].reserved--;
    loopback->reserved--;
}

static uint64_t share_of(const struct loopback *loopback, const struct host *host)
{
    return loopback->rate / host->count;
}

static void serve(const struct loopback *loopback, struct host *host, uint64_t now_ns)
{
    assert(now_ns >= host->now_ns && now_ns <= loopback->next_ns);
    if (host->count > 0)
        host->served += (amount)share_of(loopback, host) * (now_ns - host->now_ns);
    host->now_ns = now_ns;
}

/* The host has other transfers than before. An end is in the nearest whole nanosecond. */
static void find_end(const struct loopback *loopback, struct host *host)
{
    if (host->count == 0)
        return;
    amount end = host->transfers[host->count - 1].end, share = share_of(loopback, host);
    amount left = end > host->served ? end - host->served : 0;
    amount ns = (2 * left + share) / (2 * share);
    host->end_ns =
        ns < LOOPBACK_NEVER - host->now_ns ? host->now_ns + (uint64_t)ns : LOOPBACK_NEVER - 1;
}

static void find_next(struct loopback *loopback)
{
    loopback->next_ns = LOOPBACK_NEVER;
    for (uint32_t h = 0; h < loopback->host_count; h++)
        if (loopback->hosts[h].count > 0 && loopback->hosts[h].end_ns < loopback->next_ns)
            loopback->next_ns = loopback->hosts[h].end_ns;
}

void loopback_begin(struct loopback *loopback, uint32_t host, uint64_t bytes, uint64_t tag,
                    uint64_t now_ns)
{
    struct host *at = &loopback->hosts[host];
    assert(bytes >= 1 && bytes <= 1ull << 46 && at->count < at->reserved);
    serve(loopback, at, now_ns);
    struct transfer transfer = {at->served + (amount)bytes * UNITS * SECOND, tag};
    size_t place = at->count++;
    for (; place > 0 && at->transfers[place - 1].end < transfer.end; place--)
        at->transfers[place] = at->transfers[place - 1];
    at->transfers[place] = transfer;
    find_end(loopback, at);
    find_next(loopback);
}

void loopback_stop(struct loopback *loopback, uint32_t host, uint64_t tag, uint64_t now_ns)
{
    struct host *at = &loopback->hosts[host];
    serve(loopback, at, now_ns);
    size_t place = 0;
    while (at->transfers[place].tag != tag) {
        place++;
        assert(place < at->count);
    }
    at->count--;
    memmove(&at->transfers[place], &at->transfers[place + 1],
            (at->count - place) * sizeof *at->transfers);
    find_end(loopback, at);
    find_next(loopback);
}

uint64_t loopback_next(const struct loopback *loopback)
{
    return loopback->next_ns;
}

/* Its transfers that are at their end, to half a nanosecond. */
static size_t end_transfers_of(struct loopback *loopback, struct host *host, size_t ended)
{
    uint64_t share = share_of(loopback, host);
    while (host->count > 0 && 2 * host->transfers[host->count - 1].end <= 2 * host->served + share)
        loopback->ended[ended++] = host->transfers[--host->count].tag;
    find_end(loopback, host);
    return ended;
}

const uint64_t *loopback_advance(struct loopback *loopback, uint64_t now_ns, size_t *count)
{
    assert(now_ns <= loopback->next_ns);
    *count = 0;
    if (now_ns < loopback->next_ns)
        return loopback->ended;
    for (uint32_t h = 0; h < loopback->host_count; h++) {
        struct host *host = &loopback->hosts[h];
        if (host->count > 0 && host->end_ns == now_ns) {
            serve(loopback, host, now_ns);
            *count = end_transfers_of(loopback, host, *count);
        }
    }
    find_next(loopback);
    return loopback->ended;
}

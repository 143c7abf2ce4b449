/* route.c - the state of one search: which place is tried, since when, and when the name is to be
 * asked about again. What moves it is what route.h draws. */

#include "common/address/route.h"

#include <stdio.h>
#include <string.h>

#define TRY_US     1000000u /* For a connection to be accepted ... */
#define REACHED_US 5000000u /* ... and for a handshake; a server may have been stopped. */
#define PAUSE_US   100000u  /* At a place that refuses, the first time round; doubled ... */
#define PAUSE_MAX  2000000u /* ... each time, up to this. */
#define PROBE_US   300000u  /* Without a connection: only then it is worth while to ask why. */
#define ASK_US     2000000u /* Between questions about the name. */

void route_init(struct route *route, uint64_t now_us)
{
    *route = (struct route){.since_us = now_us, .unconnected_us = now_us, .ask_at_us = now_us};
    route->places.status = STATUS_AGAIN;
}

static int index_of(const struct places *places, const char *address)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (strcmp(places->at[i].address, address) == 0)
            return (int)i;
    return -1;
}

const struct place *route_place(const struct route *route)
{
    int index = index_of(&route->places, route->at);
    return index >= 0 ? &route->places.at[index] : NULL;
}

bool route_is_exhausted(const struct route *route)
{
    return route->tried >= route->places.count;
}

/* --- the name ------------------------------------------------------------------------------ */

bool route_asks(struct route *route, uint64_t now_us, bool *probe)
{
    if (route->connected || route->asking || now_us < route->ask_at_us)
        return false;
    *probe = route->asked && !route->reached && now_us - route->unconnected_us >= PROBE_US;
    route->asking = true;
    return true;
}

/* A name that is not known for a while does not take away what it stood for. */
void route_answer(struct route *route, const struct places *places, uint64_t now_us)
{
    bool first = !route->asked;
    route->asking = false;
    route->asked = true;
    route->ask_at_us = now_us + (first ? PROBE_US : ASK_US);
    if (places->status == STATUS_OK || route->places.count == 0) {
        route->places = *places;
    } else {
        route->places.status = places->status;
        memcpy(route->places.why, places->why, sizeof places->why);
    }
}

/* --- the place ----------------------------------------------------------------------------- */

void route_shun(struct route *route, const char *who, uint64_t now_us)
{
    if (route->shunned)
        return;
    route->shunned = route->failed = true;
    route->connected = route->reached = false;
    route->tried = route->tried > 0 ? route->tried : 1;
    route->since_us = now_us;
    snprintf(route->who, sizeof route->who, "%s", who);
    memcpy(route->who_at, route->at, PLACE_BYTES);
}

static bool move_to(struct route *route, uint32_t index, uint64_t now_us)
{
    memcpy(route->at, route->places.at[index].address, PLACE_BYTES);
    route->failed = route->reached = route->shunned = false;
    route->tried++;
    route->since_us = now_us;
    return true;
}

static bool take_note(struct route *route, const struct route_news *news, uint64_t now_us)
{
    if (route->shunned) /* What is heard of the connection is old. */
        return true;
    if (news->failed && strcmp(route->at, route->who_at) == 0)
        route->who_at[0] = '\0';
    if (news->connected) {
        if (strcmp(route->at, route->who_at) != 0) /* Else it may be the same again. */
            route->tried = 0;
        route->failed = route->reached = false;
    } else if (route->connected) { /* Lost just now. */
        route->tried = 1;
        route->failed = route->reached = false;
        route->since_us = route->unconnected_us = route->ask_at_us = now_us;
    }
    route->connected = news->connected;
    route->failed = route->failed || news->failed;
    route->reached = route->reached || news->reached;
    if (news->failed && !news->reached)
        route->reached = false;
    return !route->connected;
}

/* How long to stay at a place that does not answer. */
static uint64_t patience_us(const struct route *route)
{
    uint32_t rounds = (route->tried - 1) / route->places.count;
    uint64_t pause_us = (uint64_t)PAUSE_US << (rounds < 5 ? rounds : 5);
    if (!route->failed)
        return route->reached ? REACHED_US : TRY_US;
    return pause_us < PAUSE_MAX ? pause_us : PAUSE_MAX;
}

bool route_moves(struct route *route, const struct route_news *news, uint64_t now_us)
{
    if (!take_note(route, news, now_us) || route->places.count == 0)
        return false;
    int index = index_of(&route->places, route->at);
    if (index < 0) /* Nowhere yet, or the name stands for others now. */
        return move_to(route, 0, now_us);
    bool alone = route->places.count == 1 && !route->shunned;
    if (alone || now_us - route->since_us < patience_us(route))
        return false;
    return move_to(route, ((uint32_t)index + 1) % route->places.count, now_us);
}

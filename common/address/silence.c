/* silence.c - words what the route knows of each place (refused, silent, another program) and advises
 * by the reason. */

#include "common/address/silence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/address/address.h"
#include "common/base/wording.h"

#define NAME_BYTES (ADDRESS_MAX + PLACE_BYTES)

void silence_name(const char *address, const char *place, char *text, size_t size)
{
    if (place[0] == '\0' || strcmp(address, place) == 0)
        snprintf(text, size, "%s", address);
    else
        snprintf(text, size, "%s (%s)", address, place);
}

/* "connection refused by", "no answer from", "no route to host:", before a place. */
static const char *in_words(int reason, char *words, size_t size)
{
    switch (reason) {
    case 0:
        return "nothing is said by";
    case PLACE_UNKNOWN:
        return "no connection yet to";
    case ECONNREFUSED:
        return "connection refused by";
    case ETIMEDOUT:
        return "no answer from";
    default:
        snprintf(words, size, "%s:", strerror(reason));
        return words;
    }
}

/* What to look at: about one place, as the advice is another for each reason. */
static void advise(const char *address, const struct place *place, char *text, size_t size)
{
    char host[ADDRESS_MAX];
    uint16_t port = 0;
    bool named = address_split(address, host, &port) && strcmp(address, place->address) != 0;
    if (place->reason == ECONNREFUSED && named && place->loopback && !address_is_loopback(host))
        snprintf(text, size,
                 ": %.100s is a loopback address on this host, and nothing listens there; if the "
                 "server is on another host, put its address for %.100s into /etc/hosts here",
                 host, host);
    else if (place->reason == ECONNREFUSED)
        snprintf(text, size,
                 ": nothing listens there; is syncopate-ps running on %.100s, and does its log say "
                 "that it listens on that address?",
                 place->loopback ? "this host" : host);
    else if (place->reason == ETIMEDOUT)
        snprintf(text, size, ": is %.100s up, and does no firewall keep port %u from this host?",
                 host, port);
    else
        text[0] = '\0';
}

static bool is_other_process(const struct route *route, const char *place)
{
    return route->who_at[0] != '\0' && strcmp(route->who_at, place) == 0;
}

/* Names lead astray, or lists do. */
static void describe_who(const char *address, const struct place *place, const char *who,
                         char *text, size_t size)
{
    char name[NAME_BYTES], host[ADDRESS_MAX] = "";
    uint16_t port;
    silence_name(address, place->address, name, sizeof name);
    bool named = address_split(address, host, &port) && strcmp(address, place->address) != 0;
    if (named && place->loopback && !address_is_loopback(host))
        snprintf(text, size,
                 "%s is %s: %.100s is a loopback address on this host; if the server is on another "
                 "host, put its address for %.100s into /etc/hosts here",
                 name, who, host, host);
    else
        snprintf(text, size,
                 "%s is %s: do all processes have the same --ps-hosts, and each server its own "
                 "--task-index?",
                 name, who);
}

static void describe_one(const char *address, const struct place *place, char *text, size_t size)
{
    char name[NAME_BYTES], words[64], advice[400];
    silence_name(address, place->address, name, sizeof name);
    if (place->reason == 0) {
        snprintf(text, size, "%s accepts connections, but does not answer", name);
        return;
    }
    advise(address, place, advice, sizeof advice);
    snprintf(text, size, "%s %s%s", in_words(place->reason, words, sizeof words), name, advice);
}

/* "alpha:7000: connection refused by 127.0.1.1:7000, no answer from 10.0.0.5:7000; is ...?" */
static void describe_all(const char *address, const struct route *route, char *text, size_t size)
{
    char host[ADDRESS_MAX], words[64];
    uint16_t port;
    const struct places *places = &route->places;
    snprintf(text, size, "%.200s", address);
    for (uint32_t i = 0; i < places->count && strlen(text) < size / 2; i++) {
        const struct place *place = &places->at[i];
        const char *between = i > 0 ? "," : ":";
        if (is_other_process(route, place->address))
            wording_append(text, size, "%s %s is %s", between, place->address, route->who);
        else
            wording_append(text, size, "%s %s %s", between,
                           in_words(place->reason, words, sizeof words), place->address);
    }
    if (address_split(address, host, &port))
        wording_append(
            text, size,
            "; is syncopate-ps running on %.100s, and does its log say that it listens on one "
            "of these?",
            host);
}

void silence_describe(const char *address, const struct route *route, char *text, size_t size)
{
    const struct places *places = &route->places;
    const struct place *place = route_place(route);
    char name[NAME_BYTES];
    silence_name(address, route->at, name, sizeof name);
    if (place != NULL && places->count == 1 && is_other_process(route, place->address))
        describe_who(address, place, route->who, text, size);
    else if (route->connected)
        text[0] = '\0';
    else if (route->reached)
        snprintf(text, size, "%s accepts connections, but does not answer", name);
    else if (places->status == STATUS_AGAIN && places->count == 0)
        snprintf(text, size, "%s: no name server has said yet what address that is", address);
    else if (places->count == 0)
        snprintf(text, size, "%s: host name does not resolve (%s)", address, places->why);
    else if (places->count > 1)
        describe_all(address, route, text, size);
    else
        describe_one(address, place != NULL ? place : &places->at[0], text, size);
}

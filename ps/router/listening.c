/* listening.c - resolves the server's own name and, where that is a loopback address though
 * others are to connect, chooses all addresses. */

#include "ps/router/listening.h"

#include <stdio.h>
#include <string.h>

#include "common/address/address.h"
#include "common/base/wording.h"

static uint32_t count_loopback(const struct places *places)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < places->count; i++)
        count += places->at[i].loopback;
    return count;
}

static void list(const struct places *places, char *text, size_t size, const char *separator)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < places->count; i++)
        wording_append(text, size, "%s%s", i > 0 ? separator : "", places->at[i].address);
}

static enum status refuse(const char *address, const struct places *places, struct error *error)
{
    char where[160] = "";
    if (places->count > 0 && strcmp(places->at[0].address, address) != 0) {
        where[0] = ' ';
        where[1] = '(';
        list(places, where + 2, sizeof where - 4, ", ");
        strcat(where, ")");
    }
    return error_set(error, STATUS_REFUSED,
                     "will not listen on %.150s%s without keys, since anyone who reaches it could "
                     "join; make some (syncopate keygen, --keys), or, where the network is "
                     "trusted, add --insecure",
                     address, where);
}

static enum status choose_any(const char *address, uint16_t port, bool others_connect,
                              struct listening *listening, struct error *error)
{
    static const struct places none = {.count = 0};
    if (!others_connect)
        return refuse(address, &none, error);
    snprintf(listening->addresses, sizeof listening->addresses, "*:%u", port);
    return STATUS_OK;
}

/* A name that is a loopback address here, and another one elsewhere. */
static void choose_for_name(const char *host, uint16_t port, const struct places *places,
                            bool others_connect, struct listening *listening)
{
    char where[100];
    list(places, where, sizeof where, ", ");
    if (others_connect) {
        snprintf(listening->addresses, sizeof listening->addresses, "*:%u", port);
        snprintf(listening->remark, sizeof listening->remark,
                 "on all addresses, since %.100s is %s on this host, which no other host reaches",
                 host, where);
    } else {
        snprintf(listening->remark, sizeof listening->remark,
                 "which no other host reaches; with --keys or --insecure it listens on all "
                 "addresses");
    }
}

enum status listening_choose(const char *address, const struct places *places, bool others_connect,
                             struct listening *listening, struct error *error)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    *listening = (struct listening){.addresses = ""};
    if (!address_split(address, host, &port))
        return error_set(error, STATUS_INVALID, "%s is not host:port", address);
    if (address_is_any(host))
        return choose_any(address, port, others_connect, listening, error);
    if (places->status != STATUS_OK)
        return error_set(error, STATUS_NOT_FOUND,
                         "the host name %.150s does not resolve: %s; --bind :%u listens on all "
                         "addresses of this host",
                         host, places->why, port);
    uint32_t loopback = count_loopback(places);
    if (!others_connect && loopback < places->count)
        return refuse(address, places, error);
    list(places, listening->addresses, sizeof listening->addresses, ",");
    if (loopback == places->count && !address_is_loopback(host))
        choose_for_name(host, port, places, others_connect, listening);
    return STATUS_OK;
}

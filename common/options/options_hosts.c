/* options_hosts.c - lists of hosts: commas, ranges as Slurm writes them, and that no two are one.
 * */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/address/address.h"
#include "common/address/hostlist.h"
#include "common/options/options.h"

struct hosts {
    char (*items)[ADDRESS_MAX]; /* NULL: only counted. */
    uint32_t max, count;
    uint32_t number; /* Of the list's item that is being read, from 0. */
    struct error *error;
};

/* --- one list ------------------------------------------------------------------------------ */

/* Keep "PREFIX NUMBER SUFFIX", which is `length` characters long, or would be. */
static enum status add(struct hosts *hosts, const char *text, int length)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    if (hosts->count == hosts->max)
        return error_set(hosts->error, STATUS_INVALID, "more than %" PRIu32 " hosts", hosts->max);
    if (length == 0)
        return error_set(hosts->error, STATUS_INVALID, "host number %" PRIu32 " is empty",
                         hosts->number);
    if (length >= ADDRESS_MAX)
        return error_set(hosts->error, STATUS_INVALID, "host number %" PRIu32 " is too long",
                         hosts->number);
    if (!address_split(text, host, &port) || host[0] == '\0' || strpbrk(host, " \t/[]") != NULL)
        return error_set(hosts->error, STATUS_INVALID, "'%s' is not host:port", text);
    if (hosts->items != NULL)
        memcpy(hosts->items[hosts->count], text, (size_t)length + 1);
    hosts->count++;
    return STATUS_OK;
}

/* Slurm's way to write hosts that are numbered: "node[1-3,08]:7000". */
static enum status add_range(struct hosts *hosts, const char *item)
{
    char list[ADDRESS_MAX], name[HOSTLIST_NAME_MAX], text[ADDRESS_MAX];
    const char *close = strrchr(item, ']');
    const char *port = close != NULL ? close + strcspn(close, ":") : item;
    uint64_t count = 1;
    enum status status = STATUS_OK;
    snprintf(list, sizeof list, "%.*s", (int)(port - item), item);
    for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
        if (hostlist_find(list, i, name, &count, NULL) != STATUS_OK)
            return error_set(hosts->error, STATUS_INVALID,
                             "'%s' is not host:port, nor a range such as node[1-3,8]:7000", item);
        status = add(hosts, text, snprintf(text, sizeof text, "%s%s", name, port));
    }
    return status;
}

size_t options_host_length(const char *list)
{
    size_t length = 0;
    bool within = false;
    for (; list[length] != '\0' && (within || (list[length] != ',' && list[length] != ';'));
         length++)
        within = list[length] == '[' || (within && list[length] != ']');
    return length;
}

enum status options_hosts(const char *list, char (*items)[ADDRESS_MAX], uint32_t max,
                          uint32_t *count, struct error *error)
{
    struct hosts hosts = {.items = items, .max = max, .error = error};
    enum status status = STATUS_OK;
    while (list != NULL && status == STATUS_OK) {
        char kept[ADDRESS_MAX + sizeof "tcp://"];
        list += strspn(list, " ");
        size_t length = options_host_length(list);
        snprintf(kept, sizeof kept, "%.*s", (int)(length < sizeof kept ? length : sizeof kept),
                 list);
        const char *item = address_plain(kept);
        bool range = item[0] != '\0' && strchr(item + 1, '[') != NULL; /* First, it is IPv6's. */
        status = range ? add_range(&hosts, item)
                       : add(&hosts, item, (int)(length - (size_t)(item - kept)));
        hosts.number++;
        list = list[length] != '\0' ? list + length + 1 : NULL;
    }
    *count = hosts.count;
    return status;
}

/* --- what a list says as a whole ------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    return address_split(address, host, &port) && address_is_loopback(host);
}

enum status options_hosts_apart(char (*items)[ADDRESS_MAX], uint32_t count, struct error *error)
{
    uint32_t near = 0, far = 0;
    while (near < count && !is_loopback(items[near]))
        near++;
    while (far < count && is_loopback(items[far]))
        far++;
    if (near >= count || far >= count)
        return STATUS_OK;
    return error_set(
        error, STATUS_INVALID,
        "%.150s is a different host for everyone who reads it, and %.150s is not: give "
        "the name or address that the other hosts know it by",
        items[near], items[far]);
}

enum status options_hosts_differ(char (*items)[ADDRESS_MAX], uint32_t count, struct error *error)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (address_equal(items[i], items[j]) && address_split(items[i], host, &port) &&
                port != 0)
                return error_set(error, STATUS_INVALID,
                                 "%.200s is named twice, as number %" PRIu32 " and number %" PRIu32
                                 "; every server has an address of its own",
                                 items[i], i, j);
    return STATUS_OK;
}

/* options_hosts.c - lists of hosts: commas, ranges as Slurm writes them, and that no two are one.
 * */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/address/address.h"
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

/* "3" or "01-16" at *text, which is moved behind it. width: of numbers that begin with zeros. */
static bool read_span(const char **text, unsigned long *first, unsigned long *last, int *width)
{
    size_t digits = strspn(*text, "0123456789");
    *width = (*text)[0] == '0' ? (int)digits : 1;
    *first = *last = strtoul(*text, NULL, 10);
    if (digits == 0 || digits > 9)
        return false;
    *text += digits;
    if (**text != '-')
        return true;
    digits = strspn(*text + 1, "0123456789");
    *last = strtoul(*text + 1, NULL, 10);
    *text += 1 + digits;
    return digits > 0 && digits <= 9 && *last >= *first;
}

/* Slurm's way to write hosts that are numbered: "node[1-3,08]:7000". open: its first bracket. */
static enum status add_range(struct hosts *hosts, const char *item, const char *open)
{
    char text[ADDRESS_MAX];
    const char *at = open + 1, *close = strchr(open, ']');
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        unsigned long number, last;
        int width;
        if (close == NULL || !read_span(&at, &number, &last, &width) || (*at != ',' && at != close))
            return error_set(hosts->error, STATUS_INVALID,
                             "'%s' is not host:port, nor a range such as node[1-3,8]:7000", item);
        for (; number <= last && status == STATUS_OK; number++)
            status = add(hosts, text,
                         snprintf(text, sizeof text, "%.*s%0*lu%s", (int)(open - item), item, width,
                                  number, close + 1));
        if (at++ == close)
            break;
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
        /* At its start a bracket is IPv6's. */
        const char *open = item[0] == '\0' ? NULL : strchr(item + 1, '[');
        status = open != NULL ? add_range(&hosts, item, open)
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

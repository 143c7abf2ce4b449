/* hostlist.c - iterates over a list's hosts without storing them: a few bytes can stand for very
 * many. */

#include "common/address/hostlist.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BRACKETS_MAX 4 /* In one name. */
#define DIGITS_MAX   9

/* One number or range within brackets. */
struct span {
    uint64_t first, count;
    int width; /* Of numbers that begin with zeros. */
};

/* "3" or "001-016" at *text, which is moved behind it. */
static bool read_span(const char **text, struct span *span)
{
    uint64_t ends[2] = {0, 0};
    size_t digits[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        for (; **text >= '0' && **text <= '9' && digits[i] < DIGITS_MAX; digits[i]++, (*text)++)
            ends[i] = 10 * ends[i] + (uint64_t)(**text - '0');
        if (digits[i] == 0)
            return false;
        if (i == 1 || **text != '-')
            break;
        (*text)++;
    }
    if (digits[1] == 0)
        ends[1] = ends[0];
    span->first = ends[0];
    span->count = ends[1] - ends[0] + 1;
    span->width = (int)digits[0];
    return ends[1] >= ends[0];
}

/* Number `index` of "1-3,08]", whose end is then at *close; *count: their number. */
static bool read_bracket(const char *text, uint64_t index, uint64_t *count, struct span *found,
                         const char **close)
{
    *count = 0;
    *found = (struct span){0};
    for (;; text++) {
        struct span span;
        if (!read_span(&text, &span))
            return false;
        if (index >= *count && index - *count < span.count)
            *found = (struct span){span.first + index - *count, 1, span.width};
        *count += span.count;
        if (*text == ']')
            break;
        if (*text != ',')
            return false;
    }
    *close = text;
    return true;
}

/* Brackets of one item: how many numbers each has. */
struct item {
    const char *text;
    size_t length;
    uint64_t counts[BRACKETS_MAX];
    size_t brackets;
    uint64_t hosts; /* Their product. */
};

static bool measure(struct item *item)
{
    const char *end = item->text + item->length;
    item->brackets = 0;
    item->hosts = 1;
    for (const char *at = item->text; at < end; at++) {
        struct span span;
        if (*at == ']' || (unsigned char)*at <= ' ' || *at == '/' || *at == ':' || *at == 127)
            return false;
        if (*at != '[')
            continue;
        if (item->brackets == BRACKETS_MAX ||
            !read_bracket(at + 1, 0, &item->counts[item->brackets], &span, &at))
            return false;
        item->hosts *= item->counts[item->brackets++];
        if (item->hosts > HOSTLIST_HOSTS_MAX)
            return false;
    }
    return item->length > 0;
}

/* Name number `index` of the item; false when it is too long. */
static bool name_of(const struct item *item, uint64_t index, char name[HOSTLIST_NAME_MAX])
{
    uint64_t later = item->hosts; /* Names that one number of this bracket is in. */
    size_t used = 0, bracket = 0;
    for (const char *at = item->text; at < item->text + item->length; at++) {
        struct span span;
        uint64_t count;
        if (used + 1 >= HOSTLIST_NAME_MAX)
            return false;
        if (*at != '[') {
            name[used++] = *at;
            continue;
        }
        later /= item->counts[bracket++];
        read_bracket(at + 1, index / later, &count, &span, &at);
        index %= later;
        int length =
            snprintf(name + used, HOSTLIST_NAME_MAX - used, "%0*" PRIu64, span.width, span.first);
        used += (size_t)length;
        if (used >= HOSTLIST_NAME_MAX)
            return false;
    }
    name[used] = '\0';
    return true;
}

/* An item ends at a comma outside of brackets. */
static size_t item_length(const char *list)
{
    size_t length = 0;
    bool within = false;
    for (; list[length] != '\0' && (within || list[length] != ','); length++)
        within = list[length] == '[' || (within && list[length] != ']');
    return length;
}

enum status hostlist_find(const char *list, uint64_t index, char name[HOSTLIST_NAME_MAX],
                          uint64_t *count, struct error *error)
{
    uint64_t hosts = 0;
    bool found = false;
    for (const char *at = list; at != NULL;) {
        struct item item = {.text = at, .length = item_length(at)};
        if (!measure(&item) || hosts + item.hosts > HOSTLIST_HOSTS_MAX)
            return error_set(error, STATUS_INVALID, "'%.100s' is not a list of hosts", list);
        if (index >= hosts && index - hosts < item.hosts) {
            found = name_of(&item, index - hosts, name);
            if (!found)
                return error_set(error, STATUS_INVALID, "'%.100s' has a name that is too long",
                                 list);
        }
        hosts += item.hosts;
        at = at[item.length] != '\0' ? at + item.length + 1 : NULL;
    }
    if (count != NULL)
        *count = hosts;
    return found ? STATUS_OK
                 : error_set(error, STATUS_NOT_FOUND, "'%.100s' has no host number %" PRIu64, list,
                             index);
}

/* "2" or "2(x3)" at *text, which is moved behind it. */
static bool read_tasks(const char **text, uint64_t *tasks, uint64_t *hosts)
{
    struct span span;
    *hosts = 1;
    if (!read_span(text, &span) || span.count != 1)
        return false;
    *tasks = span.first;
    if (strncmp(*text, "(x", 2) != 0)
        return true;
    *text += 2;
    if (!read_span(text, &span) || span.count != 1 || **text != ')')
        return false;
    *hosts = span.first;
    (*text)++;
    return true;
}

enum status hostlist_task(const char *tasks, uint64_t rank, uint64_t *host, struct error *error)
{
    uint64_t left = rank;
    bool found = false;
    *host = 0;
    for (const char *at = tasks;; at++) {
        uint64_t each, hosts;
        if (!read_tasks(&at, &each, &hosts) || (*at != '\0' && *at != ','))
            return error_set(error, STATUS_INVALID, "'%.100s' is not a list of tasks", tasks);
        if (!found && each * hosts > left) { /* Of nine digits each. */
            *host += left / each;
            found = true;
        } else if (!found) {
            left -= each * hosts;
            *host += hosts;
        }
        if (*at == '\0')
            break;
    }
    return found ? STATUS_OK
                 : error_set(error, STATUS_NOT_FOUND, "'%.100s' has no task %" PRIu64, tasks, rank);
}

void hostlist_tasks(const char *tasks, uint64_t first, uint64_t count, uint64_t *sum)
{
    uint64_t from = 0; /* Of the list's hosts that are read. */
    *sum = 0;
    for (const char *at = tasks;; at++) {
        uint64_t each, hosts;
        if (!read_tasks(&at, &each, &hosts))
            return;
        uint64_t begin = from > first ? from : first;
        uint64_t end = from + hosts < first + count ? from + hosts : first + count;
        if (end > begin)
            *sum += each * (end - begin);
        from += hosts;
        if (*at != ',')
            return;
    }
}

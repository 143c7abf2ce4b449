/* host_list.c - parses line by line, word by word. */

#include "deploy/hosts/host_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/address/hostlist.h"
#include "common/base/array.h"
#include "common/options/options.h"

#define LINE_MAX_BYTES 512

/* The state of reading. */
struct reader {
    struct host_list *list;
    const char *name; /* Of the text, for errors. */
    const char *unit; /* "line" or "host number". */
    uint32_t line;    /* Being read, from 1. */
    struct error *error;
};

static enum status refuse(const struct reader *reader, const char *word, const char *why)
{
    return error_set(reader->error, STATUS_INVALID, "%.200s, %s %u: '%.100s' %s", reader->name,
                     reader->unit, reader->line, word, why);
}

/* --- words --------------------------------------------------------------------------------- */

/* A whole number from 1 to most, and nothing else. */
static bool read_number(const char *text, unsigned long most, unsigned long *number)
{
    size_t digits = strspn(text, "0123456789");
    *number = digits > 0 && digits <= 9 ? strtoul(text, NULL, 10) : 0;
    return text[digits] == '\0' && *number >= 1 && *number <= most;
}

/* For names and addresses. Other characters have a meaning for shells. */
static bool is_name(const char *text)
{
    static const char letters[] =
        "-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return text[0] != '\0' && strchr("-._", text[0]) == NULL &&
           strspn(text, letters) == strlen(text);
}

static bool is_user(const char *text)
{
    return text[0] != '\0' && text[0] != '-' && strpbrk(text, " \t'\"\\@:/") == NULL;
}

/* An IPv6 address: several colons, and no letters but its digits. */
static bool is_ipv6(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon != NULL && strchr(colon + 1, ':') != NULL &&
           text[strspn(text, ":.0123456789abcdefABCDEF")] == '\0';
}

/* The text after the name's colon; NULL without one, as in an IPv6 address without brackets. The
 * word is cut there. */
static char *cut_at_colon(char *word)
{
    char *close = strrchr(word, ']');
    char *colon = strchr(close != NULL ? close : word, ':');
    if (colon == NULL || strchr(colon + 1, ':') != NULL)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

/* Another word of a line: slots=N, role=ps; Open MPI's max_slots=N is read over. */
static enum status read_property(const struct reader *reader, const char *word, struct host *host)
{
    unsigned long number;
    if (strncmp(word, "slots=", 6) == 0) {
        if (host->slots != 0)
            return refuse(reader, word, "is given twice");
        if (!read_number(word + 6, HOST_SLOTS_MAX, &number))
            return refuse(reader, word, "needs a whole number from 1 on: slots=4");
        host->slots = (uint32_t)number;
        return STATUS_OK;
    }
    if (strncmp(word, "role=", 5) == 0) {
        if (host->role != HOST_ROLE_ANY)
            return refuse(reader, word, "is given twice");
        if (strcmp(word + 5, "ps") != 0 && strcmp(word + 5, "worker") != 0)
            return refuse(reader, word, "needs role=ps or role=worker");
        host->role = word[5] == 'p' ? HOST_ROLE_PS : HOST_ROLE_WORKER;
        return STATUS_OK;
    }
    if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
        return STATUS_OK;
    return refuse(reader, word, "is neither slots=N nor role=ps|worker");
}

/* --- hosts --------------------------------------------------------------------------------- */

static struct host *find_host(const struct host_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcasecmp(list->hosts[i].name, name) == 0)
            return &list->hosts[i];
    return NULL;
}

static uint32_t or_one(uint32_t slots)
{
    return slots > 0 ? slots : 1;
}

/* A host that is there already has as many slots more. */
static enum status add_again(const struct reader *reader, struct host *before,
                             const struct host *host)
{
    if (strcmp(before->user, host->user) != 0 || before->port != host->port ||
        before->role != host->role)
        return error_set(reader->error, STATUS_INVALID,
                         "%.200s: %s is there twice, as %s %u and %u, with another user, port or "
                         "role",
                         reader->name, host->name, reader->unit, before->line, reader->line);
    before->slots = or_one(before->slots) + or_one(host->slots);
    return STATUS_OK;
}

static enum status add(struct reader *reader, const char *word, const char *name, struct host *host)
{
    struct host_list *list = reader->list;
    size_t length = strlen(name);
    bool bracketed = name[0] == '[' && name[length - 1] == ']';
    if (length >= sizeof host->name)
        return refuse(reader, word, "is too long for a host");
    memcpy(host->name, name + bracketed, length + 1 - bracketed);
    host->name[length - 2 * bracketed] = '\0';
    if (!is_ipv6(host->name) && (bracketed || !is_name(host->name)))
        return refuse(reader, word, "is no host: needs a name, or an IP address");
    struct host *before = find_host(list, host->name);
    if (before != NULL)
        return add_again(reader, before, host);
    if (list->count == HOST_COUNT_MAX)
        return error_set(reader->error, STATUS_INVALID, "%.200s: more than %d hosts", reader->name,
                         HOST_COUNT_MAX);
    struct host *hosts = array_room(list->hosts, list->count, &list->capacity, sizeof *hosts);
    if (hosts == NULL)
        return error_set(reader->error, STATUS_MEMORY, "out of memory");
    list->hosts = hosts;
    host->line = reader->line;
    list->hosts[list->count++] = *host;
    return STATUS_OK;
}

/* [user@]host or [user@]node[1-3], taken apart. */
static enum status add_word(struct reader *reader, const char *word, struct host *host)
{
    const char *at = strrchr(word, '@');
    const char *name = at != NULL ? at + 1 : word;
    if (at != NULL && (size_t)(at - word) >= sizeof host->user)
        return refuse(reader, word, "has too long a name of a user");
    if (at != NULL) {
        memcpy(host->user, word, (size_t)(at - word));
        if (!is_user(host->user))
            return refuse(reader, word, "has no name of a user before its @");
    }
    if (name[0] == '[' || strchr(name, '[') == NULL)
        return add(reader, word, name, host);
    enum status status = STATUS_OK;
    uint64_t count = 1;
    for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
        char one[HOSTLIST_NAME_MAX];
        if (hostlist_find(name, i, one, &count, NULL) != STATUS_OK)
            return refuse(reader, word, "is no range of hosts, such as node[1-3,8]");
        status = add(reader, word, one, host);
    }
    return status;
}

static enum status none_is_wrong(const struct reader *reader)
{
    return reader->list->count > 0
               ? STATUS_OK
               : error_set(reader->error, STATUS_INVALID, "%.200s: names no host", reader->name);
}

/* One line of a file, which is changed. */
static enum status read_line(struct reader *reader, char *line)
{
    struct host host = {.slots = 0};
    unsigned long number;
    char *rest, *name = strtok_r(line, " \t\r", &rest), *word;
    if (name == NULL)
        return STATUS_OK;
    char *port = cut_at_colon(name);
    if (port != NULL) {
        if (!read_number(port, 65535, &number))
            return refuse(reader, port,
                          "is no port of an sshd, from 1 to 65535; slots=N says how "
                          "many processes a host takes");
        host.port = (uint16_t)number;
    }
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (word = strtok_r(NULL, " \t\r", &rest)) != NULL)
        status = read_property(reader, word, &host);
    return status == STATUS_OK ? add_word(reader, name, &host) : status;
}

enum status host_list_read(struct host_list *list, const char *text, size_t bytes, const char *name,
                           struct error *error)
{
    struct reader reader = {.list = list, .name = name, .unit = "line", .error = error};
    char line[LINE_MAX_BYTES];
    enum status status = STATUS_OK;
    *list = (struct host_list){0};
    while (bytes > 0 && status == STATUS_OK) {
        const char *end = memchr(text, '\n', bytes);
        size_t length = end != NULL ? (size_t)(end - text) : bytes;
        reader.line++;
        if (memchr(text, '\0', length) != NULL)
            return refuse(&reader, "\\0", "is there; is it a text?");
        const char *remark = memchr(text, '#', length);
        size_t kept = remark != NULL ? (size_t)(remark - text) : length;
        if (kept >= sizeof line)
            return refuse(&reader, "...", "is too long");
        memcpy(line, text, kept);
        line[kept] = '\0';
        status = read_line(&reader, line);
        bytes -= length + (end != NULL);
        text += length + (end != NULL);
    }
    return status == STATUS_OK ? none_is_wrong(&reader) : status;
}

/* "kim@beta:2", which is changed. */
static enum status read_word(struct reader *reader, char *word)
{
    struct host host = {.slots = 0};
    unsigned long number;
    char *slots = cut_at_colon(word);
    if (word[0] == '\0')
        return refuse(reader, word, "is empty");
    if (slots != NULL) {
        if (!read_number(slots, HOST_SLOTS_MAX, &number))
            return refuse(reader, slots,
                          "is no number of slots, from 1 on; ports of sshds go into a host file");
        host.slots = (uint32_t)number;
    }
    return add_word(reader, word, &host);
}

enum status host_list_read_words(struct host_list *list, const char *text, const char *name,
                                 struct error *error)
{
    struct reader reader = {.list = list, .name = name, .unit = "host number", .error = error};
    char word[LINE_MAX_BYTES];
    enum status status = STATUS_OK;
    *list = (struct host_list){0};
    while (text != NULL && status == STATUS_OK) {
        text += strspn(text, " ");
        size_t length = options_host_length(text), kept = length;
        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        reader.line++;
        if (kept >= sizeof word)
            return refuse(&reader, "...", "is too long");
        memcpy(word, text, kept);
        word[kept] = '\0';
        status = read_word(&reader, word);
        text = text[length] != '\0' ? text + length + 1 : NULL;
    }
    return status;
}

void host_list_free(struct host_list *list)
{
    free(list->hosts);
    *list = (struct host_list){0};
}

/* failures.c - reads and writes failures: one grammar, and a row for the parts that each kind
 * has. */

#include "deploy/cluster/failures.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/wording.h"
#include "common/options/options_table.h"
#include "deploy/cluster/quantity.h"

enum lasting { FOR_GOOD, MAY_END, ENDS };

static const struct {
    const char *name;
    bool places, sides;
    enum lasting lasting;
    const char *example;
} kinds[FAILURE_KIND_COUNT] = {
    [FAILURE_KILL] = {"kill", true, false, MAY_END, "worker/3@12s or worker/3@12s+5s"},
    [FAILURE_STOP] = {"stop", true, false, ENDS, "ps/1@3s+2s"},
    [FAILURE_PARTITION] = {"partition", true, true, ENDS, "worker/0-3|ps/0@5s+2s"},
    [FAILURE_JOIN] = {"join", false, false, FOR_GOOD, "@8s"},
    [FAILURE_LEAVE] = {"leave", true, false, FOR_GOOD, "worker/2@9s"},
};

void failures_init(struct failures *failures)
{
    *failures = (struct failures){.list = NULL};
}

void failures_free(struct failures *failures)
{
    free(failures->list);
    failures_init(failures);
}

/* --- reading --------------------------------------------------------------------------------- */

static enum status put(struct failures *failures, const struct failure *failure,
                       struct error *error)
{
    if (failures->count == FAILURES_MAX)
        return error_set(error, STATUS_INVALID, "there are more than %d", FAILURES_MAX);
    struct failure *list =
        array_room(failures->list, failures->count, &failures->capacity, sizeof *list);
    if (list == NULL)
        return error_set(error, STATUS_MEMORY, "no memory");
    failures->list = list;
    failures->list[failures->count++] = *failure;
    return STATUS_OK;
}

static enum status read_who(const char **text, struct failure *failure, struct error *error)
{
    struct place both;
    enum status status = places_read(text, &failure->places, error);
    if (status != STATUS_OK || **text != '|')
        return status;
    if (!kinds[failure->kind].sides)
        return error_set(error, STATUS_INVALID, "'%.60s': only a partition has two sides", *text);
    ++*text;
    status = places_read(text, &failure->others, error);
    if (status == STATUS_OK && places_meet(&failure->places, &failure->others, &both))
        return error_set(error, STATUS_INVALID, "%s is on both sides", place_text(both).text);
    return status;
}

static enum status read_duration(const char **text, struct failure *failure, struct error *error)
{
    enum lasting lasting = kinds[failure->kind].lasting;
    if (**text != '+')
        return lasting != ENDS
                   ? STATUS_OK
                   : error_set(error, STATUS_INVALID, "needs how long it lasts, as in %s",
                               kinds[failure->kind].example);
    if (lasting == FOR_GOOD)
        return error_set(error, STATUS_INVALID, "'%.60s': a %s is for good", *text,
                         kinds[failure->kind].name);
    ++*text;
    enum status status = quantity_read_time(text, QUANTITY_TIME_MOST_NS, &failure->for_ns, error);
    if (status == STATUS_OK && failure->for_ns == 0)
        return error_set(error, STATUS_INVALID, "lasts no time at all");
    return status;
}

/* PLACES[|PLACES]@TIME[+TIME], as far as it goes. */
static enum status read_failure(const char **text, struct failure *failure, struct error *error)
{
    enum status status = STATUS_OK;
    if (kinds[failure->kind].places)
        status = read_who(text, failure, error);
    if (status == STATUS_OK && **text != '@')
        return error_set(error, STATUS_INVALID, "needs %s, as in %s",
                         kinds[failure->kind].places ? "when, behind an @"
                                                     : "only when, behind an @",
                         kinds[failure->kind].example);
    if (status != STATUS_OK)
        return status;
    ++*text;
    status = quantity_read_time(text, QUANTITY_TIME_MOST_NS, &failure->at_ns, error);
    return status == STATUS_OK ? read_duration(text, failure, error) : status;
}

static enum status check_leaving(const struct failure *failure, struct error *error)
{
    for (uint32_t i = 0; failure->kind == FAILURE_LEAVE && i < failure->places.count; i++)
        if (failure->places.ranges[i].role == ROLE_PS)
            return error_set(error, STATUS_INVALID,
                             "servers own the model and cannot leave; --kill kills one");
    return STATUS_OK;
}

static enum status read_list(struct failures *failures, enum failure_kind kind, const char *text,
                             struct error *error)
{
    size_t before = failures->count;
    enum status status = STATUS_OK;
    for (bool more = true; more && status == STATUS_OK; text++) {
        struct failure failure = {.kind = kind};
        text += strspn(text, " \t");
        status = read_failure(&text, &failure, error);
        more = *text != '\0';
        if (status == STATUS_OK && more && *text != ',' && *text != ';')
            status = error_set(error, STATUS_INVALID, "'%.60s' is too much", text);
        if (status == STATUS_OK)
            status = check_leaving(&failure, error);
        if (status == STATUS_OK)
            status = put(failures, &failure, error);
    }
    if (status != STATUS_OK)
        failures->count = before;
    return status;
}

static enum status read_restart(struct failures *failures, const char *text, struct error *error)
{
    uint64_t ns;
    enum status status = quantity_read_time(&text, QUANTITY_TIME_MOST_NS, &ns, error);
    if (status == STATUS_OK && (*text != '\0' || ns == 0))
        return error_set(error, STATUS_INVALID, "needs one time, as in 5s");
    if (status == STATUS_OK)
        failures->restart_ns = ns;
    return status;
}

static bool find_kind(const char *name, size_t length, enum failure_kind *kind)
{
    for (unsigned i = 0; i < FAILURE_KIND_COUNT; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, name, length) == 0) {
            *kind = (enum failure_kind)i;
            return true;
        }
    return false;
}

enum status failures_option(struct failures *failures, const char *name, const char *text,
                            struct error *error)
{
    struct error found;
    enum status status;
    enum failure_kind kind;
    if (find_kind(name, strlen(name), &kind)) {
        status = read_list(failures, kind, text, &found);
    } else {
        assert(strcmp(name, "restart") == 0);
        status = read_restart(failures, text, &found);
    }
    if (status != STATUS_OK)
        error_set(error, status, "--%s=%.120s: %.300s", name, text, found.text);
    return status;
}

/* --- writing --------------------------------------------------------------------------------- */

void failure_write(const struct failure *failure, char text[FAILURE_TEXT_MAX])
{
    char places[PLACES_TEXT_MAX];
    places_write(&failure->places, places);
    snprintf(text, FAILURE_TEXT_MAX, "%s %s", kinds[failure->kind].name, places);
    places_write(&failure->others, places);
    if (failure->others.count > 0)
        wording_append(text, FAILURE_TEXT_MAX, "|%s", places);
    wording_append(text, FAILURE_TEXT_MAX, "@%s", quantity_time(failure->at_ns).text);
    if (failure->for_ns > 0)
        wording_append(text, FAILURE_TEXT_MAX, "+%s", quantity_time(failure->for_ns).text);
}

/* Like one failure, without the kind. */
static void append_failure(const struct failure *failure, char *texts, size_t size)
{
    char text[FAILURE_TEXT_MAX];
    failure_write(failure, text);
    wording_append(texts, size, "%s%s", texts[0] != '\0' ? "," : "", strchr(text, ' ') + 1);
}

static enum status write_kind(const struct failures *failures, enum failure_kind kind,
                              struct json_writer *writer)
{
    size_t size = failures->count * FAILURE_TEXT_MAX + 1;
    char *texts = calloc(1, size);
    if (texts == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < failures->count; i++)
        if (failures->list[i].kind == kind)
            append_failure(&failures->list[i], texts, size);
    if (texts[0] != '\0')
        json_writer_text(writer, kinds[kind].name, texts);
    free(texts);
    return STATUS_OK;
}

enum status failures_write(const struct failures *failures, struct json_writer *writer)
{
    enum status status = STATUS_OK;
    for (unsigned kind = 0; kind < FAILURE_KIND_COUNT && status == STATUS_OK; kind++)
        status = write_kind(failures, (enum failure_kind)kind, writer);
    if (failures->restart_ns > 0)
        json_writer_text(writer, "restart", quantity_time(failures->restart_ns).text);
    return status;
}

/* --- asking ---------------------------------------------------------------------------------- */

uint32_t failures_joining(const struct failures *failures)
{
    uint32_t joining = 0;
    for (size_t i = 0; i < failures->count; i++)
        joining += failures->list[i].kind == FAILURE_JOIN;
    return joining;
}

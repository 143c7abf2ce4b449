/* outages.c - outages from text and back: one grammar, and a row for what each kind has of it. */

#include "deploy/cluster/outages.h"

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
} kinds[OUTAGE_KIND_COUNT] = {
    [OUTAGE_KILL] = {"kill", true, false, MAY_END, "worker/3@12s or worker/3@12s+5s"},
    [OUTAGE_STOP] = {"stop", true, false, ENDS, "ps/1@3s+2s"},
    [OUTAGE_PARTITION] = {"partition", true, true, ENDS, "worker/0-3|ps/0@5s+2s"},
    [OUTAGE_JOIN] = {"join", false, false, FOR_GOOD, "@8s"},
    [OUTAGE_LEAVE] = {"leave", true, false, FOR_GOOD, "worker/2@9s"},
};

void outages_init(struct outages *outages)
{
    *outages = (struct outages){.list = NULL};
}

void outages_free(struct outages *outages)
{
    free(outages->list);
    outages_init(outages);
}

/* --- reading --------------------------------------------------------------------------------- */

static enum status put(struct outages *outages, const struct outage *outage, struct error *error)
{
    if (outages->count == OUTAGES_MAX)
        return error_set(error, STATUS_INVALID, "there are more than %d", OUTAGES_MAX);
    struct outage *list =
        array_room(outages->list, outages->count, &outages->capacity, sizeof *list);
    if (list == NULL)
        return error_set(error, STATUS_MEMORY, "no memory");
    outages->list = list;
    outages->list[outages->count++] = *outage;
    return STATUS_OK;
}

static enum status read_who(const char **text, struct outage *outage, struct error *error)
{
    struct place both;
    enum status status = places_read(text, &outage->places, error);
    if (status != STATUS_OK || **text != '|')
        return status;
    if (!kinds[outage->kind].sides)
        return error_set(error, STATUS_INVALID, "'%.60s': only a partition has two sides", *text);
    ++*text;
    status = places_read(text, &outage->others, error);
    if (status == STATUS_OK && places_meet(&outage->places, &outage->others, &both))
        return error_set(error, STATUS_INVALID, "%s is on both sides", place_text(both).text);
    return status;
}

static enum status read_duration(const char **text, struct outage *outage, struct error *error)
{
    enum lasting lasting = kinds[outage->kind].lasting;
    if (**text != '+')
        return lasting != ENDS
                   ? STATUS_OK
                   : error_set(error, STATUS_INVALID, "needs how long it lasts, as in %s",
                               kinds[outage->kind].example);
    if (lasting == FOR_GOOD)
        return error_set(error, STATUS_INVALID, "'%.60s': a %s is for good", *text,
                         kinds[outage->kind].name);
    ++*text;
    enum status status = quantity_read_time(text, QUANTITY_TIME_MOST_NS, &outage->for_ns, error);
    if (status == STATUS_OK && outage->for_ns == 0)
        return error_set(error, STATUS_INVALID, "lasts no time at all");
    return status;
}

/* PLACES[|PLACES]@TIME[+TIME], as far as it goes. */
static enum status read_outage(const char **text, struct outage *outage, struct error *error)
{
    enum status status = STATUS_OK;
    if (kinds[outage->kind].places)
        status = read_who(text, outage, error);
    if (status == STATUS_OK && **text != '@')
        return error_set(error, STATUS_INVALID, "needs %s, as in %s",
                         kinds[outage->kind].places ? "when, behind an @"
                                                    : "only when, behind an @",
                         kinds[outage->kind].example);
    if (status != STATUS_OK)
        return status;
    ++*text;
    status = quantity_read_time(text, QUANTITY_TIME_MOST_NS, &outage->at_ns, error);
    return status == STATUS_OK ? read_duration(text, outage, error) : status;
}

static enum status check_leaving(const struct outage *outage, struct error *error)
{
    for (uint32_t i = 0; outage->kind == OUTAGE_LEAVE && i < outage->places.count; i++)
        if (outage->places.ranges[i].role == ROLE_PS)
            return error_set(error, STATUS_INVALID,
                             "servers own the model and cannot leave; --kill kills one");
    return STATUS_OK;
}

static enum status read_list(struct outages *outages, enum outage_kind kind, const char *text,
                             struct error *error)
{
    size_t before = outages->count;
    enum status status = STATUS_OK;
    for (bool more = true; more && status == STATUS_OK; text++) {
        struct outage outage = {.kind = kind};
        text += strspn(text, " \t");
        status = read_outage(&text, &outage, error);
        more = *text != '\0';
        if (status == STATUS_OK && more && *text != ',' && *text != ';')
            status = error_set(error, STATUS_INVALID, "'%.60s' is too much", text);
        if (status == STATUS_OK)
            status = check_leaving(&outage, error);
        if (status == STATUS_OK)
            status = put(outages, &outage, error);
    }
    if (status != STATUS_OK)
        outages->count = before;
    return status;
}

static enum status read_restart(struct outages *outages, const char *text, struct error *error)
{
    uint64_t ns;
    enum status status = quantity_read_time(&text, QUANTITY_TIME_MOST_NS, &ns, error);
    if (status == STATUS_OK && (*text != '\0' || ns == 0))
        return error_set(error, STATUS_INVALID, "needs one time, as in 5s");
    if (status == STATUS_OK)
        outages->restart_ns = ns;
    return status;
}

static enum status read_faults(struct outages *outages, const char *text, struct error *error)
{
    char number[32];
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    uint64_t seed;
    double rate = 1;
    snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 0, text);
    if (!option_parse_u64(number, &seed))
        return error_set(error, STATUS_INVALID, "needs SEED or SEED:RATE, as in 7 or 7:0.5");
    if (colon != NULL && (!option_parse_real(colon + 1, &rate) ||
                          !(rate >= OUTAGES_RATE_LEAST && rate <= OUTAGES_RATE_MOST)))
        return error_set(error, STATUS_INVALID,
                         "'%.60s' is not a rate from %g to %d faults a minute", colon + 1,
                         OUTAGES_RATE_LEAST, OUTAGES_RATE_MOST);
    outages->drawing = true;
    outages->seed = seed;
    outages->rate = rate;
    return STATUS_OK;
}

static bool find_kind(const char *name, size_t length, enum outage_kind *kind)
{
    for (unsigned i = 0; i < OUTAGE_KIND_COUNT; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, name, length) == 0) {
            *kind = (enum outage_kind)i;
            return true;
        }
    return false;
}

enum status outages_option(struct outages *outages, const char *name, const char *text,
                           struct error *error)
{
    struct error found;
    enum status status;
    enum outage_kind kind;
    if (find_kind(name, strlen(name), &kind)) {
        status = read_list(outages, kind, text, &found);
    } else if (strcmp(name, "restart") == 0) {
        status = read_restart(outages, text, &found);
    } else {
        assert(strcmp(name, "faults") == 0);
        status = read_faults(outages, text, &found);
    }
    if (status != STATUS_OK)
        error_set(error, status, "--%s=%.120s: %.300s", name, text, found.text);
    return status;
}

enum status outages_add(struct outages *outages, const char *line, struct error *error)
{
    enum outage_kind kind;
    size_t length = strcspn(line, " ");
    struct error found;
    if (line[length] != ' ' || !find_kind(line, length, &kind))
        return error_set(error, STATUS_INVALID,
                         "'%.60s' is not an outage such as kill worker/3@12s", line);
    size_t before = outages->count;
    enum status status = read_list(outages, kind, line + length + 1, &found);
    if (status == STATUS_OK && outages->count != before + 1) {
        outages->count = before;
        status = error_set(&found, STATUS_INVALID, "is more than one");
    }
    if (status != STATUS_OK)
        error_set(error, status, "%.120s: %.300s", line, found.text);
    return status;
}

/* --- writing --------------------------------------------------------------------------------- */

void outage_write(const struct outage *outage, char text[OUTAGE_TEXT_MAX])
{
    char places[PLACES_TEXT_MAX];
    places_write(&outage->places, places);
    snprintf(text, OUTAGE_TEXT_MAX, "%s %s", kinds[outage->kind].name, places);
    places_write(&outage->others, places);
    if (outage->others.count > 0)
        wording_append(text, OUTAGE_TEXT_MAX, "|%s", places);
    wording_append(text, OUTAGE_TEXT_MAX, "@%s", quantity_time(outage->at_ns).text);
    if (outage->for_ns > 0)
        wording_append(text, OUTAGE_TEXT_MAX, "+%s", quantity_time(outage->for_ns).text);
}

/* As an outage's, without the kind. */
static void append_outage(const struct outage *outage, char *texts, size_t size)
{
    char text[OUTAGE_TEXT_MAX];
    outage_write(outage, text);
    wording_append(texts, size, "%s%s", texts[0] != '\0' ? "," : "", strchr(text, ' ') + 1);
}

static enum status write_kind(const struct outages *outages, size_t count, enum outage_kind kind,
                              struct json_writer *writer)
{
    size_t size = count * OUTAGE_TEXT_MAX + 1;
    char *texts = calloc(1, size);
    if (texts == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (outages->list[i].kind == kind)
            append_outage(&outages->list[i], texts, size);
    if (texts[0] != '\0')
        json_writer_text(writer, kinds[kind].name, texts);
    free(texts);
    return STATUS_OK;
}

enum status outages_write(const struct outages *outages, size_t count, struct json_writer *writer)
{
    enum status status = STATUS_OK;
    char faults[64];
    for (unsigned kind = 0; kind < OUTAGE_KIND_COUNT && status == STATUS_OK; kind++)
        status = write_kind(outages, count, (enum outage_kind)kind, writer);
    if (outages->restart_ns > 0)
        json_writer_text(writer, "restart", quantity_time(outages->restart_ns).text);
    snprintf(faults, sizeof faults, "%" PRIu64 ":%.17g", outages->seed, outages->rate);
    if (outages->drawing)
        json_writer_text(writer, "faults", faults);
    return status;
}

/* --- asking ---------------------------------------------------------------------------------- */

uint32_t outages_joining(const struct outages *outages)
{
    uint32_t joining = 0;
    for (size_t i = 0; i < outages->count; i++)
        joining += outages->list[i].kind == OUTAGE_JOIN;
    return joining;
}

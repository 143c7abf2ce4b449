/* places.c - reads ranges of servers and workers from text, and answers which processes are in
 * them. */

#include "deploy/cluster/places.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/job.h"

#define EXAMPLES   "worker/3, worker/0-3 or ps/0"
#define DIGITS_MAX 9

static const enum role roles[] = {ROLE_PS, ROLE_WORKER};

static uint32_t most_of(enum role role)
{
    return role == ROLE_PS ? JOB_SERVERS_MAX : JOB_WORKERS_MAX;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The length of the text that may be a place, for messages. */
static int word_length(const char *text)
{
    size_t length = strcspn(text, ",;:|@ \t");
    return length < 40 ? (int)length : 40;
}

static bool read_index(const char **text, uint32_t *index)
{
    size_t digits = strspn(*text, "0123456789");
    *index = 0;
    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits; i++)
        *index = 10 * *index + (uint32_t)((*text)[i] - '0');
    *text += digits;
    return true;
}

/* "worker/" of which role. */
static bool read_role(const char **text, enum role *role)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        size_t length = strlen(role_name(roles[i]));
        if (strncmp(*text, role_name(roles[i]), length) == 0 && (*text)[length] == '/') {
            *role = roles[i];
            *text += length + 1;
            return true;
        }
    }
    return false;
}

static enum status read_range(const char **text, struct place_range *range, struct error *error)
{
    const char *at = *text;
    if (word_length(at) == 0)
        return error_set(error, STATUS_INVALID, "needs a process such as " EXAMPLES);
    bool right = read_role(&at, &range->role) && read_index(&at, &range->first);
    range->last = range->first;
    if (right && *at == '-') {
        at++;
        right = read_index(&at, &range->last);
    }
    if (!right || at != *text + strcspn(*text, ",;:|@ \t"))
        return error_set(error, STATUS_INVALID, "'%.*s' is not a process such as " EXAMPLES,
                         word_length(*text), *text);
    if (range->last < range->first)
        return error_set(error, STATUS_INVALID, "'%.*s': the larger number comes last",
                         word_length(*text), *text);
    if (range->last >= most_of(range->role))
        return error_set(error, STATUS_INVALID, "'%.*s': %s are numbered from 0 to %" PRIu32,
                         word_length(*text), *text, range->role == ROLE_PS ? "servers" : "workers",
                         most_of(range->role) - 1);
    *text = at;
    return STATUS_OK;
}

enum status places_read(const char **text, struct places *places, struct error *error)
{
    const char *at = *text;
    *places = (struct places){.count = 0};
    for (;; at++) {
        struct places one = {.count = 1};
        struct place twice;
        enum status status = read_range(&at, &one.ranges[0], error);
        if (status != STATUS_OK)
            return status;
        if (places_meet(places, &one, &twice))
            return error_set(error, STATUS_INVALID, "%s is there twice", place_text(twice).text);
        if (places->count == PLACES_RANGES_MAX)
            return error_set(error, STATUS_INVALID, "there are more than %d names and ranges",
                             PLACES_RANGES_MAX);
        places->ranges[places->count++] = one.ranges[0];
        if (*at != ',')
            break;
    }
    *text = at;
    return STATUS_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

void places_write(const struct places *places, char text[PLACES_TEXT_MAX])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < places->count; i++) {
        const struct place_range *range = &places->ranges[i];
        wording_append(text, PLACES_TEXT_MAX, "%s%s/%" PRIu32, i > 0 ? "," : "",
                       role_name(range->role), range->first);
        if (range->last > range->first)
            wording_append(text, PLACES_TEXT_MAX, "-%" PRIu32, range->last);
    }
}

struct place_text place_text(struct place place)
{
    struct place_text text;
    snprintf(text.text, sizeof text.text, "%s/%" PRIu32, role_name(place.role), place.index);
    return text;
}

/* --- asking ---------------------------------------------------------------------------------- */

bool places_have(const struct places *places, struct place place)
{
    for (uint32_t i = 0; i < places->count; i++) {
        const struct place_range *range = &places->ranges[i];
        if (range->role == place.role && range->first <= place.index && place.index <= range->last)
            return true;
    }
    return false;
}

bool places_meet(const struct places *a, const struct places *b, struct place *shared)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++) {
            const struct place_range *one = &a->ranges[i], *other = &b->ranges[j];
            uint32_t first = one->first > other->first ? one->first : other->first;
            uint32_t last = one->last < other->last ? one->last : other->last;
            if (one->role != other->role || first > last)
                continue;
            if (shared != NULL)
                *shared = (struct place){one->role, first};
            return true;
        }
    return false;
}

uint32_t places_count(const struct places *places)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < places->count; i++)
        count += places->ranges[i].last - places->ranges[i].first + 1;
    return count;
}

struct place places_at(const struct places *places, uint32_t index)
{
    uint32_t i = 0;
    assert(index < places_count(places));
    for (; index > places->ranges[i].last - places->ranges[i].first; i++)
        index -= places->ranges[i].last - places->ranges[i].first + 1;
    return (struct place){places->ranges[i].role, places->ranges[i].first + index};
}

static enum status refuse_missing(struct place missing, uint32_t servers, uint32_t workers,
                                  struct error *error)
{
    const struct places all = {.ranges = {{ROLE_WORKER, 0, workers - 1}, {ROLE_PS, 0, servers - 1}},
                               .count = 2};
    char there[PLACES_TEXT_MAX];
    assert(servers > 0 && workers > 0);
    places_write(&all, there);
    return error_set(error, STATUS_INVALID, "there is no %s; there are %s",
                     place_text(missing).text, there);
}

enum status places_check(const struct places *places, uint32_t servers, uint32_t workers,
                         struct error *error)
{
    for (uint32_t i = 0; i < places->count; i++) {
        const struct place_range *range = &places->ranges[i];
        bool server = range->role == ROLE_PS;
        uint32_t there = server ? servers : workers;
        struct place missing = {range->role, range->first > there ? range->first : there};
        if (range->last >= there)
            return refuse_missing(missing, servers, workers, error);
    }
    return STATUS_OK;
}

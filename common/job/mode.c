/* mode.c - the facts of each mode by its number or name, and settings of modes. */

#include "common/job/mode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct mode_facts modes[MODE_COUNT] = {
#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    [MODE_##number] = {.name = #text, __VA_ARGS__},
#include "common/job/mode_rows.inc"
#undef MODE
};

const struct mode_facts *mode_facts(enum mode mode)
{
    static const struct mode_facts unknown = {.name = "unknown", .explanation = "?"};
    return (unsigned)mode < MODE_COUNT ? &modes[mode] : &unknown;
}

const char *mode_name(enum mode mode)
{
    return mode_facts(mode)->name;
}

const char *mode_numbered(unsigned number)
{
    return number < MODE_COUNT ? modes[number].name : NULL;
}

const char *mode_word(unsigned index)
{
    if (index == 0)
        return modes[MODE_SYNC].name;
    for (unsigned i = 0; i < MODE_COUNT; i++) /* --backup-workers says the modes of sets. */
        if (i != MODE_SYNC && !modes[i].sets && --index == 0)
            return modes[i].bounds != NULL ? modes[i].bounds : modes[i].name;
    return NULL;
}

bool mode_is(const struct mode_facts *facts, const char *kind)
{
    return strcmp(kind, facts->name) == 0 || (strcmp(kind, "leases") == 0 && !facts->steps) ||
           (strcmp(kind, "accumulates") == 0 && facts->accumulates) ||
           (strcmp(kind, "replicates") == 0 && facts->replicates);
}

struct mode_text mode_text(struct mode_setting setting)
{
    struct mode_text text;
    const struct mode_facts *facts = mode_facts(setting.mode);
    if (!facts->bounds && !facts->sets)
        snprintf(text.text, sizeof text.text, "%s", facts->name);
    else if (setting.bound == MODE_UNBOUNDED)
        snprintf(text.text, sizeof text.text, "%s:inf", facts->name);
    else
        snprintf(text.text, sizeof text.text, "%s:%" PRIu64, facts->name, setting.bound);
    return text;
}

/* "3" or "inf". */
static bool read_number(const char *text, uint64_t *bound)
{
    bool infinite = strcasecmp(text, "inf") == 0;
    size_t digits = strspn(text, "0123456789");
    *bound = infinite ? MODE_UNBOUNDED : strtoull(text, NULL, 10);
    return infinite || (digits > 0 && text[digits] == '\0' && *bound <= MODE_BOUND_MAX);
}

static bool read_bound(const struct mode_facts *facts, const char *text, uint64_t *bound)
{
    return read_number(text, bound) && (!facts->sets || (*bound > 0 && *bound <= MODE_SPARES_MAX));
}

enum status mode_read(const char *text, struct mode_setting *setting)
{
    for (unsigned i = 0; i < MODE_COUNT; i++) {
        size_t length = strlen(modes[i].name);
        if (strncasecmp(text, modes[i].name, length) != 0)
            continue;
        *setting = (struct mode_setting){.mode = (enum mode)i};
        if (modes[i].bounds || modes[i].sets
                ? text[length] == ':' && read_bound(&modes[i], text + length + 1, &setting->bound)
                : text[length] == '\0')
            return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

const struct mode_facts *mode_facts_named(const char *name)
{
    struct mode_setting setting;
    return mode_facts(mode_read(name, &setting) == STATUS_OK ? setting.mode : MODE_COUNT);
}

/* mode.c - the table of modes: a row each. */

#include "common/job/mode.h"

#include <stddef.h>
#include <string.h>

static const struct mode_facts modes[MODE_COUNT] = {
    [MODE_ASYNC] = {.number = MODE_ASYNC,
                    .name = "async",
                    .unit = "update",
                    .hue = 2,
                    .may_skip = true,
                    .locks = true},
    [MODE_SYNC] = {.number = MODE_SYNC,
                   .name = "sync",
                   .hue = 1,
                   .unit = "step",
                   .steps = true,
                   .exact = true,
                   .aligns = true,
                   .lends = true},
};

const struct mode_facts *mode_facts(enum mode mode)
{
    static const struct mode_facts unknown = {
        .number = MODE_COUNT, .name = "unknown", .unit = "update"};
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

enum status mode_parse(const char *name, enum mode *mode)
{
    for (unsigned i = 0; name != NULL && i < MODE_COUNT; i++) {
        if (strcmp(name, modes[i].name) == 0) {
            *mode = (enum mode)i;
            return STATUS_OK;
        }
    }
    return STATUS_NOT_FOUND;
}

const struct mode_facts *mode_facts_named(const char *name)
{
    enum mode mode = MODE_COUNT;
    mode_parse(name, &mode);
    return mode_facts(mode);
}

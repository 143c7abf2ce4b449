/* mode.c - the table of modes: a row each. */

#include "common/job/mode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct mode_facts modes[MODE_COUNT] = {
    [MODE_ASYNC] =
        {.number = MODE_ASYNC,
         .name = "async",
         .unit = "update",
         .hue = 2,
         .may_skip = true,
         .is_recorded = true,
         .locks = true,
         .may_be_stale = true,
         .accumulates = true,
         .explanation =
             "server 0 leases a batch of examples to each worker that asks. A worker's gradient "
             "is applied the moment it comes, whatever others have made meanwhile, "
             "and the answer has the newest values. No worker waits for another; how "
             "many updates a chunk had since the values that a gradient was "
             "computed from is its staleness."},
    [MODE_SYNC] = {.number = MODE_SYNC,
                   .name = "sync",
                   .hue = 1,
                   .unit = "step",
                   .steps = true,
                   .exact = true,
                   .single_version = true,
                   .shared_read = true,
                   .explanation =
                       "the examples of a step are cut into leaves, which are dealt over the "
                       "workers. A chunk waits until the gradients of all leaves are in (the "
                       "barrier), makes one update by their sum, and answers only then. So all "
                       "compute the next step from the same values, and it does not matter who "
                       "was first."},
    [MODE_SSP] = {.number = MODE_SSP,
                  .name = "ssp",
                  .unit = "update",
                  .may_skip = true,
                  .is_recorded = true,
                  .locks = true,
                  .may_be_stale = true,
                  .bounds = true,
                  .explanation =
                      "as in async, server 0 leases batches and a gradient is applied the "
                      "moment it comes; but no worker gets a batch that would bring it more "
                      "than S batches ahead of the slowest. The fast wait, for WORK and not "
                      "for values, and who has waited pulls the newest before it computes."},
    [MODE_ALLREDUCE] = {.number = MODE_ALLREDUCE,
                        .name = "allreduce",
                        .hue = 3,
                        .unit = "step",
                        .steps = true,
                        .exact = true,
                        .single_version = true,
                        .replicates = true,
                        .explanation =
                            "as in sync, the leaves of a step are dealt over the workers, and a "
                            "chunk adds their gradients up; but what it answers with is the sum. "
                            "Every worker keeps the model and the optimizer's slots, a replica, "
                            "and makes the same update of it; the servers make it too, for "
                            "checkpoints and for workers that join."},
    [MODE_BACKUP] = {.number = MODE_BACKUP,
                     .name = "sync+backup",
                     .unit = "step",
                     .steps = true,
                     .exact = true,
                     .single_version = true,
                     .has_backup = true,
                     .sets = true,
                     .explanation =
                         "as in sync, the leaves of a step are dealt over the workers, and a "
                         "chunk makes one update of a step; but B workers are spare: as soon as "
                         "all but B have reported theirs, server 0 closes the step with those "
                         "leaves, and what the late ones have computed is dropped. Which leaves "
                         "a step was made of is recorded, so that the run can be made again."},
};

const struct mode_facts *mode_facts(enum mode mode)
{
    static const struct mode_facts unknown = {
        .number = MODE_COUNT, .name = "unknown", .unit = "update", .explanation = "?"};
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

struct mode_text mode_text(struct mode_setting setting)
{
    struct mode_text text;
    const struct mode_facts *facts = mode_facts(setting.mode);
    if (!facts->bounds && !facts->has_backup)
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
    *bound = MODE_UNBOUNDED;
    if (strcasecmp(text, "inf") == 0)
        return true;
    *bound = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *bound = 10 * *bound + (uint64_t)(text[i] - '0');
        if (*bound > MODE_BOUND_MAX)
            return false;
    }
    return text[0] != '\0';
}

static bool read_bound(const struct mode_facts *facts, const char *text, uint64_t *bound)
{
    return read_number(text, bound) &&
           (!facts->has_backup || (*bound > 0 && *bound <= MODE_SPARES_MAX));
}

enum status mode_read(const char *text, struct mode_setting *setting)
{
    for (unsigned i = 0; i < MODE_COUNT; i++) {
        size_t length = strlen(modes[i].name);
        if (strncasecmp(text, modes[i].name, length) != 0)
            continue;
        *setting = (struct mode_setting){.mode = (enum mode)i};
        if (modes[i].bounds || modes[i].has_backup
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

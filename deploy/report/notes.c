/* notes.c - finds the warnings about each configuration, then about all. */

#include "deploy/report/notes.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/mode.h"

#define NAMED_MAX 6 /* In a list; the others are counted. */

double note_others_share(const struct record *record)
{
    return run_noise_share(&record->noise);
}

bool note_is_noisy(const struct record *record)
{
    return run_noise_is_much(&record->noise);
}

/* --- of one configuration --------------------------------------------------------------------- */

/* A step of fewer leaves than there are workers leaves some without work: more of them are not
 * faster. */
static bool idle(const struct group *group, char text[NOTE_TEXT_MAX])
{
    const struct record *record = group->records[0];
    if (!mode_facts_named(group->mode_text)->steps || record->micro_batch == 0)
        return false;
    uint64_t leaves = (record->global_batch + record->micro_batch - 1) / record->micro_batch;
    if (leaves >= group->workers)
        return false;
    snprintf(text, NOTE_TEXT_MAX,
             "%s: a step has %" PRIu64 " leaves, and %" PRIu64
             " workers have none (--global-batch, --micro-batch)",
             group->label, leaves, group->workers - leaves);
    return true;
}

static bool bound(const struct group *group, char text[NOTE_TEXT_MAX])
{
    struct spread longer = group_spread(group, record_longer);
    if (longer.count == 0 || longer.mean <= PROCESSOR_BOUND)
        return false;
    snprintf(text, NOTE_TEXT_MAX,
             "%s: processor-bound, %.1f %% of leaves took longer than they should", group->label,
             100 * longer.mean);
    return true;
}

typedef bool config_note_fn(const struct group *group, char text[NOTE_TEXT_MAX]);

/* --- of several ------------------------------------------------------------------------------ */

/* Names of some, and how many more there are. */
struct listing {
    char text[NOTE_TEXT_MAX / 2];
    size_t count;
};

static void list(struct listing *listing, const char *name)
{
    if (listing->count++ < NAMED_MAX)
        wording_append(listing->text, sizeof listing->text, "%s%s", listing->count > 1 ? "; " : "",
                       name);
}

static void list_end(struct listing *listing)
{
    if (listing->count > NAMED_MAX)
        wording_append(listing->text, sizeof listing->text, " and %zu more",
                       listing->count - NAMED_MAX);
}

/* Without --compute workers and servers have the processors that there are, one after the other. */
static bool is_crowded(const struct group *group)
{
    const struct record *record = group->records[0];
    uint32_t processors = record->summary.processors;
    return processors > 0 && record->config.cluster[0] == '\0' &&
           record->config.compute[0] == '\0' && record->workers + record->servers > processors;
}

static bool crowded(const struct comparison *comparison, char text[NOTE_TEXT_MAX])
{
    struct listing configs = {.count = 0};
    uint32_t processors = 0;
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        if (group->record_count == 0 || !is_crowded(group))
            continue;
        processors = group->records[0]->summary.processors;
        list(&configs, group->label);
    }
    list_end(&configs);
    snprintf(text, NOTE_TEXT_MAX,
             "more workers and servers than the %s, so that they take turns: %s",
             wording_counted(processors, "processor", "processors").text,
             configs.count == comparison->group_count ? "all arms" : configs.text);
    return configs.count > 0;
}

static const char *run_name(const struct record *record)
{
    const char *slash = strrchr(record->path, '/');
    return slash != NULL ? slash + 1 : record->path;
}

/* How many of a configuration's runs are known; those that are noisy into the listing. */
static size_t list_noisy(struct listing *runs, const struct group *group)
{
    size_t known = 0;
    for (size_t i = 0; i < group->record_count; i++) {
        const struct record *record = group->records[i];
        char run[CONFIG_TEXT_MAX + 64];
        known += record->noise.processors > 0;
        if (!note_is_noisy(record))
            continue;
        snprintf(run, sizeof run, "%.120s %.0f %%", run_name(record),
                 100 * note_others_share(record));
        list(runs, run);
    }
    return known;
}

/* By configuration: the order does not depend on the order of the runs. */
static bool noisy(const struct comparison *comparison, char text[NOTE_TEXT_MAX])
{
    struct listing runs = {.count = 0};
    size_t known = 0;
    for (size_t i = 0; i < comparison->group_count; i++)
        known += list_noisy(&runs, &comparison->groups[i]);
    list_end(&runs);
    snprintf(text, NOTE_TEXT_MAX,
             "noisy: in %zu of %s others had more than %.0f %% of the processors' time: %s",
             runs.count, wording_counted(known, "run", "runs").text, 100 * RUN_NOISY, runs.text);
    return runs.count > 0;
}

typedef bool comparison_note_fn(const struct comparison *comparison, char text[NOTE_TEXT_MAX]);

/* --- all of them ----------------------------------------------------------------------------- */

bool note_at(const struct comparison *comparison, size_t index, char text[NOTE_TEXT_MAX])
{
    static config_note_fn *const of_configs[] = {idle, bound};
    static comparison_note_fn *const of_all[] = {crowded, noisy};
    size_t found = 0;
    for (size_t kind = 0; kind < sizeof of_configs / sizeof *of_configs; kind++)
        for (size_t i = 0; i < comparison->group_count; i++)
            if (comparison->groups[i].record_count > 0 &&
                of_configs[kind](&comparison->groups[i], text) && found++ == index)
                return true;
    for (size_t kind = 0; kind < sizeof of_all / sizeof *of_all; kind++)
        if (of_all[kind](comparison, text) && found++ == index)
            return true;
    return false;
}

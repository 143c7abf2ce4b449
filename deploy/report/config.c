/* config.c - options as they can be typed, and numbers from verdicts and the distribution of
 * staleness. */

#include "deploy/report/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/compensation.h"

#define LINE_BYTES 512

/* --- options ---------------------------------------------------------------------------------- */

struct config_text config_text(const struct record *record)
{
    const struct job *job = &record->config;
    struct config_text config = {""};
    if (job->use_locking)
        wording_append(config.text, sizeof(config.text), " --use-locking");
    if (job->staleness_rate != STALENESS_RATE_NONE)
        wording_append(config.text, sizeof(config.text), " --staleness-rate %s",
                       staleness_rate_numbered(job->staleness_rate));
    if (job->delay_compensation > 0)
        wording_append(config.text, sizeof(config.text), " --delay-compensation %s",
                       compensation_text(job).text);
    if (job->max_staleness > 0)
        wording_append(config.text, sizeof(config.text), " --max-staleness %s",
                       job_max_staleness_text(job).text);
    if (record->accumulate > 1)
        wording_append(config.text, sizeof(config.text), " --accumulate %" PRIu64,
                       record->accumulate);
    if (config.text[0] == ' ')
        memmove(config.text, config.text + 1, strlen(config.text));
    return config;
}

/* --- effects ---------------------------------------------------------------------------------- */

static double too_stale(const struct record *record)
{
    const struct verdict_counts *verdicts = &record->summary.verdicts;
    double stale = (double)verdicts->stale;
    double received = stale + (double)verdicts->applied + (double)verdicts->duplicate +
                      (double)verdicts->rejected;
    return record->config.max_staleness > 0 && received > 0 ? stale / received : NAN;
}

double config_sent_back(const struct record *record)
{
    return record->config.staleness_loses ? NAN : too_stale(record);
}

double config_lost(const struct record *record)
{
    return record->config.staleness_loses ? too_stale(record) : NAN;
}

static double rate_left(const struct record *record, uint64_t staleness)
{
    return staleness_rate_of(record->config.staleness_rate, 1, staleness, record->workers);
}

/* The mean of a number over the applied gradients. The distribution includes lost gradients beyond
 * --max-staleness, which had no effect. */
static double mean_applied(const struct record *record,
                           double number(const struct record *record, uint64_t staleness))
{
    const struct histogram *shape = &record->summary.staleness.shape;
    double sum = 0, count = 0;
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t staleness = histogram_least(bucket);
        if (record->config.max_staleness > 0 && staleness > record->config.max_staleness)
            break;
        count += (double)shape->buckets[bucket];
        sum += (double)shape->buckets[bucket] * number(record, staleness);
    }
    return count > 0 ? sum / count : NAN;
}

double config_rate(const struct record *record)
{
    bool unknown =
        record->accumulate > 1 && record->config.staleness_rate == STALENESS_RATE_INVERSE;
    if (record->config.staleness_rate == STALENESS_RATE_NONE || record->workers == 0 || unknown)
        return NAN;
    return mean_applied(record, rate_left);
}

static double is_overtaken(const struct record *record, uint64_t staleness)
{
    (void)record;
    return staleness > 0;
}

double config_moved(const struct record *record)
{
    return record->config.delay_compensation > 0 ? mean_applied(record, is_overtaken) : NAN;
}

/* --- lines --------------------------------------------------------------------------------- */

static struct config_text group_config(const struct group *group)
{
    return group->record_count > 0 ? config_text(group->records[0]) : (struct config_text){""};
}

static bool same_mode(const struct group *a, const struct group *b)
{
    return strcmp(a->mode_text, b->mode_text) == 0;
}

/* Whether the configurations of this mode have its options alike: then one line is for all of
 * them. */
static bool is_shared(const struct comparison *comparison, const struct group *group)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (same_mode(&comparison->groups[i], group) &&
            strcmp(group_config(&comparison->groups[i]).text, group_config(group).text) != 0)
            return false;
    return true;
}

static bool is_first_of_mode(const struct comparison *comparison, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_mode(&comparison->groups[i], &comparison->groups[index]))
            return false;
    return true;
}

/* Whether any run has such an option or effect. */
static bool any_differs(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->group_count; i++)
        if (group_config(&comparison->groups[i]).text[0] != '\0')
            return true;
    return false;
}

/* Why a mode has none of the options that others have. */
static const char *group_without(const struct group *group)
{
    return !mode_facts_named(group->mode_text)->steps
               ? "none of these"
               : "none of these, which have no use in it: no gradient grows stale";
}

/* Already listed with a named configuration. */
static bool is_given(const struct group *group)
{
    const char *options = group_config(group).text;
    return options[0] != '\0' && strstr(group->config.given, options) != NULL;
}

/* "slow-start" of "slow-start, 4 workers": axes make several of one that is named. */
static size_t named_length(const struct group *group)
{
    const char *more = strstr(group->label, ", ");
    return more != NULL ? (size_t)(more - group->label) : strlen(group->label);
}

static bool is_first_of_name(const struct comparison *comparison, size_t index)
{
    const struct group *group = &comparison->groups[index];
    size_t length = named_length(group);
    for (size_t i = 0; i < index; i++)
        if (strcmp(comparison->groups[i].config.given, group->config.given) == 0 &&
            named_length(&comparison->groups[i]) == length &&
            strncmp(comparison->groups[i].label, group->label, length) == 0)
            return false;
    return true;
}

/* who: the mode, or the configuration when the options are its own. */
typedef void put_config_fn(FILE *stream, const struct group *group, const char *who,
                           const char *options);

static void each_config(FILE *stream, const struct comparison *comparison, bool with,
                        put_config_fn *put)
{
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        struct config_text config = group_config(group);
        bool shared = is_shared(comparison, group);
        if ((config.text[0] != '\0') == with && (!shared || is_first_of_mode(comparison, i)) &&
            !is_given(group))
            put(stream, group, shared ? group->mode_text : group->label, with ? config.text : NULL);
    }
}

static void each_named(FILE *stream, const struct comparison *comparison, put_config_fn *put)
{
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        char who[CONFIG_TEXT_MAX];
        if (group->config.given[0] == '\0' || !is_first_of_name(comparison, i))
            continue;
        snprintf(who, sizeof who, "%.*s", (int)named_length(group), group->label);
        put(stream, group, who, group->config.given);
    }
}

static void put_text(FILE *stream, const struct group *group, const char *who, const char *options)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof(line), "%s: %s", who, options != NULL ? options : group_without(group));
    wording_wrap(stream, line, 0, 0);
}

void configs_write_text(FILE *stream, const struct comparison *comparison)
{
    each_named(stream, comparison, put_text);
    if (!any_differs(comparison))
        return;
    each_config(stream, comparison, true, put_text);
    each_config(stream, comparison, false, put_text);
}

/* rate_sweep.c - removes the learning rate from the varied settings and groups equal remainders. */

#include "deploy/conclusion/rate_sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/optimizer/optimizer.h"

#define RATE "learning-rate "

/* The other varied settings; returns whether the rate was varied. */
static bool without_rate(const struct group *group, char rest[CONFIG_TEXT_MAX])
{
    bool varied = false;
    rest[0] = '\0';
    for (const char *at = group->config.varied; *at != '\0';) {
        const char *end = strstr(at, ", ");
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);
        if (strncmp(at, RATE, strlen(RATE)) == 0)
            varied = true;
        else
            wording_append(rest, CONFIG_TEXT_MAX, "%s%.*s", rest[0] != '\0' ? ", " : "",
                           (int)length, at);
        at += length + (end != NULL ? 2 : 0);
    }
    return varied;
}

static bool are_alike(const struct group *a, const struct group *b)
{
    char rest[CONFIG_TEXT_MAX], other[CONFIG_TEXT_MAX];
    return without_rate(a, rest) && without_rate(b, other) && strcmp(rest, other) == 0 &&
           strcmp(a->mode_text, b->mode_text) == 0 && a->workers == b->workers;
}

static bool is_better(const struct conclusion *conclusion, size_t a, size_t b)
{
    double ours = conclusion->configs[a].seconds.median,
           theirs = conclusion->configs[b].seconds.median;
    if (isfinite(ours) || isfinite(theirs))
        return isfinite(ours) && !(theirs <= ours);
    double loss = conclusion->configs[a].trials.median,
           other = conclusion->configs[b].trials.median;
    return isfinite(loss) && !(other <= loss);
}

static bool has_default_rate(const struct group *group)
{
    if (group->record_count == 0)
        return false;
    const struct optimizer *optimizer = optimizer_find(group->records[0]->optimizer);
    return optimizer != NULL &&
           fabs(group->records[0]->learning_rate - (double)optimizer->default_learning_rate) <=
               1e-6 * (double)optimizer->default_learning_rate;
}

/* Of the configurations that are like this one; false where an earlier one is, or none. */
static bool find_grid(const struct conclusion *conclusion, size_t first, struct rate_sweep *grid)
{
    const struct comparison *comparison = conclusion->comparison;
    memset(grid, 0, sizeof *grid);
    for (size_t i = 0; i < comparison->group_count; i++) {
        if (!are_alike(&comparison->groups[first], &comparison->groups[i]))
            continue;
        if (i < first)
            return false;
        grid->members[grid->count++] = i;
        grid->runs += conclusion->configs[i].trials.count;
        if (grid->count == 1 || is_better(conclusion, i, grid->best))
            grid->best = i;
        if (has_default_rate(&comparison->groups[i]) && !grid->has_default) {
            grid->has_default = true;
            grid->default_rate = i;
        }
    }
    return grid->count > 1;
}

bool rate_sweep_at(const struct conclusion *conclusion, size_t index, struct rate_sweep *grid)
{
    size_t found = 0, reference = 0, first_count = 0, first_runs = 0;
    for (size_t i = 0; i < conclusion->comparison->group_count; i++) {
        if (!find_grid(conclusion, i, grid))
            continue;
        if (found == 0) {
            reference = grid->best;
            first_count = grid->count;
            first_runs = grid->runs;
        }
        grid->first_count = first_count;
        grid->first_runs = first_runs;
        if (found++ < index)
            continue;
        grid->time = (struct estimate){.value = NAN, .low = NAN, .high = NAN};
        if (index > 0)
            grid->time = conclusion_time(conclusion, 0, grid->best, reference);
        return true;
    }
    return false;
}

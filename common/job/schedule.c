/* schedule.c - the formulas of schedule.h in double precision, with our own cosine (elementary.h),
 * rounded to float once. */

#include "common/job/schedule.h"

#include <assert.h>
#include <string.h>

#include "common/base/elementary.h"

static double decay(const struct schedule *schedule, uint64_t version)
{
    switch (schedule->kind) {
    case SCHEDULE_CONSTANT:
        return 1.0;
    case SCHEDULE_STEP:
        return elementary_power(schedule->decay_factor, version / schedule->decay_steps);
    case SCHEDULE_COSINE: {
        uint64_t total = schedule->decay_steps;
        double progress = version < total ? (double)version / (double)total : 1.0;
        double cosine = 0.5 * (1.0 + elementary_cosine_pi(progress));
        return (1.0 - schedule->decay_factor) * cosine + schedule->decay_factor;
    }
    case SCHEDULE_KIND_COUNT:
        break;
    }
    assert(!"a schedule that schedule_check has let through");
    return 1.0;
}

static double warmup(const struct schedule *schedule, uint64_t version)
{
    if (version >= schedule->warmup_steps)
        return 1.0;
    double part = ((double)version + 1.0) / (double)schedule->warmup_steps;
    return schedule->warmup_from > 0 ? schedule->warmup_from + (1.0 - schedule->warmup_from) * part
                                     : part;
}

float schedule_learning_rate(const struct schedule *schedule, uint64_t version)
{
    return (float)(schedule->learning_rate * decay(schedule, version) * warmup(schedule, version));
}

static const char *const kind_names[SCHEDULE_KIND_COUNT] = {
    [SCHEDULE_CONSTANT] = "constant",
    [SCHEDULE_STEP] = "step",
    [SCHEDULE_COSINE] = "cosine",
};

const char *schedule_kind_name(enum schedule_kind kind)
{
    return (unsigned)kind < SCHEDULE_KIND_COUNT ? kind_names[kind] : "unknown";
}

const char *schedule_numbered(unsigned number)
{
    return number < SCHEDULE_KIND_COUNT ? kind_names[number] : NULL;
}

static enum status check_decay(const struct schedule *schedule, struct error *error)
{
    const char *kind = schedule_kind_name(schedule->kind);
    if (schedule->decay_steps == 0)
        return error_set(error, STATUS_INVALID, "the %s schedule needs decay steps", kind);
    if (schedule->kind == SCHEDULE_STEP && schedule->decay_factor == 0)
        return error_set(error, STATUS_INVALID,
                         "the step schedule's decay factor must be above 0: the rate would be 0");
    return STATUS_OK;
}

enum status schedule_check(const struct schedule *schedule, struct error *error)
{
    return schedule->kind == SCHEDULE_CONSTANT ? STATUS_OK : check_decay(schedule, error);
}

/* --- staleness ------------------------------------------------------------------------------ */

static const char *const staleness_names[STALENESS_RATE_COUNT] = {
    [STALENESS_RATE_NONE] = "none",
    [STALENESS_RATE_INVERSE] = "inverse",
    [STALENESS_RATE_CONSTANT] = "constant",
};

const char *staleness_rate_numbered(unsigned number)
{
    return number < STALENESS_RATE_COUNT ? staleness_names[number] : NULL;
}

float staleness_rate_of(enum staleness_rate rule, float rate, uint64_t staleness, uint32_t workers)
{
    uint64_t divisor = rule == STALENESS_RATE_INVERSE    ? staleness
                       : rule == STALENESS_RATE_CONSTANT ? workers - 1
                                                         : 0;
    return divisor > 1 ? (float)((double)rate / (double)divisor) : rate;
}

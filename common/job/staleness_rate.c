/* staleness_rate.c - one division, and the words for it. */

#include "common/job/staleness_rate.h"

#include <stddef.h>

static const char *const names[STALENESS_RATE_COUNT] = {
    [STALENESS_RATE_NONE] = "none",
    [STALENESS_RATE_INVERSE] = "inverse",
    [STALENESS_RATE_CONSTANT] = "constant",
};

const char *staleness_rate_numbered(unsigned number)
{
    return number < STALENESS_RATE_COUNT ? names[number] : NULL;
}

float staleness_rate_of(enum staleness_rate rule, float rate, uint64_t staleness, uint32_t workers)
{
    uint64_t divisor = rule == STALENESS_RATE_INVERSE    ? staleness
                       : rule == STALENESS_RATE_CONSTANT ? workers - 1
                                                         : 0;
    return divisor > 1 ? (float)((double)rate / (double)divisor) : rate;
}

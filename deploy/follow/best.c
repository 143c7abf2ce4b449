/* best.c - compares scores and counts those without improvement. */

#include "deploy/follow/best.h"

#include <math.h>

static bool is_better(const struct best *best, const struct score_figures *test)
{
    if (best->by == BEST_BY_LOSS)
        return isfinite(test->loss) && (!best->known || test->loss < best->test.loss);
    return isfinite(test->accuracy) && (!best->known || test->accuracy > best->test.accuracy);
}

bool best_take(struct best *best, uint64_t step, const struct score_figures *test)
{
    if (isnan(test->accuracy)) /* The job has none. */
        best->by = BEST_BY_LOSS;
    if (!is_better(best, test)) {
        best->without++;
        return false;
    }
    best->known = true;
    best->step = step;
    best->test = *test;
    best->without = 0;
    return true;
}

bool best_is_enough(const struct best *best)
{
    return best->patience > 0 && best->without >= best->patience;
}

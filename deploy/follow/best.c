/* best.c - compares scores and counts those without improvement. */

#include "deploy/follow/best.h"

#include <math.h>

static bool is_better(const struct best *best, double loss, double accuracy)
{
    if (best->by == BEST_BY_LOSS)
        return isfinite(loss) && (!best->known || loss < best->loss);
    return isfinite(accuracy) && (!best->known || accuracy > best->accuracy);
}

bool best_take(struct best *best, uint64_t step, double loss, double accuracy)
{
    if (!is_better(best, loss, accuracy)) {
        best->without++;
        return false;
    }
    best->known = true;
    best->step = step;
    best->loss = loss;
    best->accuracy = accuracy;
    best->without = 0;
    return true;
}

bool best_is_enough(const struct best *best)
{
    return best->patience > 0 && best->without >= best->patience;
}

/* tally.c - sums, and means over examples. */

#include "common/job/tally.h"

#include <math.h>

#define LOSS_UNIT 0x1p-24

void tally_add(struct tally *to, const struct tally *from)
{
    to->loss += from->loss;
    to->correct += from->correct;
    to->examples += from->examples;
    to->updates += from->updates;
}

double tally_loss(const struct tally *tally)
{
    return tally->examples == 0 ? (double)NAN
                                : (double)tally->loss * LOSS_UNIT / (double)tally->examples;
}

double tally_accuracy(const struct tally *tally)
{
    return tally->examples == 0 ? (double)NAN : (double)tally->correct / (double)tally->examples;
}

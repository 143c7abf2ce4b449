/* tally.c - sums, and means over examples. */

#include "common/job/tally.h"

#include "common/job/job_score.h"

void tally_add(struct tally *to, const struct tally *from)
{
    to->loss += from->loss;
    to->correct += from->correct;
    to->examples += from->examples;
    to->updates += from->updates;
}

double tally_loss(const struct tally *tally, const struct job *job)
{
    return job_mean_loss(job, tally->loss, tally->examples);
}

double tally_accuracy(const struct tally *tally, const struct job *job)
{
    return job_accuracy(job, tally->correct, tally->examples);
}

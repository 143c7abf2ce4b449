/* job_score.c - pieces are dealt as evenly as their number allows; losses are scaled by a power of two. */

#include "common/job/job_score.h"

#include <math.h>

static uint64_t piece_of(const struct job *job)
{
    return job->score_piece > 0 ? job->score_piece : 1;
}

static uint64_t pieces_of(const struct job *job)
{
    return job->test_examples / piece_of(job) + (job->test_examples % piece_of(job) != 0);
}

struct test_share job_test_share(const struct job *job, uint32_t shares, uint32_t share)
{
    uint64_t pieces = pieces_of(job);
    uint64_t first = pieces * share / shares * piece_of(job);
    uint64_t end = pieces * (share + 1) / shares * piece_of(job);
    end = end < job->test_examples ? end : job->test_examples;
    return (struct test_share){first, end - first};
}

uint32_t job_test_shares(const struct job *job, uint32_t workers)
{
    uint64_t pieces = pieces_of(job);
    return workers < pieces ? workers : (uint32_t)pieces;
}

double job_loss_unit(const struct job *job)
{
    return job->loss_unit > 0 ? job->loss_unit : LOSS_UNIT_DEFAULT;
}

enum status job_loss_units(const struct job *job, double loss, uint64_t examples, int64_t *units,
                           struct error *error)
{
    double unit = job_loss_unit(job);
    if (fabs(loss) <= LOSS_UNITS_MOST * unit * (double)examples) {
        *units = llrint(loss / unit);
        return STATUS_OK;
    }
    return error_set(
        error, STATUS_INVALID,
        "the mean loss %g of %llu examples is out of the range of %g that losses in units of "
        "%g have: --loss-unit takes a larger one",
        loss / (double)examples, (unsigned long long)examples, LOSS_UNITS_MOST * unit, unit);
}

double job_mean_loss(const struct job *job, int64_t units, uint64_t examples)
{
    return examples == 0 ? (double)NAN : (double)units * job_loss_unit(job) / (double)examples;
}

double job_accuracy(const struct job *job, uint64_t correct, uint64_t examples)
{
    return examples == 0 || job->scores == SCORES_LOSS ? (double)NAN
                                                       : (double)correct / (double)examples;
}

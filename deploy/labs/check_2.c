/* check_2.c - lab 2: the mean of staleness, and its shape. */

#include "deploy/labs/labs.h"

#define TOLERANCE 0.02

static double rule(unsigned workers, unsigned updates)
{
    return (workers - 1) * (1 - workers / (2.0 * updates));
}

static void measure(struct lab_check *check, struct record *record, unsigned workers,
                    const char *more)
{
    lab_simulate(check, record,
                 "--mode async --workers %u --data synthetic:6000 --model softmax --steps 960 "
                 "--compute lognormal:20ms,0.3 --seed %" PRIu64 "%s",
                 workers, check->seed, more);
}

void check_2(struct lab_check *check)
{
    struct record equal, slow;
    measure(check, &equal, 16, "");
    measure(check, &slow, 16, " --slow 0:4");
    const struct histogram *shape = &slow.summary.staleness.shape;
    lab_predicted(check, "predict_mean", equal.staleness_mean);
    lab_predicted(check, "predict_slow_mean", slow.staleness_mean);
    lab_predicted(check, "predict_slow_max", (double)shape->max);
    lab_number(check, "mean_2", rule(2, 960), TOLERANCE);
    lab_number(check, "mean_8", rule(8, 960), TOLERANCE);
    lab_number(check, "mean_16", equal.staleness_mean, TOLERANCE);
    lab_number(check, "slow_mean", slow.staleness_mean, TOLERANCE);
    lab_number(check, "slow_half", (double)histogram_quantile(shape, 0.5), 0);
    lab_number(check, "slow_p99", (double)histogram_quantile(shape, 0.99), 0);
    lab_number(check, "slow_max", (double)shape->max, 0);
    lab_number(check, "mean_32", rule(32, 1920), TOLERANCE);
    lab_explained(check, "explain");
    record_free(&equal);
    record_free(&slow);
}

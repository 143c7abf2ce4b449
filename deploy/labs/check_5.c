/* check_5.c - lab 5: a step that does not wait for the latest, within what may be dropped. */

#include <math.h>
#include <string.h>

#include "deploy/labs/labs.h"

#define LATE    0.003 /* Of all leaves, */
#define FACTOR  20    /* by this factor. */
#define STEPS   80
#define LEAF    8
#define AT_MOST 0.6  /* Of sync's time. */
#define DROPPED 0.05 /* Of the examples. */

static double late(unsigned workers)
{
    return 1 - pow(1 - LATE, workers);
}

static double slowdown(unsigned workers)
{
    return 1 + (FACTOR - 1) * late(workers);
}

static void train(struct lab_check *check, struct record *record, unsigned workers)
{
    lab_simulate(check, record,
                 "--workers %u --global-batch %u --micro-batch %d --data synthetic:6000 --model "
                 "softmax --steps %d --compute lognormal:20ms,0.1 --straggle %g:constant:%d "
                 "--seed %" PRIu64,
                 workers, workers * LEAF, LEAF, STEPS, LATE, FACTOR, check->seed);
}

static double dropped(const struct record *record)
{
    const struct mode_figures *figures = &record->summary.mode_figures;
    for (unsigned i = 0; i < figures->count; i++)
        if (strcmp(figures->figures[i].name, "examples_dropped") == 0)
            return (double)figures->figures[i].value;
    return 0;
}

void check_5(struct lab_check *check)
{
    unsigned workers = 40 + 20 * (unsigned)(check->seed % 2);
    struct record plain, own;
    lab_predicted(check, "predict_slowdown", slowdown(40));
    lab_number(check, "steps_late_40", late(40), 0.02);
    lab_number(check, "slowdown_40", slowdown(40), 0.02);
    lab_number(check, "slowdown_1", slowdown(1), 0.02);
    lab_explained(check, "explain");
    if (!lab_policy(check, "5.py", 2))
        return;
    train(check, &own, workers);
    if (!lab_ended(check, "5.py", 2))
        return; /* The record is empty. */
    check->policy[0] = '\0';
    train(check, &plain, workers);
    lab_judge(check, "time", own.summary.seconds <= AT_MOST * plain.summary.seconds,
              "it takes more than 0.6 of sync's time");
    lab_judge(check, "dropped", dropped(&own) <= DROPPED * STEPS * LEAF * workers,
              "it drops more than 5 % of the examples");
    record_free(&own);
    record_free(&plain);
}

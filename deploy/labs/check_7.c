/* check_7.c - lab 7: the best momentum, by the number of workers. */

#include <stdio.h>

#include "deploy/labs/labs.h"

#define HALF_A_DIGIT 5e-5

static const double momenta[] = {0, 0.3, 0.6, 0.9};
#define MOMENTA (sizeof momenta / sizeof *momenta)

static double loss_of(struct lab_check *check, unsigned workers, double momentum)
{
    struct record record;
    lab_simulate(check, &record,
                 "--mode async --workers %u --momentum %g --optimizer momentum "
                 "--learning-rate 0.01 --epochs 6 --data synthetic:2000 --model softmax "
                 "--seed %" PRIu64,
                 workers, momentum, check->seed);
    double loss = record.summary.test.loss;
    record_free(&record);
    return loss;
}

void check_7(struct lab_check *check)
{
    static const unsigned workers[] = {1, 4, 16};
    double losses[MOMENTA];
    size_t tuned = 0;
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        char name[32];
        size_t best = 0;
        for (size_t m = 0; m < MOMENTA; m++) {
            losses[m] = loss_of(check, workers[i], momenta[m]);
            if (losses[m] < losses[best])
                best = m;
        }
        if (i == 0)
            tuned = best;
        snprintf(name, sizeof name, "predict_best_%u", workers[i]);
        lab_predicted(check, name, momenta[best]);
        lab_number(check, name + 8, momenta[best], 0);
        snprintf(name, sizeof name, "loss_%u", workers[i]);
        lab_number(check, name, losses[best], HALF_A_DIGIT);
    }
    lab_number(check, "tuned_16", losses[tuned], HALF_A_DIGIT);
    lab_explained(check, "explain");
}

/* check_8.c - lab 8: which network card is full. */

#include "deploy/labs/labs.h"

#define WORKERS   8
#define STEPS     20
#define UPDATES   960
#define TOLERANCE 0.02

struct measured {
    double seconds, bytes;
};

static struct measured measure(struct lab_check *check, unsigned workers, unsigned servers,
                               const char *job)
{
    struct record record;
    lab_simulate(check, &record,
                 "%s --workers %u --ps %u --model mlp --data synthetic:2000 "
                 "--network %" PRIu32 "Mbit,50us --seed %" PRIu64,
                 job, workers, servers, lab_rate(check->seed), check->seed);
    const struct measured result = {record.training_seconds, record.exchanged_bytes};
    record_free(&record);
    return result;
}

static struct measured step(struct lab_check *check, unsigned servers)
{
    struct measured m = measure(check, WORKERS, servers,
                                "--mode sync --global-batch 32 --micro-batch 4 --steps 20 "
                                "--compute constant:200ms");
    return (struct measured){m.seconds / STEPS, m.bytes / STEPS / WORKERS};
}

static double pace(struct lab_check *check, unsigned workers)
{
    return UPDATES / measure(check, workers, 1,
                             "--mode async --global-batch 4 --micro-batch 1 --steps 960 "
                             "--compute constant:50ms")
                         .seconds;
}

void check_8(struct lab_check *check)
{
    struct measured one = step(check, 1), eight = step(check, 8), sixteen = step(check, 16);
    double alone = pace(check, 1), many = pace(check, 16);
    lab_predicted(check, "predict_step_1", one.seconds);
    lab_predicted(check, "predict_step_8", eight.seconds);
    lab_predicted(check, "predict_step_16", sixteen.seconds);
    lab_predicted(check, "predict_knee", many / alone);
    lab_number(check, "bytes", one.bytes, 0.06);
    lab_number(check, "step_1", one.seconds, TOLERANCE);
    lab_number(check, "step_2", step(check, 2).seconds, TOLERANCE);
    lab_number(check, "step_8", eight.seconds, TOLERANCE);
    lab_number(check, "step_16", sixteen.seconds, TOLERANCE);
    lab_number(check, "enough", WORKERS, 0);
    lab_number(check, "second_1", alone, TOLERANCE);
    lab_number(check, "second_16", many, TOLERANCE);
    lab_number(check, "knee", many / alone, 0.15);
    lab_explained(check, "explain");
}

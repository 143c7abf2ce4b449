/* check_1.c - lab 1: what one step says, and how often. */

#include <math.h>

#include "common/job/tree.h"
#include "deploy/labs/labs.h"

#define SERVERS  2
#define LEAVES   4
#define LEAF     16
#define VALUES_0 3936 /* Of chunk 0. */

void check_1(struct lab_check *check)
{
    struct record record;
    uint32_t workers = lab_workers(check->seed);
    lab_simulate(check, &record,
                 "--steps 1 --workers %" PRIu32 " --ps %d --data synthetic:600 --model softmax "
                 "--seed %" PRIu64,
                 workers, SERVERS, check->seed);
    uint32_t leaves = tree_run(LEAVES, workers, workers - 1).leaf_count;
    const struct train_figures *train = &record.summary.train;
    lab_predicted(check, "predict_gradients", SERVERS * workers);
    lab_predicted(check, "predict_held", workers - 1);
    lab_number(check, "chunks", SERVERS, 0);
    lab_number(check, "values_0", VALUES_0, 0);
    lab_number(check, "leaves_last", leaves, 0);
    lab_number(check, "examples_last", leaves * LEAF, 0);
    lab_number(check, "from_version", 0, 0);
    lab_number(check, "gradients", SERVERS * workers, 0);
    lab_number(check, "gradients_0", workers, 0);
    lab_number(check, "held_0", workers - 1, 0);
    lab_number(check, "divided_by", LEAVES * LEAF, 0);
    lab_number(check, "version", (double)record.summary.versions, 0);
    lab_number(check, "step_right", round(train->accuracy * LEAVES * LEAF), 0);
    lab_number(check, "step_loss", train->loss, 0.0003);
    lab_explained(check, "explain");
    record_free(&record);
}

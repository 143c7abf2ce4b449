/* check_0.c - lab 0: a run, and the property of verify that falls. */

#include "deploy/labs/labs.h"

void check_0(struct lab_check *check)
{
    struct record record;
    lab_simulate(check, &record,
                 "--mode async --workers 4 --data synthetic:6000 --model softmax --epochs 2 "
                 "--seed %" PRIu64,
                 check->seed);
    double updates = (double)record.summary.versions;
    lab_predicted(check, "predict_updates", updates);
    lab_number(check, "updates", updates, 0);
    lab_word(check, "property", "once");
    lab_explained(check, "explain");
    record_free(&record);
}

/* check_4.c - lab 4: every batch once, with losses, and none too old. */

#include <stdio.h>

#include "deploy/labs/labs.h"

#define EXAMPLES  3200
#define STALENESS 8

static void train(struct lab_check *check, struct record *record, const char *kill)
{
    lab_simulate(check, record,
                 "--mode async --workers 6 --ps 2 --data synthetic:%d --model softmax "
                 "--global-batch 16 --micro-batch 16 --epochs 1 --compute lognormal:20ms,0.5 "
                 "--checkpoint-every 20 --restart 200ms --seed %" PRIu64 " --kill %s",
                 EXAMPLES, check->seed, kill);
}

void check_4(struct lab_check *check)
{
    static const char *const names[] = {"server", "worker"};
    static const char *const kills[] = {"ps/1@400ms", "worker/1@250ms,worker/2@330ms"};
    char name[32];
    struct record record;
    for (int i = 0; i < 2; i++) {
        train(check, &record, kills[i]);
        double again = (double)record.summary.faults.recomputed;
        snprintf(name, sizeof name, "again_%s", names[i]);
        if (i == 0)
            lab_predicted(check, "predict_again", again);
        lab_number(check, name, again, 0);
        record_free(&record);
    }
    lab_word(check, "verdict", "duplicate");
    lab_explained(check, "explain");
    for (unsigned i = 0; i < 2 && lab_policy(check, "4.py", 4 - 2 * i); i++) {
        train(check, &record, kills[i]);
        if (!lab_ended(check, "4.py", 4 - 2 * i))
            break; /* The record is empty. */
        snprintf(name, sizeof name, "once_%s", names[i]);
        lab_judge(check, name, record.summary.train.examples == EXAMPLES, "examples are lost");
        snprintf(name, sizeof name, "fresh_%s", names[i]);
        lab_judge(check, name,
                  record.summary.staleness.shape.count > 0 &&
                      record.summary.staleness.shape.max <= STALENESS,
                  "older gradients are applied");
        record_free(&record);
    }
}

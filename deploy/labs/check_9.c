/* check_9.c - lab 9: a mode of one's own keeps its promises, and learns on a cluster that async
 * does not bear. */

#include <math.h>
#include <stdio.h>

#include "common/options/options.h"
#include "deploy/labs/labs.h"

#define HISTORIES   200
#define TARGET      1.7
#define HIDDEN_SEED 10000 /* Beyond all seeds of students. */

/* Virtual seconds until the test loss is at the target; infinite: never. */
static double seconds_to_target(struct lab_check *check)
{
    struct record record;
    double seconds = INFINITY;
    lab_simulate(check, &record,
                 "--mode mine --workers 8 --optimizer momentum --momentum 0.6 "
                 "--learning-rate 0.01 --epochs 8 --data synthetic:2000 --model softmax "
                 "--compute lognormal:20ms,0.3 --slow 0:4 --seed %" PRIu64,
                 HIDDEN_SEED + check->seed);
    for (size_t i = record.evaluation_count; i-- > 0;)
        if (record.evaluations[i].test.loss <= TARGET)
            seconds = record.evaluations[i].training_seconds;
    record_free(&record);
    return seconds;
}

void check_9(struct lab_check *check)
{
    struct mode_setting setting;
    uint32_t count;
    struct error error;
    bool made = options_modes("mine", &setting, 1, &count, &error) == STATUS_OK;
    double seconds = made ? seconds_to_target(check) : INFINITY;
    lab_judge(check, "mode", made, "these programs have no mode mine");
    lab_judge(check, "verify", made && lab_verify(check, "mine", HISTORIES),
              "it does not keep what it promises");
    lab_judge(check, "target", isfinite(seconds), "a test loss of 1.7 is not reached");
    if (isfinite(seconds))
        lab_predicted(check, "predict_seconds", seconds);
    lab_explained(check, "explain");
}

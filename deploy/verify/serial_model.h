/* serial_model.h - one update in double arithmetic, written down from the formulas of the rules' papers. It
 * shares no code with common/optimizer, common/job/update.h, update_sum.h and schedule.h, by which
 * servers and all that has to have their bits make updates: a rule that is wrong there is wrong alike
 * everywhere, and differs here.
 *
 * Not in it, because no history has them: variables that are averages.
 *
 * Threads: pure. */

#ifndef DEPLOY_VERIFY_SERIAL_MODEL_H
#define DEPLOY_VERIFY_SERIAL_MODEL_H

#include "deploy/verify/simulated_work.h"

/* Of the largest element of an array: what an update rounds stays below. */
#define SERIAL_MODEL_TOLERANCE 1e-6

/* How far an update is from what it should be: values and the rule's slots,
 * before and after it. A fraction of the largest element of the array where it is worst. */
double serial_model_differs(const struct job *job, const uint64_t *offsets,
                            const struct model_update *update, float *const *before,
                            float *const *after);

#endif

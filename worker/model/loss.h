/* loss.h - softmax cross-entropy of logits, or squared error of outputs; its gradient, and the score.
 *
 * Losses are computed in double precision, each example by itself, and counted in whole units of
 * 2^-24, so that sums of them are exact in any order.
 *
 * Threads: pure. */

#ifndef WORKER_MODEL_LOSS_H
#define WORKER_MODEL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/model/model.h"

/* An example's loss counts for no more than this, so that a sum over 2^22 hopeless
 * examples still fits. Only a network that is diverging gets there. */
#define LOSS_MAX 0x1p16

/* logits [count][classes], labels [count] below classes. score: added to. gradient:
 * [count][classes] of the summed loss by the logits, or NULL. scratch: [classes]. An example whose
 * loss is not finite scores nothing but not_finite, and its gradient is NaN. */
void loss_softmax(const float *logits, const union label *labels, uint32_t count, uint32_t classes,
                  double *scratch, float *gradient, struct score *score);

/* The same of outputs [count][each] and targets [count][each]: an example's loss is the mean of its
 * squared errors. */
void loss_squares(const float *outputs, const union label *targets, uint32_t count, uint32_t each,
                  float *gradient, struct score *score);

#endif

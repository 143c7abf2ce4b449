/* loss.h - softmax cross-entropy of logits, its gradient, and the score.
 *
 * Loss and softmax are computed in double precision, each example by itself. The loss is counted
 * in whole units of 2^-24 nats, so that sums of it are exact in any order.
 *
 * Threads: pure. */

#ifndef WORKER_MODEL_LOSS_H
#define WORKER_MODEL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/model/model.h"

/* An example's loss counts for no more than this, in nats, so that a sum over 2^22 hopeless
 * examples still fits. Only a network that is diverging gets there. */
#define LOSS_MAX 0x1p16

#define LOSS_CLASSES_MAX 256 /* Labels are bytes. */

/* logits [count][classes], labels [count] below classes. score: added to. gradient:
 * [count][classes] of the summed loss by the logits, or NULL. An example whose loss is not finite
 * scores nothing but not_finite, and its gradient is NaN. */
void loss_softmax(const float *logits, const uint8_t *labels, uint32_t count, uint32_t classes,
                  float *gradient, struct score *score);

#endif

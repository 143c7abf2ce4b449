/* loss.c - one example at a time: its softmax, with exponents moved below zero, or its squared errors;
 * loss, gradient and score in one pass. */

#include "worker/model/loss.h"

#include <math.h>
#include <stddef.h>

#include "common/base/elementary.h"
#include "common/kernels/kernels.h"

static uint32_t largest_of(const float *logits, uint32_t classes)
{
    uint32_t largest = 0;
    for (uint32_t c = 1; c < classes; c++)
        if (logits[c] > logits[largest])
            largest = c;
    return largest;
}

static void score_add(struct score *score, double loss, bool correct)
{
    score->examples++;
    if (!isfinite(loss)) {
        score->not_finite++;
        return;
    }
    score->loss += llrint(fmin(loss, LOSS_MAX) / SCORE_LOSS_UNIT);
    score->correct += correct;
}

/* One example. Exponents are moved so that the largest becomes 0: nothing overflows. */
static void loss_one(const float *logits, uint32_t label, uint32_t classes, double *exponentials,
                     float *gradient, struct score *score)
{
    double sum = 0;
    uint32_t largest = largest_of(logits, classes);
    double shift = logits[largest];
    kernels_exponentials(logits, classes, shift, exponentials);
    for (uint32_t c = 0; c < classes; c++)
        sum += exponentials[c];
    score_add(score, elementary_logarithm(sum) + shift - (double)logits[label], largest == label);
    for (uint32_t c = 0; gradient != NULL && c < classes; c++)
        gradient[c] = (float)(exponentials[c] / sum - (c == label ? 1.0 : 0.0));
}

void loss_softmax(const float *logits, const union label *labels, uint32_t count, uint32_t classes,
                  double *scratch, float *gradient, struct score *score)
{
    for (uint32_t i = 0; i < count; i++, logits += classes) {
        loss_one(logits, labels[i].class, classes, scratch, gradient, score);
        gradient = gradient != NULL ? gradient + classes : NULL;
    }
}

void loss_squares(const float *outputs, const union label *targets, uint32_t count, uint32_t each,
                  float *gradient, struct score *score)
{
    for (uint32_t i = 0; i < count; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < each; k++, outputs++, targets++) {
            double off = (double)*outputs - (double)targets->target;
            sum += off * off;
            if (gradient != NULL)
                *gradient++ = (float)(2 * off / each);
        }
        score_add(score, sum / each, false);
    }
}

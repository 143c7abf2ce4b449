#include "worker/loss.h"

#include <math.h>

static uint32_t largest_of(const float *logits, uint32_t classes)
{
    uint32_t largest = 0;
    for (uint32_t c = 1; c < classes; c++) {
        if (logits[c] > logits[largest]) {
            largest = c;
        }
    }
    return largest;
}

static double sum_of_exponentials(const float *logits, uint32_t classes, double shift)
{
    double sum = 0;
    for (uint32_t c = 0; c < classes; c++) {
        sum += exp((double)logits[c] - shift);
    }
    return sum;
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

void loss_softmax(const float *logits, const uint8_t *labels, uint32_t count, uint32_t classes,
                  float *gradient, struct score *score)
{
    for (uint32_t i = 0; i < count; i++, logits += classes) {
        uint32_t label = labels[i];
        uint32_t largest = largest_of(logits, classes);
        double shift = logits[largest]; /* The largest exponent becomes 0: nothing overflows. */
        double sum = sum_of_exponentials(logits, classes, shift);
        double loss = log(sum) + shift - (double)logits[label];
        score_add(score, loss, largest == label);
        for (uint32_t c = 0; gradient && c < classes; c++) {
            double softmax = exp((double)logits[c] - shift) / sum;
            gradient[(uint64_t)i * classes + c] = (float)(softmax - (c == label ? 1.0 : 0.0));
        }
    }
}

/* example_softmax.c - softmax regression on invented points, as a program that Syncopate trains:
 *
 *     cc -O2 example_softmax.c $(pkg-config --cflags --libs syncopate) -lm -o softmax
 *     ./softmax run --workers 2 --mode async --learning-rate 0.1 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <syncopate.h>

enum { TRAIN = 4000, TEST = 1000, INPUTS = 20, CLASSES = 4 };

static float points[TRAIN + TEST][INPUTS];
static int labels[TRAIN + TEST];

/* The same points in each process: around one place for each class. */
static void invent(void)
{
    uint32_t state = 1;
    for (int i = 0; i < TRAIN + TEST; i++) {
        labels[i] = i % CLASSES;
        for (int k = 0; k < INPUTS; k++) {
            state = state * 1664525u + 1013904223u;
            points[i][k] =
                (float)(state >> 8) / (1 << 23) - 1.0f + (k % CLASSES == labels[i] ? 0.6f : 0.0f);
        }
    }
}

/* Loss of one example; its gradient is added, but for a score. */
static double learn(const float *kernel, const float *bias, int i, float *kernel_gradient,
                    float *bias_gradient, uint64_t *correct)
{
    double logits[CLASSES], sum = 0;
    int largest = 0;
    for (int c = 0; c < CLASSES; c++) {
        logits[c] = bias[c];
        for (int k = 0; k < INPUTS; k++)
            logits[c] += points[i][k] * kernel[k * CLASSES + c];
        sum += exp(logits[c]);
        largest = logits[c] > logits[largest] ? c : largest;
    }
    for (int c = 0; kernel_gradient != NULL && c < CLASSES; c++) {
        float by_logit = (float)(exp(logits[c]) / sum - (c == labels[i]));
        for (int k = 0; k < INPUTS; k++)
            kernel_gradient[k * CLASSES + c] += points[i][k] * by_logit;
        bias_gradient[c] += by_logit;
    }
    *correct += largest == labels[i];
    return log(sum) - logits[labels[i]];
}

int main(int argc, char **argv)
{
    static const struct syncopate_variable variables[] = {
        {.name = "kernel", .rank = 2, .shape = {INPUTS, CLASSES}, .initializer = SYNCOPATE_ZEROS},
        {.name = "bias", .rank = 1, .shape = {CLASSES}, .initializer = SYNCOPATE_ZEROS},
    };
    const struct syncopate_declaration declaration = {.name = "softmax: C",
                                                      .variables = variables,
                                                      .variable_count = 2,
                                                      .examples = TRAIN,
                                                      .test_examples = TEST};
    struct syncopate *s;
    struct syncopate_work work;
    char why[200];
    int error;
    if (!syncopate_is_asked()) {
        error = syncopate_exec(argc, argv);
        fprintf(stderr, "cannot start syncopate: %s\n", strerror(error));
        return 1;
    }
    invent();
    if (syncopate_open(&s, &declaration, why, sizeof why) != 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    while ((error = syncopate_next(s, &work)) == 0 && work.kind != SYNCOPATE_ENDED) {
        int learns = work.kind == SYNCOPATE_GRADIENT;
        double loss = 0;
        uint64_t correct = 0;
        for (uint64_t i = 0; i < work.count; i++)
            loss +=
                learn(syncopate_parameters(s, 0), syncopate_parameters(s, 1),
                      (int)(learns ? work.examples[i] : TRAIN + work.first + i),
                      learns ? syncopate_gradient(s, 0) : NULL, syncopate_gradient(s, 1), &correct);
        syncopate_done(s, loss, correct);
    }
    if (error)
        fprintf(stderr, "%s\n", syncopate_reason(s));
    syncopate_close(&s);
    return error ? 1 : 0;
}

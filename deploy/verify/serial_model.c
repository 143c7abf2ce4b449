/* serial_model.c - element by element, as one would write it on paper. */

#include "deploy/verify/serial_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double rate_of(const struct job *job, const struct model_update *u)
{
    const struct schedule *s = &job->schedule;
    double at = (double)u->batches, rate = s->learning_rate;
    if (s->kind == SCHEDULE_STEP)
        rate *= pow(s->decay_factor, floor(at / (double)s->decay_steps));
    if (s->kind == SCHEDULE_COSINE) {
        double part = fmin(1.0, at / (double)s->decay_steps);
        rate *= s->decay_factor + (1 - s->decay_factor) * (1 + cos(M_PI * part)) / 2;
    }
    if (u->batches < s->warmup_steps)
        rate *= s->warmup_from + (1 - s->warmup_from) * (at + 1) / (double)s->warmup_steps;
    if (u->rate > 0)
        rate *= (double)u->rate;
    if (job->staleness_rate == STALENESS_RATE_INVERSE && u->staleness > 1)
        rate /= (double)u->staleness;
    if (job->staleness_rate == STALENESS_RATE_CONSTANT && job->worker_count > 2)
        rate /= (double)job->worker_count - 1;
    return rate;
}

static double mean_of(const struct job *job, double sum, uint32_t examples, uint32_t gradients)
{
    bool whole = job->loss_scale == LOSS_SCALE_GLOBAL_BATCH;
    return sum / (whole ? (double)gradients * (double)job->batch : (double)examples);
}

/* x: the value and the rule's slots. */
static void step(const struct optimizer_settings *o, double g, double rate, double t, bool bias,
                 double *x)
{
    if (strcmp(o->name, "sgd") == 0) {
        x[0] -= rate * g;
    } else if (strcmp(o->name, "momentum") == 0) { /* Polyak 1964 */
        x[1] = o->momentum * x[1] - rate * g;
        x[0] += x[1];
    } else if (strcmp(o->name, "nesterov") == 0) { /* Sutskever et al. 2013 */
        x[1] = o->momentum * x[1] - rate * g;
        x[0] += o->momentum * x[1] - rate * g;
    } else if (strcmp(o->name, "adagrad") == 0) { /* Duchi, Hazan, Singer 2011 */
        x[1] += g * g;
        x[0] -= rate * g / (sqrt(x[1]) + o->epsilon);
    } else if (strcmp(o->name, "rmsprop") == 0) { /* Tieleman, Hinton 2012; Keras's two forms */
        x[1] = o->rho * x[1] + (1 - (double)o->rho) * g * g;
        if (o->momentum > 0) {
            x[2] = o->momentum * x[2] + rate * g / sqrt(x[1] + o->epsilon);
            x[0] -= x[2];
        } else {
            x[0] -= rate * g / (sqrt(x[1]) + o->epsilon);
        }
    } else { /* Kingma, Ba 2015, with epsilon hat; adamw: Loshchilov, Hutter 2019 */
        double alpha = rate * sqrt(1 - pow(o->beta2, t)) / (1 - pow(o->beta1, t));
        x[1] = o->beta1 * x[1] + (1 - (double)o->beta1) * g;
        x[2] = o->beta2 * x[2] + (1 - (double)o->beta2) * g * g;
        if (strcmp(o->name, "adamw") == 0 && !bias)
            x[0] -= rate * o->weight_decay * x[0];
        x[0] -= alpha * x[1] / (sqrt(x[2]) + o->epsilon);
    }
}

/* What is not finite on both sides is no difference, nor is `noise`. */
static void compare(double expected, double is, double before, double noise, double *worst,
                    double *scale)
{
    double off = fmax(0, fabs(expected - is) - noise);
    if (isnan(expected - is))
        off = NAN;
    *scale = fmax(*scale, fmax(fabs(expected), fabs(before)));
    if (off > *worst || (isnan(off) && isfinite(expected) != isfinite(is)))
        *worst = isnan(off) ? HUGE_VAL : off;
}

double serial_model_differs(const struct job *job, const uint64_t *offsets,
                            const struct model_update *update, float *const *before,
                            float *const *after)
{
    const struct model_update *u = update;
    const struct optimizer *rule = optimizer_find(job->optimizer.name);
    double worst[CHECKPOINT_ARRAYS_MAX] = {0}, scale[CHECKPOINT_ARRAYS_MAX] = {0}, all = 0;
    uint32_t arrays = 1 + rule->slot_count, variable = 0;
    double rate = rate_of(job, u);
    for (uint64_t i = 0; i < u->count; i++) {
        double x[1 + OPTIMIZER_SLOTS_MAX] = {0}, noisy[1 + OPTIMIZER_SLOTS_MAX];
        while (variable + 1 < job->variable_count && offsets[variable + 1] <= u->first + i)
            variable++;
        bool bias = job->variables[variable].rank == 1;
        for (uint32_t a = 0; a < arrays; a++)
            x[a] = before[a][i];
        memcpy(noisy, x, sizeof x);
        double mean = mean_of(job, u->gradient[i], u->examples, u->gradients);
        double decay = bias ? 0 : 2 * (double)job->l2 * x[0];
        step(&job->optimizer, mean + decay, rate, (double)u->version + 1, bias, x);
        /* Where these two nearly cancel, little is left of float's digits. */
        double noise = (fabs(mean) + fabs(decay)) * FLT_EPSILON;
        step(&job->optimizer, mean + decay + noise, rate, (double)u->version + 1, bias, noisy);
        for (uint32_t a = 0; a < arrays; a++)
            compare(x[a], after[a][i], before[a][i], fabs(noisy[a] - x[a]), &worst[a], &scale[a]);
    }
    for (uint32_t a = 0; a < arrays; a++)
        all = fmax(all, worst[a] > 0 ? worst[a] / scale[a] : 0);
    return all;
}

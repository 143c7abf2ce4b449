/* optimizer.c - the table of optimizers, and bounds that hold for the settings of all. */

#include "common/job/optimizer.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

/* Every update rule, in the order of help: x stands for `optimizer_x` in optimizer_x.c. */
#define OPTIMIZERS(X) X(sgd) X(momentum) X(nesterov) X(adagrad) X(rmsprop) X(adam)

#define DECLARE(x) extern const struct optimizer optimizer_##x;
#define ADDRESS(x) &optimizer_##x,
#define NAME(x)    ", " #x

OPTIMIZERS(DECLARE)

static const struct optimizer *const optimizers[] = {OPTIMIZERS(ADDRESS)};

const struct optimizer *optimizer_find(const char *name)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        if (strcmp(name, optimizers[i]->name) == 0)
            return optimizers[i];
    }
    return NULL;
}

const struct optimizer *optimizer_at(unsigned index)
{
    return index < sizeof optimizers / sizeof *optimizers ? optimizers[index] : NULL;
}

const char *optimizer_names(void)
{
    static const char names[] = OPTIMIZERS(NAME);
    return names + strlen(", ");
}

float optimizer_slot_zero(const struct optimizer_settings *settings, uint32_t slot)
{
    (void)settings;
    (void)slot;
    return 0.0f;
}

/* Written so that a number that is not one (NaN) fails. */
static enum status check_fraction(const char *what, float value, struct error *error)
{
    if (value >= 0.0f && value < 1.0f)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "%s must be at least 0 and below 1, not %g", what,
                     (double)value);
}

static enum status check_not_negative(const char *what, float value, struct error *error)
{
    if (value >= 0.0f && value <= FLT_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "%s must be a finite number of at least 0, not %g",
                     what, (double)value);
}

enum status optimizer_settings_check(const struct optimizer_settings *settings, struct error *error)
{
    if (memchr(settings->name, '\0', sizeof settings->name) == NULL)
        return error_set(error, STATUS_INVALID, "the optimizer's name is too long");
    const struct optimizer *optimizer = optimizer_find(settings->name);
    if (optimizer == NULL)
        return error_set(error, STATUS_INVALID, "there is no optimizer '%s'; there are %s",
                         settings->name, optimizer_names());

    const struct optimizer_settings *s = settings;
    enum status status;
    if ((status = check_fraction("momentum", s->momentum, error)) != STATUS_OK ||
        (status = check_fraction("beta1", s->beta1, error)) != STATUS_OK ||
        (status = check_fraction("beta2", s->beta2, error)) != STATUS_OK ||
        (status = check_fraction("rho", s->rho, error)) != STATUS_OK ||
        (status = check_not_negative("epsilon", s->epsilon, error)) != STATUS_OK ||
        (status = check_not_negative("the initial accumulator", s->initial_accumulator, error)) !=
            STATUS_OK)
        return status;
    /* A rule that reads epsilon has a default for it. */
    if (optimizer->defaults.epsilon > 0.0f && s->epsilon == 0.0f)
        return error_set(error, STATUS_INVALID,
                         "%s needs an epsilon above 0: a gradient of 0 would become 0/0",
                         optimizer->name);
    return STATUS_OK;
}

/* optimizer.c - the table of optimizers, and bounds that hold for the settings of all. */

#include "common/optimizer/optimizer.h"

#include <stddef.h>
#include <string.h>

/* Every update rule, in the order of help: x stands for `optimizer_x` in optimizer_x.c. */
#define OPTIMIZERS(X) X(sgd) X(momentum) X(nesterov) X(adagrad) X(rmsprop) X(adam) X(adamw)

#define DECLARE(x) extern const struct optimizer optimizer_##x;
#define ADDRESS(x) &optimizer_##x,
#define NAME(x)    ", " #x

OPTIMIZERS(DECLARE)

static const struct optimizer *const optimizers[] = {OPTIMIZERS(ADDRESS)};

const struct optimizer *optimizer_find(const char *name)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        if (strcmp(name, optimizers[i]->name) == 0)
            return optimizers[i];
    return NULL;
}

const struct optimizer *optimizer_at(unsigned index)
{
    return index < sizeof optimizers / sizeof *optimizers ? optimizers[index] : NULL;
}

struct slots optimizer_slots(const struct optimizer *optimizer)
{
    struct slots slots = {.count = optimizer->slot_count};
    for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
        slots.names[slot] = optimizer->slot_names[slot];
    return slots;
}

enum status optimizer_name_check(const char name[OPTIMIZER_NAME_MAX], struct error *error)
{
    if (memchr(name, '\0', OPTIMIZER_NAME_MAX) == NULL)
        return error_set(error, STATUS_INVALID, "the optimizer's name is too long");
    if (optimizer_find(name) == NULL)
        return error_set(error, STATUS_INVALID, "there is no optimizer '%s'; there are %s", name,
                         &OPTIMIZERS(NAME)[strlen(", ")]);
    return STATUS_OK;
}

enum status optimizer_settings_check(const struct optimizer_settings *settings, struct error *error)
{
    const struct optimizer *optimizer = optimizer_find(settings->name);
    /* A rule that reads epsilon has a default for it. */
    if (optimizer->defaults.epsilon > 0.0f && settings->epsilon == 0.0f)
        return error_set(error, STATUS_INVALID,
                         "%s needs an epsilon above 0: a gradient of 0 would become 0/0",
                         optimizer->name);
    return STATUS_OK;
}

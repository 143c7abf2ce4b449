/* plan.c - takes the plan from a command's options. */

#include "deploy/compare/plan.h"

#include <string.h>

/* A named configuration with a varied option would be several under one name. */
static enum status check_config(const struct plan *plan, const struct named_config *config,
                                struct error *error)
{
    for (size_t i = 0; i < config->own.count; i++) {
        const struct setting *item = &config->own.items[i];
        const struct axis *axis = axes_find(&plan->axes, item->row);
        if (axis != NULL && axis->count > 1)
            return error_set(error, STATUS_INVALID,
                             "--arm %s: --%s=%.60s: it is varied for all arms; say it in each of "
                             "them, or in none",
                             config->name, named_config_option(item->row), item->value);
    }
    return STATUS_OK;
}

enum status plan_take(struct plan *plan, const struct options *options, int argc, char **argv,
                      struct error *error)
{
    memset(plan, 0, sizeof *plan);
    enum status status = settings_take(&plan->common, options, argc, argv, error);
    if (status == STATUS_OK)
        status = named_configs_read(&plan->configs, options, error);
    if (status == STATUS_OK)
        status = axes_read(&plan->axes, options, error);
    for (size_t i = 0; i < plan->configs.count && status == STATUS_OK; i++)
        status = check_config(plan, &plan->configs.list[i], error);
    return status;
}

void plan_free(struct plan *plan)
{
    settings_free(&plan->common);
    axes_free(&plan->axes);
    named_configs_free(&plan->configs);
}

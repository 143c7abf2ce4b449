/* configs.c - writes for each configuration the command of its runs, and parses that. */

#include "deploy/compare/configs.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/optimizer/optimizer.h"
#include "worker/workload.h"

#define PROGRAM "syncopate compare"

static bool is_row(const struct option_row *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

/* --- options in use --------------------------------------------------------------------------- */

/* The configuration being made: its combination of axes, and its named one. */
struct making {
    const struct plan *plan;
    const struct options *common;
    const struct named_config *named; /* NULL: of none. */
    size_t combination;
};

/* The value of this option in this combination; NULL when it is not varied. */
static const char *varied_value(const struct making *making, const char *name)
{
    const struct axes *axes = &making->plan->axes;
    for (size_t i = 0; i < axes->count; i++) {
        const struct axis *axis = &axes->list[i];
        for (size_t j = 0; j < axis->option_count; j++)
            if (is_row(axis->options[j].row, name))
                return axis->options[j].values[axes_value(axes, making->combination, i)];
    }
    return NULL;
}

/* The named configuration's own value; NULL when it has none. */
static const char *own_value(const struct making *making, const char *name)
{
    for (size_t i = 0; making->named != NULL && i < making->named->own.count; i++)
        if (is_row(making->named->own.items[i].row, name))
            return making->named->own.items[i].value;
    return NULL;
}

static const char *config_value(const struct making *making, const char *name)
{
    const char *own = own_value(making, name);
    return own != NULL ? own : varied_value(making, name);
}

/* The value of the option that decides whether this one means anything; NULL: nothing decides. */
static const char *governing_value(const struct making *making, const struct option_row *row,
                                   char name[32])
{
    if (!option_governor(row, name))
        return NULL;
    if (strcmp(name, "mode") == 0)
        snprintf(name, 32, "modes");
    const char *value = config_value(making, name);
    if (value != NULL)
        return value;
    return strcmp(name, "optimizer") == 0 ? making->common->job.optimizer.name
                                          : schedule_kind_name(making->common->job.schedule.kind);
}

static bool has_use(const struct making *making, const struct option_row *row)
{
    char name[32];
    const char *value = governing_value(making, row, name);
    return value == NULL || option_has_use(row, value);
}

/* A configuration's own option must have an effect, unless the axes decide in which of its
 * kinds. */
static bool own_has_use(const struct making *making, const struct option_row *row)
{
    char name[32] = "";
    governing_value(making, row, name);
    const struct option_row *governor = option_find(OPTION_COMPARE, name, strlen(name));
    const struct axis *axis = governor != NULL ? axes_find(&making->plan->axes, governor) : NULL;
    return axis == NULL || axis->count == 1 || has_use(making, row);
}

/* Replaced by the configuration itself, by an axis, or by the other of two equivalent options. */
static bool is_replaced(const struct making *making, const struct option_row *row)
{
    const char *twin = settings_twin(row);
    return config_value(making, row->name) != NULL ||
           (twin != NULL && config_value(making, twin) != NULL);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Part of a folder's name: other programs take a colon for a host's. */
static void clean_name(char *name)
{
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._+-", *c) == NULL)
            *c = '-';
}

/* The varied options but mode and workers, appended to both texts. */
static void add_varied_names(struct config *config, const struct making *making)
{
    const struct axes *axes = &making->plan->axes;
    for (size_t i = 0; i < axes->count; i++) {
        const struct axis *axis = &axes->list[i];
        for (size_t j = 0; j < axis->option_count; j++) {
            const struct option_row *row = axis->options[j].row;
            const char *value = axis->options[j].values[axes_value(axes, making->combination, i)];
            if (is_row(row, "modes") || is_row(row, "workers") || !has_use(making, row) ||
                own_value(making, row->name) != NULL)
                continue;
            wording_append(config->name, sizeof config->name, "-%s-%s", row->name, value);
            wording_append(config->varied, sizeof config->varied, "%s%s %s",
                           config->varied[0] != '\0' ? ", " : "", row->name, value);
        }
    }
}

static void add_own_names(struct config *config, const struct named_config *named)
{
    for (size_t i = 0; i < named->own.count; i++) {
        const struct setting *item = &named->own.items[i];
        if (is_row(item->row, "modes") || is_row(item->row, "workers"))
            continue;
        wording_append(config->name, sizeof config->name, "-%s-%s", item->row->name, item->value);
        wording_append(config->varied, sizeof config->varied, "%s%s %s",
                       config->varied[0] != '\0' ? ", " : "", item->row->name, item->value);
    }
}

static void name_by_options(struct config_plan *plan, const struct making *making)
{
    struct config *config = &plan->config;
    *config = (struct config){.label = ""};
    wording_append(config->name, sizeof config->name, "%s-w%u",
                   job_mode_text(&plan->options.job).text, plan->options.workers);
    if (making->named != NULL)
        add_own_names(config, making->named);
    add_varied_names(config, making);
    clean_name(config->name);
}

static bool is_axis_of_several(const struct making *making, const char *name)
{
    const struct axis *axis =
        axes_find(&making->plan->axes, option_find(OPTION_COMPARE, name, strlen(name)));
    return axis != NULL && axis->count > 1;
}

/* Its own name with the varied options. `varied` distinguishes configurations whose kinds differ in
 * more than mode and workers. */
static void name_by_name(struct config_plan *plan, const struct making *making)
{
    struct config *config = &plan->config, varied = {.label = ""};
    struct mode_text mode = job_mode_text(&plan->options.job);
    *config = (struct config){.label = ""};
    snprintf(config->name, sizeof config->name, "%s", making->named->name);
    snprintf(config->label, sizeof config->label, "%s", making->named->name);
    named_config_given(making->named, config->given);
    if (is_axis_of_several(making, "modes")) {
        wording_append(config->name, sizeof config->name, "-%s", mode.text);
        wording_append(config->label, sizeof config->label, ", %s", mode.text);
    }
    if (is_axis_of_several(making, "workers")) {
        wording_append(config->name, sizeof config->name, "-w%u", plan->options.workers);
        wording_append(config->label, sizeof config->label, ", %s",
                       wording_counted(plan->options.workers, "worker", "workers").text);
    }
    add_varied_names(&varied, making);
    wording_append(config->name, sizeof config->name, "%s", varied.name);
    snprintf(config->varied, sizeof config->varied, "%s", making->named->name);
    if (varied.varied[0] != '\0') {
        wording_append(config->label, sizeof config->label, ", %s", varied.varied);
        wording_append(config->varied, sizeof config->varied, ", %s", varied.varied);
    }
    clean_name(config->name);
}

static void name_config(struct config_plan *plan, const struct making *making)
{
    name_by_options(plan, making);
    if (making->named != NULL && strcmp(plan->config.name, making->named->name) != 0)
        name_by_name(plan, making);
}

/* A name that is too long, or in use, gets a number. */
static void number_config(struct configs *configs, struct config_plan *plan)
{
    struct config *config = &plan->config;
    bool taken = strlen(config->name) + 1 >= sizeof config->name;
    for (size_t i = 0; i < configs->count; i++)
        taken = taken || strcmp(configs->list[i].config.name, config->name) == 0;
    if (taken)
        snprintf(config->name, sizeof config->name, "%.40s-w%u-arm%zu",
                 config->label[0] != '\0' ? config->label : job_mode_text(&plan->options.job).text,
                 plan->options.workers, configs->count + 1);
    clean_name(config->name);
}

/* --- fairness --------------------------------------------------------------------------------- */

static bool is_said(const struct making *making, const char *name)
{
    const struct option_row *row = option_find(OPTION_COMPARE, name, strlen(name));
    return config_value(making, name) != NULL || settings_value(&making->plan->common, row) != NULL;
}

/* A rate multiplied by k begins at the original rate, and rises in equal steps: over an epoch, or a
 * fifth of training, unless the steps are given. Goyal and others (2017), 2.2. */
static void warm_rate_up(struct options *options, const struct making *making, double factor)
{
    double fifth = (double)options->epochs / 5;
    if (!(factor > 1))
        return;
    if (!is_said(making, "warmup-steps") && !is_said(making, "warmup-epochs"))
        options->warmup_epochs = fifth < 1 ? fifth : 1;
    bool rises = options->job.schedule.warmup_steps > 0 || options->warmup_epochs > 0;
    if (rises && !is_said(making, "warmup-from"))
        options->job.schedule.warmup_from = 1 / factor;
}

/* With as many examples for each worker a step of all has that many more. */
static enum status make_fair(struct config_plan *config, const struct making *making,
                             struct error *error)
{
    struct options *options = &config->options;
    const char *own_batch = config_value(making, "worker-batch");
    bool scaled = strcmp(options->scale_rate, "none") != 0;
    if (strcmp(options->fair, "global-batch") == 0)
        return scaled
                   ? error_set(error, STATUS_INVALID,
                               "--scale-rate: with --fair global-batch all updates are of as many "
                               "examples, and there is nothing to scale by")
                   : STATUS_OK;
    if (options->job.steps > 0)
        return error_set(
            error, STATUS_INVALID,
            "--fair worker-batch: needs --epochs; --steps of unlike batches are not the "
            "same work");
    uint32_t each = own_batch != NULL                  ? (uint32_t)strtoul(own_batch, NULL, 10)
                    : making->common->worker_batch > 0 ? making->common->worker_batch
                                                       : options->global_batch;
    uint32_t times =
        mode_facts_named(job_mode_text(&options->job).text)->steps ? options->workers : 1;
    if ((uint64_t)each * times > BATCH_MAX)
        return error_set(error, STATUS_INVALID,
                         "--fair worker-batch: %u workers of %u examples each "
                         "are more than %u together",
                         times, each, (unsigned)BATCH_MAX);
    options->global_batch = each * times;
    if (!scaled)
        return STATUS_OK;
    double rate = options->job.schedule.learning_rate;
    const struct optimizer *optimizer = optimizer_find(options->job.optimizer.name);
    if (isnan(rate)) { /* 0.001, and not the float that is nearest to it. */
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)optimizer->default_learning_rate);
        rate = strtod(text, NULL);
    }
    double factor = strcmp(options->scale_rate, "linear") == 0 ? times : sqrt(times);
    options->job.schedule.learning_rate = rate * factor;
    warm_rate_up(options, making, factor);
    return STATUS_OK;
}

/* --- configurations --------------------------------------------------------------------------- */

static void add_word(struct config_plan *config, const struct option_row *row, const char *value)
{
    arguments_add(&config->words, row->name, "%s", value);
}

/* The shared options, the varied ones, and its own. */
static void add_words(struct config_plan *config, const struct making *making)
{
    const struct settings *common = &making->plan->common;
    const struct axes *axes = &making->plan->axes;
    if (making->common->program != NULL) /* Which is in no plan. */
        arguments_add(&config->words, "program", "%s", making->common->program);
    for (size_t i = 0; i < common->count; i++) {
        const struct option_row *row = common->items[i].row;
        if (!is_row(row, "seeds") && !is_replaced(making, row) && has_use(making, row))
            add_word(config, row, common->items[i].value);
    }
    for (size_t i = 0; i < axes->count; i++) {
        size_t value = axes_value(axes, making->combination, i);
        for (size_t j = 0; j < axes->list[i].option_count; j++) {
            const struct axis_option *option = &axes->list[i].options[j];
            if (has_use(making, option->row) && own_value(making, option->row->name) == NULL)
                add_word(config, option->row, option->values[value]);
        }
    }
    for (size_t i = 0; making->named != NULL && i < making->named->own.count; i++)
        if (own_has_use(making, making->named->own.items[i].row))
            add_word(config, making->named->own.items[i].row, making->named->own.items[i].value);
}

/* The parser's line without its program, which the caller's will have, and with the configuration's
 * name. */
static enum status refuse_config(const struct making *making, const char *why, struct error *error)
{
    bool program = strncmp(why, PROGRAM ": ", sizeof PROGRAM + 1) == 0;
    return error_set(error, STATUS_INVALID, "%s%s%s%.400s", making->named != NULL ? "--arm " : "",
                     making->named != NULL ? making->named->name : "",
                     making->named != NULL ? ": " : "", why + (program ? sizeof PROGRAM + 1 : 0));
}

static enum status parse_words(struct config_plan *config, const struct making *making,
                               struct error *error)
{
    struct mode_setting mode;
    struct error why = {0};
    struct options *options = &config->options;
    uint32_t counted;
    char *const *words = arguments_list(&config->words);
    char **argv = words != NULL ? malloc((config->words.count + 1) * sizeof *argv) : NULL;
    if (argv == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    memcpy(argv, words, (config->words.count + 1) * sizeof *argv);
    enum options_result result =
        options_parse(options, OPTION_COMPARE, PROGRAM, (int)config->words.count, argv, &why);
    free(argv);
    if (result != OPTIONS_RUN)
        return refuse_config(making, why.text, error);
    enum status status = options_modes(options->modes, &mode, 1, &counted, &why);
    if (status == STATUS_OK)
        status = options_counts(options->worker_counts, &options->workers, 1, &counted, &why);
    if (status != STATUS_OK)
        return refuse_config(making, why.text, error);
    job_set_mode(&options->job, mode);
    return STATUS_OK;
}

/* Its words, read. */
static enum status read_config(struct config_plan *config, const struct making *making,
                               struct error *error)
{
    struct options *options = &config->options;
    struct error why = {0};
    enum status status = parse_words(config, making, error);
    if (status != STATUS_OK)
        return status;
    options->declares = making->common->declares;
    options->declared_by = making->common->declared_by;
    if ((status = workload_suggest(options, &why)) != STATUS_OK)
        return refuse_config(making, why.text, error);
    if (options->job.colocated && options->workers > JOB_SERVERS_MAX)
        return error_set(error, STATUS_INVALID,
                         "--ps=colocated: %u workers would be as many servers, and the most is %d",
                         options->workers, JOB_SERVERS_MAX);
    if (options->job.colocated)
        options->ps = options->workers;
    options->out = NULL;
    options->quiet = making->common->quiet;
    options->verbose = making->common->verbose;
    job_forget_unused(&options->job); /* Variants of async: sync has nothing to lock. */
    if (config_value(making, "slow") != NULL)
        status = options_slow_check(options->slow, options->workers, &why);
    if (status == STATUS_OK)
        status = make_fair(config, making, &why);
    return status == STATUS_OK ? status : refuse_config(making, why.text, error);
}

static bool same_words(const struct config_plan *a, const struct config_plan *b)
{
    if (a->words.count != b->words.count)
        return false;
    for (size_t i = 0; i < a->words.count; i++)
        if (strcmp(a->words.items[i], b->words.items[i]) != 0)
            return false;
    return true;
}

/* Whether an equal configuration exists: combinations are equal where both ignore the differing
 * options. `first` is the first of this named one, or of all. */
static bool is_there(const struct configs *configs, size_t first, const struct config_plan *config)
{
    for (size_t i = first; i < configs->count; i++)
        if (same_words(&configs->list[i], config))
            return true;
    return false;
}

/* Mode and workers stand for themselves in every configuration. */
static enum status add_own(struct config_plan *config, const struct option_row *row,
                           const char *value, struct error *error)
{
    if (is_row(row, "modes") || is_row(row, "workers"))
        return STATUS_OK;
    return settings_add(&config->own, row, value, error);
}

static enum status collect_own(struct config_plan *config, const struct making *making,
                               struct error *error)
{
    const struct axes *axes = &making->plan->axes;
    char workers[16];
    snprintf(workers, sizeof workers, "%u", config->options.workers);
    enum status status = settings_add(&config->own, option_find(OPTION_COMPARE, "modes", 5),
                                      job_mode_text(&config->options.job).text, error);
    if (status == STATUS_OK)
        status =
            settings_add(&config->own, option_find(OPTION_COMPARE, "workers", 7), workers, error);
    for (size_t i = 0; i < axes->count; i++) {
        size_t value = axes_value(axes, making->combination, i);
        for (size_t j = 0; j < axes->list[i].option_count && status == STATUS_OK; j++) {
            const struct axis_option *option = &axes->list[i].options[j];
            if (has_use(making, option->row) && own_value(making, option->row->name) == NULL)
                status = add_own(config, option->row, option->values[value], error);
        }
    }
    for (size_t i = 0; making->named != NULL && i < making->named->own.count; i++) {
        const struct setting *item = &making->named->own.items[i];
        if (status == STATUS_OK && own_has_use(making, item->row))
            status = add_own(config, item->row, item->value, error);
    }
    return status;
}

static void free_config(struct config_plan *config)
{
    arguments_free(&config->words);
    settings_free(&config->own);
}

static enum status make_config(struct configs *configs, size_t first, const struct making *making,
                               struct error *error)
{
    struct config_plan config = {.own = {.count = 0}};
    arguments_init(&config.words, PROGRAM);
    add_words(&config, making);
    bool there = is_there(configs, first, &config);
    enum status status = there ? STATUS_OK : read_config(&config, making, error);
    if (status == STATUS_OK && !there)
        status = collect_own(&config, making, error);
    if (status != STATUS_OK || there) {
        free_config(&config);
        return status;
    }
    name_config(&config, making);
    number_config(configs, &config);
    configs->list[configs->count++] = config;
    return STATUS_OK;
}

enum status configs_make(struct configs *configs, const struct plan *plan,
                         const struct options *options, struct error *error)
{
    size_t combinations = axes_combinations(&plan->axes);
    size_t named = plan->configs.count > 0 ? plan->configs.count : 1;
    enum status status = STATUS_OK;
    *configs = (struct configs){.count = 0};
    if (combinations > COMPARISON_GROUPS_MAX / named)
        return error_set(error, STATUS_INVALID,
                         "--modes, --workers, --vary and --arm make %zu kinds of run, the most is "
                         "%d",
                         combinations > SIZE_MAX / named ? SIZE_MAX : combinations * named,
                         COMPARISON_GROUPS_MAX);
    configs->list = calloc(combinations * named, sizeof *configs->list);
    if (configs->list == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < named; i++) {
        size_t first = configs->count;
        for (size_t j = 0; j < combinations && status == STATUS_OK; j++) {
            const struct making making = {
                plan, options, plan->configs.count > 0 ? &plan->configs.list[i] : NULL, j};
            status = make_config(configs, first, &making, error);
        }
    }
    return status;
}

void configs_free(struct configs *configs)
{
    for (size_t i = 0; i < configs->count; i++)
        free_config(&configs->list[i]);
    free(configs->list);
    *configs = (struct configs){.count = 0};
}

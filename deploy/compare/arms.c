/* arms.c - writes for each arm the command that it would be alone, and reads that. */

#include "deploy/compare/arms.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/optimizer/optimizer.h"
#include "deploy/compare/settings.h"

#define PROGRAM "syncopate compare"

/* --- words ------------------------------------------------------------------------------------ */

static bool is_row(const struct option_row *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

static enum status add_word(struct arm_plan *arm, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status add_word(struct arm_plan *arm, const char *format, ...)
{
    char *word = NULL, **words = realloc(arm->words, (arm->count + 1) * sizeof *words);
    if (words == NULL)
        return STATUS_MEMORY;
    arm->words = words;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&word, format, arguments);
    va_end(arguments);
    if (length < 0)
        return STATUS_MEMORY;
    arm->words[arm->count++] = word;
    return STATUS_OK;
}

/* --- what is used ------------------------------------------------------------------------------- */

/* Where an arm is being made: which combination of which axes. */
struct making {
    const struct axes *axes;
    const struct options *common;
    size_t combination;
};

/* The value of this option in this combination; NULL when it is not varied. */
static const char *varied_value(const struct making *making, const char *name)
{
    for (size_t i = 0; i < making->axes->count; i++) {
        const struct axis *axis = &making->axes->list[i];
        for (size_t j = 0; j < axis->option_count; j++)
            if (is_row(axis->options[j].row, name))
                return axis->options[j].values[axes_value(making->axes, making->combination, i)];
    }
    return NULL;
}

static bool has_use(const struct making *making, const struct option_row *row)
{
    char name[32];
    if (!option_governor(row, name))
        return true;
    const char *value = varied_value(making, strcmp(name, "mode") == 0 ? "modes" : name);
    if (value == NULL)
        value = strcmp(name, "optimizer") == 0
                    ? making->common->job.optimizer.name
                    : schedule_kind_name(making->common->job.schedule.kind);
    return option_has_use(row, value);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Part of a folder's name: other programs take a colon for a host's. */
static void clean_name(char *name)
{
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._+-", *c) == NULL)
            *c = '-';
}

static void name_arm(struct arm_plan *plan, const struct making *making)
{
    struct arm *arm = &plan->arm;
    *arm = (struct arm){.label = ""};
    wording_append(arm->name, sizeof arm->name, "%s-w%u", job_mode_text(&plan->options.job).text,
                   plan->options.workers);
    for (size_t i = 0; i < making->axes->count; i++) {
        const struct axis *axis = &making->axes->list[i];
        for (size_t j = 0; j < axis->option_count; j++) {
            const struct option_row *row = axis->options[j].row;
            const char *value =
                axis->options[j].values[axes_value(making->axes, making->combination, i)];
            if (is_row(row, "modes") || is_row(row, "workers") || !has_use(making, row))
                continue;
            wording_append(arm->name, sizeof arm->name, "-%s-%s", row->name, value);
            wording_append(arm->varied, sizeof arm->varied, "%s%s %s",
                           arm->varied[0] != '\0' ? ", " : "", row->name, value);
        }
    }
    clean_name(arm->name);
}

/* One that is too long, or whose name another has, has its number. */
static void number_arm(struct arms *arms, struct arm_plan *plan)
{
    struct arm *arm = &plan->arm;
    bool taken = strlen(arm->name) + 1 >= sizeof arm->name;
    for (size_t i = 0; i < arms->count; i++)
        taken = taken || strcmp(arms->list[i].arm.name, arm->name) == 0;
    if (taken)
        snprintf(arm->name, sizeof arm->name, "%.40s-w%u-arm%zu",
                 job_mode_text(&plan->options.job).text, plan->options.workers, arms->count + 1);
    clean_name(arm->name);
}

/* --- fairness --------------------------------------------------------------------------------- */

/* With as many examples for each worker a step of all has that many more. */
static enum status make_fair(struct arm_plan *arm, const struct options *common,
                             struct error *error)
{
    struct options *options = &arm->options;
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
    uint32_t each = common->worker_batch > 0 ? common->worker_batch : options->global_batch;
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
    bool linear = strcmp(options->scale_rate, "linear") == 0;
    options->job.schedule.learning_rate = rate * (linear ? times : sqrt(times));
    return STATUS_OK;
}

/* --- arms ------------------------------------------------------------------------------------- */

static bool is_of_axes(const struct option_row *row)
{
    return is_row(row, "modes") || is_row(row, "workers") || is_row(row, "seeds") ||
           is_row(row, "out") || row->kind == OPTION_KIND_LIST;
}

/* What is the same for all arms: as it was typed. The environment says the rest again. */
static enum status add_common(struct arm_plan *arm, const struct making *making, int argc,
                              char **argv)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < option_row_count && status == STATUS_OK; i++) {
        const struct option_row *row = &option_rows[i];
        const char *value = (row->users & OPTION_COMPARE) != 0 && !is_of_axes(row)
                                ? settings_argument(row, argc, argv)
                                : NULL;
        if (value != NULL && has_use(making, row))
            status = add_word(arm, "--%s=%s", row->name, value);
    }
    return status;
}

static enum status add_varied(struct arm_plan *arm, const struct making *making)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < making->axes->count; i++) {
        const struct axis *axis = &making->axes->list[i];
        size_t value = axes_value(making->axes, making->combination, i);
        for (size_t j = 0; j < axis->option_count && status == STATUS_OK; j++)
            if (has_use(making, axis->options[j].row))
                status = add_word(arm, "--%s=%s", axis->options[j].row->name,
                                  axis->options[j].values[value]);
    }
    return status;
}

/* Its words, read. */
static enum status read_arm(struct arm_plan *arm, const struct making *making, struct error *error)
{
    static char program[] = PROGRAM;
    struct mode_setting mode;
    uint32_t counted;
    struct error why = {0};
    char **argv = calloc(arm->count + 2, sizeof *argv);
    if (argv == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    argv[0] = program;
    memcpy(argv + 1, arm->words, arm->count * sizeof *argv);
    enum options_result result =
        options_parse(&arm->options, OPTION_COMPARE, PROGRAM, (int)arm->count + 1, argv, &why);
    free(argv);
    if (result != OPTIONS_RUN) /* Which begins with the program, as the caller's line will. */
        return error_set(error, STATUS_INVALID, "%.400s",
                         why.text + (strncmp(why.text, PROGRAM ": ", sizeof PROGRAM + 1) == 0
                                         ? sizeof PROGRAM + 1
                                         : 0));
    struct options *options = &arm->options;
    enum status status = options_modes(options->modes, &mode, 1, &counted, error);
    if (status == STATUS_OK)
        status = options_counts(options->worker_counts, &options->workers, 1, &counted, error);
    if (status != STATUS_OK)
        return status;
    job_set_mode(&options->job, mode);
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
    return make_fair(arm, making->common, error);
}

static bool same_words(const struct arm_plan *a, const struct arm_plan *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->words[i], b->words[i]) != 0)
            return false;
    return true;
}

static void free_arm(struct arm_plan *arm)
{
    for (size_t i = 0; i < arm->count; i++)
        free(arm->words[i]);
    free(arm->words);
}

static enum status make_arm(struct arms *arms, const struct making *making, int argc, char **argv,
                            struct error *error)
{
    struct arm_plan arm = {.count = 0};
    enum status status = add_common(&arm, making, argc, argv);
    if (status == STATUS_OK)
        status = add_varied(&arm, making);
    if (status != STATUS_OK)
        error_set(error, status, "out of memory");
    bool there = false;
    for (size_t i = 0; i < arms->count && status == STATUS_OK; i++)
        there |= same_words(&arms->list[i], &arm);
    if (status == STATUS_OK && !there)
        status = read_arm(&arm, making, error);
    if (status != STATUS_OK || there) {
        free_arm(&arm);
        return status;
    }
    name_arm(&arm, making);
    number_arm(arms, &arm);
    arms->list[arms->count++] = arm;
    return STATUS_OK;
}

enum status arms_make(struct arms *arms, const struct options *options, int argc, char **argv,
                      struct error *error)
{
    struct axes axes;
    *arms = (struct arms){.count = 0};
    enum status status = axes_read(&axes, options, error);
    size_t count = status == STATUS_OK ? axes_combinations(&axes) : 0;
    if (status == STATUS_OK && count > COMPARISON_GROUPS_MAX)
        status = error_set(error, STATUS_INVALID,
                           "--modes, --workers and --vary make %zu kinds of run, the most is %d",
                           count, COMPARISON_GROUPS_MAX);
    if (status == STATUS_OK) {
        arms->list = calloc(count, sizeof *arms->list);
        if (arms->list == NULL)
            status = error_set(error, STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const struct making making = {&axes, options, i};
        status = make_arm(arms, &making, argc, argv, error);
    }
    axes_free(&axes);
    return status;
}

void arms_free(struct arms *arms)
{
    for (size_t i = 0; i < arms->count; i++)
        free_arm(&arms->list[i]);
    free(arms->list);
    *arms = (struct arms){.count = 0};
}

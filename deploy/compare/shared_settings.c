/* shared_settings.c - compares options by the table, and the runs' declarations. */

#include "deploy/compare/shared_settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/cluster/cluster_file.h"

#define CLUSTER_FILE "cluster.json"

/* --- options --------------------------------------------------------------------------------- */

static bool is_among_own(const struct source *source, const struct option_row *row)
{
    for (size_t i = 0; i < source->configs.count; i++)
        if (settings_value(&source->configs.list[i].own, row) != NULL)
            return true;
    return false;
}

bool shared_settings_varies(const struct source *a, const struct source *b,
                            const struct option_row *row)
{
    return is_among_own(a, row) || is_among_own(b, row);
}

static bool varies(const struct source *a, const struct source *b, const char *name)
{
    return shared_settings_varies(a, b, option_find(OPTION_COMPARE, name, strlen(name)));
}

/* Without an effect on a finished run: the seeds, output and queries, deadlines for lost peers, and
 * the number of kept files. */
static bool decides(const struct option_row *row)
{
    static const char *const others[] = {"seed",           "seeds",
                                         "keep",           "start-timeout",
                                         "stop-timeout",   "recovery-timeout",
                                         "worker-timeout", "progress-timeout",
                                         "max-restarts"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(row->name, others[i]) == 0)
            return false;
    return settings_is_common(row) && row->group != OPTION_GROUP_OUTPUT;
}

const char *shared_settings_value(const struct settings *settings, const struct option_row *row)
{
    const char *value = settings_value(settings, row);
    if (value == NULL && row->kind == OPTION_KIND_FLAG)
        return "false";
    return value != NULL ? value : row->fallback;
}

/* --- differences ----------------------------------------------------------------------------- */

struct differences {
    char text[400];
    const struct source *a, *b;
};

static void differ(struct differences *differences, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void differ(struct differences *differences, const char *format, ...)
{
    char one[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one, sizeof one, format, arguments);
    va_end(arguments);
    if (strstr(differences->text, one) != NULL)
        return; /* Of another seed it was said already. */
    wording_append(differences->text, sizeof differences->text, "%s%s",
                   differences->text[0] != '\0' ? "; " : "", one);
}

static void differ_in_time(struct differences *differences, bool virtual_first)
{
    differ(differences, "%s seconds and %s ones", virtual_first ? "virtual" : "real",
           virtual_first ? "real" : "virtual");
}

static void compare_options(struct differences *differences)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        bool real_only = strcmp(row->name, "warm-up") == 0; /* Virtual time has none. */
        if (!decides(row) || shared_settings_varies(differences->a, differences->b, row) ||
            (real_only && differences->a->options.virtual_time))
            continue;
        const char *ours = shared_settings_value(&differences->a->plan.common, row);
        const char *theirs = shared_settings_value(&differences->b->plan.common, row);
        if (ours == NULL && theirs == NULL)
            continue;
        if (ours != NULL && theirs != NULL && settings_same_value(row, ours, theirs))
            continue;
        if (strcmp(row->name, "virtual") == 0)
            differ_in_time(differences, strcmp(ours, "true") == 0);
        else
            differ(differences, "--%s %.50s and %.50s", row->name, ours != NULL ? ours : "(none)",
                   theirs != NULL ? theirs : "(none)");
    }
}

/* --- declarations of runs --------------------------------------------------------------------- */

static bool is_virtual(const struct source_run *run)
{
    return run->job.cluster[0] != '\0';
}

static bool digests_agree(const struct job *a, const struct job *b)
{
    return memcmp(a->data_digest, b->data_digest, sizeof a->data_digest) == 0;
}

/* Of synthetic data each seed has its own. */
static void compare_data(struct differences *differences, const struct job *a, const struct job *b)
{
    bool made = strncmp(a->data, "synthetic", strlen("synthetic")) == 0;
    if (varies(differences->a, differences->b, "data"))
        return;
    if (a->examples != b->examples)
        differ(differences, "%s and %s to train on",
               wording_counted(a->examples, "example", "examples").text,
               wording_counted(b->examples, "example", "examples").text);
    else if (a->test_examples != b->test_examples)
        differ(differences, "%s and %s to test on",
               wording_counted(a->test_examples, "example", "examples").text,
               wording_counted(b->test_examples, "example", "examples").text);
    else if ((!made || a->seed == b->seed) && !digests_agree(a, b))
        differ(differences, "the data (%.40s) have another digest", a->data);
}

static void compare_work(struct differences *differences, const struct job *a, const struct job *b)
{
    const struct source *ours = differences->a, *theirs = differences->b;
    bool one_batch = ours->options.worker_batch == 0 &&
                     strcmp(ours->options.fair, "global-batch") == 0 &&
                     !varies(ours, theirs, "global-batch") &&
                     !varies(ours, theirs, "worker-batch") && !varies(ours, theirs, "fair");
    if (!varies(ours, theirs, "model") && strcmp(a->model, b->model) != 0)
        differ(differences, "model %.60s and %.60s", a->model, b->model);
    if (one_batch && a->batch != b->batch)
        differ(differences, "batches of %u and %u", a->batch, b->batch);
    if (one_batch && !varies(ours, theirs, "micro-batch") && a->micro_batch != b->micro_batch)
        differ(differences, "leaves of %u and %u", a->micro_batch, b->micro_batch);
}

static bool cluster_varies(const struct source *a, const struct source *b)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        bool modelled = (row->users & OPTION_COMPARE) != 0 && (row->users & OPTION_SIMULATE) != 0 &&
                        (row->users & OPTION_RUN) == 0;
        if (modelled && shared_settings_varies(a, b, row))
            return true;
    }
    return varies(a, b, "compute") || varies(a, b, "slow") || varies(a, b, "straggle") ||
           varies(a, b, "pause") || varies(a, b, "ps");
}

static enum status compare_clusters(struct differences *differences, const struct source_run *a,
                                    const struct source_run *b, struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    struct cluster ours, theirs;
    if (!is_virtual(a) || cluster_varies(differences->a, differences->b))
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/" CLUSTER_FILE, a->path);
    enum status status = cluster_read_file(&ours, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    snprintf(path, sizeof path, "%s/" CLUSTER_FILE, b->path);
    status = cluster_read_file(&theirs, &disk_posix, path, error);
    if (status == STATUS_OK && !cluster_equal(&ours, &theirs))
        differ(differences, "other clusters (" CLUSTER_FILE " of their runs)");
    cluster_free(&ours);
    if (status == STATUS_OK)
        cluster_free(&theirs);
    return status;
}

static enum status compare_runs(struct differences *differences, const struct source_run *a,
                                const struct source_run *b, struct error *error)
{
    if (is_virtual(a) != is_virtual(b)) {
        differ_in_time(differences, is_virtual(a));
        return STATUS_OK;
    }
    compare_data(differences, &a->job, &b->job);
    compare_work(differences, &a->job, &b->job);
    bool named = a->machine[0] != '\0' && b->machine[0] != '\0';
    if (!is_virtual(a) && named && strcmp(a->machine, b->machine) != 0)
        differ(differences, "machines %.60s and %.60s", a->machine, b->machine);
    else if (!is_virtual(a) && a->processors != b->processors)
        differ(differences, "machines of %s and %s",
               wording_counted(a->processors, "processor", "processors").text,
               wording_counted(b->processors, "processor", "processors").text);
    return compare_clusters(differences, a, b, error);
}

/* Compared with a run of the same seed, if there is one: then data are equal, too. */
static const struct source_run *run_beside(const struct source *source,
                                           const struct source_run *run)
{
    for (size_t i = 0; i < source->run_count; i++)
        if (source->runs[i].job.seed == run->job.seed)
            return &source->runs[i];
    return &source->runs[0];
}

enum status shared_settings_check(const struct source *a, const struct source *b,
                                  struct error *error)
{
    struct differences differences = {.a = a, .b = b};
    enum status status = STATUS_OK;
    compare_options(&differences);
    for (size_t i = 0; i < b->run_count && a->run_count > 0 && status == STATUS_OK; i++)
        status = compare_runs(&differences, run_beside(a, &b->runs[i]), &b->runs[i], error);
    if (status != STATUS_OK || differences.text[0] == '\0')
        return status;
    return error_set(error, STATUS_MISMATCH, "%.90s and %.90s do not go together: %.290s", a->path,
                     b->path, differences.text);
}

enum status shared_settings_same_run(const struct source_run *a, const struct source_run *b,
                                     struct error *error)
{
    struct error why = {0};
    if (job_compare(&a->job, "the first", &b->job, "the second", JOB_SCOPE_RESUME, &why) !=
        STATUS_OK)
        return error_set(error, STATUS_MISMATCH, "%.100s is in both and not the same: %.300s",
                         a->name, why.text);
    if (a->job.steps != b->job.steps || a->job.worker_count != b->job.worker_count ||
        a->job.server_count != b->job.server_count)
        return error_set(error, STATUS_MISMATCH,
                         "%.100s is in both and not the same: other batches, workers or servers",
                         a->name);
    if (strcmp(a->parameters_sha256, b->parameters_sha256) != 0)
        return error_set(error, STATUS_MISMATCH,
                         "%.100s is in both and came out with other bits: %.16s... and %.16s...",
                         a->name, a->parameters_sha256, b->parameters_sha256);
    return STATUS_OK;
}

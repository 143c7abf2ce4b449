/* workload.c - makes a declaration of options and source; errors name the option. */

#include "worker/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job_score.h"
#include "common/store/initial.h"
#include "worker/data/dataset.h"

/* Behind a correct text only memory can be missing. */
static int exit_code_of(enum status status, int usual)
{
    return status == STATUS_OK        ? EXIT_DONE
           : status == STATUS_MEMORY  ? EXIT_TRAINING_FAILED
           : status == STATUS_PROGRAM ? EXIT_PROGRAM
                                      : usual;
}

static enum status prepare(struct workload *workload, struct error *error)
{
    struct error why = {0};
    enum status status = source_prepare(workload->source, workload->job.micro_batch,
                                        job_loss_unit(&workload->job), &why);
    return status == STATUS_OK
               ? status
               : error_set(error, status, "--%s: %.480s",
                           workload->source->declares != NULL ? "program" : "model", why.text);
}

/* The declaration: the options, and what data and model add. */
static enum status fill_job(struct workload *workload, const struct options *options,
                            struct error *error)
{
    struct job *job = &workload->job;
    const struct source *source = workload->source;
    job->variables = malloc(source->variable_count * sizeof *job->variables);
    if (job->variables == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    if (job->loss_unit != 0 && source->score_piece == 0)
        return error_set(error, STATUS_INVALID,
                         "--loss-unit: losses of --model are in units of 2^-24");
    memcpy(job->variables, source->variables, source->variable_count * sizeof *job->variables);
    job->variable_count = source->variable_count;
    snprintf(job->model, sizeof job->model, "%s", source->model);
    snprintf(job->data, sizeof job->data, "%s", source->data);
    memcpy(job->data_digest, source->digest, DIGEST_BYTES);
    job->test_examples = source->test_examples;
    job->score_piece = source->score_piece;
    job->scores = source->scores;
    if (options->ps == 0)
        job->worker_count = 1;
    if (job->delay_compensation > 0 && source->variables[0].average > 0.0f)
        return error_set(error, STATUS_INVALID,
                         "--delay-compensation: not with running averages (%s)",
                         source->variables[0].name);
    return job_check(job, error);
}

static enum status deal(struct workload *workload, const struct options *options,
                        struct error *error)
{
    const struct job *job = &workload->job;
    uint32_t servers = options->ps_hosts != NULL ? job->server_count : options->ps;
    if (servers == 0)
        return STATUS_OK;
    return partition_make(&workload->partition, job->variables, job->variable_count, servers,
                          job->chunk_bytes, job_borders(job), error);
}

/* A program's own. */
static int ask_initial(struct workload *workload, struct error *error)
{
    struct error why = {0};
    struct job *job = &workload->job;
    if (!workload->source->answers) /* Only its declaration is there. */
        return EXIT_DONE;
    workload->initial = aligned_alloc(64, workload->source->elements * sizeof(float));
    if (workload->initial == NULL) {
        error_set(error, STATUS_MEMORY, "no memory for the initial values");
        return EXIT_TRAINING_FAILED;
    }
    enum status status = source_initial(workload->source, job->seed, workload->initial, &why);
    if (status == STATUS_OK)
        initial_digest(job, workload->initial, job->initial_digest);
    else
        error_set(error, status, "--program: %.480s", why.text);
    return exit_code_of(status, EXIT_PROGRAM);
}

/* Of --initial. */
static int take_initial(struct workload *workload, const struct options *options,
                        struct error *error)
{
    struct error why = {0};
    if (options->initial == NULL)
        return job_has_given(&workload->job) ? ask_initial(workload, error) : EXIT_DONE;
    bool missing_new = strcmp(options->initial_missing, "new") == 0;
    enum status status = initial_declare(&workload->job, &disk_posix, options->initial, missing_new,
                                         &workload->initial, &why);
    if (status != STATUS_OK)
        error_set(error, status, "--initial: %.480s", why.text);
    return exit_code_of(status, status == STATUS_MISMATCH ? EXIT_MISMATCH : EXIT_CANNOT_OPEN);
}

/* All that follows from options and the data's sizes. */
static int declare(struct workload *workload, const struct options *options, struct error *error)
{
    const struct source *source = workload->source;
    if (source->examples == 0 && !source->answers) {
        error_set(error, STATUS_INVALID, "--data: the training set is empty");
        return EXIT_USAGE;
    }
    enum status status = options_job(options, source->examples, &workload->job, error);
    if (status == STATUS_OK)
        status = prepare(workload, error);
    if (status == STATUS_OK)
        status = fill_job(workload, options, error);
    if (status == STATUS_OK)
        status = deal(workload, options, error);
    return status == STATUS_OK ? take_initial(workload, options, error)
                               : exit_code_of(status, EXIT_USAGE);
}

/* The option that says where gradients come from. */
static bool asks(const struct options *options)
{
    return options->program != NULL || options->program_fd != NULL;
}

static int source_failed(const struct options *options, enum status status, const struct error *why,
                         struct error *error)
{
    if (options->program != NULL)
        error_set(error, status, "--program \"%.100s\": %.380s", options->program, why->text);
    else
        error_set(error, status, "--%s: %.480s", asks(options) ? "program-fd" : "data", why->text);
    return exit_code_of(status, EXIT_CANNOT_OPEN);
}

/* What a program suggests for options that were not given. */
static enum status take_suggestions(const struct source *source, struct options *options,
                                    struct error *error)
{
    struct json_member member = {0};
    while (source->suggested != NULL && json_next_member(source->suggested, &member)) {
        char text[64];
        const char *word = json_text(member.value, "");
        double number = json_number(member.value, "");
        uint64_t whole;
        if (word != NULL)
            snprintf(text, sizeof text, "%s", word);
        else if (json_whole(member.value, &whole))
            snprintf(text, sizeof text, "%llu", (unsigned long long)whole);
        else
            snprintf(text, sizeof text, "%.9g", number);
        enum status status = options_suggest(options, "--program", member.name, text, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* The times of leaves in the run that is named. */
static int open_trace(struct workload *workload, const struct options *options, struct error *error)
{
    struct compute_time time = options_compute_time(options, 0);
    if (time.traced == NULL)
        return EXIT_DONE;
    struct error found;
    enum status status = leaf_trace_open(&workload->trace, &disk_posix, time.traced,
                                         workload->job.micro_batch, &found);
    if (status != STATUS_OK)
        error_set(error, status, "--compute: %.400s", found.text);
    return exit_code_of(status, EXIT_CANNOT_OPEN);
}

struct compute_time workload_compute_time(const struct workload *workload,
                                          const struct options *options, uint32_t worker)
{
    struct compute_time time = options_compute_time(options, worker);
    time.trace = &workload->trace;
    return time;
}

static enum status find_source(struct source **source, struct options *options, bool look,
                               struct error *error)
{
    struct source_options of;
    enum status status = source_options_of(&of, options, error);
    of.look = look;
    return status == STATUS_OK ? source_open(source, &of, error) : status;
}

static int open_source(struct workload *workload, struct options *options, bool look,
                       struct error *error)
{
    struct error why = {0};
    enum status status = find_source(&workload->source, options, look, &why);
    if (status != STATUS_OK)
        return source_failed(options, status, &why, error);
    status = take_suggestions(workload->source, options, error);
    return status == STATUS_OK ? declare(workload, options, error) : EXIT_USAGE;
}

enum status workload_suggest(struct options *options, struct error *error)
{
    struct source *source = NULL;
    if (!asks(options))
        return STATUS_OK;
    enum status status = find_source(&source, options, true, error);
    if (status == STATUS_OK)
        status = take_suggestions(source, options, error);
    source_close(&source);
    return status;
}

static enum status check_data(const struct options *options, struct error *error)
{
    char data[OPTIONS_DATA_MAX];
    options_data_text(options, data);
    return dataset_check_name(data, error);
}

int workload_look(struct workload *workload, struct options *options, struct error *error)
{
    memset(workload, 0, sizeof *workload);
    if (!asks(options) && check_data(options, error) != STATUS_OK)
        return EXIT_USAGE;
    int code = open_source(workload, options, true, error);
    return code == EXIT_DONE ? open_trace(workload, options, error) : code;
}

static int make_gradient(struct workload *workload, struct error *error)
{
    enum status status = node_gradient_init(&workload->gradient, &workload->job, workload->source);
    workload->gradient_made = status == STATUS_OK;
    if (status != STATUS_OK)
        error_set(error, status, "out of memory");
    return status == STATUS_OK ? EXIT_DONE : EXIT_TRAINING_FAILED;
}

/* Looked at first, because reading takes its time; then all is made from the data as read. */
int workload_read(struct workload *workload, struct options *options, struct error *error)
{
    int code = EXIT_DONE;
    if (workload->source == NULL)
        code = workload_look(workload, options, error);
    if (code == EXIT_DONE && !workload->source->answers) {
        workload_free(workload);
        code = open_source(workload, options, false, error);
        if (code == EXIT_DONE)
            code = open_trace(workload, options, error);
    }
    return code == EXIT_DONE ? make_gradient(workload, error) : code;
}

enum status workload_give(struct workload *workload, struct options *options, const char *out,
                          char path[DISK_PATH_MAX], struct error *error)
{
    if (workload->initial == NULL || options->initial != NULL)
        return STATUS_OK;
    if (snprintf(path, DISK_PATH_MAX, "%s/" INITIAL_FILE, out) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--out: the path is too long");
    initial_drop(&disk_posix, out);
    enum status status = disk_posix.make_directory(disk_posix.context, out, error);
    if (status == STATUS_OK)
        status = initial_keep(&workload->job, &disk_posix, out, workload->initial, error);
    options->initial = path;
    free(workload->initial);
    workload->initial = NULL;
    return status;
}

int workload_ask(struct options *options, const char *out, char path[DISK_PATH_MAX],
                 struct error *error)
{
    struct workload workload;
    if (options->program == NULL)
        return EXIT_DONE;
    options->declares = NULL; /* What is asked has to run. */
    int code = workload_look(&workload, options, error);
    if (code == EXIT_DONE && workload_give(&workload, options, out, path, error) != STATUS_OK)
        code = EXIT_CANNOT_OPEN;
    workload_free(&workload);
    return code;
}

void workload_free(struct workload *workload)
{
    if (workload->gradient_made)
        node_gradient_free(&workload->gradient);
    partition_free(&workload->partition);
    source_close(&workload->source);
    job_free(&workload->job);
    free(workload->initial);
    leaf_trace_close(&workload->trace);
    memset(workload, 0, sizeof *workload);
}

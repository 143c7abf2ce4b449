/* syncopate evaluate PATH: scores a trained model on the test set; with --follow all checkpoints of
 * a run, as they appear.
 *
 * A run and a checkpoint name their training data, and are scored on those; --data and --seed
 * override that, and a line says so, because accuracies on different data cannot be compared. A
 * model file names no data. */

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"
#include "common/job/job_score.h"
#include "common/job/l2.h"
#include "common/options/options.h"
#include "common/store/checkpoint.h"
#include "deploy/command/command.h"
#include "deploy/follow/follow.h"
#include "worker/data/dataset.h"
#include "worker/source/source.h"

#define PROGRAM        "syncopate evaluate"
#define EVALUATE_BATCH 64 /* Examples computed at once; changes speed, not the result. */

/* A model file says which layers it has, unless another tool saved it again without its
 * metadata. */
static const char *layers_of(const struct options *options, const struct model_file *file)
{
    return options_given(options, OPTION_EVALUATE, "model") ? options->model : file->model;
}

static enum status score_file(struct model_file *file, struct source *source, const char *path,
                              struct score *score, struct error *error)
{
    enum status status =
        model_file_arrange(file, source->variables, source->variable_count, path, error);
    if (status != STATUS_OK)
        return status;
    snprintf(file->model, sizeof file->model, "%s", source->model);
    return source_score(source, file->parameters, 0, source->test_examples, score, error);
}

/* --- the data -------------------------------------------------------------------------------- */

#define DESCRIPTION_MAX 320

/* "synthetic:500 of seed 3" */
static void describe_data(char text[DESCRIPTION_MAX], const char *name, uint64_t seed)
{
    if (dataset_is_synthetic(name))
        snprintf(text, DESCRIPTION_MAX, "%s of seed %" PRIu64, name, seed);
    else
        snprintf(text, DESCRIPTION_MAX, "%s", name);
}

struct choice {
    char data[DATA_TEXT_MAX];
    uint64_t seed;
    bool own; /* What it was trained on. */
};

/* Settings that are not given are those of the training. */
static struct choice choose_data(const struct options *options, const struct model_file *file)
{
    struct choice choice = {.seed = options->job.seed};
    struct data_text trained;
    char wanted[OPTIONS_DATA_MAX];
    options_data_text(options, wanted);
    bool given = options_given(options, OPTION_EVALUATE, "data") || !file->declared;
    choice.own = !given && data_text_read(&trained, file->job.data, NULL) == STATUS_OK;
    snprintf(choice.data, sizeof choice.data, "%s", choice.own ? trained.files : wanted);
    data_text_join(choice.data, wanted);
    data_text_join(choice.data, file->job.data);
    if (file->declared && !options_given(options, OPTION_EVALUATE, "seed"))
        choice.seed = file->job.seed;
    return choice;
}

static enum status open_source(struct source **source, const struct options *options,
                               struct choice *choice, const struct model_file *file,
                               struct error *error)
{
    struct error why;
    struct source_options wanted;
    enum status status = source_options_for(&wanted, options, file->path, layers_of(options, file),
                                            choice->data, error);
    if (status != STATUS_OK)
        return status;
    wanted.seed = choice->seed;
    status = source_open(source, &wanted, &why);
    if (status == STATUS_OK && (*source)->declares != NULL) /* A program has its own. */
        snprintf(choice->data, sizeof choice->data, "%s", (*source)->data);
    if (status == STATUS_OK)
        return source_prepare(*source, EVALUATE_BATCH, job_loss_unit(&file->job), error);
    if (status == STATUS_PROGRAM)
        return error_set(error, status, "--program: %.480s", why.text);
    if (choice->own)
        return error_set(error, status,
                         "%.350s; that is what it was trained on, and --data says where it is here",
                         why.text);
    return error_set(error, status, "%s", why.text);
}

/* By digest, because the same data may have another name here, and others the same. */
static bool is_trained_on(const struct model_file *file, const struct source *source)
{
    return file->declared && memcmp(source->digest, file->job.data_digest, DIGEST_BYTES) == 0;
}

static void warn_of_other_data(const struct choice *choice, const struct source *source,
                               const struct model_file *file)
{
    char ours[DESCRIPTION_MAX], theirs[DESCRIPTION_MAX];
    const struct job *job = &file->job;
    if (!file->declared || is_trained_on(file, source))
        return;
    describe_data(ours, choice->data, choice->seed);
    describe_data(theirs, job->data, job->seed);
    if (strcmp(ours, theirs) == 0)
        fprintf(stderr, PROGRAM ": warning: %s has changed since the model was trained on it\n",
                ours);
    else
        fprintf(stderr, PROGRAM ": warning: scored on %s, but trained on %s\n", ours, theirs);
}

/* --- the command ----------------------------------------------------------------------------- */

static void print_source(const struct model_file *file)
{
    printf("file           %s\n", file->path);
    if (file->declared)
        printf("trained        %s of %s\n", wording_count(file->step).text,
               wording_counted(file->job.steps, "batch", "batches").text);
    wording_wrap(stdout, file->model, printf("model          "), 15);
}

static void print_data(const struct options *options, const struct choice *choice,
                       const struct source *source, const struct model_file *file)
{
    char text[DESCRIPTION_MAX];
    const char *remark = "";
    if (is_trained_on(file, source))
        remark = ", as trained on";
    else if (!file->declared && source->declares == NULL &&
             !options_given(options, OPTION_EVALUATE, "data"))
        remark = ", for want of a --data";
    describe_data(text, choice->data, choice->seed);
    printf("data           %s, %s%s\n", text,
           wording_counted(source->test_examples, "test example", "test examples").text, remark);
}

/* Means over the test examples; the loss is no number when any example's is not finite. */
static double mean_loss(const struct model_file *file, const struct score *score)
{
    return score->not_finite > 0 ? (double)NAN
                                 : job_mean_loss(&file->job, score->loss, score->examples);
}

static struct score_figures figures_of(const struct model_file *file, const struct score *score)
{
    return (struct score_figures){
        mean_loss(file, score), job_accuracy(&file->job, score->correct, score->examples),
        file->declared ? l2_loss(&file->job, file->parameters) : (double)NAN};
}

static void print_score(const struct model_file *file, const struct score *score)
{
    double accuracy = job_accuracy(&file->job, score->correct, score->examples);
    printf("test loss      %.6f\n", mean_loss(file, score));
    if (!isnan(accuracy))
        printf("test accuracy  %.2f %%\n", 100 * accuracy);
    if (file->declared && file->job.l2 > 0.0f)
        printf("regularisation %.6f\n", l2_loss(&file->job, file->parameters));
    if (score->not_finite > 0)
        printf("not finite     %s\n",
               wording_counted(score->not_finite, "example", "examples").text);
}

static enum status print_json(const struct choice *choice, const struct model_file *file,
                              const struct source *source, const struct score *score,
                              struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "path", file->path);
    json_writer_text(&writer, "model", file->model);
    if (file->declared)
        json_writer_u64(&writer, "step", file->step);
    else
        json_writer_null(&writer, "step");
    json_writer_text(&writer, "data", choice->data);
    json_writer_u64(&writer, "seed", choice->seed);
    json_writer_bool(&writer, "as_trained", is_trained_on(file, source));
    json_writer_u64(&writer, "test_examples", score->examples);
    const struct score_figures test = figures_of(file, score);
    figures_write(&writer, score_figures_rows(), &test);
    json_writer_u64(&writer, "not_finite", score->not_finite);
    json_writer_end(&writer);
    return command_print_json(&writer, error);
}

static void print_all(const struct options *options, const struct choice *choice,
                      const struct source *source, const struct model_file *file,
                      const struct score *score)
{
    if (!options->quiet) {
        print_source(file);
        print_data(options, choice, source, file);
    }
    print_score(file, score);
}

static enum status check_model(const struct options *options, const struct model_file *file,
                               struct error *error)
{
    enum status status = model_file_check_whole(file, options->path, error);
    if (status == STATUS_OK && options->program == NULL && layers_of(options, file)[0] == '\0')
        status =
            error_set(error, STATUS_INVALID,
                      "%.300s: names no layers (\"model\" in its metadata): --model says them, "
                      "or --program brings them",
                      options->path);
    return status;
}

static enum status evaluate(const struct options *options, struct error *error)
{
    struct model_file file = {0};
    struct source *source = NULL;
    struct score score = {0};
    enum status status = model_file_open(&file, &disk_posix, options->path, error);
    if (status != STATUS_OK) {
        command_explain_comparison(options->path, error);
        return status;
    }
    struct choice choice = choose_data(options, &file);
    status = check_model(options, &file, error);
    if (status == STATUS_OK)
        status = open_source(&source, options, &choice, &file, error);
    if (status == STATUS_OK) {
        warn_of_other_data(&choice, source, &file);
        status = score_file(&file, source, options->path, &score, error);
    }
    if (status == STATUS_OK && options->json)
        status = print_json(&choice, &file, source, &score, error);
    else if (status == STATUS_OK)
        print_all(options, &choice, source, &file, &score);
    source_close(&source);
    model_file_close(&file);
    return status;
}

/* --- following a run -------------------------------------------------------------------------- */

struct following {
    const struct options *options;
    struct model_file file; /* Scored last. */
    struct source *source;  /* Opened with the first; the layers are the run's. */
};

static enum status score_checkpoint(void *context, const char *path, struct follow_score *result,
                                    bool *opened, struct error *error)
{
    struct following *f = context;
    struct score score = {0};
    model_file_close(&f->file);
    f->file = (struct model_file){0};
    enum status status = model_file_open(&f->file, &disk_posix, path, error);
    *opened = status == STATUS_OK;
    if (status == STATUS_OK && f->source == NULL) {
        struct choice choice = choose_data(f->options, &f->file);
        status = open_source(&f->source, f->options, &choice, &f->file, error);
        if (status == STATUS_OK)
            warn_of_other_data(&choice, f->source, &f->file);
        else
            source_close(&f->source);
    }
    if (status == STATUS_OK)
        status = score_file(&f->file, f->source, path, &score, error);
    *result = (struct follow_score){.step = f->file.step,
                                    .steps = f->file.job.steps,
                                    .test = figures_of(&f->file, &score),
                                    .examples = score.examples,
                                    .not_finite = score.not_finite};
    return status;
}

static enum status keep_model(void *context, const char *path, struct error *error)
{
    const struct model_file *file = &((struct following *)context)->file;
    return model_file_write(&disk_posix, path, file->model, file->variables, file->variable_count,
                            file->parameters, NULL, error);
}

static int follow(const struct options *options, struct error *error)
{
    struct following following = {.options = options};
    const struct follow_hooks hooks = {&following, score_checkpoint, keep_model};
    const struct follow_options wanted = {
        .run = options->path,
        .best = options->out,
        .rules = {.by = strcmp(options->best, "loss") == 0 ? BEST_BY_LOSS : BEST_BY_ACCURACY,
                  .patience = options->patience},
        .start_seconds = options->deadlines.start,
        .recovery_seconds = options->deadlines.recovery,
        .json = options->json,
        .quiet = options->quiet,
    };
    int code = follow_run(&wanted, &hooks, error);
    model_file_close(&following.file);
    source_close(&following.source);
    return code;
}

int command_evaluate(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    kernels_init();
    kernels_limit(options_instructions(options));
    if (dataset_check_name(options->data, error) != STATUS_OK)
        return EXIT_USAGE;
    return options->follow ? follow(options, error) : command_exit_code(evaluate(options, error));
}

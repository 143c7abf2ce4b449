/* syncopate evaluate PATH: what a trained model scores on the test set. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint.h"
#include "common/options.h"
#include "common/wording.h"
#include "deploy/command.h"
#include "worker/dataset.h"
#include "worker/model.h"

#define EVALUATE_BATCH 64 /* Examples computed at once; changes speed, not the result. */

/* The file's variables must be those that its layer list makes on these images. */
static enum status check_variables(const struct model_file *file, const struct model *model,
                                   const char *path, struct error *error)
{
    uint32_t count;
    const struct variable *expected = model_variables(model, &count);
    if (count != file->variable_count)
        return error_set(error, STATUS_MISMATCH, "%s: has %u variables, its layer list makes %u",
                         path, file->variable_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct variable *found = &file->variables[i];
        char theirs[COMMAND_SHAPE_MAX], ours[COMMAND_SHAPE_MAX];
        command_shape(found, theirs);
        command_shape(&expected[i], ours);
        if (strcmp(found->name, expected[i].name) != 0 || strcmp(theirs, ours) != 0)
            return error_set(error, STATUS_MISMATCH,
                             "%s: has %s %s where its layer list makes %s %s for these images",
                             path, found->name, theirs, expected[i].name, ours);
    }
    return STATUS_OK;
}

static enum status score_file(const struct model_file *file, const struct dataset *dataset,
                              const char *path, struct score *score, struct error *error)
{
    struct model_input input = {dataset->height, dataset->width, dataset->channels,
                                dataset->classes};
    struct model *model = NULL;
    enum status status = model_create(&model, file->model, input, EVALUATE_BATCH, error);
    if (status != STATUS_OK)
        return status;
    status = check_variables(file, model, path, error);
    if (status == STATUS_OK)
        model_evaluate(model, file->parameters, dataset->test.images, dataset->test.labels,
                       dataset->test.count, score);
    model_destroy(&model);
    return status;
}

static void print_score(const struct model_file *file, const struct dataset *dataset,
                        const struct score *score)
{
    double examples = (double)score->examples;
    double loss = score->not_finite > 0
                      ? NAN
                      : (double)score->loss * SCORE_LOSS_UNIT / (examples > 0 ? examples : 1);
    printf("model          %s\n", file->model);
    printf("data           %s, %s\n", dataset->name,
           wording_counted(dataset->test.count, "test example", "test examples").text);
    printf("test loss      %.6f\n", loss);
    printf("test accuracy  %.2f %%\n",
           100 * (double)score->correct / (examples > 0 ? examples : 1));
    if (score->not_finite > 0)
        printf("not finite     %s\n",
               wording_counted(score->not_finite, "example", "examples").text);
}

static enum status evaluate(const struct options *options, struct error *error)
{
    struct model_file file = {0};
    struct dataset dataset = {0};
    struct score score = {0};
    enum status status = model_file_open(&file, &disk_posix, options->path, error);
    if (status != STATUS_OK)
        return status;
    status = dataset_open(&dataset, options->data, options->seed, error);
    if (status == STATUS_OK) {
        status = score_file(&file, &dataset, options->path, &score, error);
        if (status == STATUS_OK)
            print_score(&file, &dataset, &score);
        dataset_close(&dataset);
    }
    model_file_close(&file);
    return status;
}

int command_evaluate(int argc, char **argv)
{
    static const char program[] = "syncopate evaluate";
    struct options options;
    struct error error = {0};
    int code;
    if (!command_begin(&options, OPTION_EVALUATE, argc, argv, &code))
        return code;
    enum status status = evaluate(&options, &error);
    if (status != STATUS_OK)
        return command_fail(program, command_exit_code(status), &error);
    return EXIT_DONE;
}

/* source.h - where gradients come from: our own layers on our own data, or a program.
 *
 * All that trains, replays or simulates asks a source one question: the gradient of this leaf at these
 * parameters. A source answers in two steps of its life. source_open learns the data's sizes and name;
 * source_prepare learns the size of a leaf, and then the variables are known and questions are answered.
 * A source that was opened to look (source_options.look) answers no questions.
 *
 * A gradient is the *sum* over the leaf's examples. The same parameters and the same leaf give the same
 * bits, whatever was asked before.
 *
 * Ownership: source_close frees everything; strings and variables live as long as the source.
 * Threads: one owner. Errors: one line, for the person who chose model, data or program. */

#ifndef WORKER_SOURCE_SOURCE_H
#define WORKER_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/options/options.h"
#include "worker/model/model.h"
#include "worker/source/program.h"

struct source_options {
    struct program_options program; /* command NULL, socket 0: our layers. */
    const char *model;              /* Of our layers. */
    char data[OPTIONS_DATA_MAX];    /* As well. */
    uint64_t seed;
    uint64_t check_leaves; /* A program computes one leaf of so many steps twice; 0: never. */
    int data_fd; /* Memory that the workers of this host share (shared_dataset.h); 0: none. */
    bool look;   /* Sizes and names only: data are not read. */
    const char *declares; /* To look at a program without starting it; NULL: it is started. */
};

/* One leaf of a step: its examples, by their numbers in the training set. */
struct source_leaf {
    uint64_t batch, epoch;
    uint32_t leaf, count;
    const uint32_t *examples; /* [count]; NULL: of a stream. */
    bool fresh;               /* The parameters may be others than at the question before. */
    bool begun;               /* begin and go_on were called for this leaf, and nothing after. */
};

struct source;

struct source_kind {
    enum status (*prepare)(struct source *source, uint32_t leaf_max, double loss_unit,
                           struct error *error);
    enum status (*gradient)(struct source *source, const float *parameters,
                            const struct source_leaf *leaf, float *gradient, struct score *score,
                            const struct ready *ready, struct error *error);
    enum status (*score)(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error);
    /* The values that training begins with, into values [elements]. NULL: no variable is given. */
    enum status (*initial)(struct source *source, uint64_t seed, float *values,
                           struct error *error);
    /* A digest of this host's arithmetic; workers of one job must have the same. */
    enum status (*probe)(struct source *source, uint8_t digest[DIGEST_BYTES], struct error *error);
    /* Both NULL where a leaf cannot begin before all its parameters are here. */
    void (*begin)(struct source *source, const struct source_leaf *leaf);
    uint64_t (*go_on)(struct source *source, const float *parameters, uint64_t end);
    void (*close)(struct source *source);
};

/* The fields are for reading. */
struct source {
    const struct source_kind *kind;
    char data[256];               /* The data's name. */
    uint8_t digest[DIGEST_BYTES]; /* Of the data; zeros when only looked at. */
    uint64_t examples,
        test_examples;    /* examples 0: a stream, whose examples its program chooses. */
    uint32_t score_piece; /* Test examples whose loss is rounded together; 0: each its own. */
    enum scores scores;
    uint32_t classes;             /* 0: not known. */
    uint32_t first_class;         /* As the data count them: 0 or 1. */
    uint64_t data_bytes;          /* That the examples take in memory. */
    const struct json *suggested; /* Values of options that were not given; NULL: none. */
    const char *declares;         /* The text that a program has declared; NULL. */
    /* How the job has ended, for a program: set by its owner before source_close, borrowed. NULL: well. */
    int exit_code;
    const char *reason;
    bool answers; /* Questions, although it was opened to look. */
    /* From source_prepare on: */
    const char *model; /* Its canonical text. */
    const struct variable *variables;
    uint32_t variable_count;
    uint64_t elements; /* Of the parameter space. */
};

/* STATUS_INVALID: --program-fd is not two numbers. */
enum status source_options_of(struct source_options *source, const struct options *options,
                              struct error *error);

/* What asks for what a file was trained by: its model's text and its data's name, or a program in place of
 * both. model: "" where the file names none. STATUS_MISMATCH: of layers and a program one is given and the
 * other is needed; `path` names the file. */
enum status source_options_for(struct source_options *source, const struct options *options,
                               const char *path, const char *model, const char *data,
                               struct error *error);

/* STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: the data cannot be read. STATUS_PROGRAM. */
enum status source_open(struct source **source, const struct source_options *options,
                        struct error *error);
void source_close(struct source **source);

/* For leaves of at most `leaf_max` examples, and losses in units of `loss_unit` (job_score.h). STATUS_INVALID: the model does not fit the data. */
static inline enum status source_prepare(struct source *source, uint32_t leaf_max, double loss_unit,
                                         struct error *error)
{
    return source->kind->prepare(source, leaf_max, loss_unit, error);
}

/* The values that training begins with, into values [elements], of a job with this seed. */
static inline enum status source_initial(struct source *source, uint64_t seed, float *values,
                                         struct error *error)
{
    bool given = false; /* Variables that the source has values of; others have initializers. */
    for (uint32_t i = 0; i < source->variable_count; i++)
        given |= source->variables[i].initializer == INITIALIZER_GIVEN;
    enum status status = given ? source->kind->initial(source, seed, values, error) : STATUS_OK;
    if (status == STATUS_OK)
        variables_initialize(source->variables, source->variable_count, seed, values, 0,
                             source->elements, values);
    return status;
}

/* gradient: [elements], overwritten; gaps between variables are 0. score: added to. ready: model.h; NULL
 * without. A leaf that is not finite is counted in score->not_finite and is no error. */
static inline enum status source_gradient(struct source *source, const float *parameters,
                                          const struct source_leaf *leaf, float *gradient,
                                          struct score *score, const struct ready *ready,
                                          struct error *error)
{
    return source->kind->gradient(source, parameters, leaf, gradient, score, ready, error);
}

/* Of examples [first, first + count) of the test set, piece by piece; first is where one begins. score:
 * added to. */
enum status source_score(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error);

static inline enum status source_probe(struct source *source, uint8_t digest[DIGEST_BYTES],
                                       struct error *error)
{
    return source->kind->probe(source, digest, error);
}

#endif

/* test_source_program.c - a source that asks a program has the bits of layers where the program computes by them, and
 * takes nothing that a program must not give. */
/* promises: programs */

#include "worker/source/source_program.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/job/job_score.h"
#include "common/kernels/kernels.h"
#include "tests/lib/runs/layers_program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"
#include "worker/program/syncopate.h"

enum { LEAF_MAX = 8, SECONDS = 60, RESTARTS = 3 };

#define MODEL "flatten, dense 5 relu, dense 10"
#define DATA  "synthetic:200"
/* Computes as MODEL on DATA does. */
#define LAYERS "exec $LAYERS '" MODEL "' " DATA " 3 "

struct sum {
    enum status status;
    struct error error;
    float *values; /* [elements] */
    struct score score;
    uint64_t parts[8];
    unsigned part_count;
    bool late; /* A part that was told had another value at the end. */
    float *told;
};

struct asking {
    struct source *source;
    float *parameters; /* [elements] */
    uint32_t examples[LEAF_MAX];
    uint64_t batch;
    bool is_stream;
    struct sum sum;
};

static void begin_checked(struct asking *a, const char *program, uint64_t check_leaves)
{
    struct source_options options = {
        .program = {.command = program,
                    .start_seconds = SECONDS,
                    .answer_seconds = SECONDS,
                    .restarts = RESTARTS},
        .model = MODEL,
        .data = DATA,
        .seed = 3,
        .check_leaves = check_leaves,
    };
    struct error error;
    memset(a, 0, sizeof *a);
    kernels_init();
    layers_program_name();
    ck_assert_msg(source_open(&a->source, &options, &error) == STATUS_OK &&
                      source_prepare(a->source, LEAF_MAX, LOSS_UNIT_DEFAULT, &error) == STATUS_OK,
                  "%s", error.text);
    size_t bytes = a->source->elements * sizeof(float);
    a->parameters = aligned_alloc(64, bytes);
    a->sum.values = aligned_alloc(64, bytes);
    a->sum.told = aligned_alloc(64, bytes);
    ck_assert_int_eq(source_initial(a->source, 3, a->parameters, &error), STATUS_OK);
    for (uint32_t i = 0; i < LEAF_MAX; i++)
        a->examples[i] = 11 * i;
}

static void begin(struct asking *a, const char *program)
{
    begin_checked(a, program, 0);
}

static void end(struct asking *a)
{
    source_close(&a->source);
    free(a->parameters);
    free(a->sum.values);
    free(a->sum.told);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1); /* No child is left. */
}

static void note_part(void *context, uint64_t first)
{
    struct asking *a = context;
    a->sum.parts[a->sum.part_count++] = first;
    memcpy(a->sum.told + first, a->sum.values + first,
           (a->source->elements - first) * sizeof(float));
}

/* The gradient of a leaf into a->sum. */
static enum status compute(struct asking *a, uint32_t leaf, uint32_t count, bool fresh, bool parts)
{
    const struct ready ready = {note_part, a};
    const struct source_leaf what = {.batch = a->batch,
                                     .epoch = 2,
                                     .leaf = leaf,
                                     .count = count,
                                     .examples = a->is_stream ? NULL : a->examples,
                                     .fresh = fresh};
    struct sum *sum = &a->sum;
    memset(sum->values, 0xff, a->source->elements * sizeof(float)); /* Overwritten, gaps and all. */
    sum->score = (struct score){0};
    sum->part_count = 0;
    return source_gradient(a->source, a->parameters, &what, sum->values, &sum->score,
                           parts ? &ready : NULL, &sum->error);
}

static void must_compute(struct asking *a, uint32_t leaf, uint32_t count, bool fresh, bool parts)
{
    ck_assert_msg(compute(a, leaf, count, fresh, parts) == STATUS_OK, "%s", a->sum.error.text);
}

/* Both have the same of a few leaves with the same and with other parameters. */
static void has_bits_of(struct asking *a, struct asking *other, bool parts)
{
    ck_assert_uint_eq(a->source->elements, other->source->elements);
    size_t bytes = a->source->elements * sizeof(float);
    ck_assert_mem_eq(a->parameters, other->parameters, bytes); /* The initial ones. */
    for (uint32_t leaf = 0; leaf < 6; leaf++) {
        uint32_t count = LEAF_MAX - leaf % 3;
        if (leaf == 3)
            a->parameters[5] = other->parameters[5] = 0.5f;
        must_compute(a, leaf, count, leaf % 3 == 0, parts);
        must_compute(other, leaf, count, leaf % 3 == 0, parts);
        ck_assert_mem_eq(a->sum.values, other->sum.values, bytes);
        ck_assert_mem_eq(&a->sum.score, &other->sum.score, sizeof a->sum.score);
        ck_assert_uint_eq(a->sum.part_count, other->sum.part_count);
        uint64_t told = parts ? a->sum.parts[a->sum.part_count - 1] : a->source->elements;
        ck_assert_mem_eq(a->sum.values + told, a->sum.told + told,
                         (a->source->elements - told) * sizeof(float));
    }
}

/* With its faults, and whether there are gradients in parts. */
static const struct {
    const char *program;
    bool parts;
} same[] = {
    {LAYERS, false},
    {LAYERS, true},
    {LAYERS "--kill 2 --once $MARK", false},
    {LAYERS "--kill 2 --once $MARK", true},
    {LAYERS "--kill 3", false}, /* Each process, at its third leaf. */
    {LAYERS "--gaps 1", false},
    {LAYERS "--gaps 1", true},
};

TEST_TIMES(a_program_has_the_bits_of_layers, sizeof same / sizeof *same)
{
    struct asking layers, program;
    begin(&layers, NULL);
    begin(&program, same[_i].program);
    has_bits_of(&program, &layers, same[_i].parts);
    end(&program);
    end(&layers);
}

TEST_PLAIN(a_score_has_the_bits_of_layers_in_whole_pieces)
{
    struct asking layers, program;
    begin(&layers, NULL);
    begin(&program, LAYERS);
    uint64_t count = layers.source->test_examples;
    struct score ours = {0}, theirs = {0}, again = {0};
    ck_assert_uint_gt(count, 32); /* It is not one piece. */
    ck_assert_int_eq(source_score(layers.source, layers.parameters, 0, count, &ours, NULL), 0);
    ck_assert_int_eq(source_score(program.source, program.parameters, 0, count, &theirs, NULL), 0);
    ck_assert_int_eq(source_score(program.source, program.parameters, 0, 32, &again, NULL), 0);
    ck_assert_int_eq(source_score(program.source, program.parameters, 32, count - 32, &again, NULL),
                     0);
    ck_assert_uint_eq(ours.correct, theirs.correct);
    ck_assert_uint_eq(ours.examples, theirs.examples);
    ck_assert_mem_eq(&theirs, &again, sizeof again);
    end(&program);
    end(&layers);
}

TEST_PLAIN(what_is_looked_at_has_the_names_of_the_declaration)
{
    struct asking a;
    begin(&a, LAYERS);
    ck_assert_str_eq(a.source->model, "program: layers: " MODEL);
    ck_assert_str_eq(a.source->data, DATA);
    ck_assert_uint_eq(a.source->examples, 200);
    ck_assert_uint_eq(a.source->score_piece, 32);
    ck_assert(a.source->answers);
    ck_assert_int_eq(source_prepare(a.source, LEAF_MAX, LOSS_UNIT_DEFAULT, NULL), STATUS_OK);
    ck_assert_int_eq(source_prepare(a.source, LEAF_MAX + 1, LOSS_UNIT_DEFAULT, NULL),
                     STATUS_INVALID);
    end(&a);
}

static void probe_of(const char *program, uint8_t digest[DIGEST_BYTES])
{
    struct asking a;
    struct error error;
    begin(&a, program);
    ck_assert_msg(source_probe(a.source, digest, &error) == STATUS_OK, "%s", error.text);
    end(&a);
}

TEST_PLAIN(a_probe_tells_programs_with_other_bits_apart)
{
    uint8_t digests[4][DIGEST_BYTES];
    probe_of(LAYERS, digests[0]);
    probe_of(LAYERS "--kill 1 --once $MARK", digests[1]);
    probe_of("exec $LAYERS '" MODEL "' " DATA " 4", digests[2]);
    probe_of(LAYERS "--random 1", digests[3]);
    ck_assert_mem_eq(digests[0], digests[1], DIGEST_BYTES);
    ck_assert_mem_ne(digests[0], digests[2], DIGEST_BYTES);
    ck_assert_mem_ne(digests[0], digests[3], DIGEST_BYTES);
}

TEST_PLAIN(a_stream_has_no_numbers_and_is_computed_once)
{
    struct asking a;
    float first;
    begin_checked(&a, LAYERS "--stream 5 --random 1", 1);
    ck_assert_uint_eq(a.source->examples, 0);
    ck_assert_int_eq(source_probe(a.source, (uint8_t[DIGEST_BYTES]){0}, NULL), STATUS_OK);
    a.is_stream = true;
    must_compute(&a, 0, LEAF_MAX, true, false);
    first = a.sum.values[0];
    must_compute(&a, 0, LEAF_MAX, true, false);
    ck_assert_float_ne(a.sum.values[0], first);
    ck_assert_uint_eq(a.sum.score.examples, LEAF_MAX);
    end(&a);
    begin(&a, LAYERS "--stream 5"); /* Its probe is not of what it reads. */
    uint8_t digests[2][DIGEST_BYTES];
    ck_assert_int_eq(source_probe(a.source, digests[0], NULL), STATUS_OK);
    end(&a);
    probe_of(LAYERS "--stream 6", digests[1]);
    ck_assert_mem_eq(digests[0], digests[1], DIGEST_BYTES);
}

/* --- leaves that are computed twice ------------------------------------------------------------ */

static const struct {
    const char *program;
    uint64_t check_leaves;
    int fails; /* In this step, from 0 on; -1: in none. */
    const char *says;
} checks[] = {
    {LAYERS, 1, -1, ""},
    {LAYERS "--kill 6", 2, -1, ""},
    {LAYERS "--gaps 1", 1, -1, ""},
    {LAYERS "--random 1", 0, -1, ""},
    {LAYERS "--random 1", 3, 0,
     "leaf 3 of step 40 came out differently the second time (dense1/kernel, 1 of 3920 values): "
     "the "
     "program is not deterministic"},
    {LAYERS "--random 3", 3, 3,
     "leaf 3 of step 43 came out differently the second time (dense1/kernel, 1 of 3920 values): "
     "the "
     "program is not deterministic"},
    {LAYERS "--writes 1", 3, 0,
     "leaf 3 of step 40: the program has changed its parameters (dense1/kernel, 1 of 3920 values), "
     "which it must only read"},
};

/* Steps of two leaves, the first of which has new parameters. */
TEST_TIMES(one_leaf_in_so_many_steps_is_computed_twice, sizeof checks / sizeof *checks)
{
    struct asking a;
    enum status status = STATUS_OK;
    int step = 0;
    begin_checked(&a, checks[_i].program, checks[_i].check_leaves);
    for (; step < 5 && status == STATUS_OK; step++) {
        a.batch = 40 + (uint64_t)step;
        status = compute(&a, 3, LEAF_MAX, true, step == 4);
        if (status == STATUS_OK)
            must_compute(&a, 4, LEAF_MAX, false, false);
    }
    ck_assert_int_eq(status, checks[_i].fails < 0 ? STATUS_OK : STATUS_PROGRAM);
    ck_assert_str_eq(a.sum.error.text, checks[_i].says);
    if (checks[_i].fails >= 0)
        ck_assert_int_eq(step - 1, checks[_i].fails);
    end(&a);
}

/* --- a program that is a child of this test ---------------------------------------------------- */

/* What it answers to the first COMPUTE. */
struct lie {
    double loss;
    uint64_t correct;
    enum status status;
    uint64_t not_finite;
    const char *says;
    bool only_loss;
    uint64_t batch;
};

static const struct syncopate_variable variables[] = {
    {.name = "w", .rank = 1, .shape = {20}},
    {.name = "b", .rank = 1, .shape = {3}, .initializer = SYNCOPATE_ZEROS}};

/* Its initial values are numbers from the job's seed on. */
static _Noreturn void answer(int socket, int memory, const struct lie *lie, uint64_t examples)
{
    const struct syncopate_declaration declaration = {.name = "lie",
                                                      .variables = variables,
                                                      .variable_count = 2,
                                                      .examples = examples,
                                                      .test_examples = 50,
                                                      .only_loss = lie->only_loss};
    struct syncopate *s;
    struct syncopate_work work;
    char text[60], why[200];
    snprintf(text, sizeof text, "1,%d,%d", socket, memory);
    setenv("SYNCOPATE_PROGRAM", text, 1);
    if (syncopate_open(&s, &declaration, why, sizeof why) != 0)
        _exit(1);
    while (syncopate_next(s, &work) == 0 && work.kind != SYNCOPATE_ENDED) {
        for (unsigned i = 0; work.kind == SYNCOPATE_INITIAL && i < 23; i++)
            syncopate_parameters(s, i / 20)[i % 20] = (float)(work.seed + i);
        for (unsigned i = 0; work.kind == SYNCOPATE_GRADIENT && i < 20; i++)
            syncopate_gradient(s, 0)[i] = (float)(work.seed % 1000);
        bool lies = work.kind == SYNCOPATE_GRADIENT;
        syncopate_done(s, lies ? lie->loss : 0, lies ? lie->correct : 0);
    }
    _exit(work.exit_code);
}

static void begin_lie(struct asking *a, const struct lie *lie, uint64_t examples)
{
    int ends[2], memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct source_options options = {.seed = 3};
    struct error error;
    memset(a, 0, sizeof *a);
    kernels_init();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        answer(ends[1], memory, lie, examples);
    }
    close(ends[1]);
    options.program = (struct program_options){.start_seconds = SECONDS,
                                               .answer_seconds = SECONDS,
                                               .restarts = RESTARTS,
                                               .socket = ends[0],
                                               .memory = memory};
    ck_assert_msg(source_open(&a->source, &options, &error) == STATUS_OK &&
                      source_prepare(a->source, LEAF_MAX, LOSS_UNIT_DEFAULT, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_uint_eq(a->source->elements, 48);
    a->parameters = aligned_alloc(64, 256);
    a->sum.values = aligned_alloc(64, 256);
    a->sum.told = aligned_alloc(64, 256);
    memset(a->parameters, 0, 256);
}

/* It ends with the job, which tells it how. */
static void end_lie(struct asking *a, int exit_code)
{
    int status;
    source_close(&a->source);
    ck_assert_int_gt(wait(&status), 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == exit_code);
    end(a);
}

static const struct lie lies[] = {
    {2.5, 5, STATUS_OK, 0, "", false, 0},
    {2.5, 999, STATUS_OK, 0, "", true, 0}, /* It has no meaning. */
    {NAN, 5, STATUS_OK, 5, "", false, 0},
    {INFINITY, 5, STATUS_OK, 5, "", false, 0},
    {2.5, 6, STATUS_PROGRAM, 0, "program: 6 of 5 examples cannot be right", false, 0},
    {2.5, UINT64_MAX, STATUS_PROGRAM, 0, "program: 18446744073709551615 of 5 examples cannot",
     false, 0},
    {1e300, 5, STATUS_PROGRAM, 0, "--loss-unit", false, 0},
    {1e300, 5, STATUS_DIVERGED, 0, "training diverged: step 7, leaf 0 (program: lie): ", false, 7},
    {-1e300, 5, STATUS_PROGRAM, 0, "--loss-unit", false, 0},
    {5 * 65536.0 * 1.01, 5, STATUS_PROGRAM, 0, "--loss-unit", false, 0},
};

TEST_TIMES(a_leaf_with_an_impossible_score_is_refused, sizeof lies / sizeof *lies)
{
    struct asking a;
    begin_lie(&a, &lies[_i], 100);
    a.batch = lies[_i].batch;
    ck_assert_int_eq(compute(&a, 0, 5, true, false), lies[_i].status);
    ck_assert_msg(strstr(a.sum.error.text, lies[_i].says) != NULL, "%s", a.sum.error.text);
    ck_assert_uint_eq(a.sum.score.not_finite, lies[_i].not_finite);
    if (_i == 0)
        ck_assert_int_eq(a.sum.score.loss, (int64_t)(2.5 / LOSS_UNIT_DEFAULT));
    end_lie(&a, lies[_i].status == STATUS_PROGRAM ? EXIT_PROGRAM : EXIT_DONE);
}

TEST_PLAIN(initial_values_are_the_program_s_where_they_are_given)
{
    struct asking a;
    struct error error;
    begin_lie(&a, lies, 100);
    memset(a.parameters, 0xff, 256);
    ck_assert_int_eq(source_initial(a.source, 7, a.parameters, &error), STATUS_OK);
    for (int i = 0; i < 48; i++) /* b has zeros by its initializer. */
        ck_assert_float_eq(a.parameters[i], i < 20 ? (float)(7 + i) : 0);
    end_lie(&a, EXIT_DONE);
}

TEST_PLAIN(a_leaf_s_seed_is_its_own)
{
    struct asking a;
    float first;
    begin_lie(&a, lies, 100);
    must_compute(&a, 1, 5, true, false);
    first = a.sum.values[0];
    must_compute(&a, 2, 5, true, false);
    ck_assert_float_ne(a.sum.values[0], first);
    must_compute(&a, 1, 5, true, false);
    ck_assert_float_eq(a.sum.values[0], first);
    end_lie(&a, EXIT_DONE);
}

/* --- what a file was trained by ---------------------------------------------------------------- */

TEST_PLAIN(layers_and_programs_are_not_taken_for_each_other)
{
    struct options options = {.program = NULL};
    struct source_options of;
    struct error error;
    ck_assert_int_eq(source_options_for(&of, &options, "RUN", "softmax", "synthetic", &error),
                     STATUS_OK);
    ck_assert_int_eq(
        source_options_for(&of, &options, "RUN", "program: touch /tmp/x", "touch /tmp/x", &error),
        STATUS_MISMATCH);
    ck_assert_str_eq(error.text,
                     "RUN was trained by a program (touch /tmp/x): give it with --program");
    ck_assert_ptr_null(of.program.command); /* A run's text is no command. */
    options.program = "./net";
    ck_assert_int_eq(source_options_for(&of, &options, "RUN", "softmax", "synthetic", &error),
                     STATUS_MISMATCH);
    ck_assert_str_eq(error.text, "RUN was trained by layers: without --program");
    ck_assert_int_eq(source_options_for(&of, &options, "RUN", "program: p", "d", &error),
                     STATUS_OK);
    ck_assert_str_eq(of.program.command, "./net");
}

static const char *const descriptors[] = {"", "3", "3,", "3,4,5", "2,4", "3,2", "a,b", "3,4x"};

TEST_TIMES(a_program_fd_is_two_descriptors, sizeof descriptors / sizeof *descriptors)
{
    struct options options = {.program_fd = descriptors[_i]};
    struct source_options of;
    struct error error;
    ck_assert_int_eq(source_options_of(&of, &options, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "needs two descriptors: SOCKET,MEMORY");
    options.program_fd = "3,4";
    ck_assert_int_eq(source_options_of(&of, &options, &error), STATUS_OK);
}

int main(void)
{
    return suite_run("source_program", scratch_add);
}

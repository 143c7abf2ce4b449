/* layers.c - the program of the tests: it computes by our own layers what --model MODEL --data DATA --seed SEED
 * would compute, to the bit, and does wrong what it is given to do.
 *
 *     layers MODEL DATA SEED [FAULT]...
 *
 *     --hang N, --exit N, --kill N   at leaf N, from 1 on, of this process; 0: before it declares. exit: with 3
 *     --fail N                       says that it cannot go on
 *     --nan N                        an element is none from this leaf on
 *     --random N                     from this leaf on no gradient is like another
 *     --gaps N, --writes N           from this leaf on it writes between variables, and into a parameter
 *     --close N                      at leaf N it closes its socket, and lives on
 *     --say WHAT N                   before the answer it says WHAT of `wrongs` below
 *     --declare TEXT                 what it declares
 *     --name TEXT                    its name, and that of its data
 *     --stream SEED, --loss 1        declares a stream, and loss alone for its scores
 *     --given 1                      gives the initial values that --model would have
 *     --differs 1                    has another fingerprint
 *     --once FILE                    what comes first of all this only, and only in the process that makes FILE */

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "worker/data/dataset.h"
#include "worker/model/model.h"
#include "worker/program/syncopate.h"

struct header {
    uint32_t bytes;
    uint16_t kind, flags;
    uint64_t serial; /* In `wrongs`: added to that of the question. */
};

static const struct wrong {
    const char *name;
    struct header header;
    uint64_t body[2];
} wrongs[] = {
    {"kind", {8, 42, 0, 0}, {0}},        {"layout", {16, 2, 0, 0}, {0}},
    {"declare", {2, 1, 0, 0}, {0x7d7b}}, {"flags", {16, 7, 1, 0}, {0}},
    {"serial", {16, 7, 0, 1}, {0}},      {"short", {8, 7, 0, 0}, {0}},
    {"long", {16, 8, 0, 0}, {0}},        {"part", {8, 6, 0, 0}, {UINT64_MAX}},
    {"twice", {16, 7, 0, 0}, {0}},
};

struct faults {
    uint64_t hang, end, kill, fail, nan, random, gaps, writes, close, say; /* UINT64_MAX: never. */
    const struct wrong *wrong;
    const char *declare, *once, *name;
    uint64_t stream, loss, differs, given;
};

struct layers {
    struct dataset dataset;
    struct model *model;
    const char *text;
    uint32_t batch_max;
    uint8_t *inputs; /* Of a leaf, batch_max. */
    union label *labels;
    uint64_t *offsets; /* Of variables. */
    uint32_t variable_count;
    struct syncopate *s;
    struct faults faults;
    int socket;
    uint64_t leaves, serial;
};

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "layers: %s\n", what);
    exit(1);
}

/* --- what it does wrong ------------------------------------------------------------------------ */

static void say(const struct layers *l, struct header header, const void *body, size_t bytes)
{
    must(write(l->socket, &header, sizeof header) == sizeof header &&
             write(l->socket, body, bytes) == (ssize_t)bytes,
         "cannot write");
}

static bool is_due(const struct faults *f, bool now)
{
    return now && (f->once == NULL || open(f->once, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0);
}

static void fault(struct layers *l)
{
    const struct faults *f = &l->faults;
    bool closes = is_due(f, l->leaves == f->close);
    if (closes)
        shutdown(l->socket, SHUT_RDWR);
    if (closes || is_due(f, l->leaves == f->hang))
        for (;;)
            pause();
    if (is_due(f, l->leaves == f->end))
        exit(3);
    if (is_due(f, l->leaves == f->kill))
        raise(SIGKILL);
    if (is_due(f, l->leaves == f->fail))
        syncopate_fail(l->s, "as it was given to");
    if (is_due(f, l->leaves == f->say)) {
        struct header header = f->wrong->header;
        size_t bytes = header.bytes;
        if (strcmp(f->wrong->name, "long") == 0)
            header.bytes = UINT32_MAX;
        header.serial += l->serial;
        say(l, header, f->wrong->body, bytes);
    }
}

static void spoil(const struct layers *l, float *gradient)
{
    if (is_due(&l->faults, l->leaves >= l->faults.nan))
        gradient[0] = NAN;
    if (is_due(&l->faults, l->leaves >= l->faults.random))
        gradient[0] += (float)(clock_now_ns() % 1000003) * 1e-6f;
    if (l->leaves >= l->faults.writes)
        syncopate_parameters(l->s, 0)[1] += 1;
    const struct variable *variables = model_variables(l->model, &(uint32_t){0});
    for (uint32_t i = 0; l->leaves >= l->faults.gaps && i < l->variable_count; i++)
        if (variable_elements(&variables[i]) < variable_room(variable_elements(&variables[i])))
            gradient[l->offsets[i] + variable_elements(&variables[i])] = NAN;
}

static const struct wrong *wrong_named(const char *name)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        if (strcmp(name, wrongs[i].name) == 0)
            return &wrongs[i];
    must(false, "no such message");
    return NULL;
}

static void read_faults(struct layers *l, int argc, char **argv)
{
    struct faults *f = &l->faults;
    memset(f, 0xff, sizeof *f);
    f->declare = f->once = f->name = NULL;
    f->wrong = NULL;
    f->loss = f->differs = f->given = 0;
    for (int i = 4; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        uint64_t number = strtoull(value, NULL, 10);
        if (strcmp(name, "--say") == 0 && i + 2 < argc) {
            f->wrong = wrong_named(value);
            f->say = strtoull(argv[++i + 1], NULL, 10);
        } else if (strcmp(name, "--declare") == 0) {
            f->declare = value;
        } else if (strcmp(name, "--name") == 0) {
            f->name = value;
        } else if (strcmp(name, "--once") == 0) {
            f->once = value;
        } else {
            uint64_t *fault = strcmp(name, "--hang") == 0      ? &f->hang
                              : strcmp(name, "--exit") == 0    ? &f->end
                              : strcmp(name, "--kill") == 0    ? &f->kill
                              : strcmp(name, "--fail") == 0    ? &f->fail
                              : strcmp(name, "--nan") == 0     ? &f->nan
                              : strcmp(name, "--random") == 0  ? &f->random
                              : strcmp(name, "--gaps") == 0    ? &f->gaps
                              : strcmp(name, "--writes") == 0  ? &f->writes
                              : strcmp(name, "--close") == 0   ? &f->close
                              : strcmp(name, "--stream") == 0  ? &f->stream
                              : strcmp(name, "--loss") == 0    ? &f->loss
                              : strcmp(name, "--differs") == 0 ? &f->differs
                              : strcmp(name, "--given") == 0   ? &f->given
                                                               : NULL;
            must(fault != NULL, "no such fault");
            *fault = number;
        }
    }
}

/* --- what it computes -------------------------------------------------------------------------- */

/* For leaves of so many; the bits do not depend on it. */
static void make_model(struct layers *l, uint32_t batch_max)
{
    struct error error;
    struct model_input input = dataset_model_input(&l->dataset);
    model_destroy(&l->model);
    must(model_create(&l->model, l->text, input, batch_max, &error) == STATUS_OK, error.text);
    l->batch_max = batch_max;
    l->inputs = realloc(l->inputs, batch_max * dataset_input_bytes(&l->dataset));
    l->labels = realloc(l->labels, batch_max * sizeof *l->labels);
    must(l->inputs != NULL && l->labels != NULL, "out of memory");
}

static bool is_stream(const struct layers *l)
{
    return l->faults.stream != UINT64_MAX;
}

static void declare(struct layers *l)
{
    const struct variable *variables = model_variables(l->model, &l->variable_count);
    struct syncopate_variable *declared = calloc(l->variable_count, sizeof *declared);
    char name[200], digest[2 * DIGEST_BYTES + 1], why[500];
    l->offsets = calloc(l->variable_count, sizeof *l->offsets);
    must(declared != NULL && l->offsets != NULL, "out of memory");
    variables_layout(variables, l->variable_count, l->offsets);
    for (uint32_t i = 0; i < l->variable_count; i++) {
        declared[i] = (struct syncopate_variable){
            .name = variables[i].name,
            .rank = variables[i].rank,
            .initializer = variables[i].initializer == INITIALIZER_ZEROS ? SYNCOPATE_ZEROS
                                                                         : SYNCOPATE_GLOROT_UNIFORM,
            .fan_in = variables[i].fan_in,
            .fan_out = variables[i].fan_out};
        memcpy(declared[i].shape, variables[i].shape, sizeof variables[i].shape);
        if (l->faults.given > 0)
            declared[i].initializer = SYNCOPATE_GIVEN;
    }
    const char *given = l->faults.name;
    snprintf(name, sizeof name, "%s%.100s",
             given != NULL ? "" : "layers: ", given != NULL ? given : l->text);
    for (unsigned i = 0; i < DIGEST_BYTES; i++)
        snprintf(digest + 2 * i, 3, "%02x", l->dataset.digest[i]);
    const struct syncopate_declaration declaration = {
        .name = name,
        .variables = declared,
        .variable_count = l->variable_count,
        .examples = is_stream(l) ? 0 : l->dataset.train.count,
        .test_examples = l->dataset.test.count,
        .only_loss = l->faults.loss > 0,
        .fingerprint = l->faults.differs > 0 ? "other" : "",
        .score_piece = 32,
        .data = given != NULL ? given : l->dataset.name,
        .data_digest = digest};
    must(syncopate_open(&l->s, &declaration, why, sizeof why) == 0, why);
    free(declared);
}

static void tell_ready(void *context, uint64_t first)
{
    struct layers *l = context;
    for (uint32_t i = 0; i < l->variable_count; i++)
        if (l->offsets[i] == first)
            syncopate_ready(l->s, i);
}

static void gradient(struct layers *l, const struct syncopate_work *work, struct score *score)
{
    struct ready ready = {tell_ready, l};
    uint32_t count = (uint32_t)work->count;
    l->leaves++;
    if (count > l->batch_max)
        make_model(l, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t own = l->faults.stream + 1000 * work->batch + 100 * work->leaf + i;
        uint64_t number = is_stream(l) ? own % l->dataset.train.count : work->examples[i];
        memcpy(l->inputs + i * dataset_input_bytes(&l->dataset),
               (const uint8_t *)l->dataset.train.inputs + number * dataset_input_bytes(&l->dataset),
               dataset_input_bytes(&l->dataset));
        l->labels[i] = l->dataset.train.labels[number];
    }
    fault(l);
    model_gradient_ready(l->model, syncopate_parameters(l->s, 0), l->inputs, l->labels, count,
                         syncopate_gradient(l->s, 0), score, &ready);
    spoil(l, syncopate_gradient(l->s, 0));
}

static void answer(struct layers *l, const struct syncopate_work *work)
{
    const struct examples *test = &l->dataset.test;
    struct score score = {0};
    uint32_t count;
    const struct variable *variables = model_variables(l->model, &count);
    if (work->kind == SYNCOPATE_INITIAL)
        variables_initialize(variables, count, work->seed, NULL, 0, model_elements(l->model),
                             syncopate_parameters(l->s, 0));
    if (work->kind == SYNCOPATE_GRADIENT)
        gradient(l, work, &score);
    if (work->kind == SYNCOPATE_SCORE)
        model_evaluate(l->model, syncopate_parameters(l->s, 0),
                       (const uint8_t *)test->inputs +
                           work->first * dataset_input_bytes(&l->dataset),
                       test->labels + work->first, work->count, &score);
    /* Whole units, which a double holds. */
    syncopate_done(l->s, score.not_finite > 0 ? NAN : (double)score.loss * SCORE_LOSS_UNIT,
                   score.correct);
}

int main(int argc, char **argv)
{
    struct layers l = {0};
    struct syncopate_work work;
    struct header header;
    struct error error;
    const char *asked = getenv("SYNCOPATE_PROGRAM");
    must(argc >= 4 && asked != NULL && sscanf(asked, "1,%d", &l.socket) == 1,
         "MODEL DATA SEED [FAULT]..., as a program");
    read_faults(&l, argc, argv);
    l.text = argv[1];
    fault(&l);
    if (l.faults.declare != NULL) {
        size_t bytes = strlen(l.faults.declare);
        say(&l, (struct header){(uint32_t)bytes, 1, 0, 0}, l.faults.declare, bytes);
        return recv(l.socket, &header, sizeof header, 0) < 0;
    }
    must(dataset_open(&l.dataset, argv[2], strtoull(argv[3], NULL, 10), &error) == STATUS_OK,
         error.text);
    make_model(&l, 32);
    declare(&l);
    int failed;
    do {
        if (recv(l.socket, &header, sizeof header, MSG_PEEK | MSG_WAITALL) == sizeof header)
            l.serial = header.serial;
        failed = syncopate_next(l.s, &work);
        if (!failed && work.kind != SYNCOPATE_ENDED)
            answer(&l, &work);
    } while (!failed && work.kind != SYNCOPATE_ENDED);
    if (syncopate_reason(l.s)[0] != '\0')
        fprintf(stderr, "layers: %s%s\n",
                failed ? "" : "the job has ended: ", syncopate_reason(l.s));
    syncopate_close(&l.s);
    model_destroy(&l.model);
    dataset_close(&l.dataset);
    free(l.inputs);
    free(l.labels);
    free(l.offsets);
    return failed ? 1 : 0;
}

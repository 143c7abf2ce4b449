/* lone_workers.c - a child for each worker; what they took is in memory that all share. */

#include "tests/bench/lib/lone_workers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/job/job_score.h"
#include "common/job/variable.h"
#include "common/optimizer/optimizer.h"
#include "worker/model/model.h"
#include "worker/node_gradient.h"

#define WORKERS_MAX 64
#define BATCH       64 /* The reference job's. */
#define MICRO_BATCH 16

/* What the processes share. */
struct shared {
    pthread_barrier_t start;
    double rates[WORKERS_MAX]; /* Images a second of gradients. */
};

struct lone_worker {
    struct source *source;
    struct job job;
    struct node_gradient gradient;
    struct optimizer_update update;
    const struct optimizer *optimizer;
    float *parameters, *sum; /* [elements] */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static float *zeros(uint64_t count)
{
    float *values = aligned_alloc(64, count * sizeof *values);
    if (values == NULL)
        fail("out of memory");
    memset(values, 0, count * sizeof *values);
    return values;
}

static void initialize(struct lone_worker *worker)
{
    uint64_t offsets[64];
    uint32_t count = worker->source->variable_count;
    const struct variable *variables = worker->source->variables;
    if (count > sizeof offsets / sizeof *offsets)
        fail("too many variables");
    variables_layout(variables, count, offsets);
    for (uint32_t i = 0; i < count; i++)
        variable_initialize(&variables[i], i, worker->job.seed, 0, variable_elements(&variables[i]),
                            worker->parameters + offsets[i]);
}

static void prepare(struct lone_worker *worker, const struct lone_workers *all)
{
    struct error error;
    struct source_options options = {.model = all->model, .seed = 1};
    snprintf(options.data, sizeof options.data, "%s", all->data);
    memset(worker, 0, sizeof *worker);
    if (source_open(&worker->source, &options, &error) != STATUS_OK ||
        source_prepare(worker->source, MICRO_BATCH, LOSS_UNIT_DEFAULT, &error) != STATUS_OK)
        fail(error.text);
    worker->job = (struct job){.mode = MODE_SYNC,
                               .seed = 1,
                               .examples = worker->source->examples,
                               .batch = BATCH,
                               .micro_batch = MICRO_BATCH};
    worker->job.steps = all->epochs * job_steps_per_epoch(&worker->job);
    if (node_gradient_init(&worker->gradient, &worker->job, worker->source) != STATUS_OK)
        fail("out of memory");
    uint64_t elements = worker->source->elements;
    worker->parameters = zeros(elements);
    worker->sum = zeros(elements);
    initialize(worker);
    worker->optimizer = optimizer_find("adam");
    worker->update = (struct optimizer_update){.settings = &worker->optimizer->defaults,
                                               .learning_rate = 0.001f,
                                               .count = elements,
                                               .gradient = worker->sum,
                                               .values_in = worker->parameters,
                                               .values_out = worker->parameters};
    for (uint32_t slot = 0; slot < worker->optimizer->slot_count; slot++)
        worker->update.slots[slot] = zeros(elements);
}

/* Seconds that the gradient of this worker's leaves took; *examples in it. */
static double make_step(struct lone_worker *worker, uint64_t step, uint32_t workers,
                        uint32_t position, uint32_t *examples)
{
    struct error error;
    struct score score = {0};
    struct node nodes[TREE_COVER_MAX];
    double seconds = 0;
    const struct step_shape shape = step_shape_of(&worker->job, step, NULL);
    struct batch_range batch = shape.batch;
    struct node run = tree_run(batch.leaves, workers, position);
    uint32_t count = tree_cover(batch.leaves, run.first_leaf, run.leaf_count, nodes);
    *examples = 0;
    for (uint32_t i = 0; i < count; i++) {
        double began = clock_now_seconds();
        if (node_gradient_compute(&worker->gradient, worker->parameters, &shape, nodes[i],
                                  worker->sum, &score, NULL, &error) != STATUS_OK)
            fail(error.text);
        seconds += clock_now_seconds() - began;
        uint32_t more =
            job_node_examples(&worker->job, batch, nodes[i].first_leaf, nodes[i].leaf_count);
        *examples += more;
        worker->update.t++;
        worker->update.scale = 1.0f / (float)more;
        worker->optimizer->apply(&worker->update);
    }
    return seconds;
}

/* A process's whole life; what it takes ends with it. */
static _Noreturn void work(const struct lone_workers *all, uint32_t position, struct shared *shared)
{
    struct lone_worker worker;
    double seconds = 0, images = 0;
    uint32_t examples;
    prepare(&worker, all);
    pthread_barrier_wait(&shared->start);
    for (uint64_t step = 0; step < worker.job.steps; step++) {
        seconds += make_step(&worker, step, all->workers, position, &examples);
        images += examples;
    }
    shared->rates[position] = images / seconds;
    _exit(EXIT_SUCCESS);
}

static struct shared *share(uint32_t workers)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attributes;
    if (shared == MAP_FAILED || workers > WORKERS_MAX)
        fail("out of memory");
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->start, &attributes, workers);
    return shared;
}

void lone_workers_run(void *context)
{
    struct lone_workers *all = context;
    struct shared *shared = share(all->workers);
    pid_t children[WORKERS_MAX];
    fflush(NULL);
    for (uint32_t i = 0; i < all->workers; i++) {
        children[i] = fork();
        if (children[i] < 0)
            fail("cannot fork");
        if (children[i] == 0)
            work(all, i, shared);
    }
    double rate = 0;
    for (uint32_t i = 0; i < all->workers; i++) {
        int status;
        if (waitpid(children[i], &status, 0) < 0 || status != 0)
            fail("a worker without servers has failed");
        rate += shared->rates[i];
    }
    all->seconds_per_image = 1 / rate;
    munmap(shared, sizeof *shared);
}

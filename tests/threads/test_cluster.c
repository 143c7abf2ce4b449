/* Whole servers and workers as threads of this process: server.c and client.c as they are, with a
 * trainer that makes gradients up: over the transport inside one process, over ZeroMQ on loopback,
 * and over shared memory with the first of these beneath. ThreadSanitizer runs it: all but ZeroMQ
 * without any suppression (see unsuppressed.sh), that with the one for libzmq. */

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <check.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/file/disk.h"
#include "common/job/partition.h"
#include "common/job/update.h"
#include "common/kernels/kernels.h"
#include "common/optimizer/optimizer.h"
#include "common/process/log.h"
#include "common/progress/record.h"
#include "common/store/model_file.h"
#include "common/wire/message.h"
#include "ps/server.h"
#include "tests/lib/scratch.h"
#include "tests/lib/transport_memory.h"
#include "worker/client/client.h"

#define SERVERS_MAX      3
#define WORKERS_MAX      6
#define DEADLINE_SECONDS 30.0 /* Of whatever this test waits for itself. */

/* Two epochs of seven steps make 14; the last batch of an epoch has 4 examples, one leaf. */
#define EXAMPLES 100
#define BATCH    16
#define LEAF     4

struct cluster;
struct worker;

/* What a worker's made-up gradients are, and what it looks at on the way. */
struct script {
    /* The gradient of one leaf, to be added up as real ones are; space is all zero before. */
    void (*leaf)(const struct cluster *cluster, uint64_t step, uint32_t leaf, uint32_t examples,
                 const float *parameters, float *space);
    /* Between pulling the parameters of a step and pushing its gradient; may be NULL. */
    void (*compute)(struct worker *worker, const struct trainer_work *work);
};

struct server_thread {
    struct server *server;
    pthread_t thread;
    int exit_code;
    struct error reason;
};

struct worker {
    struct cluster *cluster;
    uint32_t index;
    pthread_t thread;
    struct client *client;
    float *own;    /* [elements] Sum of what this worker has pushed and has had answered. */
    float *before; /* [elements] Parameters as last seen. */
    uint64_t pushes;
    const float *view; /* Where the parameters were last seen, */
    uint64_t views;    /* and how often it was elsewhere than before. */
    int exit_code;
    char reason[MODEL_TEXT_MAX];
    char fault[256]; /* What broke a promise; the main thread fails the test with it. */
};

enum way { MEMORY, ZMQ, SHM };

struct cluster {
    struct transport *transport;
    struct job job;
    const struct script *script;
    struct partition partition;
    uint64_t *offsets; /* [variable_count] */
    int32_t owner_threads;
    char out[DISK_PATH_MAX];
    struct server_thread servers[SERVERS_MAX];
    struct worker workers[WORKERS_MAX];
    atomic_uint_fast64_t completed; /* Batches whose every answer is here, by all workers. */
    atomic_int stop_with;           /* Exit code of a stop to ask for; 0: none, or asked. */
};

/* --- setting up ------------------------------------------------------------------------------ */

static const char *const variable_names[] = {"a/kernel", "a/bias", "b/kernel", "b/bias"};
static const uint64_t variable_shapes[][2] = {{37, 23}, {1, 23}, {23, 61}, {1, 61}};
#define VARIABLES (sizeof variable_names / sizeof *variable_names)

static void make_job(struct job *job, enum mode mode, const char *optimizer, uint64_t steps,
                     uint32_t servers, uint32_t workers)
{
    memset(job, 0, sizeof *job);
    job->mode = mode;
    job->seed = 7;
    snprintf(job->model, sizeof job->model, "dense 61");
    snprintf(job->data, sizeof job->data, "made up");
    job->optimizer = optimizer_find(optimizer)->defaults;
    snprintf(job->optimizer.name, sizeof job->optimizer.name, "%s", optimizer);
    job->schedule = (struct schedule){.kind = SCHEDULE_CONSTANT, .learning_rate = 1};
    job->examples = EXAMPLES;
    job->test_examples = 50;
    job->batch = BATCH;
    job->micro_batch = LEAF;
    job->steps = steps;
    job->chunk_bytes = 512;
    job->worker_count = workers;
    job->server_count = servers;
    job->variables = calloc(VARIABLES, sizeof *job->variables);
    job->servers = calloc(SERVERS_MAX, sizeof *job->servers);
    ck_assert(job->variables != NULL && job->servers != NULL);
    job->variable_count = VARIABLES;
    for (uint32_t i = 0; i < VARIABLES; i++) {
        struct variable *variable = &job->variables[i];
        snprintf(variable->name, sizeof variable->name, "%s", variable_names[i]);
        variable->rank = 2;
        variable->shape[0] = variable_shapes[i][0];
        variable->shape[1] = variable_shapes[i][1];
        variable->initializer = INITIALIZER_ZEROS;
    }
}

static void cluster_open(struct cluster *cluster, enum way way, const struct script *script)
{
    struct error error;
    memset(cluster, 0, sizeof *cluster);
    cluster->script = script;
    kernels_init();
    log_init("test", LOG_WARNING, LOG_FORMAT_TEXT);
    scratch_path(cluster->out, "out");
    struct transport *inner = NULL;
    if (way == ZMQ)
        ck_assert_int_eq(transport_zmq_create(&cluster->transport, &error), STATUS_OK);
    else
        ck_assert_int_eq(transport_memory_create(&inner), STATUS_OK);
    if (way == MEMORY)
        cluster->transport = inner;
    else if (way == SHM)
        ck_assert_int_eq(transport_shm_create(&cluster->transport, inner, &error), STATUS_OK);
}

static void cluster_lay_out(struct cluster *cluster)
{
    struct job *job = &cluster->job;
    struct error error;
    ck_assert_msg(partition_make(&cluster->partition, job->variables, job->variable_count,
                                 job->server_count, job->chunk_bytes, job_borders(job),
                                 &error) == STATUS_OK,
                  "%s", error.text);
    free(cluster->offsets);
    cluster->offsets = calloc(job->variable_count, sizeof *cluster->offsets);
    ck_assert_ptr_nonnull(cluster->offsets);
    variables_layout(job->variables, job->variable_count, cluster->offsets);
}

/* After a run, so that another one can be made in the same folder. */
static void cluster_forget_job(struct cluster *cluster)
{
    job_free(&cluster->job);
    partition_free(&cluster->partition);
}

static void cluster_close(struct cluster *cluster)
{
    cluster_forget_job(cluster);
    free(cluster->offsets);
    cluster->transport->operations->destroy(&cluster->transport);
}

/* --- a trainer that makes gradients up -------------------------------------------------------- */

/* Integers from 1 to 512 that depend on batch and element: a sum that is right is right for every
 * batch. Times the examples in the batch, which the server divides by; both are powers of two. */
static float integer_of(uint64_t step, uint64_t element)
{
    uint32_t block[4];
    random_block(11, RANDOM_STREAM_PROBE, (uint32_t)step, element, block);
    return (float)(1 + block[0] % 512);
}

static void leaf_integers(const struct cluster *cluster, uint64_t step, uint32_t leaf,
                          uint32_t examples, const float *parameters, float *space)
{
    (void)leaf;
    (void)parameters;
    for (uint32_t v = 0; v < cluster->job.variable_count; v++)
        for (uint64_t i = 0; i < variable_elements(&cluster->job.variables[v]); i++)
            space[cluster->offsets[v] + i] =
                (float)examples * integer_of(step, cluster->offsets[v] + i);
}

/* The same integer everywhere, so that a chunk as pulled must be the same everywhere. */
static void leaf_uniform(const struct cluster *cluster, uint64_t step, uint32_t leaf,
                         uint32_t examples, const float *parameters, float *space)
{
    (void)leaf;
    (void)parameters;
    for (uint64_t i = 0; i < cluster->partition.elements; i++)
        space[i] = (float)examples * integer_of(step, 0);
}

/* Odd numbers whose sum depends on the order of summation, and on parameters of other chunks, so
 * that parameters of mixed versions would show. */
static void leaf_odd(const struct cluster *cluster, uint64_t step, uint32_t leaf, uint32_t examples,
                     const float *parameters, float *space)
{
    uint64_t elements = cluster->partition.elements;
    for (uint32_t v = 0; v < cluster->job.variable_count; v++)
        for (uint64_t k = 0; k < variable_elements(&cluster->job.variables[v]); k++) {
            uint64_t i = cluster->offsets[v] + k;
            uint32_t block[4];
            random_block(13, RANDOM_STREAM_PROBE, (uint32_t)(step << 8 | leaf), i, block);
            space[i] = (float)examples * (random_unit_float(block[0]) - 0.5f) +
                       0.01f * parameters[(7 * i + elements / 2) % elements];
        }
}

/* The sum over a node's leaves along the tree, as node_gradient.c does it with real ones. */
static void sum_node(const struct cluster *cluster, uint64_t step, struct node node,
                     const float *parameters, float *sum)
{
    uint64_t elements = cluster->partition.elements;
    memset(sum, 0, elements * sizeof *sum);
    if (node.leaf_count == 1) {
        uint32_t examples =
            job_node_examples(&cluster->job, job_batch(&cluster->job, step), node.first_leaf, 1);
        cluster->script->leaf(cluster, step, node.first_leaf, examples, parameters, sum);
        return;
    }
    struct node left, right;
    float *other = calloc(elements, sizeof *other);
    if (other == NULL)
        abort();
    tree_children(node, &left, &right);
    sum_node(cluster, step, left, parameters, sum);
    sum_node(cluster, step, right, parameters, other);
    kernels_add(sum, other, elements);
    free(other);
}

static void push_node(struct worker *worker)
{
    struct cluster *cluster = worker->cluster;
    struct frame *gradient = client_gradient(worker->client);
    struct push push = trainer_next(client_trainer(worker->client));
    push.score.examples = push.examples;
    sum_node(cluster, push.step, push.node, client_parameters(worker->client), gradient->data);
    for (uint64_t i = 0; i < cluster->partition.elements; i++)
        worker->own[i] += ((float *)gradient->data)[i] / (float)push.examples;
    client_push(worker->client, &push, gradient);
    worker->pushes++;
}

static void nap(uint32_t microseconds)
{
    struct timespec rest = {0, (long)microseconds * 1000};
    nanosleep(&rest, NULL);
}

/* Score this worker's share of the test set: all of it right. */
static void score(struct worker *worker, const struct trainer_work *work)
{
    uint64_t tests = worker->cluster->job.test_examples;
    uint64_t first = work->share * tests / work->shares;
    uint64_t end = (work->share + 1) * tests / work->shares;
    struct score share = {.correct = end - first, .examples = end - first};
    client_evaluation(worker->client, &share, 1);
}

static void train(struct worker *worker)
{
    struct cluster *cluster = worker->cluster;
    struct trainer_work work;
    bool pushed = false;
    while (client_next(worker->client, &work) == STATUS_OK) {
        if (work.shares > 0) {
            score(worker, &work);
            continue;
        }
        if (pushed)
            atomic_fetch_add(&cluster->completed, 1);
        if (work.enough)
            continue;
        if (cluster->script->compute != NULL)
            cluster->script->compute(worker, &work);
        for (uint32_t i = 0; i < work.node_count; i++)
            push_node(worker);
        pushed = true;
    }
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    struct client_options options = {
        .transport = worker->cluster->transport,
        .job = &worker->cluster->job,
        .worker = worker->index,
        .deadlines = {.start = DEADLINE_SECONDS,
                      .silence = DEADLINE_SECONDS,
                      .recovery = DEADLINE_SECONDS,
                      .progress = 2 * DEADLINE_SECONDS},
    };
    struct error error;
    worker->exit_code = -1;
    if (client_open(&worker->client, &options, &error) != STATUS_OK) {
        snprintf(worker->fault, sizeof worker->fault, "%.200s", error.text);
        return NULL;
    }
    train(worker);
    worker->exit_code = client_trainer(worker->client)->exit_code;
    snprintf(worker->reason, sizeof worker->reason, "%s", client_trainer(worker->client)->reason);
    client_close(&worker->client);
    return NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

static void *server_thread_run(void *argument)
{
    struct server_thread *thread = argument;
    thread->exit_code = server_run(thread->server, &thread->reason);
    return NULL;
}

static void start_servers(struct cluster *cluster)
{
    struct error error;
    for (uint32_t i = 0; i < cluster->job.server_count; i++) {
        struct server_options options = {
            .transport = cluster->transport,
            .disk = &disk_posix,
            .index = i,
            .listen = "127.0.0.1:0",
            .coordinator = cluster->job.servers[0],
            .out = cluster->out,
            .restore = "auto",
            .owner_threads = cluster->owner_threads,
            .deadlines = {.start = DEADLINE_SECONDS,
                          .silence = DEADLINE_SECONDS,
                          .recovery = DEADLINE_SECONDS,
                          .progress = 2 * DEADLINE_SECONDS,
                          .stop = DEADLINE_SECONDS},
        };
        struct server_thread *thread = &cluster->servers[i];
        ck_assert_msg(server_create(&thread->server, &options, &error) == STATUS_OK, "%s",
                      error.text);
        snprintf(cluster->job.servers[i], ADDRESS_MAX, "%s", server_address(thread->server));
    }
    for (uint32_t i = 0; i < cluster->job.server_count; i++)
        ck_assert_int_eq(pthread_create(&cluster->servers[i].thread, NULL, server_thread_run,
                                        &cluster->servers[i]),
                         0);
}

/* The port is given back: the same address can be listened on again. ZeroMQ closes sockets on a
 * thread of its own, so that may take a moment. */
static void check_address_free(struct cluster *cluster, const char *address)
{
    char bound[ADDRESS_MAX];
    struct endpoint *endpoint = NULL;
    struct error error;
    enum status status;
    double deadline = clock_now_seconds() + DEADLINE_SECONDS;
    do {
        nap(1000);
        status = cluster->transport->operations->listen(cluster->transport, address, 4096, bound,
                                                        &endpoint, &error);
    } while (status != STATUS_OK && clock_now_seconds() < deadline);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    cluster->transport->operations->close(&endpoint, 0);
}

/* The whole job, to its end; everybody must end with the same exit code. */
static void cluster_run(struct cluster *cluster, int exit_code)
{
    struct job *job = &cluster->job;
    cluster_lay_out(cluster);
    atomic_store(&cluster->completed, 0);
    start_servers(cluster);
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct worker *worker = &cluster->workers[i];
        *worker = (struct worker){.cluster = cluster, .index = i};
        worker->own = calloc(cluster->partition.elements, sizeof(float));
        worker->before = calloc(cluster->partition.elements, sizeof(float));
        ck_assert(worker->own != NULL && worker->before != NULL);
        ck_assert_int_eq(pthread_create(&worker->thread, NULL, worker_run, worker), 0);
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        pthread_join(cluster->workers[i].thread, NULL);
        free(cluster->workers[i].own);
        free(cluster->workers[i].before);
    }
    for (uint32_t i = 0; i < job->server_count; i++) {
        pthread_join(cluster->servers[i].thread, NULL);
        server_destroy(&cluster->servers[i].server);
        check_address_free(cluster, job->servers[i]);
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        const struct worker *worker = &cluster->workers[i];
        ck_assert_msg(worker->fault[0] == '\0', "worker %u: %s", i, worker->fault);
        ck_assert_msg(worker->exit_code == exit_code, "worker %u ended with %d: %s", i,
                      worker->exit_code, worker->reason);
    }
    for (uint32_t i = 0; i < job->server_count; i++)
        ck_assert_msg(cluster->servers[i].exit_code == exit_code, "server %u ended with %d: %s", i,
                      cluster->servers[i].exit_code, cluster->servers[i].reason.text);
}

/* --- what must come out -------------------------------------------------------------------- */

/* The job in one loop over the whole space, as solo.c does it: no chunks, no threads. */
static float *serial_reference(const struct cluster *cluster)
{
    const struct job *job = &cluster->job;
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    uint64_t elements = cluster->partition.elements;
    float *arrays[1 + OPTIMIZER_SLOTS_MAX], *gradient = calloc(elements, sizeof *gradient);
    uint64_t offsets[8];
    ck_assert_uint_le(job->variable_count, 8);
    variables_layout(job->variables, job->variable_count, offsets);
    ck_assert_ptr_nonnull(gradient);
    for (uint32_t i = 0; i <= optimizer->slot_count; i++) {
        arrays[i] = calloc(elements, sizeof(float));
        ck_assert_ptr_nonnull(arrays[i]);
    }
    for (uint64_t step = 0; step < job->steps; step++) {
        struct batch_range batch = job_batch(job, step);
        sum_node(cluster, step, tree_root(batch.leaves), arrays[0], gradient);
        struct optimizer_update update = {
            .t = step + 1,
            .learning_rate = schedule_learning_rate(&job->schedule, step),
            .scale = 1.0f / (float)batch.examples,
            .count = elements,
            .gradient = gradient,
            .values_in = arrays[0],
            .values_out = arrays[0],
        };
        for (uint32_t i = 0; i < optimizer->slot_count; i++)
            update.slots[i] = arrays[1 + i];
        update_apply(job, offsets, 0, &update);
    }
    for (uint32_t i = 1; i <= optimizer->slot_count; i++)
        free(arrays[i]);
    free(gradient);
    return arrays[0];
}

/* model.safetensors holds the serial reference, bit for bit. With integers that says that every
 * batch was applied exactly once, whatever the order. */
static void check_model(const struct cluster *cluster)
{
    struct model_file file;
    struct error error;
    const struct job *job = &cluster->job;
    float *expected = serial_reference(cluster);
    ck_assert_msg(model_file_open(&file, &disk_posix, cluster->out, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_uint_eq(file.elements, cluster->partition.elements);
    for (uint32_t v = 0; v < job->variable_count; v++)
        for (uint64_t i = 0; i < variable_elements(&job->variables[v]); i++) {
            const float *is = &file.parameters[cluster->offsets[v] + i];
            const float *should_be = &expected[cluster->offsets[v] + i];
            ck_assert_msg(memcmp(is, should_be, sizeof *is) == 0, "%s[%llu] is %.9g, not %.9g",
                          job->variables[v].name, (unsigned long long)i, (double)*is,
                          (double)*should_be);
        }
    model_file_close(&file);
    free(expected);
}

static struct record read_record(const struct cluster *cluster)
{
    struct record record;
    struct error error;
    ck_assert_msg(record_read(&record, cluster->out, &error) == STATUS_OK, "%s", error.text);
    return record;
}

/* Nothing was lost, repeated or refused: as many verdicts as chunks were pushed, all "applied". */
static void check_verdicts(const struct cluster *cluster, const struct record *record)
{
    uint64_t pushes = 0;
    for (uint32_t i = 0; i < cluster->job.worker_count; i++)
        pushes += cluster->workers[i].pushes;
    const struct verdict_counts *verdicts = &record->summary.verdicts;
    ck_assert_uint_eq(verdicts->applied, pushes * cluster->partition.chunk_count);
    ck_assert_uint_eq(verdicts->stale + verdicts->duplicate + verdicts->rejected, 0);
}

/* Every (gradient, chunk) is counted once, and what it sums up to is what it has to be: in the
 * owners' words, whatever the threads did. In sync nothing grows stale. */
static void check_staleness(const struct cluster *cluster, const struct record *record)
{
    const struct staleness *staleness = &record->summary.staleness;
    uint64_t chunks = cluster->partition.chunk_count;
    uint64_t count = cluster->job.mode == MODE_SYNC
                         ? 0
                         : (cluster->job.steps - record->summary.session_step) * chunks;
    ck_assert_uint_eq(staleness->shape.count, count);
    ck_assert_uint_eq(staleness->shape.sum + staleness->renewed, staleness->expected);
    ck_assert_uint_le(staleness->expected, count * (cluster->job.worker_count - 1));
    ck_assert(histogram_adds_up(&staleness->shape));
}

/* A worker's updates are those that it has a gradient in: in sync of all, in async of its own. */
static void check_updates(const struct cluster *cluster, const struct record *record)
{
    uint64_t made = cluster->job.steps - record->summary.session_step, sum = 0;
    for (uint32_t i = 0; i < record->summary.worker_count; i++) {
        ck_assert_uint_le(record->summary.workers[i].batches, made);
        sum += record->summary.workers[i].batches;
    }
    if (cluster->job.mode == MODE_SYNC)
        ck_assert_uint_ge(sum, made);
    else
        ck_assert_uint_eq(sum, made);
}

/* What a worker's seconds have gone into adds up to what has passed, or nearly: the trainers here
 * compute without telling for how long. */
static void check_times(const struct record *record)
{
    for (uint32_t i = 0; i < record->summary.worker_count; i++) {
        const struct worker_summary *worker = &record->summary.workers[i];
        double named = worker->compute_seconds + worker->exchange_seconds +
                       worker->evaluate_seconds + worker_summary_wait(worker);
        if (worker->batches == 0)
            continue;
        ck_assert_double_gt(worker->wall_seconds, 0);
        ck_assert_double_gt(worker->exchange_seconds + worker_summary_wait(worker), 0);
        ck_assert_double_le(named, 1.05 * worker->wall_seconds + 0.05);
        ck_assert_double_eq_tol(named + worker_summary_other(worker), worker->wall_seconds, 1e-9);
    }
}

static void check_done(const struct cluster *cluster)
{
    struct record record = read_record(cluster);
    ck_assert_str_eq(record.state, "done");
    ck_assert_uint_eq(record.summary.step, cluster->job.steps);
    ck_assert_double_eq(record.summary.test.accuracy, 1);
    check_verdicts(cluster, &record);
    check_staleness(cluster, &record);
    check_updates(cluster, &record);
    check_times(&record);
    record_free(&record);
    check_model(cluster);
}

/* --- sync ---------------------------------------------------------------------------------- */

/* A little time that depends on worker and step, so that the order of arrival changes. */
static void compute_for_a_while(struct worker *worker, const struct trainer_work *work)
{
    uint32_t block[4];
    random_block(17, RANDOM_STREAM_PROBE, worker->index, work->step, block);
    nap(block[0] % 1500);
}

static const struct script script_odd = {leaf_odd, compute_for_a_while};

static const struct {
    uint32_t servers, workers;
    int32_t owner_threads;
} shapes[] = {{1, 1, 0}, {1, 2, 2}, {2, 3, 0}, {3, 4, 2}};
#define SHAPES ((int)(sizeof shapes / sizeof *shapes))

static void sync_equals_the_serial_reference(enum way way, int shape, const char *optimizer)
{
    struct cluster cluster;
    cluster_open(&cluster, way, &script_odd);
    cluster.owner_threads = shapes[shape].owner_threads;
    make_job(&cluster.job, MODE_SYNC, optimizer, 42, shapes[shape].servers, shapes[shape].workers);
    cluster.job.checkpoint_every = 10;
    cluster_run(&cluster, EXIT_DONE);
    check_done(&cluster);
    cluster_close(&cluster);
}

/* --- sync, in shared memory ---------------------------------------------------------------- */

static uint64_t hash_of_view(const struct worker *worker)
{
    uint8_t digest[DIGEST_BYTES];
    uint64_t hash;
    const struct partition *partition = &worker->cluster->partition;
    hash_bytes(client_parameters(worker->client), partition->elements * sizeof(float), digest);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

/* Where memory is shared the parameters lie where the server writes later versions, too: they must
 * be the same when the last gradient of the step is computed as when the first one is begun. But
 * for who never has a leaf, and so reads nothing. */
static void read_slowly(struct worker *worker, const struct trainer_work *work)
{
    const float *view = client_parameters(worker->client);
    worker->views += view != worker->view;
    worker->view = view;
    if (work->node_count == 0)
        return;
    uint64_t before = hash_of_view(worker);
    compute_for_a_while(worker, work);
    if (hash_of_view(worker) != before)
        snprintf(worker->fault, sizeof worker->fault,
                 "the parameters of step %llu changed under its reader",
                 (unsigned long long)work->step);
}

static const struct script script_slow_reader = {leaf_odd, read_slowly};

/* More workers than leaves, a last batch of fewer leaves than workers, evaluations, checkpoints. */
static void parameters_stay_while_they_are_read(enum way way, int shape)
{
    static const struct {
        uint32_t workers, examples;
        int32_t owner_threads;
    } readers[] = {{2, EXAMPLES, 0}, {3, EXAMPLES + 8, 2}, {4, EXAMPLES, 2}, {6, EXAMPLES + 4, 0}};
    struct cluster cluster;
    cluster_open(&cluster, way, &script_slow_reader);
    cluster.owner_threads = readers[shape].owner_threads;
    make_job(&cluster.job, MODE_SYNC, "momentum", 70, 1, readers[shape].workers);
    cluster.job.examples = readers[shape].examples;
    cluster.job.checkpoint_every = 9;
    cluster_run(&cluster, EXIT_DONE);
    check_done(&cluster);
    if (way == SHM) /* Version after version somewhere else: in memory that the server writes. */
        ck_assert_uint_gt(cluster.workers[0].views, 20);
    cluster_close(&cluster);
}

/* What the inner transport still carries once memory is shared. */
static enum status (*inner_send)(struct endpoint *endpoint, uint64_t peer, const void *header,
                                 size_t header_bytes, struct frame *payload, uint64_t place);
static atomic_uint_fast64_t gradients_on_the_wire;

static enum status counting_send(struct endpoint *endpoint, uint64_t peer, const void *header,
                                 size_t header_bytes, struct frame *payload, uint64_t place)
{
    struct message message;
    struct error error;
    if (payload != NULL && message_decode(header, header_bytes, &message, &error) == STATUS_OK &&
        message.kind == MESSAGE_EXCHANGE && message.exchange.step >= 7)
        atomic_fetch_add(&gradients_on_the_wire, 1);
    return inner_send(endpoint, peer, header, header_bytes, payload, place);
}

/* Also when a worker has more to push in the last batch of an epoch than in the others: of three
 * leaves the second of two workers has two, and they are no subtree. */
static void gradients_keep_to_shared_memory(void)
{
    struct cluster cluster;
    struct transport *inner = NULL;
    struct error error;
    cluster_open(&cluster, MEMORY, &script_odd);
    inner = cluster.transport;
    struct transport_operations counting = *inner->operations;
    inner_send = counting.send;
    counting.send = counting_send;
    inner->operations = &counting;
    ck_assert_int_eq(transport_shm_create(&cluster.transport, inner, &error), STATUS_OK);
    make_job(&cluster.job, MODE_SYNC, "sgd", 42, 1, 2);
    cluster.job.examples = EXAMPLES + 8;
    cluster_run(&cluster, EXIT_DONE);
    check_done(&cluster);
    cluster_close(&cluster);
    ck_assert_uint_eq(atomic_load(&gradients_on_the_wire), 0);
}

/* --- async --------------------------------------------------------------------------------- */

static const struct script script_integers = {leaf_integers, NULL};

static void set_bound(struct job *job, uint64_t bound)
{
    job_set_mode(job, (struct mode_setting){MODE_SSP, bound});
}

/* In ssp with bound, or in async. */
static void leases_apply_every_gradient_once(enum way way, int shape, enum mode mode,
                                             uint64_t bound)
{
    struct cluster cluster;
    cluster_open(&cluster, way, &script_integers);
    cluster.owner_threads = shapes[shape].owner_threads;
    make_job(&cluster.job, MODE_ASYNC, "sgd", 70, shapes[shape].servers, shapes[shape].workers);
    if (mode == MODE_SSP)
        set_bound(&cluster.job, bound);
    cluster.job.checkpoint_every = 25;
    cluster_run(&cluster, EXIT_DONE);
    ck_assert_uint_eq(atomic_load(&cluster.completed), cluster.job.steps);
    check_done(&cluster);
    cluster_close(&cluster);
}

/* Every gradient is uniform and positive: chunks must be pulled uniform (never torn), fall from
 * pull to pull (versions rise), and hold what this worker has pushed before. */
static void watch_parameters(struct worker *worker, const struct trainer_work *work)
{
    const struct partition *partition = &worker->cluster->partition;
    const float *values = client_parameters(worker->client);
    (void)work;
    for (uint32_t c = 0; c < partition->chunk_count; c++) {
        const struct chunk_range *range = &partition->chunks[c];
        float value = values[range->first];
        for (uint64_t i = range->first; i < range->first + range->count; i++)
            if (values[i] != value)
                snprintf(worker->fault, sizeof worker->fault, "chunk %u is torn at %llu", c,
                         (unsigned long long)i);
        if (value > worker->before[range->first])
            snprintf(worker->fault, sizeof worker->fault, "chunk %u went back", c);
        if (value > -worker->own[range->first])
            snprintf(worker->fault, sizeof worker->fault, "chunk %u lacks what was pushed", c);
        worker->before[range->first] = value;
    }
}

static const struct script script_uniform = {leaf_uniform, watch_parameters};

static void async_chunks_are_whole_and_never_go_back(enum way way, bool locking)
{
    struct cluster cluster;
    cluster_open(&cluster, way, &script_uniform);
    cluster.owner_threads = 2;
    make_job(&cluster.job, MODE_ASYNC, "sgd", 140, 2, 4);
    cluster.job.use_locking = locking;
    cluster_run(&cluster, EXIT_DONE);
    check_done(&cluster);
    cluster_close(&cluster);
}

/* --- stopping ------------------------------------------------------------------------------ */

/* At the fourth push of worker 0 somebody asks for a stop. Where the others do not wait for it they are not to have
 * done all before. */
static void ask_for_a_stop(struct worker *worker, const struct trainer_work *work)
{
    struct cluster *cluster = worker->cluster;
    double deadline = clock_now_seconds() + DEADLINE_SECONDS;
    compute_for_a_while(worker, work);
    if (worker->index != 0) {
        while (cluster->job.mode != MODE_SYNC && worker->pushes >= 10 &&
               atomic_load(&cluster->stop_with) != 0 && clock_now_seconds() < deadline)
            nap(1000);
        return;
    }
    int code = worker->pushes < 4 ? 0 : atomic_load(&cluster->stop_with);
    if (code == EXIT_TERMINATED)
        client_request_stop(worker->client, code);
    else if (code != 0)
        server_request_stop(cluster->servers[0].server, code);
    if (code != 0)
        atomic_store(&cluster->stop_with, 0);
}

static const struct script script_odd_stop = {leaf_odd, ask_for_a_stop};
static const struct script script_integers_stop = {leaf_integers, ask_for_a_stop};

/* Stop early, go on with other counts, and arrive where an undisturbed run does. */
static void a_stopped_run_goes_on(enum way way, enum mode mode, int exit_code)
{
    struct cluster cluster;
    const char *optimizer = mode == MODE_SYNC ? "adam" : "sgd";
    cluster_open(&cluster, way, mode == MODE_SYNC ? &script_odd_stop : &script_integers_stop);
    make_job(&cluster.job, mode, optimizer, 400, 2, 3);
    atomic_store(&cluster.stop_with, exit_code);
    cluster_run(&cluster, exit_code);
    struct record record = read_record(&cluster);
    ck_assert_str_eq(record.state, "stopped");
    ck_assert_uint_gt(record.summary.step, 3);
    ck_assert_uint_lt(record.summary.step, 200);
    check_verdicts(&cluster, &record);
    uint64_t steps = record.summary.step + 30; /* Enough to see that it goes on. */
    record_free(&record);
    cluster_forget_job(&cluster);

    make_job(&cluster.job, mode, optimizer, steps, 3, 2);
    cluster.owner_threads = 2;
    cluster_run(&cluster, EXIT_DONE);
    check_done(&cluster);
    cluster_close(&cluster);
}

/* --- the tests, once over each transport --------------------------------------------------- */

#define OVER_EACH(name, call)                                                                      \
    START_TEST(name)                                                                               \
    {                                                                                              \
        enum way way = MEMORY;                                                                     \
        call;                                                                                      \
    }                                                                                              \
    END_TEST                                                                                       \
    START_TEST(name##_over_zmq)                                                                    \
    {                                                                                              \
        enum way way = ZMQ;                                                                        \
        call;                                                                                      \
    }                                                                                              \
    END_TEST                                                                                       \
    START_TEST(name##_over_shm)                                                                    \
    {                                                                                              \
        enum way way = SHM;                                                                        \
        call;                                                                                      \
    }                                                                                              \
    END_TEST

OVER_EACH(sync_is_exact, sync_equals_the_serial_reference(way, _i, "sgd"))
OVER_EACH(values_stay_while_read, parameters_stay_while_they_are_read(way, _i))
OVER_EACH(sync_with_adam_is_exact, sync_equals_the_serial_reference(way, 2, "adam"))
OVER_EACH(every_async_gradient_counts_once,
          leases_apply_every_gradient_once(way, _i, MODE_ASYNC, 0))
OVER_EACH(every_bounded_gradient_counts_once,
          leases_apply_every_gradient_once(way, _i, MODE_SSP, (uint64_t)_i))
OVER_EACH(a_chunk_is_never_torn, async_chunks_are_whole_and_never_go_back(way, false))
OVER_EACH(a_locked_variable_is_never_torn, async_chunks_are_whole_and_never_go_back(way, true))
OVER_EACH(a_sync_run_stops_and_goes_on, a_stopped_run_goes_on(way, MODE_SYNC, EXIT_INTERRUPTED))
OVER_EACH(a_worker_may_ask_for_the_stop, a_stopped_run_goes_on(way, MODE_SYNC, EXIT_TERMINATED))
OVER_EACH(an_async_run_stops_and_goes_on, a_stopped_run_goes_on(way, MODE_ASYNC, EXIT_INTERRUPTED))
OVER_EACH(a_bounded_run_stops_and_goes_on, a_stopped_run_goes_on(way, MODE_SSP, EXIT_INTERRUPTED))

START_TEST(no_gradient_leaves_shared_memory)
{
    gradients_keep_to_shared_memory();
}

#define ADD(tcase, suffix)                                                                         \
    tcase_add_loop_test(tcase, sync_is_exact##suffix, 0, SHAPES);                                  \
    tcase_add_loop_test(tcase, values_stay_while_read##suffix, 0, 4);                              \
    tcase_add_test(tcase, sync_with_adam_is_exact##suffix);                                        \
    tcase_add_loop_test(tcase, every_async_gradient_counts_once##suffix, 0, SHAPES);               \
    tcase_add_loop_test(tcase, every_bounded_gradient_counts_once##suffix, 0, SHAPES);             \
    tcase_add_test(tcase, a_chunk_is_never_torn##suffix);                                          \
    tcase_add_test(tcase, a_locked_variable_is_never_torn##suffix);                                \
    tcase_add_test(tcase, a_sync_run_stops_and_goes_on##suffix);                                   \
    tcase_add_test(tcase, a_worker_may_ask_for_the_stop##suffix);                                  \
    tcase_add_test(tcase, an_async_run_stops_and_goes_on##suffix);                                 \
    tcase_add_test(tcase, a_bounded_run_stops_and_goes_on##suffix)

static TCase *make_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
    tcase_set_timeout(tcase, 4 * DEADLINE_SECONDS);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *memory = make_case(suite, "memory"), *zmq = make_case(suite, "zmq");
    TCase *shm = make_case(suite, "shm");
    ADD(memory, );
    ADD(zmq, _over_zmq);
    ADD(shm, _over_shm);
    tcase_add_test(shm, no_gradient_leaves_shared_memory);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

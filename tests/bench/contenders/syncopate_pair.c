/* syncopate_pair.c - the server program's own loop in one child, clients of the library in the
 * other. */

#include "tests/bench/contenders/syncopate_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/kernels/kernels.h"
#include "common/keys/keys.h"
#include "common/options/options.h"
#include "common/process/log.h"
#include "common/process/process.h"
#include "common/wire/message.h"
#include "ps/server.h"
#include "worker/client/client.h"

#define DEADLINE 30 /* Seconds. */
#define UPDATES  (1u << 22)

struct worker {
    struct client *client;
    struct frame *gradient;
    struct trainer_work work;
};

struct pair {
    struct job job;
    struct variable variable;
    char servers[1][ADDRESS_MAX];
    struct transport *transport;
    bool must_share;
    struct worker *workers; /* [job.worker_count] */
};

static void make_key(const char *folder, const char *name)
{
    char path[DISK_PATH_MAX + 32];
    struct error error = {0};
    struct certificate certificate = {.has_secret = true};
    snprintf(path, sizeof path, "%s/keys/%s", folder, name);
    if (transport_keypair(certificate.public_key, certificate.secret_key) != STATUS_OK ||
        certificate_write(path, &certificate, &error) != STATUS_OK)
        contender_fail(error.text);
}

void syncopate_pair_make_keys(const char *folder)
{
    char path[DISK_PATH_MAX];
    struct error error;
    snprintf(path, sizeof path, "%s/keys", folder);
    if (disk_posix.make_directory(disk_posix.context, path, &error) != STATUS_OK)
        contender_fail(error.text);
    make_key(folder, "servers");
    make_key(folder, "worker-0");
}

/* Lives as long as the process. */
static struct transport *make_curve_transport(const struct syncopate_pair_setting *setting,
                                              enum role role)
{
    char path[DISK_PATH_MAX];
    struct error error = {0};
    struct transport *transport;
    struct keys *keys = malloc(sizeof *keys);
    snprintf(path, sizeof path, "%s/keys", setting->folder);
    if (keys == NULL || keys_open(keys, path, NULL, role, 0, &error) != STATUS_OK ||
        transport_curve_create(&transport, keys, role == ROLE_PS, &error) != STATUS_OK)
        contender_fail(error.text);
    return transport;
}

static struct transport *make_transport(const struct syncopate_pair_setting *setting,
                                        enum role role)
{
    struct error error;
    struct transport *transport;
    process_keep_memory();
    if (strcmp(setting->transport, "curve") == 0)
        return make_curve_transport(setting, role);
    if (transport_create(&transport, strcmp(setting->transport, "tcp") != 0, &error) != STATUS_OK)
        contender_fail(error.text);
    return transport;
}

static void serve(const void *setting)
{
    struct error error;
    struct server *server;
    const struct syncopate_pair_setting *pair = setting;
    char run[DISK_PATH_MAX];
    snprintf(run, sizeof run, "%s/%d", pair->folder, (int)getpid());
    prctl(PR_SET_NAME, "bench-ps");
    log_init("bench/ps", LOG_ERROR, LOG_FORMAT_TEXT);
    kernels_init();
    if (disk_posix.make_directory(disk_posix.context, run, &error) != STATUS_OK)
        contender_fail(error.text);
    struct server_options options = {.transport = make_transport(setting, ROLE_PS),
                                     .disk = &disk_posix,
                                     .listen = "127.0.0.1:0",
                                     .out = run,
                                     .owner_threads = -1,
                                     .deadlines = {.start = DEADLINE,
                                                   .silence = DEADLINE,
                                                   .recovery = DEADLINE,
                                                   .progress = DEADLINE,
                                                   .stop = DEADLINE}};
    if (server_create(&server, &options, &error) != STATUS_OK)
        contender_fail(error.text);
    contender_ready(server_address(server));
    server_run(server, &error);
}

/* A job of one variable without a model, and more updates than anybody will measure. */
static void make_job(struct pair *pair, const struct syncopate_pair_setting *setting)
{
    struct job *job = &pair->job;
    uint32_t workers = setting->workers > 0 ? setting->workers : 1;
    snprintf(pair->variable.name, sizeof pair->variable.name, "w");
    pair->variable.rank = 1;
    pair->variable.shape[0] = setting->bytes / sizeof(float);
    job->mode = setting->mode;
    job->variables = &pair->variable;
    job->variable_count = 1;
    job->optimizer = optimizer_find(setting->optimizer)->defaults;
    job->schedule.learning_rate = 1e-6;
    snprintf(job->model, sizeof job->model, "none");
    snprintf(job->data, sizeof job->data, "none");
    job->micro_batch = 1;
    job->batch = setting->mode == MODE_SYNC ? workers : 1;
    job->steps = UPDATES;
    job->examples = UPDATES * job->batch;
    job->chunk_bytes = setting->chunk_bytes;
    job->worker_count = workers;
    job->server_count = 1;
    job->servers = pair->servers;
}

static void next(struct worker *worker)
{
    if (client_next(worker->client, &worker->work) != STATUS_OK)
        contender_fail(client_trainer(worker->client)->reason);
}

static void open_worker(struct pair *pair, uint32_t index)
{
    struct error error;
    struct client_options options = {.transport = pair->transport,
                                     .job = &pair->job,
                                     .worker = index,
                                     .deadlines = {.start = DEADLINE,
                                                   .silence = DEADLINE,
                                                   .recovery = DEADLINE,
                                                   .progress = DEADLINE},
                                     .must_share = pair->must_share};
    if (client_open(&pair->workers[index].client, &options, &error) != STATUS_OK)
        contender_fail(error.text);
}

static void make_gradient(struct worker *worker)
{
    worker->gradient = client_gradient(worker->client);
    if (worker->gradient == NULL)
        contender_fail("out of memory");
    float *values = worker->gradient->data;
    for (uint64_t i = 0; i < worker->gradient->bytes / sizeof *values; i++)
        values[i] = 0.01f;
}

/* The gradient is the same every time: nothing that is measured looks at its values. */
static void push(struct worker *worker)
{
    struct push push = {.step = worker->work.step,
                        .node = worker->work.nodes[0],
                        .examples = 1,
                        .last = true,
                        .score = {.examples = 1}};
    client_push(worker->client, &push, worker->gradient);
}

/* Every worker once. */
static void exchange(void *state)
{
    struct pair *pair = state;
    for (uint32_t i = 0; i < pair->job.worker_count; i++)
        push(&pair->workers[i]);
    for (uint32_t i = 0; i < pair->job.worker_count; i++)
        next(&pair->workers[i]);
}

static void *open_pair(const void *setting, const char *address)
{
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL)
        contender_fail("out of memory");
    log_init("bench/worker", LOG_ERROR, LOG_FORMAT_TEXT);
    prctl(PR_SET_NAME, "bench-worker");
    kernels_init();
    snprintf(pair->servers[0], ADDRESS_MAX, "%s", address);
    make_job(pair, setting);
    pair->transport = make_transport(setting, ROLE_WORKER);
    pair->must_share =
        strcmp(((const struct syncopate_pair_setting *)setting)->transport, "shm") == 0;
    pair->workers = calloc(pair->job.worker_count, sizeof *pair->workers);
    if (pair->workers == NULL)
        contender_fail("out of memory");
    for (uint32_t i = 0; i < pair->job.worker_count; i++)
        open_worker(pair, i);
    for (uint32_t i = 0; i < pair->job.worker_count; i++) {
        next(&pair->workers[i]);
        make_gradient(&pair->workers[i]);
    }
    exchange(pair); /* With shared memory, gradients lie elsewhere from the second on. */
    for (uint32_t i = 0; i < pair->job.worker_count; i++)
        make_gradient(&pair->workers[i]);
    return pair;
}

const struct contender_kind syncopate_pair = {"syncopate", serve, open_pair, exchange};

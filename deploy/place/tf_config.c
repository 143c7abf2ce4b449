/* tf_config.c - TF_CONFIG, in the format of TensorFlow, Kubeflow and Google's cloud:
 *
 *     {"cluster": {"chief": ["c:2222"], "ps": ["p0:2222"], "worker": ["w0:2222"]},
 *      "task": {"type": "worker", "index": 0}}
 *
 * The chief, or master by its old name, is worker 0 and trains; worker i is then worker i + 1.
 * Hosts of workers are only counted, except where each place serves. An evaluator is not counted,
 * and need not be in the cluster. With dynamic workers Kubeflow's list of workers is a map with the
 * one worker that reads it ({"1": "w1:2222"}), and a server's list of servers has that server
 * alone. Unknown members are ignored. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/address/address.h"
#include "common/base/wording.h"
#include "common/file/json.h"
#include "deploy/place/environment.h"
#include "deploy/place/source.h"

#define VARIABLE "TF_CONFIG"

/* One of the lists of a cluster. */
struct tasks {
    const struct json *list; /* NULL: there is none. */
    bool sparse;             /* A map of some. */
    uint64_t count;
};

struct tf_config {
    const struct json *root, *cluster;
    const char *where; /* "cluster" or "sparseCluster" */
    struct tasks ps, worker, chief;
    const char *chief_name; /* "chief" or "master" */
    const char *type;
    uint64_t index;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Every address of a list is one. */
static enum status check_address(const struct tf_config *config, const char *job, size_t index,
                                 const struct json *value, struct error *error)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    const char *text = json_text(value, "");
    if (text == NULL || !address_split(text, host, &port) || host[0] == '\0' ||
        strpbrk(text, " ,;/\t\n") != NULL)
        return error_set(error, STATUS_INVALID, VARIABLE ": %s.%s[%zu] is not host:port: %.100s",
                         config->where, job, index, text != NULL ? text : "it is no text");
    return STATUS_OK;
}

/* Keys of a map are indices. */
static enum status read_map(struct tf_config *config, const char *job, struct tasks *tasks,
                            struct error *error)
{
    struct json_member member = {0};
    enum status status = STATUS_OK;
    tasks->sparse = true;
    while (status == STATUS_OK && json_next_member(tasks->list, &member)) {
        uint64_t index;
        if (!environment_digits(member.name, JOB_WORKERS_MAX - 1, &index))
            return error_set(error, STATUS_INVALID,
                             VARIABLE ": %s.%s: '%.60s' is not the index of a task", config->where,
                             job, member.name);
        status = check_address(config, job, index, member.value, error);
        tasks->count++;
    }
    return status;
}

static enum status read_tasks(struct tf_config *config, const char *job, struct tasks *tasks,
                              struct error *error)
{
    enum status status = STATUS_OK;
    *tasks = (struct tasks){.list = json_at(config->cluster, job)};
    if (tasks->list == NULL)
        return STATUS_OK;
    if (json_is_a_record(tasks->list))
        return read_map(config, job, tasks, error);
    if (!json_is_a_list(tasks->list))
        return error_set(error, STATUS_INVALID, VARIABLE ": %s.%s is no list of host:port",
                         config->where, job);
    tasks->count = json_length(tasks->list, "");
    for (size_t i = 0; i < tasks->count && status == STATUS_OK; i++)
        status = check_address(config, job, i, json_item(tasks->list, i), error);
    return status;
}

static enum status read_chief(struct tf_config *config, struct error *error)
{
    struct tasks master;
    enum status status = read_tasks(config, "chief", &config->chief, error);
    config->chief_name = "chief";
    if (status == STATUS_OK)
        status = read_tasks(config, "master", &master, error);
    if (status != STATUS_OK)
        return status;
    if (config->chief.list != NULL && master.list != NULL)
        return error_set(error, STATUS_INVALID,
                         VARIABLE
                         ": %s.chief and %s.master are two names of one task: name it once",
                         config->where, config->where);
    if (master.list != NULL) {
        config->chief = master;
        config->chief_name = "master";
    }
    if (config->chief.count > 1)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": %s.%s has %" PRIu64 " tasks, and one is the most",
                         config->where, config->chief_name, config->chief.count);
    return STATUS_OK;
}

static enum status read_cluster(struct tf_config *config, struct error *error)
{
    struct tasks evaluator;
    enum status status = read_tasks(config, "ps", &config->ps, error);
    if (status == STATUS_OK)
        status = read_tasks(config, "worker", &config->worker, error);
    if (status == STATUS_OK)
        status = read_chief(config, error);
    if (status == STATUS_OK)
        status = read_tasks(config, "evaluator", &evaluator, error);
    if (status == STATUS_OK && evaluator.count > 1)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": %s.evaluator has %" PRIu64 " tasks, and one is the most",
                         config->where, evaluator.count);
    return status;
}

/* A number, or a text that is one; not there: 0. */
static enum status read_index(struct tf_config *config, struct error *error)
{
    const struct json *index = json_at(config->root, "task.index");
    const char *text = json_text(config->root, "task.index");
    if (index == NULL || json_whole(index, &config->index) ||
        (text != NULL && environment_digits(text, UINT32_MAX, &config->index)))
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     VARIABLE ": task.index is not a whole number from 0 on");
}

static const struct tasks *tasks_named(const struct tf_config *config, const char *type)
{
    if (strcmp(type, "ps") == 0)
        return &config->ps;
    if (strcmp(type, "worker") == 0)
        return &config->worker;
    return strcmp(type, config->chief_name) == 0 ? &config->chief : NULL;
}

static enum status read_task(struct tf_config *config, struct error *error)
{
    config->type = json_text(config->root, "task.type");
    if (config->type == NULL)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": task.type is not there, or no text: it says which task of the "
                                  "cluster this is");
    return read_index(config, error);
}

static enum status check_task(const struct tf_config *config, struct error *error)
{
    if (strcmp(config->type, "evaluator") == 0)
        return STATUS_OK;
    const struct tasks *tasks = tasks_named(config, config->type);
    if (tasks == NULL || tasks->list == NULL)
        return error_set(error, STATUS_INVALID, VARIABLE ": task.type is '%.60s', and %s has no %s",
                         config->type, config->where, tasks == NULL ? "such tasks" : config->type);
    char key[24];
    snprintf(key, sizeof key, "%" PRIu64, config->index);
    if (tasks->sparse && json_at(tasks->list, key) == NULL)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": task.index is %s, and %s.%s has no \"%s\"", key, config->where,
                         config->type, key);
    return STATUS_OK;
}

/* --- the place -------------------------------------------------------------------------------- */

static uint64_t workers_of(const struct tf_config *config)
{
    return config->chief.count + config->worker.count;
}

static enum status check_index(const struct tf_config *config, struct error *error)
{
    const struct tasks *tasks = tasks_named(config, config->type);
    if (tasks->sparse || config->index < tasks->count)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     VARIABLE ": task.index is %" PRIu64 ", and %s.%s has %s", config->index,
                     config->where, config->type,
                     wording_counted(tasks->count, "task", "tasks").text);
}

static enum status add_address(struct place *place, const struct json *value, struct error *error)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    address_split(json_text(value, ""), host, &port);
    return place_add_server(place, host, port, error);
}

static enum status add_list(struct place *place, const struct tasks *tasks, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < tasks->count && status == STATUS_OK; i++)
        status = add_address(place, json_item(tasks->list, i), error);
    return status;
}

/* "x-ps-2.y:2222" is one of several that differ in that number. */
static enum status add_siblings(struct place *place, const char *own, uint64_t index,
                                uint64_t servers, struct error *error)
{
    char host[ADDRESS_MAX], number[24], name[ADDRESS_MAX + 24];
    uint16_t port;
    enum status status = STATUS_OK;
    int length = snprintf(number, sizeof number, "-%" PRIu64, index);
    address_split(own, host, &port);
    size_t label = strcspn(host, ".");
    if (label <= (size_t)length || memcmp(host + label - length, number, (size_t)length) != 0)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": the other servers' names do not follow from '%.100s': give "
                                  "--ps-hosts",
                         own);
    for (uint64_t i = 0; i < servers && status == STATUS_OK; i++) {
        snprintf(name, sizeof name, "%.*s-%" PRIu64 "%s", (int)label - length, host, i,
                 host + label);
        status = place_add_server(place, name, port, error);
    }
    return status;
}

/* A server whose list has that server alone. */
static enum status serve_sparsely(struct place *place, const struct place_request *request,
                                  const struct tf_config *config, struct error *error)
{
    if (request->ps_hosts != NULL)
        return STATUS_OK;
    if (request->servers <= 0)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": %s.ps has this server alone: give --ps N, how many there are",
                         config->where);
    place->servers = (uint32_t)request->servers;
    if (config->index >= place->servers)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": task.index is %" PRIu64 ", and --ps=%" PRIu32, config->index,
                         place->servers);
    return add_siblings(place, json_text(json_item(config->ps.list, 0), ""), config->index,
                        place->servers, error);
}

static enum status count_workers(struct place *place, const struct place_request *request,
                                 const struct tf_config *config, struct error *error)
{
    uint64_t workers = workers_of(config);
    if (config->worker.sparse || workers == 0) /* A map, or a sparse cluster to a server. */
        workers = request->workers;
    if (workers == 0 && !place->serves)
        return error_set(error, STATUS_INVALID,
                         VARIABLE
                         ": %s.worker is a map, which does not say how many there are: give "
                         "--workers N",
                         config->where);
    if (request->workers > 0 && workers != request->workers)
        return error_set(error, STATUS_INVALID,
                         "--workers=%" PRIu32 ", but " VARIABLE ": %s has %s", request->workers,
                         config->where, wording_counted(workers, "worker", "workers").text);
    if (workers > JOB_WORKERS_MAX)
        return error_set(error, STATUS_INVALID, VARIABLE ": %s has more than %d workers",
                         config->where, JOB_WORKERS_MAX);
    place->workers = (uint32_t)workers;
    return STATUS_OK;
}

/* Every worker's place serves at the worker's address. */
static enum status serve_together(struct place *place, const struct tf_config *config,
                                  struct error *error)
{
    if (config->ps.list != NULL)
        return error_set(error, STATUS_INVALID,
                         "--ps colocated, but " VARIABLE ": %s.ps names servers of their own",
                         config->where);
    if (config->worker.sparse)
        return error_set(error, STATUS_INVALID,
                         "--ps colocated, but " VARIABLE
                         ": %s.worker is a map, and every worker's address is needed: give "
                         "--ps-hosts",
                         config->where);
    place->serves = true;
    place->server = place->worker;
    place->servers = (uint32_t)workers_of(config);
    enum status status = add_list(place, &config->chief, error);
    return status == STATUS_OK ? add_list(place, &config->worker, error) : status;
}

/* Without servers one worker trains alone. */
static enum status find_servers(struct place *place, const struct place_request *request,
                                const struct tf_config *config, struct error *error)
{
    if (request->colocated)
        return serve_together(place, config, error);
    if (config->ps.list != NULL && config->ps.count == 0)
        return error_set(error, STATUS_INVALID, VARIABLE ": %s.ps is empty", config->where);
    if (config->ps.sparse)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": %s.ps is a map; a job's servers are a list", config->where);
    if (config->ps.list == NULL && request->ps_hosts == NULL) {
        place->alone = place->workers == 1;
        return place->alone
                   ? STATUS_OK
                   : error_set(error, STATUS_INVALID,
                               VARIABLE ": %s has no ps: give it servers, or --ps colocated "
                                        "to let every worker's place serve",
                               config->where);
    }
    place->servers = (uint32_t)config->ps.count;
    return add_list(place, &config->ps, error);
}

static enum status check_requests(const struct place *place, const struct place_request *request,
                                  const struct tf_config *config, struct error *error)
{
    bool named = request->job_name == NULL || strcmp(request->job_name, config->type) == 0;
    if (!named)
        return error_set(error, STATUS_INVALID,
                         "--job-name=%s, but " VARIABLE ": task.type is %.60s", request->job_name,
                         config->type);
    if (request->servers > 0 && request->ps_hosts == NULL && !request->colocated &&
        (uint64_t)request->servers != place->servers)
        return error_set(error, STATUS_INVALID, "--ps=%" PRId64 ", but " VARIABLE ": %s has %s",
                         request->servers, config->where,
                         wording_counted(place->servers, "server", "servers").text);
    return STATUS_OK;
}

/* The servers' list is of this server alone when the workers are not there: dynamic workers. */
static bool is_sparse_server(const struct tf_config *config)
{
    return config->ps.count == 1 && workers_of(config) == 0;
}

static enum status be_server(struct place *place, const struct place_request *request,
                             const struct tf_config *config, struct error *error)
{
    place->serves = true;
    place->server = (uint32_t)config->index;
    if (config->index >= JOB_SERVERS_MAX)
        return check_index(config, error);
    enum status status = count_workers(place, request, config, error);
    if (status != STATUS_OK)
        return status;
    if (is_sparse_server(config))
        return serve_sparsely(place, request, config, error);
    status = check_index(config, error);
    return status == STATUS_OK ? find_servers(place, request, config, error) : status;
}

static enum status be_worker(struct place *place, const struct place_request *request,
                             const struct tf_config *config, struct error *error)
{
    bool chief = strcmp(config->type, "worker") != 0;
    enum status status = check_index(config, error);
    place->works = true;
    place->worker = chief ? 0 : (uint32_t)(config->index + config->chief.count);
    if (status == STATUS_OK)
        status = count_workers(place, request, config, error);
    return status == STATUS_OK ? find_servers(place, request, config, error) : status;
}

static enum status be(struct place *place, const struct place_request *request,
                      struct tf_config *config, struct error *error)
{
    enum status status = read_cluster(config, error);
    if (status == STATUS_OK)
        status = read_task(config, error);
    if (status == STATUS_OK)
        status = check_task(config, error);
    if (status != STATUS_OK)
        return status;
    snprintf(place->said, sizeof place->said, "TF_CONFIG (%s %" PRIu64 ")", config->type,
             config->index);
    if (strcmp(config->type, "evaluator") == 0) {
        place->evaluates = true;
        return STATUS_OK;
    }
    status = strcmp(config->type, "ps") == 0 ? be_server(place, request, config, error)
                                             : be_worker(place, request, config, error);
    return status == STATUS_OK ? check_requests(place, request, config, error) : status;
}

/* A cluster by another name, such as "clusters", is not left alone. */
static enum status check_names(const struct tf_config *config, struct error *error)
{
    struct json_member member = {0};
    while (json_next_member(config->root, &member))
        if (json_at(member.value, "ps") != NULL || json_at(member.value, "worker") != NULL)
            return error_set(error, STATUS_INVALID,
                             VARIABLE ": the cluster is called '%.60s': call it cluster",
                             member.name);
    return STATUS_OK;
}

/* Without a cluster there is one process, TensorFlow's worker 0, chief or master. */
static enum status be_alone(struct place *place, const struct place_request *request,
                            struct tf_config *config, struct error *error)
{
    enum status status = check_names(config, error);
    config->type = "worker";
    if (status == STATUS_OK && json_at(config->root, "task") != NULL)
        status = read_task(config, error);
    if (status != STATUS_OK)
        return status;
    snprintf(place->said, sizeof place->said, VARIABLE " (without a cluster)");
    place->evaluates = strcmp(config->type, "evaluator") == 0;
    place->works = place->alone = !place->evaluates;
    place->workers = place->works;
    bool first = config->index == 0 &&
                 (strcmp(config->type, "worker") == 0 || strcmp(config->type, "chief") == 0 ||
                  strcmp(config->type, "master") == 0);
    if (!place->evaluates && !first)
        return error_set(error, STATUS_INVALID,
                         VARIABLE ": task is %.60s %" PRIu64 ", and there is no cluster",
                         config->type, config->index);
    if (request->ps_hosts != NULL || request->colocated || request->servers > 0 ||
        (request->job_name != NULL && strcmp(request->job_name, config->type) != 0))
        return error_set(error, STATUS_INVALID,
                         "the command line says one of several, and " VARIABLE
                         " has no cluster: unset it, or --cluster-from none");
    return STATUS_OK;
}

enum status place_from_tf_config(struct place *place, const struct place_request *request,
                                 struct error *error)
{
    const char *text = environment_value(request->environment, VARIABLE);
    struct json *root = NULL;
    if (text == NULL)
        return error_set(error, STATUS_NOT_FOUND, VARIABLE " is not set");
    enum status status = json_parse(text, strlen(text), VARIABLE, &root, error);
    if (status != STATUS_OK)
        return status == STATUS_MEMORY ? status : STATUS_INVALID;
    struct tf_config config = {.root = root, .where = "cluster"};
    config.cluster = json_at(root, "cluster");
    if (config.cluster == NULL && json_at(root, "sparseCluster") != NULL) {
        config.where = "sparseCluster";
        config.cluster = json_at(root, config.where);
    }
    place->evicts = true;
    if (!json_is_a_record(root))
        status = error_set(error, STATUS_INVALID, VARIABLE " is no JSON object");
    else if (config.cluster != NULL && !json_is_a_record(config.cluster))
        status = error_set(error, STATUS_INVALID, VARIABLE ": %s is no JSON object", config.where);
    else if (config.cluster == NULL || json_length(config.cluster, "") == 0)
        status = be_alone(place, request, &config, error);
    else
        status = be(place, request, &config, error);
    json_release(&root);
    return status;
}

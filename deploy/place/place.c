/* place.c - tries the sources in order; the command line overrides them. */

#include "deploy/place/place.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/options/options.h"
#include "deploy/place/environment.h"
#include "deploy/place/source.h"

const char *place_source_word(unsigned source)
{
    static const char *const words[PLACE_SOURCE_COUNT] = {
        [PLACE_AUTO] = "auto",
        [PLACE_TF_CONFIG] = "tf-config",
        [PLACE_SLURM] = "slurm",
        [PLACE_MPI] = "mpi",
        [PLACE_TORCHRUN] = "torchrun",
        [PLACE_DMLC] = "dmlc",
        [PLACE_KUBERNETES] = "kubernetes",
        [PLACE_NONE] = "none",
    };
    return source < PLACE_SOURCE_COUNT ? words[source] : NULL;
}

static bool is_named(const struct place_request *request, const char *job_name)
{
    return request->job_name != NULL && strcmp(request->job_name, job_name) == 0;
}

/* --- roles ----------------------------------------------------------------------------------- */

/* Chief and master train, as worker 0. */
static bool is_named_worker(const struct place_request *request)
{
    return is_named(request, "worker") || is_named(request, "chief") || is_named(request, "master");
}

/* Where every place serves and works; a given role limits it to that. */
static void place_both(struct place *place, const struct place_request *request, uint32_t index)
{
    place->serves = !is_named_worker(request);
    place->works = !is_named(request, "ps");
    place->server = place->worker = index;
}

static enum status number_together(struct place *place, const struct place_request *request,
                                   struct numbered *numbered, struct error *error)
{
    uint64_t workers = numbered->size > 0 ? numbered->size : request->workers;
    if (workers > JOB_SERVERS_MAX || numbered->rank >= JOB_WORKERS_MAX)
        return error_set(error, STATUS_INVALID,
                         "--ps colocated: %" PRIu64
                         " places would be as many servers, and the most "
                         "is %d",
                         workers, JOB_SERVERS_MAX);
    place->servers = place->workers = (uint32_t)workers;
    place_both(place, request, (uint32_t)numbered->rank);
    numbered->first_server = 0;
    return STATUS_OK;
}

/* --job-name is the role of its whole group. */
static enum status number_group(struct place *place, const struct place_request *request,
                                struct numbered *numbered, struct error *error)
{
    bool server = is_named(request, "ps");
    uint64_t index = numbered->rank - numbered->group_first;
    uint64_t own = numbered->group_size, other = numbered->other_size;
    uint64_t servers = request->servers >= 0 ? (uint64_t)request->servers : server ? own : other;
    uint64_t workers = request->workers > 0 ? request->workers : server ? other : own;
    if (request->servers == 0)
        return error_set(error, STATUS_INVALID,
                         "--ps=0 and --job-name=%s: without servers one process trains alone",
                         request->job_name);
    if (servers > JOB_SERVERS_MAX || workers > JOB_WORKERS_MAX || index >= JOB_WORKERS_MAX ||
        (server && servers > 0 && index >= servers))
        return error_set(error, STATUS_INVALID,
                         "%s %" PRIu64 " is one too many: there are %" PRIu64
                         " servers and %" PRIu64 " workers",
                         server ? "server" : "worker", index, servers, workers);
    place->serves = server;
    place->works = !server;
    *(server ? &place->server : &place->worker) = (uint32_t)index;
    place->servers = (uint32_t)servers;
    place->workers = (uint32_t)workers;
    /* The servers are this group, or the only other one. */
    numbered->first_server = server                       ? numbered->group_first
                             : numbered->group_first == 0 ? numbered->group_size
                                                          : 0;
    return STATUS_OK;
}

static enum status number_through(struct place *place, const struct place_request *request,
                                  struct numbered *numbered, struct error *error)
{
    uint64_t servers = (uint64_t)request->servers, size = numbered->size;
    uint64_t rank = numbered->rank, workers = size > servers ? size - servers : request->workers;
    if (size > 0 && size <= servers)
        return error_set(error, STATUS_INVALID,
                         "%s=%" PRIu64 " and --ps=%" PRIu64 " leave no worker: start as many more "
                         "processes as there are to be workers",
                         numbered->size_name, size, servers);
    if (servers == 0 && size > 1)
        return error_set(error, STATUS_INVALID,
                         "%s=%" PRIu64 ", but --ps=0: without servers one process trains alone",
                         numbered->size_name, size);
    if (request->workers > 0 && workers != request->workers)
        return error_set(error, STATUS_INVALID,
                         "--workers=%" PRIu32 ", but of %s=%" PRIu64 " processes --ps=%" PRIu64
                         " leaves %" PRIu64,
                         request->workers, numbered->size_name, size, servers, workers);
    if (workers > JOB_WORKERS_MAX || rank >= servers + JOB_WORKERS_MAX)
        return error_set(error, STATUS_INVALID, "%" PRIu64 " workers are more than %d",
                         workers > rank ? workers : rank - servers + 1, JOB_WORKERS_MAX);
    place->serves = rank < servers;
    place->works = !place->serves;
    *(place->serves ? &place->server : &place->worker) =
        (uint32_t)(place->serves ? rank : rank - servers);
    place->servers = (uint32_t)servers;
    place->workers = (uint32_t)workers;
    place->alone = servers == 0;
    numbered->first_server = 0;
    return STATUS_OK;
}

enum status place_number(struct place *place, const struct place_request *request,
                         struct numbered *numbered, struct error *error)
{
    if (numbered->size > 0 && numbered->rank >= numbered->size)
        return error_set(error, STATUS_INVALID,
                         "process %" PRIu64 " is one too many: %s=%" PRIu64 ", and the first is 0",
                         numbered->rank, numbered->size_name, numbered->size);
    if (request->colocated)
        return number_together(place, request, numbered, error);
    if (is_named(request, "evaluator")) {
        place->evaluates = true;
        return STATUS_OK;
    }
    if (request->job_name != NULL)
        return number_group(place, request, numbered, error);
    if (request->servers < 0)
        return error_set(error, STATUS_INVALID,
                         "needs --ps N, how many of the processes are servers (the first ones), or "
                         "--ps colocated");
    return number_through(place, request, numbered, error);
}

/* --- addresses ------------------------------------------------------------------------------- */

uint64_t place_job_port(uint64_t job)
{
    return 20000 + 16 * (job % JOB_PORTS);
}

uint32_t place_port(const struct place_request *request, uint64_t base, uint32_t index)
{
    return (uint32_t)(request->port_base > 0 ? request->port_base : base) + index;
}

enum status place_add_server(struct place *place, const char *host, uint32_t port,
                             struct error *error)
{
    bool bare = strchr(host, ':') != NULL && host[0] != '['; /* IPv6 */
    const char *before = place->ps_hosts != NULL ? place->ps_hosts : "";
    char *list = NULL;
    if (port > 65535)
        return error_set(error, STATUS_INVALID, "port %" PRIu32 " of a server on %.200s is none",
                         port, host);
    if (asprintf(&list, "%s%s%s%s%s:%" PRIu32, before, before[0] != '\0' ? "," : "",
                 bare ? "[" : "", host, bare ? "]" : "", port) < 0)
        return error_set(error, STATUS_MEMORY, "out of memory");
    free(place->ps_hosts);
    place->ps_hosts = list;
    return STATUS_OK;
}

void place_call_job(struct place *place, const char *kind, const char *name)
{
    size_t room = sizeof place->job_id - sizeof " " - strlen(kind), length = strlen(name);
    snprintf(place->job_id, sizeof place->job_id, "%s %s", kind,
             name + (length > room ? length - room : 0));
}

enum status place_meet(struct place *place, const struct place_request *request, const char *job,
                       const char *host_name, const char *why, struct error *error)
{
    const char *host = environment_value(request->environment, host_name);
    if (!request->meeting)
        return error_set(error, STATUS_INVALID,
                         "%s: give --ps-hosts host:port,..., or --out or --meet, a folder that all "
                         "hosts share",
                         why);
    place->meets = true;
    snprintf(place->job, sizeof place->job, "%s", job);
    snprintf(place->host, sizeof place->host, "%s", host != NULL ? host : request->host);
    return STATUS_OK;
}

/* --ps-hosts overrides a source; it also determines the number of servers. */
static enum status use_hosts(struct place *place, const struct place_request *request,
                             struct error *error)
{
    uint32_t named = 0;
    if (request->ps_hosts == NULL || place->alone)
        return STATUS_OK;
    enum status status = options_hosts(request->ps_hosts, NULL, JOB_SERVERS_MAX, &named, error);
    if (status != STATUS_OK)
        return status;
    if (place->servers != 0 && place->servers != named)
        return error_set(error, STATUS_INVALID, "--ps-hosts names %s, and %s says %" PRIu32,
                         wording_counted(named, "server", "servers").text,
                         request->servers > 0 && !request->colocated ? "--ps" : place->said,
                         place->servers);
    if (place->serves && place->server >= named)
        return error_set(error, STATUS_INVALID,
                         "this is server %" PRIu32 " by %s, and --ps-hosts names %s, from 0 on",
                         place->server, place->said,
                         wording_counted(named, "server", "servers").text);
    free(place->ps_hosts);
    place->ps_hosts = strdup(request->ps_hosts);
    place->servers = named;
    place->workers = request->colocated ? named : place->workers;
    place->meets = false;
    return place->ps_hosts != NULL ? STATUS_OK : error_set(error, STATUS_MEMORY, "out of memory");
}

/* Values of variables are untrusted text. */
static enum status check_servers(const struct place *place, struct error *error)
{
    struct error reason = {0};
    uint32_t count = 0;
    bool needed = (place->serves || place->works) && !place->alone && !place->meets;
    if (place->ps_hosts == NULL && needed)
        return error_set(error, STATUS_INVALID,
                         "%s does not say where the servers are: give --ps-hosts host:port,...",
                         place->said);
    if (place->ps_hosts == NULL)
        return STATUS_OK;
    if (options_hosts(place->ps_hosts, NULL, JOB_SERVERS_MAX, &count, &reason) != STATUS_OK)
        return error_set(error, STATUS_INVALID, "%s, of a server by %s", reason.text, place->said);
    if (count != place->servers)
        return error_set(error, STATUS_INVALID, "'%.200s' by %s names %s, and there are %" PRIu32,
                         place->ps_hosts, place->said,
                         wording_counted(count, "server", "servers").text, place->servers);
    return STATUS_OK;
}

/* --- sources ---------------------------------------------------------------------------------- */

/* The command line, and variables that are the same. */
static enum status from_options(struct place *place, const struct place_request *request,
                                struct error *error)
{
    uint64_t index = 0;
    bool variable =
        environment_digits(environment_value(request->environment, "SYNCOPATE_TASK_INDEX") != NULL
                               ? environment_value(request->environment, "SYNCOPATE_TASK_INDEX")
                               : "",
                           JOB_WORKERS_MAX, &index);
    if (request->job_name == NULL && !request->colocated)
        return error_set(error, STATUS_INVALID, "--task-index needs --job-name, ps or worker");
    if (variable && (int64_t)index == request->index)
        snprintf(place->said, sizeof place->said, "SYNCOPATE_TASK_INDEX=%" PRIu64, index);
    else
        snprintf(place->said, sizeof place->said, "the command line");
    index = request->index >= 0 ? (uint64_t)request->index : 0;
    struct numbered numbered = {.rank = index};
    enum status status = place_number(place, request, &numbered, error);
    if (status == STATUS_OK && !place->evaluates && request->ps_hosts == NULL)
        return error_set(error, STATUS_INVALID,
                         "needs --ps-hosts, the servers' host:port in order");
    return status;
}

/* No source: a given list of servers means that this is one process of several. */
static enum status from_nothing(struct place *place, const struct place_request *request,
                                struct error *error)
{
    if (request->job_name != NULL)
        return from_options(place, request, error);
    if (request->colocated || request->servers > 0 || request->ps_hosts != NULL)
        return error_set(
            error, STATUS_INVALID,
            "nothing says which of the job's processes this is: there is no TF_CONFIG, "
            "srun, mpirun, torchrun, DMLC_ROLE nor a pod's index; give --job-name and "
            "--task-index, or write 'syncopate run' for a job on this host");
    snprintf(place->said, sizeof place->said, "nothing: no engine's variables are here");
    place->works = place->alone = true;
    place->workers = 1;
    return STATUS_OK;
}

/* mpirun in an allocation starts its daemons as a Slurm step, whose variables they inherit; and
 * srun starts torchrun's agents. */
static bool has(const struct place_request *request, const char *name)
{
    return environment_value(request->environment, name) != NULL;
}

static enum status ask(struct place *place, const struct place_request *request,
                       enum place_source source, struct error *error)
{
    static place_source_fn *const sources[PLACE_SOURCE_COUNT] = {
        [PLACE_TF_CONFIG] = place_from_tf_config,
        [PLACE_SLURM] = place_from_slurm,
        [PLACE_MPI] = place_from_mpi,
        [PLACE_TORCHRUN] = place_from_torchrun,
        [PLACE_DMLC] = place_from_dmlc,
        [PLACE_KUBERNETES] = place_from_kubernetes,
        [PLACE_NONE] = from_nothing,
    };
    place->source = source;
    return sources[source](place, request, error);
}

static enum status ask_in_order(struct place *place, const struct place_request *request,
                                struct error *error)
{
    enum place_source order[] = {PLACE_TF_CONFIG, PLACE_SLURM,      PLACE_MPI, PLACE_TORCHRUN,
                                 PLACE_DMLC,      PLACE_KUBERNETES, PLACE_NONE};
    enum status status = STATUS_NOT_FOUND;
    if (has(request, "OMPI_COMM_WORLD_RANK")) {
        order[1] = PLACE_MPI;
        order[2] = PLACE_SLURM;
    } else if (has(request, "TORCHELASTIC_RUN_ID")) {
        order[1] = PLACE_TORCHRUN;
        order[2] = PLACE_SLURM;
        order[3] = PLACE_MPI;
    }
    for (size_t i = 0; status == STATUS_NOT_FOUND && i < sizeof order / sizeof *order; i++)
        status = ask(place, request, order[i], error);
    return status;
}

/* Each source in turn has a reason for not applying; only the last reason counts. */
static enum status find(struct place *place, const struct place_request *request,
                        struct error *reason)
{
    enum status status;
    if (request->index >= 0)
        status = from_options(place, request, reason);
    else if (request->source == PLACE_AUTO)
        status = ask_in_order(place, request, reason);
    else
        status = ask(place, request, request->source, reason);
    if (status == STATUS_OK)
        status = use_hosts(place, request, reason);
    return status == STATUS_OK ? check_servers(place, reason) : status;
}

enum status place_find(struct place *place, const struct place_request *request,
                       struct error *error)
{
    struct error reason = {0};
    *place = (struct place){.source = PLACE_NONE};
    enum status status = find(place, request, &reason);
    if (status == STATUS_OK)
        return STATUS_OK;
    place_free(place);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_INVALID, "--cluster-from=%s: %.400s",
                         place_source_word(request->source), reason.text);
    return error_set(error, status, "%s", reason.text);
}

void place_free(struct place *place)
{
    free(place->ps_hosts);
    *place = (struct place){.source = PLACE_NONE};
}

/* --- in words --------------------------------------------------------------------------------- */

static void describe_counts(const struct place *place, const char *own, uint32_t count,
                            const char *other, uint32_t others, char *text, size_t size)
{
    char many[32];
    snprintf(many, sizeof many, "%ss", own);
    if (count > 0)
        wording_append(text, size, " of %s", wording_counted(count, own, many).text);
    snprintf(many, sizeof many, "%ss", other);
    if (others > 0 && !(place->serves && place->works))
        wording_append(text, size, ", %s", wording_counted(others, other, many).text);
}

void place_describe(const struct place *place, char text[2 * PLACE_TEXT_MAX])
{
    size_t size = 2 * PLACE_TEXT_MAX;
    text[0] = '\0';
    if (place->alone)
        wording_append(text, size, "one process that trains alone");
    else if (place->serves && place->works)
        wording_append(text, size, "ps/%" PRIu32 " and worker/%" PRIu32, place->server,
                       place->worker);
    else if (place->serves)
        wording_append(text, size, "ps/%" PRIu32, place->server);
    else if (place->works)
        wording_append(text, size, "worker/%" PRIu32, place->worker);
    else
        wording_append(text, size, place->evaluates ? "the evaluator" : "nothing to do");
    if (place->serves && place->works)
        describe_counts(place, "place", place->servers, "", 0, text, size);
    else if (place->serves)
        describe_counts(place, "server", place->servers, "worker", place->workers, text, size);
    else if (place->works && !place->alone)
        describe_counts(place, "worker", place->workers, "server", place->servers, text, size);
    wording_append(text, size, ", from %s", place->said);
}

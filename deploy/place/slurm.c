/* slurm.c - srun's variables. A job of several parts (het) is one step: SLURM_PROCID counts through all
 * of them, and the tasks of a part are told by how many the parts before it have. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/place/environment.h"
#include "deploy/place/hostlist.h"
#include "deploy/place/source.h"

#define PARTS_MAX  64
#define NUMBER_MAX UINT32_MAX

struct step {
    uint64_t rank, size, job, node;
    bool knows_node;
    const char *nodes, *tasks; /* Of all parts, or of this one. */
};

/* The first of two names that is set. */
static const char *either(const char *const *environment, const char *first, const char *second)
{
    const char *value = environment_value(environment, first);
    return value != NULL ? value : environment_value(environment, second);
}

static enum status read_step(struct step *step, const char *const *environment, struct error *error)
{
    enum status status =
        environment_number(environment, "SLURM_PROCID", NUMBER_MAX, &step->rank, error);
    if (status == STATUS_OK && environment_value(environment, "SLURM_STEP_NODELIST") == NULL &&
        environment_value(environment, "SLURM_STEP_ID") == NULL)
        return error_set(
            error, STATUS_INVALID,
            "SLURM_PROCID is set, but not SLURM_STEP_ID: a batch script is no task of a "
            "job; write srun before the command");
    if (status == STATUS_OK)
        status = environment_number(environment, "SLURM_NTASKS", NUMBER_MAX, &step->size, error);
    if (status == STATUS_NOT_FOUND && environment_value(environment, "SLURM_PROCID") != NULL)
        status =
            environment_number(environment, "SLURM_STEP_NUM_TASKS", NUMBER_MAX, &step->size, error);
    if (status == STATUS_OK)
        status = environment_number(environment, "SLURM_JOB_ID", UINT64_MAX, &step->job, error);
    if (status == STATUS_NOT_FOUND && environment_value(environment, "SLURM_PROCID") != NULL)
        status = STATUS_INVALID;
    if (status == STATUS_OK) {
        enum status node =
            environment_number(environment, "SLURM_NODEID", NUMBER_MAX, &step->node, error);
        step->knows_node = node == STATUS_OK;
        status = node == STATUS_NOT_FOUND ? STATUS_OK : node;
    }
    step->nodes = either(environment, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
    step->tasks = either(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
    return status;
}

/* How many tasks each part of a het job has; *count 0: it is none. */
static enum status read_parts(const char *const *environment, uint64_t tasks[PARTS_MAX],
                              size_t *count, struct error *error)
{
    for (*count = 0; *count < PARTS_MAX; (*count)++) {
        char name[40];
        snprintf(name, sizeof name, "SLURM_NTASKS_HET_GROUP_%zu", *count);
        enum status status =
            environment_number(environment, name, NUMBER_MAX, &tasks[*count], error);
        if (status != STATUS_OK)
            return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    return STATUS_OK;
}

/* Which part a task is of, by the numbers of all. */
static void find_part(struct numbered *numbered, const uint64_t *tasks, size_t count)
{
    uint64_t first = 0;
    numbered->group_size = numbered->size;
    for (size_t i = 0; i < count; i++) {
        if (numbered->rank >= first && numbered->rank < first + tasks[i]) {
            numbered->group_first = first;
            numbered->group_size = tasks[i];
        }
        first += tasks[i];
    }
    if (count == 2)
        numbered->other_size = numbered->size - numbered->group_size;
}

/* The name of the host that has a task. */
static enum status host_of(const struct step *step, uint64_t rank, char name[HOSTLIST_NAME_MAX],
                           struct error *error)
{
    uint64_t host;
    struct error reason = {0};
    enum status status = step->nodes == NULL || step->tasks == NULL
                             ? STATUS_NOT_FOUND
                             : hostlist_task(step->tasks, rank, &host, &reason);
    if (status == STATUS_OK)
        status = hostlist_find(step->nodes, host, name, NULL, &reason);
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(
        error, STATUS_INVALID,
        "SLURM_STEP_NODELIST=%.80s and SLURM_STEP_TASKS_PER_NODE=%.60s do not say which "
        "host has task %" PRIu64 ": give --ps-hosts",
        step->nodes != NULL ? step->nodes : "", step->tasks != NULL ? step->tasks : "", rank);
}

/* Hosts are filled one after the other, unless Slurm was told otherwise: then this task's own host
 * differs from where it would be. */
static enum status check_own(const struct step *step, struct error *error)
{
    uint64_t host;
    if (!step->knows_node || step->tasks == NULL ||
        hostlist_task(step->tasks, step->rank, &host, NULL) != STATUS_OK || host == step->node)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "SLURM_NODEID=%" PRIu64
                     ": tasks are not dealt out host by host, so the servers' "
                     "hosts are not known: give srun --distribution=block, or --ps-hosts",
                     step->node);
}

static enum status name_servers(struct place *place, const struct place_request *request,
                                const struct step *step, uint64_t first, struct error *error)
{
    uint64_t base = place_job_port(step->job);
    enum status status = check_own(step, error);
    for (uint32_t i = 0; i < place->servers && status == STATUS_OK; i++) {
        char host[HOSTLIST_NAME_MAX];
        status = host_of(step, first + i, host, error);
        if (status == STATUS_OK)
            status = place_add_server(place, host, place_port(request, base, i), error);
    }
    return status;
}

/* The whole of a step of workers alone says nothing of its servers. */
static bool knows_servers(const struct place *place, const struct place_request *request,
                          const struct numbered *numbered)
{
    return request->job_name == NULL || place->serves || numbered->other_size > 0;
}

enum status place_from_slurm(struct place *place, const struct place_request *request,
                             struct error *error)
{
    struct step step = {0};
    uint64_t parts[PARTS_MAX];
    size_t count = 0;
    enum status status = read_step(&step, request->environment, error);
    if (status == STATUS_OK)
        status = read_parts(request->environment, parts, &count, error);
    if (status != STATUS_OK)
        return status;
    struct numbered numbered = {.size_name = "SLURM_NTASKS", .rank = step.rank, .size = step.size};
    find_part(&numbered, parts, count);
    snprintf(place->said, sizeof place->said, "SLURM (SLURM_PROCID=%" PRIu64 ")", step.rank);
    status = place_number(place, request, &numbered, error);
    if (status != STATUS_OK || request->ps_hosts != NULL || place->evaluates)
        return status;
    if (!knows_servers(place, request, &numbered))
        return error_set(error, STATUS_INVALID,
                         "a step of workers alone does not know its servers: give --ps-hosts");
    place->alone = place->servers == 0;
    return name_servers(place, request, &step, numbered.first_server, error);
}

/* slurm.c - srun's variables. Several parts of a job (het) that start together are one step:
 * SLURM_PROCID, SLURM_NTASKS and SLURM_NODEID count through all parts. But SLURM_STEP_NODELIST is
 * then sorted by name. Therefore hosts come from the parts' own lists, one part after the other:
 * SLURM_JOB_NODELIST_HET_GROUP_0 and on, or _PACK_GROUP_ in older versions. These also exist when a
 * step has one part: then it has fewer hosts than they. A part's tasks are those of its hosts; no
 * two parts share a host. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/address/hostlist.h"
#include "deploy/place/environment.h"
#include "deploy/place/source.h"

#define PARTS_MAX  64
#define NUMBER_MAX 65535 /* Tasks. */

struct part {
    const char *nodes;
    uint64_t node_count, tasks;
};

struct step {
    uint64_t rank, size, job, node;
    bool knows_node;
    const char *nodes, *tasks; /* Of the step: hosts by name, tasks on each by its number. */
    const char *node_name;     /* Of this task's host. */
    const char *distribution;  /* "cyclic:block"; NULL: as is usual. */
    struct part parts[PARTS_MAX];
    size_t part_count; /* 0: not a het job. */
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
    if (status == STATUS_OK && step->size == 0)
        return error_set(error, STATUS_INVALID, "SLURM_NTASKS=0: there is one task at least");
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
    step->node_name = environment_value(environment, "SLURMD_NODENAME");
    step->distribution = environment_value(environment, "SLURM_DISTRIBUTION");
    return status;
}

static const char *part_nodes(const char *const *environment, size_t part)
{
    char names[2][48];
    snprintf(names[0], sizeof names[0], "SLURM_JOB_NODELIST_HET_GROUP_%zu", part);
    snprintf(names[1], sizeof names[1], "SLURM_JOB_NODELIST_PACK_GROUP_%zu", part);
    return either(environment, names[0], names[1]);
}

static bool has_all_parts(const struct step *step)
{
    char name[HOSTLIST_NAME_MAX];
    uint64_t hosts = 0, tasks = 0, there = 0;
    for (size_t i = 0; i < step->part_count; i++) {
        hosts += step->parts[i].node_count;
        tasks += step->parts[i].tasks;
    }
    return step->part_count > 1 && tasks == step->size && step->nodes != NULL &&
           hostlist_find(step->nodes, 0, name, &there, NULL) == STATUS_OK && there == hosts;
}

/* The parts of a het job: which hosts, and how many tasks. */
static enum status read_parts(struct step *step, const char *const *environment,
                              struct error *error)
{
    uint64_t first = 0;
    for (size_t i = 0; i < PARTS_MAX; i++) {
        struct part *part = &step->parts[i];
        char name[HOSTLIST_NAME_MAX];
        part->nodes = part_nodes(environment, i);
        if (part->nodes == NULL)
            break;
        if (hostlist_find(part->nodes, 0, name, &part->node_count, error) != STATUS_OK)
            return STATUS_INVALID;
        if (step->tasks != NULL)
            hostlist_tasks(step->tasks, first, part->node_count, &part->tasks);
        first += part->node_count;
        step->part_count++;
    }
    if (!has_all_parts(step))
        step->part_count = 0;
    return STATUS_OK;
}

/* Which part a task is of, by the numbers of all. */
static void find_part(struct numbered *numbered, const struct step *step)
{
    uint64_t first = 0;
    numbered->group_size = numbered->size;
    for (size_t i = 0; i < step->part_count; i++) {
        uint64_t tasks = step->parts[i].tasks;
        if (numbered->rank >= first && numbered->rank - first < tasks) {
            numbered->group_first = first;
            numbered->group_size = tasks;
        }
        first += tasks;
    }
    if (step->part_count == 2)
        numbered->other_size = numbered->size - numbered->group_size;
}

static enum status name_host(const struct step *step, uint64_t host, char name[HOSTLIST_NAME_MAX],
                             struct error *error)
{
    for (size_t i = 0; i < step->part_count; i++) {
        if (host < step->parts[i].node_count)
            return hostlist_find(step->parts[i].nodes, host, name, NULL, error);
        host -= step->parts[i].node_count;
    }
    if (step->part_count > 0 || step->nodes == NULL)
        return STATUS_NOT_FOUND;
    return hostlist_find(step->nodes, host, name, NULL, error);
}

/* The name of the host that has a task. */
static enum status host_of(const struct step *step, uint64_t rank, char name[HOSTLIST_NAME_MAX],
                           struct error *error)
{
    uint64_t host;
    if (step->tasks != NULL && hostlist_task(step->tasks, rank, &host, NULL) == STATUS_OK &&
        name_host(step, host, name, NULL) == STATUS_OK)
        return STATUS_OK;
    return error_set(
        error, STATUS_INVALID,
        "SLURM_STEP_NODELIST=%.80s and SLURM_STEP_TASKS_PER_NODE=%.60s do not say which "
        "host has task %" PRIu64 ": give --ps-hosts",
        step->nodes != NULL ? step->nodes : "", step->tasks != NULL ? step->tasks : "", rank);
}

/* Then all ways of dealing tasks out are one, and Slurm calls it cyclic. */
static bool one_task_a_host(const struct step *step)
{
    uint64_t host;
    return step->tasks != NULL && step->size > 0 &&
           hostlist_task(step->tasks, step->size - 1, &host, NULL) == STATUS_OK &&
           host == step->size - 1;
}

/* Hosts are filled one after the other, unless Slurm's variables say otherwise; or this task's own
 * host differs from the computed one. */
static enum status check_own(const struct step *step, struct error *error)
{
    char name[HOSTLIST_NAME_MAX];
    uint64_t host;
    bool usual = step->distribution == NULL || step->distribution[0] == '*' ||
                 strncmp(step->distribution, "block", strlen("block")) == 0 ||
                 one_task_a_host(step);
    if (!usual)
        return error_set(
            error, STATUS_INVALID,
            "SLURM_DISTRIBUTION=%.60s: the servers' hosts follow only where one host is "
            "filled after the other: give srun --distribution=block, or --ps-hosts",
            step->distribution);
    enum status status = host_of(step, step->rank, name, error);
    if (status != STATUS_OK)
        return status;
    hostlist_task(step->tasks, step->rank, &host, NULL);
    if ((!step->knows_node || host == step->node) &&
        (step->node_name == NULL || strcmp(name, step->node_name) == 0))
        return STATUS_OK;
    return error_set(
        error, STATUS_INVALID,
        "this task is on %.80s, and by SLURM_STEP_NODELIST it would be on %.80s, so the "
        "servers' hosts are not known: give --ps-hosts",
        step->node_name != NULL ? step->node_name : "another host", name);
}

/* A job that is in the queue again has its number still. */
static enum status meet(struct place *place, const struct place_request *request,
                        const struct step *step, struct error *error)
{
    const char *number = environment_value(request->environment, "SLURM_STEP_ID");
    const char *again = environment_value(request->environment, "SLURM_RESTART_COUNT");
    char job[PLACE_TEXT_MAX];
    snprintf(job, sizeof job, "%" PRIu64 ".%.40s.%.40s", step->job, number != NULL ? number : "",
             again != NULL ? again : "0");
    return place_meet(place, request, job, "SLURMD_NODENAME", "", error);
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
    enum status status = read_step(&step, request->environment, error);
    if (status == STATUS_OK)
        status = read_parts(&step, request->environment, error);
    if (status != STATUS_OK)
        return status;
    struct numbered numbered = {.size_name = "SLURM_NTASKS", .rank = step.rank, .size = step.size};
    find_part(&numbered, &step);
    if (request->ps_hosts == NULL) /* Named servers may be another Slurm job's. */
        place_call_job(place, "Slurm job",
                       either(request->environment, "SLURM_HET_JOB_ID", "SLURM_JOB_ID"));
    snprintf(place->said, sizeof place->said, "SLURM (SLURM_PROCID=%" PRIu64 ")", step.rank);
    status = place_number(place, request, &numbered, error);
    if (status != STATUS_OK || request->ps_hosts != NULL || place->evaluates)
        return status;
    if (!knows_servers(place, request, &numbered))
        return error_set(error, STATUS_INVALID,
                         "a step of workers alone does not know its servers: give --ps-hosts");
    if (request->must_meet && !place->alone)
        return meet(place, request, &step, error);
    return name_servers(place, request, &step, numbered.first_server, error);
}

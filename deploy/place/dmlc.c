/* dmlc.c - the variables of ps-lite, MXNet and BytePS: DMLC_ROLE and the number of each role. There
 * is no scheduler here to assign numbers and addresses. Therefore DMLC_WORKER_ID or DMLC_RANK are
 * required, and the addresses of servers, unless all are on one host. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/address/address.h"
#include "deploy/place/environment.h"
#include "deploy/place/source.h"

/* From BytePS, from a runtime, and from dmlc-core's tracker. */
static enum status read_index(const char *const *environment, const char *own, uint64_t count,
                              uint64_t *index, struct error *error)
{
    const char *const names[] = {own, "DMLC_RANK", "DMLC_TASK_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum status status =
            environment_number(environment, names[i], JOB_WORKERS_MAX - 1, index, error);
        if (status == STATUS_OK && *index >= count)
            return error_set(error, STATUS_INVALID,
                             "%s=%" PRIu64 ", but there are %" PRIu64 ", and the first is 0",
                             names[i], *index, count);
        if (status != STATUS_NOT_FOUND)
            return status;
    }
    *index = 0;
    if (count == 1)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%s is not set: there is no scheduler that would tell each process its number",
                     own);
}

static enum status read_counts(struct place *place, const char *const *environment,
                               struct error *error)
{
    uint64_t servers = 0, workers = 0;
    enum status status =
        environment_number(environment, "DMLC_NUM_SERVER", JOB_SERVERS_MAX, &servers, error);
    if (status == STATUS_OK)
        status =
            environment_number(environment, "DMLC_NUM_WORKER", JOB_WORKERS_MAX, &workers, error);
    if (status == STATUS_OK && (servers == 0 || workers == 0))
        return error_set(error, STATUS_INVALID,
                         "DMLC_NUM_SERVER=%" PRIu64 " and DMLC_NUM_WORKER=%" PRIu64
                         ": there is one of each at least",
                         servers, workers);
    place->servers = (uint32_t)servers;
    place->workers = (uint32_t)workers;
    return status == STATUS_OK ? status : STATUS_INVALID;
}

/* The scheduler's port is free: on one host the servers use it and the next ones. */
static enum status name_servers(struct place *place, const struct place_request *request,
                                struct error *error)
{
    const char *host = environment_value(request->environment, "DMLC_PS_ROOT_URI");
    uint64_t port = 0;
    enum status status =
        environment_number(request->environment, "DMLC_PS_ROOT_PORT", 65535, &port, error);
    if (host == NULL)
        status = error_set(error, STATUS_INVALID, "DMLC_PS_ROOT_URI is not set");
    if (status != STATUS_OK)
        return STATUS_INVALID;
    if (!address_is_loopback(host))
        return error_set(
            error, STATUS_INVALID,
            "DMLC_PS_ROOT_URI=%.100s is the scheduler's host, and does not say where the "
            "servers are: give --ps-hosts host:port,...",
            host);
    for (uint32_t i = 0; i < place->servers && status == STATUS_OK; i++)
        status = place_add_server(place, host, place_port(request, port, i), error);
    return status;
}

static enum status read_role(struct place *place, const struct place_request *request,
                             const char *role, struct error *error)
{
    uint64_t index = 0;
    enum status status;
    if (strcmp(role, "scheduler") == 0) /* Nothing to do. */
        return STATUS_OK;
    place->serves = strcmp(role, "server") == 0;
    place->works = strcmp(role, "worker") == 0;
    if (!place->serves && !place->works)
        return error_set(error, STATUS_INVALID,
                         "DMLC_ROLE=%.40s: needs worker, server or scheduler", role);
    if (place->serves)
        status = read_index(request->environment, "DMLC_SERVER_ID", place->servers, &index, error);
    else
        status = read_index(request->environment, "DMLC_WORKER_ID", place->workers, &index, error);
    *(place->serves ? &place->server : &place->worker) = (uint32_t)index;
    return status;
}

enum status place_from_dmlc(struct place *place, const struct place_request *request,
                            struct error *error)
{
    const char *role = environment_value(request->environment, "DMLC_ROLE");
    if (role == NULL)
        return error_set(error, STATUS_NOT_FOUND, "DMLC_ROLE is not set");
    snprintf(place->said, sizeof place->said, "DMLC_* (DMLC_ROLE=%.40s)", role);
    if (request->colocated)
        return error_set(error, STATUS_INVALID,
                         "--ps colocated, but DMLC_ROLE gives every process one role");
    enum status status = read_counts(place, request->environment, error);
    if (status == STATUS_OK)
        status = read_role(place, request, role, error);
    if (status != STATUS_OK || request->ps_hosts != NULL || (!place->serves && !place->works))
        return status;
    return name_servers(place, request, error);
}

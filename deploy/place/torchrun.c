/* torchrun.c - RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of torchrun and Kubeflow's PyTorchJob.
 * The first ranks are on the host that MASTER_ADDR names, and there the servers listen from
 * MASTER_PORT on; an agent of torchrun listens on that port itself, and the servers use the next
 * ones. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/place/environment.h"
#include "deploy/place/source.h"

#define NUMBER_MAX UINT32_MAX

/* Whether all servers are among the master's processes. */
static bool master_serves(const struct place *place, const char *const *environment, uint64_t size)
{
    uint64_t local;
    if (environment_number(environment, "LOCAL_WORLD_SIZE", NUMBER_MAX, &local, NULL) != STATUS_OK)
        local = 1;
    return place->servers <= local || local == size;
}

static enum status name_servers(struct place *place, const struct place_request *request,
                                const struct numbered *numbered, struct error *error)
{
    const char *const *environment = request->environment;
    const char *address = environment_value(environment, "MASTER_ADDR");
    const char *job = environment_value(environment, "TORCHELASTIC_RUN_ID");
    uint64_t port = 0;
    if (place->alone)
        return STATUS_OK;
    if (address == NULL)
        return error_set(error, STATUS_INVALID,
                         "RANK is set, but not MASTER_ADDR, where server 0 is: set it, or give "
                         "--ps-hosts");
    enum status status = environment_number(environment, "MASTER_PORT", 65535, &port, error);
    if (status != STATUS_OK)
        return STATUS_INVALID;
    if (!master_serves(place, environment, numbered->size))
        return error_set(error, STATUS_INVALID,
                         "MASTER_ADDR is the host of rank 0, and of --ps=%" PRIu32
                         " servers others are elsewhere: give --ps-hosts host:port,...",
                         place->servers);
    for (uint32_t i = 0; i < place->servers && status == STATUS_OK; i++)
        status = place_add_server(place, address,
                                  place_port(request, port + (job != NULL ? 1 : 0), i), error);
    return status;
}

enum status place_from_torchrun(struct place *place, const struct place_request *request,
                                struct error *error)
{
    struct numbered numbered = {.size_name = "WORLD_SIZE"};
    const char *const *environment = request->environment;
    if (environment_value(environment, "RANK") == NULL ||
        environment_value(environment, "WORLD_SIZE") == NULL)
        return error_set(error, STATUS_NOT_FOUND, "RANK and WORLD_SIZE are not set");
    enum status status = environment_number(environment, "RANK", NUMBER_MAX, &numbered.rank, error);
    if (status == STATUS_OK)
        status = environment_number(environment, "WORLD_SIZE", NUMBER_MAX, &numbered.size, error);
    if (status == STATUS_OK && numbered.size == 0)
        status = error_set(error, STATUS_INVALID, "WORLD_SIZE=0: there is one process at least");
    if (status != STATUS_OK)
        return status;
    const char *run = environment_value(environment, "TORCHELASTIC_RUN_ID");
    if (run != NULL && strcmp(run, "none") != 0)
        place_call_job(place, "torchrun's run", run);
    numbered.group_size = numbered.size;
    snprintf(place->said, sizeof place->said, "torchrun's variables (RANK=%" PRIu64 ")",
             numbered.rank);
    status = place_number(place, request, &numbered, error);
    if (status != STATUS_OK || request->ps_hosts != NULL || place->evaluates)
        return status;
    return name_servers(place, request, &numbered, error);
}

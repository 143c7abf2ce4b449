/* placement.c - one process at a time, each on the emptiest host. */

#include "deploy/hosts/placement.h"

#include <stdlib.h>

#include "common/base/wording.h"

#define NOWHERE SIZE_MAX

static bool takes(const struct host *host, enum host_role role)
{
    return host->role == HOST_ROLE_ANY || host->role == role;
}

static bool has_role(const struct host_list *list, enum host_role role)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->hosts[i].role == role)
            return true;
    return false;
}

static bool has_room(const struct host *host, uint32_t taken)
{
    return host->slots == 0 || taken < host->slots;
}

/* Whether a host that would have `a` of its slots taken is emptier than one with `b`. */
static bool emptier(const struct host *a, uint32_t taken_a, const struct host *b, uint32_t taken_b)
{
    uint64_t slots_a = a->slots > 0 ? a->slots : 1, slots_b = b->slots > 0 ? b->slots : 1;
    return taken_a * slots_b < taken_b * slots_a;
}

/* --- servers ------------------------------------------------------------------------------- */

/* servers[i]: how many host i has. */
static size_t server_host(const struct placement *placement, const struct host_list *list,
                          const uint32_t *servers)
{
    bool reserved = has_role(list, HOST_ROLE_PS);
    size_t best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        const struct host *host = &list->hosts[i];
        if (!takes(host, HOST_ROLE_PS) || (reserved && host->role != HOST_ROLE_PS) ||
            !has_room(host, placement->taken[i]))
            continue;
        if (best == NOWHERE || servers[i] < servers[best])
            best = i;
    }
    return best;
}

/* How many found a place. */
static uint32_t place_servers(struct placement *placement, const struct host_list *list,
                              uint32_t *servers)
{
    for (uint32_t i = 0; i < placement->servers; i++) {
        size_t host = server_host(placement, list, servers);
        if (host == NOWHERE)
            return i;
        placement->server_hosts[i] = host;
        placement->taken[host]++;
        servers[host]++;
    }
    return placement->servers;
}

/* --- workers ------------------------------------------------------------------------------- */

static size_t worker_host(const struct placement *placement, const struct host_list *list)
{
    size_t best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        if (!takes(&list->hosts[i], HOST_ROLE_WORKER) ||
            !has_room(&list->hosts[i], placement->taken[i]))
            continue;
        if (best == NOWHERE || emptier(&list->hosts[i], placement->taken[i] + 1, &list->hosts[best],
                                       placement->taken[best] + 1))
            best = i;
    }
    return best;
}

static uint32_t place_workers(struct placement *placement, const struct host_list *list)
{
    for (uint32_t i = 0; i < placement->workers; i++) {
        size_t host = worker_host(placement, list);
        if (host == NOWHERE)
            return i;
        placement->worker_hosts[i] = host;
        placement->taken[host]++;
    }
    return placement->workers;
}

/* --- all of them --------------------------------------------------------------------------- */

static enum status take_memory(struct placement *placement, size_t hosts, uint32_t **servers)
{
    placement->server_hosts = calloc(placement->servers + 1, sizeof *placement->server_hosts);
    placement->worker_hosts = calloc(placement->workers + 1, sizeof *placement->worker_hosts);
    placement->taken = calloc(hosts + 1, sizeof *placement->taken);
    *servers = calloc(hosts + 1, sizeof **servers);
    bool all = placement->server_hosts != NULL && placement->worker_hosts != NULL &&
               placement->taken != NULL && *servers != NULL;
    return all ? STATUS_OK : STATUS_MEMORY;
}

static enum status refuse_servers(uint32_t seated, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "there is no place for ps/%u: the hosts that may have servers have %s", seated,
                     wording_counted(seated, "slot", "slots").text);
}

static enum status refuse_workers(const struct placement *placement, uint32_t seated,
                                  struct error *error)
{
    return error_set(
        error, STATUS_INVALID,
        "there is no place for worker/%u: beside %s the hosts have slots for %s (slots=N)", seated,
        wording_counted(placement->servers, "server", "servers").text,
        wording_counted(seated, "worker", "workers").text);
}

/* Every worker's place has a server, in one slot. */
static enum status place_together(struct placement *placement, const struct host_list *list,
                                  struct error *error)
{
    uint32_t seated = place_workers(placement, list);
    for (uint32_t i = 0; i < seated; i++)
        placement->server_hosts[i] = placement->worker_hosts[i];
    if (seated == placement->workers)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "there is no place for worker/%u: the hosts have %s",
                     seated, wording_counted(seated, "slot", "slots").text);
}

enum status placement_make(struct placement *placement, const struct host_list *list,
                           uint32_t servers, uint32_t workers, bool colocated, struct error *error)
{
    uint32_t *counts = NULL;
    *placement = (struct placement){.servers = servers, .workers = workers};
    enum status status = take_memory(placement, list->count, &counts);
    if (status != STATUS_OK) {
        free(counts);
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    uint32_t seated = 0;
    if (colocated)
        status = place_together(placement, list, error);
    else if ((seated = place_servers(placement, list, counts)) < servers)
        status = refuse_servers(seated, error);
    else if ((seated = place_workers(placement, list)) < workers)
        status = refuse_workers(placement, seated, error);
    free(counts);
    return status;
}

uint32_t placement_room(const struct host_list *list, uint32_t servers, bool colocated)
{
    struct placement placement;
    uint64_t room = 0;
    if (placement_make(&placement, list, colocated ? 0 : servers, 0, false, NULL) == STATUS_OK)
        for (size_t i = 0; i < list->count; i++)
            if (takes(&list->hosts[i], HOST_ROLE_WORKER))
                room += list->hosts[i].slots > 0 ? list->hosts[i].slots - placement.taken[i] : 1;
    placement_free(&placement);
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

bool placement_move(struct placement *placement, const struct host_list *list, uint32_t worker,
                    const bool *gone)
{
    size_t now = placement->worker_hosts[worker], best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        if (i == now || gone[i] || !takes(&list->hosts[i], HOST_ROLE_WORKER))
            continue;
        if (best == NOWHERE || emptier(&list->hosts[i], placement->taken[i] + 1, &list->hosts[best],
                                       placement->taken[best] + 1))
            best = i;
    }
    if (best == NOWHERE)
        return false;
    placement->taken[now]--;
    placement->taken[best]++;
    placement->worker_hosts[worker] = best;
    return true;
}

void placement_free(struct placement *placement)
{
    free(placement->server_hosts);
    free(placement->worker_hosts);
    free(placement->taken);
    *placement = (struct placement){0};
}

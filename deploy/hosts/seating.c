/* seating.c - one at a time, each where it is emptiest. */

#include "deploy/hosts/seating.h"

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
static size_t server_host(const struct seating *seating, const struct host_list *list,
                          const uint32_t *servers)
{
    bool reserved = has_role(list, HOST_ROLE_PS);
    size_t best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        const struct host *host = &list->hosts[i];
        if (!takes(host, HOST_ROLE_PS) || (reserved && host->role != HOST_ROLE_PS) ||
            !has_room(host, seating->taken[i]))
            continue;
        if (best == NOWHERE || servers[i] < servers[best])
            best = i;
    }
    return best;
}

/* How many found a place. */
static uint32_t seat_servers(struct seating *seating, const struct host_list *list,
                             uint32_t *servers)
{
    for (uint32_t i = 0; i < seating->servers; i++) {
        size_t host = server_host(seating, list, servers);
        if (host == NOWHERE)
            return i;
        seating->server_hosts[i] = host;
        seating->taken[host]++;
        servers[host]++;
    }
    return seating->servers;
}

/* --- workers ------------------------------------------------------------------------------- */

static size_t worker_host(const struct seating *seating, const struct host_list *list)
{
    size_t best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        if (!takes(&list->hosts[i], HOST_ROLE_WORKER) ||
            !has_room(&list->hosts[i], seating->taken[i]))
            continue;
        if (best == NOWHERE || emptier(&list->hosts[i], seating->taken[i] + 1, &list->hosts[best],
                                       seating->taken[best] + 1))
            best = i;
    }
    return best;
}

static uint32_t seat_workers(struct seating *seating, const struct host_list *list)
{
    for (uint32_t i = 0; i < seating->workers; i++) {
        size_t host = worker_host(seating, list);
        if (host == NOWHERE)
            return i;
        seating->worker_hosts[i] = host;
        seating->taken[host]++;
    }
    return seating->workers;
}

/* --- all of them --------------------------------------------------------------------------- */

static enum status take_memory(struct seating *seating, size_t hosts, uint32_t **servers)
{
    seating->server_hosts = calloc(seating->servers + 1, sizeof *seating->server_hosts);
    seating->worker_hosts = calloc(seating->workers + 1, sizeof *seating->worker_hosts);
    seating->taken = calloc(hosts + 1, sizeof *seating->taken);
    *servers = calloc(hosts + 1, sizeof **servers);
    bool all = seating->server_hosts != NULL && seating->worker_hosts != NULL &&
               seating->taken != NULL && *servers != NULL;
    return all ? STATUS_OK : STATUS_MEMORY;
}

static enum status refuse_servers(uint32_t seated, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "there is no place for ps/%u: the hosts that may have servers have %s", seated,
                     wording_counted(seated, "slot", "slots").text);
}

static enum status refuse_workers(const struct seating *seating, uint32_t seated,
                                  struct error *error)
{
    return error_set(
        error, STATUS_INVALID,
        "there is no place for worker/%u: beside %s the hosts have slots for %s (slots=N)", seated,
        wording_counted(seating->servers, "server", "servers").text,
        wording_counted(seated, "worker", "workers").text);
}

/* Every worker's place has a server, in one slot. */
static enum status seat_together(struct seating *seating, const struct host_list *list,
                                 struct error *error)
{
    uint32_t seated = seat_workers(seating, list);
    for (uint32_t i = 0; i < seated; i++)
        seating->server_hosts[i] = seating->worker_hosts[i];
    if (seated == seating->workers)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "there is no place for worker/%u: the hosts have %s",
                     seated, wording_counted(seated, "slot", "slots").text);
}

enum status seating_make(struct seating *seating, const struct host_list *list, uint32_t servers,
                         uint32_t workers, bool colocated, struct error *error)
{
    uint32_t *counts = NULL;
    *seating = (struct seating){.servers = servers, .workers = workers};
    enum status status = take_memory(seating, list->count, &counts);
    if (status != STATUS_OK) {
        free(counts);
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    uint32_t seated = 0;
    if (colocated)
        status = seat_together(seating, list, error);
    else if ((seated = seat_servers(seating, list, counts)) < servers)
        status = refuse_servers(seated, error);
    else if ((seated = seat_workers(seating, list)) < workers)
        status = refuse_workers(seating, seated, error);
    free(counts);
    return status;
}

uint32_t seating_room(const struct host_list *list, uint32_t servers, bool colocated)
{
    struct seating seating;
    uint64_t room = 0;
    if (seating_make(&seating, list, colocated ? 0 : servers, 0, false, NULL) == STATUS_OK)
        for (size_t i = 0; i < list->count; i++)
            if (takes(&list->hosts[i], HOST_ROLE_WORKER))
                room += list->hosts[i].slots > 0 ? list->hosts[i].slots - seating.taken[i] : 1;
    seating_free(&seating);
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

bool seating_move(struct seating *seating, const struct host_list *list, uint32_t worker,
                  const bool *gone)
{
    size_t now = seating->worker_hosts[worker], best = NOWHERE;
    for (size_t i = 0; i < list->count; i++) {
        if (i == now || gone[i] || !takes(&list->hosts[i], HOST_ROLE_WORKER))
            continue;
        if (best == NOWHERE || emptier(&list->hosts[i], seating->taken[i] + 1, &list->hosts[best],
                                       seating->taken[best] + 1))
            best = i;
    }
    if (best == NOWHERE)
        return false;
    seating->taken[now]--;
    seating->taken[best]++;
    seating->worker_hosts[worker] = best;
    return true;
}

void seating_free(struct seating *seating)
{
    free(seating->server_hosts);
    free(seating->worker_hosts);
    free(seating->taken);
    *seating = (struct seating){0};
}

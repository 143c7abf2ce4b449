/* layout.c - assigns a host to each process in turn, then applies links to the hosts' cards. */

#include "deploy/cluster/layout.h"

#include <assert.h>
#include <stdlib.h>

#define NO_INDEX UINT32_MAX

uint32_t layout_number(const struct layout *layout, struct place place)
{
    assert(place.index < (place.role == ROLE_PS ? layout->servers : layout->workers));
    return place.role == ROLE_PS ? place.index : layout->servers + place.index;
}

struct place layout_place(const struct layout *layout, uint32_t number)
{
    assert(number < layout->servers + layout->workers);
    return number < layout->servers ? (struct place){ROLE_PS, number}
                                    : (struct place){ROLE_WORKER, number - layout->servers};
}

/* --- hosts ----------------------------------------------------------------------------------- */

/* Which named host a process is on; host_count: on none. */
static enum status find_named(const struct cluster *cluster, struct place place, size_t *index,
                              struct error *error)
{
    *index = cluster->host_count;
    for (size_t i = 0; i < cluster->host_count; i++) {
        if (!places_have(&cluster->hosts[i].processes, place))
            continue;
        if (*index < cluster->host_count)
            return error_set(error, STATUS_INVALID,
                             "%s is on two hosts, number %zu and number %zu of the cluster, "
                             "from 0 on",
                             place_text(place).text, *index, i);
        *index = i;
    }
    return STATUS_OK;
}

/* Whether the place has both a server and a worker. */
static bool is_shared(const struct layout *layout, struct place place)
{
    return layout->colocated && place.index < layout->servers && place.index < layout->workers;
}

/* The same where naming one of a place's two names both. */
static enum status find_shared(const struct layout *layout, const struct cluster *cluster,
                               struct place place, size_t *index, struct error *error)
{
    struct place other = {place.role == ROLE_PS ? ROLE_WORKER : ROLE_PS, place.index};
    size_t beside;
    enum status status = find_named(cluster, place, index, error);
    if (status != STATUS_OK || !is_shared(layout, place))
        return status;
    status = find_named(cluster, other, &beside, error);
    if (status != STATUS_OK)
        return status;
    if (*index == cluster->host_count)
        *index = beside;
    if (beside == cluster->host_count || beside == *index)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%s and %s are beside each other (--ps colocated), but on two hosts, number "
                     "%zu and number %zu of the cluster, from 0 on",
                     place_text(place).text, place_text(other).text, *index, beside);
}

/* made: the number of each named host, and last the host of all others; NO_INDEX before its first
 * process. */
static enum status place_all(struct layout *layout, const struct cluster *cluster, uint32_t *made,
                             struct error *error)
{
    for (size_t i = 0; i <= cluster->host_count; i++)
        made[i] = NO_INDEX;
    for (uint32_t number = 0; number < layout->servers + layout->workers; number++) {
        struct place place = layout_place(layout, number);
        size_t index;
        enum status status = find_shared(layout, cluster, place, &index, error);
        if (status != STATUS_OK)
            return status;
        if (place.role == ROLE_WORKER && is_shared(layout, place)) { /* Its server came first. */
            layout->host_of[number] = layout->host_of[place.index];
            continue;
        }
        bool named = index < cluster->host_count;
        if (made[index] == NO_INDEX || (!named && cluster->rest == CLUSTER_APART)) {
            made[index] = layout->host_count++;
            layout->hosts[made[index]] = named ? cluster->hosts[index].host : cluster->usual;
        }
        layout->host_of[number] = made[index];
    }
    return STATUS_OK;
}

/* --- links ----------------------------------------------------------------------------------- */

static const struct cluster_link *link_of(const struct cluster *cluster, struct place place)
{
    for (size_t i = cluster->link_count; i > 0; i--)
        if (places_have(&cluster->links[i - 1].processes, place))
            return &cluster->links[i - 1];
    return NULL;
}

static bool nics_differ(const struct cluster_nic *a, const struct cluster_nic *b)
{
    return a->up_bytes_per_second != b->up_bytes_per_second ||
           a->down_bytes_per_second != b->down_bytes_per_second || a->latency_ns != b->latency_ns;
}

/* linked: the process that set a host's link; NO_INDEX. */
static enum status link_all(struct layout *layout, const struct cluster *cluster, uint32_t *linked,
                            struct error *error)
{
    for (uint32_t i = 0; i < layout->host_count; i++)
        linked[i] = NO_INDEX;
    for (uint32_t number = 0; number < layout->servers + layout->workers; number++) {
        struct place place = layout_place(layout, number);
        const struct cluster_link *link = link_of(cluster, place);
        uint32_t *owner = &linked[layout->host_of[number]];
        struct cluster_nic *nic = &layout->hosts[layout->host_of[number]].nic;
        if (link == NULL)
            continue;
        if (*owner != NO_INDEX && nics_differ(nic, &link->nic))
            return error_set(
                error, STATUS_INVALID,
                "%s and %s are on one host and share its card, but have different links",
                place_text(layout_place(layout, *owner)).text, place_text(place).text);
        *owner = number;
        *nic = link->nic;
    }
    return STATUS_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static enum status make(struct layout *layout, const struct cluster *cluster, uint32_t servers,
                        uint32_t workers, bool colocated, struct error *error)
{
    size_t processes = (size_t)servers + workers;
    size_t most = (processes > cluster->host_count ? processes : cluster->host_count) + 1;
    uint32_t *scratch = calloc(most, sizeof *scratch);
    *layout = (struct layout){.servers = servers, .workers = workers, .colocated = colocated};
    layout->hosts = calloc(processes + 1, sizeof *layout->hosts);
    layout->host_of = calloc(processes + 1, sizeof *layout->host_of);
    enum status status;
    if (scratch != NULL && layout->hosts != NULL && layout->host_of != NULL) {
        status = place_all(layout, cluster, scratch, error);
        if (status == STATUS_OK)
            status = link_all(layout, cluster, scratch, error);
    } else {
        status = error_set(error, STATUS_MEMORY, "no memory for %zu processes", processes);
    }
    free(scratch);
    if (status != STATUS_OK)
        layout_free(layout);
    return status;
}

enum status layout_make(struct layout *layout, const struct cluster *cluster, uint32_t servers,
                        uint32_t workers, struct error *error)
{
    return make(layout, cluster, servers, workers, false, error);
}

enum status layout_make_colocated(struct layout *layout, const struct cluster *cluster,
                                  uint32_t servers, uint32_t workers, struct error *error)
{
    return make(layout, cluster, servers, workers, true, error);
}

void layout_free(struct layout *layout)
{
    free(layout->hosts);
    free(layout->host_of);
    *layout = (struct layout){.hosts = NULL};
}

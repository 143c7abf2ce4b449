/* base_versions.c - one place a worker, known by ticket and request. */

#include "ps/shard/base_versions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"

static struct base_version_place *place_of(struct base_versions *bases, uint32_t worker)
{
    if (worker >= bases->count) {
        struct base_version_place *places = realloc(bases->places, (worker + 1) * sizeof *places);
        if (places == NULL)
            return NULL;
        memset(places + bases->count, 0, (worker + 1 - bases->count) * sizeof *places);
        bases->places = places;
        bases->count = worker + 1;
    }
    return &bases->places[worker];
}

enum status base_versions_keep(struct base_versions *bases, struct base_request to,
                               struct frame *values, uint64_t version, struct frame **replaced)
{
    struct base_version_place *place = place_of(bases, to.worker);
    *replaced = NULL;
    if (place == NULL)
        return STATUS_MEMORY;
    if (place->values != NULL && place->ticket == to.ticket && to.request <= place->request)
        return STATUS_EXISTS;
    *replaced = place->values;
    *place = (struct base_version_place){to.ticket, to.request, version, frame_retain(values)};
    return STATUS_OK;
}

const struct frame *base_versions_find(const struct base_versions *bases, uint64_t version)
{
    for (uint32_t i = 0; i < bases->count; i++)
        if (bases->places[i].values != NULL && bases->places[i].version == version)
            return bases->places[i].values;
    return NULL;
}

void base_versions_forget(struct base_versions *bases)
{
    for (uint32_t i = 0; i < bases->count; i++)
        frame_release(bases->places[i].values);
    if (bases->count > 0)
        memset(bases->places, 0, bases->count * sizeof *bases->places);
}

void base_versions_free(struct base_versions *bases)
{
    base_versions_forget(bases);
    free(bases->places);
    *bases = (struct base_versions){0};
}

void base_versions_check(const struct base_versions *bases, uint64_t bytes, uint64_t version)
{
    for (uint32_t i = 0; i < bases->count; i++) {
        const struct base_version_place *place = &bases->places[i];
        if (place->values == NULL)
            continue;
        INVARIANT("base_versions", place->values->bytes == bytes,
                  "what is kept is as large as the chunk");
        INVARIANT("base_versions", place->version <= version, "no worker holds a version to come");
    }
}

/* given.c - a place a worker, kept by ticket and request. */

#include "ps/shard/given.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"

static struct given_place *place_of(struct given *given, uint32_t worker)
{
    if (worker >= given->count) {
        struct given_place *places = realloc(given->places, (worker + 1) * sizeof *places);
        if (places == NULL)
            return NULL;
        memset(places + given->count, 0, (worker + 1 - given->count) * sizeof *places);
        given->places = places;
        given->count = worker + 1;
    }
    return &given->places[worker];
}

enum status given_keep(struct given *given, struct given_to to, struct frame *values,
                       uint64_t version, struct frame **replaced)
{
    struct given_place *place = place_of(given, to.worker);
    *replaced = NULL;
    if (place == NULL)
        return STATUS_MEMORY;
    if (place->values != NULL && place->ticket == to.ticket && to.request <= place->request)
        return STATUS_EXISTS;
    *replaced = place->values;
    *place = (struct given_place){to.ticket, to.request, version, frame_retain(values)};
    return STATUS_OK;
}

const struct frame *given_find(const struct given *given, uint64_t version)
{
    for (uint32_t i = 0; i < given->count; i++)
        if (given->places[i].values != NULL && given->places[i].version == version)
            return given->places[i].values;
    return NULL;
}

void given_forget(struct given *given)
{
    for (uint32_t i = 0; i < given->count; i++)
        frame_release(given->places[i].values);
    if (given->count > 0)
        memset(given->places, 0, given->count * sizeof *given->places);
}

void given_free(struct given *given)
{
    given_forget(given);
    free(given->places);
    *given = (struct given){0};
}

void given_check(const struct given *given, uint64_t bytes, uint64_t version)
{
    for (uint32_t i = 0; i < given->count; i++) {
        const struct given_place *place = &given->places[i];
        if (place->values == NULL)
            continue;
        INVARIANT("given", place->values->bytes == bytes, "what is kept is as large as the chunk");
        INVARIANT("given", place->version <= version, "nobody was given a version to come");
    }
}

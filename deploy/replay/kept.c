/* kept.c - counts uses: those of the interval in an array, those of later ones in a list that is
 * sorted once. */

#include "deploy/replay/kept.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum status kept_init(struct kept *kept, uint32_t chunk_count)
{
    memset(kept, 0, sizeof *kept);
    kept->chunks = calloc(chunk_count, sizeof *kept->chunks);
    kept->chunk_count = kept->chunks != NULL ? chunk_count : 0;
    return kept->chunks != NULL ? STATUS_OK : STATUS_MEMORY;
}

void kept_free(struct kept *kept)
{
    for (uint32_t i = 0; i < kept->chunk_count; i++) {
        for (size_t k = 0; k < kept->chunks[i].count; k++)
            frame_release(kept->chunks[i].versions[k].values);
        free(kept->chunks[i].versions);
    }
    free(kept->chunks);
    free(kept->later);
    free(kept->near);
    memset(kept, 0, sizeof *kept);
}

/* --- beforehand ---------------------------------------------------------------------------- */

static enum status need_later(struct kept *kept, uint32_t chunk, uint64_t version)
{
    struct kept_need *later =
        array_room(kept->later, kept->later_count, &kept->later_capacity, sizeof *later);
    if (later == NULL)
        return STATUS_MEMORY;
    kept->later = later;
    kept->later[kept->later_count++] = (struct kept_need){chunk, version, 1};
    return STATUS_OK;
}

enum status kept_foresee(struct kept *kept, const struct run_record_interval *interval,
                         const uint32_t *needed)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < interval->computation_count; i++)
        for (uint32_t chunk = 0; needed[i] > 0 && chunk < kept->chunk_count; chunk++) {
            uint64_t base = interval->computations[i].bases[chunk];
            if (status == STATUS_OK && base <= interval->from.version)
                status = need_later(kept, chunk, base);
        }
    return status;
}

static int by_chunk_and_version(const void *left, const void *right)
{
    const struct kept_need *a = left, *b = right;
    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    return a->version < b->version ? -1 : a->version > b->version;
}

void kept_foreseen(struct kept *kept)
{
    size_t count = 0;
    if (kept->later_count > 0)
        qsort(kept->later, kept->later_count, sizeof *kept->later, by_chunk_and_version);
    for (size_t i = 0; i < kept->later_count; i++)
        if (count > 0 && by_chunk_and_version(&kept->later[count - 1], &kept->later[i]) == 0)
            kept->later[count - 1].uses++;
        else
            kept->later[count++] = kept->later[i];
    kept->later_count = count;
}

/* --- on the way ---------------------------------------------------------------------------- */

enum status kept_interval(struct kept *kept, const struct run_record_interval *interval,
                          const uint32_t *needed)
{
    free(kept->near);
    kept->near_from = interval->from.version;
    kept->near_span = interval->to.version - interval->from.version + 1;
    kept->near = calloc(kept->near_span * kept->chunk_count, sizeof *kept->near);
    if (kept->near == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < interval->computation_count; i++)
        for (uint32_t chunk = 0; needed[i] > 0 && chunk < kept->chunk_count; chunk++) {
            uint64_t base = interval->computations[i].bases[chunk];
            if (base > kept->near_from)
                kept->near[chunk * kept->near_span + (base - kept->near_from)]++;
        }
    return STATUS_OK;
}

static uint64_t uses_of(const struct kept *kept, uint32_t chunk, uint64_t version)
{
    const struct kept_need key = {.chunk = chunk, .version = version};
    const struct kept_need *later = kept->later_count == 0
                                        ? NULL
                                        : bsearch(&key, kept->later, kept->later_count,
                                                  sizeof *kept->later, by_chunk_and_version);
    uint64_t uses = later == NULL ? 0 : later->uses;
    if (kept->near != NULL && version - kept->near_from < kept->near_span)
        uses += kept->near[chunk * kept->near_span + (version - kept->near_from)];
    return uses;
}

enum status kept_made(struct kept *kept, uint32_t chunk, uint64_t version, struct frame *values)
{
    struct kept_chunk *c = &kept->chunks[chunk];
    uint64_t uses = uses_of(kept, chunk, version);
    if (uses == 0)
        return STATUS_OK;
    struct kept_version *versions =
        array_room(c->versions, c->count, &c->capacity, sizeof *versions);
    if (versions == NULL)
        return STATUS_MEMORY;
    c->versions = versions;
    c->versions[c->count++] = (struct kept_version){version, frame_retain(values), uses};
    kept->bytes += values->bytes;
    kept->versions_max = c->count > kept->versions_max ? c->count : kept->versions_max;
    return STATUS_OK;
}

static struct kept_version *find(const struct kept *kept, uint32_t chunk, uint64_t version)
{
    struct kept_chunk *c = &kept->chunks[chunk];
    size_t i = 0;
    while (i < c->count && c->versions[i].version != version)
        i++;
    assert(i < c->count); /* Since it was foreseen. */
    return &c->versions[i];
}

const struct frame *kept_look(const struct kept *kept, uint32_t chunk, uint64_t version)
{
    return find(kept, chunk, version)->values;
}

void kept_use(struct kept *kept, uint32_t chunk, uint64_t version)
{
    struct kept_chunk *c = &kept->chunks[chunk];
    struct kept_version *used = find(kept, chunk, version);
    if (--used->uses > 0)
        return;
    kept->bytes -= used->values->bytes;
    frame_release(used->values);
    *used = c->versions[--c->count];
}

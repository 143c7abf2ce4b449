/* entries.c - an array that grows, and is cut off at its beginning. */

#include "ps/shard/entries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

#define NUMBER_MASK ((UINT64_C(1) << ENTRY_NUMBER_BITS) - 1)

void entries_free(struct entries *entries)
{
    free(entries->list);
    memset(entries, 0, sizeof *entries);
}

void entries_begin(struct entries *entries, uint64_t batches)
{
    entries->from = batches;
    entries->count = 0;
    entries->over = false;
}

enum status entries_reserve(struct entries *entries)
{
    if (entries->count >= ENTRIES_MAX) {
        entries->from += entries->count;
        entries->count = entries->capacity = 0;
        free(entries->list);
        entries->list = NULL;
        entries->over = true;
    }
    if (entries->over)
        return STATUS_OK;
    uint32_t *list = array_room(entries->list, entries->count, &entries->capacity, sizeof *list);
    if (list == NULL)
        return STATUS_MEMORY;
    entries->list = list;
    return STATUS_OK;
}

void entries_add(struct entries *entries, uint64_t computation, unsigned flags)
{
    if (entries->over) {
        entries->from++;
        return;
    }
    assert(entries->count < entries->capacity);
    entries->list[entries->count++] =
        (uint32_t)((computation & NUMBER_MASK) << ENTRY_FLAGS | flags);
}

void entries_take_back(struct entries *entries)
{
    assert(entries->over || entries->count > 0);
    if (entries->over)
        entries->from--;
    else
        entries->count--;
}

void entries_close(struct entries *entries)
{
    assert(entries->count > 0);
    entries->list[entries->count - 1] |= ENTRY_CLOSES;
}

void entries_drop(struct entries *entries, uint64_t batches)
{
    uint64_t gone = batches > entries->from ? batches - entries->from : 0;
    gone = gone < entries->count ? gone : entries->count;
    if (gone == 0)
        return;
    entries->count -= gone;
    entries->from += gone;
    memmove(entries->list, entries->list + gone, entries->count * sizeof *entries->list);
}

struct frame *entries_pack(const struct entries *entries)
{
    struct frame *frame = frame_create((entries->count + 1) * sizeof *entries->list);
    if (frame == NULL)
        return NULL;
    uint32_t *to = frame->data;
    to[0] = (uint32_t)entries->count;
    if (entries->count > 0)
        memcpy(to + 1, entries->list, entries->count * sizeof *to);
    return frame;
}

bool entries_unpack(const struct frame *frame, const uint32_t **entries, uint32_t *count)
{
    const uint32_t *words = frame->data;
    if (frame->bytes < sizeof *words || frame->bytes % sizeof *words != 0 ||
        frame->bytes / sizeof *words - 1 != words[0])
        return false;
    *count = words[0];
    *entries = words + 1;
    return true;
}

uint64_t entries_number(uint32_t entry, uint64_t base)
{
    return base + (((entry >> ENTRY_FLAGS) - base) & NUMBER_MASK);
}

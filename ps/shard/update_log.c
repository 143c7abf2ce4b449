/* update_log.c - a growing array that loses its recorded beginning. */

#include "ps/shard/update_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

#define NUMBER_MASK ((UINT64_C(1) << LOGGED_NUMBER_BITS) - 1)

void update_log_free(struct update_log *log)
{
    free(log->list);
    memset(log, 0, sizeof *log);
}

void update_log_begin(struct update_log *log, uint64_t batches)
{
    log->from = batches;
    log->count = 0;
    log->over = false;
}

enum status update_log_reserve(struct update_log *log)
{
    if (log->count >= UPDATE_LOG_MAX) {
        log->from += log->count;
        log->count = log->capacity = 0;
        free(log->list);
        log->list = NULL;
        log->over = true;
    }
    if (log->over)
        return STATUS_OK;
    uint32_t *list = array_room(log->list, log->count, &log->capacity, sizeof *list);
    if (list == NULL)
        return STATUS_MEMORY;
    log->list = list;
    return STATUS_OK;
}

void update_log_add(struct update_log *log, uint64_t described, unsigned flags)
{
    if (log->over) {
        log->from++;
        return;
    }
    assert(log->count < log->capacity);
    log->list[log->count++] = (uint32_t)((described & NUMBER_MASK) << LOGGED_FLAGS | flags);
}

void update_log_take_back(struct update_log *log)
{
    assert(log->over || log->count > 0);
    if (log->over)
        log->from--;
    else
        log->count--;
}

void update_log_close(struct update_log *log)
{
    assert(log->count > 0);
    log->list[log->count - 1] |= LOGGED_CLOSES;
}

void update_log_drop(struct update_log *log, uint64_t batches)
{
    uint64_t gone = batches > log->from ? batches - log->from : 0;
    gone = gone < log->count ? gone : log->count;
    if (gone == 0)
        return;
    log->count -= gone;
    log->from += gone;
    memmove(log->list, log->list + gone, log->count * sizeof *log->list);
}

struct frame *update_log_pack(const struct update_log *log)
{
    struct frame *frame = frame_create((log->count + 1) * sizeof *log->list);
    if (frame == NULL)
        return NULL;
    uint32_t *to = frame->data;
    to[0] = (uint32_t)log->count;
    if (log->count > 0)
        memcpy(to + 1, log->list, log->count * sizeof *to);
    return frame;
}

bool update_log_unpack(const struct frame *frame, const uint32_t **log, uint32_t *count)
{
    const uint32_t *words = frame->data;
    if (frame->bytes < sizeof *words || frame->bytes % sizeof *words != 0 ||
        frame->bytes / sizeof *words - 1 != words[0])
        return false;
    *count = words[0];
    *log = words + 1;
    return true;
}

uint64_t update_log_number(uint32_t entry, uint64_t base)
{
    return base + (((entry >> LOGGED_FLAGS) - base) & NUMBER_MASK);
}

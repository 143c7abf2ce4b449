/* board_queue.c - a handful, looked through. */

#include "common/tensorboard/board_queue.h"

#include <assert.h>

void board_queue_add(struct board_queue *queue, const struct points *points)
{
    assert(queue->count < BOARD_QUEUE_MAX);
    queue->held[queue->count++] = *points;
}

bool board_queue_take(struct board_queue *queue, bool all, struct points *points)
{
    size_t lowest = 0;
    if (queue->count == 0)
        return false;
    for (size_t i = 1; i < queue->count; i++)
        if (queue->held[i].number < queue->held[lowest].number)
            lowest = i;
    *points = queue->held[lowest];
    if (points->number > queue->next && !all && queue->count < BOARD_QUEUE_MAX)
        return false;
    queue->held[lowest] = queue->held[--queue->count];
    if (points->number >= queue->next)
        queue->next = points->number + 1;
    return true;
}

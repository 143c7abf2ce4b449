/* event_queue.c - a binary heap by time and, at equal times, by order of arrival. */

#include "deploy/engine/event_queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/process/log.h"

static bool sooner(const struct due *a, const struct due *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void event_queue_add(struct event_queue *queue, const struct due *event)
{
    queue->events =
        array_room(queue->events, queue->count, &queue->capacity, sizeof *queue->events);
    if (queue->events == NULL) {
        log_error("out of memory for another event");
        exit(EXIT_TRAINING_FAILED);
    }
    struct due added = *event;
    added.order = queue->added++;
    size_t at = queue->count++;
    while (at > 0 && sooner(&added, &queue->events[(at - 1) / 2])) {
        queue->events[at] = queue->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->events[at] = added;
}

bool event_queue_take(struct event_queue *queue, struct due *event)
{
    if (queue->count == 0)
        return false;
    *event = queue->events[0];
    struct due last = queue->events[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && sooner(&queue->events[child + 1], &queue->events[child]))
            child++;
        if (!sooner(&queue->events[child], &last))
            break;
        queue->events[at] = queue->events[child];
        at = child;
    }
    if (queue->count > 0)
        queue->events[at] = last;
    return true;
}

void parcel_free(struct parcel *parcel)
{
    if (parcel != NULL)
        frame_release(parcel->payload);
    free(parcel);
}

void event_free(struct due *event)
{
    if (event->item != NULL)
        frame_release(event->item->packet.payload);
    parcel_free(event->parcel);
    free(event->item);
    event->parcel = NULL;
    event->item = NULL;
}

void event_queue_free(struct event_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        event_free(&queue->events[i]);
    free(queue->events);
    memset(queue, 0, sizeof *queue);
}

/* array.h - arrays that grow while items are put behind their ends.
 *
 *     struct item *items = array_room(list->items, list->count, &list->capacity, sizeof *items);
 *     if (items == NULL)
 *         return STATUS_MEMORY;
 *     list->items = items;
 *     list->items[list->count++] = item;
 *
 * Threads: no shared state. */

#ifndef COMMON_BASE_ARRAY_H
#define COMMON_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* The array, or what has taken its place, with room for one more item behind `count`. NULL without
 * memory: then it is as it was, and so is *capacity. */
static inline void *array_room(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return items;
    size_t larger = 2 * *capacity + 16;
    void *grown = realloc(items, larger * item_bytes);
    if (grown != NULL)
        *capacity = larger;
    return grown;
}

#endif

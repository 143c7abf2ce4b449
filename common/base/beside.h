/* beside.h - one piece of work by a thread of its own while its starter does something else: a digest
 * while the same bytes are written.
 *
 *     struct beside beside;
 *     beside_start(&beside, bytes, digest, &digesting);
 *     ... neither waits for the other, and nothing that both have is written ...
 *     beside_join(&beside);                 on every way out; only then what it has made is there
 *
 * Where that is not worth a thread, or none can be had, it is done at once, by beside_start.
 *
 * Threads: started and joined by one. What was written before the start is seen by the work, and what
 * the work has written by the thread that has joined it: the creation and the joining of a thread order them. */

#ifndef COMMON_BASE_BESIDE_H
#define COMMON_BASE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A digest of fewer bytes takes a few milliseconds. */
#define BESIDE_BYTES_MIN (4u << 20)

struct beside {
    pthread_t thread;
    bool running; /* To be joined. */
    void (*work)(void *argument);
    void *argument;
};

/* bytes: of what the work goes through. *beside stays where it is until it is joined. */
void beside_start(struct beside *beside, uint64_t bytes, void (*work)(void *argument),
                  void *argument);

/* Once for each start; more often does no harm. */
void beside_join(struct beside *beside);

#endif

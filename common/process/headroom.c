/* headroom.c - tries to have the memory and the threads, and gives them back. */

#include "common/process/headroom.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 16

static void *wait_at(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* How many of them can be there at once. */
static unsigned try_threads(unsigned wanted)
{
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    unsigned started = 0;
    pthread_mutex_lock(&gate);
    while (started < wanted && pthread_create(&threads[started], NULL, wait_at, &gate) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started;
}

enum status headroom_check(unsigned threads, size_t bytes, struct error *error)
{
    assert(threads <= THREADS_MAX);
    void *memory = malloc(bytes);
    unsigned started = memory != NULL ? try_threads(threads) : 0;
    free(memory);
    if (memory == NULL)
        return error_set(error, STATUS_MEMORY,
                         "out of memory (is it limited? see ulimit -v, or the container's limit)");
    if (started < threads)
        return error_set(error, STATUS_MEMORY,
                         "cannot start a thread: too little memory, or too many processes (is "
                         "either limited? see ulimit -v and ulimit -u)");
    return STATUS_OK;
}

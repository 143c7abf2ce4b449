/* beside.c - a thread, or none. */

#include "common/base/beside.h"

static void *run(void *argument)
{
    struct beside *beside = argument;
    beside->work(beside->argument);
    return NULL;
}

void beside_start(struct beside *beside, uint64_t bytes, void (*work)(void *argument),
                  void *argument)
{
    *beside = (struct beside){.work = work, .argument = argument};
    if (bytes >= BESIDE_BYTES_MIN)
        beside->running = pthread_create(&beside->thread, NULL, run, beside) == 0;
    if (!beside->running)
        work(argument);
}

void beside_join(struct beside *beside)
{
    if (beside->running)
        pthread_join(beside->thread, NULL);
    beside->running = false;
}

/* fuzz.c - counts what one input takes from the heap, and ends the process beyond the fuzzer's
 * bound. */

#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEASURES_MEMORY
#include <sanitizer/allocator_interface.h>
#endif
#endif

/* --- memory -------------------------------------------------------------------------------- */

#ifdef MEASURES_MEMORY

/* Of this thread only: libFuzzer has one of its own that looks at the clock. */
static _Thread_local struct {
    bool on;
    size_t held, most; /* Bytes. */
} heap;

static void note_malloc(const volatile void *place, size_t bytes)
{
    (void)place;
    if (!heap.on)
        return;
    heap.held += bytes;
    heap.most = heap.held > heap.most ? heap.held : heap.most;
}

static void note_free(const volatile void *place)
{
    if (!heap.on || place == NULL)
        return;
    size_t bytes = __sanitizer_get_allocated_size(place);
    heap.held -= bytes < heap.held ? bytes : heap.held;
}

static void measure_start(void)
{
    static bool installed;
    if (!installed && __sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) == 0)
        abort();
    installed = true;
    heap.held = heap.most = 0;
    heap.on = true;
}

static void measure_end(size_t size)
{
    heap.on = false;
    size_t bound = fuzz_bounds.base + fuzz_bounds.multiple * size;
    if (heap.most > bound)
        fprintf(stderr, "fuzz: %zu bytes of heap for an input of %zu, the bound is %zu\n",
                heap.most, size, bound);
    fuzz_must(heap.most <= bound, "memory within its bound");
}

#else

static void measure_start(void)
{
}

static void measure_end(size_t size)
{
    (void)size;
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool started;
    if (!started)
        fuzz_start();
    started = true;
    measure_start();
    fuzz_one(data, size);
    measure_end(size);
    return 0;
}

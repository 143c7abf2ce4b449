/* edge.c - maps one page more than is needed, and takes that one away. */

#include "tests/lib/edge.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

void *edge_new(uint64_t bytes)
{
    uint64_t size = whole_pages(bytes);
    char *map =
        mmap(NULL, size + page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + size, page_bytes(), PROT_NONE) != 0)
        abort();
    return map + size - bytes;
}

void edge_free(void *array, uint64_t bytes)
{
    uint64_t size = whole_pages(bytes);
    munmap((char *)array + bytes - size, size + page_bytes());
}

/* shared_memory.c - memfd with sealed size. Memory from another process is checked before it is
 * mapped. */

#include "common/transport/shm/shared_memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1, younger than some C libraries. */
#endif

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

struct shared_memory {
    int fd; /* Owned. */
    unsigned char *data;
    size_t bytes;
    atomic_uint references;
};

/* Takes fd over. */
static enum status map(int fd, size_t bytes, int protection, struct shared_memory **out)
{
    struct shared_memory *memory = malloc(sizeof *memory);
    void *data = memory == NULL ? MAP_FAILED : mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        enum status status = errno == EPERM || errno == EACCES ? STATUS_REFUSED : STATUS_MEMORY;
        free(memory);
        close(fd);
        return status;
    }
    memory->fd = fd;
    memory->data = data;
    memory->bytes = bytes;
    atomic_init(&memory->references, 1);
    *out = memory;
    return STATUS_OK;
}

enum status shared_memory_create(size_t bytes, bool readers_only, struct shared_memory **memory,
                                 struct error *error)
{
    assert(bytes > 0);
    int fd = memfd_create("syncopate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set(error, STATUS_IO, "cannot make shared memory: %s", strerror(errno));
    if (ftruncate(fd, (off_t)bytes) != 0) {
        int reason = errno; /* EFBIG: a file size limit (ulimit -f) counts here, too. */
        close(fd);
        return error_set(error, STATUS_MEMORY, "no %zu bytes of shared memory: %s", bytes,
                         strerror(reason));
    }
    enum status status = map(fd, bytes, PROT_READ | PROT_WRITE, memory);
    if (status != STATUS_OK)
        return error_set(error, status, "cannot map %zu bytes of shared memory", bytes);
    /* After mapping: FUTURE_WRITE spares existing mappings. */
    int seals = SIZE_SEALS | F_SEAL_SEAL | (readers_only ? F_SEAL_FUTURE_WRITE : 0);
    if (fcntl(fd, F_ADD_SEALS, seals) == 0)
        return STATUS_OK;
    status = error_set(error, STATUS_IO, "cannot seal shared memory: %s", strerror(errno));
    shared_memory_release(*memory);
    *memory = NULL;
    return status;
}

enum status shared_memory_open(int fd, size_t bytes, bool writable, struct shared_memory **memory,
                               struct error *error)
{
    assert(bytes > 0);
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS); /* -1, with all bits set, for other files. */
    if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS || fstat(fd, &stat) != 0 ||
        (uintmax_t)stat.st_size != bytes) {
        close(fd);
        return error_set(error, STATUS_INVALID, "not %zu bytes of sealed shared memory", bytes);
    }
    enum status status = map(fd, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, memory);
    if (status != STATUS_OK)
        error_set(error, status, "cannot map %zu bytes of shared memory for %s", bytes,
                  writable ? "writing" : "reading");
    return status;
}

int shared_memory_fd(const struct shared_memory *memory)
{
    return memory->fd;
}

void *shared_memory_data(const struct shared_memory *memory)
{
    return memory->data;
}

size_t shared_memory_bytes(const struct shared_memory *memory)
{
    return memory->bytes;
}

struct shared_memory *shared_memory_retain(struct shared_memory *memory)
{
    /* Relaxed, and one read-modify-write below: as in frame.c. */
    unsigned before = atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
    assert(before > 0);
    return memory;
}

void shared_memory_release(struct shared_memory *memory)
{
    if (memory == NULL)
        return;
    unsigned before = atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    munmap(memory->data, memory->bytes);
    close(memory->fd);
    free(memory);
}

bool shared_memory_covers(const struct shared_memory *memory, uint64_t offset, uint64_t bytes)
{
    return offset <= memory->bytes && bytes <= memory->bytes - offset;
}

static void drop(void *memory)
{
    shared_memory_release(memory);
}

struct frame *shared_memory_frame(struct shared_memory *memory, size_t offset, size_t bytes)
{
    assert(shared_memory_covers(memory, offset, bytes));
    struct frame *frame = frame_wrap(memory->data + offset, bytes, false, drop, memory);
    if (frame != NULL)
        shared_memory_retain(memory);
    return frame;
}

bool shared_memory_holds(const struct shared_memory *memory, const void *data, size_t bytes,
                         size_t *offset)
{
    /* Unsigned: bytes before the memory count as far behind its end. */
    uintptr_t at = (uintptr_t)data - (uintptr_t)memory->data;
    if (!shared_memory_covers(memory, at, bytes))
        return false;
    if (offset != NULL)
        *offset = at;
    return true;
}

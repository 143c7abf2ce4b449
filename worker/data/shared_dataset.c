/* shared_dataset.c - a page that says what is there, then inputs and labels of both sets. Seals are
 * the memory's state, so that there is no moment at which it says that it is whole and is not:
 *
 *     none               empty, or being written by the process that has the lock on it
 *     SEALED             whole
 *     F_SEAL_SEAL alone  given up: there was no room
 *
 * A record lock is its process's, not the description's that all inherit, and ends with it. */

#include "worker/data/shared_dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#define SEALED       (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define HEADER_BYTES 4096    /* So that inputs begin on a page. */
#define LOOK_NS      2000000 /* Between two looks at whether another worker has read. */

/* The same process image wrote it, or one that was started beside this one. */
struct header {
    uint64_t seed;
    struct dataset dataset; /* Its pointers mean nothing. */
};

_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header has a page");

int shared_dataset_create(void)
{
    return memfd_create("syncopate-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* --- written --------------------------------------------------------------------------------- */

static uint64_t input_bytes(const struct dataset *dataset, const struct examples *examples)
{
    return examples->count * dataset_input_bytes(dataset);
}

static uint64_t label_bytes(const struct dataset *dataset, const struct examples *examples)
{
    return examples->count * dataset->labels_each * sizeof *examples->labels;
}

/* Labels and floats lie at multiples of their size: bytes are filled up. */
static uint64_t padding(uint64_t bytes)
{
    return (sizeof(float) - bytes % sizeof(float)) % sizeof(float);
}

static uint64_t bytes_of(const struct dataset *dataset)
{
    uint64_t train = input_bytes(dataset, &dataset->train),
             test = input_bytes(dataset, &dataset->test);
    return HEADER_BYTES + train + padding(train) + label_bytes(dataset, &dataset->train) + test +
           padding(test) + label_bytes(dataset, &dataset->test);
}

/* Append; false: there is no room. */
static bool append(int file, uint64_t *at, const void *bytes, uint64_t count)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t written = pwrite(file, from, count, (off_t)*at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        *at += (uint64_t)written;
        count -= (uint64_t)written;
    }
    return true;
}

static bool append_examples(int file, uint64_t *at, const struct dataset *dataset,
                            const struct examples *examples)
{
    static const uint8_t zeros[sizeof(float)];
    uint64_t bytes = input_bytes(dataset, examples);
    return append(file, at, examples->inputs, bytes) && append(file, at, zeros, padding(bytes)) &&
           append(file, at, examples->labels, label_bytes(dataset, examples));
}

static bool write_all(int file, const struct dataset *dataset, uint64_t seed)
{
    uint64_t at = 0;
    union {
        struct header header;
        char bytes[HEADER_BYTES];
    } page = {.bytes = {0}};
    page.header.seed = seed;
    page.header.dataset = *dataset;
    return append(file, &at, &page, sizeof page) &&
           append_examples(file, &at, dataset, &dataset->train) &&
           append_examples(file, &at, dataset, &dataset->test);
}

/* Write what was read, or what another began and did not end, anew. */
static void publish(int file, const struct dataset *dataset, uint64_t seed)
{
    if (ftruncate(file, 0) == 0 && write_all(file, dataset, seed) &&
        fcntl(file, F_ADD_SEALS, SEALED) == 0)
        return;
    if (ftruncate(file, 0) == 0) /* Or no process tries again all the same. */
        (void)fcntl(file, F_ADD_SEALS, F_SEAL_SEAL);
}

/* --- read ------------------------------------------------------------------------------------ */

static void take_examples(struct examples *examples, const struct dataset *dataset, uint8_t **at)
{
    uint64_t bytes = input_bytes(dataset, examples);
    examples->inputs = *at;
    examples->labels = (union label *)(void *)(*at + bytes + padding(bytes));
    *at += bytes + padding(bytes) + label_bytes(dataset, examples);
}

/* False: what is there is not what is asked for, or cannot be had. */
static bool adopt(struct dataset *dataset, int file, const char *data, uint64_t seed)
{
    struct header header;
    struct stat about;
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        fstat(file, &about) != 0 ||
        strncmp(header.dataset.name, data, sizeof header.dataset.name) || header.seed != seed ||
        (uint64_t)about.st_size != bytes_of(&header.dataset))
        return false;
    uint64_t bytes = bytes_of(&header.dataset);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return false;
    *dataset = header.dataset;
    dataset->shared = memory;
    dataset->shared_bytes = bytes;
    uint8_t *at = memory + HEADER_BYTES;
    take_examples(&dataset->train, dataset, &at);
    take_examples(&dataset->test, dataset, &at);
    return true;
}

/* --- who reads ------------------------------------------------------------------------------- */

static bool lock(int file, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(file, F_SETLK, &whole) == 0;
}

/* This process has the lock, and the memory is empty. */
static enum status read_for_all(struct dataset *dataset, int file, const char *data, uint64_t seed,
                                struct error *error)
{
    struct dataset own;
    enum status status = dataset_open(&own, data, seed, error);
    if (status != STATUS_OK) {
        *dataset = own;
        return status;
    }
    publish(file, &own, seed);
    if (fcntl(file, F_GET_SEALS) == SEALED && adopt(dataset, file, data, seed))
        dataset_close(&own);
    else
        *dataset = own;
    return STATUS_OK;
}

/* Wait for the reading process, or become that one. True: this process has the lock. */
static bool take_turn(int file, double patience)
{
    double deadline = clock_now_seconds() + patience;
    while (fcntl(file, F_GET_SEALS) == 0) {
        if (lock(file, F_WRLCK))
            return true;
        if (clock_now_seconds() > deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return false;
}

enum status shared_dataset_open(struct dataset *dataset, int file, const char *data, uint64_t seed,
                                double patience, struct error *error)
{
    memset(dataset, 0, sizeof *dataset);
    if (fcntl(file, F_GET_SEALS) < 0)
        return error_set(error, STATUS_INVALID, "descriptor %d is no memory to share", file);
    bool mine = take_turn(file, patience);
    int seals = fcntl(file, F_GET_SEALS); /* Another may have sealed it just before. */
    enum status status = STATUS_OK;
    if (mine && seals == 0)
        status = read_for_all(dataset, file, data, seed, error);
    else if (seals != SEALED || !adopt(dataset, file, data, seed))
        status = dataset_open(dataset, data, seed, error);
    if (mine)
        lock(file, F_UNLCK);
    return status;
}

/* test_checkpoint_memory.c - every allocation that writing or reading a checkpoint makes fails
 * once.
 *
 * The allocator is taken from the C library by name, as in test_disk_faults.c; sanitizers have
 * their own and are left alone: then nothing fails, and there is one round. */
/* test: alone */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/checkpoint.h"
#include "common/store/generation.h"
#include "deploy/engine/simulated_disk.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

enum { ELEMENTS = 128, ARRAYS = 3 };

/* --- the allocator ------------------------------------------------------------------------- */

static struct {
    bool armed;
    unsigned calls, strike_at;
} fault;

static void arm(unsigned strike_at)
{
    fault.calls = 0;
    fault.strike_at = strike_at;
    fault.armed = true;
}

static bool disarm(void)
{
    fault.armed = false;
    return fault.strike_at > 0 && fault.calls >= fault.strike_at;
}

#if OWN_ALLOCATOR
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool strikes(void)
{
    if (!fault.armed || ++fault.calls != fault.strike_at)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return strikes() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return strikes() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return strikes() ? NULL : __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return strikes() ? NULL : __libc_memalign(alignment, bytes);
}
#endif

/* --- checkpoints --------------------------------------------------------------------------- */

static enum status write_checkpoint(struct simulated_disk *disk, uint64_t step,
                                    const struct job *job, struct checkpoint_shelf *shelf)
{
    static float values[ELEMENTS];
    struct checkpoint_part part;
    const struct checkpoint_chunk chunk = {0, ELEMENTS, {values, values, values}, 0, NULL, NULL};
    const struct manifest manifest = {
        .job = *job, .run_id = 7, .step = step, .part_count = 1, .parts = &part};
    struct error error;
    enum status status = checkpoint_write_part(&disk->disk, "out", step, 1, 0, 1,
                                               optimizer_slots(optimizer_find("adam")), &chunk, 1,
                                               false, &part, &error);
    if (status == STATUS_OK)
        status = checkpoint_write_manifest(&disk->disk, "out", &manifest, &error);
    if (status != STATUS_OK)
        return status;
    checkpoint_shelf_add(shelf, step);
    status = checkpoint_prune(&disk->disk, "out", shelf, &error);
    return status == STATUS_OK ? checkpoint_sweep(&disk->disk, "out", step, &error) : status;
}

static enum status open_newest(struct simulated_disk *disk, uint64_t *step)
{
    struct checkpoint_reader reader;
    struct error error;
    enum status status = checkpoint_open_newest(&reader, &disk->disk, "out", NULL, NULL, &error);
    *step = status == STATUS_OK ? reader.manifest.step : 0;
    checkpoint_close(&reader);
    return status;
}

TEST_PLAIN(writing_without_memory_costs_no_checkpoint)
{
    struct job job = sample_job();
    unsigned strike_at = 0;
    bool hit = true;
    while (hit) {
        struct simulated_disk disk;
        struct checkpoint_shelf shelf = {0};
        uint64_t step;
        simulated_disk_init(&disk, 1, 1);
        for (step = 1; step <= 3; step++)
            ck_assert_int_eq(write_checkpoint(&disk, step, &job, &shelf), STATUS_OK);
        memset(&shelf, 0, sizeof shelf); /* So that pruning reads. */
        arm(++strike_at);
        enum status status = write_checkpoint(&disk, 4, &job, &shelf);
        hit = disarm();
        ck_assert_msg(hit || status == STATUS_OK, "it needs memory that there is");
        ck_assert_int_eq(open_newest(&disk, &step), STATUS_OK);
        ck_assert_uint_ge(step, 3);
        ck_assert_int_eq(write_checkpoint(&disk, 5, &job, &shelf), STATUS_OK);
        ck_assert_int_eq(open_newest(&disk, &step), STATUS_OK);
        ck_assert_uint_eq(step, 5);
        simulated_disk_free(&disk);
    }
    ck_assert_uint_ge(strike_at, (OWN_ALLOCATOR ? 20 : 1));
    job_free(&job);
}

/* Want of memory is no damage, but the JSON library cannot always tell it from bad syntax: then an
 * older checkpoint is taken, which is as whole. */
TEST_PLAIN(reading_without_memory_gives_a_whole_checkpoint_or_none)
{
    struct job job = sample_job();
    struct simulated_disk disk;
    struct checkpoint_shelf shelf = {0};
    unsigned strike_at = 0, refused = 0;
    uint64_t step;
    bool hit = true;
    simulated_disk_init(&disk, 1, 1);
    for (step = 1; step <= 3; step++)
        ck_assert_int_eq(write_checkpoint(&disk, step, &job, &shelf), STATUS_OK);
    while (hit) {
        arm(++strike_at);
        enum status status = open_newest(&disk, &step);
        hit = disarm();
        ck_assert_msg(status == STATUS_MEMORY || (status == STATUS_OK && step >= 2),
                      "allocation %u: status %d, step %d", strike_at, (int)status, (int)step);
        refused += status != STATUS_OK;
    }
    ck_assert_uint_ge(refused, (OWN_ALLOCATOR ? 10 : 0));
    simulated_disk_free(&disk);
    job_free(&job);
}

TEST_PLAIN(a_generation_is_read_or_not)
{
    const struct generation generation = {.run_id = 7, .number = 3};
    struct generation found;
    struct simulated_disk disk;
    bool hit = true;
    simulated_disk_init(&disk, 1, 1);
    ck_assert_int_eq(generation_write(&generation, &disk.disk, "out", NULL), STATUS_OK);
    for (unsigned strike_at = 1; hit; strike_at++) {
        arm(strike_at);
        enum status status = generation_read(&found, &disk.disk, "out", NULL);
        hit = disarm();
        ck_assert(hit ? status == STATUS_MEMORY : generation_equal(&found, &generation));
    }
    simulated_disk_free(&disk);
}

int main(void)
{
    return suite_run("checkpoint_memory", NULL);
}

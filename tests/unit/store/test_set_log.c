/* test_set_log.c - what steps are made of comes back as far as it was written, whoever was killed. */
/* promises: backup */

#include "common/store/set_log.h"

#include <stdlib.h>
#include <string.h>

#include "common/steps/leaf_set.h"
#include "deploy/engine/simulated_disk.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct fixture {
    struct simulated_disk disk;
    struct job job;
    struct set_log log;
};

static struct leaf_set set_of(uint64_t step)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){step % 2, 1});
    return set;
}

static void open_log(struct fixture *f, uint64_t session)
{
    struct error error;
    ck_assert_msg(set_log_open(&f->log, &f->disk.disk, "run", session, &f->job, &error) ==
                      STATUS_OK,
                  "%s", error.text);
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    simulated_disk_init(&f->disk, 1, 1);
    f->job = small_job(MODE_BACKUP, 2, 1);
    open_log(f, 1);
}

static void close_fixture(struct fixture *f)
{
    simulated_disk_free(&f->disk);
    job_free(&f->job);
}

static void append(struct fixture *f, uint64_t step)
{
    uint8_t list[LEAF_SETS_START_MAX + LEAF_SET_BYTES_MAX];
    struct leaf_set set = set_of(step);
    size_t used = leaf_sets_put_start(list, step, 1);
    used += leaf_set_put(list + used, &set);
    ck_assert_int_eq(set_log_append(&f->log, list, used, NULL), STATUS_OK);
}

/* Steps `first` to `end` are there, and no more. */
static void expect_steps(struct fixture *f, uint64_t sessions, uint64_t first, uint64_t end,
                         bool damage)
{
    void *list;
    size_t count;
    char damaged[DISK_PATH_MAX];
    struct leaf_set found;
    ck_assert_int_eq(
        set_log_read(&f->disk.disk, "run", sessions, &f->job, first, &list, &count, damaged, NULL),
        STATUS_OK);
    ck_assert((damaged[0] != '\0') == damage);
    for (uint64_t step = 0; step < f->job.steps; step++) {
        struct leaf_set set = set_of(step);
        bool there = step >= first && step < end;
        ck_assert(leaf_sets_find(list, count, step, &found) == there);
        ck_assert(!there || leaf_set_equal(&set, &found));
    }
    free(list);
}

TEST_PLAIN(sessions_go_on_from_each_other)
{
    struct fixture place, *f = &place;
    open_fixture(f);
    expect_steps(f, 1, 0, 0, false);
    append(f, 0);
    append(f, 1);
    open_log(f, 1); /* Killed, and begun again. */
    append(f, 2);
    open_log(f, 2);
    append(f, 3);
    expect_steps(f, 2, 0, 4, false);
    expect_steps(f, 2, 2, 4, false);
    expect_steps(f, 1, 0, 3, false);
    open_log(f, 1); /* From an older checkpoint: what later sessions said goes. */
    expect_steps(f, 2, 0, 3, false);
    close_fixture(f);
}

TEST_PLAIN(what_is_torn_is_cut_off_and_written_behind)
{
    struct fixture place, *f = &place;
    open_fixture(f);
    append(f, 0);
    uint64_t whole = f->log.bytes;
    append(f, 1);
    for (uint64_t bytes = whole; bytes < f->log.bytes; bytes++) {
        struct simulated_disk *disk = &f->disk;
        const struct simulated_file *file = simulated_disk_find(disk, f->log.path);
        char kept[512];
        ck_assert_uint_le(file->bytes, sizeof kept);
        memcpy(kept, file->data, file->bytes);
        const struct disk_piece torn = {kept, bytes};
        ck_assert_int_eq(disk->disk.write_file(disk, f->log.path, &torn, 1, NULL), STATUS_OK);
        expect_steps(f, 1, 0, 1, bytes > whole);
        open_log(f, 1);
        append(f, 1);
        expect_steps(f, 1, 0, 2, false);
    }
    close_fixture(f);
}

TEST_PLAIN(a_byte_that_changed_ends_it)
{
    struct fixture place, *f = &place;
    open_fixture(f);
    append(f, 0);
    uint64_t whole = f->log.bytes;
    append(f, 1);
    const struct simulated_file *file = simulated_disk_find(&f->disk, f->log.path);
    for (uint64_t i = 0; i < f->log.bytes; i++) {
        ((uint8_t *)file->data)[i] ^= 0x10;
        expect_steps(f, 1, 0, i < 68 ? 0 : i < whole ? 0 : 1, true);
        ((uint8_t *)file->data)[i] ^= 0x10;
    }
    expect_steps(f, 1, 0, 2, false);
    f->job.seed++; /* Another job's. */
    expect_steps(f, 1, 0, 0, true);
    close_fixture(f);
}

int main(void)
{
    return suite_run("set_log", NULL);
}

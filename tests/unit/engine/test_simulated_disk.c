/* test_simulated_disk.c - the disk in memory keeps its header's word: files, faults, time, and what
 * a kill leaves. */

#include "deploy/engine/simulated_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static enum status write_text(struct simulated_disk *disk, const char *path, const char *text)
{
    const struct disk_piece piece = {text, strlen(text)};
    return disk->disk.write_file(disk, path, &piece, 1, NULL);
}

/* Whether path holds text, or with NULL is not there. */
static bool holds(struct simulated_disk *disk, const char *path, const char *text)
{
    const struct simulated_file *file = simulated_disk_find(disk, path);
    if (file == NULL || text == NULL)
        return file == NULL && text == NULL;
    return file->bytes == strlen(text) && memcmp(file->data, text, file->bytes) == 0;
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct simulated_disk, disk, simulated_disk_init(disk, __VA_ARGS__),          \
               simulated_disk_free(disk))

TEST(a_file_system_it_is, 1, 1)
{
    void *data;
    size_t bytes;
    uint64_t size;
    ck_assert_int_eq(write_text(disk, "a/b", "text"), STATUS_OK);
    ck_assert_int_eq(disk->disk.read_file(disk, "a/b", 3, &data, &bytes, NULL), STATUS_INVALID);
    ck_assert_int_eq(disk->disk.read_file(disk, "a/b", 4, &data, &bytes, NULL), STATUS_OK);
    ck_assert_uint_eq(bytes, 4);
    free(data);
    ck_assert_int_eq(disk->disk.file_bytes(disk, "a/b", &size, NULL), STATUS_OK);
    ck_assert_uint_eq(size, 4);
    ck_assert_int_eq(disk->disk.file_bytes(disk, "a", &size, NULL), STATUS_NOT_FOUND);
    char start[3];
    ck_assert_int_eq(disk->disk.read_start(disk, "a/b", start, 3, &bytes, &size, NULL), STATUS_OK);
    ck_assert(bytes == 3 && size == 4 && memcmp(start, "tex", 3) == 0);
    ck_assert_int_eq(disk->disk.read_start(disk, "a", start, 3, &bytes, &size, NULL),
                     STATUS_NOT_FOUND);
    ck_assert_int_eq(disk->disk.look(disk, "a/b"), DISK_FILE);
    ck_assert_int_eq(disk->disk.look(disk, "a"), DISK_FOLDER);
    ck_assert_int_eq(disk->disk.look(disk, "b"), DISK_NOTHING);
    ck_assert_int_eq(disk->disk.remove_tree(disk, "a", NULL), STATUS_OK);
    ck_assert_int_eq(disk->disk.remove_tree(disk, "a", NULL), STATUS_NOT_FOUND);
    ck_assert(holds(disk, "a/b", NULL));
}

struct visit {
    struct simulated_disk *disk;
    unsigned count;
};

static void remove_it(void *argument, const char *name)
{
    struct visit *visit = argument;
    char path[64];
    snprintf(path, sizeof path, "a/%s", name);
    ck_assert_int_eq(visit->disk->disk.remove_tree(visit->disk, path, NULL), STATUS_OK);
    visit->count++;
}

TEST(what_is_listed_may_be_removed_meanwhile, 1, 1)
{
    const char *const paths[] = {"a/1", "a/2/x", "b", "a/2/y", "a/3"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(write_text(disk, paths[i], "x"), STATUS_OK);
    struct visit visit = {disk, 0};
    ck_assert_int_eq(disk->disk.list_directory(disk, "a", remove_it, &visit, NULL), STATUS_OK);
    ck_assert_uint_eq(visit.count, 3);
    ck_assert_uint_eq(disk->file_count, 1);
    ck_assert_int_eq(disk->disk.list_directory(disk, "a", remove_it, &visit, NULL),
                     STATUS_NOT_FOUND);
}

TEST(faults_come_and_go, 1, 1)
{
    ck_assert_int_eq(write_text(disk, "a", "old"), STATUS_OK);
    ck_assert_int_eq(write_text(disk, "b", "old"), STATUS_OK);
    disk->full = true;
    ck_assert_int_eq(write_text(disk, "a", "new"), STATUS_IO);
    ck_assert_int_eq(disk->disk.remove_tree(disk, "b", NULL), STATUS_OK);
    disk->full = false;
    disk->read_only = true;
    ck_assert_int_eq(write_text(disk, "a", "new"), STATUS_IO);
    ck_assert_int_eq(disk->disk.remove_tree(disk, "a", NULL), STATUS_IO);
    disk->read_only = false;
    ck_assert(holds(disk, "a", "old"));
    disk->fail_at = 2;
    ck_assert_int_eq(write_text(disk, "a", "1"), STATUS_OK);
    ck_assert_int_eq(write_text(disk, "a", "2"), STATUS_IO);
    ck_assert_int_eq(write_text(disk, "a", "3"), STATUS_OK);
    disk->failing = 0.5;
    unsigned failed = 0;
    for (int i = 0; i < 1000; i++)
        failed += write_text(disk, "a", "4") != STATUS_OK;
    ck_assert_uint_ge(failed, 400);
    ck_assert_uint_le(failed, 600);
    ck_assert_uint_eq(disk->failed, 3 + failed);
}

TEST(a_slow_disk_takes_one_change_after_the_other, 1, 1)
{
    disk->latency_us = 100;
    disk->bytes_a_second = 1000000; /* A byte a microsecond. */
    simulated_disk_turn(disk, 0, 1000);
    ck_assert_uint_eq(simulated_disk_done_us(disk, 0), 1000);
    write_text(disk, "a", "0123456789");
    ck_assert_uint_eq(simulated_disk_done_us(disk, 0), 1110);
    write_text(disk, "b", "01234");
    ck_assert_uint_eq(simulated_disk_done_us(disk, 0), 1215);
    simulated_disk_turn(disk, 1, 1050); /* Another writer does not wait for the first. */
    write_text(disk, "c", "");
    ck_assert_uint_eq(simulated_disk_done_us(disk, 1), 1150);
    ck_assert_uint_eq(simulated_disk_done_us(disk, 0), 1215);
    simulated_disk_turn(disk, 0, 2000);
    ck_assert_uint_eq(simulated_disk_done_us(disk, 0), 2000);
    ck_assert_uint_eq(disk->change_count, 0);
}

/* Three writes of 100 us each from 0 on, a kill at `at`; counts what became of the second. */
static void kill_at(uint64_t seed, uint64_t at, unsigned outcomes[3])
{
    struct simulated_disk disk;
    simulated_disk_init(&disk, seed, 1);
    write_text(&disk, "a", "old-a");
    write_text(&disk, "b", "old-b");
    disk.latency_us = 100;
    simulated_disk_turn(&disk, 1, 0);
    write_text(&disk, "other", "stays");
    simulated_disk_turn(&disk, 0, 0);
    write_text(&disk, "a", "new-a");
    write_text(&disk, "b", "new-b");
    disk.disk.remove_tree(&disk, "a", NULL);
    write_text(&disk, "c", "new-c");
    simulated_disk_crash(&disk, 0, at);
    ck_assert(holds(&disk, "other", "stays"));
    ck_assert(holds(&disk, "c", NULL));
    ck_assert(holds(&disk, "a", "new-a")); /* Its removal had not begun. */
    const struct simulated_file *torn = simulated_disk_find(&disk, "b.tmp");
    if (torn != NULL) {
        outcomes[2]++;
        ck_assert(torn->bytes <= 5 && memcmp(torn->data, "new-b", torn->bytes) == 0);
        ck_assert(holds(&disk, "b", "old-b"));
    } else {
        bool new = holds(&disk, "b", "new-b");
        ck_assert(new || holds(&disk, "b", "old-b"));
        outcomes[new]++;
    }
    ck_assert_uint_eq(simulated_disk_done_us(&disk, 0), at);
    simulated_disk_free(&disk);
}

TEST_PLAIN(a_kill_undoes_what_is_not_durable)
{
    unsigned outcomes[3] = {0};
    for (uint64_t seed = 0; seed < 60; seed++)
        kill_at(seed, 150, outcomes); /* Into the second. */
    for (int i = 0; i < 3; i++)
        ck_assert_uint_ge(outcomes[i], 8);
    memset(outcomes, 0, sizeof outcomes);
    for (uint64_t seed = 0; seed < 10; seed++)
        kill_at(seed, 100, outcomes); /* Between the first and the second. */
    ck_assert_uint_eq(outcomes[0], 10);
    memset(outcomes, 0, sizeof outcomes);
    for (uint64_t seed = 0; seed < 10; seed++)
        kill_at(seed, 200, outcomes); /* After the second. */
    ck_assert_uint_eq(outcomes[1], 10);
}

TEST_PLAIN(a_crash_at_a_call_is_the_end_until_somebody_else_comes)
{
    unsigned outcomes[3] = {0};
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct simulated_disk disk;
        void *data;
        size_t bytes;
        simulated_disk_init(&disk, seed, 1);
        write_text(&disk, "a", "old");
        disk.crash_at = 2;
        ck_assert_int_eq(write_text(&disk, "b", "b"), STATUS_OK);
        ck_assert_int_eq(write_text(&disk, "a", "new"), STATUS_IO);
        ck_assert(disk.crashed);
        ck_assert_int_eq(write_text(&disk, "c", "c"), STATUS_IO);
        ck_assert_int_eq(disk.disk.read_file(&disk, "b", 9, &data, &bytes, NULL), STATUS_IO);
        ck_assert_int_eq(disk.disk.remove_tree(&disk, "b", NULL), STATUS_IO);
        disk.crashed = false;
        ck_assert(holds(&disk, "b", "b") && holds(&disk, "c", NULL));
        bool torn = simulated_disk_find(&disk, "a.tmp") != NULL;
        outcomes[torn ? 2 : holds(&disk, "a", "new")]++;
        ck_assert(holds(&disk, "a", "new") || holds(&disk, "a", "old"));
        ck_assert_int_eq(write_text(&disk, "c", "c"), STATUS_OK);
        simulated_disk_free(&disk);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_uint_ge(outcomes[i], 8);
}

int main(void)
{
    return suite_run("simulated_disk", NULL);
}

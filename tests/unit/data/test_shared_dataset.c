/* Data that processes read once and have together: who reads, who waits and for how long, and what
 * becomes of it when whoever reads dies, stops, or has no room. */
/* promises: shared-data */

#include "worker/data/shared_dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define DATA      "synthetic:500"
#define LONG      1000 /* Seconds: a test that waits so long hangs. */
#define PROCESSES 8

static int memory; /* Of each test. */

static void open_memory(void)
{
    memory = shared_dataset_create();
    ck_assert_int_ge(memory, 0);
}

static void close_memory(void)
{
    close(memory);
}

/* A child that lives no longer than the test; 0 in it. */
static pid_t begin_child(void)
{
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static int end_of(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static struct dataset opened(const char *data, uint64_t seed, double patience)
{
    struct dataset dataset;
    struct error error = {0};
    enum status status = shared_dataset_open(&dataset, memory, data, seed, patience, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return dataset;
}

/* It has what dataset_open has, bit by bit. */
static void check_sound(const struct dataset *dataset, const char *data, uint64_t seed)
{
    struct dataset own;
    ck_assert_int_eq(dataset_open(&own, data, seed, NULL), STATUS_OK);
    ck_assert_str_eq(dataset->name, own.name);
    ck_assert_uint_eq(dataset->train.count, own.train.count);
    ck_assert_uint_eq(dataset->test.count, own.test.count);
    ck_assert_mem_eq(dataset->digest, own.digest, DIGEST_BYTES);
    ck_assert_mem_eq(dataset->train.inputs, own.train.inputs, own.train.count * 784);
    ck_assert_mem_eq(dataset->train.labels, own.train.labels,
                     own.train.count * sizeof(union label));
    ck_assert_mem_eq(dataset->test.inputs, own.test.inputs, own.test.count * 784);
    ck_assert_mem_eq(dataset->test.labels, own.test.labels, own.test.count * sizeof(union label));
    dataset_close(&own);
}

/* --- one reads, all have it ------------------------------------------------------------------ */

TEST_PLAIN(whoever_comes_later_finds_what_the_first_has_read)
{
    struct dataset first = opened(DATA, 1, LONG), second = opened(DATA, 1, LONG);
    ck_assert_ptr_nonnull(first.shared);
    ck_assert_ptr_nonnull(second.shared);
    check_sound(&first, DATA, 1);
    dataset_close(&first);
    check_sound(&second, DATA, 1);
    dataset_close(&second);
    ck_assert_ptr_null(second.train.inputs);
}

TEST_PLAIN(many_that_come_at_once_have_the_same)
{
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = begin_child();
        if (children[i] == 0) {
            struct dataset dataset;
            if (shared_dataset_open(&dataset, memory, DATA, 1, LONG, NULL) != STATUS_OK ||
                dataset.shared == NULL)
                _exit(1);
            dataset_close(&dataset);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        ck_assert_int_eq(end_of(children[i]), 0);
    struct dataset dataset = opened(DATA, 1, LONG);
    check_sound(&dataset, DATA, 1);
    dataset_close(&dataset);
}

TEST_PLAIN(what_is_there_can_no_longer_be_changed)
{
    struct dataset dataset = opened(DATA, 1, LONG);
    ck_assert_int_lt(pwrite(memory, "x", 1, 5000), 0);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_ne(ftruncate(memory, 0), 0);
    ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), MAP_FAILED);
    ck_assert_int_ne(mprotect(dataset.shared, dataset.shared_bytes, PROT_READ | PROT_WRITE), 0);
    dataset_close(&dataset);
}

TEST_PLAIN(other_data_are_read_by_whoever_wants_them)
{
    struct dataset first = opened(DATA, 1, LONG);
    struct dataset seed = opened(DATA, 2, LONG), name = opened("synthetic:505", 1, LONG);
    ck_assert_ptr_null(seed.shared);
    ck_assert_ptr_null(name.shared);
    check_sound(&seed, DATA, 2);
    check_sound(&name, "synthetic:505", 1);
    dataset_close(&first);
    dataset_close(&seed);
    dataset_close(&name);
}

TEST_PLAIN(data_that_are_not_there_are_an_error_and_the_next_may_try)
{
    struct dataset dataset;
    struct error error = {0};
    ck_assert_int_eq(shared_dataset_open(&dataset, memory, "/nowhere/data", 1, LONG, &error),
                     STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/data"));
    ck_assert_ptr_null(dataset.train.inputs);
    dataset = opened(DATA, 1, LONG);
    ck_assert_ptr_nonnull(dataset.shared);
    dataset_close(&dataset);
}

TEST_PLAIN(what_is_no_such_memory_is_refused)
{
    struct dataset dataset;
    struct error error = {0};
    int files[2];
    ck_assert_int_eq(pipe(files), 0);
    ck_assert_int_eq(shared_dataset_open(&dataset, files[0], DATA, 1, LONG, &error),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "no memory to share"));
    close(files[0]);
    close(files[1]);
    ck_assert_int_eq(shared_dataset_open(&dataset, 999, DATA, 1, LONG, NULL), STATUS_INVALID);
}

/* Sealed by somebody else, whatever it holds: too short for what it says, or no header at all. */
TEST_PLAIN(memory_that_is_not_as_it_says_is_not_used)
{
    struct dataset dataset = opened(DATA, 1, LONG);
    char page[4096];
    int other = shared_dataset_create(), empty = shared_dataset_create();
    ck_assert_int_eq(pread(memory, page, sizeof page, 0), sizeof page);
    ck_assert_int_eq(pwrite(other, page, sizeof page, 0), sizeof page);
    dataset_close(&dataset);
    int files[] = {other, empty};
    for (int i = 0; i < 2; i++) {
        int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
        ck_assert_int_eq(fcntl(files[i], F_ADD_SEALS, seals), 0);
        ck_assert_int_eq(shared_dataset_open(&dataset, files[i], DATA, 1, LONG, NULL), STATUS_OK);
        ck_assert_ptr_null(dataset.shared);
        check_sound(&dataset, DATA, 1);
        dataset_close(&dataset);
        close(files[i]);
    }
}

/* --- whoever reads does not get on ----------------------------------------------------------- */

/* A process that has the lock, has written more than there will be, and does nothing more. */
static pid_t begin_stuck(void)
{
    int told[2];
    char word;
    ck_assert_int_eq(pipe(told), 0);
    pid_t child = begin_child();
    if (child == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        bool ready = fcntl(memory, F_SETLK, &whole) == 0 &&
                     pwrite(memory, "longer", 6, 1 << 24) == 6 && write(told[1], "x", 1) == 1;
        for (;;)
            ready ? (void)pause() : _exit(1);
    }
    close(told[1]);
    ck_assert_int_eq(read(told[0], &word, 1), 1);
    close(told[0]);
    return child;
}

TEST_PLAIN(when_whoever_reads_dies_another_begins_anew)
{
    pid_t stuck = begin_stuck(), waiting = begin_child();
    if (waiting == 0) {
        struct dataset dataset;
        _exit(shared_dataset_open(&dataset, memory, DATA, 1, LONG, NULL) != STATUS_OK ||
              dataset.shared == NULL);
    }
    kill(stuck, SIGKILL);
    end_of(stuck);
    ck_assert_int_eq(end_of(waiting), 0);
    struct dataset dataset = opened(DATA, 1, LONG);
    ck_assert_ptr_nonnull(dataset.shared);
    check_sound(&dataset, DATA, 1);
    dataset_close(&dataset);
}

TEST_PLAIN(nobody_waits_for_ever_for_one_that_is_stopped)
{
    pid_t stuck = begin_stuck();
    struct dataset dataset = opened(DATA, 1, 0.01);
    ck_assert_ptr_null(dataset.shared);
    check_sound(&dataset, DATA, 1);
    dataset_close(&dataset);
    kill(stuck, SIGKILL);
    end_of(stuck);
}

TEST_PLAIN(without_room_each_reads_by_itself)
{
    struct rlimit before, small = {100000, RLIM_INFINITY};
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct dataset first = opened(DATA, 1, LONG);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_ptr_null(first.shared);
    check_sound(&first, DATA, 1);
    struct dataset second = opened(DATA, 1, LONG); /* Nobody tries to share them again. */
    ck_assert_ptr_null(second.shared);
    check_sound(&second, DATA, 1);
    dataset_close(&first);
    dataset_close(&second);
}

static void add_tests(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_memory, close_memory);
}

int main(void)
{
    return suite_run("shared_dataset", add_tests);
}

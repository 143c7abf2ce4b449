/* test_disk_faults.c - every system call that a write makes fails once, or is the last that its
 * process makes.
 *
 * The calls are taken from the C library by name: what this program defines comes before what it
 * loads. While `armed`, calls are counted, and the one numbered strike_at fails or kills. Nothing
 * here pulls the plug, so flushing does nothing while armed: it would only take time. */
/* test: alone */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/store/checkpoint.h"
#include "common/store/generation.h"
#include "common/store/run_directory.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { KILLED = 77, ELEMENTS = 128, ARRAYS = 3 };

static const struct disk *const disk = &disk_posix;

/* --- the calls ----------------------------------------------------------------------------- */

/* They are made by the one thread there is. */
static struct {
    bool armed;
    unsigned calls, strike_at;
    int error;         /* What the call fails with; 0: it kills. */
    size_t write_most; /* Bytes that one write takes; 0: all. */
} fault;

static void arm(unsigned strike_at, int error)
{
    fault.calls = 0;
    fault.strike_at = strike_at;
    fault.error = error;
    fault.armed = true;
}

/* Whether the call that was to be hit has come. */
static bool disarm(void)
{
    fault.armed = false;
    return fault.calls >= fault.strike_at;
}

static bool strikes(void)
{
    if (!fault.armed || ++fault.calls != fault.strike_at)
        return false;
    if (fault.error == 0)
        _exit(KILLED);
    errno = fault.error;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return strikes() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* A kill comes into the middle of a write: half of the first piece is there. */
ssize_t writev(int file, const struct iovec *pieces, int count)
{
    struct iovec part = pieces[0];
    bool killing = fault.armed && fault.error == 0 && fault.calls + 1 == fault.strike_at;
    if (killing) {
        part.iov_len /= 2;
        syscall(SYS_writev, file, &part, 1);
    }
    if (strikes())
        return -1;
    if (!fault.armed || fault.write_most == 0 || part.iov_len <= fault.write_most)
        return syscall(SYS_writev, file, pieces, fault.write_most > 0 && fault.armed ? 1 : count);
    part.iov_len = fault.write_most;
    return syscall(SYS_writev, file, &part, 1);
}

int fsync(int file)
{
    (void)file;
    return strikes() ? -1 : 0;
}

/* Closes in any case, as Linux does. */
int close(int file)
{
    bool struck = strikes();
    int number = errno;
    int result = (int)syscall(SYS_close, file);
    errno = struck ? number : errno;
    return struck ? -1 : result;
}

int rename(const char *from, const char *to)
{
    return strikes() ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int mkdir(const char *path, mode_t mode)
{
    return strikes() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int unlink(const char *path)
{
    return strikes() ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int unlinkat(int directory, const char *path, int flags)
{
    return strikes() ? -1 : (int)syscall(SYS_unlinkat, directory, path, flags);
}

int rmdir(const char *path)
{
    return strikes() ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* --- one file ------------------------------------------------------------------------------ */

static enum status write_text(const char *path, const char *text, struct error *error)
{
    size_t half = strlen(text) / 2;
    const struct disk_piece pieces[] = {{text, half}, {text + half, strlen(text) - half}};
    return disk->write_file(disk->context, path, pieces, 2, error);
}

static bool holds(const char *path, const char *text)
{
    size_t bytes;
    char *data = scratch_read(path, &bytes);
    bool same = strcmp(data, text) == 0;
    free(data);
    return same;
}

TEST_PLAIN(a_write_that_fails_anywhere_leaves_a_whole_file)
{
    static const int errors[] = {EIO, ENOSPC, EROFS, EDQUOT, EMFILE, EACCES};
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    struct error error;
    scratch_path(path, "file");
    scratch_path(aside, "file" DISK_ASIDE);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        unsigned strike_at = 0;
        bool hit = true;
        while (hit) {
            ck_assert_int_eq(write_text(path, "old", NULL), STATUS_OK);
            arm(++strike_at, errors[i]);
            enum status status = write_text(path, "newer", &error);
            hit = disarm();
            ck_assert(status == STATUS_OK ? holds(path, "newer")
                                          : holds(path, "old") || holds(path, "newer"));
            ck_assert_msg(!scratch_has(aside), "after call %u", strike_at);
            if (status == STATUS_OK)
                continue;
            ck_assert_ptr_nonnull(strstr(error.text, path));
            ck_assert_ptr_nonnull(strstr(error.text, strerror(errors[i])));
        }
        ck_assert_uint_ge(strike_at, 7); /* open, write, flush, close, rename and the directory. */
    }
}

TEST_PLAIN(an_error_on_flushing_or_closing_is_an_error)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, "file");
    for (unsigned call = 3; call <= 4; call++) { /* After open and one write. */
        ck_assert_int_eq(write_text(path, "old", NULL), STATUS_OK);
        arm(call, ENOSPC);
        ck_assert_int_eq(write_text(path, "newer", NULL), STATUS_IO);
        disarm();
        ck_assert(holds(path, "old"));
    }
}

TEST_PLAIN(signals_and_short_writes_are_no_failure)
{
    char path[DISK_PATH_MAX];
    enum { RENAME = 5 }; /* Only what can be interrupted. */
    scratch_path(path, "file");
    for (unsigned call = 1; call <= 7; call++) {
        arm(call, call == RENAME ? 0 : EINTR);
        if (call == RENAME)
            fault.strike_at = 0;
        ck_assert_msg(write_text(path, "text", NULL) == STATUS_OK, "call %u", call);
        disarm();
        ck_assert(holds(path, "text"));
    }
    fault.write_most = 1;
    arm(0, 0);
    ck_assert_int_eq(write_text(path, "several bytes", NULL), STATUS_OK);
    disarm();
    fault.write_most = 0;
    ck_assert(holds(path, "several bytes"));
}

TEST_PLAIN(a_directory_that_is_not_durable_is_made_again)
{
    char path[DISK_PATH_MAX];
    unsigned strike_at = 0;
    bool hit = true;
    while (hit) {
        char name[32];
        snprintf(name, sizeof name, "%u/a/b", strike_at);
        scratch_path(path, name);
        arm(++strike_at, EIO);
        enum status status = disk->make_directory(NULL, path, NULL);
        hit = disarm();
        if (status != STATUS_OK)
            ck_assert(!scratch_has(path));
        ck_assert_int_eq(disk->make_directory(NULL, path, NULL), STATUS_OK);
        ck_assert(scratch_has(path));
    }
    ck_assert_uint_ge(strike_at, 9); /* Three times made and flushed. */
}

/* --- checkpoints --------------------------------------------------------------------------- */

static float value_of(uint64_t step, uint32_t array, uint64_t element)
{
    return (float)(1000 * step + 200 * array + element);
}

static enum status write_part(const char *out, uint64_t step, uint64_t generation, uint32_t server,
                              struct checkpoint_part *part)
{
    static float space[ARRAYS][ELEMENTS];
    struct checkpoint_chunk chunk = {.first = server * (ELEMENTS / 2), .count = ELEMENTS / 2};
    for (uint32_t array = 0; array < ARRAYS; array++) {
        for (uint64_t i = 0; i < ELEMENTS; i++)
            space[array][i] = value_of(step, array, i);
        chunk.arrays[array] = &space[array][chunk.first];
    }
    return checkpoint_write_part(disk, out, step, generation, server, 2,
                                 optimizer_slots(optimizer_find("adam")), &chunk, 1, false, part,
                                 NULL);
}

/* All that a server does for a checkpoint: a new generation, two parts, the manifest, and making
 * room. */
static enum status write_checkpoint(const char *out, uint64_t step, struct checkpoint_shelf *shelf)
{
    struct checkpoint_part parts[2];
    const struct generation generation = {.run_id = 7, .number = step};
    struct manifest manifest = {
        .job = sample_job(), .run_id = 7, .step = step, .part_count = 2, .parts = parts};
    enum status status = generation_write(&generation, disk, out, NULL);
    for (uint32_t i = 0; i < 2 && status == STATUS_OK; i++)
        status = write_part(out, step, generation.number, i, &parts[i]);
    if (status == STATUS_OK)
        status = checkpoint_write_manifest(disk, out, &manifest, NULL);
    if (status == STATUS_OK) {
        checkpoint_shelf_add(shelf, step);
        checkpoint_prune(disk, out, shelf, NULL);
        checkpoint_sweep(disk, out, step, NULL);
    }
    job_free(&manifest.job);
    return status;
}

/* The newest checkpoint, which must have the values of its step; and what has a manifest is whole.
 */
static uint64_t newest_step(const char *out)
{
    struct checkpoint_reader reader;
    struct error error;
    uint64_t steps[8];
    char path[DISK_PATH_MAX];
    size_t count = checkpoint_list(disk, out, steps, 8);
    for (size_t i = 0; i < count; i++) {
        checkpoint_path(path, out, steps[i]);
        ck_assert_msg(checkpoint_open(&reader, disk, path, &error) == STATUS_OK, "%s", error.text);
        checkpoint_close(&reader);
    }
    ck_assert_msg(checkpoint_open_newest(&reader, disk, out, NULL, NULL, &error) == STATUS_OK, "%s",
                  error.text);
    uint64_t step = reader.manifest.step;
    for (uint32_t array = 0; array < ARRAYS; array++)
        for (uint64_t i = 0; i < ELEMENTS; i++)
            ck_assert(reader.arrays[array][i] == value_of(step, array, i));
    checkpoint_close(&reader);
    return step;
}

/* Three checkpoints in a fresh directory. */
static void begin(char out[DISK_PATH_MAX], unsigned number)
{
    char name[32];
    struct checkpoint_shelf shelf = {0};
    snprintf(name, sizeof name, "run%u", number);
    scratch_path(out, name);
    arm(0, 0);
    ck_assert_int_eq(disk->make_directory(NULL, out, NULL), STATUS_OK);
    for (uint64_t step = 1; step <= 3; step++)
        ck_assert_int_eq(write_checkpoint(out, step, &shelf), STATUS_OK);
    disarm();
}

static void count_names(void *argument, const char *name)
{
    unsigned *counts = argument; /* Of all, and of files aside. */
    size_t length = strlen(name);
    counts[0]++;
    if (length > 4 && strcmp(name + length - 4, DISK_ASIDE) == 0)
        counts[1]++;
}

/* What is left once the next checkpoint is written: three whole ones, and nothing else. */
static void check_left(const char *out)
{
    uint64_t steps[CHECKPOINTS_KEPT];
    unsigned counts[2] = {0, 0};
    char path[DISK_PATH_MAX + 32];
    ck_assert_uint_eq(checkpoint_list(disk, out, steps, CHECKPOINTS_KEPT), CHECKPOINTS_KEPT);
    snprintf(path, sizeof path, "%s/checkpoints", out);
    ck_assert_int_eq(disk->list_directory(NULL, path, count_names, counts, NULL), STATUS_OK);
    ck_assert_uint_eq(counts[0], CHECKPOINTS_KEPT);
    for (size_t i = 0; i < CHECKPOINTS_KEPT; i++) {
        counts[0] = 0;
        checkpoint_path(path, out, steps[i]);
        ck_assert_int_eq(disk->list_directory(NULL, path, count_names, counts, NULL), STATUS_OK);
        ck_assert_uint_eq(counts[0], 3);
    }
    ck_assert_uint_eq(counts[1], 0);
    ck_assert_uint_eq(newest_step(out), 5);
}

/* Checkpoint 5 by a process that knows nothing of what was there. */
static void go_on(const char *out)
{
    struct checkpoint_shelf shelf = {0};
    struct generation generation;
    ck_assert_int_eq(generation_read(&generation, disk, out, NULL), STATUS_OK);
    ck_assert(generation.number == 3 || generation.number == 4);
    arm(0, 0);
    ck_assert_int_eq(checkpoint_sweep(disk, out, UINT64_MAX, NULL), STATUS_OK);
    ck_assert_int_eq(write_checkpoint(out, 5, &shelf), STATUS_OK);
    disarm();
    check_left(out);
}

TEST_PLAIN(a_checkpoint_that_fails_anywhere_costs_no_other)
{
    static const int errors[] = {EIO, ENOSPC, EROFS};
    char out[DISK_PATH_MAX];
    unsigned number = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        unsigned strike_at = 0;
        bool hit = true;
        while (hit) {
            struct checkpoint_shelf shelf = {0};
            begin(out, number++);
            arm(++strike_at, errors[i]);
            enum status status = write_checkpoint(out, 4, &shelf);
            hit = disarm();
            /* A manifest whose directory could not be flushed may be there all the same. */
            ck_assert_uint_ge(newest_step(out), status == STATUS_OK ? 4 : 3);
            go_on(out);
        }
        ck_assert_uint_ge(strike_at, 40);
    }
}

TEST_PLAIN(a_kill_at_any_call_leaves_a_whole_checkpoint)
{
    char out[DISK_PATH_MAX];
    unsigned strike_at = 0, with_old = 0, with_new = 0;
    int how = 0;
    while (how == 0 || WEXITSTATUS(how) == KILLED) {
        begin(out, ++strike_at);
        pid_t process = fork();
        ck_assert_int_ge(process, 0);
        if (process == 0) {
            struct checkpoint_shelf shelf = {0};
            arm(strike_at, 0);
            _exit(write_checkpoint(out, 4, &shelf) == STATUS_OK ? 1 : 2);
        }
        ck_assert_int_eq(waitpid(process, &how, 0), process);
        ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) != 2, "the process fails");
        uint64_t step = newest_step(out);
        ck_assert(step == 3 || step == 4);
        ck_assert_msg(step == 4 || with_new == 0, "call %u loses what was there", strike_at);
        with_old += step == 3;
        with_new += step == 4;
        go_on(out);
    }
    ck_assert_uint_ge(with_old, 20);
    ck_assert_uint_ge(with_new, 10);
}

/* --- training further ---------------------------------------------------------------------- */

/* A finished run of three updates. */
static void finish(const char *out)
{
    struct job job = sample_job();
    struct run_directory directory;
    const struct run_summary summary = {.state = RUN_DONE, .step = 3};
    const struct generation ended = {.run_id = 7, .number = 3, .ended = true};
    enum run_opening opening;
    job.steps = 3;
    arm(0, 0);
    ck_assert_int_eq(
        run_directory_open(&directory, &disk_posix, out, &job, 7, 0, NULL, &opening, NULL),
        STATUS_OK);
    for (uint64_t step = 1; step <= 3; step++) {
        struct checkpoint_shelf shelf = {0};
        ck_assert_int_eq(write_checkpoint(out, step, &shelf), STATUS_OK);
    }
    ck_assert_int_eq(run_directory_summary(&directory, &job, 7, &summary, NULL), STATUS_OK);
    ck_assert_int_eq(generation_write(&ended, disk, out, NULL), STATUS_OK);
    run_directory_close(&directory);
    disarm();
    job_free(&job);
}

/* All that server 0 does to claim it for more updates. */
static enum status extend(const char *out, const struct job *job)
{
    struct run_directory directory;
    const struct generation next = {.run_id = 8, .number = 4};
    enum run_opening opening;
    enum status status =
        run_directory_open(&directory, &disk_posix, out, job, 8, 0, NULL, &opening, NULL);
    return status == STATUS_OK ? generation_write(&next, disk, out, NULL) : status;
}

TEST_PLAIN(a_kill_at_any_call_leaves_a_run_that_can_be_trained_further)
{
    char out[DISK_PATH_MAX], name[32];
    unsigned strike_at = 0, finished = 0, claimed = 0;
    int how = 0;
    while (how == 0 || WEXITSTATUS(how) == KILLED) {
        struct job job = sample_job();
        struct generation generation;
        enum run_opening opening;
        struct error error;
        snprintf(name, sizeof name, "further%u", ++strike_at);
        scratch_path(out, name);
        finish(out);
        pid_t process = fork();
        ck_assert_int_ge(process, 0);
        if (process == 0) {
            arm(strike_at, 0);
            _exit(extend(out, &job) == STATUS_OK ? 1 : 2);
        }
        ck_assert_int_eq(waitpid(process, &how, 0), process);
        ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) != 2, "the process fails");
        ck_assert_msg(run_directory_check(&disk_posix, out, &job, &opening, &error) == STATUS_OK,
                      "call %u: %s", strike_at, error.text);
        ck_assert(opening == RUN_RESUMES || (opening == RUN_EXTENDS && claimed == 0));
        finished += opening == RUN_EXTENDS;
        claimed += opening == RUN_RESUMES;
        ck_assert_int_eq(generation_read(&generation, disk, out, NULL), STATUS_OK);
        ck_assert(generation.ended ? generation.run_id == 7 : generation.run_id == 8);
        ck_assert(!generation.ended || how == 0 || WEXITSTATUS(how) == KILLED);
        ck_assert_uint_eq(newest_step(out), 3);
        ck_assert_int_eq(extend(out, &job), STATUS_OK);
        job_free(&job);
    }
    ck_assert_uint_ge(finished, 5);
    ck_assert_uint_ge(claimed, 5);
}

int main(void)
{
    return suite_run("disk_faults", scratch_add);
}

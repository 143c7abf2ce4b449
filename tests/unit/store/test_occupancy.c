/* test_occupancy.c - a run that somebody has is waited for, and whoever stays is named. Children
 * have it. */

#include "common/store/occupancy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/store/event_log.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { LOCKS = 1, OCCUPIES = 2, LETS_GO = 4 };

static char run[DISK_PATH_MAX];
static char said[512];

static void open_run(void)
{
    scratch_open();
    scratch_path(run, "run");
    ck_assert_int_eq(mkdir(run, 0700), 0);
}

static void note(void *context, const char *line)
{
    (void)context;
    snprintf(said, sizeof said, "%s", line);
}

/* A process that has the run, until it is killed; for so long only if `seconds` is not 0. */
static pid_t holder(int what, double seconds)
{
    int ready[2];
    char byte = 'x';
    ck_assert_int_eq(pipe(ready), 0);
    pid_t process = fork();
    if (process == 0) {
        struct event_log log;
        struct error error;
        int occupied = what & OCCUPIES ? occupancy_take(run, false) : -1;
        if ((what & LOCKS) && event_log_open(&log, &disk_posix, run, &error) != STATUS_OK)
            _exit(1);
        ssize_t written = write(ready[1], &byte, 1);
        if (what & LETS_GO) {
            usleep(300000);
            close(occupied);
        }
        if (seconds == 0)
            pause();
        usleep((useconds_t)(1e6 * seconds));
        _exit(written == 1 ? 0 : 1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return process;
}

static void kill_and_wait(pid_t process)
{
    int how;
    kill(process, SIGKILL);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
}

static enum status await(double seconds, struct error *error)
{
    said[0] = '\0';
    return occupancy_await(run, seconds, note, NULL, error);
}

TEST_PLAIN(what_nobody_has_is_free_at_once)
{
    struct error error;
    double began = clock_now_seconds();
    ck_assert_int_eq(await(60, &error), STATUS_OK);
    kill_and_wait(holder(LOCKS | OCCUPIES, 0)); /* Nor is anything left of the dead. */
    ck_assert_int_eq(await(60, &error), STATUS_OK);
    ck_assert_int_eq(occupancy_await("/nowhere/at/all", 60, note, NULL, &error), STATUS_OK);
    ck_assert_str_eq(said, "");
    ck_assert(clock_now_seconds() - began < 20);
    ck_assert_int_eq(occupancy_take("/nowhere/at/all", false), -1);
}

TEST_PLAIN(whoever_stays_is_named_soon)
{
    struct error error;
    char name[32];
    pid_t process = holder(LOCKS | OCCUPIES, 0);
    ck_assert_int_eq(await(1000, &error), STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(error.text, "another run is using"));
    snprintf(name, sizeof name, "process %d (", (int)process);
    if (strstr(error.text, "process") != NULL) /* Not every system tells. */
        ck_assert_msg(strstr(error.text, name) != NULL, "%s", error.text);
    ck_assert_str_eq(said, "");
    kill_and_wait(process);
}

/* While it starts server 0, maybe again. */
TEST_PLAIN(a_launcher_stays_though_nobody_has_the_lock)
{
    struct error error;
    pid_t process = holder(OCCUPIES, 0);
    ck_assert_int_eq(await(1000, &error), STATUS_EXISTS);
    kill_and_wait(process);
}

/* Its locks go a moment before it can be waited for. */
static bool has_ended(pid_t process)
{
    int how;
    for (int i = 0; i < 100; i++) {
        if (waitpid(process, &how, WNOHANG) == process)
            return true;
        usleep(2000);
    }
    return false;
}

TEST_PLAIN(orphans_are_waited_for)
{
    struct error error;
    pid_t process = holder(LOCKS, 0.8);
    ck_assert_int_eq(await(60, &error), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(said, "is about to leave"));
    ck_assert_ptr_nonnull(strstr(said, "1 min at most"));
    ck_assert(has_ended(process));
}

TEST_PLAIN(so_is_whoever_notices_late_that_it_has_to_go)
{
    struct error error;
    pid_t process = holder(LOCKS | OCCUPIES | LETS_GO, 2);
    ck_assert_int_eq(await(60, &error), STATUS_OK);
    ck_assert(has_ended(process));
}

TEST_PLAIN(whoever_does_not_leave_in_time_is_named)
{
    struct error error;
    pid_t process = holder(LOCKS, 0);
    ck_assert_int_eq(await(0.5, &error), STATUS_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(error.text, "has not left"));
    ck_assert_ptr_nonnull(strstr(error.text, "try again"));
    kill_and_wait(process);
}

/* It would hold the lock for ever. */
TEST_PLAIN(whoever_is_stopped_is_not_waited_for)
{
    struct error error;
    int how;
    pid_t process = holder(LOCKS, 0);
    kill(process, SIGSTOP);
    ck_assert_int_eq(waitpid(process, &how, WUNTRACED), process);
    enum status status = await(1.5, &error);
    if (status == STATUS_EXISTS) /* Where the kernel tells who it is. */
        ck_assert_ptr_nonnull(strstr(error.text, "stopped"));
    else
        ck_assert_int_eq(status, STATUS_TIMEOUT);
    kill_and_wait(process);
}

TEST_PLAIN(one_who_answers_for_a_job_is_enough)
{
    pid_t process = holder(OCCUPIES, 0);
    ck_assert_int_eq(occupancy_take(run, true), -1);
    int beside = occupancy_take(run, false);
    ck_assert_int_ge(beside, 0);
    close(beside);
    kill_and_wait(process);
    int after = occupancy_take(run, true);
    ck_assert_int_ge(after, 0);
    close(after);
}

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, open_run, scratch_close);
}

int main(void)
{
    return suite_run("occupancy", add);
}

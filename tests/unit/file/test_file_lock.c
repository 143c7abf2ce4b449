/* test_file_lock.c - locks between processes, held by children that are stopped and killed. */

#include "common/file/file_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static int open_lock(void)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, "lock");
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    return file;
}

/* A process that holds the lock, and for its life. */
static pid_t hold(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        if (file_lock(open_lock(), "run", NULL) == STATUS_OK && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return process;
}

static void end(pid_t process)
{
    int how;
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
}

/* False where the kernel does not tell who holds a lock: there is only that somebody does. */
static bool check_name(const struct error *error, pid_t process, bool stopped)
{
    char name[32];
    ck_assert_ptr_nonnull(strstr(error->text, "another run is using run"));
    if (strstr(error->text, "process") == NULL)
        return false;
    snprintf(name, sizeof name, "process %d (", (int)process);
    ck_assert_msg(strstr(error->text, name) != NULL, "%s", error->text);
    ck_assert_msg((strstr(error->text, "stopped") != NULL) == stopped, "%s", error->text);
    return true;
}

TEST_PLAIN(the_holder_is_named)
{
    pid_t process = hold();
    struct error error;
    int file = open_lock();
    ck_assert_int_eq(file_lock(file, "run", &error), STATUS_EXISTS);
    bool named = check_name(&error, process, false);
    ck_assert_int_eq(file_lock_look(file, "run", &error), STATUS_EXISTS);
    if (!check_name(&error, process, false) || !named)
        suite_skip("who holds a lock: this kernel does not say");
    close(file);
    end(process);
}

TEST_PLAIN(a_stopped_holder_is_said_to_be_stopped)
{
    pid_t process = hold();
    struct error error;
    int file = open_lock(), how;
    ck_assert_int_eq(kill(process, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(process, &how, WUNTRACED), process);
    ck_assert_int_eq(file_lock(file, "run", &error), STATUS_EXISTS);
    if (!check_name(&error, process, true))
        suite_skip("whether the holder of a lock is stopped: this kernel does not say who it is");
    close(file);
    end(process);
}

TEST_PLAIN(a_killed_holder_has_let_go)
{
    pid_t process = hold();
    struct error error;
    int file = open_lock(), how;
    ck_assert_int_eq(kill(process, SIGKILL), 0); /* It may take a moment. */
    ck_assert_msg(file_lock(file, "run", &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    close(file);
}

TEST_PLAIN(looking_takes_nothing)
{
    struct error error;
    int one = open_lock(), other = open_lock();
    ck_assert_int_eq(file_lock_look(one, "run", &error), STATUS_OK);
    ck_assert_int_eq(file_lock_look(other, "run", &error), STATUS_OK);
    ck_assert_int_eq(file_lock(other, "run", &error), STATUS_OK);
    ck_assert_int_eq(file_lock_look(one, "run", &error), STATUS_EXISTS);
    close(other);
    ck_assert_int_eq(file_lock(one, "run", &error), STATUS_OK);
    close(one);
    ck_assert_int_eq(file_lock(one, "run", &error), STATUS_IO);
}

int main(void)
{
    return suite_run("file_lock", scratch_add);
}

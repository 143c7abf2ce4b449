/* file_lock.c - flock, tried again for a moment; who holds the lock is read from /proc/locks. */

#include "common/file/file_lock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAUSE_MS 50

/* The state letter of a process, from /proc/PID/stat: "1234 (name) S ...". */
static void describe_process(struct lock_holder *holder)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/stat", holder->process);
    FILE *stat_file = fopen(path, "re");
    if (stat_file == NULL)
        return;
    char *name = fgets(line, sizeof line, stat_file) != NULL ? strchr(line, '(') : NULL;
    char *end = name != NULL ? strrchr(name, ')') : NULL;
    if (end != NULL && end[1] == ' ') {
        holder->stopped = end[2] == 'T' || end[2] == 't';
        *end = '\0';
        snprintf(holder->program, sizeof holder->program, "%s", name + 1);
    }
    fclose(stat_file);
}

/* A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF". */
static bool read_lock(const char *line, const struct stat *about, long *process)
{
    unsigned major_number, minor_number;
    unsigned long long inode;
    return sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%llu", process, &major_number, &minor_number,
                  &inode) == 4 &&
           major_number == major(about->st_dev) && minor_number == minor(about->st_dev) &&
           inode == about->st_ino;
}

static struct lock_holder find_holder(int file)
{
    struct lock_holder holder = {0};
    struct stat about;
    char line[256];
    FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL)
        return holder;
    while (fstat(file, &about) == 0 && fgets(line, sizeof line, locks) != NULL) {
        long process;
        if (read_lock(line, &about, &process) && process > 0) {
            holder.process = process;
            describe_process(&holder);
            break;
        }
    }
    fclose(locks);
    return holder;
}

enum status file_lock_refusal(const char *what, const struct lock_holder *holder,
                              struct error *error)
{
    long process = holder->process;
    const char *program = holder->program[0] != '\0' ? holder->program : "of another user";
    if (process == 0)
        return error_set(error, STATUS_EXISTS,
                         "another run is using %.300s; choose another --out or wait for its end",
                         what);
    if (holder->stopped)
        return error_set(error, STATUS_EXISTS,
                         "another run is using %.300s: process %ld (%s), which is stopped; let it "
                         "go on (kill -CONT %ld) or end it (kill -KILL %ld)",
                         what, process, program, process, process);
    return error_set(error, STATUS_EXISTS,
                     "another run is using %.300s: process %ld (%s); choose another --out or wait "
                     "for its end",
                     what, process, program);
}

static enum status take(int file, int operation, const char *what, struct error *error)
{
    for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
        if (flock(file, operation | LOCK_NB) == 0)
            return STATUS_OK;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_set(error, STATUS_IO, "cannot lock %.300s: %s", what, strerror(errno));
        struct lock_holder holder = find_holder(file);
        if (holder.stopped || waited_ms >= FILE_LOCK_PATIENCE_MS)
            return file_lock_refusal(what, &holder, error);
        usleep(PAUSE_MS * 1000);
    }
}

enum status file_lock(int file, const char *what, struct error *error)
{
    return take(file, LOCK_EX, what, error);
}

enum status file_lock_look(int file, const char *what, struct error *error)
{
    enum status status = take(file, LOCK_SH, what, error);
    if (status == STATUS_OK)
        flock(file, LOCK_UN);
    return status;
}

bool file_lock_is_held(int file, struct lock_holder *holder)
{
    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
        flock(file, LOCK_UN);
        return false;
    }
    *holder = find_holder(file);
    return true;
}

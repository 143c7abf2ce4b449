/* own_worker.c - /proc for the names, a pidfd for the rest. A process that has just begun does not know
 * of the signal yet, and would be killed by it: it is told once it holds it back. */

#include "deploy/leave/own_worker.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"

#define NAME     "syncopate-worke" /* As the kernel cuts syncopate-worker. */
#define PAUSE_MS 20                /* Between looks whether it can be told. */

static bool is_worker(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(name, sizeof name, file) == NULL)
        name[0] = '\0';
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return strcmp(name, NAME) == 0;
}

/* Root may ask everybody, and others themselves. */
static bool is_ours(pid_t pid)
{
    char path[64];
    struct stat there;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &there) == 0 && (geteuid() == 0 || there.st_uid == geteuid());
}

static enum status find_one(pid_t pid, pid_t *found, struct error *error)
{
    *found = pid;
    if (is_worker(pid))
        return STATUS_OK;
    return error_set(error, STATUS_NOT_FOUND, "process %d is no syncopate-worker", (int)pid);
}

enum status own_worker_find(pid_t pid, pid_t *found, struct error *error)
{
    char list[200] = "";
    unsigned count = 0;
    if (pid > 0)
        return find_one(pid, found, error);
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return error_set(error, STATUS_IO, "cannot look for processes in /proc: %s",
                         strerror(errno));
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        pid_t each = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_worker(each) || !is_ours(each))
            continue;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%d", count > 0 ? ", " : "", (int)each);
        *found = each;
        count++;
    }
    closedir(processes);
    if (count == 1)
        return STATUS_OK;
    return count == 0
               ? error_set(error, STATUS_NOT_FOUND, "no syncopate-worker runs here")
               : error_set(error, STATUS_INVALID,
                           "%u workers run here, and --pid says which is meant: %s", count, list);
}

/* Whether it takes SIGUSR1 as a request (signals.h): it is then blocked. */
static bool listens(pid_t pid)
{
    char path[64], line[128];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    if (file != NULL)
        fclose(file);
    return (blocked >> (SIGUSR1 - 1) & 1) != 0;
}

/* Milliseconds from now, for poll. */
static int until(double moment)
{
    return (int)fmin(fmax(ceil(1e3 * (moment - clock_now_seconds())), 0), 1e9);
}

/* The signal, with the code that the worker is to end with. */
static enum status tell(int process, pid_t pid, bool evicted, struct error *error)
{
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = evicted ? EXIT_TERMINATED : EXIT_DONE;
    if (pidfd_send_signal(process, SIGUSR1, &info, 0) == 0 || errno == ESRCH)
        return STATUS_OK; /* Or it has gone meanwhile. */
    return error_set(error, STATUS_IO, "cannot ask process %d: %s", (int)pid, strerror(errno));
}

/* While it has not ended, and until the deadline, until it can be told. */
static bool await_ear(struct pollfd *end, pid_t pid, double deadline)
{
    while (end->revents == 0 && is_worker(pid) && until(deadline) > 0) {
        if (listens(pid))
            return true;
        poll(end, 1, PAUSE_MS);
    }
    return false;
}

enum status own_worker_leave(pid_t pid, bool evicted, double seconds, struct error *error)
{
    double deadline = clock_now_seconds() + seconds;
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    if (end.fd < 0 && errno == ESRCH)
        return STATUS_OK;
    if (end.fd < 0)
        return error_set(error, STATUS_IO, "cannot hold process %d: %s", (int)pid, strerror(errno));
    enum status status = STATUS_OK;
    if (await_ear(&end, pid, deadline))
        status = tell(end.fd, pid, evicted, error);
    if (status == STATUS_OK && poll(&end, 1, until(deadline)) <= 0)
        status = error_set(error, STATUS_TIMEOUT, "process %d has not left within %s", (int)pid,
                           wording_duration(seconds).text);
    close(end.fd);
    return status;
}

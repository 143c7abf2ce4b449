/* occupancy.c - open-file-description locks on the directory itself: a read lock of its holder,
 * queried by others. */

#include "common/store/occupancy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/file_lock.h"
#include "common/process/parent.h"
#include "common/store/event_log.h"

#define PAUSE_US    20000
#define SAY_SECONDS 0.3 /* Shorter waits are not worth a line. */

static bool lock(int directory, int operation, short type, bool *free)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    if (fcntl(directory, operation, &whole) != 0)
        return false;
    *free = whole.l_type == F_UNLCK;
    return true;
}

static bool take(int directory)
{
    bool ignored;
    return lock(directory, F_OFD_SETLK, F_RDLCK, &ignored);
}

/* Whether the directory is occupied; where that cannot be known it is assumed. */
static bool is_taken(int directory)
{
    bool free;
    return !lock(directory, F_OFD_GETLK, F_WRLCK, &free) || !free;
}

static int open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int occupancy_take(const char *directory, bool unless_taken)
{
    int file = open_directory(directory);
    if (file >= 0 && ((unless_taken && is_taken(file)) || !take(file))) {
        close(file);
        file = -1;
    }
    return file;
}

double occupancy_patience(double stop_timeout)
{
    return fmax(PARENT_LOST_SECONDS, stop_timeout) + 5;
}

/* --- waiting ------------------------------------------------------------------------------- */

/* Whether such locks exist here: asking alone proves nothing. */
static bool has_locks(int directory)
{
    bool ignored;
    return take(directory) && lock(directory, F_OFD_SETLK, F_UNLCK, &ignored);
}

static void describe(const struct lock_holder *holder, char *text, size_t size)
{
    if (holder->process != 0 && holder->program[0] != '\0')
        snprintf(text, size, "process %ld (%s)", holder->process, holder->program);
    else if (holder->process != 0)
        snprintf(text, size, "process %ld", holder->process);
    else
        snprintf(text, size, "another run");
}

static void say_wait(const char *directory, const struct lock_holder *holder, double seconds,
                     void (*say)(void *context, const char *line), void *context)
{
    char who[64], line[512];
    describe(holder, who, sizeof who);
    snprintf(line, sizeof line, "%s is about to leave %.300s; waiting for that, %s at most", who,
             directory, wording_duration(seconds).text);
    say(context, line);
}

static enum status give_up(const char *directory, const struct lock_holder *holder, double seconds,
                           struct error *error)
{
    char who[64], remedy[48] = "";
    describe(holder, who, sizeof who);
    if (holder->process != 0)
        snprintf(remedy, sizeof remedy, ", or end it (kill -KILL %ld)", holder->process);
    return error_set(error, STATUS_TIMEOUT,
                     "%s has not left %.300s within %s, though its run is over; try again%s", who,
                     directory, wording_duration(seconds).text, remedy);
}

/* One look. STATUS_AGAIN while the holder is about to leave, and *leaving is set; or may yet
 * notice that it has to. */
static enum status look(int file, const char *directory, bool *leaving, double waited,
                        struct lock_holder *holder, struct error *error)
{
    bool held = event_log_is_held(directory, holder);
    bool occupied = is_taken(file);
    if (!held && !occupied)
        return STATUS_OK;
    if (held && holder->stopped)
        return file_lock_refusal(directory, holder, error);
    *leaving = *leaving || (held && !occupied);
    if (!*leaving && waited >= 1e-3 * FILE_LOCK_PATIENCE_MS)
        return file_lock_refusal(directory, holder, error);
    return STATUS_AGAIN;
}

enum status occupancy_await(const char *directory, double seconds,
                            void (*say)(void *context, const char *line), void *context,
                            struct error *error)
{
    bool leaving = false, said = false;
    double began = clock_now_seconds();
    int file = open_directory(directory);
    if (file < 0)
        return STATUS_OK; /* A missing directory has no holder; its opening says the rest. */
    enum status status = has_locks(file) ? STATUS_AGAIN : STATUS_OK;
    while (status == STATUS_AGAIN) {
        struct lock_holder holder = {0};
        double waited = clock_now_seconds() - began;
        status = look(file, directory, &leaving, waited, &holder, error);
        if (status == STATUS_AGAIN && waited >= seconds)
            status = give_up(directory, &holder, seconds, error);
        if (status == STATUS_AGAIN && leaving && !said && waited >= SAY_SECONDS) {
            said = true;
            say_wait(directory, &holder, seconds, say, context);
        }
        if (status == STATUS_AGAIN)
            usleep(PAUSE_US);
    }
    close(file);
    return status;
}

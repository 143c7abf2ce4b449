/* stop_note.c - a thread that looks, and waits on an eventfd between looks. */

#include "common/store/stop_note.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/process/log.h"

#define LOOK_MS  1000
#define LINE_MAX 200

struct stop_note {
    char path[DISK_PATH_MAX];
    void (*enough)(void *context, const char *why);
    void *context;
    pthread_t thread;
    int over; /* eventfd */
};

/* Its first line, without control characters. */
static bool read_note(const struct stop_note *note, char line[LINE_MAX + 1])
{
    int file = open(note->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0)
        return false;
    ssize_t bytes = read(file, line, LINE_MAX);
    close(file);
    line[bytes > 0 ? bytes : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    for (char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return bytes >= 0;
}

/* A note that cannot be removed would stop the run again when it goes on. */
static void take_away(const struct stop_note *note)
{
    if (unlink(note->path) != 0)
        log_warning("cannot take %s away, which stops the run: %s", note->path, strerror(errno));
}

static void *watch(void *argument)
{
    struct stop_note *note = argument;
    char line[LINE_MAX + 1], why[LINE_MAX + 64];
    struct pollfd over = {.fd = note->over, .events = POLLIN};
    while (poll(&over, 1, LOOK_MS) == 0) {
        if (!read_note(note, line))
            continue;
        take_away(note);
        snprintf(why, sizeof why, "a note in the run directory asks for it%s%s",
                 line[0] != '\0' ? ": " : "", line);
        note->enough(note->context, why);
        break;
    }
    return NULL;
}

void stop_note_watch(struct stop_note **note, const char *out,
                     void (*enough)(void *context, const char *why), void *context)
{
    struct stop_note *n = *note = calloc(1, sizeof *n);
    if (n == NULL)
        return;
    n->enough = enough;
    n->context = context;
    n->over = eventfd(0, EFD_CLOEXEC);
    int length = snprintf(n->path, sizeof n->path, "%s/" STOP_NOTE_NAME, out);
    if (n->over >= 0 && length < (int)sizeof n->path &&
        pthread_create(&n->thread, NULL, watch, n) == 0)
        return;
    if (n->over >= 0)
        close(n->over);
    free(n);
    *note = NULL;
}

void stop_note_stop(struct stop_note **note)
{
    if (*note == NULL)
        return;
    eventfd_write((*note)->over, 1);
    pthread_join((*note)->thread, NULL);
    close((*note)->over);
    free(*note);
    *note = NULL;
}

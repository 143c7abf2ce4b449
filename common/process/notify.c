/* notify.c - one datagram a call; see sd_notify(3), whose library this is not. */

#include "common/process/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path, or with @ a name of the abstract namespace. */
static bool read_address(struct notify *notify, const char *text)
{
    size_t length = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || length < 2 ||
        length >= sizeof notify->manager.sun_path)
        return false;
    notify->manager.sun_family = AF_UNIX;
    memcpy(notify->manager.sun_path, text, length);
    if (text[0] == '@')
        notify->manager.sun_path[0] = '\0';
    notify->manager_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

/* Half of what is asked, so that one that is late does no harm. $WATCHDOG_PID names the process. */
static uint64_t watchdog_us(void)
{
    const char *wanted = getenv("WATCHDOG_USEC"), *process = getenv("WATCHDOG_PID");
    if (wanted == NULL || (process != NULL && strtol(process, NULL, 10) != getpid()))
        return 0;
    return strtoull(wanted, NULL, 10) / 2;
}

void notify_open(struct notify *notify)
{
    const char *address = getenv("NOTIFY_SOCKET");
    *notify = (struct notify){.socket = -1};
    if (address != NULL && read_address(notify, address))
        notify->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    notify->watchdog_us = notify->socket >= 0 ? watchdog_us() : 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
    if (notify->socket >= 0)
        close(notify->socket);
    notify->socket = -1;
}

static void say(const struct notify *notify, const char *text)
{
    if (notify->socket >= 0)
        sendto(notify->socket, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
               (const struct sockaddr *)&notify->manager, notify->manager_bytes);
}

void notify_ready(const struct notify *notify)
{
    say(notify, "READY=1");
}

void notify_beat(struct notify *notify, const char *status, uint64_t now_us)
{
    char text[NOTIFY_STATUS_MAX + 16];
    if (notify->socket < 0)
        return;
    if (notify->watchdog_us > 0 && now_us - notify->beaten_us >= notify->watchdog_us) {
        notify->beaten_us = now_us;
        say(notify, "WATCHDOG=1");
    }
    if (strncmp(notify->status, status, sizeof notify->status - 1) == 0)
        return;
    snprintf(notify->status, sizeof notify->status, "%s", status);
    snprintf(text, sizeof text, "STATUS=%s", notify->status);
    text[strcspn(text, "\n")] = '\0'; /* A line is one assignment. */
    say(notify, text);
}

void notify_stopping(const struct notify *notify, double seconds)
{
    char text[128];
    snprintf(text, sizeof text, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%.0f\nSTATUS=stopping",
             1e6 * seconds);
    say(notify, text);
}

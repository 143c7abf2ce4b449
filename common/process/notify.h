/* notify.h - tells a service manager how this process fares: systemd's datagrams to $NOTIFY_SOCKET.
 *
 *     READY=1                   this process does what it is for (a server listens, a worker has its data)
 *     STATUS=...                for what it waits, or what it does; when that changes
 *     WATCHDOG=1                it is alive, at most half of $WATCHDOG_USEC apart
 *     STOPPING=1                it has been asked to stop, ...
 *     EXTEND_TIMEOUT_USEC=...   ... and takes so long at most, for its last checkpoint
 *
 * Without the variable nothing is said, and it costs nothing. A manager that takes nothing is not
 * waited for. The variables are taken out of the environment: children do not speak for us.
 *
 * Threads: notify_stopping from any; all else from the one that notify_beat is called from, so that
 * the watchdog watches that. */

#ifndef COMMON_PROCESS_NOTIFY_H
#define COMMON_PROCESS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NOTIFY_STATUS_MAX 400

struct notify {
    int socket; /* -1: no service manager asked. */
    struct sockaddr_un manager;
    socklen_t manager_bytes;
    uint64_t watchdog_us; /* Between two signs of life; 0: none are wanted. */
    uint64_t beaten_us;
    char status[NOTIFY_STATUS_MAX]; /* As said last. */
};

/* From the environment, before there are other threads. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);

void notify_ready(const struct notify *notify);

/* A sign of life when it is due, and the status when it is another one; to be called often. */
void notify_beat(struct notify *notify, const char *status, uint64_t now_us);

/* How many seconds it may take, at most. */
void notify_stopping(const struct notify *notify, double seconds);

#endif

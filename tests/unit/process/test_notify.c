/* test_notify.c - what a service manager is told, heard at the other end of its socket. */
/* promises: services */

#include "common/process/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/suite.h"

struct manager {
    int socket;
    char folder[64], path[100], heard[600];
    struct notify notify;
};

/* abstract: with a name that is no path. */
static void open_manager(struct manager *m, bool abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(m->folder, sizeof m->folder, "/tmp/notify-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(m->folder));
    snprintf(m->path, sizeof m->path, "%s/socket", m->folder);
    size_t length = strlen(m->path);
    memcpy(address.sun_path, m->path, length);
    if (abstract)
        address.sun_path[0] = '\0';
    m->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    ck_assert_int_eq(bind(m->socket, (struct sockaddr *)&address, bytes), 0);
    if (abstract)
        m->path[0] = '@';
    setenv("NOTIFY_SOCKET", m->path, 1);
}

static void close_manager(struct manager *m)
{
    notify_close(&m->notify);
    close(m->socket);
    unlink(m->path);
    rmdir(m->folder);
}

/* The next datagram, or "". */
static const char *hear(struct manager *m)
{
    ssize_t bytes = recv(m->socket, m->heard, sizeof m->heard - 1, 0);
    m->heard[bytes > 0 ? bytes : 0] = '\0';
    return m->heard;
}

TEST_TIMES(readiness_status_life_and_the_end_are_told, 2)
{
    struct manager m;
    open_manager(&m, _i == 1);
    setenv("WATCHDOG_USEC", "4000000", 1);
    notify_open(&m.notify);
    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    notify_ready(&m.notify);
    ck_assert_str_eq(hear(&m), "READY=1");
    notify_beat(&m.notify, "waiting for worker/1", 10000000);
    ck_assert_str_eq(hear(&m), "WATCHDOG=1");
    ck_assert_str_eq(hear(&m), "STATUS=waiting for worker/1");
    notify_beat(&m.notify, "waiting for worker/1", 11900000); /* Nothing is new. */
    ck_assert_str_eq(hear(&m), "");
    notify_beat(&m.notify, "running\nREADY=0", 12000000); /* A line is one thing. */
    ck_assert_str_eq(hear(&m), "WATCHDOG=1");
    ck_assert_str_eq(hear(&m), "STATUS=running");
    notify_stopping(&m.notify, 60);
    ck_assert_str_eq(hear(&m), "STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000\nSTATUS=stopping");
    close_manager(&m);
}

TEST_PLAIN(without_a_manager_or_one_that_listens_nothing_happens)
{
    struct notify notify;
    static const char *const nowhere[] = {NULL, "", "/", "@", "relative", "/nowhere/at/all"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        if (nowhere[i] != NULL)
            setenv("NOTIFY_SOCKET", nowhere[i], 1);
        notify_open(&notify);
        ck_assert(notify.socket < 0 || i == 5);
        notify_ready(&notify);
        notify_beat(&notify, "x", 1000000);
        notify_stopping(&notify, 1);
        notify_close(&notify);
    }
}

TEST_PLAIN(a_manager_that_takes_nothing_is_not_waited_for)
{
    struct manager m;
    char status[32];
    open_manager(&m, false);
    notify_open(&m.notify);
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(status, sizeof status, "%u", i);
        notify_beat(&m.notify, status, i);
    }
    ck_assert_str_eq(hear(&m), "STATUS=0");
    close_manager(&m);
}

TEST_PLAIN(a_watchdog_of_another_process_is_not_ours)
{
    struct manager m;
    open_manager(&m, false);
    setenv("WATCHDOG_USEC", "1000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    notify_open(&m.notify);
    notify_beat(&m.notify, "x", 1000000);
    ck_assert_str_eq(hear(&m), "STATUS=x");
    ck_assert_str_eq(hear(&m), "");
    close_manager(&m);
}

int main(void)
{
    return suite_run("notify", NULL);
}

/* test_process_log.c - what is written is read back, in the order of time and without secrets, from one file
 * for all; and what is damaged is named. */

#include "common/wire/process_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/suite.h"

struct logs {
    int file;
    struct process_log *worker, *server;
};

static struct process_log *open_at(int file, enum role role, uint32_t index)
{
    char where[32];
    struct process_log *log;
    struct error error;
    snprintf(where, sizeof where, "fd:%d", file);
    ck_assert_int_eq(process_log_open(&log, where, role, index, &error), STATUS_OK);
    return log;
}

static struct logs open_both(void)
{
    int file = memfd_create("log", MFD_CLOEXEC);
    ck_assert_int_ge(file, 0);
    return (struct logs){file, open_at(file, ROLE_WORKER, 3), open_at(file, ROLE_PS, 1)};
}

static void close_both(struct logs *logs)
{
    process_log_close(&logs->worker);
    process_log_close(&logs->server);
    close(logs->file);
}

static const struct message exchange = {.kind = MESSAGE_EXCHANGE,
                                        .role = ROLE_WORKER,
                                        .index = 3,
                                        .generation = 2,
                                        .request = 9,
                                        .ticket = 4,
                                        .proof = 0x1234,
                                        .exchange = {.chunk = 5, .want = true, .newest = true}};

TEST_PLAIN(what_two_processes_write_is_read_in_the_order_of_time)
{
    struct error error;
    struct process_log_entry *entries;
    size_t count;
    struct logs logs = open_both();
    uint64_t said_ns = clock_now_ns(); /* Written when the server has it already. */
    process_log_heard(logs.server, false, 77, &exchange, 4096);
    process_log_said(logs.worker, said_ns, true, 1, &exchange, 4096, HERE);
    const struct listener listener = process_log_listener(logs.server);
    event(&listener, EVENT_UPDATED, .chunk = 5, .version = 8);
    ck_assert_int_eq(process_log_read(logs.file, &entries, &count, &error), STATUS_OK);
    ck_assert_uint_eq(count, 3);

    ck_assert_int_eq(entries[0].kind, LOGGED_SAID);
    ck_assert(entries[0].role == ROLE_WORKER && entries[0].index == 3);
    ck_assert(entries[0].to_server && entries[0].other == 1);
    ck_assert_uint_eq(entries[0].message.exchange.chunk, 5);
    ck_assert_uint_eq(entries[0].message.request, 9);
    ck_assert_uint_eq(entries[0].payload_bytes, 4096);

    ck_assert_int_eq(entries[1].kind, LOGGED_HEARD);
    ck_assert(entries[1].role == ROLE_PS && entries[1].index == 1);
    ck_assert(!entries[1].to_server && entries[1].other == 77);
    ck_assert_uint_eq(entries[1].message.index, 3);

    ck_assert_int_eq(entries[2].kind, LOGGED_EVENT);
    ck_assert(entries[2].event.kind == EVENT_UPDATED && entries[2].event.version == 8);
    ck_assert_uint_le(entries[0].time_ns, entries[1].time_ns);
    ck_assert_uint_le(entries[1].time_ns, entries[2].time_ns);
    free(entries);
    close_both(&logs);
}

/* Whether the file has these bytes anywhere. */
static bool holds(int file, const void *bytes, size_t count)
{
    static char all[1 << 16];
    ssize_t length = pread(file, all, sizeof all, 0);
    return length > 0 && memmem(all, (size_t)length, bytes, count) != NULL;
}

TEST_PLAIN(what_proves_who_somebody_is_is_not_written)
{
    struct logs logs = open_both();
    struct message welcome = {.kind = MESSAGE_WELCOME, .role = ROLE_PS};
    memset(&welcome.proof, 0xa7, sizeof welcome.proof);
    memset(&welcome.welcome.proof, 0xa7, sizeof welcome.welcome.proof);
    memset(welcome.welcome.secret, 0xa7, sizeof welcome.welcome.secret);
    snprintf(welcome.welcome.out, sizeof welcome.welcome.out, "runs/here");
    process_log_said(logs.server, 1, false, 1, &welcome, 0, HERE);
    ck_assert(holds(logs.file, "runs/here", 9));
    ck_assert(!holds(logs.file, "\xa7\xa7\xa7\xa7", 4));
    close_both(&logs);
}

TEST_PLAIN(without_a_log_nothing_is_written)
{
    struct process_log *none = NULL;
    struct error error;
    ck_assert_int_eq(process_log_open(&none, NULL, ROLE_PS, 0, &error), STATUS_OK);
    ck_assert_ptr_null(none);
    process_log_said(none, 0, false, 1, &exchange, 0, HERE);
    process_log_heard(none, false, 1, &exchange, 0);
    const struct listener listener = process_log_listener(none);
    event(&listener, EVENT_CUT);
    process_log_close(&none);
}

/* Its first byte; the descriptor itself writes at the end alone. */
static void spoil(int file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int other = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(pwrite(other, "x", 1, 0), 1);
    close(other);
}

TEST_PLAIN(a_damaged_log_is_read_up_to_there)
{
    struct error error;
    struct process_log_entry *entries;
    size_t count;
    struct logs logs = open_both();
    for (int i = 0; i < 3; i++)
        process_log_said(logs.worker, 1 + (uint64_t)i, true, 0, &exchange, 0, HERE);
    off_t end = lseek(logs.file, 0, SEEK_END);
    ck_assert_int_eq(ftruncate(logs.file, end - 1), 0);
    ck_assert_int_eq(process_log_read(logs.file, &entries, &count, &error), STATUS_INVALID);
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_nonnull(strstr(error.text, "the process log is damaged at byte"));
    free(entries);
    spoil(logs.file);
    ck_assert_int_eq(process_log_read(logs.file, &entries, &count, &error), STATUS_INVALID);
    ck_assert_uint_eq(count, 0);
    free(entries);
    close_both(&logs);
}

TEST_PLAIN(a_log_is_added_to_a_file_by_name_or_it_is_said_why_not)
{
    struct error error;
    struct process_log_entry *entries;
    size_t count;
    char path[] = "/tmp/syncopate-log-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    for (uint32_t i = 0; i < 2; i++) { /* Also by a process that was started again. */
        struct process_log *log;
        ck_assert_int_eq(process_log_open(&log, path, ROLE_WORKER, i, &error), STATUS_OK);
        const struct listener listener = process_log_listener(log);
        event(&listener, EVENT_GIVEN, .step = i);
        process_log_close(&log);
    }
    ck_assert_int_eq(process_log_read(file, &entries, &count, &error), STATUS_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(entries[1].event.step, 1);
    free(entries);
    unlink(path);
    close(file);
    struct process_log *none;
    ck_assert_int_eq(process_log_open(&none, "/nowhere/at/all", ROLE_PS, 0, &error), STATUS_IO);
    ck_assert_str_eq(error.text,
                     "--diary: cannot write /nowhere/at/all: No such file or directory");
    ck_assert_int_eq(process_log_open(&none, "fd:999", ROLE_PS, 0, &error), STATUS_IO);
}

TEST_PLAIN(a_log_that_is_no_file_is_refused_and_not_waited_for)
{
    struct error error;
    struct process_log *none;
    char name[16], path[64];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "fd:%d", ends[1]);
    ck_assert_int_eq(process_log_open(&none, name, ROLE_PS, 0, &error), STATUS_IO);
    ck_assert_ptr_null(none);
    ck_assert_ptr_nonnull(strstr(error.text, "is not a file's"));
    close(ends[0]);
    close(ends[1]);
    snprintf(path, sizeof path, "/tmp/syncopate-log-pipe-%d", (int)getpid());
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(process_log_open(&none, path, ROLE_PS, 0, &error), STATUS_IO);
    ck_assert_ptr_null(none);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a pipe, not a file"));
    unlink(path);
}

int main(void)
{
    return suite_run("process_log", NULL);
}

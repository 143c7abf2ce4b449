/* process_log.c - an entry is a head of fixed size and a body: a message's header frame or an
 * event. One call writes it, so that entries of several threads and processes do not mix. Only
 * programs of the same build read it, on the same host. */

#include "common/wire/process_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/file/disk.h"
#include "common/process/log.h"

#define MARK 0x59524944u /* "DIRY" */

struct head {
    uint32_t mark, bytes; /* bytes: of the body. */
    uint64_t time_ns, other, payload_bytes;
    uint32_t index;
    uint8_t kind, role, to_server, nothing;
    char source[PROCESS_LOG_SOURCE_MAX];
};

struct process_log {
    int file;
    enum role role;
    uint32_t index;
    atomic_bool failed; /* A write failed, and that was logged. */
    atomic_bool full;   /* Nothing is added any more. */
};

/* --- writing ------------------------------------------------------------------------------- */

void process_log_close(struct process_log **log)
{
    if (*log == NULL)
        return;
    if ((*log)->file >= 0)
        close((*log)->file);
    free(*log);
    *log = NULL;
}

/* An inherited descriptor: a write to a pipe would wait for its reader, maybe for ever. */
static enum status take_given(unsigned given, int *file, struct error *error)
{
    struct stat about;
    *file = fcntl((int)given, F_DUPFD_CLOEXEC, 0);
    if (*file < 0 || fstat(*file, &about) != 0)
        return error_set(error, STATUS_IO, "cannot write the process log: descriptor %u: %s", given,
                         strerror(errno));
    if (!S_ISREG(about.st_mode))
        return error_set(error, STATUS_IO,
                         "cannot write the process log: descriptor %u is not a file's", given);
    return STATUS_OK;
}

static enum status open_file(const char *where, int *file, struct error *error)
{
    unsigned given;
    struct error why;
    *file = -1;
    if (sscanf(where, "fd:%u", &given) == 1)
        return take_given(given, file, error);
    enum status status = disk_open(where, O_WRONLY | O_CREAT, file, &why);
    return status == STATUS_OK ? status : error_set(error, STATUS_IO, "--diary: %.400s", why.text);
}

enum status process_log_open(struct process_log **log, const char *where, enum role role,
                             uint32_t index, struct error *error)
{
    *log = NULL;
    if (where == NULL)
        return STATUS_OK;
    struct process_log *d = calloc(1, sizeof *d);
    if (d == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    d->role = role;
    d->index = index;
    enum status status = open_file(where, &d->file, error);
    /* Appends each entry as one piece, for all processes that share the file. */
    if (status == STATUS_OK && fcntl(d->file, F_SETFL, O_APPEND) != 0)
        status = error_set(error, STATUS_IO, "cannot write the process log %s: %s", where,
                           strerror(errno));
    *log = d;
    if (status != STATUS_OK)
        process_log_close(log);
    return status;
}

bool process_log_is_full(int file)
{
    struct stat about;
    return fstat(file, &about) == 0 && about.st_size >= PROCESS_LOG_BYTES_MAX;
}

static void put(struct process_log *log, struct head head, struct origin origin, const void *body,
                size_t bytes)
{
    uint8_t entry[sizeof head + HEADER_BYTES_MAX];
    head.mark = MARK;
    head.bytes = (uint32_t)bytes;
    head.role = (uint8_t)log->role;
    head.index = log->index;
    if (origin.file != NULL)
        snprintf(head.source, sizeof head.source, "%s:%s", origin.file, origin.function);
    memcpy(entry, &head, sizeof head);
    memcpy(entry + sizeof head, body, bytes);
    bytes += sizeof head;
    if (atomic_load(&log->full))
        return;
    if (write(log->file, entry, bytes) != (ssize_t)bytes && !atomic_exchange(&log->failed, true))
        log_warning("the process log cannot be written: %s", strerror(errno));
    if (process_log_is_full(log->file)) /* With the entries of others, too. */
        atomic_store(&log->full, true);
}

static void put_message(struct process_log *log, struct head head, struct origin origin,
                        const struct message *message)
{
    uint8_t body[HEADER_BYTES_MAX];
    struct message shown = *message;
    shown.proof = 0;
    if (shown.kind == MESSAGE_WELCOME) {
        shown.welcome.proof = 0;
        memset(shown.welcome.secret, 0, sizeof shown.welcome.secret);
    }
    put(log, head, origin, body, message_encode(&shown, body));
}

void process_log_said(struct process_log *log, uint64_t time_ns, bool to_server, uint64_t other,
                      const struct message *message, uint64_t payload_bytes, struct origin origin)
{
    if (log != NULL)
        put_message(log,
                    (struct head){.kind = LOGGED_SAID,
                                  .time_ns = time_ns,
                                  .to_server = to_server,
                                  .other = other,
                                  .payload_bytes = payload_bytes},
                    origin, message);
}

void process_log_heard(struct process_log *log, bool from_server, uint64_t other,
                       const struct message *message, uint64_t payload_bytes)
{
    if (log != NULL)
        put_message(log,
                    (struct head){.kind = LOGGED_HEARD,
                                  .time_ns = clock_now_ns(),
                                  .to_server = from_server,
                                  .other = other,
                                  .payload_bytes = payload_bytes},
                    (struct origin){NULL, NULL}, message);
}

static void take_event(void *context, const struct event *event)
{
    put(context, (struct head){.kind = LOGGED_EVENT, .time_ns = clock_now_ns()}, event->origin,
        event, sizeof *event);
}

struct listener process_log_listener(struct process_log *log)
{
    struct listener listener = {.take = take_event, .context = log};
    for (unsigned kind = 0; log != NULL && kind < EVENT_KIND_COUNT; kind++)
        listener.kinds |= (uint64_t)(event_rows[kind].sentence != NULL) << kind;
    return listener;
}

/* --- reading ------------------------------------------------------------------------------- */

static bool read_all(int file, off_t at, void *bytes, size_t count)
{
    return pread(file, bytes, count, at) == (ssize_t)count;
}

static bool head_fits(const struct head *head)
{
    return head->mark == MARK && memchr(head->source, 0, sizeof head->source) != NULL &&
           head->kind < LOGGED_KIND_COUNT && head->role < ROLE_COUNT &&
           (head->kind == LOGGED_EVENT ? head->bytes == sizeof(struct event)
                                       : head->bytes <= HEADER_BYTES_MAX);
}

/* The entry at *at, which moves behind it. */
static bool read_entry(int file, off_t *at, struct process_log_entry *entry)
{
    struct head head;
    struct error ignored;
    uint8_t body[HEADER_BYTES_MAX];
    if (!read_all(file, *at, &head, sizeof head) || !head_fits(&head) ||
        !read_all(file, *at + (off_t)sizeof head, body, head.bytes))
        return false;
    *entry = (struct process_log_entry){.time_ns = head.time_ns,
                                        .kind = (enum logged_kind)head.kind,
                                        .role = (enum role)head.role,
                                        .index = head.index,
                                        .to_server = head.to_server != 0,
                                        .other = head.other,
                                        .payload_bytes = head.payload_bytes};
    memcpy(entry->source, head.source, sizeof entry->source);
    *at += (off_t)(sizeof head + head.bytes);
    if (entry->kind != LOGGED_EVENT)
        return message_decode(body, head.bytes, &entry->message, &ignored) == STATUS_OK;
    memcpy(&entry->event, body, sizeof entry->event);
    return (unsigned)entry->event.kind < EVENT_KIND_COUNT &&
           event_rows[entry->event.kind].sentence != NULL;
}

/* Entries of one process at the same moment stay in order. */
static int compare(const void *left, const void *right)
{
    const struct process_log_entry *a = *(struct process_log_entry *const *)left;
    const struct process_log_entry *b = *(struct process_log_entry *const *)right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a < b ? -1 : 1;
}

static enum status sort(struct process_log_entry **entries, size_t count)
{
    struct process_log_entry **order = calloc(count + 1, sizeof *order);
    struct process_log_entry *sorted = calloc(count + 1, sizeof *sorted);
    for (size_t i = 0; order != NULL && sorted != NULL && i < count; i++)
        order[i] = &(*entries)[i];
    if (order != NULL && sorted != NULL) {
        qsort(order, count, sizeof(struct process_log_entry *), compare);
        for (size_t i = 0; i < count; i++)
            sorted[i] = *order[i];
    }
    bool made = order != NULL && sorted != NULL;
    free(order);
    if (!made) {
        free(sorted);
        return STATUS_MEMORY;
    }
    free(*entries);
    *entries = sorted;
    return STATUS_OK;
}

enum status process_log_read(int file, struct process_log_entry **entries, size_t *count,
                             struct error *error)
{
    size_t room = 0;
    off_t at = 0, end = lseek(file, 0, SEEK_END);
    bool damaged = false;
    *entries = NULL;
    for (*count = 0; at < end && !damaged; *count += !damaged) {
        struct process_log_entry *grown = array_room(*entries, *count, &room, sizeof *grown);
        if (grown == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory for the process log");
        *entries = grown;
        damaged = !read_entry(file, &at, &grown[*count]);
    }
    if (sort(entries, *count) != STATUS_OK)
        return error_set(error, STATUS_MEMORY, "out of memory for the process log");
    if (damaged)
        return error_set(error, STATUS_INVALID, "the process log is damaged at byte %lld of %lld",
                         (long long)at, (long long)end);
    return STATUS_OK;
}

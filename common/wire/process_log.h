/* process_log.h - the messages and events of one process, entry by entry in a file, for
 * `syncopate run --explain`. (The event log of the whole run, events.jsonl, is
 * common/store/event_log.h.)
 *
 *     said    a message has left: its receiver, and the message as it travels
 *     heard   one has come
 *     event   something happened inside, which no message shows (common/events/event.h)
 *
 * All processes of a job on one host may write to the same file. An entry is written at once,
 * names its process, and has the time of the host's one monotonic clock, taken before a message
 * leaves and after one has come. So an entry's cause is always earlier. Proofs and secrets are
 * not written.
 *
 * A log that is NULL accepts everything and writes nothing; nearly all processes run so. When
 * the file cannot be written any more a line says so, and the process goes on. It grows to
 * PROCESS_LOG_BYTES_MAX and then ends.
 *
 * Threads: said, heard and events from any; open and close from one.
 * Units: nanoseconds of CLOCK_MONOTONIC. */

#ifndef COMMON_WIRE_PROCESS_LOG_H
#define COMMON_WIRE_PROCESS_LOG_H

#include "common/events/event.h"
#include "common/wire/message.h"

#define PROCESS_LOG_BYTES_MAX (12u << 20) /* Some 20,000 messages: more than a person reads. */

struct process_log;

enum { PROCESS_LOG_SOURCE_MAX = 80 };

enum logged_kind { LOGGED_SAID, LOGGED_HEARD, LOGGED_EVENT, LOGGED_KIND_COUNT };

struct process_log_entry {
    uint64_t time_ns;
    enum logged_kind kind;
    enum role role; /* Of the process. */
    uint32_t index;
    char source[PROCESS_LOG_SOURCE_MAX]; /* "file:function" that sent it. */
    bool to_server;         /* `other` is a server's number; else a transport's name for a peer. */
    uint64_t other;         /* The other end of a message. */
    uint64_t payload_bytes; /* That came with it. */
    union {
        struct message message;
        struct event event;
    };
};

/* In the name of a process: to a regular file, at its end, or to "fd:3", an inherited
 * descriptor. where NULL: *log is NULL. STATUS_IO (it is a pipe, a device, ...), STATUS_MEMORY. */
enum status process_log_open(struct process_log **log, const char *where, enum role role,
                             uint32_t index, struct error *error);
void process_log_close(struct process_log **log);

/* time_ns: before it was sent. */
void process_log_said(struct process_log *log, uint64_t time_ns, bool to_server, uint64_t other,
                      const struct message *message, uint64_t payload_bytes, struct origin origin);
void process_log_heard(struct process_log *log, bool from_server, uint64_t other,
                       const struct message *message, uint64_t payload_bytes);

/* Accepts all events, or none without a log. */
struct listener process_log_listener(struct process_log *log);

/* Whether entries were left out for want of room. */
bool process_log_is_full(int file);

/* All entries of a file, earliest first; the caller frees them. STATUS_INVALID: something in it
 * is no entry; those before it are there. */
enum status process_log_read(int file, struct process_log_entry **entries, size_t *count,
                             struct error *error);

#endif

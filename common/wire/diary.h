/* diary.h - what a process says, hears and does, entry by entry in a file, for whoever wants to tell
 * it afterwards (`syncopate run --explain`).
 *
 *     said    a message has left: to whom, and the message as it travels
 *     heard   one has come
 *     did     something happened inside between messages, which no message shows: a deed
 *
 * All processes of a job on one host may write to the same file: an entry is written at once, says
 * whose it is, and has the time of the host's one monotonic clock, taken before a message leaves and
 * after one has come. So an entry's cause is always earlier than it. What proves who somebody is
 * (proofs, secrets) is not written.
 *
 * A diary that is NULL takes everything and writes nothing: that is how nearly all processes run.
 * When the file cannot be written any more that is said once, and the process goes on. It
 * grows to DIARY_BYTES_MAX, and nothing is added behind that.
 *
 * Threads: said, heard and did from any; open and close from one.
 * Units: nanoseconds of CLOCK_MONOTONIC. */

#ifndef COMMON_WIRE_DIARY_H
#define COMMON_WIRE_DIARY_H

#include "common/base/origin.h"
#include "common/wire/message.h"

#define DIARY_BYTES_MAX (12u << 20) /* Some 20,000 messages: more than anybody reads. */

struct diary;

enum { DIARY_SOURCE_MAX = 80 };

enum diary_kind { DIARY_SAID, DIARY_HEARD, DIARY_DID, DIARY_KIND_COUNT };

/* What no message shows. */
enum deed_kind {
    DEED_OPENED,      /* Server 0 has the run directory; `step` is where the run goes on. */
    DEED_LOADED,      /* A server's chunks have their first values. */
    DEED_GIVEN,       /* A trainer is given a step or batch. */
    DEED_STANDS,      /* It has no leaf in this step. */
    DEED_COMPUTED,    /* A gradient: node, examples, loss, correct, us. */
    DEED_LEFT_OUT,    /* One that is not finite. */
    DEED_TAKEN,       /* An owner has taken a worker's gradient: chunk, step, node, worker. */
    DEED_REFUSED,     /* Or not: verdict. */
    DEED_UPDATED,     /* A chunk: version is the new one; members, all their examples, the greatest
                       * staleness. */
    DEED_SKIPPED,     /* The same, by nothing. */
    DEED_ADDED,       /* A chunk holds one more for an update of several: members so far; examples
                       * and staleness of this one. */
    DEED_HELD,        /* An answer waits: chunk, worker, version that it waits for. */
    DEED_CUT,         /* A chunk is referred to as of version `step`. */
    DEED_PART,        /* A server's part of a checkpoint is written: step, bytes. */
    DEED_MANIFEST,    /* The whole checkpoint is. */
    DEED_SCORED,      /* Test examples, after `step` updates: examples, loss, correct, us. */
    DEED_SUMMARY,     /* run.json and the model are written. */
    DEED_LOST_WORKER, /* Server 0 does without: worker. */
    DEED_LOST_SERVER, /* Without that server, whose number is in `worker`, nobody goes on. */
    DEED_KIND_COUNT
};

struct deed {
    enum deed_kind kind;
    uint32_t chunk, worker;
    uint32_t members; /* Batches in an update. */
    struct node node;
    uint64_t step, version;
    uint64_t examples, correct, staleness, bytes, us;
    int64_t loss; /* 2^-24 nats, summed. */
    enum verdict verdict;
};

struct diary_entry {
    uint64_t time_ns;
    enum diary_kind kind;
    enum role role; /* Whose it is. */
    uint32_t index;
    char source[DIARY_SOURCE_MAX]; /* "file:function" that said it or did it. */
    bool to_server;         /* `other` is a server's number; else a transport's name for a peer. */
    uint64_t other;         /* At the other end of a message. */
    uint64_t payload_bytes; /* That came with it. */
    union {
        struct message message;
        struct deed deed;
    };
};

/* In the name of a process: to a regular file that is added to, or "fd:3", a descriptor of one that
 * it was given. where NULL: *diary is NULL. STATUS_IO (it is a pipe, a device, ...), STATUS_MEMORY. */
enum status diary_open(struct diary **diary, const char *where, enum role role, uint32_t index,
                       struct error *error);
void diary_close(struct diary **diary);

/* When something is about to be said; 0 without a diary. */
uint64_t diary_now(const struct diary *diary);
void diary_said(struct diary *diary, uint64_t time_ns, bool to_server, uint64_t other,
                const struct message *message, uint64_t payload_bytes, struct origin origin);
void diary_heard(struct diary *diary, bool from_server, uint64_t other,
                 const struct message *message, uint64_t payload_bytes);
#define diary_did(diary, ...) diary_put(diary, __VA_ARGS__, HERE)
void diary_put(struct diary *diary, const struct deed *deed, struct origin origin);

/* Whether there was more than it takes. */
bool diary_is_full(int file);

/* All entries of a file, earliest first; the caller frees them. STATUS_INVALID: something in it is no
 * entry; what comes before it is there. */
enum status diary_read(int file, struct diary_entry **entries, size_t *count, struct error *error);

#endif

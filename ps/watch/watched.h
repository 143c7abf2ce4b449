/* watched.h - what a server shows of itself to those who watch: a copy that its router's thread makes
 * now and then, and what the page, Prometheus, a probe and a service manager see of it.
 *
 *     router's thread --watched_post--> board --watched_look--> the HTTP server
 *
 * So a watcher touches nothing that trains: there is a lock around the copy, held for as long as
 * copying it takes.
 *
 * Threads: a board's functions any; a struct watched is a plain value. Units in the names. */

#ifndef PS_WATCH_WATCHED_H
#define PS_WATCH_WATCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/histogram.h"
#include "common/job/verdict.h"
#include "common/store/run_directory.h"
#include "common/wire/message.h"

/* More are not shown one by one. */
#define WATCHED_WORKERS_MAX 1024
/* A router's thread that has posted nothing for so long is no longer alive, for all one knows. */
#define WATCHED_ALIVE_US 10000000u

enum watched_state {
    WATCHED_JOINING,
    WATCHED_LOADING,
    WATCHED_SERVING,
    WATCHED_OVER,
    WATCHED_STATES
};

enum watched_doing {
    WATCHED_JOINS,
    WATCHED_COMPUTES,
    WATCHED_EXCHANGES,
    WATCHED_WAITS,
    WATCHED_SERVES,
    WATCHED_SILENT, /* It is not heard, and not lost yet. */
    WATCHED_LOST,
    WATCHED_LEFT,
    WATCHED_DOINGS
};

/* A member of the job. */
struct watched_member {
    enum watched_doing doing;
    double doing_seconds; /* As far as it was seen. */
    double heard_seconds; /* Since. */
    enum wait wait;       /* WAIT_COUNT: for nothing that has a name. */
    uint32_t waits_for;   /* One more than the worker; 0: for none alone. */
    uint64_t step;
    double waits[WAIT_COUNT]; /* Seconds, of a worker. */
};

struct watched {
    uint32_t server;
    enum watched_state state;
    char waiting[MESSAGE_TEXT_MAX]; /* What it waits for, for people; "" for nothing. */
    struct server_figures own;
    struct not_taken not_taken;
    double unix_seconds, monotonic_seconds; /* When this was written down. */
    bool coordinates;                       /* Server 0: */
    struct message_status_answer job;
    double checkpoint_unix_seconds; /* When a whole checkpoint was seen first; 0: none was. */
    struct histogram staleness;     /* Of gradients and chunks; of none: it is no such mode. */
    uint32_t worker_count;
    struct watched_worker workers[WATCHED_WORKERS_MAX];
    struct watched_member
        members[WATCHED_WORKERS_MAX + JOB_SERVERS_MAX]; /* Workers, then servers. */
    uint32_t server_count;
};

/* Whether it takes gradients, and why not yet: a line, or "". */
bool watched_is_ready(const struct watched *watched, char *why, size_t size);

/* A line for a service manager: "running: update 938 of 2,814", "waiting 5 s for worker/1". */
void watched_describe(const struct watched *watched, char *text, size_t size);

/* All of it as Prometheus reads it. version: of the program. */
void watched_write(FILE *out, const struct watched *watched, const char *version);

/* /state of server 0, as deploy/page/source.js describes it. earlier: a second before, for what was
 * done since. */
struct json_writer;
void watched_state_write(struct json_writer *writer, const struct watched *watched,
                         const struct watched *earlier, uint64_t event_bytes, bool has_logs);

#define WATCHED_KEPT 3 /* Copies: of now and a second before. */

struct watched_board {
    pthread_mutex_t lock;
    uint64_t posted_us; /* 0: never. */
    uint64_t posts;
    struct watched kept[WATCHED_KEPT];
};

enum status watched_board_init(struct watched_board *board);
void watched_board_free(struct watched_board *board);
void watched_post(struct watched_board *board, const struct watched *watched, uint64_t now_us);
/* The newest, and when it was posted; and the oldest that is kept, if it is not NULL. False before
 * there is one. */
bool watched_look(struct watched_board *board, struct watched *watched, struct watched *earlier,
                  uint64_t *posted_us);

#endif

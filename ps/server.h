/* server.h - one server process: the cores, driven by threads.
 *
 *                     ROUTER socket        DEALER to server 0 (other servers)
 *                          |                  |
 *     .-------------- router thread ------------------.
 *     |   router core, and on server 0 coordinator    |
 *     '--+----------------+-------------------+-------'
 *        | mailbox        | mailbox           | mailbox
 *     owner 0    ...   owner n-1            keeper
 *
 * Everything between threads goes through mailboxes. With owner_threads 0 the router's thread runs
 * one owner itself: on few cores and for small models a hand-over costs more than it brings.
 *
 * Threads: server_run is the router thread and makes the others; server_request_stop may be called
 *   from any thread. */

#ifndef PS_SERVER_H
#define PS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk.h"
#include "common/options.h"
#include "common/transport.h"

struct server;

struct server_options {
    struct transport *transport;
    const struct disk *disk;
    uint32_t index;
    const char *listen;      /* Address to listen on. */
    const char *coordinator; /* Server 0's address; unused on server 0. */
    const char *port_file;   /* Where to write the bound address, or NULL. */
    const char *out, *restore;
    int32_t owner_threads; /* -1: choose. */
    double start_timeout, worker_timeout, stop_timeout;
    bool allow_mixed;
    bool journal;
};

/* Listens at once, so that an address in use is an error here. */
enum status server_create(struct server **server, const struct server_options *options,
                          struct error *error);
void server_destroy(struct server **server);

/* The address to tell others. */
const char *server_address(const struct server *server);

/* Ask for a clean stop with EXIT_INTERRUPTED or EXIT_TERMINATED. */
void server_request_stop(struct server *server, int exit_code);

/* Serve until the job is over; the exit code, with one line in reason when it is not 0. */
int server_run(struct server *server, struct error *reason);

#endif

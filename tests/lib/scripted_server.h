/* scripted_server.h - one server at the other end of a transport, played by a script: it lets a
 * client in, starts it, answers its exchanges with values that are all the same number, and does as
 * a test says.
 *
 *     struct scripted_server server;
 *     scripted_server_open(&server, &job);
 *     options.transport = &server.transport;
 *     ... client_open(&client, &options, &error) ...
 *     scripted_server_close(&server);                 after client_close
 *
 * Threads: the client's call in; a test changes the script between scripted_server_lock and
 * _unlock. Ownership: borrows the job. */

#ifndef TESTS_LIB_SCRIPTED_SERVER_H
#define TESTS_LIB_SCRIPTED_SERVER_H

#include <pthread.h>

#include "common/job/partition.h"
#include "common/transport/transport.h"
#include "common/wire/outbox.h"

#define SCRIPTED_HEARD_MAX 4096

/* A message that came, and where its payload was. */
struct scripted_heard {
    struct message message;
    const float *payload; /* NULL for none; not to be looked into later. */
    bool by_memory;       /* It came by shared memory. */
};

struct scripted_server {
    struct transport transport;
    pthread_mutex_t lock;
    const struct job *job;
    struct partition partition;
    struct outbox answers;
    /* The script. */
    uint64_t incarnation, generation, ticket;
    struct message_start start; /* For the next START. */
    uint64_t version;           /* Of all chunks. */
    float value;                /* Of all values. */
    bool deaf;                  /* Sending is STATUS_AGAIN. */
    bool mute;                  /* EXCHANGEs with a gradient are not answered. */
    uint32_t keeps_from;        /* EXCHANGEs for chunks from this one on are not; 0: they are. */
    bool finishes;              /* DONE and LEAVE are answered with FINISHED. */
    bool scores;                /* The model is scored when a job's is; DONE waits for it. */
    uint32_t scores_owed;
    uint64_t batches; /* Async: leased so far. */
    /* Shared memory. */
    bool shares;
    uint64_t attached; /* The incarnation that is; 0 for none. */
    unsigned breaks;   /* So many connections end before memory is handed over, ... */
    bool dies;         /* ... the first of them with the server. */
    unsigned refusals; /* So many questions find too many others waiting. */
    unsigned late;     /* So many waits before memory is handed over to who asked. */
    uint64_t asked;    /* The incarnation that is asked; 0 for none. */
    unsigned waits;    /* There have been. */
    unsigned attach_calls;
    float *memory; /* [2][elements] for gradients. */
    /* What came. */
    struct scripted_heard heard[SCRIPTED_HEARD_MAX];
    unsigned heard_count;
};

void scripted_server_open(struct scripted_server *server, const struct job *job);
void scripted_server_close(struct scripted_server *server);

void scripted_server_lock(struct scripted_server *server);
void scripted_server_unlock(struct scripted_server *server);

/* With the lock held: say START once more, with a greater assignment. */
void scripted_server_start(struct scripted_server *server);

/* How many of this kind have come. Takes the lock. */
unsigned scripted_server_count(struct scripted_server *server, enum message_kind kind);

#endif

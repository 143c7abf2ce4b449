/* players.h - a coordinator, and all those it talks to played by a test: two servers, two workers
 * (and more), a checkpointer.
 *
 *     struct players p;
 *     players_open(&p, MODE_SYNC);
 *     players_start(&p);              everybody has joined, training is on
 *     players_kill(&p, ROLE_WORKER, 1);
 *     players_pass(&p, 6);            six seconds in which the living are heard
 *     ck_assert_ptr_nonnull(players_told(&p, 10, MESSAGE_START));
 *
 * Peers: worker i is 10 + i, server i is 20 + i, server 0's router is local. Whoever joins is heard
 * twice a second while time passes, until it is killed.
 *
 * Threads: one. */

#ifndef TESTS_LIB_PLAYERS_H
#define TESTS_LIB_PLAYERS_H

#include "ps/coordinator/coordinator.h"
#include "tests/lib/post.h"

#define PLAYERS_RUN    77u
#define PLAYERS_SECOND 1000000u
#define PLAYERS_MAX    8

struct player {
    bool alive;
    uint64_t phases; /* Another process each time. */
    uint64_t ticket, proof, generation;
    uint32_t assignment;
    uint64_t step;
    bool computing, ready;
    enum leash leash;
};

struct players {
    struct coordinator *coordinator;
    struct coordinator_options options;
    struct job job;
    struct post post;
    uint64_t now_us, request;
    struct player workers[PLAYERS_MAX], servers[PLAYERS_MAX];
};

void players_open(struct players *p, enum mode mode);
/* The same with other options: change p->options and p->job in between. */
void players_prepare(struct players *p, enum mode mode);
void players_create(struct players *p);
void players_close(struct players *p);

struct player *players_of(struct players *p, enum role role, uint32_t index);
uint64_t players_peer(enum role role, uint32_t index);

/* A message as its sender would stamp it; and give it to the coordinator. */
struct packet players_packet(struct players *p, enum role role, uint32_t index,
                             enum message_kind kind);
void players_give(struct players *p, struct packet packet);
void players_say(struct players *p, enum role role, uint32_t index, enum message_kind kind);
void players_checkpointer(struct players *p, struct message message);
void players_order(struct players *p, struct order order);

struct packet players_join_packet(struct players *p, enum role role, uint32_t index);
/* JOIN; the ticket is taken from the WELCOME. */
void players_join(struct players *p, enum role role, uint32_t index);
void players_declare(struct players *p, uint32_t worker, const struct job *job);
void players_opened(struct players *p, uint64_t generation, bool restore, uint64_t step);

/* Up to GATHERING; up to RUNNING. What was said on the way is forgotten. */
void players_gather(struct players *p);
void players_start(struct players *p);

/* Time without a word from anybody; time in which the living are heard, and follow START and
 * WELCOME. What was said before is forgotten by players_pass. */
void players_wait(struct players *p, double seconds);
void players_pass(struct players *p, double seconds);
/* The living follow what they were told, without time passing. */
void players_follow(struct players *p);

void players_kill(struct players *p, enum role role, uint32_t index);
/* A new process for this task; it has not joined yet. */
void players_restart(struct players *p, enum role role, uint32_t index);

/* The latest message of this kind to this peer, or NULL. */
struct message *players_told(struct players *p, uint64_t peer, enum message_kind kind);
/* The latest event of this name, or NULL. */
const char *players_event(struct players *p, const char *name);

void players_report(struct players *p, uint32_t worker, uint64_t step, struct node node);
void players_lease(struct players *p, uint32_t worker, bool finished, uint64_t batch);
void players_stop(struct players *p, enum role role, uint32_t index, uint32_t code,
                  const char *reason);
void players_done(struct players *p, uint32_t worker, uint64_t step);

#endif

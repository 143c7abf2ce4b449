/* gathering.h - from the first page of the declaration to START, and back to a checkpoint.
 *
 *     WAITING --[gathering_add_page] EFFECT_DECLARED--> OPENING
 *        a JOIN is asked for the declaration              |  the checkpointer claims the run
 *                                                         |  directory
 *     GATHERING <--[gathering_opened] EFFECT_OPENED------'
 *        |  servers are welcomed until they are [gathering_ready]
 *        '--[gathering_is_gathered]--> RUNNING
 *                                         |  a server has come back without its chunks:
 *     RECOVERING <-----[gathering_raise]-'  also from GATHERING and CLOSING
 *        |  raising != 0: the checkpointer records it and looks for a checkpoint
 *        |--[gathering_opened] EFFECT_WENT_BACK--> all servers are welcomed to it
 *        '--[gathering_is_gathered]--> RUNNING
 *
 * What can be trusted: before OPENING there is no job; before GATHERING no run and no mode; while
 * raising != 0 no server is ready, and messages are still of the old generation.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_GATHERING_H
#define PS_COORDINATOR_GATHERING_H

#include "ps/coordinator/run.h"

#define WELCOME_REPEAT_US 1000000u

struct gathering {
    uint64_t began_us;    /* The begin of this process, about. */
    uint64_t welcomed_us; /* When servers last heard of it. */
};

/* Whether the sender of a JOIN has to declare the job, or to wait for it; it has its answer then. */
bool gathering_handle_join(struct run *run, const struct packet *packet);
/* The whole job to a server. */
void gathering_send_job(const struct run *run, uint64_t peer);
void gathering_free(struct run *run);
/* When the declaration is all here: it is the job's, or one to compare with it. */
struct effect gathering_add_page(struct run *run, const struct packet *packet);
struct effect gathering_opened(struct run *run, const struct order_run_opened *opened);

void gathering_welcome(const struct run *run, const struct member *member, enum role role);
/* To a server that is of an older one. */
void gathering_welcome_again(const struct run *run, const struct member *server);
/* To all servers, which go back; `again`: updates that will be made again. */
void gathering_begin(struct gathering *g, const struct run *run, uint64_t again);
/* Whether the server has become ready. */
bool gathering_ready(const struct run *run, struct member *server, const struct packet *packet);
/* ORDER_EVERYBODY: all have their chunks. */
void gathering_send_chunks(const struct run *run, uint32_t server);
/* A chunk out of a checkpoint, to the server that is to own it; takes over the payload. */
void gathering_pass_chunk(const struct run *run, struct packet *packet);

/* A server's chunks are gone: all members go back to a checkpoint. */
void gathering_raise(struct run *run);

/* Whether training can begin. `survivors`: workers of an earlier server 0 have asked to join. */
bool gathering_is_gathered(const struct run *run, bool survivors);

/* Deadlines until training begins or goes on. */
struct effect gathering_tick(struct gathering *g, const struct run *run);

#endif

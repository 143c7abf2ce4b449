/* declaration.h - the job as its first worker declares it, page by page.
 *
 * One process at a time may upload; one that stops in the middle is forgotten after a while.
 * Once there is a job, an upload is another worker's, to be compared with it.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_DECLARATION_H
#define PS_COORDINATOR_DECLARATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/envelope.h"
#include "common/wire/pages.h"

struct declaration {
    struct job job; /* Once size > 0. Owned. */
    uint8_t *bytes; /* [size], owned: the encoded job. */
    uint32_t size;
    uint8_t digest[DIGEST_BYTES];

    struct pages upload;   /* The upload under way. */
    uint64_t uploader;     /* Its peer, 0 for none. */
    uint64_t uploaded_us;  /* When its last page came. */
    uint64_t known_run_id; /* The run that the uploader was in before, 0 for none. */
};

void declaration_free(struct declaration *declaration);

/* Ask the sender of a JOIN for its declaration, or have it wait for its turn. */
void declaration_ask(struct declaration *declaration, const struct envelope *envelope,
                     const struct packet *join, uint64_t now_us, struct outbox *outbox);

/* A page: STATUS_AGAIN when there is more to come or it was not asked for, STATUS_OK with the
 * uploaded job in *job (the caller's) when it is whole, STATUS_INVALID when it is none. */
enum status declaration_add(struct declaration *declaration, const struct packet *page,
                            uint64_t now_us, struct job *job, struct error *error);

/* The last upload becomes the job: takes over *job. Else declaration_forget_upload. */
enum status declaration_accept(struct declaration *declaration, struct job *job);
void declaration_forget_upload(struct declaration *declaration);

/* The whole job to a server. */
void declaration_send(const struct declaration *declaration, const struct envelope *envelope,
                      uint64_t peer, struct outbox *outbox);

#endif

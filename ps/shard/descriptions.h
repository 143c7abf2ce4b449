/* descriptions.h - what the gradients that a server has had were made from, where the run is
 * recorded: the worker, the batch, and the version of every chunk, as GRADIENT says it.
 *
 * A batch is no description: a worker may be lost in the middle of its push, and another compute
 * the batch from other versions, each for a part of the chunks. So each gradient has one, and
 * chunks log its number (update_log.h). Numbers are this server's own, from 1 on.
 *
 *     GRADIENT, page by page --> [descriptions_hear] --> numbered
 *     EXCHANGE --> [descriptions_find]: its number; 0: not described, the worker says it again
 *     CUT --> [descriptions_pack] beside the logs; those before a recorded cut: [descriptions_drop]
 *
 * Memory: at most DESCRIPTIONS_MAX, of 48 bytes and about one a chunk, which together have at
 * most DESCRIPTIONS_BYTES_MAX. Where more come, because no snapshot can be written, none are
 * remembered any more: the record ends. Numbers are given all the same, so that training goes on.
 *
 * Threads: the router's. */

#ifndef PS_SHARD_DESCRIPTIONS_H
#define PS_SHARD_DESCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/wire/message.h"
#include "ps/shard/update_log.h"

/* Between two snapshots. A batch has one, and one more for each worker lost in it. */
#define DESCRIPTIONS_MAX       (4 * RECORD_BATCHES_MAX)
#define DESCRIPTIONS_BYTES_MAX ((size_t)1 << 30)

struct description {
    uint64_t number;
    uint64_t ticket, count; /* See message_gradient: together unique. */
    uint64_t batch;
    uint64_t clock; /* Where workers have clocks: that of this one. */
    uint32_t worker;
    uint32_t bases_bytes; /* Of all chunks in order, see common/job/bases.h. */
};

/* A worker's latest GRADIENT. */
struct described {
    uint64_t ticket, count; /* As its sender speaks now. */
    uint64_t named;         /* The ticket in its name. */
    uint64_t number;        /* 0: not all pages are here. */
    uint8_t *bases;         /* [total] the pages. Owned; NULL when it has its number. */
    uint32_t bytes, total;
};

struct descriptions {
    uint32_t chunk_count;
    uint64_t version_max;
    bool over;               /* Too many came; until a generation ends. */
    uint64_t next;           /* Number. */
    struct description *all; /* [count] in order. Owned. */
    size_t count, capacity;
    uint8_t *bases; /* [bases_bytes] of all of them. Owned. */
    size_t bases_bytes, bases_capacity;
    struct described *latest; /* [worker_count] Owned. */
    uint32_t worker_count;
};

/* Of gradients from so many chunks, none above version_max. */
void descriptions_init(struct descriptions *descriptions, uint32_t chunk_count,
                       uint64_t version_max);
void descriptions_free(struct descriptions *descriptions);

/* A generation ends: all before is void. */
void descriptions_forget(struct descriptions *descriptions);

/* A page of a GRADIENT. Repeats change nothing. STATUS_INVALID: they are no versions of the
 * chunks; STATUS_MEMORY. Then nothing has changed. */
enum status descriptions_hear(struct descriptions *descriptions, const struct message *gradient);

/* The number of a worker's latest description, if it is of this ticket and count; else 0. */
uint64_t descriptions_find(const struct descriptions *descriptions, uint32_t worker,
                           uint64_t ticket, uint64_t count);

/* The record has all batches before this one. */
void descriptions_drop(struct descriptions *descriptions, uint64_t batch);

/* They are handed over in as many pages as the server has chunks, each with the log of one:
 *
 *     u32 how many words follow | u32 over | of each: struct description, bases, padding
 *
 * NULL without memory. */
struct frame *descriptions_pack(const struct descriptions *descriptions, uint32_t page,
                                uint32_t pages);

/* Such a page, while it is read. */
struct descriptions_page {
    const uint32_t *words; /* [count] Borrowed. */
    uint32_t count, at;
    bool over;
};
/* Whether a frame is one, by its length. */
bool descriptions_is_page(const struct frame *frame);
/* From the word with the number of words on. */
void descriptions_page_open(struct descriptions_page *page, const uint32_t *words);
/* The next one and its bases; false behind the last. */
bool descriptions_page_next(struct descriptions_page *page, struct description *description,
                            const uint8_t **bases);

/* See common/base/invariant.h. */
void descriptions_check(const struct descriptions *descriptions);

#endif

/* partition.h - cuts the parameter space into chunks and deals them over servers.
 *
 * CHUNKS_EVEN: near-equal pieces of the space, across variables. Their number is a multiple of
 * the servers and they are dealt in turn, so every server owns as many, and servers differ by at
 * most 64 bytes.
 *
 * CHUNKS_AT_LAYERS: each layer is cut by itself, and no chunk spans two. A layer can be sent and
 * asked for alone, and all servers have a part of it. Chunks are dealt in turn, the longer ones
 * from where the layer before ended, so servers still differ by at most 64 bytes. A layer of
 * fewer 64-byte pieces than there are servers has chunks of one piece, on as many servers. A
 * layer's variables follow one another, and have the same name up to the last slash.
 *
 * CHUNKS_LOCKED (--use-locking): a chunk is the whole part of one variable on one server, so
 * that a chunk is applied and read as a unit. Variables larger than 1/32 of a server's fair
 * share are cut, into one part a server at most; the others stay whole. Parts go to the servers
 * that have least, the largest variable's first, so servers differ by at most 1/32 of their mean
 * (or 64 bytes, where that is more). chunk_bytes plays no role.
 *
 * In all three, max/mean bytes stay within 1.05 once a server owns 20 pieces of 64 bytes. Every
 * process computes the same plan from the same declaration; it is never sent.
 *
 * Units: elements (float32). Threads: plain values after partition_make. */

#ifndef COMMON_JOB_PARTITION_H
#define COMMON_JOB_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/variable.h"

#define PARTITION_CHUNKS_MAX 65536
/* Largest chunk, and so the largest payload an endpoint takes. */
#define CHUNK_BYTES_MAX (256u << 20)

enum chunk_borders { CHUNKS_EVEN, CHUNKS_AT_LAYERS, CHUNKS_LOCKED };

struct chunk_range {
    uint64_t first; /* Element of the parameter space; a multiple of PARAMETER_ALIGNMENT. */
    uint64_t count; /* Elements; > 0, a multiple of PARAMETER_ALIGNMENT. */
    /* Of its first element in its server's shard: the elements of the chunks before it. */
    uint64_t place;
    uint32_t server;
};

struct partition {
    struct chunk_range *chunks; /* [chunk_count] in order of first, covering the space. Owned. */
    uint32_t chunk_count;
    uint32_t server_count;
    uint64_t elements;       /* Of the whole space. */
    uint64_t chunk_elements; /* Of the largest chunk. */
};

/* chunk_bytes is the wanted size of a chunk, 0 to have it chosen; a smaller model has smaller
 * chunks, one a server (or one a server and layer). Every server owns at least one chunk.
 * STATUS_INVALID when there are more servers than 64-byte pieces of the space, too many chunks
 * or, with locking, one above CHUNK_BYTES_MAX. On failure *partition is safe to free. */
enum status partition_make(struct partition *partition, const struct variable *variables,
                           uint32_t variable_count, uint32_t server_count, uint64_t chunk_bytes,
                           enum chunk_borders borders, struct error *error);
/* Chunks of so many elements each, all of one server, from a record. STATUS_INVALID when they
 * are not a space of these variables. */
enum status partition_make_sized(struct partition *partition, const struct variable *variables,
                                 uint32_t variable_count, const uint64_t *elements,
                                 uint32_t chunk_count, struct error *error);
void partition_free(struct partition *partition);

/* Bytes of values that one server owns. */
uint64_t partition_server_bytes(const struct partition *partition, uint32_t server);

/* Largest server's bytes over the mean; 1 is perfect. */
double partition_imbalance(const struct partition *partition);

#endif

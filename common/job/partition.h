/* partition.h - cuts the parameter space into chunks and deals them over servers.
 *
 * CHUNKS_EVEN: near-equal pieces of the space, whatever the variables. Their number is a multiple of
 * the servers and they are dealt in turn, so every server owns the same number and servers differ by
 * at most 64 bytes.
 * CHUNKS_AT_LAYERS: each layer is cut so for itself, and no chunk holds anything of two: a layer's can
 * be sent and asked for alone, and all servers have a part of it. They are dealt in turn, the longer
 * ones from where those of the layer before have ended, so servers still differ by at most 64 bytes;
 * a layer of fewer 64-byte pieces than there are servers has chunks of one, and not on all of them. A
 * layer's variables follow one another, and have the same name up to its last slash.
 * CHUNKS_LOCKED (--use-locking): a chunk is the whole part of one variable on one server, so that
 * applying and reading a chunk is applying and reading that part as a unit. Variables larger than 1/32 of a
 * server's fair share are cut, into one part a server at most, the others stay whole; parts go to
 * the servers that have least, the largest variable's first, so servers differ by at most 1/32 of
 * their mean (or 64 bytes, where that is more). chunk_bytes plays no role.
 * Either way max/mean bytes stays within 1.05 once a server owns 20 pieces of 64 bytes.
 *
 * Every process computes the same plan from the same declaration; it is never sent.
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
    uint64_t place; /* Of its first element in its server's shard: the chunks before it. */
    uint32_t server;
};

struct partition {
    struct chunk_range *chunks; /* [chunk_count] in order of first, covering the space. Owned. */
    uint32_t chunk_count;
    uint32_t server_count;
    uint64_t elements;       /* Of the whole space. */
    uint64_t chunk_elements; /* Of the largest chunk. */
};

/* chunk_bytes is the wish for a chunk's size, 0 to have it chosen; a smaller model has smaller
 * chunks, one a server (or one a server and layer).
 * Every server owns at least one chunk. STATUS_INVALID when there are more servers than 64-byte
 * pieces of the space, too many chunks or, with locking, one above CHUNK_BYTES_MAX. On failure
 * *partition is safe to free. */
enum status partition_make(struct partition *partition, const struct variable *variables,
                           uint32_t variable_count, uint32_t server_count, uint64_t chunk_bytes,
                           enum chunk_borders borders, struct error *error);
/* Chunks of so many elements each, all of one server: as a record tells of them. STATUS_INVALID when
 * they are not a space of these variables. */
enum status partition_make_told(struct partition *partition, const struct variable *variables,
                                uint32_t variable_count, const uint64_t *elements,
                                uint32_t chunk_count, struct error *error);
void partition_free(struct partition *partition);

/* Bytes of values that one server owns. */
uint64_t partition_server_bytes(const struct partition *partition, uint32_t server);

/* Largest server's bytes over the mean; 1 is perfect. */
double partition_imbalance(const struct partition *partition);

#endif

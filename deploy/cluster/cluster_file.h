/* cluster_file.h - a cluster as JSON, which people write by hand and syncopate keeps beside a run.
 *
 *     {
 *       "format": "syncopate-cluster-1",
 *       "host": {"processors": 8, "nic_up_bits_per_second": 10000000000,
 *                "nic_down_bits_per_second": 10000000000},
 *       "network": {"latency_ns": 50000}
 *     }
 *
 * A missing member has the value of cluster_init; an unknown member is refused, with its line.
 * deploy/VIRTUAL.md has all members. A written file has every member and reads back to the same
 * cluster. Only memory_bytes, a property of the simulating machine, is in no file.
 *
 * Threads: pure, but for cluster_read_file. */

#ifndef DEPLOY_CLUSTER_CLUSTER_FILE_H
#define DEPLOY_CLUSTER_CLUSTER_FILE_H

#include "common/file/disk.h"
#include "common/file/json_writer.h"
#include "deploy/cluster/cluster.h"

#define CLUSTER_FORMAT         "syncopate-cluster-1"
#define CLUSTER_FILE_BYTES_MAX (1u << 20)

/* A cluster from text, which need not end in a zero; errors call it `path`. STATUS_INVALID: error
 * names file, line and member, and there is nothing to free. */
enum status cluster_read(struct cluster *cluster, const char *text, size_t bytes, const char *path,
                         struct error *error);
enum status cluster_read_file(struct cluster *cluster, const struct disk *disk, const char *path,
                              struct error *error);

/* As an object, under `name`, or at the top for NULL. */
void cluster_write(const struct cluster *cluster, struct json_writer *writer, const char *name);

#endif

/* folder.h - a folder of this machine as the disk of all servers of a cluster in virtual time: the
 * run directory is real, and writing to it takes virtual time.
 *
 * A write takes a constant and its bytes at a rate, independent of this machine. A killed process
 * leaves its written bytes whole: torn writes are not modelled here (syncopate verify has them).
 *
 * Threads: the engine's. */

#ifndef DEPLOY_SIMULATE_FOLDER_H
#define DEPLOY_SIMULATE_FOLDER_H

#include "deploy/engine/storage.h"

#define FOLDER_LATENCY_US     1000       /* To make a file durable: a current disk. */
#define FOLDER_BYTES_A_SECOND 1000000000 /* The additional rate for each byte. */

struct folder {
    const char *out;
    struct disk disk;       /* Counts written files. Must not move. */
    uint64_t now_us;        /* Of the last `begin`. */
    uint64_t writes, bytes; /* Since that. */
};

struct storage folder_storage(struct folder *folder, const char *out);

#endif

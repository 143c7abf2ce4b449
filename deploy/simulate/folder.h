/* folder.h - a folder of this machine as the disk of all servers of a cluster in virtual time: the run
 * directory is a real one, and writing to it takes virtual time.
 *
 * What a write takes is a constant and its bytes at a rate, whatever it takes this machine. A process
 * that is killed leaves what it has written, whole: nothing is torn here (syncopate verify tears).
 *
 * Threads: the engine's. */

#ifndef DEPLOY_SIMULATE_FOLDER_H
#define DEPLOY_SIMULATE_FOLDER_H

#include "deploy/engine/storage.h"

#define FOLDER_LATENCY_US     1000       /* To make a file durable: a disk of today. */
#define FOLDER_BYTES_A_SECOND 1000000000 /* What it takes more for each byte. */

struct folder {
    const char *out;
    struct disk disk;       /* Of files, with what is written counted. Must not move. */
    uint64_t now_us;        /* Of the last `begin`. */
    uint64_t writes, bytes; /* Since then. */
};

struct storage folder_storage(struct folder *folder, const char *out);

#endif

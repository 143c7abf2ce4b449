/* solo.h - the whole job in one process without servers (`--ps 0`): the plain reference.
 *
 * Every step's leaves are computed and summed along the step's tree, and one update is made over
 * the whole parameter space: no chunks, no aggregator, no messages. Sync training with servers
 * must give the same bits. It is also the quickest way to train on one core.
 *
 * Threads: one; solo_request_stop from any. */

#ifndef WORKER_SOLO_H
#define WORKER_SOLO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/events/event.h"
#include "common/process/notify.h"
#include "common/tensorboard/board_place.h"
#include "worker/training.h"

#define SOLO_ENOUGH (-1)

struct solo {
    struct training training; /* Of a job with server_count 0; without rest. */
    const char *out, *restore;
    const float *initial;            /* Of the workload. */
    uint32_t keep;                   /* Checkpoints (checkpoint.h); 0: as the run began with. */
    struct board_place board;        /* Where TensorBoard's event files go, if anywhere. */
    const struct listener *listener; /* Of events; NULL: none. */
    struct notify *notify;           /* A service manager's; NULL: none. */
    uint64_t began_us;               /* The begin of this process, by clock_now_us. */
    bool has_parent;                 /* A launcher stands for the run, see occupancy.h. */
    atomic_int stop_code;            /* 0: go on; SOLO_ENOUGH: see solo_enough. */
    atomic_int occupied;             /* The descriptor that shows that we stay, or 0. */
};

/* Returns an enum exit_code; when it is not EXIT_DONE, error holds one line. */
int solo_run(struct solo *solo, struct error *error);

void solo_request_stop(struct solo *solo, int exit_code);

/* Stop because it has been trained enough: it ends with EXIT_DONE. */
void solo_enough(struct solo *solo);

#endif

/* fault_injector.h - makes happen in a simulated cluster what a fault plan says.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_FAULT_INJECTOR_H
#define DEPLOY_VERIFY_FAULT_INJECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "deploy/engine/faults.h"
#include "deploy/engine/host_set.h"
#include "deploy/verify/fault_plan.h"

#define NO_PARTITION UINT32_MAX

/* A fault that has struck. */
struct struck {
    bool active;
    bool armed, due;  /* FAULT_TORN: waits for a write, and then for the moment. */
    uint32_t process; /* Number; of whom it struck. */
    uint32_t partitions[2];
    double slow; /* What it was before. */
};

struct fault_injector {
    struct struck struck[FAULTS_MAX];
    uint32_t delivered[MESSAGE_KIND_COUNT];
    struct host_set gone;  /* Those that stay away. */
    bool began_again;      /* Server 0 has been killed. */
    bool two_coordinators; /* Another server 0 was started while the first was stopped. */
    uint32_t joined;       /* Workers more than declared. */
    double lose;           /* What the network loses without us. */
    bool calm;
    uint64_t counts[FAULT_KIND_COUNT]; /* Struck somebody. */
};

struct check_run;

/* The table by which the engine drives it; its context is the examination. */
struct faults fault_injector_faults(struct check_run *check_run);

void fault_injector_begin(struct check_run *check_run);
void fault_injector_free(struct fault_injector *injector);

#endif

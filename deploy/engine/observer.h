/* observer.h - observes a running cluster by functions.
 *
 *     an item for an owner      owner_takes -> (the owner) -> owner_gave for each it puts out ->
 *     owner_done
 *     a message                 sends -> (the wire) -> server_hears, or the session takes it
 *     a trainer's work          trainer_starts, then trainer_given -> trainer_leases -> (time
 *     passes)
 *                               -> trainer_computed; or trainer_scores, once before and once after
 *
 * All members are optional. They are called in the order of events, each before the event has
 * consequences. An observer changes none of its arguments, unless the member allows it.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_ENGINE_OBSERVER_H
#define DEPLOY_ENGINE_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/tree.h"
#include "common/wire/outbox.h"
#include "deploy/engine/simulated_process.h"

struct observer {
    void *context;

    /* A process has been started; STATUS_MEMORY ends it. */
    enum status (*started)(void *context, const struct simulated_process *process);
    /* It has ended by itself (PROCESS_OVER), or was killed; its disk has already lost what it
     * loses. */
    void (*ended)(void *context, const struct simulated_process *process);

    /* Before an owner gets a packet, and with each of its outputs. `sender` is the real sender of
     * an EXCHANGE. */
    void (*owner_takes)(void *context, const struct simulated_process *process, uint32_t owner,
                        const struct packet *packet, uint32_t sender);
    void (*owner_gave)(void *context, const struct simulated_process *process,
                       const struct outgoing *item);
    void (*owner_done)(void *context);

    void (*sends)(void *context, const struct simulated_process *process,
                  const struct message *message);
    /* A server takes a packet off a wire. The payload's frame may be replaced. */
    void (*server_hears)(void *context, const struct simulated_process *process,
                         struct packet *packet);
    /* A server's router thread sends an item to a peer, or to its checkpointer. `to`: the process
     * at the other end, UINT32_MAX for none. */
    void (*server_says)(void *context, const struct simulated_process *process,
                        const struct outgoing *item, uint32_t to);
    void (*session_asks)(void *context, const struct simulated_process *process,
                         const struct packet *packet);

    /* A trainer is started; gets a step or batch, and parameters; computes this node of it as part
     * of an assignment; has computed it. */
    void (*trainer_starts)(void *context, const struct simulated_process *process,
                           const struct message *message);
    void (*trainer_given)(void *context, const struct simulated_process *process, uint64_t step,
                          bool enough, const float *parameters);
    void (*trainer_leases)(void *context, const struct simulated_process *process,
                           uint32_t assignment, uint64_t step, struct node node);
    void (*trainer_computed)(void *context, const struct simulated_process *process,
                             const float *parameters);
    /* It begins to score a share, and has scored it. */
    void (*trainer_scores)(void *context, const struct simulated_process *process,
                           uint64_t generation, const struct message_work *work,
                           const float *values);

    /* Whether it has found a violation; called after each event. Then the engine ends. */
    bool (*failed)(const void *context);
};

/* Call a member, if it is set: OBSERVE(observer, owner_gave, process, item). */
#define OBSERVE(observer, member, ...)                                                             \
    do {                                                                                           \
        if ((observer)->member != NULL)                                                            \
            (observer)->member((observer)->context, __VA_ARGS__);                                  \
    } while (0)

#endif

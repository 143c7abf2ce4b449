/* scripted_client.h - a process beside a cluster that is neither a server nor a worker of it. It
 * has a connection to each server and sends arbitrary messages; answers are ignored.
 *
 * The member is required; engine_start_scripted_client asserts it.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_ENGINE_SCRIPTED_CLIENT_H
#define DEPLOY_ENGINE_SCRIPTED_CLIENT_H

struct simulated_process;

struct scripted_client {
    void *context;
    /* It may send now, by simulated_network_send_up; returns the milliseconds until the next
     * call. */
    int (*speak)(void *context, const struct simulated_process *process);
};

#endif

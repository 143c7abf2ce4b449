/* scripted_client.h - a process beside a cluster that is no server or worker of it: it has a way to each server
 * and says there what it likes, and what is said to it is not heard.
 *
 * The member is required; engine_start_scripted_client asserts it.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_ENGINE_SCRIPTED_CLIENT_H
#define DEPLOY_ENGINE_SCRIPTED_CLIENT_H

struct simulated_process;

struct scripted_client {
    void *context;
    /* It may say something now, by simulated_network_send_up; in how many milliseconds again. */
    int (*speak)(void *context, const struct simulated_process *process);
};

#endif

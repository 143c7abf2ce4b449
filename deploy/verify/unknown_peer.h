/* unknown_peer.h - somebody of another run: speaks to everybody, says anything, and hears nothing.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_VERIFY_UNKNOWN_PEER_H
#define DEPLOY_VERIFY_UNKNOWN_PEER_H

#include "deploy/engine/scripted_client.h"

struct engine;

struct scripted_client unknown_peer(struct engine *engine);

#endif

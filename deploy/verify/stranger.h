/* stranger.h - somebody of another run: speaks to everybody, says anything, and hears nothing.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_VERIFY_STRANGER_H
#define DEPLOY_VERIFY_STRANGER_H

#include "deploy/engine/guest.h"

struct engine;

struct guest stranger(struct engine *engine);

#endif

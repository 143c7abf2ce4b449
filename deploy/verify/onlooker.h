/* onlooker.h - the observer of a cluster under examination: tells the witness of everything, and looks
 * after what servers hold and what a kill leaves.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_VERIFY_ONLOOKER_H
#define DEPLOY_VERIFY_ONLOOKER_H

#include "deploy/engine/observer.h"

struct examination;

struct observer onlooker(struct examination *examination);

#endif

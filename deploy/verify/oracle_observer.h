/* oracle_observer.h - the observer of a cluster under examination: tells the witness of everything, and looks
 * after what servers hold and what a kill leaves.
 *
 * Threads: the engine's. */

#ifndef DEPLOY_VERIFY_ORACLE_OBSERVER_H
#define DEPLOY_VERIFY_ORACLE_OBSERVER_H

#include "deploy/engine/observer.h"

struct check_run;

struct observer oracle_observer(struct check_run *check_run);

#endif

/* probe_gradient.h - a fixed small leaf's gradient and loss: a digest of this worker's
 * arithmetic.
 *
 * A worker shows it with probe_updates (common/job/probe.h) when it joins. Threads: pure. */

#ifndef WORKER_MODEL_PROBE_GRADIENT_H
#define WORKER_MODEL_PROBE_GRADIENT_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"

enum status probe_gradient(uint8_t digest[DIGEST_BYTES], struct error *error);

#endif

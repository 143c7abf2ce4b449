/* counting.h - a job whose result is known exactly, whoever computed what in which order.
 *
 * Its variables start at 0 and its gradients are small whole numbers that depend on (update,
 * element) alone. With sgd at learning rate 1 and powers of two for batches every sum is exact in
 * float32, so after N updates element i is minus the sum over all updates of counting_value(update,
 * i): an update that was lost, or counted twice, shows.
 *
 * Threads: pure functions. */

#ifndef TESTS_LIB_COUNTING_H
#define TESTS_LIB_COUNTING_H

#include <stdint.h>

#include "common/job/job.h"

#define COUNTING_STEPS_PER_EPOCH 1000

/* What one example adds to the gradient of element `element` in update `step`: -3 to 3. */
static inline int counting_value(uint64_t step, uint64_t element)
{
    uint64_t x = (step + 1) * 0x9e3779b97f4a7c15u ^ (element + 1) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return (int)((x >> 33) % 7) - 3;
}

/* Fill what the options do not decide: model, variables, data. */
enum status counting_job(struct job *job, struct error *error);

/* STATUS_MISMATCH when model.safetensors (or the newest checkpoint) of the run directory `out` is
 * not what `steps` updates make. */
enum status counting_check(const char *out, uint64_t steps, struct error *error);

#endif

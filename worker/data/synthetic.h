/* synthetic.h - images made up from a seed, for trying things without any file.
 *
 * Each of ten classes has a smooth random pattern. An example is its class's pattern, moved by up
 * to three pixels each way, at a random strength, over a weaker pattern of some other class, under
 * noise. `cnn` learns it to more than 90 % in an epoch or two, and not at once.
 *
 * Integer arithmetic throughout, so that the same seed gives the same bytes on every machine.
 *
 * Threads: pure. */

#ifndef WORKER_DATA_SYNTHETIC_H
#define WORKER_DATA_SYNTHETIC_H

#include <stdint.h>

#define SYNTHETIC_SIDE    28
#define SYNTHETIC_CLASSES 10
#define SYNTHETIC_TRAIN   10000 /* Training examples by default. */

/* Write examples [first, first + count) of the endless sequence that belongs to seed:
 * images [count][28][28], labels [count]. */
void synthetic_make(uint64_t seed, uint64_t first, uint64_t count, uint8_t *images,
                    uint8_t *labels);

#endif

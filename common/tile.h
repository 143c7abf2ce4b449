/* tile.h - the one loop behind convolutions and most matrix products.
 *
 * Some places times some lanes of sums stay in registers while a walk goes by:
 *
 *     sum[p][l] += x[walk + p * x_place] * y[step][l]        p < places, l < lanes
 *
 *   matrix product a b:      walk along a row of a; places = rows of a; y = rows of b
 *   convolution:             walk over the kernel's elements; places = positions side by side
 *   its kernel's gradient:   walk over the positions; places = kernel elements side by side
 *
 * Products are fused into the sums explicitly, in the order of the walk, so the bits are the same
 * for every tile and every instruction set that has tiles.
 *
 * Units: elements. Threads: pure. */

#ifndef COMMON_TILE_H
#define COMMON_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define TILE_LANES_MIN 16

struct tile_walk {
    uint64_t rows, length;  /* `rows` rows of `length` steps. */
    uint64_t x_row, x_step; /* From row to row and from step to step in x. */
    uint64_t x_place;       /* From place to place in x. */
    uint64_t lanes;         /* Of y from step to step, and of sums from place to place. */
};

/* Whether this processor has tiles, and lanes is a multiple of TILE_LANES_MIN. */
bool tile_fits(uint64_t lanes);

/* sums [places][lanes] = what the walk sums, or that added. tile_fits must have said yes. */
void tile_run(const struct tile_walk *walk, uint64_t places, const float *x, const float *y,
              float *sums, bool add);

#endif

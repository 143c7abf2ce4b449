/* tile_body.h - the loops of tile.h; part of every tile_*.c, which has defined
 *
 *     TILE_SET              the name of its struct tile_set
 *     LANES                 floats in a vector
 *     REGISTERS             of vectors, 16 or 32
 *     vector, numbers       LANES floats, LANES small integers
 *     mask, mask_first(n)   the first n lanes, 1 to LANES
 *     vector_* numbers_*    what can be done with them; of max(a, b), b where they are not ordered
 *
 * There is no include guard: no file includes it twice. */

#include <math.h>

#define INLINE   static inline __attribute__((always_inline)) UNCHECKED
#define UNROLLED _Pragma("GCC unroll 32")

/* --- tiles --------------------------------------------------------------------------------- */

/* Everything from here on is inlined with constant numbers of places and vectors: loops over them
 * are unrolled, and the sums are registers. */

#define SUMS_MAX 24

INLINE void number_part(uint8_t *to, numbers number, int vectors, mask some)
{
    if (vectors == 1)
        numbers_store_some(to, number, some);
    else
        numbers_store(to, number);
}

/* What ReLU, or nothing, lifts values to. NaN stays NaN: a diverged network must not look
 * healthy. */
INLINE vector floor_of(bool relu)
{
    return vector_all(relu ? 0.0f : -INFINITY);
}

/* A tile is 1, 2 or 4 vectors wide; one of 1 may use some of its lanes only. */
INLINE vector load_part(const float *from, int vectors, mask some)
{
    return vectors == 1 ? vector_load_some(from, some) : vector_load(from);
}

INLINE void store_part(float *to, vector x, int vectors, mask some)
{
    if (vectors == 1)
        vector_store_some(to, x, some);
    else
        vector_store(to, x);
}

/* The first `across` places lie side by side, others x_down behind them. */
INLINE void walk_sums(struct tile_walk walk, uint64_t x_down, const float *x, const float *y,
                      vector *sum, int places, int across, int vectors, mask some)
{
    for (uint64_t row = 0; row < walk.rows; row++, x += walk.x_row) {
        const float *at = x, *below = x + x_down;
        for (uint64_t step = 0; step < walk.length; step++) {
            vector factor[4];
            UNROLLED
            for (int v = 0; v < vectors; v++)
                factor[v] = load_part(y + v * LANES, vectors, some);
            UNROLLED
            for (int p = 0; p < places; p++) {
                uint64_t right = (uint64_t)(p % across) * walk.x_place;
                vector one = vector_all(p < across ? at[right] : below[right]);
                UNROLLED
                for (int v = 0; v < vectors; v++)
                    sum[p * vectors + v] = vector_fma(one, factor[v], sum[p * vectors + v]);
            }
            at += walk.x_step;
            below += walk.x_step;
            y += walk.y_step;
        }
    }
}

INLINE void tile(struct tile_walk walk, const float *x, const float *y, const float *start,
                 float *sums, mask some, int places, int vectors)
{
    vector sum[SUMS_MAX], least = floor_of(walk.relu);
    UNROLLED
    for (int i = 0; i < places * vectors; i++) {
        uint64_t p = (uint64_t)(i / vectors), v = (uint64_t)(i % vectors);
        sum[i] = start != NULL ? load_part(start + p * walk.start_place + v * LANES, vectors, some)
                               : vector_all(0.0f);
    }
    walk_sums(walk, 0, x, y, sum, places, places, vectors, some);
    UNROLLED
    for (int i = 0; i < places * vectors; i++) {
        uint64_t p = (uint64_t)(i / vectors), v = (uint64_t)(i % vectors);
        store_part(sums + p * walk.sum_place + v * LANES, vector_max(least, sum[i]), vectors, some);
    }
}

/* The largest of four, the first of equals, and its number. */
INLINE vector largest(vector a, vector b, vector c, vector d, numbers *number)
{
    *number = numbers_choose(numbers_all(0), vector_above(b, a), 1);
    a = vector_max(b, a);
    *number = numbers_choose(*number, vector_above(c, a), 2);
    a = vector_max(c, a);
    *number = numbers_choose(*number, vector_above(d, a), 3);
    return vector_max(d, a);
}

INLINE void tile_pooled(struct tile_walk walk, uint64_t x_down, const float *x, const float *y,
                        const float *start, float *sums, uint8_t *which, mask some, int windows,
                        int vectors)
{
    vector sum[SUMS_MAX], least = floor_of(walk.relu);
    UNROLLED
    for (int i = 0; i < 4 * windows * vectors; i++) {
        int v = i % vectors;
        sum[i] = start != NULL ? load_part(start + v * LANES, vectors, some) : vector_all(0.0f);
    }
    walk_sums(walk, x_down, x, y, sum, 4 * windows, 2 * windows, vectors, some);
    UNROLLED
    for (int i = 0; i < windows * vectors; i++) {
        int w = i / vectors, v = i % vectors;
        const vector *top = sum + 2 * w * vectors + v, *bottom = top + 2 * windows * vectors;
        numbers number;
        vector s = largest(top[0], top[vectors], bottom[0], bottom[vectors], &number);
        uint64_t to = (uint64_t)w * walk.sum_place + (uint64_t)v * LANES;
        store_part(sums + to, vector_max(least, s), vectors, some);
        if (which != NULL)
            number_part(which + to, number, vectors, some);
    }
}

/* --- their sizes --------------------------------------------------------------------------- */

typedef void tile_function(const struct tile_walk *walk, const float *x, const float *y,
                           const float *start, float *sums, mask some);
typedef void pooled_function(const struct tile_walk *walk, uint64_t x_down, const float *x,
                             const float *y, const float *start, float *sums, uint8_t *which,
                             mask some);

#define TILE(places, vectors)                                                                      \
    static UNCHECKED void tile_##places##x##vectors(const struct tile_walk *walk, const float *x,  \
                                                    const float *y, const float *start,            \
                                                    float *sums, mask some)                        \
    {                                                                                              \
        tile(*walk, x, y, start, sums, some, places, vectors);                                     \
    }
#define POOLED(windows, vectors)                                                                   \
    static UNCHECKED void pooled_##windows##x##vectors(                                            \
        const struct tile_walk *walk, uint64_t x_down, const float *x, const float *y,             \
        const float *start, float *sums, uint8_t *which, mask some)                                \
    {                                                                                              \
        tile_pooled(*walk, x_down, x, y, start, sums, which, some, windows, vectors);              \
    }
#define TILES_1_TO_6(vectors)                                                                      \
    TILE(1, vectors)                                                                               \
    TILE(2, vectors)                                                                               \
    TILE(3, vectors)                                                                               \
    TILE(4, vectors)                                                                               \
    TILE(5, vectors)                                                                               \
    TILE(6, vectors)
#define TILES_7_TO_12(vectors)                                                                     \
    TILE(7, vectors)                                                                               \
    TILE(8, vectors)                                                                               \
    TILE(9, vectors)                                                                               \
    TILE(10, vectors)                                                                              \
    TILE(11, vectors)                                                                              \
    TILE(12, vectors)
#define NAMES_1_TO_6(vectors)                                                                      \
    tile_1x##vectors, tile_2x##vectors, tile_3x##vectors, tile_4x##vectors, tile_5x##vectors,      \
        tile_6x##vectors
#define NAMES_7_TO_12(vectors)                                                                     \
    tile_7x##vectors, tile_8x##vectors, tile_9x##vectors, tile_10x##vectors, tile_11x##vectors,    \
        tile_12x##vectors

TILES_1_TO_6(1)
TILES_7_TO_12(1)
TILES_1_TO_6(2)
POOLED(1, 1)
POOLED(2, 1)
POOLED(3, 1)
POOLED(1, 2)
#if REGISTERS == 32
TILES_7_TO_12(2)
TILES_1_TO_6(4)
POOLED(2, 2)
POOLED(3, 2)
#endif

/* One width of tiles; numbers of places and windows count from 1. */
struct tile_width {
    uint64_t vectors, places_max, windows_max;
    tile_function *tiles[12];
    pooled_function *pooled[3]; /* All NULL: not in this width. */
};

/* Wide before narrow; the last takes what is left, even less than a vector. */
static const struct tile_width widths[] = {
#if REGISTERS == 32
    {4, 6, 0, {NAMES_1_TO_6(4)}, {NULL}},
    {2, 12, 3, {NAMES_1_TO_6(2), NAMES_7_TO_12(2)}, {pooled_1x2, pooled_2x2, pooled_3x2}},
#else
    {2, 6, 1, {NAMES_1_TO_6(2)}, {pooled_1x2}},
#endif
    {1, 12, 3, {NAMES_1_TO_6(1), NAMES_7_TO_12(1)}, {pooled_1x1, pooled_2x1, pooled_3x1}},
};

/* The widest tile that `lanes` fill, or the narrowest. */
static const struct tile_width *width_for(uint64_t lanes, bool pooled)
{
    const struct tile_width *width = widths;
    while (width->vectors > 1 &&
           (width->vectors * LANES > lanes || (pooled && width->windows_max == 0)))
        width++;
    return width;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* As few parts as `most` allows, as equal as can be. */
struct parts {
    uint64_t size, larger; /* The first `larger` of them have one more. */
};

static struct parts parts_of(uint64_t count, uint64_t most)
{
    uint64_t parts = (count + most - 1) / most;
    return (struct parts){count / parts, count % parts};
}

static uint64_t parts_next(struct parts *parts)
{
    bool larger = parts->larger > 0;
    parts->larger -= larger;
    return parts->size + larger;
}

/* --- the set ------------------------------------------------------------------------------- */

/* Steps of a long walk after which other places take their turn, so that this part of y stays in
 * the first-level cache meanwhile: 16 KiB of the widest tile's lanes. */
#define STEPS_TOGETHER 64

/* One column of lanes. */
static void run_column(const struct tile_walk *walk, const struct tile_width *width,
                       uint64_t places, uint64_t lanes, const float *x, const float *y,
                       const float *start, float *sums)
{
    mask some = mask_first(smaller(lanes, LANES));
    struct parts parts = parts_of(places, width->places_max);
    for (uint64_t p = 0, n; p < places; p += n) {
        n = parts_next(&parts);
        width->tiles[n - 1](walk, x + p * walk->x_place, y,
                            start != NULL ? start + p * walk->start_place : NULL,
                            sums + p * walk->sum_place, some);
    }
}

/* A walk of one row, part by part. */
static void run_parts(const struct tile_walk *walk, const struct tile_width *width, uint64_t places,
                      uint64_t lanes, const float *x, const float *y, const float *start,
                      float *sums)
{
    struct tile_walk part = *walk;
    for (uint64_t step = 0; step < walk->length; step += part.length) {
        part.length = smaller(walk->length - step, STEPS_TOGETHER);
        part.relu = walk->relu && step + part.length == walk->length;
        run_column(&part, width, places, lanes, x + step * walk->x_step, y + step * walk->y_step,
                   start, sums);
        start = sums;
        part.start_place = walk->sum_place;
    }
}

/* Rows so far apart lie on a page each, of which a tile wants one line, and where the distance is a
 * power of two all these lines want the same few places of the first-level cache. So what is worked
 * on is brought together first: a panel of y, up to 1 MiB of the stack, column after column, and a
 * block of x, place after place, that stays in the second-level cache with a column. A panel this
 * wide is read again from further away, and a block is brought and a sum taken up the fewer times.
 * No sum is made in another order for it. */
#define ROWS_APART      256
#define PANEL_STEPS     256
#define PANEL_LANES     1024
#define PLACES_TOGETHER 48

/* The next column's width, and how many lanes it has. */
static const struct tile_width *next_column(uint64_t lanes, uint64_t *n)
{
    const struct tile_width *width = width_for(lanes, false);
    *n = smaller(lanes, width->vectors * LANES);
    return width;
}

/* One row of y into every column of the panel, each of `steps` rows. */
static UNCHECKED void bring_row(uint64_t steps, uint64_t step, uint64_t lanes, const float *from,
                                float *panel)
{
    for (uint64_t lane = 0, n; lane < lanes; lane += n) {
        float *to = panel + lane * steps;
        next_column(lanes - lane, &n);
        memcpy(to + step * n, from + lane, n * sizeof *to);
    }
}

static UNCHECKED void bring_block(struct tile_walk *part, uint64_t places, const float *from,
                                  float *block)
{
    uint64_t steps = part->length;
    if (part->x_step == 1)
        for (uint64_t p = 0; p < places; p++)
            memcpy(block + p * steps, from + p * part->x_place, steps * sizeof *block);
    else
        kernels_transpose(steps, places, from, part->x_step, block, steps);
    part->x_step = 1;
    part->x_place = steps;
}

/* A block of x and all columns of a panel. */
static UNCHECKED void run_block(struct tile_walk part, uint64_t places, uint64_t lanes,
                                const float *x, const float *panel, const float *start, float *sums)
{
    _Alignas(64) float block[PANEL_STEPS * PLACES_TOGETHER];
    bring_block(&part, places, x, block);
    for (uint64_t lane = 0, n; lane < lanes; lane += n) {
        const struct tile_width *width = next_column(lanes - lane, &n);
        part.y_step = n;
        run_column(&part, width, places, n, block, panel + lane * part.length,
                   start != NULL ? start + lane : NULL, sums + lane);
    }
}

static UNCHECKED void run_panel(const struct tile_walk *part, uint64_t places, uint64_t lanes,
                                const float *x, const float *y, const float *start, float *sums)
{
    _Alignas(64) float panel[PANEL_STEPS * PANEL_LANES];
    struct parts parts = parts_of(places, PLACES_TOGETHER);
    for (uint64_t step = 0; step < part->length; step++)
        bring_row(part->length, step, lanes, y + step * part->y_step, panel);
    for (uint64_t p = 0, n; p < places; p += n) {
        n = parts_next(&parts);
        run_block(*part, n, lanes, x + p * part->x_place, panel,
                  start != NULL ? start + p * part->start_place : NULL, sums + p * part->sum_place);
    }
}

/* A walk of one row over some lanes, part by part. */
static void run_panels(const struct tile_walk *walk, uint64_t places, uint64_t lanes,
                       const float *x, const float *y, const float *start, float *sums)
{
    struct tile_walk part = *walk;
    struct parts parts = parts_of(walk->length, PANEL_STEPS);
    for (uint64_t step = 0; step < walk->length; step += part.length) {
        part.length = parts_next(&parts);
        part.relu = walk->relu && step + part.length == walk->length;
        run_panel(&part, places, lanes, x + step * walk->x_step, y + step * walk->y_step, start,
                  sums);
        start = sums;
        part.start_place = walk->sum_place;
    }
}

/* Whether it is a product of matrices of which one is beyond this many elements, half a megabyte, and
 * so far from the core that it pays to bring them together. With tiles as wide as AVX-512's, four lines
 * a row, it does not. */
#define LARGE        (1u << 17)
#define LANES_PLENTY 64

static bool wants_panels(const struct tile_walk *walk, uint64_t places, uint64_t lanes)
{
    uint64_t x_apart = walk->x_step == 1 ? walk->x_place : walk->x_step;
    bool product = walk->rows == 1 && (walk->x_step == 1 || walk->x_place == 1);
    bool large =
        walk->length * lanes >= LARGE || walk->length * places >= LARGE || places * lanes >= LARGE;
    return widths[0].vectors * LANES < LANES_PLENTY && product && large &&
           places > widths[0].places_max && (walk->y_step >= ROWS_APART || x_apart >= ROWS_APART);
}

static void run(const struct tile_walk *walk, uint64_t places, uint64_t lanes, const float *x,
                const float *y, float *sums)
{
    if (wants_panels(walk, places, lanes)) {
        for (uint64_t lane = 0; lane < lanes; lane += PANEL_LANES)
            run_panels(walk, places, smaller(lanes - lane, PANEL_LANES), x, y + lane,
                       walk->start != NULL ? walk->start + lane : NULL, sums + lane);
        return;
    }
    for (uint64_t lane = 0, n; lane < lanes; lane += n) {
        const struct tile_width *width = width_for(lanes - lane, false);
        const float *start = walk->start != NULL ? walk->start + lane : NULL;
        n = smaller(lanes - lane, width->vectors * LANES);
        if (walk->rows == 1 && places > width->places_max)
            run_parts(walk, width, places, n, x, y + lane, start, sums + lane);
        else
            run_column(walk, width, places, n, x, y + lane, start, sums + lane);
    }
}

static void run_pooled(const struct tile_walk *walk, uint64_t x_down, uint64_t windows,
                       uint64_t lanes, const float *x, const float *y, float *sums, uint8_t *which)
{
    for (uint64_t lane = 0, n; lane < lanes; lane += n) {
        const struct tile_width *width = width_for(lanes - lane, true);
        const float *start = walk->start != NULL ? walk->start + lane : NULL;
        n = smaller(lanes - lane, width->vectors * LANES);
        mask some = mask_first(smaller(n, LANES));
        struct parts parts = parts_of(windows, width->windows_max);
        for (uint64_t w = 0, m; w < windows; w += m) {
            uint64_t to = w * walk->sum_place + lane;
            m = parts_next(&parts);
            width->pooled[m - 1](walk, x_down, x + 2 * w * walk->x_place, y + lane, start,
                                 sums + to, which != NULL ? which + to : NULL, some);
        }
    }
}

/* --- Winograd ------------------------------------------------------------------------------ */

/* G g of three along one axis; what it gives goes `apart`. */
INLINE void kernel_axis(const vector g[3], vector *to, int apart)
{
    vector half = vector_all(0.5f), outer = vector_add(g[0], g[2]);
    to[0] = g[0];
    to[apart] = vector_multiply(half, vector_add(outer, g[1]));
    to[2 * apart] = vector_multiply(half, vector_subtract(outer, g[1]));
    to[3 * apart] = g[2];
}

static UNCHECKED void winograd_kernel(const float *kernel, uint64_t plane, float *transformed,
                                      uint64_t transformed_plane)
{
    for (uint64_t i = 0; i < plane; i += LANES) {
        mask some = mask_first(smaller(plane - i, LANES));
        vector half[3][4], out[4][4];
        UNROLLED
        for (uint64_t row = 0; row < 3; row++) {
            const float *g = kernel + row * 3 * plane + i;
            vector in[3] = {vector_load_some(g, some), vector_load_some(g + plane, some),
                            vector_load_some(g + 2 * plane, some)};
            kernel_axis(in, half[row], 1);
        }
        UNROLLED
        for (int column = 0; column < 4; column++) {
            vector in[3] = {half[0][column], half[1][column], half[2][column]};
            kernel_axis(in, &out[0][column], 4);
        }
        UNROLLED
        for (uint64_t f = 0; f < 16; f++)
            vector_store_some(transformed + f * transformed_plane + i, out[f / 4][f % 4], some);
    }
}

/* B' d of four along one axis. */
INLINE void input_axis(const vector d[4], vector *to, int apart)
{
    to[0] = vector_subtract(d[0], d[2]);
    to[apart] = vector_add(d[1], d[2]);
    to[2 * apart] = vector_subtract(d[2], d[1]);
    to[3 * apart] = vector_subtract(d[1], d[3]);
}

/* B' d B of the 4x4 block at d; frequencies go `plane` apart. */
INLINE void winograd_input(const float *d, uint64_t row, uint64_t column, float *to, uint64_t plane,
                           mask some)
{
    vector half[4][4], out[4][4];
    UNROLLED
    for (uint64_t y = 0; y < 4; y++) {
        vector in[4];
        UNROLLED
        for (uint64_t x = 0; x < 4; x++)
            in[x] = vector_load_some(d + y * row + x * column, some);
        input_axis(in, half[y], 1);
    }
    UNROLLED
    for (int x = 0; x < 4; x++) {
        vector in[4] = {half[0][x], half[1][x], half[2][x], half[3][x]};
        input_axis(in, &out[0][x], 4);
    }
    UNROLLED
    for (uint64_t f = 0; f < 16; f++)
        vector_store_some(to + f * plane, out[f / 4][f % 4], some);
}

static UNCHECKED void winograd_inputs(struct kernels_window window, struct tile_blocks blocks,
                                      const float *image, float *out)
{
    uint64_t channels = window.channels, row = (uint64_t)window.in_width * channels;
    uint64_t across = window.out_width / 2;
    for (uint64_t b = blocks.first; b < blocks.first + blocks.count; b++, out += channels) {
        const float *corner = image + b / across * 2 * row + b % across * 2 * channels;
        for (uint64_t c = 0; c < channels; c += LANES) {
            mask some = mask_first(smaller(channels - c, LANES));
            winograd_input(corner + c, row, channels, out + c, blocks.in_plane, some);
        }
    }
}

/* A' m A: the 2x2 outputs of one block. */
INLINE void winograd_output(const float *m, uint64_t plane, mask some, vector out[4])
{
    vector half[2][4];
    UNROLLED
    for (uint64_t x = 0; x < 4; x++) {
        vector m0 = vector_load_some(m + x * plane, some);
        vector m1 = vector_load_some(m + (4 + x) * plane, some);
        vector m2 = vector_load_some(m + (8 + x) * plane, some);
        vector m3 = vector_load_some(m + (12 + x) * plane, some);
        half[0][x] = vector_add(vector_add(m0, m1), m2);
        half[1][x] = vector_subtract(vector_subtract(m1, m2), m3);
    }
    UNROLLED
    for (int y = 0; y < 2; y++) {
        const vector *h = half[y];
        out[2 * y] = vector_add(vector_add(h[0], h[1]), h[2]);
        out[2 * y + 1] = vector_subtract(vector_subtract(h[1], h[2]), h[3]);
    }
}

INLINE vector finished(struct kernels_finish finish, uint64_t lane, vector x, mask some)
{
    x = finish.bias != NULL ? vector_add(x, vector_load_some(finish.bias + lane, some)) : x;
    return vector_max(floor_of(finish.relu), x);
}

static UNCHECKED void winograd_outputs(struct kernels_window window, struct tile_blocks blocks,
                                       const float *products, uint64_t lanes,
                                       struct kernels_finish finish, float *to)
{
    uint64_t across = window.out_width / 2, row = window.out_width * lanes;
    for (uint64_t b = blocks.first; b < blocks.first + blocks.count; b++, products += lanes) {
        float *corner = to + b / across * 2 * row + b % across * 2 * lanes;
        for (uint64_t lane = 0; lane < lanes; lane += LANES) {
            mask some = mask_first(smaller(lanes - lane, LANES));
            vector out[4];
            winograd_output(products + lane, blocks.out_plane, some, out);
            if (finish.pool == 2) {
                numbers number;
                uint64_t at = b * lanes + lane;
                vector best = largest(out[0], out[1], out[2], out[3], &number);
                vector_store_some(to + at, finished(finish, lane, best, some), some);
                if (finish.which != NULL)
                    numbers_store_some(finish.which + at, number, some);
                continue;
            }
            UNROLLED
            for (uint64_t i = 0; i < 4; i++) {
                vector_store_some(corner + i / 2 * row + i % 2 * lanes + lane,
                                  finished(finish, lane, out[i], some), some);
            }
        }
    }
}

#include "common/kernels/sparse_body.h"

const struct tile_set TILE_SET = {
    .run = run,
    .run_pooled = run_pooled,
    .winograd_kernel = winograd_kernel,
    .winograd_inputs = winograd_inputs,
    .winograd_outputs = winograd_outputs,
    .sparse = sparse,
    .sparse_few = sparse_few,
};

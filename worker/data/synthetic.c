/* synthetic.c - patterns from one sub-stream of the generator and each example from one of its own,
 * all in integers. */

#include "worker/data/synthetic.h"

#include <string.h>

#include "common/base/random.h"

#define SIDE     SYNTHETIC_SIDE
#define SHIFT    3                  /* Pixels a pattern moves each way. */
#define CANVAS   (SIDE + 2 * SHIFT) /* A pattern is drawn larger than it is shown. */
#define CELL     6 /* Pixels between the random points a pattern is drawn through. */
#define POINTS   (CANVAS / CELL + 2)
#define PATTERNS SYNTHETIC_CLASSES

/* Sub-streams: patterns first, examples from there. */
enum { SUB_PATTERNS = 0, SUB_EXAMPLES = 1 };

struct patterns {
    uint8_t pixels[PATTERNS][CANVAS][CANVAS];
};

/* Straight lines between random points, in both directions. */
static void pattern_draw(struct random_sequence *sequence, uint8_t pixels[CANVAS][CANVAS])
{
    uint32_t points[POINTS][POINTS];
    for (uint32_t y = 0; y < POINTS; y++)
        for (uint32_t x = 0; x < POINTS; x++)
            points[y][x] = random_below(sequence, 256);
    for (uint32_t y = 0; y < CANVAS; y++) {
        for (uint32_t x = 0; x < CANVAS; x++) {
            uint32_t row = y / CELL, column = x / CELL, down = y % CELL, across = x % CELL;
            uint32_t top = points[row][column] * (CELL - across) + points[row][column + 1] * across;
            uint32_t bottom =
                points[row + 1][column] * (CELL - across) + points[row + 1][column + 1] * across;
            pixels[y][x] = (uint8_t)((top * (CELL - down) + bottom * down) / (CELL * CELL));
        }
    }
}

/* One pattern, where and how strongly it shows. */
struct sight {
    const uint8_t (*pixels)[CANVAS];
    uint32_t y, x;
    int32_t strength; /* In 256ths. */
};

static struct sight sight_draw(struct random_sequence *sequence, const struct patterns *patterns,
                               uint32_t class, uint32_t strength_min, uint32_t strength_range)
{
    struct sight sight = {.pixels = patterns->pixels[class]};
    sight.y = random_below(sequence, 2 * SHIFT + 1);
    sight.x = random_below(sequence, 2 * SHIFT + 1);
    sight.strength = (int32_t)(strength_min + random_below(sequence, strength_range));
    return sight;
}

static int32_t sight_pixel(const struct sight *sight, uint32_t y, uint32_t x)
{
    return ((int32_t)sight->pixels[y + sight->y][x + sight->x] - 128) * sight->strength;
}

/* The four bytes of a random word, added: nearly a bell curve, standard deviation 148. */
static int32_t noise_draw(struct random_sequence *sequence)
{
    uint32_t word = random_next(sequence);
    uint32_t sum = (word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24);
    return (int32_t)sum - 510;
}

static uint8_t example_draw(struct random_sequence *sequence, const struct patterns *patterns,
                            uint8_t image[SIDE][SIDE])
{
    uint32_t label = random_below(sequence, PATTERNS);
    uint32_t other = (label + 1 + random_below(sequence, PATTERNS - 1)) % PATTERNS;
    struct sight mine = sight_draw(sequence, patterns, label, 90, 110);
    struct sight theirs = sight_draw(sequence, patterns, other, 0, 110);
    for (uint32_t y = 0; y < SIDE; y++) {
        for (uint32_t x = 0; x < SIDE; x++) {
            int32_t pixel = 128 + (sight_pixel(&mine, y, x) + sight_pixel(&theirs, y, x)) / 256 +
                            noise_draw(sequence) / 4;
            image[y][x] = (uint8_t)(pixel < 0 ? 0 : pixel > 255 ? 255 : pixel);
        }
    }
    return (uint8_t)label;
}

void synthetic_make(uint64_t seed, uint64_t first, uint64_t count, uint8_t *images, uint8_t *labels)
{
    struct patterns patterns;
    struct random_sequence sequence;
    random_sequence_init(&sequence, seed, RANDOM_STREAM_SYNTHETIC, SUB_PATTERNS);
    for (uint32_t class = 0; class < PATTERNS; class ++)
        pattern_draw(&sequence, patterns.pixels[class]);
    uint8_t image[SIDE][SIDE];
    for (uint64_t i = 0; i < count; i++) {
        random_sequence_init(&sequence, seed, RANDOM_STREAM_SYNTHETIC,
                             (uint32_t)(SUB_EXAMPLES + first + i));
        labels[i] = example_draw(&sequence, (const struct patterns *)&patterns, image);
        memcpy(images + i * sizeof image, image, sizeof image);
    }
}

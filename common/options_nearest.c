#include <string.h>

#include "common/options_table.h"

#define LENGTH_MAX 64 /* Names are cut there. */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Levenshtein's distance, and a swap of neighbours counts once. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][LENGTH_MAX + 1];
    size_t length_a = strnlen(a, LENGTH_MAX);
    size_t length_b = strnlen(b, LENGTH_MAX);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= length_b; j++)
        above[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(above[j] + 1, row[j - 1] + 1, change);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[length_b];
}

const char *option_nearest(unsigned users, const char *name)
{
    static const char *const always[] = {"help", "version"};
    size_t length = strlen(name);
    size_t best = length / 3 < 2 ? 2 : length / 3;
    const char *found = NULL;
    for (size_t i = 0; i < option_row_count + 2; i++) {
        bool row = i < option_row_count;
        if (row && !(option_rows[i].users & users))
            continue;
        const char *candidate = row ? option_rows[i].name : always[i - option_row_count];
        size_t distance = edit_distance(name, candidate);
        if (distance < best || (distance == best && found == NULL && distance < length)) {
            best = distance;
            found = candidate;
        }
    }
    return found;
}

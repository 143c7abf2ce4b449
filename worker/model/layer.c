/* layer.c - the numbers and words that layers of several kinds are written with. */

#include "worker/model/layer.h"

#include <stdlib.h>

#include "common/base/spelling.h"

uint32_t layer_parse_sizes(const char *text, uint32_t *parts, uint32_t parts_max)
{
    uint32_t count = 0;
    for (;;) {
        if (*text < '0' || *text > '9' || count == parts_max)
            return 0;
        char *end;
        unsigned long long number = strtoull(text, &end, 10);
        if (number == 0 || number > LAYER_SIDE_MAX)
            return 0;
        parts[count++] = (uint32_t)number;
        if (*end == '\0')
            return count;
        if (*end != 'x' && *end != 'X')
            return 0;
        text = end + 1;
    }
}

enum status layer_parse_activation(const struct layer_words *words, uint32_t first, bool *relu,
                                   struct error *error)
{
    *relu = false;
    if (words->count <= first)
        return STATUS_OK;
    if (words->count > first + 1 || !spelling_same(words->word[first], "relu")) {
        return error_set(error, STATUS_INVALID, "'%s' is not understood; only 'relu' may follow",
                         words->word[words->count - 1]);
    }
    *relu = true;
    return STATUS_OK;
}

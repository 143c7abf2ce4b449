/* spelling.h - which of the known words was most likely meant.
 *
 *     struct spelling spelling;
 *     spelling_begin(&spelling, "asnyc");
 *     spelling_try(&spelling, "sync");
 *     spelling_try(&spelling, "async");
 *     spelling.nearest                        is "async"
 *
 * A word is near when few letters are wrong, missing, too many or swapped, about one in three, or
 * when it is part of the other ("mnist" of "fashion-mnist"). Case counts for nothing, nor whether -
 * or _ is written.
 *
 * Ownership: borrows the words. Threads: plain values. */

#ifndef COMMON_BASE_SPELLING_H
#define COMMON_BASE_SPELLING_H

#include <stddef.h>

#define SPELLING_HINT_MAX 96

struct spelling {
    const char *word;
    const char *nearest; /* NULL: none is near. */
    size_t distance;     /* Letters by which it differs. */
    size_t shared;       /* Letters of the one that is part of the other; 0: neither is. */
};

void spelling_begin(struct spelling *spelling, const char *word);

/* The first of equally near candidates is kept. */
void spelling_try(struct spelling *spelling, const char *candidate);

/* " (did you mean async?)" into hint, which is returned; "" when none is near. before: what stands
 * in front of the word, such as "--". */
const char *spelling_hint(const struct spelling *spelling, const char *before,
                          char hint[SPELLING_HINT_MAX]);

/* Whether two words are the same but for case and - or _. */
int spelling_same(const char *a, const char *b);

#endif

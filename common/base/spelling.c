/* spelling.c - Levenshtein's distance with swaps over words of equal case, and the longest part
 * that two words share. */

#include "common/base/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX   64 /* Letters compared; no name of ours is longer. */
#define SHARED_MIN 3  /* Letters below which being part of something means nothing. */

static char plain(char letter)
{
    return letter == '_' ? '-' : (char)tolower((unsigned char)letter);
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Levenshtein's distance, and a swap of neighbours counts once. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t length_a = strnlen(a, WORD_MAX), length_b = strnlen(b, WORD_MAX);
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

static void copy_plain(char copy[WORD_MAX + 1], const char *word)
{
    size_t length = strnlen(word, WORD_MAX);
    for (size_t i = 0; i < length; i++)
        copy[i] = plain(word[i]);
    copy[length] = '\0';
}

/* Letters of the one that is part of the other. */
static size_t shared(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    size_t shorter = length_a < length_b ? length_a : length_b;
    bool part = shorter >= SHARED_MIN && (strstr(a, b) != NULL || strstr(b, a) != NULL);
    return part ? shorter : 0;
}

void spelling_begin(struct spelling *spelling, const char *word)
{
    *spelling = (struct spelling){.word = word, .distance = (strnlen(word, WORD_MAX) + 2) / 3};
}

void spelling_try(struct spelling *spelling, const char *candidate)
{
    char a[WORD_MAX + 1] = "", b[WORD_MAX + 1] = "";
    copy_plain(a, spelling->word);
    copy_plain(b, candidate);
    size_t letters = distance(a, b), common = shared(a, b);
    bool near = letters <= spelling->distance && letters < strlen(a);
    bool nearer =
        near && (spelling->nearest == NULL || spelling->shared > 0 || letters < spelling->distance);
    /* Being a part counts when nothing is as near by its letters. */
    bool part =
        !near && common > spelling->shared && (spelling->nearest == NULL || spelling->shared > 0);
    if (!nearer && !part)
        return;
    spelling->nearest = candidate;
    spelling->shared = nearer ? 0 : common;
    if (nearer)
        spelling->distance = letters;
}

const char *spelling_hint(const struct spelling *spelling, const char *before,
                          char hint[SPELLING_HINT_MAX])
{
    hint[0] = '\0';
    if (spelling->nearest != NULL)
        snprintf(hint, SPELLING_HINT_MAX, " (did you mean %s%.60s?)", before, spelling->nearest);
    return hint;
}

int spelling_same(const char *a, const char *b)
{
    for (; *a != '\0' && plain(*a) == plain(*b); a++)
        b++;
    return plain(*a) == plain(*b);
}

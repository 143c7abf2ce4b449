/* options_store.c - one value into its field, or what is wrong with it and what may stand there. */

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/base/wording.h"
#include "common/options/options_table.h"

#define EXPECTED_MAX 320
#define SHOWN_MAX    128
#define NUMBER_MAX   40

/* --- storing ------------------------------------------------------------------------------- */

static bool in_bounds(const struct option_row *row, double value)
{
    return value >= row->min && value <= row->max;
}

/* Set an integer field; values beyond the field's type are beyond the row's bounds, too. */
static bool store_integer(const struct option_row *row, const char *text, void *field)
{
    bool negative = row->kind == OPTION_KIND_I32 && text[0] == '-';
    uint64_t number;
    bool valid = row->kind == OPTION_KIND_BYTES
                     ? option_parse_bytes(text, &number)
                     : option_parse_u64(text + (negative ? 1 : 0), &number);
    if (!valid || !in_bounds(row, negative ? -(double)number : (double)number))
        return false;
    if (row->kind == OPTION_KIND_I32)
        *(int32_t *)field = negative ? -(int32_t)number : (int32_t)number;
    else if (row->kind == OPTION_KIND_U32)
        *(uint32_t *)field = (uint32_t)number;
    else
        *(uint64_t *)field = number;
    return true;
}

static bool store_real(const struct option_row *row, const char *text, void *field)
{
    double number;
    if (!option_parse_real(text, &number) || !in_bounds(row, number))
        return false;
    if (row->kind == OPTION_KIND_FLOAT)
        *(float *)field = (float)number;
    else
        *(double *)field = number;
    return true;
}

/* The word of a choice that text is, in whatever case; its own spelling, or NULL. */
static const char *find_word(const struct option_choice *choice, const char *text)
{
    const char *word;
    for (unsigned i = 0; (word = choice->word(i)) != NULL; i++)
        if (spelling_same(text, word))
            return word;
    return NULL;
}

static bool store_text(const struct option_row *row, const char *text, const char **field)
{
    const struct option_choice *choice = row->choice;
    if (choice != NULL && choice->check != NULL && choice->check(text, NULL) != STATUS_OK)
        return false;
    if (choice != NULL && choice->word != NULL)
        text = find_word(choice, text);
    if (text != NULL)
        *field = text;
    return text != NULL;
}

static bool store_word(const struct option_row *row, const char *text, void *field)
{
    const char *word = find_word(row->choice, text), *known;
    for (uint32_t i = 0; word != NULL && (known = row->choice->numbered(i)) != NULL; i++) {
        if (strcmp(word, known) != 0)
            continue;
        memcpy(field, &i, sizeof i); /* An enum. */
        return true;
    }
    return false;
}

static bool store_name(const struct option_row *row, const char *text, char *field)
{
    const char *word = find_word(row->choice, text);
    if (word != NULL)
        snprintf(field, OPTIMIZER_NAME_MAX, "%s", word);
    return word != NULL;
}

static bool add_item(const char *text, struct options_list *list)
{
    if (list->count == OPTIONS_LIST_MAX)
        return false;
    list->items[list->count++] = text;
    return true;
}

static bool store(const struct option_row *row, const char *text, struct options *options)
{
    void *field = (char *)options + row->offset;
    if (row->choice != NULL && row->choice->read != NULL)
        return row->choice->read(text, options);
    switch (row->kind) {
    case OPTION_KIND_FLAG:
        return option_parse_flag(text, field);
    case OPTION_KIND_I32:
    case OPTION_KIND_U32:
    case OPTION_KIND_U64:
    case OPTION_KIND_BYTES:
        return store_integer(row, text, field);
    case OPTION_KIND_REAL:
    case OPTION_KIND_FLOAT:
        return store_real(row, text, field);
    case OPTION_KIND_WORD:
        return store_word(row, text, field);
    case OPTION_KIND_NAME:
        return store_name(row, text, field);
    case OPTION_KIND_TEXT:
        return store_text(row, text, field);
    case OPTION_KIND_LIST:
        return add_item(text, field);
    }
    return false;
}

/* Whether it takes a number that need not be whole. Such a field is NaN until it is set. */
static bool is_real(const struct option_row *row)
{
    return row->kind == OPTION_KIND_REAL || row->kind == OPTION_KIND_FLOAT;
}

/* --- what is wrong ------------------------------------------------------------------------- */

const char *option_choice_words(const struct option_choice *choice, char text[OPTION_WORDS_MAX])
{
    const char *word;
    text[0] = '\0';
    for (unsigned i = 0; (word = choice->word(i)) != NULL; i++)
        wording_append(text, OPTION_WORDS_MAX, "%s%s", i > 0 ? ", " : "", word);
    return text;
}

static enum status refuse_word(const struct option_row *row, const char *text, struct error *error)
{
    char words[OPTION_WORDS_MAX], hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    const char *word;
    spelling_begin(&spelling, text);
    for (unsigned i = 0; (word = row->choice->word(i)) != NULL; i++)
        spelling_try(&spelling, word);
    const char *more = row->choice->expected;
    return error_set(error, STATUS_INVALID, "needs one of %s%s%s%s",
                     option_choice_words(row->choice, words), more != NULL ? " " : "",
                     more != NULL ? more : "", spelling_hint(&spelling, "", hint));
}

/* What a number is written with by those who mean well: "64,000", "1_000", " 10", "0,001", "10s".
 */
static void plain_digits(const struct option_row *row, const char *text, char plain[NUMBER_MAX])
{
    bool real = is_real(row);
    bool decimal_comma = real && strchr(text, '.') == NULL;
    size_t length = 0;
    for (; *text != '\0' && length + 1 < NUMBER_MAX; text++)
        if (*text == ',' && decimal_comma)
            plain[length++] = '.';
        else if (strchr(" \t_,'", *text) == NULL && !(real && *text == 's' && text[1] == '\0'))
            plain[length++] = *text;
    plain[length] = '\0';
}

/* "1,2,3" and "0.1,0.01", but neither "60,000" nor, where a number need not be whole, "0,001". */
static bool is_list(const struct option_row *row, const char *text)
{
    size_t items = 1, groups = 0;
    bool real = strchr(text, '.') != NULL;
    for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        groups += strspn(comma + 1, "0123456789") == 3;
        items++;
    }
    return text[strspn(text, "0123456789.,-e")] == '\0' && items > 1 &&
           (real || (groups + 1 < items && (items > 2 || !is_real(row))));
}

/* " (did you mean 1000?)" for 1e3, where only a whole number is right; never what was typed. */
static const char *number_hint(const struct option_row *row, const char *text,
                               char hint[SPELLING_HINT_MAX])
{
    char plain[NUMBER_MAX], whole[NUMBER_MAX] = "";
    double number;
    hint[0] = '\0';
    if (is_list(row, text)) {
        snprintf(hint, SPELLING_HINT_MAX, " (several: 'syncopate compare' with --vary or --seeds)");
        return hint;
    }
    plain_digits(row, text, plain);
    bool valid = row->kind != OPTION_KIND_BYTES && option_parse_real(plain, &number) &&
                 in_bounds(row, number);
    if (valid && number == floor(number) && fabs(number) < 1e15)
        snprintf(whole, sizeof whole, "%.0f", number);
    const char *meant = is_real(row) ? plain : whole;
    if (valid && meant[0] != '\0' && strcmp(meant, text) != 0)
        snprintf(hint, SPELLING_HINT_MAX, " (did you mean %.40s?)", meant);
    return hint;
}

/* A number, or one of a few words. */
static enum status refuse_choice(const struct option_choice *choice, const char *text,
                                 char hint[SPELLING_HINT_MAX], struct error *error)
{
    struct spelling spelling;
    const char *word;
    spelling_begin(&spelling, text);
    for (unsigned i = 0; choice->known != NULL && (word = choice->known(i)) != NULL; i++)
        spelling_try(&spelling, word);
    if (hint[0] == '\0')
        spelling_hint(&spelling, "", hint);
    return error_set(error, STATUS_INVALID, "needs %s%s", choice->expected, hint);
}

static enum status refuse_number(const struct option_row *row, const char *text,
                                 struct error *error)
{
    char hint[SPELLING_HINT_MAX];
    bool seconds = is_real(row) && strcmp(row->metavar, "S") == 0;
    const char *what = seconds                          ? "a number of seconds"
                       : is_real(row)                   ? "a number"
                       : row->kind == OPTION_KIND_BYTES ? "a size such as 64KiB"
                                                        : "a whole number";
    double number;
    bool too_large = option_parse_real(text, &number) && number > row->max;
    number_hint(row, text, hint);
    if (row->choice != NULL)
        return refuse_choice(row->choice, text, hint, error);
    if (row->max >= 1e9 && row->kind != OPTION_KIND_BYTES && !too_large)
        return error_set(error, STATUS_INVALID, "needs %s, at least %g%s", what, row->min, hint);
    return error_set(error, STATUS_INVALID, "needs %s from %.10g to %.20g%s", what, row->min,
                     row->max, hint);
}

static enum status refuse(const struct option_row *row, const char *text, struct error *error)
{
    if (row->kind == OPTION_KIND_FLAG)
        return error_set(error, STATUS_INVALID, "needs true or false");
    if (row->choice != NULL && row->choice->word != NULL)
        return refuse_word(row, text, error);
    if (row->choice != NULL && row->choice->check != NULL)
        return row->choice->check(text, error);
    if (row->kind == OPTION_KIND_LIST)
        return error_set(error, STATUS_INVALID, "needs to be given %d times at most",
                         OPTIONS_LIST_MAX);
    if (row->kind == OPTION_KIND_TEXT)
        return error_set(error, STATUS_INVALID, "needs a value");
    return refuse_number(row, text, error);
}

/* A value with blanks in it is put between quotes, so that one can see where it ends. */
static const char *shown(const char *text, char buffer[SHOWN_MAX])
{
    bool blanks = strpbrk(text, " \t\r\n") != NULL;
    snprintf(buffer, SHOWN_MAX, blanks ? "'%.120s'" : "%.120s", text);
    return buffer;
}

enum status option_store(const struct option_row *row, const char *source, const char *text,
                         struct options *options, struct error *error)
{
    char buffer[SHOWN_MAX];
    struct error why = {0};
    if (text[0] == '\0')
        return error_set(error, STATUS_INVALID, "%s needs a value", source);
    for (const char *c = text; *c != '\0'; c++) /* It would be printed, and a terminal obey. */
        if (iscntrl((unsigned char)*c) && strchr("\t\n\r", *c) == NULL)
            return error_set(error, STATUS_INVALID, "%s=%s: has a control character (%d)", source,
                             shown(text, buffer), *c);
    if (store(row, text, options))
        return STATUS_OK;
    refuse(row, text, &why);
    return error_set(error, STATUS_INVALID, "%s=%s: %.*s", source, shown(text, buffer),
                     EXPECTED_MAX, why.text);
}

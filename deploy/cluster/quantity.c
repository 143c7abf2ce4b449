/* quantity.c - reads a decimal number as an integer and its count of decimals, times its unit. */

#include "deploy/cluster/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/spelling.h"

#define WORD_MAX   40
#define DIGITS_MAX 18 /* The number fits 64 bits whatever its digits. */
#define RATE_WORDS "a rate such as 10Gbit or 100Mbit"

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit times[] = {
    {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {NULL, 0}};

/* In bits, the largest first. */
static const struct unit rates[] = {{"Tbit", UINT64_C(1000000000000)},
                                    {"Gbit", 1000000000},
                                    {"Mbit", 1000000},
                                    {"kbit", 1000},
                                    {"bit", 1},
                                    {NULL, 0}};

/* --- reading --------------------------------------------------------------------------------- */

/* Digits, at most one point between them; true with number = digits without it. */
static bool read_digits(const char *word, size_t length, uint64_t *number, unsigned *decimals)
{
    bool point = false;
    *number = *decimals = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '.') {
            if (point || i == 0 || i + 1 == length)
                return false;
            point = true;
            continue;
        }
        *number = 10 * *number + (uint64_t)(word[i] - '0');
        *decimals += point;
    }
    return length > 0 && length <= DIGITS_MAX;
}

enum amount {
    AMOUNT_READ,
    AMOUNT_BAD_NUMBER,
    AMOUNT_BAD_UNIT,
    AMOUNT_TOO_FINE,
    AMOUNT_TOO_LARGE,
};

/* A number and its unit from the whole of word. */
static enum amount read_amount(const char *word, const struct unit *units, uint64_t *amount)
{
    size_t length = strspn(word, "0123456789.");
    uint64_t number;
    unsigned decimals;
    if (!read_digits(word, length, &number, &decimals))
        return AMOUNT_BAD_NUMBER;
    while (units->name != NULL && !spelling_same(word + length, units->name))
        units++;
    if (units->name == NULL)
        return AMOUNT_BAD_UNIT;
    /* 2.50 is 2.5. */
    for (; decimals > 0 && number % 10 == 0; decimals--)
        number /= 10;
    uint64_t size = units->size;
    for (; decimals > 0 && size % 10 == 0; decimals--)
        size /= 10;
    if (decimals > 0) /* All units are powers of ten. */
        return AMOUNT_TOO_FINE;
    if (number > UINT64_MAX / size)
        return AMOUNT_TOO_LARGE;
    *amount = number * size;
    return AMOUNT_READ;
}

/* The start of *text that may be a number with its unit. */
static size_t copy_word(const char *text, char word[WORD_MAX])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = strspn(text, "0123456789.");
    length += strspn(text + length, letters);
    snprintf(word, WORD_MAX, "%.*s", length < WORD_MAX ? (int)length : WORD_MAX - 1, text);
    return length;
}

enum status quantity_read_time(const char **text, uint64_t most, uint64_t *ns, struct error *error)
{
    char word[WORD_MAX];
    size_t length = copy_word(*text, word);
    enum amount result = read_amount(word, times, ns);
    if (length == 0)
        return error_set(error, STATUS_INVALID, "needs a time such as 30ms, 1.5s or 200us%s%.60s%s",
                         **text != '\0' ? ", not '" : "", *text, **text != '\0' ? "'" : "");
    if (result == AMOUNT_BAD_NUMBER || length >= WORD_MAX)
        return error_set(error, STATUS_INVALID, "'%s' is not a time such as 30ms, 1.5s or 200us",
                         word);
    if (result == AMOUNT_BAD_UNIT)
        return error_set(error, STATUS_INVALID, "'%s' needs a unit: ns, us, ms or s", word);
    if (result == AMOUNT_TOO_FINE)
        return error_set(error, STATUS_INVALID, "'%s' is not a whole number of nanoseconds", word);
    if (result == AMOUNT_TOO_LARGE || *ns > most)
        return error_set(error, STATUS_INVALID, "'%s' is more than %s", word,
                         quantity_time(most).text);
    *text += length;
    return STATUS_OK;
}

enum status quantity_read_rate(const char **text, uint64_t *bytes_per_second, struct error *error)
{
    char word[WORD_MAX];
    uint64_t bits;
    size_t length = copy_word(*text, word);
    enum amount result = read_amount(word, rates, &bits);
    if (length == 0)
        return error_set(error, STATUS_INVALID, "needs " RATE_WORDS "%s%.60s%s",
                         **text != '\0' ? ", not '" : "", *text, **text != '\0' ? "'" : "");
    if (result == AMOUNT_BAD_NUMBER || length >= WORD_MAX)
        return error_set(error, STATUS_INVALID, "'%s' is not " RATE_WORDS, word);
    if (result == AMOUNT_BAD_UNIT)
        return error_set(error, STATUS_INVALID, "'%s' needs a unit: kbit, Mbit or Gbit (a second)",
                         word);
    if (result == AMOUNT_TOO_FINE || (result == AMOUNT_READ && bits % 8 != 0))
        return error_set(error, STATUS_INVALID, "'%s' is not a whole number of bytes a second",
                         word);
    if (result == AMOUNT_TOO_LARGE || bits / 8 < QUANTITY_RATE_LEAST ||
        bits / 8 > QUANTITY_RATE_MOST)
        return error_set(error, STATUS_INVALID, "'%s' is not a rate from 1kbit to 10Tbit", word);
    *bytes_per_second = bits / 8;
    *text += length;
    return STATUS_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

/* In the largest unit of which there is at least one. */
static struct wording write_amount(uint64_t amount, const struct unit *units)
{
    struct wording wording;
    while (units[1].name != NULL && amount < units->size)
        units++;
    int length = snprintf(wording.text, sizeof wording.text, "%" PRIu64, amount / units->size);
    uint64_t rest = amount % units->size;
    for (uint64_t size = units->size / 10; size > 0; size /= 10) {
        if (rest == 0)
            break;
        length += snprintf(wording.text + length, sizeof wording.text - (size_t)length, "%s%d",
                           size == units->size / 10 ? "." : "", (int)(rest / size));
        rest %= size;
    }
    snprintf(wording.text + length, sizeof wording.text - (size_t)length, "%s", units->name);
    return wording;
}

struct wording quantity_time(uint64_t ns)
{
    return ns > 0 ? write_amount(ns, times) : (struct wording){"0s"};
}

struct wording quantity_rate(uint64_t bytes_per_second)
{
    return write_amount(8 * bytes_per_second, rates);
}

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options_table.h"

/* strtoull takes signs, spaces and other bases; here a number is digits and nothing else. */
bool option_parse_u64(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value = number;
    return true;
}

bool option_parse_real(const char *text, double *value)
{
    /* No spaces, "nan", "inf" or hexadecimal: digits, a point, an exponent. */
    if (text[0] == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0')
        return false;
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool option_parse_bytes(const char *text, uint64_t *value)
{
    static const struct {
        const char *suffix;
        unsigned shift;
    } units[] = {{"", 0},   {"B", 0},    {"K", 10}, {"KiB", 10},
                 {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};
    size_t digits = strspn(text, "0123456789");
    char number[24];
    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!option_parse_u64(number, value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].suffix) == 0 && *value <= UINT64_MAX >> units[i].shift) {
            *value <<= units[i].shift;
            return true;
        }
    }
    return false;
}

bool option_parse_flag(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off"};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *value = strcmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

/* --- lists --------------------------------------------------------------------------------- */

/* Cut the next item off a list with commas into item[size]. Returns what follows, NULL after the
 * last; *fits says whether the item had room. */
static const char *next_item(const char *list, char *item, size_t size, bool *fits)
{
    size_t length = strcspn(list, ",");
    *fits = length < size;
    size_t kept = *fits ? length : size - 1;
    memcpy(item, list, kept);
    item[kept] = '\0';
    return list[length] == ',' ? list + length + 1 : NULL;
}

enum status options_modes(const char *list, enum mode *modes, uint32_t max, uint32_t *count,
                          struct error *error)
{
    *count = 0;
    while (list != NULL) {
        char item[32];
        bool fits;
        enum mode mode;
        list = next_item(list, item, sizeof item, &fits);
        if (!fits || mode_parse(item, &mode) != STATUS_OK)
            return error_set(error, STATUS_INVALID, "'%s' is not a mode", item);
        for (uint32_t i = 0; i < *count; i++) {
            if (modes[i] == mode)
                return error_set(error, STATUS_INVALID, "mode %s is named twice", item);
        }
        if (*count == max)
            return error_set(error, STATUS_INVALID, "more than %" PRIu32 " modes", max);
        modes[(*count)++] = mode;
    }
    return STATUS_OK;
}

enum status options_counts(const char *list, uint32_t *counts, uint32_t max, uint32_t *count,
                           struct error *error)
{
    *count = 0;
    while (list != NULL) {
        char item[32];
        bool fits;
        uint64_t number;
        list = next_item(list, item, sizeof item, &fits);
        if (!fits || !option_parse_u64(item, &number) || number < 1 || number > JOB_WORKERS_MAX)
            return error_set(error, STATUS_INVALID, "'%s' is not a number from 1 to %d", item,
                             JOB_WORKERS_MAX);
        if (*count == max)
            return error_set(error, STATUS_INVALID, "more than %" PRIu32 " numbers", max);
        counts[(*count)++] = (uint32_t)number;
    }
    return STATUS_OK;
}

/* The first item of a --slow list, "3:4.5", and what follows it; false when it is wrong. */
static bool next_slow(const char **list, uint64_t *worker, double *factor)
{
    char item[64];
    bool fits;
    *list = next_item(*list, item, sizeof item, &fits);
    char *colon = strchr(item, ':');
    if (!fits || colon == NULL)
        return false;
    *colon = '\0';
    return option_parse_u64(item, worker) && *worker < JOB_WORKERS_MAX &&
           option_parse_real(colon + 1, factor) && *factor >= 1 && *factor <= 1000;
}

bool option_slow_valid(const char *list)
{
    uint64_t worker;
    double factor;
    while (list != NULL)
        if (!next_slow(&list, &worker, &factor))
            return false;
    return true;
}

enum status options_slow_check(const char *slow, uint32_t workers, struct error *error)
{
    uint64_t worker;
    double factor;
    for (const char *rest = slow; rest != NULL;)
        if (next_slow(&rest, &worker, &factor) && worker >= workers)
            return error_set(error, STATUS_INVALID,
                             "--slow=%s: there is no worker %" PRIu64 "; there are %u, from 0 on",
                             slow, worker, workers);
    return STATUS_OK;
}

double options_slow_factor(const char *slow, uint32_t worker)
{
    uint64_t named;
    double factor;
    while (slow != NULL)
        if (next_slow(&slow, &named, &factor) && named == worker)
            return factor;
    return 1;
}

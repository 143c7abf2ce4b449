/* options_value.c - numbers, bytes, flags and lists from text; each says no rather than guess. */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/spelling.h"
#include "common/base/wording.h"
#include "common/options/options_table.h"
#include "common/store/checkpoint.h"

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
        if (spelling_same(text + digits, units[i].suffix) &&
            *value <= UINT64_MAX >> units[i].shift) {
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
        if (spelling_same(text, yes[i]) || spelling_same(text, no[i])) {
            *value = spelling_same(text, yes[i]);
            return true;
        }
    }
    return false;
}

/* --- ports --------------------------------------------------------------------------------- */

enum status option_ports_read(const char *text, uint16_t *first, uint16_t *last)
{
    uint64_t from = 0, to = 0;
    char number[8];
    size_t length = strcspn(text, "-");
    if (length == 0 || length >= sizeof number)
        return STATUS_INVALID;
    memcpy(number, text, length);
    number[length] = '\0';
    bool right = option_parse_u64(number, &from) && text[length] == '-' &&
                 option_parse_u64(text + length + 1, &to) && from >= 1 && from <= to && to <= 65535;
    *first = (uint16_t)from;
    *last = (uint16_t)to;
    return right ? STATUS_OK : STATUS_INVALID;
}

enum status option_ports_check(const char *text, struct error *error)
{
    uint16_t first, last;
    return option_ports_read(text, &first, &last) == STATUS_OK
               ? STATUS_OK
               : error_set(error, STATUS_INVALID, "needs two ports, such as 20000-20127");
}

/* --- checkpoints --------------------------------------------------------------------------- */

/* 0: it is no value of --keep. */
static uint32_t parse_keep(const char *text)
{
    uint64_t number;
    if (spelling_same(text, "all"))
        return CHECKPOINTS_ALL;
    return option_parse_u64(text, &number) && number <= CHECKPOINTS_KEPT_MAX ? (uint32_t)number : 0;
}

enum status option_keep_check(const char *text, struct error *error)
{
    if (parse_keep(text) != 0)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "needs all, or a whole number from 1 to %d",
                     CHECKPOINTS_KEPT_MAX);
}

enum status option_place_check(const char *text, struct error *error)
{
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, "/");
        bool leads_out =
            (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.');
        if (length == 0 || leads_out)
            return error_set(error, STATUS_INVALID,
                             "needs the name of a folder, or a path below one such as sync/seed-1");
        part += length;
        if (*part == '\0')
            return STATUS_OK;
    }
}

enum status option_job_id_check(const char *text, struct error *error)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            length = JOB_ID_BYTES;
    return length < JOB_ID_BYTES
               ? STATUS_OK
               : error_set(error, STATUS_INVALID, "needs at most %d characters, on one line",
                           JOB_ID_BYTES - 1);
}

uint32_t options_keep(const struct options *options)
{
    return options->keep != NULL ? parse_keep(options->keep) : 0;
}

/* --- instructions -------------------------------------------------------------------------- */

static bool parse_instructions(const char *text, enum kernels_instructions *instructions)
{
    for (int i = 0; i < KERNELS_INSTRUCTIONS_COUNT; i++) {
        *instructions = (enum kernels_instructions)i;
        if (strcasecmp(text, kernels_instructions_word(*instructions)) == 0)
            return true;
    }
    return false;
}

enum status option_instructions_check(const char *text, struct error *error)
{
    enum kernels_instructions wanted, widest = kernels_instructions();
    if (!parse_instructions(text, &wanted))
        return error_set(error, STATUS_INVALID, "needs plain, avx2 or avx512");
    if (wanted > widest)
        return error_set(error, STATUS_INVALID, "this processor has %s at most (%s)",
                         kernels_instructions_name(widest), kernels_instructions_word(widest));
    return STATUS_OK;
}

enum kernels_instructions options_instructions(const struct options *options)
{
    enum kernels_instructions wanted;
    if (options->instructions == NULL || !parse_instructions(options->instructions, &wanted))
        return kernels_instructions();
    return wanted;
}

/* --- lists --------------------------------------------------------------------------------- */

#define BLANKS        " \t"
#define ENDS          ",;" BLANKS
#define SLOW_ITEM_MAX 64

/* Cut the next item off a list into item[size]. Returns what follows, NULL after the last; *fits
 * says whether the item had room. */
static const char *next_item(const char *list, char *item, size_t size, bool *fits)
{
    list += strspn(list, BLANKS);
    size_t length = strcspn(list, ENDS);
    *fits = length < size;
    size_t kept = *fits ? length : size - 1;
    memcpy(item, list, kept);
    item[kept] = '\0';
    list += length;
    list += strspn(list, BLANKS);
    if (*list == '\0')
        return NULL;
    return *list == ',' || *list == ';' ? list + 1 : list;
}

static enum status refuse_empty(uint32_t number, struct error *error)
{
    return error_set(error, STATUS_INVALID, "item %" PRIu32 " of the list is empty", number + 1);
}

static enum status read_mode(const char *item, struct mode_setting *setting, struct error *error)
{
    char hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    if (mode_read(item, setting) == STATUS_OK)
        return STATUS_OK;
    spelling_begin(&spelling, item);
    char words[OPTION_WORDS_MAX] = "";
    for (unsigned i = 0; mode_word(i) != NULL; i++) {
        spelling_try(&spelling, mode_word(i));
        wording_append(words, sizeof words, "%s%s", i > 0 ? ", " : "", mode_word(i));
    }
    return error_set(error, STATUS_INVALID, "'%s' is no mode; there are %s " MODE_BOUND_WORDS "%s",
                     item, words, spelling_hint(&spelling, "", hint));
}

enum status options_modes(const char *list, struct mode_setting *modes, uint32_t max,
                          uint32_t *count, struct error *error)
{
    *count = 0;
    while (list != NULL) {
        char item[32];
        bool fits;
        struct mode_setting mode;
        list = next_item(list, item, sizeof item, &fits);
        if (item[0] == '\0')
            return refuse_empty(*count, error);
        if (read_mode(item, &mode, error) != STATUS_OK)
            return STATUS_INVALID;
        for (uint32_t i = 0; i < *count; i++)
            if (modes[i].mode == mode.mode && modes[i].bound == mode.bound)
                return error_set(error, STATUS_INVALID, "%s is there twice", mode_text(mode).text);
        if (*count == max)
            return error_set(error, STATUS_INVALID, "there are more than %" PRIu32, max);
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
        if (item[0] == '\0')
            return refuse_empty(*count, error);
        if (!fits || !option_parse_u64(item, &number) || number < 1 || number > JOB_WORKERS_MAX)
            return error_set(error, STATUS_INVALID, "'%s' is not a whole number from 1 to %d", item,
                             JOB_WORKERS_MAX);
        for (uint32_t i = 0; i < *count; i++)
            if (counts[i] == number)
                return error_set(error, STATUS_INVALID, "%s is there twice", item);
        if (*count == max)
            return error_set(error, STATUS_INVALID, "there are more than %" PRIu32, max);
        counts[(*count)++] = (uint32_t)number;
    }
    return STATUS_OK;
}

/* The first item of a --slow list, "3:4.5", and what follows it; false when it is wrong. item: it
 * as it stands there. */
static bool next_slow(const char **list, char item[SLOW_ITEM_MAX], uint64_t *worker, double *factor)
{
    char number[SLOW_ITEM_MAX];
    bool fits;
    *list = next_item(*list, item, SLOW_ITEM_MAX, &fits);
    memcpy(number, item, sizeof number);
    char *colon = strchr(number, ':');
    if (!fits || colon == NULL)
        return false;
    *colon = '\0';
    return option_parse_u64(number, worker) && *worker < JOB_WORKERS_MAX &&
           option_parse_real(colon + 1, factor) && *factor >= 1 && *factor <= 1000;
}

enum status option_slow_check(const char *list, struct error *error)
{
    bool seen[JOB_WORKERS_MAX] = {false};
    char item[SLOW_ITEM_MAX];
    uint64_t worker;
    double factor;
    for (uint32_t i = 0; list != NULL; i++) {
        bool right = next_slow(&list, item, &worker, &factor);
        if (item[0] == '\0')
            return refuse_empty(i, error);
        if (!right)
            return error_set(
                error, STATUS_INVALID,
                "'%s' is not WORKER:FACTOR such as 1:2.0, with a factor from 1 to 1000", item);
        if (seen[worker])
            return error_set(error, STATUS_INVALID, "worker %" PRIu64 " is there twice", worker);
        seen[worker] = true;
    }
    return STATUS_OK;
}

enum status options_slow_check(const char *slow, uint32_t workers, struct error *error)
{
    char item[SLOW_ITEM_MAX];
    uint64_t worker;
    double factor;
    for (const char *rest = slow; rest != NULL;)
        if (next_slow(&rest, item, &worker, &factor) && worker >= workers)
            return error_set(error, STATUS_INVALID,
                             "--slow=%s: there is no worker %" PRIu64 "; there are %u, from 0 on",
                             slow, worker, workers);
    return STATUS_OK;
}

double options_slow_factor(const char *slow, uint32_t worker)
{
    char item[SLOW_ITEM_MAX];
    uint64_t named;
    double factor;
    while (slow != NULL)
        if (next_slow(&slow, item, &named, &factor) && named == worker)
            return factor;
    return 1;
}

/* --- controlled time ----------------------------------------------------------------------- */

enum status option_compute_check(const char *text, struct error *error)
{
    struct compute_time time;
    return compute_time_read(text, &time, error);
}

enum status option_straggle_check(const char *text, struct error *error)
{
    struct compute_time time;
    return compute_time_read_straggle(text, &time, error);
}

enum status option_pause_check(const char *text, struct error *error)
{
    struct compute_time time;
    return compute_time_read_pause(text, &time, error);
}

struct compute_time options_compute_time(const struct options *options, uint32_t worker)
{
    struct compute_time time = {.slow = options_slow_factor(options->slow, worker)};
    if (options->compute != NULL)
        compute_time_read(options->compute, &time, NULL);
    if (options->straggle != NULL)
        compute_time_read_straggle(options->straggle, &time, NULL);
    if (options->pause != NULL)
        compute_time_read_pause(options->pause, &time, NULL);
    return time;
}

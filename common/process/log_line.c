/* log_line.c - formats a line as text or JSON, and takes one apart again, for the launcher. */

#include "common/process/log_line.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"

#define PAIRS_MAX    32
#define NAME_MAX     48
#define VALUE_MAX    400
#define SHORT_MAX    200 /* Bytes of a text that fit in whatever way they are escaped. */
#define TIME_PATTERN "0000-00-00T00:00:00.000Z"
#define TIME_BYTES   (sizeof TIME_PATTERN - 1)

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const char *const prefixes[] = {"error: ", "warning: ", "", ""};

bool log_format_parse(const char *name, enum log_format *format)
{
    *format = strcmp(name, "json") == 0 ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
    return *format == LOG_FORMAT_JSON || strcmp(name, "text") == 0;
}

struct log_time log_time_text(const struct timespec *time)
{
    struct log_time when;
    struct tm utc = {0};
    gmtime_r(&time->tv_sec, &utc);
    snprintf(when.text, sizeof when.text, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
             utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             time->tv_nsec / 1000000);
    return when;
}

/* --- pairs --------------------------------------------------------------------------------- */

struct pair {
    char name[NAME_MAX], value[VALUE_MAX];
    bool quoted;
};

/* Bytes of a name at text that an "=" follows; 0 for none. */
static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t length = strspn(text, letters);
    bool name = length > 0 && islower((unsigned char)text[0]) && length < NAME_MAX;
    return name && text[length] == '=' ? length : 0;
}

/* The value at text, and where it ends. Without quotes, punctuation that ends it is the sentence's.
 */
static const char *take_value(const char *text, struct pair *pair)
{
    pair->quoted = text[0] == '"';
    text += pair->quoted;
    size_t length = strcspn(text, pair->quoted ? "\"" : " "), whole = length;
    while (!pair->quoted && length > 0 && strchr(",;:.)", text[length - 1]) != NULL)
        length--;
    length = length < VALUE_MAX ? length : VALUE_MAX - 1;
    memcpy(pair->value, text, length);
    pair->value[length] = '\0';
    return text + whole;
}

/* The next pair in a text, and where to look for the one after it; NULL when there is none. */
static const char *next_pair(const char *text, struct pair *pair)
{
    while (*text != '\0') {
        size_t length = name_length(text);
        if (length > 0) {
            memcpy(pair->name, text, length);
            pair->name[length] = '\0';
            text = take_value(text + length + 1, pair);
            if (pair->value[0] != '\0')
                return text;
        }
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return NULL;
}

/* Whether a value is a number as JSON writes them: not "007", not "1e999", not "0x1f". */
static bool is_number(const struct pair *pair)
{
    char *end;
    const char *digits = pair->value + (pair->value[0] == '-');
    if (pair->quoted || !isdigit((unsigned char)digits[0]) ||
        (digits[0] == '0' && isdigit((unsigned char)digits[1])) ||
        digits[strspn(digits, "0123456789.eE+-")] != '\0')
        return false;
    double value = strtod(pair->value, &end);
    return *end == '\0' && isdigit((unsigned char)end[-1]) && isfinite(value);
}

static void write_pair(struct json_writer *writer, const struct pair *pair)
{
    bool whole = pair->value[strspn(pair->value, "0123456789")] == '\0';
    if (!is_number(pair))
        json_writer_text(writer, pair->name, pair->value);
    else if (whole && strlen(pair->value) < 20)
        json_writer_u64(writer, pair->name, strtoull(pair->value, NULL, 10));
    else
        json_writer_real(writer, pair->name, strtod(pair->value, NULL));
}

/* Each name once, and none that the line has anyway. */
static void write_pairs(struct json_writer *writer, const char *text)
{
    static const char *const ours[] = {"time", "level", "who", "text"};
    char names[PAIRS_MAX][NAME_MAX];
    size_t count = 0;
    struct pair pair;
    for (; count + 4 < PAIRS_MAX && (text = next_pair(text, &pair)) != NULL;) {
        bool taken = false;
        for (size_t i = 0; i < count + 4; i++)
            taken = taken || strcmp(pair.name, i < 4 ? ours[i] : names[i - 4]) == 0;
        if (taken)
            continue;
        memcpy(names[count++], pair.name, NAME_MAX);
        write_pair(writer, &pair);
    }
}

/* --- writing ------------------------------------------------------------------------------- */

static size_t write_text(const struct log_line *line, char bytes[LOG_LINE_MAX])
{
    int used = snprintf(bytes, LOG_LINE_MAX, "%s %s %s%s\n", log_time_text(&line->time).text,
                        line->who, prefixes[line->level], line->text);
    return (size_t)used;
}

/* False when it does not fit. */
static bool write_json(const struct log_line *line, bool pairs, size_t text_max,
                       char bytes[LOG_LINE_MAX], size_t *used)
{
    char text[LOG_TEXT_MAX];
    struct json_writer writer;
    snprintf(text, text_max < sizeof text ? text_max : sizeof text, "%s", line->text);
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "time", log_time_text(&line->time).text);
    json_writer_text(&writer, "level", level_names[line->level]);
    json_writer_text(&writer, "who", line->who);
    json_writer_text(&writer, "text", text);
    if (pairs)
        write_pairs(&writer, line->text);
    json_writer_end(&writer);
    json_writer_raw(&writer, "\n", 1);
    bool fits = !writer.failed && writer.bytes < LOG_LINE_MAX;
    if (fits) {
        memcpy(bytes, writer.text, writer.bytes + 1);
        *used = writer.bytes;
    }
    json_writer_free(&writer);
    return fits;
}

/* Without memory a line of the other format is better than none. */
size_t log_line_write(const struct log_line *line, enum log_format format, char bytes[LOG_LINE_MAX])
{
    size_t used;
    if (format == LOG_FORMAT_JSON && (write_json(line, true, LOG_TEXT_MAX, bytes, &used) ||
                                      write_json(line, false, LOG_TEXT_MAX, bytes, &used) ||
                                      write_json(line, false, SHORT_MAX, bytes, &used)))
        return used;
    return write_text(line, bytes);
}

/* --- reading ------------------------------------------------------------------------------- */

static bool starts_with_time(const char *bytes)
{
    for (size_t i = 0; i < TIME_BYTES; i++)
        if (TIME_PATTERN[i] == '0' ? !isdigit((unsigned char)bytes[i])
                                   : bytes[i] != TIME_PATTERN[i])
            return false;
    return bytes[TIME_BYTES] == ' ';
}

static bool read_text(struct log_line *line, const char *bytes)
{
    if (!starts_with_time(bytes))
        return false;
    const char *who = bytes + TIME_BYTES + 1;
    size_t length = strcspn(who, " ");
    if (length == 0 || length >= sizeof line->who || who[length] != ' ')
        return false;
    snprintf(line->who, sizeof line->who, "%.*s", (int)length, who);
    const char *text = who + length + 1;
    line->level = LOG_INFO;
    for (int level = LOG_ERROR; level <= LOG_WARNING; level++) {
        size_t prefix = strlen(prefixes[level]);
        if (strncmp(text, prefixes[level], prefix) == 0) {
            line->level = (enum log_level)level;
            text += prefix;
            break;
        }
    }
    snprintf(line->text, sizeof line->text, "%s", text);
    return true;
}

static bool read_json(struct log_line *line, const char *bytes)
{
    struct json *root;
    if (bytes[0] != '{' || json_parse(bytes, strlen(bytes), "a line", &root, NULL) != STATUS_OK)
        return false;
    const char *level = json_text(root, "level"), *who = json_text(root, "who");
    const char *text = json_text(root, "text");
    bool known = false;
    for (int i = LOG_ERROR; level != NULL && i <= LOG_DEBUG && !known; i++) {
        line->level = (enum log_level)i;
        known = strcmp(level, level_names[i]) == 0;
    }
    known = known && who != NULL && text != NULL;
    snprintf(line->who, sizeof line->who, "%s", known ? who : "");
    snprintf(line->text, sizeof line->text, "%s", known ? text : "");
    json_release(&root);
    return known;
}

bool log_line_read(struct log_line *line, const char *bytes)
{
    *line = (struct log_line){.level = LOG_INFO};
    return read_text(line, bytes) || read_json(line, bytes);
}

/* log_line.h - one line of a log, written and read.
 *
 *   text   2026-11-22T10:31:15.123Z ps/0 warning: checkpoint late step=938
 *   json   {"time":"2026-11-22T10:31:15.123Z","level":"warning","who":"ps/0",
 *           "text":"checkpoint late step=938","step":938}
 *
 * Time is UTC, so that lines of several hosts can be sorted together. In JSON the key=value pairs
 * of the text are members too: numbers as numbers, everything else as text.
 *
 * Threads: pure. */

#ifndef COMMON_PROCESS_LOG_LINE_H
#define COMMON_PROCESS_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define LOG_LINE_MAX 2048 /* Bytes, newline included. */
#define LOG_TEXT_MAX 960  /* Of its text; what is longer is cut. */

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* "2026-11-22T10:31:15.123Z" */
struct log_time {
    char text[64];
};
struct log_time log_time_text(const struct timespec *time);

struct log_line {
    struct timespec time; /* Since 1970, UTC. Not read back. */
    enum log_level level;
    char who[64]; /* "ps/0" */
    char text[LOG_TEXT_MAX];
};

/* The line with its newline and a zero after it; how many bytes, the zero not counted. */
size_t log_line_write(const struct log_line *line, enum log_format format,
                      char bytes[LOG_LINE_MAX]);

/* A line without its newline, in either format; false when it is no line of a log. */
bool log_line_read(struct log_line *line, const char *bytes);

/* "text", "json" */
bool log_format_parse(const char *name, enum log_format *format);

#endif

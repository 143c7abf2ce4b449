/* log.h - what happened, as lines for people and programs: time, who, event, key=value pairs.
 *
 *     2026-11-22T10:31:15.123Z ps/0 worker joined worker=1 host=alpha joined=2 of=2
 *
 * or the same as JSON, see log_line.h. Lines go to standard error, one write each, on changes of
 * state and never once a message. Data goes to standard output or files, not here.
 *
 * Writing never waits for a reader: while standard error takes nothing (a terminal stopped with
 * Ctrl-S, a full pipe), lines are lost, and the next one says how many.
 *
 * Threads: any; a line is written whole. */

#ifndef COMMON_PROCESS_LOG_H
#define COMMON_PROCESS_LOG_H

#include "common/process/log_line.h"

/* Who speaks ("ps/0", "worker/1", "syncopate"), the least important level still written, and how.
 * Call before any thread starts; without it, "syncopate", LOG_INFO and text. */
void log_init(const char *who, enum log_level level, enum log_format format);
enum log_format log_format_now(void);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a command says to a person, as a line without newline: the text as it is, or as JSON. */
void log_remark(enum log_level level, const char *text, char line[LOG_LINE_MAX]);

#define log_error(...)   log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_DEBUG, __VA_ARGS__)

#endif

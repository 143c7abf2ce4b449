/* log.h - what happened, as lines for people: time, who, event, key=value pairs.
 *
 *     12:01:07.412 ps/0 worker joined worker=1 host=alpha joined=2 of=2
 *
 * Lines go to standard error, one write each, on changes of state and never once a message.
 * Data goes to standard output or files, not here.
 *
 * Threads: any; a line is written whole. */

#ifndef COMMON_LOG_H
#define COMMON_LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Who speaks ("ps/0", "worker/1", "syncopate") and the least important level still written.
 * Call once, before any thread starts. */
void log_init(const char *who, enum log_level level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_DEBUG, __VA_ARGS__)

#endif

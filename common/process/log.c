/* log.c - one write a line under a lock, to a standard error that is never waited for; lines that are
 * lost are counted. */

#include "common/process/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/process/outlet.h"

/* The only state of a process that has no owner: any code that finds something wrong must be able to say
 * so. The first three are set by log_init before any thread starts, and only read after that; the
 * others belong to the holder of the lock. */
static char log_who[64] = "syncopate";
static enum log_level log_least = LOG_INFO;
static enum log_format log_format = LOG_FORMAT_TEXT;

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct outlet log_outlet = {.file = -1};
static uint64_t log_lost; /* Lines, since the last that got through. */

void log_init(const char *who, enum log_level level, enum log_format format)
{
    snprintf(log_who, sizeof log_who, "%s", who);
    log_least = level;
    log_format = format;
}

enum log_format log_format_now(void)
{
    return log_format;
}

/* Under the lock. Nothing sensible can be done when standard error is gone. */
static bool put(struct log_line *line)
{
    char bytes[LOG_LINE_MAX];
    if (log_outlet.file < 0)
        outlet_open(&log_outlet, STDERR_FILENO);
    return outlet_put(&log_outlet, bytes, log_line_write(line, log_format, bytes)) != OUTLET_FULL;
}

/* Under the lock. How many lines were lost, before the next one. */
static bool put_gap(const struct log_line *next)
{
    if (log_lost == 0)
        return true;
    struct log_line gap = {.time = next->time, .level = LOG_WARNING};
    snprintf(gap.who, sizeof gap.who, "%s", log_who);
    snprintf(gap.text, sizeof gap.text, "log lines that were not read are lost count=%" PRIu64,
             log_lost);
    if (!put(&gap))
        return false;
    log_lost = 0;
    return true;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (level > log_least)
        return;
    struct log_line line = {.level = level};
    clock_gettime(CLOCK_REALTIME, &line.time);
    snprintf(line.who, sizeof line.who, "%s", log_who);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&log_lock);
    if (!put_gap(&line) || !put(&line))
        log_lost++;
    pthread_mutex_unlock(&log_lock);
}

void log_remark(enum log_level level, const char *text, char line[LOG_LINE_MAX])
{
    struct log_line parts = {.level = level, .who = "syncopate"};
    if (log_format_now() == LOG_FORMAT_TEXT) {
        snprintf(line, LOG_LINE_MAX, "%s", text);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &parts.time);
    snprintf(parts.text, sizeof parts.text, "%s", text);
    line[log_line_write(&parts, LOG_FORMAT_JSON, line) - 1] = '\0';
}

#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Set once by log_init before any thread starts, and only read after that. */
static char log_who[64] = "syncopate";
static enum log_level log_least = LOG_INFO;

void log_init(const char *who, enum log_level level)
{
    snprintf(log_who, sizeof log_who, "%s", who);
    log_least = level;
}

void log_write(enum log_level level, const char *format, ...)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", ""};
    if (level > log_least)
        return;

    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);

    char line[1024];
    int used = snprintf(line, sizeof line - 1, "%02d:%02d:%02d.%03ld %s %s", local.tm_hour,
                        local.tm_min, local.tm_sec, now.tv_nsec / 1000000, log_who, prefix[level]);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    va_end(arguments);
    if ((size_t)used > sizeof line - 2)
        used = sizeof line - 2;
    line[used] = '\n';
    /* Nothing sensible can be done when standard error is gone. */
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)used + 1);
    (void)ignored;
}

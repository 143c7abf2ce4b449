/* log_once.c - two lines are of one kind when what stands behind their last colon is the same. */

#include "common/process/log_once.h"

#include <stdio.h>
#include <string.h>

/* What stands behind the last ": " of a line, or all of it. */
static const char *kind_of(const char *line)
{
    const char *kind = line;
    for (const char *at = strstr(line, ": "); at != NULL; at = strstr(at + 2, ": "))
        kind = at + 2;
    return kind;
}

bool log_once_add(struct log_once *log_once, const char *line)
{
    char kind[sizeof *log_once->kinds];
    snprintf(kind, sizeof kind, "%s", kind_of(line));
    log_once->count++;
    for (uint32_t i = 0; i < log_once->kind_count; i++)
        if (strcmp(log_once->kinds[i], kind) == 0)
            return false;
    if (log_once->kind_count == LOG_ONCE_KINDS)
        return false;
    memcpy(log_once->kinds[log_once->kind_count++], kind, sizeof kind);
    return true;
}

uint64_t log_once_end(struct log_once *log_once)
{
    uint64_t count = log_once->count;
    *log_once = (struct log_once){0};
    return count;
}

/* status.c - formats the one line, and names every status. */

#include "common/base/status.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    if (error == NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    for (char *c = error->text; *c != '\0'; c++) /* Of a terminal's controls none, no new line. */
        if (iscntrl((unsigned char)*c))
            *c = *c == '\n' || *c == '\t' || *c == '\r' ? ' ' : '?';
        else if ((unsigned char)c[0] == 0xc2 && ((unsigned char)c[1] & 0xe0) == 0x80)
            c[0] = c[1] = '?'; /* U+0080 to U+009F, which some terminals obey, too. */
    return status;
}

const char *status_name(enum status status)
{
    static const char *const names[] = {
        [STATUS_OK] = "ok",
        [STATUS_AGAIN] = "try again",
        [STATUS_INVALID] = "invalid",
        [STATUS_MISMATCH] = "mismatch",
        [STATUS_NOT_FOUND] = "not found",
        [STATUS_EXISTS] = "exists",
        [STATUS_IO] = "input/output error",
        [STATUS_MEMORY] = "out of memory",
        [STATUS_UNREACHABLE] = "unreachable",
        [STATUS_TIMEOUT] = "timed out",
        [STATUS_REFUSED] = "refused",
        [STATUS_INTERRUPTED] = "interrupted",
        [STATUS_DIVERGED] = "not finite",
        [STATUS_LOST] = "lost",
        [STATUS_PROGRAM] = "program failed",
    };
    unsigned index = (unsigned)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

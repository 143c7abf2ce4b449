/* complaint.c - two complaints are of one kind when what stands behind their last colon is the
 * same. */

#include "common/process/complaint.h"

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

bool complaint_add(struct complaint *complaint, const char *line)
{
    char kind[sizeof *complaint->kinds];
    snprintf(kind, sizeof kind, "%s", kind_of(line));
    complaint->count++;
    for (uint32_t i = 0; i < complaint->kind_count; i++)
        if (strcmp(complaint->kinds[i], kind) == 0)
            return false;
    if (complaint->kind_count == COMPLAINT_KINDS)
        return false;
    memcpy(complaint->kinds[complaint->kind_count++], kind, sizeof kind);
    return true;
}

uint64_t complaint_end(struct complaint *complaint)
{
    uint64_t count = complaint->count;
    *complaint = (struct complaint){0};
    return count;
}

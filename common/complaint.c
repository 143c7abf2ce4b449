#include "common/complaint.h"

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
    char kind[sizeof complaint->kind];
    snprintf(kind, sizeof kind, "%s", kind_of(line));
    bool new = complaint->count == 0 || strcmp(kind, complaint->kind) != 0;
    memcpy(complaint->kind, kind, sizeof kind);
    complaint->count++;
    return new;
}

uint64_t complaint_end(struct complaint *complaint)
{
    uint64_t count = complaint->count;
    *complaint = (struct complaint){0};
    return count;
}

/* verdict.c - the names of verdicts, and sums of them. */

#include "common/job/verdict.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICT_COUNT] = {"none", "applied", "stale", "duplicate",
                                                     "rejected"};
    return (unsigned)verdict < VERDICT_COUNT ? names[verdict] : "none";
}

void verdict_counts_add(struct verdict_counts *to, const struct verdict_counts *from)
{
    figures_add(verdict_counts_rows(), to, from);
}

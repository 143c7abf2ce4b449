/* invariant.c - names the rule that is broken, and aborts. */

#include "common/base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

void invariant_broken(const char *core, const char *rule, const char *file, int line)
{
    fprintf(stderr, "%s: it is no more true that %s (%s:%d)\n", core, rule, file, line);
    abort();
}

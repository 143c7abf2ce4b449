/* wait.c - names. */

#include "common/base/wait.h"

const char *wait_name(enum wait wait)
{
    static const char *const names[WAIT_COUNT] = {"lease", "bound", "gate", "barrier"};
    return (unsigned)wait < WAIT_COUNT ? names[wait] : "nothing";
}

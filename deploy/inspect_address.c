#include "deploy/inspect_address.h"

int inspect_address(const char *address, double timeout, struct error *error)
{
    (void)timeout;
    error_set(error, STATUS_UNREACHABLE,
              "%s: running servers cannot be asked yet; inspect the run directory instead",
              address);
    return EXIT_CANNOT_OPEN;
}

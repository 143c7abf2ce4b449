/* transport.c - picks the best reason for an endpoint's silence: a refusal, then what silence
 * says. */

#include "common/transport/transport.h"

#include <stdio.h>

void transport_explain_silence(const struct transport *transport, struct endpoint *endpoint,
                               const char *address, char *text, size_t size)
{
    const struct transport_operations *operations = transport->operations;
    bool refused =
        operations->refusal != NULL && operations->refusal(endpoint, text, size) == STATUS_REFUSED;
    if (!refused && operations->silence != NULL)
        operations->silence(endpoint, text, size);
    else if (!refused)
        snprintf(text, size, "no answer from %s", address);
}

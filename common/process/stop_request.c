/* stop_request.c - the rule itself: which signal counts after which. */

#include "common/process/stop_request.h"

#include <signal.h>

enum stop_action stop_request_take(struct stop_request *request, int signal, double now)
{
    bool first = !request->made;
    request->made = true;
    if (signal == SIGHUP)
        return first ? STOP_CLEANLY : STOP_NO_NEWS;
    if (!request->insisted) {
        request->insisted = true;
        request->insisted_at = now;
        return first ? STOP_CLEANLY : STOP_NO_NEWS;
    }
    return now - request->insisted_at < SIGNALS_APART_SECONDS ? STOP_NO_NEWS : STOP_AT_ONCE;
}

/* extensions.c - the extensions of a server, in the order in which they hear. */

#include "ps/extension/extensions.h"

#include <stddef.h>

#include "ps/extension/scores.h"
#include "ps/extension/staleness.h"

const struct chunk_listener *const extensions[] = {&staleness_listener, &scores_listener, NULL};

/* message_line.h - a message as a line for people who look for what went wrong.
 *
 * Threads: pure. */

#ifndef DEPLOY_MESSAGE_LINE_H
#define DEPLOY_MESSAGE_LINE_H

#include <stddef.h>

#include "common/message.h"

/* "exchange g=1 t=4 r=17 chunk=2 step=5 [0,2) want=6" */
void message_line(const struct message *message, char *text, size_t size);

#endif

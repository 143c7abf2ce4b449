/* message_line.h - a whole message as one line of text.
 *
 *     exchange chunk=2 step=5 gradient leaf_count=2 examples=32 generation=1 request=17 ticket=4
 *     worker/1 incarnation=00c4...
 *
 * For debugging, and for deploy/engine/transcript.h: the line has the kind and every field that
 * differs from zero, by name and value, in an order of its own. Therefore different messages have
 * different lines, and a line does not depend on encodings or numbers of enumerations. Secrets and
 * pages are shown by their digest.
 *
 * The names and their order are those of common/wire/message_rows.inc.
 *
 * Threads: pure. */

#ifndef DEPLOY_ENGINE_MESSAGE_LINE_H
#define DEPLOY_ENGINE_MESSAGE_LINE_H

#include "common/wire/message_fields.h"

#define MESSAGE_LINE_MAX 4096

void message_line(const struct message *message, char text[MESSAGE_LINE_MAX]);

/* The fields alone, of these rows: " step=5 final". */
void message_line_fields(const struct message_field *rows, const void *of,
                         char text[MESSAGE_LINE_MAX]);

#endif

/* specimens.h - messages with all their fields filled in, made by the rows of message_fields.h, so that
 * a new message or field has them without a line here; and declarations that have every field
 * between them.
 *
 * Threads: pure. */

#ifndef TESTS_LIB_SPECIMENS_H
#define TESTS_LIB_SPECIMENS_H

#include "common/wire/message.h"

enum specimen {
    SPECIMEN_SMALLEST, /* Every field at its least; none there that need not be. */
    SPECIMEN_EXAMPLE,  /* Each with a value of its own that is not 0. */
    SPECIMEN_LARGEST,  /* Every field at its most. */
};

/* One that may travel. */
struct message specimen(enum message_kind kind, enum specimen how);

/* Of such a message what is zero. */
void specimen_fill(struct message *message, enum specimen how);

/* The caller frees it. */
struct job specimen_job(enum mode mode);

#endif

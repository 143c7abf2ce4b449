/* specimens.h - one of every message that travels, with all its fields filled in, each with a value
 * of its own; and declarations that have every field between them.
 *
 * For a new message, or a new field of one, a specimen here: test_wire_golden.c says when one
 * lacks.
 *
 * Threads: constant. */

#ifndef TESTS_LIB_SPECIMENS_H
#define TESTS_LIB_SPECIMENS_H

#include "common/wire/message.h"

struct specimen {
    const char *name; /* The kind's, or with a variant: "welcome", "welcome.worker". */
    struct message message;
};

/* NULL behind the last. */
const struct specimen *specimen_at(size_t index);

/* The caller frees it. */
struct job specimen_job(enum mode mode);

#endif

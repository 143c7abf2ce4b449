/* origin.h - the function that says something: HERE is the one that it stands in.
 *
 * Threads: constants. */

#ifndef COMMON_BASE_ORIGIN_H
#define COMMON_BASE_ORIGIN_H

struct origin {
    const char *file, *function; /* "ps/owner/owner.c", "take_gradient"; NULL: unknown. */
};

#define HERE ((struct origin){__FILE__, __func__})

#endif

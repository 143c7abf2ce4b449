/* place_of.h - what a place comes to, for tests that say an environment as lines.
 *
 *     place_is(&(struct place_request){.servers = 2}, "RANK=3\nWORLD_SIZE=4\n...",
 *              "worker/1 of 2 workers, 2 servers, from torchrun's variables (RANK=3)", "a:1,a:2");
 *     place_is_refused(&request, lines, "what is said");
 *
 * A request that says no index and no servers has both -1: place_asked() is one. */

#ifndef TESTS_LIB_PLACE_OF_H
#define TESTS_LIB_PLACE_OF_H

#include "deploy/place/place.h"

#define PLACE_LINES_MAX 64

struct place_request place_asked(void);

/* place_one_of_several with these lines as the environment. */
bool several_of(const char *lines, char said[PLACE_TEXT_MAX], bool *first);

/* place_find with these lines as the environment. */
enum status place_of(struct place *place, struct place_request request, const char *lines,
                     struct error *error);

/* It is described so, with these servers; NULL: with none. */
void place_is(struct place_request request, const char *lines, const char *described,
              const char *ps_hosts);

/* It is refused, and this is what is said. */
void place_is_refused(struct place_request request, const char *lines, const char *said);

#endif

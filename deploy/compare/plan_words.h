/* plan_words.h - replaces --plan FILE of a command line by the options of the file.
 *
 * The file's options precede the typed ones, and are left out where those override them. A typed
 * option, alone or in a --vary, replaces the file's, in its options as in its axes; the other
 * options of an axis stay. --steps replaces --epochs and the other way round; an --arm replaces
 * that of the same name. A named configuration's own options stay. The environment has the lowest
 * priority.
 *
 * Threads: no shared state. */

#ifndef DEPLOY_COMPARE_PLAN_WORDS_H
#define DEPLOY_COMPARE_PLAN_WORDS_H

#include "common/base/status.h"
#include "deploy/compare/plan.h"
#include "deploy/launcher/arguments.h"

/* argv[0] and all others, into words, which arguments_free frees in any case. Unchanged without a
 * plan, or when help is requested. Errors: as plan_read_file. */
enum status plan_words(struct arguments *words, int argc, char **argv, struct error *error);

#endif

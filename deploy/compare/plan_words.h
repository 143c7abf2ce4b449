/* plan_words.h - a command line with --plan FILE as one that says all that the file does.
 *
 * What the file says stands before what was typed, and is left out where that says otherwise: an option
 * that was typed, alone or in a --vary, takes the place of the file's, in its options as in its axes (of an
 * axis of several options the others stay); --steps that of --epochs, and the other way round; an --arm that of
 * the arm of the same name. What an arm says for itself stands. The environment is behind both.
 *
 * Threads: no shared state. */

#ifndef DEPLOY_COMPARE_PLAN_WORDS_H
#define DEPLOY_COMPARE_PLAN_WORDS_H

#include "common/base/status.h"
#include "deploy/compare/plan.h"
#include "deploy/launcher/arguments.h"

/* argv[0] and all others, into words, which arguments_free frees in any case. As they are when there is no
 * plan, or when help is asked for. Errors: as plan_read_file. */
enum status plan_words(struct arguments *words, int argc, char **argv, struct error *error);

/* The command that a plan stands for alone. STATUS_MEMORY. */
enum status plan_words_of(struct arguments *words, const struct plan *plan, struct error *error);

#endif

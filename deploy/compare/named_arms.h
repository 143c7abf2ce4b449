/* named_arms.h - arms that whoever asked has named, each with what it has that others have not:
 *
 *     --arm "slow-start=--mode async --learning-rate 0.01 --warmup-steps 100"
 *
 * Behind the first = stand options as on a command line, parted by blanks; what has blanks in it goes
 * between ' or ", and a backslash takes the meaning from what follows it. They may be any in which arms may
 * differ (settings_find_differing), and they stand over what is common to all arms.
 *
 * A name is part of a folder's: letters, digits and ._+-, at most NAMED_ARM_MAX of them, the first a letter
 * or a digit; long enough for what any arm is called by what it has (arms.h).
 *
 * Ownership: as settings; named_arms_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_NAMED_ARMS_H
#define DEPLOY_COMPARE_NAMED_ARMS_H

#include "deploy/answer/comparison.h"
#include "deploy/compare/settings.h"

#define NAMED_ARM_MAX  (ARM_TEXT_MAX - 2)
#define NAMED_ARMS_MAX OPTIONS_LIST_MAX

struct named_arm {
    char name[NAMED_ARM_MAX + 1];
    struct settings own;
};

struct named_arms {
    struct named_arm *list; /* [count], owned. */
    size_t count;
};

/* STATUS_INVALID: error names the arm, the option and what is wrong with it. named_arms_free in any case. */
enum status named_arms_read(struct named_arms *arms, const struct options *options,
                            struct error *error);
void named_arms_free(struct named_arms *arms);

/* One more, without options yet, which is borrowed until the next; NULL: error says what is wrong with its
 * name, without it, or that there is no memory. */
struct named_arm *named_arms_add(struct named_arms *arms, const char *name, struct error *error);
/* One more option of it, which errors call `source`: "--arm slow: --learning-rate". STATUS_INVALID: error
 * says what is wrong with the option or its value. STATUS_MEMORY. */
enum status named_arm_set(struct named_arm *arm, const struct option_row *row, const char *value,
                          const char *source, struct error *error);

/* What an option is called in an arm: "mode", for there is one. */
const char *named_arm_option(const struct option_row *row);

/* "--mode async --learning-rate 0.01" into text; cut, with "...", where it is longer. */
void named_arm_given(const struct named_arm *arm, char text[ARM_GIVEN_MAX]);
/* The whole as --arm has it, "slow-start=--mode=async --learning-rate=0.01": malloc'd; NULL without
 * memory. */
char *named_arm_text(const struct named_arm *arm);

/* How long the name is that begins a text of --arm; 0: there is none. */
size_t named_arm_name_length(const char *text);

#endif

/* options_text.h - what is said of programs and options, beside the table: for --help, the manual
 * and the completion of shells.
 *
 * Threads: constant. */

#ifndef COMMON_OPTIONS_OPTIONS_TEXT_H
#define COMMON_OPTIONS_OPTIONS_TEXT_H

#include "common/options/options_table.h"

#define OPTION_TEXT_MAX 600

/* What a program says about itself. */
struct program_text {
    enum option_user user;
    const char *arguments; /* After its name in the usage line; "[PAGE]" when it may be left out. */
    const char *operand;   /* What the argument that is no option is; NULL: there is none. */
    const char *brief;     /* Half a line. */
    const char *summary;   /* One paragraph. */
    const char *example;
};

const struct program_text *program_text(enum option_user user);

struct exit_text {
    int code;
    unsigned users; /* Who can end with it. */
    const char *meaning;
};

extern const struct exit_text exit_texts[];
extern const size_t exit_text_count;

extern const char *const option_group_titles[OPTION_GROUP_COUNT];

/* How options are set by the environment. */
extern const char *const options_environment_text;

/* What an option means, with its words, bounds and default. */
void option_describe(const struct option_row *row, char text[OPTION_TEXT_MAX]);

#endif

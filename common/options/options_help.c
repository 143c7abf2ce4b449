/* options_help.c - the --help of each program, out of the table, in lines of 80 characters. */

#include <string.h>

#include "common/base/wording.h"
#include "common/options/options_text.h"

#define HELP_INDENT 28

/* --- layout -------------------------------------------------------------------------------- */

static void print_row(FILE *out, const struct option_row *row)
{
    int column = fprintf(out, "  --%s%s%s", row->name, row->metavar != NULL ? " " : "",
                         row->metavar != NULL ? row->metavar : "");
    if (column >= HELP_INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_INDENT - column, "");
    char text[OPTION_TEXT_MAX];
    option_describe(row, text);
    wording_wrap(out, text, HELP_INDENT, HELP_INDENT);
}

static void print_group(FILE *out, enum option_user user, enum option_group group)
{
    bool titled = false;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->group != group || !(row->users & user))
            continue;
        if (!titled)
            fprintf(out, "\n%s:\n", option_group_titles[group]);
        titled = true;
        print_row(out, row);
    }
}

void options_help(FILE *out, enum option_user user, const char *program)
{
    const struct program_text *text = program_text(user);
    int column = fprintf(out, "Usage: %s", program);
    wording_wrap(out, text->arguments, column, 7);
    fputc('\n', out);
    wording_wrap(out, text->summary, 0, 0);
    for (int group = 0; group < OPTION_GROUP_COUNT; group++)
        print_group(out, user, (enum option_group)group);
    fprintf(out, "  %-*s%s\n", HELP_INDENT - 2, "--help", "Print this and exit.");
    fprintf(out, "  %-*s%s\n", HELP_INDENT - 2, "--version", "Print the version and exit.");
    fputs("\nEnvironment:\n  ", out);
    wording_wrap(out, options_environment_text, 2, 2);
    fputs("\nExit codes:\n", out);
    for (size_t i = 0; i < exit_text_count; i++)
        if (exit_texts[i].users & user)
            fprintf(out, "  %3d  %s\n", exit_texts[i].code, exit_texts[i].meaning);
    fprintf(out, "\nExample:\n%s\n", text->example);
}

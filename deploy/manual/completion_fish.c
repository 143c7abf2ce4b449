/* completion_fish.c - for fish, which has a line for every option. */

#include "deploy/manual/completion.h"

static const char head[] =
    "# fish completion for syncopate, syncopate-ps and syncopate-worker.\n"
    "# Made by syncopate completion fish from the table of options.\n"
    "\n"
    "# The last of what is being typed, behind its commas.\n"
    "function __syncopate_list\n"
    "    set -l before (string replace -r '[^,=]*$' '' -- (commandline -ct))\n"
    "    for word in $argv\n"
    "        echo (string replace -r '^--[^=]*=' '' -- $before)$word\n"
    "    end\n"
    "end\n"
    "\n"
    "for program in syncopate syncopate-ps syncopate-worker\n"
    "    complete -c $program -e\n"
    "    complete -c $program -f\n"
    "end\n";

/* "complete -c syncopate -n '__fish_seen_subcommand_from run'" */
static void put_condition(FILE *out, enum option_user user)
{
    const char *command = completion_command(user);
    fprintf(out, "complete -c %s", command != NULL ? "syncopate" : option_user_program(user));
    if (command != NULL)
        fprintf(out, " -n '__fish_seen_subcommand_from %s'", command);
}

/* What may stand there: words, or what fish knows of files. */
static void put_values(FILE *out, const struct completion *completion)
{
    const char *folders = completion->folders ? " (__fish_complete_directories)" : "";
    if (completion->files)
        fputs(" -F", out);
    if (completion->list)
        fprintf(out, " -a '(__syncopate_list %s)'", completion->words);
    else if (completion->words[0] || completion->folders)
        fprintf(out, " -a '%s%s'", completion->words, folders);
}

static void put_option(FILE *out, enum option_user user, const struct option_row *row)
{
    char brief[COMPLETION_BRIEF_MAX];
    bool value = row->kind != OPTION_KIND_FLAG;
    struct completion completion = completion_of_option(row);
    completion_brief(row, brief);
    put_condition(out, user);
    fprintf(out, " -l %s%s", row->name, !value ? "" : completion.files ? " -r" : " -x");
    if (value)
        put_values(out, &completion);
    fputs(" -d '", out);
    completion_quote(out, brief, "\\");
    fputs("'\n", out);
}

static void put_user(FILE *out, enum option_user user)
{
    fprintf(out, "\n# %s\n", option_user_program(user));
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].users & user)
            put_option(out, user, &option_rows[i]);
    put_condition(out, user);
    fputs(" -l help -d 'Print this and exit'\n", out);
    put_condition(out, user);
    fputs(" -l version -d 'Print the version and exit'\n", out);
    if (program_text(user)->operand != NULL) {
        struct completion completion = completion_of_operand(user);
        put_condition(out, user);
        put_values(out, &completion);
        fputc('\n', out);
    }
}

static void put_command(FILE *out, const char *condition, const char *command, const char *brief)
{
    fprintf(out, "complete -c syncopate -n '%s' -a %s -d '", condition, command);
    completion_quote(out, brief, "\\");
    fputs("'\n", out);
}

void completion_fish(FILE *out)
{
    fputs(head, out);
    fputs("\n# Commands\n", out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *command = completion_command((enum option_user)user);
        if (command == NULL)
            continue;
        put_command(out, "__fish_use_subcommand", command,
                    program_text((enum option_user)user)->brief);
        put_command(out, "__fish_seen_subcommand_from help", command,
                    program_text((enum option_user)user)->brief);
    }
    put_command(out, "__fish_use_subcommand", "help", "the options of one command");
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1)
        put_user(out, (enum option_user)user);
}

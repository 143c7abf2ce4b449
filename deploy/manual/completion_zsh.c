/* completion_zsh.c - for zsh's own completion system (compinit). */

#include "deploy/manual/completion.h"

#include <string.h>

static const char head[] =
    "#compdef syncopate syncopate-ps syncopate-worker\n"
    "# zsh completion, made by syncopate completion zsh from the table of options.\n"
    "\n"
    "# Words, and files or folders beside them.\n"
    "_syncopate_files() { compadd -- \"$@\"; _files }\n"
    "_syncopate_folders() { compadd -- \"$@\"; _files -/ }\n"
    "\n";

static const char tail[] =
    "_syncopate()\n"
    "{\n"
    "    local command=$words[2]\n"
    "    case $service in\n"
    "    syncopate-ps) _syncopate_program_ps; return ;;\n"
    "    syncopate-worker) _syncopate_program_worker; return ;;\n"
    "    esac\n"
    "    if (( CURRENT == 2 )) || [[ $CURRENT-$command = 3-help ]]; then\n"
    "        _describe command _syncopate_commands\n"
    "    elif (( $+functions[_syncopate_command_$command] )); then\n"
    "        shift words\n"
    "        (( CURRENT-- ))\n"
    "        _syncopate_command_$command\n"
    "    fi\n"
    "}\n"
    "\n"
    "# As a file of $fpath this is the function; read with source it says what it is for.\n"
    "if [[ ${funcstack[1]-} = _syncopate ]]; then\n"
    "    _syncopate \"$@\"\n"
    "else\n"
    "    compdef _syncopate syncopate syncopate-ps syncopate-worker\n"
    "fi\n";

/* A colon in a word would end it for _arguments. */
static void put_words(FILE *out, const char *words)
{
    completion_quote(out, words, ":\\");
}

/* ":DIR:_files -/", the message and the action of a value. */
static void put_action(FILE *out, const char *message, const struct completion *completion)
{
    fputc(':', out);
    completion_quote(out, message, ":\\");
    fputc(':', out);
    if (completion->list) {
        fputs("_sequence -s , compadd - ", out);
        put_words(out, completion->words);
    } else if (completion->words[0] && (completion->files || completion->folders)) {
        fprintf(out, " _syncopate_%s %s", completion->files ? "files" : "folders",
                completion->words);
    } else if (completion->words[0]) {
        fputc('(', out);
        put_words(out, completion->words);
        fputc(')', out);
    } else if (completion->files || completion->folders) {
        fputs(completion->files ? "_files" : "_files -/", out);
    } else {
        fputc(' ', out); /* Nothing that could be offered. */
    }
}

static void put_option(FILE *out, const struct option_row *row)
{
    char brief[COMPLETION_BRIEF_MAX];
    bool value = row->kind != OPTION_KIND_FLAG;
    completion_brief(row, brief);
    fprintf(out, "        '--%s%s[", row->name, value ? "=" : "");
    completion_quote(out, brief, "[]\\");
    fputc(']', out);
    if (value) {
        struct completion completion = completion_of_option(row);
        put_action(out, row->metavar, &completion);
    }
    fputs("' \\\n", out);
}

static void put_function(FILE *out, enum option_user user)
{
    const char *command = completion_command(user);
    fprintf(out, "_syncopate_%s_%s()\n{\n    _arguments \\\n",
            command != NULL ? "command" : "program",
            command != NULL ? command : option_user_program(user) + strlen("syncopate-"));
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].users & user)
            put_option(out, &option_rows[i]);
    if (program_text(user)->operand != NULL) {
        struct completion completion = completion_of_operand(user);
        fputs("        '1", out);
        put_action(out, program_text(user)->operand, &completion);
        fputs("' \\\n", out);
    }
    fputs("        '--help[Print this and exit]' \\\n"
          "        '--version[Print the version and exit]'\n}\n\n",
          out);
}

static void put_commands(FILE *out)
{
    fputs("_syncopate_commands=(\n", out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *command = completion_command((enum option_user)user);
        if (command == NULL)
            continue;
        fprintf(out, "    '%s:", command);
        completion_quote(out, program_text((enum option_user)user)->brief, ":\\");
        fputs("'\n", out);
    }
    fputs("    'help:the options of one command'\n)\n\n", out);
}

void completion_zsh(FILE *out)
{
    fputs(head, out);
    put_commands(out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1)
        put_function(out, (enum option_user)user);
    fputs(tail, out);
}

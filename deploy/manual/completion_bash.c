/* completion_bash.c - for bash 4 and later, without the package bash-completion. */

#include "deploy/manual/completion.h"

static const char head[] = "# bash completion for syncopate, syncopate-ps and syncopate-worker.\n"
                           "# Made by syncopate completion bash from the table of options.\n"
                           "\n";

static const char tail[] =
    "# _syncopate_offer KIND WORD...: what of that goes on from what is typed.\n"
    "_syncopate_offer()\n"
    "{\n"
    "    local kind=$1 before=\n"
    "    shift\n"
    "    if [ \"$kind\" = list ] && [[ $word == *,* ]]; then\n"
    "        before=${word%,*},\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$*\" -- \"${word#\"$before\"}\")\n"
    "    case $kind in\n"
    "    files) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    folders) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "    *) return 0 ;;\n"
    "    esac\n"
    "    compopt -o filenames 2>/dev/null || true # Only while completing.\n"
    "}\n"
    "\n"
    "_syncopate()\n"
    "{\n"
    "    local program=${COMP_WORDS[0]##*/} word=${COMP_WORDS[COMP_CWORD]}\n"
    "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if [ \"$program\" = syncopate ]; then\n"
    "        case $COMP_CWORD-$before in\n"
    "        1-*) _syncopate_offer words \"${_syncopate_commands[@]}\" help --help --version; "
    "return ;;\n"
    "        2-help) _syncopate_offer words \"${_syncopate_commands[@]}\"; return ;;\n"
    "        esac\n"
    "        program=\"syncopate ${COMP_WORDS[1]}\"\n"
    "    fi\n"
    "    # Where bash cuts words at \"=\": \"--mode\" \"=\" \"sy\".\n"
    "    if [ \"$word\" = = ]; then\n"
    "        word=\n"
    "    elif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    _syncopate_value \"${before//_/-}\" || _syncopate_argument\n"
    "}\n"
    "\n"
    "complete -F _syncopate syncopate syncopate-ps syncopate-worker\n";

static void put_commands(FILE *out)
{
    fputs("_syncopate_commands=(", out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *command = completion_command((enum option_user)user);
        if (command != NULL)
            fprintf(out, "%s%s", user > OPTION_RUN ? " " : "", command);
    }
    fputs(")\n\n", out);
}

static void put_offer(FILE *out, const struct completion *completion)
{
    fprintf(out, "_syncopate_offer %s %s ;;\n",
            completion->list      ? "list"
            : completion->files   ? "files"
            : completion->folders ? "folders"
                                  : "words",
            completion->words);
}

/* Behind an option that takes a value only that can stand. */
static void put_values(FILE *out, enum option_user user)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!(row->users & user) || row->kind == OPTION_KIND_FLAG)
            continue;
        struct completion completion = completion_of_option(row);
        fprintf(out, "    '%s:--%s') ", option_user_program(user), row->name);
        put_offer(out, &completion);
    }
}

static void put_options(FILE *out, enum option_user user)
{
    fprintf(out, "    '%s:-'*)\n        _syncopate_offer words", option_user_program(user));
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].users & user)
            fprintf(out, " --%s", option_rows[i].name);
    fputs(" --help --version ;;\n", out);
}

static void put_operand(FILE *out, enum option_user user)
{
    struct completion completion = completion_of_operand(user);
    fprintf(out, "    '%s:'*) ", option_user_program(user));
    put_offer(out, &completion);
}

void completion_bash(FILE *out)
{
    fputs(head, out);
    put_commands(out);
    fputs("_syncopate_value() # OPTION: what may stand behind it, if it takes anything\n{\n"
          "    case $program:$1 in\n",
          out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1)
        put_values(out, (enum option_user)user);
    fputs("    *) return 1 ;;\n    esac\n}\n\n"
          "_syncopate_argument() # an option, or what else may stand there\n{\n"
          "    case $program:$word in\n",
          out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        put_options(out, (enum option_user)user);
        put_operand(out, (enum option_user)user);
    }
    fputs("    esac\n}\n\n", out);
    fputs(tail, out);
}

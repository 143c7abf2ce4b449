/* completion.c - finds the completions at the cursor, and has the shells' scripts. */

#include "deploy/manual/completion.h"

#include <ctype.h>
#include <string.h>

#include "deploy/manual/manual.h"

#define BRIEF_MAX 80

/* --- the scripts ---------------------------------------------------------------------------------
 * bash needs no package bash-completion. The command is the one beside the typed program. */

static const char bash[] =
    "# bash completion for syncopate, syncopate-ps and syncopate-worker.\n"
    "_syncopate()\n"
    "{\n"
    "    local line kind= word=${COMP_WORDS[COMP_CWORD]#=} "
    "program=${COMP_WORDS[0]/#\\~\\//$HOME/}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :*) kind=$line ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(command \"${program%syncopate*}syncopate\" __complete "
    "\"${COMP_WORDS[@]:0:COMP_CWORD+1}\" 2>/dev/null)\n"
    "    case $kind in\n"
    "    :files) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    :folders) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "    *) return 0 ;;\n"
    "    esac\n"
    "    compopt -o filenames 2>/dev/null || true # Only while completing.\n"
    "}\n"
    "complete -F _syncopate syncopate syncopate-ps syncopate-worker\n";

static const char zsh[] =
    "#compdef syncopate syncopate-ps syncopate-worker\n"
    "_syncopate()\n"
    "{\n"
    "    local line kind program=${words[1]/#\\~\\//$HOME/}\n"
    "    local -a found\n"
    "    for line in ${(f)\"$(command \"${program%syncopate*}syncopate\" __complete "
    "\"${(@)words[1,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)\"}; do\n"
    "        case $line in\n"
    "        :*) kind=$line ;;\n"
    "        *) found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ! $#found )) || _describe argument found\n"
    "    [[ -z $kind ]] || compset -P '--*=' || true\n"
    "    case $kind in\n"
    "    :files) _files ;;\n"
    "    :folders) _files -/ ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# As a file of $fpath this is the function; read with source it says what it is for.\n"
    "if [[ ${funcstack[1]-} = _syncopate ]]; then\n"
    "    _syncopate \"$@\"\n"
    "else\n"
    "    compdef _syncopate syncopate syncopate-ps syncopate-worker\n"
    "fi\n";

static const char fish[] =
    "# fish completion for syncopate, syncopate-ps and syncopate-worker.\n"
    "function __syncopate\n"
    "    set -l words (commandline -opc)\n"
    "    set -l typed (commandline -ct)\n"
    "    set -l before (string match -r '^--[^=]*=' -- $typed)\n"
    "    set -l program (string replace -r 'syncopate[^/]*$' syncopate -- $words[1])\n"
    "    for line in (command $program __complete $words \"$typed\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':*'\n"
    "                for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "
    "\"$typed\"))\n"
    "                    test $line = :files; or string match -q '*/*' -- $path; and echo "
    "\"$before$path\"\n"
    "                end\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "for program in syncopate syncopate-ps syncopate-worker\n"
    "    complete -c $program -e\n"
    "    complete -c $program -f -a '(__syncopate)'\n"
    "end\n";

bool completion_write(FILE *out, const char *shell)
{
    const char *script = strcmp(shell, "bash") == 0   ? bash
                         : strcmp(shell, "zsh") == 0  ? zsh
                         : strcmp(shell, "fish") == 0 ? fish
                                                      : NULL;
    if (script != NULL)
        fputs(script, out);
    return script != NULL;
}

/* --- completions ------------------------------------------------------------------------------ */

/* The first sentence of an option's help, cut where it gets long. */
static void write_brief(const struct option_row *row, char text[BRIEF_MAX])
{
    const char *end = strstr(row->help, ". ");
    size_t length = end != NULL ? (size_t)(end - row->help) : strlen(row->help);
    if (end == NULL && length > 0 && row->help[length - 1] == '.')
        length--;
    if (length >= BRIEF_MAX) { /* After a whole word, with room for the dots. */
        length = BRIEF_MAX - 4;
        while (length > 0 && row->help[length] != ' ')
            length--;
        snprintf(text, BRIEF_MAX, "%.*s...", (int)length, row->help);
    } else {
        snprintf(text, BRIEF_MAX, "%.*s", (int)length, row->help);
    }
}

/* The typed text: `fixed` bytes that stay, "--modes=sync,", and the beginning of a word. */
struct typed {
    FILE *out;
    const char *text;
    size_t fixed;
};

/* Offer dashes and the first `length` bytes of word, if it extends the typed text. */
static void offer(const struct typed *typed, const char *dashes, const char *word, size_t length,
                  const char *brief)
{
    const char *rest = typed->text + typed->fixed;
    size_t dashed = strlen(dashes), begun = strlen(rest);
    if (begun < dashed ? strncmp(dashes, rest, begun) != 0
                       : strncmp(dashes, rest, dashed) != 0 || begun - dashed > length ||
                             strncmp(word, rest + dashed, begun - dashed) != 0)
        return;
    fprintf(typed->out, "%.*s%s%.*s\t%s\n", (int)typed->fixed, typed->text, dashes, (int)length,
            word, brief);
}

/* The placeholder of a value tells its kind: DIR, FILE, "auto|never|PATH". */
static void offer_paths(FILE *out, const char *metavar)
{
    if (strstr(metavar, "PATH") != NULL || strstr(metavar, "FILE") != NULL)
        fputs(":files\n", out);
    else if (strstr(metavar, "DIR") != NULL || strcmp(metavar, "DATA") == 0)
        fputs(":folders\n", out);
}

static void offer_value(struct typed typed, const struct option_row *row)
{
    const struct option_choice *choice = row->choice;
    const char *comma = strrchr(typed.text, ','), *word;
    if (choice != NULL && choice->check != NULL && comma != NULL) /* A list of such words. */
        typed.fixed = (size_t)(comma - typed.text) + 1;
    const char *(*words)(unsigned) = choice == NULL         ? NULL
                                     : choice->word != NULL ? choice->word
                                                            : choice->known;
    for (unsigned i = 0; words != NULL && (word = words(i)) != NULL; i++)
        offer(&typed, "", word, strlen(word), "");
    offer_paths(typed.out, row->metavar);
}

static void offer_options(const struct typed *typed, enum option_user user)
{
    char brief[BRIEF_MAX];
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!(row->users & user))
            continue;
        write_brief(row, brief);
        offer(typed, "--", row->name, strlen(row->name), brief);
    }
    offer(typed, "--", "help", 4, "Print this and exit");
    offer(typed, "--", "version", 7, "Print the version and exit");
}

static void offer_operand(const struct typed *typed, enum option_user user)
{
    const char *arguments = program_text(user)->arguments;
    char page[MANUAL_NAME_MAX];
    for (const char *c = arguments; islower((unsigned char)*c);) { /* bash|zsh|fish */
        size_t length = strcspn(c, "|");
        offer(typed, "", c, length, "");
        c += length + (c[length] == '|');
    }
    for (size_t i = 0; user == OPTION_MAN && manual_page(i, page); i++)
        offer(typed, "", page, strlen(page), "");
    offer_paths(typed->out, arguments);
}

/* "run" of a command's user; NULL for a program, which has options at once. */
static const char *command_of(unsigned user)
{
    const char *blank = strchr(option_user_program((enum option_user)user), ' ');
    return blank != NULL ? blank + 1 : NULL;
}

static void offer_commands(const struct typed *typed)
{
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *command = command_of(user);
        if (command != NULL)
            offer(typed, "", command, strlen(command), program_text((enum option_user)user)->brief);
    }
}

/* The user of this command, or of this program where `command` is NULL; 0: none. */
static unsigned user_of(const char *program, const char *command)
{
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *its = command_of(user);
        if (command != NULL
                ? its != NULL && strcmp(its, command) == 0
                : its == NULL && strcmp(option_user_program((enum option_user)user), program) == 0)
            return user;
    }
    return 0;
}

/* The option "--NAME" of text, of which `length` bytes count, if it takes a value; or NULL. */
static const struct option_row *valued(unsigned user, const char *text, size_t length)
{
    const struct option_row *row = NULL;
    if (length > 2 && strncmp(text, "--", 2) == 0)
        row = option_find(user, text + 2, length - 2);
    return row != NULL && row->kind != OPTION_KIND_FLAG ? row : NULL;
}

static void offer_argument(struct typed typed, enum option_user user, const char *before)
{
    size_t equals = strcspn(typed.text, "=");
    const struct option_row *row = valued(user, before, strlen(before));
    if (row == NULL && typed.text[equals] == '=' &&
        (row = valued(user, typed.text, equals)) != NULL)
        typed.fixed = equals + 1;
    if (row != NULL)
        offer_value(typed, row);
    else if (typed.text[0] == '-')
        offer_options(&typed, user);
    else
        offer_operand(&typed, user);
}

void completion_offer(FILE *out, int count, char *const *words)
{
    const char *slash = strrchr(words[0], '/');
    const char *program = slash != NULL ? slash + 1 : words[0];
    bool hand = strcmp(program, "syncopate") == 0;
    int last = count - 1;
    struct typed typed = {.out = out, .text = words[last]};
    if (last == 0)
        return;
    if (hand && (last == 1 || (last == 2 && strcmp(words[1], "help") == 0))) {
        offer_commands(&typed);
        if (last == 1) {
            offer(&typed, "", "help", 4, "the options of one command");
            offer(&typed, "--", "help", 4, "");
            offer(&typed, "--", "version", 7, "");
        }
        return;
    }
    unsigned user = user_of(program, hand ? words[1] : NULL);
    if (user == 0)
        return;
    if (strcmp(typed.text, "=") == 0)
        typed.text = "";
    else if (strcmp(words[last - 1], "=") == 0)
        last--;
    offer_argument(typed, (enum option_user)user, words[last - 1]);
}

/* completion.c - derives from each option's row what may stand behind it, and hands that to one
 * writer for each shell. */

#include "deploy/manual/completion.h"

#include <ctype.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/manual/manual.h"

static void add_word(struct completion *completion, const char *word, size_t length)
{
    char *words = completion->words;
    if (strlen(words) + length + 2 <= sizeof completion->words)
        wording_append(words, sizeof completion->words, "%s%.*s", words[0] != '\0' ? " " : "",
                       (int)length, word);
}

/* What the word that stands for a value says of it: DIR, FILE, "auto|never|PATH". */
static void look_at_metavar(struct completion *completion, const char *metavar)
{
    completion->files = strstr(metavar, "PATH") != NULL || strstr(metavar, "FILE") != NULL;
    completion->folders = strstr(metavar, "DIR") != NULL || strcmp(metavar, "DATA") == 0;
}

struct completion completion_of_option(const struct option_row *row)
{
    struct completion completion = {.words = ""};
    const struct option_choice *choice = row->choice;
    const char *word;
    if (row->metavar == NULL)
        return completion;
    look_at_metavar(&completion, row->metavar);
    if (choice == NULL || (choice->word == NULL && choice->known == NULL))
        return completion;
    completion.list = choice->check != NULL;
    for (unsigned i = 0; (word = (choice->word != NULL ? choice->word : choice->known)(i)) != NULL;
         i++)
        add_word(&completion, word, strlen(word));
    return completion;
}

struct completion completion_of_operand(enum option_user user)
{
    struct completion completion = {.words = ""};
    const char *arguments = program_text(user)->arguments;
    char page[MANUAL_NAME_MAX];
    look_at_metavar(&completion, arguments);
    for (const char *c = arguments; islower((unsigned char)*c);) { /* bash|zsh|fish */
        size_t length = strcspn(c, "|");
        add_word(&completion, c, length);
        c += length + (c[length] == '|');
    }
    for (size_t i = 0; user == OPTION_MAN && manual_page(i, page); i++)
        add_word(&completion, page, strlen(page));
    return completion;
}

void completion_brief(const struct option_row *row, char text[COMPLETION_BRIEF_MAX])
{
    const char *end = strstr(row->help, ". ");
    size_t length = end != NULL ? (size_t)(end - row->help) : strlen(row->help);
    if (end == NULL && length > 0 && row->help[length - 1] == '.')
        length--;
    if (length >= COMPLETION_BRIEF_MAX) { /* After a whole word, with room for the dots. */
        length = COMPLETION_BRIEF_MAX - 4;
        while (length > 0 && row->help[length] != ' ')
            length--;
        snprintf(text, COMPLETION_BRIEF_MAX, "%.*s...", (int)length, row->help);
    } else {
        snprintf(text, COMPLETION_BRIEF_MAX, "%.*s", (int)length, row->help);
    }
}

const char *completion_command(enum option_user user)
{
    const char *blank = strchr(option_user_program(user), ' ');
    return blank != NULL ? blank + 1 : NULL;
}

void completion_quote(FILE *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out); /* Out of the apostrophes, one, and in again. */
        else if (strchr(escaped, *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}

bool completion_write(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        completion_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        completion_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        completion_fish(out);
    else
        return false;
    return true;
}

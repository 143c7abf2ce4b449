/* test_completion.c - what is offered at the cursor of a command line. */

#include "deploy/manual/completion.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

/* The words that are offered for a line, with a blank behind each; "|" in it is the cursor's empty word. */
static const char *offered(const char *line)
{
    static char found[16384];
    char copy[256], *words[16], *state, *text = NULL;
    size_t bytes = 0;
    int count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &state); word != NULL; word = strtok_r(NULL, " ", &state))
        words[count++] = strcmp(word, "|") == 0 ? word + 1 : word;
    FILE *out = open_memstream(&text, &bytes);
    completion_offer(out, count, words);
    fclose(out);
    found[0] = '\0';
    for (char *row = strtok_r(text, "\n", &state); row != NULL; row = strtok_r(NULL, "\n", &state))
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s ",
                 (int)strcspn(row, "\t"), row);
    free(text);
    return found;
}

TEST_PLAIN(commands_are_offered_and_what_goes_on_from_what_is_typed)
{
    ck_assert_str_eq(offered("syncopate com"), "compare completion ");
    ck_assert_str_eq(offered("/usr/bin/syncopate help ex"), "export ");
    ck_assert_str_eq(offered("syncopate he"), "help ");
    ck_assert_str_eq(offered("syncopate --v"), "--version ");
    ck_assert_str_eq(offered("syncopate nothing |"), "");
    ck_assert_str_eq(offered("other |"), "");
    ck_assert_str_eq(offered("syncopate"), "");
}

TEST_PLAIN(options_are_offered_of_their_program)
{
    ck_assert_str_eq(offered("syncopate run --mo"), "--model --mode --momentum ");
    ck_assert_str_eq(offered("syncopate-ps --on-w"), "--on-worker-loss ");
    ck_assert_str_eq(offered("syncopate-ps --versio"), "--version ");
    ck_assert_ptr_nonnull(strstr(offered("syncopate run -"), "--epochs "));
}

TEST_PLAIN(words_of_a_choice_are_offered)
{
    ck_assert_str_eq(offered("syncopate run --mode |"), "sync async ssp:S allreduce ");
    ck_assert_str_eq(offered("syncopate compare --modes sync,as"), "sync,async ");
    ck_assert_str_eq(offered("syncopate run --mode=s"), "--mode=sync --mode=ssp:S ");
    ck_assert_str_eq(offered("syncopate compare --modes=sync,as"), "--modes=sync,async ");
    ck_assert_str_eq(offered("syncopate run --mode = s"), "sync ssp:S ");
    ck_assert_str_eq(offered("syncopate run --mode ="), "sync async ssp:S allreduce ");
}

TEST_PLAIN(files_and_folders_are_offered_where_a_path_is_expected)
{
    ck_assert_str_eq(offered("syncopate run --out |"), ":folders ");
    ck_assert_str_eq(offered("syncopate export --out=x"), ":files ");
    ck_assert_str_eq(offered("syncopate run --restore |"), "auto never :files ");
    ck_assert_str_eq(offered("syncopate run --data |"), "fashion-mnist synthetic :folders ");
    ck_assert_str_eq(offered("syncopate evaluate |"), ":files ");
}

TEST_PLAIN(nothing_is_offered_for_a_number_and_an_operand_behind_a_flag)
{
    ck_assert_str_eq(offered("syncopate run --epochs |"), "");
    ck_assert_str_eq(offered("syncopate-worker --learning-rate |"), "");
    ck_assert_str_eq(offered("syncopate completion --quiet |"), "bash zsh fish ");
    ck_assert_ptr_nonnull(strstr(offered("syncopate man |"), "syncopate-worker "));
}

TEST_PLAIN(what_is_said_of_an_option_is_short_and_whole_words)
{
    char program[] = "syncopate", command[] = "run", dashes[] = "--";
    char *const words[] = {program, command, dashes};
    char *text = NULL, *state;
    size_t bytes = 0, count = 0;
    FILE *out = open_memstream(&text, &bytes);
    completion_offer(out, 3, words);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state), count++) {
        char *brief = strchr(line, '\t') + 1;
        size_t length = strlen(brief);
        ck_assert(length > 0 && length < 80);
        ck_assert(brief[length - 1] != '.' || strcmp(brief + length - 3, "...") == 0);
        brief[-1] = '\0';
        const struct option_row *row = option_find(OPTION_RUN, line + 2, strlen(line + 2));
        if (row != NULL)
            ck_assert_int_eq(strncmp(brief, row->help, length < 4 ? length : length - 3), 0);
    }
    ck_assert_uint_gt(count, 50);
    free(text);
}

int main(void)
{
    return suite_run("completion", NULL);
}

/* test_completion.c - words that a shell offers, for every kind of option. */

#include "deploy/manual/completion.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct completion of(enum option_user user, const char *name)
{
    const struct option_row *row = option_find(user, name, strlen(name));
    ck_assert_ptr_nonnull(row);
    return completion_of_option(row);
}

TEST_PLAIN(words_of_a_choice_are_offered)
{
    struct completion mode = of(OPTION_RUN, "mode"), modes = of(OPTION_COMPARE, "modes");
    ck_assert_str_eq(mode.words, "sync async ssp:S allreduce");
    ck_assert(!mode.list && !mode.files && !mode.folders);
    ck_assert_str_eq(modes.words, "sync async ssp:S allreduce");
    ck_assert(modes.list);
}

TEST_PLAIN(files_and_folders_are_offered_where_a_path_is_expected)
{
    ck_assert(of(OPTION_RUN, "out").folders && !of(OPTION_RUN, "out").files);
    ck_assert(of(OPTION_EXPORT, "out").files && !of(OPTION_EXPORT, "out").folders);
    ck_assert(of(OPTION_PS, "keys").folders);
    ck_assert(of(OPTION_PS, "port-file").files);
    struct completion restore = of(OPTION_RUN, "restore"), data = of(OPTION_RUN, "data");
    ck_assert(restore.files);
    ck_assert_str_eq(restore.words, "auto never");
    ck_assert(data.folders);
    ck_assert_str_eq(data.words, "fashion-mnist synthetic");
    ck_assert(completion_of_operand(OPTION_EVALUATE).files);
}

TEST_PLAIN(nothing_is_offered_for_a_number_or_a_flag)
{
    static const char *const names[] = {"epochs", "quiet", "learning-rate", "worker-timeout"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct completion completion = of(OPTION_RUN, names[i]);
        ck_assert_str_eq(completion.words, "");
        ck_assert(!completion.files && !completion.folders && !completion.list);
    }
}

TEST_PLAIN(an_argument_that_is_no_option_may_be_a_word)
{
    ck_assert_str_eq(completion_of_operand(OPTION_COMPLETION).words, "bash zsh fish");
    ck_assert_ptr_nonnull(strstr(completion_of_operand(OPTION_MAN).words, "syncopate-worker"));
}

TEST_PLAIN(what_is_said_of_an_option_is_short_and_whole_words)
{
    for (size_t i = 0; i < option_row_count; i++) {
        char brief[COMPLETION_BRIEF_MAX];
        completion_brief(&option_rows[i], brief);
        size_t length = strlen(brief);
        ck_assert_uint_gt(length, 0);
        ck_assert_int_eq(strncmp(brief, option_rows[i].help, length < 4 ? length : length - 3), 0);
        ck_assert(brief[length - 1] != '.' || strcmp(brief + length - 3, "...") == 0);
    }
}

TEST_PLAIN(apostrophes_and_what_is_named_are_escaped)
{
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    completion_quote(out, "a's [b]", "[]");
    fclose(out);
    ck_assert_str_eq(text, "a'\\''s \\[b\\]");
}

TEST_PLAIN(there_are_scripts_for_three_shells)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < 3; i++)
        ck_assert(completion_write(out, shells[i]));
    ck_assert(!completion_write(out, "tcsh"));
    fclose(out);
    ck_assert_uint_gt(bytes, 10000);
    free(text);
}

int main(void)
{
    return suite_run("completion", NULL);
}

/* test_spelling.c - which known word is meant by one that is misspelt, and when none is. */

#include "common/base/spelling.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static const char *nearest(const char *word, const char *const *candidates, size_t count)
{
    struct spelling spelling;
    spelling_begin(&spelling, word);
    for (size_t i = 0; i < count; i++)
        spelling_try(&spelling, candidates[i]);
    return spelling.nearest;
}

#define NEAREST(word, words) nearest(word, words, sizeof(words) / sizeof *(words))

TEST_PLAIN(a_slip_of_the_fingers_is_near)
{
    static const char *const modes[] = {"sync", "async"};
    ck_assert_str_eq(NEAREST("asnyc", modes), "async");
    ck_assert_str_eq(NEAREST("ssync", modes), "sync");
    ck_assert_str_eq(NEAREST("SYNC", modes), "sync");
    ck_assert_str_eq(NEAREST("syn", modes), "sync");
    static const char *const options[] = {"workers", "learning-rate", "worker-batch", "seed"};
    ck_assert_str_eq(NEAREST("wrokers", options), "workers");
    ck_assert_str_eq(NEAREST("wrokesr", options), "workers");
    ck_assert_str_eq(NEAREST("leraning_rate", options), "learning-rate");
    ck_assert_str_eq(NEAREST("sede", options), "seed");
}

TEST_PLAIN(a_part_is_near_and_the_larger_one_nearer)
{
    static const char *const modes[] = {"sync", "async"};
    ck_assert_str_eq(NEAREST("synchronous", modes), "sync");
    ck_assert_str_eq(NEAREST("asynchronous", modes), "async");
    static const char *const data[] = {"synthetic", "fashion-mnist"};
    ck_assert_str_eq(NEAREST("mnist", data), "fashion-mnist");
    static const char *const both[] = {"checkpoint-every", "point"};
    ck_assert_str_eq(NEAREST("pint", both), "point"); /* Letters decide first. */
    static const char *const same[] = {"point", "checkpoint-every"};
    ck_assert_str_eq(NEAREST("pint", same), "point");
}

TEST_PLAIN(what_is_far_is_not_named)
{
    static const char *const words[] = {"ps", "mode", "seed", "out"};
    ck_assert_ptr_null(NEAREST("gpu", words));
    ck_assert_ptr_null(NEAREST("q", words));
    ck_assert_ptr_null(NEAREST("", words));
    ck_assert_ptr_null(NEAREST("xyzzyxyzzy", words));
    char *endless = malloc(5001); /* Only the beginning counts. */
    memset(endless, 'm', 5000);
    endless[5000] = '\0';
    ck_assert_ptr_null(NEAREST(endless, words));
    free(endless);
}

TEST_PLAIN(the_hint_is_a_question_or_nothing)
{
    char hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    spelling_begin(&spelling, "wrokers");
    ck_assert_str_eq(spelling_hint(&spelling, "--", hint), "");
    spelling_try(&spelling, "workers");
    ck_assert_str_eq(spelling_hint(&spelling, "--", hint), " (did you mean --workers?)");
}

TEST_PLAIN(case_and_underscores_make_no_other_word)
{
    ck_assert(spelling_same("Adam", "adam"));
    ck_assert(spelling_same("global_batch", "Global-Batch"));
    ck_assert(spelling_same("", ""));
    ck_assert(!spelling_same("adam", "adamw"));
    ck_assert(!spelling_same("adamw", "adam"));
    ck_assert(!spelling_same("adam", ""));
}

int main(void)
{
    return suite_run("spelling", NULL);
}

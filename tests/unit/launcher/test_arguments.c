/* test_arguments.c - what a process is told that takes another's place: what was given, and no more. */

#include "deploy/launcher/arguments.h"

#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "tests/lib/suite.h"

#define WORDS_MAX 32

/* What one of them is told, with blanks between, when task was given this. */
static const char *told(enum option_user user, bool alone, const char *line)
{
    static char text[1024];
    char buffer[512], *argv[WORDS_MAX + 1];
    struct options options;
    struct arguments arguments;
    struct error error;
    int argc = 0;
    snprintf(buffer, sizeof buffer, "task %s", line);
    for (char *word = strtok(buffer, " "); word != NULL && argc < WORDS_MAX;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    ck_assert_msg(options_parse(&options, OPTION_TASK, "task", argc, argv, &error) == OPTIONS_RUN,
                  "%s", error.text);
    arguments_init(&arguments, "program");
    arguments_add_given(&arguments, &options, OPTION_TASK, user, alone);
    text[0] = '\0';
    for (size_t i = 1; i < arguments.count; i++)
        wording_append(text, sizeof text, "%s%s", i > 1 ? " " : "", arguments.items[i]);
    arguments_free(&arguments);
    return text;
}

TEST_PLAIN(only_what_was_given_is_handed_on)
{
    ck_assert_str_eq(told(OPTION_WORKER, false, ""), "");
    ck_assert_str_eq(told(OPTION_PS, false, ""), "");
    ck_assert_str_eq(told(OPTION_WORKER, false, "--epochs 10 --quiet"), "--epochs=10 --quiet=true");
    ck_assert_str_eq(told(OPTION_PS, false, "--epochs 10 --quiet=false --owner-threads 0"),
                     "--owner-threads=0");
    ck_assert_str_eq(told(OPTION_WORKER, false, "--mode ssp:3 --on-term leave"),
                     "--mode=ssp:3 --on-term=leave");
}

TEST_PLAIN(its_place_is_told_otherwise)
{
    ck_assert_str_eq(told(OPTION_WORKER, false,
                          "--ps 2 --workers 3 --ps-hosts a:1,b:1 --worker-hosts c:1,d:1,e:1 "
                          "--job-name worker --task-index 1 --cluster-from none"),
                     "");
}

TEST_PLAIN(files_are_for_servers_and_for_who_is_alone)
{
    const char *line = "--out x --restore never --keep 2";
    ck_assert_str_eq(told(OPTION_PS, false, line), "--out=x --restore=never --keep=2");
    ck_assert_str_eq(told(OPTION_WORKER, false, line), "");
    ck_assert_str_eq(told(OPTION_WORKER, true, line), "--out=x --restore=never --keep=2");
    ck_assert_str_eq(told(OPTION_EVALUATE, false, "--out x --data synthetic:9 --epochs 3"),
                     "--data=synthetic:9");
}

int main(void)
{
    return suite_run("arguments", NULL);
}

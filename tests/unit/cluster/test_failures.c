/* test_failures.c - failures as they are typed, and what they do to each process and when. */
/* promises: virtual-run */

#include "deploy/cluster/failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json.h"
#include "deploy/cluster/quantity.h"
#include "tests/lib/suite.h"

#define S UINT64_C(1000000000)

#define TEST(name) SUITE_TEST(name, struct failures, o, failures_init(o), failures_free(o))

static void say(struct failures *failures, const char *name, const char *text)
{
    struct error error;
    ck_assert_msg(failures_option(failures, name, text, &error) == STATUS_OK, "%s", error.text);
}

/* --- text ------------------------------------------------------------------------------------ */

static void expect_written(const struct failures *failures, const char *const *lines, size_t count)
{
    struct failures again;
    failures_init(&again);
    ck_assert_uint_eq(failures->count, count);
    for (size_t i = 0; i < count; i++) {
        char text[FAILURE_TEXT_MAX];
        struct error error;
        failure_write(&failures->list[i], text);
        ck_assert_str_eq(text, lines[i]);
        char *list = strchr(text, ' ');
        *list++ = '\0';
        ck_assert_msg(failures_option(&again, text, list, &error) == STATUS_OK, "%s", error.text);
        failure_write(&again.list[i], text);
        ck_assert_str_eq(text, lines[i]);
    }
    failures_free(&again);
}

TEST(the_options_that_say_the_same_are_written)
{
    static const char *const said[][2] = {{"kill", "worker/3@12s+5s;ps/0@0s"},
                                          {"partition", "worker/0-3,ps/1|ps/0@5s+2s"},
                                          {"join", "@8s,@9s"},
                                          {"restart", "1.5s"}};
    struct failures again;
    struct json_writer writer;
    struct json *root = NULL;
    struct json_member member = {0};
    failures_init(&again);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        say(o, said[i][0], said[i][1]);
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    ck_assert_int_eq(failures_write(o, &writer), STATUS_OK);
    json_writer_end(&writer);
    ck_assert_int_eq(json_parse(writer.text, writer.bytes, "it", &root, NULL), STATUS_OK);
    while (json_next_member(root, &member))
        say(&again, member.name, json_text(member.value, ""));
    ck_assert_uint_eq(again.restart_ns, o->restart_ns);
    expect_written(&again,
                   (const char *const[]){"kill worker/3@12s+5s", "kill ps/0@0s",
                                         "partition worker/0-3,ps/1|ps/0@5s+2s", "join @8s",
                                         "join @9s"},
                   5);
    json_release(&root);
    json_writer_free(&writer);
    failures_free(&again);
}

TEST(what_was_typed_is_written_and_read_again)
{
    static const char *const lines[] = {"kill worker/3@12s+5s",
                                        "kill worker/4,worker/6-7@1.5s",
                                        "kill ps/0@0s",
                                        "stop ps/1@3s+2s",
                                        "partition worker/0-3|ps/0@5s+2s",
                                        "partition worker/1,ps/0@250ms+1ns",
                                        "join @8s",
                                        "join @9s",
                                        "leave worker/2@9s"};
    say(o, "kill", "worker/3@12s+5s,worker/4,worker/6-7@1500ms; ps/0@0s");
    say(o, "stop", "ps/1@3s+2s");
    say(o, "partition", "worker/0-3|ps/0@5s+2s,worker/1,ps/0@250ms+1ns");
    say(o, "join", "@8s,@9s");
    say(o, "leave", "worker/2@9s");
    expect_written(o, lines, sizeof lines / sizeof *lines);
    ck_assert_uint_eq(failures_joining(o), 2);
}

TEST(what_cannot_be_changes_nothing_and_says_why)
{
    static const struct {
        const char *name, *text, *answer;
    } mistakes[] = {
        {"kill", "", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"kill", "worker/3", "needs when, behind an @, as in worker/3@12s or worker/3@12s+5s"},
        {"kill", "worker/3@", "needs a time such as 30ms, 1.5s or 200us"},
        {"kill", "worker/3@12", "'12' needs a unit: ns, us, ms or s"},
        {"kill", "worker/3@12s+", "needs a time such as 30ms, 1.5s or 200us"},
        {"kill", "worker/3@12s+0s", "lasts no time at all"},
        {"kill", "worker/3@12s back", "' back' is too much"},
        {"kill", "worker/3@1s,worker/4",
         "needs when, behind an @, as in worker/3@12s or worker/3@12s+5s"},
        {"kill", "worker/3|ps/0@1s", "'|ps/0@1s': only a partition has two sides"},
        {"kill", "worker/3@1s,", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"kill", "worker/3@99999999s", "'99999999s' is more than 10000000s"},
        {"stop", "ps/1@3s", "needs how long it lasts, as in ps/1@3s+2s"},
        {"partition", "worker/0|ps/0@3s", "needs how long it lasts, as in worker/0-3|ps/0@5s+2s"},
        {"partition", "worker/0-3|worker/2@3s+1s", "worker/2 is on both sides"},
        {"partition", "worker/0|@3s+1s", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"join", "worker/4@8s", "needs only when, behind an @, as in @8s"},
        {"join", "8s", "needs only when, behind an @, as in @8s"},
        {"join", "@8s+1s", "'+1s': a join is for good"},
        {"leave", "worker/2@9s+1s", "'+1s': a leave is for good"},
        {"leave", "ps/0@9s", "servers own the model and cannot leave; --kill kills one"},
        {"leave", "worker/1,ps/0@9s", "servers own the model and cannot leave; --kill kills one"},
        {"restart", "soon", "'soon' is not a time such as 30ms, 1.5s or 200us"},
        {"restart", "0s", "needs one time, as in 5s"},
        {"restart", "5s,6s", "needs one time, as in 5s"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error error;
        char line[300];
        snprintf(line, sizeof line, "--%s=%s: %s", mistakes[i].name, mistakes[i].text,
                 mistakes[i].answer);
        ck_assert_int_eq(failures_option(o, mistakes[i].name, mistakes[i].text, &error),
                         STATUS_INVALID);
        ck_assert_str_eq(error.text, line);
        ck_assert(o->count == 0 && o->restart_ns == 0);
    }
}

/* --- happenings ------------------------------------------------------------------------------ */

static void expect_failure_events(const struct failures *failures, uint32_t servers,
                                  uint32_t workers, const char *expected)
{
    static const char *const words[] = {
        [FAILURE_EVENT_START] = "start", [FAILURE_EVENT_CONTINUE] = "continue",
        [FAILURE_EVENT_HEAL] = "heal",   [FAILURE_EVENT_KILL] = "kill",
        [FAILURE_EVENT_STOP] = "stop",   [FAILURE_EVENT_PART] = "part",
        [FAILURE_EVENT_JOIN] = "join",   [FAILURE_EVENT_LEAVE] = "leave"};
    struct failure_event *list;
    size_t count;
    struct error error;
    char text[1000] = "";
    enum status status = failures_events(failures, servers, workers, &list, &count, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    for (size_t i = 0; i < count; i++) {
        wording_append(text, sizeof text, "%s%s %s", i > 0 ? ", " : "",
                       quantity_time(list[i].at_ns).text, words[list[i].kind]);
        if (list[i].place.role != ROLE_NONE)
            wording_append(text, sizeof text, " %s", place_text(list[i].place).text);
        ck_assert_uint_lt(list[i].failure, failures->count);
    }
    ck_assert_str_eq(text, expected);
    free(list);
}

TEST(happenings_come_in_the_order_of_time)
{
    say(o, "partition", "worker/0-1|ps/0@5s+2s");
    say(o, "kill", "worker/3@12s+5s,worker/0@13s");
    say(o, "join", "@9s,@8s");
    say(o, "leave", "worker/2,worker/5@9.5s");
    say(o, "stop", "ps/1@3s+2s");
    expect_failure_events(o, 2, 4,
                          "3s stop ps/1, 5s continue ps/1, 5s part, 7s heal, 8s join worker/4, "
                          "9s join worker/5, 9.5s leave worker/2, 9.5s leave worker/5, "
                          "12s kill worker/3, 13s kill worker/0, 17s start worker/3");
}

TEST(nothing_happens_without_outages)
{
    expect_failure_events(o, 1, 1, "");
}

TEST(at_one_time_first_comes_what_is_over)
{
    say(o, "kill", "worker/0@7s+1s,worker/0@5s+2s,worker/1-2@7s+1s");
    expect_failure_events(
        o, 1, 3,
        "5s kill worker/0, 7s start worker/0, 7s kill worker/0, 7s kill worker/1, "
        "7s kill worker/2, 8s start worker/0, 8s start worker/1, 8s start worker/2");
}

TEST(who_is_killed_comes_back_when_it_or_restart_says)
{
    say(o, "kill", "worker/0@1s,worker/1@1s+3s,worker/0@10s");
    struct failure_event *list;
    size_t count;
    struct error error;
    ck_assert_int_eq(failures_events(o, 1, 2, &list, &count, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text,
                     "--kill=worker/0@10s: worker/0 has been killed at 10s (--kill=worker/0@1s)");
    ck_assert(list == NULL && count == 0);
    say(o, "restart", "5s");
    expect_failure_events(
        o, 1, 2,
        "1s kill worker/0, 1s kill worker/1, 4s start worker/1, 6s start worker/0, "
        "10s kill worker/0, 15s start worker/0");
}

TEST(who_is_killed_while_stopped_does_not_continue)
{
    say(o, "stop", "worker/0@1s+5s,worker/1@1s+5s");
    say(o, "kill", "worker/0@2s+2s,worker/1@2s+10s");
    expect_failure_events(o, 1, 2,
                          "1s stop worker/0, 1s stop worker/1, 2s kill worker/0, 2s kill worker/1, "
                          "4s start worker/0, 12s start worker/1");
}

TEST(who_is_not_there_is_named)
{
    static const struct {
        const char *first[2], *second[2], *answer;
    } mistakes[] = {
        {{"kill", "worker/4@1s"},
         {NULL, NULL},
         "--kill=worker/4@1s: there is no worker/4; there are worker/0-3,ps/0-1"},
        {{"stop", "ps/0-2@1s+1s"},
         {NULL, NULL},
         "--stop=ps/0-2@1s+1s: there is no ps/2; there are worker/0-3,ps/0-1"},
        {{"partition", "ps/0|worker/3-9@1s+1s"},
         {NULL, NULL},
         "--partition=ps/0|worker/3-9@1s+1s: there is no worker/4; there are worker/0-3,ps/0-1"},
        {{"partition", "ps/0-1,worker/0-3@1s+1s"},
         {NULL, NULL},
         "--partition=ps/0-1,worker/0-3@1s+1s: no process is left for the other side"},
        {{"join", "@8s"},
         {"kill", "worker/4@7s"},
         "--kill=worker/4@7s: worker/4 has not joined yet at 7s"},
        {{"leave", "worker/2@9s"},
         {"kill", "worker/1-2@12s"},
         "--kill=worker/1-2@12s: worker/2 has left at 12s (--leave=worker/2@9s)"},
        {{"stop", "worker/2@9s+5s"},
         {"leave", "worker/2@12s"},
         "--leave=worker/2@12s: worker/2 is stopped already at 12s (--stop=worker/2@9s+5s)"},
        {{"kill", "ps/1@9s+5s"},
         {"stop", "ps/1@12s+1s"},
         "--stop=ps/1@12s+1s: ps/1 has been killed at 12s (--kill=ps/1@9s+5s)"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error error;
        struct failure_event *list;
        size_t count;
        failures_free(o);
        say(o, mistakes[i].first[0], mistakes[i].first[1]);
        if (mistakes[i].second[0] != NULL)
            say(o, mistakes[i].second[0], mistakes[i].second[1]);
        ck_assert_int_eq(failures_events(o, 2, 4, &list, &count, &error), STATUS_INVALID);
        ck_assert_str_eq(error.text, mistakes[i].answer);
    }
}

int main(void)
{
    return suite_run("outages", NULL);
}

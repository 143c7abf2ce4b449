/* Hosts as people write them, in files and on the command line. */

#include "deploy/hosts/host_list.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

static enum status read_file(struct host_list *list, const char *text, struct error *error)
{
    return host_list_read(list, text, strlen(text), "hosts.txt", error);
}

TEST_PLAIN(a_file_has_a_host_a_line)
{
    struct host_list list;
    struct error error = {0};
    ck_assert_int_eq(read_file(&list,
                               "# ours\n"
                               "\n"
                               "alpha\n"
                               "  kim@beta:2222\tslots=4   # the large one\r\n"
                               "10.0.0.7 role=ps slots=1\n"
                               "delta-1.example.org role=worker",
                               &error),
                     STATUS_OK);
    ck_assert_uint_eq(list.count, 4);
    ck_assert_str_eq(list.hosts[0].name, "alpha");
    ck_assert_str_eq(list.hosts[0].user, "");
    ck_assert_uint_eq(list.hosts[0].port, 0);
    ck_assert_uint_eq(list.hosts[0].slots, 0);
    ck_assert_str_eq(list.hosts[1].name, "beta");
    ck_assert_str_eq(list.hosts[1].user, "kim");
    ck_assert_uint_eq(list.hosts[1].port, 2222);
    ck_assert_uint_eq(list.hosts[1].slots, 4);
    ck_assert_int_eq(list.hosts[2].role, HOST_ROLE_PS);
    ck_assert_uint_eq(list.hosts[2].slots, 1);
    ck_assert_int_eq(list.hosts[3].role, HOST_ROLE_WORKER);
    ck_assert_uint_eq(list.hosts[3].line, 6);
    host_list_free(&list);
}

TEST_PLAIN(what_a_file_may_not_say_is_refused_with_its_line)
{
    static const char *const cases[][2] = {
        {"", "hosts.txt: names no host"},
        {"# none\n\n", "hosts.txt: names no host"},
        {"alpha\nkim@ALPHA slots=2\n", "hosts.txt: ALPHA is there twice, as line 1 and 2, with "},
        {"alpha role=ps\nalpha role=worker\n",
         "alpha is there twice, as line 1 and 2, with another"},
        {"node[1-\n", "line 1: 'node[1-' is no range of hosts"},
        {"[alpha]\n", "line 1: '[alpha]' is no host: needs a name, or an IP address"},
        {"alpha\nbeta slot=2\n", "line 2: 'slot=2' is neither slots=N nor role=ps|worker"},
        {"alpha slots=0\n", "line 1: 'slots=0' needs a whole number from 1 on"},
        {"alpha slots=-1\n", "'slots=-1' needs a whole number"},
        {"alpha slots=2 slots=2\n", "'slots=2' is given twice"},
        {"alpha role=chief\n", "'role=chief' needs role=ps or role=worker"},
        {"alpha:0\n", "'0' is no port of an sshd"},
        {"alpha:65536\n", "'65536' is no port of an sshd"},
        {"alpha:2 2\n", "line 1: '2' is neither"},
        {"-oProxyCommand=x\n", "is no host"},
        {"al;pha\n", "'al;pha' is no host"},
        {"@alpha\n", "has no name of a user before its @"},
        {"-l@alpha\n", "has no name of a user before its @"},
        {"kim@\n", "is no host"},
        {":22\n", "'' is no host"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_list list;
        struct error error = {0};
        ck_assert_int_eq(read_file(&list, cases[i][0], &error), STATUS_INVALID);
        ck_assert_msg(strstr(error.text, cases[i][1]) != NULL, "%zu: %s", i, error.text);
        host_list_free(&list);
    }
    struct host_list list;
    struct error error;
    ck_assert_int_eq(host_list_read(&list, "alpha\0beta", 10, "x", &error), STATUS_INVALID);
    host_list_free(&list);
}

TEST_PLAIN(a_list_has_slots_behind_the_colon)
{
    struct host_list list;
    struct error error = {0};
    ck_assert_int_eq(host_list_read_words(&list, "alpha:2,kim@beta:16,gamma", "-H", &error),
                     STATUS_OK);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_uint_eq(list.hosts[0].slots, 2);
    ck_assert_uint_eq(list.hosts[0].port, 0);
    ck_assert_str_eq(list.hosts[1].user, "kim");
    ck_assert_uint_eq(list.hosts[1].slots, 16);
    ck_assert_uint_eq(list.hosts[2].slots, 0);
    host_list_free(&list);
    static const char *const cases[][2] = {
        {"", "host number 1: '' is empty"},
        {"alpha,,beta", "host number 2: '' is empty"},
        {"alpha:2,", "host number 2: '' is empty"},
        {"alpha:0", "'0' is no number of slots"},
        {"node[1-3", "'node[1-3' is no range of hosts"},
        {"node[3-1]:2", "'node[3-1]' is no range of hosts"},
        {"alpha beta", "'alpha beta' is no host"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(host_list_read_words(&list, cases[i][0], "-H", &error), STATUS_INVALID);
        ck_assert_msg(strstr(error.text, cases[i][1]) != NULL, "%zu: %s", i, error.text);
        host_list_free(&list);
    }
}

static void expect_hosts(const struct host_list *list, const char *const *expected)
{
    for (size_t i = 0; i < list->count; i++) {
        char text[HOST_NAME_MAX_BYTES + HOST_USER_MAX_BYTES + 32];
        const struct host *host = &list->hosts[i];
        snprintf(text, sizeof text, "%s@%s port %u slots %u", host->user, host->name, host->port,
                 host->slots);
        ck_assert_ptr_nonnull(expected[i]);
        ck_assert_str_eq(text, expected[i]);
    }
    ck_assert_ptr_null(expected[list->count]);
}

TEST_PLAIN(lists_are_taken_as_other_launchers_have_them)
{
    struct host_list list;
    struct error error = {0};
    static const char *const words[] = {"@alpha port 0 slots 4",
                                        "@beta port 0 slots 0",
                                        "kim@node1 port 0 slots 2",
                                        "kim@node2 port 0 slots 2",
                                        "@::1 port 0 slots 2",
                                        "@fe80::2 port 0 slots 0",
                                        NULL};
    ck_assert_msg(host_list_read_words(&list,
                                       "alpha, beta,alpha:3 ,kim@node[1-2]:2, [::1]:2, fe80::2",
                                       "-H", &error) == STATUS_OK,
                  "%s", error.text);
    expect_hosts(&list, words);
    host_list_free(&list);
    static const char *const lines[] = {"@alpha port 0 slots 2",  "@beta port 22 slots 3",
                                        "@::1 port 2222 slots 0", "@n08 port 0 slots 1",
                                        "@n09 port 0 slots 1",    NULL};
    ck_assert_msg(read_file(&list,
                            "alpha\nalpha\nbeta:22 slots=3 max_slots=8\n[::1]:2222\n"
                            "n[08-09] slots=1\n",
                            &error) == STATUS_OK,
                  "%s", error.text);
    expect_hosts(&list, lines);
    host_list_free(&list);
}

int main(void)
{
    return suite_run("host_list", NULL);
}

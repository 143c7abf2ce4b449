/* test_hostlist.c - lists of hosts become what scontrol show hostnames makes of them. */

#include "common/address/hostlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "tests/lib/suite.h"

/* All of a list's hosts with a blank between. */
static const char *expanded(const char *list)
{
    static char text[4096];
    char name[HOSTLIST_NAME_MAX];
    uint64_t count = 0;
    struct error error;
    text[0] = '\0';
    enum status status = hostlist_find(list, 0, name, &count, &error);
    for (uint64_t i = 0; status == STATUS_OK && i < count; i++) {
        status = hostlist_find(list, i, name, NULL, &error);
        wording_append(text, sizeof text, "%s%s", i > 0 ? " " : "", name);
    }
    if (status == STATUS_OK && hostlist_find(list, count, name, NULL, &error) != STATUS_NOT_FOUND)
        ck_abort_msg("%s has more hosts than it says", list);
    return status == STATUS_OK ? text : "refused";
}

TEST_PLAIN(lists_are_expanded_as_slurm_does)
{
    static const char *const lists[][2] = {
        {"gnode[10,20,25,37]", "gnode10 gnode20 gnode25 gnode37"},
        {"n[001-004,7]", "n001 n002 n003 n004 n7"},
        {"a[1-2],b3", "a1 a2 b3"},
        {"alpha", "alpha"},
        {"alpha,beta.example.org", "alpha beta.example.org"},
        {"na,nb[01-02]", "na nb01 nb02"},
        {"r[1-2]n[08-10]", "r1n08 r1n09 r1n10 r2n08 r2n09 r2n10"},
        {"rack[0-1]-x", "rack0-x rack1-x"},
        {"n[9-11]", "n9 n10 n11"},
        {"n[099-101]", "n099 n100 n101"},
        {"n[5]", "n5"},
        {"node-[0-2]-ib,login", "node-0-ib node-1-ib node-2-ib login"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_str_eq(expanded(lists[i][0]), lists[i][1]);
}

TEST_PLAIN(what_is_no_list_is_refused)
{
    static const char *const lists[] = {
        "",
        ",",
        "a,",
        ",a",
        "a[",
        "a[1",
        "a[]",
        "a[1-]",
        "a[-1]",
        "a[2-1]",
        "a[1,]",
        "a[1;2]",
        "a]",
        "a b",
        "a[x]",
        "a[1-2-3]",
        "a/b",
        "a:7000",
        "a[1-99999]",
        "a[1234567890]",
        "a[1-9][1-9][1-9][1-9][1-9]",
        "a[1-60000],b[1-60000]",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_msg(strcmp(expanded(lists[i]), "refused") == 0, "%s is taken for a list",
                      lists[i]);
}

TEST_PLAIN(a_name_that_is_too_long_is_refused)
{
    char list[2 * HOSTLIST_NAME_MAX], name[HOSTLIST_NAME_MAX];
    memset(list, 'n', sizeof list);
    strcpy(list + HOSTLIST_NAME_MAX - 2, "[7]");
    ck_assert_int_eq(hostlist_find(list, 0, name, NULL, NULL), STATUS_OK);
    ck_assert_uint_eq(strlen(name), HOSTLIST_NAME_MAX - 1);
    strcpy(list + HOSTLIST_NAME_MAX - 2, "[10]");
    ck_assert_int_eq(hostlist_find(list, 0, name, NULL, NULL), STATUS_INVALID);
}

TEST_PLAIN(tasks_lie_on_hosts_one_after_the_other)
{
    static const struct {
        const char *tasks;
        uint64_t rank, host;
    } cases[] = {
        {"1(x3)", 0, 0},   {"1(x3)", 2, 2}, {"2(x2),1", 0, 0}, {"2(x2),1", 1, 0}, {"2(x2),1", 2, 1},
        {"2(x2),1", 4, 2}, {"3,1", 2, 0},   {"3,1", 3, 1},     {"0,2", 0, 1},     {"4", 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t host = 99;
        ck_assert_int_eq(hostlist_task(cases[i].tasks, cases[i].rank, &host, NULL), STATUS_OK);
        ck_assert_msg(host == cases[i].host, "%s: task %" PRIu64 " is on host %" PRIu64,
                      cases[i].tasks, cases[i].rank, host);
    }
    uint64_t host, sum;
    ck_assert_int_eq(hostlist_task("1(x3)", 3, &host, NULL), STATUS_NOT_FOUND);
    hostlist_tasks("2(x2),1", 1, 2, &sum);
    ck_assert_uint_eq(sum, 3);
    hostlist_tasks("2(x2),1", 0, 1, &sum);
    ck_assert_uint_eq(sum, 2);
    hostlist_tasks("2(x2),1", 3, 5, &sum);
    ck_assert_uint_eq(sum, 0);
}

TEST_PLAIN(what_is_no_list_of_tasks_is_refused)
{
    static const char *const lists[] = {"",   "x",  "1(x",   "1(x2", "1(x)",
                                        "1,", ",1", "1(y2)", "1 2",  "1-3"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        uint64_t host;
        ck_assert_msg(hostlist_task(lists[i], 0, &host, NULL) == STATUS_INVALID, "%s", lists[i]);
    }
}

int main(void)
{
    return suite_run("hostlist", NULL);
}

/* Who sits where. */

#include "deploy/hosts/placement.h"

#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "tests/lib/suite.h"

/* "a: s0 w1; b: w0" */
static void show(const struct host_list *list, const struct placement *placement, char text[400])
{
    text[0] = '\0';
    for (size_t host = 0; host < list->count; host++) {
        wording_append(text, 400, "%s%s:", host > 0 ? "; " : "", list->hosts[host].name);
        for (uint32_t i = 0; i < placement->servers; i++)
            if (placement->server_hosts[i] == host)
                wording_append(text, 400, " s%u", i);
        for (uint32_t i = 0; i < placement->workers; i++)
            if (placement->worker_hosts[i] == host)
                wording_append(text, 400, " w%u", i);
    }
}

static void open_list(struct host_list *list, const char *text)
{
    struct error error = {0};
    ck_assert_msg(host_list_read(list, text, strlen(text), "hosts", &error) == STATUS_OK, "%s",
                  error.text);
}

static const struct {
    const char *hosts;
    uint32_t servers, workers;
    bool colocated;
    const char *expected; /* Or why not. */
} cases[] = {
    {"a\nb\nc\n", 2, 3, false, "a: s0 w1; b: s1 w2; c: w0"},
    {"a\nb\n", 1, 5, false, "a: s0 w1 w3; b: w0 w2 w4"},
    {"a slots=2\nb slots=2\n", 1, 3, false, "a: s0 w1; b: w0 w2"},
    {"a slots=4\nb slots=2\n", 2, 4, false, "a: s0 w0 w1 w2; b: s1 w3"},
    {"a role=ps\nb\nc\n", 2, 3, false, "a: s0 s1; b: w0 w2; c: w1"},
    {"a role=worker\nb\n", 2, 2, false, "a: w0 w1; b: s0 s1"},
    {"a role=worker slots=1\nb role=ps slots=2\n", 2, 1, false, "a: w0; b: s0 s1"},
    {"a\nb\nc\n", 3, 3, true, "a: s0 w0; b: s1 w1; c: s2 w2"},
    {"a slots=2\nb\n", 3, 3, true, "a: s0 s1 w0 w1; b: s2 w2"},
    {"a slots=2\nb slots=2\n", 1, 4, false,
     "there is no place for worker/3: beside 1 server the hosts have slots for 3 workers"},
    {"a slots=1\n", 2, 1, false,
     "there is no place for ps/1: the hosts that may have servers have 1 slot"},
    {"a role=worker\n", 1, 1, false,
     "there is no place for ps/0: the hosts that may have servers have 0 slots"},
    {"a role=ps\n", 1, 1, false, "there is no place for worker/0: beside 1 server the hosts have"},
    {"a slots=2\n", 3, 3, true, "there is no place for worker/2: the hosts have 2 slots"},
};

TEST_TIMES(everybody_sits_where_there_is_room, sizeof cases / sizeof *cases)
{
    struct host_list list;
    struct placement placement;
    struct error error = {0};
    char text[400];
    open_list(&list, cases[_i].hosts);
    if (placement_make(&placement, &list, cases[_i].servers, cases[_i].workers, cases[_i].colocated,
                       &error) == STATUS_OK)
        show(&list, &placement, text);
    else
        snprintf(text, sizeof text, "%s", error.text);
    ck_assert_msg(strncmp(text, cases[_i].expected, strlen(cases[_i].expected)) == 0, "case %d: %s",
                  _i, text);
    placement_free(&placement);
    host_list_free(&list);
}

static uint32_t room(const char *hosts, uint32_t servers, bool colocated)
{
    struct host_list list;
    open_list(&list, hosts);
    uint32_t workers = placement_room(&list, servers, colocated);
    host_list_free(&list);
    return workers;
}

TEST_PLAIN(as_many_workers_as_there_is_room_for)
{
    ck_assert_uint_eq(room("a\nb\nc\n", 2, false), 3);
    ck_assert_uint_eq(room("a slots=2\nb slots=2\n", 1, false), 3);
    ck_assert_uint_eq(room("a slots=2\nb slots=2\n", 4, false), 0);
    ck_assert_uint_eq(room("a slots=2\nb slots=2\n", 9, false), 0);
    ck_assert_uint_eq(room("a role=ps slots=2\nb slots=3\nc\n", 2, false), 4);
    ck_assert_uint_eq(room("a slots=2\nb slots=2\n", 1, true), 4);
}

TEST_PLAIN(a_worker_whose_host_is_gone_goes_where_most_room_is)
{
    struct host_list list;
    struct placement placement;
    char text[400];
    bool gone[3] = {false, true, false};
    open_list(&list, "a\nb\nc\n");
    ck_assert_int_eq(placement_make(&placement, &list, 2, 3, false, NULL), STATUS_OK);
    ck_assert(placement_move(&placement, &list, 2, gone)); /* From b. */
    show(&list, &placement, text);
    ck_assert_str_eq(text, "a: s0 w1; b: s1; c: w0 w2");
    gone[2] = true;
    ck_assert(placement_move(&placement, &list, 0, gone));
    ck_assert(placement_move(&placement, &list, 2, gone));
    show(&list, &placement, text);
    ck_assert_str_eq(text, "a: s0 w0 w1 w2; b: s1; c:");
    ck_assert(!placement_move(&placement, &list, 0, gone)); /* There is no other. */
    gone[1] = false;
    ck_assert(placement_move(&placement, &list, 0, gone));
    placement_free(&placement);
    host_list_free(&list);
    open_list(&list, "a role=ps\nb\n");
    ck_assert_int_eq(placement_make(&placement, &list, 1, 1, false, NULL), STATUS_OK);
    gone[0] = gone[1] = false;
    ck_assert(!placement_move(&placement, &list, 0, gone)); /* Where servers are none may be. */
    placement_free(&placement);
    host_list_free(&list);
}

int main(void)
{
    return suite_run("seating", NULL);
}

/* test_clocks.c - clocks of other hosts are put right from the messages, as well as is said. */
/* promises: trace */

#include "deploy/trace/clocks.h"

#include <stdlib.h>
#include <unistd.h>

#include "deploy/trace/spans.h"
#include "tests/lib/suite.h"
#include "tests/lib/traces/made_trace.h"

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int by_beginning(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->to_ns > b->to_ns ? -1 : a->to_ns < b->to_ns;
}

/* Those of `role` on a host whose clock is ahead and drifts; the server's is the one that counts. */
static void are_put_right(const struct made_trace *made, enum role role, int64_t ahead_ns,
                          double drift_ppm, uint64_t most_ns)
{
    struct spans spans;
    struct error error;
    struct span *right = malloc(made->count * sizeof *right);
    int file = made_trace_hosts(made, role, ahead_ns, drift_ppm);
    spans_init(&spans);
    ck_assert_int_eq(spans_add(&spans, file, "made up", &error), STATUS_OK);
    ck_assert_int_eq(spans_finish(&spans, 1000, &error), STATUS_OK);
    ck_assert_uint_eq(spans.host_count, 2);
    ck_assert(spans.hosts[0].known && spans.hosts[1].known);
    const struct trace_host *other = &spans.hosts[1 - spans.reference];
    ck_assert_uint_eq(spans.hosts[spans.reference].error_ns, 0);
    ck_assert_uint_le(other->error_ns, most_ns);
    ck_assert_uint_eq(spans.count, made->count);
    for (size_t i = 0; i < made->count; i++)
        right[i] =
            role == ROLE_PS ? made_trace_moved(&made->list[i], ahead_ns, drift_ppm) : made->list[i];
    qsort(right, made->count, sizeof *right, by_beginning);
    for (size_t i = 0; i < spans.count; i++) {
        ck_assert_uint_le(apart(spans.list[i].from_ns, right[i].from_ns), other->error_ns + 1000);
        /* A clock that goes faster counts more. */
        ck_assert_uint_le(
            apart(spans.list[i].to_ns - spans.list[i].from_ns, right[i].to_ns - right[i].from_ns),
            10000);
    }
    free(right);
    spans_free(&spans);
    close(file);
}

/* Messages take half a millisecond each way, so that nothing is known better. */
#define ERROR_NS (MADE_MS / 2 + 20000)

TEST_PLAIN(clocks_that_are_hours_apart_are_put_right)
{
    static const int64_t ahead_ns[] = {0, 7200000000000, -900000000, 1234567};
    struct made_trace made = {.list = NULL};
    made_trace_steps(&made, 3, 0, 5);
    for (size_t i = 0; i < sizeof ahead_ns / sizeof *ahead_ns; i++) {
        are_put_right(&made, ROLE_WORKER, ahead_ns[i], 0, ERROR_NS);
        are_put_right(&made, ROLE_PS, ahead_ns[i], 0, ERROR_NS);
    }
    made_trace_free(&made);
}

/* In ten minutes 50 millionths are 30 ms: without going with it nothing would be right. */
TEST_PLAIN(clocks_that_drift_are_put_right_all_along)
{
    struct made_trace made = {.list = NULL};
    for (uint64_t step = 0; step < 6000; step += 25)
        made_trace_steps(&made, 2, step, 1);
    are_put_right(&made, ROLE_WORKER, 5000000000, 50, ERROR_NS);
    are_put_right(&made, ROLE_PS, 5000000000, -50, ERROR_NS);
    made_trace_free(&made);
}

/* Of hosts that never speak to each other only the walls' clocks tell, and that is said. */
TEST_PLAIN(without_messages_it_is_said_that_nothing_is_known)
{
    struct trace_host hosts[] = {{.id = 1, .unix_ns = 1000000}, {.id = 2, .unix_ns = 400000}};
    struct span spans[] = {span_of(ROLE_PS, 0, LANE_FRONT, SPAN_APPLY),
                           span_of(ROLE_WORKER, 0, LANE_TRAINER, SPAN_COMPUTE)};
    const uint16_t host_of[] = {0, 1};
    spans[0].from_ns = spans[0].to_ns = 5000;
    spans[1].from_ns = 700000;
    spans[1].to_ns = 700007;
    ck_assert_int_eq(clocks_align(spans, host_of, 2, hosts, 2, 0), STATUS_OK);
    ck_assert(hosts[0].known && !hosts[1].known);
    ck_assert_uint_eq(spans[0].from_ns, 5000);
    ck_assert_uint_eq(spans[1].from_ns, 100000);
    ck_assert_uint_eq(spans[1].to_ns, 100007);
}

static struct span message(enum role role, uint32_t index, enum span_kind kind, uint32_t other,
                           uint64_t request, uint64_t at_ns)
{
    struct span span = span_of(role, index, LANE_FRONT, kind);
    span.other_role = role == ROLE_PS ? ROLE_WORKER : ROLE_PS;
    span.other = other;
    span.request = request;
    span.from_ns = at_ns;
    span.to_ns = at_ns + 10;
    return span;
}

/* A worker on host 1 speaks to servers on hosts 0 and 2, which do not speak to each other. The worker is 1
 * s ahead, the other server 5 s; of two questions the one that was quicker counts. */
TEST_PLAIN(hosts_are_compared_through_others_and_the_quickest_answer_counts)
{
    const uint64_t s = 1000000000;
    struct trace_host hosts[] = {{.id = 1}, {.id = 2}, {.id = 3}};
    struct span spans[] = {
        message(ROLE_WORKER, 0, SPAN_SEND, 0, 1, 10 * s + s),
        message(ROLE_PS, 0, SPAN_TAKE, 0, 1, 10 * s + 900), /* Slow there, quick back. */
        message(ROLE_PS, 0, SPAN_SEND, 0, 1, 10 * s + 1000),
        message(ROLE_WORKER, 0, SPAN_TAKE, 0, 1, 10 * s + s + 1100),
        message(ROLE_WORKER, 0, SPAN_SEND, 0, 2, 10 * s + s + 2000),
        message(ROLE_PS, 0, SPAN_TAKE, 0, 2, 10 * s + 2020),
        message(ROLE_PS, 0, SPAN_SEND, 0, 2, 10 * s + 2030),
        message(ROLE_WORKER, 0, SPAN_TAKE, 0, 2, 10 * s + s + 2050),
        message(ROLE_WORKER, 0, SPAN_SEND, 1, 3, 10 * s + s + 3000),
        message(ROLE_PS, 1, SPAN_TAKE, 0, 3, 10 * s + 5 * s + 3100),
        message(ROLE_PS, 1, SPAN_SEND, 0, 3, 10 * s + 5 * s + 3200),
        message(ROLE_WORKER, 0, SPAN_TAKE, 1, 3, 10 * s + s + 3300),
        /* Said twice: nobody knows which of them was answered. */
        message(ROLE_WORKER, 0, SPAN_SEND, 1, 4, 10 * s + s + 4000),
        message(ROLE_WORKER, 0, SPAN_SEND, 1, 4, 10 * s + s + 4098),
        message(ROLE_PS, 1, SPAN_TAKE, 0, 4, 10 * s + 5 * s + 4050),
        message(ROLE_PS, 1, SPAN_SEND, 0, 4, 10 * s + 5 * s + 4060),
        message(ROLE_WORKER, 0, SPAN_TAKE, 1, 4, 10 * s + s + 4110),
    };
    enum { COUNT = sizeof spans / sizeof *spans };
    uint16_t host_of[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        host_of[i] = spans[i].role == ROLE_WORKER ? 1 : spans[i].index == 0 ? 0 : 2;
    ck_assert_int_eq(clocks_align(spans, host_of, COUNT, hosts, 3, 0), STATUS_OK);
    ck_assert(hosts[1].known && hosts[2].known);
    ck_assert_uint_eq(hosts[1].error_ns, 20);
    ck_assert_uint_eq(hosts[2].error_ns, 20 + 100);
    ck_assert_int_eq(hosts[1].ahead_ns, (int64_t)s);
    ck_assert_int_eq(hosts[2].ahead_ns, (int64_t)(5 * s));
    ck_assert_uint_eq(spans[4].from_ns, 10 * s + 2000);
    ck_assert_uint_eq(spans[9].from_ns, 10 * s + 3100);
}

int main(void)
{
    return suite_run("clocks", NULL);
}

/* test_stop_request.c - which signal is a request to stop, and which is the end of patience. */

#include "common/process/stop_request.h"

#include <signal.h>

#include "tests/lib/suite.h"

TEST_PLAIN(whoever_asks_first_gets_a_clean_stop)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct stop_request request = {0};
        ck_assert_int_eq(stop_request_take(&request, signals[i], 100), STOP_CLEANLY);
    }
}

TEST_PLAIN(whoever_asks_again_has_lost_patience)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGINT, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.6), STOP_AT_ONCE);
}

/* As `timeout` does. */
TEST_PLAIN(a_signal_sent_twice_is_one_request)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.001), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.4), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.6), STOP_AT_ONCE);
}

/* A terminal that goes away, and a service manager that says both. */
TEST_PLAIN(a_hangup_is_never_impatience)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 105), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 110), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 115), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 120), STOP_AT_ONCE);
}

int main(void)
{
    return suite_run("stop_request", NULL);
}

#include "common/process/stop_request.h"

#include <signal.h>

#include "tests/lib/suite.h"

START_TEST(whoever_asks_first_gets_a_clean_stop)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct stop_request request = {0};
        ck_assert_int_eq(stop_request_take(&request, signals[i], 100), STOP_CLEANLY);
    }
}
END_TEST

START_TEST(whoever_asks_again_has_lost_patience)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGINT, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.6), STOP_AT_ONCE);
}
END_TEST

/* As `timeout` does. */
START_TEST(a_signal_sent_twice_is_one_request)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.001), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.4), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 100.6), STOP_AT_ONCE);
}
END_TEST

/* A terminal that goes away, and a service manager that says both. */
START_TEST(a_hangup_is_never_impatience)
{
    struct stop_request request = {0};
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 100), STOP_CLEANLY);
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 105), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 110), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGHUP, 115), STOP_NO_NEWS);
    ck_assert_int_eq(stop_request_take(&request, SIGTERM, 120), STOP_AT_ONCE);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, whoever_asks_first_gets_a_clean_stop);
    tcase_add_test(t, whoever_asks_again_has_lost_patience);
    tcase_add_test(t, a_signal_sent_twice_is_one_request);
    tcase_add_test(t, a_hangup_is_never_impatience);
}

int main(void)
{
    return suite_run("stop_request", add);
}

/* test_cluster.c - what options say of a cluster, which host a process is on, and how long things take;
 * times, rates and places as people write them. */

#include "deploy/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/cluster/cluster_file.h"
#include "deploy/cluster/layout.h"
#include "deploy/cluster/quantity.h"
#include "tests/lib/regular.h"
#include "tests/lib/suite.h"

#define MOST QUANTITY_TIME_MOST_NS

/* --- quantities ------------------------------------------------------------------------------ */

TEST_PLAIN(a_time_is_read_exactly_and_reads_back)
{
    static const struct {
        const char *text;
        uint64_t ns;
        const char *again;
    } times[] = {
        {"12s", UINT64_C(12000000000), "12s"},
        {"1.5ms", 1500000, "1.5ms"},
        {"50us", 50000, "50us"},
        {"800ns", 800, "800ns"},
        {"0s", 0, "0s"},
        {"0.1s", 100000000, "100ms"}, /* What a double is not. */
        {"1.000000001s", 1000000001, "1.000000001s"},
        {"2.500us", 2500, "2.5us"},
        {"1500MS", 1500000000, "1.5s"},
        {"10000000s", MOST, "10000000s"},
        {"0.0000000010s", 1, "1ns"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const char *text = times[i].text;
        uint64_t ns = 1;
        ck_assert_int_eq(quantity_read_time(&text, MOST, &ns, NULL), STATUS_OK);
        ck_assert_uint_eq(ns, times[i].ns);
        ck_assert_str_eq(text, "");
        ck_assert_str_eq(quantity_time(ns).text, times[i].again);
    }
    for (uint64_t ns = 1; ns < MOST; ns += 1 + ns / 7) {
        struct wording written = quantity_time(ns);
        const char *text = written.text;
        uint64_t again = 0;
        ck_assert_int_eq(quantity_read_time(&text, MOST, &again, NULL), STATUS_OK);
        ck_assert_uint_eq(again, ns);
    }
}

TEST_PLAIN(a_time_that_is_none_is_named)
{
    static const struct {
        const char *text, *answer;
    } mistakes[] = {
        {"", "needs a time such as 30ms, 1.5s or 200us"},
        {"soon", "'soon' is not a time such as 30ms, 1.5s or 200us"},
        {"@5s", "needs a time such as 30ms, 1.5s or 200us, not '@5s'"},
        {"5", "'5' needs a unit: ns, us, ms or s"},
        {"5sec", "'5sec' needs a unit: ns, us, ms or s"},
        {".5s", "'.5s' is not a time such as 30ms, 1.5s or 200us"},
        {"1.2.3s", "'1.2.3s' is not a time such as 30ms, 1.5s or 200us"},
        {"0.5ns", "'0.5ns' is not a whole number of nanoseconds"},
        {"1.0000000001s", "'1.0000000001s' is not a whole number of nanoseconds"},
        {"10000001s", "'10000001s' is more than 10000000s"},
        {"999999999999999999s", "'999999999999999999s' is more than 10000000s"},
        {"9999999999999999999999s",
         "'9999999999999999999999s' is not a time such as 30ms, 1.5s or 200us"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *text = mistakes[i].text;
        uint64_t ns = 0;
        struct error error;
        ck_assert_int_eq(quantity_read_time(&text, MOST, &ns, &error), STATUS_INVALID);
        ck_assert_str_eq(error.text, mistakes[i].answer);
        ck_assert_ptr_eq(text, mistakes[i].text);
    }
}

TEST_PLAIN(a_rate_is_read_exactly_and_reads_back)
{
    static const struct {
        const char *text;
        uint64_t rate;
        const char *again;
    } rates[] = {
        {"10Gbit", 1250000000, "10Gbit"},       {"100mbit", 12500000, "100Mbit"},
        {"2.5Gbit", 312500000, "2.5Gbit"},      {"1kbit", 125, "1kbit"},
        {"0.1Gbit", 12500000, "100Mbit"},       {"10Tbit", QUANTITY_RATE_MOST, "10Tbit"},
        {"1000008bit", 125001, "1.000008Mbit"},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const char *text = rates[i].text;
        uint64_t rate = 0;
        ck_assert_int_eq(quantity_read_rate(&text, &rate, NULL), STATUS_OK);
        ck_assert_uint_eq(rate, rates[i].rate);
        ck_assert_str_eq(quantity_rate(rate).text, rates[i].again);
    }
}

TEST_PLAIN(a_rate_that_is_none_is_named)
{
    static const struct {
        const char *text, *answer;
    } mistakes[] = {
        {"", "needs a rate such as 10Gbit or 100Mbit"},
        {"fast", "'fast' is not a rate such as 10Gbit or 100Mbit"},
        {"10", "'10' needs a unit: kbit, Mbit or Gbit (a second)"},
        {"10GB", "'10GB' needs a unit: kbit, Mbit or Gbit (a second)"},
        {"1001bit", "'1001bit' is not a whole number of bytes a second"},
        {"0.8kbit", "'0.8kbit' is not a rate from 1kbit to 10Tbit"},
        {"0Gbit", "'0Gbit' is not a rate from 1kbit to 10Tbit"},
        {"999999999999Tbit", "'999999999999Tbit' is not a rate from 1kbit to 10Tbit"},
        {"11Tbit", "'11Tbit' is not a rate from 1kbit to 10Tbit"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *text = mistakes[i].text;
        uint64_t rate;
        struct error error;
        ck_assert_int_eq(quantity_read_rate(&text, &rate, &error), STATUS_INVALID);
        ck_assert_str_eq(error.text, mistakes[i].answer);
    }
}

/* --- places ---------------------------------------------------------------------------------- */

TEST_PLAIN(places_are_read_as_far_as_they_go_and_read_back)
{
    const char *text = "worker/0-3,ps/1,worker/7:100Mbit";
    struct places places, again;
    char written[PLACES_TEXT_MAX];
    ck_assert_int_eq(places_read(&text, &places, NULL), STATUS_OK);
    ck_assert_str_eq(text, ":100Mbit");
    ck_assert_uint_eq(places_count(&places), 6);
    ck_assert_str_eq(place_text(places_at(&places, 3)).text, "worker/3");
    ck_assert_str_eq(place_text(places_at(&places, 4)).text, "ps/1");
    ck_assert_str_eq(place_text(places_at(&places, 5)).text, "worker/7");
    ck_assert(places_have(&places, (struct place){ROLE_WORKER, 3}));
    ck_assert(!places_have(&places, (struct place){ROLE_WORKER, 4}));
    ck_assert(!places_have(&places, (struct place){ROLE_PS, 0}));
    places_write(&places, written);
    ck_assert_str_eq(written, "worker/0-3,ps/1,worker/7");
    text = written;
    ck_assert_int_eq(places_read(&text, &again, NULL), STATUS_OK);
    places_write(&again, written);
    ck_assert_str_eq(written, "worker/0-3,ps/1,worker/7");
}

TEST_PLAIN(a_place_that_is_none_is_named)
{
    static const struct {
        const char *text, *answer;
    } mistakes[] = {
        {"", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"worker/1,", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"worker", "'worker' is not a process such as worker/3, worker/0-3 or ps/0"},
        {"wrker/3", "'wrker/3' is not a process such as worker/3, worker/0-3 or ps/0"},
        {"worker/3-", "'worker/3-' is not a process such as worker/3, worker/0-3 or ps/0"},
        {"worker/3x", "'worker/3x' is not a process such as worker/3, worker/0-3 or ps/0"},
        {"observer/0", "'observer/0' is not a process such as worker/3, worker/0-3 or ps/0"},
        {"worker/3-1", "'worker/3-1': the larger number comes last"},
        {"worker/1024", "'worker/1024': workers are numbered from 0 to 1023"},
        {"ps/256", "'ps/256': servers are numbered from 0 to 255"},
        {"worker/3,worker/1-4", "worker/3 is there twice"},
        {"ps/0,ps/1,ps/2,ps/3,ps/4,ps/5,ps/6,ps/7,ps/8,ps/9,ps/10,ps/11,ps/12,ps/13,ps/14,ps/15,"
         "ps/16",
         "there are more than 16 names and ranges"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *text = mistakes[i].text;
        struct places places;
        struct error error;
        ck_assert_int_eq(places_read(&text, &places, &error), STATUS_INVALID);
        ck_assert_str_eq(error.text, mistakes[i].answer);
    }
}

/* --- options --------------------------------------------------------------------------------- */

static void open_cluster(struct cluster *cluster)
{
    cluster_init(cluster);
}

#define TEST(name) SUITE_TEST(name, struct cluster, c, open_cluster(c), cluster_free(c))

static void say(struct cluster *cluster, const char *name, const char *text)
{
    struct error error;
    ck_assert_msg(cluster_option(cluster, name, text, &error) == STATUS_OK, "%s", error.text);
}

/* Servers, then workers; frees it. */
static void expect_layout(struct layout *layout, const char *expected)
{
    char text[256] = "";
    for (uint32_t i = 0; i < layout->servers + layout->workers; i++)
        wording_append(text, sizeof text, "%s%u", i > 0 ? " " : "", layout->host_of[i]);
    wording_append(text, sizeof text, " of %u:", layout->host_count);
    for (uint32_t i = 0; i < layout->host_count; i++)
        wording_append(text, sizeof text, " %s",
                       quantity_rate(layout->hosts[i].nic.up_bytes_per_second).text);
    ck_assert_str_eq(text, expected);
    layout_free(layout);
}

static void expect_hosts(const struct cluster *cluster, uint32_t servers, uint32_t workers,
                         const char *expected)
{
    struct layout layout;
    struct error error;
    ck_assert_msg(layout_make(&layout, cluster, servers, workers, &error) == STATUS_OK, "%s",
                  error.text);
    expect_layout(&layout, expected);
}

/* The same of a server beside each of the first workers. */
static void expect_beside(const struct cluster *cluster, uint32_t servers, uint32_t workers,
                          const char *expected)
{
    struct layout layout;
    struct error error;
    ck_assert_msg(layout_make_colocated(&layout, cluster, servers, workers, &error) == STATUS_OK,
                  "%s", error.text);
    expect_layout(&layout, expected);
}

static void put_host(struct cluster *cluster, const char *who, uint64_t processors)
{
    struct cluster_named named = {.host = cluster->usual};
    named.host.processors = processors;
    ck_assert_int_eq(places_read(&who, &named.processes, NULL), STATUS_OK);
    ck_assert_int_eq(cluster_add_host(cluster, &named), STATUS_OK);
}

TEST(everybody_has_a_host_unless_more_is_said)
{
    expect_hosts(c, 2, 3, "0 1 2 3 4 of 5: 10Gbit 10Gbit 10Gbit 10Gbit 10Gbit");
    c->rest = CLUSTER_TOGETHER;
    expect_hosts(c, 2, 3, "0 0 0 0 0 of 1: 10Gbit");
    /* Who is named is elsewhere; a host that nobody is on is not there. */
    put_host(c, "worker/50", 2);
    put_host(c, "worker/1,ps/1", 2);
    expect_hosts(c, 2, 3, "0 1 0 1 0 of 2: 10Gbit 10Gbit");
    c->rest = CLUSTER_APART;
    expect_hosts(c, 2, 3, "0 1 2 1 3 of 4: 10Gbit 10Gbit 10Gbit 10Gbit");
    expect_hosts(c, 0, 0, " of 0:");
}

TEST(a_network_is_said_of_all_hosts)
{
    put_host(c, "worker/1", 2);
    say(c, "link", "worker/2:100Mbit");
    say(c, "network", "1Gbit/500Mbit,200us");
    expect_hosts(c, 1, 3, "0 1 2 3 of 4: 1Gbit 1Gbit 1Gbit 100Mbit");
    ck_assert_uint_eq(c->usual.nic.down_bytes_per_second, 62500000);
    ck_assert_uint_eq(c->hosts[0].host.nic.down_bytes_per_second, 62500000);
    ck_assert_uint_eq(c->usual.nic.latency_ns, 0);
    ck_assert_uint_eq(c->latency_ns, 200000);
    say(c, "network", "25Gbit"); /* As far away as before. */
    ck_assert_uint_eq(c->latency_ns, 200000);
    ck_assert_uint_eq(c->usual.nic.down_bytes_per_second, UINT64_C(3125000000));
}

TEST(links_are_of_hosts_and_the_later_wins)
{
    say(c, "link", "worker/0-1:100Mbit,1ms,worker/2:1Gbit/2Gbit; ps/0:40Gbit");
    expect_hosts(c, 1, 4, "0 1 2 3 4 of 5: 40Gbit 100Mbit 100Mbit 1Gbit 10Gbit");
    ck_assert_uint_eq(c->links[0].nic.latency_ns, 1000000);
    ck_assert_uint_eq(c->links[1].nic.latency_ns, 0);
    ck_assert_uint_eq(c->links[1].nic.down_bytes_per_second, 250000000);
    say(c, "link", "worker/1:10Mbit");
    expect_hosts(c, 1, 4, "0 1 2 3 4 of 5: 40Gbit 100Mbit 10Mbit 1Gbit 10Gbit");
}

TEST(who_shares_a_host_shares_its_link)
{
    struct layout layout;
    struct error error;
    put_host(c, "worker/0-1", 3);
    say(c, "link", "worker/1:100Mbit");
    expect_hosts(c, 1, 2, "0 1 1 of 2: 10Gbit 100Mbit");
    say(c, "link", "worker/0:100Mbit");
    expect_hosts(c, 1, 2, "0 1 1 of 2: 10Gbit 100Mbit");
    say(c, "link", "worker/0:100Mbit,1ms");
    ck_assert_int_eq(layout_make(&layout, c, 1, 2, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "worker/0 and worker/1 are on one host and share its card, but "
                                 "have different links");
    put_host(c, "ps/0,worker/1", 3);
    ck_assert_int_eq(layout_make(&layout, c, 1, 2, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text,
                     "worker/1 is on two hosts, number 0 and number 1 of the cluster, from 0 on");
}

TEST(a_server_is_on_the_host_of_its_worker_where_they_are_beside_each_other)
{
    struct layout layout;
    struct error error;
    expect_beside(c, 2, 3, "0 1 0 1 2 of 3: 10Gbit 10Gbit 10Gbit"); /* One has joined. */
    say(c, "link", "worker/1:100Mbit");
    expect_beside(c, 2, 2, "0 1 0 1 of 2: 10Gbit 100Mbit");
    put_host(c, "worker/0", 3); /* And so its server. */
    ck_assert_int_eq(layout_make_colocated(&layout, c, 2, 2, &error), STATUS_OK);
    ck_assert_uint_eq(layout.hosts[0].processors, 3);
    expect_layout(&layout, "0 1 0 1 of 2: 10Gbit 100Mbit");
    put_host(c, "ps/0,worker/1", 5);
    ck_assert_int_eq(layout_make_colocated(&layout, c, 2, 2, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "ps/0 and worker/0 are beside each other (--ps colocated), but on "
                                 "two hosts, number 1 and number 0 of the cluster, from 0 on");
    c->rest = CLUSTER_TOGETHER;
    c->host_count = 0;
    expect_beside(c, 2, 3, "0 0 0 0 0 of 1: 100Mbit");
}

TEST(processes_are_numbered_servers_first)
{
    struct layout layout;
    ck_assert_int_eq(layout_make(&layout, c, 2, 3, NULL), STATUS_OK);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_uint_eq(layout_number(&layout, layout_place(&layout, i)), i);
    ck_assert_str_eq(place_text(layout_place(&layout, 1)).text, "ps/1");
    ck_assert_str_eq(place_text(layout_place(&layout, 2)).text, "worker/0");
    layout_free(&layout);
}

TEST(the_other_options_are_said_in_their_words)
{
    put_host(c, "worker/1", 2);
    say(c, "processors", "16");
    ck_assert_uint_eq(c->usual.processors, 16);
    ck_assert_uint_eq(c->hosts[0].host.processors, 16);
    say(c, "switch-buffer", "40K");
    ck_assert_uint_eq(c->switch_buffer_bytes, 40960);
    say(c, "switch-buffer", "0");
    ck_assert_uint_eq(c->switch_buffer_bytes, 0);
    say(c, "loss", "0.01");
    ck_assert(c->loss == 0.01);
    say(c, "memory", "8G");
    ck_assert_uint_eq(c->memory_bytes, UINT64_C(8) << 30);
    struct distribution jitter = cluster_jitter(c);
    ck_assert(jitter.kind == DISTRIBUTION_CONSTANT && jitter.a == 0);
    say(c, "jitter", "exponential:20us");
    jitter = cluster_jitter(c);
    ck_assert(jitter.kind == DISTRIBUTION_EXPONENTIAL && jitter.a == 20000);
}

TEST(a_worker_computes_as_long_as_a_real_one_with_the_same_options)
{
    const struct job job = {
        .seed = 7, .examples = 6400, .batch = 64, .micro_batch = 16, .steps = 100};
    struct compute_time time = {.slow = 4}, expected = time;
    say(c, "compute", "lognormal:20ms,0.3");
    say(c, "straggle", "0.5:pareto:10");
    say(c, "slow", "3:4.0,5:2");
    say(c, "pause", "0.5:constant:1s");
    ck_assert_int_eq(compute_time_read_pause("0.5:constant:1s", &expected, NULL), STATUS_OK);
    ck_assert_int_eq(compute_time_read("lognormal:20ms,0.3", &expected, NULL), STATUS_OK);
    ck_assert_int_eq(compute_time_read_straggle("0.5:pareto:10", &expected, NULL), STATUS_OK);
    time = cluster_compute_time(c, 3);
    for (uint32_t i = 0; i < 40; i++)
        ck_assert(leaf_ns(&time, &job, 3, i, i % 4) == leaf_ns(&expected, &job, 3, i, i % 4) &&
                  pause_ns(&time, 7, 3, i) == pause_ns(&expected, 7, 3, i));
    ck_assert(cluster_compute_time(c, 5).slow == 2 && cluster_compute_time(c, 4).slow == 1);
    /* What is said later is all that holds. */
    say(c, "slow", "4:3,3:1");
    ck_assert(cluster_compute_time(c, 5).slow == 1 && cluster_compute_time(c, 3).slow == 1);
    ck_assert(cluster_compute_time(c, 4).slow == 3);
    ck_assert_uint_eq(c->slow_count, 1);
}

TEST(bytes_take_their_time_without_overflow)
{
    const struct cluster_handling handling = {5000, 100};
    ck_assert_uint_eq(cluster_message_ns(&handling, 0), 5000);
    ck_assert_uint_eq(cluster_message_ns(&handling, 1234567), 5000 + 123456);
    c->apply_byte_ps = CLUSTER_BYTE_MOST_PS;
    ck_assert_uint_eq(cluster_apply_ns(c, 1), 1000);
    ck_assert_uint_eq(cluster_apply_ns(c, UINT64_C(1) << 50), (UINT64_C(1) << 50) * 1000);
    c->apply_byte_ps = 333;
    ck_assert_uint_eq(cluster_apply_ns(c, 4000999), 4000 * 333 + 332);
}

/* The caller frees it. */
static char *write_text(const struct cluster *cluster)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    cluster_write(cluster, &writer, NULL);
    ck_assert(!writer.failed);
    return writer.text;
}

TEST(an_option_that_cannot_be_changes_nothing_and_says_why)
{
    static const struct {
        const char *name, *text, *answer;
    } mistakes[] = {
        {"network", "10", "'10' needs a unit: kbit, Mbit or Gbit (a second)"},
        {"network", "10Gbit,", "needs a time such as 30ms, 1.5s or 200us"},
        {"network", "10Gbit,5", "'5' needs a unit: ns, us, ms or s"},
        {"network", "10Gbit,11s", "'11s' is more than 10s"},
        {"network", "10Gbit,5us,6us", "',6us' is too much"},
        {"network", "10Gbit/", "needs a rate such as 10Gbit or 100Mbit"},
        {"link", "worker/7", "'' is not PLACES:RATE such as worker/7:100Mbit"},
        {"link", "worker/7:100", "'100' needs a unit: kbit, Mbit or Gbit (a second)"},
        {"link", "worker/7:100Mbit;", "needs a process such as worker/3, worker/0-3 or ps/0"},
        {"link", "worker/7:1Gbit,worker/6-8:1Gbit", "worker/7 is there twice"},
        {"link", "worker/7:1Gbit 5us", "' 5us' is too much"},
        {"processors", "0", "needs a whole number from 1 to 1024"},
        {"processors", "2.5", "needs a whole number from 1 to 1024"},
        {"switch-buffer", "100",
         "needs bytes such as 40K or 1M, from 2K to 1024G, or 0: deep buffers"},
        {"loss", "0.6", "needs a probability from 0 to 0.5"},
        {"loss", "-0.1", "needs a probability from 0 to 0.5"},
        {"memory", "0", "needs bytes such as 512M or 8G"},
        {"jitter", "exponential:20", "'20' needs a unit: us, ms or s"},
        {"compute", "constant", "constant needs a time, as in constant:30ms"},
        {"straggle", "0.5", "needs PROBABILITY:DISTRIBUTION:FACTOR, as in 0.05:pareto:10"},
        {"pause", "0.5", "needs PROBABILITY:DISTRIBUTION, as in 0.01:exponential:200ms"},
        {"slow", "3:0.5",
         "'3:0.5' is not WORKER:FACTOR such as 1:2.0, with a factor from 1 to 1000"},
    };
    char *before = write_text(c);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error error;
        char line[400];
        snprintf(line, sizeof line, "--%s=%s: %s", mistakes[i].name, mistakes[i].text,
                 mistakes[i].answer);
        ck_assert_int_eq(cluster_option(c, mistakes[i].name, mistakes[i].text, &error),
                         STATUS_INVALID);
        ck_assert_str_eq(error.text, line);
        char *after = write_text(c);
        ck_assert_str_eq(after, before);
        free(after);
        ck_assert_uint_eq(c->memory_bytes, 0);
        ck_assert_int_eq(cluster_option(c, mistakes[i].name, mistakes[i].text, NULL),
                         STATUS_INVALID);
    }
    free(before);
}

TEST(who_is_not_there_is_named)
{
    struct error error;
    say(c, "link", "worker/2-7:100Mbit");
    say(c, "slow", "8:2.0");
    ck_assert_int_eq(cluster_check(c, 1, 9, &error), STATUS_OK);
    ck_assert_int_eq(cluster_check(c, 1, 8, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "slow 8: there is no worker/8; there are worker/0-7");
    ck_assert_int_eq(cluster_check(c, 1, 4, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text,
                     "link worker/2-7: there is no worker/4; there are worker/0-3,ps/0");
    say(c, "link", "ps/1:1Gbit");
    ck_assert_int_eq(cluster_check(c, 1, 9, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "link ps/1: there is no ps/1; there are worker/0-8,ps/0");
}

int main(void)
{
    return suite_run("cluster", NULL);
}

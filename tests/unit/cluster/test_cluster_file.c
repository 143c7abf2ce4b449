/* test_cluster_file.c - a cluster written and read again, the shipped ones, and mistakes by line. */

#include "deploy/cluster/cluster_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

#define HEAD "{\n\"format\": \"syncopate-cluster-1\""

static void read_text(struct cluster *cluster, const char *text)
{
    struct error error;
    enum status status = cluster_read(cluster, text, strlen(text), "c.json", &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
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

static bool is_same(const struct cluster *a, const struct cluster *b)
{
    char *text = write_text(a), *other = write_text(b);
    bool same = strcmp(text, other) == 0;
    free(text);
    free(other);
    return same;
}

static void expect_again(const struct cluster *cluster)
{
    struct cluster again;
    char *text = write_text(cluster);
    read_text(&again, text);
    char *same = write_text(&again);
    ck_assert_str_eq(text, same);
    cluster_free(&again);
    free(same);
    free(text);
}

TEST_PLAIN(what_a_file_does_not_say_is_as_without_one)
{
    struct cluster cluster, without;
    cluster_init(&without);
    read_text(&cluster, HEAD "}");
    ck_assert(is_same(&cluster, &without));
    expect_again(&cluster);
    cluster_free(&cluster);
}

TEST_PLAIN(everything_that_can_be_said_is_written_and_read_again)
{
    struct cluster cluster, without;
    cluster_init(&without);
    read_text(&cluster, HEAD
              ", \"about\": \"two \\\"racks\\\", \\u00e9\", \"placement\": \"together\",\n"
              "\"hosts\": [{\"processes\": \"ps/0,worker/0-3\", \"processors\": 3},\n"
              "{\"processes\": \"worker/4\", \"card_up_bits_per_second\": 8000,"
              " \"card_down_bits_per_second\": 1000000000008, \"card_latency_ns\": 7}],\n"
              "\"host\": {\"processors\": 17, \"card_up_bits_per_second\": 1000000000,"
              " \"card_down_bits_per_second\": 2000000000, \"card_latency_ns\": 9},\n"
              "\"links\": [{\"processes\": \"worker/9\", \"card_up_bits_per_second\": 16000,"
              " \"card_down_bits_per_second\": 24000}],\n"
              "\"network\": {\"latency_ns\": 1, \"jitter\": \"uniform:1us,2us\","
              " \"loss\": 0.1, \"switch_buffer_bytes\": 40000, \"segment_bytes\": 8948,"
              " \"segment_overhead_bytes\": 66,"
              " \"loopback_bits_per_second\": 80000, \"loopback_latency_ns\": 2},\n"
              "\"compute\": {\"leaf_time\": \"pareto:30ms,2\", \"straggle\": \"0.05:pareto:10\", "
              "\"pause\": \"0.01:exponential:200ms\","
              " \"slow\": [{\"worker\": 3, \"factor\": 4}, {\"worker\": 1023,"
              " \"factor\": 1.1}]},\n"
              "\"worker\": {\"message_ns\": 3, \"message_byte_ps\": 4},\n"
              "\"server\": {\"message_ns\": 5, \"message_byte_ps\": 6, \"apply_byte_ps\": 8}}");
    ck_assert_uint_eq(cluster.host_count, 2);
    /* A named host is as "host" says, wherever that stands. */
    ck_assert_uint_eq(cluster.hosts[0].host.nic.up_bytes_per_second, 125000000);
    ck_assert_uint_eq(cluster.hosts[0].host.processors, 3);
    ck_assert_uint_eq(cluster.hosts[1].host.processors, 17);
    ck_assert_uint_eq(cluster.hosts[1].host.nic.down_bytes_per_second, UINT64_C(125000000001));
    ck_assert_uint_eq(cluster.links[0].nic.up_bytes_per_second, 2000);
    ck_assert_uint_eq(cluster.links[0].nic.latency_ns, 0);
    ck_assert(cluster.loss == 0.1 && cluster.slow[1].factor == 1.1);
    ck_assert_str_eq(cluster.about, "two \"racks\", \xc3\xa9");
    ck_assert_uint_eq(cluster.worker.message_ns * 1000 + cluster.worker.message_byte_ps * 100 +
                          cluster.server.message_ns * 10 + cluster.server.message_byte_ps,
                      3456);
    ck_assert_uint_eq(cluster.apply_byte_ps, 8);
    ck_assert(!is_same(&cluster, &without));
    expect_again(&cluster);
    cluster_free(&cluster);
}

TEST_PLAIN(what_options_have_said_is_kept_in_a_file)
{
    struct cluster cluster, again;
    cluster_init(&cluster);
    ck_assert_int_eq(cluster_option(&cluster, "network", "2.5Gbit/100Mbit,3us", NULL), STATUS_OK);
    ck_assert_int_eq(cluster_option(&cluster, "link", "worker/1:1Gbit", NULL), STATUS_OK);
    ck_assert_int_eq(cluster_option(&cluster, "link", "worker/0-3:2Gbit", NULL), STATUS_OK);
    ck_assert_int_eq(cluster_option(&cluster, "slow", "3:4.7", NULL), STATUS_OK);
    ck_assert_int_eq(cluster_option(&cluster, "memory", "1G", NULL), STATUS_OK);
    expect_again(&cluster);
    char *text = write_text(&cluster);
    read_text(&again, text);
    ck_assert_uint_eq(again.memory_bytes, 0); /* Another machine's. */
    free(text);
    cluster_free(&again);
    cluster_free(&cluster);
}

/* Each change of one member makes another text: no member is forgotten by what the tests above compare. */
TEST_PLAIN(no_member_is_overlooked)
{
    static const char *const members[] = {
        "\"about\": \"x\"",
        "\"placement\": \"together\"",
        "\"host\": {\"processors\": 5}",
        "\"host\": {\"card_up_bits_per_second\": 8000, \"card_down_bits_per_second\": 10000000000}",
        "\"host\": {\"card_up_bits_per_second\": 10000000000, \"card_down_bits_per_second\": 8000}",
        "\"host\": {\"card_latency_ns\": 1}",
        "\"hosts\": [{\"processes\": \"ps/0\"}]",
        "\"hosts\": [{\"processes\": \"ps/1\"}]",
        "\"hosts\": [{\"processes\": \"ps/1\", \"processors\": 2}]",
        "\"links\": [{\"processes\": \"ps/0\", \"card_up_bits_per_second\": 8000,"
        " \"card_down_bits_per_second\": 8000}]",
        "\"links\": [{\"processes\": \"ps/0\", \"card_up_bits_per_second\": 8000,"
        " \"card_down_bits_per_second\": 8000, \"card_latency_ns\": 1}]",
        "\"network\": {\"latency_ns\": 1}",
        "\"network\": {\"jitter\": \"constant:1us\"}",
        "\"network\": {\"loss\": 0.25}",
        "\"network\": {\"switch_buffer_bytes\": 2048}",
        "\"network\": {\"segment_bytes\": 536}",
        "\"network\": {\"segment_overhead_bytes\": 66}",
        "\"network\": {\"loopback_bits_per_second\": 8000}",
        "\"network\": {\"loopback_latency_ns\": 1}",
        "\"compute\": {\"leaf_time\": \"constant:1s\"}",
        "\"compute\": {\"straggle\": \"0.05:pareto:10\"}",
        "\"compute\": {\"pause\": \"0.05:constant:10ms\"}",
        "\"compute\": {\"score_example_ns\": 7}",
        "\"compute\": {\"slow\": [{\"worker\": 1, \"factor\": 2}]}",
        "\"compute\": {\"slow\": [{\"worker\": 1, \"factor\": 3}]}",
        "\"worker\": {\"message_ns\": 1}",
        "\"worker\": {\"message_byte_ps\": 1}",
        "\"server\": {\"message_ns\": 1}",
        "\"server\": {\"message_byte_ps\": 1}",
        "\"server\": {\"apply_byte_ps\": 1}",
    };
    enum { COUNT = sizeof members / sizeof *members };
    static struct cluster clusters[COUNT + 1];
    cluster_init(&clusters[COUNT]);
    for (size_t i = 0; i < COUNT; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD ", %s}", members[i]);
        read_text(&clusters[i], text);
        expect_again(&clusters[i]);
    }
    for (size_t i = 0; i <= COUNT; i++)
        for (size_t j = 0; j <= COUNT; j++)
            ck_assert_msg(is_same(&clusters[i], &clusters[j]) == (i == j), "%zu and %zu", i, j);
    for (size_t i = 0; i <= COUNT; i++)
        cluster_free(&clusters[i]);
}

TEST_PLAIN(a_mistake_is_named_with_its_line)
{
    static const struct {
        const char *text, *answer;
    } mistakes[] = {
        {"{\n\n", "not valid JSON: line 3: string or '}' expected near end of file"},
        {" []", "line 1: needs an object, {...}, not []"},
        {"\n{}", "line 2: lacks \"format\""},
        {"{\n\"format\": \"syncopate-cluster-2\"}",
         "line 2: format needs to be \"syncopate-cluster-1\", which this program reads, not "
         "\"syncopate-cluster-2\""},
        {"{\n\"format\": 1}",
         "line 2: format needs to be \"syncopate-cluster-1\", which this program reads, not 1"},
        {HEAD ",\n\n\"hots\": []}", "line 4: hots does not belong there"},
        {HEAD ",\n\"a\\nb\": []}", "line 3: a?b does not belong there"},
        {HEAD ",\n\"about\": 3}", "line 3: about needs a text, not 3"},
        {HEAD ",\n\"about\": \"a\\nb\"}", "line 3: about is to be one line of text"},
        {HEAD ",\n\"placement\": \"somewhere\"}",
         "line 3: placement needs \"apart\" or \"together\", not \"somewhere\""},
        {HEAD ",\n\"host\": 3}", "line 3: host needs an object, {...}, not 3"},
        {HEAD ",\n\"hosts\": {}}", "line 3: hosts needs a list, [...], not {}"},
        {HEAD ",\n\"hosts\": 7}", "line 3: hosts needs a list, [...], not 7"},
        {HEAD ",\n\"hosts\": [\n3]}", "line 4: hosts[0] needs an object, {...}, not 3"},
        {HEAD ",\n\"hosts\": [\n{}]}", "line 4: hosts[0] lacks \"processes\""},
        {HEAD ",\n\"hosts\": [\n{\"processes\": \"worker/x\"}]}",
         "line 4: hosts[0].processes 'worker/x' is not a process such as worker/3, worker/0-3 or "
         "ps/0"},
        {HEAD ",\n\"hosts\": [\n{\"processes\": \"worker/1@\"}]}",
         "line 4: hosts[0].processes '@' is too much"},
        {HEAD ",\n\"hosts\": [\n{\"processes\": \"worker/1\"},\n{\"processes\": \"worker/0-3\"}]}",
         "line 5: hosts[1] has worker/1, which is on another host already"},
        {HEAD ",\n\"hosts\": [{\"processes\": \"ps/0\",\n\"processors\": 0}]}",
         "line 4: hosts[0].processors needs a whole number from 1 to 1024, not 0"},
        {HEAD ",\n\"host\": {\"processors\": -4}}",
         "line 3: host.processors needs a whole number from 1 to 1024, not -4"},
        {HEAD ",\n\"host\": {\"processors\": 2.5}}",
         "line 3: host.processors needs a whole number from 1 to 1024, not 2.5"},
        {HEAD ",\n\"host\": {\"processors\": \"2\"}}",
         "line 3: host.processors needs a whole number from 1 to 1024, not \"2\""},
        {HEAD ",\n\"host\": {\n\"card_up_bits_per_second\": 8000}}",
         "line 3: host lacks \"card_down_bits_per_second\""},
        {HEAD ",\n\"host\": {\n\"card_down_bits_per_second\": 8000}}",
         "line 3: host lacks \"card_up_bits_per_second\""},
        {HEAD ",\n\"host\": {\"card_up_bits_per_second\": 8001,\n"
              "\"card_down_bits_per_second\": 8000}}",
         "line 3: host.card_up_bits_per_second needs a multiple of 8, whole bytes, not 8001"},
        {HEAD ",\n\"links\": [{\"processes\": \"ps/0\"}]}",
         "line 3: links[0] lacks \"card_up_bits_per_second\""},
        {HEAD ",\n\"network\": {\"loss\":\n0.7}}",
         "line 3: network.loss needs a number from 0 to 0.5, not 0.7"},
        {HEAD ",\n\"network\": {\"loss\": true}}",
         "line 3: network.loss needs a number from 0 to 0.5, not true"},
        {HEAD ",\n\"network\": {\"switch_buffer_bytes\": 100}}",
         "line 3: network.switch_buffer_bytes needs 0 or a whole number from 2048 to "
         "1099511627776, not 100"},
        {HEAD ",\n\"network\": {\"jitter\": \"often\"}}",
         "line 3: network.jitter 'often' is not constant, uniform, exponential, lognormal or "
         "pareto"},
        {HEAD ",\n\"compute\": {\"leaf_time\": \"\"}}",
         "line 3: compute.leaf_time '' is not constant, uniform, exponential, lognormal, pareto or "
         "trace"},
        {HEAD ",\n\"compute\": {\"slow\": [{\"worker\": 1, \"factor\": 2},\n"
              "{\"worker\": 1, \"factor\": 3}]}}",
         "line 4: compute.slow[1] has worker 1, which is there already"},
        {HEAD ",\n\"compute\": {\"slow\": [{\"worker\": 1,\n\"factor\": 0.5}]}}",
         "line 4: compute.slow[0].factor needs a number from 1 to 1000, not 0.5"},
        {HEAD ",\n\"compute\": {\"slow\": [{\"worker\": 1, \"factor\": 2, \"why\": [1, 2, 3]}]}}",
         "line 3: compute.slow[0].why does not belong there"},
        {HEAD ",\n\"server\": {\"message_ns\": 10000000001}}",
         "line 3: server.message_ns needs a whole number from 0 to 10000000000, not 10000000001"},
        {HEAD ",\n\"about\": \"a\", \"about\": \"b\"}",
         "not valid JSON: line 3: duplicate object key near '\"about\"'"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct cluster cluster;
        struct error error;
        char line[400];
        snprintf(line, sizeof line, "c.json: %s", mistakes[i].answer);
        ck_assert_msg(cluster_read(&cluster, mistakes[i].text, strlen(mistakes[i].text), "c.json",
                                   &error) == STATUS_INVALID,
                      "%s", mistakes[i].text);
        ck_assert_str_eq(error.text, line);
    }
}

TEST_PLAIN(the_shipped_files_can_be_read_and_say_everything)
{
    static const struct {
        const char *path;
        uint64_t rate;
    } files[] = {{"deploy/cluster/examples/cloud-1gbit.json", 125000000},
                 {"deploy/cluster/examples/cloud-10gbit.json", 1250000000},
                 {"deploy/cluster/examples/cloud-100gbit.json", UINT64_C(12500000000)},
                 {"deploy/cluster/examples/laptop.json", 1250000000}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cluster cluster;
        struct error error;
        void *text;
        size_t bytes;
        enum status status = cluster_read_file(&cluster, &disk_posix, files[i].path, &error);
        ck_assert_msg(status == STATUS_OK, "%s", error.text);
        ck_assert_uint_eq(cluster.usual.nic.up_bytes_per_second, files[i].rate);
        ck_assert_int_eq(cluster.rest == CLUSTER_TOGETHER, strstr(files[i].path, "laptop") != NULL);
        /* Each is what would be written: it shows all that there is. */
        char *written = write_text(&cluster);
        ck_assert_int_eq(
            disk_posix.read_file(disk_posix.context, files[i].path, 1 << 20, &text, &bytes, &error),
            STATUS_OK);
        ck_assert_uint_eq(bytes, strlen(written) + 1);
        ck_assert_msg(!memcmp(text, written, bytes - 1), "%s: %s", files[i].path, written);
        free(text);
        free(written);
        cluster_free(&cluster);
    }
}

TEST_PLAIN(without_a_file_the_constants_of_laptop_hold)
{
    struct cluster laptop, cluster;
    struct error error;
    cluster_init(&cluster);
    ck_assert_int_eq(
        cluster_read_file(&laptop, &disk_posix, "deploy/cluster/examples/laptop.json", &error),
        STATUS_OK);
    laptop.rest = CLUSTER_APART;
    laptop.about[0] = '\0';
    ck_assert(is_same(&laptop, &cluster));
    cluster_free(&laptop);
    ck_assert_int_eq(cluster_read_file(&laptop, &disk_posix, "deploy/cluster/none.json", &error),
                     STATUS_NOT_FOUND);
}

int main(void)
{
    return suite_run("cluster file", NULL);
}

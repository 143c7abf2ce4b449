/* fuzz_cluster.c - a cluster file from anywhere. What can be read is written and read again as the same
 * cluster, every process of a job gets a host, and times come out. */

#include <string.h>

#include "deploy/cluster/cluster_file.h"
#include "deploy/cluster/layout.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/regular.h"

/* An empty object takes three characters and, in jansson, a hash table. */
const struct fuzz_bounds fuzz_bounds = {512u << 10, 512};

void fuzz_start(void)
{
}

static void place_all(const struct cluster *cluster)
{
    struct layout layout;
    if (layout_make(&layout, cluster, 3, 9, NULL) != STATUS_OK)
        return;
    fuzz_must(layout.host_count >= 1 && layout.host_count <= 12, "hosts are those of processes");
    for (uint32_t i = 0; i < 12; i++) {
        fuzz_must(layout.host_of[i] < layout.host_count, "everybody has a host");
        const struct cluster_host *host = &layout.hosts[layout.host_of[i]];
        fuzz_must(host->processors > 0 && host->nic.up_bytes_per_second > 0 &&
                      host->nic.down_bytes_per_second > 0,
                  "a host can compute and speak");
    }
    layout_free(&layout);
}

static void draw(const struct cluster *cluster)
{
    const struct job job = {.seed = 1, .examples = 64, .batch = 64, .micro_batch = 16, .steps = 4};
    struct distribution jitter = cluster_jitter(cluster);
    for (uint32_t worker = 0; worker < 9; worker++) {
        struct compute_time time = cluster_compute_time(cluster, worker);
        fuzz_must(time.traced != NULL || leaf_ns(&time, &job, worker, 0, 3) <= COMPUTE_TIME_MOST_NS,
                  "a leaf takes a day at most");
    }
    fuzz_must(distribution_draw(&jitter, (const uint32_t[3]){1, 2, 3}) >= 0,
              "time does not go back");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct cluster cluster, again;
    struct error error = {.text = ""};
    struct json_writer writer, twice;
    if (cluster_read(&cluster, (const char *)data, size, "input", &error) != STATUS_OK) {
        fuzz_must(error.text[0] != '\0', "a refusal says why");
        return;
    }
    json_writer_init(&writer, true);
    cluster_write(&cluster, &writer, NULL);
    fuzz_must(cluster_read(&again, writer.text, writer.bytes, "there", &error) == STATUS_OK,
              "a cluster that was written can be read");
    json_writer_init(&twice, true);
    cluster_write(&again, &twice, NULL);
    fuzz_must(strcmp(writer.text, twice.text) == 0, "writing changes nothing");
    json_writer_free(&twice);
    json_writer_free(&writer);
    cluster_check(&cluster, 3, 9, &error);
    place_all(&cluster);
    draw(&cluster);
    cluster_free(&again);
    cluster_free(&cluster);
}

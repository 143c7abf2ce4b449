/* cluster.c - the default cluster, and the options that change it. */

#include "deploy/cluster/cluster.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/options/options_table.h"
#include "deploy/cluster/quantity.h"

/* Round figures of the order that one core of a laptop showed: a leaf of 16 examples of the
 * reference model, momentum's update, a message through the loopback. For precise ones,
 * calibrate. */
void cluster_init(struct cluster *cluster)
{
    *cluster = (struct cluster){
        .rest = CLUSTER_APART,
        .usual = {.processors = 4,
                  .nic = {.up_bytes_per_second = UINT64_C(1250000000),
                          .down_bytes_per_second = UINT64_C(1250000000)}},
        .latency_ns = 50000,
        .loopback_bytes_per_second = UINT64_C(5000000000),
        .loopback_latency_ns = 10000,
        .segment = {.bytes = 1448, .overhead_bytes = 90},
        .leaf_time = "constant:1.2ms",
        .score_example_ns = 25000,
        .worker = {.message_ns = 5000, .message_byte_ps = 100},
        .server = {.message_ns = 5000, .message_byte_ps = 100},
        .apply_byte_ps = 200,
    };
}

void cluster_free(struct cluster *cluster)
{
    free(cluster->hosts);
    free(cluster->links);
    free(cluster->slow);
    *cluster = (struct cluster){.hosts = NULL};
}

/* --- lists ----------------------------------------------------------------------------------- */

enum status cluster_add_host(struct cluster *cluster, const struct cluster_named *host)
{
    struct cluster_named *hosts =
        array_room(cluster->hosts, cluster->host_count, &cluster->host_capacity, sizeof *hosts);
    if (hosts == NULL)
        return STATUS_MEMORY;
    cluster->hosts = hosts;
    cluster->hosts[cluster->host_count++] = *host;
    return STATUS_OK;
}

enum status cluster_add_link(struct cluster *cluster, const struct cluster_link *link)
{
    struct cluster_link *links =
        array_room(cluster->links, cluster->link_count, &cluster->link_capacity, sizeof *links);
    if (links == NULL)
        return STATUS_MEMORY;
    cluster->links = links;
    cluster->links[cluster->link_count++] = *link;
    return STATUS_OK;
}

enum status cluster_set_slow(struct cluster *cluster, uint64_t worker, double factor)
{
    for (size_t i = 0; i < cluster->slow_count; i++)
        if (cluster->slow[i].worker == worker) {
            cluster->slow[i].factor = factor;
            return STATUS_OK;
        }
    struct cluster_slow *slow =
        array_room(cluster->slow, cluster->slow_count, &cluster->slow_capacity, sizeof *slow);
    if (slow == NULL)
        return STATUS_MEMORY;
    cluster->slow = slow;
    cluster->slow[cluster->slow_count++] = (struct cluster_slow){worker, factor};
    return STATUS_OK;
}

/* --- options --------------------------------------------------------------------------------- */

/* "10Gbit/1Gbit,50us". latency: the default. */
static enum status read_nic(const char **text, uint64_t latency_ns, struct cluster_nic *nic,
                            struct error *error)
{
    const char *at = *text;
    enum status status = quantity_read_rate(&at, &nic->up_bytes_per_second, error);
    nic->down_bytes_per_second = nic->up_bytes_per_second;
    nic->latency_ns = latency_ns;
    if (status == STATUS_OK && *at == '/') {
        at++;
        status = quantity_read_rate(&at, &nic->down_bytes_per_second, error);
    }
    /* After a comma without a number the next item of a list follows. */
    if (status == STATUS_OK && *at == ',' && (at[1] == '\0' || strchr("0123456789.", at[1]))) {
        at++;
        status = quantity_read_time(&at, CLUSTER_LATENCY_MOST, &nic->latency_ns, error);
    }
    *text = at;
    return status;
}

static enum status refuse_rest(const char *at, struct error *error)
{
    return error_set(error, STATUS_INVALID, "'%.60s' is too much", at);
}

static enum status read_network(struct cluster *cluster, const char *text, struct error *error)
{
    struct cluster_nic nic;
    enum status status = read_nic(&text, cluster->latency_ns, &nic, error);
    if (status == STATUS_OK && *text != '\0')
        status = refuse_rest(text, error);
    if (status != STATUS_OK)
        return status;
    cluster->latency_ns = nic.latency_ns;
    nic.latency_ns = 0;
    cluster->usual.nic = nic;
    for (size_t i = 0; i < cluster->host_count; i++)
        cluster->hosts[i].host.nic = nic;
    return STATUS_OK;
}

static enum status read_one_link(const char **text, struct cluster_link *link, struct error *error)
{
    enum status status = places_read(text, &link->processes, error);
    if (status != STATUS_OK)
        return status;
    if (**text != ':')
        return error_set(error, STATUS_INVALID,
                         "'%.60s' is not PLACES:RATE such as worker/7:100Mbit", *text);
    ++*text;
    status = read_nic(text, 0, &link->nic, error);
    if (status == STATUS_OK && **text != '\0' && **text != ';' && **text != ',')
        status = refuse_rest(*text, error);
    return status;
}

/* Those from `first` on are one option's. */
static enum status check_once(const struct cluster *cluster, size_t first, struct error *error)
{
    struct place twice;
    for (size_t i = first; i < cluster->link_count; i++)
        for (size_t j = i + 1; j < cluster->link_count; j++)
            if (places_meet(&cluster->links[i].processes, &cluster->links[j].processes, &twice))
                return error_set(error, STATUS_INVALID, "%s is there twice",
                                 place_text(twice).text);
    return STATUS_OK;
}

static enum status read_links(struct cluster *cluster, const char *text, struct error *error)
{
    size_t before = cluster->link_count;
    enum status status = STATUS_OK;
    for (bool more = true; more && status == STATUS_OK; text++) {
        struct cluster_link link;
        text += strspn(text, " \t");
        status = read_one_link(&text, &link, error);
        more = *text != '\0';
        if (status == STATUS_OK && cluster_add_link(cluster, &link) != STATUS_OK)
            status = error_set(error, STATUS_MEMORY, "no memory");
    }
    if (status == STATUS_OK)
        status = check_once(cluster, before, error);
    if (status != STATUS_OK)
        cluster->link_count = before;
    return status;
}

static enum status read_processors(struct cluster *cluster, const char *text, struct error *error)
{
    uint64_t count;
    if (!option_parse_u64(text, &count) || count < 1 || count > CLUSTER_PROCESSORS_MAX)
        return error_set(error, STATUS_INVALID, "needs a whole number from 1 to %d",
                         CLUSTER_PROCESSORS_MAX);
    cluster->usual.processors = count;
    for (size_t i = 0; i < cluster->host_count; i++)
        cluster->hosts[i].host.processors = count;
    return STATUS_OK;
}

static enum status read_switch_buffer(struct cluster *cluster, const char *text,
                                      struct error *error)
{
    uint64_t bytes;
    if (!option_parse_bytes(text, &bytes) || bytes > CLUSTER_BUFFER_MOST ||
        (bytes != 0 && bytes < CLUSTER_BUFFER_LEAST))
        return error_set(error, STATUS_INVALID,
                         "needs bytes such as 40K or 1M, from 2K to 1024G, or 0: deep buffers");
    cluster->switch_buffer_bytes = bytes;
    return STATUS_OK;
}

static enum status read_memory(struct cluster *cluster, const char *text, struct error *error)
{
    uint64_t bytes;
    if (!option_parse_bytes(text, &bytes) || bytes == 0)
        return error_set(error, STATUS_INVALID, "needs bytes such as 512M or 8G");
    cluster->memory_bytes = bytes;
    return STATUS_OK;
}

static enum status read_loss(struct cluster *cluster, const char *text, struct error *error)
{
    double loss;
    if (!option_parse_real(text, &loss) || !(loss >= 0 && loss <= CLUSTER_LOSS_MOST))
        return error_set(error, STATUS_INVALID, "needs a probability from 0 to %g",
                         CLUSTER_LOSS_MOST);
    cluster->loss = loss;
    return STATUS_OK;
}

static enum status keep_text(char kept[CLUSTER_TEXT_MAX], const char *text, struct error *error)
{
    if (strlen(text) >= CLUSTER_TEXT_MAX)
        return error_set(error, STATUS_INVALID, "is longer than %d characters",
                         CLUSTER_TEXT_MAX - 1);
    memcpy(kept, text, strlen(text) + 1);
    return STATUS_OK;
}

enum status cluster_jitter_check(const char *text, struct error *error)
{
    struct compute_time time;
    return compute_time_read_drawn(text, &time, error);
}

static enum status read_jitter(struct cluster *cluster, const char *text, struct error *error)
{
    enum status status = cluster_jitter_check(text, error);
    return status == STATUS_OK ? keep_text(cluster->jitter, text, error) : status;
}

static enum status read_compute(struct cluster *cluster, const char *text, struct error *error)
{
    enum status status = option_compute_check(text, error);
    return status == STATUS_OK ? keep_text(cluster->leaf_time, text, error) : status;
}

static enum status read_straggle(struct cluster *cluster, const char *text, struct error *error)
{
    enum status status = option_straggle_check(text, error);
    return status == STATUS_OK ? keep_text(cluster->straggle, text, error) : status;
}

static enum status read_pause(struct cluster *cluster, const char *text, struct error *error)
{
    enum status status = option_pause_check(text, error);
    return status == STATUS_OK ? keep_text(cluster->pause, text, error) : status;
}

/* Replaces the list of a file; "3:1" says that no worker is slow. */
static enum status read_slow(struct cluster *cluster, const char *text, struct error *error)
{
    struct cluster said = {.slow = NULL};
    enum status status = option_slow_check(text, error);
    for (uint32_t worker = 0; worker < JOB_WORKERS_MAX && status == STATUS_OK; worker++) {
        double factor = options_slow_factor(text, worker);
        if (factor != 1 && cluster_set_slow(&said, worker, factor) != STATUS_OK)
            status = error_set(error, STATUS_MEMORY, "no memory");
    }
    if (status == STATUS_OK) {
        struct cluster_slow *before = cluster->slow;
        cluster->slow = said.slow;
        cluster->slow_count = said.slow_count;
        cluster->slow_capacity = said.slow_capacity;
        said.slow = before;
    }
    free(said.slow);
    return status;
}

static const struct {
    const char *name;
    enum status (*read)(struct cluster *cluster, const char *text, struct error *error);
} options[] = {
    {"network", read_network},       {"link", read_links},
    {"processors", read_processors}, {"switch-buffer", read_switch_buffer},
    {"jitter", read_jitter},         {"loss", read_loss},
    {"compute", read_compute},       {"straggle", read_straggle},
    {"pause", read_pause},           {"slow", read_slow},
    {"memory", read_memory},
};

enum status cluster_option(struct cluster *cluster, const char *name, const char *text,
                           struct error *error)
{
    struct error found;
    size_t i = 0;
    while (strcmp(options[i].name, name) != 0) {
        i++;
        assert(i < sizeof options / sizeof *options);
    }
    enum status status = options[i].read(cluster, text, &found);
    if (status != STATUS_OK)
        error_set(error, status, "--%s=%.120s: %.300s", name, text, found.text);
    return status;
}

/* --- a job ----------------------------------------------------------------------------------- */

static enum status refuse_link(const struct places *processes, const struct error *found,
                               struct error *error)
{
    char text[PLACES_TEXT_MAX];
    places_write(processes, text);
    return error_set(error, STATUS_INVALID, "link %.120s: %.300s", text, found->text);
}

enum status cluster_check(const struct cluster *cluster, uint32_t servers, uint32_t workers,
                          struct error *error)
{
    struct error found;
    for (size_t i = 0; i < cluster->link_count; i++)
        if (places_check(&cluster->links[i].processes, servers, workers, &found) != STATUS_OK)
            return refuse_link(&cluster->links[i].processes, &found, error);
    for (size_t i = 0; i < cluster->slow_count; i++)
        if (cluster->slow[i].worker >= workers)
            return error_set(error, STATUS_INVALID,
                             "slow %" PRIu64 ": there is no worker/%" PRIu64
                             "; there are worker/0-%" PRIu32,
                             cluster->slow[i].worker, cluster->slow[i].worker, workers - 1);
    return STATUS_OK;
}

/* --- times ----------------------------------------------------------------------------------- */

struct compute_time cluster_compute_time(const struct cluster *cluster, uint32_t worker)
{
    struct compute_time time = {.slow = 1};
    enum status status = compute_time_read(cluster->leaf_time, &time, NULL); /* May be traced. */
    if (status == STATUS_OK && cluster->straggle[0] != '\0')
        status = compute_time_read_straggle(cluster->straggle, &time, NULL);
    if (status == STATUS_OK && cluster->pause[0] != '\0')
        status = compute_time_read_pause(cluster->pause, &time, NULL);
    assert(status == STATUS_OK);
    for (size_t i = 0; i < cluster->slow_count; i++)
        if (cluster->slow[i].worker == worker)
            time.slow = cluster->slow[i].factor;
    return time;
}

struct distribution cluster_jitter(const struct cluster *cluster)
{
    struct compute_time time = {.leaf = {DISTRIBUTION_CONSTANT, 0, 0}};
    enum status status = STATUS_OK;
    if (cluster->jitter[0] != '\0')
        status = compute_time_read_drawn(cluster->jitter, &time, NULL);
    assert(status == STATUS_OK);
    return time.leaf;
}

/* Also of petabytes without an overflow. */
static uint64_t bytes_ns(uint64_t bytes, uint64_t byte_ps)
{
    return bytes / 1000 * byte_ps + bytes % 1000 * byte_ps / 1000;
}

uint64_t cluster_message_ns(const struct cluster_handling *handling, uint64_t bytes)
{
    return handling->message_ns + bytes_ns(bytes, handling->message_byte_ps);
}

uint64_t cluster_apply_ns(const struct cluster *cluster, uint64_t bytes)
{
    return bytes_ns(bytes, cluster->apply_byte_ps);
}

/* cluster_arrivals.c - a random cluster (tests/lib/clusters) for others to simulate, and when its
 * messages arrive here.
 *
 *     cluster_arrivals SEED PREFIX
 *
 * writes PREFIX.xml, the platform as SimGrid reads it: each host has a link up and a link down;
 * PREFIX.messages, "number from to start bytes"; and PREFIX.arrivals, "number start arrival", all times
 * in seconds. SimGrid gives who is further away a smaller share, so that there all are equally far, and
 * what a host is further than others its messages begin later. */

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/clusters/random_cluster.h"

static FILE *open_file(const char *prefix, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", prefix, ending);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static void write_routes(FILE *file, uint32_t hosts)
{
    for (uint32_t from = 0; from < hosts; from++)
        for (uint32_t to = 0; to < hosts; to++)
            if (from != to)
                fprintf(file,
                        "<route src=\"h%u\" dst=\"h%u\" symmetrical=\"NO\"><link_ctn id=\"up%u\"/>"
                        "<link_ctn id=\"down%u\"/></route>\n",
                        from, to, from, to);
}

static void write_platform(FILE *file, const struct random_cluster *cluster)
{
    fprintf(file, "<?xml version='1.0'?>\n"
                  "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                  "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n");
    for (uint32_t h = 0; h < cluster->host_count; h++)
        fprintf(file, "<host id=\"h%u\" speed=\"1Gf\"/>\n", h);
    for (uint32_t h = 0; h < cluster->host_count; h++) {
        const struct network_host *host = &cluster->hosts[h];
        double ns = (double)cluster->options.latency_ns / 2;
        fprintf(file,
                "<link id=\"up%u\" bandwidth=\"%lluBps\" latency=\"%.1fns\"/>\n"
                "<link id=\"down%u\" bandwidth=\"%lluBps\" latency=\"%.1fns\"/>\n",
                h, (unsigned long long)host->up_rate, ns, h, (unsigned long long)host->down_rate,
                ns);
    }
    write_routes(file, cluster->host_count);
    fprintf(file, "</zone></platform>\n");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: cluster_arrivals SEED PREFIX\n");
        return 2;
    }
    static struct random_cluster cluster;
    uint64_t arrivals_ns[RANDOM_MESSAGES_MOST];
    random_cluster_draw(&cluster, strtoull(argv[1], NULL, 10));
    random_cluster_run(&cluster, arrivals_ns);
    FILE *platform = open_file(argv[2], "xml"), *messages = open_file(argv[2], "messages");
    FILE *arrivals = open_file(argv[2], "arrivals");
    write_platform(platform, &cluster);
    for (uint32_t i = 0; i < cluster.message_count; i++) {
        const struct random_message *m = &cluster.messages[i];
        double start = (double)m->start_ns * 1e-9;
        uint64_t further_ns = cluster.hosts[m->from].latency_ns + cluster.hosts[m->to].latency_ns;
        fprintf(messages, "%u h%u h%u %.9f %llu\n", i, m->from, m->to,
                start + (double)further_ns * 1e-9, (unsigned long long)m->bytes);
        fprintf(arrivals, "%u %.9f %.9f\n", i, start, (double)arrivals_ns[i] * 1e-9);
    }
    return fclose(platform) || fclose(messages) || fclose(arrivals);
}

/* fuzz_failures.c - what is typed of a cluster and what goes wrong in it: lines of NAME=TEXT, each an
 * option. What is taken is written and read again as the same, and happens in the order of time. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/cluster/cluster.h"
#include "deploy/cluster/failures.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX 4096

/* The outages, a happening for each process of each, and what a thousand workers are slowed down by. */
const struct fuzz_bounds fuzz_bounds = {8u << 20, 4096};

void fuzz_start(void)
{
}

static void write_again(const struct failures *failures)
{
    struct failures again;
    struct error error;
    failures_init(&again);
    for (size_t i = 0; i < failures->count; i++) {
        char one[FAILURE_TEXT_MAX], other[FAILURE_TEXT_MAX];
        failure_write(&failures->list[i], one);
        char *list = strchr(one, ' ');
        *list = '\0';
        fuzz_must(failures_option(&again, one, list + 1, &error) == STATUS_OK,
                  "what was written can be read");
        *list = ' ';
        failure_write(&again.list[i], other);
        fuzz_must(strcmp(one, other) == 0, "it stays the same");
    }
    failures_free(&again);
}

static void happen(const struct failures *failures)
{
    struct failure_event *list;
    size_t count;
    struct error error = {.text = ""};
    enum status status = failures_events(failures, 2, 6, &list, &count, &error);
    fuzz_must(status == STATUS_OK || error.text[0] != '\0', "a refusal says why");
    for (size_t i = 1; i < count; i++)
        fuzz_must(list[i - 1].at_ns <= list[i].at_ns, "time does not go back");
    free(list);
}

static void take(struct failures *failures, struct cluster *cluster, const char *name,
                 const char *text)
{
    static const char *const ours[] = {"kill", "stop", "partition", "join", "leave", "restart"};
    static const char *const its[] = {"network", "link", "processors", "switch-buffer",
                                      "jitter",  "loss", "compute",    "straggle",
                                      "pause",   "slow", "memory"};
    struct error error = {.text = ""};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0)
            status = failures_option(failures, name, text, &error);
    for (size_t i = 0; i < sizeof its / sizeof *its; i++)
        if (strcmp(name, its[i]) == 0)
            status = cluster_option(cluster, name, text, &error);
    fuzz_must(status == STATUS_OK || error.text[0] != '\0', "a refusal says why");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX], *rest = text;
    struct failures failures;
    struct cluster cluster;
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    failures_init(&failures);
    cluster_init(&cluster);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = strchr(line, '=');
        if (value == NULL)
            continue;
        *value = '\0';
        take(&failures, &cluster, line, value + 1);
    }
    write_again(&failures);
    happen(&failures);
    cluster_free(&cluster);
    failures_free(&failures);
}

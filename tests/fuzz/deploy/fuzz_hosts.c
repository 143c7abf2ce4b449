/* fuzz_hosts.c - a file of hosts from anywhere, and what a host said when it was asked. What can be read
 * is sane: names that no shell and no option's parser takes for anything else, everybody seated. */

#include <string.h>

#include "deploy/hosts/host_report.h"
#include "deploy/hosts/placement.h"
#include "tests/fuzz/fuzz.h"

const struct fuzz_bounds fuzz_bounds = {4u << 20, 4096};

void fuzz_start(void)
{
}

static void look_at(const struct host_list *list)
{
    fuzz_must(list->count > 0, "a list has hosts");
    for (size_t i = 0; i < list->count; i++) {
        const struct host *host = &list->hosts[i];
        fuzz_must(host->name[0] != '\0' && host->name[0] != '-' &&
                      strpbrk(host->name, " '\"\\$`;&|<>()*?[]{}~!#@:/\n") == NULL,
                  "a name is a name");
        fuzz_must(host->user[0] != '-', "a user is no option");
        for (size_t k = 0; k < i; k++)
            fuzz_must(strcmp(list->hosts[k].name, host->name) != 0, "nobody is there twice");
    }
}

static void place(const struct host_list *list)
{
    struct placement placement;
    uint32_t workers = placement_room(list, 2, false);
    workers = workers < 500 ? workers : 500;
    if (placement_make(&placement, list, 2, workers, false, NULL) == STATUS_OK) {
        uint32_t taken = 0;
        for (size_t i = 0; i < list->count; i++) {
            taken += placement.taken[i];
            fuzz_must(list->hosts[i].slots == 0 || placement.taken[i] <= list->hosts[i].slots,
                      "no host gets more than it has");
        }
        fuzz_must(taken == 2 + workers, "everybody has a place");
    } else
        fuzz_must(workers == 0, "there is room for as many as there is said to be");
    placement_free(&placement);
}

static void hear(const char *text)
{
    static const struct host_wanted wanted = {
        .version = "syncopate 0.1.0", .first_port = 20000, .bin = "/bin"};
    struct host_report report;
    host_report_read(&report, &wanted, text, 0, "", 1);
    fuzz_must(memchr(report.fault, '\0', sizeof report.fault) != NULL &&
                  memchr(report.arithmetic, '\0', sizeof report.arithmetic) != NULL,
              "texts end");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct host_list list;
    struct error error = {.text = ""};
    char text[5000];
    if (host_list_read(&list, (const char *)data, size, "input", &error) == STATUS_OK) {
        look_at(&list);
        place(&list);
    } else
        fuzz_must(error.text[0] != '\0', "a refusal says why");
    host_list_free(&list);
    if (size >= sizeof text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (host_list_read_words(&list, text, "input", NULL) == STATUS_OK)
        look_at(&list);
    host_list_free(&list);
    hear(text);
}

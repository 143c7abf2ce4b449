/* starter.c - builds a role's command line, which we run, or the site's ssh. */

#include "deploy/launcher/starter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "deploy/launcher/arguments.h"
#include "deploy/launcher/ports.h"
#include "deploy/launcher/programs.h"
#include "worker/data/shared_dataset.h"

extern char **environ;

/* A model larger than the processor's caches is in fresh memory at first, which is slow in pages of
 * 4 KiB: a second or two for each GiB. glibc requests pages of 2 MiB if this is set before the
 * program starts. Small jobs use as many pages as before, but for the last of a process. */
#define LARGE_PAGES "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"

/* Whether the user has settings for the C library himself: then they are all there are. */
static bool is_tuned(const char *entry)
{
    return strncmp(entry, LARGE_PAGES, strchr(LARGE_PAGES, '=') - LARGE_PAGES + 1) == 0;
}

/* Options are passed by command line only. */
static enum status make_environment(struct starter *starter, struct error *error)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL)
        count++;
    starter->environment = calloc(count + 2, sizeof *starter->environment);
    if (starter->environment == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    static char large_pages[] = LARGE_PAGES;
    bool tuned = false;
    for (size_t i = 0; i < count; i++) {
        tuned = tuned || is_tuned(environ[i]);
        if (!arguments_environment_is_option(environ[i]))
            starter->environment[used++] = environ[i];
    }
    if (!tuned)
        starter->environment[used++] = large_pages;
    return STATUS_OK;
}

/* A port that is ours for as long as the job lives, whether or not the server lives. */
static enum status hold_port(struct starter *starter, uint32_t server, char address[ADDRESS_MAX],
                             struct error *error)
{
    uint16_t port = 0;
    starter->held[server] = port_hold(&port);
    if (starter->held[server] < 0)
        return error_set(error, STATUS_IO, "there is no free port on 127.0.0.1: %s",
                         strerror(errno));
    snprintf(address, ADDRESS_MAX, "127.0.0.1:%u", port);
    return STATUS_OK;
}

/* "127.0.0.1:7000,127.0.0.1:7001" */
static enum status find_addresses(struct starter *starter, struct error *error)
{
    const struct site *site = starter->site;
    uint32_t servers = starter->options->ps;
    size_t room = ((size_t)servers + 1) * ADDRESS_MAX;
    starter->held = calloc((size_t)servers + 1, sizeof *starter->held);
    starter->hosts = calloc(1, room);
    if (starter->held == NULL || starter->hosts == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; i < servers; i++)
        starter->held[i] = -1;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < servers && status == STATUS_OK; i++) {
        char address[ADDRESS_MAX];
        if (site != NULL)
            snprintf(address, sizeof address, "%s", site->address(site->context, i));
        else
            status = hold_port(starter, i, address, error);
        if (status == STATUS_OK)
            wording_append(starter->hosts, room, "%s%s", i > 0 ? "," : "", address);
    }
    return status;
}

enum status starter_open(struct starter *starter, const struct options *options, const char *out,
                         const struct site *site, struct error *error)
{
    *starter = (struct starter){.options = options, .out = out, .site = site, .data = -1};
    if (site == NULL && options->workers > 1 && options->program == NULL)
        starter->data = shared_dataset_create();
    enum status status = site == NULL ? programs_find(starter->programs, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = find_addresses(starter, error);
    return status == STATUS_OK ? make_environment(starter, error) : status;
}

void starter_close(struct starter *starter)
{
    if (starter->data >= 0)
        close(starter->data);
    for (uint32_t i = 0; starter->held != NULL && i < starter->options->ps; i++)
        if (starter->held[i] >= 0)
            close(starter->held[i]);
    free(starter->held);
    free(starter->hosts);
    free(starter->environment);
    *starter = (struct starter){.data = -1};
}

/* --- starting --------------------------------------------------------------------------------- */

static enum status start_here(const struct starter *starter, struct child *child, const char *name,
                              bool shares, const struct arguments *arguments, struct error *error)
{
    char path[PATH_MAX + 32];
    struct child_program program = {.path = path,
                                    .arguments = arguments_list(arguments),
                                    .environment = starter->environment,
                                    .share = shares ? starter->data : 0};
    if (program.arguments == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    snprintf(path, sizeof path, "%s/%s", starter->programs, program.arguments[0]);
    if (access(path, X_OK) != 0)
        return error_set(error, STATUS_NOT_FOUND, "cannot run %s: %s", path, strerror(errno));
    return child_start(child, name, &program, clock_now_seconds(), error);
}

static enum status start_elsewhere(const struct starter *starter, size_t slot, struct child *child,
                                   const char *name, const struct arguments *arguments,
                                   struct error *error)
{
    const struct site *site = starter->site;
    struct arguments command = {0};
    char *input = NULL;
    enum status status = site->carry(site->context, slot, arguments, &command, &input, error);
    struct child_program program = {.arguments = arguments_list(&command),
                                    .environment = starter->environment,
                                    .carried = true,
                                    .host = site->host(site->context, slot),
                                    .input = input};
    if (status == STATUS_OK && program.arguments == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        program.path = program.arguments[0];
        status = child_start(child, name, &program, clock_now_seconds(), error);
    }
    if (input != NULL)
        explicit_bzero(input, strlen(input)); /* It may hold keys. */
    free(input);
    arguments_free(&command);
    return status;
}

/* The launcher's arguments for a server, then its options. With a site only server 0 has a run
 * directory. */
static void describe_server(const struct starter *starter, uint32_t index,
                            struct arguments *arguments)
{
    const struct options *options = starter->options;
    const struct site *site = starter->site;
    arguments_init(arguments, "syncopate-ps");
    arguments_add(arguments, "job-name", "ps");
    arguments_add(arguments, "parent-stdin", "true");
    arguments_add(arguments, "task-index", "%u", index);
    arguments_add(arguments, "ps-hosts", "%s", starter->hosts);
    if (site == NULL || index == 0)
        arguments_add(arguments, "out", "%s", site == NULL ? starter->out : site->out);
    if (options->serve != NULL && index == 0)
        arguments_add(arguments, "serve", "%s", options->serve);
    if (options->page != NULL && index == 0)
        arguments_add(arguments, "page", "%s", options->page);
    if (site != NULL && index == 0) {
        arguments_add(arguments, "log-every", "%.17g", options->log_every);
        arguments_add(arguments, "tell", "progress");
    }
    arguments_add_options(arguments, options, OPTION_PS);
}

/* Without servers a worker writes the run directory; else server 0 does. */
static void describe_worker(const struct starter *starter, uint32_t index,
                            struct arguments *arguments)
{
    const struct options *options = starter->options;
    arguments_init(arguments, "syncopate-worker");
    arguments_add(arguments, "job-name", "worker");
    arguments_add(arguments, "parent-stdin", "true");
    arguments_add(arguments, "task-index", "%u", index);
    arguments_add(arguments, "workers", "%u", options->workers);
    if (options->ps == 0) {
        arguments_add(arguments, "ps", "0");
        arguments_add(arguments, "out", "%s", starter->out);
    } else {
        arguments_add(arguments, "ps-hosts", "%s", starter->hosts);
    }
    if (options->job.colocated)
        arguments_add(arguments, "ps", "colocated");
    if (starter->data >= 0)
        arguments_add(arguments, "data-fd", "%d", CHILD_WORD);
    arguments_add_options(arguments, options, OPTION_WORKER);
}

enum status starter_start(struct starter *starter, size_t slot, struct child *child,
                          struct error *error)
{
    bool is_server = slot < starter->options->ps;
    uint32_t index = (uint32_t)(is_server ? slot : slot - starter->options->ps);
    struct arguments arguments;
    char name[32];
    if (is_server)
        describe_server(starter, index, &arguments);
    else
        describe_worker(starter, index, &arguments);
    snprintf(name, sizeof name, "%s/%u", is_server ? "ps" : "worker", index);
    enum status status =
        starter->site == NULL
            ? start_here(starter, child, name, !is_server && starter->data >= 0, &arguments, error)
            : start_elsewhere(starter, slot, child, name, &arguments, error);
    arguments_free(&arguments);
    return status;
}

/* syncopate probe: prints the facts of this host for a job, for people and for launch. */

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/job/job_score.h"
#include "common/kernels/kernels.h"
#include "common/options/options_table.h"
#include "deploy/command/command.h"
#include "worker/data/dataset.h"
#include "worker/model/probe_gradient.h"
#include "worker/source/source.h"

struct finding {
    char host[256];
    const char *home;
    uint32_t processors;
    uint64_t memory;
    char arithmetic[2 * DIGEST_BYTES + 1];
    char program[2 * DIGEST_BYTES + 1]; /* Of the program's declaration and bits; "". */
    struct error program_fault;
    const char *data_name; /* NULL: not requested. */
    bool has_data;
    struct error data_fault;
    struct dataset data;
    uint16_t first_port, last_port; /* 0: not requested. */
};

/* As a server would: one that died a moment ago is no obstacle. */
static bool port_is_taken(uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int reuse = 1, all = 0, file = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken = false;
    if (file >= 0) {
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
        setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &all, sizeof all);
        taken = bind(file, (const struct sockaddr *)&address, sizeof address) != 0 &&
                errno == EADDRINUSE;
        close(file);
        if (taken)
            return true;
    }
    struct sockaddr_in plain = {.sin_family = AF_INET, .sin_port = htons(port)};
    file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return false;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    taken = bind(file, (const struct sockaddr *)&plain, sizeof plain) != 0 && errno == EADDRINUSE;
    close(file);
    return taken;
}

static void write_digest(const uint8_t digest[DIGEST_BYTES], char text[2 * DIGEST_BYTES + 1])
{
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static enum status find_arithmetic(struct finding *finding, struct error *error)
{
    uint8_t digest[DIGEST_BYTES];
    enum status status = probe_gradient(digest, error);
    if (status == STATUS_OK)
        write_digest(digest, finding->arithmetic);
    return status;
}

/* Asks the program for one gradient, as a worker does when it joins. */
static void find_program(const struct options *options, struct finding *finding)
{
    uint8_t digest[DIGEST_BYTES];
    struct source *source = NULL;
    struct source_options of;
    struct error *error = &finding->program_fault;
    enum status status = source_options_of(&of, options, error);
    if (status == STATUS_OK)
        status = source_open(&source, &of, error);
    if (status == STATUS_OK)
        status = source_prepare(source, 1, LOSS_UNIT_DEFAULT, error);
    if (status == STATUS_OK)
        status = source_probe(source, digest, error);
    if (status == STATUS_OK)
        write_digest(digest, finding->program);
    source_close(&source);
}

static enum status find_out(const struct options *options, struct finding *finding,
                            struct error *error)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    if (gethostname(finding->host, sizeof finding->host - 1) != 0)
        finding->host[0] = '\0';
    finding->home = getenv("HOME");
    finding->processors = processors > 0 ? (uint32_t)processors : 1;
    finding->memory = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    if (options_given(options, OPTION_PROBE, "data")) {
        finding->data_name = options->data;
        finding->has_data =
            dataset_look(&finding->data, options->data, &finding->data_fault) == STATUS_OK;
        dataset_close(&finding->data);
    }
    if (options->ports != NULL)
        option_ports_read(options->ports, &finding->first_port, &finding->last_port);
    kernels_init();
    kernels_limit(options_instructions(options));
    enum status status = find_arithmetic(finding, error);
    if (status == STATUS_OK && options->program != NULL)
        find_program(options, finding);
    return status;
}

static enum status print_json(const struct finding *finding, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "version", SYNCOPATE_VERSION);
    json_writer_text(&writer, "host", finding->host);
    json_writer_text(&writer, "home", finding->home);
    json_writer_u64(&writer, "processors", finding->processors);
    json_writer_u64(&writer, "memory_bytes", finding->memory);
    json_writer_text(&writer, "instructions", kernels_instructions_word(kernels_instructions()));
    json_writer_text(&writer, "arithmetic", finding->arithmetic);
    json_writer_text(&writer, "data", finding->data_name);
    json_writer_text(&writer, "data_fault",
                     finding->data_name != NULL && !finding->has_data ? finding->data_fault.text
                                                                      : NULL);
    json_writer_text(&writer, "program", finding->program[0] != '\0' ? finding->program : NULL);
    json_writer_text(&writer, "program_fault",
                     finding->program_fault.text[0] != '\0' ? finding->program_fault.text : NULL);
    json_writer_array(&writer, "ports_taken");
    for (uint32_t port = finding->first_port; port > 0 && port <= finding->last_port; port++)
        if (port_is_taken((uint16_t)port))
            json_writer_u64(&writer, NULL, port);
    json_writer_end(&writer);
    json_writer_end(&writer);
    return command_print_json(&writer, error);
}

static void print_ports(const struct finding *finding)
{
    uint32_t taken = 0;
    if (finding->first_port == 0)
        return;
    printf("  ports         ");
    for (uint32_t port = finding->first_port; port <= finding->last_port; port++)
        if (port_is_taken((uint16_t)port))
            printf("%s%u", taken++ > 0 ? ", " : "taken: ", port);
    printf("%s\n", taken > 0 ? "" : "all free");
}

static void print(const struct finding *finding)
{
    printf("%s, syncopate " SYNCOPATE_VERSION "\n", finding->host);
    printf("  processors    %u, %s\n", finding->processors,
           kernels_instructions_name(kernels_instructions()));
    printf("  memory        %s\n", wording_bytes(finding->memory).text);
    printf("  arithmetic    %s\n", finding->arithmetic);
    if (finding->data_name != NULL)
        printf("  data          %s%s%s\n", finding->data_name, finding->has_data ? ": here" : ": ",
               finding->has_data ? "" : finding->data_fault.text);
    if (finding->program[0] != '\0' || finding->program_fault.text[0] != '\0')
        printf("  program       %s%s\n", finding->program, finding->program_fault.text);
    print_ports(finding);
}

int command_probe(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct finding finding = {.first_port = 0};
    enum status status = find_out(options, &finding, error);
    if (status == STATUS_OK && options->json)
        status = print_json(&finding, error);
    else if (status == STATUS_OK)
        print(&finding);
    return command_exit_code(status);
}

/* fuzz_place.c - an environment from anywhere, and what a place comes of it. Whatever is taken is whole: a role
 * has an index within what there is, and servers have addresses that the programs take.
 *
 *     input: what is asked for (2 bytes, see wish) | lines NAME=value */

#include <stdlib.h>
#include <string.h>

#include "common/options/options.h"
#include "deploy/place/place.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX  8192
#define LINES_MAX 64

/* TF_CONFIG makes a tree of values; a job's servers each have an address. */
const struct fuzz_bounds fuzz_bounds = {512u << 10, 512};

void fuzz_start(void)
{
}

/* 4 bits of servers, 0 for none said; 3 of a name; 3 of a source; whether all serve, --ps-hosts, --workers. */
static struct place_request wanted(unsigned bits)
{
    static const char *const names[8] = {NULL,    NULL,     "ps",       "worker",
                                         "chief", "master", "evaluator"};
    unsigned servers = bits & 15;
    return (struct place_request){
        .host = "host-1",
        .source = (enum place_source)((bits >> 7 & 7) < PLACE_SOURCE_COUNT ? bits >> 7 & 7 : 0),
        .job_name = names[bits >> 4 & 7],
        .index = bits >> 14 & 1 ? 1 : -1,
        .servers = servers == 0 ? -1 : (int64_t)servers - 1,
        .colocated = (bits >> 10 & 1) != 0,
        .ps_hosts = bits >> 11 & 1 ? "ps-[0-1].ps:7000" : NULL,
        .workers = bits >> 12 & 1 ? 3 : 0,
        .meeting = (bits >> 13 & 1) != 0,
        .must_meet = (bits >> 12 & 3) == 3,
        .port_base = bits >> 15 & 1 ? 65000 : 0,
    };
}

static void check(const struct place *place)
{
    uint32_t count = 0;
    char text[2 * PLACE_TEXT_MAX];
    place_describe(place, text);
    fuzz_must(place->said[0] != '\0', "who said so is told");
    fuzz_must(!place->serves || place->servers == 0 || place->server < place->servers,
              "a server is one of those there are");
    fuzz_must(place->worker < JOB_WORKERS_MAX && place->workers <= JOB_WORKERS_MAX &&
                  place->servers <= JOB_SERVERS_MAX,
              "a job has its bounds");
    fuzz_must(!place->evaluates || (!place->serves && !place->works),
              "an evaluator does not train");
    fuzz_must(!place->alone || (place->works && place->ps_hosts == NULL),
              "alone is without servers");
    fuzz_must(place->alone || place->meets || !(place->serves || place->works) ||
                  place->ps_hosts != NULL,
              "servers have addresses");
    fuzz_must(place->ps_hosts == NULL || (options_hosts(place->ps_hosts, NULL, JOB_SERVERS_MAX,
                                                        &count, NULL) == STATUS_OK &&
                                          count == place->servers),
              "and as many as there are servers");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned bits = (unsigned)fuzz_take(&input, 1);
    bits |= (unsigned)fuzz_take(&input, 1) << 8;
    char text[TEXT_MAX];
    const char *lines[LINES_MAX + 1] = {NULL};
    size_t length = input.left < TEXT_MAX - 1 ? input.left : TEXT_MAX - 1, count = 0;
    if (length > 0)
        memcpy(text, input.data, length);
    text[length] = '\0';
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && count < LINES_MAX;)
        lines[count++] = line;

    struct place_request request = wanted(bits);
    struct place place;
    struct error error = {0};
    request.environment = lines;
    enum status status = place_find(&place, &request, &error);
    fuzz_must(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_MEMORY,
              "there are three ends");
    fuzz_must(status == STATUS_OK || error.text[0] != '\0', "a refusal says why");
    if (status == STATUS_OK)
        check(&place);
    place_free(&place);
}

/* host_site.c - the lines of shell around a process, and the launcher's table of functions. */

#include "deploy/hosts/host_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"

#define PORT_STEP  16
#define PORT_TRIES 8

/* $1 is the working directory, $2 a folder to create or "", then the program. Standard input is
 * read a line at a time up to "end"; the rest is the program's. Without "end" the program does not
 * start. A signal to the whole group leaves time to clean up: the program gets it, too. So does a
 * pipe whose reader is gone. */
static const char script[] =
    "cd -- \"$1\" 2>/dev/null; [ -z \"$2\" ] || mkdir -p -- \"$2\" || exit 126; shift 2\n"
    "command -v \"$1\" >/dev/null || { echo \"there is no program $1\" >&2; exit 127; }\n"
    "trap : HUP INT TERM PIPE; k=; f=; m=$(umask); umask 077\n"
    "clean() { [ -z \"$k\" ] || rm -rf -- \"$k\"; }\n"
    "trap clean EXIT\n"
    "while IFS= read -r l || exit 1; [ \"$l\" != end ]; do\n"
    "  case $l in\n"
    "  'file '*) [ -n \"$k\" ] || k=$(mktemp -d \"${TMPDIR:-/tmp}/syncopate-XXXXXX\") || exit 126\n"
    "    f=$k/${l#file } ;;\n"
    "  *) printf '%s\\n' \"${l#:}\" >>\"$f\" ;;\n"
    "  esac\n"
    "done\n"
    "umask \"$m\"; echo " SITE_UP " || exit 1\n"
    "\"$@\" ${k:+\"--keys=$k\"}; c=$?\n"
    "clean\n"
    "echo \"" SITE_END "$c\"; exit \"$c\"\n";

static size_t host_of(const struct host_site *site, size_t slot)
{
    const struct placement *placement = site->placement;
    return slot < placement->servers ? placement->server_hosts[slot]
                                     : placement->worker_hosts[slot - placement->servers];
}

static const char *name_host(void *context, size_t slot)
{
    const struct host_site *site = context;
    return site->list->hosts[host_of(site, slot)].name;
}

static const char *name_address(void *context, uint32_t server)
{
    struct host_site *site = context;
    const char *name = name_host(site, server);
    bool six = strchr(name, ':') != NULL;
    snprintf(site->address, sizeof site->address, "%s%s%s:%u", six ? "[" : "",
             strcmp(name, "localhost") == 0 ? "127.0.0.1" : name, six ? "]" : "",
             site->port + server);
    return site->address;
}

static char *keys_for(const struct host_site *site, size_t slot)
{
    uint32_t servers = site->placement->servers;
    if (site->keys == NULL)
        return strdup("end\n");
    return slot < servers ? job_keys_for_server(site->keys)
                          : job_keys_for_worker(site->keys, (uint32_t)(slot - servers));
}

static enum status carry(void *context, size_t slot, const struct arguments *program,
                         struct arguments *command, char **input, struct error *error)
{
    const struct host_site *site = context;
    bool locked = slot == 0 && site->lock != NULL;
    const char **words = calloc(program->count + 16, sizeof *words);
    char path[DISK_PATH_MAX + 64];
    size_t used = 0;
    *input = keys_for(site, slot);
    if (words == NULL || *input == NULL || program->failed || program->count == 0) {
        free(words);
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    snprintf(path, sizeof path, "%s/%s", site->bin, program->items[0]);
    words[used++] = "sh";
    words[used++] = "-c";
    words[used++] = script;
    words[used++] = "sh";
    words[used++] = site->folder;
    words[used++] = locked ? site->site.out : "";
    if (locked) { /* The former holder of the directory may be about to leave it. */
        static const char *const lock[] = {"flock", "-F", "-w", "20", "-E", "195"};
        for (size_t i = 0; i < sizeof lock / sizeof *lock; i++)
            words[used++] = lock[i];
        words[used++] = site->lock;
    }
    words[used++] = path;
    for (size_t i = 1; i < program->count; i++)
        words[used++] = program->items[i];
    channel_command(slot == 0 && site->server_0_ssh != NULL ? site->server_0_ssh : site->ssh,
                    &site->list->hosts[host_of(site, slot)], words, command);
    free(words);
    return STATUS_OK;
}

/* Workers go elsewhere; a server is known by its address. */
static bool move(void *context, size_t slot)
{
    struct host_site *site = context;
    uint32_t servers = site->placement->servers;
    site->gone[host_of(site, slot)] = true;
    return slot >= servers &&
           placement_move(site->placement, site->list, (uint32_t)(slot - servers), site->gone);
}

/* --- ports --------------------------------------------------------------------------------- */

static uint16_t step_of(uint32_t servers)
{
    return (uint16_t)(servers > PORT_STEP ? servers : PORT_STEP);
}

uint16_t host_site_ports(uint32_t servers)
{
    return (uint16_t)(PORT_TRIES * step_of(servers));
}

uint16_t host_site_port(const struct host_list *list, const struct placement *placement,
                        const struct host_report *reports, const struct host_wanted *wanted,
                        uint16_t last_port, struct error *error)
{
    uint32_t port = wanted->first_port, servers = placement->servers;
    for (; port + servers - 1 <= last_port; port += step_of(servers)) {
        uint32_t free_ones = 0;
        while (free_ones < servers &&
               !host_report_port_taken(&reports[placement->server_hosts[free_ones]], wanted,
                                       (uint16_t)(port + free_ones)))
            free_ones++;
        if (free_ones == servers)
            return (uint16_t)port;
        error_set(error, STATUS_EXISTS,
                  "%.100s: port %u is taken, and so is one of every other base from %u on "
                  "(--port-base)",
                  list->hosts[placement->server_hosts[free_ones]].name, port + free_ones,
                  wanted->first_port);
    }
    return 0;
}

/* --- opening ------------------------------------------------------------------------------- */

enum status host_site_open(struct host_site *site, struct error *error)
{
    site->gone = calloc(site->list->count + 1, sizeof *site->gone);
    if (site->gone == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    site->site.context = site;
    site->site.host = name_host;
    site->site.address = name_address;
    site->site.carry = carry;
    site->site.move = move;
    site->site.logins = CHANNEL_LOGINS;
    return STATUS_OK;
}

void host_site_close(struct host_site *site)
{
    free(site->gone);
    site->gone = NULL;
}

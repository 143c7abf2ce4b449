/* host_probe.c - the lines of shell, and their remote commands. */

#include "deploy/hosts/host_probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "deploy/hosts/remote_commands.h"

/* $1 is the working directory, $2 the mark, whose folder is shared if it is writable, $3 the folder
 * of the programs, then the arguments of probe. */
static const char script[] =
    "date '+@time %s.%N'; cd -- \"$1\" 2>/dev/null; [ ! -e \"$2\" ] || [ ! -w \"${2%/*}\" ] || "
    "echo @shared\n"
    "bin=$3; shift 3\n"
    "for p in syncopate syncopate-ps syncopate-worker; do\n"
    "  [ -x \"$bin/$p\" ] || { echo \"there is no program $bin/$p (--remote-bin says where they "
    "are)\" >&2; exit 127; }\n"
    "  v=$(\"$bin/$p\" --version) || exit; echo \"@version $p $v\"\n"
    "done\n"
    "exec \"$bin/syncopate\" probe --json \"$@\"\n";

static void make_remote_command(const struct host_probe *host_probe, const struct host *host,
                                struct remote_command *remote_command)
{
    char ports[32], data[4200], program[4200], start[64], instructions[64];
    const char *words[14] = {
        "sh", "-c", script, "sh", host_probe->folder, host_probe->mark, host_probe->bin, ports};
    size_t used = 8;
    snprintf(ports, sizeof ports, "--ports=%u-%u", host_probe->first_port, host_probe->last_port);
    snprintf(data, sizeof data, "--data=%s", host_probe->data != NULL ? host_probe->data : "");
    snprintf(instructions, sizeof instructions, "--instructions=%s",
             host_probe->instructions != NULL ? host_probe->instructions : "");
    snprintf(program, sizeof program, "--program=%s",
             host_probe->program != NULL ? host_probe->program : "");
    snprintf(start, sizeof start, "--start-timeout=%.17g", host_probe->start_seconds);
    if (host_probe->data != NULL)
        words[used++] = data;
    if (host_probe->program != NULL && host->role != HOST_ROLE_PS) {
        words[used++] = program;
        words[used++] = start;
    }
    if (host_probe->instructions != NULL)
        words[used++] = instructions;
    channel_command(host_probe->ssh, host, words, &remote_command->command);
}

static void read_remote_command(const struct remote_command *remote_command,
                                const struct host_wanted *wanted, struct host_report *report)
{
    char late[64];
    snprintf(late, sizeof late, "no answer within %d s", HOST_PROBE_SECONDS);
    host_report_read(report, wanted, remote_command->output, remote_command->exit_code,
                     remote_command->late ? late : remote_command->said, remote_command->first_at);
}

enum status host_probe_ask(const struct host_probe *host_probe, const struct host_wanted *wanted,
                           struct host_report *reports, struct error *error)
{
    size_t count = host_probe->list->count;
    struct remote_command *remote_commands = calloc(count + 1, sizeof *remote_commands);
    if (remote_commands == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        make_remote_command(host_probe, &host_probe->list->hosts[i], &remote_commands[i]);
    remote_commands_run(remote_commands, count, CHANNEL_LOGINS,
                        HOST_PROBE_SECONDS +
                            (host_probe->program != NULL ? host_probe->start_seconds : 0));
    for (size_t i = 0; i < count; i++) {
        read_remote_command(&remote_commands[i], wanted, &reports[i]);
        remote_command_free(&remote_commands[i]);
    }
    free(remote_commands);
    return STATUS_OK;
}

/* survey.c - the lines of shell, and the errands that take them to the hosts. */

#include "deploy/hosts/survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "deploy/hosts/errands.h"

/* Of $1, where paths begin, $2, the mark, whose folder is shared where it may be written to, $3, the folder of the
 * programs, and what is for probe. */
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

static void make_errand(const struct survey *survey, const struct host *host, struct errand *errand)
{
    char ports[32], data[4200], instructions[64];
    const char *words[12] = {"sh",           "-c",         script,      "sh",
                             survey->folder, survey->mark, survey->bin, ports};
    size_t used = 8;
    snprintf(ports, sizeof ports, "--ports=%u-%u", survey->first_port, survey->last_port);
    snprintf(data, sizeof data, "--data=%s", survey->data != NULL ? survey->data : "");
    snprintf(instructions, sizeof instructions, "--instructions=%s",
             survey->instructions != NULL ? survey->instructions : "");
    if (survey->data != NULL)
        words[used++] = data;
    if (survey->instructions != NULL)
        words[used++] = instructions;
    carrier_command(survey->ssh, host, words, &errand->command);
}

static void read_errand(const struct errand *errand, const struct host_wanted *wanted,
                        struct host_report *report)
{
    char late[64];
    snprintf(late, sizeof late, "no answer within %d s", SURVEY_SECONDS);
    host_report_read(report, wanted, errand->output, errand->exit_code,
                     errand->late ? late : errand->said, errand->first_at);
}

enum status survey_ask(const struct survey *survey, const struct host_wanted *wanted,
                       struct host_report *reports, struct error *error)
{
    size_t count = survey->list->count;
    struct errand *errands = calloc(count + 1, sizeof *errands);
    if (errands == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        make_errand(survey, &survey->list->hosts[i], &errands[i]);
    errands_run(errands, count, CARRIER_LOGINS, SURVEY_SECONDS);
    for (size_t i = 0; i < count; i++) {
        read_errand(&errands[i], wanted, &reports[i]);
        errand_free(&errands[i]);
    }
    free(errands);
    return STATUS_OK;
}

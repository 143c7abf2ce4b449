/* compare_report.c - asks the command's question about the results, and writes the conclusion. */

#include "deploy/report/compare_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/wording.h"
#include "common/kernels/kernels.h"
#include "deploy/report/conclusion_table.h"
#include "deploy/report/config.h"
#include "deploy/report/report.h"
#include "deploy/report/table.h"

#define COMMAND_BYTES 4096

extern char **environ;

/* --- files ----------------------------------------------------------------------------------- */

/* The command as it can be typed again, with options from the environment. */
static void describe_command(char *text, size_t bytes, const struct compare_report *report)
{
    static char name[] = "syncopate", compare[] = "compare";
    char *words[256];
    int count = 0;
    for (char **variable = environ; *variable != NULL && count < 64; variable++)
        if (strncmp(*variable, "SYNCOPATE_", 10) == 0)
            words[count++] = *variable;
    words[count++] = name;
    words[count++] = compare;
    for (int i = 1; i < report->typed_count && count < 256; i++)
        words[count++] = report->typed[i];
    report_command(text, bytes, count, words);
}

static struct question question_of(const struct options *options)
{
    return (struct question){.target_loss = options->target_loss,
                             .target_accuracy = options->target_accuracy,
                             .margin = options->margin};
}

/* Of all processes, which run on this machine: the widest that it has, or the requested ones. */
static const char *instructions_in_use(const struct options *options)
{
    kernels_init();
    enum kernels_instructions widest = kernels_instructions();
    for (unsigned i = 0; options->instructions != NULL && i < (unsigned)widest; i++)
        if (strcmp(options->instructions,
                   kernels_instructions_word((enum kernels_instructions)i)) == 0)
            widest = (enum kernels_instructions)i;
    return kernels_instructions_name(widest);
}

static enum status write_files(const struct compare_report *report,
                               const struct conclusion *conclusion, const char *remark,
                               struct error *error)
{
    const struct options *options = report->options;
    char command[COMMAND_BYTES], machine[512], date[64];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M %z", &local);
    describe_command(command, sizeof command, report);
    report_machine(machine, sizeof machine);
    struct report_facts facts = {.command = command,
                                 .machine = machine,
                                 .date = date,
                                 .colocated = options->job.colocated,
                                 .transport = options->transport,
                                 .instructions = instructions_in_use(options),
                                 .compute = options->compute,
                                 .slow = options->slow,
                                 .straggle = options->straggle,
                                 .pause = options->pause,
                                 .warm_up = options->virtual_time ? 0 : options->warm_up,
                                 .remark = remark};
    return report_write(&disk_posix, report->folder, conclusion, &facts, error);
}

enum status compare_report_write(const struct compare_report *report,
                                 const struct comparison *comparison, const char *remark,
                                 struct error *error)
{
    struct conclusion conclusion;
    struct question question = question_of(report->options);
    enum status status = conclusion_make(&conclusion, comparison, &question, error);
    if (status == STATUS_OK)
        status = write_files(report, &conclusion, remark, error);
    conclusion_free(&conclusion);
    return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

void compare_report_strong(const struct compare_report *report, const char *text)
{
    fprintf(report->output, report->colour ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

static void print_end(const struct compare_report *report, const struct conclusion *conclusion,
                      bool written)
{
    fprintf(report->output, "\n");
    report_print(report->output, conclusion, report->options->verbose);
    if (written)
        fprintf(report->output, "\nreport: %s/report.html\n", report->folder);
    fflush(report->output);
}

/* The content of compare.json. */
static enum status print_json(const struct conclusion *conclusion,
                              const struct compare_report *report, struct error *error)
{
    char command[COMMAND_BYTES];
    describe_command(command, sizeof(command), report);
    char *text = table_json(conclusion, command);
    if (text == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    fputs(text, stdout); /* Whether it came through the program's end asks. */
    free(text);
    return STATUS_OK;
}

enum status compare_report_end(const struct compare_report *report,
                               const struct comparison *comparison, const char *remark,
                               struct error *error)
{
    struct conclusion conclusion;
    struct question question = question_of(report->options);
    enum status status = conclusion_make(&conclusion, comparison, &question, error);
    if (status == STATUS_OK) {
        status = write_files(report, &conclusion, remark, error);
        print_end(report, &conclusion, status == STATUS_OK);
    }
    if (report->options->json && status == STATUS_OK)
        status = print_json(&conclusion, report, error);
    conclusion_free(&conclusion);
    return status;
}

/* syncopate_counting: `syncopate run` for the counting job (tests/lib/counting.h), whose
 * declaration `syncopate run` itself cannot make and so takes for another job's: the same options,
 * the same wait for a run directory, the same launcher, and no more. Needs --out, and
 * SYNCOPATE_BIN_DIR where syncopate-worker is counting_worker. */

#include <stdio.h>

#include "common/options/options.h"
#include "common/process/process.h"
#include "common/store/occupancy.h"
#include "deploy/command/command.h"
#include "deploy/launcher/launch.h"

static void say(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static int complain(int exit_code, const struct error *error)
{
    fprintf(stderr, "syncopate_counting: %s\n", error->text);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {STATUS_OK, ""};
    process_begin();
    if (options_parse(&options, OPTION_RUN, "syncopate_counting", argc, argv, &error) !=
        OPTIONS_RUN)
        return complain(EXIT_USAGE, &error);
    enum status status =
        occupancy_await(options.out, occupancy_patience(options.deadlines.stop), say, NULL, &error);
    if (status != STATUS_OK)
        return complain(command_exit_code(status), &error);
    int exit_code = launch_job(&options, options.out, NULL, NULL, NULL, &error);
    return exit_code == EXIT_DONE ? exit_code : complain(exit_code, &error);
}

/* syncopate completion SHELL: what that shell needs to complete our options. */

#include <stdio.h>

#include "common/options/options.h"
#include "common/process/output.h"
#include "deploy/command/command.h"
#include "deploy/manual/completion.h"

#define PROGRAM "syncopate completion"

int command_completion(int argc, char **argv)
{
    struct options options;
    struct error error = {0};
    int code;
    if (!command_begin(&options, OPTION_COMPLETION, argc, argv, &code))
        return code;
    if (!completion_write(stdout, options.path)) {
        error_set(&error, STATUS_INVALID, "'%.60s' is no shell that is known here; there are %s",
                  options.path, "bash, zsh and fish");
        return command_fail(PROGRAM, EXIT_USAGE, &error);
    }
    return output_finish(&error) == STATUS_OK ? EXIT_DONE
                                              : command_fail(PROGRAM, EXIT_CANNOT_OPEN, &error);
}

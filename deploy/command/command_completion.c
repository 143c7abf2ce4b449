/* syncopate completion SHELL: prints the script with which that shell completes our options. */

#include <stdio.h>

#include "common/options/options.h"
#include "deploy/command/command.h"
#include "deploy/manual/completion.h"

int command_completion(const struct command_call *call, struct error *error)
{
    if (completion_write(stdout, call->options.path))
        return EXIT_DONE;
    error_set(error, STATUS_INVALID, "'%.60s' is no shell that is known here; there are %s",
              call->options.path, "bash, zsh and fish");
    return EXIT_USAGE;
}

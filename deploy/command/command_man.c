/* syncopate man [PAGE]: a page of the manual, or which there are. */

#include <stdio.h>

#include "common/base/spelling.h"
#include "common/options/options.h"
#include "common/process/output.h"
#include "deploy/command/command.h"
#include "deploy/manual/manual.h"

#define PROGRAM "syncopate man"

static int unknown_page(const char *wanted)
{
    char pages[32][MANUAL_NAME_MAX], hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    struct error error;
    spelling_begin(&spelling, wanted);
    for (size_t i = 0; i < 32 && manual_page(i, pages[i]); i++)
        spelling_try(&spelling, pages[i]);
    error_set(&error, STATUS_INVALID, "there is no page '%.60s'%s; syncopate man lists them",
              wanted, spelling_hint(&spelling, "", hint));
    return command_fail(PROGRAM, EXIT_USAGE, &error);
}

int command_man(int argc, char **argv)
{
    struct options options;
    struct error error = {0};
    char name[MANUAL_NAME_MAX];
    int code;
    if (!command_begin(&options, OPTION_MAN, argc, argv, &code))
        return code;
    for (size_t i = 0; options.path == NULL && manual_page(i, name); i++)
        puts(name);
    if (options.path != NULL && !manual_write(stdout, options.path))
        return unknown_page(options.path);
    return output_finish(&error) == STATUS_OK ? EXIT_DONE
                                              : command_fail(PROGRAM, EXIT_CANNOT_OPEN, &error);
}

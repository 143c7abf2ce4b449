/* syncopate man [PAGE]: prints a page of the manual, or the list of pages. */

#include <stdio.h>

#include "common/base/spelling.h"
#include "common/options/options.h"
#include "deploy/command/command.h"
#include "deploy/manual/manual.h"

static int unknown_page(const char *wanted, struct error *error)
{
    char pages[32][MANUAL_NAME_MAX], hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    spelling_begin(&spelling, wanted);
    for (size_t i = 0; i < 32 && manual_page(i, pages[i]); i++)
        spelling_try(&spelling, pages[i]);
    error_set(error, STATUS_INVALID, "there is no page '%.60s'%s; syncopate man lists them", wanted,
              spelling_hint(&spelling, "", hint));
    return EXIT_USAGE;
}

int command_man(const struct command_call *call, struct error *error)
{
    const char *page = call->options.path;
    char name[MANUAL_NAME_MAX];
    for (size_t i = 0; page == NULL && manual_page(i, name); i++)
        puts(name);
    if (page != NULL && !manual_write(stdout, page))
        return unknown_page(page, error);
    return EXIT_DONE;
}

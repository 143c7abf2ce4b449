/* syncopate serve PATH: the page of a run's folder or a comparison's over HTTP, until it is stopped. */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/watch/http_token.h"
#include "deploy/command/command.h"
#include "deploy/serve/folder_pages.h"

static bool holds(const char *folder, const char *name)
{
    char path[DISK_PATH_MAX + 32];
    struct stat there;
    snprintf(path, sizeof path, "%.1000s/%s", folder, name);
    return stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

int command_serve(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct folder_pages pages = {.folder = options->path, .trace = -1};
    struct http_place place;
    struct http_server *server;
    char url[HTTP_URL_MAX], token[HTTP_TOKEN_DIGITS + 1] = "";
    enum status status = STATUS_OK;
    if (!holds(options->path, "run.json") && !holds(options->path, "compare.json"))
        status = error_set(error, STATUS_NOT_FOUND,
                           "%.300s: is no folder of a run (no run.json), and none of a comparison "
                           "with a run that is done (no compare.json)",
                           options->path);
    http_place_read(options->serve != NULL ? options->serve : "0", &place);
    if (status == STATUS_OK && !http_place_is_loopback(&place))
        status = http_token_open(options->path, token, error);
    if (status == STATUS_OK)
        status = http_server_start(&server, &place, token, folder_pages_answer, &pages, error);
    if (status != STATUS_OK)
        return command_exit_code(status);
    http_place_url(http_server_place(server), token, url);
    printf("%s\n", url);
    fflush(stdout);
    for (;;)
        pause(); /* A signal ends it. */
}

/* syncopate leave HOST:PORT/worker/I, --self or --pid N: lets one worker leave a job that goes on. */

#include <stdio.h>

#include "common/keys/keys.h"
#include "common/wire/message.h"
#include "deploy/command/command.h"
#include "deploy/leave/dismissal.h"
#include "deploy/leave/own_worker.h"

static void say(const struct options *options, const char *text)
{
    if (!options->quiet)
        printf("%s\n", text);
}

static int leave_here(const struct options *options, struct error *error)
{
    char text[80];
    pid_t pid;
    enum status status = own_worker_find(options->pid, &pid, error);
    if (status == STATUS_INVALID)
        return EXIT_USAGE;
    if (status == STATUS_NOT_FOUND)
        return EXIT_MISMATCH;
    if (status == STATUS_OK)
        status = own_worker_leave(pid, options->evicted, options->deadlines.stop, error);
    if (status != STATUS_OK)
        return status == STATUS_TIMEOUT ? EXIT_CLUSTER_LOST : EXIT_CANNOT_OPEN;
    snprintf(text, sizeof text, "process %d has left", (int)pid);
    say(options, text);
    return EXIT_DONE;
}

static int ask_server(const struct options *options, struct error *error)
{
    struct keys keys;
    char address[ADDRESS_MAX], text[MESSAGE_TEXT_MAX];
    uint32_t worker;
    if (!dismissal_read(options->path, address, &worker)) {
        error_set(error, STATUS_INVALID,
                  "'%.300s' is not HOST:PORT/worker/I, such as alpha:7000/worker/3", options->path);
        return EXIT_USAGE;
    }
    if (options->keys != NULL) {
        enum status status =
            keys_open(&keys, options->keys, options->certificate, ROLE_WORKER, worker, error);
        if (status != STATUS_OK)
            return keys_exit_code(status);
    }
    int code = dismissal_ask(address, worker, options->keys != NULL ? &keys : NULL,
                             options->deadlines.stop, text, sizeof text, error);
    if (options->keys != NULL)
        keys_close(&keys);
    if (code == EXIT_DONE)
        say(options, text);
    return code;
}

int command_leave(const struct command_call *call, struct error *error)
{
    return call->options.path != NULL ? ask_server(&call->options, error)
                                      : leave_here(&call->options, error);
}

/* syncopate leave HOST:PORT/worker/I: asks server 0 to let one worker leave a job that goes on. */

#include <stdio.h>

#include "common/keys/keys.h"
#include "common/wire/message.h"
#include "deploy/command/command.h"
#include "deploy/leave/eviction.h"

int command_leave(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct keys keys;
    char address[ADDRESS_MAX], text[MESSAGE_TEXT_MAX];
    uint32_t worker;
    if (!eviction_read(options->path, address, &worker)) {
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
    int code = eviction_ask(address, worker, options->keys != NULL ? &keys : NULL,
                            options->deadlines.stop, text, sizeof text, error);
    if (options->keys != NULL)
        keys_close(&keys);
    if (code == EXIT_DONE && !options->quiet)
        printf("%s\n", text);
    return code;
}

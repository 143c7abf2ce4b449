/* syncopate leave HOST:PORT/worker/I: asks server 0 to release one worker from a job that goes on,
 * then waits until it has left. Only the first request is for that: a new worker in the same place
 * stays. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/keys/keys.h"
#include "common/wire/message.h"
#include "deploy/command/command.h"
#include "deploy/inspect/question.h"

#define PATIENCE_SECONDS 5.0 /* For an answer, unless there is less time. */
#define PAUSE_US         250000u

/* "alpha:7000/worker/3" into its parts; false when it is nothing like it. */
static bool read_target(const char *text, char address[ADDRESS_MAX], uint32_t *worker)
{
    char host[ADDRESS_MAX], *end;
    uint16_t port;
    const char *plain = address_plain(text), *slash = strchr(plain, '/');
    if (slash == NULL || strncmp(slash, "/worker/", 8) != 0 || slash - plain >= ADDRESS_MAX)
        return false;
    snprintf(address, ADDRESS_MAX, "%.*s", (int)(slash - plain), plain);
    unsigned long index = strtoul(slash + 8, &end, 10);
    *worker = (uint32_t)index;
    return slash[8] >= '0' && slash[8] <= '9' && *end == '\0' && index < JOB_WORKERS_MAX &&
           address_split(address, host, &port) && host[0] != '\0';
}

/* The exit code of an answer; -1: the worker is still there. */
static int judge(const struct message_dismissed *answer, bool asked, uint32_t worker, char *text,
                 size_t size, struct error *error)
{
    switch (answer->outcome) {
    case EVICTION_DONE:
        return -1;
    case EVICTION_GONE:
        if (!asked)
            break;
        snprintf(text, size, "worker/%u has left", worker);
        return EXIT_DONE;
    case EVICTION_OVER:
        snprintf(text, size, "%s", answer->text);
        return EXIT_DONE;
    case EVICTION_ANOTHER:
        error_set(error, STATUS_LOST, "%s", answer->text);
        return EXIT_CLUSTER_LOST;
    default:
        break;
    }
    error_set(error, STATUS_MISMATCH, "%s", answer->text);
    return EXIT_MISMATCH;
}

static int exit_code_of(enum status status)
{
    return status == STATUS_REFUSED  ? EXIT_UNAUTHENTICATED
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_CANNOT_OPEN;
}

static int ask(struct question *q, uint32_t worker, double seconds, char *text, size_t size,
               struct error *error)
{
    double ends = clock_now_seconds() + seconds, left;
    bool asked = false;
    while ((left = ends - clock_now_seconds()) > 0) {
        question_evict(q, worker, asked);
        enum status status =
            question_ask(q, left < PATIENCE_SECONDS ? left : PATIENCE_SECONDS, error);
        if (status == STATUS_TIMEOUT && asked)
            continue; /* It was there: it may be started again, or the deadline says so. */
        if (status != STATUS_OK)
            return exit_code_of(status);
        int code = judge(&q->dismissed, asked, worker, text, size, error);
        if (code >= 0)
            return code;
        asked = true;
        usleep(PAUSE_US);
    }
    error_set(error, STATUS_TIMEOUT,
              "worker/%u has been asked to leave, and has not left within %s", worker,
              wording_duration(seconds).text);
    return EXIT_CLUSTER_LOST;
}

int command_leave(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct keys keys;
    struct question question;
    char address[ADDRESS_MAX], text[MESSAGE_TEXT_MAX];
    uint32_t worker;
    enum status status;
    if (!read_target(options->path, address, &worker)) {
        error_set(error, STATUS_INVALID,
                  "'%.300s' is not HOST:PORT/worker/I, such as alpha:7000/worker/3", options->path);
        return EXIT_USAGE;
    }
    if (options->keys != NULL) {
        status = keys_open(&keys, options->keys, options->certificate, ROLE_WORKER, worker, error);
        if (status != STATUS_OK)
            return keys_exit_code(status);
    }
    status = question_open(&question, address, options->keys != NULL ? &keys : NULL, false, error);
    int code = status == STATUS_OK
                   ? ask(&question, worker, options->deadlines.stop, text, sizeof text, error)
                   : exit_code_of(status);
    if (status == STATUS_OK)
        question_close(&question);
    if (options->keys != NULL)
        keys_close(&keys);
    if (code == EXIT_DONE && !options->quiet)
        printf("%s\n", text);
    return code;
}

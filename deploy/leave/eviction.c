/* eviction.c - DISMISS until there is an answer, then what has become of it, twice a second. */

#include "deploy/leave/eviction.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "deploy/inspect/question.h"

#define PATIENCE_SECONDS 5.0 /* For an answer, unless there is less time. */
#define PAUSE_US         250000u

bool eviction_read(const char *text, char address[ADDRESS_MAX], uint32_t *worker)
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

/* What an answer comes to; -1: it is here yet. */
static int judge(const struct message_dismissed *answer, bool told, uint32_t worker, char *text,
                 size_t size, struct error *error)
{
    switch (answer->outcome) {
    case EVICTION_TOLD:
        return -1;
    case EVICTION_GONE:
        if (!told)
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
    bool told = false;
    while ((left = ends - clock_now_seconds()) > 0) {
        question_evict(q, worker, told);
        enum status status =
            question_ask(q, left < PATIENCE_SECONDS ? left : PATIENCE_SECONDS, error);
        if (status == STATUS_TIMEOUT && told)
            continue; /* It was there: it may be started again, or the deadline says so. */
        if (status != STATUS_OK)
            return exit_code_of(status);
        int code = judge(&q->dismissed, told, worker, text, size, error);
        if (code >= 0)
            return code;
        told = true;
        usleep(PAUSE_US);
    }
    error_set(error, STATUS_TIMEOUT, "worker/%u has been told, and has not left within %s", worker,
              wording_duration(seconds).text);
    return EXIT_CLUSTER_LOST;
}

int eviction_ask(const char *address, uint32_t worker, const struct keys *keys, double seconds,
                 char *text, size_t size, struct error *error)
{
    struct question question;
    enum status status = question_open(&question, address, keys, false, error);
    if (status != STATUS_OK)
        return exit_code_of(status);
    int code = ask(&question, worker, seconds, text, size, error);
    question_close(&question);
    return code;
}

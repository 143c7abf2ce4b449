/* probe.c - asks one question and reads the state from its answer. */

#include "deploy/inspect/probe.h"

#include <stdio.h>

#include "deploy/inspect/question.h"

#define PATIENCE_SECONDS 3.0

/* The reason for not being ready; "" when it is ready. */
static void find_why_not(const struct question *q, char *why, size_t size)
{
    const struct message_status_answer *answer = &q->answer;
    bool runs = answer->state == JOB_RUNNING || answer->state == JOB_CLOSING;
    why[0] = '\0';
    if (q->server != 0 && q->refusal != REFUSAL_MALFORMED)
        snprintf(why, size, "ps/%u does not serve yet", q->server);
    else if (q->server == 0 && (!runs || answer->job.workers == 0))
        snprintf(why, size, "ps/0 is %s%s%s", job_state_name(answer->state),
                 answer->text[0] != '\0' ? ": " : "", answer->text);
}

int probe_ask(const char *address, const struct keys *keys, bool ready, char *text, size_t size,
              struct error *error)
{
    char why[MESSAGE_TEXT_MAX + 64] = "";
    struct question question;
    enum status status = question_open(&question, address, keys, false, error);
    if (status == STATUS_OK) {
        question_probe(&question);
        status = question_ask(&question, PATIENCE_SECONDS, error);
        question_close(&question);
    }
    if (status != STATUS_OK)
        return status == STATUS_REFUSED  ? EXIT_UNAUTHENTICATED
               : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                         : EXIT_CANNOT_OPEN;
    if (ready)
        find_why_not(&question, why, sizeof why);
    if (why[0] != '\0') {
        error_set(error, STATUS_TIMEOUT, "%s", why);
        return EXIT_START_TIMEOUT;
    }
    snprintf(text, size, "ps/%u is %s", question.server, ready ? "ready" : "alive");
    return EXIT_DONE;
}

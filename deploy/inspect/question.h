/* question.h - asks a running server 0 for the status of its job, or to evict a worker, and finds
 * the reason when there is no answer.
 *
 *     question_open(&question, "alpha:7000", keys, watch, &error);
 *     question_ask(&question, 5.0, &error);          question.answer, or error has the reason
 *     question_evict(&question, 3, false);         from now on about worker/3; ask again
 *     question_listen(&question);                    watching: messages without a question
 *     question_close(&question);
 *
 * Threads: one. */

#ifndef DEPLOY_INSPECT_QUESTION_H
#define DEPLOY_INSPECT_QUESTION_H

#include <stdbool.h>

#include "common/address/inquiry.h"
#include "common/transport/transport.h"
#include "common/wire/message.h"

struct keys;

struct question {
    const char *address;
    bool watch;   /* Server 0 announces the end of the job. */
    bool thanked; /* The thanks are on their way. */
    struct transport *transport;
    struct endpoint *endpoint;
    struct message asked;
    bool probes;                         /* Any server may answer: */
    uint32_t server;                     /* the server that did, */
    enum refusal refusal;                /* and its refusal; REFUSAL_NONE: none. */
    struct message_status_answer answer; /* The last. */
    struct message_dismissed dismissed;  /* The last, after question_evict. */
    struct inquiry *inquiry;             /* Finds the reason for silence; NULL: not started yet. */
    struct places places;                /* Its result. */
    char why[400];                       /* Its refusal of this process. */
};

/* address, and keys (NULL for none), are borrowed. */
enum status question_open(struct question *question, const char *address, const struct keys *keys,
                          bool watch, struct error *error);

/* From now on ask, in the worker's name, that it leave; `again`: ask for the outcome. */
void question_evict(struct question *question, uint32_t worker, bool again);

/* Take the answer of any server. Servers other than 0 refuse; those that serve do with
 * REFUSAL_MALFORMED. */
void question_probe(struct question *question);

/* Watching: tells server 0 that the end has arrived here, so it need not wait. Before closing. */
void question_thank(struct question *question);
void question_close(struct question *question);

/* Ask until there is an answer, for at most so many seconds, or until no answer can come: the name
 * does not resolve, or no process listens. STATUS_TIMEOUT and STATUS_REFUSED come with a line. */
enum status question_ask(struct question *question, double seconds, struct error *error);

/* Receive for a moment messages that server 0 sends without a question. True when there was one. */
bool question_listen(struct question *question);

#endif

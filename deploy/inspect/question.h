/* question.h - asks a running server 0 what its job is doing, or that a worker leave it, and why
 * there is no answer.
 *
 *     question_open(&question, "alpha:7000", keys, watch, &error);
 *     question_ask(&question, 5.0, &error);          question.answer, or error says why not
 *     question_evict(&question, 3, false);         from now on worker/3 is asked for; ask again
 *     question_listen(&question);                    watching: what it says by itself
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
    bool watch;   /* Server 0 is to say by itself when the job has ended. */
    bool thanked; /* Which is on its way. */
    struct transport *transport;
    struct endpoint *endpoint;
    struct message asked;                /* What is asked. */
    bool probes;                         /* Any server may answer, in its own way: */
    uint32_t server;                     /* Which one did ... */
    enum refusal refusal;                /* ... and how it refused; REFUSAL_NONE: it did not. */
    struct message_status_answer answer; /* The last. */
    struct message_dismissed dismissed;  /* The last, after question_evict. */
    struct inquiry *inquiry;             /* Why nobody answers; NULL: not asked yet. */
    struct places places;                /* What came of that. */
    char why[400];                       /* It refuses us. */
};

/* address, and keys (NULL for none), are borrowed. */
enum status question_open(struct question *question, const char *address, const struct keys *keys,
                          bool watch, struct error *error);

/* From now on ask that this worker leave, in its name; `again`: what has become of it. */
void question_evict(struct question *question, uint32_t worker, bool again);

/* Take the answer of whichever server it is: others than 0 refuse, while they serve with
 * REFUSAL_MALFORMED. */
void question_probe(struct question *question);

/* Watching: server 0 need not stay for our sake, we have heard of the end. Before closing. */
void question_thank(struct question *question);
void question_close(struct question *question);

/* Ask until there is an answer, for so many seconds at most, or until nobody can answer: the name
 * stands for nothing, or nobody listens. STATUS_TIMEOUT and STATUS_REFUSED come with a line. */
enum status question_ask(struct question *question, double seconds, struct error *error);

/* Take in for a moment what server 0 says by itself. True when it said something. */
bool question_listen(struct question *question);

#endif

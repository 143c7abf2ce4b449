/* session.h - the worker's side of the protocol as a core: join, start, exchange, finish.
 *
 *     trainer --EXCHANGE(whole gradient)--> session --EXCHANGE(chunk)--> servers
 *     trainer <--WORK(step)---------------- session <--RESULT(values)--- servers
 *
 * The session cuts a gradient into chunks, sends each to its server, puts the values that come back
 * where the trainer reads them, and tells the trainer what to compute next once all of them are
 * there. Between WORK and the EXCHANGE that wants parameters the trainer alone touches them; the
 * rest of the time the session alone does.
 *
 * From the trainer it takes EXCHANGE (payload: the gradient over the whole parameter space, not to
 * be written until its reference count says so), REPORT, EVALUATION, DONE and STOP. To the trainer
 * it gives START, WORK (enough: training is over) and FINISHED.
 *
 * Threads: the client's I/O thread. Time arrives as an argument. */

#ifndef WORKER_SESSION_H
#define WORKER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outbox.h"
#include "common/partition.h"

struct session_options {
    uint32_t worker;
    uint64_t incarnation;
    const struct job *job; /* Outlives the session. */
    const struct partition *partition;
    float *parameters; /* [partition->elements] where parameters are copied to when they must. */
    uint8_t probe_digest[DIGEST_BYTES];
    char host[64], arithmetic[64];
    double start_timeout, worker_timeout, progress_timeout; /* Seconds. */
};

struct session;

enum status session_create(struct session **session, const struct session_options *options,
                           uint64_t now_us);
void session_destroy(struct session **session);

/* From server number `server`. Takes over the payload. */
void session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                           uint64_t now_us, struct outbox *outbox);

/* From the trainer. Takes over the payload. */
void session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                            struct outbox *outbox);

void session_tick(struct session *session, uint64_t now_us, struct outbox *outbox);
/* In how many milliseconds to tick again at the latest. */
int session_patience_ms(const struct session *session);

/* The parameters that work is to be computed from, [partition->elements]: options.parameters, or
 * where the server wrote them. Valid while the trainer has work. */
const float *session_parameters(const struct session *session);

/* While this worker waits for training to start: what for, "" if server 0 has never answered, and
 * for how long; NULL when it does not wait. The I/O thread says so, and why nobody answers. */
const char *session_waiting(const struct session *session, double *seconds, uint64_t now_us);

/* Everything has been said; exit code and reason are valid. */
bool session_is_over(const struct session *session);
int session_exit_code(const struct session *session);
const char *session_exit_reason(const struct session *session);

#endif

/* session.h - the worker's side of the protocol as a state machine: join, follow, exchange,
 * finish.
 *
 *     trainer --EXCHANGE(whole gradient)--> session --EXCHANGE(chunk)--> servers
 *     trainer <--START, WORK(step)--------- session <--RESULT(values)--- servers
 *
 * The session cuts a gradient into chunks (exchange.h), puts the values that come back where the
 * trainer reads them, and gives the next work once all of them are there. Lost messages are
 * repeated. Where a member joins, leaves or falls back, the session asks for the newest values
 * and goes on from them.
 *
 * It has two conversations. With server 0: JOINING (until WELCOME), GATHERED (until START),
 * STARTED. With the trainer: IDLE (it waits for WORK), BUSY (from WORK to its last EXCHANGE of
 * that step, the one with want), DONE (it has said so). A START that comes while the trainer is
 * BUSY is followed when it has finished. Pushes meanwhile still go out if they are of this
 * generation, and ask for nothing.
 *
 * To the trainer:
 *   START      before the first WORK after members, assignment or generation changed;
 *              header.generation is its. Only the latest START is passed on.
 *   WORK       compute this step or batch (batch) from session_parameters; or, with enough, say
 *              DONE. Also after DONE: a worker was lost while the job ended. Or, with scored, score
 *              a share of the test set on session_scored: between two steps, while parameters or
 *              work are waited for, and after DONE.
 *   FINISHED   the end, with an exit code and a reason; nothing comes after it.
 * From the trainer:
 *   EXCHANGE   in answer to WORK, one for each node, the last with want. step, node, examples; with
 *              gradient: payload, the gradient over the whole parameter space, which is not to be
 *              written until its reference count says so, and has_report with a report (loss,
 *              correct, examples, times.compute_us of this node, bad; the session
 *              makes the rest, and sums of its times). With skip (async):
 *              no payload, the gradient was not finite. With neither: the worker has no leaves.
 *   EVALUATION in answer to WORK(scored); the session repeats it.
 *   DONE       in answer to WORK(enough), with its step. It leaves when all EVALUATIONs are known to have arrived.
 *   STOP       130 or 143: asks for a clean end, and goes on. Else the trainer cannot go on: over.
 *   LEAVE      this worker alone goes, with stop.exit_code: FINISHED will come. Pushes are finished
 *              first, for a second at most; what is being computed is for others.
 * There is no REPORT.
 *
 * Before the last EXCHANGE of a step parts of its gradient may leave (session_take_ready) where
 * a gradient that is not finite ends the job. Elsewhere such a gradient is left out whole, so no
 * part of it may leave before all is known to be finite.
 *
 * Before WORK the trainer may begin with the likely step (session_front), from the values that
 * are back by then. WORK then comes as if it had not. If another message comes first, its begin
 * is void.
 *
 * Between WORK and the last EXCHANGE only the trainer touches the parameters, but for those that
 * it has released; at other times only the session does. Gradients in memory that a server sees
 * too must not be written from their EXCHANGE until the next WORK. While session_apart says so
 * they must not be written at all, because the server may still hold earlier pushes of the same
 * step.
 *
 * Threads: the client's I/O thread. Time arrives as an argument. A gap of more than a second
 * between calls means that this process was stopped; silence during the gap does not count. */

#ifndef WORKER_CLIENT_SESSION_H
#define WORKER_CLIENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/partition.h"
#include "common/trace/span.h"
#include "common/wire/joining.h"

struct session_options {
    /* deadlines: `progress` of the trainer's arithmetic and `stop` to be let go are kept too. */
    struct joining_options self;
    const struct job *job; /* Outlives the session. */
    const struct partition *partition;
    float *parameters;             /* [partition->elements] for parameters that are copied. */
    bool unchecked;                /* No checks of itself (common/base/invariant.h). */
    struct span_listener listener; /* Of its time; see times.h. */
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

/* The trainer computes the last node of a step. Its gradient is there from element `first` on,
 * finite and not written again, and parameters from there on are not read. What may leave now
 * does; its EXCHANGE has to follow with this gradient. exchange: as that will be, but for the
 * report. gradient: a reference is taken if it is of use. */
void session_take_ready(struct session *session, const struct message_exchange *exchange,
                        struct frame *gradient, uint64_t first, uint64_t now_us,
                        struct outbox *outbox);

/* While the trainer waits for WORK: the element up to which options.parameters are already those
 * of the likely next step or batch, and its number; 0: it cannot begin. Calls with the same
 * serial, and a WORK after which session_serial is the same, are of the same values. */
uint64_t session_front(struct session *session, uint64_t *step, uint64_t *serial);
uint64_t session_serial(const struct session *session);

/* How often chunks of a gradient have begun to wait so that workers keep together. */
uint64_t session_paced(const struct session *session);

/* The trainer begins to read parameters before element `end`, at most session_front; 0: it reads
 * none, as while it waits. Its time then is computing, and no exchange. */
void session_read(struct session *session, uint64_t end, uint64_t now_us);

/* Whether messages are urgent: a thread should wait for them. */
bool session_moves(const struct session *session);

void session_tick(struct session *session, uint64_t now_us, struct outbox *outbox);
/* Milliseconds until the next tick at the latest. */
int session_patience_ms(const struct session *session);

/* The parameters of the given work, [partition->elements]: options.parameters, or where the
 * server wrote them. Valid while the trainer has work. */
const float *session_parameters(const struct session *session);

/* The parameters of a share to be scored, [partition->elements]. Valid while the trainer has it. */
const float *session_scored(const struct session *session);

/* How often servers have refused the gradient of the given batch. */
uint32_t session_refusals(const struct session *session);

/* Whether gradients of the given work must be in memory that no server sees. */
bool session_apart(const struct session *session);

/* While this worker waits for server 0, or long for others: for what, and how long; "" if server
 * 0 has never answered, NULL when it does not wait. The I/O thread logs it, with the reason of
 * the silence. */
const char *session_waiting(const struct session *session, double *seconds, uint64_t now_us);

/* For its end, its exit code, and to abandon it. */
struct joining *session_joining(struct session *session);

#endif

/* session.h - the worker's side of the protocol as a core: join, follow, exchange, finish.
 *
 *     trainer --EXCHANGE(whole gradient)--> session --EXCHANGE(chunk)--> servers
 *     trainer <--START, WORK(step)--------- session <--RESULT(values)--- servers
 *
 * The session cuts a gradient into chunks (exchange.h), puts the values that come back where the
 * trainer reads them, and tells the trainer what to compute next once all of them are there.
 * Whatever is lost on the way is said again; whoever else comes, goes or falls back, the session
 * begins anew from where everybody is: it asks for the newest values, and goes on from them.
 *
 * Two conversations go on side by side. With server 0: JOINING (until WELCOME), GATHERED (until
 * START), STARTED. With the trainer: IDLE (it waits for WORK), BUSY (from WORK to its last EXCHANGE
 * of that step, the one with want), DONE (it has said so). A START that comes while the trainer is
 * BUSY is followed when it has finished; what it pushes meanwhile still goes out if it is of this
 * generation, and asks for nothing.
 *
 * To the trainer:
 *   START      before the first WORK after members, assignment or generation changed;
 *              header.generation is its. Only the latest START is passed on.
 *   WORK       compute this step or batch (batch) from session_parameters; or, with enough, say
 *              DONE. Also after DONE: somebody was lost while the job ended. Or, with scored, score
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
 *   DONE       in answer to WORK(enough). It leaves when all EVALUATIONs are known to have arrived.
 *   STOP       130 or 143: asks for a clean end, and goes on. Else the trainer cannot go on: over.
 *   LEAVE      this worker alone goes, with stop.exit_code: FINISHED will come. What has been pushed
 *              is finished first, for a second at most; what is being computed is for others.
 * There is no REPORT.
 *
 * Before the last EXCHANGE of a step parts of its gradient may leave (session_take_ready), where one
 * that is not finite ends the job: elsewhere it is left out whole, and so nothing of it may be with a
 * server before all is known to be finite.
 *
 * Before WORK the trainer may begin with the step that it will be about (session_front), from the values
 * that are back by then. That is between the two of them: WORK comes as if it had not, or something else
 * does, and then what it has begun with is nothing.
 *
 * Between WORK and the last EXCHANGE the trainer alone touches the parameters, but for those that it
 * has said it needs no more; the rest of the time the session alone does. Gradients in memory that a
 * server sees too must not be written from their EXCHANGE until the next WORK; and not at all while
 * session_apart says so, because the server may still hold what was pushed of the same step before.
 *
 * Threads: the client's I/O thread. Time arrives as an argument; a gap of more than a second
 * between calls means that this process was stopped, and nobody is blamed for the silence. */

#ifndef WORKER_CLIENT_SESSION_H
#define WORKER_CLIENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/partition.h"
#include "common/wire/joining.h"
#include "worker/client/interval.h"

struct session_options {
    /* deadlines: progress, for the trainer's arithmetic, and stop, to be let go, are kept too. */
    struct joining_options self;
    const struct job *job; /* Outlives the session. */
    const struct partition *partition;
    float *parameters; /* [partition->elements] where parameters are copied to when they must. */
    bool unchecked;    /* It does not look at itself (common/base/invariant.h). */
    struct time_spent_listener listener; /* Of where its time went; see interval.h. */
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

/* The trainer computes the last node of a step, and of its gradient everything from element `first`
 * on is there, finite and not to be written again; nor are parameters from there on to be read. What
 * may leave now does; its EXCHANGE is to follow all the same, with this gradient. exchange: as that
 * will be, but for the report. gradient: a reference is taken if it is of use. */
void session_take_ready(struct session *session, const struct message_exchange *exchange,
                        struct frame *gradient, uint64_t first, uint64_t now_us,
                        struct outbox *outbox);

/* While the trainer waits for WORK: up to which element options.parameters are already those that it
 * would be about, and which step or batch that would be, unless something else comes first; 0: not to be
 * begun with. Of two calls with the same
 * serial, or of one and a WORK given in between or after with session_serial the same, the values are the
 * same. */
uint64_t session_front(struct session *session, uint64_t *step, uint64_t *serial);
uint64_t session_serial(const struct session *session);

/* How often, until now, chunks of a gradient have begun to wait so that workers keep together. */
uint64_t session_paced(const struct session *session);

/* The trainer begins to read parameters before element `end`, no more than session_front said, whatever
 * else goes on meanwhile; 0: it reads none, as is so where it waits. What it computes from them is no
 * exchanging. */
void session_read(struct session *session, uint64_t end, uint64_t now_us);

/* Whether messages go to and fro that somebody should wait for. */
bool session_moves(const struct session *session);

void session_tick(struct session *session, uint64_t now_us, struct outbox *outbox);
/* In how many milliseconds to tick again at the latest. */
int session_patience_ms(const struct session *session);

/* The parameters that work is to be computed from, [partition->elements]: options.parameters, or
 * where the server wrote them. Valid while the trainer has work. */
const float *session_parameters(const struct session *session);

/* What a share is to be scored on, [partition->elements]. Valid while the trainer has that. */
const float *session_scored(const struct session *session);

/* How often servers have refused what this worker computed of the batch given. */
uint32_t session_refusals(const struct session *session);

/* Whether gradients of the work given must be in memory that no server sees. */
bool session_apart(const struct session *session);

/* While this worker waits for server 0, or long for others: what for, "" if server 0 has never
 * answered, and for how long; NULL when it does not wait. The I/O thread says so, and why nobody
 * answers. */
const char *session_waiting(const struct session *session, double *seconds, uint64_t now_us);

/* When it is over, everything has been said; and where to abandon it. */
struct joining *session_joining(struct session *session);

#endif

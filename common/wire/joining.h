/* joining.h - how one process, server or worker, joins the job, stays in it, and notices that
 * server 0 is gone. (Server 0's side is ps/work/membership.h.)
 *
 *     JOINING --WELCOME--> MEMBER --FINISHED, a refusal, a deadline--> OVER
 *      |   ^                 |                                          ^
 *      |   '-REFUSED(REJOIN)-'                                          |
 *      '---FINISHED, a refusal, a deadline------------------------------'
 *
 *     JOINING  sends JOIN: at once, after 2 ms, 4, 8 and so on, then every 64 ms
 *     MEMBER   has a ticket; a sign of life is due every half second, a PING or another message
 *     OVER     has an exit code and a reason; every FINISHED is answered BYE, after any end
 *
 * Until it has started, deadlines.start counts, and half a second more for server 0, whose
 * reasons are better. From the first WELCOME on, silence of server 0 counts: after
 * deadlines.silence there is a line, once each time; after deadlines.recovery, if that is
 * longer, it is the end. Only watched time is silence: a second or more between two ticks means
 * that this process was stopped.
 *
 * The owner handles all other messages of server 0. It may look at every field.
 *
 * Threads: the owner's. Time arrives as an argument, microseconds. */

#ifndef COMMON_WIRE_JOINING_H
#define COMMON_WIRE_JOINING_H

#include "common/base/deadlines.h"
#include "common/wire/envelope.h"

/* A process's identity and deadlines. */
struct joining_options {
    uint32_t index; /* Of its task. */
    uint64_t incarnation;
    uint8_t probe_digest[DIGEST_BYTES];
    char host[64], arithmetic[64];
    char job_id[JOB_ID_BYTES];  /* An engine's name for the job; "": none. */
    struct deadlines deadlines; /* start, silence and recovery count here. */
    bool has_parent;            /* A launcher holds it by its standard input. */
    uint64_t began_us;          /* The begin of deadlines.start; 0: now. */
};

struct joining {
    struct envelope envelope; /* The owner may raise its generation after server 0 has. */
    struct message_join join;
    struct deadlines deadlines;
    bool at_every_tick; /* Server 0 to itself: JOIN arrives. */

    bool joining, over;
    bool admitted; /* It was a member once, and knows the run. */
    bool started;  /* The owner's to set. */
    enum leash leash;
    int exit_code; /* With the reason, when it is over. */
    char reason[MESSAGE_TEXT_MAX];
    char waiting[MESSAGE_TEXT_MAX]; /* What server 0 waits for; "": not known. */

    uint64_t began_us, heard_us, looked_us;
    uint64_t asked_us;                    /* The begin of JOINING. */
    uint64_t joined_us, join_interval_us; /* joined_us: of the last JOIN; 0: there was none. */
    uint64_t beat_us;          /* The owner's to set: 0 for a sign of life at the next tick. */
    uint64_t welcomed_request; /* The last number used before the latest WELCOME. */
    bool silence_said;
    int stop_code; /* Its exit code if there is neither a job nor a server 0; 0: it does not end. */
};

/* job_digest[DIGEST_BYTES]: of a worker's declaration; NULL from a server. */
void joining_init(struct joining *joining, enum role role, const struct joining_options *options,
                  const uint8_t *job_digest, uint64_t now_us);

/* A message to server 0's coordinator, to be filled in at once; see outbox_add. A worker's has
 * its whole envelope. A server's has its generation, and is sealed by the router, or dropped if
 * the generation has changed. */
#define joining_say(joining, kind, outbox) joining_say_with(joining, kind, NULL, outbox)
/* The same from a server, with a payload: a reference that is taken over, or NULL. */
#define joining_say_with(joining, kind, payload, outbox)                                           \
    joining_put(joining, kind, payload, outbox, HERE)
struct message *joining_put(struct joining *joining, enum message_kind kind, struct frame *payload,
                            struct outbox *outbox, struct origin origin);

/* A message of server 0. False when it is over, and the owner must not handle it. */
bool joining_hear(struct joining *joining, const struct message *message, uint64_t now_us,
                  struct outbox *outbox);

/* Of two WELCOMEs the later has the greater generation, and within one the greater ticket. The
 * envelope takes it, unless it is old or of another run. */
enum welcome {
    WELCOME_OLD, /* Of an admission before. */
    WELCOME_OTHER_RUN,
    WELCOME_REPEATED,
    WELCOME_AGAIN,      /* In the same generation, maybe with another ticket. */
    WELCOME_GENERATION, /* The first, or of a greater generation. */
};
enum welcome joining_welcome(struct joining *joining, const struct message *message);

/* The exit code of a refusal, of any server: a process that was a member, and is none now, was
 * lost. */
int joining_exit_code(const struct joining *joining, enum refusal reason);

/* Server 0 has refused something. It is the end, with this exit code; or a new JOIN, because
 * this process is unknown; or nothing, if it answers something from before the latest WELCOME or
 * JOIN. */
void joining_refused(struct joining *joining, const struct message *message, int exit_code,
                     uint64_t now_us, struct outbox *outbox);
bool joining_is_unknown(const struct joining *joining, const struct message *message);

/* FINISHED has come: BYE is sent. False when it is of another run, and means nothing. */
bool joining_finished(struct joining *joining, const struct message *message,
                      struct outbox *outbox);

/* What server 0 waits for, from other messages than WAITING. */
void joining_wait(struct joining *joining, const char *text);

/* The first end counts. */
void joining_end(struct joining *joining, int exit_code, const char *reason);

/* The process was asked to stop, and server 0 will hear of it. If there is no job yet, and
 * server 0 has been silent for a second, that is the end, with this exit code. */
void joining_stop(struct joining *joining, int exit_code);

/* The launcher of this process is gone, or the connection to it is broken. The next sign of life
 * tells server 0, which decides which of the two it is. Silence of deadlines.silence is the end,
 * and so is a new JOIN. While there is no job, server 0 acts as if asked to stop. */
void joining_abandon(struct joining *joining);

/* How long this process was stopped since the last look, 0 if it was not: the owner's other
 * clocks leave that out, too. */
uint64_t joining_look(struct joining *joining, uint64_t now_us);

/* joining_look, and JOIN when it is due. */
uint64_t joining_tick(struct joining *joining, uint64_t now_us, struct outbox *outbox);

/* Keep the deadlines: `over` may be true afterwards. */
void joining_watch(struct joining *joining, uint64_t now_us, struct outbox *outbox);

/* Whether a sign of life is due, which the owner gives. */
bool joining_is_to_beat(struct joining *joining, uint64_t now_us);

/* How long server 0 has been silent, in seconds. */
double joining_silence(const struct joining *joining, uint64_t now_us);

/* Milliseconds until the next tick at the latest. */
int joining_patience_ms(const struct joining *joining);

/* See common/base/invariant.h. */
void joining_check(const struct joining *joining);

#endif

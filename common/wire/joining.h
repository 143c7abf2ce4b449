/* joining.h - one process's side of belonging to the job, be it a server or a worker: how it gets
 * in, stays in, and notices that server 0 is gone. (Server 0's side is ps/work/membership.h.)
 *
 *     JOINING --WELCOME--> MEMBER --FINISHED, a refusal, a deadline--> OVER
 *      |   ^                 |                                          ^
 *      |   '-REFUSED(REJOIN)-'                                          |
 *      '---FINISHED, a refusal, a deadline------------------------------'
 *
 *     JOINING  says JOIN: at once, after 2 ms, 4, 8 and so on, then every 64 ms
 *     MEMBER   has a ticket; a sign of life is due every half second, PING or what says more
 *     OVER     has an exit code and a reason; every FINISHED is answered BYE, whatever the end was
 *
 * Until it has started, deadlines.start counts, and half a second more for server 0, whose reasons
 * are better. From the first WELCOME on, silence of server 0 does: after deadlines.silence a line
 * says so, once each time; after deadlines.recovery, if that is longer, it is the end. Only what was
 * watched is silence: a second or more between two ticks means that this process was stopped.
 *
 * What else server 0 says the owner hears and answers. It may look at every field.
 *
 * Threads: the owner's. Time arrives as an argument, microseconds. */

#ifndef COMMON_WIRE_JOINING_H
#define COMMON_WIRE_JOINING_H

#include "common/base/deadlines.h"
#include "common/wire/envelope.h"

/* What it says of itself, and how long it waits. */
struct joining_options {
    uint32_t index; /* Of its task. */
    uint64_t incarnation;
    uint8_t probe_digest[DIGEST_BYTES];
    char host[64], arithmetic[64];
    char job_id[JOB_ID_BYTES];  /* What an engine calls the job; "": nothing does. */
    struct deadlines deadlines; /* start, silence and recovery are kept here. */
    bool has_parent;            /* A launcher holds it by its standard input. */
    uint64_t began_us;          /* From when deadlines.start counts; 0: now. */
};

struct joining {
    struct envelope envelope; /* The owner may raise its generation when server 0 has. */
    struct message_join join;
    struct deadlines deadlines;
    bool at_every_tick; /* JOIN is said, by server 0 to itself: it arrives. */

    bool joining, over;
    bool admitted; /* It was a member once, and knows the run. */
    bool started;  /* The owner's to set. */
    enum leash leash;
    int exit_code; /* When it is over, as the reason. */
    char reason[MESSAGE_TEXT_MAX];
    char waiting[MESSAGE_TEXT_MAX]; /* What server 0 waits for; "": it has not said. */

    uint64_t began_us, heard_us, looked_us;
    uint64_t asked_us;                    /* Since when it has been JOINING. */
    uint64_t joined_us, join_interval_us; /* JOIN was said; 0: it has not been. */
    uint64_t beat_us;          /* The owner's to set: 0 for a sign of life at the next tick. */
    uint64_t welcomed_request; /* The last number used before the latest WELCOME. */
    bool silence_said;
    int stop_code; /* With which it ends if there is neither a job nor a server 0; 0: it does not. */
};

/* job_digest[DIGEST_BYTES]: of a worker's declaration; NULL from a server. */
void joining_init(struct joining *joining, enum role role, const struct joining_options *options,
                  const uint8_t *job_digest, uint64_t now_us);

/* A message to server 0's coordinator, to be filled in at once; see outbox_add. A worker's has its
 * whole envelope. A server's has its generation, and is sealed (or dropped, if that has changed) by
 * whoever carries it. */
#define joining_say(joining, kind, outbox) joining_say_with(joining, kind, NULL, outbox)
/* The same from a server, with a payload: a reference that is taken over, or NULL. */
#define joining_say_with(joining, kind, payload, outbox)                                           \
    joining_put(joining, kind, payload, outbox, HERE)
struct message *joining_put(struct joining *joining, enum message_kind kind, struct frame *payload,
                            struct outbox *outbox, struct origin origin);

/* Something has come from server 0. False when it is over, and nothing else is to be done. */
bool joining_hear(struct joining *joining, const struct message *message, uint64_t now_us,
                  struct outbox *outbox);

/* Of two WELCOMEs the later is that of the greater generation, and within one that of the greater
 * ticket. It is what the envelope says afterwards, unless it is old or of another run. */
enum welcome {
    WELCOME_OLD, /* Of an admission before. */
    WELCOME_OTHER_RUN,
    WELCOME_REPEATED,
    WELCOME_AGAIN,      /* In the same generation, maybe with another ticket. */
    WELCOME_GENERATION, /* The first, or of a greater generation. */
};
enum welcome joining_welcome(struct joining *joining, const struct message *message);

/* What a refusal is worth, of any server: who was a member, and is none now, was lost. */
int joining_exit_code(const struct joining *joining, enum refusal reason);

/* Server 0 has refused something: that is the end, with this exit code; or it joins again, because
 * it is unknown; or, if it was said before the latest WELCOME or JOIN, nothing. */
void joining_refused(struct joining *joining, const struct message *message, int exit_code,
                     uint64_t now_us, struct outbox *outbox);
bool joining_is_unknown(const struct joining *joining, const struct message *message);

/* FINISHED has come: BYE is said. False when it is of another run, and means nothing. */
bool joining_finished(struct joining *joining, const struct message *message,
                      struct outbox *outbox);

/* What server 0 waits for, by what else is known than WAITING. */
void joining_wait(struct joining *joining, const char *text);

/* The first end counts. */
void joining_end(struct joining *joining, int exit_code, const char *reason);

/* It was asked to stop, and server 0, whose job it is, will hear of it; unless there is no job yet
 * and server 0 has not been heard for a second: then that is the end, with this exit code. */
void joining_stop(struct joining *joining, int exit_code);

/* The launcher of this process is gone, or the connection to it is broken. Server 0 hears of it with a
 * sign of life at the next tick, and decides which. Silence of deadlines.silence is the end, and so is
 * having to join; server 0 is as if asked to stop while there is no job. */
void joining_abandon(struct joining *joining);

/* How long this process was stopped since the last look at the clock, 0 if it was not: whatever other
 * clocks the owner has are to leave it out as well. */
uint64_t joining_look(struct joining *joining, uint64_t now_us);

/* The same, and JOIN when it is due. */
uint64_t joining_tick(struct joining *joining, uint64_t now_us, struct outbox *outbox);

/* Keep the deadlines: after it `over` may be true. */
void joining_watch(struct joining *joining, uint64_t now_us, struct outbox *outbox);

/* Whether a sign of life is due; then the owner gives it. */
bool enrolment_is_to_beat(struct joining *joining, uint64_t now_us);

/* Since when server 0 has not been heard, in seconds. */
double joining_silence(const struct joining *joining, uint64_t now_us);

/* In how many milliseconds to tick again at the latest. */
int joining_patience_ms(const struct joining *joining);

/* See common/base/invariant.h. */
void joining_check(const struct joining *joining);

#endif

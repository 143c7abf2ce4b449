/* run.h - what the machines of the coordinator have in common: the job, its run, its members and
 * their work; and the effects by which they answer.
 *
 * A machine (members, gathering, training, sets, scorer, snapshot, finishing) takes a message or
 * a tick, with a struct run, and returns a struct effect. It neither calls another machine nor
 * knows its fields. Dispatch (coordinator.c) calls machines and acts on effects. Each field of
 * struct run says which machine writes it; all others read it.
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_RUN_H
#define PS_COORDINATOR_RUN_H

#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/invariant.h"
#include "common/base/wording.h"
#include "common/wire/envelope.h"
#include "common/wire/pages.h"
#include "ps/coordinator/coordinator.h"
#include "ps/coordinator/stragglers.h"
#include "ps/mode/work_mode.h"
#include "ps/orders/orders.h"

#define NO_STEP UINT64_MAX

/* In the order of enum job_state. */
enum state { WAITING, OPENING, GATHERING, RECOVERING, RUNNING, CLOSING, FINISHING, OVER };

/* The job as its first worker declares it, page by page. One process at a time may upload; one
 * that stops in the middle is forgotten after a while. Once there is a job, an upload is another
 * worker's, to be compared with it. */
struct declaration {
    struct job job; /* Once size > 0. Owned. */
    uint8_t *bytes; /* [size], owned: the encoded job. */
    uint32_t size;
    uint8_t digest[DIGEST_BYTES];

    struct pages upload;   /* The upload under way. */
    uint64_t uploader;     /* Its peer, 0 for none. */
    uint64_t uploaded_us;  /* When its last page came. */
    uint64_t known_run_id; /* The run that the uploader was in before, 0 for none. */
};

struct run {
    /* The call under way: this core's own time then, and where messages go. */
    uint64_t now_us;
    struct outbox *outbox;

    struct coordinator_options options; /* members shortens deadlines. */

    /* Of dispatch. */
    enum state state;
    uint64_t entered_us;   /* The begin of the state. */
    uint64_t unwatched_us; /* How long this core was not driven. */
    bool deal_due;         /* A member came or went: the next tick deals the work anew. */
    bool closed;           /* The last checkpoint is whole, and the summary is being written. */
    bool deserted;         /* It stops after all workers have left. */

    /* Of gathering. */
    struct envelope envelope; /* Of no run until it is open. */
    struct declaration declaration;
    const struct job *job; /* The declaration's; zeros before there is one. */
    bool restore;          /* Where this generation starts. */
    uint64_t first_step;
    uint64_t raising;      /* The generation that the checkpointer is to record; 0: none. */
    uint64_t ended_run_id; /* Of the run that the run directory held before, if it has ended. */
    uint32_t ended_code;   /* Its exit code; 0: none. */

    struct work work;           /* Of training. */
    struct membership *members; /* Its members: those of members. */

    uint64_t whole; /* snapshot: the step of the newest whole checkpoint; NO_STEP for none. */
    bool stopping;  /* finishing: a clean stop was asked for. */
    bool unleashed; /* members: this server's leash is lost. */
    bool abandoned; /* members: the launcher is gone, and no lost process comes back. */
};

enum effect_kind {
    EFFECT_NONE,
    EFFECT_FAILED,           /* The job ends: exit_code, text. */
    EFFECT_WORKER_LOST,      /* members: index, departure, why, text. */
    EFFECT_SERVER_LOST,      /* members: index, why, text. */
    EFFECT_LEFT,             /* members: worker `index` has left of its own accord. */
    EFFECT_ABANDONED,        /* members: the launcher is gone, and the job stops. */
    EFFECT_OVER,             /* members, finishing: this process has nothing more to do here. */
    EFFECT_DECLARED,         /* gathering: there is a job, and its run directory is being opened. */
    EFFECT_OPENED,           /* gathering: it is open, and members gather. */
    EFFECT_WENT_BACK,        /* gathering: it has another one, that starts at a checkpoint. */
    EFFECT_SNAPSHOT_DUE,     /* snapshot: one is due at `step`, where worker index - 1 came last. */
    EFFECT_GATE_OPEN,        /* snapshot: batches can be given out again. */
    EFFECT_SNAPSHOT_OVER,    /* snapshot: the next one can be named. */
    EFFECT_SNAPSHOT_WHOLE,   /* snapshot: the checkpoint at run.whole is written. */
    EFFECT_SNAPSHOT_REFUSED, /* snapshot: the last one cannot be taken: text. */
    EFFECT_STOPPING,         /* finishing: a clean stop begins. */
    EFFECT_STOPPED,          /* finishing, gathering: it ends without a step: exit_code, text. */
};

struct effect {
    enum effect_kind kind;
    int exit_code;
    uint32_t index;
    uint64_t step;
    enum departure departure;
    const char *why; /* A word for events.jsonl. */
    char text[MESSAGE_TEXT_MAX];
};

#define NO_EFFECT ((struct effect){.kind = EFFECT_NONE})
struct effect effect_failed(int exit_code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define effect_no_memory(for_what)                                                                 \
    effect_failed(EXIT_TRAINING_FAILED, "out of memory for " for_what)

/* Seconds since then, of this core's own time. */
#define run_since(run, us) seconds_since(us, (run)->now_us)
/* Elapsed time, for durations in lines and figures: also while this core was not driven, which
 * no deadline counts, because its thread was applying a gradient or was stopped. */
#define run_wall(run) ((run)->now_us + (run)->unwatched_us)
/* Whether server 0 was killed in this run before, which then kept its id. */
#define run_goes_on(run) ((run)->envelope.run_id != (run)->options.run_id)

/* Messages of the call under way: see common/wire/envelope.h. */
#define run_send(run, peer, kind) envelope_to_peer(&(run)->envelope, peer, kind, (run)->outbox)
#define run_send_unknown(run, peer, kind)                                                          \
    envelope_to_unknown_peer(&(run)->envelope, peer, kind, (run)->outbox)
#define run_answer(run, packet, kind) envelope_answer(&(run)->envelope, packet, kind, (run)->outbox)
#define run_refuse(run, packet, reason, ...)                                                       \
    envelope_refuse(&(run)->envelope, packet, reason, (run)->outbox, __VA_ARGS__)
#define run_ask_to_wait(run, packet, text)                                                         \
    envelope_ask_to_wait(&(run)->envelope, packet, text, (run)->outbox)

/* Whether gradients are described, and chunks log them. */
bool run_records(const struct run *run);
/* NULL in a mode whose steps are made of all leaves. */
struct quorum *run_quorum(const struct run *run);
/* Whether the sender belongs to another run than the one served here; and so it has its answer. */
bool run_is_of_another(const struct run *run, const struct message *message);
bool run_refuse_other(const struct run *run, const struct packet *packet);

#endif

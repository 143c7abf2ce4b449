/* coordinator_state.h - the coordinator from inside, for the files it is made of:
 *
 *   coordinator.c            life, who may say what, time
 *   coordinator_gathering.c  joining, opening the run, starting, going back
 *   coordinator_losses.c     who is lost, what is done about it, who leaves
 *   coordinator_training.c   leases, reports, stopping, being done
 *   coordinator_scores.c     the model's test scores
 *   coordinator_snapshots.c       checkpoints
 *   coordinator_quorum.c   which leaves steps are made of, where not all are waited for
 *   coordinator_end.c        the summary, and everybody is told
 *   coordinator_check.c      what is true between two messages
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_COORDINATOR_STATE_H
#define PS_COORDINATOR_COORDINATOR_STATE_H

#include "common/base/clock.h"
#include "common/base/run_phases.h"
#include "common/base/stopwatch.h"
#include "common/process/log_once.h"
#include "ps/coordinator/coordinator.h"
#include "ps/coordinator/declaration.h"
#include "ps/coordinator/snapshot.h"
#include "ps/mode/work_mode.h"
#include "ps/orders/orders.h"
#include "ps/work/computations.h"
#include "ps/work/evaluation.h"
#include "ps/work/staleness_totals.h"

#define NO_STEP UINT64_MAX

#define WATCHERS_MAX 16

/* In the order in which enum job_state tells of them. */
enum state { WAITING, OPENING, GATHERING, RECOVERING, RUNNING, CLOSING, FINISHING, OVER };

/* Whether a step can do without some of the workers who are here. */
enum sparing {
    SPARING,
    SPARING_FEW_LEAVES,  /* Fewer leaves than workers: it waits for all who have one. */
    SPARING_FEW_WORKERS, /* No more are here than it waits for. */
};

struct coordinator {
    struct coordinator_options options;
    enum state state;
    uint64_t began_us;                /* This process, about. */
    uint64_t entered_us;              /* The state. */
    uint64_t driven_us, unwatched_us; /* When it was last driven; how long it was not. */
    struct envelope envelope;         /* Of no run until it is open. */
    struct declaration declaration;
    const struct job *job; /* The declaration's; zeros before there is one. */

    struct work work;   /* Who is here, and what they have to do. */
    uint32_t gate_last; /* One more than the worker that came to the gate last; 0: nobody. */
    bool deal_due;      /* Somebody came or went: at the next tick the work is dealt anew. */
    bool has_survivors; /* A worker has come that was in this run before. */
    uint64_t lonely_us; /* Since when no worker is here; 0: there is one. */

    /* Where this generation starts. */
    bool restore;
    uint64_t first_step;
    uint64_t raising;     /* The generation that the checkpointer is to record; 0: none. */
    uint64_t welcomed_us; /* When servers were last told of it. */

    bool unleashed;    /* This server's leash is lost. */
    uint64_t leash_us; /* Since when somebody's is; 0: nobody's. */
    bool abandoned;    /* The launcher is gone: nobody who is lost comes back. */
    bool stopping;     /* A clean stop was asked for ... */
    bool stop_named;   /* ... and our router has said which version is the last. */
    uint64_t stop_us;
    bool deserted; /* It stops after all workers have left. */

    struct evaluation evaluation;
    struct frame *kept; /* The last chunk to be kept with a scored model that was passed on ... */
    uint64_t kept_at;   /* ... of the model after so many batches. */
    struct staleness_totals staleness; /* What servers say of it. */
    struct computations computations;  /* Since the last cut that is in the record ... */
    struct computations_mark
        snapshot_computations; /* ... and those that the next one adds to it. */

    /* Where steps are made of sets of leaves (quorum.h): sets of steps before these ... */
    uint64_t sets_sent;    /* ... are with the set writer, to be written down; */
    uint64_t sets_written; /* ... are written; */
    uint64_t sets_told;    /* ... servers have been told; */
    uint64_t sets_dealt;   /* ... workers have been told with START; */
    uint64_t sets_again;   /* ... had been told before all went back. */
    bool sets_ended;       /* They are not written down any more. */
    enum sparing sparing;  /* As it was last said. */

    struct snapshot snapshot;
    uint64_t snapshot_us;   /* When the last was reached or given up, or training began. */
    bool marked;            /* Training has come to its step: what was counted then is known. */
    uint64_t last_snapshot; /* Step of the newest whole checkpoint; NO_STEP for none. */
    uint64_t last_due;      /* The same, counting those that were given up. */
    bool closed;            /* The last checkpoint is whole, and the summary is being written. */

    struct log_once log_once; /* Of checkpoints that cannot be written. */

    struct run_summary summary;
    double counted_seconds; /* Of training, before summary.counted_from. */
    /* Of the checkpoint that counts were marked at, or where the session began. */
    uint64_t whole_step;
    struct run_spread spread_snapshot,
        spread_whole;        /* As of the cut under way, and the checkpoint. */
    struct run_faults noted; /* The faults that run.json has, but for `fenced` ... */
    uint64_t noted_us;       /* ... since then. */
    struct stopwatch clock;  /* By coordinator_wall, and so is: */
    uint64_t beside_us; /* Since when a checkpoint is written while training goes on; 0: none is. */
    uint64_t reached_unwatched_us; /* What unwatched_us was when the cut under way was reached. */
    double windows_from; /* Training seconds at the end of the last window; NaN: not known. */
    uint64_t waited_us, told_us;
    uint64_t refused;                /* JOINs. */
    uint64_t watchers[WATCHERS_MAX]; /* Peers to be told of the end: the last who asked, ... */
    uint64_t watcher_count;          /* ... by number % WATCHERS_MAX; PEER_LOCAL: not any more. */
    uint64_t wrong_key_peers;        /* Messages in a member's name that came with another key. */
    bool turned_away;                /* Somebody was told to wait for the end. */
    bool own_router_left;            /* Although it had never become a member. */
    bool known;                      /* Somebody has spoken who was in a run before. */
    uint64_t ended_run_id; /* Of the run that the run directory held before, if it has ... */
    uint32_t ended_code;   /* ... ended, and how; 0: none. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

/* See common/base/invariant.h. */
void coordinator_check(const struct coordinator *c);

/* A stop found no worker, and chunks that are not all at one version. */
void coordinator_end_deserted(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

void coordinator_enter(struct coordinator *c, enum state state, uint64_t now_us);

/* What has passed, for whoever is told how long something took: also while nobody drove this core,
 * which no deadline counts, because its thread was applying a gradient or was stopped. */
uint64_t coordinator_wall(const struct coordinator *c, uint64_t now_us);

/* Whether the sender belongs to another run than the one served here; and what it is told. */
bool coordinator_is_of_another_run(const struct coordinator *c, const struct message *message);
void coordinator_answer_other_run(const struct coordinator *c, const struct packet *packet,
                                  struct outbox *outbox);
/* To a process that was a member and is not to be one again. */
void coordinator_answer_departed(struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox);

/* --- leashes ------------------------------------------------------------------------------- */

/* Processes whose launcher is gone, or whose connection to it is: the job stops if no leash is held
 * any more; else those that have lost theirs end alone, and the launcher starts them again. */
void coordinator_watch_leashes(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- gathering ----------------------------------------------------------------------------- */

/* Whether the sender of a JOIN is of another version or of another job, which it has been told. */
bool coordinator_refuses_join(struct coordinator *c, const struct packet *packet,
                              struct outbox *outbox);
void coordinator_handle_join(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox);
void coordinator_handle_job_page(struct coordinator *c, const struct packet *packet,
                                 uint64_t now_us, struct outbox *outbox);
void coordinator_handle_run_opened(struct coordinator *c, const struct order_run_opened *opened,
                                   const struct frame *sets, uint64_t now_us,
                                   struct outbox *outbox);
void coordinator_handle_ready(struct coordinator *c, struct member *server,
                              const struct packet *packet, uint64_t now_us, struct outbox *outbox);
/* Whether what is computed has a number, and chunks note it. */
bool coordinator_records(const struct coordinator *c);
/* Whether server 0 was killed in this run before, which then kept its id. */
bool coordinator_goes_on(const struct coordinator *c);
/* The generation, to a server that is of an older one. */
void coordinator_welcome_again(struct coordinator *c, struct member *server, struct outbox *outbox);
void coordinator_repeat_welcomes(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_start_when_gathered(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* Deal the work anew if somebody came or went, and tell all workers. */
void coordinator_deal_when_due(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_send_start(struct coordinator *c, struct member *worker, struct outbox *outbox);
/* A server's chunks are gone: everybody goes back to a checkpoint. */
void coordinator_raise_generation(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- losses -------------------------------------------------------------------------------- */

/* A worker is gone; `why` in a word for events.jsonl, `line` for people. */
void coordinator_lose_worker(struct coordinator *c, uint32_t index, enum departure departure,
                             const char *why, const char *line, uint64_t now_us,
                             struct outbox *outbox);
void coordinator_lose_server(struct coordinator *c, uint32_t index, const char *why,
                             const char *line, uint64_t now_us, struct outbox *outbox);
/* A sign of life. */
void coordinator_hear(struct member *member, const struct packet *packet, uint64_t now_us,
                      struct outbox *outbox);
/* Somebody asks that a worker leave. */
void coordinator_evict(struct coordinator *c, const struct packet *packet, struct outbox *outbox);
void coordinator_handle_leave(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox);
void coordinator_tell_left(const struct coordinator *c, const struct packet *packet,
                           struct outbox *outbox);
/* Find the silent, the slow and the stuck. */
void coordinator_watch_members(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* End the job if somebody is not back in time. */
void coordinator_watch_awaited(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* What the job waits for, for people: "" when it does not wait. text[MESSAGE_TEXT_MAX]. */
void coordinator_describe_waiting(const struct coordinator *c, char *text, uint64_t now_us);
void coordinator_say_who_is_missing(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- training ------------------------------------------------------------------------------ */

void coordinator_handle_lease(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox);
/* If training stands at a gate. `last`: one more than the worker that came there last; 0: nobody. */
void coordinator_snapshot_at_gate(struct coordinator *c, uint32_t last, uint64_t now_us,
                                  struct outbox *outbox);
/* Give a worker what batches there are. `request`: of the LEASE that this answers, 0 for none.
 * Whether anything was sent. */
bool coordinator_top_up(struct coordinator *c, uint32_t index, uint64_t request,
                        struct outbox *outbox);
/* The same for every worker that has asked. */
void coordinator_top_up_all(struct coordinator *c, struct outbox *outbox);
void coordinator_handle_report(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                               struct outbox *outbox);
/* What has come of the worker's report is counted. */
void coordinator_add_report(struct member *worker, const struct message_report *report);
/* What a worker tells of its times: sums, so it counts by how much they are more than what was heard
 * of it before, whatever else becomes of the message. Of a process that has lost its place to another
 * one nothing more is heard. */
void coordinator_take_times(struct coordinator *c, struct member *worker,
                            const struct message *message, const struct message_times *times);
/* Of all workers, as far as they have told; also of those that are gone. */
uint64_t coordinator_exchanged_bytes(const struct coordinator *c);
void coordinator_handle_done(struct coordinator *c, struct member *worker,
                             const struct packet *packet, uint64_t now_us, struct outbox *outbox);
void coordinator_handle_stop(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox);
/* When training is over: the last checkpoint. */
void coordinator_finish_when_done(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* Name the last step, if a stop was asked for. */
void coordinator_stop_training(struct coordinator *c, struct outbox *outbox);

/* --- scores -------------------------------------------------------------------------------- */

/* Some server may have kept more values for a score, or some worker be free: go on with it. */
void coordinator_score(struct coordinator *c, struct outbox *outbox);
/* The worker's share, if it has one or there is one: once more with each of its PINGs. */
void coordinator_deal_share(struct coordinator *c, uint32_t index, struct outbox *outbox);
void coordinator_handle_evaluation(struct coordinator *c, const struct packet *packet,
                                   uint64_t now_us, struct outbox *outbox);

/* --- cuts ---------------------------------------------------------------------------------- */

/* Name the next cut, at a step that nobody can have reached yet; `reached`: the first such. */
void coordinator_schedule_snapshot(struct coordinator *c, uint64_t reached, uint64_t now_us,
                                   struct outbox *outbox);
void coordinator_begin_snapshot(struct coordinator *c, uint64_t step, bool final, uint64_t now_us,
                                struct outbox *outbox);
/* When training has come to the step of the cut under way: what is counted is of the cut. */
void coordinator_mark_snapshot(struct coordinator *c);
void coordinator_handle_cut_taken(struct coordinator *c, struct member *server,
                                  const struct packet *packet, uint64_t now_us,
                                  struct outbox *outbox);
/* The manifest, when all parts are durable and what the epoch had scored by then is counted: parts
 * can be quicker than scores. */
void coordinator_collect_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_handle_part_written(struct coordinator *c, const struct packet *packet,
                                     uint64_t now_us, struct outbox *outbox);
void coordinator_handle_manifest_written(struct coordinator *c, const struct order_written *written,
                                         uint64_t now_us, struct outbox *outbox);
void coordinator_watch_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* No checkpoint is written beside training any more. */
void coordinator_end_beside(struct coordinator *c, uint64_t now_us);

/* --- closings ------------------------------------------------------------------------------ */

/* NULL in a mode whose steps are made of all leaves. */
struct quorum *coordinator_quorum(const struct coordinator *c);
/* All go on from first_step, with the sets that were told from there on: a list, or NULL. */
enum status coordinator_begin_quorum(struct coordinator *c, const struct frame *sets);
/* A worker's report. Whether the step is counted with it. */
bool coordinator_close_step(struct coordinator *c, const struct packet *packet, double seconds,
                            uint64_t now_us, struct outbox *outbox);
/* What is decided and not told is, as far as it is written down; else it is sent to be that. */
void coordinator_tell_quorum(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_repeat_quorum(struct coordinator *c, const struct member *server, uint64_t now_us,
                               struct outbox *outbox);
void coordinator_handle_sets_written(struct coordinator *c, const struct order_written *written,
                                     uint64_t now_us, struct outbox *outbox);
/* The work is dealt anew; and what START tells of sets: NULL without memory. */
void coordinator_deal_quorum(struct coordinator *c, struct outbox *outbox);
struct frame *coordinator_start_sets(const struct coordinator *c);

/* --- the end ------------------------------------------------------------------------------- */

/* Have what went wrong written down, so that a successor goes on counting. */
void coordinator_note_faults(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* Whether the last checkpoint is of the job's end, and nothing was left for a stop to stop. */
bool coordinator_is_done(const struct coordinator *c);
/* The last checkpoint is whole. */
void coordinator_close_run(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* The run was stopped before anybody made a step of it: it stands where it began. */
void coordinator_note_stop(struct coordinator *c, int code, const char *reason, uint64_t now_us,
                           struct outbox *outbox);
/* To whoever asks, and is a member or not. */
void coordinator_answer_finished(const struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox);
void coordinator_tell_everybody(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_finish(struct coordinator *c, int exit_code, const char *reason, uint64_t now_us,
                        struct outbox *outbox);
void coordinator_fail(struct coordinator *c, int exit_code, uint64_t now_us, struct outbox *outbox,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif

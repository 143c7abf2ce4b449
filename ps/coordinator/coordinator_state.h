/* coordinator_state.h - the fields of the coordinator, for the files it is made of:
 *
 *   coordinator.c            life, dispatch, time
 *   coordinator_gathering.c  joining, opening the run, starting, going back
 *   coordinator_losses.c     lost members, and those that leave
 *   coordinator_training.c   leases, reports, stopping, being done
 *   coordinator_scores.c     the model's test scores
 *   coordinator_snapshots.c  checkpoints
 *   coordinator_quorum.c     the leaf sets of steps, where not all workers are waited for
 *   coordinator_leashes.c    the launcher's end
 *   coordinator_end.c        the summary, and FINISHED
 *   coordinator_check.c      invariants
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_COORDINATOR_STATE_H
#define PS_COORDINATOR_COORDINATOR_STATE_H

#include "common/base/clock.h"
#include "common/base/run_phases.h"
#include "common/process/log_once.h"
#include "common/trace/times.h"
#include "ps/coordinator/coordinator.h"
#include "ps/coordinator/declaration.h"
#include "ps/coordinator/snapshot.h"
#include "ps/extension/staleness_totals.h"
#include "ps/mode/work_mode.h"
#include "ps/orders/orders.h"
#include "ps/work/computations.h"
#include "ps/work/evaluation.h"

#define NO_STEP UINT64_MAX

#define WATCHERS_MAX 16

/* In the order of enum job_state. */
enum state { WAITING, OPENING, GATHERING, RECOVERING, RUNNING, CLOSING, FINISHING, OVER };

/* Whether a step can do without some of the workers that are here. */
enum sparing {
    SPARING,
    SPARING_FEW_LEAVES,  /* Fewer leaves than workers: it waits for all that have one. */
    SPARING_FEW_WORKERS, /* No more are here than it waits for. */
};

struct coordinator {
    struct coordinator_options options;
    enum state state;
    uint64_t began_us;                /* The begin of this process, about. */
    uint64_t entered_us;              /* The begin of the state. */
    uint64_t driven_us, unwatched_us; /* When it was last driven; how long it was not. */
    struct envelope envelope;         /* Of no run until it is open. */
    struct declaration declaration;
    const struct job *job; /* The declaration's; zeros before there is one. */

    struct work work;   /* Members and their work. */
    uint32_t gate_last; /* One more than the worker that came to the gate last; 0: none. */
    bool deal_due;      /* A member came or went: the next tick deals the work anew. */
    bool has_survivors; /* A worker of an earlier server 0 of this run has come. */
    uint64_t lonely_us; /* Since when no worker is here; 0: there is one. */

    /* Where this generation starts. */
    bool restore;
    uint64_t first_step;
    uint64_t raising;     /* The generation that the checkpointer is to record; 0: none. */
    uint64_t welcomed_us; /* When servers last heard of it. */

    bool unleashed;    /* This server's leash is lost. */
    uint64_t leash_us; /* Since when one is lost; 0: none. */
    bool abandoned;    /* The launcher is gone: no lost process comes back. */
    bool stopping;     /* A clean stop was asked for. */
    bool stop_named;   /* Our router has said which version is the last. */
    uint64_t stop_us;
    bool deserted; /* It stops after all workers have left. */

    struct evaluation evaluation;
    struct frame *kept; /* The last chunk of a scored model that was passed on, to be kept. */
    uint64_t kept_at;   /* The batch count of that model. */
    struct staleness_totals staleness; /* What servers say of it. */
    struct computations computations;  /* Since the last snapshot in the record. */
    /* Those that the next snapshot adds to the record. */
    struct computations_mark snapshot_computations;

    /* Where steps are made of leaf sets (quorum.h), the sets of earlier steps: */
    uint64_t sets_sent;      /* Are with the set writer. */
    uint64_t sets_written;   /* Are written down. */
    uint64_t sets_announced; /* Servers have them. */
    uint64_t sets_dealt;     /* Workers have them, by START. */
    uint64_t sets_again;     /* Were sent before all went back. */
    bool sets_ended;         /* No more are written down. */
    enum sparing sparing;    /* As the last line said. */

    struct snapshot snapshot;
    uint64_t
        snapshot_us; /* When the last was reached or given up, or training began; 0: it has not. */
    bool marked;     /* Training has come to its step, and the counts at that time are known. */
    uint64_t last_snapshot; /* Step of the newest whole checkpoint; NO_STEP for none. */
    uint64_t last_due;      /* The same, with those that were given up. */
    bool closed;            /* The last checkpoint is whole, and the summary is being written. */

    struct log_once log_once; /* Of checkpoints that cannot be written. */

    struct run_summary summary; /* Its phases by coordinator_wall. */
    double counted_seconds;     /* Of training, before summary.counted_from. */
    /* Of the checkpoint that counts were marked at, or where the session began. */
    uint64_t whole_step;
    /* As of the snapshot under way, and the checkpoint. */
    struct run_spread spread_snapshot, spread_whole;
    struct run_faults noted;       /* The faults in run.json, but for `fenced`. */
    uint64_t noted_us;             /* When they were written. */
    uint64_t reached_unwatched_us; /* unwatched_us when the snapshot under way was reached. */
    double windows_from; /* Training seconds at the end of the last window; NaN: not known. */
    uint64_t waited_us, sent_us;
    uint64_t refused; /* JOINs. */
    /* Peers that wait for the end: the last that asked, by number % WATCHERS_MAX. */
    uint64_t watchers[WATCHERS_MAX];
    uint64_t watcher_count; /* Of all that asked; PEER_LOCAL: not any more. */
    bool turned_away;       /* A process was asked to wait for the end. */
    bool own_router_left;   /* Although it had never become a member. */
    bool known;             /* A process of an earlier run has spoken. */
    uint64_t ended_run_id;  /* Of the run that the run directory held before, if it has ended. */
    uint32_t ended_code;    /* Its exit code; 0: none. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

/* See common/base/invariant.h. */
void coordinator_check(const struct coordinator *c);

/* A stop found no worker, and chunks that are not all at one version. */
void coordinator_end_deserted(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

void coordinator_enter(struct coordinator *c, enum state state, uint64_t now_us);

/* Elapsed time, for durations in lines and figures: also while this core was not driven, which
 * no deadline counts, because its thread was applying a gradient or was stopped. */
uint64_t coordinator_wall(const struct coordinator *c, uint64_t now_us);

/* Whether the sender belongs to another run than the one served here; and its answer. */
bool coordinator_is_of_another_run(const struct coordinator *c, const struct message *message);
void coordinator_answer_other_run(const struct coordinator *c, const struct packet *packet,
                                  struct outbox *outbox);
/* To a former member that must not be one again. */
void coordinator_answer_departed(struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox);

/* --- leashes ------------------------------------------------------------------------------- */

/* Processes whose launcher is gone, or whose connection to it is: the job stops if no leash is
 * held any more; else those that have lost theirs end alone, and the launcher starts them again. */
void coordinator_watch_leashes(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- gathering ----------------------------------------------------------------------------- */

/* Whether the sender of a JOIN is of another version or of another job; it has its answer then. */
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
/* Whether computations have numbers, and chunks log them. */
bool coordinator_records(const struct coordinator *c);
/* Whether server 0 was killed in this run before, which then kept its id. */
bool coordinator_goes_on(const struct coordinator *c);
/* The generation, to a server that is of an older one. */
void coordinator_welcome_again(struct coordinator *c, struct member *server, struct outbox *outbox);
void coordinator_repeat_welcomes(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_start_when_gathered(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* Deal the work anew if a member came or went, and send it to all workers. */
void coordinator_deal_when_due(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_send_start(struct coordinator *c, struct member *worker, struct outbox *outbox);
/* A server's chunks are gone: all members go back to a checkpoint. */
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
/* A worker is asked to leave. */
void coordinator_evict(struct coordinator *c, const struct packet *packet, struct outbox *outbox);
void coordinator_handle_leave(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox);
void coordinator_tell_left(const struct coordinator *c, const struct packet *packet,
                           struct outbox *outbox);
/* Find silent, slow and stuck members. */
void coordinator_watch_members(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* End the job if an awaited member is not back in time. */
void coordinator_watch_awaited(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* What the job waits for, for people: "" when it does not wait. text[MESSAGE_TEXT_MAX]. */
void coordinator_describe_waiting(const struct coordinator *c, char *text, uint64_t now_us);
void coordinator_say_who_is_missing(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- training ------------------------------------------------------------------------------ */

void coordinator_handle_lease(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                              struct outbox *outbox);
/* If training stands at a gate. `last`: one more than the worker that came there last; 0: none. */
void coordinator_snapshot_at_gate(struct coordinator *c, uint32_t last, uint64_t now_us,
                                  struct outbox *outbox);
/* Give a worker the batches that there are. `request`: of the LEASE that this answers, 0 for
 * none. Whether anything was sent. */
bool coordinator_top_up(struct coordinator *c, uint32_t index, uint64_t request,
                        struct outbox *outbox);
/* The same for every worker that has asked. */
void coordinator_top_up_all(struct coordinator *c, struct outbox *outbox);
void coordinator_handle_report(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                               struct outbox *outbox);
/* Count the worker's report. */
void coordinator_add_report(struct member *worker, const struct message_report *report);
/* A worker's report of its times: sums, of which the growth since its last report counts,
 * whatever else becomes of the message. A process that has lost its place is not heard any more. */
void coordinator_take_times(struct coordinator *c, struct member *worker,
                            const struct message *message, const struct message_times *times);
/* Of all workers, also those that are gone, by their last reports. */
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

/* Go on with scores: a server may have kept more values, or a worker be free. */
void coordinator_score(struct coordinator *c, struct outbox *outbox);
/* The worker's share, if it has one or there is one: once more with each of its PINGs. */
void coordinator_deal_share(struct coordinator *c, uint32_t index, struct outbox *outbox);
void coordinator_handle_evaluation(struct coordinator *c, const struct packet *packet,
                                   uint64_t now_us, struct outbox *outbox);

/* --- cuts ---------------------------------------------------------------------------------- */

/* Name the next snapshot, at a step that no worker can have reached yet; `reached`: the first
 * such. */
void coordinator_schedule_snapshot(struct coordinator *c, uint64_t reached, uint64_t now_us,
                                   struct outbox *outbox);
void coordinator_begin_snapshot(struct coordinator *c, uint64_t step, bool final, uint64_t now_us,
                                struct outbox *outbox);
/* When training has come to the step of the snapshot under way: its counts are the snapshot's. */
void coordinator_mark_snapshot(struct coordinator *c);
void coordinator_handle_cut_taken(struct coordinator *c, struct member *server,
                                  const struct packet *packet, uint64_t now_us,
                                  struct outbox *outbox);
/* The manifest, when all parts are durable and the epoch's scores up to then are counted: parts
 * can be quicker than scores. */
void coordinator_collect_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_handle_part_written(struct coordinator *c, const struct packet *packet,
                                     uint64_t now_us, struct outbox *outbox);
void coordinator_handle_manifest_written(struct coordinator *c, const struct order_written *written,
                                         uint64_t now_us, struct outbox *outbox);
void coordinator_watch_snapshot(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

/* --- quorums ------------------------------------------------------------------------------- */

/* NULL in a mode whose steps are made of all leaves. */
struct quorum *coordinator_quorum(const struct coordinator *c);
/* All go on from first_step, with the sets that were sent from there on: a list, or NULL. */
enum status coordinator_begin_quorum(struct coordinator *c, const struct frame *sets);
/* A worker's report. Whether the step is counted with it. */
bool coordinator_close_step(struct coordinator *c, const struct packet *packet, double seconds,
                            uint64_t now_us, struct outbox *outbox);
/* Send decided sets that are written down; else have them written. */
void coordinator_tell_quorum(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_repeat_quorum(struct coordinator *c, const struct member *server, uint64_t now_us,
                               struct outbox *outbox);
void coordinator_handle_sets_written(struct coordinator *c, const struct order_written *written,
                                     uint64_t now_us, struct outbox *outbox);
/* The work is dealt anew; and the sets of START: NULL without memory. */
void coordinator_deal_quorum(struct coordinator *c, struct outbox *outbox);
struct frame *coordinator_start_sets(const struct coordinator *c);

/* --- the end ------------------------------------------------------------------------------- */

/* Have faults written down, so that a successor goes on counting. */
void coordinator_note_faults(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* Whether the last checkpoint is of the job's end, and a stop had nothing left to stop. */
bool coordinator_is_done(const struct coordinator *c);
/* The last checkpoint is whole. */
void coordinator_close_run(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
/* The run was stopped before a step was made: it stands where it began. */
void coordinator_note_stop(struct coordinator *c, int code, const char *reason, uint64_t now_us,
                           struct outbox *outbox);
/* To any peer that asks. */
void coordinator_answer_finished(const struct coordinator *c, const struct packet *packet,
                                 struct outbox *outbox);
void coordinator_tell_everybody(struct coordinator *c, uint64_t now_us, struct outbox *outbox);
void coordinator_finish(struct coordinator *c, int exit_code, const char *reason, uint64_t now_us,
                        struct outbox *outbox);
void coordinator_fail(struct coordinator *c, int exit_code, uint64_t now_us, struct outbox *outbox,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif

/* reporter.c - adds up what a run has come to, and says it. */

#include "ps/coordinator/reporter.h"

#include <math.h>
#include <string.h>

#include "common/store/run_window.h"

#define NOTE_US 1000000u /* Between writes of faults. */
/* Shorter windows have no rate: reports come in packs, and the last of them within no time. */
#define RATE_SECONDS_MIN 0.001

void reporter_init(struct reporter *r, uint64_t now_us)
{
    r->marked_step = NO_STEP;
    run_summary_begin(&r->summary);
    run_phases_begin(&r->summary.phases, RUN_PHASE_WAITING, now_us);
}

enum status reporter_open(struct reporter *r, const struct run *run)
{
    r->whole_step = r->summary.counted_from = run->first_step;
    return staleness_totals_init(&r->staleness, run->members->server_count, run->first_step);
}

static uint64_t exchanged_bytes(const struct run *run)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->members->worker_count; i++)
        bytes += run->members->workers[i].counts.summary.exchanged_bytes;
    return bytes;
}

/* --- phases -------------------------------------------------------------------------------- */

/* The phase of the state; `seen` where it has none of its own. */
static enum run_phase phase_of(const struct run *run, const struct snapshot *snapshot,
                               enum run_phase seen)
{
    switch (run->state) {
    case OPENING:
        return RUN_PHASE_OPENING;
    case GATHERING:
        return run->raising == 0 && membership_is_served(run->members) ? RUN_PHASE_GATHERING : seen;
    case RUNNING:
        return snapshot_holds(snapshot, run) ? RUN_PHASE_CHECKPOINTS : RUN_PHASE_TRAINING;
    case RECOVERING:
        return RUN_PHASE_RECOVERING;
    case CLOSING:
        return run->closed ? RUN_PHASE_MODEL_FILE : RUN_PHASE_LAST_CHECKPOINT;
    default:
        return seen;
    }
}

static void enter_phase(struct reporter *r, enum run_phase phase, uint64_t wall_us)
{
    struct run_phases *phases = &r->summary.phases;
    if (phase == r->seen)
        return;
    r->seen = phase;
    if (phase == RUN_PHASE_TRAINING)
        run_phases_train(phases, wall_us);
    else if (phase == RUN_PHASE_LAST_CHECKPOINT || phase == RUN_PHASE_MODEL_FILE)
        run_phases_close(phases, phase, wall_us);
    else
        run_phases_enter(phases, phase, wall_us);
}

void reporter_look(struct reporter *r, struct run *run, const struct snapshot *snapshot,
                   const struct training *training, const struct scorer *scorer)
{
    struct run_faults *faults = &r->summary.faults;
    bool beside = snapshot_is_beside(snapshot, run);
    uint64_t reached = snapshot_is_reached(snapshot, run) ? snapshot->step : NO_STEP;
    enter_phase(r, phase_of(run, snapshot, r->seen), run_wall(run));
    if (beside != r->beside)
        run_phases_beside(&r->summary.phases, beside, run_wall(run));
    r->beside = beside;
    if (reached != NO_STEP && reached != r->marked_step) {
        membership_mark_snapshot(run->members);
        r->spread_snapshot = r->summary.spread;
    }
    r->marked_step = reached;
    faults->generation = run->envelope.generation;
    faults->checkpoints_failed = snapshot->failed;
    faults->checkpoints_skipped = snapshot->skipped;
    faults->bad_gradients = training->bad;
    faults->scores_dropped = scorer->dropped;
}

void reporter_start(struct reporter *r, const struct run *run)
{
    r->windows_from = windows_begin_at(run->job, run->first_step) ? 0 : (double)NAN;
    order_event(run->outbox, EVENT_START, .mode = job_mode_text(run->job).text,
                .workers = run->job->worker_count, .servers = run->job->server_count,
                .step = run->first_step, .steps = run->job->steps,
                .steps_per_epoch = job_steps_per_epoch(run->job),
                .update_examples = run->job->batch, .examples = run->job->examples);
}

/* --- what goes back ------------------------------------------------------------------------ */

/* The newest checkpoint is damaged, and all go back to an older one. Rather than count what is
 * undone, or lose what stands, begin anew and say from where. */
static void count_anew(struct reporter *r, struct run *run)
{
    r->spread_whole = (struct run_spread){0};
    r->whole_step = r->summary.counted_from = run->first_step;
    r->counted_seconds = run_phases_trained(&r->summary.phases, run_wall(run));
    outbox_log(run->outbox,
               "what was counted up to step %" PRIu64
               " is not known any more: updates, verdicts and staleness are counted from there on",
               run->first_step);
}

void reporter_go_back(struct reporter *r, struct run *run, uint64_t again)
{
    struct run_summary *summary = &r->summary;
    bool known = run->first_step == r->whole_step;
    if (!known)
        count_anew(r, run);
    staleness_totals_go_back(&r->staleness, run->first_step);
    membership_go_back(run->members, known);
    summary->spread = r->spread_whole;
    r->windows_from = (double)NAN;
    if (summary->window.end > run->first_step)
        summary->window = (struct run_window){0};
    if (summary->test_step > run->first_step &&
        !job_mode(run->job)->steps) { /* Of an undone model. */
        figures_read(score_figures_rows(), NULL, &summary->test);
        summary->test_step = 0;
    }
    summary->faults.recomputed += again;
}

void reporter_mark_whole(struct reporter *r, struct run *run)
{
    membership_mark_whole(run->members);
    r->spread_whole = r->spread_snapshot;
    r->whole_step = run->whole;
    staleness_totals_keep(&r->staleness, run->whole);
}

/* --- reports ------------------------------------------------------------------------------- */

double reporter_take_times(struct run *run, const struct message *message,
                           const struct message_times *times)
{
    struct membership *all = run->members;
    struct member *worker = &all->workers[message->index];
    double before = worker->counts.summary.compute_seconds;
    if (message->incarnation != worker->incarnation)
        return 0;
    double awaited = times_hear(&worker->counts.reported_times, times, &worker->counts.summary);
    if (times->whom > 0 && times->whom <= all->worker_count)
        all->workers[times->whom - 1].counts.summary.awaited_seconds += awaited;
    return worker->counts.summary.compute_seconds - before;
}

/* Of a step a worker may report several nodes, which are one update. */
void reporter_add_report(struct member *worker, const struct message_report *report)
{
    struct worker_summary *summary = &worker->counts.summary;
    summary->batches += worker->counts.reported != report->step + 1;
    worker->counts.reported = report->step + 1;
    summary->examples += report->bad ? 0 : report->examples;
    summary->controlled_leaves += report->leaves;
    summary->longer_leaves += report->longer;
    if (report->leaf_ns > 0)
        leaf_times_add(&summary->leaf_times, report->leaf_ns);
}

void reporter_report(struct reporter *r, const struct run *run, const struct message_report *report)
{
    run_phases_mark(&r->summary.phases, run_wall(run));
    if (job_mode(run->job)->steps)
        return;
    histogram_add(&r->summary.spread.pulls, report->spread);
    histogram_add(&r->summary.spread.parts, report->part_spread);
}

static void progress(struct reporter *r, struct run *run)
{
    struct statistics *statistics = &run->work.statistics;
    const struct job *job = run->job;
    uint64_t wanted = job_progress_steps(job);
    /* A rest at the end counts when it is long enough to mean something. */
    if (statistics->first + statistics->updates == run->work.stop_step)
        wanted /= 2;
    if (statistics->window.updates == 0 || statistics->window.updates < wanted)
        return;
    struct tally window = statistics_take_window(statistics);
    struct tally epoch = statistics_epoch_now(statistics).tally;
    uint64_t made = statistics_made(statistics);
    uint64_t stalest;
    double stale = staleness_totals_mean(&r->staleness, &stalest);
    double seconds = run_phases_take_window(&r->summary.phases);
    order_event(
        run->outbox, EVENT_PROGRESS, .step = made,
        .epoch = (double)made / (double)job_steps_per_epoch(job), .loss = tally_loss(&window, job),
        .accuracy = tally_accuracy(&window, job), .epoch_loss = tally_loss(&epoch, job),
        .epoch_accuracy = tally_accuracy(&epoch, job),
        .images_per_second =
            seconds >= RATE_SECONDS_MIN ? (double)window.examples / seconds : (double)NAN,
        .staleness_mean = stale, .staleness_max = stalest, .exchanged_bytes = exchanged_bytes(run),
        .training_seconds = run_phases_marked(&r->summary.phases));
}

/* The window of --report-every that the last report has completed. */
static void tell_window(struct reporter *r, struct run *run)
{
    struct window window;
    double now = run_phases_marked(&r->summary.phases);
    if (!statistics_take_whole(&run->work.statistics, &window))
        return;
    r->summary.window = run_window_of(run->job, &window, now - r->windows_from);
    r->windows_from = now;
    const struct event event = run_window_event(&r->summary.window, now);
    order_put_event(run->outbox, &event);
}

void reporter_say_progress(struct reporter *r, struct run *run)
{
    struct statistics_epoch epoch;
    progress(r, run);
    tell_window(r, run);
    while (statistics_take_epoch(&run->work.statistics, &epoch)) {
        struct epoch_range range = job_epoch(run->job, epoch.number);
        order_event(run->outbox, EVENT_EPOCH, .epoch = epoch.number + 1, .step = range.end,
                    .loss = tally_loss(&epoch.tally, run->job),
                    .accuracy = tally_accuracy(&epoch.tally, run->job),
                    .examples = epoch.tally.examples, .of = range.examples,
                    .training_seconds = run_phases_marked(&r->summary.phases))
            ->payload = staleness_totals_shape(&r->staleness);
    }
}

void reporter_score(struct reporter *r, const struct run *run, const struct evaluation *evaluation,
                    uint64_t held_up_us)
{
    struct score_figures *test = &r->summary.test;
    uint64_t batches = r->summary.test_step = evaluation->batches;
    test->loss =
        evaluation->not_finite > 0 ? (double)NAN : tally_loss(&evaluation->tally, run->job);
    test->accuracy = tally_accuracy(&evaluation->tally, run->job);
    test->regularisation = run->job->l2 > 0.0f ? evaluation->regularisation : (double)NAN;
    order_event(run->outbox, EVENT_EVALUATION, .epoch = job_epoch_ended(run->job, batches),
                .step = batches, .test_loss = test->loss, .test_accuracy = test->accuracy,
                .regularisation_loss = test->regularisation, .seconds = (double)held_up_us * 1e-6,
                .exchanged_bytes = exchanged_bytes(run),
                .training_seconds = run_phases_marked(&r->summary.phases));
}

/* --- the summary --------------------------------------------------------------------------- */

/* The number of workers on this host. */
static uint32_t count_beside(const struct membership *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        count += membership->workers[i].ever &&
                 strcmp(membership->workers[i].host, membership->servers[0].host) == 0;
    return count;
}

static uint64_t examples_of(const struct membership *all)
{
    uint64_t examples = 0;
    for (uint32_t i = 0; i < all->worker_count; i++)
        examples += all->workers[i].counts.summary.examples;
    return examples;
}

static void sum_up_members(struct reporter *r, const struct run *run)
{
    struct run_summary *summary = &r->summary;
    const struct membership *all = run->members;
    summary->verdicts = (struct verdict_counts){0};
    for (uint32_t i = 0; i < all->server_count; i++) {
        verdict_counts_add(&summary->verdicts, &all->servers[i].counts.earlier);
        verdict_counts_add(&summary->verdicts, &all->servers[i].counts.verdicts);
    }
    summary->worker_count = all->worker_count;
    summary->processors = run->options.processors;
    summary->workers_beside = count_beside(all);
    double seconds = summary->seconds - r->counted_seconds;
    summary->images_per_second = seconds > 0 ? (double)examples_of(all) / seconds : 0;
}

/* The counts of the owners, in all and of each worker. */
static void sum_up_staleness(struct reporter *r, struct membership *all)
{
    struct staleness_tally tally = {0};
    staleness_totals_sum(&r->staleness, &tally);
    r->summary.staleness = tally.all;
    for (uint32_t i = 0; i < all->worker_count; i++)
        all->workers[i].counts.summary.staleness =
            i < tally.worker_count ? tally.workers[i] : (struct staleness_share){0};
    staleness_tally_free(&tally);
}

static struct train_figures train_figures_of(const struct run *run)
{
    struct statistics_epoch epoch = statistics_epoch_now(&run->work.statistics);
    return (struct train_figures){.epoch = epoch.tally.examples > 0 ? epoch.number + 1 : 0,
                                  .examples = epoch.tally.examples,
                                  .loss = tally_loss(&epoch.tally, run->job),
                                  .accuracy = tally_accuracy(&epoch.tally, run->job)};
}

/* With the workers behind it. */
static bool send_summary(const struct run_summary *summary, const struct run *run)
{
    size_t worker_bytes = summary->worker_count * sizeof(struct worker_summary);
    struct frame *frame = frame_create(sizeof *summary + worker_bytes);
    if (frame == NULL)
        return false;
    memcpy(frame->data, summary, sizeof *summary);
    struct worker_summary *workers =
        (struct worker_summary *)(void *)((char *)frame->data + sizeof *summary);
    for (uint32_t i = 0; i < summary->worker_count; i++)
        workers[i] = run->members->workers[i].counts.summary;
    order_add(run->outbox, TO_CHECKPOINTER, 0, &(struct order){.kind = ORDER_SUMMARY})->payload =
        frame;
    return true;
}

bool reporter_write(struct reporter *r, struct run *run, enum run_state state, int exit_code,
                    const char *reason)
{
    struct run_summary *summary = &r->summary;
    summary->state = state;
    summary->exit_code = (uint32_t)exit_code;
    snprintf(summary->reason, sizeof summary->reason, "%s", reason);
    run_summary_take_times(summary, run_wall(run));
    summary->step = state == RUN_FAILED ? statistics_made(&run->work.statistics)
                    : run->closed       ? run->whole
                                        : run->first_step;
    summary->session_step = run->work.statistics.first;
    summary->train = train_figures_of(run);
    summary->exchanged_bytes = exchanged_bytes(run);
    sum_up_members(r, run);
    sum_up_staleness(r, run->members);
    summary->mode_figures = (struct mode_figures){0};
    if (run->work.rules != NULL)
        run->work.rules->figures(&run->work, &summary->mode_figures);
    return send_summary(summary, run);
}

void reporter_note_faults(struct reporter *r, const struct run *run)
{
    struct run_faults news = r->summary.faults;
    news.fenced = 0; /* Too many, for too little. */
    if (run->state < GATHERING || run->state > CLOSING || run->closed ||
        run->now_us - r->noted_us < NOTE_US || memcmp(&news, &r->noted, sizeof news) == 0)
        return;
    r->noted = news;
    r->noted_us = run->now_us;
    struct run_summary so_far = {.state = RUN_RUNNING, .faults = r->summary.faults};
    send_summary(&so_far, run);
}

void reporter_describe(const struct reporter *r, const struct run *run, struct job_figures *job)
{
    const struct run_summary *summary = &r->summary;
    uint64_t stalest;
    job->faults = summary->faults;
    job->train = train_figures_of(run);
    job->test_step = summary->test_step;
    job->test = summary->test;
    job->window = summary->window;
    job->seconds = run_phases_trained(&summary->phases, run_wall(run));
    job->images_per_second =
        job->seconds > 0 ? (double)examples_of(run->members) / job->seconds : 0;
    job->staleness_mean = staleness_totals_mean(&r->staleness, &stalest);
    job->staleness_max = isnan(job->staleness_mean) ? FIGURE_UNKNOWN : stalest;
}

void reporter_check(const struct reporter *r, uint64_t driven_us)
{
    const struct run_phases *phases = &r->summary.phases;
    uint64_t parts_us = phases->began_us;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        parts_us += phases->us[i];
    INVARIANT("coordinator", phases->since_us <= driven_us && phases->beside_since_us <= driven_us,
              "no clock is ahead of what has passed (D1)");
    INVARIANT("coordinator", parts_us == phases->since_us, "the parts of its life add up (D2)");
}

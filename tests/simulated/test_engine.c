/* The engine by itself, with next to no tables: clusters larger than any history, at which nobody looks,
 * and in which what is given wrong ends as it would with real processes. */
/* promises: virtual-run */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/engine/engine.h"
#include "deploy/engine/simulated_storage.h"
#include "deploy/verify/random_wires.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define SERVERS 3
#define MANY    100 /* Workers: more than a word has bits. */

/* A cluster, and what its tables have seen. */
struct cluster {
    struct engine engine;
    struct job job;
    struct simulated_disk disk;
    struct simulated_disk *disks[SERVERS];
    struct simulated_storage storage;
    struct network_faults wires;
    uint64_t gradients, started, ended, struck;
    uint64_t bad_step;  /* Has no finite gradient. */
    uint64_t exchanges; /* Delivered. */
    uint32_t partition;
};

static enum status compute_gradient(void *context, const struct step_shape *shape, struct node node,
                                    const float *parameters, float *out,
                                    struct computing_report *report, struct error *error)
{
    struct cluster *c = context;
    c->gradients++;
    if (shape->step == c->bad_step)
        return error_set(error, STATUS_DIVERGED, "step %u is bad", (unsigned)shape->step);
    for (uint64_t i = 0; i < c->engine.partition.elements; i++)
        out[i] = 0.5f * parameters[i] + (float)node.leaf_count;
    report->score.examples += step_shape_examples(shape, &c->job, node);
    return STATUS_OK;
}

static enum status compute_score(void *context, const struct message_work *work,
                                 const float *values, struct computing_report *report,
                                 struct error *error)
{
    struct cluster *c = context;
    uint64_t n = c->job.test_examples;
    (void)values;
    (void)error;
    report->score.examples = n * (work->share + 1) / work->shares - n * work->share / work->shares;
    return STATUS_OK;
}

static uint64_t queue_ns(void *context, struct random_sequence *random,
                         const struct simulated_process *process)
{
    (void)context;
    (void)process;
    return random_below(random, 10000);
}

static uint64_t compute_ns(void *context, struct random_sequence *random,
                           const struct simulated_process *process)
{
    (void)context;
    (void)process;
    return 1000000 + random_below(random, 100000);
}

static void cluster_open(struct cluster *c, enum mode mode, uint32_t workers)
{
    memset(c, 0, sizeof *c);
    c->job = small_job(mode, workers, SERVERS);
    c->job.schedule.learning_rate = 0.01;
    c->job.steps = 12;
    c->bad_step = UINT64_MAX;
    c->wires = (struct network_faults){.delay_min_us = 50, .delay_max_us = 60};
    simulated_disk_init(&c->disk, 1, 1);
    for (uint32_t i = 0; i < SERVERS; i++)
        c->disks[i] = &c->disk;
    c->storage.disks = c->disks;
}

static struct engine_options options_of(struct cluster *c)
{
    return (struct engine_options){
        .seed = 1,
        .job = &c->job,
        .owners_a_server = 1,
        .computing = {.context = c, .gradient = compute_gradient, .score = compute_score},
        .timing = {.context = c, .queue_ns = queue_ns, .compute_ns = compute_ns},
        .channel = random_wires(&c->wires),
        .start_within_us = 1000,
        .storage = simulated_storage(&c->storage),
        .restore = "auto",
        .deadlines = {.start = 60, .silence = 5, .recovery = 20, .progress = 30, .stop = 20},
    };
}

static void cluster_begin(struct cluster *c, const struct engine_options *options)
{
    struct error error = {STATUS_OK, ""};
    ck_assert_msg(engine_init(&c->engine, options, &error) == STATUS_OK, "%s", error.text);
}

static void cluster_close(struct cluster *c)
{
    engine_free(&c->engine);
    simulated_disk_free(&c->disk);
    job_free(&c->job);
}

/* Every process has come to its end with this exit code. */
static void expect_exits(const struct cluster *c, int exit_code)
{
    const struct engine *e = &c->engine;
    ck_assert_uint_eq(e->process_count, SERVERS + c->job.worker_count);
    for (uint32_t i = 0; i < e->process_count; i++) {
        const struct simulated_process *p = e->processes[i];
        ck_assert_msg(p->state == PROCESS_OVER && p->exit_code == exit_code, "%s/%u: %d %s",
                      p->is_server ? "ps" : "worker", p->index, p->exit_code, p->reason);
    }
}

/* What was sent is accounted for, at its end or on its way to somebody who is gone. */
static void expect_sums(const struct cluster *c)
{
    const struct network_counts *counts = &c->engine.network.counts;
    ck_assert_uint_gt(counts->delivered, 0);
    ck_assert_uint_eq(counts->sent + counts->repeated,
                      counts->delivered + counts->lost + counts->broken + counts->partitioned);
}

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct cluster, c, cluster_open(c, __VA_ARGS__), cluster_close(c))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct cluster, c, cluster_open(c, __VA_ARGS__), cluster_close(c))

TEST_EACH(a_hundred_workers_come_to_the_end_though_nobody_looks, MODE_COUNT, (enum mode)_i, MANY)
{
    struct engine_options options = options_of(c);
    cluster_begin(c, &options);
    ck_assert_msg(engine_run(&c->engine), "%s", c->engine.failure);
    expect_exits(c, EXIT_DONE);
    expect_sums(c);
    ck_assert_uint_ge(c->gradients, c->job.steps);
    ck_assert(c->engine.finished && !c->engine.hopeless);
    ck_assert_ptr_nonnull(simulated_disk_find(&c->disk, SIMULATED_OUT "/model.safetensors"));
}

/* --- how messages travel --------------------------------------------------------------------- */

/* One lane for all, a microsecond each: nobody knows beforehand how many will be in front. */
struct lane {
    struct parcel *first, *last;
    uint64_t arrives_ns; /* The first one. */
    uint64_t carried, waiting, waiting_max;
};

static void enter_lane(void *context, struct simulated_network *network, uint64_t now_ns,
                       struct parcel *parcel)
{
    struct lane *lane = context;
    (void)network;
    parcel->next = NULL;
    if (lane->first == NULL) {
        lane->first = parcel;
        lane->arrives_ns = now_ns + 1000;
    } else {
        lane->last->next = parcel;
    }
    lane->last = parcel;
    lane->waiting++;
    lane->waiting_max = lane->waiting > lane->waiting_max ? lane->waiting : lane->waiting_max;
}

static uint64_t lane_next_ns(void *context)
{
    const struct lane *lane = context;
    return lane->first == NULL ? UINT64_MAX : lane->arrives_ns;
}

static void lane_advance(void *context, struct simulated_network *network, uint64_t now_ns)
{
    struct lane *lane = context;
    struct parcel *parcel = lane->first;
    ck_assert_uint_eq(now_ns, lane->arrives_ns);
    lane->first = parcel->next;
    lane->arrives_ns = now_ns + 1000;
    lane->carried++;
    lane->waiting--;
    parcel->next = NULL;
    simulated_network_lands(network, parcel, now_ns);
}

TEST(a_carrier_may_learn_on_the_way_when_a_message_arrives, MODE_SYNC, 10)
{
    struct lane lane = {0};
    struct engine_options options = options_of(c);
    options.channel = (struct channel){
        .context = &lane, .carry = enter_lane, .next_ns = lane_next_ns, .advance = lane_advance};
    cluster_begin(c, &options);
    ck_assert_msg(engine_run(&c->engine), "%s", c->engine.failure);
    expect_exits(c, EXIT_DONE);
    ck_assert_uint_gt(lane.waiting_max, 1);
    ck_assert_uint_ge(lane.carried + lane.waiting, c->engine.network.counts.sent);
    while (lane.first != NULL) {
        struct parcel *left = lane.first;
        lane.first = left->next;
        parcel_free(left);
    }
}

/* --- shared processors ----------------------------------------------------------------------- */

#define RECEIVE_NS 20000u
#define SEND_NS    10000u
#define APPLY_NS   50u /* A byte. */

/* Whose threads work, and what they did. */
struct shared {
    struct cluster cluster;
    bool together; /* All on host 0; else each on its own. */
    uint64_t times[LABOUR_COUNT], worked_ns[LABOUR_COUNT], took_ns[LABOUR_COUNT];
    uint64_t waited_ns[LABOUR_COUNT];
    const struct simulated_process *struck;
    uint64_t ended_ns; /* What a killed one's trainer had done. */
};

static uint32_t host_of(void *context, const struct simulated_process *process)
{
    return ((const struct shared *)context)->together ? 0 : process->host;
}

static uint64_t handling_ns(void *context, const struct simulated_process *process,
                            enum labour labour, uint64_t bytes)
{
    (void)context;
    ck_assert(labour == LABOUR_RECEIVE || labour == LABOUR_SEND ||
              (labour == LABOUR_APPLY && process->is_server && bytes > 0));
    return labour == LABOUR_RECEIVE ? RECEIVE_NS
           : labour == LABOUR_SEND  ? SEND_NS
                                    : APPLY_NS * bytes;
}

/* What it was about is told with it. */
static void check_subject(const struct labour_done *done)
{
    ck_assert_uint_le(done->worked_ns, done->took_ns);
    ck_assert_int_eq(done->parcel != NULL, done->labour == LABOUR_RECEIVE);
    ck_assert_int_eq(done->item != NULL,
                     done->labour == LABOUR_SEND || done->labour == LABOUR_APPLY);
    if (done->labour == LABOUR_APPLY)
        ck_assert_int_eq(done->item->packet.message.kind, MESSAGE_EXCHANGE);
}

static void note_worked(void *context, const struct simulated_process *process,
                        const struct labour_done *done)
{
    struct shared *s = context;
    enum labour labour = done->labour;
    check_subject(done);
    s->times[labour]++;
    s->worked_ns[labour] += done->worked_ns;
    s->took_ns[labour] += done->took_ns;
    s->waited_ns[labour] += done->waited_ns;
    if (process == s->struck && process->state == PROCESS_KILLED && labour == LABOUR_COMPUTE)
        s->ended_ns = done->worked_ns;
}

static struct engine_options shared_options(struct shared *s, enum mode mode, uint32_t workers)
{
    cluster_open(&s->cluster, mode, workers);
    struct engine_options options = options_of(&s->cluster);
    uint64_t counts[SERVERS + MANY];
    for (uint32_t i = 0; i < SERVERS + workers; i++)
        counts[i] = 2;
    options.timing = (struct timing){.context = s,
                                     .queue_ns = queue_ns,
                                     .compute_ns = compute_ns,
                                     .processors = processors_create(counts, SERVERS + workers),
                                     .host = host_of,
                                     .handling_ns = handling_ns,
                                     .worked = note_worked};
    return options;
}

static void shared_close(struct shared *s)
{
    struct processors *processors = s->cluster.engine.options.timing.processors;
    cluster_close(&s->cluster);
    processors_free(processors);
}

/* With owners of their own and with the router as one. */
TEST_TIMES(what_is_handled_takes_processors_and_all_that_was_done_is_told, 2 * MODE_COUNT)
{
    struct shared s = {.together = true};
    struct engine_options options = shared_options(&s, (enum mode)(_i % MODE_COUNT), 20);
    options.owners_inline = _i >= MODE_COUNT;
    cluster_begin(&s.cluster, &options);
    const struct engine *e = &s.cluster.engine;
    ck_assert_msg(engine_run(&s.cluster.engine), "%s", e->failure);
    expect_exits(&s.cluster, EXIT_DONE);
    /* Nobody ended in the middle of something, but for what the last ones were told. */
    ck_assert_uint_le(s.times[LABOUR_SEND], e->network.counts.sent + 40);
    ck_assert_uint_ge(s.times[LABOUR_SEND], e->network.counts.sent);
    ck_assert_uint_le(s.times[LABOUR_RECEIVE], e->network.counts.delivered);
    ck_assert_uint_gt(s.times[LABOUR_RECEIVE], e->network.counts.delivered / 2);
    ck_assert_uint_ge(s.times[LABOUR_COMPUTE], s.cluster.gradients);
    ck_assert_uint_gt(s.times[LABOUR_APPLY], s.cluster.job.steps);
    uint64_t all_ns = 0;
    for (unsigned i = 0; i < LABOUR_COUNT; i++) {
        all_ns += s.worked_ns[i];
        ck_assert_uint_gt(s.took_ns[i], s.worked_ns[i]); /* 23 processes on two processors. */
    }
    ck_assert_uint_gt(s.waited_ns[LABOUR_RECEIVE], 0);
    ck_assert_uint_eq(s.waited_ns[LABOUR_SEND], 0);
    ck_assert_uint_le(all_ns, 2 * e->now_ns);
    ck_assert_uint_eq(processors_running(options.timing.processors, 0), 0);
    shared_close(&s);
}

/* A worker whose trainer is at work is stopped; a while later it goes on; then another is killed. */
static void strike_trainers(void *context, uint64_t number)
{
    struct shared *s = context;
    struct engine *e = &s->cluster.engine;
    const struct processors *processors = e->options.timing.processors;
    struct simulated_process *p = e->at[SERVERS + (number == 2)];
    const struct simulated_thread *trainer = &p->threads[THREAD_TRAINER];
    if (number != 1 && !trainer->on_processor) {
        engine_later(e, 10, DUE_FAULT, 0, number);
        return;
    }
    s->cluster.struck++;
    s->struck = p;
    if (number == 0) {
        engine_stop(e, p);
        ck_assert_uint_eq(processors_running(processors, p->host), 0);
        engine_later(e, 2000000, DUE_FAULT, 0, 1);
    } else if (number == 1) {
        ck_assert(trainer->on_processor);
        engine_continue(e, p);
        ck_assert_uint_gt(processors_running(processors, p->host), 0);
        engine_later(e, 1000, DUE_FAULT, 0, 2);
    } else {
        ck_assert_uint_eq(s->ended_ns, 0);
        engine_kill(e, p);
        ck_assert_uint_eq(processors_running(processors, p->host), 0);
    }
}

static void begin_to_strike(void *context, enum message_kind kind)
{
    struct shared *s = context;
    if (kind == MESSAGE_EXCHANGE && ++s->cluster.exchanges == 30)
        engine_later(&s->cluster.engine, 0, DUE_FAULT, 0, 0);
}

TEST_PLAIN(a_stopped_thread_stands_still_and_a_killed_one_ends)
{
    struct shared s = {.together = false};
    struct engine_options options = shared_options(&s, MODE_ASYNC, 3);
    s.cluster.job.steps = 8000;
    options.on_worker_loss = LOSS_CONTINUE;
    options.faults =
        (struct faults){.context = &s, .strike = strike_trainers, .delivered = begin_to_strike};
    cluster_begin(&s.cluster, &options);
    ck_assert_msg(engine_run(&s.cluster.engine), "%s", s.cluster.engine.failure);
    ck_assert_uint_eq(s.cluster.struck, 3);
    ck_assert_uint_gt(s.ended_ns, 0);
    ck_assert_uint_lt(s.ended_ns, 1200000);
    for (uint32_t i = 0; i < s.cluster.engine.process_count; i++) {
        const struct simulated_process *p = s.cluster.engine.processes[i];
        ck_assert(p == s.struck ? p->state == PROCESS_KILLED
                                : p->state == PROCESS_OVER && p->exit_code == EXIT_DONE);
    }
    /* The time in which one stood still counts as its, and the work only once. */
    ck_assert_uint_gt(s.took_ns[LABOUR_COMPUTE], s.worked_ns[LABOUR_COMPUTE] + 1990000000);
    shared_close(&s);
}

/* --- what goes wrong ------------------------------------------------------------------------- */

static struct host_set last_ten(void)
{
    struct host_set hosts = {0};
    for (uint32_t i = 0; i < 10; i++)
        host_set_add(&hosts, SERVERS + MANY - 1 - i);
    return hosts;
}

/* 0: hosts beyond the first 64 are cut off; 1: they are heard again. */
static void strike(void *context, uint64_t number)
{
    struct cluster *c = context;
    struct simulated_network *network = &c->engine.network;
    struct host_set hosts = last_ten(), others = host_set_copy(&hosts);
    host_set_invert(&others);
    c->struck++;
    if (number == 0)
        c->partition = simulated_network_part(network, &hosts, &others, false);
    else
        simulated_network_heal(network, c->engine.now_ns, c->partition);
    host_set_free(&hosts);
    host_set_free(&others);
}

/* In the middle of training, for 3 ms. */
static void note_delivered(void *context, enum message_kind kind)
{
    struct cluster *c = context;
    if (kind != MESSAGE_EXCHANGE || ++c->exchanges != 500)
        return;
    engine_later(&c->engine, 0, DUE_FAULT, 0, 0);
    engine_later(&c->engine, 3000, DUE_FAULT, 0, 1);
}

TEST(a_partition_is_of_any_hosts_and_struck_by_the_table, MODE_ASYNC, MANY)
{
    c->job.steps = 2000;
    struct engine_options options = options_of(c);
    options.faults = (struct faults){.context = c, .strike = strike, .delivered = note_delivered};
    cluster_begin(c, &options);
    ck_assert_msg(engine_run(&c->engine), "%s", c->engine.failure);
    ck_assert_uint_eq(c->struck, 2);
    ck_assert_uint_gt(c->engine.network.counts.partitioned, 0);
    expect_exits(c, EXIT_DONE);
    expect_sums(c);
}

/* The last ten are killed, and come back. */
static void kill_last_ten(void *context, uint64_t number)
{
    struct cluster *c = context;
    c->struck += number + 1;
    for (uint32_t host = SERVERS + MANY - 10; host < SERVERS + MANY; host++) {
        engine_kill(&c->engine, c->engine.at[host]);
        engine_later(&c->engine, 1000, DUE_START, host, START_AT_HOST);
    }
}

static void kill_in_the_middle(void *context, enum message_kind kind)
{
    struct cluster *c = context;
    if (kind == MESSAGE_EXCHANGE && ++c->exchanges % 1000 == 500)
        engine_later(&c->engine, 0, DUE_FAULT, 0, 0);
}

TEST(what_is_under_way_to_somebody_who_is_killed_is_accounted_for, MODE_ASYNC, MANY)
{
    c->job.steps = 2000;
    struct engine_options options = options_of(c);
    options.faults =
        (struct faults){.context = c, .strike = kill_last_ten, .delivered = kill_in_the_middle};
    cluster_begin(c, &options);
    ck_assert_msg(engine_run(&c->engine), "%s", c->engine.failure);
    ck_assert_uint_gt(c->struck, 3);
    ck_assert_uint_gt(c->engine.network.counts.broken, 0);
    expect_sums(c);
}

TEST(a_step_without_a_finite_gradient_ends_a_sync_job, MODE_SYNC, 2)
{
    c->bad_step = 3;
    struct engine_options options = options_of(c);
    cluster_begin(c, &options);
    ck_assert_msg(engine_run(&c->engine), "%s", c->engine.failure);
    expect_exits(c, EXIT_TRAINING_FAILED);
    for (uint32_t i = 0; i < c->engine.process_count; i++)
        ck_assert_ptr_nonnull(strstr(c->engine.processes[i]->reason, "step 3 is bad"));
}

TEST_PLAIN(a_batch_without_one_is_left_out_in_async)
{
    for (uint32_t most = 0; most < 2; most++) { /* As in a real job: with 0 none may be. */
        struct cluster c;
        cluster_open(&c, MODE_ASYNC, 2);
        c.bad_step = 3;
        struct engine_options options = options_of(&c);
        options.max_bad_gradients = most;
        cluster_begin(&c, &options);
        ck_assert_msg(engine_run(&c.engine), "%s", c.engine.failure);
        expect_exits(&c, most == 0 ? EXIT_TRAINING_FAILED : EXIT_DONE);
        cluster_close(&c);
    }
}

TEST(whoever_is_not_over_in_time_is_named, MODE_SYNC, 2)
{
    struct engine_options options = options_of(c);
    options.limits.time_us = 5000;
    cluster_begin(c, &options);
    ck_assert(!engine_run(&c->engine));
    ck_assert(c->engine.failed);
    ck_assert_ptr_nonnull(strstr(c->engine.failure, "ps/2"));
    ck_assert_ptr_nonnull(strstr(c->engine.failure, "worker/1"));
}

/* --- who looks on ---------------------------------------------------------------------------- */

static enum status note_started(void *context, const struct simulated_process *process)
{
    (void)process;
    ((struct cluster *)context)->started++;
    return STATUS_OK;
}

static void note_ended(void *context, const struct simulated_process *process)
{
    ((struct cluster *)context)->ended += process->state == PROCESS_OVER;
}

static bool has_seen_enough(const void *context)
{
    return ((const struct cluster *)context)->ended == 1;
}

TEST_EACH(an_observer_has_the_members_that_it_wants_and_may_end_it, 2, MODE_SYNC, 2)
{
    const int enough = _i;
    struct engine_options options = options_of(c);
    options.observer =
        (struct observer){.context = c, .started = note_started, .ended = note_ended};
    options.observer.failed = enough ? has_seen_enough : NULL;
    cluster_begin(c, &options);
    ck_assert(engine_run(&c->engine) == !enough);
    ck_assert(!c->engine.failed); /* That is for what the engine itself finds. */
    ck_assert_uint_eq(c->started, SERVERS + 2);
    ck_assert_uint_eq(c->ended, enough ? 1 : SERVERS + 2);
}

/* --- what must be there ---------------------------------------------------------------------- */

START_TEST(a_table_that_wants_a_member_is_noticed_at_once)
{
    struct cluster c;
    cluster_open(&c, MODE_SYNC, 2);
    struct engine_options options = options_of(&c);
    if (_i == 0)
        options.computing.gradient = NULL;
    else if (_i == 1)
        options.computing.score = NULL;
    else if (_i == 2)
        options.timing.queue_ns = NULL;
    else if (_i == 3)
        options.timing.compute_ns = NULL;
    else if (_i == 4)
        options.timing.handling_ns = handling_ns;
    else if (_i == 5)
        options.timing.host = host_of;
    else
        options.channel.carry = NULL;
    cluster_begin(&c, &options);
}

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test_raise_signal(tcase, a_table_that_wants_a_member_is_noticed_at_once, SIGABRT,
                                     0, 7);
}

int main(void)
{
    return suite_run("engine", add_tests);
}

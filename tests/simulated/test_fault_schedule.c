/* Outages in a cluster that works on: whatever is struck in whichever mode, the work of the lost is done by
 * others, and what comes out is what comes out when nothing happens. */
/* promises: backup cut-off virtual */

#include "deploy/simulate/fault_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/store/checkpoint.h"
#include "common/store/run_record.h"
#include "deploy/engine/engine.h"
#include "deploy/engine/simulated_storage.h"
#include "deploy/verify/random_wires.h"
#include "deploy/verify/simulated_work.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define SERVERS 2
#define WORKERS 4
#define S       UINT64_C(1000000000)

/* What a worker was at when it was killed. */
struct lost_work {
    bool there;
    uint32_t process;
    uint64_t step;
    struct node nodes[TREE_COVER_MAX];
    uint32_t node_count;
    bool done_again; /* By another process, afterwards. */
};

struct cluster {
    struct engine engine;
    struct job job;
    struct simulated_work work;
    struct simulated_disk disk;
    struct simulated_disk *disks[SERVERS];
    struct simulated_storage storage;
    struct network_faults wires;
    struct failures failures;
    struct fault_schedule schedule;
    struct lost_work lost;
    uint64_t told_ns; /* Never goes back. */
    uint64_t said_us; /* When server 0 heard worker/0 last. */
    uint64_t parted_us, up_us,
        down_us; /* worker/0 and server 0; and when they heard last, as it ended. */
    const char *stop_at, *over_at; /* Told this, a stop is asked for; the job is said to be over. */
    char log[20000];
    struct checkpoint_reader model; /* In the end. */
};

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
    return 400000000 + random_below(random, 100000000);
}

static void note_told(void *context, uint64_t at_ns, const char *text)
{
    struct cluster *c = context;
    if (strstr(text, "nothing gets between worker/0 and ps/0") != NULL)
        c->parted_us = c->engine.now_us;
    if (strstr(text, "worker/0 and ps/0 hear each other") != NULL) {
        c->up_us = c->said_us;
        c->down_us = c->engine.at[SERVERS]->heard_us;
    }
    ck_assert_uint_ge(at_ns, c->told_ns);
    c->told_ns = at_ns;
    if (c->stop_at != NULL && strstr(text, c->stop_at) != NULL)
        fault_schedule_stop(&c->schedule);
    if (c->over_at != NULL && strstr(text, c->over_at) != NULL)
        fault_schedule_note_over(&c->schedule);
    wording_append(c->log, sizeof c->log, "%.9f %s\n", (double)at_ns * 1e-9, text);
}

/* --- who looks on ---------------------------------------------------------------------------- */

static void note_ended(void *context, const struct simulated_process *p)
{
    struct cluster *c = context;
    if (p->state != PROCESS_KILLED || p->is_server || !simulated_worker_is_busy(&p->worker) ||
        c->lost.there)
        return;
    const struct trainer *trainer = &p->worker.trainer;
    c->lost = (struct lost_work){.there = true, .process = p->number, .step = trainer->work.step};
    c->lost.node_count = trainer->work.node_count - trainer->node_next;
    memcpy(c->lost.nodes, trainer->work.nodes + trainer->node_next,
           c->lost.node_count * sizeof *c->lost.nodes);
}

static void note_heard(void *context, const struct simulated_process *p, struct packet *packet)
{
    struct cluster *c = context;
    uint32_t from = simulated_network_client(&c->engine.network, packet->peer);
    if (p->index == 0 && from != NETWORK_NO_PROCESS && c->engine.processes[from]->host == SERVERS)
        c->said_us = c->engine.now_us;
}

static bool meet(struct node a, struct node b)
{
    return a.first_leaf < b.first_leaf + b.leaf_count && b.first_leaf < a.first_leaf + a.leaf_count;
}

/* Where workers share a step. */
static void note_leases(void *context, const struct simulated_process *p, uint32_t assignment,
                        uint64_t step, struct node node)
{
    struct cluster *c = context;
    (void)assignment;
    for (uint32_t i = 0; c->lost.there && step == c->lost.step && i < c->lost.node_count; i++)
        c->lost.done_again |= p->number != c->lost.process && meet(node, c->lost.nodes[i]);
}

/* Where each has batches of its own. */
static void note_given(void *context, const struct simulated_process *p, uint64_t step, bool enough,
                       const float *parameters)
{
    struct cluster *c = context;
    (void)parameters;
    if (c->lost.there && !enough && !job_mode(&c->job)->steps && step == c->lost.step)
        c->lost.done_again |= p->number != c->lost.process;
}

/* --- a cluster ------------------------------------------------------------------------------- */

/* Long enough for whatever is struck in the first twenty seconds. */
static void cluster_open(struct cluster *c, enum mode mode)
{
    memset(c, 0, sizeof *c);
    c->job = small_job(mode, WORKERS, SERVERS);
    c->job.schedule.learning_rate = 1.0 / 1024;
    c->job.steps = mode_facts(mode)->steps ? 80 : 320;
    if (mode == MODE_BACKUP) /* Of which leaves steps are made. */
        c->job.record = RECORDING_ON;
    c->job.checkpoint_every = c->job.steps / 10;
    c->wires = (struct network_faults){.delay_min_us = 50, .delay_max_us = 60};
    simulated_disk_init(&c->disk, 1, 1);
    for (uint32_t i = 0; i < SERVERS; i++)
        c->disks[i] = &c->disk;
    c->storage.disks = c->disks;
    enum work_kind kind = mode_facts(mode)->steps ? WORK_MIXED : WORK_EXACT;
    ck_assert_int_eq(simulated_work_init(&c->work, &c->job, kind), STATUS_OK);
    failures_init(&c->failures);
}

static void cluster_close(struct cluster *c)
{
    checkpoint_close(&c->model);
    fault_schedule_free(&c->schedule);
    engine_free(&c->engine);
    failures_free(&c->failures);
    simulated_work_free(&c->work);
    simulated_disk_free(&c->disk);
    job_free(&c->job);
}

/* "kill=worker/1@5s+3s leave=worker/2@7s" */
static void plan(struct cluster *c, const char *text)
{
    struct error error;
    char copy[400], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *one; (one = strtok_r(rest, " ", &rest)) != NULL;) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        ck_assert_msg(failures_option(&c->failures, one, value, &error) == STATUS_OK, "%s",
                      error.text);
    }
}

static struct engine_options options_of(struct cluster *c)
{
    return (struct engine_options){
        .seed = 1,
        .job = &c->job,
        .owners_a_server = 1,
        .computing = simulated_work_computing(&c->work),
        .timing = {.context = c, .queue_ns = queue_ns, .compute_ns = compute_ns},
        .channel = random_wires(&c->wires),
        .observer = {.context = c,
                     .ended = note_ended,
                     .server_hears = note_heard,
                     .trainer_leases = note_leases,
                     .trainer_given = note_given},
        .faults = fault_schedule_faults(&c->schedule),
        .limits.time_us = UINT64_C(2000000000),
        .start_within_us = 1000,
        .storage = simulated_storage(&c->storage),
        .restore = "auto",
        .deadlines = {.start = 60, .silence = 5, .recovery = 60, .progress = 300, .stop = 20},
    };
}

static void cluster_run(struct cluster *c, const char *what)
{
    struct error error = {STATUS_OK, ""};
    plan(c, what);
    const struct fault_schedule_options schedule = {.engine = &c->engine,
                                                    .failures = &c->failures,
                                                    .job = &c->job,
                                                    .say = note_told,
                                                    .context = c};
    ck_assert_msg(fault_schedule_init(&c->schedule, &schedule, &error) == STATUS_OK, "%s",
                  error.text);
    struct engine_options options = options_of(c);
    ck_assert_msg(engine_init(&c->engine, &options, &error) == STATUS_OK, "%s", error.text);
    ck_assert_msg(engine_run(&c->engine), "%s: %s\n%s", what, c->engine.failure, c->log);
    fault_schedule_finish(&c->schedule);
}

/* --- what comes out -------------------------------------------------------------------------- */

static void read_model(struct cluster *c)
{
    struct error error;
    char path[DISK_PATH_MAX];
    checkpoint_path(path, SIMULATED_OUT, c->job.steps);
    ck_assert_msg(checkpoint_open(&c->model, &c->disk.disk, path, &error) == STATUS_OK, "%s\n%s",
                  error.text, c->log);
}

/* The steps of a session's record, of the leaves that it has; how many, from step 0 on. */
static uint64_t make_recorded(struct cluster *c, uint64_t session, struct model_state *state,
                              float *gradient)
{
    struct run_record_reader reader;
    struct error error;
    struct leaf_set set;
    char path[DISK_PATH_MAX];
    run_record_path(path, SIMULATED_OUT, session);
    const struct simulated_file *file = simulated_disk_find(&c->disk, path);
    ck_assert_ptr_nonnull(file);
    ck_assert_msg(run_record_reader_open(&reader, path, file->data, file->bytes, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    while (run_record_reader_next(&reader, &error) == STATUS_OK)
        while (leaf_sets_next(&reader.interval.sets, &set)) {
            const struct step_shape shape =
                step_shape_of(c->work.job, reader.interval.sets.step - 1, &set);
            model_state_step(state, &c->work, &shape, gradient);
        }
    uint64_t end = reader.interval.to.batches;
    run_record_reader_close(&reader);
    return end;
}

/* Every batch once, one after the other. */
static void expect_serial(struct cluster *c)
{
    struct model_state state;
    float *gradient = malloc(c->work.elements * sizeof *gradient);
    ck_assert_int_eq(model_state_init(&state, &c->job), STATUS_OK);
    bool sets = job_mode(&c->job)->sets;
    for (uint64_t session = 1, end = 0; sets && end < c->job.steps; session++)
        end = make_recorded(c, session, &state, gradient);
    for (uint64_t step = 0; !sets && step < c->job.steps; step++) {
        const struct step_shape shape = step_shape_of(c->work.job, step, NULL);
        model_state_step(&state, &c->work, &shape, gradient);
    }
    read_model(c);
    ck_assert_uint_eq(c->model.elements, state.elements);
    float most = 0;
    for (uint64_t i = 0; i < state.elements; i++) {
        ck_assert_msg(c->model.arrays[0][i] == state.arrays[0][i], "element %u: %.9g, not %.9g\n%s",
                      (unsigned)i, (double)c->model.arrays[0][i], (double)state.arrays[0][i],
                      c->log);
        most = state.arrays[0][i] > most ? state.arrays[0][i] : most;
    }
    ck_assert(most > 0); /* Something was learnt. */
    free(gradient);
    model_state_free(&state);
}

/* All but those who were killed or asked to leave have heard that the job is done. */
static void expect_done(const struct cluster *c)
{
    for (uint32_t i = 0; i < c->engine.process_count; i++) {
        const struct simulated_process *p = c->engine.processes[i];
        ck_assert_msg(p->state == PROCESS_KILLED ||
                          (p->state == PROCESS_OVER && p->exit_code == EXIT_DONE),
                      "%s/%u: %d %s\n%s", p->is_server ? "ps" : "worker", p->index, p->exit_code,
                      p->reason, c->log);
    }
}

static void expect_told(const struct cluster *c, const char *line)
{
    ck_assert_msg(strstr(c->log, line) != NULL, "not told: %s\n%s", line, c->log);
}

/* --- every kind, in every mode --------------------------------------------------------------- */

static const struct ordeal {
    const char *what;
    const char *sum;
    const char *told; /* A line of the log, but for the first digits of its time. */
    bool redone;      /* A killed worker's work is done by another process. */
} ordeals[] = {
    {"kill=worker/1@5s+3s", "1 kill, 1 restart", "8.000000000 worker/1 is started again\n", true},
    {"kill=worker/1@5s", "1 kill", "5.000000000 worker/1 is killed, for good\n", true},
    {"kill=worker/1,worker/2@5s restart=7s", "2 kills, 2 restarts",
     "5.000000000 worker/2 is killed; another comes in 7s\n", true},
    {"kill=ps/1@6s+3s", "1 kill, 1 restart", "9.000000000 ps/1 is started again\n", false},
    {"kill=ps/0@6s+3s", "1 kill, 1 restart", "6.000000000 ps/0 is killed; another comes in 3s\n",
     false},
    {"kill=ps/0-1,worker/0-3@6s+3s", "6 kills, 6 restarts",
     "9.000000000 worker/3 is started again\n", false},
    {"stop=worker/3@4s+2s", "1 stop", "6.000000000 worker/3 goes on\n", false},
    {"stop=worker/3@4s+9s", "1 stop", "13.000000000 worker/3 goes on\n", false},
    {"stop=ps/1@4s+9s", "1 stop", "13.000000000 ps/1 goes on\n", false},
    {"stop=ps/0@4s+9s", "1 stop", "13.000000000 ps/0 goes on\n", false},
    {"partition=worker/0|ps/0@4s+2s", "1 partition",
     "4.000000000 nothing gets between worker/0 and ps/0 for 2s\n", false},
    {"partition=worker/0,worker/2@4s+9s", "1 partition",
     "13.000000000 worker/0,worker/2 and all others hear each other again\n", false},
    {"partition=ps/1@4s+9s", "1 partition",
     "9.000000000 ps/1 and all others: who connects gives up its con", false},
    {"partition=worker/0|ps/0@4s+2s,worker/0|ps/1@4s+2s,worker/1|ps/0@4s+2s,worker/1|ps/1@4s+2s,"
     "worker/2|ps/0@4s+2s,worker/2|ps/1@4s+2s,worker/3|ps/0@4s+2s,worker/3|ps/1@4s+2s,ps/0|ps/"
     "1@4s+2s",
     "9 partitions", "6.000000000 ps/0 and ps/1 hear each other again\n", false},
    {"join=@3s,@4.5s", "2 joins", "4.500000000 worker/5 joins\n", false},
    {"leave=worker/2@9s", "1 leave", "9.000000000 worker/2 is asked to leave\n", false},
    {"join=@2s leave=worker/0@4s kill=worker/4@6s+1s,ps/1@8s+1s stop=worker/1@12s+1s "
     "partition=worker/2@14s+1s",
     "2 kills, 2 restarts, 1 stop, 1 partition, 1 join, 1 leave",
     "7.000000000 worker/4 is started again\n", true},
};
#define ORDEALS (sizeof ordeals / sizeof *ordeals)

/* Who joins works, and who leaves goes before the others, and properly. */
static void expect_members(const struct cluster *c)
{
    uint64_t left = 0;
    for (uint32_t i = 0; i < c->engine.process_count; i++) {
        const struct simulated_process *p = c->engine.processes[i];
        bool joined = !p->is_server && p->index >= WORKERS && p->state == PROCESS_OVER;
        ck_assert_msg(!joined || p->worker.batches > 0, "worker/%u did nothing\n%s", p->index,
                      c->log);
        left += strstr(p->reason, "left the job") != NULL;
    }
    ck_assert_uint_eq(left, c->schedule.struck[FAILURE_EVENT_LEAVE]);
    ck_assert_uint_eq(c->engine.process_count, SERVERS + WORKERS +
                                                   c->schedule.struck[FAILURE_EVENT_START] +
                                                   c->schedule.struck[FAILURE_EVENT_JOIN]);
}

static void expect_survived(struct cluster *c, const struct ordeal *ordeal)
{
    char sum[200];
    expect_done(c);
    expect_members(c);
    fault_schedule_sum_up(&c->schedule, sum, sizeof sum);
    ck_assert_msg(strcmp(sum, ordeal->sum) == 0, "%s: %s\n%s", ordeal->what, sum, c->log);
    expect_told(c, ordeal->told);
    /* What nobody waits for nobody does again, but for what was closed with it. */
    ck_assert_msg(!ordeal->redone || c->lost.done_again || job_mode(&c->job)->sets,
                  "%s: nobody has done it again\n%s", ordeal->what, c->log);
    expect_serial(c);
}

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct cluster, c, cluster_open(c, __VA_ARGS__), cluster_close(c))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct cluster, c, cluster_open(c, __VA_ARGS__), cluster_close(c))

TEST_EACH(whatever_is_struck_the_model_is_what_it_would_have_been, MODE_COUNT *ORDEALS,
          (enum mode)((size_t)_i / ORDEALS))
{
    const struct ordeal *ordeal = &ordeals[(size_t)_i % ORDEALS];
    cluster_run(c, ordeal->what);
    expect_survived(c, ordeal);
}

TEST_TIMES(what_is_struck_is_felt, MODE_COUNT)
{
    static const char *const whats[] = {"kill=worker/1@5s", "stop=worker/3@4s+9s",
                                        "partition=ps/1@4s+9s", "kill=ps/0@6s+3s"};
    uint64_t calm_us = 0, calm_cuts = 0;
    for (size_t i = 0; i <= sizeof whats / sizeof *whats; i++) {
        struct cluster c;
        cluster_open(&c, (enum mode)_i);
        cluster_run(&c, i == 0 ? "" : whats[i - 1]);
        expect_serial(&c);
        if (i == 0) {
            calm_us = c.engine.now_us;
            calm_cuts = c.engine.network.counts.cuts;
        } else {
            bool given_up = strstr(c.log, "gives up") != NULL;
            ck_assert(given_up == (strncmp(whats[i - 1], "partition", 9) == 0));
            if (strncmp(whats[i - 1], "stop", 4) == 0)
                ck_assert_uint_eq(c.engine.network.counts.cuts, calm_cuts);
            ck_assert(!given_up || c.engine.network.counts.cuts > calm_cuts);
            ck_assert_msg(c.engine.now_us > calm_us + 1000000, "%s: %f s, and else %f s",
                          whats[i - 1], (double)c.engine.now_us * 1e-6, (double)calm_us * 1e-6);
        }
        cluster_close(&c);
    }
}

TEST_EACH(between_two_sides_nothing_gets_either_way, MODE_COUNT, (enum mode)_i)
{
    cluster_run(c, "partition=worker/0|ps/0@4s+3s");
    ck_assert_uint_gt(c->parted_us, 4000000);
    ck_assert_uint_gt(c->up_us, c->parted_us - 1000000); /* They were in touch before. */
    ck_assert_uint_gt(c->down_us, c->parted_us - 1000000);
    ck_assert_uint_le(c->up_us, c->parted_us);
    ck_assert_uint_le(c->down_us, c->parted_us);
    ck_assert_uint_gt(c->said_us, c->parted_us + 3000000); /* And afterwards. */
    ck_assert_uint_gt(c->engine.network.counts.held, 0);
    ck_assert_uint_eq(c->engine.network.counts.partitioned, 0); /* It waits, and is not lost. */
    expect_serial(c);
}

/* As their TCP does: after 5 s and 30 s, and neither where it is over before. */
TEST_TIMES(who_connects_gives_up_before_who_listens, MODE_COUNT)
{
    static const struct {
        const char *what;
        bool connects, listens;
    } cases[] = {{"partition=worker/0|ps/1@4s+4.9s", false, false},
                 {"partition=worker/0|ps/1@4s+29s", true, false},
                 {"partition=worker/0|ps/1@4s+31s", true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster c;
        cluster_open(&c, (enum mode)_i);
        cluster_run(&c, cases[i].what);
        ck_assert_msg((strstr(c.log, "\n9.000000000 worker/0 and ps/1: who connects gives up") !=
                       NULL) == cases[i].connects,
                      "%s", c.log);
        ck_assert_msg((strstr(c.log, "\n34.000000000 worker/0 and ps/1: who listens gives up") !=
                       NULL) == cases[i].listens,
                      "%s", c.log);
        expect_serial(&c);
        cluster_close(&c);
    }
}

/* --- what there is no way back from ---------------------------------------------------------- */

TEST_EACH(a_server_that_stays_away_ends_the_job_after_its_deadlines, MODE_COUNT, (enum mode)_i)
{
    cluster_run(c, "kill=ps/1@6s");
    for (uint32_t i = 0; i < c->engine.process_count; i++) {
        const struct simulated_process *p = c->engine.processes[i];
        ck_assert_msg(p->state == PROCESS_KILLED || p->exit_code == EXIT_CLUSTER_LOST, "%s/%u: %s",
                      p->is_server ? "ps" : "worker", p->index, p->reason);
    }
    ck_assert_uint_gt(c->engine.now_us, 65000000);
}

TEST(what_comes_after_the_end_is_left_out_and_counted, MODE_ASYNC)
{
    char sum[200];
    cluster_run(c, "kill=worker/1@5s+2s,worker/2@1000s+1s,ps/0@1001s+1s stop=worker/1@900s+1s "
                   "partition=ps/1@950s+1s join=@800s leave=worker/1@1002s");
    fault_schedule_sum_up(&c->schedule, sum, sizeof sum);
    ck_assert_str_eq(sum, "1 kill, 1 restart; 6 left out");
    expect_told(c, " join @800s: left out for worker/4: the job is over\n");
    expect_told(c, " partition ps/1@950s+1s: left out: the job is over\n");
    ck_assert_uint_lt(c->engine.now_us, 60000000); /* Nobody waits for it. */
    expect_done(c);
    expect_serial(c);
}

/* Cut off for so long, worker/2 gives up. The others go on without it, until all is over, and nobody
 * waits for worker/3, which is to come after that. */
TEST(who_is_over_suffers_nothing_more, MODE_ASYNC)
{
    char sum[200];
    c->job.steps = 2000;
    cluster_run(c, "partition=worker/2@4s+100s stop=worker/2@110s+1s kill=worker/2@112s+1s,"
                   "worker/3@150s+5000s");
    expect_told(c, "stop worker/2@110s+1s: left out for worker/2: it is over\n");
    expect_told(c, "kill worker/3@150s+5000s: worker/3 is not started again: the job is over\n");
    fault_schedule_sum_up(&c->schedule, sum, sizeof sum);
    ck_assert_str_eq(sum, "1 kill, 1 partition; 3 left out");
    ck_assert_uint_lt(c->engine.now_us, 1000000000);
    expect_serial(c);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Who suffers already gets over it, in its time; nothing else is struck, though much is to come. */
TEST_EACH(after_a_stop_is_asked_for_nothing_more_goes_wrong, MODE_COUNT, (enum mode)_i)
{
    char sum[200];
    c->stop_at = "worker/1 is killed";
    cluster_run(c, "stop=worker/2@4s+2s,worker/0@9s+1s partition=worker/3@4.5s+1s,worker/2@9s+1s "
                   "kill=worker/1@5s+3s,ps/1@7s+1s,ps/0@8s+1s join=@9s leave=worker/0@15s");
    expect_told(c, "5.500000000 worker/3 and all others hear each other again\n");
    expect_told(c, "6.000000000 worker/2 goes on\n");
    expect_told(c, "8.000000000 worker/1 is started again\n");
    expect_told(c, "left out for ps/0: a stop was asked for\n");
    expect_told(c, "leave worker/0@15s: left out for worker/0: a stop was asked for\n");
    fault_schedule_sum_up(&c->schedule, sum, sizeof sum);
    ck_assert_str_eq(sum, "1 kill, 1 restart, 1 stop, 1 partition; 6 left out");
    expect_serial(c);
}

/* Nobody comes back, either. */
TEST(once_server_0_says_that_it_is_over_it_is, MODE_ASYNC)
{
    char sum[200];
    c->over_at = "worker/1 is killed";
    cluster_run(c, "kill=worker/1@5s+3s,ps/0@7s+1s");
    expect_told(c, "worker/1 is not started again: the job is over\n");
    expect_told(c, "left out for ps/0: the job is over\n");
    fault_schedule_sum_up(&c->schedule, sum, sizeof sum);
    ck_assert_str_eq(sum, "1 kill; 2 left out");
    expect_serial(c);
}

/* --- many ----------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint64_t counts[FAILURE_EVENT_KIND_COUNT])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < FAILURE_EVENT_KIND_COUNT; i++)
        sum += counts[i];
    return sum;
}

TEST_TIMES(the_same_seed_has_the_same_history, MODE_COUNT)
{
    struct cluster once, again, other;
    struct cluster *all[] = {&once, &again, &other};
    for (size_t i = 0; i < 3; i++) {
        cluster_open(all[i], (enum mode)_i);
        cluster_run(all[i], i < 2 ? "stop=ps/1@2s+1s kill=worker/0@3s+1s join=@4s"
                                  : "stop=ps/1@2s+2s kill=worker/0@3s+1s join=@4s");
    }
    ck_assert_mem_eq(once.engine.transcript.digest, again.engine.transcript.digest, HASH_BYTES);
    ck_assert_str_eq(once.log, again.log);
    ck_assert_uint_eq(once.engine.now_ns, again.engine.now_ns);
    ck_assert_mem_ne(once.engine.transcript.digest, other.engine.transcript.digest, HASH_BYTES);
    for (size_t i = 0; i < 3; i++)
        cluster_close(all[i]);
}

/* More than one can get over before the next comes: it ends all the same, and nothing breaks. */
TEST_EACH(a_storm_ends, MODE_COUNT, (enum mode)_i)
{
    c->job.steps = 40;
    char storm[400] = "kill=ps/0@1s+1s";
    for (unsigned i = 2; i < 25; i++)
        wording_append(storm, sizeof storm, ",%s/%u@%us+1s", i % 3 == 0 ? "ps" : "worker", i % 2,
                       i);
    cluster_run(c, storm);
    ck_assert_uint_gt(sum_of(c->schedule.struck), 20);
}

/* --- what is refused ------------------------------------------------------------------------- */

static void expect_refused(const char *what, const char *why)
{
    struct cluster c;
    struct error error = {STATUS_OK, ""};
    cluster_open(&c, MODE_SYNC);
    plan(&c, what);
    struct fault_schedule_options options = {
        .engine = &c.engine, .failures = &c.failures, .job = &c.job};
    ck_assert_int_eq(fault_schedule_init(&c.schedule, &options, &error), STATUS_INVALID);
    ck_assert_msg(strstr(error.text, why) != NULL, "%s", error.text);
    cluster_close(&c);
}

TEST(what_cannot_be_is_said_before_anything_runs, MODE_SYNC)
{
    expect_refused("kill=worker/4@3s", "worker/4");
    expect_refused("leave=worker/0@3s kill=worker/0@4s", "has left");
    struct error error;
    for (uint32_t i = 0; i <= JOB_WORKERS_MAX - WORKERS; i++)
        ck_assert_int_eq(failures_option(&c->failures, "join", "@3s", &error), STATUS_OK);
    struct fault_schedule_options options = {
        .engine = &c->engine, .failures = &c->failures, .job = &c->job};
    ck_assert_int_eq(fault_schedule_init(&c->schedule, &options, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "1021 that join are more than a job has"));
}

int main(void)
{
    return suite_run("strikes", NULL);
}

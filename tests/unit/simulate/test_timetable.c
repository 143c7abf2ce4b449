/* test_timetable.c - how long what a described cluster does takes: draw by draw as in a real run, closed forms of
 * whole jobs, and where a server, or a host's processors, are the limit. */
/* promises: cards compute virtual-run */

#include "deploy/simulate/timetable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "deploy/engine/engine.h"
#include "tests/lib/clusters/virtual_job.h"
#include "tests/lib/regular.h"
#include "tests/lib/suite.h"
#include "worker/throttle.h"

#define US 1000ull
#define MS 1000000ull

/* --- a cluster --------------------------------------------------------------------------------- */

struct described {
    struct cluster cluster;
    struct layout layout;
    struct job job;
    struct timetable timetable;
};

static void describe(struct described *d, const char *const (*said)[2])
{
    struct error error = {STATUS_OK, ""};
    cluster_init(&d->cluster);
    for (; said != NULL && (*said)[0] != NULL; said++)
        ck_assert_msg(cluster_option(&d->cluster, (*said)[0], (*said)[1], &error) == STATUS_OK,
                      "%s", error.text);
}

static void open_timetable(struct described *d, uint32_t servers, uint32_t workers,
                           uint32_t owner_threads)
{
    struct error error = {STATUS_OK, ""};
    ck_assert_int_eq(layout_make(&d->layout, &d->cluster, servers, workers, &error), STATUS_OK);
    struct timetable_options options = {.cluster = &d->cluster,
                                        .layout = &d->layout,
                                        .job = &d->job,
                                        .owner_threads = owner_threads};
    ck_assert_int_eq(timetable_init(&d->timetable, &options, &error), STATUS_OK);
}

static void close_described(struct described *d)
{
    timetable_free(&d->timetable);
    layout_free(&d->layout);
    cluster_free(&d->cluster);
}

/* --- times by themselves ------------------------------------------------------------------------- */

/* Steps of 64 examples are 4 leaves; the 100 of a test set are 6 and a quarter. */
static const struct job JOB = {
    .seed = 3, .examples = 630, .batch = 64, .micro_batch = 16, .steps = 20, .test_examples = 100};

static uint64_t timed_node(struct described *d, uint32_t worker, uint64_t step, struct node node,
                           uint32_t place)
{
    struct timing timing = timetable_timing(&d->timetable);
    struct simulated_process process = {.index = worker, .slow = 1};
    struct trainer *trainer = &process.worker.trainer;
    trainer->work = (struct trainer_work){.step = step, .shape = step_shape_of(&JOB, step, NULL)};
    trainer->work.nodes[place] = node;
    trainer->node_next = place;
    return timing.compute_ns(timing.context, NULL, &process);
}

TEST_PLAIN(a_leaf_takes_to_the_nanosecond_what_a_real_run_waits_for_it)
{
    static const char *const said[][2] = {{"compute", "lognormal:30ms,0.5"},
                                          {"straggle", "0.3:pareto:10"},
                                          {"slow", "2:2.5"},
                                          {"pause", "0.3:exponential:90ms"},
                                          {NULL, NULL}};
    static const uint64_t took[4] = {0};
    struct described d = {.job = JOB};
    describe(&d, said);
    open_timetable(&d, 1, 4, 0);
    for (uint32_t worker = 0; worker < 4; worker++) {
        struct throttle throttle = {.job = &JOB, .worker = worker};
        throttle.time.slow = worker == 2 ? 2.5 : 1;
        ck_assert_int_eq(compute_time_read("lognormal:30ms,0.5", &throttle.time, NULL), STATUS_OK);
        ck_assert_int_eq(compute_time_read_straggle("0.3:pareto:10", &throttle.time, NULL),
                         STATUS_OK);
        ck_assert_int_eq(compute_time_read_pause("0.3:exponential:90ms", &throttle.time, NULL),
                         STATUS_OK);
        for (uint64_t step = 0; step < 20; step++)
            for (uint32_t first = 0; first < 3; first++) {
                throttle_begin(&throttle, 0);
                throttle.fresh = first == 0; /* Else there was another node before. */
                throttle_step(&throttle, step, (struct node){first, 2}, took, 0);
                ck_assert_uint_eq(timed_node(&d, worker, step, (struct node){first, 2}, first > 0),
                                  throttle.due_ns);
            }
    }
    close_described(&d);
}

TEST_PLAIN(scores_messages_and_gradients_cost_what_the_cluster_says)
{
    static const char *const said[][2] = {
        {"compute", "uniform:10ms,30ms"}, {"slow", "1:3"}, {NULL, NULL}};
    struct described d = {.job = JOB};
    describe(&d, said);
    d.cluster.worker = (struct cluster_handling){.message_ns = 7000, .message_byte_ps = 500};
    d.cluster.server = (struct cluster_handling){.message_ns = 9000, .message_byte_ps = 2000};
    d.cluster.apply_byte_ps = 3000;
    open_timetable(&d, 1, 2, 0);
    struct timing timing = timetable_timing(&d.timetable);
    struct simulated_process server = {.is_server = true, .slow = 1},
                             worker = {.index = 1, .slow = 1};
    ck_assert_uint_eq(timing.handling_ns(timing.context, &worker, LABOUR_SEND, 1000), 7500);
    ck_assert_uint_eq(timing.handling_ns(timing.context, &worker, LABOUR_RECEIVE, 0), 7000);
    ck_assert_uint_eq(timing.handling_ns(timing.context, &server, LABOUR_SEND, 1000), 11000);
    ck_assert_uint_eq(timing.handling_ns(timing.context, &server, LABOUR_RECEIVE, 0), 9000);
    ck_assert_uint_eq(timing.handling_ns(timing.context, &server, LABOUR_APPLY, 1000), 3000);
    /* Examples 33 to 65: 33 of them, whoever is slow. */
    d.cluster.score_example_ns = 70000;
    worker.worker.trainer.work = (struct trainer_work){.step = 5, .share = 1, .shares = 3};
    ck_assert_uint_eq(timing.compute_ns(timing.context, NULL, &worker), 2310000);
    worker.slow = 2;
    ck_assert_uint_eq(timing.compute_ns(timing.context, NULL, &worker), 4620000);
    ck_assert_uint_eq(timing.handling_ns(timing.context, &worker, LABOUR_SEND, 1000), 15000);
    ck_assert_uint_eq(timing.queue_ns(timing.context, NULL, &worker), TIMETABLE_QUEUE_NS);
    close_described(&d);
}

TEST_PLAIN(a_process_is_on_its_host_and_busy_there)
{
    struct described d = {.job = JOB};
    describe(&d, NULL);
    struct cluster_named both = {.host = {.processors = 2, .nic = d.cluster.usual.nic}};
    struct error error;
    const char *text = "ps/1,worker/2";
    ck_assert_int_eq(places_read(&text, &both.processes, &error), STATUS_OK);
    ck_assert_int_eq(cluster_add_host(&d.cluster, &both), STATUS_OK);
    open_timetable(&d, 2, 3, 2);
    struct timing timing = timetable_timing(&d.timetable);
    struct simulated_process server = {.is_server = true, .index = 1}, worker = {.index = 2};
    uint32_t host = timing.host(timing.context, &server);
    ck_assert_uint_eq(timing.host(timing.context, &worker), host);
    ck_assert_uint_ne(timing.host(timing.context, &(struct simulated_process){.index = 1}), host);
    static const struct labour_done done[] = {
        {.labour = LABOUR_RECEIVE, .worked_ns = 100, .took_ns = 200},
        {.labour = LABOUR_APPLY, .worked_ns = 300, .took_ns = 400},
        {.labour = LABOUR_SEND, .worked_ns = 50, .took_ns = 50},
        {.labour = LABOUR_COMPUTE, .worked_ns = 150, .took_ns = 600}};
    for (size_t i = 0; i < 4; i++)
        timing.worked(timing.context, i < 2 ? &server : &worker, &done[i]);
    static const struct {
        double most, mean;
    } expected[PART_COUNT] = {[PART_ROUTER] = {0.2, 0.1},
                              [PART_OWNERS] = {0.2, 0.1},
                              [PART_SESSION] = {0.05, 0.05 / 3},
                              [PART_TRAINER] = {0.6, 0.2},
                              [PART_PROCESSORS] = {0.3, 0.075}};
    static const uint32_t busiest[PART_COUNT] = {1, 1, 4, 4, 1};
    for (unsigned part = 0; part < PART_COUNT; part++) {
        struct timetable_load load = timetable_load(&d.timetable, part, 1000);
        ck_assert_double_eq_tol(load.most, expected[part].most, 1e-9);
        ck_assert_double_eq_tol(load.mean, expected[part].mean, 1e-9);
        ck_assert_uint_eq(load.busiest, busiest[part]);
    }
    d.timetable.options.owner_threads = 0;
    ck_assert_double_eq_tol(timetable_load(&d.timetable, PART_ROUTER, 1000).most, 0.6, 1e-9);
    ck_assert_double_eq(timetable_load(&d.timetable, PART_OWNERS, 1000).most, 0);
    close_described(&d);
}

/* --- whole jobs ----------------------------------------------------------------------------------- */

#define LATENCY_NS (50 * US)

static void carry_at_once(void *context, struct simulated_network *network, uint64_t now_ns,
                          struct parcel *parcel)
{
    (void)context;
    simulated_network_lands(network, parcel, now_ns + LATENCY_NS);
}

struct run {
    struct described described;
    struct virtual_job job;
    uint64_t step_ns; /* Of an update, among those in the middle of the run. */
};

/* One server that is its own owner, by the cluster's figures as they have been set in `described`. */
static void run_job(struct run *run, enum mode mode, uint32_t workers, uint64_t steps)
{
    struct virtual_job_options options = {.mode = mode,
                                          .servers = 1,
                                          .workers = workers,
                                          .chunk_floats = 256,
                                          .steps = steps,
                                          .channel = {.carry = carry_at_once}};
    open_timetable(&run->described, 1, workers, 0);
    options.timing = timetable_timing(&run->described.timetable);
    run->described.timetable.options.job = &run->job.job;
    virtual_job_open(&run->job, &options);
    virtual_job_run(&run->job);
    uint64_t from = steps / 5, to = steps - steps / 5;
    run->step_ns = (run->job.begun_ns[to] - run->job.begun_ns[from]) / (to - from);
}

static void close_run(struct run *run)
{
    virtual_job_close(&run->job);
    close_described(&run->described);
}

/* Of what a server does, in a cluster where all else but computing and waiting costs nothing. */
#define MESSAGE_NS (100 * US)
#define APPLY_NS   102400ull /* 1024 bytes of 100 ns. */
/* There and back between a trainer and its server, through two queues. */
#define WAY_NS (2 * TIMETABLE_QUEUE_NS + 2 * LATENCY_NS)

static void describe_slow_server(struct described *d, const char *leaf_time)
{
    const char *said[][2] = {{"compute", leaf_time}, {NULL, NULL}};
    describe(d, said);
    d->cluster.worker = (struct cluster_handling){.message_ns = 0};
    d->cluster.server = (struct cluster_handling){.message_ns = MESSAGE_NS};
    d->cluster.apply_byte_ps = 100000;
}

/* But for what is said beside the steps, once in a while. */
static void expect_step(const struct run *run, uint64_t ns)
{
    ck_assert_uint_le(run->step_ns, ns + ns / 500);
    ck_assert_uint_ge(run->step_ns, ns - ns / 500);
}

/* An update is a gradient taken, applied and answered, and an order asked for and given while its worker
 * computes: four messages. Few workers wait for nobody, and n of them make n in the time in which one makes one; many wait
 * for the server, which makes as many as it can handle, however many they are. */
TEST_PLAIN(a_server_of_one_thread_is_the_limit_of_however_many_workers)
{
    const uint64_t handled_ns = 4 * MESSAGE_NS + APPLY_NS;
    const uint64_t alone_ns = 3200 * US + WAY_NS + 2 * MESSAGE_NS + APPLY_NS;
    for (uint32_t n = 1; n <= 32; n *= 2) {
        struct run run = {.step_ns = 0};
        char leaf_time[40]; /* A batch is n leaves. */
        snprintf(leaf_time, sizeof leaf_time, "constant:%uus", 3200 / n);
        describe_slow_server(&run.described, leaf_time);
        run_job(&run, MODE_ASYNC, n, 900);
        const struct timetable *t = &run.described.timetable;
        struct timetable_load router = timetable_load(t, PART_ROUTER, 900 * run.step_ns);
        ck_assert_uint_ge(t->uses[0][LABOUR_RECEIVE].times, 2 * 900);
        ck_assert_uint_eq(t->uses[0][LABOUR_APPLY].worked_ns, 900 * APPLY_NS);
        if (alone_ns > n * handled_ns) {
            ck_assert_uint_eq(run.step_ns, alone_ns / n);
            double share = (double)(handled_ns * n) / (double)alone_ns;
            ck_assert_double_eq_tol(router.most, share, 0.02);
        } else {
            expect_step(&run, handled_ns);
            ck_assert_double_gt(router.most, 0.98);
        }
        close_run(&run);
    }
}

/* The first worker is told when the server has made one message; when all have computed, it takes and applies
 * n gradients, and then the next step begins: by all-reduce when the workers have applied the sum too. */
static void expect_steps(enum mode mode, uint64_t steps, uint64_t also_ns)
{
    for (uint32_t n = 1; n <= 16; n *= 2)
        for (uint64_t worker_ns = 0; worker_ns <= 30 * US; worker_ns += 30 * US) {
            struct run run = {.step_ns = 0};
            describe_slow_server(&run.described, "constant:10ms");
            run.described.cluster.worker.message_ns = worker_ns;
            run_job(&run, mode, n, steps);
            expect_step(&run, 10 * MS + WAY_NS + 2 * worker_ns + MESSAGE_NS +
                                  n * (MESSAGE_NS + APPLY_NS) + also_ns);
            close_run(&run);
        }
}

TEST_PLAIN(a_step_ends_when_the_server_has_taken_all_gradients_one_after_the_other)
{
    expect_steps(MODE_SYNC, 100, 0);
    expect_steps(MODE_ALLREDUCE, 1000, APPLY_NS); /* In the first all are given values and slots. */
}

/* n trainers on P processors. */
TEST_PLAIN(workers_of_one_host_compute_no_faster_than_its_processors)
{
    for (uint32_t n = 1; n <= 12; n++)
        for (uint32_t processors = 1; processors <= 4; processors++) {
            struct run run = {.step_ns = 0};
            describe_slow_server(&run.described, "constant:12ms");
            run.described.cluster.rest = CLUSTER_TOGETHER;
            run.described.cluster.usual.processors = processors;
            run.described.cluster.server = (struct cluster_handling){.message_ns = 0};
            run.described.cluster.apply_byte_ps = 0;
            run_job(&run, MODE_SYNC, n, 20);
            uint64_t compute_ns = n > processors ? 12 * MS * n / processors : 12 * MS;
            ck_assert_uint_eq(run.step_ns, compute_ns + WAY_NS);
            close_run(&run);
        }
}

/* Three workers and their server have three busy threads: one that is answered does not compute. On two
 * processors there is always work for both, and an update costs its leaves and its being applied. */
TEST_PLAIN(a_server_takes_from_workers_that_compute_on_its_host)
{
    for (uint32_t processors = 2; processors <= 3; processors++) {
        struct run run = {.step_ns = 0};
        describe_slow_server(&run.described, "constant:5ms"); /* A batch is three leaves. */
        run.described.cluster.rest = CLUSTER_TOGETHER;
        run.described.cluster.usual.processors = processors;
        run.described.cluster.server.message_ns = 0;
        run.described.cluster.apply_byte_ps = 2000000; /* 2.048 ms a gradient. */
        run_job(&run, MODE_ASYNC, 3, 600);
        uint64_t work_ns = 15 * MS + 2048 * US;
        expect_step(&run, processors == 2 ? work_ns / 2 : (work_ns + WAY_NS) / 3);
        struct timetable_load load =
            timetable_load(&run.described.timetable, PART_PROCESSORS, 600 * run.step_ns);
        ck_assert_double_eq_tol(load.most, processors == 2 ? 1 : 0.993, 0.01);
        close_run(&run);
    }
}

/* Of each worker: what it computed last. */
struct attempts {
    struct timing timing;
    struct {
        struct step_shape shape;
        uint64_t ns;
    } last[8];
    uint32_t batches, again, slower;
};

static uint64_t note_attempt(void *context, struct random_sequence *random,
                             const struct simulated_process *process)
{
    struct attempts *a = context;
    const struct step_shape *shape = &process->worker.trainer.work.shape,
                            *last = &a->last[process->index].shape;
    uint64_t ns = a->timing.compute_ns(a->timing.context, random, process);
    if (shape->refusals > 0) {
        ck_assert_uint_eq(shape->step, last->step);
        ck_assert_uint_eq(shape->refusals, last->refusals + 1);
        a->again++;
        a->slower += ns > a->last[process->index].ns;
    } else {
        a->batches++;
    }
    a->last[process->index].shape = *shape;
    a->last[process->index].ns = ns;
    return ns;
}

/* Those that are too stale were slow: what is drawn anew is quicker more often than not. */
TEST_PLAIN(a_refused_batch_takes_its_worker_another_time)
{
    static const char *const said[][2] = {
        {"compute", "exponential:20ms"}, {"slow", "1:2,2:3,3:4,4:5,5:6,6:7,7:8"}, {NULL, NULL}};
    struct run run;
    struct attempts attempts = {.batches = 0};
    struct virtual_job_options options = {.mode = MODE_ASYNC,
                                          .servers = 1,
                                          .workers = 8,
                                          .chunk_floats = 256,
                                          .steps = 1000,
                                          .channel = {.carry = carry_at_once}};
    describe(&run.described, said);
    open_timetable(&run.described, 1, 8, 0);
    attempts.timing = timetable_timing(&run.described.timetable);
    options.timing = (struct timing){
        .context = &attempts, .queue_ns = attempts.timing.queue_ns, .compute_ns = note_attempt};
    run.described.timetable.options.job = &run.job.job;
    virtual_job_open(&run.job, &options);
    run.job.job.max_staleness = 3;
    virtual_job_run(&run.job);
    ck_assert_uint_eq(attempts.batches, 1000);
    ck_assert_uint_gt(attempts.again, 500);
    ck_assert_uint_gt(attempts.slower, 50);
    ck_assert_uint_lt(attempts.slower, attempts.again / 2);
    close_run(&run);
}

int main(void)
{
    return suite_run("timetable", NULL);
}

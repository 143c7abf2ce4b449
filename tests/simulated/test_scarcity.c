/* Whole clusters in which one allocation of their processes fails, each in its turn: the job goes on
 * and keeps every promise, or somebody says what was wanting, and others go on from what was left to
 * the same end. */
/* wraps: malloc calloc realloc aligned_alloc cores_make_owners cores_receive */
/* wraps: cores_deliver cores_tick session_handle_server session_handle_trainer */
/* wraps: session_tick engine_over outbox_put_line */

#include <stdio.h>
#include <string.h>

#include "deploy/verify/history.h"
#include "ps/cores.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/suite.h"
#include "worker/client/session.h"

#define FAULT_SCHEDULE_MAX 20000

/* --- what a process does by itself: only there memory is scarce ----------------------------------- */

enum status __real_cores_make_owners(struct cores *cores, const struct chunk_memory *memory);
enum status __wrap_cores_make_owners(struct cores *cores, const struct chunk_memory *memory);
void __real_cores_receive(struct cores *cores, struct packet *packet, bool from_server_0,
                          uint64_t now_us, struct outbox *outbox);
void __wrap_cores_receive(struct cores *cores, struct packet *packet, bool from_server_0,
                          uint64_t now_us, struct outbox *outbox);
bool __real_cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                          struct outbox *outbox);
bool __wrap_cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                          struct outbox *outbox);
void __real_cores_tick(struct cores *cores, uint64_t now_us, struct outbox *outbox);
void __wrap_cores_tick(struct cores *cores, uint64_t now_us, struct outbox *outbox);
void __real_session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                                  uint64_t now_us, struct outbox *outbox);
void __wrap_session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                                  uint64_t now_us, struct outbox *outbox);
void __real_session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                                   struct outbox *outbox);
void __wrap_session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                                   struct outbox *outbox);
void __real_session_tick(struct session *session, uint64_t now_us, struct outbox *outbox);
void __wrap_session_tick(struct session *session, uint64_t now_us, struct outbox *outbox);

#define SCARCE(call)                                                                               \
    do {                                                                                           \
        scarcity_pause(false);                                                                     \
        call;                                                                                      \
        scarcity_pause(true);                                                                      \
    } while (0)

enum status __wrap_cores_make_owners(struct cores *cores, const struct chunk_memory *memory)
{
    enum status status;
    SCARCE(status = __real_cores_make_owners(cores, memory));
    return status;
}

void __wrap_cores_receive(struct cores *cores, struct packet *packet, bool from_server_0,
                          uint64_t now_us, struct outbox *outbox)
{
    SCARCE(__real_cores_receive(cores, packet, from_server_0, now_us, outbox));
}

bool __wrap_cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                          struct outbox *outbox)
{
    bool for_wire;
    SCARCE(for_wire = __real_cores_deliver(cores, item, now_us, outbox));
    return for_wire;
}

void __wrap_cores_tick(struct cores *cores, uint64_t now_us, struct outbox *outbox)
{
    SCARCE(__real_cores_tick(cores, now_us, outbox));
}

void __wrap_session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                                  uint64_t now_us, struct outbox *outbox)
{
    SCARCE(__real_session_handle_server(session, server, packet, now_us, outbox));
}

void __wrap_session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                                   struct outbox *outbox)
{
    SCARCE(__real_session_handle_trainer(session, packet, now_us, outbox));
}

void __wrap_session_tick(struct session *session, uint64_t now_us, struct outbox *outbox)
{
    SCARCE(__real_session_tick(session, now_us, outbox));
}

/* --- histories ------------------------------------------------------------------------------- */

/* A small job that is stopped, gone on with by others, and checkpointed on the way. */
static void draw(struct history_plan *plan, enum mode mode)
{
    uint64_t seed = 1;
    for (;; seed++) {
        ck_assert_int_eq(history_draw(plan, seed), STATUS_OK);
        if (plan->job.variable_count >= 3 && plan->kind == WORK_MIXED &&
            plan->job.mode == MODE_ASYNC && !plan->job.use_locking)
            break;
        history_free(plan);
    }
    plan->scarce = true;
    plan->job.mode = mode;
    plan->job.staleness_bound = mode == MODE_SSP ? 1 : 0;
    plan->job.backup_workers = mode == MODE_BACKUP ? 1 : 0;
    job_forget_unused(&plan->job);
    plan->job.steps = 6;
    plan->job.checkpoint_every = 2;
    plan->faults = (struct network_faults){.delay_min_us = 900, .delay_max_us = 1000};
    plan->queue_delay_us = 10;
    plan->compute_us = 20000;
    plan->bad_one_in = 0;
    plan->on_worker_loss = LOSS_CONTINUE;
    plan->phase_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        struct history_phase *phase = &plan->phases[i];
        *phase = (struct history_phase){.servers = 2,
                                        .workers = 2,
                                        .owners_a_server = 1,
                                        .shared_disk = i == 0,
                                        .chunk_bytes = 256,
                                        .stop_after_us = i == 0 ? 60000 : 0};
        for (uint32_t j = 0; j < HISTORY_WORKERS_MAX; j++)
            phase->slow[j] = 1;
    }
}

/* Somebody has said what was wanting: in the end, or to people on the way. */
static bool was_said;

static void listen(const char *text)
{
    was_said = was_said || strstr(text, "memory") != NULL;
}

void __real_engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                        const char *reason);
void __wrap_engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                        const char *reason);
void __wrap_outbox_put_line(struct outbox *outbox, uint32_t index, const char *format, ...);

void __wrap_engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                        const char *reason)
{
    listen(reason);
    __real_engine_over(engine, process, exit_code, reason);
}

void __wrap_outbox_put_line(struct outbox *outbox, uint32_t index, const char *format, ...)
{
    listen(format);
    outbox_add_to(outbox, TO_LOG, index, MESSAGE_WAITING);
}

/* Each stride-th allocation, of which there are some hundreds or thousands. */
static void strike_each(enum mode mode, unsigned stride)
{
    struct history_plan plan;
    struct history_result result;
    unsigned n = 0, tried = 0, ended = 0;
    bool hit = true;
    draw(&plan, mode);
    for (n = 1; hit && n < FAULT_SCHEDULE_MAX; n += stride) {
        was_said = false;
        scarcity_pause(true);
        scarcity_arm(n);
        history_run(&plan, &result);
        hit = scarcity_disarm();
        listen(result.failure);
        ck_assert_msg(!result.failed, "allocation %u: %s", n, result.failure);
        ck_assert_msg(result.ended == 0 || (hit && was_said), "allocation %u: %s", n,
                      result.failure);
        tried += hit;
        ended += result.ended;
    }
    printf("%u allocations, %u of them ended the job\n", tried, ended);
    ck_assert_uint_gt(n, 100);
    ck_assert_uint_lt(n, FAULT_SCHEDULE_MAX);
    ck_assert_uint_gt(ended, 10);
    ck_assert_uint_lt(ended, tried);
    history_free(&plan);
}

/* Of those that fail a sanitizer sees what is lost on the way; what is said make check-all tries of each. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE_IN_CHECK 3
#else
#define STRIDE_IN_CHECK 9
#endif

START_TEST(an_allocation_that_fails_ends_the_job_or_costs_nothing)
{
    strike_each((enum mode)_i, STRIDE_IN_CHECK);
}

START_TEST(each_allocation_that_fails_ends_the_job_or_costs_nothing)
{
    strike_each((enum mode)_i, 1);
}

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, an_allocation_that_fails_ends_the_job_or_costs_nothing, 0,
                        MODE_COUNT);
}

static void add_long(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, each_allocation_that_fails_ends_the_job_or_costs_nothing, 0,
                        MODE_COUNT);
}

int main(void)
{
    return suite_run_both("scarcity", add_tests, add_long);
}

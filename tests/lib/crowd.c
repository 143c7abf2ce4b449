/* crowd.c - workers as threads of child processes, which leave what they find in memory that all
 * share. */

#include "tests/lib/crowd.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/job/tree.h"
#include "common/kernels/kernels.h"
#include "common/process/log.h"
#include "common/process/process.h"
#include "common/transport/transport.h"
#include "worker/client/client.h"

#define START_SECONDS 120
#define STACK_BYTES   (256u << 10)

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static size_t shared_bytes(const struct crowd *crowd)
{
    return crowd->count * sizeof *crowd->workers;
}

void crowd_init(struct crowd *crowd, const struct job *job, const char *transport, uint32_t count)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->job = job;
    crowd->transport = transport;
    crowd->count = count;
    crowd->workers =
        mmap(NULL, shared_bytes(crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crowd->workers == MAP_FAILED)
        fail("out of memory");
    for (uint32_t i = 0; i < count; i++)
        atomic_store(&crowd->workers[i].exit_code, -1);
}

void crowd_free(struct crowd *crowd)
{
    munmap(crowd->workers, shared_bytes(crowd));
    memset(crowd, 0, sizeof *crowd);
}

/* --- a worker ------------------------------------------------------------------------------ */

struct member {
    const struct crowd *crowd;
    struct transport *transport;
    uint32_t index;
    struct client *client;
    pthread_t thread;
};

static struct frame *make_gradient(struct member *member, float value)
{
    struct frame *gradient = client_gradient(member->client);
    if (gradient == NULL)
        fail("out of memory for gradients");
    float *values = gradient->data;
    size_t count = gradient->bytes / sizeof *values;
    if (values[0] != value || values[count - 1] != value)
        for (size_t i = 0; i < count; i++)
            values[i] = value;
    return gradient;
}

static void push_step(struct member *member, const struct trainer_work *work)
{
    for (uint32_t i = 0; i < work->node_count; i++) {
        struct push push = trainer_next(client_trainer(member->client));
        push.score.examples = push.examples;
        client_push(member->client, &push, make_gradient(member, (float)push.examples));
    }
}

static void rest(uint32_t us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&time, NULL);
}

/* Of the test set it had everything right. */
static void score(struct member *member, const struct trainer_work *todo)
{
    uint64_t tests = member->crowd->job->test_examples;
    uint64_t first = todo->share * tests / todo->shares;
    uint64_t count = (todo->share + 1) * tests / todo->shares - first;
    struct score share = {.correct = count, .examples = count};
    client_evaluation(member->client, &share, 1);
}

static void *work(void *argument)
{
    struct member *member = argument;
    struct crowd_worker *worker = &member->crowd->workers[member->index];
    struct trainer_work todo;
    bool pushed = false; /* And not yet answered. */
    while (client_next(member->client, &todo) == STATUS_OK) {
        if (todo.shares > 0) {
            score(member, &todo);
            continue;
        }
        if (todo.enough) {
            pushed = false;
            continue;
        }
        if (pushed)
            atomic_fetch_add(&worker->updates, 1);
        atomic_store(&worker->here, true);
        rest(atomic_load(&worker->delay_us));
        push_step(member, &todo);
        pushed = true;
    }
    snprintf(worker->end, sizeof worker->end, "%s", client_trainer(member->client)->reason);
    atomic_store(&worker->exit_code, client_trainer(member->client)->exit_code);
    client_close(&member->client);
    return NULL;
}

static void open_member(struct member *member)
{
    struct error error;
    struct client_options options = {.transport = member->transport,
                                     .job = member->crowd->job,
                                     .worker = member->index,
                                     .deadlines = {.start = START_SECONDS,
                                                   .silence = 5,
                                                   .recovery = START_SECONDS,
                                                   .progress = 10 * START_SECONDS,
                                                   .stop = START_SECONDS},
                                     .must_share = strcmp(member->crowd->transport, "shm") == 0};
    if (client_open(&member->client, &options, &error) != STATUS_OK)
        fail(error.text);
}

static void start_thread(struct member *member)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&member->thread, &attributes, work, member) != 0)
        fail("cannot start a thread");
    pthread_attr_destroy(&attributes);
}

/* A process's whole life. */
static _Noreturn void live(const struct crowd *crowd, uint32_t first, uint32_t count)
{
    struct error error;
    struct transport *transport;
    struct member *members = calloc(count, sizeof *members);
    prctl(PR_SET_NAME, "bench-crowd");
    log_init("bench/crowd", LOG_ERROR, LOG_FORMAT_TEXT);
    kernels_init();
    process_keep_memory();
    if (members == NULL ||
        transport_create(&transport, strcmp(crowd->transport, "tcp") != 0, &error) != STATUS_OK)
        fail("out of memory");
    for (uint32_t i = 0; i < count; i++) {
        members[i] = (struct member){.crowd = crowd, .transport = transport, .index = first + i};
        open_member(&members[i]);
        start_thread(&members[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(members[i].thread, NULL);
    transport->operations->destroy(&transport);
    free(members);
    exit(EXIT_SUCCESS);
}

/* --- the whole ----------------------------------------------------------------------------- */

uint32_t crowd_start(struct crowd *crowd, uint32_t first, uint32_t count)
{
    pid_t parent = getpid();
    if (crowd->process_count == CROWD_PROCESSES_MAX)
        fail("too many processes");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        fail("cannot fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            live(crowd, first, count);
        _exit(EXIT_FAILURE);
    }
    crowd->processes[crowd->process_count] = child;
    return crowd->process_count++;
}

bool crowd_wait(const struct crowd *crowd, uint32_t first, uint32_t count, double seconds)
{
    double until = clock_now_seconds() + seconds;
    for (uint32_t i = first; i < first + count;)
        if (atomic_load(&crowd->workers[i].here))
            i++;
        else if (clock_now_seconds() > until)
            return false;
        else
            rest(10000);
    return true;
}

static bool end_well(const struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++)
        if (atomic_load(&crowd->workers[i].exit_code) > 0)
            return false;
    return true;
}

bool crowd_ends(struct crowd *crowd, double seconds)
{
    double until = clock_now_seconds() + seconds;
    bool well = true;
    while (crowd->process_count > 0) {
        int status;
        pid_t ended = waitpid(crowd->processes[crowd->process_count - 1], &status, WNOHANG);
        if (ended != 0) {
            well = well && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
            crowd->process_count--;
        } else if (clock_now_seconds() > until) {
            return false;
        } else {
            rest(10000);
        }
    }
    return well && end_well(crowd);
}

void crowd_end(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->process_count; i++) {
        kill(crowd->processes[i], SIGKILL);
        waitpid(crowd->processes[i], NULL, 0);
    }
    crowd->process_count = 0;
}

uint64_t crowd_updates(const struct crowd *crowd, uint32_t first, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = first; i < first + count; i++)
        sum += atomic_load(&crowd->workers[i].updates);
    return sum;
}

/* contender.c - orders and answers go through pipes; what each call took lies in memory that all
 * share. */

#include "tests/bench/contenders/contender.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#define READY_FD      3    /* Where serve's process says its address. */
#define ROUND_SECONDS 0.03 /* About; at least two exchanges. */
#define CALLS_MOST    2000 /* In a round. */

_Noreturn void contender_fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    _exit(EXIT_FAILURE);
}

void contender_ready(const char *address)
{
    if (write(READY_FD, address, strlen(address) + 1) < 0)
        contender_fail("cannot say where this server is");
    close(READY_FD);
}

/* A process that ends with this one, whatever happens. */
static pid_t fork_child(void)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        contender_fail("cannot fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_FAILURE);
    }
    return child;
}

static void make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        contender_fail("cannot make a pipe");
}

static void start_server(struct contender *contender, const void *setting,
                         char address[CONTENDER_ADDRESS_MAX])
{
    int ends[2];
    make_pipe(ends);
    contender->server = fork_child();
    if (contender->server == 0) {
        calls_count(contender->own);
        close(ends[0]);
        if (ends[1] != READY_FD) {
            dup2(ends[1], READY_FD);
            close(ends[1]);
        }
        contender->kind->serve(setting);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    ssize_t bytes = read(ends[0], address, CONTENDER_ADDRESS_MAX - 1);
    close(ends[0]);
    if (bytes <= 0)
        contender_fail("a server did not start");
    address[bytes] = '\0';
}

/* Do as many calls as each order says; an answer follows each order and the start. */
static _Noreturn void work(const struct contender *contender, const void *setting,
                           const char *address, int orders, int answers)
{
    char done = 0;
    unsigned calls;
    uint64_t count = 0;
    void *state = contender->kind->open(setting, address);
    while (write(answers, &done, 1) == 1 && read(orders, &calls, sizeof calls) == sizeof calls) {
        uint64_t before = clock_now_ns();
        for (unsigned i = 0; i < calls; i++, count++) {
            contender->kind->exchange(state);
            uint64_t now = clock_now_ns();
            if (count < CONTENDER_CALLS_MAX)
                contender->took[count] = now - before;
            before = now;
        }
    }
    _exit(EXIT_SUCCESS);
}

static void wait_answer(const struct contender *contender)
{
    char done;
    ssize_t bytes;
    do
        bytes = read(contender->answers, &done, 1);
    while (bytes < 0 && errno == EINTR);
    if (bytes != 1)
        contender_fail("a process that was measured has ended");
}

/* Seconds that `calls` exchanges took. */
static double run(struct contender *contender, unsigned calls)
{
    uint64_t began = clock_now_ns();
    if (write(contender->orders, &calls, sizeof calls) != sizeof calls)
        contender_fail("a process that was measured has ended");
    wait_answer(contender);
    contender->count += calls;
    return (double)(clock_now_ns() - began) * 1e-9;
}

static void warm_up(struct contender *contender)
{
    run(contender, 3);
    double calls = ROUND_SECONDS / (run(contender, 3) / 3);
    contender->calls = calls < 2 ? 2 : calls > CALLS_MOST ? CALLS_MOST : (unsigned)calls;
    contender->warm = contender->count;
    memset(contender->own, 0, sizeof *contender->own);
}

void contender_start(struct contender *contender, const struct contender_kind *kind,
                     const void *setting)
{
    char address[CONTENDER_ADDRESS_MAX] = "";
    int orders[2], answers[2];
    memset(contender, 0, sizeof *contender);
    contender->kind = kind;
    contender->took = mmap(NULL, CONTENDER_CALLS_MAX * sizeof *contender->took,
                           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    contender->own = mmap(NULL, sizeof *contender->own, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (contender->took == MAP_FAILED || contender->own == MAP_FAILED)
        contender_fail("out of memory");
    if (kind->serve != NULL)
        start_server(contender, setting, address);
    make_pipe(orders);
    make_pipe(answers);
    contender->worker = fork_child();
    if (contender->worker == 0) {
        calls_count(contender->own);
        close(orders[1]);
        close(answers[0]);
        work(contender, setting, address, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    contender->orders = orders[1];
    contender->answers = answers[0];
    wait_answer(contender);
    warm_up(contender);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of the exchanges from number `first` on that were kept. */
static double quantile_from(const struct contender *contender, uint64_t first, double share)
{
    uint64_t end = contender->count < CONTENDER_CALLS_MAX ? contender->count : CONTENDER_CALLS_MAX;
    assert(first < end);
    uint64_t count = end - first;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        contender_fail("out of memory");
    memcpy(sorted, contender->took + first, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    double seconds = (double)sorted[(uint64_t)(share * (double)(count - 1) + 0.5)] * 1e-9;
    free(sorted);
    return seconds;
}

double contender_quantile(const struct contender *contender, double share)
{
    return quantile_from(contender, contender->warm, share);
}

static double server_seconds(const struct contender *contender)
{
    clockid_t clock;
    struct timespec time;
    if (contender->server == 0 || clock_getcpuclockid(contender->server, &clock) != 0 ||
        clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_round(void *context)
{
    struct contender *contender = context;
    uint64_t first = contender->count;
    double cpu = server_seconds(contender);
    contender->seconds = run(contender, contender->calls) / contender->calls;
    contender->server_cpu = (server_seconds(contender) - cpu) / contender->calls;
    if (contender->by_median && contender->count <= CONTENDER_CALLS_MAX)
        contender->seconds = quantile_from(contender, first, 0.5);
}

struct piece contender_piece(struct contender *contender, bool by_median)
{
    contender->by_median = by_median;
    unsigned processes = 0;
    contender->processes[processes++] = contender->worker;
    if (contender->server != 0)
        contender->processes[processes++] = contender->server;
    return (struct piece){.work = run_round,
                          .context = contender,
                          .cold = true, /* It is warm. */
                          .own_seconds = &contender->seconds,
                          .helpers = contender->processes,
                          .helper_count = processes};
}

static void end_process(pid_t process)
{
    if (process == 0)
        return;
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

void contender_stop(struct contender *contender)
{
    close(contender->orders);
    close(contender->answers);
    end_process(contender->worker);
    end_process(contender->server);
    munmap(contender->took, CONTENDER_CALLS_MAX * sizeof *contender->took);
    munmap(contender->own, sizeof *contender->own);
    memset(contender, 0, sizeof *contender);
}

uint64_t contender_server_peak(const struct contender *contender)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)contender->server);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

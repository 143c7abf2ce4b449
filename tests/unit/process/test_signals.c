/* test_signals.c - signals sent to a child that watches for them: each is one request, whoever
 * sends it how often. */
/* test: tsan */

#include "common/process/signals.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/suite.h"

struct heard {
    sem_t any;
    atomic_int code, count;
};

static void hear(void *context, int exit_code)
{
    struct heard *heard = context;
    atomic_store(&heard->code, exit_code);
    atomic_fetch_add(&heard->count, 1);
    sem_post(&heard->any);
}

static void hear_leave(void *context)
{
    hear(context, -1);
}

static void start_with(struct signals *signals, struct heard *heard, bool leaves)
{
    sem_init(&heard->any, 0, 0);
    atomic_init(&heard->code, 0);
    atomic_init(&heard->count, 0);
    struct signals_options options = {
        .context = heard, .stop = hear, .leave = leaves ? hear_leave : NULL};
    signals_block();
    ck_assert(signals_start(signals, &options) == STATUS_OK);
}

static void start(struct signals *signals, struct heard *heard)
{
    start_with(signals, heard, false);
}

TEST_PLAIN(a_signal_becomes_one_request_to_stop_or_where_it_is_said_so_to_leave)
{
    static const struct {
        int number;
        bool leaves;
        int code; /* -1: asked to leave. */
    } cases[] = {
        {SIGINT, false, EXIT_INTERRUPTED},
        {SIGTERM, false, EXIT_TERMINATED},
        {SIGHUP, false, EXIT_TERMINATED},
        {SIGTERM, true, -1},
        {SIGHUP, true, -1},
        {SIGINT, true, EXIT_INTERRUPTED}, /* It is for the job. */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct signals signals;
        struct heard heard;
        start_with(&signals, &heard, cases[i].leaves);
        kill(getpid(), cases[i].number);
        sem_wait(&heard.any);
        signals_stop(&signals);
        ck_assert_int_eq(atomic_load(&heard.code), cases[i].code);
        ck_assert_int_eq(atomic_load(&heard.count), 1);
        sem_destroy(&heard.any);
    }
}

/* nohup, a script's command with &: the person has another job at this terminal. */
TEST_TIMES(what_was_ignored_from_the_beginning_stays_ignored, 2)
{
    static const int numbers[] = {SIGHUP, SIGINT};
    struct signals signals;
    struct heard heard;
    signal(numbers[_i], SIG_IGN);
    start(&signals, &heard);
    kill(getpid(), numbers[_i]);
    kill(getpid(), SIGTERM);
    sem_wait(&heard.any);
    ck_assert_int_eq(atomic_load(&heard.code), EXIT_TERMINATED);
    signals_stop(&signals);
    ck_assert_int_eq(atomic_load(&heard.count), 1);
    sem_destroy(&heard.any);
}

/* With signals a process that does nothing about the request; how it ended. */
static int end_of(int first, int pause_us, int second)
{
    int ready[2], how;
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t process = fork();
    if (process == 0) {
        struct signals signals;
        struct heard heard;
        start(&signals, &heard);
        byte = 'x';
        if (write(ready[1], &byte, 1) == 1)
            sem_wait(&heard.any);
        sleep(2);
        _exit(atomic_load(&heard.count));
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    kill(process, first);
    usleep((useconds_t)pause_us);
    kill(process, second);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    ck_assert(WIFEXITED(how));
    return WEXITSTATUS(how);
}

TEST_PLAIN(an_impatient_signal_ends_the_process_at_once)
{
    ck_assert_int_eq(end_of(SIGINT, 700000, SIGINT), EXIT_INTERRUPTED);
    ck_assert_int_eq(end_of(SIGINT, 700000, SIGTERM), EXIT_TERMINATED);
}

TEST_PLAIN(a_signal_that_is_repeated_at_once_is_one_request)
{
    ck_assert_int_eq(end_of(SIGTERM, 1000, SIGTERM), 1);
    ck_assert_int_eq(end_of(SIGHUP, 700000, SIGHUP), 1);
}

TEST_PLAIN(ceasing_to_watch_is_not_a_request)
{
    for (int i = 0; i < 100; i++) {
        struct signals signals;
        struct heard heard;
        start(&signals, &heard);
        signals_stop(&signals);
        ck_assert_int_eq(atomic_load(&heard.count), 0);
        sem_destroy(&heard.any);
    }
}

/* --- whoever started it ---------------------------------------------------------------------- */

/* The other end of this process's standard input from here on. */
static int adopt(void)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    return ends[1];
}

static void hear_abandoned(void *context)
{
    struct heard *heard = context;
    atomic_fetch_add(&heard->count, 10);
    sem_post(&heard->any);
}

static void start_with_parent(struct signals *signals, struct heard *heard, double seconds)
{
    struct signals_options options = {.context = heard,
                                      .stop = hear,
                                      .has_parent = true,
                                      .abandoned = hear_abandoned,
                                      .abandoned_seconds = seconds};
    sem_init(&heard->any, 0, 0);
    atomic_init(&heard->code, 0);
    atomic_init(&heard->count, 0);
    signals_block();
    ck_assert(signals_start(signals, &options) == STATUS_OK);
}

TEST_PLAIN(a_parent_that_goes_is_no_request_to_stop_where_others_decide)
{
    struct signals signals;
    struct heard heard;
    int parent = adopt();
    start_with_parent(&signals, &heard, 60);
    ck_assert_int_eq(write(parent, "more\n", 5), 5); /* What else it says is no end. */
    usleep(100000);
    ck_assert_int_eq(atomic_load(&heard.count), 0);
    close(parent);
    sem_wait(&heard.any);
    usleep(100000);
    signals_stop(&signals);
    alarm(0);
    ck_assert_int_eq(atomic_load(&heard.count), 10);
}

/* The kernel's SIGTERM comes on top, maybe long after Ctrl-C: nobody has lost patience. */
TEST_PLAIN(a_signal_that_comes_with_the_parents_death_is_no_second_request)
{
    struct signals signals;
    struct heard heard;
    int parent = adopt();
    start_with_parent(&signals, &heard, 60);
    kill(getpid(), SIGINT);
    sem_wait(&heard.any);
    ck_assert_int_eq(atomic_load(&heard.code), EXIT_INTERRUPTED);
    atomic_store(&heard.count, 0);
    usleep(700000);
    close(parent);
    kill(getpid(), SIGTERM);
    usleep(300000);
    signals_stop(&signals);
    alarm(0);
    ck_assert_int_eq(atomic_load(&heard.count), 10);
}

/* How a process ends that does nothing about its parent's death; `watching`: while it is told. */
static int end_of_abandoned(bool watching)
{
    int how;
    pid_t process = fork();
    if (process == 0) {
        struct signals signals;
        struct heard heard;
        int parent = adopt();
        signal(SIGALRM, SIG_DFL); /* It is check's. */
        start_with_parent(&signals, &heard, 0.3);
        close(parent);
        sem_wait(&heard.any);
        if (!watching)
            signals_stop(&signals);
        sleep(30);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    return how;
}

TEST_PLAIN(an_abandoned_process_ends_in_time_whatever_it_does)
{
    int how = end_of_abandoned(true);
    ck_assert(WIFEXITED(how));
    ck_assert_int_eq(WEXITSTATUS(how), EXIT_CLUSTER_LOST);
    how = end_of_abandoned(false);
    ck_assert(WIFSIGNALED(how));
    ck_assert_int_eq(WTERMSIG(how), SIGALRM);
}

int main(void)
{
    return suite_run("signals", NULL);
}

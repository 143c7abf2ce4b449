/* hostile.c - servers are children that run the program; honest workers are a crowd (crowd.h). */

#include "tests/lib/hostile.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "common/base/clock.h"
#include "common/store/model_file.h"
#include "tests/lib/scratch.h"

#define DELAY_US 4000 /* Of an honest worker in every update. */

/* --- servers ------------------------------------------------------------------------------- */

static void find_program(char path[DISK_PATH_MAX])
{
    const char *build = getenv("TEST_BUILD");
    char self[DISK_PATH_MAX - 64];
    if (build != NULL) {
        snprintf(path, DISK_PATH_MAX, "%s/syncopate-ps", build);
        return;
    }
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(bytes, 0);
    self[bytes] = '\0';
    snprintf(path, DISK_PATH_MAX, "%s/../../syncopate-ps", dirname(self));
}

static _Noreturn void run_server(const struct hostile *h, uint32_t index, const char *port)
{
    char program[DISK_PATH_MAX], hosts[2 * ADDRESS_MAX + 2], task[12];
    int log = open(h->log[index], O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    find_program(program);
    snprintf(task, sizeof task, "%u", index);
    snprintf(hosts, sizeof hosts, "%s%s127.0.0.1:0", index > 0 ? h->servers[0] : "",
             index > 0 ? "," : "");
    /* With a sanitizer, and others beside it, everybody is slower. */
    const char *silence = HOSTILE_SANITIZED ? "10" : "3";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl(program, program, "--ps-hosts", hosts, "--task-index", task, "--port-file", port, "--out",
          h->out, "--worker-timeout", silence, "--progress-timeout", "6", "--recovery-timeout",
          "20", "--stop-timeout", "10", (char *)NULL);
    _exit(127);
}

static void start_server(struct hostile *h, uint32_t index)
{
    char port[DISK_PATH_MAX], name[32], *text;
    size_t bytes;
    snprintf(name, sizeof name, "server-%u.log", index);
    scratch_path(h->log[index], name);
    snprintf(name, sizeof name, "port-%u", index);
    scratch_path(port, name);
    fflush(NULL);
    h->pids[index] = fork();
    ck_assert_int_ge(h->pids[index], 0);
    if (h->pids[index] == 0)
        run_server(h, index, port);
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    while (!scratch_has(port)) {
        ck_assert_msg(clock_now_seconds() < until, "ps/%u does not start", index);
        usleep(10000);
    }
    text = scratch_read(port, &bytes);
    snprintf(h->servers[index], ADDRESS_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

/* --- the job ------------------------------------------------------------------------------- */

static void make_job(struct hostile *h, enum mode mode, uint64_t updates)
{
    struct job *job = &h->job;
    h->updates = updates;
    snprintf(h->variable.name, sizeof h->variable.name, "w");
    h->variable.rank = 1;
    h->variable.shape[0] = HOSTILE_ELEMENTS;
    job->mode = mode;
    job->variables = &h->variable;
    job->variable_count = 1;
    snprintf(job->optimizer.name, sizeof job->optimizer.name, "sgd");
    job->schedule.learning_rate = 1;
    snprintf(job->model, sizeof job->model, "made up");
    snprintf(job->data, sizeof job->data, "made up");
    job->micro_batch = 1;
    job->batch = mode == MODE_SYNC ? HOSTILE_HONEST : 1;
    job->steps = updates;
    job->examples = updates * job->batch;
    job->test_examples = 10;
    job->chunk_bytes = HOSTILE_CHUNK;
    job->worker_count = HOSTILE_HONEST;
    job->server_count = h->server_count;
    job->servers = h->servers;
}

/* Then the first batches are in, whoever had them. */
static void await_updates(const struct hostile *h)
{
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    for (uint32_t i = 0; i < HOSTILE_HONEST; i++)
        while (crowd_updates(&h->crowd, i, 1) < 2) {
            ck_assert_msg(clock_now_seconds() < until, "worker %u makes no progress", i);
            usleep(1000);
        }
}

void hostile_open(struct hostile *hostile, enum mode mode, uint64_t updates, uint32_t server_count)
{
    struct hostile *h = hostile;
    memset(h, 0, sizeof *h);
    scratch_path(h->out, "out");
    h->server_count = server_count;
    for (uint32_t i = 0; i < server_count; i++)
        start_server(h, i);
    make_job(h, mode, updates);
    crowd_init(&h->crowd, &h->job, "tcp", HOSTILE_HONEST);
    crowd_start(&h->crowd, 0, HOSTILE_HONEST);
    ck_assert_msg(crowd_wait(&h->crowd, 0, HOSTILE_HONEST, HOSTILE_DEADLINE),
                  "the workers do not start");
    await_updates(h);
    hostile_pace(h, DELAY_US);
}

void hostile_pace(const struct hostile *hostile, uint32_t delay_us)
{
    for (uint32_t i = 0; i < HOSTILE_HONEST; i++)
        atomic_store(&hostile->crowd.workers[i].delay_us, delay_us);
}

void hostile_close(struct hostile *hostile)
{
    crowd_end(&hostile->crowd);
    crowd_free(&hostile->crowd);
}

/* --- looking ------------------------------------------------------------------------------- */

double hostile_progress(const struct hostile *hostile)
{
    uint64_t each = hostile->job.mode == MODE_SYNC ? HOSTILE_HONEST : 1;
    return (double)crowd_updates(&hostile->crowd, 0, HOSTILE_HONEST) /
           (double)(each * hostile->updates);
}

static void say_logs(const struct hostile *hostile)
{
    for (uint32_t i = 0; i < hostile->server_count; i++) {
        size_t bytes;
        char *text = scratch_read(hostile->log[i], &bytes);
        fprintf(stderr, "ps/%u:\n%s\n", i, bytes > 4000 ? text + bytes - 4000 : text);
        free(text);
    }
}

bool hostile_logged(const struct hostile *hostile, uint32_t server, const char *text)
{
    size_t bytes;
    char *log = scratch_read(hostile->log[server], &bytes);
    bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

bool hostile_goes_on(const struct hostile *hostile)
{
    bool all = true;
    for (uint32_t i = 0; i < hostile->server_count; i++) {
        siginfo_t how = {0}; /* Left there to be waited for. */
        waitid(P_PID, (id_t)hostile->pids[i], &how, WEXITED | WNOHANG | WNOWAIT);
        if (how.si_pid != 0 && (how.si_code != CLD_EXITED || how.si_status != 0)) {
            say_logs(hostile);
            ck_abort_msg("ps/%u has ended badly", i);
        }
        all = all && how.si_pid == 0;
    }
    return all;
}

/* --- the end ------------------------------------------------------------------------------- */

static int server_ends(struct hostile *h, uint32_t index)
{
    int status;
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    while (waitpid(h->pids[index], &status, WNOHANG) == 0) {
        if (clock_now_seconds() > until) {
            kill(h->pids[index], SIGKILL);
            ck_abort_msg("ps/%u does not end", index);
        }
        usleep(10000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Every value is what so many updates make of it. */
static void check_model(const struct hostile *h, uint64_t updates)
{
    struct model_file file;
    struct error error;
    ck_assert_msg(model_file_open(&file, &disk_posix, h->out, &error) == STATUS_OK, "%s",
                  error.text);
    for (uint32_t i = 0; i < HOSTILE_ELEMENTS; i++)
        ck_assert_msg(file.parameters[i] == -(float)updates, "element %u is %g after %llu updates",
                      i, (double)file.parameters[i], (unsigned long long)updates);
    model_file_close(&file);
}

static void say_workers(const struct hostile *h)
{
    for (uint32_t i = 0; i < HOSTILE_HONEST; i++)
        fprintf(stderr, "worker %u: %d %s\n", i, atomic_load(&h->crowd.workers[i].exit_code),
                h->crowd.workers[i].end);
}

void hostile_end_well(struct hostile *hostile)
{
    struct hostile *h = hostile;
    bool well = crowd_ends(&h->crowd, HOSTILE_DEADLINE);
    int code = 0;
    for (uint32_t i = 0; i < h->server_count; i++) {
        int own = server_ends(h, i);
        code = own != 0 ? own : code;
    }
    if (!well || code != 0) {
        say_logs(h);
        say_workers(h);
    }
    ck_assert_int_eq(code, 0);
    ck_assert_msg(well, "an honest worker ended badly");
    check_model(h, h->updates);
}

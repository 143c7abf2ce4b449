/* job_command.c - a child becomes the program; run.json says afterwards how long each part of a
 * step took. */

#include "tests/bench/lib/job_command.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/json.h"

#define WORDS_MAX 32 /* Of a job. */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* The program of this build: ../../syncopate from here. */
static void find_program(char path[DISK_PATH_MAX])
{
    char self[DISK_PATH_MAX - 32];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        fail("cannot find this program");
    self[bytes] = '\0';
    snprintf(path, DISK_PATH_MAX, "%s/../../syncopate", dirname(self));
}

static double mean_of_workers(const struct json *workers, const char *name)
{
    double sum = 0;
    size_t count = json_length(workers, "");
    for (size_t i = 0; i < count; i++)
        sum += json_number(json_item(workers, i), name);
    return sum / (double)count;
}

static void read_run(struct job_command *command, const char *out)
{
    char path[DISK_PATH_MAX];
    struct json *root;
    struct error error;
    snprintf(path, sizeof path, "%s/run.json", out);
    if (json_read_file(&disk_posix, path, 1 << 24, &root, &error) != STATUS_OK)
        fail(error.text);
    command->training = json_number(root, "seconds");
    command->evaluation = json_number(root, "evaluation_seconds");
    command->checkpoint = json_number(root, "checkpoint_seconds");
    command->trained = command->training + command->evaluation + command->checkpoint;
    command->per_image = 1 / json_number(root, "images_per_second");
    command->accuracy = json_number(root, "test_accuracy");
    const struct json *workers = json_at(root, "worker_details");
    command->compute = mean_of_workers(workers, "compute_seconds");
    command->exchange = mean_of_workers(workers, "exchange_seconds");
    command->wait = mean_of_workers(workers, "wait_seconds");
    command->record_bytes = json_number(root, "record.bytes");
    json_release(&root);
}

/* The reference job. Returns how many words it has. */
static unsigned reference_job(const struct job_command *command, const char *words[])
{
    const char *const job[] = {
        "--mode", "sync",         "--ps",          "1",       "--workers",
        "2",      "--epochs",     command->epochs, "--model", JOB_COMMAND_MODEL,
        "--data", "fashion-mnist"};
    unsigned count = sizeof job / sizeof *job;
    memcpy(words, job, sizeof job);
    if (command->checkpoint_every != NULL) {
        words[count++] = "--checkpoint-every";
        words[count++] = command->checkpoint_every;
    }
    return count;
}

static void execute(const struct job_command *command, const char *out)
{
    const char *arguments[WORDS_MAX + 8] = {"syncopate", "run", "--out", out, "--quiet"};
    unsigned count = 5;
    if (command->job == NULL)
        count += reference_job(command, &arguments[count]);
    for (unsigned i = 0; command->job != NULL && i < WORDS_MAX && command->job[i] != NULL; i++)
        arguments[count++] = command->job[i];
    if (freopen("/dev/null", "w", stdout) != NULL)
        execv(command->program, (char *const *)(uintptr_t)arguments);
    _exit(EXIT_FAILURE);
}

void job_command_run(void *context)
{
    struct job_command *command = context;
    char out[96];
    int status;
    snprintf(out, sizeof out, "%s/%u", command->out, command->run++);
    double began = clock_now_seconds();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        execute(command, out);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        fail("syncopate run has failed");
    command->wall = clock_now_seconds() - began;
    read_run(command, out);
}

void job_command_init(struct job_command *command, unsigned epochs)
{
    memset(command, 0, sizeof *command);
    find_program(command->program);
    snprintf(command->epochs, sizeof command->epochs, "%u", epochs);
    folder_make(command->out);
}

void job_command_free(struct job_command *command)
{
    folder_remove(command->out, NULL);
}

unsigned job_command_epochs(int *argc, char **argv)
{
    const char *text = getenv("BENCH_EPOCHS");
    for (int i = 1; i + 1 < *argc; i++)
        if (strcmp(argv[i], "--epochs") == 0) {
            text = argv[i + 1];
            *argc -= 2;
            memmove(&argv[i], &argv[i + 2], (size_t)(*argc - i) * sizeof *argv);
            break;
        }
    int epochs = text != NULL && text[0] != '\0' ? atoi(text) : 2;
    if (epochs < 1)
        fail("--epochs takes a number from 1");
    return (unsigned)epochs;
}

/* bench_job.c - the reference job, whole command and all: `syncopate run --mode sync --ps 1
 * --workers 2` on Fashion-MNIST with test accuracy, beside the same gradients with no exchange.
 *
 *     bench_job [--json FILE] [--more] [--epochs E]
 *
 * Issue 3's rows J1 and J2 are about ten epochs; fewer (2 unless BENCH_EPOCHS or --epochs says
 * otherwise) are scaled plainly: what an epoch took times ten, and the rest of the command once. */

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/disk.h"
#include "common/json.h"
#include "tests/bench/folder.h"
#include "tests/bench/lone_workers.h"
#include "tests/lib/benchmark.h"

#define WORKERS 2
#define EPOCHS  10
#define ROUNDS  3
#define MODEL   "cnn"

struct command {
    char program[DISK_PATH_MAX], out[FOLDER_PATH_MAX], epochs[16];
    unsigned run;
    /* Of the last run, seconds. */
    double wall, training, evaluation, checkpoint;
    double per_image;                      /* Seconds of training. */
    double accuracy;                       /* Share. */
    double compute, exchange, wait;        /* Mean of the workers. */
    double ten_epochs[MEASURE_ROUNDS_MAX]; /* Of every run so far, as scaled. */
};

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

static void read_run(struct command *command, const char *out)
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
    command->per_image = 1 / json_number(root, "images_per_second");
    command->accuracy = json_number(root, "test_accuracy");
    const struct json *workers = json_at(root, "worker_details");
    command->compute = mean_of_workers(workers, "compute_seconds");
    command->exchange = mean_of_workers(workers, "exchange_seconds");
    command->wait = mean_of_workers(workers, "wait_seconds");
    json_release(&root);
}

/* Seconds that ten epochs take: what these did, scaled, and the rest of the command once. */
static double scale_to_ten(const struct command *command)
{
    double trained = command->training + command->evaluation + command->checkpoint;
    return command->wall - trained + trained * EPOCHS / atoi(command->epochs);
}

static void run_command(void *context)
{
    struct command *command = context;
    char out[96];
    int status;
    snprintf(out, sizeof out, "%s/%u", command->out, command->run);
    double began = clock_now_seconds();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(EXIT_FAILURE);
        execl(command->program, "syncopate", "run", "--mode", "sync", "--ps", "1", "--workers", "2",
              "--epochs", command->epochs, "--model", MODEL, "--data", "fashion-mnist", "--out",
              out, "--quiet", (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        fail("syncopate run has failed");
    command->wall = clock_now_seconds() - began;
    if (command->run >= MEASURE_ROUNDS_MAX)
        fail("too many runs");
    read_run(command, out);
    command->ten_epochs[command->run++] = scale_to_ten(command);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void show(struct benchmark *benchmark, struct command *command, unsigned epochs,
                 const struct measured measured[2])
{
    struct measured wall = measured[0];
    bool whole = epochs == EPOCHS;
    for (unsigned i = 0; i < wall.rounds; i++)
        wall.seconds[i] = command->ten_epochs[i];
    char what[64];
    snprintf(what, sizeof what, "ten epochs, whole command%s", whole ? "" : ", scaled");
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &wall,
                                               .setting = "sync 1 ps",
                                               .target = {.most = 10}});
    benchmark_line(benchmark, &(struct figure){.what = "training, images/s",
                                               .unit = "images/s",
                                               .per_call = 1,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "gradients alone, 2 cores",
                                               .setting = "sync 1 ps",
                                               .target = {.ratio_least = 0.85}});
    struct measured accuracy = measure_value(100 * command->accuracy);
    benchmark_line(benchmark, &(struct figure){.what = whole ? "test accuracy"
                                                             : "test accuracy, not trained out",
                                               .unit = "%",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &accuracy,
                                               .limit_name = "PyTorch 90.9, margin 0.6",
                                               .target = {.least = whole ? 90.3 : 0}});
    benchmark_remark(benchmark,
                     "%u epochs, the last run: command %.2f s = training %.2f + evaluation %.2f + "
                     "checkpoints %.2f + start and end %.2f",
                     epochs, command->wall, command->training, command->evaluation,
                     command->checkpoint,
                     command->wall - command->training - command->evaluation - command->checkpoint);
    benchmark_remark(benchmark,
                     "a worker: %.2f s computing, %.2f exchanging, %.2f waiting at the barrier",
                     command->compute, command->exchange, command->wait);
}

/* --- the program ---------------------------------------------------------------------------- */

/* Takes --epochs out of the arguments. */
static unsigned read_epochs(int *argc, char **argv)
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

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    struct command command = {.run = 0};
    struct dataset dataset;
    struct error error;
    unsigned epochs = read_epochs(&argc, argv);
    benchmark_open(&benchmark, "job", argc, argv);
    if (dataset_open(&dataset, "fashion-mnist", 1, &error) != STATUS_OK)
        fail(error.text);
    find_program(command.program);
    snprintf(command.epochs, sizeof command.epochs, "%u", epochs);
    folder_make(command.out);
    struct lone_workers lone = {MODEL, &dataset, WORKERS, epochs, 0};
    struct piece pieces[2] = {
        {.work = run_command, .context = &command, .cold = true, .own_seconds = &command.per_image},
        {.work = lone_workers_run,
         .context = &lone,
         .cold = true,
         .own_seconds = &lone.seconds_per_image}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, ROUNDS, measured);
    show(&benchmark, &command, epochs, measured);
    folder_remove(command.out);
    dataset_close(&dataset);
    return benchmark_close(&benchmark);
}

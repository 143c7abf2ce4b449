/* options_table.c - the table itself, a row an option, and the words that stand for values. */

#include "common/options/options_table.h"

#include <stdio.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/job/compensation.h"
#include "common/job/job_fields.h"
#include "common/job/partition.h"
#include "common/watch/http_place.h"

#define TO_TEXT(number)    TO_TEXT_OF(number)
#define TO_TEXT_OF(number) #number

/* --- choices ------------------------------------------------------------------------------- */

static bool read_mode(const char *text, struct options *options)
{
    struct mode_setting setting;
    if (mode_read(text, &setting) != STATUS_OK)
        return false;
    job_set_mode(&options->job, setting);
    return true;
}

static void write_mode(const struct options *options, char *text, size_t size)
{
    snprintf(text, size, "%s", job_mode_text(&options->job).text);
}

static bool read_compensation(const char *text, struct options *options)
{
    return compensation_read(text, &options->job) == STATUS_OK;
}

static void write_compensation(const struct options *options, char *text, size_t size)
{
    snprintf(text, size, "%s", compensation_text(&options->job).text);
}

static bool read_max_staleness(const char *text, struct options *options)
{
    return job_read_max_staleness(text, &options->job) == STATUS_OK;
}

static void write_max_staleness(const struct options *options, char *text, size_t size)
{
    snprintf(text, size, "%s", job_max_staleness_text(&options->job).text);
}

static const char *colocated_word(unsigned index)
{
    static const char *const words[] = {"colocated", NULL};
    return words[index];
}

static const char *optimizer_word(unsigned index)
{
    const struct optimizer *optimizer = optimizer_at(index);
    return optimizer != NULL ? optimizer->name : NULL;
}

/* A number of servers, or that there is one beside each worker: how many that is comes with the
 * workers, and until then there are some. */
static bool read_servers(const char *text, uint64_t least, struct options *options)
{
    uint64_t number = 1;
    bool colocated = spelling_same(text, colocated_word(0));
    if (!colocated &&
        (!option_parse_u64(text, &number) || number < least || number > JOB_SERVERS_MAX))
        return false;
    options->job.colocated = colocated;
    options->ps = (uint32_t)number;
    return true;
}

static bool read_any_servers(const char *text, struct options *options)
{
    return read_servers(text, 0, options);
}

static bool read_some_servers(const char *text, struct options *options)
{
    return read_servers(text, 1, options);
}

/* Of a worker, whose servers are named by --ps-hosts. */
static bool read_alone(const char *text, struct options *options)
{
    struct options read = *options;
    if (!read_servers(text, 0, &read) || (!read.job.colocated && read.ps != 0))
        return false;
    *options = read;
    return true;
}

static void write_servers(const struct options *options, char *text, size_t size)
{
    if (options->job.colocated)
        snprintf(text, size, "%s", colocated_word(0));
    else
        snprintf(text, size, "%u", options->ps);
}

static const char *job_name_word(unsigned index)
{
    static const char *const words[] = {"ps", "worker", NULL};
    return words[index];
}

static const char *task_name_word(unsigned index)
{
    static const char *const words[] = {"ps", "worker", "chief", "master", "evaluator", NULL};
    return words[index];
}

/* As deploy/place has them. */
static const char *source_word(unsigned index)
{
    static const char *const words[] = {"auto", "tf-config",  "slurm", "mpi", "torchrun",
                                        "dmlc", "kubernetes", "none",  NULL};
    return words[index];
}

static const char *transport_word(unsigned index)
{
    static const char *const words[] = {"auto", "tcp", "shm", NULL};
    return words[index];
}

static const char *role_word(unsigned index)
{
    static const char *const words[] = {"ps", "worker", "observer", NULL};
    return words[index];
}

static const char *compute_word(unsigned i)
{
    return i == DISTRIBUTION_COUNT ? "trace" : distribution_name(i);
}

static const char *loss_word(unsigned index)
{
    static const char *const words[] = {"continue", "wait", "fail", NULL};
    return words[index];
}

static const char *term_word(unsigned index)
{
    static const char *const words[] = {"stop", "leave", NULL};
    return words[index];
}

static const char *best_word(unsigned index)
{
    static const char *const words[] = {"accuracy", "loss", NULL};
    return words[index];
}

static const char *log_format_word(unsigned index)
{
    static const char *const words[] = {"text", "json", NULL};
    return words[index];
}

static const char *model_word(unsigned index)
{
    static const char *const words[] = {"cnn", "mlp", "softmax", NULL};
    return words[index];
}

static const char *data_word(unsigned index)
{
    static const char *const words[] = {"fashion-mnist", "synthetic", NULL};
    return words[index];
}

static const char *restore_word(unsigned index)
{
    static const char *const words[] = {"auto", "never", NULL};
    return words[index];
}

static enum status check_modes(const char *list, struct error *error)
{
    struct mode_setting modes[OPTIONS_MODES_MAX];
    uint32_t count;
    return options_modes(list, modes, OPTIONS_MODES_MAX, &count, error);
}

static enum status check_counts(const char *list, struct error *error)
{
    uint32_t counts[OPTIONS_COUNTS_MAX], count;
    return options_counts(list, counts, OPTIONS_COUNTS_MAX, &count, error);
}

static const char *keep_word(unsigned index)
{
    static const char *const words[] = {"all", NULL};
    return words[index];
}

static const char *instructions_word(unsigned index)
{
    return index < KERNELS_INSTRUCTIONS_COUNT
               ? kernels_instructions_word((enum kernels_instructions)index)
               : NULL;
}

static const char *initial_missing_word(unsigned index)
{
    static const char *const words[] = {"refuse", "new", NULL};
    return words[index];
}

static const struct option_choice choice_mode = {
    .word = mode_word,
    .numbered = mode_numbered,
    .read = read_mode,
    .write = write_mode,
    .expected = MODE_BOUND_WORDS,
};
static const struct option_choice choice_optimizer = {.word = optimizer_word};
static const struct option_choice choice_schedule = {.word = schedule_numbered,
                                                     .numbered = schedule_numbered};
static const struct option_choice choice_staleness_rate = {.word = staleness_rate_numbered,
                                                           .numbered = staleness_rate_numbered};
static const struct option_choice choice_record = {.word = recording_numbered,
                                                   .numbered = recording_numbered};
static const struct option_choice choice_loss_scale = {.word = loss_scale_numbered,
                                                       .numbered = loss_scale_numbered};
static const struct option_choice choice_compensation = {
    .read = read_compensation,
    .write = write_compensation,
    .expected = COMPENSATION_WORDS,
};
static const struct option_choice choice_max_staleness = {
    .read = read_max_staleness,
    .write = write_max_staleness,
    .expected = MAX_STALENESS_WORDS,
};
static const struct option_choice choice_job_name = {.word = job_name_word};
static const struct option_choice choice_task_name = {.word = task_name_word};
static const struct option_choice choice_source = {.word = source_word};
static const struct option_choice choice_transport = {.word = transport_word};
static const struct option_choice choice_role = {.word = role_word};
static const struct option_choice choice_loss = {.word = loss_word};
static const struct option_choice choice_term = {.word = term_word};
static const struct option_choice choice_best = {.word = best_word};
static const struct option_choice choice_initial_missing = {.word = initial_missing_word};
static const struct option_choice choice_log_format = {.word = log_format_word};
static const struct option_choice choice_mode_name = {.word = mode_numbered};
static const struct option_choice choice_modes = {.check = check_modes, .known = mode_word};
static const struct option_choice choice_model = {.known = model_word};
static const struct option_choice choice_data = {.known = data_word};
static const struct option_choice choice_restore = {.known = restore_word};
static const struct option_choice choice_counts = {.check = check_counts};
static const struct option_choice choice_compute = {.check = option_compute_check,
                                                    .known = compute_word};
static const struct option_choice choice_straggle = {.check = option_straggle_check};
static const struct option_choice choice_pause = {.check = option_pause_check};
static const struct option_choice choice_slow = {.check = option_slow_check};
static const struct option_choice choice_place = {.check = option_place_check};
static const struct option_choice choice_job_id = {.check = option_job_id_check};
static const struct option_choice choice_keep = {.check = option_keep_check, .known = keep_word};
static const struct option_choice choice_instructions = {.check = option_instructions_check,
                                                         .known = instructions_word};
static const struct option_choice choice_servers = {
    .read = read_any_servers,
    .write = write_servers,
    .expected = "a whole number from 0 to " TO_TEXT(JOB_SERVERS_MAX) ", or colocated",
    .known = colocated_word,
};
static const struct option_choice choice_some_servers = {
    .read = read_some_servers,
    .write = write_servers,
    .expected = "a whole number from 1 to " TO_TEXT(JOB_SERVERS_MAX) ", or colocated",
    .known = colocated_word,
};
static const struct option_choice choice_alone = {
    .read = read_alone,
    .write = write_servers,
    .expected = "0, for a worker that trains alone, or colocated; servers are named by --ps-hosts, "
                "and 'syncopate run --ps N' starts servers and workers",
    .known = colocated_word,
};

static const char *fair_word(unsigned index)
{
    static const char *const words[] = {"global-batch", "worker-batch", NULL};
    return words[index];
}

static const char *scale_word(unsigned index)
{
    static const char *const words[] = {"none", "linear", "sqrt", NULL};
    return words[index];
}

static const char *tell_word(unsigned index)
{
    static const char *const words[] = {"all", "progress", NULL};
    return words[index];
}

static const struct option_choice choice_tell = {.word = tell_word};
static const struct option_choice choice_ports = {.check = option_ports_check};
static const char *log_axes_word(unsigned index)
{
    static const char *const words[] = {"none", "x", "y", "xy", NULL};
    return words[index];
}

static const struct option_choice choice_log_axes = {.word = log_axes_word};
static const struct option_choice choice_serve = {.check = http_place_check};
static const struct option_choice choice_fair = {.word = fair_word};
static const struct option_choice choice_scale = {.word = scale_word};

/* --- rows ---------------------------------------------------------------------------------- */

#define FIELD(name) offsetof(struct options, name)

#define ONE_RUN  (OPTION_RUN | OPTION_LAUNCH) /* Here, or on several hosts. */
#define JOB      (OPTION_WORKER | OPTION_TASK | ONE_RUN | OPTION_COMPARE | OPTION_SIMULATE)
#define READS    (JOB | OPTION_CALIBRATE | OPTION_EVALUATE)
#define SERVES   (OPTION_PS | OPTION_TASK)
#define WORKS    (OPTION_WORKER | OPTION_TASK)
#define ROLES    (OPTION_PS | OPTION_WORKER | OPTION_TASK)
#define MODELS   (OPTION_SIMULATE | OPTION_COMPARE) /* A cluster in virtual time. */
#define LAUNCHES (ONE_RUN | OPTION_COMPARE)
#define RUNS     (ROLES | LAUNCHES)
#define TRAINS   (RUNS | OPTION_SIMULATE) /* In real time or virtual. */

/* A field of the declaration that an option says: what job_rows.inc has in its row. */
#define JOB_FIELD(...)
#define JOB_OPTION(member, wire, words, kind, flags, least, most, word, name, group, users,        \
                   metavar, fallback, choice, only_with, help)                                     \
    {name,  group,   OPTION_KIND_##kind, offsetof(struct options, job.member),                     \
     users, metavar, fallback,           (flags)&JOB_OR_ZERO ? 0 : (least),                        \
     most,  choice,  only_with,          help},
#define OPTION_KIND_FRACTION OPTION_KIND_FLOAT
#define OPTION_KIND_RATE     OPTION_KIND_REAL

/* clang-format off */
const struct option_row option_rows[] = {
    /* The job. */
    {"modes", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(modes), OPTION_COMPARE, "LIST",
     "sync,async", 0, 0, &choice_modes, NULL, "Modes to compare."},
    {"model", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(model), JOB | OPTION_CALIBRATE, "MODEL", "cnn", 0, 0, &choice_model,
     NULL,
     "cnn, mlp, softmax, or a layer list such as \"conv 32x3 relu, pool 2, flatten, dense 10\"."},
    {"data", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data), JOB | OPTION_CALIBRATE, "DATA",
     "fashion-mnist", 0, 0, &choice_data, NULL,
     "fashion-mnist (Debian's package dataset-fashion-mnist), synthetic or synthetic:N (N examples "
     "made from the seed), a folder of IDX files, FILE.npz, X.npy,Y.npy,TX.npy,TY.npy, or FILE.csv with --label."},
    {"label", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data_settings[DATA_SETTING_LABEL]), READS, "COLUMN", NULL, 0, 0,
     NULL, NULL,
     "Of a CSV file: the column to learn, by its name or its number, the first being 1. All others are inputs."},
    {"test-part", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data_settings[DATA_SETTING_TEST_PART]), READS, "P", NULL, 0,
     0, NULL, NULL,
     "Part of the examples that is put aside for testing, of data without a test set: 0 to 0.9. The same examples for "
     "every seed. Default: 0.2."},
    {"classes", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data_settings[DATA_SETTING_CLASSES]), READS, "N", NULL, 0, 0,
     NULL, NULL, "Number of classes, where the data at hand lack some. Default: as the labels have it."},
    {"scale", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data_settings[DATA_SETTING_SCALE]), READS,
     "auto|bytes|standard|none", NULL, 0, 0, NULL, NULL,
     "What is done to inputs: bytes, divided by 255; standard, each column of a table to mean 0 and deviation 1 over "
     "the training set. Default: auto, which is bytes for whole numbers from 0 to 255, standard for other CSV files, "
     "and none for other floats."},
    {"loss", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data_settings[DATA_SETTING_LOSS]), READS & ~MODELS, "softmax|mse",
     NULL, 0, 0, NULL, NULL,
     "softmax: labels are classes. mse: labels are real numbers, and the loss is the mean squared error. Default: "
     "softmax."},
    {"program", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(program),
     JOB | OPTION_CALIBRATE | OPTION_EVALUATE | OPTION_EXPORT | OPTION_REPLAY | OPTION_PROBE, "COMMAND", NULL, 0, 0, NULL, NULL,
     "A command that computes gradients in place of --model and --data, such as \"python3 net.py\"; it is started "
     "beside each worker. No file of a run has it."},
    {"policy", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(policy), OPTION_SIMULATE, "COMMAND", NULL, 0, 0, NULL, NULL,
     "A command that is asked what becomes of each gradient, and in ssp who gets a batch, in lines of JSON "
     "(deploy/VIRTUAL.md), such as \"python3 mine.py\"."},
    {"policy", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(policy), OPTION_REPLAY, "COMMAND", NULL, 0, 0, NULL, NULL,
     "A command that is asked anew about each recorded gradient of async or ssp, as of simulate: apply, with a rate, or "
     "ignore. Order, bases and staleness stay as recorded; gradients are computed anew."},
    {"program-fd", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(program_fd), WORKS | OPTION_SIMULATE,
     "SOCKET,MEMORY", NULL, 0, 0, NULL, NULL, "Descriptors of a parent that computes gradients itself."},
    {"model", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(model), OPTION_EVALUATE, "MODEL", NULL, 0, 0, &choice_model, NULL,
     "Layers of a model file that does not name them, as after another program saved it again."},
    {"data", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data), OPTION_EVALUATE, "DATA", NULL, 0, 0,
     &choice_data, NULL,
     "Data to score on, as of run. Default: what the run or the checkpoint was trained on; for a model file alone, which "
     "does not say, fashion-mnist."},
    {"data", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data), OPTION_REPLAY, "DATA", NULL, 0, 0,
     &choice_data, NULL,
     "Where the data are here that the run was trained on. Default: the name that it had for them."},
    {"until", OPTION_GROUP_JOB, OPTION_KIND_U64, FIELD(until), OPTION_REPLAY, "N", NULL, 1, 1e15, NULL,
     NULL, "Stop when every chunk has had its first N batches. Default: go to the record's end."},
    {"global-batch", OPTION_GROUP_JOB, OPTION_KIND_U32, FIELD(global_batch), JOB, "N", "64", 1,
     BATCH_MAX, NULL, NULL, "Examples in one sync update; no more than there are to train on."},
    {"worker-batch", OPTION_GROUP_JOB, OPTION_KIND_U32, FIELD(worker_batch), JOB, "N", NULL, 1,
     BATCH_MAX, NULL, "mode=leases",
     "Examples in one batch of async or ssp. Default: as --global-batch, so that all modes train on "
     "as many batches."},
    {"epochs", OPTION_GROUP_JOB, OPTION_KIND_U64, FIELD(epochs), JOB, "N", "10", 1, 1000000, NULL,
     NULL, "Passes over the training set."},

    /* What the declaration has as it was given, and the optimizer's. */
#include "common/job/job_rows.inc"

    {"warmup-epochs", OPTION_GROUP_OPTIMIZER, OPTION_KIND_REAL, FIELD(warmup_epochs), JOB, "E", NULL, 0, 1000000, NULL,
     NULL, "The same as --warmup-steps, in epochs: 0.5."},
    {"optimizer", OPTION_GROUP_OPTIMIZER, OPTION_KIND_NAME, FIELD(job.optimizer.name), OPTION_CALIBRATE,
     "NAME", "adam", 0, 0, &choice_optimizer, NULL, "Update rule whose time a byte is measured."},
    {"transport", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(transport), OPTION_CALIBRATE, "WAY", "tcp", 0,
     0, &choice_transport, NULL,
     "How the measured processes exchange: tcp: ZeroMQ, as between hosts; shm: shared memory, as between "
     "processes of one; auto: which of the two a run would take here."},
    {"optimizer", OPTION_GROUP_OPTIMIZER, OPTION_KIND_NAME, FIELD(job.optimizer.name), OPTION_REPLAY,
     "NAME", NULL, 0, 0, &choice_optimizer, NULL,
     "Apply the same gradients' history by this rule, with its default settings and, unless "
     "--learning-rate is given, its default rate."},
    {"learning-rate", OPTION_GROUP_OPTIMIZER, OPTION_KIND_REAL, FIELD(job.schedule.learning_rate),
     OPTION_REPLAY, "F", NULL, 0, 1e6, NULL, NULL,
     "Base learning rate in place of the run's."},
    {"staleness-rate", OPTION_GROUP_OPTIMIZER, OPTION_KIND_WORD, FIELD(job.staleness_rate),
     OPTION_REPLAY, "NAME", NULL, 0, 0, &choice_staleness_rate, NULL,
     "What staleness takes off the learning rate, in place of the run's."},
    {"l2", OPTION_GROUP_OPTIMIZER, OPTION_KIND_FLOAT, FIELD(job.l2), OPTION_REPLAY, "F", NULL, 0, 1e6, NULL,
     NULL, "What is added to the gradients of kernels, 2 F w, in place of the run's."},
    {"loss-scale", OPTION_GROUP_OPTIMIZER, OPTION_KIND_WORD, FIELD(job.loss_scale), OPTION_REPLAY,
     "examples|global-batch", NULL, 0, 0, &choice_loss_scale, NULL,
     "What a sum of gradients is divided by, in place of the run's."},
    {"seed", OPTION_GROUP_JOB, OPTION_KIND_U64, FIELD(job.seed), OPTION_EVALUATE, "N", NULL, 0,
     JOB_ANY_NUMBER, NULL, NULL,
     "Decides synthetic data. Default: what the run or the checkpoint was trained with; for a model "
     "file alone 1."},
    {"seed", OPTION_GROUP_JOB, OPTION_KIND_U64, FIELD(job.seed), OPTION_VERIFY, "N", "1", 0,
     JOB_ANY_NUMBER, NULL, NULL, "Decides everything about a history: job, cluster and faults."},
    {"mode", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(only_mode), OPTION_VERIFY, "NAME", NULL, 0, 0,
     &choice_mode_name, NULL, "Pass over the seeds of other modes."},
    {"histories", OPTION_GROUP_JOB, OPTION_KIND_U64, FIELD(histories), OPTION_VERIFY, "N", "1", 1,
     1e9, NULL, NULL, "Play so many, with seeds from --seed on."},
    {"name", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(name), OPTION_LAB, "TEXT", NULL, 0, 0, NULL, NULL,
     "The student, from whom the seed follows. Default: \"name\" in the answers."},
    {"vary", OPTION_GROUP_JOB, OPTION_KIND_LIST, FIELD(vary), OPTION_COMPARE, "NAME=LIST", NULL, 0, 0, NULL, NULL,
     "Give an option several values, each an arm of the comparison: learning-rate=0.01,0.1. Given several "
     "times, every value of one meets every value of the others; workers=1,2+ps=1,2 takes them in pairs. "
     "Values with commas in them are parted by semicolons."},
    {"arm", OPTION_GROUP_JOB, OPTION_KIND_LIST, FIELD(config), OPTION_COMPARE, "NAME=OPTIONS", NULL, 0, 0, NULL, NULL,
     "An arm by name, with options of its own in which it differs: \"slow=--mode async --learning-rate 0.01\". "
     "Given several times. What else is asked for is the same for all; lists in --modes, --workers and --vary make as "
     "many arms of each. Without --modes an arm that says no --mode is sync."},
    {"plan", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(plan), OPTION_COMPARE, "FILE", NULL, 0, 0, NULL, NULL,
     "What is to be compared, in JSON (deploy/COMPARING.md): options, what is varied, arms by name. What else "
     "is said here stands over it. A comparison leaves its own as OUT/plan.json."},
    {"fair", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(fair), OPTION_COMPARE, "WHAT", "global-batch", 0, 0,
     &choice_fair, NULL,
     "What is alike whatever the mode and the workers. global-batch: how many examples make an update. "
     "worker-batch: how many a worker has for it, so that a step of all has as many more as there are workers."},
    {"scale-rate", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(scale_rate), OPTION_COMPARE, "HOW", "none", 0, 0,
     &choice_scale, NULL,
     "With --fair worker-batch: how the learning rate rises with the examples that make an update: linear "
     "(Goyal 2017), sqrt or none. One that is raised so begins as it would have been and rises over the first epoch, or "
     "fifth of training if that is less, unless --warmup-steps or --warmup-epochs says how long (0: it does not)."},
    {"virtual", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(virtual_time), OPTION_COMPARE, NULL, NULL, 0, 0,
     NULL, NULL,
     "Make the runs in virtual time, as simulate does, on a modelled cluster: as many at once as there are "
     "processors. Seconds are then that cluster's."},
    {"warm-up", OPTION_GROUP_JOB, OPTION_KIND_U32, FIELD(warm_up), OPTION_COMPARE, "STEPS", "20", 0, 100000, NULL, NULL,
     "Steps of a run of each arm before those that count, in OUT/warm-up; its figures count nowhere. 0: none. In "
     "virtual time there is nothing to warm up."},
    {"seeds", OPTION_GROUP_JOB, OPTION_KIND_U32, FIELD(seeds), OPTION_COMPARE, "N", "1", 1, 1000,
     NULL, NULL, "Repeat every run with this many seeds, from --seed on."},

    /* The cluster. */
    {"ps", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(ps), LAUNCHES, "N|colocated", "1",
     0, JOB_SERVERS_MAX, &choice_servers, NULL,
     "Servers; 0: one process trains alone, without any. colocated: as many as there are workers, one at "
     "each worker's place, so that there are no dedicated servers."},
    {"ps", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(ps), OPTION_SIMULATE, "N|colocated", "1", 1,
     JOB_SERVERS_MAX, &choice_some_servers, NULL,
     "Servers. colocated: as many as there are workers, each on the host of one."},
    {"ps", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(ps), OPTION_WORKER, "0|colocated", NULL, 0, 0,
     &choice_alone, NULL,
     "0: train alone, without servers; needs --out. colocated: server I of --ps-hosts runs at the place of "
     "worker I, and there are as many workers as it names; who comes beyond them owns nothing, and may leave."},
    {"ps", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(ps), OPTION_TASK, "N|colocated", NULL, 0,
     JOB_SERVERS_MAX, &choice_servers, NULL,
     "How many of the job's processes are servers: the first, where an engine numbers all of them. "
     "colocated: every process is a worker and a server. 0: one process trains alone."},
    {"cluster-from", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster_from), OPTION_TASK, "SOURCE", "auto",
     0, 0, &choice_source, NULL,
     "Which variables say what this process is: auto: the first there are; tf-config: TF_CONFIG; slurm: srun's; "
     "mpi: mpirun's; torchrun: RANK and WORLD_SIZE; dmlc: DMLC_ROLE; kubernetes: a pod's index; none: "
     "--job-name and --task-index alone."},
    {"meet", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(meet), OPTION_TASK, "DIR", NULL, 0, 0, NULL, NULL,
     "Of Slurm and MPI: folder that all hosts share, in which servers leave their addresses, with whatever port is free, "
     "for the others. Default: OUT.addresses under mpirun on several hosts, and none otherwise."},
    {"port-base", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(port_base), OPTION_TASK, "PORT", NULL, 1, 65535,
     NULL, NULL,
     "Where an engine says on which hosts servers are: server I listens on PORT + I. Default: follows from the "
     "job's number, 20000 to 31199, or from MASTER_PORT."},
    {"workers", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(workers), OPTION_RUN | OPTION_SIMULATE,
     "N", "2", 1, JOB_WORKERS_MAX, NULL, NULL, "Workers."},
    {"workers", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(worker_counts), OPTION_COMPARE,
     "LIST", "2", 0, 0, &choice_counts, NULL,
     "Numbers of workers to compare, for example 1,2,4."},
    {"workers", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(workers), WORKS, "N", NULL, 1,
     JOB_WORKERS_MAX, NULL, NULL,
     "Workers in the job. Default: as many as --worker-hosts names."},
    {"ps-hosts", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(ps_hosts), ROLES, "LIST", NULL, 0, 0,
     NULL, NULL, "Every server's host:port, in order, with commas; the same for all processes. "
     "node[1-3]:7000 is node1:7000,node2:7000,node3:7000."},
    {"worker-hosts", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(worker_hosts), ROLES, "LIST",
     NULL, 0, 0, NULL, NULL,
     "Every worker's host:port; only counted, since workers do not listen."},
    {"job-name", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(job_name), OPTION_PS | OPTION_WORKER, "ps|worker", NULL,
     0, 0, &choice_job_name, NULL, "Accepted for scripts that give it; must name this program."},
    {"job-name", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(job_name), OPTION_TASK, "NAME", NULL,
     0, 0, &choice_task_name, NULL,
     "What this process is, where no engine says it; with one, what all that were started alike are (the pods of "
     "a set, a part of a het job, a program of mpirun's): their index is the engine's. chief and master are worker 0, the other workers then from 1 on."},
    {"task-index", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(task_index), ROLES, "I", "0", 0,
     JOB_WORKERS_MAX - 1, NULL, NULL, "Which of its hosts this process is, from 0."},
    {"job-id", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(job_id), ROLES | ONE_RUN, "TEXT", NULL, 0, 0,
     &choice_job_id, NULL,
     "What this job is called, and no other on the same ports: a process of a job called otherwise is refused "
     "(exit code 3). Default: of a task of Slurm, MPI or torchrun what that calls the job; otherwise nothing, which "
     "belongs to any."},
    {"bind", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(bind), SERVES, "ADDRESS", NULL, 0, 0,
     NULL, NULL,
     "host:port to listen on when it is not the one that --ps-hosts advertises; :port is every "
     "address of this host; port 0: any free one."},
    {"port-file", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(port_file), SERVES, "FILE", NULL,
     0, 0, NULL, NULL, "Write the address to FILE once the server listens."},
    {"parent-stdin", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(parent_stdin), ROLES, NULL, NULL,
     0, 0, NULL, NULL,
     "The launcher of this process writes a line to its standard input and keeps it open for life "
     "(a pipe, ssh, exec -i). When it ends, so does this process, as on SIGTERM, within 10 s or "
     "--stop-timeout; a lost process is then not waited for."},
    {"data-fd", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(data_fd), OPTION_WORKER | OPTION_TASK, "N", NULL, 3,
     65535, NULL, NULL,
     "A descriptor of memory (memfd) that all workers of this host were given: the first to come reads the data into "
     "it, the others find them there."},
    {"insecure", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(insecure), SERVES, NULL, NULL, 0,
     0, NULL, NULL, "Listen beyond loopback although no keys are given."},
    {"hosts", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(hosts), OPTION_LAUNCH, "FILE", NULL, 0, 0, NULL, NULL,
     "The hosts, one a line: [user@]host[:sshport] [slots=N] [role=ps|worker]; # begins a remark. slots: processes "
     "that it takes; by default all are dealt over the hosts in turn."},
    {"host-list", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(host_list), OPTION_LAUNCH, "LIST", NULL, 0, 0, NULL,
     NULL, "The same as a list, host:slots with commas; also -H LIST: -H alpha:2,kim@beta:2."},
    {"ssh", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(ssh), OPTION_LAUNCH, "COMMAND", "ssh", 0, 0, NULL, NULL,
     "How to log in, with whatever options: \"ssh -F file\". No password can be typed (BatchMode)."},
    {"remote-bin", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(remote_bin), OPTION_LAUNCH, "DIR", NULL, 0, 0, NULL,
     NULL, "Folder of the programs on the hosts. Default: the one that they are in here."},
    {"port-base", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(port_base), OPTION_LAUNCH, "PORT", "20000", 1024, 65000,
     NULL, NULL,
     "Server I listens on PORT + I; where one of these is taken on its host, all move on to the next PORT, 16 higher "
     "or as many as there are servers."},
    {"insecure", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(insecure), OPTION_LAUNCH, NULL, NULL, 0, 0, NULL, NULL,
     "Make no keys: the network between the hosts is trusted. Processes of one host then share memory. By default "
     "keys are made for the job, and each process is given only its own."},
    {"ports", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(ports), OPTION_PROBE, "FIRST-LAST", NULL, 0, 0,
     &choice_ports, NULL, "Say which of these ports have a listener here."},
    {"data", OPTION_GROUP_JOB, OPTION_KIND_TEXT, FIELD(data), OPTION_PROBE, "DATA", NULL, 0, 0, &choice_data, NULL,
     "Say whether these data are here, as of run."},
    {"instructions", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(instructions), OPTION_PROBE, "SET", NULL, 0, 0,
     &choice_instructions, NULL, "Compute with no wider vector instructions than plain, avx2 or avx512."},
    {"tell", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(tell), SERVES, "all|progress", "all", 0, 0, &choice_tell,
     NULL,
     "What server 0 tells on standard output. all: how training goes, and at the end a summary. progress: without the "
     "summary, which the launcher makes of the run directory."},
    {"keys", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(keys), RUNS | OPTION_INSPECT | OPTION_LEAVE, "DIR",
     NULL, 0, 0, NULL, NULL,
     "Encrypt everything, and let in only peers with a certificate (*.key) in the servers' DIR. "
     "In DIR are servers.key and what this process needs of servers.key_secret, "
     "worker-I.key_secret and observer.key_secret (syncopate keygen). Memory is then not shared "
     "between processes."},
    {"certificate", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(certificate),
     ROLES | OPTION_INSPECT | OPTION_LEAVE, "FILE", NULL, 0, 0, NULL, NULL,
     "Secret certificate of this process, when it is not the one named above in --keys."},
    {"role", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(role), OPTION_KEYGEN, "ROLE", NULL, 0, 0,
     &choice_role, NULL,
     "Let the key be this and nothing else: ps, worker or observer. Default: anything."},
    {"index", OPTION_GROUP_CLUSTER, OPTION_KIND_I32, FIELD(index), OPTION_KEYGEN, "I", "-1", -1,
     JOB_WORKERS_MAX - 1, NULL, NULL, "And only the task of this number; -1: any."},
    {"workers", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(workers), OPTION_LAUNCH, "N", NULL, 1,
     JOB_WORKERS_MAX, NULL, NULL,
     "Workers. Default: as many as the hosts have slots for beside the servers, or one a host."},
    {"workers", OPTION_GROUP_CLUSTER, OPTION_KIND_U32, FIELD(workers), OPTION_KEYGEN, "N", NULL, 1,
     JOB_WORKERS_MAX, NULL, NULL,
     "Make all that a job with N workers needs, in the folder PATH; what is there stays."},
    {"allow-mixed", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(allow_mixed),
     SERVES | LAUNCHES, NULL, NULL, 0, 0, NULL, NULL,
     "Let processes join whose arithmetic differs in bits; results are then no longer exact."},
    {"instructions", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(instructions),
     TRAINS | OPTION_EVALUATE | OPTION_REPLAY, "SET", NULL, 0, 0, &choice_instructions, NULL,
     "Use no wider vector instructions than plain, avx2 or avx512; default: the widest there are. "
     "avx2 and avx512 give the same bits; plain, which cannot fuse products, gives others."},
    {"transport", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(transport), RUNS, "WAY", "auto", 0,
     0, &choice_transport, NULL,
     "tcp: ZeroMQ for all; auto: shared memory between processes of one user on one host, ZeroMQ "
     "for the rest; shm: the same, and it is an error when a server is elsewhere. With --keys, auto "
     "is tcp and shm an error: shared memory would bypass the keys."},
    {"overlap", OPTION_GROUP_CLUSTER, OPTION_KIND_FLAG, FIELD(overlap), WORKS | LAUNCHES, NULL, NULL,
     0, 0, NULL, NULL,
     "A worker sends what is there of a gradient while it computes the rest, the last layer's first (sync and "
     "all-reduce; in async and ssp a batch leaves whole), and begins the next step with the first layers' values that are back; for "
     "a network that takes about as long as computing. The same bits. Of several leaves only the first "
     "and last one's computing hide anything; but in all-reduce, all is as without where memory is shared."},
    {"owner-threads", OPTION_GROUP_CLUSTER, OPTION_KIND_I32, FIELD(owner_threads),
     SERVES | LAUNCHES | OPTION_SIMULATE, "N", "-1", -1, OWNER_THREADS_MAX, NULL, NULL,
     "Threads of a server that own chunks; 0: the router's own thread; -1: choose."},
    {"compute", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(compute), JOB, "DIST", NULL, 0, 0,
     &choice_compute, NULL,
     "Let a leaf's gradient take a time drawn from the seed, for experiments: constant:30ms, "
     "uniform:20ms,40ms, exponential:30ms (mean; exponential:30ms,10ms: 10 ms at least), "
     "lognormal:30ms,0.3 (median, sigma), pareto:30ms,2 (median, exponent), or trace:RUN, what the same "
     "worker's leaves took in a real run. Default: what it takes."},
    {"slow", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(slow), JOB, "LIST", NULL, 0, 0,
     &choice_slow, NULL,
     "Slow workers down, for experiments: 1:2.0,3:4 makes worker 1 take twice and worker 3 four "
     "times as long: as --compute draws or, without it, as was measured; it then sleeps, and the "
     "others have its processor meanwhile."},
    {"cluster-file", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster_file), MODELS, "FILE",
     NULL, 0, 0, NULL, NULL,
     "The cluster in JSON (deploy/VIRTUAL.md); the options below say more than the file. "
     "Default: the times of deploy/cluster/examples/laptop.json, and every process on a host of its "
     "own, 10 Gbit/s and 50 us apart."},
    {"network", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_NETWORK]), MODELS, "RATE[,LATENCY]",
     NULL, 0, 0, NULL, NULL,
     "Of all hosts' cards and between any two, such as 10Gbit,50us or 100Mbit/20Mbit,2ms (up/down)."},
    {"link", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_LINK]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "Cards of some hosts, such as worker/7:100Mbit or ps/0:40Gbit,5us;worker/0-3:1Gbit (latency on top)."},
    {"processors", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_PROCESSORS]), MODELS, "N",
     NULL, 0, 0, NULL, NULL,
     "Of each host; the processes on it share them."},
    {"switch-buffer", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_SWITCH_BUFFER]), MODELS, "BYTES",
     NULL, 0, 0, NULL, NULL,
     "Of the switch towards each host: what has no room there is sent again 200 ms later. Default 0: deep."},
    {"jitter", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_JITTER]), MODELS, "DIST",
     NULL, 0, 0, NULL, NULL,
     "What a message takes longer, such as exponential:20us."},
    {"loss", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_LOSS]), MODELS, "P",
     NULL, 0, 0, NULL, NULL,
     "Probability that a message is lost and sent again, 200 ms later or more; or softmax or mse, the loss of the "
     "model, see run."},
    {"straggle", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(straggle), JOB, "P:DIST:F", NULL, 0,
     0, &choice_straggle, NULL,
     "With --compute: with probability P a worker's computation of a step or batch takes longer, by "
     "a factor from DIST with median F and never below 1: 0.05:pareto:10, 0.1:constant:3; also "
     "uniform, exponential, lognormal; lognormal,0.5 and pareto,2 say their shape."},
    {"pause", OPTION_GROUP_CLUSTER, OPTION_KIND_TEXT, FIELD(pause), JOB, "P:DIST", NULL, 0, 0, &choice_pause,
     NULL,
     "Let a worker stand still now and then, as for a collection of garbage: with probability P before "
     "a step or batch, for a time drawn from DIST: 0.01:exponential:200ms (as --compute's, but no trace)."},

    /* Deadlines. */
    {"start-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.start), TRAINS, "S",
     "60", 0.001, 1e9, NULL, NULL, "Seconds, from a process's start, until all must have joined (exit code 4)."},
    {"start-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.start), OPTION_EVALUATE, "S",
     "60", 0.001, 1e9, NULL, NULL,
     "With --follow: seconds until the run must have begun (exit code 4), or gone on where it was stopped."},
    {"start-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.start), OPTION_PROBE, "S",
     "60", 0.001, 1e9, NULL, NULL, "Seconds until a program must have declared what it computes."},
    {"recovery-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.recovery), OPTION_EVALUATE,
     "S", "60", 0.001, 1e9, NULL, NULL,
     "With --follow: seconds in which no process trains the run, though it has not ended, before it is given up (exit code "
     "195)."},
    {"worker-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.silence), TRAINS, "S",
     "5", 0.001, 1e9, NULL, NULL,
     "Seconds of silence after which a process counts as lost: what then, --on-worker-loss and "
     "--recovery-timeout say."},
    {"recovery-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.recovery), TRAINS,
     "S", "60", 0.001, 1e9, NULL, NULL,
     "Seconds that a job waits for a lost server, or for a worker when none is left, to come back "
     "(exit code 195)."},
    {"on-worker-loss", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(on_worker_loss),
     SERVES | LAUNCHES | OPTION_SIMULATE, "WHAT", "continue", 0, 0, &choice_loss, NULL,
     "When a worker is lost: continue: the others do its work; wait: until it is back, "
     "--recovery-timeout at most; fail: the job ends (exit code 195)."},
    {"on-term", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(on_term), OPTION_WORKER, "WHAT",
     "stop", 0, 0, &choice_term, NULL,
     "What SIGTERM or SIGHUP to this worker alone asks for: stop: the job stops at a checkpoint; "
     "leave: this worker leaves (exit code 143) and the job goes on without it, waiting "
     "--recovery-timeout for another when it was the last. A process that trains alone stops."},
    {"on-term", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(on_term), OPTION_TASK, "WHAT",
     NULL, 0, 0, &choice_term, NULL,
     "Of a worker: what SIGTERM or SIGHUP to it asks for, as syncopate-worker has it. Default: leave where "
     "TF_CONFIG or Kubernetes say what it is, since they end single tasks and make them again, else stop."},
    {"on-term", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(on_term), LAUNCHES, "WHAT", "stop",
     0, 0, &choice_term, NULL,
     "What SIGTERM or SIGHUP to one of the workers asks for: stop: the job stops at a checkpoint; "
     "leave: that worker leaves, is not started again, and the job goes on without it. A signal to "
     "this command stops the job in any case."},
    {"max-restarts", OPTION_GROUP_DEADLINES, OPTION_KIND_U32, FIELD(max_restarts), LAUNCHES | WORKS, "N",
     "5", 0, 1000000, NULL, NULL,
     "How often a server, worker or program that crashed is started again; once more ends the job."},
    {"check-leaves", OPTION_GROUP_DEADLINES, OPTION_KIND_U64, FIELD(check_leaves), LAUNCHES | WORKS | OPTION_SIMULATE, "K",
     "1000", 0, 1e15, NULL, NULL,
     "A --program computes one leaf in K steps, from the first on, twice, and must give the same bits; 0: never."},
    {"kill", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_KILL]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "In virtual time from the start of training: worker/3@12s is killed then, worker/3@12s+5s is back as a new process 5 s later."},
    {"stop", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_STOP]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "Processes that stand still: ps/1@3s+2s for 2 s."},
    {"partition", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_PARTITION]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "Nothing gets from one side to the other: worker/0-3|ps/0@5s+2s; without |, to no other."},
    {"join", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_JOIN]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "A worker more comes: @8s."},
    {"leave", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_LEAVE]), MODELS, "LIST",
     NULL, 0, 0, NULL, NULL,
     "A worker leaves properly: worker/2@9s."},
    {"restart", OPTION_GROUP_DEADLINES, OPTION_KIND_TEXT, FIELD(failures[FAILURE_TEXT_RESTART]), MODELS, "TIME",
     NULL, 0, 0, NULL, NULL,
     "What is killed is back after so long, unless --kill says when."},
    {"progress-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.progress), TRAINS,
     "S", "300", 0.001, 1e9, NULL, NULL,
     "Seconds without progress after which a process that is alive counts as stuck."},
    {"max-bad-gradients", OPTION_GROUP_DEADLINES, OPTION_KIND_U32, FIELD(max_bad_gradients),
     SERVES, "N", "10", 0, 1000000000, NULL, NULL,
     "Async and ssp: gradients that are not finite and are left out; one more ends the job (exit code "
     "1)."},
    {"max-bad-gradients", OPTION_GROUP_DEADLINES, OPTION_KIND_U32, FIELD(max_bad_gradients),
     LAUNCHES | OPTION_SIMULATE, "N", "10", 0, 1000000000, NULL, "mode=leases",
     "Gradients that are not finite and are left out; one more ends the job (exit code 1)."},
    {"stop-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.stop), TRAINS, "S", "30",
     0.001, 1e9, NULL, NULL,
     "Seconds for a clean stop; past it the last complete checkpoint stands."},
    {"stop-timeout", OPTION_GROUP_DEADLINES, OPTION_KIND_REAL, FIELD(deadlines.stop), OPTION_LEAVE, "S", "30",
     0.001, 1e9, NULL, NULL, "Seconds to wait for the worker to have left."},

    /* Files. */
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_COMPARE, "DIR", NULL, 0, 0, NULL, NULL,
     "Folder for table, report and runs. One that holds a comparison of the same options goes on, also with more arms "
     "or --seeds; any other is refused."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out),
     ROLES | ONE_RUN | OPTION_SIMULATE, "DIR", NULL, 0, 0, NULL, NULL,
     "Folder for run.json, events.jsonl, checkpoints and the model. One that holds an unfinished "
     "run of the same job is resumed, one that holds a finished run of fewer --epochs or --steps is "
     "trained further; any other is refused."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_EXPORT, "FILE", NULL, 0, 0,
     NULL, NULL, "File to write. Default: model.safetensors in the working directory."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_EVALUATE, "DIR", NULL, 0, 0, NULL, NULL,
     "With --follow: folder for the best model and best.json. Default: best in the run's."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_TRACE, "FILE", NULL, 0, 0,
     NULL, NULL,
     "File to write: a trace, or, when it ends in .html, a page that shows its typical and its slowest step. "
     "Default: trace.json in the working directory."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_FIGURE, "FILE", NULL, 0, 0, NULL, NULL,
     "The page to write; its numbers go beside it, with .csv in the place of the ending. Default: figure.html."},
    {"out", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(out), OPTION_CALIBRATE, "FILE", NULL, 0, 0,
     NULL, NULL, "Cluster file to write. Default: it goes to standard output, and figures to standard error."},
    {"answers", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(answers), OPTION_LAB, "FILE", "answers.json", 0, 0, NULL, NULL,
     "The student's answers. What else a lab asks for lies beside it."},
    {"restore", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(restore), ROLES | ONE_RUN | OPTION_SIMULATE,
     "auto|never|PATH", "auto", 0, 0, &choice_restore, NULL,
     "A run in --out that has begun goes on from its newest whole checkpoint. Otherwise auto: from "
     "the start; PATH: from that checkpoint, or a run's newest whole one; never: from the start, and "
     "not in an unfinished run."},
    {"initial", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(initial), TRAINS, "PATH", NULL, 0, 0, NULL, NULL,
     "Begin with the values of a safetensors file (F32, F64, F16 or BF16), a checkpoint or a run, by the variables' names. Server 0 and all "
     "workers read it, and must find the same; OUT/initial.safetensors keeps them."},
    {"initial-missing", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(initial_missing), JOB, "refuse|new", "refuse", 0, 0,
     &choice_initial_missing, NULL,
     "Variables that --initial does not have: refuse: are an error; new: begin as without it. One of another shape is "
     "always an error."},

    {"tensorboard", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(tensorboard), TRAINS & ~OPTION_COMPARE, "DIR",
     NULL, 0, 0, NULL, NULL,
     "Write event files for TensorBoard while it trains, into a folder in DIR that is called as --out's (server 0, or "
     "who trains alone): tensorboard --logdir DIR. Steps are batches done, and seconds of virtual time virtual."},
    {"tensorboard", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(tensorboard), OPTION_COMPARE, "DIR",
     NULL, 0, 0, NULL, NULL,
     "Write event files for TensorBoard while runs are made, DIR/ARM/seed-N, and of the means of those of an arm that "
     "are done DIR/ARM/mean: tensorboard --logdir DIR. Steps are batches done, and seconds of virtual time virtual."},
    {"tensorboard-run", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(tensorboard_run), TRAINS & ~OPTION_COMPARE, "NAME",
     NULL, 0, 0, &choice_place, NULL,
     "With --tensorboard: call the run so there, and not as --out: the name of a folder, or a path of some."},

    {"keep", OPTION_GROUP_FILES, OPTION_KIND_TEXT, FIELD(keep), ROLES | LAUNCHES | OPTION_SIMULATE, "N|all", NULL, 0,
     0, &choice_keep, NULL,
     "Checkpoints to keep: the newest N that are whole, from 1 to 1000; older ones are removed. all: "
     "every one. Default: as the run was begun with, and 3 for a new one."},

    /* Output. */
    {"log-every", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(log_every),
     LAUNCHES | OPTION_SIMULATE, "S", "10", 0.001, 1e9, NULL, NULL,
     "Seconds between progress lines where output is not a terminal."},
    {"memory", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(cluster[CLUSTER_TEXT_MEMORY]), MODELS, "BYTES",
     NULL, 0, 0, NULL, NULL,
     "Refuse a cluster that would take more of this machine, such as 2G. Default: half of what it has."},
    {"log-every", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(log_every), SERVES, "S", "10",
     0.001, 1e9, NULL, NULL,
     "Seconds between server 0's progress lines on standard output; other servers have none."},
    {"log-every", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(log_every), OPTION_WORKER, "S", "10",
     0.001, 1e9, NULL, NULL,
     "With --ps 0: seconds between progress lines on standard output. Otherwise server 0 has them."},
    {"follow", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(follow), OPTION_EVALUATE, NULL, NULL, 0, 0, NULL, NULL,
     "Score every checkpoint of the run in the folder PATH as it appears, a line each, until the run has ended, and "
     "keep the best. The run need not have begun. With --json a line is an object."},
    {"best", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(best), OPTION_EVALUATE, "WHAT", "accuracy", 0, 0,
     &choice_best, NULL, "With --follow: by which score on the test set the best is chosen."},
    {"patience", OPTION_GROUP_OUTPUT, OPTION_KIND_U32, FIELD(patience), OPTION_EVALUATE, "N", "0", 0, 1000000, NULL,
     NULL,
     "With --follow: after N checkpoints in a row without a better one stop the run at a checkpoint, with exit code 0; "
     "0: never."},
    {"watch", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(watch), OPTION_INSPECT, NULL, NULL, 0, 0,
     NULL, NULL,
     "Look at a job again and again until it has ended, and say how: on a terminal in the same place, "
     "elsewhere a line each time (with --json an object)."},
    {"alive", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(alive), OPTION_INSPECT, NULL, NULL, 0, 0, NULL, NULL,
     "Only whether the server at host:port, 0 or another, answers: exit code 0, else 5. For an engine's probes."},
    {"ready", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(ready), OPTION_INSPECT, NULL, NULL, 0, 0, NULL, NULL,
     "Only whether it serves its chunks, or, being server 0, its job runs: exit code 0, else 4 with what it waits for, or "
     "5."},
    {"log-every", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(log_every), OPTION_INSPECT, "S",
     NULL, 0.001, 1e9, NULL, NULL,
     "With --watch: seconds between looks. Default: 1 on a terminal, 10 elsewhere."},
    {"json", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(json),
     OPTION_EVALUATE | OPTION_INSPECT | OPTION_REPLAY | OPTION_PROBE, NULL, NULL, 0, 0, NULL, NULL,
     "Print the result as one JSON object and nothing else; deploy/RUNS.md has its members."},
    {"json", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(json), OPTION_COMPARE, NULL, NULL, 0, 0, NULL, NULL,
     "Print what is in compare.json and nothing else to standard output. Progress goes to standard error."},
    {"target-loss", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(target_loss), OPTION_COMPARE, "X", NULL, 1e-9,
     1e9, NULL, NULL,
     "Tell how long each arm took to a training loss of X. Default: to one that all runs that learned came to. "
     "A comparison that is there can be asked again."},
    {"target-accuracy", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(target_accuracy), OPTION_COMPARE, "X",
     NULL, 1e-9, 1, NULL, NULL,
     "The same to a test accuracy, as a part of 1: 0.9 is 90 %."},
    {"margin", OPTION_GROUP_OUTPUT, OPTION_KIND_REAL, FIELD(margin), OPTION_COMPARE, "POINTS", "0.5", 0, 100,
     NULL, NULL,
     "Call test accuracies equal when all of the interval of their difference is within so many points."},
    {"json", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(json), ONE_RUN | OPTION_SIMULATE, NULL, NULL, 0, 0, NULL,
     NULL,
     "Print one JSON object at the end, also of a run that failed, and nothing else to standard "
     "output: path, exit_code, reason and what run.json holds. Progress goes to standard error."},
    {"log-format", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(log_format), RUNS, "text|json",
     "text", 0, 0, &choice_log_format, NULL,
     "Of the log on standard error; times are UTC. json: each line is one object with time, level, "
     "who, text and the line's key=value pairs as members."},
    {"explain", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(explain), OPTION_RUN, NULL, NULL, 0, 0,
     NULL, NULL,
     "Tell every message of a short run (--steps 1) in plain words, and what was done between them, "
     "with the function that does it. With --verbose each singly, with all its fields."},
    {"explain", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(explain), OPTION_SIMULATE, NULL, NULL, 0, 0,
     NULL, NULL,
     "Print every term of the times of a short run (--steps 1): of each message that arrives how far it "
     "was, for what it waited and what the cards took, and of each thread what it worked."},
    {"diary", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(diary), ROLES, "FILE", NULL, 0, 0, NULL,
     NULL,
     "Add to FILE every message that this process sends and gets, for syncopate run --explain; "
     "fd:N is a descriptor that it was given."},
    {"trace", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(traced), OPTION_RUN | OPTION_SIMULATE, NULL, NULL, 0,
     0, NULL, NULL,
     "Write OUT/trace.json, for Perfetto and the like: what every process did, and what it waited for, in some "
     "steps; at most 50 MB."},
    {"trace", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(trace), ROLES, "FILE", NULL, 0, 0, NULL, NULL,
     "Keep in FILE what this process did in some steps, for syncopate trace; several of one host may share it. "
     "fd:N is a descriptor that it was given."},
    {"trace-steps", OPTION_GROUP_OUTPUT, OPTION_KIND_U32, FIELD(trace_steps),
     ROLES | OPTION_RUN | OPTION_SIMULATE | OPTION_TRACE, "N", "20", 1, 1000, NULL, NULL,
     "Steps that a trace is of: the first, the last, the slowest, and one that took as long as most."},
    {"serve", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(serve), SERVES | ONE_RUN, "[ADDRESS:]PORT", NULL, 0, 0,
     &choice_serve, NULL,
     "Answer HTTP there: the page of the job, of server 0, run and launch; /metrics for Prometheus, /healthz and "
     "/readyz for probes. "
     "Without ADDRESS only from this host; 0.0.0.0 or [::] is every one: then the page needs the token that is "
     "printed, and any program that reaches it may read the metrics. PORT 0: any that is free."},
    {"page", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(page), OPTION_PS | OPTION_TASK, "URL", NULL, 0, 0, NULL, NULL,
     "Where the page of the job is, for run.json."},
    {"teach", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(teach), OPTION_RUN, NULL, NULL, 0, 0, NULL, NULL,
     "On the page of --serve, which must be of this host alone, are buttons: they kill a process of the job, stop it for 5 s, "
     "or let it run a quarter of the time. The page tells what comes of it. They need the token that is printed."},
    {"bind", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(serve), OPTION_SERVE, "[ADDRESS:]PORT", NULL, 0, 0, &choice_serve,
     NULL,
     "Where. Without ADDRESS only for this host; 0.0.0.0 or [::] for others as well, who need the token that is printed. "
     "Default: any port that is free."},
    {"x", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(figure_x), OPTION_FIGURE, "NAME", "workers", 0, 0, NULL, NULL,
     "What goes to the right: an axis of numbers, or of words where these are none."},
    {"y", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(figure_y), OPTION_FIGURE, "METRIC", "time", 0, 0, NULL, NULL,
     "What goes up; of several, with commas, each is a line."},
    {"by", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(figure_by), OPTION_FIGURE, "CONFIGURATION", "mode", 0, 0, NULL, NULL,
     "What makes a line of its own; of several names each combination."},
    {"ratio", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(ratio), OPTION_FIGURE, NULL, NULL, 0, 0, NULL, NULL,
     "Divide by the number of the same line and seed at its least --x, or the first that is no number."},
    {"log", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(log_axes), OPTION_FIGURE, "none|x|y|xy", "none", 0, 0, &choice_log_axes,
     NULL, "Logarithmic axes."},
    {"map", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(map), OPTION_FIGURE, NULL, NULL, 0, 0, NULL, NULL,
     "A heat map: a row for each line, a cell for each --x; the least median of a row has a frame."},
    {"ideal", OPTION_GROUP_OUTPUT, OPTION_KIND_LIST, FIELD(ideal), OPTION_FIGURE, "X:Y,X:Y,...", NULL, 0, 0, NULL, NULL,
     "A dashed line through these points. Given several times, as many lines."},
    {"title", OPTION_GROUP_OUTPUT, OPTION_KIND_TEXT, FIELD(title), OPTION_FIGURE, "TEXT", NULL, 0, 0, NULL, NULL,
     "What the figure shows. Default: its names."},
    {"note", OPTION_GROUP_OUTPUT, OPTION_KIND_LIST, FIELD(notes), OPTION_FIGURE, "TEXT", NULL, 0, 0, NULL, NULL,
     "A paragraph below it. Given several times, as many."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_FIGURE, NULL, NULL, 0, 0, NULL, NULL,
     "Nothing but what is wrong: the result is in the files."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_TRACE, NULL, NULL, 0, 0,
     NULL, NULL, "Nothing but what is wrong: the result is in the files."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet),
     TRAINS & ~OPTION_COMPARE, NULL, NULL, 0, 0, NULL, NULL,
     "Nothing but warnings and errors: the result is in the run directory."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_COMPARE, NULL, NULL, 0, 0,
     NULL, NULL, "Nothing but warnings, errors and, at the end, the table and where the report is."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_EVALUATE, NULL, NULL, 0,
     0, NULL, NULL, "Nothing but the score, and what is wrong."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_REPLAY, NULL, NULL, 0, 0,
     NULL, NULL, "Nothing but the digest of the parameters, and what is wrong."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_INSPECT, NULL, NULL, 0, 0,
     NULL, NULL, "Changes nothing: there is nothing but what was asked for."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet),
     OPTION_EXPORT | OPTION_KEYGEN | OPTION_LEAVE,
     NULL, NULL, 0, 0, NULL, NULL, "Nothing but what is wrong: the result is in the files."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_CALIBRATE, NULL, NULL, 0, 0,
     NULL, NULL, "Nothing but the cluster file."},
    {"quiet", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(quiet), OPTION_VERIFY, NULL, NULL, 0,
     0, NULL, NULL, "Nothing but histories that fail."},
    {"verbose", OPTION_GROUP_OUTPUT, OPTION_KIND_FLAG, FIELD(verbose), TRAINS | OPTION_VERIFY, NULL,
     NULL, 0, 0, NULL, NULL, "Say more."},
};
/* clang-format on */

const size_t option_row_count = sizeof option_rows / sizeof *option_rows;

/* --- lookups ------------------------------------------------------------------------------- */

static bool names_equal(const char *row_name, const char *name, size_t length)
{
    if (strlen(row_name) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (row_name[i] != (name[i] == '_' ? '-' : name[i]))
            return false;
    return true;
}

const struct option_row *option_find(unsigned user, const char *name, size_t length)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if ((row->users & user) && names_equal(row->name, name, length))
            return row;
    }
    return NULL;
}

const char *option_user_program(enum option_user user)
{
    switch (user) {
    case OPTION_PS:
        return "syncopate-ps";
    case OPTION_WORKER:
        return "syncopate-worker";
    case OPTION_RUN:
        return "syncopate run";
    case OPTION_COMPARE:
        return "syncopate compare";
    case OPTION_EVALUATE:
        return "syncopate evaluate";
    case OPTION_EXPORT:
        return "syncopate export";
    case OPTION_INSPECT:
        return "syncopate inspect";
    case OPTION_SIMULATE:
        return "syncopate simulate";
    case OPTION_CALIBRATE:
        return "syncopate calibrate";
    case OPTION_VERIFY:
        return "syncopate verify";
    case OPTION_KEYGEN:
        return "syncopate keygen";
    case OPTION_COMPLETION:
        return "syncopate completion";
    case OPTION_MAN:
        return "syncopate man";
    case OPTION_REPLAY:
        return "syncopate replay";
    case OPTION_TASK:
        return "syncopate task";
    case OPTION_TRACE:
        return "syncopate trace";
    case OPTION_LEAVE:
        return "syncopate leave";
    case OPTION_LAUNCH:
        return "syncopate launch";
    case OPTION_PROBE:
        return "syncopate probe";
    case OPTION_SERVE:
        return "syncopate serve";
    case OPTION_LAB:
        return "syncopate lab";
    case OPTION_FIGURE:
        return "syncopate figure";
    }
    return "syncopate";
}

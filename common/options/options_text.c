/* options_text.c - what a program is for, and a row's bounds and default as a sentence. */

#include "common/options/options_text.h"

#include <string.h>

#include "common/base/wording.h"

const char *const options_environment_text =
    "Every option can be set as SYNCOPATE_ and its name in capitals with _ for -, for "
    "example SYNCOPATE_VERBOSE=true. A flag wins over the environment, and the "
    "environment over the default. A variable that begins so and is no program's option is a "
    "mistake; one that is another program's is named where a job is started.";

static const struct program_text program_texts[] = {
    {OPTION_PS, "--ps-hosts LIST --task-index I [options]", NULL,
     "a parameter server of Syncopate: owns variables, applies gradients",
     "Own a part of a job's parameters and apply the workers' gradients to them. A server is "
     "generic: model, data and mode come from the workers, which declare the job to server 0. "
     "Server 0 also writes the run directory. The processes of a job may start in any order. "
     "Options of syncopate-worker are taken and ignored, so that one list serves all.",
     "  syncopate-ps --ps-hosts alpha:2222,beta:2222 --task-index 0 --out runs/first"},
    {OPTION_WORKER, "--ps-hosts LIST --worker-hosts LIST --task-index I [options]", NULL,
     "a worker of Syncopate: computes gradients from its part of the data",
     "Compute gradients on a part of the data and exchange them with the servers for new "
     "parameters until the job is done. All workers of a job are given the same options but "
     "--task-index; one that differs is refused with both values. Options of syncopate-ps are "
     "taken and ignored, so that one list serves all.",
     "  syncopate-worker --ps-hosts alpha:2222,beta:2222 \\\n"
     "      --worker-hosts gamma:0,delta:0 --task-index 1 --model cnn --epochs 10"},
    {OPTION_RUN, "[options]", NULL,
     "start servers and workers here, watch them, end with a summary",
     "Start servers and workers on this machine, watch them train, and end with a summary. The "
     "run directory holds run.json, events.jsonl, checkpoints and the trained model.",
     "  syncopate run --workers 4 --ps 2 --mode async --epochs 3 --out runs/async4"},
    {OPTION_LAUNCH, "--hosts FILE | -H LIST [options]", NULL,
     "start servers and workers on several hosts, watch them, and sum up",
     "Start servers and workers on the hosts of a list, over ssh, watch them train, and end with a "
     "summary and the result here, as run does on one host. Every host is looked at before "
     "anything is started: whether it can be reached without a password, has this version, "
     "computes the same bits, has the data and free ports. When this command ends, however it "
     "does, everything that it started ends, too.",
     "  syncopate launch --hosts hosts.txt --ps 2 --epochs 3 --out runs/three\n"
     "  syncopate launch -H alpha:2,beta:2 --ps colocated --mode async"},
    {OPTION_PROBE, "[options]", NULL, "what this host has for a job: launch asks every host",
     "Say what this host has for a job: version, processors, memory, instructions, a digest of its "
     "arithmetic, and on demand whether data are there and ports are free. launch asks every host "
     "so "
     "before it starts anything.",
     "  ssh beta syncopate probe --data fashion-mnist --ports 20000-20015"},
    {OPTION_TASK, "[options]", NULL, "be what an engine's variables say: a job's server or worker",
     "Become one process of a job, the one that the environment says it is: that of srun, mpirun, "
     "torchrun, TF_CONFIG (Kubeflow), ps-lite or a pod of Kubernetes. One command then is the "
     "whole "
     "job. A line says what was found and where; then this process is syncopate-ps or "
     "syncopate-worker itself, with its signals and exit codes, and takes the options of both. "
     "Options stand over variables. deploy/ENGINES.md has a table of them.",
     "  srun -n 5 syncopate task --ps 2 --keys keys --out runs/$SLURM_JOB_ID\n"
     "  mpirun -np 5 syncopate task --ps 2 --keys keys --out runs/first"},
    {OPTION_SIMULATE, "[options]", NULL, "train on a cluster that is not there, in virtual time",
     "Train on a described cluster of any size in this one process: the real servers' and workers' "
     "logic with the real model's gradients on the real data, each at the virtual moment in which "
     "it "
     "would be there. Computing, network, processors and faults are modelled; what is learned is "
     "not. The run directory is as run's, with virtual seconds, and the same command gives the "
     "same "
     "bits. Without --compute a leaf takes what the cluster file says, never what it takes here.",
     "  syncopate simulate --workers 64 --ps 4 --mode ssp:3 \\\n"
     "      --compute lognormal:20ms,0.3 --slow 3:4 --network 10Gbit,50us \\\n"
     "      --kill worker/5@12s --epochs 2"},
    {OPTION_CALIBRATE, "[options]", NULL, "measure this host for simulate, as a cluster file",
     "Measure what this host takes, in about a minute: a leaf's gradient of a model, applying "
     "gradients, and, with a server and a worker as processes of their own, what a message and "
     "each "
     "of its bytes cost them. What comes of it is a cluster file, all processes on one such host, "
     "for "
     "syncopate simulate --cluster-file. Nothing else should run meanwhile. Each figure is the "
     "median, with its quartiles. The network card is not measured.",
     "  syncopate calibrate --model cnn --out here.json\n"
     "  syncopate simulate --cluster-file here.json --workers 2 --epochs 1"},
    {OPTION_COMPARE, "[options]", NULL,
     "run several modes on the same work, end with table and figures",
     "Run several modes and numbers of workers on the same work, one after the other, and end "
     "with a table and figures of how they converge.",
     "  syncopate compare --modes sync,async --workers 1,2,4 --epochs 3"},
    {OPTION_EVALUATE, "PATH [options]",
     "the path of a run's folder, a checkpoint or a model.safetensors",
     "score a checkpoint or a model on the test set, no servers",
     "Score a trained model on the test set, without any server. PATH is a model.safetensors, a "
     "checkpoint (a step-... folder) or a run directory. With --follow every checkpoint of a run "
     "under "
     "way is scored, and the best kept.",
     "  syncopate evaluate runs/async4\n"
     "  syncopate evaluate --follow runs/async4 --patience 5"},
    {OPTION_EXPORT, "[PATH] [options]", "the path of a run's folder or a checkpoint",
     "turn a checkpoint into one model.safetensors",
     "Merge a checkpoint into one model.safetensors that has the variables' own names and shapes. "
     "PATH is a checkpoint (a step-... folder) or a run directory. With --program it is the values "
     "that a "
     "program begins with, for --initial.",
     "  syncopate export runs/async4 --out fashion.safetensors"},
    {OPTION_INSPECT, "PATH [options]",
     "the path of a run's folder, a comparison's, a checkpoint or a model.safetensors, or a "
     "server's host:port",
     "what is in a checkpoint, or what a running job is doing",
     "Say what is in a checkpoint, a model or a run directory, what a comparison says, or what a "
     "running job (host:port of server 0) is doing.",
     "  syncopate inspect runs/async4/checkpoints/step-000000000938"},
    {OPTION_SERVE, "PATH [options]", "the path of a run's folder or a comparison's",
     "the page of a run or a comparison, while it goes on and afterwards",
     "Show the page of the run or comparison in a folder to a browser, at the address that is "
     "printed, until it is "
     "stopped. Of a run under way it has what is in the folder; run --serve has its members, too.",
     "  syncopate serve runs/async4"},
    {OPTION_LAB, "[check] [N] [options]", "the number of a lab, or check and its number",
     "exercises about distributed training, and a check of answers",
     "Without a number: a list of the labs. N: the text of one. check N: whether the answers to it "
     "are right, in a "
     "few seconds and in virtual time, so that the verdict is the same on every machine.",
     "  syncopate lab 2 --name ada\n"
     "  syncopate lab check 2"},
    {OPTION_FIGURE, "COMPARISON... [options]", "the paths of comparisons' folders",
     "a page with one figure of comparisons, as a paper has it",
     "Draw a number of every run of some comparisons against another: a page with the figure, and "
     "its "
     "numbers beside it as CSV. A dot is a median over seeds, a bar the 95 % interval of the mean. "
     "A "
     "name is a setting in which arms differ (workers, momentum, backup-workers), mode, arm, "
     "comparison "
     "(its folder), a column of runs.csv, time or work (seconds and examples to the target), "
     "ms_per_update, or step_p50 and step_p99, milliseconds of a batch with --report-every 1.",
     "  syncopate figure --x workers --y images_per_second --by mode \\\n"
     "      --ratio --log xy --ideal 1:1,30:30 --out speed-up.html runs/10Gbit"},
    {OPTION_REPLAY, "PATH [options]", "the path of a run's folder",
     "make a recorded run again, to the bit, or with one thing changed",
     "Make a run again in this one process from the record in its folder: the same gradients from "
     "the same versions, applied in the same order, and say whether the parameters are what the "
     "run "
     "ended with. With an option of the optimizer the history stays and that is changed: a paired "
     "experiment. PATH is a run directory.",
     "  syncopate replay runs/async4\n"
     "  syncopate replay runs/async4 --staleness-rate inverse"},
    {OPTION_TRACE, "PATH [options]",
     "the path of a file of spans, or of a folder with those of several hosts",
     "one trace of what several processes have kept",
     "Make one trace of what processes that were started by hand have kept with --trace FILE: what "
     "each did in some steps, and which other it waited for, for Perfetto (ui.perfetto.dev) and "
     "whatever "
     "else reads Chrome's format. PATH is such a file, or a folder in which there are files "
     "*.spans. What clocks of several hosts are apart is found from the messages between them, "
     "and said.",
     "  syncopate trace traces/ --out trace.json"},
    {OPTION_LEAVE, "HOST:PORT/worker/I [options]", "a worker, as server 0's host:port/worker/I",
     "let one worker leave a job that goes on without it",
     "Ask server 0 that one worker leave its job, and wait until it has: it finishes what it has "
     "pushed, ends with exit code 0, and the others do its work. With --keys it is asked in the "
     "name of that worker.",
     "  syncopate leave alpha:7000/worker/3"},
    {OPTION_KEYGEN, "PATH [options]", "the path of the new key, or of the folder for a job's keys",
     "keys for servers and workers that encrypt and know each other",
     "Make a key pair: PATH.key, its public certificate, for the folders of the servers, and "
     "PATH.key_secret, which stays on the host of that process and is readable by its owner only. "
     "With "
     "--workers N, all that a job needs: servers, observer, and worker-0 to worker-(N-1) in the "
     "folder PATH. Files are as czmq's, and never overwritten.",
     "  syncopate keygen keys --workers 4"},
    {OPTION_VERIFY, "[options]", NULL,
     "clusters in virtual time with faults: do they keep their promises",
     "Run whole clusters in this one process, in virtual time: the real servers' and workers' "
     "logic with a made-up model, late, reordered and repeated messages, processes that are "
     "killed, "
     "stopped and cut off, clean stops. Each history follows from its seed alone and is checked "
     "against training done serially, message by message.",
     "  syncopate verify --seed 1 --histories 1000"},
    {OPTION_COMPLETION, "bash|zsh|fish", "a shell: bash, zsh or fish",
     "what bash, zsh or fish need to complete the programs' options",
     "Print a script that teaches a shell to complete commands, options and what may stand there, "
     "of "
     "this program, syncopate-ps and syncopate-worker. make install puts these scripts where the "
     "shells look for them.",
     "  source <(syncopate completion bash)"},
    {OPTION_MAN, "[PAGE]", "a page", "the manual's pages, and which there are",
     "Print a page of the manual as mdoc, the language of manual pages, or without PAGE the names "
     "of "
     "all. A command's name is enough. make install puts the pages where man looks for them.",
     "  syncopate man run | man -l -"},
};

const struct program_text *program_text(enum option_user user)
{
    for (size_t i = 0; i < sizeof program_texts / sizeof *program_texts; i++)
        if (program_texts[i].user == user)
            return &program_texts[i];
    return &program_texts[0];
}

#define TRAINS                                                                                     \
    (OPTION_PS | OPTION_WORKER | OPTION_TASK | OPTION_RUN | OPTION_LAUNCH | OPTION_COMPARE |       \
     OPTION_SIMULATE)

const struct exit_text exit_texts[] = {
    {EXIT_DONE, ~0u, "done"},
    {EXIT_TRAINING_FAILED, OPTION_LAB, "an answer is missing or wrong"},
    {EXIT_TRAINING_FAILED, ~0u & ~(OPTION_REPLAY | OPTION_LAB),
     "failed: training met a value that is not finite, or bad data"},
    {EXIT_TRAINING_FAILED, OPTION_REPLAY,
     "what comes of it differs from the run, or a promise of ssp was not kept"},
    {EXIT_USAGE, ~0u, "wrong usage"},
    {EXIT_PROGRAM, TRAINS | OPTION_REPLAY | OPTION_EVALUATE | OPTION_CALIBRATE,
     "the program of --program cannot go on"},
    {EXIT_MISMATCH, TRAINS, "the configurations of two processes disagree"},
    {EXIT_MISMATCH, OPTION_LEAVE, "there is no such worker, or its place owns chunks"},
    {EXIT_MISMATCH, OPTION_REPLAY, "no record, or a damaged one; other data, or another processor"},
    {EXIT_START_TIMEOUT, TRAINS, "not all had joined before --start-timeout"},
    {EXIT_START_TIMEOUT, OPTION_EVALUATE, "no run had begun before --start-timeout"},
    {EXIT_START_TIMEOUT, OPTION_INSPECT, "the server is not ready (--ready)"},
    {EXIT_CANNOT_OPEN, ~0u, "an address or a file cannot be opened"},
    {EXIT_UNAUTHENTICATED, TRAINS | OPTION_INSPECT | OPTION_LEAVE, "refused by authentication"},
    {EXIT_INTERRUPTED, TRAINS, "interrupted (SIGINT), after a clean checkpoint"},
    {EXIT_TERMINATED, TRAINS, "terminated (SIGTERM, SIGHUP), after a clean checkpoint"},
    {EXIT_CLUSTER_LOST, TRAINS, "lost the cluster; worth a retry"},
    {EXIT_CLUSTER_LOST, OPTION_EVALUATE, "no process trains the run that is followed any more"},
    {EXIT_CLUSTER_LOST, OPTION_LEAVE, "the worker was asked, and has not left in time"},
};

const size_t exit_text_count = sizeof exit_texts / sizeof *exit_texts;

const char *const option_group_titles[OPTION_GROUP_COUNT] = {
    [OPTION_GROUP_JOB] = "The job",
    [OPTION_GROUP_OPTIMIZER] = "Optimizer and learning rate",
    [OPTION_GROUP_CLUSTER] = "The cluster",
    [OPTION_GROUP_DEADLINES] = "Deadlines",
    [OPTION_GROUP_FILES] = "Files",
    [OPTION_GROUP_OUTPUT] = "Output",
};

/* " (1 to 65536, default 64)", as far as there is something to say. */
static void describe_bounds(const struct option_row *row, char *text, size_t size)
{
    char range[120] = "", fallback[80] = "";
    bool number = row->kind != OPTION_KIND_FLAG && row->kind != OPTION_KIND_WORD &&
                  row->kind != OPTION_KIND_NAME && row->kind != OPTION_KIND_TEXT &&
                  row->kind != OPTION_KIND_LIST;
    if (number && row->choice != NULL && row->choice->expected != NULL)
        snprintf(range, sizeof range, "%s", row->choice->expected);
    else if (number && row->max < 1e9)
        snprintf(range, sizeof range, "%.10g to %.10g", row->min, row->max);
    else if (row->kind == OPTION_KIND_BYTES)
        snprintf(range, sizeof range, "%.0f to %.0fM", row->min, row->max / (1 << 20));
    else if (number)
        snprintf(range, sizeof range, "at least %.10g", row->min);
    if (row->fallback != NULL)
        snprintf(fallback, sizeof fallback, "default %s", row->fallback);
    if (range[0] || fallback[0])
        snprintf(text, size, " (%s%s%s)", range, range[0] && fallback[0] ? ", " : "", fallback);
    else
        text[0] = '\0';
}

bool option_governor(const struct option_row *row, char name[32])
{
    if (row->only_with == NULL)
        return false;
    snprintf(name, 32, "%.*s", (int)strcspn(row->only_with, "="), row->only_with);
    return true;
}

const char *option_wanted(const struct option_row *row, char text[OPTION_WORDS_MAX])
{
    const char *wanted = strchr(row->only_with, '=') + 1;
    if (strncmp(row->only_with, "mode=", strlen("mode=")) != 0)
        return wanted;
    text[0] = '\0';
    for (unsigned i = 0; i < MODE_COUNT; i++)
        if (mode_is(mode_facts((enum mode)i), wanted))
            wording_append(text, OPTION_WORDS_MAX, "%s%s", text[0] != '\0' ? "|" : "",
                           mode_numbered(i));
    return text;
}

void option_describe(const struct option_row *row, char text[OPTION_TEXT_MAX])
{
    char bounds[240], words[OPTION_WORDS_MAX], modes[OPTION_WORDS_MAX], governor[32];
    bool moded = option_governor(row, governor) && strcmp(governor, "mode") == 0;
    bool named =
        row->choice != NULL && row->choice->word != NULL && strcmp(row->metavar, "NAME") == 0;
    describe_bounds(row, bounds, sizeof bounds);
    snprintf(text, OPTION_TEXT_MAX, "%s%s%s%s%s%s%s%s", row->help, named ? " One of " : "",
             named ? option_choice_words(row->choice, words) : "", named ? "." : "",
             moded ? " Only with --mode=" : "", moded ? option_wanted(row, modes) : "",
             moded ? "." : "", bounds);
}

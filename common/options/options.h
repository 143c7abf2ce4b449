/* options.h - one table of options drives flags, environment (SYNCOPATE_*), help and checks.
 *
 * A row is a name, a type, a default, bounds, who has it and a help line. `--name value`,
 * `--name=value`, `-` or `_` alike; SYNCOPATE_NAME in the environment is the same, and a flag
 * wins. Read once in main, passed down as struct options. Adding an option is one row in
 * options_table.c and one field here (a deadline: in deadlines.h); one of the job's declaration is
 * a row in common/job/job_rows.inc.
 *
 * Threads: plain values. */

#ifndef COMMON_OPTIONS_OPTIONS_H
#define COMMON_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/deadlines.h"
#include "common/base/status.h"
#include "common/compute/compute_time.h"
#include "common/job/job.h"
#include "common/kernels/kernels.h"

#define SYNCOPATE_VERSION "0.1.0"
/* " (commit 1a2b3c4d5e6f)" of the program, behind its version; "" where that is not known. */
extern const char syncopate_commit[];
#define SYNCOPATE_DATE "November 22, 2026" /* Of the manual's pages. */

/* Many more than there are rows; checked at the start of options_parse. */
#define OPTION_ROWS_MAX 256

#define OPTIONS_LIST_MAX   64 /* Of an option that may be given several times. */
#define OPTIONS_COUNTS_MAX 32 /* Numbers in compare's --workers. */
#define EXPLAIN_STEPS_MAX  16 /* Of a run that --explain shows message by message. */
#define OWNER_THREADS_MAX  16 /* Of one server. */

/* Who accepts an option; programs and commands are a mask. */
enum option_user {
    OPTION_PS = 1,
    OPTION_WORKER = 2,
    OPTION_RUN = 4,
    OPTION_COMPARE = 8,
    OPTION_EVALUATE = 16,
    OPTION_EXPORT = 32,
    OPTION_INSPECT = 64,
    OPTION_VERIFY = 128,
    OPTION_KEYGEN = 256,
    OPTION_COMPLETION = 512,
    OPTION_MAN = 1024,
    OPTION_REPLAY = 2048,
    OPTION_SIMULATE = 4096,
    OPTION_CALIBRATE = 8192,
    OPTION_TRACE = 16384,
    OPTION_LEAVE = 32768,
    OPTION_TASK = 65536,
    OPTION_LAUNCH = 131072,
    OPTION_PROBE = 262144,
    OPTION_SERVE = 524288,
    OPTION_LAB = 1048576,
    OPTION_FIGURE = 2097152,
    OPTION_USER_LAST = OPTION_FIGURE,
};

/* What simulate's options say of a cluster and of what goes wrong in it: texts that their rooms read
 * (deploy/cluster). */
enum cluster_text {
    CLUSTER_TEXT_NETWORK,
    CLUSTER_TEXT_LINK,
    CLUSTER_TEXT_PROCESSORS,
    CLUSTER_TEXT_SWITCH_BUFFER,
    CLUSTER_TEXT_JITTER,
    CLUSTER_TEXT_LOSS,
    CLUSTER_TEXT_MEMORY,
    CLUSTER_TEXT_COUNT
};
enum failure_text {
    FAILURE_TEXT_KILL,
    FAILURE_TEXT_STOP,
    FAILURE_TEXT_PARTITION,
    FAILURE_TEXT_JOIN,
    FAILURE_TEXT_LEAVE,
    FAILURE_TEXT_RESTART,
    FAILURE_TEXT_COUNT
};

/* What belongs to data; each is an option (data_text.h has their meaning). */
enum data_setting {
    DATA_SETTING_LABEL,
    DATA_SETTING_TEST_PART,
    DATA_SETTING_CLASSES,
    DATA_SETTING_SCALE,
    DATA_SETTING_LOSS,
    DATA_SETTING_COUNT
};
#define DATA_SETTING_NAMES                                                                         \
    {                                                                                              \
        "label", "test-part", "classes", "scale", "loss"                                           \
    }

/* The values of an option that may be given several times, in that order. */
struct options_list {
    const char *items[OPTIONS_LIST_MAX];
    uint32_t count;
};

struct options {
    /* The job: fields of its declaration that options say as they are (job_rows.inc). Until they
     * are set real numbers are NaN, for the optimizer's or schedule's default; decay_steps 0, for
     * one epoch (step) or all steps (cosine); steps 0, for `epochs`. options_job makes a whole
     * declaration of them. */
    struct job job;
    const char *model;
    const char *data;
    const char *data_settings[DATA_SETTING_COUNT]; /* Each by itself; NULL: not said. */
    const char *program;  /* A command that computes gradients; NULL: our layers do. */
    const char *policy;   /* A command that decides in place of the mode; NULL: none. */
    const char *declares; /* What the program declared_by declared before; NULL: not known. */
    const char *declared_by;
    const char *program_fd; /* "SOCKET,MEMORY" of a parent that answers; NULL: nothing. */
    uint32_t global_batch, worker_batch; /* worker_batch 0: as global_batch. */
    uint64_t epochs;
    double warmup_epochs; /* NaN: not said; else in the place of the schedule's steps. */
    uint64_t histories;   /* verify: how many, from seed on. */
    uint64_t until;       /* replay: so many batches; 0: all. */

    /* The cluster. */
    uint32_t ps, workers;                /* Counts, for run. */
    const char *ps_hosts, *worker_hosts; /* "a:p,b:p" */
    const char *job_name;                /* "ps" or "worker" */
    uint32_t task_index;
    const char *job_id;       /* What is to be one job's alone; NULL: not said. */
    const char *cluster_from; /* task: which source says what it is; "auto": the first there is. */
    const char *meet;      /* task: folder in which servers leave their addresses; NULL: by out. */
    uint32_t port_base;    /* task, launch: of servers; 0: as an engine has it. */
    const char *bind;      /* ps: address to listen on, when not the advertised one. */
    const char *port_file; /* ps: where to write the address once bound. */
    const char *tell;      /* ps: "all" or "progress". */
    const char *hosts, *host_list; /* launch: a file of hosts; "a:2,b:2". NULL: not given. */
    const char *ssh;               /* launch: the command, "ssh -F file". */
    const char *remote_bin;        /* launch: folder of the programs there; NULL: as here. */
    const char *ports;             /* probe: "20000-20127"; NULL: none. */
    uint32_t data_fd;              /* worker: of memory that workers share; 0: none. */
    bool parent_stdin;             /* Standard input ends with the launcher. */
    bool insecure;                 /* ps: listen beyond loopback without keys. */
    const char *keys;              /* Folder of certificates; NULL: none are used. */
    const char *certificate;       /* In place of the one that this process has in there. */
    bool allow_mixed;              /* Let processes join whose arithmetic differs. */
    const char *instructions;      /* "plain", "avx2" or "avx512"; NULL: the widest there are. */
    const char *transport;         /* "auto", "tcp" or "shm". */
    bool overlap;                  /* Gradients leave while the rest of them is computed. */
    int32_t owner_threads;         /* -1: choose; 0: the router's thread owns the chunks. */

    struct deadlines deadlines;

    /* When something fails. */
    const char *on_term;        /* worker: "stop" or "leave". */
    const char *on_worker_loss; /* ps: "continue", "wait" or "fail". */
    uint32_t max_bad_gradients; /* ps: not finite, in async; more end the job. */
    uint32_t max_restarts;      /* run, compare: of each process. */
    uint64_t check_leaves;      /* A program computes a leaf of so many steps twice; 0: never. */

    /* Files. */
    const char *out, *restore;
    const char *initial, *initial_missing; /* NULL: from the seed; "refuse" or "new". */
    const char *keep; /* "all" or a number of checkpoints; NULL: as the run was begun with. */
    const char *tensorboard, *tensorboard_run; /* See board_place.h. */

    /* compare, and experiments. */
    const char *modes, *worker_counts; /* "sync,async", "1,2" */
    const char *only_mode;             /* verify's; NULL: any. */
    struct options_list vary;          /* "learning-rate=0.1,0.2" each. */
    struct options_list config;        /* "slow=--learning-rate 0.01" each. */
    const char *plan;                  /* compare: a file with a plan. */
    bool virtual_time;                 /* compare: in simulate's. */
    uint32_t warm_up;                  /* compare: steps of each arm before the runs that count. */
    const char *fair;       /* compare: what is alike for all: "global-batch", "worker-batch". */
    const char *scale_rate; /* compare: with the batch of an update: "none", "linear", "sqrt". */
    uint32_t seeds;
    double target_loss, target_accuracy; /* compare: how far training is to come; 0: not said. */
    double margin;        /* compare: points within which accuracies are called equal. */
    const char *compute;  /* "constant:30ms": what a leaf takes; NULL: what it takes. */
    const char *slow;     /* "1:2.0,3:4": worker 1 at half speed, worker 3 at a quarter. */
    const char *pause;    /* "0.01:exponential:200ms": now and then it stands still first. */
    const char *straggle; /* "0.05:pareto:10": now and then ten times as long; with compute. */

    /* simulate. NULL: not given. */
    const char *cluster_file;
    const char *cluster[CLUSTER_TEXT_COUNT], *failures[FAILURE_TEXT_COUNT];

    /* keygen: what the key may be. */
    const char *role;
    int32_t index; /* -1: any of that role. */

    /* evaluate: of a run's checkpoints as they come. */
    bool follow;
    const char *best;  /* What the best is by: "accuracy" or "loss". */
    uint32_t patience; /* Checkpoints in a row without a better one that stop the run; 0: never. */

    /* figure. */
    struct options_list comparisons, ideal, notes; /* Folders; "1:1,30:30" each; paragraphs. */
    const char *figure_x, *figure_y, *figure_by, *title;
    const char *log_axes; /* "none", "x", "y" or "xy". */
    bool ratio, map;

    /* The argument that is no option, of those who take one; figure's first. */
    const char *path;
    const char *second_path; /* lab: behind it; NULL: none. */

    const char *name, *answers; /* lab: the student; a file. */

    const char *serve; /* Where HTTP is answered; NULL: nowhere. */
    const char *page;  /* ps: where the job's is; NULL: nowhere. */
    bool teach;        /* Who has its token may kill and stop processes of the job. */

    bool json;  /* evaluate, inspect, run: the result as one JSON object. */
    bool watch; /* inspect: until the job has ended. */
    bool alive; /* inspect: whether a server answers ... */
    bool ready; /* ... or serves. */

    bool explain;      /* run: print every message. */
    const char *diary; /* ps, worker: the file of their messages; NULL: none. See process_log.h. */
    const char *trace; /* ps, worker: where their spans go; NULL: nowhere. See recorder.h. */
    bool traced;       /* run, simulate: OUT/trace.json. */
    uint32_t trace_steps;
    bool quiet, verbose;
    double log_every;       /* Seconds between progress lines where output is not a terminal. */
    const char *log_format; /* "text" or "json". */

    /* A bit for each row of the table that was set; see options_given. */
    uint64_t given[OPTION_ROWS_MAX / 64];

    /* "--mode, --seed": the other role's options that were given, which do nothing here; or "". */
    char ignored[700];
    /* Of options that were given twice, which counts; variables without use here; or "". */
    char remarks[300];
    char joined
        [2048]; /* Lists that were given several times, as one; what points to it goes with it. */
    size_t joined_used;
};

/* What options_parse decided. */
enum options_result {
    OPTIONS_RUN,  /* Go on. */
    OPTIONS_HELP, /* --help or --version was printed to standard output: exit 0. */
    OPTIONS_BAD,  /* One line is in error: exit EXIT_USAGE. */
};

/* Fill options from defaults, environment and arguments (argv[0] is skipped). `program` is shown in
 * help and opens the error line: "syncopate run". Everything that options alone can tell is checked
 * here: bounds, unknown options and variables (with the name most likely meant), options the
 * chosen mode, optimizer or schedule would not use, missing or surplus arguments. Words may be
 * written in any case. A LIST given twice is one list; of another option the last counts,
 * and options->remarks says so. Servers and workers take each other's options, so that one list serves all processes of a
 * job: their values are checked, and they are named in options->ignored. Strings point into argv,
 * the environment or the table. */
enum options_result options_parse(struct options *options, enum option_user user,
                                  const char *program, int argc, char **argv, struct error *error);

/* Whether the person has set this option, by flag or environment; a default has not been. */
bool options_given(const struct options *options, enum option_user user, const char *name);

/* A value for an option of a job that was not given, which then is: STATUS_OK also where it was. STATUS_INVALID: no such
 * option, a text, or not a value of it. `source` says in the line who suggests it. */
enum status options_suggest(struct options *options, const char *source, const char *name,
                            const char *text, struct error *error);

/* options_parse as a program begins with it, under the name that option_user_program has for it.
 * False when the program is to end at once with *exit_code: help was shown, or stderr says what is
 * wrong. */
bool options_begin(struct options *options, enum option_user user, int argc, char **argv,
                   int *exit_code);

/* Have the log speak as `who`, as the options say. */
void options_begin_log(const struct options *options, const char *who);

/* "a:1,tcp://b:2,node[1-3,08]:7000" into items "a:1", "b:2", "node1:7000" and so on, a semicolon
 * being as good as a comma; STATUS_INVALID for an empty or overlong item, one without a port (0 to
 * 65535), or more than max. A NULL list has none. items NULL: they are only counted. */
enum status options_hosts(const char *list, char (*items)[ADDRESS_MAX], uint32_t max,
                          uint32_t *count, struct error *error);

/* Where a list's first item ends: at a comma or a semicolon, but not between brackets. */
size_t options_host_length(const char *list);

/* STATUS_INVALID when one of them means only the reader itself (localhost) and another does not. */
enum status options_hosts_apart(char (*items)[ADDRESS_MAX], uint32_t count, struct error *error);
/* STATUS_INVALID when two are the same; with port 0 they are not. */
enum status options_hosts_differ(char (*items)[ADDRESS_MAX], uint32_t count, struct error *error);

/* compare's lists: "sync,async,ssp:2" into different modes, "1,2,4" into different numbers of workers. A
 * semicolon or a blank is as good as a comma. STATUS_INVALID: the item that is wrong is named. */
#define OPTIONS_MODES_MAX 8
enum status options_modes(const char *list, struct mode_setting *modes, uint32_t max,
                          uint32_t *count, struct error *error);
enum status options_counts(const char *list, uint32_t *counts, uint32_t max, uint32_t *count,
                           struct error *error);

/* --keep as checkpoint.h has it; 0 when it was not given. */
uint32_t options_keep(const struct options *options);

/* STATUS_INVALID when a --slow list names a worker that a job with so many does not have. */
enum status options_slow_check(const char *slow, uint32_t workers, struct error *error);

/* What --instructions lets kernels use; the widest of this processor when it was not given. */
enum kernels_instructions options_instructions(const struct options *options);

/* The slow-down factor of one worker in a --slow list; 1 when it is not named. */
double options_slow_factor(const char *slow, uint32_t worker);

/* What --compute, --slow, --straggle and --pause are for one worker. */
struct compute_time options_compute_time(const struct options *options, uint32_t worker);

#define STREAM_STEPS 1000

/* A job, a checkpoint and a record know their data by one text, which says the settings, too: "iris.csv
 * --label species". One that is cut off is longer than the name of any data may be. */
#define OPTIONS_DATA_MAX 400
void options_data_text(const struct options *options, char text[OPTIONS_DATA_MAX]);

/* The part of a job that options decide (everything but variables, data, counts of examples and the
 * canonical model text); needs examples for epochs. Without examples they are a stream: its epochs have
 * STREAM_STEPS steps. Servers come from ps_hosts; without it there
 * are none. Workers are counted by worker_hosts, when set, else by `workers`. What the mode does
 * not use (locking and worker_batch in sync mode) is left out, so that compare can call this once a
 * mode. The caller frees job in any case. */
enum status options_job(const struct options *options, uint64_t examples, struct job *job,
                        struct error *error);

#endif

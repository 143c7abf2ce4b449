#include <string.h>

#include "common/options_table.h"

#define HELP_WIDTH  80
#define HELP_INDENT 28

/* --- what each program says about itself --------------------------------------------------- */

struct program_text {
    enum option_user user;
    const char *arguments; /* After the program's name in the usage line. */
    const char *summary;   /* One paragraph. */
    const char *example;
};

static const struct program_text program_texts[] = {
    {OPTION_PS, "--ps-hosts LIST --task-index I [options]",
     "Own a part of a job's parameters and apply the workers' gradients to them. A server is "
     "generic: model, data and mode come from the workers, which declare the job to server 0. "
     "Server 0 also writes the run directory. The processes of a job may start in any order. "
     "Options of syncopate-worker are taken and ignored, so that one list serves all.",
     "  syncopate-ps --ps-hosts alpha:2222,beta:2222 --task-index 0 --out runs/first"},
    {OPTION_WORKER, "--ps-hosts LIST --worker-hosts LIST --task-index I [options]",
     "Compute gradients on a part of the data and exchange them with the servers for new "
     "parameters until the job is done. All workers of a job are given the same options but "
     "--task-index; one that differs is refused with both values. Options of syncopate-ps are "
     "taken and ignored, so that one list serves all.",
     "  syncopate-worker --ps-hosts alpha:2222,beta:2222 \\\n"
     "      --worker-hosts gamma:0,delta:0 --task-index 1 --model cnn --epochs 10"},
    {OPTION_RUN, "[options]",
     "Start servers and workers on this machine, watch them train, and end with a summary. The "
     "run directory holds run.json, events.jsonl, checkpoints and the trained model.",
     "  syncopate run --workers 4 --ps 2 --mode async --epochs 3 --out runs/async4"},
    {OPTION_COMPARE, "[options]",
     "Run several modes and numbers of workers on the same work, one after the other, and end "
     "with a table and figures of how they converge.",
     "  syncopate compare --modes sync,async --workers 1,2,4 --epochs 3"},
    {OPTION_EVALUATE, "PATH [options]",
     "Score a trained model on the test set, without any server. PATH is a model.safetensors, a "
     "checkpoint (a step-... folder) or a run directory.",
     "  syncopate evaluate runs/async4"},
    {OPTION_EXPORT, "PATH [options]",
     "Merge a checkpoint into one model.safetensors that has the variables' own names and shapes. "
     "PATH is a checkpoint (a step-... folder) or a run directory.",
     "  syncopate export runs/async4 --out fashion.safetensors"},
    {OPTION_INSPECT, "PATH [options]",
     "Say what is in a checkpoint, a model or a run directory, or what a running job (host:port "
     "of server 0) is doing.",
     "  syncopate inspect runs/async4/checkpoints/step-000000000938"},
    {OPTION_KEYGEN, "PATH [options]",
     "Make a key pair: PATH.key, its public certificate, for the folders of the servers, and "
     "PATH.key_secret, which stays with whoever it is for and is readable by its owner only. With "
     "--workers N, all that a job needs: servers, observer, and worker-0 to worker-(N-1) in the "
     "folder PATH. Files are as czmq's, and never overwritten.",
     "  syncopate keygen keys --workers 4"},
    {OPTION_SIMULATE, "[options]",
     "Run whole clusters in this one process, in virtual time: the real servers' and workers' "
     "logic with a made-up model, late, reordered and repeated messages, clean stops. Each history "
     "follows from its seed alone and is checked against training done serially.",
     "  syncopate simulate --seed 1 --histories 1000"},
};

static const struct program_text *text_of(enum option_user user)
{
    for (size_t i = 0; i < sizeof program_texts / sizeof *program_texts; i++) {
        if (program_texts[i].user == user)
            return &program_texts[i];
    }
    return &program_texts[0];
}

static const struct {
    int code;
    unsigned users; /* Who can end with it. */
    const char *meaning;
} exit_codes[] = {
#define TRAINS (OPTION_PS | OPTION_WORKER | OPTION_RUN | OPTION_COMPARE)
    {EXIT_DONE, ~0u, "done"},
    {EXIT_TRAINING_FAILED, ~0u, "failed: training met a value that is not finite, or bad data"},
    {EXIT_USAGE, ~0u, "wrong usage"},
    {EXIT_MISMATCH, TRAINS, "the configurations of two processes disagree"},
    {EXIT_START_TIMEOUT, TRAINS, "not everybody had joined before --start-timeout"},
    {EXIT_CANNOT_OPEN, ~0u, "an address or a file cannot be opened"},
    {EXIT_UNAUTHENTICATED, TRAINS | OPTION_INSPECT, "refused by authentication"},
    {EXIT_INTERRUPTED, TRAINS, "interrupted (SIGINT), after a clean checkpoint"},
    {EXIT_TERMINATED, TRAINS, "terminated (SIGTERM, SIGHUP), after a clean checkpoint"},
    {EXIT_CLUSTER_LOST, TRAINS, "lost the cluster; worth a retry"},
};

static const char *const group_titles[OPTION_GROUP_COUNT] = {
    [OPTION_GROUP_JOB] = "The job",
    [OPTION_GROUP_OPTIMIZER] = "Optimizer and learning rate",
    [OPTION_GROUP_CLUSTER] = "The cluster",
    [OPTION_GROUP_DEADLINES] = "Deadlines",
    [OPTION_GROUP_FILES] = "Files",
    [OPTION_GROUP_OUTPUT] = "Output",
};

/* --- layout -------------------------------------------------------------------------------- */

/* Print text with lines broken between words. The first line goes on from `column`; later ones
 * start at `indent`. */
static void print_wrapped(FILE *out, const char *text, int column, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', out);
}

/* " (1 to 65536, default 64)", as far as there is something to say. */
static void describe_bounds(const struct option_row *row, char *text, size_t size)
{
    char range[80] = "", fallback[80] = "";
    bool number = row->kind != OPTION_KIND_FLAG && row->kind != OPTION_KIND_MODE &&
                  row->kind != OPTION_KIND_TEXT;
    if (number && row->max < 1e9)
        snprintf(range, sizeof range, "%.10g to %.10g", row->min, row->max);
    else if (row->kind == OPTION_KIND_BYTES)
        snprintf(range, sizeof range, "%.0f to %.0fM", row->min, row->max / (1 << 20));
    else if (number)
        snprintf(range, sizeof range, "at least %.10g", row->min);
    if (row->fallback)
        snprintf(fallback, sizeof fallback, "default %s", row->fallback);
    if (range[0] || fallback[0])
        snprintf(text, size, " (%s%s%s)", range, range[0] && fallback[0] ? ", " : "", fallback);
    else
        text[0] = '\0';
}

static void print_row(FILE *out, const struct option_row *row)
{
    int column = fprintf(out, "  --%s%s%s", row->name, row->metavar ? " " : "",
                         row->metavar ? row->metavar : "");
    if (column >= HELP_INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_INDENT - column, "");
    char bounds[200], text[600];
    describe_bounds(row, bounds, sizeof bounds);
    char words[OPTION_WORDS_MAX];
    bool named = row->choice && row->choice->word && strcmp(row->metavar, "NAME") == 0;
    snprintf(text, sizeof text, "%s%s%s%s%s", row->help, named ? " One of " : "",
             named ? option_choice_words(row->choice, words) : "", named ? "." : "", bounds);
    print_wrapped(out, text, HELP_INDENT, HELP_INDENT);
}

static void print_group(FILE *out, enum option_user user, enum option_group group)
{
    bool titled = false;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->group != group || !(row->users & user))
            continue;
        if (!titled)
            fprintf(out, "\n%s:\n", group_titles[group]);
        titled = true;
        print_row(out, row);
    }
}

void options_help(FILE *out, enum option_user user, const char *program)
{
    const struct program_text *text = text_of(user);
    int column = fprintf(out, "Usage: %s", program);
    print_wrapped(out, text->arguments, column, 7);
    fputc('\n', out);
    print_wrapped(out, text->summary, 0, 0);
    for (int group = 0; group < OPTION_GROUP_COUNT; group++)
        print_group(out, user, (enum option_group)group);
    fprintf(out, "  %-*s%s\n", HELP_INDENT - 2, "--help", "Print this and exit.");
    fprintf(out, "  %-*s%s\n", HELP_INDENT - 2, "--version", "Print the version and exit.");
    fputs("\nEnvironment:\n  ", out);
    print_wrapped(
        out,
        "Every option can be set as SYNCOPATE_ and its name in capitals with _ for -, for "
        "example SYNCOPATE_VERBOSE=true. A flag wins over the environment, and the "
        "environment over the default. A variable that begins so and is no program's option is a "
        "mistake.",
        2, 2);
    fputs("\nExit codes:\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++) {
        if (exit_codes[i].users & user)
            fprintf(out, "  %3d  %s\n", exit_codes[i].code, exit_codes[i].meaning);
    }
    fprintf(out, "\nExample:\n%s\n", text->example);
}

/* manual.c - writes pages in mdoc from the rows of options and additional texts; escapes characters
 * with a meaning for roff. */

#include "deploy/manual/manual.h"

#include <ctype.h>
#include <string.h>

#include "common/options/options_text.h"

#define TRAINING                                                                                   \
    (OPTION_PS | OPTION_WORKER | OPTION_TASK | OPTION_RUN | OPTION_LAUNCH | OPTION_COMPARE)
#define LAUNCHING   (OPTION_RUN | OPTION_LAUNCH | OPTION_COMPARE)
#define READS_DATA  (OPTION_WORKER | OPTION_TASK | LAUNCHING | OPTION_EVALUATE | OPTION_REPLAY)
#define ANY_PROGRAM (~0u)

#define LINE_MAX 70 /* Some characters are written as two. */

/* --- texts of the manual alone ---------------------------------------------------------------- */

struct manual_item {
    unsigned users;
    const char *name, *text;
};

static const struct manual_item files[] = {
    {OPTION_PS | LAUNCHING, "OUT/run.json", "The training and its results."},
    {OPTION_PS | LAUNCHING, "OUT/events.jsonl", "The events, one a line."},
    {OPTION_PS | LAUNCHING, "OUT/checkpoints/",
     "A folder for each, with a safetensors file from every server and a manifest."},
    {OPTION_PS | LAUNCHING, "OUT/generation",
     "Which run this is, and how often it went back to a checkpoint."},
    {OPTION_PS | LAUNCHING, "OUT/model.safetensors", "The trained model."},
    {LAUNCHING, "OUT/logs/", "The output of each process."},
    {OPTION_RUN | OPTION_SIMULATE, "OUT/trace.json, trace.spans",
     "With --trace: the activities of all processes."},
    {OPTION_PS | LAUNCHING, "OUT/NAME.damaged-1",
     "A damaged log, or another file in its place; kept for inspection."},
    {OPTION_COMPARE, "OUT/report.html, table.txt, compare.json", "The results of a comparison."},
    {OPTION_COMPARE, "OUT/runs/ARM-sSEED/",
     "A folder for every run of a comparison, like that of run."},
    {TRAINING | OPTION_INSPECT, "KEYS/servers.key, worker-I.key, observer.key",
     "Public certificates, in the folder that --keys names."},
    {TRAINING | OPTION_INSPECT, "KEYS/NAME.key_secret", "The secret one of a process; mode 0600."},
    {READS_DATA, "/usr/share/datasets/fashion-mnist", "Debian's package dataset-fashion-mnist."},
};

static const struct manual_item variables[] = {
    {LAUNCHING | OPTION_TASK, "SYNCOPATE_BIN_DIR",
     "Folder of syncopate-ps and syncopate-worker, when they are not beside syncopate."},
    {OPTION_TASK, "TF_CONFIG", "Cluster and task in JSON, as TensorFlow and Kubeflow write it."},
    {OPTION_TASK, "SLURM_PROCID, SLURM_NTASKS, SLURM_JOB_ID, SLURM_STEP_NODELIST, ...",
     "What srun says to each task."},
    {OPTION_TASK, "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMI_RANK, PMI_SIZE, ...",
     "What mpirun says."},
    {OPTION_TASK, "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT", "What torchrun says."},
    {OPTION_TASK, "DMLC_ROLE, DMLC_NUM_SERVER, DMLC_NUM_WORKER, DMLC_WORKER_ID, ...",
     "What ps-lite's launchers say."},
    {OPTION_TASK, "JOB_COMPLETION_INDEX, HOSTNAME", "What Kubernetes says to a pod."},
};

/* --- mdoc ---------------------------------------------------------------------------------- */

/* Verbatim. at_start: of a line, where . and ' have a meaning. */
static void put(FILE *out, const char *text, size_t length, bool at_start)
{
    if (at_start && length > 0 && (*text == '.' || *text == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out); /* Or it may be typeset as a hyphen, which no shell understands. */
        else
            fputc(text[i], out);
}

/* A paragraph: each sentence begins a line, as mdoc wants it, and no line is long. */
static void put_prose(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        bool ends = length > 0 && strchr(".?!", text[length - 1]) != NULL;
        if (column > 0 && column + length >= LINE_MAX) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
        }
        put(out, text, length, column == 0);
        column = ends ? 0 : column + length + 1;
        text += length + strspn(text + length, " ");
        if (ends || !*text)
            fputc('\n', out);
    }
}

/* Words after a macro. */
static void put_words(FILE *out, const char *text)
{
    put(out, text, strlen(text), false);
}

static void put_item(FILE *out, const char *macro, const char *name)
{
    fprintf(out, ".It %s ", macro);
    put_words(out, name);
    fputc('\n', out);
}

/* "[options]" and "[PAGE]" may be left out. */
static void put_arguments(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " ");
        bool optional = text[0] == '[', option = strncmp(text, "--", 2) == 0;
        if (strncmp(text, "[options]", length) == 0)
            fputs(".Op Ar option ...", out);
        else if (option)
            fputs(".Fl ", out);
        else
            fputs(optional ? ".Op Ar " : ".Ar ", out);
        if (strncmp(text, "[options]", length) != 0)
            put(out, text + (optional || option), length - (optional ? 2 : option), false);
        text += length + strspn(text + length, " ");
        /* An option's value is beside it. */
        if (option && *text && *text != '-' && *text != '[') {
            length = strcspn(text, " ");
            fputs(" Ar ", out);
            put(out, text, length, false);
            text += length + strspn(text + length, " ");
        }
        fputc('\n', out);
    }
}

/* --- sections ------------------------------------------------------------------------------ */

/* "syncopate-run" of one user. */
static void page_name(enum option_user user, char name[MANUAL_NAME_MAX])
{
    snprintf(name, MANUAL_NAME_MAX, "%s", option_user_program(user));
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '-' : *c;
}

static void put_head(FILE *out, const char *name, const char *brief)
{
    fputs(".\\\" Made by syncopate man from the table of options.\n.Dd " SYNCOPATE_DATE "\n.Dt ",
          out);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), out);
    fputs(" 1\n.Os\n.Sh NAME\n.Nm ", out);
    fprintf(out, "%s\n.Nd ", name);
    put_words(out, brief);
    fputc('\n', out);
}

static void put_synopsis(FILE *out, enum option_user user)
{
    const char *program = option_user_program(user), *command = strchr(program, ' ');
    fprintf(out, ".Sh SYNOPSIS\n.Nm %.*s", (int)strcspn(program, " "), program);
    if (command != NULL)
        fprintf(out, " Cm %s", command + 1);
    fputc('\n', out);
    put_arguments(out, program_text(user)->arguments);
}

static void put_option(FILE *out, const struct option_row *row)
{
    char text[OPTION_TEXT_MAX];
    fputs(".It Fl \\-", out);
    put_words(out, row->name);
    if (row->metavar != NULL) {
        fputs(" Ar ", out);
        put_words(out, row->metavar);
    }
    fputc('\n', out);
    option_describe(row, text);
    put_prose(out, text);
}

static void put_group(FILE *out, enum option_user user, enum option_group group)
{
    bool begun = false;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->group != group || !(row->users & user))
            continue;
        if (!begun)
            fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", option_group_titles[group]);
        begun = true;
        put_option(out, row);
    }
    if (begun)
        fputs(".El\n", out);
}

static void put_options(FILE *out, enum option_user user)
{
    fputs(".Sh OPTIONS\n", out);
    for (int group = 0; group < OPTION_GROUP_COUNT; group++)
        put_group(out, user, (enum option_group)group);
    fputs(".Ss About the program\n.Bl -tag -width Ds\n"
          ".It Fl \\-help\nPrint what there is and exit.\n"
          ".It Fl \\-version\nPrint the version and exit.\n.El\n",
          out);
}

static void put_items(FILE *out, const struct manual_item *items, size_t count, unsigned users,
                      const char *macro)
{
    for (size_t i = 0; i < count; i++) {
        if (!(items[i].users & users))
            continue;
        put_item(out, macro, items[i].name);
        put_prose(out, items[i].text);
    }
}

static void put_environment(FILE *out, unsigned users)
{
    fputs(".Sh ENVIRONMENT\n", out);
    put_prose(out, options_environment_text);
    if (!(users & (LAUNCHING | OPTION_TASK)))
        return;
    fputs(".Bl -tag -width Ds\n", out);
    put_items(out, variables, sizeof variables / sizeof *variables, users, "Ev");
    fputs(".El\n", out);
}

static void put_files(FILE *out, unsigned users)
{
    if (!(users & (TRAINING | READS_DATA | OPTION_INSPECT)))
        return;
    fputs(".Sh FILES\n.Bl -tag -width Ds\n", out);
    put_items(out, files, sizeof files / sizeof *files, users, "Pa");
    fputs(".El\n", out);
}

static void put_exit_codes(FILE *out, unsigned users)
{
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < exit_text_count; i++) {
        if (!(exit_texts[i].users & users))
            continue;
        fprintf(out, ".It %d\n", exit_texts[i].code);
        put_prose(out, exit_texts[i].meaning);
    }
    fputs(".El\n", out);
}

static void put_example(FILE *out, const char *text)
{
    fputs(".Sh EXAMPLES\n.Bd -literal -offset indent\n", out);
    while (*text) {
        size_t length = strcspn(text, "\n"), indent = length > 2 ? 2 : 0; /* As in --help. */
        put(out, text + indent, length - indent, true);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
    fputs(".Ed\n", out);
}

static void put_others(FILE *out, const char *name)
{
    char page[MANUAL_NAME_MAX];
    const char *separator = "";
    fputs(".Sh SEE ALSO\n", out);
    for (size_t i = 0; manual_page(i, page); i++) {
        if (strcmp(page, name) == 0)
            continue;
        fprintf(out, "%s.Xr %s 1", separator, page);
        separator = " ,\n";
    }
    fputc('\n', out);
}

/* --- pages --------------------------------------------------------------------------------- */

/* The page of all. */
static void put_overview(FILE *out)
{
    fputs(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar option ...\n.Sh DESCRIPTION\n", out);
    put_prose(out,
              "Syncopate trains neural networks on several processes and hosts. Servers own the "
              "model's variables and apply gradients to them; workers compute gradients on their "
              "part of the data. Training is asynchronous, or synchronous and then with the "
              "same bits whatever the number of processes.");
    fputs(".Pp\nThe commands are:\n.Bl -tag -width completion\n", out);
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        const char *command = strchr(option_user_program((enum option_user)user), ' ');
        if (command == NULL)
            continue;
        fprintf(out, ".It Cm %s\n", command + 1);
        put_prose(out, program_text((enum option_user)user)->brief);
    }
    fputs(".It Cm help Ar command\nthe options of one command\n.El\n.Pp\n", out);
    put_prose(out, "Jobs on several hosts are made of syncopate-ps and syncopate-worker, which are "
                   "started by hand or by whatever starts programs there.");
}

/* How many pages come before this one in the alphabet. */
static size_t place(enum option_user user)
{
    char ours[MANUAL_NAME_MAX], theirs[MANUAL_NAME_MAX];
    size_t before = 0;
    page_name(user, ours);
    for (unsigned other = OPTION_PS; other <= OPTION_USER_LAST; other <<= 1) {
        page_name((enum option_user)other, theirs);
        before += strcmp(theirs, ours) < 0;
    }
    return before;
}

static bool user_at(size_t index, enum option_user *at)
{
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        *at = (enum option_user)user;
        if (place(*at) == index)
            return true;
    }
    return false;
}

bool manual_page(size_t index, char name[MANUAL_NAME_MAX])
{
    enum option_user user;
    if (index > 0 && !user_at(index - 1, &user))
        return false;
    if (index > 0)
        page_name(user, name);
    else
        snprintf(name, MANUAL_NAME_MAX, "syncopate");
    return true;
}

static void write_all(FILE *out)
{
    put_head(out, "syncopate",
             "train neural networks with parameter servers, synchronously or not");
    put_overview(out);
    put_environment(out, ANY_PROGRAM);
    put_files(out, ANY_PROGRAM);
    put_exit_codes(out, ANY_PROGRAM);
    put_example(out, "  syncopate run --mode sync --epochs 1\n"
                     "  syncopate compare --modes sync,async --workers 1,2,4\n"
                     "  syncopate evaluate runs/x");
    put_others(out, "syncopate");
}

static void write_one(FILE *out, enum option_user user, const char *page)
{
    const struct program_text *text = program_text(user);
    put_head(out, page, text->brief);
    put_synopsis(out, user);
    fputs(".Sh DESCRIPTION\n", out);
    put_prose(out, text->summary);
    put_options(out, user);
    put_environment(out, user);
    put_files(out, user);
    put_exit_codes(out, user);
    put_example(out, text->example);
    put_others(out, page);
}

bool manual_write(FILE *out, const char *name)
{
    char page[MANUAL_NAME_MAX];
    enum option_user user;
    if (strcmp(name, "syncopate") == 0) {
        write_all(out);
        return true;
    }
    for (size_t i = 0; user_at(i, &user); i++) {
        page_name(user, page);
        if (strcmp(name, page) == 0 || strcmp(name, page + strlen("syncopate-")) == 0) {
            write_one(out, user, page);
            return true;
        }
    }
    return false;
}

/* options.c - reads command line and environment into struct options by the one table, and says
 * what is wrong with them as a whole. */

#include "common/options/options.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/address/address.h"
#include "common/base/wording.h"
#include "common/options/options_text.h"
#include "common/process/log.h"
#include "common/process/output.h"
#include "common/watch/http_place.h"

#define TASK_ASKS             " ('syncopate task' asks Slurm, MPI, torchrun or TF_CONFIG)"
#define SUGGESTION_LENGTH_MAX 64
#define MODES_TEXT_MAX        64 /* Of names only. */

/* The Makefile links programs with their own, so that another commit builds nothing else anew. */
const char syncopate_commit[] __attribute__((weak)) = "";

/* One call of options_parse. */
struct parser {
    struct options *options;
    enum option_user user;
    const char *program;
    struct error *error;
    /* How each row was set last, for error messages; "" when it still has its default. */
    char source[OPTION_ROWS_MAX][128];
    struct options others;         /* What the other role's options say, which does nothing here. */
    bool ignored[OPTION_ROWS_MAX]; /* Such were given. */
    const char *typed[OPTION_ROWS_MAX]; /* Values on the command line, or NULL. */
    const struct option_row *last;      /* The option that was read last, or NULL. */
    bool flags_over;                    /* After a bare "--". */
};

/* Set the error to "program: message" and refuse. */
static enum status refuse(const struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status refuse(const struct parser *parser, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(parser->error, STATUS_INVALID, "%s: %s", parser->program, text);
}

/* --- values -------------------------------------------------------------------------------- */

/* Servers and workers take each other's options, so that one list serves all processes of a job. */
static enum option_user other_role(enum option_user user)
{
    return user == OPTION_PS ? OPTION_WORKER : user == OPTION_WORKER ? OPTION_PS : 0;
}

/* Whether a value stands on the command line, and not in the environment. */
static bool is_typed(const char *source)
{
    return source[0] == '-';
}

/* Something that is right, and may be meant otherwise. */
static void remark(const struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void remark(const struct parser *parser, const char *format, ...)
{
    char *remarks = parser->options->remarks;
    size_t size = sizeof parser->options->remarks, used = strlen(remarks);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0)
        used += (size_t)snprintf(remarks + used, size - used, "; ");
    if (used < size)
        vsnprintf(remarks + used, size - used, format, arguments);
    va_end(arguments);
}

/* A list with commas: given twice it is one list. */
static bool is_comma_list(const struct option_row *row)
{
    return row->metavar != NULL && strcmp(row->metavar, "LIST") == 0;
}

/* What was typed before and this, in the options' own memory; NULL where there is no room. */
static const char *join(const struct parser *parser, const char *before, const char *text)
{
    struct options *options = parser->options;
    char *joined = options->joined + options->joined_used;
    size_t room = sizeof options->joined - options->joined_used;
    int length = snprintf(joined, room, "%s,%s", before, text);
    if (length < 0 || (size_t)length >= room)
        return NULL;
    options->joined_used += (size_t)length + 1;
    return joined;
}

/* Of two the last counts, so that a script can put what differs behind what does not; one that was
 * written by mistake should be noticed all the same. */
static void note_typed(struct parser *parser, const struct option_row *row, const char *source,
                       const char *text)
{
    const char **typed = &parser->typed[row - option_rows];
    if (row->kind != OPTION_KIND_LIST && !is_comma_list(row) && *typed != NULL &&
        strcmp(*typed, text) != 0)
        remark(parser, "%s=%.60s counts, not %.60s, which was given before", source, text, *typed);
    *typed = text;
}

/* Set the row from text; `source` is how the person wrote it, "--seed" or "SYNCOPATE_SEED". */
static enum status set_row(struct parser *parser, const struct option_row *row, const char *source,
                           const char *text)
{
    struct error error = {0};
    bool own = (row->users & parser->user) != 0;
    const char *before = parser->typed[row - option_rows];
    bool first = is_typed(source) && before == NULL;
    if (is_typed(source) && before != NULL && is_comma_list(row)) {
        text = join(parser, before, text);
        if (text == NULL)
            return refuse(parser, "%s: its lists are too long together", source);
    }
    if (row->kind == OPTION_KIND_LIST && first) /* The environment's do not count beside it. */
        ((struct options_list *)((char *)(own ? parser->options : &parser->others) + row->offset))
            ->count = 0;
    if (option_store(row, source, text, own ? parser->options : &parser->others, &error) !=
        STATUS_OK)
        return refuse(parser, "%s", error.text);
    if (is_typed(source))
        note_typed(parser, row, source, text);
    if (!own) {
        parser->ignored[row - option_rows] = true;
        return STATUS_OK;
    }
    size_t index = (size_t)(row - option_rows);
    char *kept = parser->source[index];
    snprintf(kept, sizeof parser->source[0], "%s=%.80s", source, text);
    parser->options->given[index / 64] |= UINT64_C(1) << index % 64;
    if (row->kind == OPTION_KIND_FLAG && !*(bool *)((char *)parser->options + row->offset))
        kept[0] = '\0'; /* A flag set to false is a flag not used. */
    return STATUS_OK;
}

/* --- defaults and environment -------------------------------------------------------------- */

static void set_defaults(struct options *options, enum option_user user)
{
    memset(options, 0, sizeof *options);
    options->job.checkpoint_every = JOB_CHECKPOINTS_UNSAID;
    options->seeds = 1;
    options->owner_threads = -1;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        void *field = (char *)options + row->offset;
        if (row->kind == OPTION_KIND_REAL && row->fallback == NULL)
            *(double *)field = NAN;
        if (row->kind == OPTION_KIND_FLOAT && row->fallback == NULL)
            *(float *)field = NAN;
    }
    /* Fields that this user has no option for get the others' default, never a wild value; the
     * user's own rows come last and win. */
    for (int own = 0; own <= 1; own++) {
        for (size_t i = 0; i < option_row_count; i++) {
            const struct option_row *row = &option_rows[i];
            bool owned = (row->users & user) != 0;
            if (row->fallback != NULL && owned == own)
                option_store(row, row->name, row->fallback, options, NULL);
        }
    }
    /* The row without a default of its own must not keep another program's. */
    if (user == OPTION_WORKER || user == OPTION_KEYGEN || user == OPTION_LAUNCH)
        options->workers = 0;
    if (user == OPTION_TASK)
        options->port_base = 0;
    if (user == OPTION_INSPECT)
        options->log_every = NAN;
}

/* "syncopate-worker, syncopate run", three at most, when other programs have an option of this name. */
static bool other_users(const char *name, size_t length, char *text, size_t size)
{
    unsigned count = 0;
    text[0] = '\0';
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        if (option_find(user, name, length) == NULL)
            continue;
        if (++count > 3) {
            wording_append(text, size, " and others");
            break;
        }
        wording_append(text, size, "%s%s", text[0] != '\0' ? ", " : "",
                       option_user_program((enum option_user)user));
    }
    return text[0] != '\0';
}

/* A variable that is another program's option does nothing, which a person at a terminal may not have
 * meant. (The environment of a container is that of all its processes.) */
static void note_useless(const struct parser *parser, const struct option_row *row,
                         const char *variable)
{
    char users[200];
    size_t length = strlen(row->name);
    unsigned persons = OPTION_RUN | OPTION_LAUNCH | OPTION_COMPARE | OPTION_SIMULATE;
    if ((parser->user & persons) != 0 && option_find(parser->user, row->name, length) == NULL &&
        option_find(~0u, row->name, length) == row && /* Once a name. */
        other_users(row->name, length, users, sizeof users))
        remark(parser, "%s does nothing here: it is for %s", variable, users);
}

static enum status read_environment(struct parser *parser)
{
    struct error error;
    if (option_environment_check(&error) != STATUS_OK)
        return refuse(parser, "%s", error.text);
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        char name[64];
        option_environment_name(row, name);
        const char *value = getenv(name);
        if (value == NULL || value[0] == '\0')
            continue;
        if (!(row->users & parser->user)) {
            note_useless(parser, row, name);
            continue;
        }
        enum status status = set_row(parser, row, name, value);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* --- unknown options ----------------------------------------------------------------------- */

/* What another program calls an option: what it is here, if it is anything. */
static enum status refuse_synonym(const struct parser *parser, const char *typed, const char *name,
                                  const char *remark)
{
    char users[200];
    unsigned ours = parser->user | other_role(parser->user);
    if (name == NULL)
        return refuse(parser, "unknown option %s: %s", typed, remark);
    if (option_find(ours, name, strlen(name)) != NULL)
        return refuse(parser, "unknown option %s: here it is --%s%s%s", typed, name,
                      remark != NULL ? ", " : "", remark != NULL ? remark : "");
    other_users(name, strlen(name), users, sizeof users);
    return refuse(parser,
                  "unknown option %s: it is --%s, which is not an option of this program "
                  "(of %s)",
                  typed, name, users);
}

static enum status refuse_unknown(const struct parser *parser, const char *argument)
{
    const char *name = argument + strspn(argument, "-"), *meant, *remark;
    size_t length = strcspn(name, "=");
    char word[SUGGESTION_LENGTH_MAX], typed[SUGGESTION_LENGTH_MAX], users[200];
    char several[SUGGESTION_LENGTH_MAX + 1];
    unsigned ours = parser->user | other_role(parser->user);
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(argument, "="), argument);
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (option_synonym(word, &meant, &remark))
        return refuse_synonym(parser, typed, meant, remark);
    meant = option_meant(ours, word);
    snprintf(several, sizeof several, "%ss", word);
    if (option_find(ours, several, strlen(several)) != NULL) /* compare --mode */
        meant = several;
    else if (argument[1] == '-' && other_users(name, length, users, sizeof users))
        return refuse(parser, "%s is not an option of this program (of %s)", typed, users);
    if (meant != NULL)
        return refuse(parser, "unknown option %s (did you mean --%s?)", typed, meant);
    return refuse(parser, "unknown option %s (--help lists them)", typed);
}

/* --- arguments ----------------------------------------------------------------------------- */

static bool takes_operand(enum option_user user)
{
    return program_text(user)->operand != NULL;
}

static bool needs_operand(enum option_user user)
{
    return takes_operand(user) && program_text(user)->arguments[0] != '[';
}

/* A word where only options may stand: what it most likely was meant to be. */
static enum status refuse_word(const struct parser *parser, const char *argument)
{
    size_t length = strcspn(argument, "=");
    const struct option_row *row = option_find(parser->user, argument, length);
    const struct option_row *last = parser->last;
    if (row != NULL && argument[length] == '=')
        return refuse(parser, "unexpected argument '%.100s' (did you mean --%.100s?)", argument,
                      argument);
    if (strlen(argument) > 3 && strcmp(argument + strlen(argument) - 3, ".py") == 0)
        return refuse(parser, "'%.100s' is a program: --program \"python3 %.100s\"", argument,
                      argument);
    if (last != NULL && last->kind == OPTION_KIND_FLAG)
        return refuse(parser,
                      "unexpected argument '%.100s' (--%s stands alone, or with = as in "
                      "--%s=false)",
                      argument, last->name, last->name);
    if (last != NULL && last->kind == OPTION_KIND_TEXT)
        return refuse(parser,
                      "unexpected argument '%.100s' (a value with blanks, such as that of "
                      "--%s, goes between quotes)",
                      argument, last->name);
    return refuse(parser, "unexpected argument '%.100s'; options begin with -- (--help lists them)",
                  argument);
}

static enum status take_positional(struct parser *parser, const char *argument)
{
    if (!takes_operand(parser->user))
        return refuse_word(parser, argument);
    struct options_list *comparisons = &parser->options->comparisons;
    if (parser->user == OPTION_LAB && parser->options->path != NULL &&
        parser->options->second_path == NULL) {
        parser->options->second_path = argument;
        return STATUS_OK;
    }
    if (parser->user == OPTION_FIGURE && comparisons->count < OPTIONS_LIST_MAX)
        comparisons->items[comparisons->count++] = argument;
    else if (parser->options->path != NULL)
        return refuse(parser, "takes one path, but '%s' and '%s' were given", parser->options->path,
                      argument);
    if (argument[0] == '\0')
        return refuse(parser, "the path is empty");
    parser->options->path = argument;
    return STATUS_OK;
}

/* One "--name", "--name value" or "--name=value" at argv[*i]. */
static enum status take_option(struct parser *parser, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    if (parser->user == OPTION_LAUNCH && strcmp(argument, "-H") == 0)
        argument = "--host-list";
    size_t dashes = strspn(argument, "-");
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const struct option_row *row = dashes == 2 ? option_find(parser->user, name, length) : NULL;
    if (row == NULL && dashes == 2)
        row = option_find(other_role(parser->user), name, length);
    if (row == NULL)
        return refuse_unknown(parser, argument);

    char source[64];
    snprintf(source, sizeof source, "--%s", row->name);
    parser->last = row;
    if (name[length] == '=')
        return set_row(parser, row, source, name + length + 1);
    if (row->kind == OPTION_KIND_FLAG)
        return set_row(parser, row, source, "true");
    if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0)
        return refuse(parser, "%s needs a value", source);
    return set_row(parser, row, source, argv[++*i]);
}

static enum status take_arguments(struct parser *parser, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool option = !parser->flags_over && argv[i][0] == '-' && argv[i][1] != '\0';
        enum status status = STATUS_OK;
        if (option && strcmp(argv[i], "--") == 0)
            parser->flags_over = true;
        else if (option)
            status = take_option(parser, argc, argv, &i);
        else
            status = take_positional(parser, argv[i]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* --- checks of the whole ------------------------------------------------------------------- */

static const char *source_of(const struct parser *parser, const char *name)
{
    const struct option_row *row = option_find(parser->user, name, strlen(name));
    return row != NULL ? parser->source[row - option_rows] : "";
}

/* "sync,async,ssp" of compare's list, however it was written. */
static const char *modes_of(const char *list, char text[MODES_TEXT_MAX])
{
    struct mode_setting modes[OPTIONS_MODES_MAX];
    uint32_t count = 0;
    options_modes(list, modes, OPTIONS_MODES_MAX, &count, NULL);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        wording_append(text, MODES_TEXT_MAX, "%s%s", i > 0 ? "," : "", mode_name(modes[i].mode));
    return text;
}

/* What --vary gives this option, and what is zipped with it; NULL when it is not varied. */
static const char *varied_values(const struct options *options, const char *name, size_t length)
{
    for (uint32_t i = 0; i < options->vary.count; i++) {
        for (const char *at = options->vary.items[i]; at != NULL; at = strchr(at, '+')) {
            at += at != options->vary.items[i];
            if (strncmp(at, name, length) == 0 && at[length] == '=')
                return at + length + 1;
        }
    }
    return NULL;
}

/* The value of the option that others depend on. For compare, mode is a list, written to `text`. */
static const char *governing_value(const struct parser *parser, const char *name, size_t length,
                                   char text[MODES_TEXT_MAX])
{
    const struct options *options = parser->options;
    const char *varied = varied_values(options, name, length);
    if (varied != NULL)
        return varied; /* That one of them has a use for it is enough. */
    if (strncmp(name, "mode", length) == 0)
        return parser->user == OPTION_COMPARE ? modes_of(options->modes, text)
                                              : mode_name(options->job.mode);
    if (strncmp(name, "optimizer", length) == 0)
        return options->job.optimizer.name;
    return schedule_kind_name(options->job.schedule.kind);
}

/* Whether two lists of words, each word set off by anything but letters, share one. */
static bool lists_meet(const char *a, const char *b)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    for (const char *p = a; *p; p += strcspn(p, letters)) {
        size_t length = strspn(p, letters);
        for (const char *q = b; *q; q += strcspn(q, letters)) {
            size_t other = strspn(q, letters);
            if (length > 0 && length == other && strncmp(p, q, length) == 0)
                return true;
            q += other;
        }
        p += length;
    }
    return false;
}

bool option_has_use(const struct option_row *row, const char *value)
{
    char text[OPTION_WORDS_MAX];
    return row->only_with == NULL || lists_meet(option_wanted(row, text), value);
}

/* An option that was set but would do nothing is a misunderstanding: say so now. */
static enum status check_used(const struct parser *parser)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->only_with == NULL || parser->source[i][0] == '\0')
            continue;
        size_t length = strcspn(row->only_with, "=");
        char text[MODES_TEXT_MAX], words[OPTION_WORDS_MAX];
        const char *wanted = option_wanted(row, words);
        const char *actual = governing_value(parser, row->only_with, length, text);
        if (!lists_meet(wanted, actual))
            return refuse(parser, "%s: only used with --%.*s=%s, but the %.*s is %s",
                          parser->source[i], (int)length, row->only_with, wanted, (int)length,
                          row->only_with, actual);
    }
    return STATUS_OK;
}

/* What describes a cluster is of use where there is one in virtual time. */
static enum status check_virtual(const struct parser *parser)
{
    const struct options *options = parser->options;
    if (options->virtual_time && options->keys != NULL)
        return refuse(parser, "--keys and --virtual exclude each other: there is no network");
    for (size_t i = 0; i < option_row_count && !options->virtual_time; i++)
        if ((option_rows[i].users & OPTION_COMPARE) != 0 &&
            (option_rows[i].users & OPTION_RUN) == 0 &&
            (option_rows[i].users & OPTION_SIMULATE) != 0 && parser->source[i][0] != '\0')
            return refuse(parser, "%s: only used with --virtual", parser->source[i]);
    return STATUS_OK;
}

/* A job has one length: --steps is, where both are given alike; else what is typed wins. */
static void choose_length(const struct parser *parser)
{
    const char *steps = source_of(parser, "steps"), *epochs = source_of(parser, "epochs");
    if (steps[0] == '\0' || epochs[0] == '\0')
        return;
    if (is_typed(epochs) && !is_typed(steps))
        parser->options->job.steps = 0;
    else if (is_typed(epochs) || !is_typed(steps))
        remark(parser, "%s counts, not %s", steps, epochs);
}

/* A warm-up has one length, and begins nowhere where there is none. */
static enum status check_warmup(const struct parser *parser)
{
    const struct options *options = parser->options;
    bool steps = options->job.schedule.warmup_steps > 0, epochs = options->warmup_epochs > 0;
    if (steps && epochs)
        return refuse(parser, "%s and %s: one of them is too much",
                      source_of(parser, "warmup-steps"), source_of(parser, "warmup-epochs"));
    if (options->job.schedule.warmup_from > 0 && !steps && !epochs &&
        parser->user != OPTION_COMPARE)
        return refuse(parser, "%s: only used with --warmup-steps or --warmup-epochs",
                      source_of(parser, "warmup-from"));
    return STATUS_OK;
}

/* Hosts of one list. servers: they are connected to, so that each needs an address of its own. */
static enum status check_hosts(const struct parser *parser, const char *name, const char *list,
                               bool servers, uint32_t *count)
{
    uint32_t max = servers ? JOB_SERVERS_MAX : JOB_WORKERS_MAX;
    struct error error;
    *count = 0;
    if (list == NULL)
        return STATUS_OK;
    char(*items)[ADDRESS_MAX] = malloc(max * sizeof *items);
    if (items == NULL)
        return error_set(parser->error, STATUS_MEMORY, "%s: out of memory", parser->program);
    enum status status = options_hosts(list, items, max, count, &error);
    if (status == STATUS_OK)
        status = options_hosts_apart(items, *count, &error);
    if (status == STATUS_OK && servers)
        status = options_hosts_differ(items, *count, &error);
    free(items);
    return status == STATUS_OK ? status : refuse(parser, "--%s: %s", name, error.text);
}

static enum status check_index(const struct parser *parser, const char *name, uint32_t count)
{
    uint32_t index = parser->options->task_index;
    return count == 0 || index < count
               ? STATUS_OK
               : refuse(parser, "--task-index=%" PRIu32 ": --%s names only %" PRIu32, index, name,
                        count);
}

static enum status check_role(const struct parser *parser)
{
    const struct options *options = parser->options;
    bool server = parser->user == OPTION_PS;
    const char *role = server ? "ps" : "worker";
    uint32_t servers, workers = 0;
    if (options->job_name != NULL && strcmp(options->job_name, role) != 0)
        return refuse(parser, "--job-name=%s, but this is syncopate-%s", options->job_name, role);
    enum status status = check_hosts(parser, "ps-hosts", options->ps_hosts, true, &servers);
    if (status == STATUS_OK && server)
        status = check_index(parser, "ps-hosts", servers);
    if (status == STATUS_OK)
        status = check_hosts(parser, "worker-hosts", options->worker_hosts, false, &workers);
    if (status == STATUS_OK && !server)
        status = check_index(parser, "worker-hosts", workers);
    return status;
}

static enum status check_server(const struct parser *parser)
{
    const struct options *options = parser->options;
    char host[ADDRESS_MAX];
    uint16_t port;
    if (options->ps_hosts == NULL && options->bind == NULL)
        return refuse(parser, "needs --ps-hosts with --task-index, or --bind" TASK_ASKS);
    if (options->bind != NULL && !address_split(options->bind, host, &port))
        return refuse(parser, "--bind=%s: needs host:port, or :port for all addresses",
                      options->bind);
    return STATUS_OK;
}

/* --ps colocated by hand: there are as many workers as servers, and who beside each other. */
static enum status place_together(const struct parser *parser)
{
    struct options *options = parser->options;
    uint32_t servers = 0, named = 0;
    options_hosts(options->ps_hosts, NULL, JOB_SERVERS_MAX, &servers, NULL);
    options_hosts(options->worker_hosts, NULL, JOB_WORKERS_MAX, &named, NULL);
    const char *other = options->workers > 0 ? "workers" : "worker-hosts";
    uint32_t workers = options->workers > 0 ? options->workers : named;
    if (workers != 0 && workers != servers)
        return refuse(parser,
                      "--ps=colocated: every worker's place has a server, but --ps-hosts names %s "
                      "and --%s %s",
                      wording_counted(servers, "server", "servers").text, other,
                      wording_counted(workers, "worker", "workers").text);
    options->workers = servers;
    return STATUS_OK;
}

/* The same where a command starts all of them. */
static enum status place_all_together(const struct parser *parser)
{
    struct options *options = parser->options;
    if (strcmp(options->on_term, "leave") == 0)
        return refuse(parser,
                      "%s: with --ps=colocated each worker's place owns chunks, and cannot "
                      "leave",
                      source_of(parser, "on-term"));
    if (parser->user == OPTION_COMPARE || options->workers == 0)
        return STATUS_OK; /* It has several numbers of workers, or finds out how many there are. */
    if (options->workers > JOB_SERVERS_MAX)
        return refuse(parser, "--ps=colocated: %s would be as many servers, and the most is %d",
                      wording_counted(options->workers, "worker", "workers").text, JOB_SERVERS_MAX);
    options->ps = options->workers;
    return STATUS_OK;
}

static enum status check_worker(const struct parser *parser)
{
    const struct options *options = parser->options;
    if (options->ps == 0 && options->out == NULL)
        return refuse(parser, "--ps=0 needs --out, since no server keeps what comes out");
    if (options->ps == 0)
        return STATUS_OK;
    if (options->ps_hosts == NULL)
        return refuse(parser, "needs --ps-hosts, the servers' host:port in order" TASK_ASKS);
    if (options->job.colocated)
        return place_together(parser);
    if (options->worker_hosts == NULL && options->workers == 0)
        return refuse(parser, "needs --worker-hosts or --workers, to know how many workers join");
    uint32_t named = options->workers;
    if (options->workers > 0 && options->worker_hosts != NULL)
        options_hosts(options->worker_hosts, NULL, JOB_WORKERS_MAX, &named, NULL);
    if (named != options->workers)
        return refuse(parser, "%s, but --worker-hosts names %" PRIu32, source_of(parser, "workers"),
                      named);
    return STATUS_OK; /* With an index from --workers on it joins a job under way. */
}

static enum status check_keys(const struct parser *parser)
{
    const struct options *options = parser->options;
    if (parser->user == OPTION_KEYGEN && options->workers > 0 &&
        (options->role != NULL || options->index >= 0))
        return refuse(parser, "--workers makes a whole job's keys; --role and --index are for one");
    if (options->index >= 0 && options->role == NULL)
        return refuse(parser, "--index=%" PRId32 " needs --role", options->index);
    if (options->certificate != NULL && options->keys == NULL)
        return refuse(parser, "--certificate needs --keys, for the others' keys");
    if (options->keys == NULL)
        return STATUS_OK;
    if (options->insecure)
        return refuse(parser, "--insecure and --keys exclude each other");
    if (options->transport != NULL && strcmp(options->transport, "shm") == 0)
        return refuse(parser, "--transport=shm and --keys exclude each other: shared memory would "
                              "bypass the keys");
    if (options->ps == 0)
        return refuse(parser, "--keys: without servers (--ps=0) there is no server to talk to");
    return STATUS_OK;
}

/* Without --follow these have no use. */
static enum status check_follow(const struct parser *parser)
{
    static const char *const names[] = {"best", "patience", "out", "start-timeout",
                                        "recovery-timeout"};
    for (size_t i = 0; !parser->options->follow && i < sizeof names / sizeof *names; i++)
        if (is_typed(source_of(parser, names[i])))
            return refuse(parser, "%s: only used with --follow", source_of(parser, names[i]));
    return STATUS_OK;
}

/* Whether a worker that has servers leaves it to them. */
static bool is_left_to_servers(const struct parser *parser, const struct option_row *row)
{
    bool theirs = strcmp(row->name, "out") == 0 || strcmp(row->name, "restore") == 0 ||
                  strcmp(row->name, "keep") == 0 || strcmp(row->name, "log-every") == 0;
    const char *source = parser->source[row - option_rows];
    return parser->user == OPTION_WORKER && parser->options->ps > 0 && theirs && is_typed(source);
}

static void list_ignored(const struct parser *parser)
{
    struct options *options = parser->options;
    options->ignored[0] = '\0';
    for (size_t i = 0; i < option_row_count; i++)
        if (parser->ignored[i] || is_left_to_servers(parser, &option_rows[i]))
            wording_append(options->ignored, sizeof options->ignored, "%s--%s",
                           options->ignored[0] != '\0' ? ", " : "", option_rows[i].name);
}

/* A program is model and data. */
static enum status check_program(const struct parser *parser)
{
    static const char *const names[] = {"model", "data"};
    const struct options *options = parser->options;
    if (options->program == NULL && options->program_fd == NULL)
        return STATUS_OK;
    if (options->program != NULL && options->program_fd != NULL)
        return refuse(parser, "--program and --program-fd exclude each other");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct option_row *row = option_find(parser->user, names[i], strlen(names[i]));
        if (row != NULL && is_typed(source_of(parser, names[i])))
            return refuse(parser, "--program: is model and data; %s cannot be given as well",
                          source_of(parser, names[i]));
    }
    return STATUS_OK;
}

/* Ten epochs are more than a reader reads. */
static enum status check_explain(const struct parser *parser)
{
    const struct options *options = parser->options;
    if (options->explain && options->quiet)
        return refuse(parser, "--quiet and --explain exclude each other");
    if (options->explain && (options->job.steps == 0 || options->job.steps > EXPLAIN_STEPS_MAX))
        return refuse(parser,
                      "--explain tells every message, and so of a short run only: add --steps 1 "
                      "(%u at most)",
                      EXPLAIN_STEPS_MAX);
    return STATUS_OK;
}

/* How many workers the job has, as far as is known. */
static uint32_t workers_of(const struct options *options)
{
    uint32_t count = 0;
    if (options->worker_hosts == NULL ||
        options_hosts(options->worker_hosts, NULL, JOB_WORKERS_MAX, &count, NULL) != STATUS_OK)
        return options->workers;
    return count;
}

/* A policy decides what else the backup workers would, or the bound. */
static enum status check_policy(const struct parser *parser)
{
    struct options *options = parser->options;
    const struct mode_facts *mode = job_mode(&options->job);
    if (options->policy == NULL)
        return STATUS_OK;
    if (mode->replicates)
        return refuse(parser, "--policy: decides in sync and async, and not in %s", mode->name);
    if (mode->steps && options->job.backup_workers == 0)
        options->job.backup_workers = 1;
    if (mode->bounds != NULL)
        options->job.staleness_bound = MODE_BOUND_MAX;
    return STATUS_OK;
}

/* Backup workers make a mode of their own of sync. */
static enum status check_backup(const struct parser *parser)
{
    struct options *options = parser->options;
    uint32_t workers = workers_of(options);
    bool user = parser->user == OPTION_RUN || parser->user == OPTION_LAUNCH ||
                parser->user == OPTION_WORKER || parser->user == OPTION_SIMULATE;
    if (!user)
        return STATUS_OK;
    if (options->job.backup_workers == 0) {
        if (job_mode(&options->job)->sets)
            job_set_mode(&options->job, (struct mode_setting){.mode = MODE_SYNC});
        return STATUS_OK;
    }
    if (options->ps == 0)
        return refuse(parser,
                      "backup workers: no worker is late where one process is alone (--ps=0)");
    if (options->job.backup_workers >= workers)
        return refuse(
            parser, "%" PRIu32 " of %s cannot be backup workers: a step waits for one at least",
            options->job.backup_workers, wording_counted(workers, "worker", "workers").text);
    job_set_mode(&options->job, (struct mode_setting){MODE_BACKUP, options->job.backup_workers});
    return STATUS_OK;
}

/* launch has hosts from one place, and where it has workers to count --workers says how many. */
static enum status check_launch(const struct parser *parser)
{
    const struct options *options = parser->options;
    if (options->hosts == NULL && options->host_list == NULL)
        return refuse(parser, "on which hosts? Say --hosts FILE or -H LIST; 'syncopate run' starts "
                              "all on this one");
    if (options->hosts != NULL && options->host_list != NULL)
        return refuse(parser, "--hosts and --host-list exclude each other");
    if (options->ps == 0)
        return refuse(parser, "--ps=0: one process alone needs no other host; write 'syncopate "
                              "run --ps 0'");
    if (options->workers == 0 && options->job.backup_workers > 0)
        return refuse(parser, "%s: needs --workers, too", source_of(parser, "backup-workers"));
    return STATUS_OK;
}

/* In virtual time --loss is that of a link, unless it is a word for the loss of a model. */
static void move_loss(struct parser *parser)
{
    struct options *options = parser->options;
    const char **lost = &options->cluster[CLUSTER_TEXT_LOSS];
    const struct option_row *row = option_find(parser->user, "loss", 4);
    if (row == NULL || *lost == NULL ||
        (strcmp(*lost, "mse") != 0 && strcmp(*lost, "softmax") != 0))
        return;
    size_t index = (size_t)(row - option_rows);
    options->data_settings[DATA_SETTING_LOSS] = *lost;
    *lost = NULL;
    parser->source[index][0] = '\0';
    options->given[index / 64] &= ~(UINT64_C(1) << index % 64);
}

static enum status check_teach(const struct parser *parser)
{
    struct http_place place;
    if (parser->options->serve == NULL)
        return refuse(parser, "--teach: its buttons are on the page of --serve");
    if (http_place_read(parser->options->serve, &place) && http_place_is_loopback(&place))
        return STATUS_OK;
    return refuse(parser, "--teach: only on a page of this host alone, and %s is not",
                  source_of(parser, "serve"));
}

static enum status check_whole(const struct parser *parser)
{
    const struct options *options = parser->options;
    list_ignored(parser);
    if (options->quiet && options->verbose)
        return refuse(parser, "--quiet and --verbose exclude each other");
    if (needs_operand(parser->user) && options->path == NULL)
        return refuse(parser, "needs %s (--help tells more)", program_text(parser->user)->operand);
    choose_length(parser);
    enum status status = check_used(parser);
    if (status == STATUS_OK && parser->user == OPTION_LAUNCH)
        status = check_launch(parser);
    if (status == STATUS_OK)
        status = check_policy(parser);
    if (status == STATUS_OK)
        status = check_backup(parser);
    if (status == STATUS_OK)
        status = check_program(parser);
    if (status == STATUS_OK && options->straggle != NULL && options->compute == NULL)
        status = refuse(parser, "%s: only used with --compute", source_of(parser, "straggle"));
    if (status == STATUS_OK && options->tensorboard_run != NULL && options->tensorboard == NULL)
        status = refuse(parser, "%s: only used with --tensorboard",
                        source_of(parser, "tensorboard-run"));
    if (status == STATUS_OK && parser->user == OPTION_COMPARE)
        status = check_virtual(parser);
    if (status == STATUS_OK)
        status = check_warmup(parser);
    if (status == STATUS_OK)
        status = check_explain(parser);
    if (status == STATUS_OK && (parser->user == OPTION_PS || parser->user == OPTION_WORKER))
        status = check_role(parser);
    if (status == STATUS_OK)
        status = check_keys(parser);
    if (status == STATUS_OK && options->serve != NULL && options->ps == 0 &&
        parser->user == OPTION_RUN)
        status = refuse(parser, "%s: server 0 has the page, and --ps=0 has none",
                        source_of(parser, "serve"));
    if (status == STATUS_OK && options->teach)
        status = check_teach(parser);
    if (status == STATUS_OK && options->alive + options->ready + options->watch > 1)
        status = refuse(parser, "--alive, --ready and --watch exclude each other");
    if (status == STATUS_OK && (options->alive || options->ready) && options->json)
        status = refuse(parser, "--alive and --ready answer by their exit code, not with --json");
    if (status == STATUS_OK && parser->user == OPTION_EVALUATE)
        status = check_follow(parser);
    if (status == STATUS_OK && parser->user == OPTION_PS)
        status = check_server(parser);
    if (status == STATUS_OK && parser->user == OPTION_WORKER)
        status = check_worker(parser);
    if (status == STATUS_OK && options->job.colocated && parser->user != OPTION_PS &&
        parser->user != OPTION_WORKER && parser->user != OPTION_TASK)
        status = place_all_together(parser);
    if (status == STATUS_OK && parser->user == OPTION_INSPECT && !options->watch &&
        is_typed(source_of(parser, "log-every")))
        status = refuse(parser, "%s: only used with --watch", source_of(parser, "log-every"));
    return status;
}

/* --- the whole ----------------------------------------------------------------------------- */

bool options_given(const struct options *options, enum option_user user, const char *name)
{
    const struct option_row *row = option_find(user, name, strlen(name));
    assert(row != NULL);
    size_t index = (size_t)(row - option_rows);
    return (options->given[index / 64] >> index % 64 & 1) != 0;
}

enum status options_suggest(struct options *options, const char *source, const char *name,
                            const char *text, struct error *error)
{
    char said[96];
    bool known = false, given = false;
    snprintf(said, sizeof said, "%.40s: %.40s", source, name);
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (strcmp(row->name, name) != 0 || !(row->users & OPTION_WORKER) ||
            row->kind == OPTION_KIND_TEXT || row->kind == OPTION_KIND_LIST)
            continue;
        known = true;
        given = given || (options->given[i / 64] >> i % 64 & 1) != 0;
        enum status status = STATUS_OK;
        if (!given)
            status = option_store(row, said, text, options, error);
        if (status != STATUS_OK)
            return status;
        options->given[i / 64] |= (uint64_t)1 << i % 64;
    }
    return known ? STATUS_OK
                 : error_set(error, STATUS_INVALID, "%s is no option that can be suggested", said);
}

/* --help and --version count wherever they stand, even beside a mistake. */
static bool asked_for(int argc, char **argv, const char *long_name, const char *short_name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], long_name) == 0 ||
            (short_name != NULL && strcmp(argv[i], short_name) == 0))
            return true;
    return false;
}

enum options_result options_parse(struct options *options, enum option_user user,
                                  const char *program, int argc, char **argv, struct error *error)
{
    assert(option_row_count <= OPTION_ROWS_MAX);
    set_defaults(options, user);
    if (asked_for(argc, argv, "--help", "-h")) {
        options_help(stdout, user, program);
        return OPTIONS_HELP;
    }
    if (asked_for(argc, argv, "--version", "-V")) {
        printf("syncopate " SYNCOPATE_VERSION "%s\n", syncopate_commit);
        return OPTIONS_HELP;
    }
    struct parser parser = {.options = options, .user = user, .program = program, .error = error};
    enum status status = read_environment(&parser);
    if (status == STATUS_OK)
        status = take_arguments(&parser, argc, argv);
    if (status == STATUS_OK)
        move_loss(&parser);
    if (status == STATUS_OK)
        status = check_whole(&parser);
    return status == STATUS_OK ? OPTIONS_RUN : OPTIONS_BAD;
}

bool options_begin(struct options *options, enum option_user user, int argc, char **argv,
                   int *exit_code)
{
    struct error error = {0};
    enum options_result result =
        options_parse(options, user, option_user_program(user), argc, argv, &error);
    *exit_code = result != OPTIONS_BAD           ? EXIT_DONE
                 : error.status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                                 : EXIT_USAGE;
    if (result == OPTIONS_BAD)
        fprintf(stderr, "%s\n", error.text);
    enum status printed = result == OPTIONS_HELP ? output_finish(&error) : STATUS_OK;
    if (printed != STATUS_OK && printed != STATUS_UNREACHABLE) {
        fprintf(stderr, "%s: %s\n", option_user_program(user), error.text);
        *exit_code = EXIT_CANNOT_OPEN;
    }
    return result == OPTIONS_RUN;
}

void options_begin_log(const struct options *options, const char *who)
{
    enum log_format format;
    log_format_parse(options->log_format, &format);
    log_init(who, options->quiet ? LOG_WARNING : options->verbose ? LOG_DEBUG : LOG_INFO, format);
}

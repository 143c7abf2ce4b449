/* syncopate - finds the command that launches or inspects, and calls it. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/spelling.h"
#include "common/options/options_text.h"
#include "common/process/file_limit.h"
#include "common/process/log.h"
#include "common/process/output.h"
#include "common/process/process.h"
#include "deploy/command/command.h"
#include "deploy/compare/plan_words.h"
#include "deploy/manual/completion.h"
#include "deploy/place/place.h"

/* Its words as they are to be read: with those of a file that they name. */
typedef enum status command_words_fn(struct arguments *words, int argc, char **argv,
                                     struct error *error);

struct command {
    const char *name;
    enum option_user user;
    command_fn *run;
    command_words_fn *words; /* NULL: as they are typed. */
};

static const struct command commands[] = {
    {"run", OPTION_RUN, command_run, NULL},
    {"launch", OPTION_LAUNCH, command_launch, NULL},
    {"task", OPTION_TASK, command_task, NULL},
    {"compare", OPTION_COMPARE, command_compare, plan_words},
    {"evaluate", OPTION_EVALUATE, command_evaluate, NULL},
    {"export", OPTION_EXPORT, command_export, NULL},
    {"inspect", OPTION_INSPECT, command_inspect, NULL},
    {"serve", OPTION_SERVE, command_serve, NULL},
    {"figure", OPTION_FIGURE, command_figure, NULL},
    {"replay", OPTION_REPLAY, command_replay, NULL},
    {"trace", OPTION_TRACE, command_trace, NULL},
    {"leave", OPTION_LEAVE, command_leave, NULL},
    {"simulate", OPTION_SIMULATE, command_simulate, NULL},
    {"calibrate", OPTION_CALIBRATE, command_calibrate, NULL},
    {"verify", OPTION_VERIFY, command_verify, NULL},
    {"lab", OPTION_LAB, command_lab, NULL},
    {"probe", OPTION_PROBE, command_probe, NULL},
    {"keygen", OPTION_KEYGEN, command_keygen, NULL},
    {"completion", OPTION_COMPLETION, command_completion, NULL},
    {"man", OPTION_MAN, command_man, NULL},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_help(FILE *out)
{
    fputs("syncopate - train neural networks with parameter servers, synchronously or not\n"
          "\n"
          "usage: syncopate COMMAND [OPTION...]\n"
          "\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, program_text(commands[i].user)->brief);
    fputs("\n"
          "  syncopate help COMMAND    the options of one command\n"
          "  syncopate --version\n"
          "\n"
          "The servers and workers themselves are syncopate-ps and syncopate-worker;\n"
          "start them by hand to spread a job over several hosts, or let 'syncopate\n"
          "launch' do it by ssh. Under Slurm, MPI or Kubernetes each process is a\n"
          "'syncopate task'.\n"
          "\n"
          "A first run:  syncopate run --mode sync --epochs 1\n",
          out);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Other programs' names of an option, and ours. */
static const struct synonym {
    const char *word, *answer;
} synonyms[] = {
    {"ps", "the program syncopate-ps is one; 'syncopate run' starts servers and workers here"},
    {"server", "the program syncopate-ps is one; 'syncopate run' starts servers and workers here"},
    {"worker", "the program syncopate-worker is one; 'syncopate run' starts them and servers here"},
    {"train", "write 'syncopate run'"},
    {"fit", "write 'syncopate run'"},
    {"start", "write 'syncopate run'"},
    {"resume", "'syncopate run' with the same --out goes on"},
    {"repeat", "write 'syncopate replay'"},
    {"reproduce", "write 'syncopate replay'"},
    {"stop", "Ctrl-C or SIGTERM stops a job at a checkpoint; 'syncopate leave' lets one worker go"},
    {"evict", "write 'syncopate leave'"},
    {"drain", "write 'syncopate leave'"},
    {"test", "write 'syncopate evaluate'"},
    {"score", "write 'syncopate evaluate'"},
    {"predict", "write 'syncopate export', and load the model where it is to be used"},
    {"save", "write 'syncopate export'"},
    {"convert", "write 'syncopate export'"},
    {"status", "write 'syncopate inspect'"},
    {"show", "write 'syncopate inspect'"},
    {"info", "write 'syncopate inspect'"},
    {"report", "write 'syncopate compare', which ends with one"},
    {"plot", "write 'syncopate compare', which ends with figures, or 'syncopate figure'"},
    {"profile", "write 'syncopate run --trace'"},
    {"timeline", "write 'syncopate run --trace'"},
    {"keys", "write 'syncopate keygen'"},
    {"version", "write 'syncopate --version' (this is " SYNCOPATE_VERSION ")"},
};

static int unknown_command(const char *name)
{
    char hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    spelling_begin(&spelling, name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        spelling_try(&spelling, commands[i].name);
    const char *answer = "syncopate --help lists them";
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (spelling_same(name, synonyms[i].word))
            answer = synonyms[i].answer;
    spelling_hint(&spelling, "", hint);
    fprintf(stderr, "syncopate: there is no command '%.60s'; %s%s\n", name, answer, hint);
    return EXIT_USAGE;
}

static int unknown_option(const char *option)
{
    bool version = strcmp(option, "-v") == 0;
    fprintf(stderr, "syncopate: unknown option %.60s%s; syncopate --help lists the commands\n",
            option,
            version ? " (did you mean --version?)" : ": a command comes before its options");
    return EXIT_USAGE;
}

/* Started by an engine as one of several, a command that is a whole job would be as many jobs. */
static int check_single(const struct options *options, enum option_user user)
{
    char said[PLACE_TEXT_MAX], text[PLACE_TEXT_MAX + 160];
    bool first, whole = user == OPTION_RUN || (user == OPTION_COMPARE && !options->virtual_time);
    if (!whole || !place_one_of_several((const char *const *)environ, said, &first))
        return EXIT_DONE;
    snprintf(text, sizeof text,
             "%s: each is a job of its own; write 'syncopate task' where they are to be one, or "
             "unset that variable",
             said);
    command_say(option_user_program(user), first ? LOG_WARNING : LOG_ERROR, text);
    return first ? EXIT_DONE : EXIT_USAGE;
}

static int begin_command(const struct command *command, struct command_call *call)
{
    struct error error = {0};
    enum log_format format;
    int code;
    if (!options_begin(&call->options, command->user, call->argc, call->argv, &code))
        return code;
    log_format_parse(call->options.log_format, &format);
    /* A command prints its own messages; only errors are lines of a log. */
    log_init(option_user_program(command->user), LOG_WARNING, format);
    code = check_single(&call->options, command->user);
    if (code == EXIT_DONE)
        code = command->run(call, &error);
    if (code != EXIT_DONE && error.text[0] != '\0')
        command_fail(option_user_program(command->user), code, &error);
    return code;
}

/* argv[0]: the command's name. */
static int run_command(const struct command *command, int argc, char **argv)
{
    struct command_call call = {.argc = argc, .argv = argv, .typed_argc = argc, .typed = argv};
    struct arguments words = {0};
    struct error error = {0};
    enum status status = STATUS_OK;
    if (command->words != NULL)
        status = command->words(&words, argc, argv, &error);
    if (status == STATUS_OK && words.count > 0) {
        call.argc = (int)words.count;
        call.argv = words.items;
    }
    int code = status == STATUS_OK
                   ? begin_command(command, &call)
                   : command_fail(option_user_program(command->user),
                                  status == STATUS_INVALID ? EXIT_USAGE : EXIT_CANNOT_OPEN, &error);
    arguments_free(&words);
    return code;
}

static int help_on(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc < 3) {
        print_help(stdout);
        return EXIT_DONE;
    }
    const struct command *command = find_command(argv[2]);
    if (command == NULL)
        return unknown_command(argv[2]);
    char *arguments[] = {argv[2], help, NULL};
    return run_command(command, 2, arguments);
}

static int perform(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help_on(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("syncopate " SYNCOPATE_VERSION "%s\n", syncopate_commit);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "__complete") == 0 && argc > 2) { /* A shell asks, at a tab. */
        completion_offer(stdout, argc - 2, argv + 2);
        return EXIT_DONE;
    }
    if (argv[1][0] == '-')
        return unknown_option(argv[1]);
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    return run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    struct error error;
    process_begin();
    file_limit_raise();
    log_init("syncopate", LOG_WARNING, LOG_FORMAT_TEXT);
    int code = perform(argc, argv);
    bool command = argc > 1 && find_command(argv[1]) != NULL;
    /* Other commands only print; a run ends as it would have with a reader. */
    bool trains = command && (strcmp(argv[1], "run") == 0 || strcmp(argv[1], "launch") == 0);
    enum status printed = trains ? STATUS_OK : output_finish(&error);
    /* A reader like head may close early. */
    if (printed == STATUS_OK || printed == STATUS_UNREACHABLE)
        return code;
    fprintf(stderr, "syncopate%s%s: %s\n", command ? " " : "", command ? argv[1] : "", error.text);
    return code == EXIT_DONE ? EXIT_CANNOT_OPEN : code;
}

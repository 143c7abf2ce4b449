/* The commands that look at what there is, in this process: what they print of a run, its checkpoints
 * and its model, to people and as JSON; and what they refuse, in one line, with which exit code. What
 * starts processes is tried where there are some, in tests/processes. */
/* test: tsan */

#include "deploy/command/command.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/options/options_table.h"
#include "common/transport/transport.h"
#include "deploy/run/run_json.h"
#include "ps/server.h"
#include "tests/lib/runs/lone_run.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

#define WORDS_MAX 12
#define MODEL     "/model.safetensors"
#define NEWEST    "/checkpoints/step-000000000003"

/* A run of three updates that is done, and what the last command has printed. */
struct fixture {
    char folder[64], run[80], model[120], checkpoint[120], spare[120];
    char *out, *err;
};

static void open_fixture(struct fixture *f)
{
    struct error error = {STATUS_OK, ""};
    memset(f, 0, sizeof *f);
    runs_make(f->folder);
    snprintf(f->run, sizeof f->run, "%s/run", f->folder);
    snprintf(f->model, sizeof f->model, "%s" MODEL, f->run);
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s" NEWEST, f->run);
    snprintf(f->spare, sizeof f->spare, "%s/spare", f->folder);
    ck_assert_msg(lone_run(&(struct lone_run){.out = f->run, .epochs = 1}, &error) == EXIT_DONE,
                  "%s", error.text);
}

static void close_fixture(struct fixture *f)
{
    free(f->out);
    free(f->err);
    runs_remove(f->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

/* --- commands -------------------------------------------------------------------------------- */

/* From now on what is written to a stream goes to a file; where it went before. */
static int divert(FILE *stream, const struct fixture *f, const char *name)
{
    char path[120];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    fflush(stream);
    int before = dup(fileno(stream)), file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ck_assert(before >= 0 && file >= 0 && dup2(file, fileno(stream)) >= 0);
    close(file);
    return before;
}

static void give_back(FILE *stream, int before)
{
    fflush(stream);
    ck_assert_int_ge(dup2(before, fileno(stream)), 0);
    close(before);
}

static enum option_user user_of(const char *name)
{
    static const struct {
        const char *name;
        enum option_user user;
    } users[] = {
        {"run", OPTION_RUN},       {"compare", OPTION_COMPARE}, {"evaluate", OPTION_EVALUATE},
        {"export", OPTION_EXPORT}, {"inspect", OPTION_INSPECT}, {"verify", OPTION_VERIFY},
        {"keygen", OPTION_KEYGEN}, {"man", OPTION_MAN},         {"completion", OPTION_COMPLETION},
        {"replay", OPTION_REPLAY},
    };
    size_t i = 0;
    while (strcmp(users[i].name, name) != 0)
        i++;
    return users[i].user;
}

/* As syncopate_main.c does. */
static int perform(command_fn *command, int argc, char **argv)
{
    struct command_call call = {.argc = argc, .argv = argv};
    struct error error = {0};
    enum option_user user = user_of(argv[0]);
    int code;
    if (!options_begin(&call.options, user, argc, argv, &code))
        return code;
    code = command(&call, &error);
    if (code != EXIT_DONE && error.text[0] != '\0')
        command_fail(option_user_program(user), code, &error);
    return code;
}

/* Words up to NULL; the exit code. */
static int call(struct fixture *f, command_fn *command, ...)
{
    char words[WORDS_MAX][160], *arguments[WORDS_MAX + 1] = {NULL};
    const char *word;
    int count = 0;
    va_list list;
    va_start(list, command);
    while ((word = va_arg(list, const char *)) != NULL && count < WORDS_MAX) {
        snprintf(words[count], sizeof words[count], "%s", word);
        arguments[count] = words[count];
        count++;
    }
    va_end(list);
    int out = divert(stdout, f, "out.txt"), err = divert(stderr, f, "err.txt");
    int code = perform(command, count, arguments);
    give_back(stdout, out);
    give_back(stderr, err);
    free(f->out);
    free(f->err);
    f->out = runs_read(f->folder, "out.txt");
    f->err = runs_read(f->folder, "err.txt");
    return code;
}

static void expect_in(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %.2000s", part, text);
}

/* One line, and nothing on standard output. */
static void expect_refusal(const struct fixture *f, int found, int code, const char *part)
{
    ck_assert_msg(found == code, "exit code %d: %s", found, f->err);
    expect_in(f->err, part);
    ck_assert_str_eq(f->out, "");
    const char *end = strchr(f->err, '\n');
    ck_assert(end != NULL && end[1] == '\0');
}

/* What was printed, as JSON. */
static struct json *parsed(const struct fixture *f)
{
    struct json *root = NULL;
    struct error error = {STATUS_OK, ""};
    ck_assert_msg(json_parse(f->out, strlen(f->out), "what was printed", &root, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    return root;
}

static void expect_text(const struct json *root, const char *path, const char *text)
{
    const char *found = json_text(root, path);
    ck_assert_msg(found != NULL && strcmp(found, text) == 0, "%s: %s", path, found);
}

/* --- inspect --------------------------------------------------------------------------------- */

TEST(a_run_is_told_of_to_people)
{
    ck_assert_int_eq(call(f, command_inspect, "inspect", f->run, NULL), EXIT_DONE);
    expect_in(f->out, "done");
    expect_in(f->out, "updates        3 of 3, 60 examples computed");
    expect_in(f->out, "checkpoints    3, the newest");
    expect_in(f->out, NEWEST ", 1 part,");
    expect_in(f->out, "test accuracy");
    expect_in(f->out, "(of this model)");
    ck_assert_str_eq(f->err, "");
}

TEST(a_run_its_checkpoint_and_its_model_have_the_same_parameters)
{
    const char *const paths[] = {f->run, f->checkpoint, f->model};
    const char *const kinds[] = {"run", "checkpoint", "model"};
    char sha256[3][65];
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", paths[i], NULL), EXIT_DONE);
        struct json *root = parsed(f);
        expect_text(root, "kind", kinds[i]);
        snprintf(sha256[i], sizeof sha256[i], "%s", json_text(root, "parameters_sha256"));
        json_release(&root);
    }
    ck_assert_uint_eq(strlen(sha256[0]), 64);
    ck_assert_str_eq(sha256[0], sha256[1]);
    ck_assert_str_eq(sha256[0], sha256[2]);
    for (int i = 1; i < 3; i++) {
        ck_assert_int_eq(call(f, command_inspect, "inspect", paths[i], NULL), EXIT_DONE);
        expect_in(f->out, kinds[i]);
        expect_in(f->out, sha256[0]);
        expect_in(f->out, "dense1/kernel");
    }
}

TEST(a_checkpoint_tells_of_its_job_parts_and_slots)
{
    ck_assert_int_eq(call(f, command_inspect, "inspect", f->checkpoint, NULL), EXIT_DONE);
    expect_in(f->out, "step         3 of 3");
    expect_in(f->out, "20 examples an update in leaves of 5");
    expect_in(f->out, "adam, learning rate 0.001, schedule constant");
    expect_in(f->out, "whole");
    expect_in(f->out, "slot");
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", f->checkpoint, NULL), EXIT_DONE);
    struct json *root = parsed(f);
    ck_assert_uint_eq(json_u64(root, "step", 0), 3);
    ck_assert_uint_eq(json_u64(root, "micro_batch", 0), 5);
    expect_text(root, "optimizer", "adam");
    json_release(&root);
}

TEST(what_is_damaged_is_named)
{
    char part[200];
    struct stat whole;
    snprintf(part, sizeof part, "%s/part-0-of-1.safetensors", f->checkpoint);
    ck_assert_int_eq(stat(part, &whole), 0);
    ck_assert_int_eq(truncate(part, whole.st_size - 4), 0);
    ck_assert_int_eq(call(f, command_inspect, "inspect", f->checkpoint, NULL), EXIT_CANNOT_OPEN);
    expect_in(f->err, "part-0-of-1.safetensors");
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", f->checkpoint, NULL),
                     EXIT_CANNOT_OPEN);
    ck_assert_str_eq(f->out, "");
    ck_assert_int_eq(call(f, command_inspect, "inspect", f->run, NULL), EXIT_DONE);
    expect_in(f->out, NEWEST ": ");
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", f->run, NULL), EXIT_DONE);
    expect_in(f->out, "\"fault\": \"");
    ck_assert_int_eq(truncate(f->model, 10), 0);
    expect_refusal(f, call(f, command_inspect, "inspect", f->model, NULL), EXIT_CANNOT_OPEN,
                   "model.safetensors");
}

TEST(what_cannot_be_inspected_is_refused)
{
    expect_refusal(f, call(f, command_inspect, "inspect", "--watch", f->model, NULL), EXIT_USAGE,
                   "--watch is for host:port");
    expect_refusal(f, call(f, command_inspect, "inspect", f->spare, NULL), EXIT_CANNOT_OPEN,
                   "spare");
    expect_refusal(f, call(f, command_inspect, "inspect", f->folder, NULL), EXIT_CANNOT_OPEN,
                   f->folder);
    expect_refusal(f, call(f, command_inspect, "inspect", "host:99999", NULL), EXIT_USAGE, "host");
    ck_assert_int_eq(call(f, command_inspect, "inspect", NULL), EXIT_USAGE);
    runs_write(f->folder, "compare.json", "{}");
    expect_refusal(f, call(f, command_inspect, "inspect", f->folder, NULL), EXIT_CANNOT_OPEN,
                   "compare.json: it is not of a comparison");
}

TEST(where_nobody_listens_there_is_no_job)
{
    expect_refusal(f, call(f, command_inspect, "inspect", "127.0.0.1:1", NULL), EXIT_CANNOT_OPEN,
                   "no server 0 answers: connection refused by 127.0.0.1:1");
    expect_refusal(f, call(f, command_inspect, "inspect", "--json", "--watch", "127.0.0.1:1", NULL),
                   EXIT_CANNOT_OPEN, "connection refused");
    expect_refusal(f, call(f, command_inspect, "inspect", "--keys=/nowhere", "127.0.0.1:1", NULL),
                   EXIT_CANNOT_OPEN, "/nowhere");
}

/* Server 0 of no job yet, in this process. */
struct waiting_server {
    struct transport *transport;
    struct server *server;
    pthread_t thread;
    int code;
};

static void *serve(void *argument)
{
    struct waiting_server *it = argument;
    struct error reason;
    it->code = server_run(it->server, &reason);
    return NULL;
}

static void begin_to_serve(struct waiting_server *it, const struct fixture *f)
{
    struct error error = {STATUS_OK, ""};
    ck_assert_int_eq(transport_create(&it->transport, false, &error), STATUS_OK);
    const struct server_options options = {
        .transport = it->transport,
        .disk = &disk_posix,
        .listen = "127.0.0.1:0",
        .out = f->spare,
        .restore = "auto",
        .owner_threads = 0,
        .deadlines = {.start = 60, .silence = 5, .recovery = 60, .progress = 60, .stop = 20},
    };
    ck_assert_msg(server_create(&it->server, &options, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(pthread_create(&it->thread, NULL, serve, it), 0);
}

static void *stop_soon(void *argument)
{
    struct waiting_server *it = argument;
    usleep(300000);
    server_request_stop(it->server, EXIT_INTERRUPTED);
    return NULL;
}

TEST(a_server_says_what_it_waits_for_until_it_is_stopped)
{
    struct waiting_server it;
    pthread_t stopper;
    char address[100];
    begin_to_serve(&it, f);
    snprintf(address, sizeof address, "%s", server_bound(it.server));
    ck_assert_int_eq(call(f, command_inspect, "inspect", address, NULL), EXIT_DONE);
    expect_in(f->out, "waiting");
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", address, NULL), EXIT_DONE);
    struct json *root = parsed(f);
    expect_text(root, "state", "waiting for a job");
    json_release(&root);
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_soon, &it), 0);
    call(f, command_inspect, "inspect", "--watch", "--log-every=0.1", address, NULL);
    expect_in(f->out, "waiting");
    expect_in(f->out, "stopped");
    pthread_join(stopper, NULL);
    pthread_join(it.thread, NULL);
    ck_assert_int_eq(it.code, EXIT_INTERRUPTED);
    server_destroy(&it.server);
    it.transport->operations->destroy(&it.transport);
}

/* --- evaluate, export ------------------------------------------------------------------------ */

TEST(a_run_and_its_checkpoint_score_what_the_run_says)
{
    double accuracy[2];
    const char *const paths[] = {f->run, f->checkpoint};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(call(f, command_evaluate, "evaluate", "--json", paths[i], NULL),
                         EXIT_DONE);
        struct json *root = parsed(f);
        accuracy[i] = json_number(root, "test_accuracy");
        json_release(&root);
    }
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", f->run, NULL), EXIT_DONE);
    struct json *root = parsed(f);
    ck_assert_double_eq(accuracy[0], json_number(root, "test_accuracy"));
    ck_assert_double_eq(accuracy[1], accuracy[0]);
    json_release(&root);
    ck_assert_int_eq(call(f, command_evaluate, "evaluate", f->run, NULL), EXIT_DONE);
    expect_in(f->out, "test accuracy");
    expect_in(f->out, "synthetic:60");
}

TEST(other_data_than_a_model_was_trained_on_are_remarked)
{
    ck_assert_int_eq(call(f, command_evaluate, "evaluate", "--data=synthetic:100", f->run, NULL),
                     EXIT_DONE);
    expect_in(f->err, "warning: scored on synthetic:100");
    expect_in(f->err, "but trained on synthetic:60");
    ck_assert_int_eq(
        call(f, command_evaluate, "evaluate", "--data=synthetic:100", "--seed=7", f->model, NULL),
        EXIT_DONE);
    expect_in(f->out, "synthetic:100");
}

TEST(what_cannot_be_scored_is_refused)
{
    expect_refusal(f, call(f, command_evaluate, "evaluate", f->spare, NULL), EXIT_CANNOT_OPEN,
                   "spare");
    expect_refusal(f, call(f, command_evaluate, "evaluate", "--data=nowhere", f->run, NULL),
                   EXIT_USAGE, "nowhere");
    expect_refusal(f, call(f, command_evaluate, "evaluate", "--data=/etc", f->run, NULL),
                   EXIT_CANNOT_OPEN, "/etc");
    runs_write(f->folder, "compare.json", "{}");
    expect_refusal(f, call(f, command_evaluate, "evaluate", f->folder, NULL), EXIT_CANNOT_OPEN,
                   "is a comparison");
}

TEST(an_exported_model_is_the_runs_own)
{
    char option[160];
    snprintf(option, sizeof option, "--out=%s.safetensors", f->spare);
    ck_assert_int_eq(call(f, command_export, "export", f->checkpoint, option, NULL), EXIT_DONE);
    char *said = strdup(f->out);
    expect_in(said, f->spare);
    expect_in(f->err, "2 variables,");
    ck_assert_int_eq(call(f, command_inspect, "inspect", "--json", f->run, NULL), EXIT_DONE);
    struct json *root = parsed(f);
    ck_assert_int_eq(strncmp(said, json_text(root, "model_sha256"), 64), 0);
    json_release(&root);
    free(said);
    expect_refusal(f, call(f, command_export, "export", f->run, option, NULL), EXIT_CANNOT_OPEN,
                   "is there already and is not overwritten");
    expect_refusal(
        f, call(f, command_export, "export", f->run, "--out=/nowhere/at/x.safetensors", NULL),
        EXIT_CANNOT_OPEN, "cannot write to the folder /nowhere/at");
    expect_refusal(f, call(f, command_export, "export", f->run, "--out=model.onnx", NULL),
                   EXIT_USAGE, "as safetensors alone: NAME.safetensors");
}

/* --- keys ------------------------------------------------------------------------------------- */

TEST(keys_are_made_once_and_their_halves_are_held_together)
{
    struct error error = {STATUS_OK, ""};
    char path[160];
    ck_assert_int_eq(call(f, command_keygen, "keygen", "--workers=2", f->spare, NULL), EXIT_DONE);
    expect_in(f->out, "worker-1.key");
    ck_assert_int_eq(command_check_keys(f->spare, 2, &error), EXIT_DONE);
    ck_assert_int_eq(call(f, command_keygen, "keygen", "--workers=2", f->spare, NULL), EXIT_DONE);
    expect_in(f->out, "nothing to make");
    ck_assert_int_ne(command_check_keys(f->spare, 3, &error), EXIT_DONE);
    expect_in(error.text, "worker-2");
    /* The certificate of one under the name of another. */
    char *other = runs_read(f->spare, "worker-0.key_secret");
    snprintf(path, sizeof path, "%s/worker-1.key_secret", f->spare);
    ck_assert_int_eq(chmod(path, 0600), 0);
    runs_write(f->spare, "worker-1.key_secret", other);
    free(other);
    ck_assert_int_ne(command_check_keys(f->spare, 2, &error), EXIT_DONE);
    expect_in(error.text, "worker-1");
}

TEST(a_key_of_ones_own_is_not_written_over)
{
    ck_assert_int_eq(
        call(f, command_keygen, "keygen", "--role=worker", "--index=3", f->spare, NULL), EXIT_DONE);
    char *certificate = runs_read(f->folder, "spare.key");
    expect_in(certificate, "worker");
    free(certificate);
    expect_refusal(f, call(f, command_keygen, "keygen", f->spare, NULL), EXIT_CANNOT_OPEN, "spare");
    expect_refusal(f, call(f, command_keygen, "keygen", "--workers=1", "/proc/no", NULL),
                   EXIT_CANNOT_OPEN, "/proc/no");
}

/* --- the end of a run, for scripts --------------------------------------------------------------- */

TEST(what_came_of_a_run_is_one_object)
{
    struct run_outcome outcome = {.path = f->run, .claimed = true, .reason = "", .restarts = 2};
    char *text;
    size_t bytes;
    for (int claimed = 1; claimed >= 0; claimed--) {
        outcome.claimed = claimed;
        outcome.exit_code = claimed ? EXIT_DONE : EXIT_CANNOT_OPEN;
        outcome.path = claimed ? f->run : NULL;
        outcome.reason = claimed ? "" : "no room";
        FILE *out = open_memstream(&text, &bytes);
        ck_assert_int_eq(run_json_print(out, &outcome), STATUS_OK);
        fclose(out);
        free(f->out);
        f->out = text;
        struct json *root = parsed(f);
        ck_assert_uint_eq(json_u64(root, "exit_code", 99), (unsigned)outcome.exit_code);
        ck_assert_uint_eq(json_u64(root, "restarts", 99), 2);
        expect_text(root, "state", claimed ? "done" : "failed");
        expect_text(root, "reason", outcome.reason);
        ck_assert_int_eq(json_text(root, "path") != NULL, claimed);
        ck_assert_int_eq(json_text(root, "parameters_sha256") != NULL, claimed);
        json_release(&root);
    }
}

/* --- the rest ---------------------------------------------------------------------------------- */

TEST(a_history_is_told_by_its_seed)
{
    ck_assert_int_eq(call(f, command_verify, "verify", "--seed=5", NULL), EXIT_DONE);
    char *first = strdup(f->out);
    expect_in(first, "seed 5: ");
    ck_assert_int_eq(call(f, command_verify, "verify", "--seed=5", "--quiet", NULL), EXIT_DONE);
    ck_assert_str_eq(f->out, "");
    ck_assert_int_eq(call(f, command_verify, "verify", "--seed=5", "--verbose", NULL), EXIT_DONE);
    ck_assert_uint_gt(strlen(f->out), 2 * strlen(first));
    free(first);
}

TEST(pages_and_completions_are_printed)
{
    ck_assert_int_eq(call(f, command_man, "man", "syncopate-run", NULL), EXIT_DONE);
    expect_in(f->out, ".Dt SYNCOPATE-RUN 1");
    ck_assert_int_eq(call(f, command_man, "man", "nothing", NULL), EXIT_USAGE);
    ck_assert_int_eq(call(f, command_completion, "completion", "bash", NULL), EXIT_DONE);
    expect_in(f->out, "complete");
    ck_assert_int_eq(call(f, command_completion, "completion", "cmd", NULL), EXIT_USAGE);
}

/* Before any process is started, and before anything is written. */
TEST(a_job_that_cannot_be_is_refused_at_once)
{
    char out[160];
    snprintf(out, sizeof out, "--out=%s", f->spare);
    expect_refusal(f, call(f, command_run, "run", "--data=nowhere", out, NULL), EXIT_USAGE,
                   "nowhere");
    expect_refusal(f, call(f, command_compare, "compare", "--ps=0", out, NULL), EXIT_USAGE,
                   "nothing to compare without servers");
    expect_refusal(f, call(f, command_compare, "compare", "--modes=sink", out, NULL), EXIT_USAGE,
                   "sink");
    expect_refusal(f, call(f, command_compare, "compare", "--workers=1,none", out, NULL),
                   EXIT_USAGE, "none");
    expect_refusal(f, call(f, command_compare, "compare", "--data=nowhere", out, NULL), EXIT_USAGE,
                   "nowhere");
    ck_assert_int_ne(access(f->spare, F_OK), 0);
    snprintf(out, sizeof out, "--out=%s", f->run);
    expect_refusal(f, call(f, command_compare, "compare", "--data=synthetic:100", out, NULL),
                   EXIT_CANNOT_OPEN, "is not overwritten");
}

int main(void)
{
    return suite_run("commands", NULL);
}

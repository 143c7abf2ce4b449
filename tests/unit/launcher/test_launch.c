/* The launcher, with shell scripts in place of servers and workers. */
/* promises: alone exit-codes restarts run stop */
/* test: first */

#include "deploy/launcher/launch.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "common/process/log.h"
#include "common/process/process.h"
#include "deploy/launcher/arguments.h"
#include "tests/lib/suite.h"

/* A child that never ends by itself, and one that stops when asked, with this exit code. */
#define SLEEPS     "exec sleep 60\n"
#define STOPS(how) "trap 'exit " how "' INT TERM\nwhile :; do sleep 0.05; done\n"
/* The body of a script that dies at its first start. */
#define DIES_ONCE  "[ -e $0-$index.again ] || { touch $0-$index.again; kill -9 $$; }\n"
#define SAYS_ERROR "echo \"2026-11-22T10:31:15.123Z worker/$index error: no such layer\" >&2\n"
#define SAYS_ERROR_JSON                                                                            \
    "echo '{\"time\":\"2026-11-22T10:31:15.123Z\",\"level\":\"error\",\"who\":\"worker/1\",'"      \
    "'\"text\":\"no such layer\"}' >&2\n"

/* Of one test; check runs each in a process of its own. */
struct scene {
    char folder[64], out[80], temporary[80];
    struct options options;
    struct launch_result result;
    char said[4096]; /* Lines for the person. */
    struct error error;
};

static void note(void *context, const char *line)
{
    struct scene *scene = context;
    size_t used = strlen(scene->said);
    snprintf(scene->said + used, sizeof scene->said - used, "%s\n", line);
}

static void path_in(char path[256], const struct scene *scene, const char *name)
{
    snprintf(path, 256, "%s/%s", scene->folder, name);
}

/* Write folder/syncopate-<role>: notes its arguments and its id, then does `body`. */
static void script(const struct scene *scene, const char *role, const char *body)
{
    char path[256], name[32];
    snprintf(name, sizeof name, "syncopate-%s", role);
    path_in(path, scene, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "#!/bin/sh\n"
            "index=0\n"
            "for word in \"$@\"; do case \"$word\" in\n"
            "--task-index=*) index=${word#*=};;\n"
            "--out=*) out=${word#*=};;\n"
            "esac; done\n"
            "echo \"$@\" > %s/%s-$index.words\n"
            "env > %s/%s-$index.env\n"
            "echo $$ > %s/%s-$index.id\n",
            scene->folder, role, scene->folder, role, scene->folder, role);
    fprintf(file, "%s", body);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
}

static void scene_init(struct scene *scene, uint32_t ps, uint32_t workers, const char *ps_body,
                       const char *worker_body)
{
    char *argv[] = {(char[]){"run"}, NULL};
    memset(scene, 0, sizeof *scene);
    ck_assert_int_eq(options_parse(&scene->options, OPTION_RUN, "run", 1, argv, &scene->error),
                     OPTIONS_RUN);
    scene->options.ps = ps;
    scene->options.workers = workers;
    scene->options.quiet = true;
    scene->options.deadlines.stop = 1;
    scene->options.deadlines.start = 20;
    snprintf(scene->folder, sizeof scene->folder, "/tmp/test_launch-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->out, sizeof scene->out, "%s/out", scene->folder);
    snprintf(scene->temporary, sizeof scene->temporary, "%s/tmp", scene->folder);
    ck_assert_int_eq(mkdir(scene->out, 0700), 0);
    ck_assert_int_eq(mkdir(scene->temporary, 0700), 0);
    setenv("SYNCOPATE_BIN_DIR", scene->folder, 1);
    setenv("TMPDIR", scene->temporary, 1);
    script(scene, "ps", ps_body);
    script(scene, "worker", worker_body);
}

static int launch(struct scene *scene)
{
    struct launch_watch watch = {.context = scene, .say = note};
    return launch_job(&scene->options, scene->out, NULL, &watch, &scene->result, &scene->error);
}

/* The file's text, in a buffer of the caller's; "" when it is not there. */
static const char *text_of(const struct scene *scene, const char *name, char text[8192])
{
    char path[256];
    path_in(path, scene, name);
    FILE *file = fopen(path, "r");
    size_t bytes = file != NULL ? fread(text, 1, 8191, file) : 0;
    if (file != NULL)
        fclose(file);
    text[bytes] = '\0';
    return text;
}

/* A zombie that nobody has collected yet is not running either. */
static bool process_runs(long id)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fscanf(file, "%*d %*s %c", &state) != 1)
        state = 'Z';
    fclose(file);
    return state != 'Z' && state != 'X';
}

static bool child_runs(const struct scene *scene, const char *name)
{
    char text[8192];
    long id = strtol(text_of(scene, name, text), NULL, 10);
    return id > 0 && process_runs(id);
}

static bool any_runs(const struct scene *scene)
{
    return child_runs(scene, "ps-0.id") || child_runs(scene, "ps-1.id") ||
           child_runs(scene, "worker-0.id") || child_runs(scene, "worker-1.id");
}

static bool folder_is_empty(const char *path)
{
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    size_t entries = 0;
    while (readdir(folder) != NULL)
        entries++;
    closedir(folder);
    return entries == 2; /* "." and ".." */
}

/* Nothing runs, nothing temporary is left. */
static void scene_end(struct scene *scene)
{
    ck_assert(!any_runs(scene));
    ck_assert(folder_is_empty(scene->temporary));
    /* remove_tree takes a directory and the files in it. */
    char path[256];
    path_in(path, scene, "out/logs");
    disk_posix.remove_tree(disk_posix.context, path, NULL);
    disk_posix.remove_tree(disk_posix.context, scene->out, NULL);
    disk_posix.remove_tree(disk_posix.context, scene->temporary, NULL);
    disk_posix.remove_tree(disk_posix.context, scene->folder, NULL);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct scene, scene, scene_init(scene, __VA_ARGS__), scene_end(scene))

/* Wait until a child has noted its id, 10 s at most. */
static void await_child(const struct scene *scene, const char *name)
{
    for (int i = 0; i < 1000 && !child_runs(scene, name); i++)
        usleep(10000);
    ck_assert(child_runs(scene, name));
}

/* Signal ourselves, once the last worker runs, from another process. */
static void signal_later(const struct scene *scene, int signal, int times)
{
    pid_t launcher = getpid();
    if (fork() != 0)
        return;
    for (int i = 0; i < 1000 && !child_runs(scene, "worker-1.id"); i++)
        usleep(10000);
    usleep(300000); /* For the traps of all scripts to be set. */
    for (int i = 0; i < times; i++) {
        kill(launcher, signal);
        usleep(700000); /* Else it would be the same request. */
    }
    _exit(0);
}

/* Of two servers; one of which may have been started again. */
static void check_same_hosts(const struct scene *scene)
{
    char text[8192], hosts[64];
    unsigned ports[2];
    const char *first = strstr(text_of(scene, "worker-0.words", text), "--ps-hosts=");
    ck_assert_ptr_nonnull(first);
    ck_assert_int_eq(sscanf(first, "--ps-hosts=127.0.0.1:%u,127.0.0.1:%u ", &ports[0], &ports[1]),
                     2);
    ck_assert_uint_ne(ports[0], ports[1]);
    snprintf(hosts, sizeof hosts, "%.*s ", (int)strcspn(first, " "), first);
    static const char *const others[] = {"ps-0.words", "ps-1.words", "worker-1.words"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(strstr(text_of(scene, others[i], text), hosts));
}

TEST(children_that_end_well_make_a_job_that_ends_well, 2, 2, "exit 0\n", "exit 0\n")
{
    ck_assert_int_eq(launch(scene), EXIT_DONE);
}

TEST(every_process_learns_its_place, 2, 2, "exit 0\n", "exit 0\n")
{
    char text[8192];
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(text_of(scene, "ps-1.words", text), "--ps-hosts=127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(text, "--task-index=1"));
    ck_assert_ptr_nonnull(strstr(text, "--out="));
    check_same_hosts(scene);
    text_of(scene, "worker-1.words", text);
    ck_assert_ptr_nonnull(strstr(text, "--workers=2"));
    ck_assert_ptr_nonnull(strstr(text, "--mode=sync"));
}

TEST(without_servers_one_worker_runs_alone, 0, 1, "exit 9\n", "exit 0\n")
{
    char text[8192];
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(text_of(scene, "worker-0.words", text), "--ps=0"));
    ck_assert_ptr_nonnull(strstr(text, "--out="));
    ck_assert_ptr_null(strstr(text, "--ps-hosts"));
    ck_assert_str_eq(text_of(scene, "ps-0.words", text), "");
}

TEST(children_take_large_pages_unless_somebody_has_settings_of_his_own, 1, 1, "exit 0\n",
     "exit 0\n")
{
    char text[8192];
    unsetenv("GLIBC_TUNABLES");
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(
        strstr(text_of(scene, "ps-0.env", text), "GLIBC_TUNABLES=glibc.malloc.hugetlb=1\n"));
    setenv("GLIBC_TUNABLES", "glibc.malloc.check=0", 1);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(
        strstr(text_of(scene, "worker-0.env", text), "GLIBC_TUNABLES=glibc.malloc.check=0\n"));
    ck_assert_ptr_null(strstr(text, "hugetlb"));
}

TEST(children_get_no_options_by_environment, 1, 1, "exit 0\n", "exit 0\n")
{
    char text[8192];
    setenv("SYNCOPATE_SEED", "7", 1);
    setenv("SOMETHING_ELSE", "64", 1);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    text_of(scene, "worker-0.env", text);
    ck_assert_ptr_nonnull(strstr(text, "SOMETHING_ELSE=64\n"));
    ck_assert_ptr_null(strstr(text, "SYNCOPATE_SEED"));
}

TEST(a_child_that_fails_is_named_with_its_last_error_and_the_others_are_stopped, 2, 2, SLEEPS,
     "[ $index = 0 ] && exec sleep 60\n" SAYS_ERROR "echo done >&2\nexit 3\n")
{
    double started = clock_now_seconds();
    ck_assert_int_eq(launch(scene), EXIT_MISMATCH);
    ck_assert_str_eq(scene->error.text, "worker/1 ended with exit code 3: no such layer");
    ck_assert(clock_now_seconds() - started < 30);
}

TEST(an_error_in_json_is_understood, 1, 2, SLEEPS,
     "[ $index = 0 ] && exec sleep 60\n" SAYS_ERROR_JSON "echo done >&2\nexit 3\n")
{
    ck_assert_int_eq(launch(scene), EXIT_MISMATCH);
    ck_assert_str_eq(scene->error.text, "worker/1 ended with exit code 3: no such layer");
}

TEST(warnings_are_passed_on_and_nothing_else, 1, 1, SLEEPS,
     "cat >&2 <<'end'\n"
     "2026-11-22T10:31:15.123Z worker/0 heard of a warning: and an error: of others\n"
     "2026-11-22T10:31:15.123Z worker/0 warning: late\n"
     "{\"time\":\"\",\"level\":\"info\",\"who\":\"worker/0\",\"text\":\"a warning: no\"}\n"
     "{\"time\":\"\",\"level\":\"warning\",\"who\":\"worker/0\",\"text\":\"later\"}\n"
     "not of a log warning: at all\n"
     "end\n" SAYS_ERROR "exit 2\n")
{
    ck_assert_int_eq(launch(scene), EXIT_USAGE);
    ck_assert_str_eq(scene->said, "2026-11-22T10:31:15.123Z worker/0 warning: late\n"
                                  "{\"time\":\"\",\"level\":\"warning\",\"who\":\"worker/0\","
                                  "\"text\":\"later\"}\n");
    ck_assert_str_eq(scene->error.text, "worker/0 ended with exit code 2: no such layer");
}

TEST_PLAIN(remarks_are_as_the_log_is)
{
    struct scene scene;
    struct log_line line;
    log_init("syncopate run", LOG_WARNING, LOG_FORMAT_JSON);
    scene_init(&scene, 1, 1, SLEEPS, "[ -e $0.again ] && exit 2\ntouch $0.again\nkill -9 $$\n");
    ck_assert_int_eq(launch(&scene), EXIT_USAGE);
    scene.said[strcspn(scene.said, "\n")] = '\0';
    ck_assert(log_line_read(&line, scene.said));
    ck_assert_int_eq(line.level, LOG_WARNING);
    ck_assert_str_eq(line.text,
                     "worker/0 was killed by signal 9 (Killed); started again (restart 1 of 5)");
    scene_end(&scene);
}

TEST(a_child_killed_by_a_signal_is_a_lost_cluster, 1, 2, SLEEPS,
     "[ $index = 0 ] && exec sleep 60\nkill -9 $$\n")
{
    scene->options.max_restarts = 0;
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_uint_eq(scene->result.restarts, 0);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "worker/1 was killed by signal 9"));
}

TEST(the_failure_that_explains_most_is_reported, 1, 2, "sleep 0.3\nexit 195\n",
     "[ $index = 0 ] && exit 195\nsleep 0.3\n" SAYS_ERROR "exit 1\n")
{
    ck_assert_int_eq(launch(scene), EXIT_TRAINING_FAILED);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "worker/1"));
}

TEST(a_child_that_ignores_sigterm_is_killed, 1, 1, "trap '' TERM\nwhile :; do sleep 0.05; done\n",
     "exit 1\n")
{
    scene->options.max_restarts = 0;
    scene->options.deadlines.stop = 0.2;
    ck_assert_int_eq(launch(scene), EXIT_TRAINING_FAILED);
}

TEST(ctrl_c_asks_server_0_and_ends_with_130, 2, 2, STOPS("130"), STOPS("143"))
{
    signal_later(scene, SIGINT, 1);
    ck_assert_int_eq(launch(scene), EXIT_INTERRUPTED);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "Ctrl-C"));
    ck_assert_int_eq(scene->result.stop_code, EXIT_INTERRUPTED);
}

/* Of whom several are asked one after the other, the next has to know. */
TEST(a_job_that_was_done_when_it_was_to_stop_ends_with_0_and_it_is_told_that_it_was_to, 2, 2,
     STOPS("0"), STOPS("0"))
{
    signal_later(scene, SIGINT, 1);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_int_eq(scene->result.stop_code, EXIT_INTERRUPTED);
}

TEST(sigterm_ends_with_143, 1, 2, STOPS("143"), STOPS("143"))
{
    signal_later(scene, SIGTERM, 1);
    ck_assert_int_eq(launch(scene), EXIT_TERMINATED);
}

TEST(a_second_ctrl_c_ends_all_at_once, 1, 2, "trap '' INT TERM\nwhile :; do sleep 0.05; done\n",
     SLEEPS)
{
    scene->options.deadlines.stop = 1000;
    signal_later(scene, SIGINT, 2);
    ck_assert_int_eq(launch(scene), EXIT_INTERRUPTED);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "second signal"));
}

TEST(a_signal_that_is_repeated_at_once_is_one_request, 1, 2, STOPS("143"), STOPS("143"))
{
    pid_t launcher = getpid();
    if (fork() == 0) {
        for (int i = 0; i < 1000 && !child_runs(scene, "worker-1.id"); i++)
            usleep(10000);
        usleep(300000);
        kill(launcher, SIGTERM);
        usleep(1000);
        kill(launcher, SIGTERM);
        _exit(0);
    }
    ck_assert_int_eq(launch(scene), EXIT_TERMINATED);
    ck_assert_str_eq(scene->error.text, "stopped by a signal");
}

TEST(a_job_that_does_not_stop_is_killed_after_the_deadline, 1, 2,
     "trap '' INT TERM\nwhile :; do sleep 0.05; done\n", SLEEPS)
{
    scene->options.deadlines.stop = 0.1;
    signal_later(scene, SIGINT, 1);
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "--stop-timeout"));
}

TEST(a_server_that_outlives_its_workers_is_stopped, 2, 1, "[ $index = 0 ] && exit 0\n" SLEEPS,
     "exit 0\n")
{
    scene->options.deadlines.stop = 0.1;
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "ps/1 had to be stopped"));
}

TEST(a_launcher_that_is_killed_leaves_no_child, 2, 2, SLEEPS, SLEEPS)
{
    pid_t launcher = fork();
    if (launcher == 0) {
        launch(scene);
        _exit(0);
    }
    await_child(scene, "worker-1.id");
    kill(launcher, SIGKILL);
    waitpid(launcher, NULL, 0);
    for (int i = 0; i < 500 && any_runs(scene); i++)
        usleep(10000);
}

TEST(a_missing_program_is_an_answer_not_a_hang, 1, 1, SLEEPS, SLEEPS)
{
    char path[256];
    path_in(path, scene, "syncopate-worker");
    unlink(path);
    ck_assert_int_eq(launch(scene), EXIT_CANNOT_OPEN);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "syncopate-worker"));
}

TEST(a_start_that_timed_out_waits_for_nobody_who_does_not_end, 1, 2, "sleep 1\nexit 4\n",
     "trap '' TERM INT\nwhile :; do sleep 0.02; done\n")
{
    scene->options.deadlines.stop = 30;
    double began = clock_now_seconds();
    ck_assert_int_eq(launch(scene), EXIT_START_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "ps/0"));
    ck_assert_double_lt(clock_now_seconds() - began, 4); /* It was 11 s. */
}

TEST(a_folder_that_the_job_claims_gets_the_logs, 1, 1,
     "echo early >&2\nsleep 0.2\necho '{}' > $out/run.json\nsleep 0.5\necho late >&2\n", "exit 0\n")
{
    char text[8192];
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_str_eq(text_of(scene, "out/logs/ps-0.log", text), "early\nlate\n");
}

/* A pipe that nobody reads, and a link that leads elsewhere. */
TEST(logs_are_written_to_files_of_their_own_or_the_person_hears_of_it, 1, 1,
     "echo late >&2\necho '{}' > $out/run.json\nsleep 0.5\n", "exit 0\n")
{
    char text[8192], path[256], elsewhere[256];
    path_in(path, scene, "out/logs");
    path_in(elsewhere, scene, "elsewhere");
    ck_assert_int_eq(mkdir(elsewhere, 0777), 0);
    ck_assert_int_eq(symlink(elsewhere, path), 0);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(
        strstr(scene->said, "out/logs is a symbolic link, not a folder; it is now"));
    ck_assert(folder_is_empty(elsewhere));
    ck_assert_str_eq(text_of(scene, "out/logs/ps-0.log", text), "late\n");

    path_in(path, scene, "out/logs/ps-0.log");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0666), 0);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(scene->said, "ps-0.log: it is a pipe, not a file; it is now"));
    ck_assert_str_eq(text_of(scene, "out/logs/ps-0.log", text), "late\n");
}

TEST(a_folder_that_the_job_does_not_claim_stays_as_it_is, 1, 1,
     "echo early >&2\nsleep 0.5\nexit 3\n", SLEEPS)
{
    ck_assert_int_eq(launch(scene), EXIT_MISMATCH);
    ck_assert(folder_is_empty(scene->out));
}

TEST(a_worker_that_dies_is_started_again_as_the_same_task, 1, 2,
     "while [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n",
     "[ $index = 0 ] && exit 0\n" DIES_ONCE "touch ${0%/*}/ready\nexit 0\n")
{
    char text[8192];
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_uint_eq(scene->result.restarts, 1);
    ck_assert_str_eq(scene->said,
                     "worker/1 was killed by signal 9 (Killed); started again (restart 1 "
                     "of 5)\n");
    text_of(scene, "worker-1.words", text);
    ck_assert_ptr_nonnull(strstr(text, "--ps-hosts=127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(text, "--task-index=1 "));
}

/* Also when it was the last: then server 0 decides. */
TEST_PLAIN(a_worker_that_was_told_to_leave_is_no_failure_and_not_started_again)
{
    for (int last = 0; last < 2; last++) {
        struct scene scene;
        scene_init(&scene, 1, 2, "sleep 1.5\n",
                   last ? "exit 143\n" : "[ $index = 0 ] && exit 143\nsleep 1.2\n");
        scene.options.on_term = "leave";
        scene.options.deadlines.stop = 0.001;
        ck_assert_int_eq(launch(&scene), EXIT_DONE);
        ck_assert_uint_eq(scene.result.restarts, 0);
        ck_assert_str_eq(scene.said, "");
        scene.options.on_term = "stop";
        ck_assert_int_eq(launch(&scene), EXIT_TERMINATED);
        scene_end(&scene);
    }
}

TEST_PLAIN(a_server_that_dies_is_started_again_on_its_address)
{
    struct scene scene;
    /* It dies once all are started; the workers end when it is back. */
    scene_init(&scene, 2, 2,
               "[ $index = 1 ] && while [ ! -e $0-1.again ] && [ ! -e ${0%/*}/worker-1.id ]; do "
               "sleep 0.05; done\n"
               "[ $index = 1 ] && { " DIES_ONCE " touch ${0%/*}/ready; exit 0; }\n"
               "while [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n",
               "while [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n");
    ck_assert_int_eq(launch(&scene), EXIT_DONE);
    ck_assert_uint_eq(scene.result.restarts, 1);
    check_same_hosts(&scene);
    scene_end(&scene);
}

TEST(whoever_keeps_dying_ends_the_job, 1, 2, SLEEPS,
     "[ $index = 0 ] && exec sleep 60\nkill -9 $$\n")
{
    scene->options.max_restarts = 2;
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_uint_eq(scene->result.restarts, 2);
    ck_assert_ptr_nonnull(strstr(scene->error.text, "worker/1 was killed by signal 9"));
    ck_assert_ptr_nonnull(strstr(scene->error.text, "(after 2 restarts)"));
}

TEST(whoever_lost_the_cluster_is_started_again_but_not_server_0, 1, 2, "sleep 3\nexit 195\n",
     "[ $index = 0 ] && exec sleep 60\n"
     "[ -e $0.again ] && exec sleep 60\ntouch $0.again\n" SAYS_ERROR "exit 195\n")
{
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_uint_eq(scene->result.restarts, 1);
    ck_assert_str_eq(scene->said, "worker/1 ended with exit code 195: no such layer; started again "
                                  "(restart 1 of 5)\n");
    ck_assert_ptr_nonnull(strstr(scene->error.text, "ps/0 ended with exit code 195"));
}

TEST_PLAIN(verdicts_are_not_tried_again)
{
    for (int code = EXIT_USAGE; code <= EXIT_UNAUTHENTICATED; code++) {
        struct scene scene;
        char body[64];
        snprintf(body, sizeof body, "exit %d\n", code);
        scene_init(&scene, 1, 1, STOPS("143"), body);
        ck_assert_int_eq(launch(&scene), code);
        ck_assert_uint_eq(scene.result.restarts, 0);
        scene_end(&scene);
    }
}

TEST_PLAIN(a_worker_whose_failure_ends_the_job_is_not_started_again)
{
    struct scene scene;
    /* The server's word comes after the worker's, however busy the machine is. */
    scene_init(&scene, 1, 2,
               "until [ -e ${0%/*}/failing ]; do sleep 0.1; done\nsleep 0.3\nexit 1\n",
               "[ $index = 0 ] && exec sleep 60\nsleep 0.5\n" SAYS_ERROR
               "touch ${0%/*}/failing\nexit 1\n");
    ck_assert_int_eq(launch(&scene), EXIT_TRAINING_FAILED);
    ck_assert_uint_eq(scene.result.restarts, 0);
    ck_assert_str_eq(scene.said, "");
    ck_assert_str_eq(scene.error.text, "worker/1 ended with exit code 1: no such layer");
    scene_end(&scene);
}

TEST(a_worker_that_fails_without_telling_the_job_is_started_again, 1, 1,
     "while [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n",
     "[ -e $0.again ] && { touch ${0%/*}/ready; exit 0; }\ntouch $0.again\nexit 1\n")
{
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_uint_eq(scene->result.restarts, 1);
}

TEST(a_server_0_that_comes_back_after_the_end_is_sent_home, 1, 1,
     "[ -e $0.again ] && exec sleep 60\ntouch $0.again\n"
     "echo '{\"state\": \"done\"}' > $out/run.json\n"
     "while [ ! -e ${0%/*}/worker-0.id ]; do sleep 0.05; done\nkill -9 $$\n",
     "sleep 1.5\nexit 0\n")
{
    double started = clock_now_seconds();
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_uint_eq(scene->result.restarts, 1);
    ck_assert(clock_now_seconds() - started < 30);
}

TEST(where_a_lost_worker_is_to_end_the_job_it_does, 1, 1, STOPS("143"), "kill -9 $$\n")
{
    scene->options.on_worker_loss = "fail";
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
    ck_assert_uint_eq(scene->result.restarts, 0);
}

TEST(nobody_is_started_again_after_ctrl_c, 1, 2,
     "trap 'sleep 1; exit 130' INT\nwhile :; do sleep 0.05; done\n",
     "touch ${0%/*}/worker-$index.up\nwhile :; do sleep 0.05; done\n")
{
    signal_later(scene, SIGINT, 1);
    if (fork() == 0) { /* Kill a worker between the Ctrl-C and the end. */
        char text[8192];
        for (int i = 0; i < 1000 && !child_runs(scene, "worker-1.id"); i++)
            usleep(10000);
        usleep(700000);
        kill((pid_t)strtol(text_of(scene, "worker-1.id", text), NULL, 10), SIGKILL);
        _exit(0);
    }
    ck_assert_int_eq(launch(scene), EXIT_INTERRUPTED);
    ck_assert_uint_eq(scene->result.restarts, 0);
}

TEST(a_run_that_says_done_is_done_whoever_died_on_the_way_out, 1, 1,
     "echo '{\"state\": \"done\"}' > $out/run.json\ntouch ${0%/*}/ready\nexit 0\n",
     "while [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\nsleep 0.3\nkill -9 $$\n")
{
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_uint_eq(scene->result.restarts, 0);
    ck_assert_int_eq(scene->result.stop_code, EXIT_DONE);
}

TEST(a_run_that_said_done_before_is_not_done_by_this_job, 1, 1, "exit 0\n",
     "sleep 0.3\nkill -9 $$\n")
{
    char path[256];
    path_in(path, scene, "out/run.json");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("{\"state\": \"done\"}", file);
    fclose(file);
    ck_assert_int_eq(launch(scene), EXIT_CLUSTER_LOST);
}

TEST(a_log_that_cannot_be_written_is_given_up_and_said_once, 1, 2,
     "echo '{}' > $out/run.json\nwhile [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n",
     "exec >&2\nsleep 0.5\nfor i in 1 2 3; do printf %04000d 1; done\necho\n"
     "sleep 0.3\ntouch ${0%/*}/ready\n")
{
    struct rlimit limit;
    process_begin();
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 8192;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    char line[128];
    snprintf(line, sizeof line, "the log of worker/%c ends here: File too large\n",
             scene->said[strlen("the log of worker/")]);
    ck_assert_str_eq(scene->said, line);
}

TEST(a_log_goes_on_where_the_dead_left_it, 1, 1,
     "echo '{}' > $out/run.json\nwhile [ ! -e ${0%/*}/ready ]; do sleep 0.05; done\n",
     "echo life >&2\n" DIES_ONCE "sleep 0.5\ntouch ${0%/*}/ready\n")
{
    char text[8192];
    ck_assert_int_eq(launch(scene), EXIT_DONE);
    ck_assert_str_eq(text_of(scene, "out/logs/worker-0.log", text), "life\nlife\n");
}

/* Options as a worker reads them from the line that the launcher wrote. */
static struct options round_trip(int argc, char **argv)
{
    struct options given, read;
    struct error error = {0};
    ck_assert_msg(options_parse(&given, OPTION_RUN, "run", argc, argv, &error) == OPTIONS_RUN, "%s",
                  error.text);
    static struct arguments arguments; /* Strings in the result point into it. */
    arguments_init(&arguments, "worker");
    arguments_add(&arguments, "ps-hosts", "%s", "127.0.0.1:1");
    arguments_add(&arguments, "workers", "%u", given.workers);
    arguments_add_options(&arguments, &given, OPTION_WORKER);
    char *const *list = arguments_list(&arguments);
    ck_assert_ptr_nonnull(list);
    ck_assert_msg(options_parse(&read, OPTION_WORKER, "worker", (int)arguments.count,
                                arguments.items, &error) == OPTIONS_RUN,
                  "%s", error.text);
    return read;
}

TEST_PLAIN(options_survive_the_way_through_a_command_line)
{
    char *argv[] = {(char[]){"run"},
                    (char[]){"--mode=async"},
                    (char[]){"--use-locking"},
                    (char[]){"--model=conv 4x3 relu, flatten, dense 10"},
                    (char[]){"--learning-rate=0.1"},
                    (char[]){"--beta1=0.123456789012345"},
                    (char[]){"--steps=12345678901234"},
                    (char[]){"--checkpoint-every=0"},
                    (char[]){"--worker-batch=8"},
                    (char[]){"--chunk-bytes=128K"},
                    (char[]){"--slow=1:2.5"},
                    NULL};
    struct options read = round_trip(11, argv);
    ck_assert_int_eq(read.job.mode, MODE_ASYNC);
    ck_assert(read.job.use_locking);
    ck_assert_str_eq(read.model, "conv 4x3 relu, flatten, dense 10");
    ck_assert(read.job.schedule.learning_rate == 0.1);
    ck_assert(read.job.optimizer.beta1 == 0.123456789f);
    ck_assert(read.job.optimizer.beta2 != read.job.optimizer.beta2);
    ck_assert_uint_eq(read.job.steps, 12345678901234);
    ck_assert_uint_eq(read.job.checkpoint_every, 0);
    ck_assert_uint_eq(read.worker_batch, 8);
    ck_assert_uint_eq(read.job.chunk_bytes, 131072);
    ck_assert_str_eq(read.slow, "1:2.5");
}

/* What is for some modes only is for that mode with whatever bound. */
TEST_PLAIN(a_mode_with_a_bound_keeps_its_options_on_the_way)
{
    char *argv[] = {(char[]){"run"}, (char[]){"--mode=ssp:3"}, (char[]){"--use-locking"},
                    (char[]){"--worker-batch=8"}, NULL};
    struct options read = round_trip(4, argv);
    ck_assert_int_eq(read.job.mode, MODE_SSP);
    ck_assert_uint_eq(read.job.staleness_bound, 3);
    ck_assert(read.job.use_locking);
    ck_assert_uint_eq(read.worker_batch, 8);
}

TEST_PLAIN(options_that_were_not_given_stay_so)
{
    char *argv[] = {(char[]){"run"}, NULL};
    struct options read = round_trip(1, argv);
    ck_assert_int_eq(read.job.mode, MODE_SYNC);
    ck_assert(read.job.schedule.learning_rate != read.job.schedule.learning_rate);
    ck_assert_uint_eq(read.job.steps, 0);
    ck_assert_uint_eq(read.job.schedule.decay_steps, 0);
    ck_assert_uint_eq(read.worker_batch, 0);
    ck_assert(read.job.checkpoint_every == UINT64_MAX);
    ck_assert_ptr_null(read.slow);
}

int main(void)
{
    return suite_run("launch", NULL);
}

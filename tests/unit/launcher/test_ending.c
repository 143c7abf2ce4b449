/* How a job has ended, from how its processes did. */
/* promises: reason */

#include "deploy/launcher/ending.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "deploy/launcher/child_end.h"
#include "tests/lib/suite.h"

#define EXITED(code) W_EXITCODE(code, 0)

/* A server and two workers that have all come, and ended in this order with these [of waitpid]. */
struct scene {
    struct child children[3];
    struct process_group group;
    struct ending ending;
    struct error error;
};

static void scene_init(struct scene *scene, int server, int first, int second)
{
    static const char *const names[] = {"ps/0", "worker/0", "worker/1"};
    const int ends[] = {server, first, second};
    *scene = (struct scene){.ending = {.out = "/runs/x", .stop_seconds = 60}};
    scene->group =
        (struct process_group){.children = scene->children, .count = 3, .max = 3, .servers = 1};
    for (int i = 0; i < 3; i++) {
        struct child *child = &scene->children[i];
        child_init(child);
        snprintf(child->name, sizeof child->name, "%s", names[i]);
        child->pid = 1;
        child->up = true;
        child->wait_status = ends[i];
        child->ended = i;
    }
}

static void expect(struct scene *scene, int code, const char *words)
{
    scene->error = (struct error){0};
    ck_assert_int_eq(ending_judge(&scene->ending, &scene->group, &scene->error), code);
    ck_assert_msg(strstr(scene->error.text, words) != NULL, "%s", scene->error.text);
}

TEST_PLAIN(who_explains_most_is_told_and_of_equals_the_first)
{
    struct scene scene;
    scene_init(&scene, EXITED(EXIT_DONE), EXITED(EXIT_DONE), EXITED(EXIT_DONE));
    expect(&scene, EXIT_DONE, "");
    ck_assert_ptr_null(ending_culprit(&scene.group, false));
    scene_init(&scene, EXITED(EXIT_CLUSTER_LOST), EXITED(77), SIGSEGV);
    expect(&scene, EXIT_CLUSTER_LOST, "worker/1 was killed by signal 11");
    scene.children[2].restarts = 2;
    expect(&scene, EXIT_CLUSTER_LOST, "(after 2 restarts)");
    scene_init(&scene, EXITED(EXIT_CLUSTER_LOST), SIGSEGV, EXITED(EXIT_MISMATCH));
    expect(&scene, EXIT_MISMATCH, "worker/1 ended with exit code 3");
    scene_init(&scene, EXITED(EXIT_MISMATCH), SIGSEGV, EXITED(255));
    scene.children[2].up = false;
    expect(&scene, EXIT_CANNOT_OPEN, "worker/1");
    scene_init(&scene, EXITED(EXIT_DONE), SIGSEGV, SIGKILL);
    expect(&scene, EXIT_CLUSTER_LOST, "worker/0 was killed");
    scene.children[2].ended = 0;
    expect(&scene, EXIT_CLUSTER_LOST, "worker/1 was killed");
    scene_init(&scene, EXITED(EXIT_DONE), EXITED(127), EXITED(EXIT_DONE));
    expect(&scene, EXIT_CANNOT_OPEN, "worker/0 ended with exit code 127");
}

static void says(struct scene *scene, const char *server, const char *first, const char *second)
{
    const char *const errors[] = {server, first, second};
    for (int i = 0; i < 3; i++)
        snprintf(scene->children[i].error, sizeof scene->children[i].error, "%s", errors[i]);
}

TEST_PLAIN(a_process_that_passes_another_s_reason_on_is_not_told)
{
    const int full = EXITED(EXIT_CANNOT_OPEN), failed = EXITED(EXIT_TRAINING_FAILED);
    struct scene scene;
    scene_init(&scene, full, full, full);
    says(&scene, "No space left", "No space left", "No space left");
    scene.children[0].ended = 3;
    expect(&scene, EXIT_CANNOT_OPEN, "ps/0 ended with exit code 5: No space left");
    scene.children[0].signalled = true; /* It was slow to end. */
    expect(&scene, EXIT_CANNOT_OPEN, "ps/0 ended with exit code 5: No space left");
    scene.children[0].wait_status = SIGKILL;
    expect(&scene, EXIT_CANNOT_OPEN, "worker/0 ended with exit code 5: No space left");
    scene_init(&scene, failed, failed, failed);
    says(&scene, "worker/1: out of memory", "worker/1: out of memory", "out of memory");
    expect(&scene, EXIT_TRAINING_FAILED, "worker/1 ended with exit code 1: out of memory");
    scene_init(&scene, failed, failed, failed);
    expect(&scene, EXIT_TRAINING_FAILED, "ps/0 ended with exit code 1: it left no message");
    scene.children[2].ended = -1; /* None says anything: none passes anything on. */
    expect(&scene, EXIT_TRAINING_FAILED, "worker/1 ended with exit code 1: it left no message");
}

TEST_PLAIN(the_last_line_that_says_something_is_quoted)
{
    struct scene scene;
    struct child *child = &scene.children[1];
    char text[300];
    scene_init(&scene, EXITED(EXIT_DONE), SIGKILL, EXITED(EXIT_DONE));
    child_explain(child, text, sizeof text);
    ck_assert_msg(strstr(text, "left no message") != NULL, "%s", text);
    snprintf(child->tail[0], sizeof child->tail[0], "no such folder");
    snprintf(child->tail[1], sizeof child->tail[1], "   ");
    child->tail_count = 2;
    child_explain(child, text, sizeof text);
    ck_assert_msg(strstr(text, "; its last line: no such folder") != NULL, "%s", text);
}

TEST_PLAIN(a_death_after_the_end_changes_nothing_and_a_verdict_does)
{
    struct scene scene;
    scene_init(&scene, EXITED(EXIT_DONE), SIGKILL, EXITED(EXIT_DONE));
    scene.ending.done = true;
    expect(&scene, EXIT_DONE, "");
    scene.children[0].wait_status = EXITED(EXIT_MISMATCH);
    expect(&scene, EXIT_MISMATCH, "ps/0");
}

TEST_PLAIN(who_could_not_be_started_again_is_what_is_told)
{
    struct scene scene;
    scene_init(&scene, EXITED(EXIT_DONE), SIGKILL, EXITED(EXIT_DONE));
    error_set(&scene.ending.start_error, STATUS_IO, "cannot start worker/0");
    expect(&scene, EXIT_CANNOT_OPEN, "cannot start worker/0");
}

TEST_PLAIN(who_was_told_to_stop_did_not_end_with_the_others_unless_all_was_done)
{
    struct scene scene;
    scene_init(&scene, EXITED(EXIT_DONE), EXITED(EXIT_DONE), SIGTERM);
    scene.children[2].signalled = true;
    expect(&scene, EXIT_CLUSTER_LOST, "worker/1 had to be stopped");
    scene.ending.done = true;
    expect(&scene, EXIT_DONE, "");
}

TEST_PLAIN(a_worker_that_was_asked_to_go_and_went_has_not_failed)
{
    struct scene scene;
    scene_init(&scene, EXITED(EXIT_DONE), EXITED(EXIT_DONE), EXITED(EXIT_TERMINATED));
    expect(&scene, EXIT_TERMINATED, "worker/1");
    scene.group.may_leave = true;
    expect(&scene, EXIT_DONE, "");
    scene.children[0].wait_status = EXITED(EXIT_TERMINATED); /* A server cannot. */
    expect(&scene, EXIT_TERMINATED, "ps/0");
}

TEST_PLAIN(a_job_that_was_asked_to_stop_says_how_it_went)
{
    int clean = EXITED(EXIT_INTERRUPTED);
    struct scene scene;
    scene_init(&scene, clean, clean, SIGINT);
    scene.ending.stop_signal = SIGINT;
    expect(&scene, EXIT_INTERRUPTED, "stopped by Ctrl-C");
    scene.ending.stop_signal = SIGTERM;
    expect(&scene, EXIT_TERMINATED, "stopped by a signal");
    scene.ending.at_once = true;
    expect(&scene, EXIT_TERMINATED, "ended at once by a second signal");
    scene_init(&scene, SIGKILL, SIGKILL, SIGKILL);
    scene.ending.stop_signal = SIGINT;
    scene.ending.killed = true;
    for (int i = 0; i < 3; i++)
        scene.children[i].signalled = true;
    expect(&scene, EXIT_CLUSTER_LOST, "did not stop within 1 min");
    scene_init(&scene, EXITED(EXIT_MISMATCH), clean, clean);
    scene.ending.stop_signal = SIGINT;
    expect(&scene, EXIT_MISMATCH, "ps/0 ended with exit code 3");
}

int main(void)
{
    return suite_run("ending", NULL);
}

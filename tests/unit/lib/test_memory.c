/* test_memory.c - whatever the programs make for themselves, with each of its allocations failing
 * once: that is said, nothing is lost or left behind, and the next time it is made.
 *
 * Of cores at work the same is seen in whole clusters: tests/simulated/test_scarcity.c. */
/* wraps: malloc calloc realloc aligned_alloc */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/log.h"
#include "common/progress/record.h"
#include "common/progress/summary.h"
#include "common/tensorboard/board.h"
#include "deploy/compare/boards.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/report/report.h"
#include "ps/cores.h"
#include "ps/extension/extensions.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/post.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"
#include "worker/client/session.h"

/* Where a life may write, empty. */
static char folder[64];

/* --- lives: an exit code --------------------------------------------------------------------- */

static int code_of(enum status status)
{
    return status == STATUS_OK       ? EXIT_DONE
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_CANNOT_OPEN;
}

static int a_declaration(struct error *error)
{
    struct job job = sample_job(), copy = {0}, decoded = {0};
    uint8_t *bytes = NULL, digest[DIGEST_BYTES];
    uint32_t count;
    scarcity_pause(false);
    enum status status = job_copy(&copy, &job);
    if (status == STATUS_OK)
        status = job_encode(&copy, &bytes, &count);
    if (status == STATUS_OK)
        status = job_digest(&copy, digest);
    if (status != STATUS_OK)
        error_set(error, status, "out of memory");
    else
        status = job_decode(bytes, count, &decoded, error);
    scarcity_pause(true);
    ck_assert(status != STATUS_OK ||
              job_compare(&job, "here", &decoded, "there", JOB_SCOPE_ALL, error) == STATUS_OK);
    free(bytes);
    job_free(&decoded);
    job_free(&copy);
    job_free(&job);
    return code_of(status);
}

static int owners(struct error *error)
{
    static const enum mode modes[] = {MODE_SYNC, MODE_ASYNC, MODE_SSP};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < 3 && status == STATUS_OK; i++) {
        struct job job = small_job(modes[i], 2, 1);
        struct plan *plan = NULL;
        struct owner *owner = NULL;
        scarcity_pause(false);
        status = plan_create(&plan, &job, 0, 99, error);
        const struct owner_options options = {.plan = plan, .count = 1, .listeners = extensions};
        if (status == STATUS_OK && (status = owner_create(&owner, &options)) != STATUS_OK)
            error_set(error, status, "out of memory");
        scarcity_pause(true);
        owner_destroy(&owner);
        plan_destroy(&plan);
        job_free(&job);
    }
    return code_of(status);
}

static int server_0(struct error *error)
{
    const struct cores_options options = {
        .router = {.owner_count = 2, .self.deadlines = {.start = 20, .silence = 5, .recovery = 60}},
    };
    struct cores cores;
    scarcity_pause(false);
    enum status status = cores_init(&cores, &options, 1);
    scarcity_pause(true);
    if (status != STATUS_OK)
        error_set(error, status, "out of memory");
    cores_free(&cores);
    return code_of(status);
}

static int a_session(struct error *error)
{
    struct job job = small_job(MODE_SSP, 2, 2);
    struct partition partition = {0};
    struct session *session = NULL;
    float parameters[64];
    struct session_options options = {.job = &job,
                                      .partition = &partition,
                                      .parameters = parameters,
                                      .self.deadlines = {.start = 20, .silence = 5}};
    scarcity_pause(false);
    enum status status =
        partition_make(&partition, job.variables, job.variable_count, job.server_count,
                       job.chunk_bytes, job_borders(&job), error);
    if (status == STATUS_OK && (status = session_create(&session, &options, 1)) != STATUS_OK)
        error_set(error, status, "out of memory");
    scarcity_pause(true);
    session_destroy(&session);
    partition_free(&partition);
    job_free(&job);
    return code_of(status);
}

static int a_report(struct error *error)
{
    const struct made_run plain = {"run", "sync", "3f2a", 2, 7, 0.25, 0.875};
    const struct report_facts facts = {
        .command = "compare", .machine = "here", .date = "today", .slow = "", .remark = ""};
    const struct question question = {.margin = CONCLUSION_MARGIN};
    struct comparison comparison;
    struct conclusion answer;
    char path[80];
    FILE *out = fopen("/dev/null", "w");
    runs_finished(folder, &plain);
    snprintf(path, sizeof path, "%s/run", folder);
    comparison_init(&comparison);
    scarcity_pause(false);
    const struct config arm = {.name = "sync-w2"};
    enum status status = comparison_add(&comparison, &arm, path, error);
    if (status == STATUS_OK) {
        summary_print(out, comparison.records[0], 0);
        status = conclusion_make(&answer, &comparison, &question, error);
        if (status == STATUS_OK)
            status = report_write(&disk_posix, folder, &answer, &facts, error);
        conclusion_free(&answer);
    }
    scarcity_pause(true);
    comparison_free(&comparison);
    fclose(out);
    return code_of(status);
}

/* Events are lost, and that is said. */
static int a_board(struct error *error)
{
    static const char *const told[][2] = {
        {"start", "\"step\": 0"},
        {"progress", "\"step\": 3, \"loss\": 0.5, \"staleness_mean\": 1.5, \"staleness_max\": 4"},
        {"epoch", "\"epoch\": 1, \"step\": 4, \"loss\": 0.25"},
        {"lost", "\"role\": \"worker\", \"index\": 1"}};
    struct job job = small_job(MODE_ASYNC, 2, 1);
    struct board_place place = {.by = "here.1", .date = 1e9};
    struct histogram staleness = {0};
    struct board board;
    struct error remark;
    bool lacks = false;
    snprintf(place.folder, sizeof place.folder, "%s/tb", folder);
    histogram_add(&staleness, 3);
    board_open(&board, &disk_posix, &place, &job);
    scarcity_pause(false);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        board_event(&board, told[i][0], told[i][1], &staleness);
        if (board_take_remark(&board, &remark) && remark.status != STATUS_OK) {
            *error = remark;
            lacks = true;
        }
    }
    scarcity_pause(true);
    board_close(&board);
    job_free(&job);
    return lacks ? EXIT_TRAINING_FAILED : EXIT_DONE;
}

static int a_mean(struct error *error)
{
    const struct made_run plain = {"run", "sync", "3f2a", 2, 7, 0.25, 0.875};
    const struct config arm = {.name = "sync-w2"};
    struct boards boards = {.place.date = 1e9};
    struct comparison comparison;
    char path[80], directory[80];
    runs_finished(folder, &plain);
    snprintf(path, sizeof path, "%s/run", folder);
    snprintf(directory, sizeof directory, "%s/tb", folder);
    boards.directory = directory;
    comparison_init(&comparison);
    enum status status = comparison_add(&comparison, &arm, path, error);
    scarcity_pause(false);
    if (status == STATUS_OK)
        status = boards_tell_mean(&boards, &comparison.groups[0], error);
    scarcity_pause(true);
    comparison_free(&comparison);
    return code_of(status);
}

/* --- and what becomes of them ------------------------------------------------------------------ */

static const struct {
    const char *name;
    int (*live)(struct error *error);
    unsigned least; /* Allocations, so that none is tried in vain. */
} lives[] = {
    {"a declaration", a_declaration, 5},
    {"owners", owners, 20},
    {"server 0", server_0, 4},
    {"a session", a_session, 5},
    {"a report", a_report, 5},
    {"a board", a_board, 10},
    {"a mean", a_mean, 5},
};

static int live_once(int life, unsigned strike_at, bool *hit, struct error *error)
{
    *error = (struct error){STATUS_OK, ""};
    runs_make(folder);
    scarcity_pause(true);
    scarcity_arm(strike_at);
    int code = lives[life].live(error);
    *hit = scarcity_disarm();
    runs_remove(folder);
    return code;
}

TEST_TIMES(what_finds_no_memory_says_so, sizeof lives / sizeof *lives)
{
    struct error error;
    unsigned n = 0, said = 0;
    bool hit = true;
    while (hit) {
        int code = live_once(_i, ++n, &hit, &error);
        ck_assert_msg(code == EXIT_DONE || (hit && strstr(error.text, "memory") != NULL),
                      "%s, allocation %u: code %d, %s", lives[_i].name, n, code, error.text);
        said += code != EXIT_DONE;
    }
    printf("%s: %u allocations, %u of them had to be there\n", lives[_i].name, n - 1, said);
    ck_assert_uint_gt(n, lives[_i].least);
    ck_assert_uint_gt(said, 0);
}

TEST_PLAIN(a_core_that_cannot_speak_ends_its_process)
{
    int how;
    pid_t child = fork();
    if (child == 0) {
        struct outbox outbox = {0};
        log_init("test", LOG_ERROR, LOG_FORMAT_TEXT);
        scarcity_strike_outboxes(true);
        scarcity_pause(false);
        scarcity_arm(1);
        outbox_add(&outbox, TO_LOG, MESSAGE_PING);
        _exit(EXIT_DONE);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == EXIT_TRAINING_FAILED);
}

int main(void)
{
    return suite_run("memory", NULL);
}

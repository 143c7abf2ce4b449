/* test_program.c - questions and answers on a socket whose other end is this test, and on one of real processes: what a
 * program does wrong has one line, and one that a signal ends is asked again. */
/* promises: programs */

#include "worker/source/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/runs/layers_program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { ELEMENTS = 32, EXAMPLES_MAX = 8, SECONDS = 60 };

static const char declaration[] =
    "{\"name\": \"p\", \"variables\": [{\"name\": \"w\", \"shape\": [20]}], \"examples\": 100}";

/* --- a program that is this test --------------------------------------------------------------- */

struct talk {
    int theirs;
    struct program *p;
    struct program_options options;
    struct error error;
    uint64_t parts[8]; /* That were told. */
    unsigned part_count;
};

static void begin(struct talk *t)
{
    int ends[2];
    memset(t, 0, sizeof *t);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    t->theirs = ends[1];
    t->options = (struct program_options){
        .start_seconds = SECONDS,
        .answer_seconds = SECONDS,
        .restarts = 5,
        .socket = ends[0],
        .memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING),
    };
}

static void say(struct talk *t, unsigned kind, unsigned flags, uint64_t serial, const void *body,
                size_t bytes)
{
    const struct program_header header = {(uint32_t)bytes, (uint16_t)kind, (uint16_t)flags, serial};
    ck_assert_int_eq(write(t->theirs, &header, sizeof header), sizeof header);
    ck_assert_int_eq(write(t->theirs, body, bytes), (ssize_t)bytes);
}

/* The next message must be this one; its body goes into `body`. */
static uint32_t hear(struct talk *t, unsigned kind, unsigned flags, uint64_t serial, void *body)
{
    struct program_header header;
    ck_assert_int_eq(recv(t->theirs, &header, sizeof header, MSG_DONTWAIT), sizeof header);
    ck_assert_uint_eq(header.kind, kind);
    ck_assert_uint_eq(header.flags, flags);
    ck_assert_uint_eq(header.serial, serial);
    if (header.bytes > 0)
        ck_assert_int_eq(recv(t->theirs, body, header.bytes, MSG_WAITALL), header.bytes);
    return header.bytes;
}

static void open_talk(struct talk *t)
{
    say(t, PROGRAM_DECLARE, 0, 0, declaration, sizeof declaration - 1);
    ck_assert_msg(program_open(&t->p, &t->options, &t->error) == STATUS_OK, "%s", t->error.text);
    ck_assert_int_eq(program_share_memory(t->p, ELEMENTS, EXAMPLES_MAX, &t->error), STATUS_OK);
}

static void start(struct talk *t)
{
    begin(t);
    open_talk(t);
}

static void stop(struct talk *t)
{
    program_close(&t->p, 0, "");
    ck_assert_ptr_null(t->p);
    close(t->theirs);
}

static void note_part(void *context, uint64_t first)
{
    struct talk *t = context;
    t->parts[t->part_count++] = first;
}

static const struct program_compute leaf = {
    .batch = 40, .epoch = 2, .seed = 77, .leaf = 3, .count = 5};

static enum status compute(struct talk *t, unsigned flags, struct program_done *done)
{
    const struct program_question question = {.kind = PROGRAM_COMPUTE,
                                              .flags = (uint16_t)flags,
                                              .body = &leaf,
                                              .bytes = sizeof leaf,
                                              .part = note_part,
                                              .context = t};
    return program_ask(t->p, &question, done, &t->error);
}

#define TEST(name)       SUITE_TEST(name, struct talk, t, start(t), stop(t))
#define TEST_BEGUN(name) SUITE_TEST(name, struct talk, t, begin(t), stop(t))

TEST(a_question_is_answered_by_its_serial)
{
    uint64_t layout[5], ends[2] = {0, 0};
    struct program_compute asked;
    struct program_done done;
    say(t, PROGRAM_DONE, 0, 1, &(struct program_done){0.5, 4}, 16);
    ck_assert_int_eq(compute(t, PROGRAM_FRESH, &done), STATUS_OK);
    ck_assert_double_eq(done.loss, 0.5);
    ck_assert_uint_eq(done.correct, 4);
    say(t, PROGRAM_DONE, 0, 2, &done, 16);
    ck_assert_int_eq(compute(t, 0, &done), STATUS_OK);
    ck_assert_uint_eq(hear(t, PROGRAM_LAYOUT, 0, 0, layout), 40);
    ck_assert_uint_eq(layout[0], 3 * 4096);
    ck_assert_uint_eq(layout[1], 0);
    ck_assert_uint_eq(layout[2], 4096);
    ck_assert_uint_eq(layout[3], 8192);
    ck_assert_uint_eq(layout[4], EXAMPLES_MAX);
    ck_assert_uint_eq(hear(t, PROGRAM_COMPUTE, PROGRAM_FRESH, 1, &asked), 32);
    ck_assert_mem_eq(&asked, &leaf, sizeof leaf);
    hear(t, PROGRAM_COMPUTE, 0, 2, &asked);
    program_close(&t->p, 130, "stopped");
    ck_assert_uint_eq(hear(t, PROGRAM_END, 0, 0, ends), 4 + 7);
    ck_assert_uint_eq(ends[0] & UINT32_MAX, 130);
    ck_assert_mem_eq((char *)ends + 4, "stopped", 7);
    ck_assert_int_eq(recv(t->theirs, ends, 1, MSG_DONTWAIT), 0); /* The end of the socket. */
}

TEST(the_memory_cannot_be_made_shorter)
{
    struct stat about;
    int memory = t->options.memory;
    ck_assert_int_eq(fstat(memory, &about), 0);
    ck_assert_int_eq(about.st_size, 3 * 4096);
    ck_assert_int_ne(ftruncate(memory, 4096), 0);
    ck_assert_int_ne(ftruncate(memory, 4 * 4096), 0);
    ck_assert_ptr_eq(program_gradient(t->p), program_parameters(t->p) + 1024);
    ck_assert_ptr_eq(program_examples(t->p), program_parameters(t->p) + 2048);
}

TEST(parts_fall_and_each_is_told_once)
{
    struct program_done done;
    const uint64_t first[] = {31, 16, 1};
    for (int i = 0; i < 3; i++)
        say(t, PROGRAM_PART, 0, 1, &first[i], 8);
    say(t, PROGRAM_DONE, 0, 1, &(struct program_done){0, 0}, 16);
    ck_assert_int_eq(compute(t, PROGRAM_PARTS, &done), STATUS_OK);
    ck_assert_uint_eq(t->part_count, 3);
    ck_assert_mem_eq(t->parts, first, sizeof first);
}

/* Two PARTs of one answer. */
static const uint64_t rising[][2] = {{16, 16}, {16, 17}, {16, 0}, {ELEMENTS, 1}, {UINT64_MAX, 1}};

SUITE_TEST_TIMES(parts_that_do_not_fall_end_it, 5, struct talk, t, start(t), stop(t))
{
    struct program_done done;
    for (int i = 0; i < 2; i++)
        say(t, PROGRAM_PART, 0, 1, &rising[_i][i], 8);
    ck_assert_int_eq(compute(t, PROGRAM_PARTS, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text,
                     "program: it breaks the protocol (proto/PROGRAM.md): its PARTs do not fall");
}

static const struct {
    struct program_header header;
    const char *says;
} wrongs[] = {
    {{8, 42, 0, 1}, "sent a message of kind 42"},
    {{16, PROGRAM_DONE, 0, 2}, "sent DONE with serial 2, not 1"},
    {{16, PROGRAM_DONE, 1, 1}, "sent DONE with flags"},
    {{UINT32_MAX, PROGRAM_DONE, 0, 1}, "sent DONE of 4294967295 bytes"},
    {{UINT32_MAX, PROGRAM_FAIL, 0, 1}, "sent FAIL of 4294967295 bytes"},
    {{2, PROGRAM_DECLARE, 0, 0}, "sent DECLARE when it was not due"},
    {{8, PROGRAM_PART, 0, 1}, "sent PART when it was not due"},
};

SUITE_TEST_TIMES(a_broken_rule_is_said_and_ends_it, sizeof wrongs / sizeof *wrongs, struct talk, t,
                 start(t), stop(t))
{
    struct program_done done;
    char expected[200];
    ck_assert_int_eq(write(t->theirs, &wrongs[_i].header, sizeof wrongs[_i].header), 16);
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    snprintf(expected, sizeof expected, "program: it breaks the protocol (proto/PROGRAM.md): it %s",
             wrongs[_i].says);
    ck_assert_str_eq(t->error.text, expected);
}

/* `text` is what it says before it can be asked. */
static void fails(struct talk *t, const char *text, const char *says)
{
    struct program_done done;
    say(t, PROGRAM_FAIL, 0, 0, text, strlen(text));
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, says);
    t->error.text[0] = '\0'; /* From here on it is over, and the line stays. */
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, says);
}

TEST(what_it_says_when_it_fails_is_one_line)
{
    fails(t, "ValueError:\n\x1b[1mno\x7f", "program: ValueError:  [1mno ");
}

TEST(a_program_may_fail_without_a_word)
{
    fails(t, "", "program: it cannot go on, and does not say why");
}

TEST(what_it_said_before_its_end_is_heard_when_it_can_no_longer_be_asked)
{
    struct program_done done;
    say(t, PROGRAM_FAIL, 0, 0, "MemoryError", 11);
    close(t->theirs); /* Nothing can be sent to it. */
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, "program: MemoryError");
}

TEST(a_parent_that_has_gone_is_not_started_again)
{
    struct program_done done;
    close(t->theirs);
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, "program: it closed its socket");
}

TEST_BEGUN(a_layout_that_no_program_reads_ends_with_its_last_words)
{
    say(t, PROGRAM_DECLARE, 0, 0, declaration, sizeof declaration - 1);
    ck_assert_int_eq(program_open(&t->p, &t->options, &t->error), STATUS_OK);
    say(t, PROGRAM_FAIL, 0, 0, "no data", 7);
    close(t->theirs);
    ck_assert_int_eq(program_share_memory(t->p, ELEMENTS, EXAMPLES_MAX, &t->error), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, "no data");
}

/* --- a start that fails ------------------------------------------------------------------------ */

static void is_refused(struct talk *t, const char *says)
{
    ck_assert_int_eq(program_open(&t->p, &t->options, &t->error), STATUS_PROGRAM);
    ck_assert_ptr_null(t->p);
    ck_assert_str_eq(t->error.text, says);
}

TEST_BEGUN(a_program_may_fail_in_place_of_declaring)
{
    say(t, PROGRAM_FAIL, 0, 0, "no such data", 12);
    is_refused(t, "no such data");
}

TEST_BEGUN(a_declaration_that_is_wrong_is_refused_by_its_member)
{
    say(t, PROGRAM_DECLARE, 0, 0, "{}", 2);
    is_refused(t, "declaration: \"name\" is missing");
}

TEST_BEGUN(half_a_declaration_is_none)
{
    const struct program_header header = {1000, PROGRAM_DECLARE, 0, 0};
    ck_assert_int_eq(write(t->theirs, &header, sizeof header), sizeof header);
    ck_assert_int_eq(write(t->theirs, declaration, 20), 20);
    shutdown(t->theirs, SHUT_WR);
    is_refused(t, "it closed its socket before it declared what it computes");
}

TEST_BEGUN(an_answer_is_no_declaration)
{
    say(t, PROGRAM_DONE, 0, 0, "0123456789abcdef", 16);
    is_refused(t, "it breaks the protocol (proto/PROGRAM.md): it sent DONE when it was not due");
}

/* --- processes --------------------------------------------------------------------------------- */

static void command(struct talk *t, const char *text)
{
    memset(t, 0, sizeof *t);
    t->theirs = -1;
    t->options = (struct program_options){
        .command = text, .task = 3, .start_seconds = SECONDS, .answer_seconds = SECONDS};
}

static const char *const ends_early[][2] = {
    {"exit 3", "it ended with exit code 3 before it declared what it computes"},
    {"exit 0", "it ended with exit code 0 before it declared what it computes"},
    {"kill -KILL $$", "it was killed by signal 9 (Killed) before it declared what it computes"},
    {"exit 139",
     "it was killed by signal 11 (Segmentation fault) before it declared what it computes"},
    {"/no/such/program", "it ended with exit code 127 before it declared what it computes"},
    /* Signals are as a program expects them, and its streams as the page says. */
    {"kill -TERM $$; exit 4",
     "it was killed by signal 15 (Terminated) before it declared what it computes"},
    {"[ /proc/$$/fd/1 -ef /proc/$$/fd/2 ] && [ -z \"$(cat)\" ] && exit 5",
     "it ended with exit code 5 before it declared what it computes"},
};

SUITE_TEST_TIMES(a_program_that_ends_before_it_declares_is_not_started_again,
                 sizeof ends_early / sizeof *ends_early, struct talk, t,
                 command(t, ends_early[_i][0]), (void)0)
{
    sigset_t all;
    t->options.restarts = 5;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    is_refused(t, ends_early[_i][1]);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1); /* No child is left. */
}

TEST_PLAIN(its_environment_is_the_page_s_whatever_stood_there)
{
    char path[DISK_PATH_MAX], text[2 * DISK_PATH_MAX], expected[200];
    struct talk t;
    size_t bytes;
    int version, socket, memory;
    scratch_path(path, "environment");
    snprintf(text, sizeof text, "env | grep ^SYNCOPATE_ | sort >%s; exit 9", path);
    setenv("SYNCOPATE_PROGRAM", "python3 net.py", 1);
    setenv("SYNCOPATE_TASK_INDEX", "99", 1);
    setenv("SYNCOPATE_LOCAL_INDEX", "1", 1);
    setenv("SYNCOPATE_PROGRAMS", "another", 1);
    command(&t, text);
    is_refused(&t, "it ended with exit code 9 before it declared what it computes");
    char *found = scratch_read(path, &bytes);
    const char *own = strstr(found, "SYNCOPATE_PROGRAM=");
    ck_assert_ptr_nonnull(own);
    ck_assert_int_eq(sscanf(own, "SYNCOPATE_PROGRAM=%d,%d,%d\n", &version, &socket, &memory), 3);
    ck_assert_int_eq(version, PROGRAM_VERSION);
    snprintf(expected, sizeof expected,
             "SYNCOPATE_LOCAL_INDEX=1\nSYNCOPATE_PROGRAM=1,%d,%d\nSYNCOPATE_PROGRAMS=another\n"
             "SYNCOPATE_TASK_INDEX=3\n",
             socket, memory);
    ck_assert_str_eq(found, expected);
    free(found);
}

/* tests/programs/layers with these faults, of 100 examples. */
#define LAYERS "exec $LAYERS softmax synthetic:100 3 "

static void layers(struct talk *t, const char *text, uint32_t restarts, double answer_seconds)
{
    command(t, text);
    layers_program_name();
    t->options.restarts = restarts;
    t->options.answer_seconds = answer_seconds;
    ck_assert_msg(program_open(&t->p, &t->options, &t->error) == STATUS_OK, "%s", t->error.text);
    ck_assert_int_eq(program_share_memory(t->p, 7856, EXAMPLES_MAX, &t->error), STATUS_OK);
    for (uint32_t i = 0; i < leaf.count; i++)
        program_examples(t->p)[i] = 7 * i;
}

static void layers_stop(struct talk *t)
{
    program_close(&t->p, 0, "");
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1); /* No child is left. */
}

/* Leaf `leaves` and those before it are answered, always with the same. */
static void answers(struct talk *t, unsigned leaves)
{
    struct program_done first, done;
    ck_assert_msg(compute(t, PROGRAM_FRESH, &first) == STATUS_OK, "%s", t->error.text);
    for (unsigned i = 1; i < leaves; i++) {
        ck_assert_msg(compute(t, 0, &done) == STATUS_OK, "%s", t->error.text);
        ck_assert_double_eq(done.loss, first.loss);
        ck_assert_uint_eq(done.correct, first.correct);
    }
}

static const struct {
    const char *text;
    uint32_t restarts;
    double answer_seconds;
    const char *says; /* At its first leaf. */
} in_vain[] = {
    {LAYERS "--fail 1", 5, SECONDS, "as it was given to"},
    {LAYERS "--exit 1", 5, SECONDS, "it ended with exit code 3"},
    {LAYERS "--close 1", 5, SECONDS, "it closed its socket"},
    {LAYERS "--say kind 1", 5, SECONDS,
     "it breaks the protocol (proto/PROGRAM.md): it sent a message of kind 42"},
    {LAYERS "--kill 1", 0, SECONDS, "it was killed by signal 9 (Killed)"},
    {LAYERS "--kill 1", 2, SECONDS,
     "it was killed by signal 9 (Killed), as often as it may be started again"},
    {LAYERS "--hang 1", 1, 0.05,
     "it did not answer for 0.05 s, as often as it may be started again"},
    /* Started again, it does something else. */
    {"[ -e $MARK ] && exec $LAYERS mlp synthetic:100 3; " LAYERS "--kill 1 --once $MARK", 5,
     SECONDS, "started again, it declares something else than before"},
    {"[ -e $MARK ] && exit 3; " LAYERS "--kill 1 --once $MARK", 5, SECONDS,
     "it ended with exit code 3"},
};

SUITE_TEST_TIMES(a_program_that_cannot_go_on_says_so_in_one_line, sizeof in_vain / sizeof *in_vain,
                 struct talk, t,
                 layers(t, in_vain[_i].text, in_vain[_i].restarts, in_vain[_i].answer_seconds),
                 layers_stop(t))
{
    struct program_done done;
    char expected[200];
    snprintf(expected, sizeof expected, "program: %s", in_vain[_i].says);
    ck_assert_int_eq(compute(t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t->error.text, expected);
}

#define TEST_LAYERS(name, text, restarts, seconds)                                                 \
    SUITE_TEST(name, struct talk, t, layers(t, text, restarts, seconds), layers_stop(t))

TEST_LAYERS(a_program_that_a_signal_ends_is_asked_again, LAYERS "--kill 2 --once $MARK", 1, SECONDS)
{
    answers(t, 3);
}

TEST_LAYERS(so_is_one_that_does_not_answer, LAYERS "--hang 2 --once $MARK", 10000, 0.5)
{
    answers(t, 3);
}

TEST_LAYERS(its_end_may_come_in_every_question, LAYERS "--kill 2", 5, SECONDS)
{
    answers(t, 6); /* The first of each process. */
}

TEST_PLAIN(a_program_that_does_not_declare_is_given_up)
{
    struct talk t;
    command(&t, "sleep 1000");
    t.options.start_seconds = 0.05;
    is_refused(&t, "it did not answer for 0.05 s before it declared what it computes");
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}

/* A zombie is for another to bury. */
static bool has_ended(pid_t pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    if (file != NULL)
        fclose(file);
    return state == 'X' || state == 'Z';
}

TEST_PLAIN(a_child_that_it_leaves_behind_hides_no_end_and_ends_with_it)
{
    char path[DISK_PATH_MAX];
    struct talk t;
    struct program_done done;
    size_t bytes;
    layers(&t, "sleep 1000 & echo $! >$MARK; " LAYERS "--exit 1", 5, SECONDS);
    ck_assert_int_eq(compute(&t, 0, &done), STATUS_PROGRAM);
    ck_assert_str_eq(t.error.text, "program: it ended with exit code 3");
    scratch_path(path, "mark");
    char *text = scratch_read(path, &bytes);
    while (!has_ended(atoi(text)))
        clock_sleep_until(clock_now_ns() + 1000000);
    free(text);
    layers_stop(&t);
}

TEST_PLAIN(a_hundred_opens_leave_nothing_behind)
{
    size_t descriptors = suite_descriptors();
    for (int i = 0; i < 100; i++) {
        struct talk t;
        layers(&t, LAYERS, 5, SECONDS);
        answers(&t, 1);
        layers_stop(&t);
        command(&t, "exit 3");
        ck_assert_int_eq(program_open(&t.p, &t.options, &t.error), STATUS_PROGRAM);
        start(&t);
        stop(&t);
        ck_assert_uint_eq(suite_descriptors(), descriptors);
    }
}

int main(void)
{
    return suite_run("program", scratch_add);
}

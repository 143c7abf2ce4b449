/* test_syncopate.c - libsyncopate before an asker that is this test: what it says is in the socket before
 * the library reads it. */
/* promises: library */

#include "worker/program/syncopate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/suite.h"

enum { DECLARE = 1, LAYOUT, INITIAL, COMPUTE, SCORE, PART, DONE, FAIL, END };
enum { FRESH = 1, PARTS = 2, EXAMPLES_MAX = 8, BYTES = 3 * 4096 };

struct message {
    uint32_t bytes;
    uint16_t kind, flags;
    uint64_t serial;
};

struct asker {
    int socket, memory, theirs;
    unsigned char *map; /* parameters, gradient and examples, a page each. */
    struct syncopate *s;
    struct syncopate_work work;
    char why[200];
};

static const struct syncopate_variable variables[] = {
    {.name = "w",
     .rank = 2,
     .shape = {3, 7},
     .initializer = SYNCOPATE_GLOROT_UNIFORM,
     .fan_in = 3,
     .fan_out = 7},
    {.name = "b", .rank = 1, .shape = {7}, .initializer = SYNCOPATE_ZEROS},
    {.name = "the \"mean\"\n", .rank = 0, .average = 0.1},
};
static const struct syncopate_declaration declaration = {.name = "test",
                                                         .variables = variables,
                                                         .variable_count = 3,
                                                         .examples = 100,
                                                         .test_examples = 50};

static const uint64_t layout[] = {BYTES, 0, 4096, 8192, EXAMPLES_MAX};

static void ask(struct asker *a)
{
    int ends[2];
    char text[60];
    memset(a, 0, sizeof *a);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    a->socket = ends[0];
    a->theirs = ends[1];
    a->memory = memfd_create("asker", 0);
    ck_assert_int_eq(ftruncate(a->memory, BYTES), 0);
    a->map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, a->memory, 0);
    ck_assert_ptr_ne(a->map, MAP_FAILED);
    snprintf(text, sizeof text, "1,%d,%d", ends[1], dup(a->memory));
    setenv("SYNCOPATE_PROGRAM", text, 1);
}

static void say(struct asker *a, unsigned kind, unsigned flags, uint64_t serial, const void *body,
                size_t bytes)
{
    const struct message message = {(uint32_t)bytes, (uint16_t)kind, (uint16_t)flags, serial};
    ck_assert_int_eq(write(a->socket, &message, sizeof message), sizeof message);
    ck_assert_int_eq(write(a->socket, body, bytes), (ssize_t)bytes);
}

/* The next message must be this one; its body goes into `body`. */
static size_t hear(struct asker *a, unsigned kind, uint64_t serial, void *body, size_t most)
{
    struct message message;
    ck_assert_int_eq(recv(a->socket, &message, sizeof message, MSG_DONTWAIT), sizeof message);
    ck_assert_uint_eq(message.kind, kind);
    ck_assert_uint_eq(message.flags, 0);
    ck_assert_uint_eq(message.serial, serial);
    ck_assert_uint_le(message.bytes, most);
    if (message.bytes > 0)
        ck_assert_int_eq(recv(a->socket, body, message.bytes, MSG_WAITALL), message.bytes);
    return message.bytes;
}

static void hear_done(struct asker *a, uint64_t serial, double loss, uint64_t correct)
{
    unsigned char body[16], expected[16];
    ck_assert_uint_eq(hear(a, DONE, serial, body, sizeof body), 16);
    memcpy(expected, &loss, 8);
    memcpy(expected + 8, &correct, 8);
    ck_assert_mem_eq(body, expected, 16);
}

static void hear_nothing(struct asker *a)
{
    char byte;
    ck_assert_int_le(recv(a->socket, &byte, 1, MSG_DONTWAIT), 0);
}

static int open_it(struct asker *a, const struct syncopate_declaration *d)
{
    return syncopate_open(&a->s, d, a->why, sizeof a->why);
}

static void start(struct asker *a, const struct syncopate_declaration *d)
{
    static char text[70000];
    ask(a);
    say(a, LAYOUT, 0, 0, layout, sizeof layout);
    ck_assert_int_eq(open_it(a, d), 0);
    hear(a, DECLARE, 0, text, sizeof text);
}

static void stop(struct asker *a)
{
    syncopate_close(&a->s);
    ck_assert_ptr_null(a->s);
    munmap(a->map, BYTES);
    close(a->memory);
    close(a->socket);
    unsetenv("SYNCOPATE_PROGRAM");
}

#define TEST(name)      SUITE_TEST(name, struct asker, a, start(a, &declaration), stop(a))
#define TEST_ASKS(name) SUITE_TEST(name, struct asker, a, ask(a), stop(a))

struct compute {
    uint64_t batch, epoch, seed;
    uint32_t leaf, count;
};

static void compute(struct asker *a, unsigned flags, uint64_t serial, uint32_t count)
{
    const struct compute body = {40, 2, 77, 3, count};
    say(a, COMPUTE, flags, serial, &body, sizeof body);
}

static void next(struct asker *a, enum syncopate_kind kind)
{
    ck_assert_int_eq(syncopate_next(a->s, &a->work), 0);
    ck_assert_int_eq(a->work.kind, kind);
}

TEST_ASKS(a_declaration_is_the_json_of_the_page)
{
    char text[1000] = "";
    struct syncopate_declaration all = declaration;
    all.score_piece = 32;
    all.only_loss = 1;
    all.data = "d";
    all.data_digest = "00ff";
    all.fingerprint = "f\\";
    all.options = "{\"optimizer\": \"adam\"}";
    say(a, LAYOUT, 0, 0, layout, sizeof layout);
    ck_assert_int_eq(open_it(a, &all), 0);
    text[hear(a, DECLARE, 0, text, sizeof text - 1)] = '\0';
    ck_assert_str_eq(text,
                     "{\"name\":\"test\",\"variables\":["
                     "{\"name\":\"w\",\"shape\":[3,7],\"initializer\":\"glorot_uniform\",\"fan_"
                     "in\":3,\"fan_out\":7},"
                     "{\"name\":\"b\",\"shape\":[7],\"initializer\":\"zeros\"},"
                     "{\"name\":\"the "
                     "\\u0022mean\\u0022\\u000a\",\"shape\":[],\"average\":0.10000000000000001}],"
                     "\"examples\":100,\"test_examples\":50,\"score_piece\":32,\"scores\":\"loss\","
                     "\"data\":\"d\","
                     "\"data_digest\":\"00ff\",\"fingerprint\":\"f\\u005c\","
                     "\"options\":{\"optimizer\": \"adam\"}}");
}

TEST(a_leaf_is_answered_in_the_memory_of_the_asker)
{
    uint32_t *numbers = (uint32_t *)(void *)(a->map + 8192);
    float *parameters = (float *)(void *)a->map, *gradient = (float *)(void *)(a->map + 4096);
    numbers[0] = 99;
    numbers[1] = 4;
    parameters[32] = 5; /* b[0]: w has 21 elements, and ends at a multiple of 16. */
    compute(a, FRESH, 1, 2);
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(a->work.fresh, 1);
    ck_assert_uint_eq(a->work.seed, 77);
    ck_assert_uint_eq(a->work.batch, 40);
    ck_assert_uint_eq(a->work.epoch, 2);
    ck_assert_uint_eq(a->work.leaf, 3);
    ck_assert_uint_eq(a->work.count, 2);
    ck_assert_uint_eq(a->work.examples[0], 99);
    ck_assert_uint_eq(a->work.examples[1], 4);
    ck_assert_float_eq(syncopate_parameters(a->s, 1)[0], 5);
    syncopate_gradient(a->s, 2)[0] = 6;
    ck_assert_float_eq(gradient[48], 6);
    ck_assert_ptr_null(syncopate_gradient(a->s, 3));
    ck_assert_int_eq(syncopate_done(a->s, 0.1, 2), 0);
    hear_done(a, 1, 0.1, 2);
    hear_nothing(a);
}

TEST(initial_values_and_scores_are_asked_for)
{
    const uint64_t seed = 9, piece[] = {40, 10};
    say(a, INITIAL, 0, 1, &seed, 8);
    next(a, SYNCOPATE_INITIAL);
    ck_assert_uint_eq(a->work.seed, 9);
    syncopate_parameters(a->s, 0)[20] = 3;
    ck_assert_float_eq(((float *)(void *)a->map)[20], 3);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0);
    hear_done(a, 1, 0, 0);
    say(a, SCORE, FRESH, 2, piece, sizeof piece);
    next(a, SYNCOPATE_SCORE);
    ck_assert_uint_eq(a->work.first, 40);
    ck_assert_uint_eq(a->work.count, 10);
    ck_assert_int_eq(syncopate_done(a->s, 1.5, 7), 0);
    hear_done(a, 2, 1.5, 7);
}

TEST(parts_are_said_when_they_are_wanted)
{
    uint64_t first;
    compute(a, 0, 1, 0);
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(syncopate_ready(a->s, 1), 0);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0);
    hear_done(a, 1, 0, 0);
    compute(a, PARTS, 2, 0);
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(syncopate_ready(a->s, 2), 0);
    ck_assert_int_eq(syncopate_ready(a->s, 2), EINVAL); /* It falls. */
    ck_assert_int_eq(syncopate_ready(a->s, 1), 0);
    ck_assert_int_eq(syncopate_ready(a->s, 0), 0);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0);
    hear(a, PART, 2, &first, 8);
    ck_assert_uint_eq(first, 48);
    hear(a, PART, 2, &first, 8);
    ck_assert_uint_eq(first, 32);
    hear_done(a, 2, 0, 0);
}

TEST(the_end_has_a_code_and_a_reason)
{
    const char body[] = "\7\0\0\0stopped";
    say(a, END, 0, 0, body, sizeof body - 1);
    for (int i = 0; i < 2; i++) {
        next(a, SYNCOPATE_ENDED);
        ck_assert_int_eq(a->work.exit_code, 7);
        ck_assert_str_eq(syncopate_reason(a->s), "stopped");
    }
}

TEST(an_asker_that_goes_is_the_end)
{
    compute(a, 0, 1, 0);
    next(a, SYNCOPATE_GRADIENT);
    say(a, END, 0, 0, "\0\0\0\0", 4);
    ck_assert_int_eq(shutdown(a->socket, SHUT_RDWR), 0);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0); /* And there is no SIGPIPE. */
    next(a, SYNCOPATE_ENDED);
    ck_assert_int_eq(a->work.exit_code, 0);
}

TEST(an_asker_that_goes_in_the_middle_of_a_word_is_the_end)
{
    ck_assert_int_eq(write(a->socket, "\10\0\0\0\3", 5), 5);
    ck_assert_int_eq(shutdown(a->socket, SHUT_WR), 0);
    next(a, SYNCOPATE_ENDED);
    ck_assert_int_eq(a->work.exit_code, -1);
    ck_assert_str_eq(syncopate_reason(a->s), "the asker is gone");
}

TEST(a_stream_has_no_numbers)
{
    struct syncopate_declaration stream = declaration;
    struct asker b;
    stream.examples = 0;
    start(&b, &stream);
    compute(&b, 0, 1, 1000);
    next(&b, SYNCOPATE_GRADIENT);
    ck_assert_ptr_null(b.work.examples);
    ck_assert_uint_eq(b.work.count, 1000);
    compute(a, 0, 1, 1); /* Two live side by side. */
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(syncopate_done(b.s, 2, 0), 0);
    ck_assert_int_eq(syncopate_done(a->s, 1, 0), 0);
    hear_done(a, 1, 1, 0);
    hear_done(&b, 1, 2, 0);
    stop(&b);
}

TEST(answers_without_a_question_are_refused_and_change_nothing)
{
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), EINVAL);
    ck_assert_int_eq(syncopate_ready(a->s, 0), EINVAL);
    ck_assert_str_eq(syncopate_reason(a->s), "there is no question to answer");
    compute(a, 0, 1, 1);
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(syncopate_next(a->s, &a->work), EINVAL);
    ck_assert_int_eq(syncopate_ready(a->s, 3), EINVAL);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0);
    hear_done(a, 1, 0, 0);
}

TEST(a_failure_is_said_once_and_cut_between_characters)
{
    static char text[5001], heard[4096];
    memset(text, 'x', 4095);
    for (size_t i = 4095; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\303\244", 2);
    compute(a, 0, 5, 1);
    next(a, SYNCOPATE_GRADIENT);
    ck_assert_int_eq(syncopate_fail(a->s, text), ECANCELED);
    ck_assert_uint_eq(hear(a, FAIL, 5, heard, sizeof heard), 4095);
    ck_assert_mem_eq(heard, text, 4095);
    ck_assert_int_eq(syncopate_fail(a->s, "again"), ECANCELED);
    ck_assert_int_eq(syncopate_next(a->s, &a->work), ECANCELED);
    hear_nothing(a);
}

TEST(a_forked_child_sees_the_end_and_is_silent)
{
    int status;
    compute(a, 0, 1, 1);
    next(a, SYNCOPATE_GRADIENT);
    pid_t child = fork();
    if (child == 0) {
        int right = syncopate_done(a->s, 0, 0) == EPERM && syncopate_ready(a->s, 0) == EPERM &&
                    syncopate_fail(a->s, "x") == EPERM && syncopate_next(a->s, &a->work) == 0 &&
                    a->work.kind == SYNCOPATE_ENDED;
        syncopate_close(&a->s);
        _exit(right ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    hear_nothing(a);
    ck_assert_int_eq(syncopate_done(a->s, 0, 0), 0);
    hear_done(a, 1, 0, 0);
}

/* --- what an asker says wrong ------------------------------------------------------------------ */

static const struct wrong {
    unsigned kind, flags;
    uint64_t serial;
    size_t bytes;
    uint64_t body[5];
} wrongs[] = {
    {0, 0, 1, 0, {0}},
    {DECLARE, 0, 0, 8, {0}},
    {LAYOUT, 0, 0, 40, {BYTES, 0, 4096, 8192, EXAMPLES_MAX}},
    {PART, 0, 1, 8, {0}},
    {DONE, 0, 1, 16, {0}},
    {FAIL, 0, 1, 8, {0}},
    {10, 0, 1, 8, {0}},
    {0xffff, 0, 1, 8, {0}},
    {INITIAL, 0, 1, 0, {0}},
    {INITIAL, 0, 1, 16, {0}},
    {INITIAL, FRESH, 1, 8, {0}},
    {INITIAL, 0, 0, 8, {0}},
    {COMPUTE, 0, 1, 16, {0}},
    {COMPUTE, 0, 1, 40, {0}},
    {COMPUTE, 4, 1, 32, {0}},
    {COMPUTE, 0, 1, 32, {0, 0, 0, (uint64_t)(EXAMPLES_MAX + 1) << 32}},
    {COMPUTE, 0, 1, 32, {0, 0, 0, UINT64_MAX}},
    {COMPUTE, 0, 1, 32, {0, 0, 0, (uint64_t)2 << 32}}, /* The second number is 100. */
    {SCORE, PARTS, 1, 16, {0}},
    {SCORE, 0, 1, 8, {0}},
    {SCORE, 0, 1, 16, {50, 1}},
    {SCORE, 0, 1, 16, {51, 0}},
    {SCORE, 0, 1, 16, {1, UINT64_MAX}},
    {END, 0, 0, 0, {0}},
    {END, 1, 0, 8, {0}},
    {END, 0, 0, 4, {256}},
};

TEST_TIMES(what_an_asker_says_wrong_is_an_error, sizeof wrongs / sizeof *wrongs)
{
    struct asker a;
    start(&a, &declaration);
    ((uint32_t *)(void *)(a.map + 8192))[1] = 100;
    say(&a, wrongs[_i].kind, wrongs[_i].flags, wrongs[_i].serial, wrongs[_i].body,
        wrongs[_i].bytes);
    ck_assert_int_eq(syncopate_next(a.s, &a.work), EPROTO);
    ck_assert_str_ne(syncopate_reason(a.s), "");
    ck_assert_int_eq(syncopate_next(a.s, &a.work), EPROTO);
    ck_assert_int_eq(syncopate_done(a.s, 0, 0), EPROTO);
    stop(&a);
}

TEST(a_message_without_an_end_is_refused_before_it_is_read)
{
    const struct message message = {UINT32_MAX, END, 0, 0};
    ck_assert_int_eq(write(a->socket, &message, sizeof message), sizeof message);
    ck_assert_int_eq(syncopate_next(a->s, &a->work), EPROTO);
}

static const uint64_t layouts[][5] = {
    {BYTES + 1, 0, 4096, 8192, EXAMPLES_MAX}, /* The memory has another size. */
    {BYTES, BYTES, 4096, 8192, EXAMPLES_MAX},
    {BYTES, 0, 4097, 8192, EXAMPLES_MAX},
    {BYTES, 0, 4096, 8192, 1025},
    {BYTES, 0, 4096, 8192, UINT64_MAX / 4 + 2},
    {BYTES, UINT64_MAX - 4095, 4096, 8192, EXAMPLES_MAX},
    {BYTES, 4096, 4096, 8192, EXAMPLES_MAX},
    {BYTES, 0, 4096, 4096, EXAMPLES_MAX},
    {BYTES, 0, 4096, 0, EXAMPLES_MAX},
};

TEST_TIMES(a_layout_that_does_not_fit_is_refused, sizeof layouts / sizeof *layouts)
{
    struct asker a;
    ask(&a);
    say(&a, LAYOUT, 0, 0, layouts[_i], sizeof layouts[_i]);
    ck_assert_int_eq(open_it(&a, &declaration), EPROTO);
    ck_assert_ptr_null(a.s);
    ck_assert_str_eq(a.why, "the asker's layout does not fit its memory or the variables");
    stop(&a);
}

TEST_ASKS(a_question_before_the_layout_is_refused)
{
    compute(a, 0, 1, 1);
    ck_assert_int_eq(open_it(a, &declaration), EPROTO);
}

TEST_ASKS(a_look_or_a_refusal_is_the_end)
{
    const char body[] = "\2\0\0\0--program: no";
    say(a, END, 0, 0, body, sizeof body - 1);
    ck_assert_int_eq(open_it(a, &declaration), 0);
    ck_assert_ptr_null(syncopate_parameters(a->s, 0));
    next(a, SYNCOPATE_ENDED);
    ck_assert_int_eq(a->work.exit_code, 2);
    ck_assert_str_eq(syncopate_reason(a->s), "--program: no");
}

TEST_ASKS(an_asker_that_is_gone_before_the_layout_is_the_end)
{
    shutdown(a->socket, SHUT_RDWR);
    ck_assert_int_eq(open_it(a, &declaration), 0);
    next(a, SYNCOPATE_ENDED);
    ck_assert_int_eq(a->work.exit_code, -1);
}

/* --- opening --------------------------------------------------------------------------------- */

TEST_ASKS(the_environment_is_taken_and_no_child_inherits)
{
    ck_assert_int_ne(syncopate_is_asked(), 0);
    say(a, LAYOUT, 0, 0, layout, sizeof layout);
    ck_assert_int_eq(open_it(a, &declaration), 0);
    ck_assert_int_eq(syncopate_is_asked(), 0);
    ck_assert_int_eq(fcntl(a->theirs, F_GETFD), FD_CLOEXEC);
    ck_assert_ptr_null(getenv("SYNCOPATE_PROGRAM"));
    struct syncopate *second = a->s;
    ck_assert_int_eq(syncopate_open(&second, &declaration, a->why, sizeof a->why), ENOENT);
    ck_assert_ptr_null(second);
}

static const struct {
    const char *text;
    int error;
} environments[] = {
    {"", EBADF},
    {"1", EBADF},
    {"1,0", EBADF},
    {"1,900,901", EBADF},
    {"1,x,y", EBADF},
    {"1;2;3", EBADF},
    {"1,-1,-1", EBADF},
    {"1,99999999999999999999,3", EBADF},
    {"2,3,4", EPROTONOSUPPORT},
    {"12", EPROTONOSUPPORT},
};

TEST_TIMES(an_environment_that_is_wrong_is_refused, sizeof environments / sizeof *environments)
{
    struct asker a;
    ask(&a);
    setenv("SYNCOPATE_PROGRAM", environments[_i].text, 1);
    ck_assert_int_eq(open_it(&a, &declaration), environments[_i].error);
    ck_assert_int_eq(syncopate_is_asked(), 0);
    stop(&a);
}

static const struct syncopate_variable faulty[] = {
    {.name = NULL, .rank = 1, .shape = {1}},
    {.name = "a", .rank = 9},
    {.name = "a", .rank = 1, .shape = {0}},
    {.name = "a", .rank = 8, .shape = {256, 256, 256, 256, 256, 256, 256, 256}},
    {.name = "a", .rank = 1, .shape = {UINT64_MAX}},
};

TEST_TIMES(a_declaration_that_cannot_be_is_refused, sizeof faulty / sizeof *faulty)
{
    struct asker a;
    struct syncopate_declaration d = declaration;
    d.variables = &faulty[_i];
    d.variable_count = 1;
    ask(&a);
    ck_assert_int_eq(open_it(&a, &d), EINVAL);
    hear_nothing(&a);
    stop(&a);
}

static unsigned maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1000];
    unsigned count = 0;
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, "memfd:asker") != NULL;
    fclose(file);
    return count;
}

TEST_PLAIN(a_hundred_opens_leave_nothing_behind)
{
    size_t descriptors = suite_descriptors();
    for (int i = 0; i < 100; i++) {
        struct asker a;
        start(&a, &declaration);
        stop(&a);
        ask(&a); /* And one that fails. */
        compute(&a, 0, 1, 1);
        ck_assert_int_eq(open_it(&a, &declaration), EPROTO);
        stop(&a);
    }
    ck_assert_uint_eq(suite_descriptors(), descriptors);
    ck_assert_uint_eq(maps(), 0);
}

int main(void)
{
    return suite_run("syncopate", NULL);
}

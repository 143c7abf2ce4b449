/* policy_child.c - asks the child, line by line, and reads what it says. */

#include "deploy/simulate/policy_child.h"

#include <errno.h>
#include <poll.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"

#define FIRST_SECONDS  10.0 /* It starts. */
#define ANSWER_SECONDS 1.0
#define STILL_US       UINT64_C(120000000)
#define STILL_MOST     10000 /* Questions. */

/* --- failing --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void fail(struct policy_child *p, const char *question,
                                                       const char *format, ...)
{
    char why[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    error_set(&p->why, STATUS_PROGRAM, "--policy: %s; question %llu was %.150s", why,
              (unsigned long long)p->asked, question);
    p->failed = true;
    if (p->engine != NULL)
        engine_fail(p->engine, "%s", p->why.text);
}

static void fail_by_end(struct policy_child *p, const char *question)
{
    int code;
    if (!program_child_ends(&p->child, ANSWER_SECONDS)) {
        fail(p, question, "it has closed its standard output");
        return;
    }
    bool by_signal = program_child_ended(&p->child, &code);
    fail(p, question, by_signal ? "it was ended by signal %d" : "it ended with exit code %d", code);
}

/* --- lines ----------------------------------------------------------------------------------- */

static bool is_said(const struct policy_child *p, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(p->child.socket, text, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        text += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* The answer's line in p->text, without its end. */
static bool hear(struct policy_child *p, const char *question)
{
    double seconds = p->asked == 1 ? FIRST_SECONDS : ANSWER_SECONDS;
    double until = clock_now_seconds() + seconds;
    for (size_t bytes = 0; bytes < sizeof p->text - 1;) {
        struct pollfd answer = {.fd = p->child.socket, .events = POLLIN};
        double left = until - clock_now_seconds();
        int ready = left > 0 ? poll(&answer, 1, (int)(1000 * left) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            fail(p, question, "it has not answered within %.0f s", seconds);
            return false;
        }
        ssize_t got = recv(p->child.socket, p->text + bytes, sizeof p->text - 1 - bytes, 0);
        if (got <= 0) {
            fail_by_end(p, question);
            return false;
        }
        bytes += (size_t)got;
        p->text[bytes] = '\0';
        char *end = memchr(p->text, '\n', bytes);
        if (end == NULL)
            continue;
        *end = '\0';
        if (end + 1 == p->text + bytes)
            return true;
        fail(p, question, "it said more than one line");
        return false;
    }
    fail(p, question, "its line is longer than %d bytes", POLICY_LINE_MAX);
    return false;
}

/* What it says to do, and the rate; NULL where the run ends. root is the caller's. */
static const char *ask(struct policy_child *p, struct json_writer *question, struct json **root)
{
    struct error error;
    *root = NULL;
    if (p->failed)
        return NULL;
    p->asked++;
    json_writer_raw(question, "\n", 1);
    if (question->failed) {
        fail(p, "", "out of memory");
        return NULL;
    }
    bool said = is_said(p, question->text, question->bytes);
    question->text[question->bytes - 1] = '\0';
    if (!said)
        fail_by_end(p, question->text);
    if (!said || !hear(p, question->text))
        return NULL;
    if (json_parse(p->text, strlen(p->text), "answer", root, &error) != STATUS_OK)
        fail(p, question->text, "\"%.80s\" is no JSON", p->text);
    else if (json_text(*root, "do") == NULL)
        fail(p, question->text, "\"%.80s\" has no \"do\"", p->text);
    return p->failed ? NULL : json_text(*root, "do");
}

/* --- gradients ------------------------------------------------------------------------------- */

static void write_gradient(struct json_writer *writer, const struct policy_gradient *gradient)
{
    json_writer_object(writer, NULL);
    json_writer_object(writer, "gradient");
    json_writer_u64(writer, "worker", gradient->worker);
    json_writer_u64(writer, "base", gradient->base);
    json_writer_u64(writer, "now", gradient->now);
    json_writer_u64(writer, "step", gradient->step);
    json_writer_u64(writer, "leaf", gradient->node.first_leaf);
    json_writer_u64(writer, "leaves", gradient->node.leaf_count);
    json_writer_u64(writer, "of", gradient->leaves);
    json_writer_end(writer);
    json_writer_u64(writer, "held", gradient->held);
    json_writer_end(writer);
}

/* NULL, or why the answer cannot be. */
static const char *read_answer(const struct policy_child *p, const char *word,
                               const struct json *root, struct policy_answer *answer)
{
    static const struct {
        const char *word;
        enum policy_verdict verdict;
    } words[] = {{"apply", POLICY_APPLY},
                 {"close", POLICY_APPLY},
                 {"hold", POLICY_HOLD},
                 {"ignore", POLICY_IGNORE},
                 {"again", POLICY_AGAIN}};
    bool steps = job_mode(p->job)->steps;
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strcmp(words[i].word, word) != 0)
        i++;
    if (i == sizeof words / sizeof *words)
        return "a gradient is applied, held, ignored, made again or closes";
    answer->verdict = words[i].verdict;
    answer->rate = 1;
    if (json_at(root, "rate") != NULL)
        answer->rate = (float)json_number(root, "rate");
    if (!(answer->rate > 0 && answer->rate <= 1e6f))
        return "a rate is above 0, and at most 1000000";
    if (steps && answer->verdict == POLICY_AGAIN)
        return "a step's gradient is not made again";
    if (steps && answer->rate != 1)
        return "a step's gradient has no rate of its own";
    if (!steps && answer->verdict == POLICY_HOLD && !job_accumulates(p->job))
        return "without --accumulate G nothing is held";
    return NULL;
}

struct judged {
    uint64_t ticket, count;
    struct policy_answer answer;
};

static int by_name(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    return x->ticket != y->ticket ? (x->ticket > y->ticket) - (x->ticket < y->ticket)
                                  : (x->count > y->count) - (x->count < y->count);
}

static const struct judged *find(const struct policy_child *p, uint64_t ticket, uint64_t count)
{
    const struct judged name = {.ticket = ticket, .count = count};
    void *const *node = tfind(&name, &p->judged, by_name);
    return node != NULL ? *node : NULL;
}

static float rate(void *context, uint64_t ticket, uint64_t count)
{
    const struct judged *judged = find(context, ticket, count);
    return judged != NULL ? judged->answer.rate : 1;
}

static void remember(struct policy_child *p, const struct policy_gradient *gradient,
                     struct policy_answer answer)
{
    struct judged *judged = malloc(sizeof *judged);
    if (judged != NULL)
        *judged = (struct judged){gradient->ticket, gradient->count, answer};
    if (judged != NULL && tsearch(judged, &p->judged, by_name) != NULL)
        return;
    free(judged);
    fail(p, "", "out of memory");
}

static void note_moved(struct policy_child *p)
{
    p->moved = p->asked;
    p->moved_us = p->engine != NULL ? p->engine->now_us : 0;
}

static struct policy_answer judge(void *context, const struct policy_gradient *gradient)
{
    struct policy_child *p = context;
    struct policy_answer answer = {POLICY_AGAIN, 1};
    struct json_writer writer;
    struct json *root;
    bool named = gradient->count != 0;
    const struct judged *judged = named ? find(p, gradient->ticket, gradient->count) : NULL;
    if (judged != NULL)
        return judged->answer;
    json_writer_init(&writer, true);
    write_gradient(&writer, gradient);
    const char *word = ask(p, &writer, &root);
    const char *fault = word != NULL ? read_answer(p, word, root, &answer) : NULL;
    if (fault != NULL) {
        fail(p, writer.text, "\"%.80s\": %s", p->text, fault);
        answer.verdict = POLICY_AGAIN;
    }
    if (answer.verdict == POLICY_APPLY || answer.verdict == POLICY_IGNORE)
        note_moved(p);
    if (named)
        remember(p, gradient, answer);
    json_writer_free(&writer);
    json_release(&root);
    return answer;
}

/* --- work ------------------------------------------------------------------------------------ */

static bool gives(void *context, const struct policy_work *work)
{
    struct policy_child *p = context;
    struct json_writer writer;
    struct json *root;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_u64(&writer, "asks", work->worker);
    json_writer_u64(&writer, "held", work->held);
    json_writer_array(&writer, "clocks");
    for (uint32_t i = 0; i < work->count; i++)
        if (work->clocks[i] != POLICY_ABSENT)
            json_writer_u64(&writer, NULL, work->clocks[i]);
        else
            json_writer_null(&writer, NULL);
    json_writer_end(&writer);
    json_writer_end(&writer);
    const char *word = ask(p, &writer, &root);
    bool given = word != NULL && strcmp(word, "give") == 0;
    if (word != NULL && !given && strcmp(word, "wait") != 0)
        fail(p, writer.text, "\"%.80s\": a batch is given, or its worker waits", p->text);
    if (given)
        note_moved(p);
    json_writer_free(&writer);
    json_release(&root);
    return given;
}

/* --- life ------------------------------------------------------------------------------------ */

enum status policy_child_start(struct policy_child *child, const char *command,
                               struct engine *engine, const struct job *job, struct error *error)
{
    *child =
        (struct policy_child){.policy = {child, judge, rate, gives}, .engine = engine, .job = job};
    return program_child_start(&child->child, command, -1, 0, error);
}

void policy_child_look(struct policy_child *child)
{
    if (child->asked == 0 || child->failed)
        return;
    if (child->engine->now_us > child->moved_us + STILL_US ||
        child->asked > child->moved + STILL_MOST)
        fail(child, "the last", "it lets nothing go on: is something held that never closes?");
}

void policy_child_end(struct policy_child *child)
{
    program_child_end(&child->child, ANSWER_SECONDS);
    tdestroy(child->judged, free);
    child->judged = NULL;
}

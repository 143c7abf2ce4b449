/* program.c - frames on a socket, deadlines, and the restart of a program that was killed. */

#include "worker/source/program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/process/log.h"
#include "worker/source/program_child.h"

#define PAGE        4096
#define SAID_MAX    1024 /* Bytes of a body: the longest is of END. */
#define END_SECONDS 5.0  /* That a program has to end by itself. */

struct program {
    struct program_options options;
    char *command; /* Owned. */
    struct program_child child;
    struct program_declaration declared;
    char *text;                      /* Of the declaration. Owned. */
    int memory;                      /* memfd */
    struct program_layout layout;    /* bytes 0: not laid out. */
    uint8_t *map;                    /* [layout.bytes] */
    uint64_t elements, serial, part; /* part: of the question, the last element that was final. */
    uint32_t restarted;
    struct error fault;
};

/* What came of waiting for bytes. */
enum outcome { CAME, ENDED, LATE, BROKE };

/* Of what the program has done. */
#define broken(program, ...) error_set(&(program)->fault, STATUS_PROGRAM, __VA_ARGS__)

/* --- bytes ------------------------------------------------------------------------------------ */

/* Bytes that a program has sent before its end are read first. */
static enum outcome await(const struct program *p, short events, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd files[2] = {{.fd = p->child.socket, .events = events},
                                  {.fd = p->child.pidfd, .events = POLLIN}};
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= deadline_ns)
            return LATE;
        uint64_t left_ms = (deadline_ns - now_ns) / 1000000 + 1;
        int ready = poll(files, 2, clock_patience_ms(left_ms > 60000 ? 60000 : (int)left_ms));
        if (ready > 0 && (files[0].revents & events) != 0)
            return CAME;
        if (ready > 0)
            return ENDED;
    }
}

static enum outcome receive(const struct program *p, void *bytes, size_t count,
                            uint64_t deadline_ns)
{
    for (uint8_t *at = bytes; count > 0;) {
        ssize_t got = recv(p->child.socket, at, count, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            count -= (size_t)got;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return ENDED;
        enum outcome outcome = await(p, POLLIN, deadline_ns);
        if (outcome != CAME)
            return outcome;
    }
    return CAME;
}

static enum outcome send_all(const struct program *p, const void *bytes, size_t count,
                             uint64_t deadline_ns)
{
    for (const uint8_t *at = bytes; count > 0;) {
        ssize_t sent = send(p->child.socket, at, count, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            count -= (size_t)sent;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return ENDED;
        enum outcome outcome = await(p, POLLOUT, deadline_ns);
        if (outcome != CAME)
            return outcome;
    }
    return CAME;
}

static enum outcome say(const struct program *p, enum program_kind kind, uint16_t flags,
                        uint64_t serial, const void *body, uint32_t bytes, uint64_t deadline_ns)
{
    const struct program_header header = {bytes, (uint16_t)kind, flags, serial};
    uint8_t message[sizeof header + SAID_MAX]; /* At once: each send wakes the program. */
    assert(bytes <= SAID_MAX);
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, body, bytes);
    return send_all(p, message, sizeof header + bytes, deadline_ns);
}

/* The next message of the program, with its header checked. */
static enum outcome hear(struct program *p, struct program_header *header, bool parts,
                         uint64_t deadline_ns)
{
    struct error rule;
    enum outcome outcome = receive(p, header, sizeof *header, deadline_ns);
    if (outcome != CAME)
        return outcome;
    if (program_header_check(header, p->serial, parts, &rule) == STATUS_OK)
        return CAME;
    broken(p, "it breaks the protocol (proto/PROGRAM.md): it %s", rule.text);
    return BROKE;
}

/* It says why it cannot go on. */
static enum outcome take_fail(struct program *p, uint32_t bytes, uint64_t deadline_ns)
{
    char text[PROGRAM_TEXT_MAX + 1] = "";
    enum outcome outcome = receive(p, text, bytes, deadline_ns);
    if (outcome != CAME)
        return outcome;
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    text[400] = '\0';
    broken(p, "%s", text[0] != '\0' ? text : "it cannot go on, and does not say why");
    return BROKE;
}

/* It is gone, and cannot be asked: what it has said before its end. */
static enum outcome hear_last(struct program *p, uint64_t deadline_ns)
{
    struct program_header header;
    enum outcome outcome = receive(p, &header, sizeof header, deadline_ns);
    bool fails = header.kind == PROGRAM_FAIL && header.bytes <= PROGRAM_TEXT_MAX;
    return outcome == CAME && fails ? take_fail(p, header.bytes, deadline_ns) : ENDED;
}

/* --- start and restart ------------------------------------------------------------------------ */

static uint64_t deadline_of(double seconds)
{
    return clock_now_ns() + (uint64_t)(1e9 * fmin(seconds, 1e8));
}

/* The first declaration is kept; those after a restart must be the same. Owns the text. */
static enum outcome keep_declaration(struct program *p, char *text, uint32_t bytes)
{
    struct error error;
    bool same = p->text != NULL && strcmp(text, p->text) == 0;
    if (p->text != NULL)
        free(text);
    if (same)
        return CAME;
    if (p->text != NULL) {
        broken(p, "started again, it declares something else than before");
        return BROKE;
    }
    p->text = text;
    if (program_declaration_read(&p->declared, text, bytes, &error) == STATUS_OK)
        return CAME;
    broken(p, "%s", error.text);
    return BROKE;
}

static enum outcome take_declaration(struct program *p, uint64_t deadline_ns)
{
    struct program_header header;
    p->serial = 0;
    enum outcome outcome = hear(p, &header, false, deadline_ns);
    if (outcome == CAME && header.kind == PROGRAM_FAIL)
        outcome = take_fail(p, header.bytes, deadline_ns);
    if (outcome != CAME)
        return outcome;
    char *text = calloc(header.bytes + 1, 1);
    if (text == NULL) {
        error_set(&p->fault, STATUS_MEMORY, "out of memory");
        return BROKE;
    }
    outcome = receive(p, text, header.bytes, deadline_ns);
    if (outcome == CAME)
        return keep_declaration(p, text, header.bytes);
    free(text);
    return outcome;
}

/* Its child and its declaration; and, in a restart, the layout that it had. */
static enum outcome start(struct program *p)
{
    uint64_t deadline_ns = deadline_of(p->options.start_seconds);
    if (p->options.socket > 0)
        p->child = (struct program_child){.pidfd = -1, .socket = p->options.socket};
    else if (program_child_start(&p->child, p->command, p->memory, p->options.task, &p->fault) !=
             STATUS_OK)
        return BROKE;
    enum outcome outcome = take_declaration(p, deadline_ns);
    if (outcome == CAME && p->layout.bytes > 0)
        outcome = say(p, PROGRAM_LAYOUT, 0, 0, &p->layout, sizeof p->layout, deadline_ns);
    return outcome;
}

/* Why it has to be started again, or cannot be. true: a signal ended it, ours or another. */
static bool was_killed(struct program *p, enum outcome outcome, double seconds, char why[64])
{
    int code = 0;
    bool killed = outcome == LATE;
    if (killed)
        snprintf(why, 64, "did not answer for %.3g s", seconds);
    else
        snprintf(why, 64, "closed its socket");
    if (p->child.pid == 0) /* A parent that answers. */
        return false;
    if (outcome == LATE)
        program_child_kill(&p->child);
    else if (!program_child_ends(&p->child, END_SECONDS))
        program_child_kill(&p->child);
    else if ((killed = program_child_ended(&p->child, &code)))
        snprintf(why, 64, "was killed by signal %d (%s)", code, strsignal(code));
    else
        snprintf(why, 64, "ended with exit code %d", code);
    return killed;
}

/* After anything but CAME. false: it is over, and the fault is said. */
static bool revive(struct program *p, enum outcome outcome, double seconds)
{
    char why[64] = "";
    while (outcome != CAME) {
        if (outcome == BROKE)
            return false;
        bool killed = was_killed(p, outcome, seconds, why);
        if (p->declared.variable_count == 0) {
            error_set(&p->fault, STATUS_PROGRAM, "it %s before it declared what it computes", why);
            return false;
        }
        if (!killed || p->restarted >= p->options.restarts) {
            error_set(&p->fault, STATUS_PROGRAM, "it %s%s", why,
                      killed && p->restarted > 0 ? ", as often as it may be started again" : "");
            return false;
        }
        p->restarted++;
        log_warning("the program %s; it is started again (%u of %u)", why, p->restarted,
                    p->options.restarts);
        seconds = p->options.start_seconds;
        outcome = start(p);
    }
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

enum status program_open(struct program **program, const struct program_options *options,
                         struct error *error)
{
    struct program *p = calloc(1, sizeof *p);
    *program = NULL;
    if (p == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    p->options = *options;
    p->command = strdup(options->command != NULL ? options->command : "");
    p->child = (struct program_child){.pidfd = -1, .socket = -1};
    p->memory = options->socket > 0
                    ? options->memory
                    : memfd_create("syncopate-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (p->command == NULL || p->memory < 0)
        error_set(&p->fault, STATUS_MEMORY, "no memory for a program: %s", strerror(errno));
    else
        revive(p, start(p), options->start_seconds);
    if (p->fault.status == STATUS_OK) {
        *program = p;
        return STATUS_OK;
    }
    error_set(error, p->fault.status, "%s", p->fault.text);
    program_close(&p, EXIT_PROGRAM, p->fault.text);
    return error != NULL ? error->status : STATUS_PROGRAM;
}

void program_close(struct program **program, int exit_code, const char *reason)
{
    struct program *p = *program;
    struct {
        uint32_t code;
        char text[512];
    } end = {.code = (uint32_t)exit_code};
    *program = NULL;
    if (p == NULL)
        return;
    size_t length = strnlen(reason, sizeof end.text);
    memcpy(end.text, reason, length);
    if (p->child.socket >= 0)
        say(p, PROGRAM_END, 0, 0, &end, (uint32_t)(sizeof end.code + length), deadline_of(1));
    if (p->child.pid > 0)
        program_child_end(&p->child, END_SECONDS);
    else if (p->child.socket >= 0)
        close(p->child.socket);
    if (p->map != NULL)
        munmap(p->map, p->layout.bytes);
    if (p->memory >= 0)
        close(p->memory);
    program_declaration_free(&p->declared);
    free(p->text);
    free(p->command);
    free(p);
}

const char *program_declared_text(const struct program *program)
{
    return program->text;
}

const struct program_declaration *program_declares(const struct program *program)
{
    return &program->declared;
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

enum status program_share_memory(struct program *program, uint64_t elements, uint32_t examples_max,
                                 struct error *error)
{
    struct program *p = program;
    uint64_t region = pages(elements * sizeof(float));
    p->elements = elements;
    p->layout = (struct program_layout){
        .bytes = 2 * region + pages(examples_max * sizeof(uint32_t)),
        .parameters = 0,
        .gradient = region,
        .examples = 2 * region,
        .examples_max = examples_max,
    };
    /* A program must not be able to shorten what this process has mapped. */
    if (ftruncate(p->memory, (off_t)p->layout.bytes) != 0 ||
        fcntl(p->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return error_set(error, STATUS_MEMORY, "no memory for a program: %s", strerror(errno));
    void *map = mmap(NULL, p->layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory, 0);
    if (map == MAP_FAILED)
        return error_set(error, STATUS_MEMORY, "no memory for a program: %s", strerror(errno));
    p->map = map;
    double seconds = p->options.start_seconds;
    uint64_t deadline_ns = deadline_of(seconds);
    enum outcome outcome = say(p, PROGRAM_LAYOUT, 0, 0, &p->layout, sizeof p->layout, deadline_ns);
    if (outcome == ENDED)
        outcome = hear_last(p, deadline_ns);
    return revive(p, outcome, seconds) ? STATUS_OK
                                       : error_set(error, p->fault.status, "%s", p->fault.text);
}

float *program_parameters(const struct program *program)
{
    return (float *)(void *)(program->map + program->layout.parameters);
}

float *program_gradient(const struct program *program)
{
    return (float *)(void *)(program->map + program->layout.gradient);
}

uint32_t *program_examples(const struct program *program)
{
    return (uint32_t *)(void *)(program->map + program->layout.examples);
}

/* --- a question ------------------------------------------------------------------------------- */

/* Of a program that was started again, what was final before is not said a second time. */
static enum outcome take_part(struct program *p, const struct program_question *question,
                              uint64_t *before, uint64_t deadline_ns)
{
    uint64_t first;
    enum outcome outcome = receive(p, &first, sizeof first, deadline_ns);
    if (outcome != CAME)
        return outcome;
    if (first == 0 || first >= *before) {
        broken(p, "%s", "it breaks the protocol (proto/PROGRAM.md): its PARTs do not fall");
        return BROKE;
    }
    *before = first;
    if (first < p->part) {
        p->part = first;
        question->part(question->context, first);
    }
    return CAME;
}

static enum outcome take_answer(struct program *p, const struct program_question *question,
                                struct program_done *done, uint64_t deadline_ns)
{
    bool parts = (question->flags & PROGRAM_PARTS) != 0;
    uint64_t before = p->elements;
    for (;;) {
        struct program_header header;
        enum outcome outcome = hear(p, &header, parts, deadline_ns);
        if (outcome != CAME)
            return outcome;
        if (header.kind == PROGRAM_FAIL)
            return take_fail(p, header.bytes, deadline_ns);
        if (header.kind == PROGRAM_DONE)
            return receive(p, done, sizeof *done, deadline_ns);
        if ((outcome = take_part(p, question, &before, deadline_ns)) != CAME)
            return outcome;
    }
}

static enum outcome ask(struct program *p, const struct program_question *question, uint16_t flags,
                        struct program_done *done)
{
    uint64_t deadline_ns = deadline_of(p->options.answer_seconds);
    p->serial++;
    enum outcome outcome =
        say(p, question->kind, flags, p->serial, question->body, question->bytes, deadline_ns);
    if (outcome == ENDED)
        return hear_last(p, deadline_ns);
    return outcome == CAME ? take_answer(p, question, done, deadline_ns) : outcome;
}

enum status program_ask(struct program *program, const struct program_question *question,
                        struct program_done *done, struct error *error)
{
    struct program *p = program;
    uint16_t flags = question->flags;
    enum outcome outcome;
    p->part = p->elements;
    while (p->fault.status == STATUS_OK && (outcome = ask(p, question, flags, done)) != CAME) {
        uint64_t serial = p->serial;
        if (!revive(p, outcome, p->options.answer_seconds))
            break;
        p->serial = serial;
        /* It has seen none of this. */
        flags = question->kind == PROGRAM_INITIAL ? 0 : flags | PROGRAM_FRESH;
        memset(program_gradient(p), 0, p->elements * sizeof(float));
    }
    return p->fault.status == STATUS_OK
               ? STATUS_OK
               : error_set(error, p->fault.status, "program: %.500s", p->fault.text);
}

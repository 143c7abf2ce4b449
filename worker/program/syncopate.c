/* syncopate.c - answers the asker of proto/PROGRAM.md over a socket and shared memory, with libc alone; what
 * the asker says is checked before it is used. */

#include "worker/program/syncopate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION          1
#define ENVIRONMENT      "SYNCOPATE_PROGRAM"
#define DECLARATION_MAX  (16u << 20) /* Bytes. */
#define TEXT_MAX         4096        /* Of FAIL and END. */
#define REGION_ALIGNMENT 4096
#define ALIGNMENT        16                  /* Elements from variable to variable. */
#define ELEMENTS_MAX     (UINT64_C(1) << 48) /* Far below any overflow of bytes. */
#define FRESH            1u
#define PARTS            2u

enum message { DECLARE = 1, LAYOUT, INITIAL, COMPUTE, SCORE, PART, DONE, FAIL, END };

struct header {
    uint32_t bytes; /* Of the body. */
    uint16_t kind, flags;
    uint64_t serial;
};

union body {
    struct {
        uint64_t bytes, parameters, gradient, examples, examples_max;
    } layout;
    struct {
        uint64_t seed;
    } initial;
    struct {
        uint64_t batch, epoch, seed;
        uint32_t leaf, count;
    } compute;
    struct {
        uint64_t first, count;
    } score;
    struct {
        uint32_t exit_code;
        char text[TEXT_MAX + 4]; /* And a zero. */
    } end;
};

/* Of what an asker may say: the flags, and how many bytes. */
static const struct rule {
    uint16_t flags;
    uint32_t least, most;
} rules[] = {
    [LAYOUT] = {0, 40, 40},    [INITIAL] = {0, 8, 8},        [COMPUTE] = {FRESH | PARTS, 32, 32},
    [SCORE] = {FRESH, 16, 16}, [END] = {0, 4, 4 + TEXT_MAX},
};

struct syncopate {
    int socket, memory; /* memory: -1 once it is mapped. */
    pid_t owner;        /* The process that opened it. */
    unsigned char *map; /* [bytes]; NULL before LAYOUT. */
    size_t bytes;
    float *parameters, *gradient;
    uint32_t *numbers; /* [numbers_max] of examples. */
    uint64_t numbers_max, examples, test_examples;
    uint32_t variable_count;
    uint64_t *offsets;      /* [variable_count + 1] in elements, the last is the end. */
    struct header question; /* Without an answer; serial 0: there is none. */
    uint64_t final;         /* The gradient is, from this element on. */
    int ended, exit_code, error;
    char reason[TEXT_MAX + 100];
};

__attribute__((format(printf, 3, 4))) static int explain(struct syncopate *s, int error,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->reason, sizeof s->reason, format, arguments);
    va_end(arguments);
    if (error != EINVAL)
        s->error = error;
    return error;
}

/* --- messages ------------------------------------------------------------------------------ */

/* An asker that is gone is no error here: what it said before is still to be read. */
static int send_bytes(struct syncopate *s, const void *bytes, size_t count)
{
    for (const char *next = bytes; count > 0;) {
        ssize_t sent = send(s->socket, next, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        if (sent < 0)
            return explain(s, errno, "sending to the asker: %s", strerror(errno));
        next += sent;
        count -= (size_t)sent;
    }
    return 0;
}

static int send_message(struct syncopate *s, enum message kind, const void *body, size_t bytes)
{
    struct header header = {(uint32_t)bytes, (uint16_t)kind, 0, s->question.serial};
    char first[sizeof header + TEXT_MAX]; /* Both at once: the asker wakes once. */
    size_t with = bytes < TEXT_MAX ? bytes : TEXT_MAX;
    memcpy(first, &header, sizeof header);
    memcpy(first + sizeof header, body, with);
    int error = send_bytes(s, first, sizeof header + with);
    return error ? error : send_bytes(s, (const char *)body + with, bytes - with);
}

/* The end of the socket is as good as END. */
static int receive_bytes(struct syncopate *s, void *bytes, size_t count)
{
    for (char *next = bytes; count > 0 && !s->ended;) {
        ssize_t got = recv(s->socket, next, count, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            s->ended = 1;
            snprintf(s->reason, sizeof s->reason, "the asker is gone");
        } else if (got < 0) {
            return explain(s, errno, "receiving from the asker: %s", strerror(errno));
        } else {
            next += got;
            count -= (size_t)got;
        }
    }
    return 0;
}

static int receive(struct syncopate *s, struct header *header, union body *body)
{
    memset(body, 0, sizeof *body);
    int error = receive_bytes(s, header, sizeof *header);
    if (error || s->ended)
        return error;
    const struct rule *rule = &rules[header->kind <= END ? header->kind : 0];
    if (rule->most == 0)
        return explain(s, EPROTO, "the asker said a message of kind %u", header->kind);
    if (header->bytes < rule->least || header->bytes > rule->most ||
        (header->flags & ~rule->flags) != 0)
        return explain(s, EPROTO, "the asker said kind %u with %u bytes and flags %u", header->kind,
                       (unsigned)header->bytes, header->flags);
    error = receive_bytes(s, body, header->bytes);
    if (error || s->ended || header->kind != END)
        return error;
    if (body->end.exit_code > 255)
        return explain(s, EPROTO, "the asker said an exit code of %u",
                       (unsigned)body->end.exit_code);
    s->ended = 1;
    s->exit_code = (int)body->end.exit_code;
    snprintf(s->reason, sizeof s->reason, "%s", body->end.text);
    return 0;
}

/* --- declaring ----------------------------------------------------------------------------- */

static void write_text(FILE *out, const char *member, const char *text)
{
    if (text == NULL)
        return;
    fprintf(out, "%s\"", member);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void write_variable(FILE *out, const struct syncopate_variable *variable)
{
    write_text(out, "{\"name\":", variable->name);
    fputs(",\"shape\":[", out);
    for (uint32_t i = 0; i < variable->rank; i++)
        fprintf(out, "%s%llu", i > 0 ? "," : "", (unsigned long long)variable->shape[i]);
    fputs("]", out);
    if (variable->initializer == SYNCOPATE_ZEROS)
        fputs(",\"initializer\":\"zeros\"", out);
    if (variable->initializer == SYNCOPATE_GLOROT_UNIFORM)
        fprintf(out, ",\"initializer\":\"glorot_uniform\",\"fan_in\":%llu,\"fan_out\":%llu",
                (unsigned long long)variable->fan_in, (unsigned long long)variable->fan_out);
    if (variable->average > 0) {
        char rate[40];
        snprintf(rate, sizeof rate, "%.17g", variable->average);
        char *comma = strchr(rate, ','); /* Of a locale. */
        if (comma != NULL)
            *comma = '.';
        fprintf(out, ",\"average\":%s", rate);
    }
    fputs("}", out);
}

static void write_declaration(FILE *out, const struct syncopate_declaration *d)
{
    write_text(out, "{\"name\":", d->name);
    for (uint32_t i = 0; i < d->variable_count; i++) {
        fputs(i > 0 ? "," : ",\"variables\":[", out);
        write_variable(out, &d->variables[i]);
    }
    fprintf(out, "],\"examples\":%llu,\"test_examples\":%llu", (unsigned long long)d->examples,
            (unsigned long long)d->test_examples);
    if (d->score_piece > 0)
        fprintf(out, ",\"score_piece\":%u", (unsigned)d->score_piece);
    write_text(out, ",\"scores\":", d->only_loss ? "loss" : NULL);
    write_text(out, ",\"data\":", d->data);
    write_text(out, ",\"data_digest\":", d->data_digest);
    write_text(out, ",\"fingerprint\":", d->fingerprint);
    fprintf(out, "%s%s}", d->options != NULL ? ",\"options\":" : "",
            d->options != NULL ? d->options : "");
}

static int declare(struct syncopate *s, const struct syncopate_declaration *declaration)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return explain(s, ENOMEM, "out of memory for the declaration");
    write_declaration(out, declaration);
    int error =
        fclose(out) != 0 ? explain(s, ENOMEM, "out of memory for the declaration")
        : bytes > DECLARATION_MAX
            ? explain(s, EINVAL, "the declaration has %zu bytes; %u may be", bytes, DECLARATION_MAX)
            : send_message(s, DECLARE, text, bytes);
    free(text);
    return error;
}

/* Where each variable begins. */
static int lay_out(struct syncopate *s, const struct syncopate_declaration *d)
{
    if (d->name == NULL || d->variable_count == 0)
        return explain(s, EINVAL, "a declaration needs a name and variables");
    s->offsets = calloc((size_t)d->variable_count + 1, sizeof *s->offsets);
    if (s->offsets == NULL)
        return explain(s, ENOMEM, "out of memory for %u variables", (unsigned)d->variable_count);
    for (uint32_t i = 0; i < d->variable_count; i++) {
        const struct syncopate_variable *variable = &d->variables[i];
        uint64_t elements = 1;
        if (variable->name == NULL || variable->rank > SYNCOPATE_RANK_MAX)
            return explain(s, EINVAL, "variable %u needs a name, and %d dimensions at most",
                           (unsigned)i, SYNCOPATE_RANK_MAX);
        for (uint32_t k = 0; k < variable->rank; k++) {
            if (variable->shape[k] == 0 || elements > ELEMENTS_MAX / variable->shape[k])
                return explain(s, EINVAL, "variable %s has no elements, or too many",
                               variable->name);
            elements *= variable->shape[k];
        }
        s->offsets[i + 1] = s->offsets[i] + (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (s->offsets[i + 1] > ELEMENTS_MAX)
            return explain(s, EINVAL, "the variables have too many elements");
    }
    s->variable_count = d->variable_count;
    s->examples = d->examples;
    s->test_examples = d->test_examples;
    return 0;
}

struct region {
    uint64_t at, bytes;
};

/* Both lie in the memory, and do not overlap. */
static int are_regions(struct region a, struct region b, uint64_t all)
{
    return a.at % REGION_ALIGNMENT == 0 && a.at <= all && a.bytes <= all - a.at && b.at <= all &&
           b.bytes <= all - b.at && (a.at + a.bytes <= b.at || b.at + b.bytes <= a.at);
}

static int map_memory(struct syncopate *s, const union body *body)
{
    uint64_t all = body->layout.bytes, floats = s->offsets[s->variable_count] * sizeof(float),
             numbers = body->layout.examples_max;
    struct region parameters = {body->layout.parameters, floats},
                  gradient = {body->layout.gradient, floats},
                  examples = {body->layout.examples, numbers * sizeof(uint32_t)};
    struct stat about;
    if (fstat(s->memory, &about) != 0 || !S_ISREG(about.st_mode) ||
        (uint64_t)about.st_size != all || numbers > ELEMENTS_MAX ||
        !are_regions(parameters, gradient, all) || !are_regions(gradient, examples, all) ||
        !are_regions(examples, parameters, all))
        return explain(s, EPROTO, "the asker's layout does not fit its memory or the variables");
    s->map = mmap(NULL, (size_t)all, PROT_READ | PROT_WRITE, MAP_SHARED, s->memory, 0);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return explain(s, errno, "mapping %llu bytes: %s", (unsigned long long)all,
                       strerror(errno));
    }
    close(s->memory);
    s->memory = -1;
    s->bytes = (size_t)all;
    s->parameters = (float *)(void *)(s->map + body->layout.parameters);
    s->gradient = (float *)(void *)(s->map + body->layout.gradient);
    s->numbers = (uint32_t *)(void *)(s->map + body->layout.examples);
    s->numbers_max = body->layout.examples_max;
    return 0;
}

/* --- opening ------------------------------------------------------------------------------- */

/* "1,5,6", of which nothing is left in the environment. */
static int take_environment(struct syncopate *s)
{
    const char *text = getenv(ENVIRONMENT);
    unsigned long numbers[3];
    char sign = ',', rest;
    struct stat about;
    if (text == NULL)
        return explain(s, ENOENT, "no process asks: " ENVIRONMENT " is not set");
    int count =
        sscanf(text, "%4lu%c%9lu,%9lu%c", &numbers[0], &sign, &numbers[1], &numbers[2], &rest);
    unsetenv(ENVIRONMENT);
    if (count >= 1 && numbers[0] != VERSION)
        return explain(s, EPROTONOSUPPORT,
                       "the asker speaks version %lu of the protocol, and this is %d", numbers[0],
                       VERSION);
    if (count != 4 || sign != ',' || fstat((int)numbers[1], &about) != 0 ||
        !S_ISSOCK(about.st_mode) || fstat((int)numbers[2], &about) != 0 || !S_ISREG(about.st_mode))
        return explain(s, EBADF, ENVIRONMENT " does not name a socket and a file");
    s->socket = (int)numbers[1];
    s->memory = (int)numbers[2];
    fcntl(s->socket, F_SETFD, FD_CLOEXEC);
    fcntl(s->memory, F_SETFD, FD_CLOEXEC);
    return 0;
}

static int begin(struct syncopate *s, const struct syncopate_declaration *declaration)
{
    struct header header = {0};
    union body body;
    int error = take_environment(s);
    if (!error)
        error = lay_out(s, declaration);
    if (!error)
        error = declare(s, declaration);
    if (!error)
        error = receive(s, &header, &body);
    if (error || s->ended) /* It only wanted to look; next says that this is the end. */
        return error;
    return header.kind == LAYOUT
               ? map_memory(s, &body)
               : explain(s, EPROTO, "the asker said kind %u before the layout", header.kind);
}

int syncopate_is_asked(void)
{
    return getenv(ENVIRONMENT) != NULL;
}

int syncopate_open(struct syncopate **out, const struct syncopate_declaration *declaration,
                   char *why, size_t size)
{
    struct syncopate *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL) {
        snprintf(why, size, "out of memory");
        return ENOMEM;
    }
    s->socket = s->memory = s->exit_code = -1;
    s->owner = getpid();
    int error = begin(s, declaration);
    if (error) {
        snprintf(why, size, "%s", s->reason);
        syncopate_close(out);
    }
    return error;
}

void syncopate_close(struct syncopate **pointer)
{
    struct syncopate *s = *pointer;
    *pointer = NULL;
    if (s == NULL)
        return;
    if (s->map != NULL)
        munmap(s->map, s->bytes);
    if (s->socket >= 0)
        close(s->socket);
    if (s->memory >= 0)
        close(s->memory);
    free(s->offsets);
    free(s);
}

/* --- answering ----------------------------------------------------------------------------- */

static int take_compute(struct syncopate *s, const union body *body, struct syncopate_work *work)
{
    work->kind = SYNCOPATE_GRADIENT;
    work->seed = body->compute.seed;
    work->batch = body->compute.batch;
    work->epoch = body->compute.epoch;
    work->leaf = body->compute.leaf;
    work->count = body->compute.count;
    work->examples = s->examples > 0 ? s->numbers : NULL;
    if (s->examples > 0 && work->count > s->numbers_max)
        return explain(s, EPROTO, "the asker asked for %u examples in a place of %llu",
                       (unsigned)body->compute.count, (unsigned long long)s->numbers_max);
    for (uint64_t i = 0; s->examples > 0 && i < work->count; i++)
        if (s->numbers[i] >= s->examples)
            return explain(s, EPROTO, "the asker asked for example %u of %llu",
                           (unsigned)s->numbers[i], (unsigned long long)s->examples);
    return 0;
}

static int take_question(struct syncopate *s, const struct header *header, const union body *body,
                         struct syncopate_work *work)
{
    work->fresh = (header->flags & FRESH) != 0;
    if (header->serial == 0 || header->kind == LAYOUT)
        return explain(s, EPROTO, "the asker said kind %u, serial %llu, as a question",
                       header->kind, (unsigned long long)header->serial);
    s->question = *header;
    s->final = s->offsets[s->variable_count];
    if (header->kind == COMPUTE)
        return take_compute(s, body, work);
    if (header->kind == INITIAL) {
        work->kind = SYNCOPATE_INITIAL;
        work->seed = body->initial.seed;
        return 0;
    }
    work->kind = SYNCOPATE_SCORE;
    work->first = body->score.first;
    work->count = body->score.count;
    if (work->first > s->test_examples || work->count > s->test_examples - work->first)
        return explain(s, EPROTO, "the asker asked for a score of more than %llu test examples",
                       (unsigned long long)s->test_examples);
    return 0;
}

int syncopate_next(struct syncopate *s, struct syncopate_work *work)
{
    struct header header;
    union body body;
    memset(work, 0, sizeof *work);
    work->exit_code = -1;
    if (getpid() != s->owner)
        return 0;
    if (s->question.serial != 0 && !s->error)
        return explain(s, EINVAL, "the question before has no answer");
    int error = s->error || s->ended ? s->error : receive(s, &header, &body);
    work->exit_code = s->exit_code;
    return error || s->ended ? error : take_question(s, &header, &body, work);
}

static float *variable_in(const struct syncopate *s, float *region, uint32_t variable)
{
    return s->map != NULL && variable < s->variable_count ? region + s->offsets[variable] : NULL;
}

float *syncopate_parameters(struct syncopate *s, uint32_t variable)
{
    return variable_in(s, s->parameters, variable);
}

float *syncopate_gradient(struct syncopate *s, uint32_t variable)
{
    return variable_in(s, s->gradient, variable);
}

/* Whether this process may answer now. */
static int check_answer(struct syncopate *s)
{
    if (getpid() != s->owner)
        return EPERM;
    if (s->error)
        return s->error;
    return s->question.serial != 0 ? 0 : explain(s, EINVAL, "there is no question to answer");
}

int syncopate_ready(struct syncopate *s, uint32_t variable)
{
    int error = check_answer(s);
    if (error)
        return error;
    if (s->question.kind != COMPUTE || variable >= s->variable_count ||
        s->offsets[variable] >= s->final)
        return explain(s, EINVAL, "variable %u cannot become ready now", (unsigned)variable);
    s->final = s->offsets[variable];
    /* That all is final, DONE says. */
    return variable > 0 && (s->question.flags & PARTS) != 0
               ? send_message(s, PART, &s->final, sizeof s->final)
               : 0;
}

int syncopate_done(struct syncopate *s, double loss, uint64_t correct)
{
    struct {
        double loss;
        uint64_t correct;
    } done = {loss, correct};
    int error = check_answer(s);
    if (!error)
        error = send_message(s, DONE, &done, sizeof done);
    s->question.serial = 0;
    return error;
}

int syncopate_fail(struct syncopate *s, const char *text)
{
    size_t bytes = strlen(text);
    int error = getpid() != s->owner ? EPERM : s->error;
    if (bytes > TEXT_MAX) /* And not within a character. */
        for (bytes = TEXT_MAX; bytes > 0 && (text[bytes] & 0xc0) == 0x80;)
            bytes--;
    if (!error)
        error = send_message(s, FAIL, text, bytes);
    return error ? error : explain(s, ECANCELED, "%.*s", (int)bytes, text);
}

const char *syncopate_reason(const struct syncopate *s)
{
    return s->reason;
}

/* --- not asked ----------------------------------------------------------------------------- */

int syncopate_exec(int argc, char **argv)
{
    static char program[] = "syncopate", option[] = "--program";
    char **words = calloc((size_t)argc + 3, sizeof *words);
    char *command = malloc(4 * strlen(argv[0]) + 3), *end = command;
    if (words != NULL && command != NULL) {
        *end++ = '\''; /* For a shell. */
        for (const char *next = argv[0]; *next != '\0'; next++)
            end += sprintf(end, *next == '\'' ? "'\\%c'" : "%c", *next);
        strcpy(end, "'");
        memcpy(words, argv, (size_t)argc * sizeof *words);
        words[0] = program;
        if (argc > 1 && argv[1][0] != '-') { /* For a command; --help has none. */
            words[argc] = option;
            words[argc + 1] = command;
        }
        execvp(program, words);
    }
    int error = errno;
    free(words);
    free(command);
    return error;
}

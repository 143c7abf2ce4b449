/* syncopate.h - for programs whose gradients Syncopate asks for: libsyncopate.
 *
 * A program declares its variables and examples, and then answers questions: what is the gradient of the
 * loss over these examples, at these parameters? Order, sums, updates, scores and files belong to the
 * process that asks. example_softmax.c is a whole program; proto/PROGRAM.md is the protocol.
 *
 *     if (!syncopate_is_asked())
 *         return syncopate_exec(argc, argv);      ./net run --workers 2 becomes syncopate run ...
 *     syncopate_open(&s, &declaration, why, sizeof why);
 *     while ((error = syncopate_next(s, &work)) == 0 && work.kind != SYNCOPATE_ENDED) {
 *         ...                                     compute what work.kind says
 *         syncopate_done(s, loss, correct);
 *     }
 *     syncopate_close(&s);
 *
 * Results: 0, or an errno value; syncopate_reason has a line for it. EINVAL is a fault of the caller, and
 * changes nothing. After any other one, all calls for this object have the same result, except close.
 * Ownership: what goes in is copied; what comes out belongs to the object, until close.
 * Threads: one at a time for an object; open and is_asked use the environment of the process.
 * Processes: in a forked child next gives SYNCOPATE_ENDED, and other calls do nothing and give EPERM.
 * The library has no threads and no state of its own, and it neither handles signals, nor logs, nor
 * ends the process. */

#ifndef SYNCOPATE_H
#define SYNCOPATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct syncopate;

enum syncopate_initializer {
    SYNCOPATE_GIVEN, /* The program writes the values at SYNCOPATE_INITIAL. */
    SYNCOPATE_ZEROS,
    SYNCOPATE_GLOROT_UNIFORM /* By fan_in and fan_out. */
};

#define SYNCOPATE_RANK_MAX 8

/* Of float32, row-major. */
struct syncopate_variable {
    const char *name; /* Up to 127 bytes, each once. */
    uint32_t rank;
    uint64_t shape[SYNCOPATE_RANK_MAX]; /* [rank] */
    enum syncopate_initializer initializer;
    uint64_t fan_in, fan_out;
    double average; /* In (0, 1]: a running average with this rate; 0: trained. */
};

/* Zero, or NULL, where a program has nothing to say. */
struct syncopate_declaration {
    const char *name; /* Of the program: needed, up to 127 bytes. */
    const struct syncopate_variable *variables;
    uint32_t variable_count;
    uint64_t examples; /* Of the training set; 0: a stream, whose examples the program chooses. */
    uint64_t test_examples;  /* 0: no scores. */
    uint32_t score_piece;    /* Examples of the test set in one question; 0: 500. */
    int only_loss;           /* `correct` has no meaning. */
    const char *data;        /* Name of the data; NULL: the program's. */
    const char *data_digest; /* 64 hexadecimal digits that change when the data do. */
    const char
        *fingerprint; /* Changes when the bits of a gradient may: versions, digest of the source. */
    const char *options; /* JSON: {"optimizer": "adam"}, for what the command line leaves open. */
};

enum syncopate_kind {
    SYNCOPATE_ENDED,    /* The job is over: close, and exit with 0. */
    SYNCOPATE_INITIAL,  /* Write the initial values into the parameters. */
    SYNCOPATE_GRADIENT, /* Write the sum of the gradients of count examples into the gradient. */
    SYNCOPATE_SCORE     /* Loss and correct of the test examples [first, first + count). */
};

struct syncopate_work {
    enum syncopate_kind kind;
    int fresh;                /* The parameters are others than at the question before. */
    uint64_t seed;            /* GRADIENT, INITIAL: for every random generator that is used. */
    uint64_t batch, epoch;    /* GRADIENT: what is computed, for messages. */
    uint32_t leaf;            /* The same. */
    const uint32_t *examples; /* GRADIENT: [count] below the declared examples; NULL of a stream. */
    uint64_t first;           /* SCORE */
    uint64_t count;
    int exit_code; /* ENDED: of the job; -1: the asker is gone without a word. */
};

/* Whether the process was started to answer: SYNCOPATE_PROGRAM is in the environment. */
int syncopate_is_asked(void);

/* Become `syncopate ARGUMENTS --program argv[0]`, by PATH; without a command, `syncopate ARGUMENTS`.
 * Returns only when that fails. */
int syncopate_exec(int argc, char **argv);

/* Take SYNCOPATE_PROGRAM out of the environment, declare, and wait until the asker has laid out the memory, or
 * ends: then it only wanted the declaration, or refuses it. On failure *s is NULL, and why has the reason. */
int syncopate_open(struct syncopate **s, const struct syncopate_declaration *declaration, char *why,
                   size_t size);

/* Wait for the next question. Each needs done, or fail, before the next. */
int syncopate_next(struct syncopate *s, struct syncopate_work *work);

/* [elements of the variable], at the same place until close; after that of one variable, at a multiple of 64
 * bytes, comes the next. Parameters are written at INITIAL alone. The gradient is zero when it is asked for;
 * that of an average is count times the statistic of these examples. NULL: there is no such variable, or the
 * asker has ended before it laid out the memory. */
float *syncopate_parameters(struct syncopate *s, uint32_t variable);
float *syncopate_gradient(struct syncopate *s, uint32_t variable);

/* The gradient is final from this variable on, and no parameter from there on is read again. Optional; for
 * fewer variables from call to call. */
int syncopate_ready(struct syncopate *s, uint32_t variable);

/* The answer: sum of the losses, and how many are right; zeros for INITIAL. */
int syncopate_done(struct syncopate *s, double loss, uint64_t correct);

/* The program cannot go on. It should exit. */
int syncopate_fail(struct syncopate *s, const char *text);

/* Of the last failure, or what the asker said at the end; "" without. */
const char *syncopate_reason(const struct syncopate *s);

void syncopate_close(struct syncopate **s);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif

/* program.h - a program that computes gradients, as its asker sees it: questions and answers
 * (proto/PROGRAM.md), and restarts in place.
 *
 * A program that a signal ends, or that does not answer in time, is started again: it must declare the
 * same, and is asked the same question. So its asker sees an answer or an error, and nothing else.
 *
 * Errors: STATUS_PROGRAM, with the line for the person who wrote the program; STATUS_MEMORY and STATUS_IO
 * of this process. After an error nothing can be asked any more.
 * Ownership: a program owns its child and the memory that they share. Threads: one owner, that lives as
 * long as the process. */

#ifndef WORKER_SOURCE_PROGRAM_H
#define WORKER_SOURCE_PROGRAM_H

#include <stdint.h>

#include "common/base/status.h"
#include "worker/source/program_message.h"

struct program_options {
    const char *command;
    unsigned task;
    double start_seconds;  /* Until it has declared. */
    double answer_seconds; /* Until it has answered. */
    uint32_t restarts;     /* At most. */
    int socket,
        memory; /* Of a parent that answers (--program-fd): no command is started; 0: none. */
};

struct program;

/* Start it and take its declaration. */
enum status program_open(struct program **program, const struct program_options *options,
                         struct error *error);
/* The job has ended with this exit code. */
void program_close(struct program **program, int exit_code, const char *reason);

/* Its text, with a zero behind it. */
const char *program_declared_text(const struct program *program);
const struct program_declaration *program_declares(const struct program *program);

/* Share memory for so many elements of parameters and gradient, and numbers of examples. */
enum status program_share_memory(struct program *program, uint64_t elements, uint32_t examples_max,
                                 struct error *error);
float *program_parameters(const struct program *program);  /* [elements] */
float *program_gradient(const struct program *program);    /* [elements] */
uint32_t *program_examples(const struct program *program); /* [examples_max] */

struct program_question {
    enum program_kind kind;
    uint16_t flags;
    const void *body; /* [bytes] */
    uint32_t bytes;
    /* With PROGRAM_PARTS: the gradient is final from element `first` on, which falls. */
    void (*part)(void *context, uint64_t first);
    void *context;
};

enum status program_ask(struct program *program, const struct program_question *question,
                        struct program_done *done, struct error *error);

#endif

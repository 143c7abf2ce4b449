/* fuzz_program.c - what a program says to its asker (worker/source), and what lies in the memory of both: there is an end,
 * answers are sums of finite numbers, and gaps between variables are 0.
 *
 *     input: a word that fills the memory (8 bytes) | messages of the program, its declaration first */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "worker/source/source_program.h"

enum { LEAF_MAX = 8, SAID_MAX = 64 << 10, ELEMENTS_MAX = 1 << 14 };

/* The text of the declaration, jansson's values, variables of some hundred bytes for each name and shape; and two vectors of
 * the elements. */
const struct fuzz_bounds fuzz_bounds = {256u << 10, 256};

void fuzz_start(void)
{
}

struct asking {
    struct source *source;
    float *parameters, *gradient; /* [elements] */
    uint64_t told;
};

static void take_part(void *context, uint64_t first)
{
    struct asking *a = context;
    fuzz_must(first > 0 && first < a->told, "parts fall");
    a->told = first;
}

static void check_gaps(const struct source *source, const float *gradient)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < source->variable_count; i++) {
        uint64_t elements = variable_elements(&source->variables[i]);
        for (uint64_t gap = at + elements; gap < at + variable_room(elements); gap++)
            fuzz_must(gradient[gap] == 0, "gaps are 0");
        at += variable_room(elements);
    }
    fuzz_must(at == source->elements, "variables fill the memory");
}

/* Until it fails: every kind of question. */
static enum status ask(struct asking *a, struct error *error)
{
    static const uint32_t examples[LEAF_MAX];
    struct source *source = a->source;
    const struct ready ready = {take_part, a};
    const struct source_leaf leaf = {.count = LEAF_MAX, .examples = examples, .fresh = true};
    struct score score = {0};
    a->told = source->elements;
    enum status status = source->kind->initial(source, 7, a->parameters, error);
    if (status == STATUS_OK)
        status = source_gradient(source, a->parameters, &leaf, a->gradient, &score, &ready, error);
    if (status == STATUS_OK) {
        check_gaps(source, a->gradient);
        fuzz_must(score.examples == LEAF_MAX && score.correct <= LEAF_MAX, "scores are of a leaf");
        status = source_gradient(source, a->parameters, &leaf, a->gradient, &score, NULL, error);
    }
    if (status == STATUS_OK)
        status = source->kind->score(source, a->parameters, 0, 5, &score, error);
    return status;
}

static enum status ask_source(struct source *source, struct error *error)
{
    struct asking a = {.source = source};
    uint64_t elements = 0;
    for (uint32_t i = 0; i < source->variable_count; i++)
        elements += variable_room(variable_elements(&source->variables[i]));
    if (elements > ELEMENTS_MAX)
        return STATUS_OK;
    enum status status = source_prepare(source, LEAF_MAX, 0x1p-24, error);
    if (status != STATUS_OK)
        return status;
    a.parameters = aligned_alloc(64, source->elements * sizeof(float));
    a.gradient = aligned_alloc(64, source->elements * sizeof(float));
    fuzz_must(a.parameters != NULL && a.gradient != NULL, "there is memory");
    status = ask(&a, error);
    free(a.parameters);
    free(a.gradient);
    return status;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct source_options options = {.seed = 3};
    struct source *source;
    struct error error = {0};
    size_t got;
    int ends[2], memory = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fuzz_must(memory >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there is a socket");
    uint64_t word = fuzz_take(&input, 8);
    fuzz_must(pwrite(memory, &word, sizeof word, 0) == sizeof word, "memory is written");
    const uint8_t *said =
        fuzz_take_bytes(&input, input.left < SAID_MAX ? input.left : SAID_MAX, &got);
    fuzz_must(send(ends[1], said, got, 0) == (ssize_t)got, "the program speaks");
    shutdown(ends[1], SHUT_WR);
    options.program = (struct program_options){
        .start_seconds = 60, .answer_seconds = 60, .socket = ends[0], .memory = memory};
    enum status status = source_program_open(&source, &options, &error);
    if (status == STATUS_OK) {
        status = ask_source(source, &error);
        source_close(&source);
    }
    fuzz_must(status == STATUS_OK || error.text[0] != '\0', "a refusal says why");
    close(ends[1]);
}

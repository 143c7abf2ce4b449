/* fuzz_asker.c - what an asker says to a program, and what lies in the memory of both (worker/program): no
 * message leads out of the memory, and there is an end.
 *
 *     input: pages (1 byte) | examples (1) | a word that fills the memory (8) | messages */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "worker/program/syncopate.h"

enum { PAGE = 4096, PAGES_MAX = 8 };

/* The declaration, and the object with a reason of its own. */
const struct fuzz_bounds fuzz_bounds = {64u << 10, 0};

void fuzz_start(void)
{
}

static volatile float sum; /* Reads are not left out. */

static void touch(float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        sum = sum + values[i];
    values[count - 1] = 1;
}

/* Everything that a program may use. */
static int answer(struct syncopate *s, const struct syncopate_work *work, uint64_t examples)
{
    for (uint32_t i = 0; i < 2; i++) {
        touch(syncopate_parameters(s, i), 30);
        touch(syncopate_gradient(s, i), 30);
    }
    for (uint64_t i = 0; work->examples != NULL && i < work->count; i++)
        fuzz_must(work->examples[i] < examples, "examples are of those declared");
    if (work->kind == SYNCOPATE_SCORE)
        fuzz_must(work->first + work->count <= 10 && work->first <= 10,
                  "scores are of the test set");
    if (work->kind == SYNCOPATE_GRADIENT)
        syncopate_ready(s, 1);
    return syncopate_done(s, 1, 1);
}

static void make_memory(int memory, struct fuzz_input *input, unsigned pages)
{
    uint64_t words[PAGE / 8], word = fuzz_take(input, 8);
    for (size_t i = 0; i < PAGE / 8; i++)
        words[i] = word;
    fuzz_must(ftruncate(memory, pages * PAGE) == 0, "there is memory");
    for (unsigned i = 0; i < pages; i++)
        fuzz_must(pwrite(memory, words, PAGE, i * PAGE) == PAGE, "memory is written");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    static const struct syncopate_variable variables[] = {
        {.name = "a", .rank = 1, .shape = {30}}, {.name = "b", .rank = 2, .shape = {5, 6}}};
    struct fuzz_input input = {data, size};
    unsigned pages = (unsigned)fuzz_take(&input, 1) % PAGES_MAX;
    struct syncopate_declaration declaration = {.name = "fuzz",
                                                .variables = variables,
                                                .variable_count = 2,
                                                .examples = fuzz_take(&input, 1),
                                                .test_examples = 10};
    struct syncopate *s;
    struct syncopate_work work;
    char text[60], why[100];
    size_t got;
    int ends[2], memory = memfd_create("fuzz", 0);
    fuzz_must(memory >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there is a socket");
    make_memory(memory, &input, pages);
    const uint8_t *said = fuzz_take_bytes(&input, input.left < PAGE ? input.left : PAGE, &got);
    fuzz_must(send(ends[0], said, got, 0) == (ssize_t)got, "the asker speaks");
    shutdown(ends[0], SHUT_WR);
    snprintf(text, sizeof text, "1,%d,%d", ends[1], memory);
    setenv("SYNCOPATE_PROGRAM", text, 1);
    int error = syncopate_open(&s, &declaration, why, sizeof why);
    fuzz_must((error == 0) == (s != NULL) && (error == 0 || why[0] != '\0'), "a refusal says why");
    while (error == 0 && (error = syncopate_next(s, &work)) == 0 && work.kind != SYNCOPATE_ENDED)
        error = answer(s, &work, declaration.examples);
    fuzz_must(error == 0 || s == NULL || syncopate_reason(s)[0] != '\0', "an error has a reason");
    syncopate_close(&s);
    close(ends[0]);
}

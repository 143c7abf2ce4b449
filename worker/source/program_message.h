/* program_message.h - what a program and its asker say to each other (proto/PROGRAM.md, version 1), and
 * what a program declares.
 *
 * Reading is pure: bytes in, values or one line out. Nothing that a program says may break its asker.
 *
 * Units: native byte order; offsets in bytes, elements are float32. Ownership: a declaration owns its
 * arrays, program_declaration_free. Threads: plain values. */

#ifndef WORKER_SOURCE_PROGRAM_MESSAGE_H
#define WORKER_SOURCE_PROGRAM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/json.h"
#include "common/job/job.h"
#include "common/job/variable.h"

#define PROGRAM_VERSION     1
#define PROGRAM_DECLARE_MAX (16u << 20) /* Bytes. */
#define PROGRAM_TEXT_MAX    4096        /* Bytes of FAIL and END. */
#define PROGRAM_NAME_MAX    128         /* With the terminating zero. */

enum program_kind {
    PROGRAM_DECLARE = 1,
    PROGRAM_LAYOUT,
    PROGRAM_INITIAL,
    PROGRAM_COMPUTE,
    PROGRAM_SCORE,
    PROGRAM_PART,
    PROGRAM_DONE,
    PROGRAM_FAIL,
    PROGRAM_END,
};

enum program_flag { PROGRAM_FRESH = 1, PROGRAM_PARTS = 2 };

struct program_header {
    uint32_t bytes; /* Of the body. */
    uint16_t kind, flags;
    uint64_t serial;
};

struct program_layout {
    uint64_t bytes, parameters, gradient, examples, examples_max;
};

struct program_compute {
    uint64_t batch, epoch, seed;
    uint32_t leaf, count;
};

struct program_share {
    uint64_t first, count;
};

struct program_done {
    double loss;
    uint64_t correct;
};

struct program_declaration {
    char name[PROGRAM_NAME_MAX], data[256];
    struct variable *variables; /* [variable_count] */
    uint32_t variable_count;
    uint64_t examples, test_examples; /* examples 0: a stream. */
    uint32_t score_piece;
    enum scores scores;
    uint8_t data_digest[DIGEST_BYTES];
    uint8_t fingerprint[DIGEST_BYTES]; /* Of its text. */
    struct json *root;                 /* Of the whole text. */
    const struct json *options;        /* In root; NULL: none. */
};

/* Whether a program may send such a header now: an answer to question `serial`, or, with serial 0, its
 * declaration. STATUS_INVALID, with the broken rule. */
enum status program_header_check(const struct program_header *header, uint64_t serial, bool parts,
                                 struct error *error);

/* STATUS_INVALID, with the member that breaks a rule; STATUS_MEMORY. */
enum status program_declaration_read(struct program_declaration *declaration, const char *text,
                                     size_t bytes, struct error *error);
void program_declaration_free(struct program_declaration *declaration);

#endif

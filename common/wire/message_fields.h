/* message_fields.h - the one table of the messages' fields; its rows are in message_rows.inc.
 *
 * A row alone has a field's name, place and bounds. Everything else follows from the row:
 * encoding, decoding and its checks (message.h), the line of a message
 * (deploy/engine/message_line.h), and the examples of tests and fuzzers (tests/lib/specimens.h).
 *
 * Threads: constant. */

#ifndef COMMON_WIRE_MESSAGE_FIELDS_H
#define COMMON_WIRE_MESSAGE_FIELDS_H

#include "common/wire/message.h"

enum field_kind {
    FIELD_END,    /* Behind the last row of a message. */
    FIELD_FLAG,   /* bool */
    FIELD_U32,    /* uint32_t */
    FIELD_U64,    /* uint64_t */
    FIELD_I64,    /* int64_t */
    FIELD_ID,     /* uint64_t that is only compared. */
    FIELD_REAL,   /* double */
    FIELD_WORD,   /* An enum whose numbers have words. */
    FIELD_TEXT,   /* char[size], up to its zero. */
    FIELD_NAME,   /* The same, of a file: has no '/'. */
    FIELD_DIGEST, /* uint8_t[DIGEST_BYTES] */
    FIELD_SECRET, /* The same, not to be shown; zeros are not written. */
    FIELD_PAGE,   /* uint8_t[size], with as many bytes as the row above says: a U32, not written. */
    FIELD_REPORT, /* A message_report, if the row above says so: a FLAG, not written. */
};

struct message_field {
    const char *name;   /* For people. */
    const char *wire;   /* In syncopate.proto; NULL for a field that is not written by itself. */
    const char *member; /* In struct message: "exchange.node.first_leaf". */
    enum field_kind kind;
    uint32_t offset, size;         /* In struct message. */
    uint32_t wire_offset;          /* In the protocol's type; 0 without `wire`. */
    uint64_t least, most;          /* Of a number, or of a page's bytes. */
    const char *(*word)(unsigned); /* FIELD_WORD: of any number, known or not. */
};

/* A message's own rows, up to FIELD_END; of MESSAGE_NONE those that every message has, but
 * `kind`, `role` and `index`. */
const struct message_field *message_fields(enum message_kind kind);

/* Where the rows of MESSAGE_REPORT find the report of a FIELD_REPORT row: in the place of the
 * message. */
const void *message_field_report(const struct message_field *field, const void *message);

#endif

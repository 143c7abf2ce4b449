/* job_fields.h - the one table of the declaration; its rows are in job_rows.inc.
 *
 * A row alone has a field's name, place, bounds and effect. Everything else follows from the
 * row: job_check, job_compare, JSON (job_json.h), the wire (job_encode, which finds the field of
 * the protocol's Job under the row's name), the digest, and where the row is a JOB_OPTION the
 * option with its bounds, default and help.
 *
 * Threads: constant. */

#ifndef COMMON_JOB_JOB_FIELDS_H
#define COMMON_JOB_JOB_FIELDS_H

#include <stddef.h>

#include "common/job/job.h"

enum job_kind {
    JOB_FLAG,      /* bool */
    JOB_U32,       /* uint32_t */
    JOB_U64,       /* uint64_t */
    JOB_BYTES,     /* uint64_t, for people a size. */
    JOB_FLOAT,     /* float */
    JOB_FRACTION,  /* float below `most`. */
    JOB_REAL,      /* double */
    JOB_RATE,      /* double above 0. */
    JOB_WORD,      /* An enum whose numbers have words. */
    JOB_NAME,      /* char[OPTIMIZER_NAME_MAX] of the optimizer. */
    JOB_TEXT,      /* char[size], any printable text. */
    JOB_DIGEST,    /* uint8_t[DIGEST_BYTES] */
    JOB_VARIABLES, /* The list of variables, with its count. */
    JOB_SERVERS,   /* The list of servers, with its count. */
};

/* The effect of a field, and other facts. */
enum {
    JOB_DECIDES = 1, /* It decides results: the same for members that join or resume. */
    JOB_SPREAD = 2,  /* It decides the spreading and the length: the same for members that join. */
    JOB_LABEL = 4,   /* For people alone, and may differ. */
    JOB_WHEN_READ = 8,   /* Not to be compared in JOB_SCOPE_UNREAD. */
    JOB_OR_ZERO = 16,    /* 0 may stand for "choose", beside what is within the bounds. */
    JOB_UNSET_ZERO = 32, /* 0 where it has no use; as an option that is out of bounds. */
    /* Younger than the formats: left out of JSON when 0 (a text: empty), and 0 when it is
     * missing. So older checkpoints are read, and older programs read what they know. */
    JOB_LATER = 64,
};

#define JOB_ANY_NUMBER 18446744073709551616.0 /* 2^64: no bound of its own. */

struct job_field {
    /* In struct job and in JSON: "schedule.kind" is in the object "schedule". */
    const char *member;
    const char *wire;  /* In the protocol's Job. */
    const char *words; /* For people. */
    enum job_kind kind;
    unsigned flags;
    double least, most;              /* Of a number, or of a list's entries. */
    const char *(*word)(unsigned i); /* JOB_WORD: of number i; NULL from the first there is not. */
    size_t offset, size;             /* In struct job. */
};

extern const struct job_field job_fields[];
extern const size_t job_field_count;

/* The row of an existing member. */
const struct job_field *job_field_find(const char *member);

/* The field's place in a job. */
const void *job_field_at(const struct job_field *field, const struct job *job);
void *job_field_in(const struct job_field *field, struct job *job);

/* The field's name within its JSON object, and how many letters of `member` name that object; 0
 * for a member of the declaration itself. */
const char *job_field_name(const struct job_field *field, size_t *object_length);

/* Numbers only, flags and words among them: a double or, exactly, a uint64_t. */
double job_field_real(const struct job_field *field, const struct job *job);
uint64_t job_field_whole(const struct job_field *field, const struct job *job);
bool job_field_is_real(const struct job_field *field);  /* Has digits behind the point. */
bool job_field_is_whole(const struct job_field *field); /* U32, U64, BYTES, FLAG, WORD. */
/* A number that is 0 (-0 is not), an empty text, or a digest of zeros. */
bool job_field_is_zero(const struct job_field *field, const struct job *job);
/* The value fits the kind. */
void job_field_set_whole(const struct job_field *field, struct job *job, uint64_t value);

/* The number of a word; STATUS_NOT_FOUND. */
enum status job_field_number(const struct job_field *field, const char *word, uint64_t *number);

/* All fields whose member begins so: "" for every one, "schedule." for the schedule's. */
enum status job_fields_check(const struct job *job, const char *prefix, struct error *error);

#endif

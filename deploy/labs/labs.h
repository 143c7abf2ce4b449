/* labs.h - exercises with a check: `syncopate lab`.
 *
 * A lab is a page of text, which is within the program, and a function that checks a
 * student's answers. Answers are one JSON file, with a member for each lab:
 *
 *     {"name": "ada", "2": {"mean_4": 2.99, "explain": "..."}}
 *
 * The seed of a student follows from the name. Checks compute in virtual time, so a verdict is the
 * same on every machine. A check asks for each answer by name, with one of the functions below; each
 * prints a line, which never contains the right answer.
 *
 * To add lab N: its text, check_N in a file of its own, its number in LABS of labs.c, and its folder in
 * solutions.
 *
 * Threads: one. */

#ifndef DEPLOY_LABS_LABS_H
#define DEPLOY_LABS_LABS_H

#include <inttypes.h>

#include "common/base/status.h"
#include "common/file/json.h"
#include "common/progress/record.h"

struct lab_check {
    uint64_t seed;              /* Of the student: 1 to 9999. */
    const char *folder;         /* With the answers, and the files of the lab beside them. */
    const struct json *answers; /* Of this lab; NULL: none. */
    char policy[80];            /* --policy of lab_simulate; "": none. */
    const char *said;           /* The file of what policies say on standard error. */
    /* Of the last lab_simulate in async: factors of the learning rate that were applied. */
    struct lab_rates {
        unsigned count;
        double mean, least, most; /* 0 where the count is. */
    } rates;
    unsigned right, asked;
    bool failed; /* A command of the check failed, and said why. */
};

typedef void lab_check_fn(struct lab_check *check);
lab_check_fn check_0, check_1, check_2, check_3, check_4, check_5, check_6, check_7, check_8,
    check_9;

/* Where a text says WORKERS: 2 to 4. */
uint32_t lab_workers(uint64_t seed);
/* Where it says RATE: 80 to 200. */
uint32_t lab_rate(uint64_t seed);

/* A guess made before the run: any number is right, and is shown beside what was found. */
void lab_predicted(struct lab_check *check, const char *name, double found);

/* Within this part of the value: 0 is exact. */
void lab_number(struct lab_check *check, const char *name, double value, double tolerance);
void lab_word(struct lab_check *check, const char *name, const char *word);

/* Some words of their own, which a teacher reads. */
void lab_explained(struct lab_check *check, const char *name);

/* What is found out otherwise; `why` says to a student what is wrong. */
void lab_judge(struct lab_check *check, const char *name, bool right, const char *why);

/* lab_simulate runs under this policy of the student from here on, in Python, beside the answers.
 * False: it is not there; a line says so, and `checks` of it have not passed. */
bool lab_policy(struct lab_check *check, const char *file, unsigned checks);

/* Whether all runs so far came to their end, now with this policy; if not, as above. */
bool lab_ended(struct lab_check *check, const char *file, unsigned checks);

/* `syncopate verify` of so many histories of a mode, from the student's seed on; failing ones are
 * printed. */
bool lab_verify(const struct lab_check *check, const char *mode, unsigned histories);

/* `syncopate simulate WORDS --quiet --out ...` in a folder of its own, which is removed, and its
 * result. words: a format, parted by single blanks. On failure the record is empty, and failed is
 * set. The caller frees the record. */
__attribute__((format(printf, 3, 4))) void
lab_simulate(struct lab_check *check, struct record *record, const char *words, ...);

#endif

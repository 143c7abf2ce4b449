/* policy_child.h - a policy (ps/work/policy.h) that a child process makes: --policy of simulate and
 * replay.
 *
 * A question is a line of JSON on its standard input, the answer a line on its standard output:
 *
 *     {"gradient":{"worker":1,"base":5,"now":6,"step":7,"leaf":0,"leaves":4,"of":4},"held":2}
 *         {"do": "apply", "rate": 0.5} | hold | ignore | again | close
 *     {"asks":3,"held":1,"clocks":[4,null,6]}
 *         {"do": "give"} | wait
 *
 * It has 1 s a question, and 10 s for the first. The run ends with EXIT_PROGRAM when it answers
 * late, with something else or not at all, or lets nothing go on for 2 minutes of virtual time or
 * 10,000 questions.
 *
 * Threads: the engine's. Ownership: borrows engine and command. */

#ifndef DEPLOY_SIMULATE_POLICY_CHILD_H
#define DEPLOY_SIMULATE_POLICY_CHILD_H

#include "deploy/engine/engine.h"
#include "ps/work/policy.h"
#include "worker/source/program_child.h"

#define POLICY_LINE_MAX 4096 /* Of an answer. */

struct policy_child {
    struct policy policy; /* For the cores. */
    struct program_child child;
    struct engine *engine; /* NULL: of a record. */
    const struct job *job;
    uint64_t asked;           /* Questions. */
    uint64_t moved, moved_us; /* The question and the time when it last let something go on. */
    bool failed;
    struct error why; /* It failed. */
    char text[POLICY_LINE_MAX];
    void *judged; /* What it has said of gradients with a name (tsearch). Owned. */
};

/* engine: of the job, which has not begun; NULL: a record is replayed. */
enum status policy_child_start(struct policy_child *child, const char *command,
                               struct engine *engine, const struct job *job, struct error *error);
/* Now and then: ends the run when nothing moves. */
void policy_child_look(struct policy_child *child);
/* Also of a zeroed one. */
void policy_child_end(struct policy_child *child);

#endif

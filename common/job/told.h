/* told.h - what people are told of one thing that is done, and which function does it.
 *
 *     {"keeps it until its siblings of the step's tree are here", "ps/mode/sync.c sync_take"}
 *
 * For `syncopate run --explain` (deploy/explain). What is different in each mode is told by the rooms
 * of the modes, beside what is done there; `{step}` and the like in a text stand for what the moment
 * says (deploy/explain/words.h). tests/processes/explain.sh looks that the functions are where they
 * are said to be.
 *
 * Threads: constants. */

#ifndef COMMON_JOB_TOLD_H
#define COMMON_JOB_TOLD_H

struct told {
    const char *text;
    const char *source; /* "file function" */
};

#endif

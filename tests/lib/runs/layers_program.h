/* layers_program.h - tests/programs/layers for commands of a shell: $LAYERS is its path, and $MARK that of a file which is
 * not there (--once $MARK), in the directory of the test (scratch.h).
 *
 * Threads: one. */

#ifndef TESTS_LIB_RUNS_LAYERS_PROGRAM_H
#define TESTS_LIB_RUNS_LAYERS_PROGRAM_H

void layers_program_name(void);

#endif

/* sample_job.h - a small declaration with odd sizes and numbers, for tests of what keeps jobs.
 *
 * Threads: one. */

#ifndef TESTS_LIB_SAMPLE_JOB_H
#define TESTS_LIB_SAMPLE_JOB_H

#include "common/job/job.h"

/* Three variables, two servers, adam; passes job_check. The caller frees it. */
struct job sample_job(void);

#endif

/* job_json.h - a job's declaration as a JSON object, for manifests and run.json.
 *
 * Every field is there and reads back equal, floats to the bit.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_JOB_JSON_H
#define COMMON_JOB_JOB_JSON_H

#include "common/base/status.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/job/job.h"

void job_write_json(struct json_writer *writer, const char *name, const struct job *job);

/* Strictly every field and no other, checked by job_check; `where` opens the error line. On failure
 * the job is empty. */
enum status job_read_json(struct job *job, const struct json *object, const char *where,
                          struct error *error);

#endif

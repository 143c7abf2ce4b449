/* job_status.h - what server 0 says of its job, for people and for programs.
 *
 *     state: running                              {"kind": "job", "state": "running", ...}
 *     step: 1,234 of 2,814 (epoch 1.3 of 3)
 *     ...
 *
 * Of a server without a job nothing is told but that it waits for one, and in JSON the members that
 * are about a job are null. What each figure is of is said beside it; deploy/RUNS.md has the
 * members.
 *
 * Threads: pure. */

#ifndef DEPLOY_INSPECT_JOB_STATUS_H
#define DEPLOY_INSPECT_JOB_STATUS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/file/json_writer.h"
#include "common/wire/message.h"

#define JOB_STATUS_LINE_MAX 512

/* A line for each fact. */
void job_status_print(FILE *out, const struct message_status_answer *status);

/* All in one: "running  epoch 1.3 of 3  step 1,234 of 2,814  loss 0.312 ..."; from JOB_FINISHING on
 * how the job has ended. */
void job_status_line(const struct message_status_answer *status, char text[JOB_STATUS_LINE_MAX]);

/* One object. address: as it was asked for. */
void job_status_json(struct json_writer *writer, const char *address,
                     const struct message_status_answer *status);

/* Whether the job has ended, for better or worse. */
bool job_status_has_ended(const struct message_status_answer *status);

#endif

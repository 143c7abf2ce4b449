/* job_status.h - the job's status from server 0, for people and for programs.
 *
 *     state: running                              {"kind": "job", "state": "running", ...}
 *     step: 1,234 of 2,814 (epoch 1.3 of 3)
 *     ...
 *
 * A server without a job only shows that it waits for one, and the JSON members about the job are
 * null. Each figure is printed with its scope; deploy/RUNS.md has the members.
 *
 * Threads: pure. */

#ifndef DEPLOY_INSPECT_JOB_STATUS_H
#define DEPLOY_INSPECT_JOB_STATUS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/file/json_writer.h"
#include "common/wire/message.h"

#define JOB_STATUS_LINE_MAX 512

void job_status_print(FILE *out, const struct message_status_answer *status);

/* All in one line: "running  epoch 1.3 of 3  step 1,234 of 2,814  loss 0.312 ..."; from
 * JOB_FINISHING on the way the job ended. */
void job_status_line(const struct message_status_answer *status, char text[JOB_STATUS_LINE_MAX]);

/* One object. address: as given by the user. */
void job_status_json(struct json_writer *writer, const char *address,
                     const struct message_status_answer *status);

/* Whether the job has ended, well or not. */
bool job_status_has_ended(const struct message_status_answer *status);

#endif

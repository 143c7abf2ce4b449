/* teaching.h - what a teacher does from the page to a job's processes (run --teach): kill one, stop it
 * for five seconds, give it a quarter of the time.
 *
 *     HTTP server --teaching_ask--> pipe --teaching_take, teaching_turn--> the launcher, which owns them
 *
 * A restart ends the last two. The kernel continues what is stopped when the launcher dies: its process
 * group is orphaned then.
 *
 * Threads: teaching_ask any, the others the launcher's. */

#ifndef DEPLOY_LAUNCHER_TEACHING_H
#define DEPLOY_LAUNCHER_TEACHING_H

#include <stdbool.h>
#include <stdint.h>

#include "deploy/launcher/process_group.h"

#define TEACHING_STOP_SECONDS 5.0
#define TEACHING_TEXT_MAX     96

struct teaching {
    int orders[2]; /* A pipe, which holds few. */
    uint32_t servers, workers;
};

/* STATUS_IO, with a line. */
enum status teaching_open(struct teaching *teaching, const struct options *options,
                          struct error *error);
void teaching_close(struct teaching *teaching);

/* path: "/teach/kill/worker/2", or stop, slow or free (at full speed again), ps/0. The code of an answer over
 * HTTP: 200 with what is done, in words, 404 without, 503 when too many are under way. */
unsigned teaching_ask(const struct teaching *teaching, const char *path,
                      char text[TEACHING_TEXT_MAX]);

/* Do what was asked for next, and say it; false: there is nothing. */
bool teaching_take(const struct teaching *teaching, struct process_group *group, double now,
                   char text[TEACHING_TEXT_MAX]);
/* Stop and continue what is due. ends: the job does, and nothing stays stopped. */
void teaching_turn(struct process_group *group, bool ends, double now);
/* When that is due again; INFINITY: never. */
double teaching_due(const struct process_group *group, double now);

#endif

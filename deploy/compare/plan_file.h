/* plan_file.h - a plan in JSON: the input of --plan, and OUT/plan.json. By the latter the same
 * command, or one with more configurations or seeds, resumes a comparison.
 *
 *     {"format": "syncopate-plan-2",
 *      "about": "a line for people",
 *      "options": {"data": "synthetic", "epochs": 3, "seeds": 5},
 *      "vary": [{"mode": ["sync", "async"]}, {"workers": [1, 2, 4], "ps": [1, 1, 2]}],
 *      "arms": {"slow-start": {"mode": "async", "learning-rate": 0.01, "warmup-steps": 100}}}
 *
 * deploy/COMPARING.md defines the members. Only `format` is required. Values are texts as on a
 * command line, numbers, or true and false. An unknown member, a wrong type or a value out of range
 * is refused in one line with the file, its line and the path of the member.
 *
 * A written file has all given options, from command, plan or environment.
 *
 * Threads: plain values. Errors: as disk.h, and STATUS_INVALID, STATUS_MEMORY. */

#ifndef DEPLOY_COMPARE_PLAN_FILE_H
#define DEPLOY_COMPARE_PLAN_FILE_H

#include "common/file/disk.h"
#include "common/file/json_writer.h"
#include "deploy/compare/plan.h"

#define PLAN_FORMAT         "syncopate-plan-2"
#define PLAN_FILE           "plan.json"
#define PLAN_FILE_BYTES_MAX 262144

/* `name` is for errors, a path. Call plan_free in any case. */
enum status plan_read(struct plan *plan, const char *text, size_t bytes, const char *path,
                      struct error *error);
enum status plan_read_file(struct plan *plan, const struct disk *disk, const char *path,
                           struct error *error);

void plan_write(const struct plan *plan, struct json_writer *writer);
enum status plan_write_file(const struct plan *plan, const struct disk *disk, const char *folder,
                            struct error *error);

/* Whether a comparison with this plan resumes the one in a folder: shared options with an effect on
 * the result are equal, and so is each configuration that both have named. STATUS_NOT_FOUND: there
 * is no such file; STATUS_MISMATCH: error names the first difference. */
enum status plan_check(const struct plan *plan, const struct disk *disk, const char *folder,
                       struct error *error);

#endif

/* table.h - the numbers of a comparison, a row for each group, for people and for programs.
 *
 * With several seeds a cell is the mean, and from three on with the sample standard deviation,
 * "90.9 +- 0.4", unless it rounds to 0. Numbers that were not recorded are "-", and null in JSON,
 * as is a deviation of fewer runs.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_TABLE_H
#define DEPLOY_REPORT_TABLE_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"
#include "deploy/conclusion/conclusion.h"

/* Plain text, aligned. Updates and examples an update that are equal in all rows are in a line above,
 * which keeps the table narrow. */
void table_write_text(FILE *stream, const struct comparison *comparison);

/* The failed runs with their reasons, a line each, and the number of runs to come. Nothing when all
 * runs are done without failure. */
void table_write_missing(FILE *stream, const struct comparison *comparison);

/* The meaning of the columns, one "name: meaning" for each index; NULL when there are no more. */
const char *table_note(size_t index);

/* Number `index` of a run, and its name in JSON; false when there are no more. */
bool table_number(size_t index, const char **name, record_number_fn **number);

/* The whole comparison as JSON text, malloc'd; NULL when memory ran out. `command` is what was run.
 *
 *     {"format": "syncopate-comparison-2", "command": "...", "runs_planned": 12, "runs_done": 4,
 *      "virtual": null | "...",                     of seconds in virtual time: the cluster whose they are
 *      "failed": [{"run": "sync-w1-s1", "arm": "sync-w1", "seed": 1, "exit_code": 5, "reason": "..."}],
 *      "remark": "...", "same_bits": true | false | null,
 *      "answer": ["...", ...],                                          the sentences
 *      "notes": ["...", ...],                                           see notes.h
 *      "target": {"kind": "loss" | "accuracy" | null, "value", "asked_for", "start", "window",
 *                 "ladder": [..]},                     "value" first; see target.h
 *      "reference": "sync-w1", "margin": 0.5,
 *      "groups": [{"arm": "sync-w2", "mode", "workers", "label", "varied": "learning-rate 0.1",
 *                  "given": "--mode async --ps 2" of an arm that was named, else "",
 *                  "options": "--max-staleness 2", "seeds": [..], "runs": ["sync-w1-s1", ..],
 *                  "noisy": of these those that are so (notes.h),
 *                  "batches": {"mean", "deviation"}, and so every number that table_number has,
 *                  "update": {"computations", "examples"},
 *                  "time": [{"computing", "exchanging", ...}, ..],           time_kinds.h
 *                  "staleness": {"sum", "renewed", "expected", "apart": of all its runs how far
 *                                "sum" + "renewed" is from "expected", "histogram": [..]},
 *                  "to_target": {"runs", "reached",
 *                      "seconds": {"mean", "deviation", "low", "high", "level", "count", "median", "olympic"},
 *                      "each": [seconds of every run],
 *                      "batches", "updates", "examples", "worker_seconds", "exchanged_bytes": {..},
 *                      "ladder": [{"reached", "came_back", "ended_short", "diverged", "unknown": runs,
 *                                  "median": seconds, "time": {..} beside the reference}]},
 *                  "beside_reference": null in itself, else
 *                      {"time": {"value", "deviation", "low", "high", "level", "count"},
 *                       "work", "pace", "cost": {..},
 *                       "word": "alike" | "sooner" | "later" | "not told apart" | "never" | null,
 *                       "p": by Holm, "visible",
 *                       "speed_up", "hardware_efficiency", "statistical_efficiency",
 *                       "accuracy_points": {..}, "accuracy_parity": "equal" | "below" | "above" |
 *                       "open" | null, "train_loss": {..}, "unequal_work"}}]}
 *
 * conclusion.h defines these; a deviation of a ratio is that of its logarithms. An infinite number,
 * of a run that did not reach the target, is "inf". */
char *table_json(const struct conclusion *conclusion, const char *command);
/* Its members, into an open object. */
void table_write_json(struct json_writer *writer, const struct conclusion *conclusion,
                      const char *command);

#endif

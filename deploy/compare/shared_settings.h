/* shared_settings.h - whether the runs of two comparisons may stand beside each other, and what of them is the
 * same.
 *
 * Options are to be the same, whether given or left at their default, but for those in which arms of either
 * differ; those that decide nothing of what comes out (how many checkpoints are kept, deadlines, what is
 * printed) may be others. What the runs themselves say has to agree as well: examples and their digest (for
 * the same seed, where the seed makes them), the model, the batch where all have one, virtual or real
 * seconds, the cluster of virtual ones, the machine of real ones, as far as it is known.
 *
 * Threads: plain values. */

#ifndef DEPLOY_COMPARE_SHARED_SETTINGS_H
#define DEPLOY_COMPARE_SHARED_SETTINGS_H

#include "deploy/compare/source.h"

/* STATUS_MISMATCH: error names each difference, with the value of either side. */
enum status shared_settings_check(const struct source *a, const struct source *b,
                                  struct error *error);

/* Whether a run that both have is the same in both: declared alike, and with the same bits.
 * STATUS_MISMATCH: error names the run and what differs. */
enum status shared_settings_same_run(const struct source_run *a, const struct source_run *b,
                                     struct error *error);

/* Whether arms of either are told apart by this option. */
bool shared_settings_varies(const struct source *a, const struct source *b,
                            const struct option_row *row);

/* The value that runs have: what was given, or the default; NULL: there is none of either. */
const char *shared_settings_value(const struct settings *settings, const struct option_row *row);

#endif

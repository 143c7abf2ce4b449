/* shared_settings.h - whether the runs of two comparisons may be compared, and which settings they
 * share.
 *
 * Options have to be equal, whether given or default, except those in which configurations of
 * either differ. Options without an effect on the result (number of kept checkpoints, deadlines,
 * output) may differ. The runs' records have to agree as well: examples and their digest (for the
 * same seed, where the seed makes them), the model, and the batch where all have one. So do virtual
 * or real seconds, the cluster of virtual ones, and the machine of real ones, as far as it is
 * known.
 *
 * Threads: plain values. */

#ifndef DEPLOY_COMPARE_SHARED_SETTINGS_H
#define DEPLOY_COMPARE_SHARED_SETTINGS_H

#include "deploy/compare/source.h"

/* STATUS_MISMATCH: error names each difference, with both values. */
enum status shared_settings_check(const struct source *a, const struct source *b,
                                  struct error *error);

/* Whether a run that both have is equal in both: the same declaration and the same bits.
 * STATUS_MISMATCH: error names the run and the difference. */
enum status shared_settings_same_run(const struct source_run *a, const struct source_run *b,
                                     struct error *error);

/* Whether configurations of either differ in this option. */
bool shared_settings_varies(const struct source *a, const struct source *b,
                            const struct option_row *row);

/* The value of the runs: given, or the default; NULL without either. */
const char *shared_settings_value(const struct settings *settings, const struct option_row *row);

#endif

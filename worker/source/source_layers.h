/* source_layers.h - a source that computes by our own layers (model.h) on our own data (dataset.h).
 *
 * Threads, ownership, errors: as source.h. */

#ifndef WORKER_SOURCE_SOURCE_LAYERS_H
#define WORKER_SOURCE_SOURCE_LAYERS_H

#include "worker/source/source.h"

enum status source_layers_open(struct source **source, const struct source_options *options,
                               struct error *error);

#endif

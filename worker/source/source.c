/* source.c - chooses the kind of source that the options ask for. */

#include "worker/source/source.h"

#include "worker/source/source_layers.h"

struct source_options source_options_of(const struct options *options)
{
    return (struct source_options){
        .model = options->model,
        .data = options->data,
        .seed = options->job.seed,
        .data_fd = (int)options->data_fd,
    };
}

enum status source_open(struct source **source, const struct source_options *options,
                        struct error *error)
{
    return source_layers_open(source, options, error);
}

void source_close(struct source **source)
{
    if (*source != NULL)
        (*source)->kind->close(*source);
    *source = NULL;
}

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

enum status source_score(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error)
{
    enum status status = STATUS_OK;
    uint64_t piece = source->score_piece > 0 ? source->score_piece : count;
    for (uint64_t done = 0; done < count && status == STATUS_OK; done += piece)
        status = source->kind->score(source, parameters, first + done,
                                     piece < count - done ? piece : count - done, score, error);
    return status;
}

void source_close(struct source **source)
{
    if (*source != NULL)
        (*source)->kind->close(*source);
    *source = NULL;
}

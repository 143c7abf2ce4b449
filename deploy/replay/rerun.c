/* rerun.c - connects the run's record, the replay and the workers' gradients. */

#include "deploy/replay/rerun.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/job/job_score.h"
#include "common/job/l2.h"
#include "common/job/tree.h"
#include "common/kernels/kernels.h"

static enum status compute(void *context, const float *parameters, const struct step_shape *shape,
                           float *gradient, struct tally *tally, struct error *error)
{
    struct rerun *rerun = context;
    struct score score = {0};
    struct node root = tree_root(shape->batch.leaves);
    enum status status = node_gradient_compute(&rerun->gradient, parameters, shape, root, gradient,
                                               &score, NULL, error);
    *tally = (struct tally){score.loss, score.correct, score.examples, 1};
    return status;
}

static enum status evaluate(void *context, uint64_t batches, const float *parameters,
                            struct error *error)
{
    struct rerun *rerun = context;
    struct score score = {0};
    struct rerun_score *scores =
        array_room(rerun->scores, rerun->score_count, &rerun->score_capacity, sizeof *scores);
    if (scores == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a score");
    double began = clock_now_seconds();
    enum status status = node_gradient_evaluate(&rerun->gradient, parameters, 1, 0, &score, error);
    rerun->score_seconds += clock_now_seconds() - began;
    if (status != STATUS_OK)
        return status;
    rerun->scores = scores;
    rerun->scores[rerun->score_count++] = (struct rerun_score){
        .batches = batches,
        .test = {.loss = job_mean_loss(&rerun->job, score.loss, score.examples),
                 .accuracy = job_accuracy(&rerun->job, score.correct, score.examples),
                 .regularisation = l2_loss(&rerun->job, parameters)},
    };
    return STATUS_OK;
}

/* --- creation --------------------------------------------------------------------------------- */

static enum status choose_instructions(const struct rerun *rerun, struct error *error)
{
    bool plain = kernels_instructions() == KERNELS_PLAIN;
    if (plain && !rerun->recorded->plain)
        return error_set(error, STATUS_MISMATCH,
                         "%s: its gradients were made with fused products (AVX2 or AVX-512), and "
                         "this processor, or --instructions plain, has none",
                         rerun->recorded->files[0].name);
    if (rerun->recorded->plain)
        kernels_limit(KERNELS_PLAIN);
    return STATUS_OK;
}

static enum status open_source(struct rerun *rerun, const struct source_options *options,
                               struct error *error)
{
    struct error why = {0};
    const struct job *job = &rerun->job;
    enum status status = source_open(&rerun->source, options, &why);
    if (status == STATUS_PROGRAM)
        return error_set(error, status, "--program: %.480s", why.text);
    if (status != STATUS_OK)
        return error_set(error, status, "%.350s; --data says where the run's data are here",
                         why.text);
    const struct source *source = rerun->source;
    if (source->answers && strcmp(source->model, job->model) != 0)
        return error_set(error, STATUS_MISMATCH,
                         "--program is \"%.200s\", and the run's \"%.200s\"", source->model,
                         job->model);
    if (source->examples == 0)
        return error_set(error, STATUS_MISMATCH,
                         "%.300s: its examples were a stream, which cannot be given again",
                         rerun->recorded->files[0].name);
    if (memcmp(source->digest, job->data_digest, DIGEST_BYTES) != 0)
        return error_set(error, STATUS_MISMATCH, "%.200s differs from the run's training data%s",
                         source->data, source->answers ? "" : "; --data gives their path here");
    return source_prepare(rerun->source, job->micro_batch, job_loss_unit(job), error);
}

static enum status make_gradient(struct rerun *rerun, struct error *error)
{
    enum status status = node_gradient_init(&rerun->gradient, &rerun->job, rerun->source);
    rerun->has_gradient = status == STATUS_OK;
    return status == STATUS_OK ? status : error_set(error, status, "out of memory");
}

enum status rerun_open(struct rerun *rerun, const struct recorded *recorded, const struct job *job,
                       const struct source_options *options, uint64_t until, struct error *error)
{
    memset(rerun, 0, sizeof *rerun);
    rerun->recorded = recorded;
    const struct replay_calls calls = {rerun, compute, evaluate};
    if (job_copy(&rerun->job, job) != STATUS_OK)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = choose_instructions(rerun, error);
    if (status == STATUS_OK)
        status = open_source(rerun, options, error);
    if (status == STATUS_OK)
        status = make_gradient(rerun, error);
    if (status == STATUS_OK)
        status = replay_create(&rerun->replay, &rerun->job, until, &calls, error);
    if (status == STATUS_OK) {
        replay_give(rerun->replay, recorded->initial);
        replay_count_from(rerun->replay, recorded->record.summary.counted_from);
    }
    return status;
}

void rerun_close(struct rerun *rerun)
{
    replay_destroy(&rerun->replay);
    included_free(&rerun->included);
    if (rerun->has_gradient)
        node_gradient_free(&rerun->gradient);
    source_close(&rerun->source);
    job_free(&rerun->job);
    free(rerun->scores);
    memset(rerun, 0, sizeof *rerun);
}

/* --- going through it ---------------------------------------------------------------------- */

/* Only the first violation is kept. */
static enum status check_mode_invariants(struct rerun *rerun, struct error *broken)
{
    if (broken->text[0] != '\0' || !job_mode(&rerun->job)->bounds)
        return STATUS_OK;
    enum status status =
        included_interval(&rerun->included, &replay_reader(rerun->replay)->interval, broken);
    return status == STATUS_MEMORY ? status : STATUS_OK;
}

static struct rerun_segment describe(const struct rerun *rerun)
{
    const struct run_record_segment *s = &replay_reader(rerun->replay)->segment;
    const struct replay_figures *f = replay_figures(rerun->replay);
    struct rerun_segment segment = {.session = s->session,
                                    .workers = s->worker_count,
                                    .servers = s->server_count,
                                    .chunks = s->chunk_count};
    segment.from = segment.to =
        (struct run_record_snapshot){s->batches, s->version, s->computation};
    segment.computations = f->computations;
    segment.entries = f->entries;
    segment.torn = f->torn;
    return segment;
}

static void tell_segment(const struct rerun *rerun, struct rerun_segment segment,
                         const struct rerun_listener *listener)
{
    const struct replay_figures *f = replay_figures(rerun->replay);
    segment.to = replay_reader(rerun->replay)->interval.to;
    if (replay_is_over(rerun->replay))
        segment.to = (struct run_record_snapshot){
            replay_batches(rerun->replay), replay_version(rerun->replay), segment.to.computation};
    segment.computations = f->computations - segment.computations;
    segment.entries = f->entries - segment.entries;
    segment.torn = f->torn - segment.torn;
    listener->segment(listener->context, &segment);
}

static void tell_scores(const struct rerun *rerun, size_t *reported,
                        const struct rerun_listener *listener)
{
    for (; *reported < rerun->score_count; ++*reported)
        if (listener->score != NULL)
            listener->score(listener->context, &rerun->scores[*reported]);
}

static enum status go_through(struct rerun *rerun, const struct recorded_file *file,
                              const struct rerun_listener *listener, struct error *broken,
                              struct error *error)
{
    size_t reported = rerun->score_count;
    enum status status = replay_begin(rerun->replay, file->name, file->bytes, file->count, error);
    struct rerun_segment segment = describe(rerun);
    if (status == STATUS_OK)
        included_begin(&rerun->included, rerun->job.staleness_bound, segment.chunks);
    while (status == STATUS_OK) {
        status = replay_next(rerun->replay, error);
        if (status == STATUS_OK)
            status = check_mode_invariants(rerun, broken);
        tell_scores(rerun, &reported, listener);
    }
    if (status != STATUS_NOT_FOUND)
        return status;
    tell_segment(rerun, segment, listener);
    return STATUS_OK;
}

enum status rerun_go(struct rerun *rerun, const struct rerun_listener *listener,
                     struct error *error)
{
    struct error broken = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < rerun->recorded->file_count && status == STATUS_OK; i++)
        if (i == 0 || !replay_is_over(rerun->replay))
            status = go_through(rerun, &rerun->recorded->files[i], listener, &broken, error);
    if (status != STATUS_OK || broken.text[0] == '\0')
        return status;
    return error_set(error, STATUS_MISMATCH, "%s", broken.text);
}

double rerun_loss(const struct rerun *rerun, uint64_t epoch)
{
    const struct tally *tally = replay_epoch(rerun->replay, epoch);
    return tally == NULL ? (double)NAN : tally_loss(tally, &rerun->job);
}

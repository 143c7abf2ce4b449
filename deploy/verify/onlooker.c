/* onlooker.c - from the engine's words to the witness's, one function each. */

#include "deploy/verify/onlooker.h"

#include <stdlib.h>

#include "common/process/log.h"
#include "common/store/generation.h"
#include "deploy/verify/examination.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* A payload that a server has been given. */
struct counted {
    struct frame *frame;
    uint64_t *bytes;
};

static void uncount(void *context)
{
    struct counted *counted = context;
    *counted->bytes -= counted->frame->bytes;
    frame_release(counted->frame);
    free(counted);
}

static struct frame *count_payload(struct examined *p, struct frame *payload)
{
    struct counted *counted = malloc(sizeof *counted);
    struct frame *frame = counted == NULL ? NULL
                                          : frame_wrap(payload->data, payload->bytes,
                                                       payload->exclusive, uncount, counted);
    if (frame == NULL) {
        log_error("out of memory for a payload");
        exit(EXIT_TRAINING_FAILED);
    }
    *counted = (struct counted){payload, &p->payload_bytes};
    p->payload_bytes += payload->bytes;
    return frame;
}

/* What a server may hold of what others have sent: for each worker a window of gradients, for each
 * chunk the nodes of a step, and on server 0 a cut of all. */
static void check_memory(struct examination *x, const struct simulated_process *p)
{
    const struct job *job = x->options.job;
    uint64_t shard = partition_server_bytes(&x->engine.partition, p->index);
    uint64_t space = x->engine.partition.elements * sizeof(float);
    uint64_t window = WINDOW_BYTES > 2 * space ? WINDOW_BYTES : 2 * space;
    uint64_t most = (job_leaves_max(job) + 1) * shard +
                    (engine_workers(&x->engine) + x->injector.joined) * window +
                    (p->index == 0 ? 2 * CHECKPOINT_ARRAYS_MAX * space : 0);
    uint64_t held = x->examined[p->number]->payload_bytes;
    if (held > most)
        witness_fail(&x->witness, "ps/%u holds %llu bytes that it was sent, and may %llu", p->index,
                     (unsigned long long)held, (unsigned long long)most);
}

/* --- processes ------------------------------------------------------------------------------- */

/* Of several who are there at once all but one must go, whichever. */
static void excuse_rivals(struct examination *x, const struct simulated_process *p)
{
    for (uint32_t i = 0; i < x->engine.process_count; i++) {
        const struct simulated_process *other = x->engine.processes[i];
        if (other == p || other->host != p->host || other->state > PROCESS_STOPPED)
            continue;
        examination_excuse(x, p);
        examination_excuse(x, other);
    }
}

static enum status note_started(void *context, const struct simulated_process *p)
{
    struct examination *x = context;
    struct examined **examined =
        realloc(x->examined, (x->examined_count + 1) * sizeof *x->examined);
    if (examined == NULL)
        return STATUS_MEMORY;
    x->examined = examined;
    if ((examined[x->examined_count] = calloc(1, sizeof **examined)) == NULL)
        return STATUS_MEMORY;
    x->examined_count++;
    if (p->how != START_BESIDE)
        excuse_rivals(x, p);
    if (p->how == START_ANYWAY)
        examination_excuse(x, p);
    return p->is_server ? witness_add_server(&x->witness, p->index)
                        : witness_add_worker(&x->witness, p->is_guest ? UINT32_MAX : p->index);
}

/* Whoever is killed whenever: what has a manifest is whole. */
static void check_disk(struct examination *x)
{
    struct checkpoint_reader reader;
    struct error error;
    uint64_t steps[2 * CHECKPOINTS_KEPT];
    char path[DISK_PATH_MAX];
    const struct disk *disk = &x->options.disks[0]->disk;
    size_t count = checkpoint_list(disk, SIMULATED_OUT, steps, 2 * CHECKPOINTS_KEPT);
    for (size_t i = 0; i < count; i++) {
        checkpoint_path(path, SIMULATED_OUT, steps[i]);
        if (checkpoint_open(&reader, disk, path, &error) == STATUS_OK)
            checkpoint_close(&reader);
        else
            witness_fail(&x->witness, "a kill leaves a checkpoint that does not open: %s",
                         error.text);
    }
}

/* The run had ended, though nobody has been told yet. */
static void note_ended(struct examination *x)
{
    struct generation generation;
    struct error error;
    if (generation_read(&generation, &x->options.disks[0]->disk, SIMULATED_OUT, &error) ==
            STATUS_OK &&
        generation.ended && generation.number > x->options.generation)
        x->announced = true;
}

static void note_end(void *context, const struct simulated_process *p)
{
    struct examination *x = context;
    if (x->engine.finished && !x->finished)
        x->finished_us = x->engine.now_us;
    x->finished = x->engine.finished;
    if (p->state == PROCESS_KILLED ||
        p->exit_code != EXIT_DONE) /* What it holds nobody will see. */
        witness_ends(&x->witness, p->number);
    if (p->state != PROCESS_KILLED || !p->is_server)
        return;
    check_disk(x);
    note_ended(x);
}

/* --- what is said ---------------------------------------------------------------------------- */

static void note_sent(void *context, const struct simulated_process *p,
                      const struct message *message)
{
    struct examination *x = context;
    if (message->kind == MESSAGE_FINISHED && !message->stop.left)
        x->announced = true;
    if (message->kind != MESSAGE_REFUSED)
        return;
    x->witness.counts.refused++;
    if (x->options.plan == NULL)
        witness_fail(&x->witness, "%s/%u refuses somebody: %s", p->is_server ? "ps" : "worker",
                     p->index, message->refused.text);
}

static void note_heard(void *context, const struct simulated_process *p, struct packet *packet)
{
    struct examination *x = context;
    if (packet->payload != NULL && !x->options.faults.share_frames) {
        packet->payload = count_payload(x->examined[p->number], packet->payload);
        check_memory(x, p);
    }
    if (p->index == 0)
        witness_coordinator_hears(&x->witness, p->number, packet);
}

static void note_said(void *context, const struct simulated_process *p, const struct outgoing *item,
                      uint32_t to)
{
    struct examination *x = context;
    if (p->index == 0)
        witness_coordinator_says(&x->witness, p->number, item, to);
}

static void note_asked(void *context, const struct simulated_process *p,
                       const struct packet *packet)
{
    witness_session_asks(&((struct examination *)context)->witness, p->number, packet);
}

/* --- what is done ---------------------------------------------------------------------------- */

static void note_taken(void *context, const struct simulated_process *p, uint32_t owner,
                       const struct packet *packet, uint32_t sender)
{
    witness_owner_takes(&((struct examination *)context)->witness, p->number, owner, packet,
                        sender);
}

static void note_given(void *context, const struct simulated_process *p,
                       const struct outgoing *item)
{
    witness_owner_gave(&((struct examination *)context)->witness, p->number, item);
}

static void note_done(void *context)
{
    witness_owner_done(&((struct examination *)context)->witness);
}

static void note_trainer_start(void *context, const struct simulated_process *p,
                               const struct message *message)
{
    witness_start(&((struct examination *)context)->witness, p->number, message);
}

static void note_work(void *context, const struct simulated_process *p, uint64_t step, bool enough,
                      const float *parameters)
{
    witness_work(&((struct examination *)context)->witness, p->number, step, enough, parameters);
}

static void note_lease(void *context, const struct simulated_process *p, uint32_t assignment,
                       uint64_t step, struct node node)
{
    witness_leases(&((struct examination *)context)->witness, p->number, assignment, step, node);
}

static void note_computed(void *context, const struct simulated_process *p, const float *parameters)
{
    witness_computed(&((struct examination *)context)->witness, p->number, parameters);
}

static void note_score(void *context, const struct simulated_process *p, uint64_t generation,
                       const struct message_work *work, const float *values)
{
    witness_scored(&((struct examination *)context)->witness, p->number, generation, work, values);
}

static bool has_failed(const void *context)
{
    return ((const struct examination *)context)->witness.failed;
}

struct observer onlooker(struct examination *examination)
{
    return (struct observer){.context = examination,
                             .started = note_started,
                             .ended = note_end,
                             .owner_takes = note_taken,
                             .owner_gave = note_given,
                             .owner_done = note_done,
                             .sends = note_sent,
                             .server_hears = note_heard,
                             .server_says = note_said,
                             .session_asks = note_asked,
                             .trainer_starts = note_trainer_start,
                             .trainer_given = note_work,
                             .trainer_leases = note_lease,
                             .trainer_computed = note_computed,
                             .trainer_scores = note_score,
                             .failed = has_failed};
}

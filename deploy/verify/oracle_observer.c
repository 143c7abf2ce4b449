/* oracle_observer.c - what the engine says that the oracle does not hear itself. */

#include "deploy/verify/oracle_observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"
#include "common/store/generation.h"
#include "deploy/verify/check_run.h"

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

static struct frame *count_payload(struct checked_process *p, struct frame *payload)
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
static void check_memory(struct check_run *x, const struct simulated_process *p)
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
        oracle_fail(&x->oracle, "ps/%u holds %llu bytes that it was sent, and may %llu", p->index,
                    (unsigned long long)held, (unsigned long long)most);
}

/* --- processes ------------------------------------------------------------------------------- */

/* Of several who are there at once all but one must go, whichever. */
static void excuse_second_coordinators(struct check_run *x, const struct simulated_process *p)
{
    for (uint32_t i = 0; i < x->engine.process_count; i++) {
        const struct simulated_process *other = x->engine.processes[i];
        if (other == p || other->host != p->host || other->state > PROCESS_STOPPED)
            continue;
        check_run_excuse(x, p);
        check_run_excuse(x, other);
    }
}

static enum status note_started(void *context, const struct simulated_process *p)
{
    struct check_run *x = context;
    struct checked_process **examined =
        realloc(x->examined, (x->examined_count + 1) * sizeof *x->examined);
    if (examined == NULL)
        return STATUS_MEMORY;
    x->examined = examined;
    if ((examined[x->examined_count] = calloc(1, sizeof **examined)) == NULL)
        return STATUS_MEMORY;
    x->examined_count++;
    if (p->how != START_BESIDE)
        excuse_second_coordinators(x, p);
    if (p->how == START_ANYWAY)
        check_run_excuse(x, p);
    return p->is_server
               ? oracle_add_server(&x->oracle, p->index)
               : oracle_add_worker(&x->oracle, p->is_scripted_client ? UINT32_MAX : p->index);
}

/* Whoever is killed whenever: what has a manifest is whole. */
static void check_disk(struct check_run *x)
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
            oracle_fail(&x->oracle, "a kill leaves a checkpoint that does not open: %s",
                        error.text);
    }
}

/* The run had ended, though nobody has been told yet. */
static void note_ended(struct check_run *x)
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
    struct check_run *x = context;
    if (x->engine.finished && !x->finished)
        x->finished_us = x->engine.now_us;
    x->finished = x->engine.finished;
    if (p->state == PROCESS_KILLED ||
        p->exit_code != EXIT_DONE) /* What it holds nobody will see. */
        oracle_ends(&x->oracle, p->number);
    if (p->state != PROCESS_KILLED || !p->is_server)
        return;
    check_disk(x);
    note_ended(x);
}

/* --- what is said ---------------------------------------------------------------------------- */

static void note_sent(void *context, const struct simulated_process *p,
                      const struct message *message)
{
    struct check_run *x = context;
    if (message->kind == MESSAGE_FINISHED && !message->stop.left)
        x->announced = true;
    if (message->kind != MESSAGE_REFUSED)
        return;
    if (x->options.plan == NULL)
        oracle_fail(&x->oracle, "%s/%u refuses somebody: %s", p->is_server ? "ps" : "worker",
                    p->index, message->refused.text);
}

static void note_heard(void *context, const struct simulated_process *p, struct packet *packet)
{
    struct check_run *x = context;
    if (packet->payload != NULL && !x->options.faults.share_frames) {
        packet->payload = count_payload(x->examined[p->number], packet->payload);
        check_memory(x, p);
    }
    if (p->index == 0)
        oracle_coordinator_hears(&x->oracle, p->number, &packet->message);
}

/* What is said to be a checkpoint is one, whoever is killed now. A server whose place was taken may be
 * writing its part, too, of an older generation. */
static void check_durable(struct check_run *x, const struct order_event *event)
{
    const char *step = strstr(event->members, "\"step\":");
    char folder[DISK_PATH_MAX], path[DISK_PATH_MAX + CHECKPOINT_PART_NAME_MAX];
    uint32_t servers = engine_servers(&x->engine);
    if (strcmp(event->name, "checkpoint") != 0 || step == NULL)
        return;
    checkpoint_path(folder, SIMULATED_OUT, strtoull(step + strlen("\"step\":"), NULL, 10));
    for (uint32_t i = 0; i <= servers; i++) {
        char name[CHECKPOINT_PART_NAME_MAX] = "manifest";
        if (i < servers)
            checkpoint_part_name(name, i, servers, x->oracle.begun_generation);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (!simulated_disk_is_durable(x->options.disks[0], path,
                                       x->storage.from_us + x->engine.now_us))
            oracle_fail(&x->oracle, "%s is said to be a checkpoint before it is durable", folder);
    }
}

static void note_said(void *context, const struct simulated_process *p, const struct outgoing *item,
                      uint32_t to)
{
    struct check_run *x = context;
    (void)to;
    const struct order *order = order_of(&item->packet);
    if (order != NULL && order->kind == ORDER_EVENT)
        check_durable(x, &order->event);
    if (p->index == 0)
        oracle_coordinator_says(&x->oracle, p->number, item);
}

static bool has_failed(const void *context)
{
    return ((const struct check_run *)context)->oracle.failed;
}

struct observer oracle_observer(struct check_run *check_run)
{
    return (struct observer){.context = check_run,
                             .started = note_started,
                             .ended = note_end,
                             .owner_takes = oracle_owner_takes,
                             .owner_gave = oracle_owner_gave,
                             .owner_done = oracle_owner_done,
                             .sends = note_sent,
                             .server_hears = note_heard,
                             .server_says = note_said,
                             .session_asks = oracle_session_asks,
                             .trainer_starts = oracle_start,
                             .trainer_given = oracle_work,
                             .trainer_leases = oracle_leases,
                             .trainer_computed = oracle_computed,
                             .trainer_scores = oracle_scored,
                             .failed = has_failed};
}

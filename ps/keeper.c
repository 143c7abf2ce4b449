#include "ps/keeper.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/manifest.h"
#include "common/model_file.h"
#include "ps/plan.h"

/* One server's chunks of one cut, while they come in. */
struct part {
    uint64_t step;
    struct checkpoint_chunk *chunks; /* [plan's chunks of the server] in order of arrival. */
    struct frame **frames;           /* [chunks * arrays] what chunks points into. */
    uint32_t chunk_count, arrays_received;
};

struct keeper {
    struct keeper_options options;
    const struct plan *plan;
    bool shared;        /* This server writes its own parts. */
    struct part *parts; /* [server_count] */
    struct run_directory directory;
    bool directory_open;
    struct job job;                  /* Server 0: the declaration. */
    struct checkpoint_reader reader; /* Open while chunks are being loaded from it. */
    bool reader_open;
    bool asked[JOB_SERVERS_MAX]; /* Server 0: who wanted chunks before the plan was there. */
};

enum status keeper_create(struct keeper **keeper, const struct keeper_options *options)
{
    *keeper = calloc(1, sizeof **keeper);
    if (*keeper == NULL)
        return STATUS_MEMORY;
    (*keeper)->options = *options;
    return STATUS_OK;
}

/* The step stays, so that what comes late for an older one can be told. */
static void part_clear(struct part *part)
{
    for (uint32_t i = 0; i < part->arrays_received; i++)
        frame_release(part->frames[i]);
    free(part->chunks);
    free(part->frames);
    *part = (struct part){.step = part->step};
}

static void reader_close(struct keeper *keeper)
{
    if (keeper->reader_open)
        checkpoint_close(&keeper->reader);
    keeper->reader_open = false;
}

void keeper_destroy(struct keeper **keeper)
{
    struct keeper *k = *keeper;
    if (k == NULL)
        return;
    for (uint32_t i = 0; k->parts != NULL && i < k->plan->job.server_count; i++)
        part_clear(&k->parts[i]);
    free(k->parts);
    reader_close(k);
    if (k->directory_open)
        run_directory_close(&k->directory);
    job_free(&k->job);
    free(k);
    *keeper = NULL;
}

/* --- opening ------------------------------------------------------------------------------- */

/* A file only servers that see this directory can see. */
static void token_path(char *path, size_t size, const char *out, uint64_t run_id)
{
    snprintf(path, size, "%s/.run-%016llx", out, (unsigned long long)run_id);
}

static void report_damage(void *argument, const char *line)
{
    outbox_warn(argument, "checkpoint damaged, looking for an older one: %s", line);
}

/* Find what to go on from; STATUS_NOT_FOUND when that is nothing. */
static enum status find_checkpoint(struct keeper *keeper, bool resuming, struct outbox *outbox,
                                   struct error *error)
{
    const char *restore = keeper->options.restore;
    enum status status;
    if (strcmp(restore, "never") == 0)
        return resuming ? error_set(error, STATUS_EXISTS,
                                    "%s holds an unfinished run and --restore never was given",
                                    keeper->options.out)
                        : STATUS_NOT_FOUND;
    if (strcmp(restore, "auto") == 0)
        status = checkpoint_open_newest(&keeper->reader, keeper->options.disk, keeper->options.out,
                                        report_damage, outbox, error);
    else
        status = checkpoint_open(&keeper->reader, keeper->options.disk, restore, error);
    if (status != STATUS_OK)
        /* A checkpoint named by hand that is not there is an error of another kind. */
        return status == STATUS_NOT_FOUND && strcmp(restore, "auto") != 0 ? STATUS_IO : status;
    keeper->reader_open = true;
    return job_compare(&keeper->reader.manifest.job, "the checkpoint", &keeper->job, "this job",
                       JOB_SCOPE_RESUME, error);
}

static enum status open_run(struct keeper *keeper, const struct packet *packet,
                            struct outbox *outbox, struct error *error)
{
    bool resuming = false;
    enum status status =
        job_decode(packet->payload->data, (uint32_t)packet->payload->bytes, &keeper->job, error);
    if (status != STATUS_OK)
        return status;
    if (keeper->options.journal) {
        status = run_directory_open(&keeper->directory, keeper->options.out, &keeper->job,
                                    packet->message.run_id, &resuming, error);
        if (status != STATUS_OK)
            return status;
        keeper->directory_open = true;
    }
    char path[DISK_PATH_MAX];
    token_path(path, sizeof path, keeper->options.out, packet->message.run_id);
    status = keeper->options.disk->write_file(keeper->options.disk->context, path, NULL, 0, error);
    if (status != STATUS_OK)
        return status;
    status = find_checkpoint(keeper, resuming, outbox, error);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static void handle_open_run(struct keeper *keeper, const struct packet *packet,
                            struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    enum status status = open_run(keeper, packet, outbox, &error);
    struct packet *answer = outbox_add(outbox, TO_COORDINATOR, MESSAGE_RUN_OPENED);
    answer->message.run_opened.status = status;
    snprintf(answer->message.run_opened.text, MESSAGE_TEXT_MAX, "%s", error.text);
    answer->message.run_opened.restore = keeper->reader_open;
    if (keeper->reader_open)
        answer->message.run_opened.restore_step = keeper->reader.manifest.step;
}

/* --- loading ------------------------------------------------------------------------------- */

static void send_array(struct keeper *keeper, uint32_t chunk, uint32_t array, enum destination to,
                       struct outbox *outbox)
{
    const struct chunk_range *range = &keeper->plan->partition.chunks[chunk];
    struct frame *frame = frame_create(range->count * sizeof(float));
    if (frame == NULL) {
        outbox_log(outbox, "out of memory while loading a checkpoint");
        return; /* The start deadline ends the job. */
    }
    memcpy(frame->data, keeper->reader.arrays[array] + range->first, frame->bytes);
    struct packet *packet = outbox_add(outbox, to, MESSAGE_CHUNK_STATE);
    packet->payload = frame;
    packet->message.chunk_state = (struct message_chunk_state){
        .step = keeper->reader.manifest.step,
        .first = range->first,
        .count = range->count,
        .array = array,
        .server = range->server,
    };
}

static void send_chunks(struct keeper *keeper, uint32_t server, enum destination to,
                        struct outbox *outbox)
{
    assert(keeper->plan != NULL && keeper->reader_open);
    const struct partition *partition = &keeper->plan->partition;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        for (uint32_t array = 0;
             partition->chunks[i].server == server && array < keeper->reader.array_count; array++)
            send_array(keeper, i, array, to, outbox);
}

static bool sees(struct keeper *keeper, const char *out, uint64_t run_id)
{
    char path[DISK_PATH_MAX];
    void *data = NULL;
    size_t bytes;
    const struct disk *disk = keeper->options.disk;
    token_path(path, sizeof path, out, run_id);
    bool there = disk->read_file(disk->context, path, 16, &data, &bytes, NULL) == STATUS_OK;
    free(data);
    return there;
}

static void handle_load(struct keeper *keeper, const struct packet *packet, struct outbox *outbox)
{
    const struct message_load *load = &packet->message.load;
    struct packet *answer = outbox_add(outbox, TO_ROUTER, MESSAGE_LOADED);
    answer->message.index = UINT32_MAX; /* Not an owner. */
    keeper->plan = load->plan;
    keeper->parts = calloc(keeper->plan->job.server_count, sizeof *keeper->parts);
    if (keeper->parts == NULL) {
        answer->message.loaded.status = STATUS_MEMORY;
        snprintf(answer->message.loaded.text, MESSAGE_TEXT_MAX, "no memory for checkpoints");
        return;
    }
    keeper->shared = keeper->options.server == 0 || sees(keeper, load->out, packet->message.run_id);
    if (keeper->options.server != 0)
        snprintf(keeper->options.out, sizeof keeper->options.out, "%s", load->out);
    answer->message.loaded.shared = keeper->shared;
    answer->message.loaded.needs_chunks = load->restore && keeper->options.server != 0;
    if (load->restore && keeper->options.server == 0)
        send_chunks(keeper, 0, TO_ROUTER, outbox);
    for (uint32_t i = 0; i < keeper->plan->job.server_count; i++)
        if (keeper->asked[i] && keeper->reader_open)
            send_chunks(keeper, i, TO_COORDINATOR, outbox);
}

/* Another server may have its plan before this one has its own: then it waits for ours. */
static void handle_send_chunks(struct keeper *keeper, uint32_t server, struct outbox *outbox)
{
    if (server == UINT32_MAX) /* Everybody has theirs. */
        reader_close(keeper);
    else if (keeper->plan == NULL && server < JOB_SERVERS_MAX)
        keeper->asked[server] = true;
    else if (keeper->reader_open)
        send_chunks(keeper, server, TO_COORDINATOR, outbox);
}

/* --- cutting ------------------------------------------------------------------------------- */

static uint32_t chunks_of(const struct plan *plan, uint32_t server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.chunk_count; i++)
        count += plan->partition.chunks[i].server == server;
    return count;
}

static struct checkpoint_chunk *part_chunk(struct part *part,
                                           const struct message_chunk_state *state)
{
    uint32_t i = 0;
    while (i < part->chunk_count && part->chunks[i].first != state->first)
        i++;
    if (i == part->chunk_count)
        part->chunks[part->chunk_count++] =
            (struct checkpoint_chunk){.first = state->first, .count = state->count};
    return &part->chunks[i];
}

static bool part_begin(struct part *part, uint64_t step, uint32_t chunks, uint32_t arrays)
{
    part_clear(part);
    part->step = step;
    part->chunks = calloc(chunks, sizeof *part->chunks);
    part->frames = calloc((size_t)chunks * arrays, sizeof *part->frames);
    return part->chunks != NULL && part->frames != NULL;
}

static int by_first(const void *a, const void *b)
{
    const struct checkpoint_chunk *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* In order of place, not of arrival: a part may be written twice (the last cut can be where another
 * is under way), and must then have the bytes that were announced. */
static void write_part(struct keeper *keeper, uint32_t server, struct outbox *outbox)
{
    struct part *part = &keeper->parts[server];
    qsort(part->chunks, part->chunk_count, sizeof *part->chunks, by_first);
    struct error error = {STATUS_OK, ""};
    struct packet *packet = outbox_add(outbox, TO_COORDINATOR, MESSAGE_PART_WRITTEN);
    struct message_part_written *written = &packet->message.part_written;
    written->step = part->step;
    written->server = server;
    enum status status =
        checkpoint_write_part(keeper->options.disk, keeper->options.out, part->step, server,
                              keeper->plan->job.server_count, keeper->plan->optimizer, part->chunks,
                              part->chunk_count, &written->part, &error);
    written->written = status == STATUS_OK;
    snprintf(written->text, sizeof written->text, "%s", error.text);
    part_clear(part);
}

/* Whether state names exactly one chunk of its server, and the payload is that array. */
static bool state_fits(const struct keeper *keeper, const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    if (keeper->plan == NULL || packet->payload == NULL ||
        packet->payload->bytes != state->count * sizeof(float) ||
        state->server >= keeper->plan->job.server_count ||
        state->array > keeper->plan->optimizer->slot_count)
        return false;
    for (uint32_t i = 0; i < keeper->plan->partition.chunk_count; i++) {
        const struct chunk_range *range = &keeper->plan->partition.chunks[i];
        if (range->first == state->first)
            return range->count == state->count && range->server == state->server;
    }
    return false;
}

static void handle_chunk_state(struct keeper *keeper, struct packet *packet, struct outbox *outbox)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    if (!state_fits(keeper, packet))
        return;
    if (!keeper->shared) { /* Server 0 keeps it for us. */
        *outbox_add(outbox, TO_COORDINATOR, MESSAGE_CHUNK_STATE) = *packet;
        packet->payload = NULL;
        return;
    }
    struct part *part = &keeper->parts[state->server];
    if (state->step < part->step)
        return; /* Of a cut that is over: it must not push out the one under way. */
    uint32_t chunks = chunks_of(keeper->plan, state->server);
    uint32_t arrays = 1 + keeper->plan->optimizer->slot_count;
    if ((part->chunks == NULL || part->step != state->step) &&
        !part_begin(part, state->step, chunks, arrays)) {
        part_clear(part);
        outbox_log(outbox, "out of memory for a checkpoint");
        return;
    }
    struct checkpoint_chunk *chunk = part_chunk(part, state);
    if (chunk->arrays[state->array] != NULL)
        return; /* Repeated. */
    chunk->arrays[state->array] = packet->payload->data;
    part->frames[part->arrays_received++] = packet->payload;
    packet->payload = NULL;
    if (part->arrays_received == chunks * arrays)
        write_part(keeper, state->server, outbox);
}

static void handle_manifest(struct keeper *keeper, const struct packet *packet,
                            struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    struct manifest manifest = {
        .job = keeper->job,
        .run_id = packet->message.run_id,
        .step = packet->message.cut.step,
        .part_count = keeper->plan->job.server_count,
        .parts = packet->payload->data,
    };
    enum status status =
        checkpoint_write_manifest(keeper->options.disk, keeper->options.out, &manifest, &error);
    if (status == STATUS_OK &&
        checkpoint_prune(keeper->options.disk, keeper->options.out, &error) != STATUS_OK)
        outbox_warn(outbox, "old checkpoints stay: %s", error.text);
    struct packet *answer = outbox_add(outbox, TO_COORDINATOR, MESSAGE_MANIFEST_WRITTEN);
    answer->message.run_opened.status = status;
    answer->message.run_opened.restore_step = manifest.step;
    snprintf(answer->message.run_opened.text, MESSAGE_TEXT_MAX, "%s", error.text);
}

/* --- the run directory --------------------------------------------------------------------- */

/* The model out of the checkpoint just written: reading it back also proves that it can be. */
static enum status export_model(struct keeper *keeper, struct run_summary *summary,
                                struct error *error)
{
    char path[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    checkpoint_path(path, keeper->options.out, summary->step);
    enum status status = checkpoint_open(&reader, keeper->options.disk, path, error);
    if (status != STATUS_OK)
        return status;
    const struct job *job = &keeper->job;
    snprintf(path, sizeof path, "%s/model.safetensors", keeper->options.out);
    status = model_file_write(keeper->options.disk, path, job->model, job->variables,
                              job->variable_count, reader.arrays[0], summary->model_sha256, error);
    if (status == STATUS_OK)
        parameters_sha256(job->variables, job->variable_count, reader.arrays[0],
                          summary->parameters_sha256);
    checkpoint_close(&reader);
    return status;
}

/* The payload is a struct run_summary and its workers behind it. */
static void handle_summary(struct keeper *keeper, const struct packet *packet,
                           struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    struct run_summary summary;
    memcpy(&summary, packet->payload->data, sizeof summary);
    summary.workers =
        (const struct worker_summary *)(const void *)((const char *)packet->payload->data +
                                                      sizeof summary);
    enum status status = STATUS_OK;
    if (summary.state == RUN_DONE || summary.state == RUN_STOPPED) {
        status = export_model(keeper, &summary, &error);
        if (status != STATUS_OK) {
            summary.state = RUN_FAILED;
            snprintf(summary.reason, sizeof summary.reason, "%s", error.text);
        }
    }
    if (keeper->directory_open) {
        struct error writing;
        enum status wrote = run_directory_summary(&keeper->directory, &keeper->job,
                                                  packet->message.run_id, &summary, &writing);
        if (wrote != STATUS_OK && status == STATUS_OK) {
            status = wrote;
            error = writing;
        }
        char path[DISK_PATH_MAX];
        token_path(path, sizeof path, keeper->options.out, packet->message.run_id);
        keeper->options.disk->remove_tree(keeper->options.disk->context, path, NULL);
    }
    struct packet *answer = outbox_add(outbox, TO_COORDINATOR, MESSAGE_SUMMARY_WRITTEN);
    answer->message.run_opened.status = status;
    snprintf(answer->message.run_opened.text, MESSAGE_TEXT_MAX, "%s", error.text);
}

void keeper_handle(struct keeper *keeper, struct packet *packet, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_OPEN_RUN:
        handle_open_run(keeper, packet, outbox);
        break;
    case MESSAGE_LOAD:
        handle_load(keeper, packet, outbox);
        break;
    case MESSAGE_SEND_CHUNKS:
        handle_send_chunks(keeper, message->send_chunks.server, outbox);
        break;
    case MESSAGE_CHUNK_STATE:
        handle_chunk_state(keeper, packet, outbox);
        break;
    case MESSAGE_MANIFEST:
        handle_manifest(keeper, packet, outbox);
        break;
    case MESSAGE_EVENT:
        if (keeper->directory_open)
            run_directory_event(&keeper->directory, message->event.name, "%s",
                                message->event.members);
        break;
    case MESSAGE_SUMMARY:
        handle_summary(keeper, packet, outbox);
        break;
    default:
        break;
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

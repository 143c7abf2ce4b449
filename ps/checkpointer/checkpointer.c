/* checkpointer.c - one handler for each item that the checkpointer takes. One server's part of a
 * snapshot:
 *
 *     CHUNK_STATE (first) --> part_begin --> CHUNK_STATE ... all arrays --> write_part
 *                                |                                            |
 *        of an older step: dropped; of a newer one: begins anew         PART_WRITTEN
 *                                                                             |
 *     coordinator: all are written --MANIFEST--> write_manifest --> it is a checkpoint; prune
 *
 * On server 0 checkpointer_check_claim precedes all that is written for the whole run. */

#include "ps/checkpointer/checkpointer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/store/initial.h"
#include "common/store/manifest.h"
#include "common/store/model_file.h"
#include "common/store/part_entries.h"
#include "ps/checkpointer/checkpointer_state.h"
#include "ps/checkpointer/kept_model.h"
#include "ps/checkpointer/record_interval.h"
#include "ps/shard/descriptions.h"

#define EXIT_CODE_MAX 255

enum status checkpointer_create(struct checkpointer **checkpointer,
                                const struct checkpointer_options *options)
{
    *checkpointer = calloc(1, sizeof **checkpointer);
    if (*checkpointer == NULL)
        return STATUS_MEMORY;
    (*checkpointer)->options = *options;
    board_open(&(*checkpointer)->board, options->disk, &options->board, &(*checkpointer)->job);
    return STATUS_OK;
}

/* The step stays, to recognise late arrays of an older one, and so does what was written. */
static void part_clear(struct part *part)
{
    for (uint32_t i = 0; i < part->arrays_received; i++)
        frame_release(part->frames[i]);
    free(part->chunks);
    free(part->frames);
    *part = (struct part){.step = part->step, .proven = part->proven, .written = part->written};
}

static void reader_close(struct checkpointer *checkpointer)
{
    checkpoint_close(&checkpointer->reader);
    checkpointer->reader_open = false;
}

void checkpointer_destroy(struct checkpointer **checkpointer)
{
    struct checkpointer *k = *checkpointer;
    if (k == NULL)
        return;
    for (uint32_t i = 0; i < k->part_count; i++)
        part_clear(&k->parts[i]);
    free(k->parts);
    kept_model_clear(&k->kept);
    reader_close(k);
    run_chronicle_close(&k->chronicle);
    board_close(&k->board);
    if (k->directory_open)
        run_directory_close(&k->directory);
    job_free(&k->job);
    free(k);
    *checkpointer = NULL;
}

/* A message of the generation it belongs to. */
#define say(checkpointer, to, kind, outbox) say_from(checkpointer, to, kind, outbox, HERE)
static struct packet *say_from(struct checkpointer *checkpointer, enum destination to,
                               enum message_kind kind, struct outbox *outbox, struct origin origin)
{
    struct packet *packet = outbox_put(outbox, to, 0, kind, origin);
    packet->message.generation = checkpointer->generation;
    return packet;
}

/* --- generations --------------------------------------------------------------------------- */

enum status checkpointer_check_claim(const struct checkpointer *checkpointer, struct error *error)
{
    struct generation found;
    enum status status =
        generation_read(&found, checkpointer->options.disk, checkpointer->options.out, error);
    if (status == STATUS_OK && !generation_equal(&found, &checkpointer->claim))
        return error_set(error, STATUS_EXISTS, "another server 0 has taken over this run");
    return status;
}

static enum status claim(struct checkpointer *checkpointer, const struct generation *next,
                         struct error *error)
{
    enum status status =
        generation_write(next, checkpointer->options.disk, checkpointer->options.out, error);
    if (status == STATUS_OK)
        checkpointer->claim = *next;
    return status;
}

/* Snapshots of earlier generations are void. */
static void begin_generation(struct checkpointer *checkpointer, uint64_t number)
{
    checkpointer->gone_count = number == checkpointer->generation ? checkpointer->gone_count : 0;
    checkpointer->generation = number;
    for (uint32_t i = 0; i < checkpointer->part_count; i++) {
        part_clear(&checkpointer->parts[i]);
        checkpointer->parts[i] = (struct part){.step = 0};
    }
    kept_model_clear(&checkpointer->kept);
    checkpointer->kept.batches = 0;
}

/* --- opening ------------------------------------------------------------------------------- */

static void report_damage(void *argument, const char *line)
{
    outbox_warn(argument, "checkpoint damaged, looking for an older one: %s", line);
}

/* checkpoint_resume, or where there is none and values are given, those. */
static enum status resume(struct checkpointer *checkpointer, struct checkpoint_reader *reader,
                          bool *passed_over, struct outbox *outbox, struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    enum status status = checkpoint_resume(reader, options->disk, options->out, options->restore,
                                           passed_over, report_damage, outbox, error);
    if (status != STATUS_NOT_FOUND || !job_has_given(&checkpointer->job))
        return status;
    status = initial_open(reader, &checkpointer->job, options->disk, options->out,
                          options->initial[0] != '\0' ? options->initial : NULL, error);
    return status == STATUS_NOT_FOUND ? STATUS_IO : status; /* "None" is for checkpoints. */
}

/* Find the checkpoint to go on from; STATUS_OK also when there is none. */
static enum status find_checkpoint(struct checkpointer *checkpointer, bool *passed_over,
                                   struct outbox *outbox, struct error *error)
{
    reader_close(checkpointer);
    enum status status = resume(checkpointer, &checkpointer->reader, passed_over, outbox, error);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    checkpointer->reader_open = true;
    return job_compare(&checkpointer->reader.manifest.job, "the checkpoint", &checkpointer->job,
                       "this job", JOB_SCOPE_RESUME, error);
}

/* The state of the run in the run directory. */
struct record {
    bool found;
    struct generation written; /* When it was found. */
    bool ended;
    uint32_t exit_code;
};

/* Of a run of which only its state is known. */
static uint32_t exit_code_of(enum run_state state)
{
    return state == RUN_DONE      ? EXIT_DONE
           : state == RUN_STOPPED ? EXIT_INTERRUPTED
                                  : EXIT_CLUSTER_LOST;
}

static enum status read_record(struct record *record, const struct checkpointer *checkpointer,
                               struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    enum run_state state;
    memset(record, 0, sizeof *record);
    enum status status = generation_read(&record->written, options->disk, options->out, error);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    record->found = true;
    record->ended = record->written.ended;
    record->exit_code = record->written.exit_code;
    /* Killed between its last two writes. */
    if (!record->ended &&
        run_directory_has_ended(options->disk, options->out, record->written.run_id, &state)) {
        record->ended = true;
        record->exit_code = exit_code_of(state);
    }
    return STATUS_OK;
}

/* Whether the run may go on from what there is, by --restore and its checkpoints. */
static enum status check_opening(const struct checkpointer *checkpointer, enum run_opening opening,
                                 bool killed, struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    bool finished = opening == RUN_EXTENDS;
    if (opening != RUN_BEGINS && !killed && strcmp(options->restore, "never") == 0)
        return error_set(error, STATUS_EXISTS, "%.300s holds %s run and --restore never was given",
                         options->out, finished ? "a finished" : "an unfinished");
    if (finished && checkpointer->reader.manifest.step == 0)
        return error_set(error, STATUS_EXISTS,
                         "%.300s holds a finished run without a checkpoint to train it further "
                         "from; choose another --out",
                         options->out);
    return STATUS_OK;
}

/* Look at everything, change nothing: a run that cannot begin leaves the folder as it was. */
static enum status look(struct checkpointer *checkpointer, const struct record *record,
                        struct outbox *outbox, struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    enum run_opening opening = RUN_BEGINS;
    bool killed = record->found && !record->ended;
    bool passed_over = false;
    enum status status =
        run_directory_check(options->disk, options->out, &checkpointer->job, &opening, error);
    if (status == STATUS_OK)
        status = find_checkpoint(checkpointer, &passed_over, outbox, error);
    if (status == STATUS_OK)
        status = check_opening(checkpointer, opening, killed, error);
    if (status == STATUS_OK && passed_over)
        outbox_warn(outbox,
                    "%s has begun already and goes on from its own checkpoint at step %" PRIu64
                    ", not from %s",
                    options->out, checkpointer->reader.manifest.step, options->restore);
    return status;
}

/* The existing record goes on from the loaded checkpoint. */
static enum status open_record(struct checkpointer *checkpointer, bool records, uint64_t generation,
                               struct outbox *outbox, struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    const struct checkpoint_reader *reader = &checkpointer->reader;
    enum status status = run_chronicle_open(
        &checkpointer->chronicle, options->disk, options->out, records, &reader->manifest.record,
        reader->manifest.step, reader->version, generation, error);
    if (checkpointer->chronicle.remark.text[0] != '\0')
        outbox_warn(outbox, "%s", checkpointer->chronicle.remark.text);
    return status;
}

/* Take the run directory. The generation is read again under the lock, because another server 0
 * may have come and gone since. Checkpoints that it wrote meanwhile do no harm: ours is older,
 * and as good to go on from. */
static enum status take_place(struct checkpointer *checkpointer, const struct record *record,
                              const struct generation *next, bool records, struct outbox *outbox,
                              struct error *error)
{
    const struct checkpointer_options *options = &checkpointer->options;
    struct record again;
    enum run_opening opening;
    enum status status = run_directory_open(&checkpointer->directory, options->disk, options->out,
                                            &checkpointer->job, next->run_id, options->keep,
                                            options->page, &opening, error);
    checkpointer->directory_open = status == STATUS_OK;
    checkpointer->shelf.keep = checkpointer->directory.keep;
    if (checkpointer->directory_open && checkpointer->directory.events.remark.text[0] != '\0')
        outbox_warn(outbox, "%s", checkpointer->directory.events.remark.text);
    if (status == STATUS_OK)
        status = read_record(&again, checkpointer, error);
    if (status == STATUS_OK &&
        (again.found != record->found ||
         (again.found && !generation_equal(&again.written, &record->written))))
        status = error_set(error, STATUS_EXISTS, "another server 0 was faster to take over %.300s",
                           options->out);
    if (status == STATUS_OK)
        status = claim(checkpointer, next, error);
    if (status == STATUS_OK)
        run_directory_begin_at(&checkpointer->directory, checkpointer->reader.manifest.step);
    /* The reader has the values of step 0, and no earlier session's. */
    if (status == STATUS_OK && checkpointer->reader_open && job_has_given(&checkpointer->job) &&
        checkpointer->reader.manifest.step == 0)
        status = initial_keep(&checkpointer->job, options->disk, options->out,
                              checkpointer->reader.arrays[0], error);
    if (status == STATUS_OK)
        status = open_record(checkpointer, records, next->number, outbox, error);
    return status;
}

static enum status open_run(struct checkpointer *checkpointer, const struct order *order,
                            const struct frame *declaration, struct order_run_opened *answer,
                            struct outbox *outbox, struct error *error)
{
    struct record record;
    uint64_t known_run_id = order->open_run.known_run_id;
    enum status status =
        job_decode(declaration->data, (uint32_t)declaration->bytes, &checkpointer->job, error);
    if (status == STATUS_OK)
        status = read_record(&record, checkpointer, error);
    if (status != STATUS_OK)
        return status;
    const struct generation *last = &record.written;
    if (record.ended) {
        answer->ended_run_id = last->run_id;
        answer->exit_code = record.exit_code;
        answer->ended = known_run_id != 0 && known_run_id == last->run_id;
    }
    if (answer->ended) {
        answer->run_id = last->run_id;
        answer->generation = last->number;
        return STATUS_OK;
    }
    bool killed = record.found && !record.ended;
    const struct generation next = {
        .run_id = killed ? last->run_id : order->run_id,
        .number = record.found ? last->number + 1 : 0,
    };
    status = look(checkpointer, &record, outbox, error);
    if (status == STATUS_OK)
        status = take_place(checkpointer, &record, &next, order->open_run.records, outbox, error);
    return status;
}

/* Remove parts that no process will finish; the next snapshot may need their room. */
static void sweep(struct checkpointer *checkpointer, uint64_t before, struct outbox *outbox)
{
    struct error error;
    if (checkpoint_sweep(checkpointer->options.disk, checkpointer->options.out, before, &error) !=
            STATUS_OK &&
        log_once_add(&checkpointer->keeping, error.text))
        outbox_warn(outbox, "left-overs of checkpoints stay: %s", error.text);
}

/* The run as claimed, or the reason against it. */
static void answer_opened(struct checkpointer *checkpointer, struct order_run_opened opened,
                          enum status status, const struct error *error, struct outbox *outbox)
{
    opened.status = status;
    if (status != STATUS_OK) {
        snprintf(opened.text, sizeof opened.text, "%s", error->text);
        reader_close(checkpointer);
    } else if (!opened.ended) {
        opened.run_id = checkpointer->claim.run_id;
        opened.generation = checkpointer->claim.number;
        opened.restore = checkpointer->reader_open;
        opened.restore_step = checkpointer->reader.manifest.step;
        opened.so_far = checkpointer->reader.manifest.so_far;
        event(outbox->listener, EVENT_OPENED, .step = opened.restore_step);
    }
    order_add(outbox, TO_COORDINATOR, 0,
              &(struct order){
                  .kind = ORDER_RUN_OPENED, .generation = opened.generation, .run_opened = opened});
}

/* A server 0 that is killed again and again between writing a checkpoint and removing an older
 * one would leave ever more of them. The newest whole one stays: it is about to be loaded. */
static void prune_left_overs(struct checkpointer *checkpointer, struct outbox *outbox)
{
    const struct checkpointer_options *options = &checkpointer->options;
    uint64_t newest;
    struct error error;
    if (checkpoint_list(options->disk, options->out, &newest, 1) <=
        checkpoint_shelf_keep(&checkpointer->shelf))
        return; /* None need be read to see which are whole. */
    if (checkpoint_prune(options->disk, options->out, &checkpointer->shelf, &error) != STATUS_OK &&
        log_once_add(&checkpointer->keeping, error.text))
        outbox_warn(outbox, "old checkpoints stay: %s", error.text);
}

static void handle_open_run(struct checkpointer *checkpointer, const struct order *order,
                            const struct frame *declaration, struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    struct order_run_opened opened = {0};
    enum status status = open_run(checkpointer, order, declaration, &opened, outbox, &error);
    if (status == STATUS_OK && !opened.ended) {
        sweep(checkpointer, UINT64_MAX, outbox); /* Their writers are of an older generation. */
        prune_left_overs(checkpointer, outbox);
    }
    answer_opened(checkpointer, opened, status, &error, outbox);
}

/* The job goes back to a checkpoint, under a new generation. */
static enum status go_back(struct checkpointer *checkpointer, uint64_t number,
                           struct outbox *outbox, struct error *error)
{
    const struct generation next = {.run_id = checkpointer->claim.run_id, .number = number};
    assert(number > checkpointer->claim.number);
    enum status status = checkpointer_check_claim(checkpointer, error);
    if (status == STATUS_OK)
        status = claim(checkpointer, &next, error);
    if (status != STATUS_OK)
        return status;
    begin_generation(checkpointer, number);
    memset(checkpointer->asked, 0, sizeof checkpointer->asked);
    sweep(checkpointer, UINT64_MAX, outbox); /* Their writers are of an older generation. */
    checkpointer->snapshot_failed = false;
    bool passed_over;
    status = find_checkpoint(checkpointer, &passed_over, outbox, error);
    const struct checkpoint_reader *reader = &checkpointer->reader;
    run_chronicle_go_back(&checkpointer->chronicle, &reader->manifest.record, reader->manifest.step,
                          reader->version, number);
    return status;
}

static void handle_go_back(struct checkpointer *checkpointer, uint64_t number,
                           struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    enum status status = go_back(checkpointer, number, outbox, &error);
    answer_opened(checkpointer, (struct order_run_opened){0}, status, &error, outbox);
}

/* --- loading ------------------------------------------------------------------------------- */

static void send_array(struct checkpointer *checkpointer, uint32_t chunk, uint32_t array,
                       enum destination to, struct outbox *outbox)
{
    const struct chunk_range *range = &checkpointer->plan->partition.chunks[chunk];
    struct frame *frame = frame_create(range->count * sizeof(float));
    if (frame == NULL) {
        outbox_log(outbox, "out of memory while loading a checkpoint");
        return; /* The start deadline ends the job. */
    }
    memcpy(frame->data, checkpointer->reader.arrays[array] + range->first, frame->bytes);
    struct packet *packet = say(checkpointer, to, MESSAGE_CHUNK_STATE, outbox);
    packet->payload = frame;
    packet->message.chunk_state = (struct message_chunk_state){
        .step = checkpointer->reader.manifest.step,
        .first = range->first,
        .count = range->count,
        .array = array,
        .server = range->server,
        .version = job_accumulates(&checkpointer->plan->job) ? checkpointer->reader.version : 0,
    };
}

static void send_chunks(struct checkpointer *checkpointer, uint32_t server, enum destination to,
                        struct outbox *outbox)
{
    assert(checkpointer->plan != NULL && checkpointer->reader_open);
    const struct partition *partition = &checkpointer->plan->partition;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        for (uint32_t array = 0;
             partition->chunks[i].server == server && array < checkpointer->reader.array_count;
             array++)
            send_array(checkpointer, i, array, to, outbox);
}

/* Whether this server sees server 0's run directory: `out` here holds this very generation of
 * the run. */
static bool sees(const struct checkpointer *checkpointer, const char *out, uint64_t run_id)
{
    struct generation found;
    return generation_read(&found, checkpointer->options.disk, out, NULL) == STATUS_OK &&
           found.run_id == run_id && found.number == checkpointer->generation && !found.ended;
}

static enum status make_parts(struct checkpointer *checkpointer, uint32_t count,
                              struct error *error)
{
    if (checkpointer->part_count == count)
        return STATUS_OK;
    assert(checkpointer->parts == NULL); /* A job's servers stay as they are. */
    checkpointer->parts = calloc(count, sizeof *checkpointer->parts);
    if (checkpointer->parts == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for checkpoints");
    checkpointer->part_count = count;
    return STATUS_OK;
}

static enum status load(struct checkpointer *checkpointer, const struct order *order,
                        struct error *error)
{
    const struct order_load *load = &order->load;
    bool first = checkpointer->options.server == 0;
    begin_generation(checkpointer, order->generation);
    checkpointer->plan = load->plan;
    checkpointer->records = load->records;
    enum status status = make_parts(checkpointer, load->plan->job.server_count, error);
    if (status != STATUS_OK)
        return status;
    checkpointer->shared = first || sees(checkpointer, load->out, order->run_id);
    if (!first)
        snprintf(checkpointer->options.out, sizeof checkpointer->options.out, "%s", load->out);
    if (first && load->restore && !checkpointer->reader_open)
        return error_set(error, STATUS_NOT_FOUND, "the checkpoint to load is not open any more");
    return STATUS_OK;
}

static void handle_load(struct checkpointer *checkpointer, const struct order *order,
                        struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    bool first = checkpointer->options.server == 0;
    if (order->generation < checkpointer->generation)
        return;
    enum status status = load(checkpointer, order, &error);
    struct order answer = {.kind = ORDER_LOADED,
                           .from = ORDER_FROM_CHECKPOINTER,
                           .generation = checkpointer->generation,
                           .loaded = {.status = status,
                                      .shared = checkpointer->shared,
                                      .needs_chunks = order->load.restore && !first}};
    snprintf(answer.loaded.text, sizeof answer.loaded.text, "%s", error.text);
    order_add(outbox, TO_ROUTER, 0, &answer);
    if (status == STATUS_OK && order->load.restore && first)
        send_chunks(checkpointer, 0, TO_ROUTER, outbox);
    for (uint32_t i = 0; status == STATUS_OK && i < checkpointer->part_count; i++)
        if (checkpointer->asked[i] && checkpointer->reader_open)
            send_chunks(checkpointer, i, TO_COORDINATOR, outbox);
    memset(checkpointer->asked, 0, sizeof checkpointer->asked);
}

/* Another server may have its plan first; then it waits for ours. */
static void handle_send_chunks(struct checkpointer *checkpointer, uint32_t server,
                               struct outbox *outbox)
{
    if (server == ORDER_EVERYBODY)
        reader_close(checkpointer);
    else if (checkpointer->plan == NULL && server < JOB_SERVERS_MAX)
        checkpointer->asked[server] = true;
    else if (checkpointer->reader_open)
        send_chunks(checkpointer, server, TO_COORDINATOR, outbox);
}

/* --- cutting ------------------------------------------------------------------------------- */

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

/* Of one chunk: its values, its slots and, where the run is recorded, its log and its page of
 * descriptions. */
static uint32_t arrays_of(const struct checkpointer *checkpointer)
{
    return 1 + checkpointer->plan->slots.count + (checkpointer->records ? 2 : 0);
}

static bool part_begin(struct part *part, uint64_t step, uint32_t chunks, uint32_t arrays)
{
    part_clear(part);
    *part = (struct part){.step = step};
    part->chunks = calloc(chunks, sizeof *part->chunks);
    part->frames = calloc((size_t)chunks * arrays, sizeof *part->frames);
    return part->chunks != NULL && part->frames != NULL;
}

static int by_first(const void *a, const void *b)
{
    const struct checkpoint_chunk *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The model file's parts are read back here, unless another digest reads them. */
static enum status write_out(struct checkpointer *checkpointer, uint32_t server,
                             struct checkpoint_part *written, struct error *error)
{
    struct part *part = &checkpointer->parts[server];
    part->proven = part->step == checkpointer->plan->job.steps;
    enum status status = checkpoint_write_part(
        checkpointer->options.disk, checkpointer->options.out, part->step, checkpointer->generation,
        server, checkpointer->part_count, checkpointer->plan->slots, part->chunks,
        part->chunk_count, part->proven, written, error);
    part->proven = part->proven && status == STATUS_OK;
    if (part->proven)
        part->written = *written;
    return status;
}

/* In order of place, not of arrival. The last snapshot may be written twice, and then needs the
 * announced bytes. */
static void write_part(struct checkpointer *checkpointer, uint32_t server, struct outbox *outbox)
{
    struct part *part = &checkpointer->parts[server];
    if (checkpointer->options.server == 0 && checkpointer->snapshot_failed &&
        checkpointer->snapshot_step < part->step)
        sweep(checkpointer, part->step, outbox);
    checkpointer->snapshot_step = part->step;
    checkpointer->snapshot_failed = true; /* Until the manifest is written. */
    qsort(part->chunks, part->chunk_count, sizeof *part->chunks, by_first);
    event(outbox->listener, EVENT_WRITES, .step = part->step);
    struct error error = {STATUS_OK, ""};
    struct packet *packet = say(checkpointer, TO_COORDINATOR, MESSAGE_PART_WRITTEN, outbox);
    struct message_part_written *written = &packet->message.part_written;
    written->step = part->step;
    written->server = server;
    enum status status = write_out(checkpointer, server, &written->part, &error);
    if (status == STATUS_OK && checkpointer->records)
        status =
            part_entries_write(checkpointer->options.disk, checkpointer->options.out, part->step,
                               checkpointer->generation, server, checkpointer->part_count,
                               part->chunks, part->chunk_count, &error);
    written->written = status == STATUS_OK;
    if (written->written)
        event(outbox->listener, EVENT_PART, .step = part->step, .bytes = written->part.bytes);
    snprintf(written->text, sizeof written->text, "%s", error.text);
    part_clear(part);
}

/* Give the snapshot up at once, not when it has taken too long. */
static void say_no_memory(struct checkpointer *checkpointer,
                          const struct message_chunk_state *state, struct outbox *outbox)
{
    struct packet *packet = say(checkpointer, TO_COORDINATOR, MESSAGE_PART_WRITTEN, outbox);
    struct message_part_written *written = &packet->message.part_written;
    written->step = state->step;
    written->server = state->server;
    snprintf(written->text, sizeof written->text, "out of memory for a checkpoint");
}

/* Whether state names one chunk of its server, and the payload is that array. */
static bool state_fits(const struct checkpointer *checkpointer, const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    const uint32_t *entries;
    uint32_t count;
    if (checkpointer->plan == NULL || packet->payload == NULL ||
        state->server >= checkpointer->part_count)
        return false;
    if (state->array == CHECKPOINT_ENTRIES) {
        if (!checkpointer->records || !update_log_unpack(packet->payload, &entries, &count))
            return false;
    } else if (state->array == CHECKPOINT_DESCRIPTIONS) {
        if (!checkpointer->records || !descriptions_is_page(packet->payload))
            return false;
    } else if (packet->payload->bytes != state->count * sizeof(float) ||
               (state->array > checkpointer->plan->slots.count &&
                (state->array != CHECKPOINT_SCORED || !checkpointer->plan->job.keep_scored))) {
        return false;
    }
    uint32_t chunk = plan_chunk_at(checkpointer->plan, state->first);
    const struct chunk_range *range = &checkpointer->plan->partition.chunks[chunk];
    return chunk < checkpointer->plan->partition.chunk_count && range->count == state->count &&
           range->server == state->server;
}

static void handle_chunk_state(struct checkpointer *checkpointer, struct packet *packet,
                               struct outbox *outbox)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    if (!state_fits(checkpointer, packet) || packet->message.generation < checkpointer->generation)
        return;
    if (packet->message.generation >
        checkpointer->generation) /* Taken over without loading: async. */
        begin_generation(checkpointer, packet->message.generation);
    bool scored = state->array == CHECKPOINT_SCORED;
    if (scored && checkpointer->options.server == 0) {
        kept_model_add(checkpointer, packet, outbox);
        return;
    }
    if (!checkpointer->shared || scored) { /* Server 0 keeps it for us. */
        *outbox_add(outbox, TO_COORDINATOR, MESSAGE_CHUNK_STATE) = *packet;
        packet->payload = NULL;
        return;
    }
    struct part *part = &checkpointer->parts[state->server];
    /* Of an old snapshot: it must not push out the one under way. */
    if (state->step < part->step)
        return;
    uint32_t chunks = plan_chunks_of(checkpointer->plan, state->server);
    uint32_t arrays = arrays_of(checkpointer);
    if ((part->chunks == NULL || part->step != state->step) &&
        !part_begin(part, state->step, chunks, arrays)) {
        part_clear(part);
        say_no_memory(checkpointer, state, outbox);
        return;
    }
    struct checkpoint_chunk *chunk = part_chunk(part, state);
    const uint32_t **words = state->array == CHECKPOINT_ENTRIES        ? &chunk->entries
                             : state->array == CHECKPOINT_DESCRIPTIONS ? &chunk->descriptions
                                                                       : NULL;
    if (words != NULL ? *words != NULL : chunk->arrays[state->array] != NULL)
        return; /* Repeated. */
    if (words != NULL) {
        *words = packet->payload->data;
    } else {
        chunk->arrays[state->array] = packet->payload->data;
        chunk->version = job_version(&checkpointer->plan->job, state->step, state->version);
    }
    part->frames[part->arrays_received++] = packet->payload;
    packet->payload = NULL;
    if (part->arrays_received == chunks * arrays)
        write_part(checkpointer, state->server, outbox);
}

static enum status write_manifest(struct checkpointer *checkpointer, const struct order *order,
                                  const struct frame *parts, struct error *error)
{
    struct manifest manifest = {
        .job = checkpointer->job,
        .run_id = checkpointer->claim.run_id,
        .step = order->manifest.step,
        .so_far = order->manifest.so_far,
        .record = run_chronicle_record(&checkpointer->chronicle),
        .part_count = checkpointer->part_count,
        .parts = parts->data,
    };
    enum status status = checkpointer_check_claim(checkpointer, error);
    if (status == STATUS_OK)
        status = checkpoint_write_manifest(checkpointer->options.disk, checkpointer->options.out,
                                           &manifest, error);
    return status;
}

/* One more checkpoint is whole: remove the oldest. */
static void prune(struct checkpointer *checkpointer, uint64_t step, struct outbox *outbox)
{
    struct error error;
    checkpoint_shelf_add(&checkpointer->shelf, step);
    if (checkpoint_prune(checkpointer->options.disk, checkpointer->options.out,
                         &checkpointer->shelf, &error) != STATUS_OK) {
        if (log_once_add(&checkpointer->keeping, error.text))
            outbox_warn(outbox, "old checkpoints stay: %s", error.text);
        return;
    }
    sweep(checkpointer, step, outbox);
}

static void say_written(const struct checkpointer *checkpointer, enum order_kind kind,
                        enum status status, uint64_t step, const struct error *error,
                        struct outbox *outbox)
{
    struct order order = {.kind = kind,
                          .generation = checkpointer->generation,
                          .written = {.status = status, .step = step}};
    snprintf(order.written.text, sizeof order.written.text, "%s", error->text);
    order_add(outbox, TO_COORDINATOR, 0, &order);
}

static void handle_manifest(struct checkpointer *checkpointer, const struct order *order,
                            const struct frame *parts, struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    struct leaf_sets sets;
    size_t behind = checkpointer->part_count * sizeof(struct checkpoint_part);
    uint64_t step = order->manifest.step;
    if (checkpointer->plan == NULL || order->generation < checkpointer->generation)
        return;
    checkpointer->chronicle.instructions = order->manifest.instructions;
    /* Before the record too, which a successor goes on with. */
    enum status status = checkpointer_check_claim(checkpointer, &error);
    if (!leaf_sets_open(&sets, (const char *)parts->data + behind, parts->bytes - behind))
        sets.left = 0;
    if (status == STATUS_OK)
        status = record_interval_write(checkpointer, step, sets, outbox, &error);
    if (status == STATUS_OK)
        status = write_manifest(checkpointer, order, parts, &error);
    if (status == STATUS_OK) {
        run_chronicle_commit(&checkpointer->chronicle, step);
        checkpointer->snapshot_failed =
            checkpointer->snapshot_failed && checkpointer->snapshot_step > step;
        prune(checkpointer, step, outbox);
    }
    if (status == STATUS_OK)
        event(outbox->listener, EVENT_MANIFEST, .step = step);
    say_written(checkpointer, ORDER_MANIFEST_WRITTEN, status, step, &error, outbox);
}

/* --- the run directory --------------------------------------------------------------------- */

static void say_of_board(struct checkpointer *checkpointer, struct outbox *outbox)
{
    struct error remark;
    if (board_take_remark(&checkpointer->board, &remark))
        outbox_warn(outbox, "%s", remark.text);
}

/* One line. Training goes on without it where it cannot be written. */
static void handle_event(struct checkpointer *checkpointer, const struct order_event *event,
                         const struct frame *staleness, struct outbox *outbox)
{
    struct run_directory *directory = &checkpointer->directory;
    uint64_t lost;
    if (!checkpointer->directory_open)
        return;
    run_directory_event(directory, event->name, event->members);
    if (directory->events.missing > 0) {
        if (log_once_add(&checkpointer->journal, directory->events.error.text))
            outbox_warn(outbox, "events are lost: %s", directory->events.error.text);
    } else if ((lost = log_once_end(&checkpointer->journal)) > 0) {
        outbox_log(outbox, "events are written again; %" PRIu64 " were lost", lost);
    }
    board_event(&checkpointer->board, event->name, event->members,
                staleness != NULL ? staleness->data : NULL);
    say_of_board(checkpointer, outbox);
}

/* The run's first checkpoint, which it never went beyond. */
static enum status open_first(struct checkpointer *checkpointer, uint64_t step,
                              struct checkpoint_reader *reader, struct outbox *outbox,
                              struct error *error)
{
    char path[DISK_PATH_MAX];
    checkpoint_path(path, checkpointer->options.out, step);
    bool passed_over;
    enum status status = resume(checkpointer, reader, &passed_over, outbox, error);
    if (status != STATUS_OK || reader->manifest.step == step)
        return status;
    checkpoint_close(reader);
    return error_set(error, STATUS_NOT_FOUND, "%.300s is missing", path);
}

/* Of a run that wrote no checkpoint of its own. */
static enum status export_first(struct checkpointer *checkpointer, struct run_summary *summary,
                                struct outbox *outbox, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    enum status status = open_first(checkpointer, summary->step, &reader, outbox, error);
    if (status != STATUS_OK)
        return status;
    const struct job *job = &checkpointer->job;
    summary->versions = job_accumulates(job) ? reader.version : 0;
    snprintf(path, sizeof path, "%s/model.safetensors", checkpointer->options.out);
    status = model_file_write(checkpointer->options.disk, path, job->model, job->variables,
                              job->variable_count, reader.arrays[0], summary->model_sha256, error);
    if (status == STATUS_OK)
        parameters_sha256(job->variables, job->variable_count, reader.arrays[0],
                          summary->parameters_sha256);
    checkpoint_close(&reader);
    return status;
}

/* Parts that were written and read back here need no second reading. */
static void trust_own(const struct checkpointer *checkpointer, uint64_t step,
                      struct checkpoint_reader *values)
{
    for (uint32_t i = 0; i < checkpointer->part_count && i < values->manifest.part_count; i++)
        if (checkpointer->parts[i].proven && checkpointer->parts[i].step == step)
            checkpoint_trust(values, i, &checkpointer->parts[i].written);
}

/* The model of the checkpoint just written. Reading it back also proves it. */
static enum status export_model(struct checkpointer *checkpointer, struct run_summary *summary,
                                struct outbox *outbox, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct checkpoint_reader values;
    const struct job *job = &checkpointer->job;
    const struct checkpointer_options *options = &checkpointer->options;
    checkpoint_path(path, options->out, summary->step);
    enum status status = checkpoint_open_headers(&values, options->disk, path, error);
    if (status == STATUS_NOT_FOUND)
        return export_first(checkpointer, summary, outbox, error);
    if (status != STATUS_OK)
        return status;
    summary->versions = job_accumulates(job) ? values.version : 0;
    trust_own(checkpointer, summary->step, &values);
    snprintf(path, sizeof path, "%s/model.safetensors", options->out);
    status = model_file_export(options->disk, path, job->model, job->variables, job->variable_count,
                               &values, summary->model_sha256, summary->parameters_sha256, error);
    checkpoint_close(&values);
    return status;
}

/* Later sessions learn from it how the run ended. Where it cannot be written, run.json says so
 * already: see read_record. */
static void close_generation(struct checkpointer *checkpointer, const struct run_summary *summary)
{
    struct generation ended = checkpointer->claim;
    ended.ended = true;
    ended.exit_code = summary->exit_code;
    if (ended.exit_code > EXIT_CODE_MAX || (ended.exit_code == 0 && summary->state != RUN_DONE))
        ended.exit_code = exit_code_of(summary->state);
    claim(checkpointer, &ended, NULL);
}

static enum status write_summary(struct checkpointer *checkpointer, struct run_summary *summary,
                                 struct outbox *outbox, struct error *error)
{
    enum status status = checkpointer_check_claim(checkpointer, error);
    if (status != STATUS_OK)
        return status;
    if (summary->state == RUN_DONE || summary->state == RUN_STOPPED) {
        status = export_model(checkpointer, summary, outbox, error);
        /* Stopped before it began: there is no model. */
        if (status == STATUS_NOT_FOUND && summary->state == RUN_STOPPED && summary->step == 0)
            status = STATUS_OK;
        if (status != STATUS_OK) {
            summary->state = RUN_FAILED;
            summary->exit_code = EXIT_CANNOT_OPEN;
            snprintf(summary->reason, sizeof summary->reason, "%s", error->text);
        }
    }
    run_chronicle_size(&checkpointer->chronicle, &summary->record.files, &summary->record.bytes);
    summary->record.computations = checkpointer->chronicle.next_computation > 0
                                       ? checkpointer->chronicle.next_computation - 1
                                       : 0;
    summary->record.ended =
        run_chronicle_has_ended(&checkpointer->chronicle, &summary->record.ends_at);
    struct error writing;
    enum status wrote = STATUS_OK;
    /* By the clock of the summary's sender. */
    const struct disk *disk = checkpointer->options.disk;
    run_phases_enter(&summary->phases, RUN_PHASE_END,
                     (uint64_t)(disk->seconds(disk->context) * 1e6));
    if (checkpointer->directory_open)
        wrote = run_directory_summary(&checkpointer->directory, &checkpointer->job,
                                      checkpointer->claim.run_id, summary, &writing);
    if (wrote == STATUS_OK)
        close_generation(checkpointer, summary);
    if (wrote == STATUS_OK || status != STATUS_OK)
        return status;
    *error = writing;
    return wrote;
}

/* Of a run that goes on: its faults outlive this process. What cannot be written now may be with
 * the next. */
static void note_faults(struct checkpointer *checkpointer, const struct run_faults *faults)
{
    if (checkpointer->directory_open && checkpointer_check_claim(checkpointer, NULL) == STATUS_OK)
        run_directory_note(&checkpointer->directory, &checkpointer->job, checkpointer->claim.run_id,
                           faults, NULL);
}

/* The payload is a struct run_summary and its workers behind it. */
static void handle_summary(struct checkpointer *checkpointer, const struct frame *frame,
                           struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    struct run_summary summary;
    memcpy(&summary, frame->data, sizeof summary);
    summary.workers =
        (const struct worker_summary *)(const void *)((const char *)frame->data + sizeof summary);
    if (summary.state == RUN_RUNNING) {
        note_faults(checkpointer, &summary.faults);
        return;
    }
    enum status status = write_summary(checkpointer, &summary, outbox, &error);
    if (checkpointer->directory_open)
        board_end(&checkpointer->board, &summary);
    say_of_board(checkpointer, outbox);
    if (status == STATUS_OK)
        event(outbox->listener, EVENT_SUMMARY);
    say_written(checkpointer, ORDER_SUMMARY_WRITTEN, status, summary.step, &error, outbox);
}

/* The oldest makes room: nothing of it is applied any more. */
static void note_gone(struct checkpointer *checkpointer, const struct order *order)
{
    struct checkpointer *k = checkpointer;
    if (order->generation != k->generation)
        return;
    k->gone_count -= k->gone_count == GONE_MAX;
    memmove(k->gone + 1, k->gone, k->gone_count++ * sizeof *k->gone);
    k->gone[0] = (struct run_record_gone){order->gone.ticket, order->gone.clock};
}

static void obey(struct checkpointer *checkpointer, const struct order *order,
                 struct frame *payload, struct outbox *outbox)
{
    switch (order->kind) {
    case ORDER_OPEN_RUN:
        handle_open_run(checkpointer, order, payload, outbox);
        break;
    case ORDER_GO_BACK:
        handle_go_back(checkpointer, order->generation, outbox);
        break;
    case ORDER_LOAD:
        handle_load(checkpointer, order, outbox);
        break;
    case ORDER_SEND_CHUNKS:
        handle_send_chunks(checkpointer, order->send_chunks.server, outbox);
        break;
    case ORDER_GONE:
        note_gone(checkpointer, order);
        break;
    case ORDER_MANIFEST:
        handle_manifest(checkpointer, order, payload, outbox);
        break;
    case ORDER_EVENT:
        handle_event(checkpointer, &order->event, payload, outbox);
        break;
    case ORDER_SUMMARY:
        handle_summary(checkpointer, payload, outbox);
        break;
    default:
        assert(!"an order that checkpointers do not take");
    }
}

void checkpointer_handle(struct checkpointer *checkpointer, struct packet *packet,
                         struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    if (order != NULL)
        obey(checkpointer, order, packet->payload, outbox);
    else if (packet->message.kind == MESSAGE_CHUNK_STATE)
        handle_chunk_state(checkpointer, packet, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !checkpointer->options.unchecked)
        checkpointer_check(checkpointer);
}

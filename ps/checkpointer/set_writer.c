/* set_writer.c - one handler for each order that it takes. */

#include "ps/checkpointer/set_writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/steps/leaf_set.h"

void set_writer_init(struct set_writer *writer, const struct disk *disk, const char *out)
{
    memset(writer, 0, sizeof *writer);
    writer->disk = disk;
    snprintf(writer->out, sizeof writer->out, "%s", out);
}

/* --- a run, and again after each going back ------------------------------------------------ */

/* The sets of steps from `step` on that were sent; or NULL: none is known. */
static enum status read_sets(const struct set_writer *writer, uint64_t step, struct frame **sets,
                             struct outbox *outbox, struct error *error)
{
    void *list = NULL;
    size_t count = 0;
    char damaged[DISK_PATH_MAX] = "";
    if (writer->log.disk == NULL)
        return STATUS_OK;
    enum status status = set_log_read(writer->disk, writer->out, writer->session, writer->job, step,
                                      &list, &count, damaged, error);
    if (status != STATUS_OK)
        return status;
    if (damaged[0] != '\0')
        outbox_warn(outbox, "%.300s is damaged: what is behind is decided anew", damaged);
    *sets = frame_create(count);
    if (*sets == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory for what steps are made of");
    else if (count > 0)
        memcpy((*sets)->data, list, count);
    free(list);
    return status;
}

static enum status open_log(struct set_writer *writer, uint64_t session, struct error *error)
{
    writer->log = (struct set_log){.disk = NULL};
    writer->session = session;
    if (session == 0)
        return STATUS_OK;
    return set_log_open(&writer->log, writer->disk, writer->out, session, writer->job, error);
}

static void handle_run_opened(struct set_writer *writer, const struct order *order,
                              const struct frame *payload, struct outbox *outbox)
{
    const struct sets_place *place = payload->data;
    struct error error = {STATUS_OK, ""};
    struct order answer = *order;
    struct order_run_opened *opened = &answer.run_opened;
    struct frame *sets = NULL;
    writer->job = place->job;
    writer->claim = (struct generation){.run_id = opened->run_id, .number = opened->generation};
    if (place->begins)
        opened->status = open_log(writer, place->session, &error);
    if (opened->status == STATUS_OK)
        opened->status = read_sets(writer, opened->restore_step, &sets, outbox, &error);
    if (opened->status != STATUS_OK)
        snprintf(opened->text, sizeof opened->text, "%s", error.text);
    order_add(outbox, TO_COORDINATOR, 0, &answer)->payload = sets;
}

/* --- sets ---------------------------------------------------------------------------------- */

static enum status check_claim(const struct set_writer *writer, struct error *error)
{
    struct generation found;
    enum status status = generation_read(&found, writer->disk, writer->out, error);
    if (status == STATUS_OK && !generation_equal(&found, &writer->claim))
        return error_set(error, STATUS_EXISTS, "another server 0 has taken over this run");
    return status;
}

/* Write it, without waiting for the device. */
static void handle_sets(struct set_writer *writer, const struct order *order,
                        const struct frame *list, struct outbox *outbox)
{
    struct error error = {STATUS_OK, ""};
    enum status status = STATUS_NOT_FOUND;
    if (order->generation != writer->claim.number) /* All have gone back since. */
        return;
    if (writer->log.disk == NULL)
        error_set(&error, status, "the record of this run has ended");
    else
        status = check_claim(writer, &error);
    if (status == STATUS_OK)
        status = set_log_append(&writer->log, list->data, list->bytes, &error);
    struct order written = {
        .kind = ORDER_SETS_WRITTEN,
        .generation = order->generation,
        .written = {.status = status,
                    .step = status == STATUS_OK ? order->sets.end : order->sets.first}};
    snprintf(written.written.text, sizeof written.written.text, "%s", error.text);
    order_add(outbox, TO_COORDINATOR, 0, &written);
}

void set_writer_handle(struct set_writer *writer, struct packet *packet, struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    assert(order != NULL && (order->kind == ORDER_RUN_OPENED || order->kind == ORDER_SETS));
    if (order->kind == ORDER_RUN_OPENED)
        handle_run_opened(writer, order, packet->payload, outbox);
    else
        handle_sets(writer, order, packet->payload, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
}

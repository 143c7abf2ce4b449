/* breakdown.c - times as people write them, wrapped with an indent. */

#include "deploy/simulate/breakdown.h"

#include "common/base/wording.h"
#include "common/wire/message.h"
#include "deploy/cluster/quantity.h"
#include "deploy/engine/engine.h"

#define TEXT_MAX 400
#define NAME_MAX 64

struct name {
    char text[NAME_MAX];
};

/* --- names ----------------------------------------------------------------------------------- */

static struct name name_process(const struct breakdown *breakdown, uint32_t number)
{
    const struct simulated_process *process = breakdown->engine->processes[number];
    struct name name;
    snprintf(name.text, sizeof name.text, "%s/%u", process->is_server ? "ps" : "worker",
             process->index);
    return name;
}

static struct name name_receiver(const struct breakdown *breakdown, const struct parcel *parcel)
{
    const struct network_wire *wire = &breakdown->engine->network.wires[parcel->wire];
    struct name name;
    if (!parcel->up)
        return name_process(breakdown, wire->client);
    snprintf(name.text, sizeof name.text, "ps/%u", wire->server);
    return name;
}

static struct name name_message(const struct message *message)
{
    struct name name = {""};
    wording_append(name.text, sizeof name.text, "%s", message_kind_name(message->kind));
    if (message->kind == MESSAGE_EXCHANGE)
        wording_append(name.text, sizeof name.text, " of chunk %u", message->exchange.chunk);
    if (message->kind == MESSAGE_RESULT)
        wording_append(name.text, sizeof name.text, " of chunk %u", message->result.chunk);
    return name;
}

static struct name name_parcel(const struct parcel *parcel)
{
    struct message message;
    struct error error;
    if (message_decode(parcel->header, parcel->header_bytes, &message, &error) != STATUS_OK)
        return (struct name){"message"};
    return name_message(&message);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void print_line(const struct breakdown *breakdown, uint64_t at_ns, const char *text)
{
    int column = fprintf(breakdown->out, "%11.3f ms  ", (double)at_ns * 1e-6);
    wording_wrap(breakdown->out, text, column, column);
}

static void say_arrived(void *context, const struct parcel *parcel, const struct delivery *delivery)
{
    const struct breakdown *breakdown = context;
    char text[TEXT_MAX] = "";
    uint64_t before_ns = delivery->begun_ns - delivery->sent_ns;
    uint64_t known_ns = delivery->latency_ns + delivery->timers_ns;
    wording_append(text, sizeof text, "%s -> %s  %s, %s: sent at %.3f ms; latency %s",
                   name_process(breakdown, parcel->from).text,
                   name_receiver(breakdown, parcel).text, name_parcel(parcel).text,
                   wording_bytes(delivery->bytes).text, (double)delivery->sent_ns * 1e-6,
                   quantity_time(delivery->latency_ns).text);
    if (delivery->timers_ns > 0)
        wording_append(text, sizeof text, ", timers %s: it was lost, or the switch was full",
                       quantity_time(delivery->timers_ns).text);
    if (before_ns > known_ns)
        wording_append(text, sizeof text, ", queue %s behind others of its connection",
                       quantity_time(before_ns - known_ns).text);
    wording_append(text, sizeof text, ", wire %s",
                   quantity_time(delivery->at_ns - delivery->begun_ns).text);
    print_line(breakdown, delivery->at_ns, text);
}

struct nics_watcher breakdown_watcher(struct breakdown *breakdown)
{
    return (struct nics_watcher){.context = breakdown, .arrived = say_arrived};
}

/* Its finished work is still the current item. */
static void append_computing(const struct trainer *trainer, char *text)
{
    if (trainer->work.shares > 0)
        wording_append(text, TEXT_MAX, "scored its share");
    else
        wording_append(
            text, TEXT_MAX, "computed %s",
            wording_counted(trainer->work.nodes[trainer->node_next].leaf_count, "leaf", "leaves")
                .text);
}

/* "took worker/1's exchange of chunk 1 off the wire" */
static void append_done(const struct breakdown *breakdown, const struct simulated_process *process,
                        const struct labour_done *done, char *text)
{
    if (done->labour == LABOUR_RECEIVE)
        wording_append(text, TEXT_MAX, "took %s's %s off the wire",
                       name_process(breakdown, done->parcel->from).text,
                       name_parcel(done->parcel).text);
    else if (done->labour == LABOUR_SEND)
        wording_append(text, TEXT_MAX, "put %s on the wire",
                       name_message(&done->item->packet.message).text);
    else if (done->labour == LABOUR_APPLY)
        wording_append(text, TEXT_MAX, "applied a gradient, the %s",
                       name_message(&done->item->packet.message).text);
    else
        append_computing(&process->worker.trainer, text);
}

void breakdown_worked(void *context, const struct simulated_process *process,
                      const struct labour_done *done)
{
    const struct breakdown *breakdown = context;
    char text[TEXT_MAX] = "";
    if (done->worked_ns == 0)
        return;
    wording_append(text, sizeof text, "%s ", name_process(breakdown, process->number).text);
    append_done(breakdown, process, done, text);
    wording_append(text, sizeof text, ": ");
    if (done->waited_ns > 0)
        wording_append(text, sizeof text, "queue %s, ", quantity_time(done->waited_ns).text);
    wording_append(text, sizeof text, "processor %s", quantity_time(done->worked_ns).text);
    if (done->took_ns > done->worked_ns)
        wording_append(text, sizeof text, ", which others had meanwhile for %s",
                       quantity_time(done->took_ns - done->worked_ns).text);
    print_line(breakdown, breakdown->engine->now_ns, text);
}

/* terms.c - times as people write them, wrapped below where a line's text begins. */

#include "deploy/simulate/terms.h"

#include <inttypes.h>

#include "common/base/wording.h"
#include "common/wire/message.h"
#include "deploy/cluster/quantity.h"
#include "deploy/engine/engine.h"

#define TEXT_MAX 400

static void print_line(const struct terms *terms, uint64_t at_ns, const char *text)
{
    int column = fprintf(terms->out, "%11.3f ms  ", (double)at_ns * 1e-6);
    wording_wrap(terms->out, text, column, column);
}

static void name_process(const struct terms *terms, uint32_t number, char *text, size_t size)
{
    const struct simulated_process *process = terms->engine->processes[number];
    snprintf(text, size, "%s/%u", process->is_server ? "ps" : "worker", process->index);
}

static void name_message(const struct parcel *parcel, char *text, size_t size)
{
    struct message message;
    struct error error;
    text[0] = '\0';
    if (message_decode(parcel->header, parcel->header_bytes, &message, &error) != STATUS_OK)
        return;
    wording_append(text, size, "%s", message_kind_name(message.kind));
    if (message.kind == MESSAGE_EXCHANGE)
        wording_append(text, size, " chunk %u", message.exchange.chunk);
    if (message.kind == MESSAGE_RESULT)
        wording_append(text, size, " chunk %u", message.result.chunk);
}

static void say_arrived(void *context, const struct parcel *parcel, const struct delivery *delivery)
{
    const struct terms *terms = context;
    const struct network_wire *wire = &terms->engine->network.wires[parcel->wire];
    char from[32], to[32], what[64], text[TEXT_MAX] = "";
    uint64_t before_ns = delivery->begun_ns - delivery->sent_ns;
    uint64_t known_ns = delivery->latency_ns + delivery->timers_ns;
    name_process(terms, parcel->from, from, sizeof from);
    if (parcel->up)
        snprintf(to, sizeof to, "ps/%u", wire->server);
    else
        name_process(terms, wire->client, to, sizeof to);
    name_message(parcel, what, sizeof what);
    wording_append(text, sizeof text, "%s -> %s  %s, %s: sent at %.3f ms, %s away", from, to, what,
                   wording_bytes(delivery->bytes).text, (double)delivery->sent_ns * 1e-6,
                   quantity_time(delivery->latency_ns).text);
    if (delivery->timers_ns > 0)
        wording_append(text, sizeof text, ", %s for timers: it was lost, or the switch was full",
                       quantity_time(delivery->timers_ns).text);
    if (before_ns > known_ns)
        wording_append(text, sizeof text, ", %s behind others of its connection",
                       quantity_time(before_ns - known_ns).text);
    wording_append(text, sizeof text, ", %s through the cards",
                   quantity_time(delivery->at_ns - delivery->begun_ns).text);
    print_line(terms, delivery->at_ns, text);
}

struct cards_watcher terms_watcher(struct terms *terms)
{
    return (struct cards_watcher){.context = terms, .arrived = say_arrived};
}

void terms_worked(void *context, const struct simulated_process *process, enum labour labour,
                  uint64_t worked_ns, uint64_t took_ns)
{
    static const char *const words[LABOUR_COUNT] = {"took a message off the wire",
                                                    "put a message on the wire",
                                                    "applied a gradient", "computed"};
    const struct terms *terms = context;
    char text[TEXT_MAX] = "";
    if (worked_ns == 0)
        return;
    wording_append(text, sizeof text, "%s/%u %s: %s of a processor",
                   process->is_server ? "ps" : "worker", process->index, words[labour],
                   quantity_time(worked_ns).text);
    if (took_ns > worked_ns)
        wording_append(text, sizeof text, ", which others shared: %s in all",
                       quantity_time(took_ns).text);
    print_line(terms, terms->engine->now_ns, text);
}

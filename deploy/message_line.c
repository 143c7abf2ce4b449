#include "deploy/message_line.h"

#include <inttypes.h>
#include <stdio.h>

static void exchange_line(const struct message_exchange *it, char *text, size_t size)
{
    int used = snprintf(text, size, " chunk=%u step=%" PRIu64 " base=%" PRIu64, it->chunk, it->step,
                        it->base_version);
    if (used < 0 || (size_t)used >= size)
        return;
    snprintf(text + used, size - (size_t)used, " [%u,%u)%s%s%s%s%s%s want_version=%" PRIu64,
             it->node.first_leaf, it->node.first_leaf + it->node.leaf_count,
             it->gradient ? " gradient" : "", it->retry ? " retry" : "", it->skip ? " skip" : "",
             it->receipt ? " receipt" : "", it->newest ? " newest" : "", it->want ? " want" : "",
             it->want_version);
}

/* What the kinds of one part of the protocol say beside what every message says; each of the three
 * leaves text as it is for all other kinds. */
static void joining_line(const struct message *message, char *text, size_t size)
{
    switch (message->kind) {
    case MESSAGE_WAITING:
    case MESSAGE_PONG:
        snprintf(text, size, " \"%s\"", message->waiting.text);
        break;
    case MESSAGE_REFUSED:
        snprintf(text, size, " reason=%d \"%s\"", message->refused.reason, message->refused.text);
        break;
    case MESSAGE_WELCOME:
        snprintf(text, size, " ticket=%" PRIu64 " restore=%d at %" PRIu64, message->welcome.ticket,
                 message->welcome.restore, message->welcome.restore_step);
        break;
    case MESSAGE_READY:
        snprintf(text, size, "%s%s reached=%" PRIu64, message->ready.shared ? " shared" : "",
                 message->ready.needs_chunks ? " needs_chunks" : "", message->ready.reached);
        break;
    case MESSAGE_START:
        snprintf(text, size,
                 " step=%" PRIu64 " assignment=%u %u of %u stop_step=%" PRIu64 " scored=%" PRIu64,
                 message->start.step, message->start.assignment, message->start.position,
                 message->start.members, message->start.stop_step, message->start.scored);
        break;
    case MESSAGE_PING:
        snprintf(text, size, " step=%" PRIu64 " assignment=%u%s", message->ping.step,
                 message->ping.assignment, message->ping.computing ? " computing" : "");
        break;
    default:
        break;
    }
}

static void training_line(const struct message *message, char *text, size_t size)
{
    switch (message->kind) {
    case MESSAGE_EXCHANGE:
        exchange_line(&message->exchange, text, size);
        break;
    case MESSAGE_RECEIPT:
        snprintf(text, size, " chunk=%u step=%" PRIu64 " [%u,%u) %s", message->receipt.chunk,
                 message->receipt.step, message->receipt.node.first_leaf,
                 message->receipt.node.first_leaf + message->receipt.node.leaf_count,
                 message->receipt.missing ? "missing" : "held");
        break;
    case MESSAGE_RESULT:
        snprintf(text, size, " chunk=%u %s version=%" PRIu64 " stop_step=%" PRIu64 "%s",
                 message->result.chunk, verdict_name(message->result.verdict),
                 message->result.version, message->result.stop_step,
                 message->result.parameters ? " parameters" : "");
        break;
    case MESSAGE_MOVED_ON:
        snprintf(text, size, " chunk=%u version=%" PRIu64, message->moved_on.chunk,
                 message->moved_on.version);
        break;
    case MESSAGE_LEASE:
        snprintf(text, size, " finished=%d batch=%" PRIu64, message->lease.finished,
                 message->lease.batch);
        break;
    case MESSAGE_WORK:
        snprintf(text, size, " batch=%" PRIu64 "%s%s", message->work.batch,
                 message->work.enough ? " enough" : "", message->work.none ? " none" : "");
        break;
    case MESSAGE_EVALUATION:
        snprintf(text, size, " epoch=%" PRIu64 " step=%" PRIu64 " assignment=%u",
                 message->evaluation.epoch, message->evaluation.step,
                 message->evaluation.assignment);
        break;
    case MESSAGE_DONE:
        snprintf(text, size, " step=%" PRIu64, message->done.step);
        break;
    default:
        break;
    }
}

static void ending_line(const struct message *message, char *text, size_t size)
{
    switch (message->kind) {
    case MESSAGE_STOP:
    case MESSAGE_FINISHED:
        snprintf(text, size, " exit=%u \"%s\"", message->stop.exit_code, message->stop.reason);
        break;
    case MESSAGE_CUT:
        snprintf(text, size, " step=%" PRIu64 "%s", message->cut.step,
                 message->cut.final ? " final" : "");
        break;
    case MESSAGE_CUT_TAKEN:
        snprintf(text, size, " step=%" PRIu64 " taken=%d", message->cut_taken.step,
                 message->cut_taken.taken);
        break;
    case MESSAGE_PART_WRITTEN:
        snprintf(text, size, " step=%" PRIu64 " server=%u written=%d %s",
                 message->part_written.step, message->part_written.server,
                 message->part_written.written, message->part_written.text);
        break;
    case MESSAGE_CHUNK_STATE:
        snprintf(text, size, " step=%" PRIu64 " first=%" PRIu64 " array=%u",
                 message->chunk_state.step, message->chunk_state.first, message->chunk_state.array);
        break;
    default:
        break;
    }
}

void message_line(const struct message *message, char *text, size_t size)
{
    char body[600] = "";
    joining_line(message, body, sizeof body);
    training_line(message, body, sizeof body);
    ending_line(message, body, sizeof body);
    snprintf(text, size, "%s g=%" PRIu64 " t=%" PRIu64 " r=%" PRIu64 "%s",
             message_kind_name(message->kind), message->generation, message->ticket,
             message->request, body);
}

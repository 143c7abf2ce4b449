/* board_event.c - fills protobuf-c's structures, which lie on the stack but for the buckets of histograms. */

#include "common/tensorboard/board_event.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tensorboard.pb-c.h"

#define FILE_VERSION "brain.Event:2"
#define TEXTS        7 /* DT_STRING of types.proto. */

/* What protobuf-c writes but does not change. */
#define TEXT_OF(constant) ((char *)(uintptr_t)(constant))

/* What one value's message hangs from. */
struct parts {
    Tensorboard__Summary__Value value;
    Tensorboard__HistogramProto histogram;
    Tensorboard__SummaryMetadata metadata;
    Tensorboard__SummaryMetadata__PluginData plugin;
    Tensorboard__TensorProto tensor;
    Tensorboard__TensorShapeProto shape;
    ProtobufCBinaryData text;
    double *buckets; /* Limits, then counts; owned. */
};

static enum status fill_histogram(struct parts *parts, const struct histogram *from)
{
    Tensorboard__HistogramProto *to = &parts->histogram;
    tensorboard__histogram_proto__init(to);
    size_t end = histogram_used(from), first = 0;
    while (first < end && from->buckets[first] == 0)
        first++;
    size_t count = end - first;
    parts->buckets = malloc((2 * count + 1) * sizeof *parts->buckets);
    if (parts->buckets == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < count; i++) {
        parts->buckets[i] = (double)histogram_most(first + i) + 0.5;
        parts->buckets[count + i] = (double)from->buckets[first + i];
    }
    to->min = count > 0 ? (double)histogram_least(first) : 0;
    to->max = (double)from->max;
    to->num = (double)from->count;
    to->sum = (double)from->sum;
    to->sum_squares = from->squares;
    to->n_bucket = to->n_bucket_limit = count;
    to->bucket_limit = parts->buckets;
    to->bucket = parts->buckets + count;
    parts->value.histo = to;
    parts->value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_HISTO;
    return STATUS_OK;
}

/* TensorBoard's text plugin shows a tensor of texts that is said to be its. */
static void fill_text(struct parts *parts, const char *text)
{
    tensorboard__summary_metadata__init(&parts->metadata);
    tensorboard__summary_metadata__plugin_data__init(&parts->plugin);
    tensorboard__tensor_proto__init(&parts->tensor);
    tensorboard__tensor_shape_proto__init(&parts->shape);
    parts->plugin.plugin_name = TEXT_OF("text");
    parts->metadata.plugin_data = &parts->plugin;
    parts->text = (ProtobufCBinaryData){strlen(text), (uint8_t *)TEXT_OF(text)};
    parts->tensor.dtype = TEXTS;
    parts->tensor.tensor_shape = &parts->shape;
    parts->tensor.n_string_val = 1;
    parts->tensor.string_val = &parts->text;
    parts->value.metadata = &parts->metadata;
    parts->value.tensor = &parts->tensor;
    parts->value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_TENSOR;
}

static enum status fill_value(struct parts *parts, const struct board_value *from)
{
    tensorboard__summary__value__init(&parts->value);
    parts->value.tag = TEXT_OF(from->tag);
    if (from->histogram != NULL)
        return fill_histogram(parts, from->histogram);
    if (from->text != NULL) {
        fill_text(parts, from->text);
    } else {
        parts->value.simple_value = (float)from->scalar;
        parts->value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    }
    return STATUS_OK;
}

static void fill_session(Tensorboard__SessionLog *log, enum board_event_kind kind)
{
    tensorboard__session_log__init(log);
    log->status = kind == BOARD_START  ? TENSORBOARD__SESSION_LOG__STATUS__START
                  : kind == BOARD_STOP ? TENSORBOARD__SESSION_LOG__STATUS__STOP
                                       : TENSORBOARD__SESSION_LOG__STATUS__CHECKPOINT;
}

static enum status pack(const Tensorboard__Event *event, size_t before, size_t after,
                        uint8_t **bytes, size_t *count)
{
    *count = tensorboard__event__get_packed_size(event);
    *bytes = malloc(before + *count + after);
    if (*bytes == NULL)
        return STATUS_MEMORY;
    tensorboard__event__pack(event, *bytes + before);
    return STATUS_OK;
}

enum status board_event_pack(const struct board_event *event, size_t before, size_t after,
                             uint8_t **bytes, size_t *count)
{
    Tensorboard__Event message = TENSORBOARD__EVENT__INIT;
    Tensorboard__Summary summary = TENSORBOARD__SUMMARY__INIT;
    Tensorboard__SessionLog session;
    Tensorboard__Summary__Value *values[BOARD_VALUES_MAX];
    struct parts parts[BOARD_VALUES_MAX];
    size_t filled = 0;
    enum status status = STATUS_OK;
    assert(event->count <= BOARD_VALUES_MAX);
    message.wall_time = event->wall_time;
    message.step = (int64_t)event->step;
    if (event->kind == BOARD_FILE) {
        message.file_version = TEXT_OF(FILE_VERSION);
        message.what_case = TENSORBOARD__EVENT__WHAT_FILE_VERSION;
    } else if (event->kind != BOARD_VALUES) {
        fill_session(&session, event->kind);
        message.session_log = &session;
        message.what_case = TENSORBOARD__EVENT__WHAT_SESSION_LOG;
    } else {
        for (; filled < event->count && status == STATUS_OK; filled++) {
            parts[filled].buckets = NULL;
            status = fill_value(&parts[filled], &event->values[filled]);
            values[filled] = &parts[filled].value;
        }
        summary.n_value = filled;
        summary.value = values;
        message.summary = &summary;
        message.what_case = TENSORBOARD__EVENT__WHAT_SUMMARY;
    }
    if (status == STATUS_OK)
        status = pack(&message, before, after, bytes, count);
    while (filled > 0)
        free(parts[--filled].buckets);
    return status;
}

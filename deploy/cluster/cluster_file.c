/* cluster_file.c - one table of members, which reads and writes a cluster. */

#include "deploy/cluster/cluster_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json.h"
#include "common/file/json_line.h"
#include "deploy/cluster/quantity.h"

#define LEVELS_MAX 4
#define PATH_CHARS 128

/* --- members ---------------------------------------------------------------------------------- */

enum member_kind {
    MEMBER_WHOLE,     /* uint64_t */
    MEMBER_BITS,      /* uint64_t, bytes a second; bits in the file. */
    MEMBER_REAL,      /* double */
    MEMBER_TEXT,      /* char[CLUSTER_TEXT_MAX] */
    MEMBER_PLACEMENT, /* enum cluster_rest */
    MEMBER_PROCESSES, /* struct places */
    MEMBER_FORMAT,
    MEMBER_OBJECT,
    MEMBER_LIST,
};

struct member {
    const char *name;
    enum member_kind kind;
    size_t offset; /* In the struct that the object, or the list's item, is read into. */
    double least, most;
    bool or_none;                                                /* Or 0. */
    enum status (*check)(const char *text, struct error *error); /* NULL: as it likes. */
    const char *goes_with;     /* Never without the other of the two; its own name: always there. */
    const struct table *table; /* Of an object, of a list's items. */
};

/* Items of a list are read into `item` one by one and added to the cluster. */
struct table {
    const struct member *members;
    size_t count;
    size_t items_max;
    void (*begin)(const struct cluster *cluster, void *item);
    enum status (*add)(struct cluster *cluster, const void *item, struct error *error);
    size_t (*items)(const struct cluster *cluster);
    const void *(*item)(const struct cluster *cluster, size_t index);
};

union item {
    struct cluster_named named;
    struct cluster_link link;
    struct cluster_slow slow;
};

/* --- lists ----------------------------------------------------------------------------------- */

static enum status say_no_memory(enum status status, struct error *error)
{
    return status == STATUS_OK ? status : error_set(error, status, "there is no memory for it");
}

static void begin_named(const struct cluster *cluster, void *item)
{
    *(struct cluster_named *)item = (struct cluster_named){.host = cluster->usual};
}

static enum status add_named(struct cluster *cluster, const void *item, struct error *error)
{
    const struct cluster_named *named = item;
    struct place twice;
    for (size_t i = 0; i < cluster->host_count; i++)
        if (places_meet(&cluster->hosts[i].processes, &named->processes, &twice))
            return error_set(error, STATUS_INVALID, "has %s, which is on another host already",
                             place_text(twice).text);
    return say_no_memory(cluster_add_host(cluster, named), error);
}

static size_t count_named(const struct cluster *cluster)
{
    return cluster->host_count;
}

static const void *get_named(const struct cluster *cluster, size_t index)
{
    return &cluster->hosts[index];
}

static void begin_link(const struct cluster *cluster, void *item)
{
    (void)cluster;
    *(struct cluster_link *)item = (struct cluster_link){.nic = {0}};
}

/* Links that options appended are written in order: the last one wins when it is read, too. */
static enum status add_link(struct cluster *cluster, const void *item, struct error *error)
{
    return say_no_memory(cluster_add_link(cluster, item), error);
}

static size_t count_links(const struct cluster *cluster)
{
    return cluster->link_count;
}

static const void *get_link(const struct cluster *cluster, size_t index)
{
    return &cluster->links[index];
}

static void begin_slow(const struct cluster *cluster, void *item)
{
    (void)cluster;
    *(struct cluster_slow *)item = (struct cluster_slow){.factor = 1};
}

static enum status add_slow(struct cluster *cluster, const void *item, struct error *error)
{
    const struct cluster_slow *slow = item;
    for (size_t i = 0; i < cluster->slow_count; i++)
        if (cluster->slow[i].worker == slow->worker)
            return error_set(error, STATUS_INVALID,
                             "has worker %" PRIu64 ", which is there already", slow->worker);
    return say_no_memory(cluster_set_slow(cluster, slow->worker, slow->factor), error);
}

static size_t count_slow(const struct cluster *cluster)
{
    return cluster->slow_count;
}

static const void *get_slow(const struct cluster *cluster, size_t index)
{
    return &cluster->slow[index];
}

/* --- the table ------------------------------------------------------------------------------- */

static enum status check_distribution(const char *text, struct error *error)
{
    struct compute_time time;
    return compute_time_read(text, &time, error);
}

static enum status check_jitter(const char *text, struct error *error)
{
    return text[0] == '\0' ? STATUS_OK : cluster_jitter_check(text, error);
}

static enum status check_straggle(const char *text, struct error *error)
{
    struct compute_time time;
    return text[0] == '\0' ? STATUS_OK : compute_time_read_straggle(text, &time, error);
}

static enum status check_pause(const char *text, struct error *error)
{
    struct compute_time time;
    return text[0] == '\0' ? STATUS_OK : compute_time_read_pause(text, &time, error);
}

static enum status check_line(const char *text, struct error *error)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ')
            return error_set(error, STATUS_INVALID, "is to be one line of text");
    return STATUS_OK;
}

#define AT(type, field) offsetof(type, field)
#define WHOLE(name, at, from, to)                                                                  \
    {                                                                                              \
        name, MEMBER_WHOLE, .offset = (at), .least = (double)(from), .most = (double)(to)          \
    }
#define RATE(name, at, other)                                                                      \
    {                                                                                              \
        name, MEMBER_BITS, .offset = (at), .least = 8.0 * QUANTITY_RATE_LEAST,                     \
                           .most = 8.0 * QUANTITY_RATE_MOST, .goes_with = (other)                  \
    }
#define TEXT(name, at, how)                                                                        \
    {                                                                                              \
        name, MEMBER_TEXT, .offset = (at), .check = (how)                                          \
    }
#define UP   "card_up_bits_per_second"
#define DOWN "card_down_bits_per_second"
#define NIC(at, other_of_up)                                                                       \
    RATE(UP, (at) + AT(struct cluster_nic, up_bytes_per_second), other_of_up),                     \
        RATE(DOWN, (at) + AT(struct cluster_nic, down_bytes_per_second), UP),                      \
        WHOLE("card_latency_ns", (at) + AT(struct cluster_nic, latency_ns), 0,                     \
              CLUSTER_LATENCY_MOST)
#define HOST(at)                                                                                   \
    WHOLE("processors", (at) + AT(struct cluster_host, processors), 1, CLUSTER_PROCESSORS_MAX),    \
        NIC((at) + AT(struct cluster_host, nic), DOWN)
#define HANDLING(at)                                                                               \
    WHOLE("message_ns", (at) + AT(struct cluster_handling, message_ns), 0, CLUSTER_MESSAGE_MOST),  \
        WHOLE("message_byte_ps", (at) + AT(struct cluster_handling, message_byte_ps), 0,           \
              CLUSTER_BYTE_MOST_PS)
#define PROCESSES(at)                                                                              \
    {                                                                                              \
        "processes", MEMBER_PROCESSES, .offset = (at), .goes_with = "processes"                    \
    }
#define TABLE(rows) .members = (rows), .count = sizeof(rows) / sizeof *(rows)

static const struct member named_members[] = {PROCESSES(AT(struct cluster_named, processes)),
                                              HOST(AT(struct cluster_named, host))};
static const struct member link_members[] = {PROCESSES(AT(struct cluster_link, processes)),
                                             NIC(AT(struct cluster_link, nic), UP)};
static const struct member slow_members[] = {
    {"worker", MEMBER_WHOLE, .offset = AT(struct cluster_slow, worker), .most = JOB_WORKERS_MAX - 1,
     .goes_with = "worker"},
    {"factor", MEMBER_REAL, .offset = AT(struct cluster_slow, factor), .least = 1,
     .most = CLUSTER_SLOW_MOST, .goes_with = "factor"},
};
static const struct table named_table = {TABLE(named_members), .items_max = CLUSTER_HOSTS_MAX,
                                         .begin = begin_named, .add = add_named,
                                         .items = count_named, .item = get_named};
static const struct table link_table = {TABLE(link_members),  .items_max = 2 * CLUSTER_HOSTS_MAX,
                                        .begin = begin_link,  .add = add_link,
                                        .items = count_links, .item = get_link};
static const struct table slow_table = {TABLE(slow_members), .items_max = JOB_WORKERS_MAX,
                                        .begin = begin_slow, .add = add_slow,
                                        .items = count_slow, .item = get_slow};

static const struct member host_members[] = {HOST(AT(struct cluster, usual))};
static const struct member network_members[] = {
    WHOLE("latency_ns", AT(struct cluster, latency_ns), 0, CLUSTER_LATENCY_MOST),
    TEXT("jitter", AT(struct cluster, jitter), check_jitter),
    {"loss", MEMBER_REAL, .offset = AT(struct cluster, loss), .most = CLUSTER_LOSS_MOST},
    {"switch_buffer_bytes", MEMBER_WHOLE, .offset = AT(struct cluster, switch_buffer_bytes),
     .least = (double)CLUSTER_BUFFER_LEAST, .most = (double)CLUSTER_BUFFER_MOST, .or_none = true},
    WHOLE("segment_bytes", AT(struct cluster, segment.bytes), 1, CLUSTER_SEGMENT_MOST),
    WHOLE("segment_overhead_bytes", AT(struct cluster, segment.overhead_bytes), 0,
          CLUSTER_OVERHEAD_MOST),
    RATE("loopback_bits_per_second", AT(struct cluster, loopback_bytes_per_second), NULL),
    WHOLE("loopback_latency_ns", AT(struct cluster, loopback_latency_ns), 0, CLUSTER_LATENCY_MOST),
};
static const struct member compute_members[] = {
    TEXT("leaf_time", AT(struct cluster, leaf_time), check_distribution),
    TEXT("straggle", AT(struct cluster, straggle), check_straggle),
    TEXT("pause", AT(struct cluster, pause), check_pause),
    WHOLE("score_example_ns", AT(struct cluster, score_example_ns), 0, CLUSTER_SCORE_MOST),
    {"slow", MEMBER_LIST, .table = &slow_table},
};
static const struct member worker_members[] = {HANDLING(AT(struct cluster, worker))};
static const struct member server_members[] = {
    HANDLING(AT(struct cluster, server)),
    WHOLE("apply_byte_ps", AT(struct cluster, apply_byte_ps), 0, CLUSTER_BYTE_MOST_PS),
};
static const struct table host_table = {TABLE(host_members)};
static const struct table network_table = {TABLE(network_members)};
static const struct table compute_table = {TABLE(compute_members)};
static const struct table worker_table = {TABLE(worker_members)};
static const struct table server_table = {TABLE(server_members)};

/* "host" is read before "hosts", which start from its values. */
static const struct member cluster_members[] = {
    {"format", MEMBER_FORMAT, .goes_with = "format"},
    TEXT("about", AT(struct cluster, about), check_line),
    {"placement", MEMBER_PLACEMENT, .offset = AT(struct cluster, rest)},
    {"host", MEMBER_OBJECT, .table = &host_table},
    {"hosts", MEMBER_LIST, .table = &named_table},
    {"links", MEMBER_LIST, .table = &link_table},
    {"network", MEMBER_OBJECT, .table = &network_table},
    {"compute", MEMBER_OBJECT, .table = &compute_table},
    {"worker", MEMBER_OBJECT, .table = &worker_table},
    {"server", MEMBER_OBJECT, .table = &server_table},
};
static const struct table cluster_table = {TABLE(cluster_members)};

static const char *const placements[CLUSTER_REST_COUNT] = {
    [CLUSTER_APART] = "apart", [CLUSTER_TOGETHER] = "together"};

/* --- reading --------------------------------------------------------------------------------- */

struct reader {
    struct cluster *cluster;
    const char *text;
    size_t bytes;
    const char *file;
    struct error *error;
    /* The path to the value being read, see json_line.h; its name: */
    size_t way[LEVELS_MAX], levels;
    char path[PATH_CHARS];
};

/* status: also for want of memory. */
static enum status refuse_as(const struct reader *reader, enum status status, const char *format,
                             ...) __attribute__((format(printf, 3, 4)));

static enum status refuse_as(const struct reader *reader, enum status status, const char *format,
                             ...)
{
    char why[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error_set(reader->error, status, "%.120s: line %u: %s%s%s", reader->file,
                     json_line(reader->text, reader->bytes, reader->way, reader->levels),
                     reader->path, reader->path[0] != '\0' ? " " : "", why);
}

#define refuse(reader, ...) refuse_as(reader, STATUS_INVALID, __VA_ARGS__)

/* The value that was found in place of the expected one, shortened. */
static struct wording found(const struct json *value)
{
    struct json_writer writer;
    struct wording text;
    json_writer_init(&writer, true);
    json_write(value, &writer, NULL);
    bool has = !writer.failed && writer.text != NULL;
    snprintf(text.text, sizeof text.text, "%.40s%s", has ? writer.text : "something else",
             has && writer.bytes > 40 ? "..." : "");
    json_writer_free(&writer);
    return text;
}

/* Down to a member or an item; go_up returns to an earlier length of the path. A name may have any
 * bytes: those that would break the line are not shown. */
static size_t go_down(struct reader *reader, size_t number, const char *name)
{
    size_t length = strlen(reader->path);
    assert(reader->levels < LEVELS_MAX);
    reader->way[reader->levels++] = number;
    if (name != NULL)
        wording_append(reader->path, PATH_CHARS, "%s%.60s", length > 0 ? "." : "", name);
    else
        wording_append(reader->path, PATH_CHARS, "[%zu]", number);
    for (char *c = reader->path + length; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return length;
}

static void go_up(struct reader *reader, size_t length)
{
    reader->path[length] = '\0';
    reader->levels--;
}

static enum status read_whole(const struct reader *reader, const struct member *member,
                              const struct json *value, uint64_t *number)
{
    bool whole = json_whole(value, number);
    if (whole && *number == 0 && member->or_none)
        return STATUS_OK;
    if (!whole || (double)*number < member->least || (double)*number > member->most)
        return refuse(reader, "needs %sa whole number from %.0f to %.0f, not %s",
                      member->or_none ? "0 or " : "", member->least, member->most,
                      found(value).text);
    return STATUS_OK;
}

static enum status read_bits(const struct reader *reader, const struct member *member,
                             const struct json *value, uint64_t *bytes_per_second)
{
    uint64_t bits;
    enum status status = read_whole(reader, member, value, &bits);
    if (status == STATUS_OK && bits % 8 != 0)
        return refuse(reader, "needs a multiple of 8, whole bytes, not %s", found(value).text);
    if (status == STATUS_OK)
        *bytes_per_second = bits / 8;
    return status;
}

static enum status read_real(const struct reader *reader, const struct member *member,
                             const struct json *value, double *number)
{
    *number = json_number(value, "");
    if (!(*number >= member->least && *number <= member->most))
        return refuse(reader, "needs a number from %g to %g, not %s", member->least, member->most,
                      found(value).text);
    return STATUS_OK;
}

static enum status read_text(const struct reader *reader, const struct member *member,
                             const struct json *value, char text[CLUSTER_TEXT_MAX])
{
    const char *words = json_text(value, "");
    struct error error;
    if (words == NULL)
        return refuse(reader, "needs a text, not %s", found(value).text);
    if (strlen(words) >= CLUSTER_TEXT_MAX)
        return refuse(reader, "is longer than %d characters", CLUSTER_TEXT_MAX - 1);
    if (member->check(words, &error) != STATUS_OK)
        return refuse(reader, "%.250s", error.text);
    memcpy(text, words, strlen(words) + 1);
    return STATUS_OK;
}

static enum status read_placement(const struct reader *reader, const struct json *value,
                                  enum cluster_rest *rest)
{
    const char *word = json_text(value, "");
    for (unsigned i = 0; i < CLUSTER_REST_COUNT && word != NULL; i++)
        if (strcmp(word, placements[i]) == 0) {
            *rest = (enum cluster_rest)i;
            return STATUS_OK;
        }
    return refuse(reader, "needs \"apart\" or \"together\", not %s", found(value).text);
}

static enum status read_processes(const struct reader *reader, const struct json *value,
                                  struct places *places)
{
    const char *text = json_text(value, "");
    struct error error;
    if (text == NULL)
        return refuse(reader, "needs a text such as \"ps/0,worker/0-3\", not %s",
                      found(value).text);
    if (places_read(&text, places, &error) != STATUS_OK)
        return refuse(reader, "%.250s", error.text);
    return *text == '\0' ? STATUS_OK : refuse(reader, "'%.60s' is too much", text);
}

static enum status read_format(const struct reader *reader, const struct json *value)
{
    const char *format = json_text(value, "");
    return format != NULL && strcmp(format, CLUSTER_FORMAT) == 0
               ? STATUS_OK
               : refuse(reader,
                        "needs to be \"" CLUSTER_FORMAT "\", which this program reads, not %s",
                        found(value).text);
}

static enum status read_object(struct reader *reader, const struct table *table,
                               const struct json *object, void *place);

static enum status read_list(struct reader *reader, const struct table *table,
                             const struct json *list)
{
    enum status status = STATUS_OK;
    if (!json_is_a_list(list))
        return refuse(reader, "needs a list, [...], not %s", found(list).text);
    for (size_t i = 0; i < json_length(list, "") && status == STATUS_OK; i++) {
        union item item;
        struct error error;
        size_t length = go_down(reader, i, NULL);
        table->begin(reader->cluster, &item);
        status = i < table->items_max ? read_object(reader, table, json_item(list, i), &item)
                                      : refuse(reader, "is one more than there may be");
        if (status == STATUS_OK && table->add(reader->cluster, &item, &error) != STATUS_OK)
            status = refuse_as(reader, error.status, "%.250s", error.text);
        go_up(reader, length);
    }
    return status;
}

static enum status read_member(struct reader *reader, const struct member *member,
                               const struct json *value, void *place)
{
    char *field = (char *)place + member->offset;
    switch (member->kind) {
    case MEMBER_WHOLE:
        return read_whole(reader, member, value, (uint64_t *)(void *)field);
    case MEMBER_BITS:
        return read_bits(reader, member, value, (uint64_t *)(void *)field);
    case MEMBER_REAL:
        return read_real(reader, member, value, (double *)(void *)field);
    case MEMBER_TEXT:
        return read_text(reader, member, value, field);
    case MEMBER_PLACEMENT:
        return read_placement(reader, value, (enum cluster_rest *)(void *)field);
    case MEMBER_PROCESSES:
        return read_processes(reader, value, (struct places *)(void *)field);
    case MEMBER_FORMAT:
        return read_format(reader, value);
    case MEMBER_OBJECT:
        return read_object(reader, member->table, value, place);
    default:
        return read_list(reader, member->table, value);
    }
}

/* An object's members that no row has. */
static enum status refuse_unknown(struct reader *reader, const struct table *table,
                                  const struct json *object)
{
    struct json_member member = {0};
    for (size_t number = 0; json_next_member(object, &member); number++) {
        size_t i = 0;
        while (i < table->count && strcmp(table->members[i].name, member.name) != 0)
            i++;
        if (i < table->count)
            continue;
        size_t length = go_down(reader, number, member.name);
        enum status status = refuse(reader, "does not belong there");
        go_up(reader, length);
        return status;
    }
    return STATUS_OK;
}

/* The value of that name, and its number; NULL when there is none. */
static const struct json *find(const struct json *object, const char *name, size_t *number)
{
    struct json_member member = {0};
    for (*number = 0; name != NULL && json_next_member(object, &member); ++*number)
        if (strcmp(member.name, name) == 0)
            return member.value;
    return NULL;
}

static enum status read_object(struct reader *reader, const struct table *table,
                               const struct json *object, void *place)
{
    if (!json_is_a_record(object))
        return refuse(reader, "needs an object, {...}, not %s", found(object).text);
    enum status status = refuse_unknown(reader, table, object);
    for (size_t i = 0; i < table->count && status == STATUS_OK; i++) {
        const struct member *member = &table->members[i];
        size_t number, other;
        const struct json *value = find(object, member->name, &number);
        bool alone = member->goes_with != NULL && strcmp(member->goes_with, member->name) == 0;
        if (value == NULL && (alone || find(object, member->goes_with, &other) != NULL))
            return refuse(reader, "lacks \"%s\"", member->name);
        if (value == NULL)
            continue;
        size_t length = go_down(reader, number, member->name);
        status = read_member(reader, member, value, place);
        go_up(reader, length);
    }
    return status;
}

enum status cluster_read(struct cluster *cluster, const char *text, size_t bytes, const char *path,
                         struct error *error)
{
    struct reader reader = {
        .cluster = cluster, .text = text, .bytes = bytes, .file = path, .error = error};
    struct json *root;
    cluster_init(cluster);
    enum status status = json_parse(text, bytes, path, &root, error);
    if (status == STATUS_OK)
        status = read_object(&reader, &cluster_table, root, cluster);
    json_release(&root);
    if (status != STATUS_OK)
        cluster_free(cluster);
    return status;
}

enum status cluster_read_file(struct cluster *cluster, const struct disk *disk, const char *path,
                              struct error *error)
{
    void *text;
    size_t bytes;
    enum status status =
        disk->read_file(disk->context, path, CLUSTER_FILE_BYTES_MAX, &text, &bytes, error);
    if (status != STATUS_OK)
        return status;
    status = cluster_read(cluster, text, bytes, path, error);
    free(text);
    return status;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_members(const struct cluster *cluster, struct json_writer *writer,
                          const struct table *table, const void *place);

static void write_list(const struct cluster *cluster, struct json_writer *writer, const char *name,
                       const struct table *table)
{
    json_writer_array(writer, name);
    for (size_t i = 0; i < table->items(cluster); i++) {
        json_writer_object_line(writer, NULL);
        write_members(cluster, writer, table, table->item(cluster, i));
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

static void write_processes(struct json_writer *writer, const char *name,
                            const struct places *places)
{
    char text[PLACES_TEXT_MAX];
    places_write(places, text);
    json_writer_text(writer, name, text);
}

static void write_member(const struct cluster *cluster, struct json_writer *writer,
                         const struct member *member, const void *place)
{
    const char *field = (const char *)place + member->offset;
    switch (member->kind) {
    case MEMBER_WHOLE:
        json_writer_u64(writer, member->name, *(const uint64_t *)(const void *)field);
        break;
    case MEMBER_BITS:
        json_writer_u64(writer, member->name, 8 * *(const uint64_t *)(const void *)field);
        break;
    case MEMBER_REAL:
        json_writer_real(writer, member->name, *(const double *)(const void *)field);
        break;
    case MEMBER_TEXT:
        json_writer_text(writer, member->name, field);
        break;
    case MEMBER_PLACEMENT:
        json_writer_text(writer, member->name,
                         placements[*(const enum cluster_rest *)(const void *)field]);
        break;
    case MEMBER_PROCESSES:
        write_processes(writer, member->name, (const struct places *)(const void *)field);
        break;
    case MEMBER_FORMAT:
        json_writer_text(writer, member->name, CLUSTER_FORMAT);
        break;
    case MEMBER_OBJECT:
        json_writer_object(writer, member->name);
        write_members(cluster, writer, member->table, place);
        json_writer_end(writer);
        break;
    default:
        write_list(cluster, writer, member->name, member->table);
    }
}

static void write_members(const struct cluster *cluster, struct json_writer *writer,
                          const struct table *table, const void *place)
{
    for (size_t i = 0; i < table->count; i++)
        write_member(cluster, writer, &table->members[i], place);
}

void cluster_write(const struct cluster *cluster, struct json_writer *writer, const char *name)
{
    json_writer_object(writer, name);
    write_members(cluster, writer, &cluster_table, cluster);
    json_writer_end(writer);
}

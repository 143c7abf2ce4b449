/* clocks.c - pairs questions with answers and keeps the best of each time for each two hosts. Paths
 * from the reference minimise the error. */

#include "deploy/trace/clocks.h"

#include <stdlib.h>

#include "common/base/array.h"

#define WHILE_NS UINT64_C(10000000000) /* The drift within it is small. */

/* The four times of an exchange. */
enum { ASKED, HEARD, SAID, ANSWERED, TIMES };

struct mark {
    uint32_t worker, server;
    uint64_t request;
    unsigned which;
    uint64_t at_ns;
    uint16_t host;
};

/* A sample of one pair of hosts, at this time of the first one. */
struct sample {
    uint16_t from, to; /* from < to */
    uint64_t at_ns;
    int64_t ahead_ns; /* `to` of `from`. */
    uint64_t error_ns;
};

struct samples {
    struct sample *list;
    size_t count, capacity;
};

/* --- questions and answers -------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_request(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    int order = compare_numbers(a->worker, b->worker);
    order = order != 0 ? order : compare_numbers(a->server, b->server);
    order = order != 0 ? order : compare_numbers(a->request, b->request);
    return order != 0 ? order : compare_numbers(a->which, b->which);
}

static bool mark_of(const struct span *span, uint16_t host, struct mark *mark)
{
    bool worker = span->role == ROLE_WORKER, sends = span->kind == SPAN_SEND;
    bool message = sends || span->kind == SPAN_TAKE;
    bool both = span->other_role == (worker ? ROLE_PS : ROLE_WORKER);
    if (!message || !both || span->request == 0 || span->other == SPAN_NO_PEER)
        return false;
    *mark = (struct mark){.worker = worker ? span->index : span->other,
                          .server = worker ? span->other : span->index,
                          .request = span->request,
                          .which = worker ? (sends ? ASKED : ANSWERED) : (sends ? SAID : HEARD),
                          .at_ns = span->from_ns,
                          .host = host};
    return true;
}

static bool is_same(const struct mark *a, const struct mark *b)
{
    return a->worker == b->worker && a->server == b->server && a->request == b->request;
}

/* How many marks have the number of the first. */
static size_t count_same(const struct mark *marks, size_t count)
{
    size_t same = 1;
    while (same < count && is_same(&marks[same], &marks[0]))
        same++;
    return same;
}

/* Marks of one number, each of another kind, from two hosts. A repeated message has more marks, and
 * does not show which one was answered. */
static bool sample_of(const struct mark *marks, size_t count, struct sample *sample)
{
    for (unsigned i = 0; i < TIMES; i++)
        if (count != TIMES || marks[i].which != i)
            return false;
    uint16_t worker = marks[ASKED].host, server = marks[HEARD].host;
    int64_t away = (int64_t)(marks[ANSWERED].at_ns - marks[ASKED].at_ns);
    int64_t there = (int64_t)(marks[SAID].at_ns - marks[HEARD].at_ns);
    if (worker == server || marks[ANSWERED].host != worker || marks[SAID].host != server ||
        there < 0 || away < there)
        return false;
    int64_t ahead = ((int64_t)(marks[HEARD].at_ns - marks[ASKED].at_ns) +
                     (int64_t)(marks[SAID].at_ns - marks[ANSWERED].at_ns)) /
                    2;
    bool turned = worker > server;
    *sample = (struct sample){.from = turned ? server : worker,
                              .to = turned ? worker : server,
                              .at_ns = turned ? marks[HEARD].at_ns : marks[ASKED].at_ns,
                              .ahead_ns = turned ? -ahead : ahead,
                              .error_ns = (uint64_t)(away - there) / 2};
    return true;
}

static int by_pair(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    int order = compare_numbers(a->from, b->from);
    order = order != 0 ? order : compare_numbers(a->to, b->to);
    return order != 0 ? order : compare_numbers(a->at_ns, b->at_ns);
}

/* The best of every while. */
static void thin(struct samples *samples)
{
    size_t kept = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *next = &samples->list[i];
        struct sample *best = kept > 0 ? &samples->list[kept - 1] : NULL;
        bool same = best != NULL && best->from == next->from && best->to == next->to &&
                    best->at_ns / WHILE_NS == next->at_ns / WHILE_NS;
        if (!same)
            samples->list[kept++] = *next;
        else if (next->error_ns < best->error_ns)
            *best = *next;
    }
    samples->count = kept;
}

/* Takes over the marks. */
static enum status sample_all(struct mark *marks, size_t count, struct samples *samples)
{
    enum status status = STATUS_OK;
    struct sample sample;
    if (count > 0)
        qsort(marks, count, sizeof *marks, by_request);
    for (size_t i = 0, same; i < count && status == STATUS_OK; i += same) {
        same = count_same(&marks[i], count - i);
        if (!sample_of(&marks[i], same, &sample))
            continue;
        struct sample *grown =
            array_room(samples->list, samples->count, &samples->capacity, sizeof *grown);
        status = grown != NULL ? STATUS_OK : STATUS_MEMORY;
        if (grown != NULL) {
            samples->list = grown;
            grown[samples->count++] = sample;
        }
    }
    free(marks);
    if (samples->count > 0)
        qsort(samples->list, samples->count, sizeof *samples->list, by_pair);
    thin(samples);
    return status;
}

static enum status find_samples(const struct span *spans, const uint16_t *host_of, size_t count,
                                struct samples *samples)
{
    size_t marks_count = 0, at = 0;
    struct mark mark;
    for (size_t i = 0; i < count; i++)
        marks_count += mark_of(&spans[i], host_of[i], &mark);
    struct mark *marks = calloc(marks_count + 1, sizeof *marks);
    if (marks == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < count; i++)
        at += mark_of(&spans[i], host_of[i], &marks[at]);
    return sample_all(marks, marks_count, samples);
}

/* --- from host to host ------------------------------------------------------------------------ */

/* The samples of a pair: first and how many; the greatest error of them. */
struct pair {
    const struct sample *list;
    size_t count;
    uint64_t error_ns;
};

static struct pair find_pair(const struct samples *samples, size_t a, size_t b)
{
    struct pair pair = {.list = NULL};
    size_t from = a < b ? a : b, to = a < b ? b : a;
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->list[i];
        if (sample->from != from || sample->to != to)
            continue;
        pair.list = pair.count++ == 0 ? sample : pair.list;
        pair.error_ns = sample->error_ns > pair.error_ns ? sample->error_ns : pair.error_ns;
    }
    return pair;
}

/* The difference of `to` and `from` at a time by either clock: they are close enough for this. */
static int64_t ahead_at(const struct pair *pair, uint64_t at_ns)
{
    size_t i = 1;
    while (i < pair->count && pair->list[i].at_ns < at_ns)
        i++;
    const struct sample *before = &pair->list[i - 1];
    if (i == pair->count || at_ns <= before->at_ns)
        return before->ahead_ns;
    const struct sample *after = &pair->list[i];
    double part = (double)(at_ns - before->at_ns) / (double)(after->at_ns - before->at_ns);
    return before->ahead_ns + (int64_t)(part * (double)(after->ahead_ns - before->ahead_ns));
}

struct route {
    bool done;
    size_t through; /* The host before it. */
};

/* The one that is known with the least error, of those that are not done. */
static size_t nearest(const struct trace_host *hosts, const struct route *routes, size_t count)
{
    size_t found = count;
    for (size_t i = 0; i < count; i++)
        if (hosts[i].known && !routes[i].done &&
            (found == count || hosts[i].error_ns < hosts[found].error_ns))
            found = i;
    return found;
}

/* Dijkstra's, with errors for lengths. */
static void find_routes(const struct samples *samples, struct trace_host *hosts,
                        struct route *routes, size_t count, size_t reference)
{
    for (size_t i = 0; i < count; i++)
        hosts[i].known = i == reference;
    hosts[reference].error_ns = 0;
    for (size_t at = reference; at < count; at = nearest(hosts, routes, count)) {
        routes[at].done = true;
        for (size_t i = 0; i < count; i++) {
            struct pair pair = find_pair(samples, at, i);
            uint64_t error_ns = hosts[at].error_ns + pair.error_ns;
            if (pair.count == 0 || routes[i].done ||
                (hosts[i].known && hosts[i].error_ns <= error_ns))
                continue;
            hosts[i].known = true;
            hosts[i].error_ns = error_ns;
            routes[i].through = at;
        }
    }
}

/* --- putting them right ----------------------------------------------------------------------- */

struct way {
    const struct samples *samples;
    const struct trace_host *hosts;
    const struct route *routes;
    size_t reference;
};

/* A time of a host, by the reference's clock. */
static uint64_t put_right(const struct way *way, size_t host, uint64_t at_ns)
{
    const struct trace_host *hosts = way->hosts;
    if (!hosts[host].known) /* By the wall clocks alone. */
        return at_ns + hosts[host].unix_ns - hosts[way->reference].unix_ns;
    while (host != way->reference) {
        size_t through = way->routes[host].through;
        struct pair pair = find_pair(way->samples, through, host);
        int64_t ahead = ahead_at(&pair, at_ns);
        at_ns -= (uint64_t)(through < host ? ahead : -ahead);
        host = through;
    }
    return at_ns;
}

static bool is_a_time(uint64_t ns)
{
    return ns < UINT64_MAX / 2;
}

static void move(const struct way *way, struct span *span, size_t host)
{
    uint64_t from_ns = put_right(way, host, span->from_ns);
    uint64_t took_ns = span->to_ns - span->from_ns;
    if (!is_a_time(from_ns)) /* Of clocks that are years apart. */
        from_ns = 0;
    span->from_ns = from_ns;
    span->to_ns = from_ns + took_ns;
}

/* At the middle of its known times. */
static enum status note_ahead(const struct way *way, struct trace_host *hosts, size_t host_count,
                              const struct span *spans, const uint16_t *host_of, size_t count)
{
    uint64_t *first_ns = calloc(2 * host_count, sizeof *first_ns);
    if (first_ns == NULL)
        return STATUS_MEMORY;
    uint64_t *last_ns = first_ns + host_count;
    for (size_t i = 0; i < count; i++) {
        uint64_t at_ns = spans[i].from_ns, *first = &first_ns[host_of[i]];
        *first = *first == 0 || at_ns < *first ? at_ns : *first;
        last_ns[host_of[i]] = at_ns > last_ns[host_of[i]] ? at_ns : last_ns[host_of[i]];
    }
    for (size_t i = 0; i < host_count; i++) {
        uint64_t middle_ns = first_ns[i] + (last_ns[i] - first_ns[i]) / 2;
        hosts[i].ahead_ns = (int64_t)(middle_ns - put_right(way, i, middle_ns));
    }
    free(first_ns);
    return STATUS_OK;
}

enum status clocks_align(struct span *spans, const uint16_t *host_of, size_t count,
                         struct trace_host *hosts, size_t host_count, size_t reference)
{
    struct samples samples = {.list = NULL};
    struct route *routes = calloc(host_count, sizeof *routes);
    enum status status =
        routes != NULL ? find_samples(spans, host_of, count, &samples) : STATUS_MEMORY;
    const struct way way = {&samples, hosts, routes, reference};
    if (status == STATUS_OK) {
        find_routes(&samples, hosts, routes, host_count, reference);
        status = note_ahead(&way, hosts, host_count, spans, host_of, count);
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if (host_of[i] != reference)
            move(&way, &spans[i], host_of[i]);
    free(samples.list);
    free(routes);
    return status;
}

/* load.c - the timetable's sums and the NICs' bytes as shares of the time. */

#include "deploy/simulate/load.h"

#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"

#define WORTH_NAMING 0.05 /* Of the time: a smaller second bottleneck is not named. */
#define MOST_OF_TIME 0.5

static const struct part {
    const char *name;    /* Of all. */
    const char *of_one;  /* Of the busiest, behind its name. */
    const char *in_json; /* A member's name. */
} parts[LOAD_PART_COUNT] = {
    [LOAD_TRAINERS] = {"workers' trainers", "computing and scoring", "trainers"},
    [LOAD_SESSIONS] = {"workers' sessions", "handling of messages", "sessions"},
    [LOAD_ROUTERS] = {"servers' routers", "handling of messages", "routers"},
    [LOAD_OWNERS] = {"servers' owners", "applying of gradients", "owners"},
    [LOAD_PROCESSORS] = {"hosts' processors", "host's processors", "processors"},
    [LOAD_SERVER_NICS_IN] = {"servers' cards in", "card, in", "server_cards_in"},
    [LOAD_SERVER_NICS_OUT] = {"servers' cards out", "card, out", "server_cards_out"},
    [LOAD_WORKER_NICS_IN] = {"workers' cards in", "card, in", "worker_cards_in"},
    [LOAD_WORKER_NICS_OUT] = {"workers' cards out", "card, out", "worker_cards_out"},
    [LOAD_LOOPBACKS] = {"hosts' loopbacks", "host's loopback", "loopbacks"},
};

const char *load_part_name(enum load_part part)
{
    return parts[part].name;
}

/* --- measuring ------------------------------------------------------------------------------- */

static void name_place(struct load_share *share, const struct layout *layout, uint32_t number)
{
    struct place place = layout_place(layout, number);
    snprintf(share->busiest, sizeof share->busiest, "%s", place_text(place).text);
}

/* Numbers are in the order of hosts: servers come first, and the first of a host names it. */
static uint32_t first_on(const struct layout *layout, uint32_t host)
{
    uint32_t number = 0;
    while (layout->host_of[number] != host)
        number++;
    return number;
}

/* Work that began before counting counts whole. */
static double at_most_all(double share)
{
    return share < 1 ? share : 1;
}

static void measure_part(struct load *load, enum load_part part, const struct timetable *timetable,
                         enum timetable_part of)
{
    const struct layout *layout = timetable->options.layout;
    struct timetable_load from = timetable_load(timetable, of, load->duration_ns);
    struct load_share *share = &load->shares[part];
    *share = (struct load_share){.mean = at_most_all(from.mean), .most = at_most_all(from.most)};
    if (from.most > 0)
        name_place(share, layout,
                   of == PART_PROCESSORS ? first_on(layout, from.busiest) : from.busiest);
}

static bool has_server(const struct layout *layout, uint32_t host)
{
    return first_on(layout, host) < layout->servers;
}

static double carried_share(const struct load *load, uint64_t bytes, uint64_t rate)
{
    return at_most_all((double)bytes * 1e9 / (double)rate / (double)load->duration_ns);
}

/* The sum in place of the mean, until all are there. */
static void note_host(struct load_share *share, const struct layout *layout, uint32_t host,
                      double busy)
{
    share->mean += busy;
    if (busy <= share->most)
        return;
    share->most = busy;
    name_place(share, layout, first_on(layout, host));
}

static void measure_nics(struct load *load, const struct timetable *timetable,
                         const struct nics *nics)
{
    const struct layout *layout = timetable->options.layout;
    uint64_t loopback = timetable->options.cluster->loopback_bytes_per_second;
    uint32_t of_servers = 0;
    struct load_share *shares = load->shares;
    for (uint32_t host = 0; host < layout->host_count; host++) {
        const struct cluster_nic *nic = &layout->hosts[host].nic;
        const struct nics_use *use = nics_use(nics, host);
        bool server = has_server(layout, host);
        of_servers += server;
        note_host(&shares[server ? LOAD_SERVER_NICS_IN : LOAD_WORKER_NICS_IN], layout, host,
                  carried_share(load, use->down_bytes, nic->down_bytes_per_second));
        note_host(&shares[server ? LOAD_SERVER_NICS_OUT : LOAD_WORKER_NICS_OUT], layout, host,
                  carried_share(load, use->up_bytes, nic->up_bytes_per_second));
        note_host(&shares[LOAD_LOOPBACKS], layout, host,
                  carried_share(load, use->loopback_bytes, loopback));
    }
    uint32_t others = layout->host_count - of_servers;
    const uint32_t counts[] = {of_servers, of_servers, others, others, layout->host_count};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > 0)
            shares[LOAD_SERVER_NICS_IN + i].mean /= counts[i];
}

static bool threads_waited(const struct timetable *timetable)
{
    const struct layout *layout = timetable->options.layout;
    uint64_t worked_ns = 0, took_ns = 0;
    for (uint32_t number = 0; number < layout->servers + layout->workers; number++)
        for (unsigned labour = 0; labour < LABOUR_COUNT; labour++) {
            worked_ns += timetable->uses[number][labour].worked_ns;
            took_ns += timetable->uses[number][labour].took_ns;
        }
    return took_ns - worked_ns > worked_ns / 10;
}

void load_measure(struct load *load, const struct timetable *timetable, const struct nics *nics,
                  uint64_t duration_ns)
{
    static const enum timetable_part of[] = {[LOAD_TRAINERS] = PART_TRAINER,
                                             [LOAD_SESSIONS] = PART_SESSION,
                                             [LOAD_ROUTERS] = PART_ROUTER,
                                             [LOAD_OWNERS] = PART_OWNERS,
                                             [LOAD_PROCESSORS] = PART_PROCESSORS};
    memset(load, 0, sizeof *load);
    load->duration_ns = duration_ns;
    load->waited = threads_waited(timetable);
    if (duration_ns == 0)
        return;
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++)
        measure_part(load, (enum load_part)i, timetable, of[i]);
    measure_nics(load, timetable, nics);
}

/* --- text ------------------------------------------------------------------------------------- */

/* The busiest of all but one; LOAD_PART_COUNT: none. Where threads waited for processors, those are
 * the bottleneck of the threads' work. */
static unsigned busiest_but(const struct load *load, unsigned but)
{
    unsigned best = LOAD_PART_COUNT;
    double most = 0;
    for (unsigned i = 0; i < LOAD_PART_COUNT; i++) {
        bool of_processors = i == LOAD_PROCESSORS;
        double share = load->shares[i].most;
        if (i == but || (of_processors && !load->waited))
            continue;
        if (share > most || (of_processors && share > 0.9 * most)) {
            best = i;
            most = share;
        }
    }
    return best;
}

static void append_part(const struct load *load, unsigned part, char *text, size_t size)
{
    const struct load_share *share = &load->shares[part];
    wording_append(text, size, "%s's %s, %.0f %% of the time", share->busiest, parts[part].of_one,
                   100 * share->most);
}

void load_bound(const struct load *load, char *text, size_t size)
{
    unsigned first = busiest_but(load, LOAD_PART_COUNT), next = busiest_but(load, first);
    text[0] = '\0';
    if (first == LOAD_PART_COUNT || load->shares[first].most < WORTH_NAMING) {
        wording_append(text, size, "latency and waiting: no part was busy");
        return;
    }
    if (load->shares[first].most < MOST_OF_TIME)
        wording_append(text, size, "latency and waiting for one another; busy was most ");
    append_part(load, first, text, size);
    if (next == LOAD_PART_COUNT || load->shares[next].most < WORTH_NAMING)
        return;
    wording_append(text, size, "; then ");
    append_part(load, next, text, size);
}

void load_write(const struct load *load, struct json_writer *writer, const char *name)
{
    char text[200];
    load_bound(load, text, sizeof text);
    json_writer_object(writer, name);
    json_writer_text(writer, "bound", text);
    json_writer_real(writer, "seconds", (double)load->duration_ns * 1e-9);
    for (unsigned i = 0; i < LOAD_PART_COUNT; i++) {
        const struct load_share *share = &load->shares[i];
        json_writer_object_line(writer, parts[i].in_json);
        json_writer_decimals(writer, "mean", share->mean, 6);
        json_writer_decimals(writer, "most", share->most, 6);
        json_writer_text(writer, "busiest", share->busiest[0] != '\0' ? share->busiest : NULL);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

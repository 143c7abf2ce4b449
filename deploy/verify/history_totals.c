/* history_totals.c - adds up counts of histories and prints them, a table a mode. */

#include "deploy/verify/history_totals.h"
#include "common/base/wording.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void history_totals_add(struct history_totals *totals, const struct history_result *result)
{
    totals->histories++;
    totals->failed += result->failed;
    totals->stopped += result->stopped;
    totals->ended += result->ended;
    totals->processes += result->processes;
    totals->events += result->events;
    totals->virtual_seconds += (double)result->virtual_us * 1e-6;
    if (result->healing_us > totals->healing_us)
        totals->healing_us = result->healing_us;
    totals->kept += result->kept;
    oracle_counts_add(&totals->counts, &result->counts);
    network_counts_add(&totals->network, &result->network);
    for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
        totals->faults[i] += result->faults[i];
    transcript_join(totals->digest, result->digest);
}

/* failed: broke a promise. stopped: clean stops; ended: other early ends; the job went on from each.
 * Of a chunk's gradients: applied; stale, too late to count; again, taken before. staleness: updates
 * between the values of a gradient and those it met, on the mean. */
static void print_mode(enum mode mode, const struct history_totals *it)
{
    const struct oracle_counts *counts = &it->counts;
    printf("%-11s %9" PRIu64 " %6" PRIu64 " %7" PRIu64 " %6" PRIu64 " %9" PRIu64 " %7" PRIu64
           " %7" PRIu64 " %9.2f\n",
           mode_name(mode), it->histories, it->failed, it->stopped, it->ended,
           counts->verdicts.applied, counts->verdicts.stale, counts->verdicts.duplicate,
           counts->verdicts.applied > 0
               ? (double)counts->staleness_sum / (double)counts->verdicts.applied
               : 0.0);
}

static void __attribute__((format(printf, 1, 2))) print_line(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    wording_wrap(stdout, text, 0, 2);
}

static void print_others(const struct history_totals *all)
{
    const struct network_counts *network = &all->network;
    print_line("messages: sent %" PRIu64 ", lost %" PRIu64 ", lost with a connection %" PRIu64
               ", lost between hosts %" PRIu64 ", held up %" PRIu64 ", repeated %" PRIu64
               ", overtaking %" PRIu64,
               network->sent, network->lost, network->broken + network->unsent,
               network->partitioned, network->held, network->repeated, network->overtaking);
    print_line("replayed: computations %" PRIu64 ", entries %" PRIu64
               "; batches with entries of two computations %" PRIu64,
               all->counts.record.computations, all->counts.record.entries,
               all->counts.record.torn);
    print_line("scored: shares %" PRIu64 "; models kept %" PRIu64 ", chunks handed over %" PRIu64,
               all->counts.shares, all->kept, all->counts.handed);
    print_line("replicas: sums %" PRIu64 ", chunks' slots %" PRIu64, all->counts.sums,
               all->counts.slots);
    print_line("processes %" PRIu64 ", chunks loaded %" PRIu64 ", gradients asked after %" PRIu64
               ", at most %s from the last fault to the end",
               all->processes, all->counts.loads, all->counts.retries,
               wording_duration((double)all->healing_us * 1e-6).text);
}

static int fault_width(enum mode mode)
{
    int width = (int)strlen(mode_name(mode));
    return width > 8 ? width : 8;
}

/* How often each struck, mode by mode. */
static void print_faults(const struct history_totals *all, const struct history_totals *modes)
{
    printf("\n%-9s", "fault");
    for (enum mode mode = 0; mode < MODE_COUNT; mode++)
        if (modes[mode].histories > 0)
            printf(" %*s", fault_width(mode), mode_name(mode));
    printf(" %9s\n", "in all");
    for (enum fault_kind kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        printf("%-9s", fault_name(kind));
        for (enum mode mode = 0; mode < MODE_COUNT; mode++)
            if (modes[mode].histories > 0)
                printf(" %*" PRIu64, fault_width(mode), modes[mode].faults[kind]);
        printf(" %9" PRIu64 "\n", all->faults[kind]);
    }
    putchar('\n');
}

/* Numbers of all modes; what is only of use for one is left out. */
static void sum(struct history_totals *all, const struct history_totals *it)
{
    all->histories += it->histories;
    all->failed += it->failed;
    all->processes += it->processes;
    all->healing_us = it->healing_us > all->healing_us ? it->healing_us : all->healing_us;
    all->kept += it->kept;
    all->virtual_seconds += it->virtual_seconds;
    oracle_counts_add(&all->counts, &it->counts);
    network_counts_add(&all->network, &it->network);
    for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
        all->faults[i] += it->faults[i];
    transcript_join(all->digest, it->digest);
}

/* The first half: nobody forges these. */
static void print_digest(const struct history_totals *all, const struct history_totals *modes)
{
    char text[HASH_HEX_LENGTH];
    hash_hex(all->digest, HASH_BYTES / 2, text);
    printf("hash of all that happened, the same in any build that behaves alike:\n    %s\n", text);
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        hash_hex(modes[mode].digest, HASH_BYTES / 2, text);
        if (modes[mode].histories > 0 && modes[mode].histories < all->histories)
            printf("    in %s histories %s\n", mode_name(mode), text);
    }
}

void history_totals_print(const struct history_totals *modes, double seconds)
{
    struct history_totals all = {0};
    puts("mode        histories failed stopped  ended   applied   stale   again staleness");
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        if (modes[mode].histories > 0)
            print_mode(mode, &modes[mode]);
        sum(&all, &modes[mode]);
    }
    print_faults(&all, modes);
    print_others(&all);
    print_digest(&all, modes);
    printf("%s of %s in %s, %.0f a second\n",
           wording_counted(all.histories, "history", "histories").text,
           wording_duration(all.virtual_seconds).text, wording_duration(seconds).text,
           (double)all.histories / seconds);
}

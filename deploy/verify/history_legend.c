/* history_legend.c - columns and faults are explained in their own tables; the rest here. */

#include "deploy/verify/history_legend.h"

#include <stdio.h>

#include "deploy/verify/fault_plan.h"
#include "deploy/verify/history_totals.h"

static const char before[] =
    "A history is a job on a cluster in virtual time, all of it drawn from one seed:\n"
    "one or more starts of it, each to its end or to a stop, on other servers and\n"
    "workers each. It fails when a promise of proto/CONTRACT.md is broken; then\n"
    "syncopate verify --seed N --verbose tells it line by line.\n"
    "\n"
    "The first table has a line for each mode:\n";

static const char messages[] =
    "\n"
    "Messages, over all histories:\n"
    "  sent                    put on a wire\n"
    "  lost                    never arrived, by chance\n"
    "  lost with a connection  was under way when it broke, or there was none\n"
    "  lost between hosts      of which one was cut off from the other\n"
    "  held up                 for the same reason, but came when that was over\n"
    "  repeated                arrived twice\n"
    "  overtaking              did not wait for those sent before\n"
    "\n"
    "What a run's record says, where there is one:\n"
    "  computations            gradients that were announced and given a number\n"
    "  entries                 that a chunk has had one of them, handed over at cuts;\n"
    "                          \"at the end\": in the record that the job left\n"
    "  of two computations     a batch was computed again, and some chunks had the\n"
    "                          first gradient of it, others the second\n"
    "\n"
    "Where workers make the updates too:\n"
    "  sums, chunks' slots      that they were given to make them of, by chunk\n"
    "\n"
    "  processes               started, those that came back counted again\n"
    "  chunks loaded           out of a checkpoint\n"
    "  gradients asked after   sent again, for want of an answer\n"
    "  from the last fault     the longest that anybody took to come to an end when\n"
    "  to the end              nothing went wrong any more\n"
    "\n"
    "The hash is of every message that was taken off a wire, its time and values, and\n"
    "of every start and end of a process: the same in any build that behaves alike.\n"
    "\n"
    "A line of --verbose is\n"
    "      1.204000 worker/0 (2) < ps/0 (0) welcome restore_step=4 ... ps/0\n"
    "  the virtual second; who takes it off the wire, with the number of the process\n"
    "  among all that were started; from whom; the kind of message and each of its\n"
    "  values that is not 0; at the end who it says that it is from. \"fault 2: cut\"\n"
    "  is the third fault of the history, striking; lines without < say what became\n"
    "  of a process, or are what it tells people.\n";

void history_legend_print(void)
{
    fputs(before, stdout);
    const struct history_column *column;
    for (unsigned i = 0; (column = history_column(i)) != NULL; i++)
        printf("  %-10s %s\n", column->name, column->meaning);
    fputs("\nThe second one has a line for each fault: how often it struck somebody, by mode:\n",
          stdout);
    for (enum fault_kind kind = 0; kind < FAULT_KIND_COUNT; kind++)
        printf("  %-10s %s\n", fault_name(kind), fault_meaning(kind));
    fputs(messages, stdout);
}

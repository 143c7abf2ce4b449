/* simgrid_arrivals.c - when SimGrid has messages arrive, for tests/processes/calibrate.sh.
 *
 *     simgrid_arrivals PLATFORM.xml OPTION... <messages
 *
 * Reads "number from to start bytes" (hosts by their names, seconds), writes "number arrival". Built
 * apart, with what libsimgrid-dev has; nothing of ours is in it. */

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdio.h>
#include <stdlib.h>

/* number start bytes */
static void sender(int argc, char *argv[])
{
    (void)argc;
    sg_actor_sleep_until(atof(argv[2]));
    sg_mailbox_put(sg_mailbox_by_name(argv[1]), argv[1], atol(argv[3]));
}

static void receiver(int argc, char *argv[])
{
    (void)argc;
    sg_mailbox_get(sg_mailbox_by_name(argv[1]));
    printf("%s %.12f\n", argv[1], simgrid_get_clock());
}

int main(int argc, char *argv[])
{
    char number[16], from[64], to[64], start[64], bytes[32];
    simgrid_init(&argc, argv);
    simgrid_load_platform(argv[1]);
    while (scanf("%15s %63s %63s %63s %31s", number, from, to, start, bytes) == 5) {
        char *words[] = {"message", number, start, bytes, NULL};
        sg_actor_create("sender", sg_host_by_name(from), (xbt_main_func_t)sender, 4, words);
        sg_actor_create("receiver", sg_host_by_name(to), (xbt_main_func_t)receiver, 2, words);
    }
    simgrid_run();
    return 0;
}

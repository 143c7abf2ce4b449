/* task.c - the first and the last lines of the mains of servers and workers. */

#include "common/options/task.h"

#include <stdio.h>

#include "common/process/log.h"
#include "common/process/parent.h"
#include "common/process/process.h"
#include "common/store/occupancy.h"

bool task_begin(struct options *options, enum option_user user, int argc, char **argv,
                int *exit_code)
{
    bool server = user == OPTION_PS;
    struct error error;
    char who[32];
    process_begin();
    if (!options_begin(options, user, argc, argv, exit_code))
        return false;
    snprintf(who, sizeof who, "%s/%u", server ? "ps" : "worker", options->task_index);
    options_begin_log(options, who);
    if (options->parent_stdin && parent_greet(options->deadlines.start, &error) != STATUS_OK) {
        *exit_code = task_end(EXIT_USAGE, &error);
        return false;
    }
    if (options->ignored[0] != '\0')
        log_info("ignored, as options of syncopate-%s: %s", server ? "worker" : "ps",
                 options->ignored);
    if (options->remarks[0] != '\0')
        log_info("%s", options->remarks);
    return true;
}

static void say_wait(void *context, const char *line)
{
    (void)context;
    log_warning("%s", line);
}

int task_await_out(const struct options *options, struct error *error)
{
    if (options->parent_stdin)
        return EXIT_DONE;
    enum status status = occupancy_await(options->out, occupancy_patience(options->deadlines.stop),
                                         say_wait, NULL, error);
    return status == STATUS_OK        ? EXIT_DONE
           : status == STATUS_TIMEOUT ? EXIT_CLUSTER_LOST
                                      : EXIT_CANNOT_OPEN;
}

int task_end(int exit_code, const struct error *error)
{
    bool stopped = exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED;
    if (exit_code == EXIT_DONE || stopped)
        log_info("done exit=%d%s%s", exit_code,
                 stopped && error->text[0] != '\0' ? " reason: " : "", stopped ? error->text : "");
    else
        log_error("%s", error->text);
    return exit_code;
}

/* role_arguments.c - a process's place first, then its options. */

#include "deploy/launcher/role_arguments.h"

#include "deploy/launcher/children.h"

void role_arguments_server(struct arguments *arguments, const struct options *options,
                           const struct role *role)
{
    arguments_init(arguments, "syncopate-ps");
    arguments_add(arguments, "job-name", "ps");
    arguments_add(arguments, "parent-stdin", "true");
    arguments_add(arguments, "task-index", "%u", role->index);
    arguments_add(arguments, "ps-hosts", "%s", role->ps_hosts);
    if (role->out != NULL)
        arguments_add(arguments, "out", "%s", role->out);
    if (role->tells) {
        arguments_add(arguments, "log-every", "%.17g", options->log_every);
        arguments_add(arguments, "tell", "progress");
    }
    arguments_add_options(arguments, options, OPTION_PS);
}

void role_arguments_worker(struct arguments *arguments, const struct options *options,
                           const struct role *role)
{
    arguments_init(arguments, "syncopate-worker");
    arguments_add(arguments, "job-name", "worker");
    arguments_add(arguments, "parent-stdin", "true");
    arguments_add(arguments, "task-index", "%u", role->index);
    arguments_add(arguments, "workers", "%u", options->workers);
    if (options->ps == 0)
        arguments_add(arguments, "ps", "0");
    else
        arguments_add(arguments, "ps-hosts", "%s", role->ps_hosts);
    if (options->job.colocated)
        arguments_add(arguments, "ps", "colocated");
    if (role->out != NULL)
        arguments_add(arguments, "out", "%s", role->out);
    if (role->shares)
        arguments_add(arguments, "data-fd", "%d", CHILD_WORD);
    arguments_add_options(arguments, options, OPTION_WORKER);
}

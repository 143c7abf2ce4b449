/* kubernetes.c - a pod's index: JOB_COMPLETION_INDEX of an Indexed Job, or the number at the end of
 * the name of a StatefulSet's pod. The servers' names follow from a headless Service: --ps-hosts
 * 'ps-[0-1].ps:7000'. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/place/environment.h"
#include "deploy/place/source.h"

#define NUMBER_MAX UINT32_MAX

/* 3 of "trainer-3"; NULL when it ends otherwise. */
static const char *ordinal_of(const char *name)
{
    const char *dash = name != NULL ? strrchr(name, '-') : NULL;
    bool ends = dash != NULL && dash[1] != '\0' && dash[1 + strspn(dash + 1, "0123456789")] == '\0';
    return ends ? dash + 1 : NULL;
}

/* The number at the end of a pod's name counts where a job of several is asked for: a pod that is
 * alone, such as Kubeflow's of a job of one task, may have one as well. */
static bool may_be_named(const struct place_request *request)
{
    return request->source == PLACE_KUBERNETES ||
           (environment_value(request->environment, "KUBERNETES_SERVICE_HOST") != NULL &&
            (request->servers > 0 || request->colocated || request->job_name != NULL ||
             request->ps_hosts != NULL));
}

static enum status read_index(const struct place_request *request, struct place *place,
                              uint64_t *index, struct error *error)
{
    const char *host = environment_value(request->environment, "HOSTNAME");
    enum status status =
        environment_number(request->environment, "JOB_COMPLETION_INDEX", NUMBER_MAX, index, error);
    if (status == STATUS_OK)
        snprintf(place->said, sizeof place->said, "Kubernetes (JOB_COMPLETION_INDEX=%" PRIu64 ")",
                 *index);
    if (status != STATUS_NOT_FOUND)
        return status;
    host = host != NULL ? host : request->host;
    const char *ordinal = ordinal_of(host);
    if (!may_be_named(request) || ordinal == NULL)
        return error_set(error, STATUS_NOT_FOUND,
                         "there is no JOB_COMPLETION_INDEX, and this host's name does not end with "
                         "-N");
    if (!environment_digits(ordinal, NUMBER_MAX, index))
        return error_set(error, STATUS_INVALID, "HOSTNAME=%.100s: a pod's index is at most %u",
                         host, NUMBER_MAX);
    snprintf(place->said, sizeof place->said, "Kubernetes (HOSTNAME=%.100s)", host);
    return STATUS_OK;
}

enum status place_from_kubernetes(struct place *place, const struct place_request *request,
                                  struct error *error)
{
    struct numbered numbered = {.size_name = "pods"};
    enum status status = read_index(request, place, &numbered.rank, error);
    if (status != STATUS_OK)
        return status;
    place->evicts = true;
    status = place_number(place, request, &numbered, error);
    if (status != STATUS_OK || place->evaluates)
        return status;
    if (place->alone || request->ps_hosts != NULL)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "a pod's index does not say where the servers are: give --ps-hosts, of a "
                     "StatefulSet ps and its Service ps 'ps-[0-1].ps:7000'");
}

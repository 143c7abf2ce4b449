/* mpi.c - the variables of Open MPI, and of MPICH and others with PMI.
 *
 * Open MPI has the number of programs, the processes of each (OMPI_APP_CTX_NUM_PROCS="2 3"), and
 * this program's number (OMPI_MCA_orte_app_num). Its OMPI_FIRST_RANKS is not used: it was found to
 * be wrong. No variable names the other hosts, only whether all are on one. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/place/environment.h"
#include "deploy/place/source.h"

#define NUMBER_MAX   UINT32_MAX
#define PROGRAMS_MAX 64

/* "2 3" into tasks; false for another text. */
static bool read_programs(const char *text, uint64_t tasks[PROGRAMS_MAX], size_t *count)
{
    for (*count = 0; *text != '\0'; (*count)++) {
        char number[16];
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits >= sizeof number || *count == PROGRAMS_MAX)
            return false;
        snprintf(number, sizeof number, "%.*s", (int)digits, text);
        environment_digits(number, UINT64_MAX, &tasks[*count]);
        text += digits;
        text += strspn(text, " ");
    }
    return *count > 0;
}

/* Finds this process's program among several. */
static enum status find_program(struct numbered *numbered, const char *const *environment,
                                struct error *error)
{
    const char *list = environment_value(environment, "OMPI_APP_CTX_NUM_PROCS");
    uint64_t tasks[PROGRAMS_MAX], own = 0, first = 0;
    size_t count = 0;
    numbered->group_size = numbered->size;
    if (list == NULL)
        return STATUS_OK;
    if (!read_programs(list, tasks, &count))
        return error_set(error, STATUS_INVALID,
                         "OMPI_APP_CTX_NUM_PROCS=%.60s: needs a number for each program", list);
    enum status status =
        environment_number(environment, "OMPI_MCA_orte_app_num", count - 1, &own, error);
    for (size_t i = 0; i < count && status == STATUS_NOT_FOUND; first += tasks[i++])
        if (numbered->rank >= first && numbered->rank < first + tasks[i]) {
            own = i;
            status = STATUS_OK;
        }
    if (status != STATUS_OK)
        return STATUS_INVALID;
    first = 0;
    for (size_t i = 0; i < own; i++)
        first += tasks[i];
    if (numbered->rank < first || numbered->rank - first >= tasks[own])
        return error_set(error, STATUS_INVALID,
                         "OMPI_COMM_WORLD_RANK=%" PRIu64 " is not of program %" PRIu64
                         " of OMPI_APP_CTX_NUM_PROCS=%.60s",
                         numbered->rank, own, list);
    numbered->group_first = first;
    numbered->group_size = tasks[own];
    if (count == 2)
        numbered->other_size = tasks[1 - own];
    return STATUS_OK;
}

struct names {
    const char *rank, *size, *local_size;
};

/* The job's number is in its processes' identity; Open MPI's is of 16 bits, and the next 16 of a
 * part. */
static uint64_t job_of(const char *identity)
{
    uint64_t job = 0;
    for (const char *c = identity; c != NULL && *c != '\0'; c++)
        job = *c >= '0' && *c <= '9' ? 10 * job + (uint64_t)(*c - '0') : 131 * job + (uint8_t)*c;
    return job > UINT16_MAX && job <= UINT32_MAX ? job >> 16 : job;
}

static const char *identity_of(const char *const *environment)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (environment_value(environment, names[i]) != NULL)
            return environment_value(environment, names[i]);
    return NULL;
}

static bool all_are_here(const char *const *environment, const struct names *names, uint64_t size)
{
    uint64_t here;
    return environment_number(environment, names->local_size, NUMBER_MAX, &here, NULL) ==
               STATUS_OK &&
           here == size;
}

/* Servers that are all here have this host's own address. */
static enum status name_servers(struct place *place, const struct place_request *request,
                                const struct names *names, uint64_t size, struct error *error)
{
    const char *identity = identity_of(request->environment);
    enum status status = STATUS_OK;
    if (place->alone)
        return STATUS_OK;
    if (request->must_meet || !all_are_here(request->environment, names, size))
        return identity == NULL
                   ? error_set(error, STATUS_INVALID,
                               "PMI does not say on which hosts its processes are: give --ps-hosts "
                               "host:port,...")
                   : place_meet(place, request, identity, "PMIX_HOSTNAME",
                                "mpirun does not say on which hosts its processes are", error);
    for (uint32_t i = 0; i < place->servers && status == STATUS_OK; i++)
        status = place_add_server(place, "127.0.0.1",
                                  place_port(request, place_job_port(job_of(identity)), i), error);
    return status;
}

static enum status read_numbered(struct numbered *numbered, const struct names *names,
                                 const char *const *environment, struct error *error)
{
    enum status status =
        environment_number(environment, names->rank, NUMBER_MAX, &numbered->rank, error);
    if (status != STATUS_OK)
        return status;
    status = environment_number(environment, names->size, NUMBER_MAX, &numbered->size, error);
    numbered->size_name = names->size;
    if (status == STATUS_OK && numbered->size == 0)
        return error_set(error, STATUS_INVALID, "%s=0: there is one process at least", names->size);
    return status == STATUS_OK ? find_program(numbered, environment, error) : STATUS_INVALID;
}

enum status place_from_mpi(struct place *place, const struct place_request *request,
                           struct error *error)
{
    static const struct names kinds[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    };
    bool open_mpi = environment_value(request->environment, kinds[0].rank) != NULL;
    const struct names *names = &kinds[open_mpi ? 0 : 1];
    struct numbered numbered = {0};
    enum status status = read_numbered(&numbered, names, request->environment, error);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, status, "neither OMPI_COMM_WORLD_RANK nor PMI_RANK is set");
    if (status != STATUS_OK)
        return status;
    snprintf(place->said, sizeof place->said, "MPI (%s=%" PRIu64 ")", names->rank, numbered.rank);
    const char *identity = identity_of(request->environment);
    bool whole = request->job_name == NULL || numbered.other_size > 0;
    if (identity != NULL && whole) /* Else the other role is of another mpirun. */
        place_call_job(place, "MPI job", identity);
    status = place_number(place, request, &numbered, error);
    if (status != STATUS_OK || request->ps_hosts != NULL || place->evaluates)
        return status;
    if (!whole && !place->serves)
        return error_set(error, STATUS_INVALID,
                         "processes that are workers alone do not know their servers: give "
                         "--ps-hosts");
    return name_servers(place, request, names, numbered.size, error);
}

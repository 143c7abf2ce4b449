/* source.h - what the sources of places share; internal to this folder.
 *
 * A source is a place_source_fn: STATUS_NOT_FOUND when it is not there at all, STATUS_INVALID when it
 * is and is wrong. It fills what it says; place.c sees to what the command line says.
 *
 * Threads: pure. */

#ifndef DEPLOY_PLACE_SOURCE_H
#define DEPLOY_PLACE_SOURCE_H

#include "deploy/place/place.h"

typedef enum status place_source_fn(struct place *place, const struct place_request *request,
                                    struct error *error);

place_source_fn place_from_tf_config, place_from_slurm, place_from_mpi, place_from_torchrun,
    place_from_dmlc, place_from_kubernetes;

/* One process of several that are numbered through. */
struct numbered {
    const char *size_name; /* The variable that says how many there are; NULL: nobody does. */
    uint64_t rank, size;   /* size 0: not known. */
    uint64_t group_first, group_size; /* Processes that were started alike: those of its program. */
    uint64_t other_size;   /* Of two groups the other; 0: there is one, or there are more. */
    uint64_t first_server; /* Filled: the number of the process that is server 0. */
};

/* Role and index of one of several: the first are servers, unless --job-name says what its group is. */
enum status place_number(struct place *place, const struct place_request *request,
                         struct numbered *numbered, struct error *error);

bool place_is_named(const struct place_request *request, const char *job_name);

/* Which port server `index` has on a host of its source: from port_base on, or base. */
uint32_t place_port(const struct place_request *request, uint64_t base, uint32_t index);

/* Add "host:port" to place->ps_hosts; an IPv6 host gets its brackets. */
enum status place_add_server(struct place *place, const char *host, uint32_t port,
                             struct error *error);

/* Ports that jobs of different numbers mostly do not share. */
uint64_t place_job_port(uint64_t job);

/* What the engine calls the job, "Slurm job 1234": of a longer name its end. */
void place_call_job(struct place *place, const char *kind, const char *name);

/* The servers' addresses are to be found in a folder; without one: why they are not known. host_name: the
 * variable in which this host's name is. */
enum status place_meet(struct place *place, const struct place_request *request, const char *job,
                       const char *host_name, const char *why, struct error *error);

#endif

/* source.h - internal to this folder: the interface of the sources of places.
 *
 * A source is a place_source_fn: STATUS_NOT_FOUND when it is absent, STATUS_INVALID when it is
 * present and wrong. It fills in its facts; place.c applies the command line.
 *
 * Threads: pure. */

#ifndef DEPLOY_PLACE_SOURCE_H
#define DEPLOY_PLACE_SOURCE_H

#include "deploy/place/place.h"

typedef enum status place_source_fn(struct place *place, const struct place_request *request,
                                    struct error *error);

place_source_fn place_from_tf_config, place_from_slurm, place_from_mpi, place_from_torchrun,
    place_from_dmlc, place_from_kubernetes;

/* One process of several that are numbered. */
struct numbered {
    const char *size_name;            /* The variable with their number; NULL: none. */
    uint64_t rank, size;              /* size 0: not known. */
    uint64_t group_first, group_size; /* Processes that were started alike: those of its program. */
    /* The size of the other one of two groups; 0: one group, or more than two. */
    uint64_t other_size;
    uint64_t first_server; /* Set by place_number: the number of the process that is server 0. */
};

/* Role and index of one of several: the first are servers, unless --job-name sets the role of its
 * group. */
enum status place_number(struct place *place, const struct place_request *request,
                         struct numbered *numbered, struct error *error);

/* The port of server `index` on a host of its source: from port_base on, or base. */
uint32_t place_port(const struct place_request *request, uint64_t base, uint32_t index);

/* Append "host:port" to place->ps_hosts; an IPv6 host gets brackets. */
enum status place_add_server(struct place *place, const char *host, uint32_t port,
                             struct error *error);

/* Ports that mostly differ between jobs. */
uint64_t place_job_port(uint64_t job);

/* The engine's name of the job, "Slurm job 1234"; of a longer name the end. */
void place_call_job(struct place *place, const char *kind, const char *name);

/* The servers' addresses are read from a folder; without one, an error says why they are unknown.
 * host_name: the variable with this host's name. */
enum status place_meet(struct place *place, const struct place_request *request, const char *job,
                       const char *host_name, const char *why, struct error *error);

#endif

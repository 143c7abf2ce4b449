/* place.h - the place of this process in a job, from the environment that its engine made: role,
 * index, servers, workers, and the source of these.
 *
 *     srun, mpirun, torchrun, TF_CONFIG, DMLC_*, a pod's index      place_find      ps/1 of 2
 *     servers
 *     and the command line                                        ----------->    and 3 workers
 *
 * The first source that is present wins: the command line, SYNCOPATE_* variables, TF_CONFIG, Slurm,
 * MPI, torchrun, DMLC_*, Kubernetes. Without any this process is alone. An engine that Slurm, or
 * mpirun in an allocation, starts precedes it: Slurm's variables are then those of mpirun's daemon,
 * or of torchrun's agent. The command line overrides a source item by item: --job-name sets the
 * role of all processes of a step or pods of a set, and their index still comes from the source;
 * --ps-hosts has the servers' addresses. ENGINES.md has a table of variables.
 *
 * Where a source numbers all its processes, the first are the servers.
 *
 * Environment, host and options are arguments: the calling process has no influence.
 *
 * Threads: pure. Ownership: place_free frees ps_hosts; other texts are copied.
 * Errors: STATUS_INVALID, a line for the person who started the job: exit code 2. */

#ifndef DEPLOY_PLACE_PLACE_H
#define DEPLOY_PLACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"

#define PLACE_TEXT_MAX 160

enum place_source {
    PLACE_AUTO, /* Only as a request. */
    PLACE_TF_CONFIG,
    PLACE_SLURM,
    PLACE_MPI,
    PLACE_TORCHRUN,
    PLACE_DMLC,
    PLACE_KUBERNETES,
    PLACE_NONE, /* The command line, SYNCOPATE_* variables, or no source. */
    PLACE_SOURCE_COUNT
};

/* "tf-config", "slurm", ...; NULL from PLACE_SOURCE_COUNT on. */
const char *place_source_word(unsigned source);

/* The other inputs. */
struct place_request {
    const char *const *environment; /* "NAME=value" [.., NULL]. */
    const char *host;               /* The name of this host. */
    enum place_source source;       /* The source to use; PLACE_AUTO: the first that is present. */
    const char *job_name; /* "ps", "worker", "chief", "master", "evaluator"; NULL: not given. */
    int64_t index;        /* -1: not given. */
    int64_t servers;      /* -1: not given. */
    bool colocated;       /* Every worker's place serves, too. */
    uint32_t workers;     /* 0: not given. */
    const char *ps_hosts; /* host:port of every server; NULL: not given. */
    uint32_t port_base;   /* For servers whose hosts a source names; 0: the source's port. */
    bool meeting;         /* There is a folder in which servers can leave their addresses, */
    bool must_meet;       /* and it is required even where addresses are known otherwise. */
};

struct place {
    enum place_source source;
    char said[PLACE_TEXT_MAX]; /* "SLURM (SLURM_PROCID=4)" */
    bool serves, works; /* Both: a co-located pair. Neither: it evaluates, or has nothing to do. */
    bool evaluates;
    bool alone;       /* A worker without servers. */
    uint32_t server;  /* Its index as a server, */
    uint32_t worker;  /* and as a worker. */
    uint32_t servers; /* In the job; 0 when it is not needed. */
    uint32_t workers; /* The same. */
    char *ps_hosts;   /* "host:port,..."; NULL: alone, or by rendezvous. Owned. */
    bool meets; /* Servers leave their addresses in a folder, from which all processes read them. */
    char job[PLACE_TEXT_MAX];  /* Distinguishes this job's addresses from an older one's, */
    char host[PLACE_TEXT_MAX]; /* and the name of this host for others. */
    char job_id[JOB_ID_BYTES]; /* The engine's name of the job: "Slurm job 1234"; "": none. */
    bool evicts;               /* The engine ends single tasks, and makes them again. */
};

enum status place_find(struct place *place, const struct place_request *request,
                       struct error *error);
void place_free(struct place *place);

/* Whether an engine has started this process as one of several (the variable, into said), and
 * whether it is the first of them. */
bool place_one_of_several(const char *const *environment, char said[PLACE_TEXT_MAX], bool *first);

/* "worker/2 of 3 workers, 2 servers, from SLURM (SLURM_PROCID=4)" */
void place_describe(const struct place *place, char text[2 * PLACE_TEXT_MAX]);

#endif

/* place.h - which process of a job this one is, read from what whoever started it left in its
 * environment: role, index, servers, workers, and who said so.
 *
 *     srun, mpirun, torchrun, TF_CONFIG, DMLC_*, a pod's index      place_find      ps/1 of 2 servers
 *     and what the command line says                              ----------->    and 3 workers
 *
 * Sources, the first that is there wins: the command line, SYNCOPATE_* variables, TF_CONFIG, Slurm,
 * MPI, torchrun, DMLC_*, Kubernetes; and with none of them this process is alone. Who was
 * itself started by Slurm, mpirun in an allocation or an agent of torchrun's, comes before it: Slurm's
 * variables are then those of mpirun's daemon or that agent. What
 * the command line says stands over a source item by item: --job-name says what all processes of a
 * step or pods of a set are, and their index still comes from the source; --ps-hosts says where the
 * servers are. ENGINES.md has a table of variables.
 *
 * Where a source numbers its processes through, the first are the servers.
 *
 * Nothing here asks the process it runs in: environment, host and options are given.
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
    PLACE_AUTO, /* Only as a wish. */
    PLACE_TF_CONFIG,
    PLACE_SLURM,
    PLACE_MPI,
    PLACE_TORCHRUN,
    PLACE_DMLC,
    PLACE_KUBERNETES,
    PLACE_NONE, /* The command line, SYNCOPATE_* variables, or nothing. */
    PLACE_SOURCE_COUNT
};

/* "tf-config", "slurm", ...; NULL from PLACE_SOURCE_COUNT on. */
const char *place_source_word(unsigned source);

/* What is known besides. */
struct place_request {
    const char *const *environment; /* "NAME=value" [.., NULL]. */
    const char *host;               /* What this host calls itself. */
    enum place_source source;       /* Which one to ask; PLACE_AUTO: the first that is there. */
    const char *job_name; /* "ps", "worker", "chief", "master", "evaluator"; NULL: not said. */
    int64_t index;        /* -1: not said. */
    int64_t servers;      /* -1: not said. */
    bool colocated;       /* Every worker's place serves, too. */
    uint32_t workers;     /* 0: not said. */
    const char *ps_hosts; /* host:port of every server; NULL: not said. */
    uint32_t port_base;   /* Of servers whose hosts a source names; 0: as the source has it. */
    bool meeting;         /* There is a folder in which servers can leave their addresses, */
    bool must_meet;       /* and they are to, where they could be known otherwise, too. */
};

struct place {
    enum place_source source;
    char said[PLACE_TEXT_MAX]; /* "SLURM (SLURM_PROCID=4)" */
    bool serves, works; /* Both: a co-located pair. Neither: it evaluates, or has nothing to do. */
    bool evaluates;
    bool alone;       /* It works, and there is no server. */
    uint32_t server;  /* Its index as a server, */
    uint32_t worker;  /* and as a worker. */
    uint32_t servers; /* In the job; 0 where nobody needs to know. */
    uint32_t workers; /* The same. */
    char *ps_hosts;   /* "host:port,..."; NULL: alone, or they meet. Owned. */
    bool meets; /* Servers leave their addresses in a folder, everybody takes them from there. */
    char job[PLACE_TEXT_MAX];  /* What tells this job's addresses from an older one's, */
    char host[PLACE_TEXT_MAX]; /* and what others call this host. */
    char job_id[JOB_ID_BYTES]; /* What its engine calls the job: "Slurm job 1234"; "": nothing. */
    bool evicts;               /* Whoever started this ends single tasks, and makes them again. */
};

enum status place_find(struct place *place, const struct place_request *request,
                       struct error *error);
void place_free(struct place *place);

/* Whether an engine says that this process is one of several (by which variable, into said), and whether
 * it is the first of them. */
bool place_one_of_several(const char *const *environment, char said[PLACE_TEXT_MAX], bool *first);

/* "worker/2 of 3 workers, 2 servers, from SLURM (SLURM_PROCID=4)" */
void place_describe(const struct place *place, char text[2 * PLACE_TEXT_MAX]);

#endif

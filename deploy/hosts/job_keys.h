/* job_keys.h - the keys of a job in memory: made for it, or read from a folder; and what one process
 * needs of them (deploy/KEYS.md).
 *
 * Threads: one. Ownership: holds secrets; job_keys_free leaves none. */

#ifndef DEPLOY_HOSTS_JOB_KEYS_H
#define DEPLOY_HOSTS_JOB_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "common/keys/certificate.h"

struct job_keys {
    uint32_t workers;
    struct certificate servers;
    struct certificate *worker; /* [workers], owned. */
    struct certificate observer;
};

/* Fresh ones. STATUS_IO: this libzmq makes none; STATUS_MEMORY. job_keys_free in any case. */
enum status job_keys_make(struct job_keys *keys, uint32_t workers, struct error *error);
/* Those of a folder, as keys.h has it. Others that lie there, of an observer for one, are let in as
 * well. */
enum status job_keys_read(struct job_keys *keys, const char *folder, uint32_t workers,
                          struct error *error);
/* Accepts what was only zeroed. */
void job_keys_free(struct job_keys *keys);

/* The files that a server, or worker number `worker`, needs, as host_site.c's lines of shell read
 * them. NULL without memory; to be wiped and freed. */
char *job_keys_for_server(const struct job_keys *keys);
char *job_keys_for_worker(const struct job_keys *keys, uint32_t worker);

#endif

/* job_keys.h - the keys of a job in memory, generated or read from a folder, and the part that one
 * process needs (deploy/KEYS.md).
 *
 * Threads: one. Ownership: holds secrets; job_keys_free wipes them. */

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

/* Generates keys. STATUS_IO: this libzmq cannot; STATUS_MEMORY. Call job_keys_free in any case. */
enum status job_keys_make(struct job_keys *keys, uint32_t workers, struct error *error);
/* From a folder, as in keys.h. Further certificates there, for example an observer's, are accepted
 * as well. */
enum status job_keys_read(struct job_keys *keys, const char *folder, uint32_t workers,
                          struct error *error);
/* Accepts a zeroed struct. */
void job_keys_free(struct job_keys *keys);

/* The files of a server, or of worker number `worker`, in the form that host_site.c's lines of
 * shell read. NULL without memory; the caller wipes and frees it. */
char *job_keys_for_server(const struct job_keys *keys);
char *job_keys_for_worker(const struct job_keys *keys, uint32_t worker);

#endif

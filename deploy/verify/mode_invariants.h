/* mode_invariants.h - what a mode promises, as the witness holds it against what owners, sessions and
 * trainers do: a table a mode. What all modes promise is in oracle.c.
 *
 * Members are required unless they say optional.
 *
 * Threads: the witness's. */

#ifndef DEPLOY_VERIFY_MODE_INVARIANTS_H
#define DEPLOY_VERIFY_MODE_INVARIANTS_H

#include "deploy/verify/oracle.h"

struct mode_invariants {
    /* The values of a version are those of the serial training (S1). Else the witness applies
     * itself what owners take, and holds every bit of theirs against its own. */
    bool serial;
    /* A version is asked for by its number, waited for, and answered in the moment it is there; the
     * version before stays readable (S7, S8). Else whatever there is is given at once. */
    bool releases;

    /* What has to become of a gradient that comes now; VERDICT_NONE: only its owner knows. */
    enum verdict (*judge)(const struct oracle *oracle, const struct oracle_chunk *chunk,
                          const struct message_exchange *exchange);
    /* It goes into its owner, with witness->expected.verdict. NULL: the versions that chunks have are taken
     * from their owners. */
    void (*take)(struct oracle *oracle, struct oracle_server *server, const struct packet *packet,
                 uint32_t sender);
    /* Optional. An array of a chunk is on its way to a checkpoint. */
    void (*snapshot)(struct oracle *oracle, const struct oracle_server *server, uint32_t chunk,
                     const struct packet *packet);
    /* Optional. A session sends a gradient made from `base_version`. */
    void (*sent)(struct oracle *oracle, const struct oracle_worker *worker,
                 const struct message *message);
    /* Optional. What server 0 puts out. */
    void (*said)(struct oracle *oracle, uint32_t server_0, const struct outgoing *item);
};

const struct mode_invariants *mode_invariants_of(const struct job *job);

#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    extern const struct mode_invariants mode_invariants_##invariants;
#include "common/job/mode_rows.inc"
#undef MODE

/* Where steps are made of sets of leaves (mode_invariants_backup.c). */
enum status oracle_sets_init(struct oracle *oracle);
void oracle_sets_free(struct oracle *oracle);
/* The model is known as `step` begins. */
enum status oracle_sets_begin(struct oracle *oracle, uint64_t step,
                              const struct model_state *model);

/* --- the witness's own model, for the tables --------------------------------------------------- */

/* The chunk has had a batch that makes a version; and what it holds, all of whose batches it has had, is
 * made one, if there is something. */
void oracle_advance(struct oracle *oracle, struct oracle_server *server, uint32_t chunk);
void oracle_close_group(struct oracle *oracle, struct oracle_server *server, uint32_t chunk);

/* The updates that made this state are those of the serial model. */
void oracle_check_updates(struct oracle *oracle, const struct model_state *state);

/* Values that the chunk had at this version, in this generation; `check` is their checksum. */
void oracle_learn(struct oracle *oracle, uint64_t generation, uint32_t chunk, uint64_t version,
                  uint64_t check);

/* The checksum of a chunk's part of the parameter space. */
uint64_t oracle_check_space(const struct oracle *oracle, uint32_t chunk, const float *space);

/* The owner that has the chunk, of its server's. */
uint32_t oracle_owner_of(const struct oracle *oracle, uint32_t chunk);

/* A chunk of this state is cut at `step`: it may be loaded again. */
void oracle_note_snapshot(struct oracle *oracle, uint32_t chunk, uint64_t step,
                          const struct model_state *state);

#endif

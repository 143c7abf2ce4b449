/* options_synonyms.c - what is said of an unknown option: the name that this program has for it, or
 * the nearest name there is. */

#include <stdio.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/options/options_table.h"

#define WORD_MAX  32
#define GUESS_MIN 5 /* Of shorter words too many others are near. */

/* Words of other programs, and options that are gone: the name of the option here, NULL when there
 * is none, and what there is to say besides. */
static const struct synonym {
    const char *words; /* Without dashes before them; a blank between. */
    const char *name, *remark;
} synonyms[] = {
    {"lr", "learning-rate", NULL},
    {"batch-size batch", "global-batch", "examples in an update, of all workers together"},
    {"iterations", "steps", NULL},
    {"sync-replicas issync", NULL, "write --mode sync or --mode async"},
    {"replicas-to-aggregate", "backup-workers", "workers that no step waits for"},
    {"clip", NULL, "there is no gradient clipping"},
    {"np n", "workers", "and servers are --ps"},
    {"rank", "task-index", NULL},
    {"nodes hostfile", "hosts", NULL},
    {"port", NULL, "servers listen where --ps-hosts says, those of launch from --port-base on"},
    {"latency bandwidth", "network", "as in --network 10Gbit,50us"},
    {"threads", NULL, "a worker computes in one thread; --workers is how many compute at once"},
    {"gpu", NULL, "there is no GPU support: workers compute on processors"},
    {"resume", NULL, "the same command with the same --out goes on by itself"},
    {"slurm", NULL, "Slurm starts a job itself: srun -n 5 syncopate task --ps 2"},
    {"mpi", NULL, "MPI starts a job itself: mpirun -np 5 syncopate task --ps 2"},
    {"dropped", NULL,
     "what a step does not wait for is lost for the epoch, as in TensorFlow, and counted"},
    {"turns", NULL, "streams of a host take turns at its card, as kernels do it"},
    {"self pid evicted", NULL,
     "SIGTERM lets a worker leave that runs with --on-term leave; or name it as "
     "HOST:PORT/worker/I"},
};

static bool has_word(const char *words, const char *word)
{
    while (words[0] != '\0') {
        char one[WORD_MAX];
        size_t length = strcspn(words, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, words);
        if (spelling_same(word, one))
            return true;
        words += length + strspn(words + length, " ");
    }
    return false;
}

bool option_synonym(const char *word, const char **name, const char **remark)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (!has_word(synonyms[i].words, word))
            continue;
        *name = synonyms[i].name;
        *remark = synonyms[i].remark;
        return true;
    }
    return false;
}

const char *option_meant(unsigned users, const char *word)
{
    const char *name, *remark;
    const struct option_row *row = option_find(users, word, strlen(word));
    struct spelling spelling;
    if (row != NULL) /* With one dash. */
        return row->name;
    if (option_synonym(word, &name, &remark) && name != NULL &&
        option_find(users, name, strlen(name)) != NULL)
        return name;
    if (strlen(word) < GUESS_MIN)
        return NULL;
    spelling_begin(&spelling, word);
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].users & users)
            spelling_try(&spelling, option_rows[i].name);
    spelling_try(&spelling, "help");
    spelling_try(&spelling, "version");
    return spelling.nearest;
}

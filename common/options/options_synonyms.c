/* options_synonyms.c - what an option is called elsewhere, and what it is called here. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/options/options_table.h"

#define ROLES   (OPTION_PS | OPTION_WORKER | OPTION_TASK)
#define ANYBODY ~0u
#define NOT_TF1                                                                                    \
    (ANYBODY & ~(OPTION_WORKER | OPTION_TASK)) /* Scripts of TensorFlow 1 start those. */

#define WORD_MAX  32
#define GUESS_MIN 5 /* Of shorter words too many others are near. */

/* Words that other programs have for an option: its name here, or NULL when there is none; and
 * what there is to say besides. Of two rows with one word the first that has the user counts. */
static const struct synonym {
    const char *words; /* Without dashes before them; a blank between. */
    unsigned users;
    const char *name, *remark;
} synonyms[] = {
    /* The job. */
    {"lr", ANYBODY, "learning-rate", NULL},
    {"batch-size", NOT_TF1, "global-batch", "examples in an update, of all workers together"},
    {"batch", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"iterations", ANYBODY, "steps", NULL},
    {"sync async", ANYBODY, NULL, "write --mode sync or --mode async"},
    {"sync-replicas issync", NOT_TF1, NULL, "write --mode sync"},
    {"clip", ANYBODY, NULL, "there is no gradient clipping"},
    {"dropout", ANYBODY, NULL, "there are no dropout layers"},
    {"loss", ANYBODY & ~(OPTION_SIMULATE | OPTION_COMPARE), NULL,
     "the loss is softmax cross-entropy (of simulate it is the share of lost messages)"},
    {"early-stopping", ANYBODY, "patience", "with --follow"},

    /* The cluster. */
    {"np n", ANYBODY, "workers", "and servers are --ps"},
    {"servers", ANYBODY, "ps", NULL},
    {"hosts port", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"rank", ROLES, "task-index", NULL},
#define ONE_HOST                                                                                   \
    "this starts all processes on this host, on ports that are free; for several hosts write "     \
    "'syncopate launch --hosts FILE', or start syncopate-ps and syncopate-worker on each, with "   \
    "--ps-hosts"
    {"hosts H hostfile nodes port rank ps-hosts worker-hosts task-index job-name",
     OPTION_RUN | OPTION_COMPARE, NULL, ONE_HOST},
    {"hostfile nodes", OPTION_LAUNCH, "hosts", NULL},
    {"port", OPTION_LAUNCH, "port-base", NULL},
    {"slurm", OPTION_LAUNCH, NULL, "Slurm starts a job itself: srun -n 5 syncopate task --ps 2"},
    {"self pid evicted", OPTION_LEAVE, NULL,
     "SIGTERM lets a worker leave that runs with --on-term leave; or name it as HOST:PORT/worker/I"},
    {"mpi", OPTION_LAUNCH, NULL, "MPI starts a job itself: mpirun -np 5 syncopate task --ps 2"},
#define CHOSEN_THERE "launch deals servers and workers over the hosts (--hosts FILE: role=, slots=)"
    {"ps-hosts worker-hosts task-index job-name rank", OPTION_LAUNCH, NULL, CHOSEN_THERE},
    {"latency bandwidth", ANYBODY, "network", "as in --network 10Gbit,50us"},
#define NO_THREADS                                                                                 \
    "a worker computes in one thread; --workers is how many compute at once (--owner-threads is "  \
    "for servers)"
    {"threads", ANYBODY, NULL, NO_THREADS},
#define NO_GPU "there is no GPU support: workers compute on processors"
    {"gpu device cuda", ANYBODY, NULL, NO_GPU},

    /* Files and output. */
    {"output o", ANYBODY, "out", NULL},
    {"plot", ANYBODY, NULL,
     "'syncopate compare' draws figures, and --tensorboard DIR keeps curves"},
#define GOES_ON                                                                                    \
    "the same command with the same --out goes on by itself; --restore PATH begins a new run "     \
    "from a checkpoint"
    {"resume", ANYBODY, NULL, GOES_ON},
    {"v", ANYBODY, "verbose", "and --version shows the version"},
};

static bool has_word(const char *words, const char *word)
{
    bool letter = word[0] != '\0' && word[1] == '\0'; /* Of which case matters. */
    while (words[0] != '\0') {
        char one[WORD_MAX];
        size_t length = strcspn(words, " ");
        assert(length < sizeof one);
        snprintf(one, sizeof one, "%.*s", (int)length, words);
        if (letter ? strcmp(word, one) == 0 : spelling_same(word, one))
            return true;
        words += length + strspn(words + length, " ");
    }
    return false;
}

/* NULL when the word is nobody's. */
static const struct synonym *find(unsigned users, const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const struct synonym *synonym = &synonyms[i];
        if (!(synonym->users & users) || !has_word(synonym->words, word))
            continue;
        assert(synonym->name == NULL ||
               option_find(~0u, synonym->name, strlen(synonym->name)) != NULL);
        return synonym;
    }
    return NULL;
}

bool option_synonym(unsigned users, const char *word, const char **name, const char **remark)
{
    const struct synonym *synonym = find(users, word);
    if (synonym == NULL)
        return false;
    *name = synonym->name;
    *remark = synonym->remark;
    return true;
}

const char *option_meant(unsigned users, const char *word)
{
    const struct synonym *synonym = find(users, word);
    const struct option_row *row = option_find(users, word, strlen(word));
    struct spelling spelling;
    if (row != NULL) /* With one dash. */
        return row->name;
    if (synonym != NULL && synonym->name != NULL &&
        option_find(users, synonym->name, strlen(synonym->name)) != NULL)
        return synonym->name;
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

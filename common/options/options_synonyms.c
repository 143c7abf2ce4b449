/* options_synonyms.c - what an option is called elsewhere, and what it is called here. */

#include <assert.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/options/options_table.h"

#define JOB      (OPTION_WORKER | OPTION_RUN | OPTION_COMPARE)
#define ROLES    (OPTION_PS | OPTION_WORKER)
#define LAUNCHES (OPTION_RUN | OPTION_COMPARE)
#define ANYBODY  ~0u

/* A word that other programs have for an option: its name here, or NULL when there is none; and
 * what there is to say besides. Of two rows with one word the first that has the user counts. */
static const struct synonym {
    const char *word; /* Without dashes. */
    unsigned users;
    const char *name, *remark;
} synonyms[] = {
    /* The job. */
    {"lr", ANYBODY, "learning-rate", NULL},
    {"eta", ANYBODY, "learning-rate", NULL},
    {"opt", ANYBODY, "optimizer", NULL},
    {"optimiser", ANYBODY, "optimizer", NULL},
    {"optim", ANYBODY, "optimizer", NULL},
    {"lr-schedule", ANYBODY, "schedule", NULL},
    {"scheduler", ANYBODY, "schedule", NULL},
    {"warmup", ANYBODY, "warmup-steps", NULL},
    {"batch-size", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"batchsize", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"batch", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"bs", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"b", ANYBODY, "global-batch", "examples in an update, of all workers together"},
    {"num-epochs", ANYBODY, "epochs", NULL},
    {"n-epochs", ANYBODY, "epochs", NULL},
    {"nepochs", ANYBODY, "epochs", NULL},
    {"max-epochs", ANYBODY, "epochs", NULL},
    {"e", ANYBODY, "epochs", NULL},
    {"iterations", ANYBODY, "steps", NULL},
    {"iters", ANYBODY, "steps", NULL},
    {"num-steps", ANYBODY, "steps", NULL},
    {"max-steps", ANYBODY, "steps", NULL},
    {"train-steps", ANYBODY, "steps", NULL},
    {"updates", ANYBODY, "steps", NULL},
    {"dataset", ANYBODY, "data", NULL},
    {"data-dir", ANYBODY, "data", NULL},
    {"data-path", ANYBODY, "data", NULL},
    {"d", ANYBODY, "data", NULL},
    {"network", ANYBODY, "model", NULL},
    {"net", ANYBODY, "model", NULL},
    {"arch", ANYBODY, "model", NULL},
    {"architecture", ANYBODY, "model", NULL},
    {"layers", ANYBODY, "model", NULL},
    {"m", ANYBODY, "model", NULL},
    {"random-seed", ANYBODY, "seed", NULL},
    {"s", ANYBODY, "seed", NULL},
    {"async", ANYBODY, NULL, "write --mode async"},
    {"sync", ANYBODY, NULL, "write --mode sync"},
    {"sync-replicas", ANYBODY, NULL, "write --mode sync"},
    {"issync", ANYBODY, NULL, "write --mode sync"},
    {"dropout", ANYBODY, NULL, "there are no dropout layers"},

    /* The cluster. */
    {"num-workers", ANYBODY, "workers", NULL},
    {"n-workers", ANYBODY, "workers", NULL},
    {"nworkers", ANYBODY, "workers", NULL},
    {"world-size", ANYBODY, "workers", NULL},
    {"nproc", ANYBODY, "workers", NULL},
    {"nprocs", ANYBODY, "workers", NULL},
    {"nproc-per-node", ANYBODY, "workers", NULL},
    {"np", ANYBODY, "workers", "and servers are --ps"},
    {"n", ANYBODY, "workers", "and servers are --ps"},
    {"w", ANYBODY, "workers", NULL},
    {"replicas", ANYBODY, "workers", NULL},
    {"num-ps", ANYBODY, "ps", NULL},
    {"servers", ANYBODY, "ps", NULL},
    {"num-servers", ANYBODY, "ps", NULL},
    {"parameter-servers", ANYBODY, "ps", NULL},
    {"hosts", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"host", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"H", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"master", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"address", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"port", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"hostfile", ROLES, "ps-hosts", "a list such as alpha:7000,beta:7000, and no file"},
    {"hosts-file", ROLES, "ps-hosts", "a list such as alpha:7000,beta:7000, and no file"},
    {"machinefile", ROLES, "ps-hosts", "a list such as alpha:7000,beta:7000, and no file"},
    {"rank", ROLES, "task-index", NULL},
    {"node-rank", ROLES, "task-index", NULL},
    {"worker-id", ROLES, "task-index", NULL},
#define ONE_HOST                                                                                   \
    "this starts all processes on this host; for several, start syncopate-ps and "                 \
    "syncopate-worker on each, with --ps-hosts"
    {"hosts", LAUNCHES, NULL, ONE_HOST},
    {"host", LAUNCHES, NULL, ONE_HOST},
    {"H", LAUNCHES, NULL, ONE_HOST},
    {"hostfile", LAUNCHES, NULL, ONE_HOST},
    {"hosts-file", LAUNCHES, NULL, ONE_HOST},
    {"machinefile", LAUNCHES, NULL, ONE_HOST},
    {"ps-hosts", LAUNCHES, NULL, ONE_HOST},
    {"worker-hosts", LAUNCHES, NULL, ONE_HOST},
    {"task-index", LAUNCHES, NULL, ONE_HOST},
    {"job-name", LAUNCHES, NULL, ONE_HOST},
#define NO_THREADS                                                                                 \
    "a worker computes in one thread; --workers is how many compute at once (--owner-threads is "  \
    "for servers)"
    {"threads", ANYBODY, NULL, NO_THREADS},
    {"num-threads", ANYBODY, NULL, NO_THREADS},
    {"j", ANYBODY, NULL, NO_THREADS},
#define NO_GPU "there is no GPU support: workers compute on processors"
    {"gpu", ANYBODY, NULL, NO_GPU},
    {"gpus", ANYBODY, NULL, NO_GPU},
    {"num-gpus", ANYBODY, NULL, NO_GPU},
    {"cuda", ANYBODY, NULL, NO_GPU},
    {"use-cuda", ANYBODY, NULL, NO_GPU},
    {"device", ANYBODY, NULL, NO_GPU},
    {"timeout", ANYBODY, NULL,
     "each wait has its own: --start-timeout, --worker-timeout, ... (--help)"},

    /* Files and output. */
    {"output", ANYBODY, "out", NULL},
    {"output-dir", ANYBODY, "out", NULL},
    {"outdir", ANYBODY, "out", NULL},
    {"out-dir", ANYBODY, "out", NULL},
    {"logdir", ANYBODY, "out", NULL},
    {"log-dir", ANYBODY, "out", NULL},
    {"save-dir", ANYBODY, "out", NULL},
    {"model-dir", ANYBODY, "out", NULL},
    {"train-dir", ANYBODY, "out", NULL},
    {"checkpoint-dir", ANYBODY, "out", NULL},
    {"o", ANYBODY, "out", NULL},
    {"save-every", ANYBODY, "checkpoint-every", NULL},
    {"save-steps", ANYBODY, "checkpoint-every", NULL},
    {"checkpoint-interval", ANYBODY, "checkpoint-every", NULL},
#define GOES_ON                                                                                    \
    "the same command with the same --out goes on by itself; --restore PATH begins a new run "     \
    "from "                                                                                        \
    "a checkpoint"
    {"resume", ANYBODY, NULL, GOES_ON},
    {"continue", ANYBODY, NULL, GOES_ON},
    {"resume-from", ANYBODY, NULL, GOES_ON},
    {"load", ANYBODY, "restore", NULL},
    {"checkpoint", ANYBODY, "restore", NULL},
    {"ckpt", ANYBODY, "restore", NULL},
    {"log-interval", ANYBODY, "log-every", "in seconds"},
    {"print-every", ANYBODY, "log-every", "in seconds"},
    {"q", ANYBODY, "quiet", NULL},
    {"silent", ANYBODY, "quiet", NULL},
    {"v", ANYBODY, "verbose", "and --version shows the version"},
    {"debug", ANYBODY, "verbose", NULL},
};

/* NULL when the word is nobody's. */
static const struct synonym *find(unsigned users, const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const struct synonym *synonym = &synonyms[i];
        bool letter = word[0] != '\0' && word[1] == '\0'; /* Of which case matters. */
        bool same = letter ? strcmp(word, synonym->word) == 0 : spelling_same(word, synonym->word);
        if (!same || !(synonym->users & users))
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
    struct spelling spelling;
    if (synonym != NULL && synonym->name != NULL &&
        option_find(users, synonym->name, strlen(synonym->name)) != NULL)
        return synonym->name;
    spelling_begin(&spelling, word);
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].users & users)
            spelling_try(&spelling, option_rows[i].name);
    spelling_try(&spelling, "help");
    spelling_try(&spelling, "version");
    return spelling.nearest;
}

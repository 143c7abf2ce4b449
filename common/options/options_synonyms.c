/* options_synonyms.c - what an option is called elsewhere, and what it is called here. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/spelling.h"
#include "common/options/options_table.h"

#define ONE_RUN  (OPTION_RUN | OPTION_LAUNCH)
#define JOB      (OPTION_WORKER | OPTION_TASK | ONE_RUN | OPTION_COMPARE | OPTION_SIMULATE)
#define ROLES    (OPTION_PS | OPTION_WORKER | OPTION_TASK)
#define LAUNCHES (ONE_RUN | OPTION_COMPARE)
#define ANYBODY  ~0u
#define NOT_TF1                                                                                    \
    (ANYBODY & ~(OPTION_WORKER | OPTION_TASK)) /* Scripts of TensorFlow 1 start those. */

#define WORD_MAX 32

/* Words that other programs have for an option: its name here, or NULL when there is none; and
 * what there is to say besides. Of two rows with one word the first that has the user counts. */
static const struct synonym {
    const char *words; /* Without dashes before them; a blank between. */
    unsigned users;
    const char *name, *remark;
} synonyms[] = {
    /* The job. */
    {"lr eta", ANYBODY, "learning-rate", NULL},
    {"opt optimiser optim", ANYBODY, "optimizer", NULL},
    {"lr-schedule scheduler", ANYBODY, "schedule", NULL},
    {"warmup", ANYBODY, "warmup-steps", NULL},
    {"batch-size", NOT_TF1, "global-batch", "examples in an update, of all workers together"},
    {"batchsize batch bs b", ANYBODY, "global-batch",
     "examples in an update, of all workers together"},
    {"num-epochs n-epochs nepochs max-epochs e", ANYBODY, "epochs", NULL},
    {"iterations iters num-steps max-steps train-steps updates", ANYBODY, "steps", NULL},
    {"dataset data-dir data-path d", ANYBODY, "data", NULL},
    {"net arch architecture layers m", ANYBODY, "model", NULL},
    {"random-seed s", ANYBODY, "seed", NULL},
    {"async", ANYBODY, NULL, "write --mode async"},
    {"sync", ANYBODY, NULL, "write --mode sync"},
    {"sync-replicas issync", NOT_TF1, NULL, "write --mode sync"},
    {"dropout", ANYBODY, NULL, "there are no dropout layers"},

    /* The cluster. */
    {"num-workers n-workers nworkers world-size nproc nprocs nproc-per-node w replicas", ANYBODY,
     "workers", NULL},
    {"np n", ANYBODY, "workers", "and servers are --ps"},
    {"num-ps servers num-servers parameter-servers", ANYBODY, "ps", NULL},
    {"hosts host H master address port", ROLES, "ps-hosts", "every server's host:port, in order"},
    {"hostfile hosts-file machinefile", ROLES, "ps-hosts",
     "a list such as alpha:7000,beta:7000, and no file"},
    {"rank node-rank worker-id", ROLES, "task-index", NULL},
#define ONE_HOST                                                                                   \
    "this starts all processes on this host; for several write 'syncopate launch --hosts FILE', "  \
    "or start syncopate-ps and syncopate-worker on each, with --ps-hosts"
    {"hosts host H hostfile hosts-file machinefile ps-hosts worker-hosts task-index job-name",
     OPTION_RUN | OPTION_COMPARE, NULL, ONE_HOST},
    {"hostfile hosts-file machinefile f", OPTION_LAUNCH, "hosts", NULL},
    {"host h", OPTION_LAUNCH, "host-list", "or -H LIST"},
#define CHOSEN_THERE "launch deals servers and workers over the hosts (--hosts FILE: role=, slots=)"
    {"ps-hosts worker-hosts task-index job-name", OPTION_LAUNCH, NULL, CHOSEN_THERE},
    {"launcher rsh-agent plm-rsh-agent rsh", OPTION_LAUNCH, "ssh", NULL},
#define NO_THREADS                                                                                 \
    "a worker computes in one thread; --workers is how many compute at once (--owner-threads is "  \
    "for servers)"
    {"threads num-threads j", ANYBODY, NULL, NO_THREADS},
#define NO_GPU "there is no GPU support: workers compute on processors"
    {"gpu gpus num-gpus cuda use-cuda device", ANYBODY, NULL, NO_GPU},
    {"timeout", ANYBODY, NULL,
     "each wait has its own: --start-timeout, --worker-timeout, ... (--help)"},

    /* Files and output. */
    {"output output-dir outdir out-dir o", ANYBODY, "out", NULL},
    {"logdir log-dir save-dir model-dir train-dir checkpoint-dir", ANYBODY, "out", NULL},
    {"save-every save-steps checkpoint-interval", ANYBODY, "checkpoint-every", NULL},
#define GOES_ON                                                                                    \
    "the same command with the same --out goes on by itself; --restore PATH begins a new run "     \
    "from a checkpoint"
    {"resume continue resume-from", ANYBODY, NULL, GOES_ON},
    {"load checkpoint ckpt", ANYBODY, "restore", NULL},
    {"log-interval print-every", ANYBODY, "log-every", "in seconds"},
    {"q silent", ANYBODY, "quiet", NULL},
    {"v", ANYBODY, "verbose", "and --version shows the version"},
    {"debug", ANYBODY, "verbose", NULL},
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

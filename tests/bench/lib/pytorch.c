/* pytorch.c - a child becomes the Python script, and answers one line with another. */

#include "tests/bench/lib/pytorch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "tests/bench/lib/pytorch_gradient.py" /* From where make runs. */

/* PyTorch gives every activation back to the system and faults it in again unless malloc is told to
 * keep it; it is shown at its best, which for batches of 64 is a third faster. */
static void run(int asks, int answers, bool narrow)
{
    dup2(asks, STDIN_FILENO);
    dup2(answers, STDOUT_FILENO);
    setenv("MALLOC_MMAP_THRESHOLD_", "1073741824", 1);
    setenv("MALLOC_TRIM_THRESHOLD_", "1073741824", 1);
    setenv("MALLOC_TOP_PAD_", "67108864", 1);
    if (narrow) {
        setenv("ATEN_CPU_CAPABILITY", "avx2", 1);
        setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
        setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    }
    execl(SCRIPT, SCRIPT, (char *)NULL);
    _exit(EXIT_FAILURE);
}

static void start(struct pytorch *pytorch, bool narrow)
{
    int asks[2], answers[2];
    if (pipe2(asks, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
        return;
    pid_t process = fork();
    if (process == 0)
        run(asks[0], answers[1], narrow);
    close(asks[0]);
    close(answers[1]);
    pytorch->asks = fdopen(asks[1], "w");
    pytorch->answers = fdopen(answers[0], "r");
    pytorch->process = process > 0 ? process : 0;
}

void pytorch_open(struct pytorch *pytorch, bool narrow)
{
    memset(pytorch, 0, sizeof *pytorch);
    char line[128];
    start(pytorch, narrow);
    if (pytorch->process == 0 || pytorch->asks == NULL || pytorch->answers == NULL ||
        fgets(line, sizeof line, pytorch->answers) == NULL)
        snprintf(line, sizeof line, "missing %s cannot be run", SCRIPT);
    line[strcspn(line, "\n")] = 0;
    const char *word = strchr(line, ' ');
    snprintf(pytorch->version, sizeof pytorch->version, "%.63s", word != NULL ? word + 1 : line);
    if (strncmp(line, "ready ", 6) != 0)
        pytorch_close(pytorch);
}

void pytorch_close(struct pytorch *pytorch)
{
    if (pytorch->asks != NULL)
        fclose(pytorch->asks); /* It ends with its input. */
    if (pytorch->answers != NULL)
        fclose(pytorch->answers);
    if (pytorch->process > 0)
        waitpid(pytorch->process, NULL, 0);
    pytorch->asks = pytorch->answers = NULL;
    pytorch->process = 0;
}

void pytorch_gradient(void *context)
{
    struct pytorch *pytorch = context;
    char line[64];
    if (fprintf(pytorch->asks, "%u %u\n", pytorch->batch, pytorch->calls) < 0 ||
        fflush(pytorch->asks) != 0 || fgets(line, sizeof line, pytorch->answers) == NULL) {
        fprintf(stderr, "PyTorch has ended\n");
        exit(EXIT_FAILURE);
    }
    pytorch->seconds = strtod(line, NULL);
}

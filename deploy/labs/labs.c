/* labs.c - the table of labs, what a check can ask, and `syncopate lab`. */

#include "deploy/labs/labs.h"

#include <ctype.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/store/run_record.h"
#include "deploy/command/command.h"

#define ANSWERS_MAX   (1 << 20)
#define EXPLAINED_MIN 20 /* Bytes. */
#define WORDS_MAX     64
/* Of what policies say on standard error. */
#define SAID_BYTES 4000
#define SAID_LINES 10

/* To be kept in order. */
#define LABS(LAB) LAB(0) LAB(1) LAB(2) LAB(3) LAB(4) LAB(5) LAB(6) LAB(7) LAB(8) LAB(9)

/* Each text is within the program, with a zero behind it. */
#define TEXT(n)                                                                                    \
    __asm__(".section .rodata\nlab_text_" #n ":\n.incbin \"deploy/labs/" #n                        \
            ".md\"\n.byte 0\n.previous");                                                          \
    extern const char lab_text_##n[];
LABS(TEXT)

#define ROW(n) {#n, lab_text_##n, check_##n},
static const struct lab {
    const char *number, *text; /* The text opens with "# " and the title. */
    lab_check_fn *check;
} all_labs[] = {LABS(ROW)};
#define LAB_COUNT (sizeof all_labs / sizeof *all_labs)

/* --- what a check can ask ----------------------------------------------------------------------- */

void lab_judge(struct lab_check *check, const char *name, bool right, const char *why)
{
    check->asked++;
    check->right += right;
    if (right)
        printf("  right    %s\n", name);
    else
        printf("  wrong    %-18s %s\n", name, why);
}

/* Whether it is there; else its line says so. */
static bool given(struct lab_check *check, const char *name, double *number)
{
    *number = json_number(check->answers, name);
    if (isfinite(*number))
        return true;
    lab_judge(check, name, false, "is missing, or no number");
    return false;
}

void lab_predicted(struct lab_check *check, const char *name, double found)
{
    double number;
    if (!given(check, name, &number))
        return;
    check->asked++;
    check->right++;
    printf("  guessed  %-18s %g, and it is %g\n", name, number, found);
}

void lab_number(struct lab_check *check, const char *name, double value, double tolerance)
{
    double number;
    char why[80];
    if (!given(check, name, &number))
        return;
    snprintf(why, sizeof why, "it is not %g", number);
    lab_judge(check, name, fabs(number - value) <= tolerance * fabs(value) + 1e-9, why);
}

void lab_word(struct lab_check *check, const char *name, const char *word)
{
    char why[80];
    const char *answer = json_text(check->answers, name);
    snprintf(why, sizeof why, answer != NULL ? "it is not \"%.50s\"" : "is missing, or no text",
             answer);
    lab_judge(check, name, answer != NULL && strcmp(answer, word) == 0, why);
}

void lab_explained(struct lab_check *check, const char *name)
{
    const char *answer = json_text(check->answers, name);
    lab_judge(check, name, answer != NULL && strlen(answer) >= EXPLAINED_MIN,
              "takes a sentence or two");
}

static bool is_well(struct lab_check *check, const char *file, unsigned checks, bool well,
                    const char *why)
{
    if (!well) {
        lab_judge(check, file, false, why);
        check->asked += checks - 1;
    }
    return well;
}

bool lab_policy(struct lab_check *check, const char *file, unsigned checks)
{
    char path[DISK_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", check->folder, file);
    setenv("LAB_POLICY", path, 1); /* A shell reads the policy: a student is called O'Brien. */
    snprintf(check->policy, sizeof check->policy, "python3 \"$LAB_POLICY\" 2>>%s", check->said);
    return is_well(check, file, checks, disk_posix.look(disk_posix.context, path) == DISK_FILE,
                   "is missing beside the answers");
}

bool lab_ended(struct lab_check *check, const char *file, unsigned checks)
{
    return is_well(check, file, checks, !check->failed, "does not bring its run to the end");
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static void add_rate(struct lab_rates *rates, double rate)
{
    rates->least = rates->count == 0 ? rate : fmin(rates->least, rate);
    rates->most = fmax(rates->most, rate);
    rates->mean += (rate - rates->mean) / ++rates->count;
}

/* Of one chunk's places in the record of this run. */
static void read_rates(struct lab_rates *rates, const char *out)
{
    struct run_record_reader reader = {0};
    const struct run_record_interval *interval = &reader.interval;
    struct error error;
    char path[DISK_PATH_MAX];
    void *bytes = NULL;
    size_t count = 0;
    *rates = (struct lab_rates){0};
    run_record_path(path, out, 1);
    if (disk_posix.read_file(disk_posix.context, path, RUN_RECORD_BYTES_MAX, &bytes, &count,
                             &error) == STATUS_OK &&
        run_record_reader_open(&reader, path, bytes, count, &error) == STATUS_OK)
        while (run_record_reader_next(&reader, &error) == STATUS_OK)
            for (uint64_t i = interval->from.batches;
                 i < interval->to.batches && interval->computation_count > 0; i++) {
                struct run_record_place place = interval->places[i - interval->from.batches];
                if (!place.skipped)
                    add_rate(rates, interval->computations[place.computation].rate);
            }
    run_record_reader_close(&reader);
    free(bytes);
}

/* An exit code. The line, parted at blanks, is taken apart. policy: "" for none. */
static int run_command(enum option_user user, command_fn *run, char *line, char *policy)
{
    char option[] = "--policy", *argv[WORDS_MAX] = {NULL};
    struct command_call call = {.argv = argv};
    struct error error = {0};
    int code;
    for (char *word; (word = strsep(&line, " ")) != NULL && call.argc < WORDS_MAX - 3;)
        argv[call.argc++] = word;
    if (policy[0] != '\0') {
        argv[call.argc++] = option;
        argv[call.argc++] = policy;
    }
    if (options_begin(&call.options, user, call.argc, argv, &code))
        code = run(&call, &error);
    return code;
}

void lab_simulate(struct lab_check *check, struct record *record, const char *words, ...)
{
    char folder[] = "/tmp/syncopate-lab-XXXXXX", out[sizeof folder + 8], line[1024] = "simulate ";
    struct error error = {0};
    va_list list;
    int code = EXIT_CANNOT_OPEN;
    va_start(list, words);
    size_t used = strlen(line);
    used += (size_t)vsnprintf(line + used, sizeof line - used, words, list);
    va_end(list);
    *record = (struct record){0};
    if (mkdtemp(folder) != NULL) {
        snprintf(out, sizeof out, "%s/out", folder);
        snprintf(line + used, sizeof line - used, " --quiet --out %s", out);
        code = run_command(OPTION_SIMULATE, command_simulate, line, check->policy);
        if (code == EXIT_DONE && record_read(record, out, &error) != STATUS_OK)
            code = command_fail("syncopate lab", EXIT_CANNOT_OPEN, &error);
        read_rates(&check->rates, out);
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    check->failed = check->failed || code != EXIT_DONE;
}

bool lab_verify(const struct lab_check *check, const char *mode, unsigned histories)
{
    char line[200], none[] = "";
    snprintf(line, sizeof line, "verify --quiet --mode %s --histories %u --seed %" PRIu64, mode,
             histories, check->seed);
    return run_command(OPTION_VERIFY, command_verify, line, none) == EXIT_DONE;
}

/* --- the command -------------------------------------------------------------------------------- */

/* From 1 to 9999, of FNV-1a. */
static uint64_t seed_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return 1 + hash % 9999;
}

uint32_t lab_workers(uint64_t seed)
{
    return (uint32_t)(2 + seed % 3);
}

uint32_t lab_rate(uint64_t seed)
{
    return (uint32_t)(80 + seed % 121);
}

static const struct lab *find_lab(const char *number)
{
    for (size_t i = 0; i < LAB_COUNT; i++)
        if (number != NULL && strcmp(all_labs[i].number, number) == 0)
            return &all_labs[i];
    return NULL;
}

static void list_labs(void)
{
    for (size_t i = 0; i < LAB_COUNT; i++)
        printf("%.*s\n", (int)strcspn(all_labs[i].text, "\n") - 2, all_labs[i].text + 2);
    puts("\nsyncopate lab 0 --name YOU    is the text of the first\n"
         "syncopate lab check 0         checks what is in answers.json");
}

/* The text, with the student's numbers for the words in capitals. */
static void print_lab(const struct lab *lab, const char *name)
{
    uint64_t seed = name != NULL ? seed_of(name) : 0;
    const struct blank {
        const char *word;
        uint64_t number;
    } blanks[] = {{"SEED", seed}, {"WORKERS", lab_workers(seed)}, {"RATE", lab_rate(seed)}};
    for (const char *text = lab->text; *text != '\0';) {
        const struct blank *found = NULL;
        for (size_t i = 0; i < sizeof blanks / sizeof *blanks && name != NULL; i++)
            if (strncmp(text, blanks[i].word, strlen(blanks[i].word)) == 0)
                found = &blanks[i];
        if (found != NULL)
            text += printf("%" PRIu64, found->number) > 0 ? strlen(found->word) : 0;
        else
            putchar(*text++);
    }
    if (name == NULL)
        puts("\n(Words in capitals follow from your name: syncopate lab N --name YOU has them.)");
}

/* The last lines of what policies said, each behind a bar: none is the check's own. */
static void print_said(const char *path)
{
    char text[SAID_BYTES] = "", *line = text;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fseek(file, 1 - SAID_BYTES, SEEK_END) != 0)
        rewind(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (unsigned lines = 0; bytes-- > 0 && line == text;)
        if (text[bytes] == '\n' && ++lines > SAID_LINES)
            line = text + bytes + 1;
        else if (text[bytes] != '\n' && !isprint((unsigned char)text[bytes]))
            text[bytes] = ' ';
    if (*line != '\0')
        puts("The policy wrote on standard error, at the end:");
    while (*line != '\0') {
        int length = (int)strcspn(line, "\n");
        printf("  | %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static int check_lab(const struct lab *lab, const char *name, const struct json *root,
                     const char *path)
{
    char folder[DISK_PATH_MAX], said[] = "/tmp/syncopate-said-XXXXXX";
    const char *slash = strrchr(path, '/');
    struct lab_check check = {.seed = seed_of(name),
                              .folder = folder,
                              .answers = json_at(root, lab->number),
                              .said = said};
    int descriptor = mkstemp(said);
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
    printf("%.*s; %.60s, seed %" PRIu64 "\n", (int)strcspn(lab->text, "\n") - 2, lab->text + 2,
           name, check.seed);
    lab->check(&check);
    print_said(said);
    if (descriptor >= 0)
        close(descriptor), unlink(said);
    printf("lab %s: %u of %u\n", lab->number, check.right, check.asked);
    return !check.failed && check.right == check.asked ? EXIT_DONE : EXIT_TRAINING_FAILED;
}

int command_lab(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    const char *path = options->answers, *number = options->path;
    bool checks = number != NULL && strcmp(number, "check") == 0;
    struct json *root = NULL;
    if (number == NULL) {
        list_labs();
        return EXIT_DONE;
    }
    const struct lab *lab = find_lab(checks ? options->second_path : number);
    if (lab == NULL || (!checks && options->second_path != NULL)) {
        error_set(error, STATUS_INVALID, "takes N or check N; syncopate lab lists the labs");
        return EXIT_USAGE;
    }
    enum status status = json_read_file(&disk_posix, path, ANSWERS_MAX, &root, error);
    const char *name = options->name != NULL ? options->name : json_text(root, "name");
    name = name != NULL && name[0] != '\0' ? name : NULL;
    int code = EXIT_DONE;
    if (!checks) {
        *error = (struct error){0};
        print_lab(lab, name);
    } else if (status != STATUS_OK) {
        if (status == STATUS_NOT_FOUND)
            error_set(error, status, "%.300s: is not there; syncopate lab %s says what it has",
                      path, lab->number);
        code = command_exit_code(status);
    } else if (name == NULL) {
        error_set(error, STATUS_INVALID, "%.300s: has no \"name\", and there is no --name", path);
        code = EXIT_USAGE;
    } else {
        code = check_lab(lab, name, root, path);
    }
    json_release(&root);
    return code;
}

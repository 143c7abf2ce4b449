/* run_json.c - copies run.json, after the facts that only the launcher has. */

#include "deploy/run/run_json.h"

#include <string.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"

#define RUN_JSON_BYTES_MAX (16u << 20)

/* Its end; a killed process could not record it. */
static const char *state_of(const struct run_outcome *outcome, const struct json *run)
{
    const char *state = json_text(run, "state");
    if (outcome->exit_code == EXIT_DONE)
        return "done";
    return state != NULL && strcmp(state, "stopped") == 0 ? "stopped" : "failed";
}

/* run.json without the members written before. */
static void copy_run(struct json_writer *writer, const struct json *run)
{
    struct json_member member = {0};
    while (run != NULL && json_next_member(run, &member))
        if (strcmp(member.name, "state") != 0 && strcmp(member.name, "reason") != 0)
            json_write(member.value, writer, member.name);
}

enum status run_json_print(FILE *out, const struct run_outcome *outcome)
{
    char file[DISK_PATH_MAX + 16];
    struct json *run = NULL;
    struct json_writer writer;
    snprintf(file, sizeof file, "%s/run.json", outcome->path != NULL ? outcome->path : "");
    if (outcome->claimed &&
        (json_read_file(&disk_posix, file, RUN_JSON_BYTES_MAX, &run, NULL) != STATUS_OK ||
         !json_is_a_record(run)))
        json_release(&run);
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_u64(&writer, "exit_code", (uint64_t)outcome->exit_code);
    json_writer_text(&writer, "path", outcome->path);
    json_writer_text(&writer, "state", state_of(outcome, run));
    json_writer_text(&writer, "reason", outcome->reason);
    json_writer_u64(&writer, "restarts", outcome->restarts);
    json_writer_real(&writer, "command_seconds", outcome->seconds);
    copy_run(&writer, run);
    json_writer_end(&writer);
    bool failed = writer.failed;
    if (!failed)
        fprintf(out, "%s\n", writer.text);
    json_writer_free(&writer);
    json_release(&run);
    return failed ? STATUS_MEMORY : STATUS_OK;
}

/* remote_run_dir.c - copies with two tars and a pipe. */

#include "deploy/hosts/remote_run_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "deploy/hosts/remote_commands.h"

#define PIPE_SECONDS   3600 /* A connection that is dead ends sooner (channel.h). */
#define REMOVE_SECONDS 30
#define NOTE_MAX       4096

/* $1 is the directory, and $2 its lock. A process that still trains in it is about to leave it. */
#define LOCKED                                                                                     \
    "mkdir -p -- \"${2%/*}\" && exec 9>>\"$2\" && { flock -w 20 9 || { echo \"$1 is in use\" "     \
    ">&2; "                                                                                        \
    "exit 1; }; }\n"

/* Neither owners nor setuid bits come with it, also where root takes it. */
#define TAKE "tar --no-same-owner --no-same-permissions -xf - -C "

static const char take_script[] =
    LOCKED "rm -rf -- \"$1\"; mkdir -p -- \"$1\" && exec " TAKE "\"$1\"\n";
static const char give_script[] =
    LOCKED "[ -e \"$1/run.json\" ] || exec tar -cf - -T /dev/null\nexec tar -C \"$1\" -cf - .\n";
static const char remove_script[] = LOCKED "rm -rf -- \"$1\" \"$2\"\n";

/* $1 is the local directory: the copy replaces it once it is complete. A host may send anything: at
 * most nine tenths of the free space, and only files and folders. */
static const char replace_script[] =
    "t=$1/.fetched; rm -rf -- \"$t\"\n"
    "no() { rm -rf -- \"$t\"; [ -z \"$1\" ] || echo \"$1\" >&2; exit 1; }\n"
    "mkdir -p -- \"$t\" && most=$(df --output=avail -k -- \"$t\" | tail -n 1) || no\n"
    "most=$((most / 10 * 9))\n"
    "said=$({ { head -c \"${most}K\" && [ \"$(head -c 1 | wc -c)\" -ne 0 ] && "
    "echo \"it is larger than $most KiB, nine tenths of the free room\" >&3; } | " TAKE
    "\"$t\"; } 3>&1) || no \"$said\"\n"
    "[ -z \"$(find \"$t\" ! -type f ! -type d)\" ] || no \"it has more than files and folders\"\n"
    "[ -e \"$t/run.json\" ] || { rm -rf -- \"$t\"; exit 0; }\n"
    "for f in \"$t\"/*; do\n"
    "  n=${f##*/}; [ \"$n\" = run.json ] || { rm -rf -- \"$1/$n\" && mv -- \"$f\" \"$1/$n\"; } || "
    "exit\n"
    "done\n"
    "mv -- \"$t/run.json\" \"$1/run.json\" && rm -rf -- \"$t\"\n";

static void add_there(const struct remote_run_dir *remote_dir, const char *script,
                      struct arguments *command)
{
    const char *const words[] = {"sh", "-c", script, "sh", remote_dir->path, remote_dir->lock,
                                 NULL};
    channel_command(remote_dir->ssh, &remote_dir->host, words, command);
}

static void add_words(struct arguments *command, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        arguments_add_word(command, words[i]);
}

static void note_path(const char *out, char path[DISK_PATH_MAX + 16])
{
    snprintf(path, DISK_PATH_MAX + 16, "%s/elsewhere", out);
}

/* --- where --------------------------------------------------------------------------------- */

void remote_run_dir_place(struct remote_run_dir *remote_dir, const char *ssh,
                          const struct host *host, const char *home, const char *out)
{
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    char here[HOST_NAME_MAX_BYTES] = "";
    const char *slash = strrchr(out, '/');
    *remote_dir = (struct remote_run_dir){.ssh = ssh, .host = *host};
    snprintf(remote_dir->out, sizeof remote_dir->out, "%s", out);
    if (gethostname(here, sizeof here - 1) != 0)
        here[0] = '\0';
    hash_init(&hash);
    hash_update(&hash, here, strlen(here) + 1);
    hash_update(&hash, out, strlen(out) + 1);
    hash_final(&hash, digest);
    snprintf(remote_dir->path, sizeof remote_dir->path,
             "%.500s/.cache/syncopate/%.100s-%02x%02x%02x%02x", home,
             slash != NULL ? slash + 1 : out, digest[0], digest[1], digest[2], digest[3]);
    snprintf(remote_dir->lock, sizeof remote_dir->lock, "%s.lock", remote_dir->path);
}

/* --- the note ------------------------------------------------------------------------------ */

static enum status write_note(const struct remote_run_dir *remote_dir, struct error *error)
{
    char path[DISK_PATH_MAX + 16], text[NOTE_MAX], port[16] = "";
    const struct host *host = &remote_dir->host;
    note_path(remote_dir->out, path);
    snprintf(port, sizeof port, ":%u", host->port);
    int bytes =
        snprintf(text, sizeof text, "%s%s%s%s\n%s\n", host->user, host->user[0] != '\0' ? "@" : "",
                 host->name, host->port != 0 ? port : "", remote_dir->path);
    const struct disk_piece piece = {text, (size_t)bytes};
    return disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
}

static enum status read_note(struct remote_run_dir *remote_dir, const char *ssh, const char *out,
                             struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    void *data = NULL;
    size_t bytes = 0;
    struct host_list list = {0};
    note_path(out, path);
    enum status status =
        disk_posix.read_file(disk_posix.context, path, NOTE_MAX, &data, &bytes, error);
    if (status != STATUS_OK)
        return status;
    const char *text = data, *end = memchr(text, '\n', bytes);
    size_t line = end != NULL ? (size_t)(end - text) : 0;
    size_t rest = bytes - line - (end != NULL);
    status = host_list_read(&list, text, line, path, error);
    if (status == STATUS_OK &&
        (rest < 2 || text[line + 1] != '/' || rest > sizeof remote_dir->path ||
         memchr(text + line + 1, '\n', rest) != text + bytes - 1))
        status = error_set(error, STATUS_INVALID, "%.300s: is damaged", path);
    if (status == STATUS_OK) {
        *remote_dir = (struct remote_run_dir){.ssh = ssh, .host = list.hosts[0]};
        snprintf(remote_dir->out, sizeof remote_dir->out, "%s", out);
        snprintf(remote_dir->path, sizeof remote_dir->path, "%.*s", (int)(rest - 1),
                 text + line + 1);
        snprintf(remote_dir->lock, sizeof remote_dir->lock, "%s.lock", remote_dir->path);
    }
    host_list_free(&list);
    free(data);
    return status;
}

/* --- there and back ------------------------------------------------------------------------ */

enum status remote_run_dir_send(const struct remote_run_dir *remote_dir, struct error *error)
{
    char run[DISK_PATH_MAX + 16], initial[DISK_PATH_MAX + 24], said[REMOTE_COMMAND_LINE_MAX];
    const char *const all[] = {
        "tar", "-C", remote_dir->out, "--exclude=./logs", "--exclude=./elsewhere", "-cf", "-",
        ".",   NULL};
    const char *const none[] = {"tar", "-cf", "-", "-T", "/dev/null", NULL};
    struct arguments source = {0}, sink = {0};
    snprintf(run, sizeof run, "%s/run.json", remote_dir->out);
    snprintf(initial, sizeof initial, "%s/initial.safetensors", remote_dir->out);
    add_words(&source, access(run, F_OK) == 0 || access(initial, F_OK) == 0 ? all : none);
    add_there(remote_dir, take_script, &sink);
    bool fine = remote_command_pipe(&source, &sink, PIPE_SECONDS, said);
    arguments_free(&source);
    arguments_free(&sink);
    if (!fine)
        return error_set(error, STATUS_UNREACHABLE, "cannot take %.150s to %s:%.150s: %.120s",
                         remote_dir->out, remote_dir->host.name, remote_dir->path,
                         said[0] != '\0' ? said : "it ended early");
    return write_note(remote_dir, error);
}

void remote_run_dir_drop(const struct remote_run_dir *remote_dir)
{
    char path[DISK_PATH_MAX + 16];
    struct remote_command remote_command = {0};
    add_there(remote_dir, remove_script, &remote_command.command);
    remote_commands_run(&remote_command, 1, 1, REMOVE_SECONDS);
    remote_command_free(&remote_command);
    note_path(remote_dir->out, path);
    unlink(path);
}

enum status remote_run_dir_bring(const struct remote_run_dir *remote_dir, struct error *error)
{
    char said[REMOTE_COMMAND_LINE_MAX];
    const char *const replace[] = {"sh", "-c", replace_script, "sh", remote_dir->out, NULL};
    struct arguments source = {0}, sink = {0};
    add_there(remote_dir, give_script, &source);
    add_words(&sink, replace);
    bool fine = remote_command_pipe(&source, &sink, PIPE_SECONDS, said);
    arguments_free(&source);
    arguments_free(&sink);
    if (!fine)
        return error_set(
            error, STATUS_UNREACHABLE, "the run is in %s:%.200s and cannot be brought here: %.150s",
            remote_dir->host.name, remote_dir->path, said[0] != '\0' ? said : "it ended early");
    remote_run_dir_drop(remote_dir);
    return STATUS_OK;
}

enum status remote_run_dir_recover(const char *ssh, const char *out, bool *found,
                                   struct error *error)
{
    struct remote_run_dir remote_dir;
    struct error reason;
    char path[DISK_PATH_MAX + 16];
    *found = false;
    note_path(out, path);
    if (access(path, F_OK) !=
        0) /* Other faults of the folder are reported by the process that opens it. */
        return STATUS_OK;
    enum status status = read_note(&remote_dir, ssh, out, &reason);
    if (status == STATUS_OK)
        status = remote_run_dir_bring(&remote_dir, &reason);
    *found = status == STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(error, status, "%.380s (without %.60s/elsewhere what is here counts)",
                     reason.text, out);
}

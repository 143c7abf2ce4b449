/* What a process is given on its way to its host: ports, keys, the note of what is elsewhere. */

#include "deploy/hosts/host_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wire/message.h"
#include "deploy/hosts/remote_run_dir.h"
#include "tests/lib/suite.h"

/* --- ports --------------------------------------------------------------------------------- */

static void take_port(struct host_report *report, uint16_t port)
{
    report->taken[(port - 20000) / 8] |= (uint8_t)(1u << (port - 20000) % 8);
}

TEST_PLAIN(servers_move_on_together_when_one_of_their_ports_is_taken)
{
    static const char hosts[] = "alpha\nbeta\n";
    struct host_list list;
    struct placement placement;
    struct host_report reports[2] = {{.fault = ""}};
    struct host_wanted wanted = {.first_port = 20000};
    struct error error = {.text = ""};
    ck_assert_int_eq(host_list_read(&list, hosts, strlen(hosts), "hosts", NULL), STATUS_OK);
    ck_assert_int_eq(placement_make(&placement, &list, 2, 1, false, NULL), STATUS_OK);
    uint16_t last = (uint16_t)(20000 + host_site_ports(2) - 1);
    ck_assert_uint_eq(host_site_port(&list, &placement, reports, &wanted, last, &error), 20000);
    take_port(&reports[0], 20001); /* Server 1 is on the other host. */
    ck_assert_uint_eq(host_site_port(&list, &placement, reports, &wanted, last, &error), 20000);
    take_port(&reports[1], 20001);
    ck_assert_uint_eq(host_site_port(&list, &placement, reports, &wanted, last, &error), 20016);
    take_port(&reports[0], 20016);
    ck_assert_uint_eq(host_site_port(&list, &placement, reports, &wanted, last, &error), 20032);
    for (uint16_t port = 20000; port <= last; port++)
        take_port(&reports[1], port);
    ck_assert_uint_eq(host_site_port(&list, &placement, reports, &wanted, last, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "beta: port 20113 is taken"));
    placement_free(&placement);
    host_list_free(&list);
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool has(const char *text, const char *line)
{
    return strstr(text, line) != NULL;
}

TEST_PLAIN(a_process_is_given_its_own_secret_and_no_other)
{
    struct job_keys keys;
    ck_assert_int_eq(job_keys_make(&keys, 2, NULL), STATUS_OK);
    char *server = job_keys_for_server(&keys), *worker = job_keys_for_worker(&keys, 1);
    ck_assert(has(server, "file servers.key_secret\n") && has(server, "file worker-0.key\n") &&
              has(server, "file worker-1.key\n") && has(server, "file observer.key\n"));
    ck_assert(!has(server, "worker-0.key_secret") && !has(server, "observer.key_secret"));
    ck_assert(has(worker, "file worker-1.key_secret\n") && has(worker, "file servers.key\n"));
    ck_assert(!has(worker, "servers.key_secret") && !has(worker, "worker-0"));
    ck_assert_str_eq(worker + strlen(worker) - 4, "end\n");
    free(server);
    free(worker);
    job_keys_free(&keys);
}

/* As the lines of shell write it into a file. */
static void write_piece(const char *text, const char *name, const char *path)
{
    char start[80];
    snprintf(start, sizeof start, "file %s\n", name);
    const char *line = strstr(text, start);
    FILE *out = fopen(path, "w");
    ck_assert(line != NULL && out != NULL);
    for (line += strlen(start); *line == ':'; line = strchr(line, '\n') + 1)
        fprintf(out, "%.*s\n", (int)strcspn(line + 1, "\n"), line + 1);
    fclose(out);
}

TEST_PLAIN(what_it_is_given_is_a_certificate)
{
    char path[] = "/tmp/syncopate-key-XXXXXX";
    struct job_keys keys;
    struct certificate read;
    struct identity identity;
    struct error error = {.text = ""};
    close(mkstemp(path));
    ck_assert_int_eq(job_keys_make(&keys, 1, NULL), STATUS_OK);
    char *worker = job_keys_for_worker(&keys, 0);
    write_piece(worker, "worker-0.key_secret", path);
    ck_assert_msg(certificate_read_secret(path, &read, &error) == STATUS_OK, "%s", error.text);
    ck_assert(memcmp(read.secret_key, keys.worker[0].secret_key, KEY_BYTES) == 0);
    ck_assert_int_eq(certificate_identity(&read, &identity, NULL), STATUS_OK);
    ck_assert(identity.role == ROLE_WORKER && identity.has_index && identity.index == 0);
    write_piece(worker, "servers.key", path);
    ck_assert_int_eq(certificate_read_public(path, &read, &error), STATUS_OK);
    ck_assert(memcmp(read.public_key, keys.servers.public_key, KEY_BYTES) == 0);
    unlink(path);
    free(worker);
    job_keys_free(&keys);
}

/* What is left of its keys when its launcher goes while it is given them: `ending` stands behind a first one,
 * and nobody reads what it prints. */
static void check_left(const char *ending)
{
    char folder[] = "/tmp/syncopate-left-XXXXXX", text[120];
    struct host_list list;
    struct placement placement;
    static const char ssh[] = "false";
    struct host_site site = {
        .ssh = ssh, .list = &list, .placement = &placement, .bin = "/bin", .folder = "/tmp"};
    struct arguments program, command = {0};
    char *input;
    int given[2], printed[2], status;
    ck_assert_int_eq(host_list_read(&list, "localhost\n", strlen("localhost\n"), "hosts", NULL),
                     STATUS_OK);
    ck_assert_int_eq(placement_make(&placement, &list, 1, 1, false, NULL), STATUS_OK);
    ck_assert_int_eq(host_site_open(&site, NULL), STATUS_OK);
    arguments_init(&program, "echo"); /* Would say --keys=FOLDER. */
    ck_assert_int_eq(site.site.carry(&site, 0, &program, &command, &input, NULL), STATUS_OK);
    ck_assert(mkdtemp(folder) != NULL && pipe(given) == 0 && pipe(printed) == 0);
    snprintf(text, sizeof text, "file worker-0.key_secret\n:secret\n%s", ending);
    ck_assert_int_eq(write(given[1], text, strlen(text)), strlen(text));
    close(given[1]);
    close(printed[0]);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TMPDIR", folder, 1);
        dup2(given[0], STDIN_FILENO);
        dup2(printed[1], STDOUT_FILENO);
        execvp(command.items[0], command.items);
        _exit(99);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %x", (unsigned)status);
    ck_assert_msg(rmdir(folder) == 0, "keys are left in %s", folder);
    close(given[0]);
    close(printed[1]);
    arguments_free(&program);
    arguments_free(&command);
    free(input);
    host_site_close(&site);
    placement_free(&placement);
    host_list_free(&list);
}

TEST_PLAIN(keys_do_not_outlive_a_launcher_that_goes_while_it_hands_them_over)
{
    check_left("");
    check_left("end\n");
}

/* --- elsewhere ----------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

TEST_PLAIN(a_note_says_whose_disk_has_the_newest)
{
    char folder[] = "/tmp/syncopate-note-XXXXXX", path[100], ssh_path[100], ssh[120], said[1000];
    struct host host = {.name = "beta", .user = "kim", .port = 2222};
    struct remote_run_dir remote_dir;
    struct error error = {.text = ""};
    bool found;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/elsewhere", folder);
    snprintf(ssh_path, sizeof ssh_path, "%s/ssh", folder);
    snprintf(ssh, sizeof ssh, "sh %s", ssh_path);
    ck_assert_int_eq(remote_run_dir_recover(ssh, folder, &found, &error), STATUS_OK);
    ck_assert(!found);
    remote_run_dir_place(&remote_dir, ssh, &host, "/home/kim", folder);
    ck_assert_ptr_nonnull(strstr(remote_dir.path, "/home/kim/.cache/syncopate/syncopate-note-"));
    write_text(ssh_path, "cat >/dev/null\n");
    ck_assert_int_eq(remote_run_dir_send(&remote_dir, &error), STATUS_OK);
    write_text(ssh_path, "tar -cf - -T /dev/null; echo \"$6 $7\" >&2; exit 1\n");
    ck_assert_int_ne(remote_run_dir_recover(ssh, folder, &found, &error), STATUS_OK);
    snprintf(said, sizeof said, "in beta:%s and cannot be brought here: -oPort=2222 kim@beta",
             remote_dir.path);
    ck_assert_msg(strstr(error.text, said) != NULL, "%s", error.text);
    static const char *const damaged[] = {"",         "beta\n",         "beta\nrelative\n",
                                          "-x\n/a\n", "beta\n/a\n/b\n", "beta\n/a"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_text(path, damaged[i]);
        ck_assert_msg(remote_run_dir_recover(ssh, folder, &found, &error) == STATUS_INVALID, "%zu",
                      i);
    }
    unlink(path);
    unlink(ssh_path);
    rmdir(folder);
}

int main(void)
{
    return suite_run("host_site", NULL);
}

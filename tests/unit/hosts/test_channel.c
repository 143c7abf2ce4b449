/* Commands as they are carried to hosts: what a shell makes of the last word is tried with one. */

#include "deploy/hosts/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/hosts/remote_commands.h"
#include "tests/lib/suite.h"

static struct host host_of(const char *line)
{
    struct host_list list;
    ck_assert_int_eq(host_list_read(&list, line, strlen(line), "host", NULL), STATUS_OK);
    struct host host = list.hosts[0];
    host_list_free(&list);
    return host;
}

TEST_PLAIN(ssh_gets_its_options_in_batch_mode_and_one_word)
{
    const char *const words[] = {"sh", "-c", "echo 'it'", NULL};
    static const char ssh[] = "ssh  -F my/file -v";
    struct host host = host_of("kim@beta:2222");
    struct arguments command = {0};
    channel_command(ssh, &host, words, &command);
    char *const *list = arguments_list(&command);
    ck_assert_ptr_nonnull(list);
    static const char *const expected[] = {"ssh",
                                           "-F",
                                           "my/file",
                                           "-v",
                                           "-T",
                                           "-oBatchMode=yes",
                                           "-oConnectTimeout=10",
                                           "-oServerAliveInterval=2",
                                           "-oServerAliveCountMax=3",
                                           "-oPort=2222",
                                           "kim@beta",
                                           "'sh' '-c' 'echo '\\''it'\\'''"};
    ck_assert_uint_eq(command.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < command.count; i++)
        ck_assert_str_eq(list[i], expected[i]);
    arguments_free(&command);
}

/* A login shell may be csh, which takes no newline between quotes. */
TEST_PLAIN(a_script_of_several_lines_is_one_line_of_ssh_and_runs_as_it_is)
{
    const char *const words[] = {
        "sh", "-c", "printf '%s\\n' \"$1\"\nfor i in 1 2; do\necho $2\\$i\ndone\n", "sh", "it's",
        "b",  NULL};
    static const char ssh[] = "ssh";
    struct host host = host_of("beta");
    struct arguments command = {0};
    char said[64] = "";
    channel_command(ssh, &host, words, &command);
    char *const *list = arguments_list(&command);
    ck_assert_ptr_nonnull(list);
    const char *line = list[command.count - 1];
    ck_assert_ptr_null(strchr(line, '\n'));
    FILE *shell = popen(line, "r");
    ck_assert_ptr_nonnull(shell);
    ck_assert_uint_gt(fread(said, 1, sizeof said - 1, shell), 0);
    ck_assert_int_eq(pclose(shell), 0);
    ck_assert_str_eq(said, "it's\nb$i\nb$i\n");
    arguments_free(&command);
}

/* Whether the command for that host is the words themselves. */
static bool is_here(const char *name)
{
    const char *const words[] = {"sh", "-c", "exit 3", NULL};
    static const char ssh[] = "false";
    struct host host = host_of(name);
    struct remote_command remote_command = {0};
    channel_command(ssh, &host, words, &remote_command.command);
    remote_commands_run(&remote_command, 1, 1, 10);
    bool here = remote_command.exit_code == 3;
    ck_assert(here || remote_command.exit_code == 1);
    remote_command_free(&remote_command);
    return here;
}

TEST_PLAIN(nobody_logs_in_to_where_he_is)
{
    char name[HOST_NAME_MAX_BYTES] = "";
    ck_assert_int_eq(gethostname(name, sizeof name - 1), 0);
    ck_assert(is_here(name));
    ck_assert(is_here("localhost"));
    ck_assert(!is_here("localhost:22"));
    ck_assert(!is_here("127.evil.example"));
    ck_assert(is_here("[::1]"));
}

TEST_PLAIN(a_shell_reads_words_back_as_they_were)
{
    static const char *const cases[] = {"plain",      "",          "two words", "it's",
                                        "$HOME `id`", "\\",        "a'b''c'\"", "-n",
                                        "*?[a]{b}",   "~;&|<>()#!"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const words[] = {"printf", "%s", cases[i], NULL};
        static const char ssh[] = "ssh";
        struct host host = host_of("beta");
        struct arguments command = {0};
        struct remote_command remote_command = {0};
        channel_command(ssh, &host, words, &command);
        arguments_add_word(&remote_command.command, "sh");
        arguments_add_word(&remote_command.command, "-c");
        arguments_add_word(&remote_command.command, arguments_list(&command)[command.count - 1]);
        remote_commands_run(&remote_command, 1, 1, 10);
        ck_assert_int_eq(remote_command.exit_code, 0);
        ck_assert_str_eq(remote_command.output != NULL ? remote_command.output : "", cases[i]);
        remote_command_free(&remote_command);
        arguments_free(&command);
    }
}

/* --- errands ------------------------------------------------------------------------------- */

static void say(struct remote_command *remote_command, const char *script)
{
    arguments_add_word(&remote_command->command, "sh");
    arguments_add_word(&remote_command->command, "-c");
    arguments_add_word(&remote_command->command, script);
}

TEST_PLAIN(errands_come_back_with_what_was_said)
{
    struct remote_command remote_commands[4] = {0};
    say(&remote_commands[0],
        "echo one; echo two; echo warning >&2; printf 'last\\033 words\\n  ' >&2; exit 9");
    say(&remote_commands[1], "sleep 60");
    say(&remote_commands[2], "kill -9 $$");
    arguments_add_word(&remote_commands[3].command, "/no/such/program");
    remote_commands_run(remote_commands, 4, 2, 0.5);
    ck_assert_int_eq(remote_commands[0].exit_code, 9);
    ck_assert_str_eq(remote_commands[0].output, "one\ntwo\n");
    ck_assert_str_eq(remote_commands[0].said, "last  words"); /* No control characters. */
    ck_assert(remote_commands[0].first_at > 0 && !remote_commands[0].late);
    ck_assert(remote_commands[1].late);
    ck_assert_int_eq(remote_commands[2].exit_code, -1);
    ck_assert_int_eq(remote_commands[3].exit_code, 127);
    ck_assert_ptr_nonnull(strstr(remote_commands[3].said, "cannot run /no/such/program"));
    for (size_t i = 0; i < 4; i++)
        remote_command_free(&remote_commands[i]);
}

TEST_PLAIN(no_more_than_so_many_are_under_way)
{
    struct remote_command remote_commands[6] = {0};
    char folder[] = "/tmp/syncopate-errands-XXXXXX", script[200];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(script, sizeof script,
             "cd %s; : >$$; set -- *; echo $# >&2; sleep 0.1; rm $$; [ $# -le 2 ]", folder);
    for (size_t i = 0; i < 6; i++)
        say(&remote_commands[i], script);
    remote_commands_run(remote_commands, 6, 2, 20);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(remote_commands[i].exit_code, 0);
        remote_command_free(&remote_commands[i]);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST_PLAIN(a_pipe_is_fine_when_both_ends_are)
{
    static const struct {
        const char *source, *sink;
        bool fine;
    } cases[] = {{"seq 100000", "exec wc -l >/dev/null", true},
                 {"echo; echo lost >&2; exit 1", "exec cat >/dev/null", false},
                 {"seq 100000", "echo full >&2; exit 1", false}};
    for (size_t i = 0; i < 3; i++) {
        struct remote_command source = {0}, sink = {0};
        char said[REMOTE_COMMAND_LINE_MAX];
        say(&source, cases[i].source);
        say(&sink, cases[i].sink);
        ck_assert(remote_command_pipe(&source.command, &sink.command, 20, said) == cases[i].fine);
        ck_assert(cases[i].fine || said[0] != '\0');
        remote_command_free(&source);
        remote_command_free(&sink);
    }
}

int main(void)
{
    return suite_run("carrier", NULL);
}

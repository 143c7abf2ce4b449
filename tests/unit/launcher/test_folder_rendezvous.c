/* test_folder_rendezvous.c - servers leave their addresses in a folder, and everybody waits until all of this job are in. */
/* test: tsan */

#include "deploy/launcher/folder_rendezvous.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static char folder[DISK_PATH_MAX]; /* Of the test that runs. */

static void write_raw(const char *name, const char *text)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, name);
    scratch_write(path, text, strlen(text));
}

TEST_PLAIN(all_addresses_come_in_the_order_of_the_servers)
{
    scratch_path(folder, "meeting");
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, folder, NULL), STATUS_OK);
    char *hosts = NULL;
    struct error error;
    ck_assert_int_eq(folder_rendezvous_leave(folder, "job 7", 1, "beta:2", &error), STATUS_OK);
    ck_assert_int_eq(folder_rendezvous_leave(folder, "job 7", 0, "[fd00::1]:1", &error), STATUS_OK);
    ck_assert_int_eq(folder_rendezvous_gather(folder, "job 7", 2, 5, &hosts, &error), STATUS_OK);
    ck_assert_str_eq(hosts, "[fd00::1]:1,beta:2");
    free(hosts);
}

static void *come_late(void *unused)
{
    usleep(200000);
    ck_assert_int_eq(folder_rendezvous_leave(folder, "7", 0, "late:1", NULL), STATUS_OK);
    return unused;
}

TEST_PLAIN(who_comes_late_is_waited_for)
{
    scratch_path(folder, "meeting");
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, folder, NULL), STATUS_OK);
    char *hosts = NULL;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, come_late, NULL), 0);
    ck_assert_int_eq(folder_rendezvous_gather(folder, "7", 1, 60, &hosts, NULL), STATUS_OK);
    ck_assert_str_eq(hosts, "late:1");
    pthread_join(thread, NULL);
    free(hosts);
}

TEST_PLAIN(what_is_of_another_job_or_no_address_is_not_there)
{
    scratch_path(folder, "meeting");
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, folder, NULL), STATUS_OK);
    static const char *const texts[] = {"6\nold:1\n",   "77\nold:1\n",  "7", "7\n", "7\nx\n",
                                        "7\na:1,b:2\n", "7\na:70000\n", "",  "\n\n"};
    char *hosts = NULL;
    struct error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_raw("meeting/ps-0", texts[i]);
        ck_assert_msg(folder_rendezvous_gather(folder, "7", 1, 0, &hosts, &error) == STATUS_TIMEOUT,
                      "%s", texts[i]);
        ck_assert_ptr_null(hosts);
        ck_assert_ptr_nonnull(strstr(error.text, "server 0 has not left its address in"));
    }
    /* Nor is what is long. */
    char big[3000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    write_raw("meeting/ps-0", big);
    ck_assert_int_eq(folder_rendezvous_gather(folder, "7", 1, 0, &hosts, &error), STATUS_TIMEOUT);
}

TEST_PLAIN(an_address_of_an_older_job_is_replaced)
{
    scratch_path(folder, "meeting");
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, folder, NULL), STATUS_OK);
    char *hosts = NULL;
    write_raw("meeting/ps-0", "6\nold:1\n");
    ck_assert_int_eq(folder_rendezvous_leave(folder, "7", 0, "new:1", NULL), STATUS_OK);
    ck_assert_int_eq(folder_rendezvous_gather(folder, "7", 1, 0, &hosts, NULL), STATUS_OK);
    ck_assert_str_eq(hosts, "new:1");
    free(hosts);
}

int main(void)
{
    return suite_run("meeting", scratch_add);
}

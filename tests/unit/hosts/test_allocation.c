/* Hosts of allocations, from variables as batch systems set them. */

#include "deploy/hosts/allocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "tests/lib/suite.h"

/* "n1:2 n2" */
static void show(const struct host_list *list, char text[200])
{
    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        wording_append(text, 200, "%s%s", i > 0 ? " " : "", list->hosts[i].name);
        if (list->hosts[i].slots > 0)
            wording_append(text, 200, ":%u", list->hosts[i].slots);
    }
}

TEST_PLAIN(slurm_says_hosts_and_how_many_tasks_each_has)
{
    static const struct {
        const char *environment[3], *expected;
    } cases[] = {
        {{"SLURM_JOB_NODELIST=node[1-3]", "SLURM_TASKS_PER_NODE=2(x2),1"},
         "node1:2 node2:2 node3:1"},
        {{"SLURM_JOB_NODELIST=login,n[08-10]"}, "login n08 n09 n10"},
        {{"SLURM_JOB_NODELIST=alone", "SLURM_TASKS_PER_NODE=16"}, "alone:16"},
        {{"SLURM_JOB_NODELIST=node[1-3"}, NULL},
        {{"SLURM_JOB_NODELIST=a,a"}, "a:2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_list list;
        struct error error = {.text = ""};
        char text[200];
        enum status status = allocation_slurm(&list, cases[i].environment, &error);
        show(&list, text);
        ck_assert_int_eq(status, cases[i].expected != NULL ? STATUS_OK : STATUS_INVALID);
        if (cases[i].expected != NULL)
            ck_assert_str_eq(text, cases[i].expected);
        else
            ck_assert_str_ne(error.text, "");
        host_list_free(&list);
    }
    const char *const none[] = {"HOME=/root", NULL};
    struct host_list list;
    struct error error;
    ck_assert_int_eq(allocation_slurm(&list, none, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "SLURM_JOB_NODELIST is not set"));
    ck_assert_int_eq(allocation_any(&list, none, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "say --hosts FILE or -H LIST"));
}

static void write_file(char path[], const char *text)
{
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

TEST_PLAIN(others_have_files)
{
    static const struct {
        const char *variable, *text, *expected;
    } cases[] = {
        {"PBS_NODEFILE", "n1\nn1\nn2\n", "n1:2 n2:1"},
        {"LSF_NO", "", NULL},
        {"LSB_DJOB_HOSTFILE", "n1\nn2\nn2\n", "n1:1 n2:2"},
        {"PE_HOSTFILE", "n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n", "n1:4 n2:2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/syncopate-nodes-XXXXXX", variable[80], text[200];
        struct host_list list;
        struct error error;
        write_file(path, cases[i].text);
        snprintf(variable, sizeof variable, "%s=%s", cases[i].variable, path);
        const char *const environment[] = {variable, NULL};
        enum status status = allocation_any(&list, environment, &error);
        show(&list, text);
        ck_assert_int_eq(status, cases[i].expected != NULL ? STATUS_OK : STATUS_NOT_FOUND);
        if (cases[i].expected != NULL)
            ck_assert_str_eq(text, cases[i].expected);
        host_list_free(&list);
        unlink(path);
        if (cases[i].expected == NULL)
            continue;
        ck_assert_int_eq(allocation_any(&list, environment, &error), STATUS_IO);
        ck_assert_ptr_nonnull(strstr(error.text, cases[i].variable));
    }
}

int main(void)
{
    return suite_run("allocation", NULL);
}

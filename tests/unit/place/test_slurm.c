/* test_slurm.c - srun's variables as Slurm 22.05 sets them, taken down from real steps. */

#include "tests/lib/place_of.h"
#include "tests/lib/suite.h"

/* srun -n5 over two hosts with three and two tasks. Job 1234 has its ports from 28544 on. */
#define STEP(rank, node, name)                                                                     \
    "SLURM_JOB_ID=1234\nSLURM_STEP_ID=0\nSLURM_NTASKS=5\nSLURM_STEP_NUM_TASKS=5\n"                 \
    "SLURM_JOB_NODELIST=n[01-04]\nSLURM_STEP_NODELIST=n[02,04]\n"                                  \
    "SLURM_STEP_TASKS_PER_NODE=3,2\nSLURM_TASKS_PER_NODE=4(x4)\n"                                  \
    "SLURM_PROCID=" rank "\nSLURM_NODEID=" node "\nSLURMD_NODENAME=" name

/* srun -w nb01 -n2 ... : -w na,nb02 -n3 ...: one step of two parts, its hosts sorted by name, its tasks not. */
#define HET(rank, node, name)                                                                      \
    "SLURM_HET_SIZE=2\nSLURM_PACK_SIZE=2\nSLURM_JOB_ID=7\nSLURM_STEP_ID=0\nSLURM_NTASKS=5\n"       \
    "SLURM_JOB_NODELIST_PACK_GROUP_0=nb01\nSLURM_JOB_NODELIST_PACK_GROUP_1=na,nb02\n"              \
    "SLURM_STEP_NODELIST=na,nb[01-02]\nSLURM_STEP_NUM_NODES=3\nSLURM_DISTRIBUTION=block\n"         \
    "SLURM_STEP_TASKS_PER_NODE=2(x2),1\nSLURM_PROCID=" rank "\nSLURM_NODEID=" node                 \
    "\nSLURMD_NODENAME=" name

/* sbatch with two parts, and srun in its script for the first part alone. */
#define ONE_PART                                                                                   \
    "SLURM_HET_SIZE=2\nSLURM_JOB_ID=5\nSLURM_STEP_ID=1\nSLURM_NTASKS=2\n"                          \
    "SLURM_JOB_NODELIST_HET_GROUP_0=na\nSLURM_JOB_NODELIST_HET_GROUP_1=nb01\n"                     \
    "SLURM_NTASKS_HET_GROUP_0=2\nSLURM_NTASKS_HET_GROUP_1=3\nSLURM_STEP_NODELIST=na\n"             \
    "SLURM_STEP_NUM_NODES=1\nSLURM_STEP_TASKS_PER_NODE=2\nSLURM_PROCID=1\nSLURM_NODEID=0\n"        \
    "SLURMD_NODENAME=na"

static struct place_request with_servers(int64_t servers)
{
    struct place_request asked = place_asked();
    asked.servers = servers;
    return asked;
}

TEST_PLAIN(the_first_tasks_of_a_step_are_its_servers)
{
    place_is(with_servers(2), STEP("0", "0", "n02"),
             "ps/0 of 2 servers, 3 workers, from SLURM (SLURM_PROCID=0)", "n02:28544,n02:28545");
    place_is(with_servers(4), STEP("4", "1", "n04"),
             "worker/0 of 1 worker, 4 servers, from SLURM (SLURM_PROCID=4)",
             "n02:28544,n02:28545,n02:28546,n04:28547");
    struct place_request asked = with_servers(1);
    asked.port_base = 7000;
    place_is(asked, STEP("3", "1", "n04"),
             "worker/2 of 4 workers, 1 server, from SLURM (SLURM_PROCID=3)", "n02:7000");
    asked.ps_hosts = "alpha:1";
    place_is(asked, STEP("3", "1", "n04"),
             "worker/2 of 4 workers, 1 server, from SLURM (SLURM_PROCID=3)", "alpha:1");
}

TEST_PLAIN(every_task_of_a_step_may_serve)
{
    struct place_request asked = place_asked();
    asked.colocated = true;
    place_is(asked, STEP("3", "1", "n04"),
             "ps/3 and worker/3 of 5 places, from SLURM (SLURM_PROCID=3)",
             "n02:28544,n02:28545,n02:28546,n04:28547,n04:28548");
}

TEST_PLAIN(parts_of_a_het_job_are_told_by_their_names)
{
    struct place_request asked = place_asked();
    asked.job_name = "ps";
    place_is(asked, HET("1", "0", "nb01"),
             "ps/1 of 2 servers, 3 workers, from SLURM (SLURM_PROCID=1)", "nb01:20112,nb01:20113");
    asked.job_name = "worker";
    place_is(asked, HET("2", "1", "na"),
             "worker/0 of 3 workers, 2 servers, from SLURM (SLURM_PROCID=2)",
             "nb01:20112,nb01:20113");
    place_is(asked, HET("4", "2", "nb02"),
             "worker/2 of 3 workers, 2 servers, from SLURM (SLURM_PROCID=4)",
             "nb01:20112,nb01:20113");
    /* The other way round: workers are the first part. */
    place_is(asked, HET("0", "0", "nb01"),
             "worker/0 of 2 workers, 3 servers, from SLURM (SLURM_PROCID=0)",
             "na:20112,na:20113,nb02:20114");
    /* Numbered through it is the same. */
    place_is(with_servers(2), HET("4", "2", "nb02"),
             "worker/2 of 3 workers, 2 servers, from SLURM (SLURM_PROCID=4)",
             "nb01:20112,nb01:20113");
}

TEST_PLAIN(a_step_of_one_part_is_one_of_its_own)
{
    struct place_request asked = place_asked();
    asked.job_name = "ps";
    place_is(asked, ONE_PART, "ps/1 of 2 servers, from SLURM (SLURM_PROCID=1)",
             "na:20080,na:20081");
    asked.job_name = "worker";
    place_is_refused(asked, ONE_PART,
                     "a step of workers alone does not know its servers: give --ps-hosts");
    asked.ps_hosts = "nb01:7000";
    place_is(asked, ONE_PART, "worker/1 of 2 workers, 1 server, from SLURM (SLURM_PROCID=1)",
             "nb01:7000");
}

TEST_PLAIN(what_leaves_no_worker_is_refused)
{
    place_is_refused(with_servers(5), STEP("0", "0", "n02"),
                     "SLURM_NTASKS=5 and --ps=5 leave no worker: start as many more processes as "
                     "there are to be workers");
    place_is_refused(with_servers(0), STEP("0", "0", "n02"),
                     "SLURM_NTASKS=5, but --ps=0: without servers one process trains alone");
    place_is_refused(
        place_asked(), STEP("0", "0", "n02"),
        "needs --ps N, how many of the processes are servers (the first ones), or --ps "
        "colocated");
    struct place_request asked = with_servers(2);
    asked.workers = 4;
    place_is_refused(asked, STEP("0", "0", "n02"),
                     "--workers=4, but of SLURM_NTASKS=5 processes --ps=2 leaves 3");
}

TEST_PLAIN(a_batch_script_is_no_task)
{
    place_is_refused(
        with_servers(1), "SLURM_JOB_ID=4\nSLURM_PROCID=0\nSLURM_NTASKS=2\nSLURM_NODEID=0",
        "SLURM_PROCID is set, but not SLURM_STEP_ID: a batch script is no task of a job; "
        "write srun before the command");
}

TEST_PLAIN(tasks_that_are_dealt_out_otherwise_are_refused)
{
    place_is_refused(
        with_servers(2), STEP("0", "0", "n02") "\nSLURM_DISTRIBUTION=cyclic:block",
        "SLURM_DISTRIBUTION=cyclic:block: the servers' hosts follow only where one host "
        "is filled after the other: give srun --distribution=block, or --ps-hosts");
    place_is_refused(with_servers(2), STEP("1", "1", "n04"),
                     "this task is on n04, and by SLURM_STEP_NODELIST it would be on n02, so the "
                     "servers' hosts are not known: give --ps-hosts");
}

/* srun -n3 -N3: what Slurm calls cyclic is then block as well. */
TEST_PLAIN(one_task_a_host_may_be_called_cyclic)
{
    place_is(with_servers(2),
             "SLURM_JOB_ID=1234\nSLURM_STEP_ID=0\nSLURM_NTASKS=3\nSLURM_STEP_NODELIST=n[02-04]\n"
             "SLURM_STEP_TASKS_PER_NODE=1(x3)\nSLURM_DISTRIBUTION=cyclic\nSLURM_PROCID=1\n"
             "SLURM_NODEID=1\nSLURMD_NODENAME=n03",
             "ps/1 of 2 servers, 1 worker, from SLURM (SLURM_PROCID=1)", "n02:28544,n03:28545");
}

TEST_PLAIN(servers_of_a_step_may_leave_their_addresses)
{
    struct place place;
    struct place_request asked = with_servers(2);
    asked.meeting = true; /* There is an --out. */
    place_is(asked, STEP("0", "0", "n02"),
             "ps/0 of 2 servers, 3 workers, from SLURM (SLURM_PROCID=0)", "n02:28544,n02:28545");
    asked.must_meet = true;
    ck_assert_int_eq(place_of(&place, asked,
                              STEP("1", "1", "n04") "\nSLURM_DISTRIBUTION=cyclic\n"
                                                    "SLURM_RESTART_COUNT=2",
                              NULL),
                     STATUS_OK);
    ck_assert(place.meets && place.ps_hosts == NULL);
    ck_assert_str_eq(place.job, "1234.0.2");
    ck_assert_str_eq(place.host, "n04");
    place_free(&place);
}

TEST_PLAIN(what_is_no_number_is_named)
{
    place_is_refused(with_servers(1), "SLURM_PROCID=x\nSLURM_STEP_ID=0",
                     "SLURM_PROCID=x: needs a whole number from 0 to 65535");
    place_is_refused(with_servers(1), "SLURM_PROCID=0\nSLURM_STEP_ID=0\nSLURM_NTASKS=2",
                     "SLURM_JOB_ID is not set");
    place_is_refused(with_servers(1),
                     "SLURM_PROCID=2\nSLURM_STEP_ID=0\nSLURM_NTASKS=2\nSLURM_JOB_ID=1",
                     "process 2 is one too many: SLURM_NTASKS=2, and the first is 0");
    place_is_refused(
        with_servers(1), "SLURM_PROCID=1\nSLURM_STEP_ID=0\nSLURM_NTASKS=2\nSLURM_JOB_ID=1",
        "SLURM_STEP_NODELIST= and SLURM_STEP_TASKS_PER_NODE= do not say which host has "
        "task 1: give --ps-hosts");
}

int main(void)
{
    return suite_run("slurm", NULL);
}

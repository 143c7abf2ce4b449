/* test_place.c - who wins when several sources speak, and what MPI, torchrun, ps-lite and Kubernetes say. */

#include "tests/lib/place_of.h"
#include "tests/lib/suite.h"

#define SLURM                                                                                      \
    "SLURM_JOB_ID=7\nSLURM_STEP_ID=0\nSLURM_NTASKS=3\nSLURM_STEP_NODELIST=n1\n"                    \
    "SLURM_STEP_TASKS_PER_NODE=3\nSLURM_PROCID=1\nSLURM_NODEID=0\n"
/* mpirun -np 5 on this host: Open MPI 4.1.4's. 2008940545 is job 1 of family 30654. */
#define OPEN_MPI(rank)                                                                             \
    "OMPI_COMM_WORLD_RANK=" rank "\nOMPI_COMM_WORLD_SIZE=5\nOMPI_COMM_WORLD_LOCAL_SIZE=5\n"        \
    "OMPI_APP_CTX_NUM_PROCS=5\nOMPI_MCA_orte_app_num=0\nOMPI_FIRST_RANKS=0\n"                      \
    "PMIX_NAMESPACE=2008940545\nPMIX_HOSTNAME=alpha\n"
/* mpirun -np 2 a : -np 3 b, on two hosts. */
#define PROGRAMS(rank, program)                                                                    \
    "OMPI_COMM_WORLD_RANK=" rank "\nOMPI_COMM_WORLD_SIZE=5\nOMPI_COMM_WORLD_LOCAL_SIZE=3\n"        \
    "OMPI_APP_CTX_NUM_PROCS=2 3\nOMPI_MCA_orte_app_num=" program "\nOMPI_FIRST_RANKS=0 0\n"        \
    "PMIX_NAMESPACE=2008940545\n"
#define TORCHRUN(rank)                                                                             \
    "RANK=" rank "\nWORLD_SIZE=4\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=alpha\nMASTER_PORT=29500\n"
#define DMLC(role)                                                                                 \
    "DMLC_ROLE=" role "\nDMLC_NUM_SERVER=2\nDMLC_NUM_WORKER=3\nDMLC_PS_ROOT_URI=127.0.0.1\n"       \
    "DMLC_PS_ROOT_PORT=8000\n"
#define TF_CONFIG                                                                                  \
    "TF_CONFIG={\"cluster\":{\"ps\":[\"p:1\"],\"worker\":[\"w:1\"]},\"task\":{\"type\":\"ps\"}}\n"

static struct place_request with_servers(int64_t servers)
{
    struct place_request asked = place_asked();
    asked.servers = servers;
    return asked;
}

/* --- who wins ---------------------------------------------------------------------------------- */

TEST_PLAIN(sources_have_their_order)
{
    struct place_request asked = with_servers(1);
    place_is(asked, "JOB_COMPLETION_INDEX=0\n" DMLC("worker") TORCHRUN("2") SLURM TF_CONFIG,
             "ps/0 of 1 server, 1 worker, from TF_CONFIG (ps 0)", "p:1");
    place_is(asked, "JOB_COMPLETION_INDEX=0\n" DMLC("worker") TORCHRUN("2") SLURM,
             "worker/0 of 2 workers, 1 server, from SLURM (SLURM_PROCID=1)", "n1:20112");
    place_is(asked,
             "JOB_COMPLETION_INDEX=0\n" DMLC("worker") TORCHRUN("2") "PMI_RANK=0\nPMI_SIZE=2\n"
                                                                     "MPI_LOCALNRANKS=2\n",
             "ps/0 of 1 server, 1 worker, from MPI (PMI_RANK=0)", "127.0.0.1:20000");
    place_is(asked, "JOB_COMPLETION_INDEX=0\n" DMLC("worker") TORCHRUN("2"),
             "worker/1 of 3 workers, 1 server, from torchrun's variables (RANK=2)", "alpha:29500");
    asked = place_asked();
    place_is(asked, "JOB_COMPLETION_INDEX=0\n" DMLC("server") "DMLC_SERVER_ID=1\n",
             "ps/1 of 2 servers, 3 workers, from DMLC_* (DMLC_ROLE=server)",
             "127.0.0.1:8000,127.0.0.1:8001");
}

TEST_PLAIN(whoever_was_started_by_slurm_comes_before_it)
{
    struct place_request asked = with_servers(2);
    place_is(asked, SLURM OPEN_MPI("4"),
             "worker/2 of 3 workers, 2 servers, from MPI (OMPI_COMM_WORLD_RANK=4)",
             "127.0.0.1:28864,127.0.0.1:28865");
    place_is(asked, SLURM TORCHRUN("3") "TORCHELASTIC_RUN_ID=none\n",
             "worker/1 of 2 workers, 2 servers, from torchrun's variables (RANK=3)",
             "alpha:29501,alpha:29502");
    /* srun --mpi=pmi2 sets PMI's variables, and is Slurm. */
    place_is(with_servers(1), SLURM "PMI_RANK=1\nPMI_SIZE=3\n",
             "worker/0 of 2 workers, 1 server, from SLURM (SLURM_PROCID=1)", "n1:20112");
}

TEST_PLAIN(the_command_line_comes_first)
{
    struct place_request asked = place_asked();
    asked.job_name = "worker";
    asked.index = 1;
    asked.workers = 4;
    asked.ps_hosts = "a:1,b:1";
    place_is(asked, TF_CONFIG SLURM, "worker/1 of 4 workers, 2 servers, from the command line",
             "a:1,b:1");
    place_is(asked, "SYNCOPATE_TASK_INDEX=1\n" SLURM,
             "worker/1 of 4 workers, 2 servers, from SYNCOPATE_TASK_INDEX=1", "a:1,b:1");
    asked.job_name = NULL;
    place_is_refused(asked, "", "--task-index needs --job-name, ps or worker");
    asked.job_name = "ps";
    asked.ps_hosts = NULL;
    place_is_refused(asked, "", "needs --ps-hosts, the servers' host:port in order");
}

TEST_PLAIN(one_source_may_be_asked_for)
{
    struct place_request asked = with_servers(1);
    asked.source = PLACE_TORCHRUN;
    place_is(asked, TF_CONFIG SLURM TORCHRUN("0"),
             "ps/0 of 1 server, 3 workers, from torchrun's variables (RANK=0)", "alpha:29500");
    asked.source = PLACE_MPI;
    place_is_refused(asked, TF_CONFIG SLURM,
                     "--cluster-from=mpi: neither OMPI_COMM_WORLD_RANK nor PMI_RANK is set");
    asked.source = PLACE_NONE;
    asked.job_name = "ps";
    asked.servers = -1;
    asked.ps_hosts = "a:1";
    place_is(asked, TF_CONFIG SLURM, "ps/0 of 1 server, from the command line", "a:1");
}

TEST_PLAIN(where_nobody_speaks_a_process_is_alone_or_mistaken)
{
    place_is(place_asked(), "PATH=/bin\n",
             "one process that trains alone, from nothing: no engine's variables are here", NULL);
    place_is(with_servers(0), "SLURM_JOB_ID=4\n",
             "one process that trains alone, from nothing: no engine's variables are here", NULL);
    place_is_refused(
        with_servers(2), "PATH=/bin\n",
        "nothing says which of the job's processes this is: there is no TF_CONFIG, srun, "
        "mpirun, torchrun, DMLC_ROLE nor a pod's index; give --job-name and --task-index, "
        "or write 'syncopate run' for a job on this host");
}

TEST_PLAIN(servers_that_were_named_are_counted)
{
    struct place_request asked = with_servers(2);
    asked.ps_hosts = "a:1,b:1,c:1";
    place_is_refused(asked, OPEN_MPI("4"), "--ps-hosts names 3 servers, and --ps says 2");
    asked.ps_hosts = "a:1,b";
    place_is_refused(asked, OPEN_MPI("4"), "'b' is not host:port");
}

/* --- MPI ----------------------------------------------------------------------------------------- */

TEST_PLAIN(programs_of_mpirun_are_told_by_their_names)
{
    struct place_request asked = place_asked();
    asked.meeting = true;
    asked.job_name = "ps";
    place_is(asked, PROGRAMS("1", "0"),
             "ps/1 of 2 servers, 3 workers, from MPI (OMPI_COMM_WORLD_RANK=1)", NULL);
    asked.job_name = "worker";
    place_is(asked, PROGRAMS("2", "1"),
             "worker/0 of 3 workers, 2 servers, from MPI (OMPI_COMM_WORLD_RANK=2)", NULL);
    place_is(asked, PROGRAMS("4", "1"),
             "worker/2 of 3 workers, 2 servers, from MPI (OMPI_COMM_WORLD_RANK=4)", NULL);
    place_is_refused(asked, PROGRAMS("1", "1"),
                     "OMPI_COMM_WORLD_RANK=1 is not of program 1 of OMPI_APP_CTX_NUM_PROCS=2 3");
}

TEST_PLAIN(servers_on_several_hosts_meet_in_a_folder)
{
    struct place place;
    struct place_request asked = with_servers(2);
    asked.meeting = true;
    ck_assert_int_eq(place_of(&place, asked, PROGRAMS("0", "0"), NULL), STATUS_OK);
    ck_assert(place.meets);
    ck_assert_str_eq(place.job, "2008940545");
    ck_assert(!place.evicts);
    place_free(&place);
    asked.ps_hosts = "a:1,b:1";
    ck_assert_int_eq(place_of(&place, asked, PROGRAMS("0", "0"), NULL), STATUS_OK);
    ck_assert(!place.meets);
    place_free(&place);
    asked.ps_hosts = NULL;
    asked.meeting = false;
    place_is_refused(asked, PROGRAMS("0", "0"),
                     "mpirun does not say on which hosts its processes are: give --ps-hosts "
                     "host:port,..., or --out or --meet, a folder that all hosts share");
    place_is_refused(asked, "PMI_RANK=0\nPMI_SIZE=5\nMPI_LOCALNRANKS=2\n",
                     "PMI does not say on which hosts its processes are: give --ps-hosts "
                     "host:port,...");
}

/* --- torchrun, ps-lite, Kubernetes --------------------------------------------------------------- */

TEST_PLAIN(servers_of_torchrun_are_on_the_masters_host)
{
    place_is(with_servers(2), TORCHRUN("1"),
             "ps/1 of 2 servers, 2 workers, from torchrun's variables (RANK=1)",
             "alpha:29500,alpha:29501");
    place_is_refused(
        with_servers(3), TORCHRUN("1"),
        "MASTER_ADDR is the host of rank 0, and of --ps=3 servers others are elsewhere: "
        "give --ps-hosts host:port,...");
    place_is(with_servers(1), "RANK=0\nWORLD_SIZE=2\nMASTER_ADDR=fd00::7\nMASTER_PORT=29500\n",
             "ps/0 of 1 server, 1 worker, from torchrun's variables (RANK=0)", "[fd00::7]:29500");
    place_is_refused(
        with_servers(1), "RANK=0\nWORLD_SIZE=2\nMASTER_PORT=29500\n",
        "RANK is set, but not MASTER_ADDR, where server 0 is: set it, or give --ps-hosts");
    place_is_refused(with_servers(2),
                     "RANK=0\nWORLD_SIZE=3\nMASTER_ADDR=a\nMASTER_PORT=65535\n"
                     "LOCAL_WORLD_SIZE=3\n",
                     "port 65536 of a server on a is none");
}

TEST_PLAIN(ps_lite_needs_to_say_who_is_who)
{
    struct place_request asked = place_asked();
    place_is(asked, DMLC("worker") "DMLC_WORKER_ID=2\n",
             "worker/2 of 3 workers, 2 servers, from DMLC_* (DMLC_ROLE=worker)",
             "127.0.0.1:8000,127.0.0.1:8001");
    place_is(asked, DMLC("scheduler"), "nothing to do, from DMLC_* (DMLC_ROLE=scheduler)", NULL);
    place_is_refused(
        asked, DMLC("worker"),
        "DMLC_WORKER_ID is not set: there is no scheduler that would tell each process "
        "its number");
    place_is_refused(asked, DMLC("worker") "DMLC_WORKER_ID=3\n",
                     "DMLC_WORKER_ID=3, but there are 3, and the first is 0");
    place_is_refused(asked, DMLC("wizard"), "DMLC_ROLE=wizard: needs worker, server or scheduler");
    place_is_refused(asked, "DMLC_ROLE=worker\nDMLC_NUM_SERVER=1\n", "DMLC_NUM_WORKER is not set");
    place_is_refused(asked,
                     "DMLC_ROLE=worker\nDMLC_NUM_SERVER=1\nDMLC_NUM_WORKER=1\n"
                     "DMLC_PS_ROOT_URI=alpha\nDMLC_PS_ROOT_PORT=1\n",
                     "DMLC_PS_ROOT_URI=alpha is the scheduler's host, and does not say where the "
                     "servers are: give --ps-hosts host:port,...");
}

TEST_PLAIN(pods_have_an_index_and_a_name)
{
    struct place_request asked = place_asked();
    asked.workers = 3;
    asked.ps_hosts = "ps-[0-1].ps:7000";
    asked.job_name = "worker";
    place_is(asked, "JOB_COMPLETION_INDEX=2\nHOSTNAME=train-2-x8k2p\n",
             "worker/2 of 3 workers, 2 servers, from Kubernetes (JOB_COMPLETION_INDEX=2)",
             "ps-[0-1].ps:7000");
    asked.job_name = "ps";
    place_is(asked, "KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=ps-1\n",
             "ps/1 of 2 servers, 3 workers, from Kubernetes (HOSTNAME=ps-1)", "ps-[0-1].ps:7000");
    asked.job_name = NULL;
    asked.servers = 2;
    place_is(asked, "KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=mine-4\n",
             "worker/2 of 3 workers, 2 servers, from Kubernetes (HOSTNAME=mine-4)",
             "ps-[0-1].ps:7000");
    asked.host = "mine-0"; /* Of a pod that was made by hand. */
    asked.source = PLACE_KUBERNETES;
    place_is(asked, "", "ps/0 of 2 servers, 3 workers, from Kubernetes (HOSTNAME=mine-0)",
             "ps-[0-1].ps:7000");
    asked.ps_hosts = NULL;
    place_is_refused(asked, "",
                     "a pod's index does not say where the servers are: give --ps-hosts, of a "
                     "StatefulSet ps and its Service ps 'ps-[0-1].ps:7000'");
    asked.source = PLACE_AUTO;
    asked.job_name = "ps";
    asked.ps_hosts = "ps-[0-1].ps:7000";
    place_is_refused(asked, "KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=ps-4294967296\n",
                     "HOSTNAME=ps-4294967296: a pod's index is at most 4294967295");
    /* A pod that nobody asked to be one of several, such as that of a job of one task. */
    place_is(place_asked(), "KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=mnist-worker-0\n",
             "one process that trains alone, from nothing: no engine's variables are here", NULL);
}

TEST_PLAIN(pods_that_all_serve_are_as_many_as_their_names)
{
    struct place place;
    struct place_request asked = place_asked();
    asked.colocated = true;
    asked.ps_hosts = "p-[0-2].p:7000";
    ck_assert_int_eq(place_of(&place, asked, "KUBERNETES_SERVICE_HOST=1\nHOSTNAME=p-2\n", NULL),
                     STATUS_OK);
    ck_assert(place.serves && place.works && place.evicts);
    ck_assert_uint_eq(place.servers, 3);
    ck_assert_uint_eq(place.workers, 3);
    ck_assert_uint_eq(place.server, 2);
    place_free(&place);
}

TEST_PLAIN(a_variable_that_is_set_to_nothing_is_none)
{
    place_is(place_asked(), "TF_CONFIG=\nSLURM_PROCID=\nRANK=\nDMLC_ROLE=\n",
             "one process that trains alone, from nothing: no engine's variables are here", NULL);
}

/* --- a command that is a whole job ------------------------------------------------------------- */

TEST_PLAIN(one_of_several_processes_of_an_engine_is_known_for_it)
{
    static const struct {
        const char *lines, *said; /* NULL: it is one alone. */
        bool first;
    } cases[] = {
        {"", NULL, false},
        {OPEN_MPI("0"), "OMPI_COMM_WORLD_RANK=0, of 5 processes", true},
        {TORCHRUN("3"), "RANK=3, of 4 processes", false},
        {"RANK=0\nWORLD_SIZE=1\n", NULL, false},
        {SLURM "SLURM_STEP_NUM_TASKS=3\n", "SLURM_PROCID=1, of 3 processes", false},
        {"SLURM_JOB_ID=7\nSLURM_PROCID=0\nSLURM_NTASKS=3\n", NULL, false}, /* sbatch's script. */
        {TF_CONFIG, "TF_CONFIG", false},
        {"TF_CONFIG={}\n", NULL, false},
        {"TF_CONFIG={\"cluster\":{\"ps\":[\"p:1\"],\"worker\":[\"w:1\"]},"
         "\"task\":{\"type\":\"worker\"}}\n",
         "TF_CONFIG", true},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"w:1\",\"w:2\"]},"
         "\"task\":{\"type\":\"worker\",\"index\":0}}\n",
         "TF_CONFIG", true},
        {DMLC("server"), "DMLC_ROLE=server", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[PLACE_TEXT_MAX] = "";
        bool first = false, several = several_of(cases[i].lines, said, &first);
        ck_assert_msg(several == (cases[i].said != NULL), "case %zu: %s", i, said);
        if (several)
            ck_assert_str_eq(said, cases[i].said);
        ck_assert_msg(!several || first == cases[i].first, "case %zu", i);
    }
}

/* --- which job it is ------------------------------------------------------------------------------ */

static void calls(struct place_request asked, const char *lines, const char *job_id)
{
    struct place place;
    struct error error = {0};
    ck_assert_msg(place_of(&place, asked, lines, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(place.job_id, job_id);
    place_free(&place);
}

TEST_PLAIN(an_engines_name_of_the_job_is_its_id)
{
    struct place_request asked = with_servers(1);
    calls(asked, SLURM, "Slurm job 7");
    calls(asked, SLURM "SLURM_HET_JOB_ID=6\n", "Slurm job 6");
    calls(asked, OPEN_MPI("4"), "MPI job 2008940545");
    calls(asked, TORCHRUN("1") "TORCHELASTIC_RUN_ID=one\n", "torchrun's run one");
    calls(asked, TORCHRUN("1") "TORCHELASTIC_RUN_ID=none\n", "");
    calls(asked, TORCHRUN("1"), "");
    calls(asked, TF_CONFIG, "");
    calls(place_asked(), DMLC("worker") "DMLC_WORKER_ID=2\n", "");
    /* Of a long one it is the end that differs. */
    calls(asked,
          TORCHRUN("1") "TORCHELASTIC_RUN_ID=a-search-of-learning-rates-on-fashion-mnist-seed-1\n",
          "torchrun's run search-of-learning-rates-on-fashion-mnist-seed-1");
}

TEST_PLAIN(an_mpirun_of_one_role_names_no_job_for_the_other_is_of_another)
{
    struct place_request asked = place_asked();
    asked.job_name = "worker";
    asked.ps_hosts = "a:1";
    calls(asked, OPEN_MPI("4"), "");
    calls(asked, SLURM, ""); /* Another Slurm job may have the servers that are named. */
    asked.ps_hosts = "a:1,b:1";
    calls(asked, PROGRAMS("4", "1"), "MPI job 2008940545");
    asked.index = 1;
    calls(asked, SLURM, "");
}

int main(void)
{
    return suite_run("place", NULL);
}

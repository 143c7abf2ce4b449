/* test_tf_config.c - TF_CONFIG as Kubeflow writes it, byte by byte, and as people get it wrong. */

#include <stdio.h>
#include <string.h>

#include "tests/lib/place_of.h"
#include "tests/lib/suite.h"

/* A TFJob of Kubeflow 1.6 and of 1.9, which write the same: keys in the order of the alphabet, one line. */
#define KUBEFLOW(task)                                                                             \
    "TF_CONFIG={\"cluster\":{\"chief\":[\"mnist-chief-0.ml.svc:2222\"],"                           \
    "\"evaluator\":[\"mnist-evaluator-0.ml.svc:2222\"],"                                           \
    "\"ps\":[\"mnist-ps-0.ml.svc:2222\",\"mnist-ps-1.ml.svc:2222\"],"                              \
    "\"worker\":[\"mnist-worker-0.ml.svc:2222\",\"mnist-worker-1.ml.svc:2222\"]},"                 \
    "\"task\":" task ",\"environment\":\"cloud\"}"
#define KUBEFLOW_PS "mnist-ps-0.ml.svc:2222,mnist-ps-1.ml.svc:2222"

/* Dynamic workers (enableDynamicWorker): what 1.6 calls sparseCluster is cluster in 1.9. */
#define DYNAMIC_WORKER(cluster)                                                                    \
    "TF_CONFIG={\"" cluster "\":{\"worker\":{\"1\":\"mnist-worker-1.ml.svc:2222\"},"               \
    "\"ps\":[\"mnist-ps-0.ml.svc:2222\",\"mnist-ps-1.ml.svc:2222\"]},"                             \
    "\"task\":{\"type\":\"worker\",\"index\":1}}"
#define DYNAMIC_PS(cluster)                                                                        \
    "TF_CONFIG={\"" cluster "\":{\"worker\":{},\"ps\":[\"mnist-ps-1.ml.svc:2222\"]},"              \
    "\"task\":{\"type\":\"ps\",\"index\":1}}"
#define SPARSE_WORKER DYNAMIC_WORKER("sparseCluster")
#define SPARSE_PS     DYNAMIC_PS("sparseCluster")

#define CLUSTER(cluster, task) "TF_CONFIG={\"cluster\":{" cluster "},\"task\":{" task "}}"
#define PS                     "\"ps\":[\"p0:2222\",\"p1:2222\"]"
#define WORKERS                "\"worker\":[\"w0:2222\",\"w1:2222\"]"

TEST_PLAIN(chief_and_workers_of_kubeflow_are_numbered_through)
{
    struct place_request asked = place_asked();
    place_is(asked, KUBEFLOW("{\"type\":\"chief\",\"index\":0}"),
             "worker/0 of 3 workers, 2 servers, from TF_CONFIG (chief 0)", KUBEFLOW_PS);
    place_is(asked, KUBEFLOW("{\"type\":\"worker\",\"index\":1}"),
             "worker/2 of 3 workers, 2 servers, from TF_CONFIG (worker 1)", KUBEFLOW_PS);
    place_is(asked, KUBEFLOW("{\"type\":\"ps\",\"index\":1}"),
             "ps/1 of 2 servers, 3 workers, from TF_CONFIG (ps 1)", KUBEFLOW_PS);
    place_is(asked, KUBEFLOW("{\"type\":\"evaluator\",\"index\":0}"),
             "the evaluator, from TF_CONFIG (evaluator 0)", NULL);
    place_is(asked, CLUSTER("\"master\":[\"m:1\"]," PS "," WORKERS, "\"type\":\"master\""),
             "worker/0 of 3 workers, 2 servers, from TF_CONFIG (master 0)", "p0:2222,p1:2222");
    place_is(asked, CLUSTER(PS "," WORKERS, "\"type\":\"worker\",\"index\":0"),
             "worker/0 of 2 workers, 2 servers, from TF_CONFIG (worker 0)", "p0:2222,p1:2222");
    /* An evaluator is a cluster of its own, and others may not know it. */
    place_is(asked, CLUSTER(PS "," WORKERS, "\"type\":\"evaluator\",\"index\":0"),
             "the evaluator, from TF_CONFIG (evaluator 0)", NULL);
}

TEST_PLAIN(an_index_may_be_a_text_or_not_be_there)
{
    struct place_request asked = place_asked();
    place_is(asked, CLUSTER(PS "," WORKERS, "\"type\":\"worker\",\"index\":\"1\""),
             "worker/1 of 2 workers, 2 servers, from TF_CONFIG (worker 1)", "p0:2222,p1:2222");
    place_is(asked, CLUSTER(PS "," WORKERS, "\"type\":\"ps\""),
             "ps/0 of 2 servers, 2 workers, from TF_CONFIG (ps 0)", "p0:2222,p1:2222");
}

TEST_PLAIN(members_that_are_not_known_are_left_alone)
{
    place_is(
        place_asked(),
        "TF_CONFIG={\"job\":{\"a\":[1,{}]},\"trial\":\"7\",\"rpc_layer\":\"grpc\",\"cluster\":{" PS
        "," WORKERS ",\"other\":[\"x:1\"]},\"task\":{\"type\":\"ps\",\"index\":0,\"cloud\":\"c\"}}",
        "ps/0 of 2 servers, 2 workers, from TF_CONFIG (ps 0)", "p0:2222,p1:2222");
}

TEST_PLAIN(without_a_cluster_or_servers_one_process_trains_alone)
{
    struct place_request asked = place_asked();
    place_is(asked, "TF_CONFIG={}",
             "one process that trains alone, from TF_CONFIG (without a cluster)", NULL);
    place_is(asked, CLUSTER("", "\"type\":\"worker\""),
             "one process that trains alone, from TF_CONFIG (without a cluster)", NULL);
    place_is(asked, CLUSTER("\"worker\":[\"w:1\"]", "\"type\":\"worker\",\"index\":0"),
             "one process that trains alone, from TF_CONFIG (worker 0)", NULL);
    place_is_refused(
        asked, CLUSTER(WORKERS, "\"type\":\"worker\",\"index\":0"),
        "TF_CONFIG: cluster has no ps: give it servers, or --ps colocated to let every "
        "worker's place serve");
}

TEST_PLAIN(a_task_that_is_one_of_several_does_not_train_alone_for_want_of_a_cluster)
{
    static const char *const wrong[][2] = {
        {"TF_CONFIG={\"task\":{\"type\":\"ps\",\"index\":0}}",
         "TF_CONFIG: task is ps 0, and there is no cluster"},
        {CLUSTER("", "\"type\":\"worker\",\"index\":3"),
         "TF_CONFIG: task is worker 3, and there is no cluster"},
        {"TF_CONFIG={\"task\":{\"type\":\"chief\",\"index\":1}}",
         "TF_CONFIG: task is chief 1, and there is no cluster"},
        {"TF_CONFIG={\"task\":{\"index\":0}}", "TF_CONFIG: task.type is not there, or no text: it "
                                               "says which task of the cluster this is"},
        {"TF_CONFIG={\"clusters\":{" WORKERS "},\"task\":{\"type\":\"worker\",\"index\":0}}",
         "TF_CONFIG: the cluster is called 'clusters': call it cluster"},
        {"TF_CONFIG={\"Cluster\":{" PS "}}",
         "TF_CONFIG: the cluster is called 'Cluster': call it cluster"},
    };
    struct place_request asked = place_asked();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        place_is_refused(asked, wrong[i][0], wrong[i][1]);
    place_is(asked, "TF_CONFIG={\"task\":{\"type\":\"master\",\"index\":0}}",
             "one process that trains alone, from TF_CONFIG (without a cluster)", NULL);
    place_is(asked, "TF_CONFIG={\"task\":{\"type\":\"evaluator\",\"index\":0}}",
             "the evaluator, from TF_CONFIG (without a cluster)", NULL);
    const struct place_request several[] = {
        {.index = -1, .servers = 2},
        {.index = -1, .servers = -1, .ps_hosts = "a:1"},
        {.index = -1, .servers = -1, .job_name = "ps"},
    };
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        place_is_refused(several[i], "TF_CONFIG={}",
                         "the command line says one of several, and TF_CONFIG has no cluster: "
                         "unset it, or --cluster-from none");
}

TEST_PLAIN(dynamic_workers_need_to_be_told_how_many_there_are)
{
    struct place_request asked = place_asked();
    place_is_refused(asked, SPARSE_WORKER,
                     "TF_CONFIG: sparseCluster.worker is a map, which does not say how many there "
                     "are: give --workers N");
    asked.workers = 3;
    place_is(asked, SPARSE_WORKER, "worker/1 of 3 workers, 2 servers, from TF_CONFIG (worker 1)",
             KUBEFLOW_PS);
    place_is(asked, DYNAMIC_WORKER("cluster"),
             "worker/1 of 3 workers, 2 servers, from TF_CONFIG (worker 1)", KUBEFLOW_PS);
    place_is(asked, CLUSTER(PS ",\"worker\":{\"7\":\"w:1\"}", "\"type\":\"worker\",\"index\":7"),
             "worker/7 of 3 workers, 2 servers, from TF_CONFIG (worker 7)", "p0:2222,p1:2222");
    place_is_refused(asked,
                     CLUSTER(PS ",\"worker\":{\"7\":\"w:1\"}", "\"type\":\"worker\",\"index\":6"),
                     "TF_CONFIG: task.index is 6, and cluster.worker has no \"6\"");
}

TEST_PLAIN(a_server_that_is_told_of_itself_alone_finds_the_others_by_their_names)
{
    struct place_request asked = place_asked();
    place_is_refused(
        asked, SPARSE_PS,
        "TF_CONFIG: sparseCluster.ps has this server alone: give --ps N, how many there "
        "are");
    asked.servers = 2;
    place_is(asked, SPARSE_PS, "ps/1 of 2 servers, from TF_CONFIG (ps 1)", KUBEFLOW_PS);
    place_is(asked, DYNAMIC_PS("cluster"), "ps/1 of 2 servers, from TF_CONFIG (ps 1)", KUBEFLOW_PS);
    place_is(asked,
             "TF_CONFIG={\"cluster\":{\"worker\":{},\"ps\":[\"a-ps-0.b.svc.example.org:2222\"]},"
             "\"task\":{\"type\":\"ps\",\"index\":0}}",
             "ps/0 of 2 servers, from TF_CONFIG (ps 0)",
             "a-ps-0.b.svc.example.org:2222,a-ps-1.b.svc.example.org:2222");
    place_is_refused(asked,
                     "TF_CONFIG={\"sparseCluster\":{\"worker\":{},\"ps\":[\"alpha:1\"]},"
                     "\"task\":{\"type\":\"ps\",\"index\":1}}",
                     "TF_CONFIG: the other servers' names do not follow from 'alpha:1': give "
                     "--ps-hosts");
    asked.ps_hosts = "alpha:1,beta:1";
    place_is(asked, SPARSE_PS, "ps/1 of 2 servers, from TF_CONFIG (ps 1)", "alpha:1,beta:1");
    asked = place_asked();
    asked.servers = 1;
    place_is_refused(asked, SPARSE_PS, "TF_CONFIG: task.index is 1, and --ps=1");
}

TEST_PLAIN(workers_serve_at_their_addresses_when_they_are_to_serve)
{
    struct place_request asked = place_asked();
    asked.colocated = true;
    place_is(asked, CLUSTER("\"chief\":[\"c:1\"]," WORKERS, "\"type\":\"worker\",\"index\":1"),
             "ps/2 and worker/2 of 3 places, from TF_CONFIG (worker 1)", "c:1,w0:2222,w1:2222");
    place_is_refused(asked, CLUSTER(PS "," WORKERS, "\"type\":\"worker\""),
                     "--ps colocated, but TF_CONFIG: cluster.ps names servers of their own");
}

TEST_PLAIN(the_command_line_stands_over_servers_and_must_agree_with_the_rest)
{
    struct place_request asked = place_asked();
    asked.ps_hosts = "x:1,y:1";
    place_is(asked, CLUSTER(PS "," WORKERS, "\"type\":\"ps\",\"index\":1"),
             "ps/1 of 2 servers, 2 workers, from TF_CONFIG (ps 1)", "x:1,y:1");
    asked = place_asked();
    asked.servers = 3;
    place_is_refused(asked, CLUSTER(PS "," WORKERS, "\"type\":\"ps\""),
                     "--ps=3, but TF_CONFIG: cluster has 2 servers");
    asked = place_asked();
    asked.workers = 5;
    place_is_refused(asked, CLUSTER(PS "," WORKERS, "\"type\":\"ps\""),
                     "--workers=5, but TF_CONFIG: cluster has 2 workers");
    asked = place_asked();
    asked.job_name = "worker";
    place_is_refused(asked, CLUSTER(PS "," WORKERS, "\"type\":\"ps\""),
                     "--job-name=worker, but TF_CONFIG: task.type is ps");
}

TEST_PLAIN(what_is_wrong_is_named_by_its_path)
{
    static const char *const wrong[][2] = {
        {CLUSTER(PS "," WORKERS, "\"type\":\"chief\",\"index\":0"),
         "TF_CONFIG: task.type is 'chief', and cluster has no chief"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"\\u001b[31m\",\"index\":0"),
         "TF_CONFIG: task.type is '?[31m', and cluster has no such tasks"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"gardener\",\"index\":0"),
         "TF_CONFIG: task.type is 'gardener', and cluster has no such tasks"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"worker\",\"index\":2"),
         "TF_CONFIG: task.index is 2, and cluster.worker has 2 tasks"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"ps\",\"index\":300"),
         "TF_CONFIG: task.index is 300, and cluster.ps has 2 tasks"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"worker\",\"index\":-1"),
         "TF_CONFIG: task.index is not a whole number from 0 on"},
        {CLUSTER(PS "," WORKERS, "\"type\":\"worker\",\"index\":\"one\""),
         "TF_CONFIG: task.index is not a whole number from 0 on"},
        {CLUSTER(PS "," WORKERS, "\"index\":0"), "TF_CONFIG: task.type is not there, or no text: "
                                                 "it says which task of the cluster this is"},
        {"TF_CONFIG={\"cluster\":{" PS "," WORKERS "}}",
         "TF_CONFIG: task.type is not there, or no text: it says which task of the cluster this "
         "is"},
        {CLUSTER("\"chief\":[\"a:1\",\"b:1\"]," PS, "\"type\":\"chief\""),
         "TF_CONFIG: cluster.chief has 2 tasks, and one is the most"},
        {CLUSTER("\"chief\":[\"a:1\"],\"master\":[\"b:1\"]," PS, "\"type\":\"chief\""),
         "TF_CONFIG: cluster.chief and cluster.master are two names of one task: name it once"},
        {CLUSTER("\"evaluator\":[\"a:1\",\"b:1\"]," PS, "\"type\":\"ps\""),
         "TF_CONFIG: cluster.evaluator has 2 tasks, and one is the most"},
        {CLUSTER("\"ps\":[]," WORKERS, "\"type\":\"worker\""), "TF_CONFIG: cluster.ps is empty"},
        {CLUSTER("\"ps\":[\"a\"]," WORKERS, "\"type\":\"worker\""),
         "TF_CONFIG: cluster.ps[0] is not host:port: a"},
        {CLUSTER("\"ps\":[\"a:1\",7]," WORKERS, "\"type\":\"worker\""),
         "TF_CONFIG: cluster.ps[1] is not host:port: it is no text"},
        {CLUSTER("\"ps\":[\"a:1,b:1\"]," WORKERS, "\"type\":\"worker\""),
         "TF_CONFIG: cluster.ps[0] is not host:port: a:1,b:1"},
        {CLUSTER("\"ps\":\"a:1\"," WORKERS, "\"type\":\"worker\""),
         "TF_CONFIG: cluster.ps is no list of host:port"},
        {CLUSTER("\"ps\":{\"0\":\"a:1\"}," WORKERS, "\"type\":\"worker\""),
         "TF_CONFIG: cluster.ps is a map; a job's servers are a list"},
        {CLUSTER(PS ",\"worker\":{\"x\":\"a:1\"}", "\"type\":\"worker\""),
         "TF_CONFIG: cluster.worker: 'x' is not the index of a task"},
        {"TF_CONFIG={\"cluster\":[]}", "TF_CONFIG: cluster is no JSON object"},
        {"TF_CONFIG=[]", "TF_CONFIG is no JSON object"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        place_is_refused(place_asked(), wrong[i][0], wrong[i][1]);
}

TEST_PLAIN(what_is_no_json_is_refused_with_its_place)
{
    struct place place;
    struct error error;
    ck_assert_int_eq(place_of(&place, place_asked(), "TF_CONFIG={\"cluster\": {", &error),
                     STATUS_INVALID);
    ck_assert_msg(strncmp(error.text, "TF_CONFIG", 9) == 0, "%s", error.text);
}

TEST_PLAIN(kubeflow_ends_single_tasks)
{
    struct place place;
    ck_assert_int_eq(
        place_of(&place, place_asked(), KUBEFLOW("{\"type\":\"worker\",\"index\":1}"), NULL),
        STATUS_OK);
    ck_assert(place.evicts);
    place_free(&place);
}

int main(void)
{
    return suite_run("tf_config", NULL);
}

/* seeds_main.c - writes the first inputs of every fuzzer into FOLDER/<fuzzer>/, made by our own
 * writers from valid things: `make fuzz-corpus`. What is there under another name stays.
 *
 * A format that changes makes other seeds: run it again and commit them. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/file/json_writer.h"
#include "common/job/job_json.h"
#include "common/store/checkpoint.h"
#include "common/wire/message.h"
#include "deploy/cluster/cluster_file.h"
#include "deploy/compare/plan_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"
#include "tests/lib/made_data.h"
#include "tests/lib/records/sample_record.h"
#include "tests/lib/specimens.h"
#include "tests/lib/traces/made_trace.h"
#include "worker/source/program_message.h"

static const char *corpus;

/* --- files --------------------------------------------------------------------------------- */

static void write_pieces(const char *fuzzer, const char *name, const struct disk_piece *pieces,
                         size_t count)
{
    char path[DISK_PATH_MAX];
    struct error error;
    snprintf(path, sizeof path, "%s/%s", corpus, fuzzer);
    enum status status = disk_posix.make_directory(disk_posix.context, path, &error);
    snprintf(path, sizeof path, "%s/%s/seed-%s", corpus, fuzzer, name);
    if (status == STATUS_OK)
        status = disk_posix.write_file(disk_posix.context, path, pieces, count, &error);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

static void write_seed(const char *fuzzer, const char *name, const void *bytes, size_t count)
{
    const struct disk_piece piece = {bytes, count};
    write_pieces(fuzzer, name, &piece, 1);
}

static void write_text(const char *fuzzer, const char *name, const char *text)
{
    write_seed(fuzzer, name, text, strlen(text));
}

/* --- the wire ------------------------------------------------------------------------------ */

/* The same header reaches a server among whose workers its sender is, see fuzz_server.c. */
static void make_server_header(const char *name, const uint8_t *header, size_t bytes)
{
    uint8_t start[] = {0, 0, 0, 0, 1, 1, 3, 1, (uint8_t)bytes, (uint8_t)(bytes >> 8)};
    const struct disk_piece pieces[] = {{start, sizeof start}, {header, bytes}};
    write_pieces("server", name, pieces, 2);
}

static void make_messages(void)
{
    for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_KIND_COUNT; kind++) {
        struct message message = {.kind = (enum message_kind)kind,
                                  .role = ROLE_WORKER,
                                  .index = 1,
                                  .incarnation = UINT64_MAX - 1,
                                  .run_id = 7,
                                  .generation = 3,
                                  .request = 300};
        uint8_t header[HEADER_BYTES_MAX];
        specimen_fill(&message, SPECIMEN_EXAMPLE);
        size_t bytes = message_encode(&message, header);
        write_seed("message", message_kind_name(message.kind), header, bytes);
        make_server_header(message_kind_name(message.kind), header, bytes);
    }
}

static void make_jobs(const struct job *sgd, const struct job *adam)
{
    /* One variable more, field 5: "z" with 60 dimensions of 1. */
    uint8_t deep[67] = {0x2a, 65, 0x0a, 1, 'z', 0x12, 60};
    memset(deep + 7, 1, 60);
    const struct job *jobs[] = {sgd, adam};
    for (int i = 0; i < 2; i++) {
        uint8_t *bytes;
        uint32_t count;
        fuzz_must(job_encode(jobs[i], &bytes, &count) == STATUS_OK, "a sample can be encoded");
        write_seed("job", jobs[i]->optimizer.name, bytes, count);
        const struct disk_piece pieces[] = {{bytes, count}, {deep, sizeof deep}};
        write_pieces("job", i == 0 ? "deep" : "deep-adam", pieces, 2);
        free(bytes);
    }
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void make_json(const struct job *job)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    job_write_json(&writer, NULL, job);
    write_seed("json", "job", writer.text, writer.bytes);
    json_writer_free(&writer);
    write_text("json", "values",
               "{\"a\": [1, -2.5e3, \"0xff\", true, false, null], \"b\": {\"c\": \"\\u00e9\\n\"}, "
               "\"id\": \"00c0ffee00c0ffee\"}");
    write_text("json", "deep", "[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]");
    write_text("json", "deeper", "[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]");
}

static void make_manifest(const char *name, const struct job *job)
{
    struct checkpoint_part parts[2] = {{.bytes = 100}, {.bytes = 200}};
    const struct manifest manifest = {
        .job = *job, .run_id = 7, .step = 10, .part_count = 2, .parts = parts};
    struct simulated_disk disk;
    simulated_disk_init(&disk, 1, 1);
    for (uint32_t i = 0; i < 2; i++)
        checkpoint_part_name(parts[i].name, i, 2, 3);
    fuzz_must(manifest_write(&disk.disk, "a", &manifest, NULL) == STATUS_OK,
              "a manifest can be written");
    const struct simulated_file *file = simulated_disk_find(&disk, "a");
    /* Without its last member, the checksum, which fuzz_manifest.c puts behind every input. */
    size_t tail = strlen(",\n  \"blake2b\": \"") + 2 * DIGEST_BYTES + strlen("\"\n}\n");
    write_seed("manifest", name, file->data, file->bytes - tail);
    simulated_disk_free(&disk);
}

static void make_run(const char *name, const char *run, const char *events)
{
    size_t length = strlen(run);
    const uint8_t prefix[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
    const struct disk_piece pieces[] = {{prefix, 2}, {run, length}, {events, strlen(events)}};
    write_pieces("run_directory", name, pieces, 3);
}

static void make_runs(const struct job *job)
{
    static const char events[] =
        "{\"time\": 0.1, \"event\": \"start\", \"step\": 0}\n"
        "{\"time\": 1.5, \"event\": \"progress\", \"step\": 10, \"epoch\": 1, \"loss\": 0.5}\n"
        "{\"time\": 2.5, \"event\": \"evaluation\", \"step\": 10, \"test_accuracy\": 0.9}\n"
        "{\"time\": 0.1, \"event\": \"start\", \"step\": 5}\n{\"time\": 3";
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "format", "syncopate-run-3");
    json_writer_text(&writer, "state", "running");
    json_writer_u64(&writer, "step", 10);
    json_writer_real(&writer, "seconds", 2.5);
    json_writer_array(&writer, "worker_details");
    json_writer_object(&writer, NULL);
    json_writer_u64(&writer, "updates", 5);
    json_writer_end(&writer);
    json_writer_end(&writer);
    job_write_json(&writer, "job", job);
    json_writer_end(&writer);
    make_run("running", writer.text, events);
    make_run("empty", "{}", "");
    json_writer_free(&writer);
}

/* --- safetensors --------------------------------------------------------------------------- */

/* A checkpoint of 32 elements in chunks of 16, one a part or both in one. */
static void make_checkpoint(const char *name, const struct job *job, uint32_t part_count)
{
    static const float values[SAMPLES_ELEMENTS] = {1, 2, 3};
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    struct checkpoint_chunk chunks[2] = {{.first = 0, .count = 16}, {.first = 16, .count = 16}};
    struct disk_piece pieces[8];
    uint8_t settings = (uint8_t)((part_count - 1) | (job->mode == MODE_ASYNC ? 4 : 0));
    uint8_t prefixes[4][2];
    size_t count = 0;
    struct simulated_disk disk;
    simulated_disk_init(&disk, 1, 1);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t a = 0; a < CHECKPOINT_ARRAYS_MAX; a++)
            chunks[i].arrays[a] = values + chunks[i].first;
    pieces[count++] = (struct disk_piece){&settings, 1};
    for (uint32_t i = 0; i < part_count; i++) {
        struct checkpoint_part part;
        fuzz_must(checkpoint_write_part(&disk.disk, "out", 10, 0, i, part_count,
                                        optimizer_slots(optimizer), chunks + i,
                                        part_count == 1 ? 2 : 1, &part, NULL) == STATUS_OK,
                  "a part can be written");
    }
    for (uint32_t i = 0; i < part_count; i++) {
        const struct simulated_file *file = &disk.files[i];
        prefixes[i][0] = (uint8_t)file->bytes;
        prefixes[i][1] = (uint8_t)(file->bytes >> 8);
        if (i + 1 < part_count)
            pieces[count++] = (struct disk_piece){prefixes[i], 2};
        pieces[count++] = (struct disk_piece){file->data, file->bytes};
    }
    write_pieces("checkpoint", name, pieces, count);
    simulated_disk_free(&disk);
}

static void make_model_file(const struct job *job)
{
    static const float values[SAMPLES_ELEMENTS] = {1, 2, 3};
    struct simulated_disk disk;
    simulated_disk_init(&disk, 1, 1);
    fuzz_must(model_file_write(&disk.disk, "a", job->model, job->variables, job->variable_count,
                               values, NULL, NULL) == STATUS_OK,
              "a model can be written");
    const struct simulated_file *file = simulated_disk_find(&disk, "a");
    write_seed("safetensors", "model", file->data, file->bytes);
    simulated_disk_free(&disk);
    static const char others[] = "\x8e\0\0\0\0\0\0\0"
                                 "{\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[2,2]},"
                                 "\"c\":{\"dtype\":\"U8\"}}            ..";
    write_seed("safetensors", "types", others, sizeof others - 1);
}

/* --- data ---------------------------------------------------------------------------------- */

/* An archive with one array, stored or deflated. */
static void make_archive(const char *name, bool deflated)
{
    static const uint8_t kind = 1;
    uint8_t array[200], archive[600];
    size_t count = made_npy(array, "<f4", "(2, 3)", "abcdefghijklmnopqrstuvwx", 24);
    const struct made_member member = {"x_train.npy", array, count, deflated};
    size_t bytes = made_zip(archive, &member, 1, deflated);
    const struct disk_piece pieces[] = {{&kind, 1}, {archive, bytes}};
    write_pieces("array", name, pieces, 2);
}

static void make_arrays(void)
{
    static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2,  0,  0,
                                     0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 5, 0, 1, 2, 3, 4};
    static const uint8_t alone = 0;
    const struct disk_piece plain[] = {{&alone, 1}, {images, sizeof images}};
    const struct disk_piece few[] = {{&alone, 1}, {labels, sizeof labels}};
    write_pieces("array", "images", plain, 2);
    write_pieces("array", "labels", few, 2);

    uint8_t packed[256];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)images,
                       .avail_in = sizeof images,
                       .next_out = packed,
                       .avail_out = sizeof packed};
    bool done = deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
                deflate(&stream, Z_FINISH) == Z_STREAM_END;
    fuzz_must(done && deflateEnd(&stream) == Z_OK, "images can be packed");
    const struct disk_piece compressed[] = {{&alone, 1}, {packed, stream.total_out}};
    write_pieces("array", "packed", compressed, 2);
    write_text("csv", "words", "\3a,b,kind\r\n1.5,\"2\",pear\r\n-3e1,.25,fig\r\n");
    write_text("csv", "numbers",
               "\1"
               "7;0;255\n3;9;1\n");
    make_archive("stored", false);
    make_archive("deflated", true);
    uint8_t npy[200];
    const struct disk_piece alone_npy[] = {
        {&alone, 1}, {npy, made_npy(npy, "<i2", "(2, 3)", "abcdefghijkl", 12)}};
    write_pieces("array", "npy", alone_npy, 2);
}

static void make_model(const char *name, uint8_t side, const char *text)
{
    const uint8_t input[] = {side, side, 1, 10, 2};
    const struct disk_piece pieces[] = {{input, sizeof input}, {text, strlen(text)}};
    write_pieces("model", name, pieces, 2);
}

static void make_models(void)
{
    char most[1024] = "flatten";
    for (int i = 1; i < 64; i++)
        strcat(most, ",dense 10");
    make_model("most", 2, most);
    make_model("more", 2, strcat(most, ",dense 10"));
    make_model("preset", 12, "mlp");
    make_model("small", 12, "conv 4x3 relu, pool 2, conv 4x3x3, pool 2, flatten, dense 10");
    make_model("dense", 4, " flatten , dense 5 relu,dense 10");
    make_model("pool", 9, "pool 3, conv 2x1 relu, flatten, dense 10");
}

/* --- people -------------------------------------------------------------------------------- */

static void make_options(const char *name, unsigned program, const char *words)
{
    const uint8_t first = (uint8_t)program;
    const struct disk_piece pieces[] = {{&first, 1}, {words, strlen(words)}};
    write_pieces("options", name, pieces, 2);
}

static void make_command_lines(void)
{
    make_options("ps", 0,
                 "--ps-hosts=alpha:2222,beta:2223\n--task-index\n1\n--bind\n*:2222\n--insecure\n");
    make_options("hosts", 1,
                 "--ps-hosts=tcp://node[1-3,08]:7000,[fd00::5]:7000\n--worker-hosts=w[0-9]:0\n"
                 "--insecure\nSYNCOPATE_PS_SERVICE_HOST=10.0.0.5\n");
    make_options("worker", 1,
                 "--ps_hosts\nalpha:2222\n--workers=2\n--task-index=1\n--optimizer\nrmsprop\n"
                 "--rho\n0.9\nSYNCOPATE_EPOCHS=3\n");
    make_options("run", 2,
                 "--mode=async\n--ps\n2\n--workers\n3\n--chunk-bytes=64KiB\n--learning-rate\n1e-3\n"
                 "--schedule=cosine\n--decay-factor=0.1\n--out\nruns/a\n--slow\n1:2.0\n");
    make_options("compute", 2,
                 "--compute\nlognormal:30ms,0.3\n--straggle=0.05:pareto,1.5:10\n"
                 "--pause\n0.01:uniform:1ms,5ms\n");
    make_options("compare", 3, "--modes\nsync,async\n--workers=1,2,4\n--seeds=2\n");
    make_options("evaluate", 4, "--quiet\n--\nruns/a\n");
    make_options("help", 6, "--help\n");
    make_options("keygen", 8, "keys/worker-3\n--role=worker\n--index\n3\n");
    make_options("keys", 0, "--ps-hosts=alpha:2222\n--keys\nkeys\n--certificate=a.key_secret\n");
    make_options("unknown", 7, "--histori=3\n-x\n");
}

static void make_place(const char *name, unsigned wanted, const char *lines)
{
    const uint8_t first[2] = {(uint8_t)wanted, (uint8_t)(wanted >> 8)};
    const struct disk_piece pieces[] = {{first, 2}, {lines, strlen(lines)}};
    write_pieces("place", name, pieces, 2);
}

static void make_places(void)
{
    make_place(
        "tf_config", 0,
        "TF_CONFIG={\"cluster\":{\"chief\":[\"c:1\"],\"ps\":[\"p0:1\",\"p1:1\"],\"worker\":"
        "[\"w:1\"]},\"task\":{\"type\":\"worker\",\"index\":\"0\"},\"environment\":\"cloud\"}");
    make_place("sparse", 0x82,
               "TF_CONFIG={\"sparseCluster\":{\"worker\":{},\"ps\":[\"x-ps-1.n.svc:2222\"]},"
               "\"task\":{\"type\":\"ps\",\"index\":1}}");
    make_place(
        "slurm", 0x02,
        "SLURM_PROCID=3\nSLURM_STEP_ID=0\nSLURM_NTASKS=5\nSLURM_JOB_ID=1234\nSLURM_NODEID=1\n"
        "SLURM_STEP_NODELIST=n[02,04-05]\nSLURM_STEP_TASKS_PER_NODE=3,1(x2)\n"
        "SLURMD_NODENAME=n04");
    make_place("het", 0x20,
               "SLURM_PROCID=4\nSLURM_STEP_ID=0\nSLURM_NTASKS=5\nSLURM_JOB_ID=7\n"
               "SLURM_JOB_NODELIST_PACK_GROUP_0=nb01\nSLURM_JOB_NODELIST_PACK_GROUP_1=na,nb02\n"
               "SLURM_STEP_NODELIST=na,nb[01-02]\nSLURM_STEP_TASKS_PER_NODE=2(x2),1");
    make_place("mpi", 0x20,
               "OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=5\nOMPI_COMM_WORLD_LOCAL_SIZE=5\n"
               "OMPI_APP_CTX_NUM_PROCS=2 3\nOMPI_MCA_orte_app_num=1\nPMIX_NAMESPACE=2008940545");
    make_place("torchrun", 0x02,
               "RANK=1\nWORLD_SIZE=4\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=fd00::1\nMASTER_PORT=29500\n"
               "TORCHELASTIC_RUN_ID=none");
    make_place("dmlc", 0,
               "DMLC_ROLE=worker\nDMLC_NUM_SERVER=2\nDMLC_NUM_WORKER=3\nDMLC_WORKER_ID=2\n"
               "DMLC_PS_ROOT_URI=127.0.0.1\nDMLC_PS_ROOT_PORT=8000");
    make_place("kubernetes", 0x142, "KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=trainer-3");
}

static void make_cluster(const char *name, const char *const (*options)[2])
{
    struct cluster cluster;
    struct json_writer writer;
    cluster_init(&cluster);
    for (; (*options)[0] != NULL; options++)
        fuzz_must(cluster_option(&cluster, (*options)[0], (*options)[1], NULL) == STATUS_OK,
                  "a sample is right");
    json_writer_init(&writer, true);
    cluster_write(&cluster, &writer, NULL);
    write_seed("cluster", name, writer.text, writer.bytes);
    json_writer_free(&writer);
    cluster_free(&cluster);
}

static void make_clusters(void)
{
    static const char *const plain[][2] = {{NULL, NULL}};
    static const char *const much[][2] = {
        {"network", "10Gbit/1Gbit,50us"}, {"link", "worker/0-3,ps/0:100Mbit,1ms"},
        {"jitter", "exponential:20us"},   {"loss", "0.01"},
        {"switch-buffer", "40K"},         {"compute", "lognormal:20ms,0.3"},
        {"straggle", "0.05:pareto:10"},   {"pause", "0.01:exponential:200ms"},
        {"slow", "3:4.0,1:1.5"},          {NULL, NULL}};
    make_cluster("plain", plain);
    make_cluster("much", much);
    write_text("cluster", "hosts",
               "{\"format\":\"syncopate-cluster-1\",\"hosts\":[{\"processes\":\"ps/0,worker/0-3\","
               "\"processors\":3},{\"processes\":\"worker/4\"}],\"placement\":\"together\"}");
    write_text(
        "outages", "typed",
        "kill=worker/3@12s+5s,worker/4-5@1.5s\nstop=ps/1@3s+2s\npartition=worker/0-3|ps/0@5s+2s\n"
        "join=@8s,@9s\nleave=worker/2@9s\nrestart=5s\n");
    write_text("outages", "network",
               "network=2.5Gbit/100Mbit,50us\nlink=worker/7:100Mbit,1ms;ps/0:1Gbit\nslow=3:4\n");
}

/* --- plans --------------------------------------------------------------------------------- */

static void make_plans(void)
{
    write_text("plan", "axes",
               "{\"format\":\"" PLAN_FORMAT "\",\"about\":\"a line\",\"options\":{\"epochs\":3,"
               "\"virtual\":true,\"learning-rate\":1e-3,\"model\":\"dense 8, dense 10\"},"
               "\"vary\":[{\"mode\":[\"sync\",\"ssp:3\"]},{\"workers\":[1,2],\"ps\":[1,1]},"
               "{\"link\":[\"worker/0:1Gbit;ps/0:1Gbit,5us\"]}]}");
    write_text("plan", "arms",
               "{\"format\":\"" PLAN_FORMAT "\",\"arms\":{\"plain\":{},\"slow-start\":{"
               "\"mode\":\"async\",\"use-locking\":true,\"model\":\"dense 8, it's \\\"10\\\"\"}}}");
    write_text("plan", "wrong",
               "{\"format\":\"" PLAN_FORMAT "\",\n\"options\":{\"epoch\\n\":[3]},\"arm\":7}");
}

static void make_certificates(void)
{
    static const char key[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
    static const char secret[] = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
    char text[1024];
    write_text("certificate", "identity", key);
    snprintf(text, sizeof text, "%s worker/3", key);
    write_text("certificate", "identity-worker", text);
    snprintf(text, sizeof text, "curve\n    public-key = \"%s\"\n", key);
    write_text("certificate", "bare", text);
    snprintf(text, sizeof text,
             "#   ZeroMQ CURVE Public Certificate\nmetadata\n    role = \"worker\"\n"
             "    index = \"3\"\ncurve\n    public-key = \"%s\"\n",
             key);
    write_text("certificate", "worker", text);
    snprintf(text, sizeof text,
             "#   ****  Generated on 2026-11-20 17:02:31 by CZMQ  ****\n"
             "#   ZeroMQ CURVE **Secret** Certificate\n    \n"
             "metadata\n    name = 'says \"hello\"'\n    mail = ada@example.org\n"
             "curve\n    public-key = \"%s\"\n    secret-key = \"%s\"\n",
             key, secret);
    write_text("certificate", "czmq", text);
}

/* --- shared memory ------------------------------------------------------------------------- */

static void make_rings(void)
{
    static const uint8_t honest[] = {4, 100, 0, 5, 0, 2, 6, 4, 255, 15, 6, 7, 200, 0, 8, 6, 6};
    static const uint8_t hostile[] = {4, 100, 0, 1, 255, 0, 6, 3, 1, 2, 0, 0, 6, 2, 16, 0, 4, 9, 9};
    write_seed("ring", "honest", honest, sizeof honest);
    write_seed("ring", "hostile", hostile, sizeof hostile);

    static const uint8_t records[] = {0, /* Steps. */
                                      0, 1, 0, 64, 0, 0, 4, 4,   0, 1, 2, 3, 4, 5,
                                      8, 1, 3, 0,  0, 0, 0, 100, 0, 5, 4, 4, 8, 9};
    /* One memory of 5 pages for the rings, others of one, as window_make would offer them. */
    static const struct {
        uint8_t kind, fds, sizes[4][3];
        uint8_t offer[56];
    } offer = {1,
               4,
               {{0, 0xa0, 0}, {0, 0x10, 0}, {0, 0x10, 0}, {0, 0x10, 0}},
               {'w', 'n',  'y', 's', 1, 0, 0, 0,   /* magic, version */
                0,   0xa0, 0,   0,   0, 0, 0, 0,   /* written */
                0,   0x10, 0,   0,   0, 0, 0, 0,   /* parameters */
                0,   0,    0,   0,   0, 0, 0, 0,   /* published */
                0,   0x50, 0,   0,   0, 0, 0, 0,   /* gradients at */
                0,   0x50, 0,   0,   0, 0, 0, 0,   /* gradients */
                0,   0x20, 0,   0,   0, 0, 0, 0}}; /* ring capacity */
    write_seed("window", "records", records, sizeof records);
    write_seed("window", "offer", &offer, sizeof offer);
}

/* --- the asker of a program ---------------------------------------------------------------- */

static void make_asker(void)
{
    /* 3 pages, 9 examples, of which the memory asks for number 1. */
    static const struct {
        uint8_t pages, examples, rest[6]; /* The word that fills the memory begins in rest. */
        uint8_t word_end[2], layout[16 + 40], initial[16 + 8], compute[16 + 32], score[16 + 16],
            end[16 + 8];
    } talk = {3,
              9,
              {1, 0, 0, 0, 1, 0},
              {0, 0},
              {40, 0, 0, 0, 2, 0, 0, 0, [17] = 0x30, [33] = 0x10, [41] = 0x20, [48] = 8},
              {8, 0, 0, 0, 3, 0, 0, 0, 1, [16] = 7},
              {32, 0, 0, 0, 4, 0, 3, 0, 2, [16 + 28] = 2},
              {16, 0, 0, 0, 5, 0, 1, 0, 3, [16] = 5, [24] = 5},
              {8, 0, 0, 0, 9, 0, 0, 0, 0, [16] = 1, [20] = 'w', 'h', 'y', '.'}};
    write_seed("asker", "talk", &talk, sizeof talk);
    write_seed("asker", "refused", &talk, offsetof(__typeof__(talk), layout));
}

/* --- a program ----------------------------------------------------------------------------- */

static size_t add_message(uint8_t *talk, size_t at, uint16_t kind, uint64_t serial,
                          const void *body, size_t bytes)
{
    const struct program_header header = {(uint32_t)bytes, kind, 0, serial};
    memcpy(talk + at, &header, sizeof header);
    memcpy(talk + at + sizeof header, body, bytes);
    return at + sizeof header + bytes;
}

static void make_program(void)
{
    static const char declares[] =
        "{\"name\":\"p\",\"variables\":[{\"name\":\"w\",\"shape\":[5,4]},{\"name\":\"b\",\"shape\":"
        "[3],"
        "\"initializer\":\"glorot_uniform\",\"fan_in\":2,\"fan_out\":3}],\"examples\":9,"
        "\"test_examples\":5,\"score_piece\":2,\"scores\":\"loss\",\"data\":\"d\",\"fingerprint\":"
        "\"f\","
        "\"options\":{\"optimizer\":\"adam\",\"micro-batch\":8}}";
    static const struct program_done done = {2.5, 4}, nothing = {0, 0};
    uint8_t talk[1024] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t at = add_message(talk, 8, PROGRAM_DECLARE, 0, declares, sizeof declares - 1);
    write_seed("program", "declares", talk, at);
    size_t fails = add_message(talk, at, PROGRAM_FAIL, 1, "no memory", 9);
    write_seed("program", "fails", talk, fails);
    at = add_message(talk, at, PROGRAM_DONE, 1, &nothing, sizeof nothing);
    for (uint64_t first = 45; first > 0; first -= 15)
        at = add_message(talk, at, PROGRAM_PART, 2, &first, sizeof first);
    for (uint64_t serial = 2; serial <= 4; serial++)
        at = add_message(talk, at, PROGRAM_DONE, serial, &done, sizeof done);
    write_seed("program", "answers", talk, at);
}

/* --- a server ------------------------------------------------------------------------------ */

struct script {
    uint8_t bytes[2048];
    size_t count;
};

static void add_step(struct script *script, const void *bytes, size_t count)
{
    assert(script->count + count <= sizeof script->bytes);
    memcpy(script->bytes + script->count, bytes, count);
    script->count += count;
}

#define STEP(script, ...)                                                                          \
    add_step(script, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Both chunks of so many steps are exchanged and reported. */
static void make_steps(struct script *script, bool async, uint8_t first, uint8_t end)
{
    for (uint8_t step = first; step < end; step++) {
        if (async)
            STEP(script, 4, step & 1, 1, 0);
        for (uint8_t chunk = 0; chunk < 2; chunk++)
            STEP(script, 3, step & 1, 0, chunk, step, 0, 0, 0x80, 0x3f);
        STEP(script, 4, step & 1, 3, step, 6, 100, 0);
    }
}

/* For six seconds workers say that they are alive, and nobody else does. */
static void make_silence(struct script *script, uint8_t workers)
{
    for (int i = 0; i < 12; i++) {
        STEP(script, 6, 0xf4, 1);
        for (uint8_t worker = 0; worker < workers; worker++)
            STEP(script, 4, worker, 0, 0);
    }
}

static void make_end(struct script *script)
{
    STEP(script, 4, 0, 4, 6, 4, 1, 4, 6, 4, 0, 5, 0, 4, 1, 5, 0, 6, 255, 255);
}

/* Two workers join, exchange both chunks of every step and say so, and leave; see fuzz_server.c. */
static void make_server(const char *name, bool async)
{
    struct script script = {{async}, 1};
    STEP(&script, 0, 0, 0, 1, 6, 100, 0);
    make_steps(&script, async, 0, 6);
    make_end(&script);
    write_seed("server", name, script.bytes, script.count);
}

/* On the way a worker and then the server are killed and come back. */
static void make_server_killed(const char *name, bool async)
{
    struct script script = {{async}, 1};
    STEP(&script, 0, 0, 0, 1, 6, 100, 0);
    make_steps(&script, async, 0, 3);
    make_silence(&script, 1);
    STEP(&script, 7, 1);
    make_steps(&script, async, 3, 5);
    STEP(&script, 9, 6, 100, 0, 0, 0, 0, 1, 6, 100, 0);
    make_steps(&script, async, 0, 6);
    make_end(&script);
    write_seed("server", name, script.bytes, script.count);
}

/* The other one joins, is ready, takes part in a cut, is lost and comes back. */
static void make_server_with_other(const char *name, bool async)
{
    struct script script = {{(uint8_t)(async | 2)}, 1};
    STEP(&script, 0, 0, 8, 0, 0, 0, 6, 100, 0, 0, 1, 8, 1, 1, 0, 6, 100, 0);
    make_steps(&script, async, 0, 2);
    STEP(&script, 8, 3, 0, 2, 8, 5, 0, 2);
    make_silence(&script, 2);
    STEP(&script, 8, 0, 1, 0, 0, 0, 0, 1, 8, 1, 3, 0, 6, 100, 0);
    make_steps(&script, async, 0, 4);
    make_end(&script);
    write_seed("server", name, script.bytes, script.count);
}

/* --- a worker ------------------------------------------------------------------------------ */

/* Welcome, start, the answers to whatever was asked (beyond the first ones `kind`: 0, results; 2,
 * receipts; 3, that chunks moved on), and work, in two generations; see fuzz_session.c. */
static void make_session(const char *name, uint8_t settings, uint8_t kind)
{
    struct script script = {{settings}, 1};
    for (uint8_t generation = 0; generation < 2; generation++) {
        STEP(&script, 8, 200, 0, 0, 1, 1, 0, generation, 1, 1, 0, 8, 0);
        for (uint8_t step = 0; step < 4; step++) {
            for (uint8_t place = 0; place < 16; place += 2) {
                if (step > 0 && kind > 0)
                    STEP(&script, 2, kind, place);
                STEP(&script, 2, 0, place, 1, 0, 2, 0, (uint8_t)(place + 1), 1, 0);
            }
            STEP(&script, 4, 0, step, 5, (uint8_t)(generation ? 8 : 0), 8, 100, 0);
        }
    }
    STEP(&script, 4, 16, 0, 5, 0, 4, 6, 0);
    write_seed("session", name, script.bytes, script.count);
}

/* --- records of runs ----------------------------------------------------------------------- */

static void make_record(const char *name, uint32_t workers, uint32_t chunks, uint32_t group)
{
    struct sample_record record;
    sample_record_begin(&record, 1, workers, chunks);
    record.group = group;
    record.loss = 0.1;
    sample_record_train(&record, 9);
    sample_record_go_back(&record);
    sample_record_train(&record, 4);
    write_seed("run_record", name, record.writer.bytes, record.writer.count);
    sample_record_free(&record);
}

/* --- traces -------------------------------------------------------------------------------- */

/* One region with a segment of it, without what lies between them: see fuzz_spans.c. */
static void make_spans(const char *name, uint32_t workers, uint64_t steps)
{
    enum { HEAD = 72, SLOTS_AT = 4096 };
    struct made_trace made = {.list = NULL};
    made_trace_steps(&made, workers, 3, steps);
    int file = made_trace_file(&made, 7);
    static uint8_t bytes[SLOTS_AT + SEGMENT_BYTES];
    size_t end = SLOTS_AT + 64 + made.count * sizeof(struct span);
    assert(end <= sizeof bytes && pread(file, bytes, sizeof bytes, 0) == sizeof bytes);
    const struct disk_piece pieces[] = {{bytes, HEAD}, {bytes + SLOTS_AT, end - SLOTS_AT}};
    write_pieces("spans", name, pieces, 2);
    close(file);
    made_trace_free(&made);
}

static void make_hosts(void)
{
    write_text("hosts", "file",
               "# ours\nalpha\nkim@beta:2222 slots=4\n10.0.0.7 role=ps slots=1 # one\n"
               "delta role=worker\n");
    write_text("hosts", "list", "alpha:2,kim@beta:2,gamma");
    write_text("hosts", "tally", "n1\nn1\nn2\n");
    write_text("hosts", "report",
               "@time 1003.5\n@shared\n@version syncopate syncopate 0.1.0\n"
               "{\"home\":\"/root\",\"processors\":2,\"arithmetic\":\"00\",\"data_fault\":null,"
               "\"ports_taken\":[20001]}\n");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    corpus = argv[1];
    struct job sgd = samples_job("sgd", MODE_SYNC), adam = samples_job("adam", MODE_ASYNC);
    make_messages();
    make_jobs(&sgd, &adam);
    make_json(&adam);
    make_manifest("sgd", &sgd);
    make_manifest("adam", &adam);
    make_runs(&adam);
    write_text("generation", "open",
               "syncopate-generation-1\nrun_id 00c0ffee00c0ffee\ngeneration 3\nstate open\n");
    write_text("generation", "ended",
               "syncopate-generation-1\nrun_id 00c0ffee00c0ffee\ngeneration 12\nstate ended 195\n");
    make_checkpoint("whole", &sgd, 1);
    make_checkpoint("parts", &sgd, 2);
    make_checkpoint("adam", &adam, 2);
    make_model_file(&sgd);
    make_arrays();
    make_models();
    make_command_lines();
    make_certificates();
    make_clusters();
    make_hosts();
    make_plans();
    make_places();
    make_rings();
    make_asker();
    make_program();
    make_server("sync", false);
    make_server("async", true);
    make_server_killed("sync-killed", false);
    make_server_killed("async-killed", true);
    make_server_with_other("sync-two", false);
    make_server_with_other("async-two", true);
    make_session("sync", 0, 0);
    make_session("async", 1, 0);
    make_session("sync-two", 2, 2);
    make_session("async-two", 3, 3);
    make_record("sync", 2, 0, 1);
    make_record("async", 3, 2, 1);
    make_record("groups", 2, 3, 2);
    make_spans("alone", 1, 2);
    make_spans("together", 2, 2);
    job_free(&sgd);
    job_free(&adam);
    return 0;
}

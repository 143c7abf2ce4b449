/* seeds_main.c - writes first inputs of fuzzers into FOLDER/<fuzzer>/, made by our own writers from valid things:
 * `make fuzz-corpus`. What is there under another name stays: command lines, plans, certificates, arrays and other
 * texts that people and other programs write are committed as they are.
 *
 * A format that changes makes other seeds: run it again and commit them. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/json_writer.h"
#include "common/job/job_json.h"
#include "common/store/checkpoint.h"
#include "common/wire/message.h"
#include "deploy/cluster/cluster_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"
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
                                        part_count == 1 ? 2 : 1, false, &part, NULL) == STATUS_OK,
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
}

/* --- clusters ------------------------------------------------------------------------------ */

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
    make_checkpoint("whole", &sgd, 1);
    make_checkpoint("parts", &sgd, 2);
    make_checkpoint("adam", &adam, 2);
    make_model_file(&sgd);
    make_clusters();
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

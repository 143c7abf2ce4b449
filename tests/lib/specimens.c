#include "tests/lib/specimens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

/* Of worker 258's, with numbers that take all their bytes. */
#define FROM_WORKER(KIND)                                                                          \
    .kind = MESSAGE_##KIND, .role = ROLE_WORKER, .index = 258, .incarnation = 0x0102030405060708,  \
    .run_id = 0x1112131415161718, .generation = 300, .request = 70000,                             \
    .ticket = 0x2122232425262728, .proof = 0x3132333435363738
#define FROM_SERVER(KIND)                                                                          \
    .kind = MESSAGE_##KIND, .role = ROLE_PS, .index = 1, .incarnation = 0x4142434445464748,        \
    .run_id = 0x5152535455565758, .generation = 2, .request = 3, .ticket = 4, .proof = 5

#define DIGEST_OF(first)                                                                           \
    {                                                                                              \
        first, 0xff, 0, 0x80, [DIGEST_BYTES - 1] = first + 1                                       \
    }

static const struct specimen specimens[] = {
    {"join",
     {FROM_WORKER(JOIN), .join = {.version_min = 2,
                                  .version_max = 1000,
                                  .job_digest = DIGEST_OF(1),
                                  .probe_digest = DIGEST_OF(3),
                                  .host = "alpha.example",
                                  .arithmetic = "avx2, fma"}}},
    {"want_job", {FROM_SERVER(WANT_JOB)}},
    {"job_page",
     {FROM_WORKER(JOB_PAGE), .job_page = {.offset = JOB_PAGE_BYTES,
                                          .total = JOB_PAGE_BYTES + 12,
                                          .bytes = 12,
                                          .page = "declaration"}}},
    {"welcome",
     {FROM_SERVER(WELCOME), .welcome = {.restore = true,
                                        .restore_step = 1001,
                                        .out = "runs/one",
                                        .ticket = 1002,
                                        .proof = 0x6162636465666768,
                                        .secret = DIGEST_OF(5)}}},
    {"welcome.worker", {FROM_SERVER(WELCOME), .welcome = {.ticket = 7, .proof = 8}}},
    {"waiting", {FROM_SERVER(WAITING), .waiting = {.text = "waiting for worker/1"}}},
    {"refused",
     {FROM_SERVER(REFUSED),
      .refused = {.reason = REFUSAL_PROBE, .text = "other bits: \"\xC3\xA9\""}}},
    {"ready",
     {FROM_SERVER(READY), .ready = {.shared = true, .needs_chunks = true, .reached = 2001}}},
    {"start",
     {FROM_SERVER(START), .start = {.step = 3001,
                                    .assignment = 3002,
                                    .members = 1000,
                                    .position = 999,
                                    .stop_step = 3003,
                                    .scored = 3004}}},
    {"ping", {FROM_WORKER(PING), .ping = {.step = 4001, .assignment = 4002, .computing = true}}},
    {"pong", {FROM_SERVER(PONG), .waiting = {.text = "waiting for ps/1"}}},
    {"exchange",
     {FROM_WORKER(EXCHANGE), .exchange = {.chunk = 5001,
                                          .step = 5002,
                                          .base_version = 5003,
                                          .gradient = true,
                                          .node = {5004, 5005},
                                          .examples = 5006,
                                          .want = true,
                                          .want_version = 5007,
                                          .newest = true,
                                          .retry = true,
                                          .receipt = true,
                                          .skip = true,
                                          .has_report = true,
                                          .report = {.step = 5008,
                                                     .node = {5009, 5010},
                                                     .loss = -5011,
                                                     .correct = 5012,
                                                     .examples = 5013,
                                                     .compute_us = 5014,
                                                     .exchange_us = 5015,
                                                     .wait_us = 5016,
                                                     .has_staleness = true,
                                                     .staleness = 5017,
                                                     .bad = true}}}},
    {"exchange.bare", {FROM_WORKER(EXCHANGE), .exchange = {.want = true}}},
    {"result",
     {FROM_SERVER(RESULT), .result = {.chunk = 6001,
                                      .verdict = VERDICT_DUPLICATE,
                                      .version = 6002,
                                      .staleness = 6003,
                                      .held_us = 6004,
                                      .stop_step = 6005,
                                      .parameters = true}}},
    {"moved_on", {FROM_SERVER(MOVED_ON), .moved_on = {.chunk = 7001, .version = 7002}}},
    {"lease", {FROM_WORKER(LEASE), .lease = {.finished = true, .batch = 7003}}},
    {"work", {FROM_SERVER(WORK), .work = {.enough = true, .none = true, .batch = 7004}}},
    {"report",
     {FROM_WORKER(REPORT), .report = {.step = 8001,
                                      .node = {8002, 8003},
                                      .loss = 8004,
                                      .correct = 8005,
                                      .examples = 8006,
                                      .compute_us = 8007,
                                      .exchange_us = 8008,
                                      .wait_us = 8009,
                                      .has_staleness = true,
                                      .staleness = 8010,
                                      .bad = true}}},
    {"evaluation",
     {FROM_WORKER(EVALUATION), .evaluation = {.epoch = 9001,
                                              .step = 9002,
                                              .loss = -9003,
                                              .correct = 9004,
                                              .examples = 9005,
                                              .took_us = 9006,
                                              .assignment = 9007}}},
    {"done",
     {FROM_WORKER(DONE), .done = {.step = 10001,
                                  .exchange_us = 10002,
                                  .wait_us = 10003,
                                  .has_staleness = true,
                                  .staleness = 10004}}},
    {"receipt",
     {FROM_SERVER(RECEIPT),
      .receipt = {.chunk = 11001, .step = 11002, .node = {11003, 11004}, .missing = true}}},
    {"leave", {FROM_WORKER(LEAVE)}},
    {"stop", {FROM_WORKER(STOP), .stop = {.exit_code = 143, .reason = "worker/258 was asked to"}}},
    {"cut", {FROM_SERVER(CUT), .cut = {.step = 12001, .final = true}}},
    {"cut_taken",
     {FROM_SERVER(CUT_TAKEN),
      .cut_taken = {.step = 13001, .taken = true, .verdicts = {13002, 13003, 13004, 13005}}}},
    {"chunk_state",
     {FROM_SERVER(CHUNK_STATE),
      .chunk_state = {.step = 14001, .first = 14002, .count = 14003, .array = 2, .server = 255}}},
    {"part_written",
     {FROM_SERVER(PART_WRITTEN), .part_written = {.step = 15001,
                                                  .written = true,
                                                  .part = {.name = "part-1-of-2.g3.safetensors",
                                                           .bytes = 15002,
                                                           .digest = DIGEST_OF(7)},
                                                  .text = "the disk is full",
                                                  .server = 254}}},
    {"finished",
     {FROM_SERVER(FINISHED),
      .stop = {.exit_code = 75, .reason = "a worker was lost", .left = true}}},
    {"bye", {FROM_WORKER(BYE)}},
    {"status", {FROM_WORKER(STATUS), .status = {.watch = true}}},
    {"status_answer",
     {FROM_SERVER(STATUS_ANSWER), .status_answer = {.state = JOB_CLOSING,
                                                    .seconds = 0.1,
                                                    .exit_code = 9,
                                                    .out = "runs/two",
                                                    .text = "writing the model",
                                                    .has_job = true,
                                                    .mode = MODE_SYNC,
                                                    .step = 16001,
                                                    .steps = 16002,
                                                    .steps_per_epoch = 16003,
                                                    .workers = 16004,
                                                    .worker_count = 16005,
                                                    .servers = 16006,
                                                    .server_count = 16007,
                                                    .train_epoch = 16008,
                                                    .train_examples = 16009,
                                                    .train_loss = 0.2,
                                                    .train_accuracy = 0.3,
                                                    .test_step = 16010,
                                                    .test_loss = 0.4,
                                                    .test_accuracy = 0.5,
                                                    .training_seconds = 0.6,
                                                    .images_per_second = 0.7,
                                                    .staleness_mean = 0.8,
                                                    .staleness_max = 16011,
                                                    .has_checkpoint = true,
                                                    .checkpoint_step = 16012,
                                                    .generation = 16013,
                                                    .workers_lost = 16014,
                                                    .servers_lost = 16015,
                                                    .checkpoints_skipped = 16016,
                                                    .checkpoints_failed = 16017}}},
    {"status_answer.idle",
     {FROM_SERVER(STATUS_ANSWER), .status_answer = {.state = JOB_OPENING, .seconds = 1.5}}},
};

const struct specimen *specimen_at(size_t index)
{
    return index < sizeof specimens / sizeof *specimens ? &specimens[index] : NULL;
}

struct job specimen_job(enum mode mode)
{
    static const char *const servers[] = {"alpha:7000", "[::1]:7001"};
    struct job job = {
        .mode = mode,
        .use_locking = mode == MODE_ASYNC,
        .seed = 0x0102030405060708,
        .model = "flatten, dense 5 relu, dense 10",
        .optimizer = {.name = "rmsprop",
                      .momentum = 0.25f,
                      .beta1 = 0.9f,
                      .beta2 = 0.999f,
                      .rho = 0.8f,
                      .epsilon = 1e-7f,
                      .initial_accumulator = 0.1f,
                      .weight_decay = mode == MODE_SYNC ? 0.004f : 0}, /* The younger field. */
        .schedule = {SCHEDULE_STEP, 0.05, 7, 40, 1.0 / 3},
        .data = "fashion-mnist",
        .data_digest = DIGEST_OF(9),
        .examples = 60001,
        .test_examples = 10002,
        .batch = 64,
        .micro_batch = 16,
        .steps = 2003,
        .checkpoint_every = 938,
        .chunk_bytes = 4096,
        .worker_count = 3,
        .server_count = 2,
    };
    static const struct variable variables[] = {
        {.name = "dense1/kernel",
         .rank = 2,
         .shape = {7, 5},
         .initializer = INITIALIZER_GLOROT_UNIFORM,
         .fan_in = 7,
         .fan_out = 5},
        {.name = "dense1/bias", .rank = 1, .shape = {5}},
    };
    struct error error;
    job.variable_count = 2;
    job.variables = calloc(1, sizeof variables);
    job.servers = calloc(job.server_count, sizeof *job.servers);
    ck_assert(job.variables != NULL && job.servers != NULL);
    memcpy(job.variables, variables, sizeof variables);
    for (uint32_t i = 0; i < job.server_count; i++)
        snprintf(job.servers[i], ADDRESS_MAX, "%s", servers[i]);
    ck_assert_msg(job_check(&job, &error) == STATUS_OK, "%s", error.text);
    return job;
}

/* fuzz_json.c - JSON from anywhere, looked at in every way that json.h has, and read as a job. */

#include <string.h>

#include "common/file/json.h"
#include "common/job/job_json.h"
#include "tests/fuzz/fuzz.h"

/* An empty object takes three characters and, in jansson, a hash table; a server 256 bytes. */
const struct fuzz_bounds fuzz_bounds = {64u << 10, 256};

void fuzz_start(void)
{
}

static void take_member(const struct json *object, const char *name)
{
    struct json_fields fields;
    struct error error;
    char text[16];
    uint8_t bytes[8];
    for (int way = 0; way < 8; way++) {
        json_fields_init(&fields, object, "here", &error);
        switch (way) {
        case 0:
            fuzz_must(json_fields_u64(&fields, name, 1000) <= 1000, "numbers are in range");
            break;
        case 1:
            json_fields_real(&fields, name);
            break;
        case 2:
            json_fields_float(&fields, name);
            break;
        case 3:
            json_fields_bool(&fields, name);
            break;
        case 4:
            json_fields_copy(&fields, name, text, sizeof text);
            fuzz_must(memchr(text, '\0', sizeof text) != NULL, "copies end");
            break;
        case 5:
            json_fields_hex(&fields, name, bytes, sizeof bytes);
            break;
        case 6:
            json_fields_id(&fields, name);
            break;
        default:
            json_fields_array(&fields, name, 10);
            json_fields_object(&fields, name);
            break;
        }
        json_fields_end(&fields);
    }
}

static void walk(const struct json *value, unsigned depth)
{
    fuzz_must(depth <= JSON_DEPTH_MAX, "nothing is deeper than allowed");
    json_number(value, "");
    json_u64(value, "a.b", 1);
    json_text(value, "");
    size_t items = json_is_a_record(value) ? 0 : json_length(value, "");
    for (size_t i = 0; i < items; i++)
        walk(json_item(value, i), depth + 1);
    struct json_member member = {0};
    for (int i = 0; json_is_a_record(value) && json_next_member(value, &member); i++) {
        walk(member.value, depth + 1);
        if (i < 4)
            take_member(value, member.name);
    }
}

static void read_job(const struct json *root)
{
    struct job job, again;
    struct error error;
    if (job_read_json(&job, root, "here", &error) != STATUS_OK)
        return;
    struct json_writer writer;
    struct json *written = NULL;
    json_writer_init(&writer, false);
    job_write_json(&writer, NULL, &job);
    fuzz_must(json_parse(writer.text, writer.bytes, "there", &written, &error) == STATUS_OK,
              "what we write is JSON");
    fuzz_must(job_read_json(&again, written, "there", &error) == STATUS_OK,
              "a job that was written can be read");
    fuzz_must(job_compare(&job, "one", &again, "other", JOB_SCOPE_ALL, &error) == STATUS_OK,
              "writing changes nothing");
    json_release(&written);
    json_writer_free(&writer);
    job_free(&again);
    job_free(&job);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct json *root;
    struct error error;
    if (json_parse((const char *)data, size, "input", &root, &error) == STATUS_OK) {
        walk(root, 0);
        read_job(root);
    }
    json_release(&root);
}

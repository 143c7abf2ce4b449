/* test_json.c - the JSON reader: texts that break one rule each, paths into a text, and strict
 * reading of members. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/job/job_json.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

static enum status parse(const char *text, struct json **root, struct error *error)
{
    return json_parse(text, strlen(text), "here", root, error);
}

TEST_PLAIN(text_that_breaks_a_rule_is_refused_by_name)
{
    static const char *const texts[] = {
        "",
        "{",
        "{\"a\": 1,}",
        "{\"a\": 1} x",
        "{\"a\": 1, \"b\": 2, \"a\": 3}",
        "{\"a\": 01}",
        "{\"a\": NaN}",
        "{\"a\": 1e999}",
        "{\"a\": 99999999999999999999}",
        "{\"a\": \"\xFF\"}",
        "{\"a\": \"\\u0000\"}",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct json *root;
        struct error error;
        ck_assert_msg(parse(texts[i], &root, &error) == STATUS_INVALID, "%s", texts[i]);
        ck_assert_ptr_null(root);
        ck_assert_int_eq(strncmp(error.text, "here: ", 6), 0);
    }
}

TEST_PLAIN(text_need_not_end_in_a_zero)
{
    struct json *root;
    ck_assert_int_eq(json_parse("[1]]]", 3, "here", &root, NULL), STATUS_OK);
    json_release(&root);
    ck_assert_ptr_null(root);
}

TEST_PLAIN(sixteen_levels_are_allowed_and_brackets_in_texts_do_not_count)
{
    struct json *root;
    ck_assert_int_eq(parse("[[[[[[[[[[[[[[[[\"[[\\\"[[\"]]]]]]]]]]]]]]]]", &root, NULL), STATUS_OK);
    json_release(&root);
}

TEST_PLAIN(paths_lead_to_values)
{
    struct json *root;
    ck_assert_int_eq(parse("{\"a\": {\"b\": 2.5, \"list\": [10, 20]}, \"n\": null, \"t\": \"x\","
                           " \"big\": \"0xffffffffffffffff\", \"minus\": -1, \"yes\": true}",
                           &root, NULL),
                     STATUS_OK);
    ck_assert_double_eq(json_number(root, "a.b"), 2.5);
    ck_assert(isnan(json_number(root, "a.c")));
    ck_assert(isnan(json_number(root, "n")));
    ck_assert(isnan(json_number(root, "t.x")));
    ck_assert_str_eq(json_text(root, "t"), "x");
    ck_assert_ptr_null(json_text(root, "a"));
    ck_assert_uint_eq(json_u64(root, "big", 3), UINT64_MAX);
    ck_assert_uint_eq(json_u64(root, "minus", 3), 3);
    ck_assert_uint_eq(json_length(root, "a.list"), 2);
    ck_assert_uint_eq(json_length(root, "a"), 2);
    ck_assert_uint_eq(json_length(root, "t"), 0);
    ck_assert_double_eq(json_number(json_item(json_at(root, "a.list"), 1), ""), 20);
    ck_assert_ptr_null(json_item(json_at(root, "a.list"), 2));
    json_release(&root);
}

TEST_PLAIN(members_come_in_the_order_of_the_text)
{
    struct json *root;
    ck_assert_int_eq(parse("{\"z\": 1, \"a\": 2, \"m\": 3}", &root, NULL), STATUS_OK);
    struct json_member member = {0};
    char names[4] = "";
    while (json_next_member(root, &member))
        strcat(names, member.name);
    ck_assert_str_eq(names, "zam");
    json_release(&root);
}

/* Take "a" as a u64 of at most 10 from an object; the status of it all. */
static enum status take_a(const char *text, struct error *error)
{
    struct json *root;
    struct json_fields fields;
    ck_assert_int_eq(parse(text, &root, NULL), STATUS_OK);
    json_fields_init(&fields, root, "here", error);
    json_fields_u64(&fields, "a", 10);
    enum status status = json_fields_end(&fields);
    json_release(&root);
    return status;
}

TEST_PLAIN(strict_reading_refuses_all_but_the_right_members)
{
    struct error error;
    ck_assert_int_eq(take_a("{\"a\": 10}", &error), STATUS_OK);
    ck_assert_int_eq(take_a("{\"a\": 11}", &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "here: \"a\" is too large");
    ck_assert_int_eq(take_a("{\"a\": -1}", &error), STATUS_INVALID);
    ck_assert_int_eq(take_a("{\"a\": 1.0}", &error), STATUS_INVALID);
    ck_assert_int_eq(take_a("{\"a\": \"1\"}", &error), STATUS_INVALID);
    ck_assert_int_eq(take_a("{\"b\": 1}", &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "here: \"a\" is missing");
    ck_assert_int_eq(take_a("{\"a\": 1, \"b\": 1}", &error), STATUS_INVALID);
    ck_assert_int_eq(take_a("[1]", &error), STATUS_INVALID);
}

TEST_PLAIN(hexadecimal_must_be_of_the_right_length)
{
    struct json *root;
    struct json_fields fields;
    uint8_t bytes[2];
    ck_assert_int_eq(parse("{\"a\": \"0aff\", \"b\": \"0AFF\", \"c\": \"0aff0\"}", &root, NULL),
                     STATUS_OK);
    json_fields_init(&fields, root, "here", NULL);
    json_fields_hex(&fields, "a", bytes, 2);
    ck_assert_int_eq(fields.status, STATUS_OK);
    ck_assert_uint_eq(bytes[0] << 8 | bytes[1], 0x0AFF);
    json_fields_hex(&fields, "b", bytes, 2);
    ck_assert_int_eq(fields.status, STATUS_INVALID);
    json_fields_init(&fields, root, "here", NULL);
    json_fields_hex(&fields, "c", bytes, 2);
    ck_assert_int_eq(fields.status, STATUS_INVALID);
    json_release(&root);
}

/* --- writing ------------------------------------------------------------------------------- */

TEST_PLAIN(written_text_is_laid_out_for_people)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "name", "a \"b\"\n\\\xFF");
    json_writer_array(&writer, "empty");
    json_writer_end(&writer);
    json_writer_array_line(&writer, "line");
    json_writer_u64(&writer, NULL, 1);
    json_writer_object(&writer, NULL);
    json_writer_null(&writer, "none");
    json_writer_end(&writer);
    json_writer_end(&writer);
    json_writer_id(&writer, "id", 0xC0FFEE);
    json_writer_end(&writer);
    ck_assert_str_eq(writer.text, "{\n"
                                  "  \"name\": \"a \\\"b\\\"\\u000a\\\\\xEF\xBF\xBD\",\n"
                                  "  \"empty\": [],\n"
                                  "  \"line\": [1, {\"none\": null}],\n"
                                  "  \"id\": \"0000000000c0ffee\"\n"
                                  "}");
    json_writer_free(&writer);
}

/* The value of [value] as it is read back. */
static double real_back(double value)
{
    struct json_writer writer;
    struct json *root;
    json_writer_init(&writer, true);
    json_writer_array(&writer, NULL);
    json_writer_real(&writer, NULL, value);
    json_writer_end(&writer);
    ck_assert_int_eq(parse(writer.text, &root, NULL), STATUS_OK);
    double back = json_number(json_item(root, 0), "");
    json_release(&root);
    json_writer_free(&writer);
    return back;
}

TEST_PLAIN(reals_read_back_to_the_bit)
{
    static const double values[] = {0,      -0.0,  1,    0.1,  1.0 / 3,   1e300, 5e-324, 1e15,
                                    123456, -2e16, 1e-7, M_PI, 0.1 + 0.2, 0.001, 1e19};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double back = real_back(values[i]);
        ck_assert_mem_eq(&back, &values[i], sizeof back);
    }
    ck_assert(isnan(real_back(NAN)));
    ck_assert(isnan(real_back(INFINITY)));
}

TEST_PLAIN(floats_read_back_to_the_bit_and_stay_short)
{
    uint32_t bits = 1;
    for (int i = 0; i < 20000; i++, bits = bits * 1664525u + 1013904223u) {
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct json_writer writer;
        struct json *root;
        json_writer_init(&writer, true);
        json_writer_object(&writer, NULL);
        json_writer_float(&writer, "a", value);
        json_writer_end(&writer);
        ck_assert_int_eq(parse(writer.text, &root, NULL), STATUS_OK);
        struct json_fields fields;
        json_fields_init(&fields, root, "here", NULL);
        float back = json_fields_float(&fields, "a");
        ck_assert_mem_eq(&back, &value, sizeof back);
        json_release(&root);
        json_writer_free(&writer);
    }
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_float(&writer, NULL, 0.999f);
    ck_assert_str_eq(writer.text, "0.999");
    json_writer_free(&writer);
}

/* --- declarations -------------------------------------------------------------------------- */

static char *job_text(const struct job *job)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    job_write_json(&writer, NULL, job);
    ck_assert(!writer.failed);
    return writer.text;
}

static enum status read_job(const char *text, struct job *job, struct error *error)
{
    struct json *root;
    ck_assert_int_eq(parse(text, &root, error), STATUS_OK);
    enum status status = job_read_json(job, root, "here", error);
    json_release(&root);
    return status;
}

/* Read without that member it would be another job. */
TEST_PLAIN(a_job_that_trained_with_what_it_dropped_is_refused_by_name)
{
    struct job job = sample_job(), back;
    struct error error;
    char *text = job_text(&job), old[8192];
    snprintf(old, sizeof old, "{\"dropped\": \"requeue\",%s", strchr(text, '{') + 1);
    ck_assert_int_eq(read_job(old, &back, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "here: declared with --dropped requeue"));
    free(text);
    job_free(&job);
}

TEST_PLAIN(a_declaration_reads_back_equal)
{
    struct job job = sample_job(), back;
    struct error error;
    char *text = job_text(&job);
    ck_assert_msg(read_job(text, &back, &error) == STATUS_OK, "%s", error.text);
    ck_assert_msg(job_compare(&job, "one", &back, "other", JOB_SCOPE_ALL, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_mem_eq(&job.optimizer.momentum, &back.optimizer.momentum, 6 * sizeof(float));
    /* By field: the bytes between them may be anything. */
    ck_assert_int_eq(job.schedule.kind, back.schedule.kind);
    ck_assert_mem_eq(&job.schedule.learning_rate, &back.schedule.learning_rate, sizeof(double));
    ck_assert_mem_eq(&job.schedule.decay_factor, &back.schedule.decay_factor, sizeof(double));
    ck_assert_uint_eq(job.schedule.warmup_steps, back.schedule.warmup_steps);
    ck_assert_uint_eq(job.schedule.decay_steps, back.schedule.decay_steps);
    char *again = job_text(&back);
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    job_free(&job);
    job_free(&back);
}

/* Each member renamed in turn makes a declaration with one missing and one that is not ours. */
TEST_PLAIN(a_declaration_with_any_other_member_is_refused)
{
    struct job job = sample_job(), back;
    char *text = job_text(&job);
    int members = 0;
    for (char *at = strstr(text, "\": "); at != NULL; at = strstr(at + 1, "\": ")) {
        struct error error;
        char kept = at[-1];
        at[-1] = '%';
        ck_assert_int_eq(read_job(text, &back, &error), STATUS_INVALID);
        ck_assert_int_eq(strncmp(error.text, "here", 4), 0);
        at[-1] = kept;
        members++;
    }
    ck_assert_int_ge(members, 18 + 7 + 5 + 3 * 5);
    ck_assert_int_eq(read_job(text, &back, NULL), STATUS_OK);
    job_free(&back);
    job_free(&job);
    free(text);
}

TEST_PLAIN(a_declaration_out_of_range_is_refused)
{
    struct job job = sample_job(), back;
    job.optimizer.beta1 = 1.5f;
    char *text = job_text(&job);
    struct error error;
    ck_assert_int_eq(read_job(text, &back, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "beta1"));
    ck_assert_ptr_null(back.variables);
    job_free(&job);
    free(text);
}

TEST_PLAIN(a_value_is_written_as_it_was_read)
{
    static const char text[] =
        "{\"a\":[1,2.5,-3.0,-4,null],\"b\":{\"c\":\"x y\",\"d\":true},\"e\":[],"
        "\"f\":[{\"g\":9007199254740993}],\"h\":0.1,\"i\":1e-300}";
    struct json *root = NULL;
    struct json_writer writer;
    ck_assert_int_eq(json_parse(text, strlen(text), "text", &root, NULL), STATUS_OK);
    json_writer_init(&writer, true);
    json_write(root, &writer, NULL);
    ck_assert_str_eq(writer.text, text);
    json_writer_free(&writer);
    json_release(&root);
}

TEST_PLAIN(numbers_have_as_many_decimals_as_asked_for)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_array_line(&writer, NULL);
    json_writer_decimals(&writer, NULL, (double)NAN, 6);
    json_writer_decimals(&writer, NULL, (double)INFINITY, JSON_EXACT);
    json_writer_decimals(&writer, NULL, 0.1, JSON_EXACT);
    json_writer_decimals(&writer, NULL, 3, JSON_EXACT);
    json_writer_decimals(&writer, NULL, 2.0 / 3, 4);
    json_writer_decimals(&writer, NULL, 1e300, 4);
    json_writer_end(&writer);
    ck_assert_str_eq(writer.text, "[null, null, 0.1, 3.0, 0.6667, null]");
    json_writer_free(&writer);
}

int main(void)
{
    return suite_run("json", NULL);
}

/* test_log_line.c - lines of a log, as text and as JSON, written and read back. */
/* promises: logs */

#include "common/process/log_line.h"

#include <stdio.h>
#include <string.h>

#include "common/file/json.h"
#include "tests/lib/suite.h"

/* 2026-11-22T10:31:15.123Z */
#define WHEN                                                                                       \
    {                                                                                              \
        1795343475, 123456789                                                                      \
    }

static struct log_line line_of(enum log_level level, const char *text)
{
    struct log_line line = {.time = WHEN, .level = level, .who = "ps/0"};
    snprintf(line.text, sizeof line.text, "%s", text);
    return line;
}

/* The JSON line of a text, parsed: so it is valid. */
static struct json *json_of(const char *text)
{
    char bytes[LOG_LINE_MAX];
    struct json *root;
    struct log_line line = line_of(LOG_INFO, text);
    size_t used = log_line_write(&line, LOG_FORMAT_JSON, bytes);
    ck_assert_uint_eq(strlen(bytes), used);
    ck_assert_uint_eq(strcspn(bytes, "\n"), used - 1); /* One line. */
    ck_assert_int_eq(json_parse(bytes, used, "line", &root, NULL), STATUS_OK);
    return root;
}

TEST_PLAIN(a_line_has_a_date_in_utc)
{
    char bytes[LOG_LINE_MAX];
    struct log_line line = line_of(LOG_INFO, "worker joined worker=1");
    log_line_write(&line, LOG_FORMAT_TEXT, bytes);
    ck_assert_str_eq(bytes, "2026-11-22T10:31:15.123Z ps/0 worker joined worker=1\n");
    line.level = LOG_WARNING;
    log_line_write(&line, LOG_FORMAT_TEXT, bytes);
    ck_assert_str_eq(bytes, "2026-11-22T10:31:15.123Z ps/0 warning: worker joined worker=1\n");
}

TEST_PLAIN(json_has_pairs_as_members)
{
    char bytes[LOG_LINE_MAX];
    struct log_line line = line_of(LOG_ERROR, "lost worker=1 host=alpha silent=5.0");
    log_line_write(&line, LOG_FORMAT_JSON, bytes);
    ck_assert_str_eq(bytes, "{\"time\":\"2026-11-22T10:31:15.123Z\",\"level\":\"error\","
                            "\"who\":\"ps/0\",\"text\":\"lost worker=1 host=alpha silent=5.0\","
                            "\"worker\":1,\"host\":\"alpha\",\"silent\":5.0}\n");
}

TEST_PLAIN(values_are_what_they_look_like)
{
    struct json *root = json_of("a=007 b=0x1f c=1e999 d=-3.5 e=\"two words\" f=3: g=/a/b, h=1.2.3 "
                                "i=0 j=18446744073709551616 k=\"8\" l=. m= n=5");
    ck_assert_str_eq(json_text(root, "a"), "007");
    ck_assert_str_eq(json_text(root, "b"), "0x1f");
    ck_assert_str_eq(json_text(root, "c"), "1e999");
    ck_assert_double_eq(json_number(root, "d"), -3.5);
    ck_assert_str_eq(json_text(root, "e"), "two words");
    ck_assert_uint_eq(json_u64(root, "f", 0), 3);
    ck_assert_str_eq(json_text(root, "g"), "/a/b");
    ck_assert_str_eq(json_text(root, "h"), "1.2.3");
    ck_assert_uint_eq(json_u64(root, "i", 7), 0);
    ck_assert_double_eq(json_number(root, "j"), 0x1p64);
    ck_assert_str_eq(json_text(root, "k"), "8");
    ck_assert_ptr_null(json_at(root, "l"));
    ck_assert_ptr_null(json_at(root, "m"));
    ck_assert_uint_eq(json_u64(root, "n", 0), 5);
    json_release(&root);
}

TEST_PLAIN(what_is_no_pair_is_none)
{
    struct json *root = json_of("--ps=2: needs 0; SYNCOPATE_PS=1 a==b 3=4 =5 x = y time=1 who=me "
                                "level=2 text=3 twice=1 twice=2");
    ck_assert_uint_eq(json_length(root, ""), 6);
    ck_assert_str_eq(json_text(root, "who"), "ps/0");
    ck_assert_str_eq(json_text(root, "a"), "=b");
    ck_assert_uint_eq(json_u64(root, "twice", 0), 1);
    json_release(&root);
}

TEST_PLAIN(anything_fits_and_is_valid)
{
    static const char *const fills[] = {"\"",      "\\", "\x01", "\xff", "a=1 ", "ab=\"\x01\x01\" ",
                                        "\xc3\xa9"};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        char text[4 * LOG_TEXT_MAX] = "";
        while (strlen(text) + 10 < sizeof text)
            strcat(text, fills[i]);
        struct json *root = json_of(text);
        ck_assert_uint_ge(strlen(json_text(root, "text")), 190);
        json_release(&root);
    }
}

TEST_PLAIN(both_formats_are_read_back)
{
    static const char *const texts[] = {"a warning: error: inside", "x=1 \"quoted\" \\", ""};
    for (int format = 0; format <= 1; format++)
        for (int level = LOG_ERROR; level <= LOG_INFO; level++)
            for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                char bytes[LOG_LINE_MAX];
                struct log_line line = line_of((enum log_level)level, texts[i]), read;
                size_t used = log_line_write(&line, (enum log_format)format, bytes);
                bytes[used - 1] = '\0';
                ck_assert(log_line_read(&read, bytes));
                ck_assert_int_eq(read.level, level);
                ck_assert_str_eq(read.who, "ps/0");
                ck_assert_str_eq(read.text, texts[i]);
            }
}

TEST_PLAIN(what_is_no_line_is_none)
{
    static const char *const lines[] = {
        "",
        "warning: x",
        "12:01:07.412 ps/0 warning: x",
        "2026-11-22T10:31:15.123Z",
        "2026-11-22T10:31:15.123Z ps/0",
        "2026-11-22T10:31:15.123Z  warning: x",
        "2026-11-22 10:31:15.123Z ps/0 warning: x",
        "{\"level\":\"warning\"}",
        "{\"level\":\"odd\",\"who\":\"ps/0\",\"text\":\"x\"}",
        "{\"level\":\"warning\",\"who\":\"ps/0\",\"text\":\"x\"",
        "[]",
        "==17==ERROR: AddressSanitizer: heap-use-after-free",
    };
    struct log_line read;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(!log_line_read(&read, lines[i]), "%s", lines[i]);
}

int main(void)
{
    return suite_run("log_line", NULL);
}

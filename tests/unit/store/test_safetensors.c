/* test_safetensors.c - the golden file is read and written byte by byte; what breaks a rule is
 * refused. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/safetensors.h"
#include "tests/lib/suite.h"

/* The reference implementation's bytes for {"w": F32 [1, -2]}. */
static const uint8_t golden[] =
    "\x38\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  "
    "\0\0\x80\x3f\0\0\0\xc0";
#define GOLDEN_BYTES 72

/* A file of this header and `data_bytes` zeros; the caller frees it. */
static uint8_t *make_file(const char *header, size_t data_bytes, size_t *bytes)
{
    uint64_t header_bytes = strlen(header);
    *bytes = 8 + header_bytes + data_bytes;
    uint8_t *file = calloc(*bytes, 1);
    ck_assert_ptr_nonnull(file);
    memcpy(file, &header_bytes, 8);
    memcpy(file + 8, header, header_bytes);
    return file;
}

static enum status open_header(struct safetensors_file *file, const char *header, size_t data_bytes,
                               struct error *error)
{
    size_t bytes;
    uint8_t *text = make_file(header, data_bytes, &bytes);
    enum status status = safetensors_open(file, text, bytes, "here", error);
    free(text); /* Names live in the header that was parsed; nobody looks at the data below. */
    return status;
}

TEST_PLAIN(the_golden_file_is_read)
{
    struct safetensors_file file;
    ck_assert_uint_eq(sizeof golden - 1, GOLDEN_BYTES);
    ck_assert_int_eq(safetensors_open(&file, golden, GOLDEN_BYTES, "golden", NULL), STATUS_OK);
    ck_assert_uint_eq(file.tensor_count, 1);
    const struct safetensors_tensor *tensor = &file.tensors[0];
    ck_assert_str_eq(tensor->name, "w");
    ck_assert(safetensors_is_f32(tensor));
    ck_assert_uint_eq(tensor->rank, 1);
    ck_assert_uint_eq(tensor->shape[0], 2);
    ck_assert_uint_eq(tensor->elements, 2);
    float values[2];
    memcpy(values, tensor->data, sizeof values);
    ck_assert_float_eq(values[0], 1);
    ck_assert_float_eq(values[1], -2);
    ck_assert_ptr_null(safetensors_metadata(&file, "any"));
    safetensors_close(&file);
}

/* The pieces end to end. */
static uint8_t *gather(const struct safetensors_writer *writer, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < writer->piece_count; i++)
        *bytes += writer->pieces[i].bytes;
    uint8_t *file = malloc(*bytes), *at = file;
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < writer->piece_count; i++) {
        memcpy(at, writer->pieces[i].data, writer->pieces[i].bytes);
        at += writer->pieces[i].bytes;
    }
    return file;
}

TEST_PLAIN(the_golden_file_is_written)
{
    static const float values[] = {1, -2};
    static const uint64_t shape[] = {2};
    struct safetensors_writer writer;
    size_t bytes;
    safetensors_writer_init(&writer);
    safetensors_writer_tensor(&writer, "w", shape, 1, values);
    ck_assert_int_eq(safetensors_writer_finish(&writer, NULL), STATUS_OK);
    ck_assert_ptr_eq(writer.pieces[2].data, values); /* Not a copy. */
    uint8_t *file = gather(&writer, &bytes);
    ck_assert_uint_eq(bytes, GOLDEN_BYTES);
    ck_assert_mem_eq(file, golden, GOLDEN_BYTES);
    free(file);
    safetensors_writer_free(&writer);
}

TEST_PLAIN(what_is_written_reads_back)
{
    static const float values[24] = {[3] = 5, [23] = 7};
    static const uint64_t shapes[3][3] = {{2, 3, 4}, {0, 9}, {0}};
    static const uint32_t ranks[3] = {3, 2, 0};
    static const char *const names[3] = {"first", "none \"at\" all", "scalar.x"};
    struct safetensors_writer writer;
    struct safetensors_file file;
    size_t bytes;
    safetensors_writer_init(&writer);
    safetensors_writer_metadata(&writer, "a.b", "c");
    safetensors_writer_metadata(&writer, "d", "");
    for (int i = 0; i < 3; i++)
        safetensors_writer_tensor(&writer, names[i], shapes[i], ranks[i], values);
    ck_assert_int_eq(safetensors_writer_finish(&writer, NULL), STATUS_OK);
    uint8_t *text = gather(&writer, &bytes);
    ck_assert_uint_eq(text[0] % 8, 0);
    ck_assert_int_eq(safetensors_open(&file, text, bytes, "here", NULL), STATUS_OK);
    ck_assert_str_eq(safetensors_metadata(&file, "a.b"), "c");
    ck_assert_str_eq(safetensors_metadata(&file, "d"), "");
    ck_assert_uint_eq(file.tensor_count, 3);
    for (int i = 0; i < 3; i++) {
        const struct safetensors_tensor *tensor = &file.tensors[i];
        ck_assert_str_eq(tensor->name, names[i]);
        ck_assert_uint_eq(tensor->rank, ranks[i]);
        ck_assert_mem_eq(tensor->shape, shapes[i], ranks[i] * sizeof shapes[i][0]);
    }
    ck_assert_uint_eq(file.tensors[2].elements, 1);
    ck_assert_mem_eq(file.tensors[0].data, values, sizeof values);
    safetensors_close(&file);
    free(text);
    safetensors_writer_free(&writer);
}

TEST_PLAIN(tensors_come_in_the_order_of_their_data)
{
    struct safetensors_file file;
    ck_assert_int_eq(
        open_header(&file,
                    "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
                    "\"a\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}   ",
                    8, NULL),
        STATUS_OK);
    ck_assert_str_eq(file.tensors[0].name, "a");
    ck_assert_str_eq(file.tensors[1].name, "b");
    ck_assert(!safetensors_is_f32(&file.tensors[0]));
    safetensors_close(&file);
}

/* Of every kind of floating-point number, at odd addresses. */
TEST_PLAIN(floats_of_other_sizes_are_read_as_floats)
{
    static const struct {
        const char *dtype;
        uint8_t bytes[8], size;
        float value;
    } cases[] = {
        {"F32", {0, 0, 0xc0, 0xbf}, 4, -1.5f},
        {"F64", {0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f}, 8, 0.1f},
        {"F64", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xef, 0x7f}, 8, INFINITY},
        {"BF16", {0xc0, 0xbf}, 2, -1.5f},
        {"BF16", {0x01, 0x00}, 2, 0x1p-133f},
        {"F16", {0x00, 0x3c}, 2, 1},
        {"F16", {0x55, 0x35}, 2, 0x1.554p-2f},
        {"F16", {0xff, 0x7b}, 2, 65504},
        {"F16", {0x01, 0x80}, 2, -0x1p-24f},
        {"F16", {0xff, 0x03}, 2, 0x1.ff8p-15f},
        {"F16", {0x00, 0x80}, 2, -0.0f},
        {"F16", {0x00, 0xfc}, 2, -INFINITY},
        {"F16", {0x00, 0x7e}, 2, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t data[9];
        float value = 0;
        memcpy(data + 1, cases[i].bytes, cases[i].size);
        const struct safetensors_tensor tensor = {
            .dtype = cases[i].dtype, .elements = 1, .data = data + 1};
        ck_assert(safetensors_is_float(&tensor));
        safetensors_floats(&tensor, &value);
        ck_assert_msg(memcmp(&value, &cases[i].value, sizeof value) == 0 ||
                          (isnan(value) && isnan(cases[i].value)),
                      "case %zu: %a", i, (double)value);
    }
    static const char *const others[] = {"I64", "U8", "BOOL", "F8_E4M3"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(!safetensors_is_float(&(struct safetensors_tensor){.dtype = others[i]}));
}

TEST_PLAIN(a_file_without_tensors_is_a_file)
{
    struct safetensors_file file;
    ck_assert_int_eq(open_header(&file, "{}", 0, NULL), STATUS_OK);
    ck_assert_uint_eq(file.tensor_count, 0);
    safetensors_close(&file);
}

#define W(members) "{\"w\":{" members "}}"

TEST_PLAIN(headers_that_break_a_rule_are_refused)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *reason; /* In the error. */
    } cases[] = {
        {"", 0, "is not a safetensors file but zeros"},
        {" {}", 0, "is not a safetensors file"},
        {"[]", 0, "is not a safetensors file"},
        {"{", 0, "JSON"},
        {"{}}", 0, "JSON"},
        {"{\"\xFF\":1}", 0, "JSON"},
        {"{}", 1, "holds 1 bytes"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 9, "holds 9 bytes"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 7, "cut off"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]"), 12, "hole"},
        {W("\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,4]"), 8, "ends before"},
        {W("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]"), 8, "disagree"},
        {W("\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,8]"), 8, "disagree"},
        {W("\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]"), 8, "dtype"},
        {W("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, "whole bytes"},
        {W("\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]"), 8, "shape"},
        {W("\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]"), 8, "shape"},
        {W("\"dtype\":\"F32\",\"shape\":[\"0x2\"],\"data_offsets\":[0,8]"), 8, "shape"},
        {W("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0,
         "overflow"},
        {W("\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]"), 0,
         "overflow"},
        {W("\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]"), 4,
         "dimensions"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]"), 8, "data_offsets"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]"), 8, "data_offsets"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,\"8\"]"), 8, "data_offsets"},
        {W("\"dtype\":\"F32\",\"shape\":[2]"), 8, "data_offsets"},
        {W("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":0"), 8, "belong"},
        {W("\"dtype\":5,\"shape\":[2],\"data_offsets\":[0,8]"), 8, "dtype"},
        {"{\"w\":[]}", 0, "object"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         8, "duplicate"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         4, "overlap"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
         12, "hole"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "not a text"},
        {"{\"__metadata__\":\"a\"}", 0, "not an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct safetensors_file file;
        struct error error;
        enum status status = open_header(&file, cases[i].header, cases[i].data_bytes, &error);
        ck_assert_msg(status == STATUS_INVALID, "%s: %d", cases[i].header, status);
        ck_assert_int_eq(strncmp(error.text, "here: ", 6), 0);
        ck_assert_msg(strstr(error.text, cases[i].reason) != NULL, "%s: %s", cases[i].header,
                      error.text);
    }
}

#define BYTES(text) text, sizeof(text) - 1

TEST_PLAIN(a_file_that_is_none_is_named_for_what_it_is)
{
    static const struct {
        const char *start;
        size_t bytes;
        const char *what;
    } cases[] = {
        {BYTES(""), "is empty, not a safetensors file"},
        {BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "is not a safetensors file but a PNG image"},
        {BYTES("PK\3\4\0\0\b\b\0\0archive/data.pkl"), "torch.save of PyTorch"},
        {BYTES("\x80\2}q\0(X\6\0\0\0"), "a Python pickle"},
        {BYTES("\x89HDF\r\n\x1a\n\0\0\0\0"), "an HDF5 file"},
        {BYTES("\x93NUMPY\1\0v\0{"), "a NumPy array"},
        {BYTES("\x1f\x8b\b\0\0\0\0\0\0\3"), "a gzip file"},
        {BYTES("\0\0\x08\3\0\0\xea\x60"), "images of a data set"},
        {BYTES("Notes\n\nTrained for 3 epochs.\n"), "but text ('Notes')"},
        {BYTES("n\xc3\xa4h"), "but text"},
        {BYTES("{\n  \"format\": \"syncopate-run-3\"\n}\n"), "but JSON text"},
        {BYTES("\0\0\0\0\0\0\0\0\0\0\0\0"), "but zeros"},
        {BYTES("\1\2\3\4\5\6\7\x08\t"), "is not a safetensors file"},
        {BYTES("\x38\0\0\0\0\0\0\0{\"w\":{\"dtype"),
         "is cut off: it has 20 bytes, and its header alone 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* Just so many bytes, so that a sanitizer sees what is read beyond them. */
        char *copy = malloc(cases[i].bytes + 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy + 1, cases[i].start, cases[i].bytes);
        struct error error;
        struct safetensors_file file;
        ck_assert_int_eq(safetensors_look(copy + 1, cases[i].bytes, cases[i].bytes, "here", &error),
                         STATUS_INVALID);
        ck_assert_msg(strstr(error.text, cases[i].what) != NULL, "%s", error.text);
        ck_assert_msg(strchr(error.text, '\n') == NULL && strncmp(error.text, "here: ", 6) == 0,
                      "%s", error.text);
        error.text[0] = '\0';
        ck_assert_int_eq(safetensors_open(&file, copy + 1, cases[i].bytes, "here", &error),
                         STATUS_INVALID);
        ck_assert_msg(strstr(error.text, cases[i].what) != NULL, "%s", error.text);
        free(copy);
    }
    ck_assert_int_eq(safetensors_look(golden, 20, GOLDEN_BYTES, "here", NULL), STATUS_OK);
}

TEST_PLAIN(sizes_beyond_the_file_are_refused)
{
    struct safetensors_file file;
    struct error error;
    uint8_t bytes[GOLDEN_BYTES];
    static const uint64_t sizes[] = {65, 100000001, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(bytes, golden, sizeof bytes);
        memcpy(bytes, &sizes[i], 8);
        ck_assert_int_eq(safetensors_open(&file, bytes, sizeof bytes, "here", &error),
                         STATUS_INVALID);
    }
}

TEST_PLAIN(a_file_cut_anywhere_is_refused)
{
    for (size_t bytes = 0; bytes < GOLDEN_BYTES; bytes++) {
        /* A copy of just this size, so that a sanitizer sees every byte read beyond it. */
        uint8_t *cut = malloc(bytes + 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut + 1, golden, bytes);
        struct safetensors_file file;
        ck_assert_int_eq(safetensors_open(&file, cut + 1, bytes, "here", NULL), STATUS_INVALID);
        free(cut);
    }
}

/* Whatever a damaged header says, the reader answers and stays inside the file. */
TEST_PLAIN(a_flipped_bit_is_never_fatal)
{
    for (size_t bit = 0; bit < 8 * GOLDEN_BYTES; bit++) {
        uint8_t *bytes = malloc(GOLDEN_BYTES);
        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, golden, GOLDEN_BYTES);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct safetensors_file file;
        if (safetensors_open(&file, bytes, GOLDEN_BYTES, "here", NULL) == STATUS_OK) {
            for (size_t i = 0; i < file.tensor_count; i++) {
                const struct safetensors_tensor *tensor = &file.tensors[i];
                ck_assert(tensor->data + (tensor->end - tensor->begin) <= bytes + GOLDEN_BYTES);
            }
        }
        safetensors_close(&file);
        free(bytes);
    }
}

int main(void)
{
    return suite_run("safetensors", NULL);
}

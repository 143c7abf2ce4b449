/* test_variable.c - where variables lie in the whole, and the values that they begin with. */

#include <math.h>
#include <stdlib.h>

#include "common/job/variable.h"
#include "tests/lib/suite.h"

/* The dense1/kernel of the reference model. */
static const struct variable dense = {
    .name = "dense1/kernel",
    .rank = 2,
    .shape = {1600, 64},
    .initializer = INITIALIZER_GLOROT_UNIFORM,
    .fan_in = 1600,
    .fan_out = 64,
};

TEST_PLAIN(elements_are_the_product_of_the_shape)
{
    struct variable kernel = {.rank = 4, .shape = {3, 3, 32, 64}};
    struct variable bias = {.rank = 1, .shape = {10}};
    ck_assert_uint_eq(variable_elements(&kernel), 18432);
    ck_assert_uint_eq(variable_elements(&bias), 10);
}

TEST_PLAIN(every_variable_starts_on_a_64_byte_boundary)
{
    const struct variable variables[] = {
        {.rank = 1, .shape = {1}},
        {.rank = 1, .shape = {16}},
        {.rank = 2, .shape = {17, 1}},
        {.rank = 1, .shape = {10}},
    };
    uint64_t offsets[4];
    ck_assert_uint_eq(variables_layout(variables, 4, offsets), 80);
    ck_assert_uint_eq(offsets[0], 0);
    ck_assert_uint_eq(offsets[1], 16);
    ck_assert_uint_eq(offsets[2], 32);
    ck_assert_uint_eq(offsets[3], 64);
}

TEST_PLAIN(zeros_are_zeros)
{
    struct variable bias = {.rank = 1, .shape = {5}, .initializer = INITIALIZER_ZEROS};
    float out[5] = {1, 2, 3, 4, 5};
    variable_initialize(&bias, 1, 99, 0, 4, out);
    for (int i = 0; i < 4; i++)
        ck_assert(out[i] == 0.0f && !signbit(out[i]));
    ck_assert(out[4] == 5.0f);
}

TEST_PLAIN(any_part_of_a_variable_starts_as_it_does_in_the_whole)
{
    float whole[100], part[100];
    variable_initialize(&dense, 3, 42, 0, 100, whole);
    for (uint64_t first = 0; first < 20; first++) {
        for (uint64_t count = 0; count < 20; count++) {
            variable_initialize(&dense, 3, 42, first, count, part);
            ck_assert_mem_eq(part, whole + first, count * sizeof *part);
        }
    }
}

TEST_PLAIN(seed_and_variable_number_change_the_values)
{
    float base[8], other[8];
    variable_initialize(&dense, 3, 42, 0, 8, base);
    variable_initialize(&dense, 4, 42, 0, 8, other);
    ck_assert_mem_ne(base, other, sizeof base);
    variable_initialize(&dense, 3, 43, 0, 8, other);
    ck_assert_mem_ne(base, other, sizeof base);
}

/* Computed from the definition by another program (Philox in Python integers), so that a model's
 * first values cannot change by accident: they are part of every result. */
TEST_PLAIN(initial_values_never_change_between_versions)
{
    static const float expected[] = {0x1.d6f5a20000000p-5f, 0x1.d544de0000000p-7f,
                                     0x1.cf601a0000000p-8f, 0x1.94d62c0000000p-6f,
                                     0x1.8183b80000000p-5f, 0x1.146acc0000000p-8f};
    float out[6];
    variable_initialize(&dense, 4, UINT64_C(0x123456789), 2, 6, out);
    for (int i = 0; i < 6; i++)
        ck_assert_msg(out[i] == expected[i], "element %d is %a, not %a", i + 2, (double)out[i],
                      (double)expected[i]);
}

TEST_PLAIN(any_part_of_the_space_starts_as_it_does_in_the_whole)
{
    const struct variable variables[] = {
        {.rank = 1, .shape = {5}, .initializer = INITIALIZER_GIVEN},
        {.rank = 2,
         .shape = {3, 7},
         .initializer = INITIALIZER_GLOROT_UNIFORM,
         .fan_in = 3,
         .fan_out = 7},
        {.rank = 1, .shape = {16}, .initializer = INITIALIZER_GIVEN},
        {.rank = 1, .shape = {2}, .initializer = INITIALIZER_ZEROS},
    };
    enum { SPACE = 16 + 32 + 16 + 16 };
    float given[SPACE], whole[SPACE], part[SPACE], alone[21];
    ck_assert_uint_eq(variables_room(variables, 4), SPACE);
    for (int i = 0; i < SPACE; i++)
        given[i] = (float)(100 + i);
    variables_initialize(variables, 4, 42, given, 0, SPACE, whole);
    variable_initialize(&variables[1], 1, 42, 0, 21, alone);
    for (int i = 0; i < SPACE; i++) {
        bool is_given = i < 5 || (i >= 48 && i < 64), drawn = i >= 16 && i < 16 + 21;
        ck_assert(whole[i] == (is_given ? given[i] : drawn ? alone[i - 16] : 0));
    }
    for (uint64_t first = 0; first < SPACE; first++)
        for (uint64_t count = 0; first + count <= SPACE; count++) {
            memset(part, 0x7f, sizeof part);
            variables_initialize(variables, 4, 42, given, first, count, part);
            ck_assert_mem_eq(part, whole + first, count * sizeof *part);
            ck_assert(count == SPACE || part[count] > 1e38f);
        }
    variables_initialize(variables, 4, 42, NULL, 0, SPACE, part);
    ck_assert(part[0] == 0 && part[63] == 0 && part[16] == whole[16]);
    variables_initialize(variables, 4, 42, given, 0, SPACE, given); /* In place. */
    ck_assert_mem_eq(given, whole, sizeof whole);
}

TEST_PLAIN(glorot_values_are_uniform_within_the_limit)
{
    uint64_t count = variable_elements(&dense);
    float *values = calloc(count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    variable_initialize(&dense, 0, 7, 0, count, values);
    double limit = sqrt(6.0 / (1600 + 64)), sum = 0, squares = 0, largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = (double)values[i];
        sum += value;
        squares += value * value;
        largest = fmax(largest, fabs(value));
    }
    free(values);
    double n = (double)count;
    ck_assert_double_le(largest, limit * (1 + 1e-7));
    ck_assert_double_gt(largest, limit * 0.999);
    /* A uniform value's standard deviation is limit / sqrt(3); allow five of the means'. */
    ck_assert_double_lt(fabs(sum / n), 5 * limit / sqrt(3 * n));
    ck_assert_double_eq_tol(squares / n / (limit * limit / 3), 1.0, 0.02);
}

int main(void)
{
    return suite_run("variable", NULL);
}

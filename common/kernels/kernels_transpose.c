/* kernels_transpose.c - a matrix turned, in blocks of 4x4. */

#include <string.h>

#include "common/kernels/kernels.h"

typedef float four __attribute__((vector_size(16)));

/* A block of 4x4. */
static inline void transpose_block(const float *from, uint64_t from_row, float *to, uint64_t to_row)
{
    four r[4], half[4];
    for (int i = 0; i < 4; i++)
        memcpy(&r[i], from + (uint64_t)i * from_row, sizeof r[i]);
    for (int i = 0; i < 2; i++) {
        half[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 4, 1, 5);
        half[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        r[2 * i] = __builtin_shufflevector(half[i], half[2 + i], 0, 1, 4, 5);
        r[2 * i + 1] = __builtin_shufflevector(half[i], half[2 + i], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i++)
        memcpy(to + (uint64_t)i * to_row, &r[i], sizeof r[i]);
}

void kernels_transpose(uint64_t rows, uint64_t columns, const float *from, uint64_t from_row,
                       float *to, uint64_t to_row)
{
    for (uint64_t r = 0; r < rows; r += 4) {
        uint64_t c = 0;
        for (; rows - r >= 4 && c + 4 <= columns; c += 4)
            transpose_block(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
        for (; c < columns; c++)
            for (uint64_t i = r; i < rows && i < r + 4; i++)
                to[c * to_row + i] = from[i * from_row + c];
    }
}

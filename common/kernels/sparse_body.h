/* sparse_body.h - the loops of kernels_sparse.c; part of tile_body.h. */

/* One output channel's list, and one vector of the input's channels. Their part of the kernel's
 * gradient stays in registers, and with 32 of those their part of the kernel, too. `both`: the
 * image's gradient as well, which is a constant wherever this is called. */
INLINE void sparse_channel(const struct sparse_lists *lists, const struct sparse_entry *entries,
                           uint64_t count, const float *image, const float *kernel,
                           float *kernel_gradient, float *image_gradient, bool both, int vectors,
                           mask some)
{
    uint64_t row = lists->row, column = lists->channels;
    vector weight[SPARSE_TAPS], sum[SPARSE_TAPS];
    UNROLLED
    for (uint64_t t = 0; t < SPARSE_TAPS; t++) {
        weight[t] = load_part(kernel + t * column, vectors, some);
        sum[t] = load_part(kernel_gradient + t * column, vectors, some);
    }
    for (uint64_t i = 0; i < count; i++) {
        vector value = vector_all(entries[i].value);
        const float *from = image + entries[i].place;
        float *to = both ? image_gradient + entries[i].place : NULL;
        UNROLLED
        for (uint64_t y = 0; y < 3; y++, from += row, to = both ? to + row : NULL) {
            UNROLLED
            for (uint64_t x = 0; x < 3; x++) {
                uint64_t t = 3 * y + x, at = x * column;
                sum[t] = vector_fma(value, load_part(from + at, vectors, some), sum[t]);
                if (both) {
                    vector old = load_part(to + at, vectors, some);
                    store_part(to + at, vector_fma(value, weight[t], old), vectors, some);
                }
            }
        }
    }
    UNROLLED
    for (uint64_t t = 0; t < SPARSE_TAPS; t++)
        store_part(kernel_gradient + t * column, sum[t], vectors, some);
}

/* All output channels. */
INLINE void sparse_channels(const struct sparse_lists *lists, const float *image,
                            const float *turned, float *turned_gradient, float *image_gradient,
                            bool both, int vectors, mask some)
{
    for (uint64_t o = 0; o < lists->out_channels; o++) {
        uint64_t at = o * SPARSE_TAPS * lists->channels;
        sparse_channel(lists, lists->entries + o * lists->entries_max, lists->counts[o], image,
                       turned + at, turned_gradient + at, image_gradient, both, vectors, some);
    }
}

/* `vectors` as load_part has it: 2 for a whole one, 1 for some lanes of one. */
#define SPARSE(name, both, vectors)                                                                \
    static UNCHECKED void name(const struct sparse_lists *lists, const float *image,               \
                               const float *turned, float *turned_gradient, float *to, mask some)  \
    {                                                                                              \
        sparse_channels(lists, image, turned, turned_gradient, to, both, vectors, some);           \
    }

SPARSE(sparse_both_whole, true, 2)
SPARSE(sparse_both_some, true, 1)
SPARSE(sparse_kernel_whole, false, 2)
SPARSE(sparse_kernel_some, false, 1)

static void sparse(const struct sparse_lists *lists, const float *image, const float *turned,
                   float *turned_gradient, float *image_gradient)
{
    for (uint64_t c = 0; c < lists->channels; c += LANES) {
        bool whole = lists->channels - c >= LANES;
        mask some = mask_first(smaller(lists->channels - c, LANES));
        if (image_gradient != NULL) {
            (whole ? sparse_both_whole : sparse_both_some)(
                lists, image + c, turned + c, turned_gradient + c, image_gradient + c, some);
        } else {
            (whole ? sparse_kernel_whole : sparse_kernel_some)(lists, image + c, turned + c,
                                                               turned_gradient + c, NULL, some);
        }
    }
}

/* One vector of output channels, each with its own winner under every window. */
INLINE void sparse_few_lanes(const struct sparse_windows *windows, uint64_t lane, uint64_t tap,
                             float *kernel_gradient, mask some)
{
    vector sum[SPARSE_TAPS];
    UNROLLED
    for (uint64_t t = 0; t < SPARSE_TAPS; t++)
        sum[t] = vector_load_some(kernel_gradient + t * tap, some);
    for (uint64_t w = 0; w < windows->count; w++) {
        uint64_t at = w * windows->out_channels + lane;
        vector value = vector_load_some(windows->gradient + at, some);
        numbers begin = numbers_load_some(windows->begin + at, some);
        UNROLLED
        for (uint64_t t = 0; t < SPARSE_TAPS; t++) {
            const float *under = windows->under + 16 * w + t / 3 * 4 + t % 3;
            sum[t] = vector_fma(value, vector_pick(under, begin), sum[t]);
        }
    }
    UNROLLED
    for (uint64_t t = 0; t < SPARSE_TAPS; t++)
        vector_store_some(kernel_gradient + t * tap, sum[t], some);
}

static UNCHECKED void sparse_few(const struct sparse_windows *windows, uint64_t tap,
                                 float *kernel_gradient)
{
    for (uint64_t lane = 0; lane < windows->out_channels; lane += LANES) {
        sparse_few_lanes(windows, lane, tap, kernel_gradient + lane,
                         mask_first(smaller(windows->out_channels - lane, LANES)));
    }
}

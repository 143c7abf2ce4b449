/* npy.c - the header of a .npy file: a dictionary as Python writes it, of which NumPy writes three
 * members in any order:
 *
 *     \x93NUMPY 1 0 <u16 length> {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), } */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/data/array.h"

#define RECIPE "with NumPy: np.save(\"new.npy\", "

/* Behind 'name': and blanks; NULL: the line has no such member. */
static const char *member(const char *line, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", name);
    const char *at = strstr(line, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " ");
}

/* "'<f4'" */
static enum status read_type(struct array *array, const char *text, struct error *error)
{
    static const char kinds[] = "uif";
    char order, kind;
    unsigned width;
    int end = 0;
    if (sscanf(text, "'%c%c%1u'%n", &order, &kind, &width, &end) < 3 || end == 0)
        return error_set(error, STATUS_INVALID,
                         "holds %.40s, not numbers of one type: save numbers " RECIPE
                         "x.astype(\"float32\"))",
                         text);
    if (order == '>')
        return error_set(error, STATUS_INVALID,
                         "is big-endian; " RECIPE "x.astype(x.dtype.newbyteorder(\"<\")))");
    kind = kind == 'b' ? 'i' : kind; /* Of one byte, 0 or 1, which is no pixel. */
    const char *known = strchr(kinds, kind);
    bool fits = kind == 'f' ? width == 4 || width == 8
                            : width == 1 || width == 2 || width == 4 || width == 8;
    if (known == NULL || kind == '\0' || !fits)
        return error_set(error, STATUS_INVALID,
                         "holds numbers of type %c%u; " RECIPE "x.astype(\"float32\"))", kind,
                         width);
    array->kind = (enum array_kind)(known - kinds);
    array->width = width;
    return STATUS_OK;
}

/* "(60000, 784)", "(60000,)" */
static enum status read_shape(struct array *array, const char *text, struct error *error)
{
    array->rank = 0;
    if (*text++ != '(')
        return error_set(error, STATUS_INVALID, "has a header without a shape");
    for (;;) {
        text += strspn(text, ", ");
        if (*text == ')')
            break;
        char *end;
        if (*text < '0' || *text > '9')
            return error_set(error, STATUS_INVALID, "has a shape that cannot be read: %.40s", text);
        unsigned long long size = strtoull(text, &end, 10);
        if (array->rank == ARRAY_RANK_MAX)
            return error_set(error, STATUS_INVALID, "has more than %d dimensions", ARRAY_RANK_MAX);
        array->sizes[array->rank++] = size;
        text = end;
    }
    if (array->rank == 0)
        return error_set(error, STATUS_INVALID, "is one number, not an array");
    return STATUS_OK;
}

static enum status read_line(struct array *array, const char *line, struct error *error)
{
    const char *descr = member(line, "descr"), *shape = member(line, "shape"),
               *fortran = member(line, "fortran_order");
    if (descr == NULL || shape == NULL || fortran == NULL)
        return error_set(error, STATUS_INVALID, "has a header that NumPy does not write: %.60s",
                         line);
    enum status status = read_type(array, descr, error);
    status = status ? status : read_shape(array, shape, error);
    if (status == STATUS_OK && strncmp(fortran, "False", 5) != 0 && array->rank > 1)
        return error_set(error, STATUS_INVALID,
                         "is in Fortran's order; " RECIPE "np.ascontiguousarray(x))");
    return status;
}

enum status npy_header(struct array *array, const uint8_t *bytes, uint64_t count, uint64_t *length,
                       struct error *error)
{
    *length = NPY_START + 2;
    if (count < *length)
        return STATUS_AGAIN;
    if (memcmp(bytes, "\x93NUMPY", 6) != 0)
        return error_set(error, STATUS_INVALID, "is cut off or damaged: no header of a .npy file");
    /* From version 2 on the length has four bytes. */
    uint64_t start = bytes[6] == 1 ? NPY_START : NPY_START + 2;
    uint64_t said = bytes[8] | (uint64_t)bytes[9] << 8;
    if (bytes[6] != 1)
        said |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
    if (bytes[6] < 1 || bytes[6] > 3 || said > NPY_HEADER_MAX)
        return error_set(
            error, STATUS_INVALID,
            "is a .npy of version %u with a header of %llu bytes, which NumPy does not "
            "write for numbers",
            bytes[6], (unsigned long long)said);
    *length = start + said;
    if (count < *length)
        return STATUS_AGAIN;
    char line[NPY_HEADER_MAX + 1];
    memcpy(line, bytes + start, said);
    line[said] = '\0';
    return read_line(array, line, error);
}

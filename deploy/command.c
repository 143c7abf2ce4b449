#include "deploy/command.h"

#include <inttypes.h>

int command_fail(const char *program, int code, const struct error *error)
{
    fflush(stdout); /* What was said before stays before. */
    fprintf(stderr, "%s: %s\n", program, error->text);
    return code;
}

int command_exit_code(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return EXIT_DONE;
    case STATUS_MISMATCH:
        return EXIT_MISMATCH;
    case STATUS_INVALID: /* A file that is damaged. */
    case STATUS_NOT_FOUND:
    case STATUS_EXISTS:
    case STATUS_IO:
    case STATUS_REFUSED: /* A file that others may use. */
    case STATUS_UNREACHABLE:
        return EXIT_CANNOT_OPEN;
    default:
        return EXIT_TRAINING_FAILED;
    }
}

char *command_count(uint64_t count, char text[32])
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

char *command_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

char *command_shape(const struct variable *variable, char text[COMMAND_SHAPE_MAX])
{
    size_t used = (size_t)snprintf(text, COMMAND_SHAPE_MAX, "[");
    for (uint32_t i = 0; i < variable->rank && i < VARIABLE_RANK_MAX; i++)
        used += (size_t)snprintf(text + used, COMMAND_SHAPE_MAX - used, "%s%" PRIu64,
                                 i > 0 ? "," : "", variable->shape[i]);
    snprintf(text + used, COMMAND_SHAPE_MAX - used, "]");
    return text;
}

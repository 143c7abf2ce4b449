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

char *command_shape(const struct variable *variable, char text[COMMAND_SHAPE_MAX])
{
    size_t used = (size_t)snprintf(text, COMMAND_SHAPE_MAX, "[");
    for (uint32_t i = 0; i < variable->rank && i < VARIABLE_RANK_MAX; i++)
        used += (size_t)snprintf(text + used, COMMAND_SHAPE_MAX - used, "%s%" PRIu64,
                                 i > 0 ? "," : "", variable->shape[i]);
    snprintf(text + used, COMMAND_SHAPE_MAX - used, "]");
    return text;
}

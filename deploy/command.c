#include "deploy/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "common/log.h"
#include "common/options_table.h"

bool command_begin(struct options *options, enum option_user user, int argc, char **argv,
                   int *exit_code)
{
    if (!options_begin(options, user, argc, argv, exit_code))
        return false;
    enum log_format format;
    log_format_parse(options->log_format, &format);
    /* Whoever runs a command is told by it; only what is wrong comes as lines of a log. */
    log_init(option_user_program(user), LOG_WARNING, format);
    return true;
}

void command_remark(enum log_level level, const char *text, char line[LOG_LINE_MAX])
{
    struct log_line parts = {.level = level, .who = "syncopate"};
    if (log_format_now() == LOG_FORMAT_TEXT) {
        snprintf(line, LOG_LINE_MAX, "%s", text);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &parts.time);
    snprintf(parts.text, sizeof parts.text, "%s", text);
    line[log_line_write(&parts, LOG_FORMAT_JSON, line) - 1] = '\0';
}

int command_fail(const char *program, int code, const struct error *error)
{
    char line[LOG_LINE_MAX];
    bool text = log_format_now() == LOG_FORMAT_TEXT;
    fflush(stdout); /* What was said before stays before. */
    command_remark(LOG_ERROR, error->text, line);
    fprintf(stderr, "%s%s%s\n", text ? program : "", text ? ": " : "", line);
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

/* options_environment.c - variables whose names begin like those of options. */

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "common/options/options_table.h"

#define PREFIX       "SYNCOPATE_"
#define PREFIX_BYTES (sizeof PREFIX - 1)
#define NAME_MAX     64

void option_environment_name(const struct option_row *row, char text[64])
{
    size_t length = PREFIX_BYTES;
    memcpy(text, PREFIX, PREFIX_BYTES);
    for (const char *c = row->name; *c && length < 63; c++)
        text[length++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    text[length] = '\0';
}

bool option_environment_is(const char *entry)
{
    size_t length = strcspn(entry, "=");
    for (size_t i = 0; i < option_row_count; i++) {
        char name[64];
        option_environment_name(&option_rows[i], name);
        if (strlen(name) == length && memcmp(name, entry, length) == 0)
            return true;
    }
    return false;
}

static bool ends_with(const char *name, size_t length, const char *end)
{
    size_t bytes = strlen(end);
    return length >= bytes && memcmp(name + length - bytes, end, bytes) == 0;
}

/* Kubernetes puts ten variables for every service of a name into all containers: for one called
 * "syncopate", SYNCOPATE_SERVICE_HOST, SYNCOPATE_SERVICE_PORT and SYNCOPATE_SERVICE_PORT_API,
 * SYNCOPATE_PORT (a URL), SYNCOPATE_PORT_7000_TCP and that with _PROTO, _PORT and _ADDR. */
static bool is_of_service(const char *entry)
{
    size_t length = strcspn(entry, "=");
    const char *value = entry + length + (entry[length] == '=');
    const char *port = strstr(entry, "_PORT_");
    bool numbered = port != NULL && port < entry + length && isdigit((unsigned char)port[6]);
    return ends_with(entry, length, "_SERVICE_HOST") || strstr(entry, "_SERVICE_PORT") != NULL ||
           numbered || (ends_with(entry, length, "_PORT") && strstr(value, "://") != NULL);
}

/* The variable's name as an option's: "global-batch". */
static void option_name(const char *entry, char name[NAME_MAX])
{
    size_t length = 0;
    for (const char *c = entry + PREFIX_BYTES; *c != '=' && *c != '\0' && length + 1 < NAME_MAX;
         c++)
        name[length++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    name[length] = '\0';
}

static enum status refuse(const char *entry, struct error *error)
{
    char name[NAME_MAX], meant[64] = "";
    option_name(entry, name);
    const struct option_row *row = option_find(~0u, name, strlen(name));
    const char *nearest = row != NULL ? row->name : option_meant(~0u, name);
    if (row == NULL && nearest != NULL)
        row = option_find(~0u, nearest, strlen(nearest));
    if (row == NULL)
        return error_set(error, STATUS_INVALID,
                         "the variable %.*s is no option's (--help lists the options)",
                         (int)strcspn(entry, "="), entry);
    option_environment_name(row, meant);
    return error_set(error, STATUS_INVALID, "the variable %.*s is no option's (did you mean %s?)",
                     (int)strcspn(entry, "="), entry, meant);
}

enum status option_environment_check(struct error *error)
{
    static const char *const others[] = {"SYNCOPATE_BIN_DIR="}; /* deploy/launcher/programs.c */
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        bool known = strncmp(*entry, PREFIX, PREFIX_BYTES) != 0 || option_environment_is(*entry) ||
                     is_of_service(*entry);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known = known || strncmp(*entry, others[i], strlen(others[i])) == 0;
        const char *value = *entry + strcspn(*entry, "=");
        if (!known && value[0] == '=' && value[1] != '\0') /* An empty one is none. */
            return refuse(*entry, error);
    }
    return STATUS_OK;
}

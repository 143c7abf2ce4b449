/* channel.c - builds the ssh command around a command for another host. */

#include "deploy/hosts/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/address/address.h"

/* A word quoted for POSIX shells, 'don'\''t'. */
static void write_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (const char *c = word; *c != '\0'; c++)
        fputs(*c == '\'' ? "'\\''" : (const char[]){*c, '\0'}, out);
    fputc('\'', out);
}

static bool is_here(const struct host *host)
{
    char name[HOST_NAME_MAX_BYTES] = "";
    if (host->user[0] != '\0' || host->port != 0)
        return false;
    return address_is_loopback(host->name) ||
           (gethostname(name, sizeof name - 1) == 0 && strcasecmp(host->name, name) == 0);
}

/* "'sh' '-c' 'echo'" */
static char *join_quoted(const char *const *words)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    for (size_t i = 0; words[i] != NULL; i++) {
        fputs(i > 0 ? " " : "", out);
        write_quoted(out, words[i]);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* csh, a possible login shell, takes no newline between quotes: the script is one line; sh makes
 * newlines of it. */
static char *fold_lines(const char *script)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    for (const char *c = script; *c != '\0'; c++)
        fprintf(out, "%s%c", *c == '\\' || *c == '\n' ? "\\" : "", *c == '\n' ? 'n' : *c);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* "'sh' '-c' SCRIPT 'sh' ..." of one line, for a login shell. */
static char *join_for_login(const char *const *words)
{
    static const char unfold[] = "l=$1; shift; eval \"$(printf %b \"$l\")\"";
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    if (count < 4 || strcmp(words[1], "-c") != 0 || strchr(words[2], '\n') == NULL)
        return join_quoted(words);
    char *folded = fold_lines(words[2]), *line = NULL;
    const char **all = calloc(count + 2, sizeof *all);
    if (folded != NULL && all != NULL) {
        memcpy(all, words, 4 * sizeof *all);
        memcpy(all + 5, words + 4, (count - 4) * sizeof *all);
        all[2] = unfold;
        all[4] = folded;
        line = join_quoted(all);
    }
    free(all);
    free(folded);
    return line;
}

static void add_words(struct arguments *command, const char *text)
{
    char *copy = strdup(text), *rest;
    command->failed = command->failed || copy == NULL;
    for (char *word = copy != NULL ? strtok_r(copy, " \t", &rest) : NULL; word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        arguments_add_word(command, word);
    free(copy);
}

/* The first of equal options of ssh counts: the user's options precede ours. */
static void add_ssh(const char *ssh, const struct host *host, struct arguments *command)
{
    char option[64];
    char login[HOST_USER_MAX_BYTES + HOST_NAME_MAX_BYTES];
    add_words(command, ssh);
    arguments_add_word(command, "-T");
    arguments_add_word(command, "-oBatchMode=yes");
    snprintf(option, sizeof option, "-oConnectTimeout=%d", CHANNEL_LOGIN_SECONDS);
    arguments_add_word(command, option);
    snprintf(option, sizeof option, "-oServerAliveInterval=%d", CHANNEL_SILENCE_SECONDS / 3);
    arguments_add_word(command, option);
    arguments_add_word(command, "-oServerAliveCountMax=3");
    snprintf(option, sizeof option, "-oPort=%u", host->port);
    if (host->port != 0)
        arguments_add_word(command, option);
    snprintf(login, sizeof login, "%s%s%s", host->user, host->user[0] != '\0' ? "@" : "",
             host->name);
    arguments_add_word(command, login);
}

void channel_command(const char *ssh, const struct host *host, const char *const *words,
                     struct arguments *command)
{
    if (is_here(host)) {
        for (size_t i = 0; words[i] != NULL; i++)
            arguments_add_word(command, words[i]);
        return;
    }
    char *line = join_for_login(words);
    add_ssh(ssh, host, command);
    command->failed = command->failed || line == NULL;
    if (line != NULL)
        arguments_add_word(command, line);
    free(line);
}

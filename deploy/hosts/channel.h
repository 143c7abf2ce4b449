/* channel.h - the command that brings another command to a host.
 *
 *     ssh      ssh -o BatchMode=yes ... beta "'sh' '-c' '...'"
 *     here     the command itself, where ssh would go to this host
 *
 * What ssh is given is one word, which the login shell over there takes apart again, so every word
 * is quoted for it. A login that asks for a password fails; one that hangs is given up after
 * CHANNEL_LOGIN_SECONDS, a connection that died after CHANNEL_SILENCE_SECONDS.
 *
 * Threads: pure, but that a host's name is compared with this one's. */

#ifndef DEPLOY_HOSTS_CHANNEL_H
#define DEPLOY_HOSTS_CHANNEL_H

#include <stdbool.h>

#include "deploy/hosts/host_list.h"
#include "deploy/launcher/arguments.h"

#define CHANNEL_LOGIN_SECONDS   10
#define CHANNEL_SILENCE_SECONDS 6 /* Three questions, two seconds apart. */
#define CHANNEL_LOGINS          8 /* At once; sshd drops more (MaxStartups is 10). */

/* Add the whole command to `command`, which was only zeroed. ssh: "ssh -F file", words with blanks
 * between them. words: [..NULL]. Running out of memory is told by arguments_list. */
void channel_command(const char *ssh, const struct host *host, const char *const *words,
                     struct arguments *command);

/* Whether processes of a host are started without logging in: it is named localhost, or as this one
 * is, and nothing else is said about it. */
bool channel_is_here(const struct host *host);

/* A word as POSIX shells read it back, 'don'\''t'. NULL without memory; to be freed. */
char *channel_quote(const char *word);

#endif

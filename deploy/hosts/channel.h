/* channel.h - the command that runs another command on a host.
 *
 *     ssh      ssh -o BatchMode=yes ... beta "'sh' '-c' '...'"
 *     here     the command itself, where ssh would go to this host: it is named localhost, or like
 *              this one, without further settings
 *
 * ssh gets one word, which the remote login shell splits again; therefore every word is quoted for
 * it. A login that asks for a password fails. A login that hangs is given up after
 * CHANNEL_LOGIN_SECONDS, a dead connection after CHANNEL_SILENCE_SECONDS.
 *
 * Threads: pure, except that a host's name is compared with this one's. */

#ifndef DEPLOY_HOSTS_CHANNEL_H
#define DEPLOY_HOSTS_CHANNEL_H

#include "deploy/hosts/host_list.h"
#include "deploy/launcher/arguments.h"

#define CHANNEL_LOGIN_SECONDS   10
#define CHANNEL_SILENCE_SECONDS 6 /* Three probes, two seconds apart. */
#define CHANNEL_LOGINS          8 /* In parallel; sshd drops more (MaxStartups is 10). */

/* Append the whole command to `command`, which was only zeroed. ssh: "ssh -F file", words separated
 * by blanks. words: [..NULL]. arguments_list reports exhausted memory. */
void channel_command(const char *ssh, const struct host *host, const char *const *words,
                     struct arguments *command);

#endif

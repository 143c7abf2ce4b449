/* http_token.h - the secret that readers from other hosts need: in a file beside a run's folder,
 * OUT.token, that only its owner may read. What goes on with the run has the same.
 *
 * Threads: any. */

#ifndef COMMON_WATCH_HTTP_TOKEN_H
#define COMMON_WATCH_HTTP_TOKEN_H

#include "common/base/status.h"

#define HTTP_TOKEN_DIGITS 32

/* The file's, or a new one in a new file. STATUS_IO; STATUS_REFUSED: others may read it, or it is none of
 * ours. With a line. */
enum status http_token_open(const char *out, char token[HTTP_TOKEN_DIGITS + 1],
                            struct error *error);

#endif

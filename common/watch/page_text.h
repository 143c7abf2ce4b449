/* page_text.h - the page as one file of HTML, which the build makes from deploy/page.
 *
 * Threads: any. */

#ifndef COMMON_WATCH_PAGE_TEXT_H
#define COMMON_WATCH_PAGE_TEXT_H

#include "common/watch/http_server.h"

/* Where the page's data goes. */
#define PAGE_DATA_MARK "@DATA@"
extern const char page_text[];

/* The page without data, which asks for it. */
struct http_answer page_text_live(void);

#endif

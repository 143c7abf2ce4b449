/* page.h - the page: one HTML file that draws itself from JSON and needs no other. The build joins
 * page.html, page.css, source.js, draw.js and page.js; source.js has the shape of the data. That of one
 * figure has figure.js in the place of page.js.
 *
 * Threads: plain values. */

#ifndef DEPLOY_PAGE_PAGE_H
#define DEPLOY_PAGE_PAGE_H

#include <stdio.h>

#include "common/file/disk.h"
#include "common/file/json_writer.h"

#define PAGE_NAME "report.html" /* In a folder. */

extern const char page_figure[]; /* The page of one figure, as page_text is the other. */

/* With JSON inside it: an object, a member for each file. "{}": it asks a server instead. */
void page_write(FILE *stream, const char *page, const char *data);

/* Write it to PATH. STATUS_IO, STATUS_MEMORY. */
enum status page_write_file(const struct disk *disk, const char *path, const char *page,
                            const char *data, struct error *error);

/* The page of the run in folder `out`, as OUT/report.html. Nothing without run.json. Of very many
 * events of progress some are left out. */
enum status page_write_run(const struct disk *disk, const char *out, struct error *error);

#endif

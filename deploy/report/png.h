/* png.h - converts a folder's pictures to PNG by rsvg-convert (Debian's librsvg2-bin), if it is
 * installed.
 *
 *     OUT/loss-seconds.svg  --rsvg-convert-->  OUT/.loss-seconds.png.part  --rename-->
 *     OUT/loss-seconds.png
 *
 * It is started without a shell and without input. It is ended with all its children when it takes
 * too long, or when this process ends; a whole picture is renamed into place. A failure costs only
 * the PNGs, with a line: after the first failed picture there are none, and older ones are removed.
 *
 * Threads: one. */

#ifndef DEPLOY_REPORT_PNG_H
#define DEPLOY_REPORT_PNG_H

#include <stdbool.h>
#include <stddef.h>

#define PNG_REMARK_MAX  200
#define PNG_SECONDS     10.0 /* For one picture, */
#define PNG_SECONDS_ALL 60.0 /* and for all. */

struct png_limits {
    double one, all; /* Seconds. */
};

/* From each NAME.svg in the folder. False when any is missing; remark[PNG_REMARK_MAX] has the
 * reason. */
bool png_make(const char *folder, struct png_limits limits, char *remark);

/* Remove the PNG of NAME.svg, which is about to change. */
void png_forget(const char *folder, const char *name);

#endif

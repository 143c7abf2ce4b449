/* png.h - a folder's pictures as PNG, too, by rsvg-convert (Debian's librsvg2-bin) where it is installed.
 *
 *     OUT/loss-seconds.svg  --rsvg-convert-->  OUT/.loss-seconds.png.part  --rename-->  OUT/loss-seconds.png
 *
 * It is started without a shell, has nothing to read, and is ended with all that it has started when it
 * takes too long, or this process is gone; what it writes has its name when it is whole. Whatever goes
 * wrong costs PNGs and a line, and nothing else: from the first picture that fails on there are none, and
 * none of an earlier time is left in its place.
 *
 * Threads: one. */

#ifndef DEPLOY_REPORT_PNG_H
#define DEPLOY_REPORT_PNG_H

#include <stdbool.h>
#include <stddef.h>

#define PNG_REMARK_MAX  200
#define PNG_SECONDS     10.0 /* For one picture, ... */
#define PNG_SECONDS_ALL 60.0 /* ... and for all. */

struct png_limits {
    double one, all; /* Seconds. */
};

/* Of each NAME.svg in the folder. False when they are not all there; remark[PNG_REMARK_MAX] says why. */
bool png_make(const char *folder, struct png_limits limits, char *remark);

/* There is no PNG of NAME.svg: it is about to be another picture. */
void png_forget(const char *folder, const char *name);

#endif

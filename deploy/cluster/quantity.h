/* quantity.h - times and rates as people write them, in whole nanoseconds and bytes a second.
 *
 *     12s 1.5ms 50us 800ns                    times
 *     10Gbit 100Mbit 2.5Gbit 64kbit           rates in bits; 8 bits are a byte
 *
 * Decimals are exact, without floating point. A fraction of a nanosecond, or of a byte a second, is
 * refused rather than rounded. (common/compute reads times of its own, which a draw multiplies:
 * those may have any fraction.)
 *
 * Threads: pure. */

#ifndef DEPLOY_CLUSTER_QUANTITY_H
#define DEPLOY_CLUSTER_QUANTITY_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/base/wording.h"

#define QUANTITY_TIME_MOST_NS UINT64_C(10000000000000000) /* 10,000,000 s, four months. */

/* Read from the start of *text; then *text is after it. STATUS_INVALID: error has a line, and *text
 * is unchanged. A time is at most `most` nanoseconds. */
enum status quantity_read_time(const char **text, uint64_t most, uint64_t *ns, struct error *error);

#define QUANTITY_RATE_LEAST UINT64_C(125)           /* 1 kbit/s, in bytes a second. */
#define QUANTITY_RATE_MOST  UINT64_C(1250000000000) /* 10 Tbit/s. */
enum status quantity_read_rate(const char **text, uint64_t *bytes_per_second, struct error *error);

/* The same as texts that read back to the same number: "1.5s", "100Mbit". */
struct wording quantity_time(uint64_t ns);
struct wording quantity_rate(uint64_t bytes_per_second);

#endif

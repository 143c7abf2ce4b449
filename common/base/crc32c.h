/* crc32c.h - CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720, appendix B.4): it notices every
 * change of one byte and nearly every other, and is no protection against an attacker.
 *
 * Threads: pure. */

#ifndef COMMON_BASE_CRC32C_H
#define COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is the checksum of, and of bytes[count] behind it; of nothing it is 0.
 */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);

#endif

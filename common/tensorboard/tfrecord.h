/* tfrecord.h - the frame of a record in a TFRecord file, of which TensorBoard's event files are one kind.
 *
 *     u64 length | u32 masked CRC-32C of these 8 bytes | data [length] | u32 masked CRC-32C of the data
 *
 * All little-endian. A checksum is masked, because those of data that hold checksums are weak:
 * ((c >> 15) | (c << 17)) + 0xa282ead8, modulo 2^32.
 *
 * Source: tensorflow/core/lib/io/record_writer.h and lib/hash/crc32c.h. Threads: pure. */

#ifndef COMMON_TENSORBOARD_TFRECORD_H
#define COMMON_TENSORBOARD_TFRECORD_H

#include <stddef.h>
#include <stdint.h>

#define TFRECORD_HEAD 12 /* Bytes before the data ... */
#define TFRECORD_FOOT 4  /* ... and behind them. */

/* record: [TFRECORD_HEAD + count + TFRECORD_FOOT], in which the data are in their place already. */
void tfrecord_frame(uint8_t *record, size_t count);

#endif

package io.rawline.batch;

import java.nio.ByteBuffer;

/**
 * The first 64 bytes of a batch.
 *
 * <pre>
 *  0        4  5  6     8           12          16          20          24
 * ┌──────────┬──┬──┬─────┬───────────┬───────────┬───────────┬───────────┐
 * │ "RAWB"   │v │c │flags│batch_bytes│ records   │ data_bytes│ raw_bytes │
 * ├──────────┴──┴──┴─────┼───────────┴───────────┼───────────┴───────────┤
 * │ created_us           │ producer_id           │ sequence              │
 * ├──────────────────────┴───────────┬───────────┼───────────────────────┘
 * │ reserved, zero (12)              │ crc32c    │
 * └──────────────────────────────────┴───────────┘
 * 48                                 60          64
 * </pre>
 *
 * All numbers are little-endian and unsigned; those of 64 bits are kept in a {@code long} with the same bits.
 *
 * @param codec how the data is compressed
 * @param slice whether a broker cut this batch out of a larger one
 * @param records number of records, at least one
 * @param dataBytes length of the data as stored in the batch, in bytes
 * @param rawBytes sum of the sizes: length of the data when decompressed, in bytes
 * @param createdUs when the producer made the batch: microseconds since the Unix epoch, by its clock
 * @param producerId the producer's id; 0 for none
 * @param sequence the producer's number for the first record
 * @param crc32c checksum of the whole batch except its own four bytes
 */
public record BatchHeader(
        Codec codec,
        boolean slice,
        long records,
        long dataBytes,
        long rawBytes,
        long createdUs,
        long producerId,
        long sequence,
        int crc32c) {
    /** Length of a header in bytes. */
    public static final int BYTES = 64;

    /** Where the checksum is; it covers every byte of the batch except its own four. */
    static final int CRC_POSITION = 60;
    /** "RAWB" as a little-endian number. */
    static final int MAGIC = 0x4257_4152;

    static final int VERSION = 1;
    static final int FLAG_SLICE = 1;
    private static final int FLAGS_POSITION = 6;
    private static final int RESERVED_POSITION = 48;
    private static final Codec[] CODECS = Codec.values();

    /**
     * A header.
     *
     * @param codec how the data is compressed
     * @param slice whether a broker cut this batch out of a larger one
     * @param records number of records
     * @param dataBytes length of the data in bytes
     * @param rawBytes sum of the sizes
     * @param createdUs microseconds since the Unix epoch
     * @param producerId the producer's id
     * @param sequence the producer's number for the first record
     * @param crc32c the checksum
     * @throws IllegalArgumentException a number doesn't fit into its field of 32 bits
     */
    public BatchHeader {
        if ((records | dataBytes | rawBytes) >>> 32 != 0) {
            throw new IllegalArgumentException("a field of 32 bits can't hold one of " + records + " records, "
                    + dataBytes + " bytes of data, " + rawBytes + " bytes of records");
        }
    }

    /**
     * Length of the whole batch: header, sizes, data, padding.
     *
     * @return bytes, a multiple of 8
     */
    public long batchBytes() {
        return batchBytes(records, dataBytes);
    }

    /** Where the data starts in the batch. */
    long dataPosition() {
        return BYTES + 4 * records;
    }

    static long batchBytes(long records, long dataBytes) {
        return (BYTES + 4 * records + dataBytes + 7) & ~7L;
    }

    /** Reads and checks the header at {@code position} of little-endian bytes; there must be {@link #BYTES} of them. */
    static BatchHeader parse(ByteBuffer bytes, int position, Limits limits) {
        if (bytes.getInt(position) != MAGIC) {
            throw new BatchException(
                    "batch_magic",
                    String.format(
                            "not a batch: it starts with %08x, not with" + " 52415742 (\"RAWB\"); see docs/format.md",
                            Integer.reverseBytes(bytes.getInt(position))));
        }
        int version = bytes.get(position + 4) & 0xff;
        if (version != VERSION) {
            throw new BatchException(
                    "batch_version",
                    "batch version " + version + "; this reader supports version 1: send that, or update the reader");
        }
        int codec = bytes.get(position + 5) & 0xff;
        if (codec >= CODECS.length) {
            throw new BatchException("batch_codec", "codec " + codec + "; use 0 (none), 1 (LZ4 block) or 2 (zstd)");
        }
        int flags = bytes.getShort(position + FLAGS_POSITION);
        if ((flags & ~FLAG_SLICE) != 0) {
            throw BatchException.reserved(FLAGS_POSITION);
        }
        for (int at = RESERVED_POSITION; at < CRC_POSITION; at++) {
            if (bytes.get(position + at) != 0) {
                throw BatchException.reserved(at);
            }
        }
        BatchHeader header = new BatchHeader(
                CODECS[codec],
                (flags & FLAG_SLICE) != 0,
                u32(bytes, position + 12),
                u32(bytes, position + 16),
                u32(bytes, position + 20),
                bytes.getLong(position + 24),
                bytes.getLong(position + 32),
                bytes.getLong(position + 40),
                bytes.getInt(position + CRC_POSITION));
        if (header.records == 0) {
            throw BatchException.empty();
        }
        long found = u32(bytes, position + 8);
        if (header.batchBytes() != found) {
            throw new BatchException(
                    "batch_length",
                    "the header is inconsistent: " + header.records + " records and "
                            + header.dataBytes + " bytes of data make a batch of " + header.batchBytes()
                            + " bytes, the header says " + found + "; make them agree");
        }
        header.checkLimits(limits);
        if (header.codec == Codec.NONE && header.dataBytes != header.rawBytes) {
            throw new BatchException(
                    "batch_data_length",
                    header.dataBytes + " bytes of uncompressed data, but records" + " of " + header.rawBytes
                            + " bytes; without a codec they are equal");
        }
        return header;
    }

    void checkLimits(Limits limits) {
        if (batchBytes() > limits.batchBytesMax()) {
            throw BatchException.limit("batch_bytes", batchBytes(), limits.batchBytesMax());
        }
        if (records > limits.recordsMax()) {
            throw BatchException.limit("records", records, limits.recordsMax());
        }
        if (rawBytes > limits.rawBytesMax()) {
            throw BatchException.limit("raw_bytes", rawBytes, limits.rawBytesMax());
        }
    }

    /** Writes the header to the first bytes of a little-endian buffer, with the checksum of the field. */
    void write(ByteBuffer to) {
        to.putInt(0, MAGIC);
        to.put(4, (byte) VERSION);
        to.put(5, (byte) codec.number());
        to.putShort(FLAGS_POSITION, (short) (slice ? FLAG_SLICE : 0));
        to.putInt(8, (int) batchBytes());
        to.putInt(12, (int) records);
        to.putInt(16, (int) dataBytes);
        to.putInt(20, (int) rawBytes);
        to.putLong(24, createdUs);
        to.putLong(32, producerId);
        to.putLong(40, sequence);
        to.putLong(RESERVED_POSITION, 0);
        to.putInt(RESERVED_POSITION + 8, 0);
        to.putInt(CRC_POSITION, crc32c);
    }

    static long u32(ByteBuffer bytes, int position) {
        return bytes.getInt(position) & 0xffff_ffffL;
    }
}

package io.rawline.batch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The first 61 bytes of a Kafka batch, a RecordBatch of version 2.
 *
 * <pre>
 *  0            8            12           16       17        21         23                27
 * ┌────────────┬────────────┬────────────┬────────┬─────────┬──────────┬─────────────────┐
 * │ base offset│ length     │ leader     │ magic 2│ crc32c  │attributes│ last offset     │
 * │ i64        │ from 12 on │ epoch i32  │        │ of 21…  │ i16      │ delta i32       │
 * ├────────────┴────────────┼────────────┴───┬────┴─────────┼──────────┼─────────────────┤
 * │ base timestamp i64      │ max timestamp  │ producer     │ epoch i16│ base sequence   │
 * │                         │ i64            │ id i64       │          │ i32             │
 * ├───────────────┬─────────┴────────────────┴──────────────┴──────────┴─────────────────┘
 * │ records i32   │ records, maybe compressed …
 * └───────────────┘
 * 57              61
 * </pre>
 *
 * All numbers are big-endian.
 *
 * @param baseOffset offset of the first record
 * @param batchBytes length of the whole batch in bytes
 * @param records number of records; 0 only in a compacted topic
 * @param offsets number of offsets that the batch takes: as many as records, or more in a compacted topic
 * @param crc32c checksum of the bytes from 21 on
 * @param codec how the records are compressed
 * @param appendTime whether the time of all records is {@code maxTimestampMs}, the time of the append
 * @param baseTimestampMs the base of the records' times, in milliseconds since the Unix epoch
 * @param maxTimestampMs the greatest time of the records
 * @param producerId the producer's id; -1 for none
 * @param producerEpoch the producer's epoch; -1 for none
 * @param baseSequence the producer's number for the first record; -1 for none
 */
public record RecordBatchHeader(
        long baseOffset,
        int batchBytes,
        int records,
        int offsets,
        int crc32c,
        RecordCodec codec,
        boolean appendTime,
        long baseTimestampMs,
        long maxTimestampMs,
        long producerId,
        int producerEpoch,
        int baseSequence) {
    /** Length of a header in bytes. */
    public static final int BYTES = 61;

    /** The checksum covers every byte of the batch from here on. */
    static final int CHECKED_POSITION = 21;
    /** The length counts from here. */
    private static final int LENGTH_FROM = 12;

    private static final int CRC_POSITION = 17;
    private static final int MAGIC = 2;
    private static final int CODEC_MASK = 0b111;
    private static final int APPEND_TIME = 1 << 3;
    private static final int CONTROL = 1 << 5;
    private static final RecordCodec[] CODECS = RecordCodec.values();

    /** Reads and checks the header at {@code position}; there must be {@link #BYTES} bytes of it. */
    static RecordBatchHeader parse(ByteBuffer buffer, int position, Limits limits) {
        ByteBuffer bytes = buffer.slice(position, BYTES).order(ByteOrder.BIG_ENDIAN);
        long baseOffset = bytes.getLong();
        long batchBytes = bytes.getInt() + (long) LENGTH_FROM;
        bytes.getInt();
        int magic = bytes.get();
        int crc32c = bytes.getInt();
        int attributes = bytes.getShort();
        int lastOffsetDelta = bytes.getInt();
        long baseTimestampMs = bytes.getLong();
        long maxTimestampMs = bytes.getLong();
        long producerId = bytes.getLong();
        int producerEpoch = bytes.getShort();
        int baseSequence = bytes.getInt();
        int records = bytes.getInt();
        // Older formats have their magic at the same place.
        check(magic == MAGIC, "message format " + magic + "; this reader supports format 2");
        check(batchBytes >= BYTES, "a batch can't have a length of " + batchBytes + " bytes");
        int codec = attributes & CODEC_MASK;
        check(codec < CODECS.length, "codec " + codec + "; there are 0 to 4");
        check((attributes & CONTROL) == 0, "a control batch, which has no records for readers");
        check(
                records >= 0 && lastOffsetDelta >= Math.max(0, records - 1) && lastOffsetDelta < Integer.MAX_VALUE,
                records + " records whose last has the offset delta " + lastOffsetDelta);
        if (batchBytes > Math.min(limits.batchBytesMax(), Integer.MAX_VALUE)) {
            throw BatchException.limit("batch_bytes", batchBytes, limits.batchBytesMax());
        }
        if (records > limits.recordsMax()) {
            throw BatchException.limit("records", records, limits.recordsMax());
        }
        return new RecordBatchHeader(
                baseOffset,
                (int) batchBytes,
                records,
                lastOffsetDelta + 1,
                crc32c,
                CODECS[codec],
                (attributes & APPEND_TIME) != 0,
                baseTimestampMs,
                maxTimestampMs,
                producerId,
                producerEpoch,
                baseSequence);
    }

    private static void check(boolean holds, String reason) {
        if (!holds) {
            throw BatchException.recordBatch(reason);
        }
    }

    /** Writes the header with the checksum of it and of {@code records}, from position to limit. */
    void write(ByteBuffer front, ByteBuffer records) {
        ByteBuffer bytes = front.slice(0, BYTES).order(ByteOrder.BIG_ENDIAN);
        bytes.putLong(baseOffset).putInt(batchBytes - LENGTH_FROM).putInt(0).put((byte) MAGIC);
        // The checksum comes last.
        bytes.putInt(0).putShort((short) (codec.number() | (appendTime ? APPEND_TIME : 0)));
        bytes.putInt(this.records - 1).putLong(baseTimestampMs).putLong(maxTimestampMs);
        bytes.putLong(producerId)
                .putShort((short) producerEpoch)
                .putInt(baseSequence)
                .putInt(this.records);
        CRC32C crc = new CRC32C();
        crc.update(bytes.flip().position(CHECKED_POSITION));
        crc.update(records.duplicate());
        bytes.putInt(CRC_POSITION, (int) crc.getValue());
    }
}

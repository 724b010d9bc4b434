package io.rawline.batch;

/**
 * What a reader accepts at most. Every limit is checked against the header before a byte behind it is believed.
 *
 * @param batchBytesMax length of a whole batch, header and padding included, in bytes
 * @param recordsMax records in one batch
 * @param rawBytesMax sum of a batch's sizes, so what its data may grow to when decompressed, in bytes
 */
public record Limits(long batchBytesMax, long recordsMax, long rawBytesMax) {
    /** What the format itself allows. */
    public static final Limits FORMAT = new Limits(0xffff_ffffL, 0xffff_ffffL, 0xffff_ffffL);

    /** The usual ones: 32 MiB a batch, 1 Mi records, 64 MiB decompressed. */
    public static final Limits DEFAULT = new Limits(32 << 20, 1 << 20, 64 << 20);

    /**
     * Whether a batch can hold a record.
     *
     * @param recordBytes the record's length
     * @throws BatchException {@code batch_limit}: no batch can
     */
    public void checkRecord(int recordBytes) {
        long batchBytes = BatchHeader.batchBytes(1, recordBytes);
        if (batchBytes > Math.min(batchBytesMax, Integer.MAX_VALUE)) {
            throw BatchException.limit("batch_bytes", batchBytes, Math.min(batchBytesMax, Integer.MAX_VALUE));
        }
        if (recordBytes > rawBytesMax) {
            throw BatchException.limit("raw_bytes", recordBytes, rawBytesMax);
        }
    }
}
